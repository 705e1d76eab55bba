"""Save, submit and revise answers. All judgments of an assignment are stored, or none."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import DateTimeField, Exists, JSONField, OuterRef, QuerySet, UUIDField
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.crowds.outbox import grant
from annotation.crowds.panel.backend import note_page
from annotation.errors import (
    AddressFull,
    AlreadyEnded,
    AnswerProblem,
    AnswersMissing,
    TooLate,
    TooLateToChange,
)
from annotation.models import Assignment, Judgment, Participation, ProblemReport, QualityRule, Worker
from annotation.models.assignments import assignment_submitted, submission_annotations
from annotation.quality.flags import has_stopping_flag, refuse_stopped_worker, run_detectors
from annotation.work.claims import Claim, SlotLost, claim_assignment, commit_claim, find_candidate
from annotation.work.seats import share_pause_lock
from annotation.work.stopping import settle_submission
from annotation.work.system_pairs import count_answers, recount
from annotation.work.worksheet import OPTIONAL_FIELDS, PageUnit, answer_key, checked_answers, page_units_of
from common.audit import log_about
from common.errors import NotThere, QuorumError
from common.rows import PreparedQuery, PreparedUpdate, insert_rows, query_parameter
from judgments.design.study_design import StudyDesign
from judgments.kinds import KINDS, Kind
from judgments.kinds.caption import RULES, fold_text
from judgments.studies.studies import design_of, draws_at_claim, stops_early

# of a judgment that revises none; bulk_create takes ten times as long
JUDGMENT_COLUMNS = ("assignment_id", "unit_id", "value", "answer", "presented", "seconds", "wall_seconds", "comment",
           "signals", "made_at")  # fmt: skip
RULE_EXAMPLES = frozenset(fold_text(text) for rule in RULES for text in (rule.refused, rule.fine))


@dataclass(frozen=True, slots=True)
class Submission:
    """``repeated`` if it was submitted before; only saved if positions are ``missing``."""

    assignment: Assignment
    repeated: bool
    missing: tuple[int, ...] = ()


_OWN_ASSIGNMENT = PreparedQuery(
    lambda: Assignment.objects.select_related("study", "hit").filter(
        pk=query_parameter("assignment", UUIDField()), worker=query_parameter("worker")
    )
)


def own_assignment(*, worker: Worker, assignment_id: str | UUID) -> Assignment:
    try:
        key = UUID(str(assignment_id))
    except ValueError:
        raise NotThere("There is no such assignment.") from None
    assignment = _OWN_ASSIGNMENT.first(assignment=key, worker=worker.pk)
    if assignment is None:
        raise NotThere("There is no such assignment.")
    assignment.worker = worker
    log_about(study=assignment.study.slug)
    return assignment


def save_answers(
    *,
    assignment: Assignment,
    answers: Sequence[Mapping[str, Any]],
    unfinished: Mapping[int, Any] | None = None,
    keep_late: bool = False,
) -> Assignment:
    """Merge ``answers`` into the draft. If one is invalid, save nothing.

    Args:
        unfinished: a plain form's invalid input by position; it is saved, but is no answer.
        keep_late: keep the draft also where TooLate is raised: a plain form has no other memory.
    """
    sheet = read_answers(assignment, answers)
    with transaction.atomic():
        locked = lock_assignment(assignment)
        late: TooLate | None = None
        try:
            _refuse_ended(locked)
        except TooLate as error:
            if not keep_late:
                raise
            late = error
        unfinished_answers = {
            str(position): {"unfinished": text} for position, text in (unfinished or {}).items()
        }
        _store_draft(locked, {**sheet.answers, **unfinished_answers})
    if late is not None:
        raise late
    return locked


def advice_on(assignment: Assignment, answers: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """Return what the worker may want to mend in saved answers, by position."""
    kind, design = KINDS[assignment.study.protocol], design_of(assignment.study)
    advice = {
        answer["position"]: kind.advise(answer[key], design)
        for answer in answers
        if (key := answer_key(kind)) in answer
    }
    return {position: sentence for position, sentence in advice.items() if sentence}


def submit_assignment(*, assignment: Assignment, answers: Sequence[Mapping[str, Any]]) -> Submission:
    """Merge ``answers`` into the draft and turn every unit into a judgment. Repeating it is harmless.

    One transaction stores the state and the judgments, and updates outcome bounds and crowd session
    (``_store_judgments``). The detectors run after it.

    Raises:
        AnswersMissing: ``missing`` are the open positions; the rest is saved.
        AnswerProblem, TooLate, AlreadyEnded: nothing changes.
    """
    sheet = read_answers(assignment, answers)
    with transaction.atomic():
        submission = _submit(sheet)
    _require_complete(submission)
    _run_rules(submission)
    return submission


def submit_and_claim(
    *, assignment: Assignment, answers: Sequence[Mapping[str, Any]]
) -> tuple[Submission, Claim | None]:
    """Submit, then claim the next HIT of the study, in one commit if possible.

    A commit waits for the disk, and on SQLite everybody waits for it. Errors are those of ``submit_assignment``.
    """
    # Settling locks HITs, and a claim another one: never in one transaction. A page of an arena is drawn from what was
    # committed.
    if not (stops_early(assignment.study) or draws_at_claim(assignment.study)):
        try:
            return _submit_with_claim(assignment, answers)
        except (SlotLost, AddressFull, IntegrityError):
            pass  # rolled back: do one after the other
    submission = submit_assignment(assignment=assignment, answers=answers)
    try:
        return submission, claim_assignment(study=assignment.study, worker=assignment.worker)
    except QuorumError:  # for instance stopped by this submission; the next claim reports it
        return submission, None


def _submit_with_claim(
    assignment: Assignment, answers: Sequence[Mapping[str, Any]]
) -> tuple[Submission, Claim | None]:
    study = assignment.study
    sheet = read_answers(assignment, answers)
    try:
        candidate = find_candidate(study, assignment.worker, ignored=assignment)
    except QuorumError:  # a refused claim must not undo the submission
        candidate = None
    with transaction.atomic():
        if candidate is not None:
            share_pause_lock(study)  # before the assignment is locked
        submission = _submit(sheet)
        claim = commit_claim(candidate) if not submission.missing else None
    _require_complete(submission)
    return submission, None if _run_rules(submission) else claim


@dataclass(frozen=True, slots=True)
class CheckedAnswers:
    assignment: Assignment
    kind: Kind
    page_units: list[PageUnit]
    answers: dict[str, dict[str, Any]]


def read_answers(assignment: Assignment, answers: Sequence[Mapping[str, Any]]) -> CheckedAnswers:
    study = assignment.study
    page_units = page_units_of(assignment)
    checked = checked_answers(answers, design=design_of(study), page_units=page_units)
    return CheckedAnswers(
        assignment=assignment, kind=KINDS[study.protocol], page_units=page_units, answers=checked
    )


def _submit(sheet: CheckedAnswers) -> Submission:
    """Store the judgments; save an incomplete submission as a draft."""
    locked = lock_assignment(sheet.assignment)
    if locked.submitted_at is not None:  # whatever its state is now
        _refuse_other_answers(locked, sheet.answers)
        return Submission(assignment=locked, repeated=True)
    _refuse_ended(locked)
    merged = merge_answers(locked.answers, sheet.answers)
    key = answer_key(sheet.kind)
    missing = tuple(
        page_unit.position
        for page_unit in sheet.page_units
        if key not in merged.get(str(page_unit.position), {})
    )
    if missing:
        _store_draft(locked, sheet.answers)
    else:
        _store_judgments(locked, sheet, merged)
    return Submission(assignment=locked, repeated=False, missing=missing)


def _require_complete(submission: Submission) -> None:
    if submission.missing:
        raise AnswersMissing(submission.missing)


def _run_rules(submission: Submission) -> bool:
    """Run the detectors after commit. Return whether they stopped the worker."""
    if submission.repeated or not submission.assignment.has_detectors:
        return False
    return has_stopping_flag(run_detectors(assignment=submission.assignment))


_LOCKED_ASSIGNMENT: PreparedQuery[Any] = PreparedQuery(
    lambda: (
        Assignment.objects.select_for_update()
        .filter(pk=query_parameter("assignment", UUIDField()))
        .annotate(
            **submission_annotations,
            watched=Exists(QualityRule.objects.filter(study=OuterRef("study"), enabled=True)),
        )
    )
)


def lock_assignment(assignment: Assignment) -> Assignment:
    """Lock and return the current row (SQLite locks the whole file)."""
    locked: Any = _LOCKED_ASSIGNMENT.first(assignment=assignment.pk)
    if locked is None:
        raise NotThere("There is no such assignment.")
    locked.study = assignment.study
    locked.has_detectors = locked.watched
    return locked


def _refuse_ended(assignment: Assignment) -> None:
    if assignment.state == Assignment.State.RETURNED:
        raise AlreadyEnded(_("Nothing was changed: you returned this page of work."))
    if assignment.state == Assignment.State.INVALIDATED:
        refuse_stopped_worker(Participation.Standing.EXCLUDED)
    if assignment.state == Assignment.State.RESERVED:
        raise AlreadyEnded(_("Nothing was changed: finish your current page of work before this one."))
    if assignment.state != Assignment.State.ACCEPTED and assignment.state != Assignment.State.EXPIRED:
        raise AlreadyEnded(_("Your answers were submitted and stay as they are."))
    ended = assignment.expires_at is not None and assignment.expires_at <= timezone.now()
    if assignment.state == Assignment.State.EXPIRED and not ended and assignment.session_id is None:
        raise TooLate(
            _(
                "No answers were coming, and somebody else needed the place of this page of work; what you had saved "
                "is kept. Take it up again, or open the study again."
            )
        )
    if assignment.state == Assignment.State.EXPIRED or ended:
        raise TooLate(
            _(
                "The time for this page of work is over and its place may be taken; what you had saved is kept."
            )
        )


def _refuse_other_answers(assignment: Assignment, answers: Mapping[str, dict[str, Any]]) -> None:
    key = answer_key(KINDS[assignment.study.protocol])
    same = all(
        assignment.answers.get(position, {}).get(key) == answer.get(key)
        for position, answer in answers.items()
        if key in answer
    )
    if not same:
        raise AlreadyEnded(_("Your answers were submitted before and stay as they were then."))


def _store_draft(assignment: Assignment, answers: Mapping[str, dict[str, Any]]) -> None:
    before, key = assignment.answers, answer_key(KINDS[assignment.study.protocol])
    assignment.answers = merge_answers(before, answers)
    if _goes_on(before, assignment.answers, key):
        assignment.answered_at = timezone.now()
    assignment.save(update_fields=["answers", "answered_at"])


def _goes_on(before: Mapping[str, dict[str, Any]], after: Mapping[str, dict[str, Any]], key: str) -> bool:
    """Return whether an item was answered that had no answer, or an open answer changed."""
    if key == "answer":
        return any(answer.get(key) != before.get(position, {}).get(key) for position, answer in after.items())
    return any(key in answer and key not in before.get(position, {}) for position, answer in after.items())


def merge_answers(
    saved: Mapping[str, dict[str, Any]], answers: Mapping[str, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Merge given answers into saved ones by member; an answer replaces unfinished input."""
    instead = {"value", "answer", "unfinished"}
    details = {
        position: {name: value for name, value in saved.get(position, {}).items() if name not in instead}
        for position in answers
    }
    return {**saved, **{position: {**details[position], **answer} for position, answer in answers.items()}}


