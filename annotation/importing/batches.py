"""What people did at the requester pages for a batch that ``export_batch`` wrote, taken into the study.

It goes the way of all answers: a seat of the HIT is taken, ``submit_assignment`` checks and stores, the rules look at
it. The requester pages paid, or will: nothing here is asked of Mechanical Turk and nothing is booked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from annotation.batches.own_pages import own_answers
from annotation.batches.pages import CHECK_FIELD, HIT_FIELD, answers_of_row, batch_layout, check_of
from annotation.batches.people import PLACE
from annotation.crowds.people import pseudonym
from annotation.models import Assignment, Participation, RawId, Worker
from annotation.models.assignments import LIVE
from annotation.quality.reviews import LONGEST_REASON, approve_assignments, reject_assignments
from annotation.services.batches import refuse_other_studies
from annotation.work.answers import answer_key, checked_answers
from annotation.work.joining import instructions_version, take_part
from annotation.work.presentation import Layout, Place, placed, units_of_hit
from annotation.work.stopping import lock_for_settling
from annotation.work.submissions import submit_assignment
from common.errors import QuorumError
from judgments.design.study_design import StudyDesign
from judgments.importers.errors import ImportProblem
from judgments.importers.fields import SHORT_NAME_LIMIT, counted, shown
from judgments.importers.mturk import ResultRow, read_results
from judgments.importers.mturk.columns import INPUT
from judgments.kinds import KINDS
from judgments.models import HIT, Study
from judgments.studies.log import note_event
from judgments.studies.studies import design_of

RAW_NAME = "WorkerId"
REQUIRED = ("AssignmentId", "WorkerId", f"{INPUT}{HIT_FIELD}", f"{INPUT}{CHECK_FIELD}")
NO_REASON = "Rejected on the requester pages, which gave no reason."
LINES_NAMED = 10
RAW_LIMIT = 200
PAGES_HELD = 200


class BatchRefused(QuorumError):
    """Rows of a result file do not fit the study; nothing was imported."""

    status = 409
    title = "The file does not fit"


@dataclass(slots=True)
class BatchImport:
    """What a file brought: assignments that are new, were there, belong to people who were excluded before, and were
    left out on request; and how many were approved and rejected there since."""

    new: int = 0
    known: int = 0
    excluded: int = 0
    left_out: int = 0
    approved: int = 0
    rejected: int = 0


@dataclass(frozen=True, slots=True)
class _Page:
    """A HIT as it was exported."""

    hit: HIT
    layout: Layout
    places: list[Place]


@dataclass(slots=True)
class _Pages:
    """The pages of a study, each read once where the rows of a HIT stand together; a few are held."""

    study: Study
    design: StudyDesign
    held: dict[str, _Page] = field(default_factory=dict)

    def of_row(self, row: ResultRow) -> _Page:
        """The page that the row's input names."""
        key = row.required(f"{INPUT}{HIT_FIELD}")
        if key not in self.held:
            hit = HIT.objects.filter(study=self.study, key=key).first()
            if hit is None:
                raise row.problem(f"{INPUT}{HIT_FIELD}", shown(key), f"a HIT of study {self.study.slug!r}")
            units = units_of_hit(hit.pk)
            layout = batch_layout(design=self.design, hit=hit, units=units)
            if len(self.held) == PAGES_HELD:
                self.held.clear()
            self.held[key] = _Page(hit, layout, placed(units, layout.order, layout.sides))
        page = self.held[key]
        if row.text(f"{INPUT}{CHECK_FIELD}").strip() != check_of(self.study.slug, page.hit, page.layout):
            raise row.problem(
                f"{INPUT}{CHECK_FIELD}",
                "another mark than this study's",
                "a row that export_batch wrote for it",
            )
        return page


@dataclass(slots=True)
class _Decisions:
    """What the requester pages decided, by our assignments."""

    approved: set[UUID] = field(default_factory=set)
    rejected: defaultdict[str, set[UUID]] = field(default_factory=lambda: defaultdict(set))