def _store_judgments(
    assignment: Assignment, sheet: CheckedAnswers, answers: Mapping[str, dict[str, Any]]
) -> None:
    _mark_submitted(assignment, answers)
    judgments = [
        build_judgment(assignment, page_unit, answers[str(page_unit.position)], kind=sheet.kind)
        for page_unit in sheet.page_units
    ]
    add_copy_signals(judgments, assignment=assignment)
    insert_rows(
        Judgment, JUDGMENT_COLUMNS, ([getattr(row, name) for name in JUDGMENT_COLUMNS] for row in judgments)
    )
    study = assignment.study
    if stops_early(study):
        settle_submission(assignment=assignment)
    if assignment.session_id is not None:
        note_page(assignment=assignment)
    if design_of(study).workers.grants:
        grant(assignment=assignment)
    assignment.hit, assignment.worker = sheet.assignment.hit, sheet.assignment.worker  # already read
    assignment_submitted.send(Assignment, assignment=assignment, judgments=len(judgments))
    if draws_at_claim(study):  # last: its rows are everybody's, and come after sessions
        answered = zip(sheet.page_units, judgments, strict=True)
        count_answers(
            study=study, answers=((page_unit.unit, judgment.value) for page_unit, judgment in answered)
        )


def add_copy_signals(judgments: Sequence[Judgment], *, assignment: Assignment) -> None:
    """Add copy signals to unsaved judgments of kinds that write captions.

    ``same_as_another``: how many other workers wrote the same about this image. ``same_as_own``: for how many other
    images of the study this worker did. ``from_instructions``: 1 if an example has it. Case and punctuation are
    ignored. Only earlier judgments count, so the first of two copies has no signal.
    """
    study = assignment.study
    if not judgments or not KINDS[study.protocol].writes_captions:
        return
    units = [judgment.unit_id for judgment in judgments]
    current = Judgment.objects.current()
    others: defaultdict[int, Counter[str]] = defaultdict(Counter)
    of_others = current.filter(unit__in=units).exclude(assignment__worker=assignment.worker_id)
    for unit, text in of_others.values_list("unit_id", "answer"):
        others[unit][_fold_answer(text)] += 1
    earlier = current.filter(assignment__study=study, assignment__worker=assignment.worker_id)
    own_texts = Counter(
        _fold_answer(text) for text in earlier.exclude(unit__in=units).values_list("answer", flat=True)
    )
    own_texts.update(_fold_answer(judgment.answer) for judgment in judgments)
    examples = RULE_EXAMPLES | _example_texts(design_of(study))
    for judgment in judgments:
        text = _fold_answer(judgment.answer)
        counts = {
            "same_as_another": others[judgment.unit_id][text],
            "same_as_own": own_texts[text] - 1,
            "from_instructions": int(text in examples),
        }
        # a revision starts with the signals of its predecessor
        reported = {name: count for name, count in judgment.signals.items() if name not in counts}
        judgment.signals = reported | {name: count for name, count in counts.items() if count}


def _example_texts(design: StudyDesign) -> set[str]:
    return {fold_text(text) for example in design.examples for text in (*example.shown, example.answer)}


def _fold_answer(answer: Any) -> str:
    return fold_text(str(answer))


def _excluded_participations(study: Any, worker: Any) -> QuerySet[Participation]:
    return Participation.objects.filter(study=study, worker=worker, standing=Participation.Standing.EXCLUDED)


_NOW = query_parameter("now", DateTimeField())
_SUBMIT = PreparedUpdate(
    lambda: Assignment.objects.with_lease(_NOW).filter(
        # claimed at the moment of an exclusion, which missed it
        ~Exists(_excluded_participations(query_parameter("study"), query_parameter("worker"))),
        pk=query_parameter("assignment", UUIDField()),
    ),
    state=Assignment.State.SUBMITTED,
    submitted_at=_NOW,
    answers=query_parameter("answers", JSONField()),
)


def _mark_submitted(assignment: Assignment, answers: Mapping[str, dict[str, Any]]) -> None:
    """Submit the row by a guarded update: the lease may end, or the worker be excluded, meanwhile."""
    now, participation = timezone.now(), {"study": assignment.study_id, "worker": assignment.worker_id}
    moved = _SUBMIT(assignment=assignment.pk, now=now, answers=dict(answers), **participation)
    if not moved and _excluded_participations(**participation).exists():
        refuse_stopped_worker(Participation.Standing.EXCLUDED)
    if not moved:
        raise TooLate(
            _("The time for this page of work ended while it was submitted; what you had saved is kept.")
        )
    assignment.state, assignment.submitted_at = Assignment.State.SUBMITTED, now
    assignment.answers = dict(answers)