@transaction.atomic
def import_batch(
    *,
    study: Study,
    path: Path,
    encoding: str | None = None,
    leave_out: Collection[str] = (),
    by: User | None = None,
) -> BatchImport:
    """Take a result file into the study, all or nothing. The same file again changes nothing; a later one of the same
    batch brings what is new, and what was approved or rejected since.

    Args:
        leave_out: ids of assignments that do not fit and shall not come in.

    Raises:
        ImportProblem: the file cannot be read.
        WrongState: the study takes no batch.
        BatchRefused: a row belongs to no HIT of the study as it was exported, lacks answers, or says something else
            than before; all such lines are named.
    """
    refuse_other_studies(Study.objects.select_for_update(no_key=True).get(pk=study.pk))
    done, decisions, unused = BatchImport(), _Decisions(), set(leave_out)
    pages = _Pages(study, design_of(study))
    problems: list[tuple[int, str]] = []
    for row in read_results(path, required=REQUIRED, encoding=encoding):
        if row.text("AssignmentId").strip() in leave_out:
            unused.discard(row.text("AssignmentId").strip())
            done.left_out += 1
            continue
        try:
            with transaction.atomic():
                _take_row(pages, row, done, decisions)
        except ImportProblem as problem:
            problems.append((row.line, str(problem)))
        except QuorumError as problem:
            problems.append((row.line, f"{path}, line {row.line}: {problem}"))
        except IntegrityError as problem:
            problems.append((row.line, f"{path}, line {row.line}: {str(problem).splitlines()[0]}."))
    _refuse(problems, unused, path)
    _decide(study, decisions, done, by)
    if done.new or done.approved or done.rejected:
        words = f"{counted(done.new, 'assignment')} taken from the file {path.name}."
        note_event(
            study=study, what="batch-imported", words=words, by=by, new=done.new, approved=done.approved,
            rejected=done.rejected,
        )  # fmt: skip
    return done


def _refuse(problems: list[tuple[int, str]], unused: Collection[str], path: Path) -> None:
    """One sentence for all that does not fit, and where."""
    if problems:
        lines = [f"{line}" for line, _ in problems[1 : 1 + LINES_NAMED]]
        more = f" (and {len(problems) - 1 - LINES_NAMED:,} more)" if len(problems) > 1 + LINES_NAMED else ""
        rest = f" Nor do the rows on these lines fit: {', '.join(lines)}{more}." if lines else ""
        raise BatchRefused(f"{problems[0][1]} Nothing was imported.{rest}")
    if unused:
        raise BatchRefused(
            f"{path} has no assignment {sorted(unused)[0]} to leave out; nothing was imported."
        )


def _take_row(pages: _Pages, row: ResultRow, done: BatchImport, decisions: _Decisions) -> None:
    """One assignment, within a transaction of its own."""
    study, page = pages.study, pages.of_row(row)
    worker = _worker_of(row)
    name = row.required("AssignmentId")
    if len(name) > SHORT_NAME_LIMIT:
        raise row.problem("AssignmentId", f"{len(name):,} characters", f"at most {SHORT_NAME_LIMIT}")
    part = Participation.objects.filter(study=study, worker=worker).first()
    before = Assignment.objects.filter(study=study, worker=worker, external_id=name).first()
    if before is None and part is not None and part.standing == Participation.Standing.EXCLUDED:
        done.excluded += 1
        return
    given = _answers(pages.design, row, page)
    if before is None:
        part = take_part(study=study, worker=worker, consent=bool(row.answers.get("consent", "").strip()))
        before = _store(pages, row, page, part, given)
        done.new += 1
    else:
        _refuse_other_answers(pages.design, row, page, before, given)
        done.known += 1
    _note_decision(row, before, decisions)


def _worker_of(row: ResultRow) -> Worker:
    """The person under a pseudonym; the id at Mechanical Turk is kept apart."""
    raw = row.required("WorkerId")
    if len(raw) > RAW_LIMIT:
        raise row.problem("WorkerId", f"{len(raw):,} characters", f"at most {RAW_LIMIT}")
    worker, _ = Worker.objects.get_or_create(
        source=Worker.Source.CROWD, place=PLACE, name=pseudonym(PLACE, raw)
    )
    RawId.objects.get_or_create(worker=worker, session=None, name=RAW_NAME, defaults={"value": raw})
    return worker


def _answers(design: StudyDesign, row: ResultRow, page: _Page) -> list[dict[str, Any]]:
    """All answers of the page."""
    reader = own_answers if KINDS[design.protocol].own_pages else answers_of_row
    read = reader(row.answers, design=design, places=page.places)
    if read.missing:
        listed = ", ".join(map(str, read.missing[:LINES_NAMED]))
        raise row.problem(
            None, f"no answer, or none that counts, to question {listed}", "all of the page answered"
        )
    return read.answers


def _store(
    pages: _Pages, row: ResultRow, page: _Page, part: Participation, answers: list[dict[str, Any]]
) -> Assignment:
    """A seat, the assignment, and its answers by ``submit_assignment``; then its own times."""
    hit = page.hit
    again = Assignment.objects.filter(hit=hit, worker=part.worker, state__in=LIVE).first()
    if again is not None:
        found = f"a second assignment of HIT {hit.key} by one worker (the first is {again.external_id or again.pk})"
        raise row.problem("AssignmentId", found, "each worker once on a HIT")
    accepted, submitted = _times(row)
    now = timezone.now()
    assignment = Assignment.objects.create(
        study=pages.study,
        hit=hit,
        worker=part.worker,
        seat=_take_seat(pages.study, hit),
        external_id=row.required("AssignmentId"),
        accepted_at=min(accepted, now),
        expires_at=now + timedelta(hours=1),
        order=page.layout.order,
        flips=page.layout.sides,
        consent_version=part.consent_version,
        instructions_version=instructions_version(pages.design),
    )
    submit_assignment(assignment=assignment, answers=answers)
    # by the crowd's clock
    Assignment.objects.filter(pk=assignment.pk).update(accepted_at=accepted, submitted_at=submitted)
    assignment.refresh_from_db(fields=["state"])  # a rule may have ended the worker's part
    return assignment


def _times(row: ResultRow) -> tuple[datetime, datetime]:
    now = timezone.now()
    submitted = row.time("SubmitTime") or now
    accepted = row.time("AcceptTime") or submitted
    if submitted < accepted:
        raise row.problem("SubmitTime", "a time before AcceptTime", "one after it")
    return accepted, submitted


def _take_seat(study: Study, hit: HIT) -> int:
    """A free seat; whoever worked at the requester pages had a place there, so a full HIT gets one more."""
    lock_for_settling(study=study, hits=[hit.pk])
    if not HIT.objects.filter(pk=hit.pk, open_slots__gt=0).update(open_slots=F("open_slots") - 1):
        HIT.objects.filter(pk=hit.pk).update(required=F("required") + 1)
    taken = set(Assignment.objects.filter(hit=hit, state__in=LIVE).values_list("seat", flat=True))
    return next(seat for seat in count() if seat not in taken)


def _refuse_other_answers(
    design: StudyDesign, row: ResultRow, page: _Page, before: Assignment, given: list[dict[str, Any]]
) -> None:
    """What came before stays, and the same may come again."""
    key = answer_key(KINDS[design.protocol])
    checked = checked_answers(given, design=design, places=page.places)
    if any(before.answers.get(position, {}).get(key) != one[key] for position, one in checked.items()):
        raise row.problem("AssignmentId", "other answers than it brought before", "the same ones")


def _note_decision(row: ResultRow, assignment: Assignment, decisions: _Decisions) -> None:
    status, state = row.text("AssignmentStatus").strip().lower(), assignment.state
    if status == "approved" and state in (Assignment.State.SUBMITTED, Assignment.State.REJECTED):
        decisions.approved.add(assignment.pk)
    if status == "rejected":
        if state == Assignment.State.APPROVED:
            raise row.problem("AssignmentStatus", "Rejected for work that was approved here", "Approved")
        if state == Assignment.State.SUBMITTED:
            reason = row.text("RequesterFeedback").strip()[:LONGEST_REASON] or NO_REASON
            decisions.rejected[reason].add(assignment.pk)


def _decide(study: Study, decisions: _Decisions, done: BatchImport, by: User | None) -> None:
    """What was decided there holds here. A rule may have invalidated work of this very file: that stays so."""
    for wanted, reason in _by_reason(decisions):
        work = Assignment.objects.filter(pk__in=wanted).finished().values_list("pk", flat=True)
        if reason:
            done.rejected += reject_assignments(study=study, assignments=list(work), reason=reason, by=by)
        else:
            done.approved += approve_assignments(study=study, assignments=list(work), by=by)


def _by_reason(decisions: _Decisions) -> Iterator[tuple[Collection[UUID], str]]:
    yield decisions.approved, ""
    for reason, wanted in decisions.rejected.items():
        yield wanted, reason