def build_judgment(
    assignment: Assignment,
    page_unit: PageUnit,
    answer: Mapping[str, Any],
    *,
    kind: Kind,
    made_at: datetime | None = None,
) -> Judgment:
    key = answer_key(kind)
    return Judgment(
        assignment_id=assignment.pk,
        unit_id=page_unit.unit.pk,
        **{key: kind.sides.to_canonical(answer[key], side=page_unit.side)},
        presented=_side_presented(kind, page_unit.side),
        seconds=answer.get("seconds"),
        wall_seconds=answer.get("wall_seconds"),
        comment=answer.get("comment", ""),
        signals=answer.get("signals", {}),
        made_at=made_at or assignment.submitted_at or timezone.now(),
    )


def _side_presented(kind: Kind, side: Any) -> str:
    if not kind.two_sided:
        return ""
    return Judgment.Presented.SECOND_LEFT if side else Judgment.Presented.FIRST_LEFT


@transaction.atomic
def report_problem(*, assignment: Assignment, position: int, what: str, comment: str = "") -> ProblemReport:
    page_unit = next(
        (candidate for candidate in page_units_of(assignment) if candidate.position == position), None
    )
    if page_unit is None:
        raise AnswerProblem(
            _("The report was not saved: there is no position %(position)s.") % {"position": position}
        )
    if what not in ProblemReport.What.values:
        raise AnswerProblem(
            f"The report was not saved: {what!r} is none of {', '.join(ProblemReport.What.values)}."
        )
    return ProblemReport.objects.create(
        assignment=assignment, unit=page_unit.unit, what=what, comment=comment.strip()[:2000]
    )


def changeable_until(assignment: Assignment) -> datetime | None:
    minutes = design_of(assignment.study).crowd.edit_minutes
    if assignment.state != Assignment.State.SUBMITTED or assignment.submitted_at is None or not minutes:
        return None
    return assignment.submitted_at + timedelta(minutes=minutes)


def current_answers(assignment: Assignment, page_units: Sequence[PageUnit]) -> dict[str, dict[str, Any]]:
    kind = KINDS[assignment.study.protocol]
    key = answer_key(kind)
    rows = {
        row.unit_id: row for row in Judgment.objects.filter(assignment=assignment, replaced_by__isnull=True)
    }
    return {
        str(page_unit.position): {key: kind.sides.from_canonical(getattr(row, key), side=page_unit.side)}
        | {name: value for name in OPTIONAL_FIELDS if (value := getattr(row, name)) not in (None, "", {})}
        for page_unit in page_units
        if (row := rows.get(page_unit.unit.pk)) is not None
    }


def revise_judgments(*, assignment: Assignment, answers: Sequence[Mapping[str, Any]]) -> list[int]:
    """Revise submitted answers and return the changed positions. A repeated call changes nothing.

    Each change adds a judgment and keeps the old one. If an answer is invalid or late, nothing changes.
    """
    sheet = read_answers(assignment, answers)
    key = answer_key(sheet.kind)
    with transaction.atomic():
        locked = lock_assignment(assignment)
        _refuse_late(locked)
        rows = {
            row.unit_id: row for row in Judgment.objects.filter(assignment=locked, replaced_by__isnull=True)
        }
        now, revised, changed = timezone.now(), [], []
        for page_unit in sheet.page_units:
            answer, before = sheet.answers.get(str(page_unit.position)), rows.get(page_unit.unit.pk)
            if answer is None or before is None:
                continue
            earlier = {name: getattr(before, name) for name in OPTIONAL_FIELDS}
            judgment = build_judgment(locked, page_unit, {**earlier, **answer}, kind=sheet.kind, made_at=now)
            if (getattr(judgment, key), judgment.comment) == (getattr(before, key), before.comment):
                continue
            judgment.replaces = before
            revised.append(judgment)
            changed.append(page_unit.position)
        add_copy_signals(revised, assignment=locked)
        Judgment.objects.bulk_create(revised)
        if revised:
            if stops_early(locked.study):
                settle_submission(assignment=locked, revised=True)
            recount(locked.study)
    return changed


def _refuse_late(assignment: Assignment) -> None:
    until = changeable_until(assignment)
    if until is not None and until > timezone.now():
        return
    if assignment.submitted_at is None:
        raise AlreadyEnded(_("Nothing was changed: this page of work was never submitted."))
    raise TooLateToChange(_("Your answers stay as you submitted them: the time to change them is over."))


def last_changeable(assignments: Sequence[Assignment]) -> Assignment | None:
    """Return the assignment submitted last, if it can still be revised."""
    finished = [assignment for assignment in assignments if assignment.submitted_at is not None]
    last = max(
        finished, key=lambda assignment: assignment.submitted_at or assignment.accepted_at, default=None
    )
    until = changeable_until(last) if last is not None else None
    return last if until is not None and until > timezone.now() else None
