"""What workers read about their own work: a summary for each study, and the download of all their answers.

Control items are never revealed. Accuracy on them is shown only if the study says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, Exists, OuterRef, QuerySet, Sum
from django.utils import timezone

from annotation.crowds.people import PUBLIC_LINK_PLATFORMS
from annotation.models import Assignment, Judgment, Participation, Worker
from annotation.models.assignments import EXCLUDED_STATES, FINISHED_STATES, LEASED_STATES, LIVE_STATES
from annotation.quality.controls import ControlRecord, control_answers, control_record
from annotation.work.answers.checks import SIGNALS, WRITING_SIGNALS, answer_key
from annotation.work.quiz import quiz_backend
from annotation.work.sheet.units import page_units_of
from annotation.work.worksheet import texts_shown
from judgments.design.quiz import asks_anything
from judgments.design.study_design import StudyDesign
from judgments.kinds import KINDS
from judgments.models import HIT, Study
from judgments.studies.designs import design_of, kind_of

SUBMITTED_STATES = (*FINISHED_STATES, *EXCLUDED_STATES)
MAX_REJECTED = 50  # newest rejected assignments that are listed


@dataclass(slots=True)
class WorkerSummary:
    """What a worker did in a study.

    Attributes:
        pages: the number of assignments (pages of work) by state.
        approved_before: the number of approved assignments that were invalidated later.
        judgments: the number of judgments; a revised one counts once.
        seconds: the active time of these judgments.
        controls: accuracy on control items, if the study shows it.
        has_lease: whether the worker has a page of work in progress.
        has_more_work: whether the study is open and has a HIT with an open slot that the worker has not done.
        rejected_assignments: the newest ones, at most ``MAX_REJECTED`` over all studies.
        quiz: "open" until the quiz is passed, "failed" if no attempt is left, else "".
    """

    study: Study
    design: StudyDesign
    participation: Participation
    pages: Counter[str] = field(default_factory=Counter)
    approved_before: int = 0
    judgments: int = 0
    seconds: float = 0.0
    controls: ControlRecord | None = None
    has_lease: bool = False
    has_more_work: bool = False
    rejected_assignments: list[Assignment] = field(default_factory=list)
    quiz: str = ""

    @property
    def submitted(self) -> int:
        """The number of submitted assignments, whatever was decided about them."""
        return sum(self.pages[state] for state in SUBMITTED_STATES)

    @property
    def pending_cents(self) -> int:
        """The pay of submitted work about which nobody has decided yet."""
        return self.pages["submitted"] * self.design.crowd.reward_cents

    @property
    def approved_cents(self) -> int:
        """The pay of approved work. It includes work that was invalidated later, since that is still owed."""
        return (self.pages["approved"] + self.approved_before) * self.design.crowd.reward_cents


def summaries_of_worker(worker: Worker) -> list[WorkerSummary]:
    """Return what the worker did in each of their studies, latest first."""
    leases = Assignment.objects.with_lease(timezone.now()).filter(worker=worker, study=OuterRef("study"))
    done_assignments = Assignment.objects.filter(hit=OuterRef("pk"), worker=worker, state__in=LIVE_STATES)
    free_hits = HIT.objects.filter(~Exists(done_assignments), study=OuterRef("study"), open_slots__gt=0)
    rows = Participation.objects.filter(worker=worker).select_related("study")
    rows = rows.annotate(has_lease=Exists(leases), has_open_hit=Exists(free_hits))
    summaries = {
        row.study_id: WorkerSummary(
            study=row.study,
            design=design_of(row.study),
            participation=row,
            has_lease=row.has_lease,
            has_more_work=row.has_open_hit and row.study.state == Study.State.OPEN,
        )
        for row in rows.order_by("-joined_at")
    }
    _add_page_counts(worker, summaries)
    _add_judgment_totals(worker, summaries)
    rejected_assignments = Assignment.objects.filter(
        worker=worker, study__in=summaries, state=Assignment.State.REJECTED
    ).prefetch_related("appeal_notes")
    for assignment in rejected_assignments.order_by("-submitted_at")[:MAX_REJECTED]:
        summaries[assignment.study_id].rejected_assignments.append(assignment)
    quiz_studies = [summary.study for summary in summaries.values() if asks_anything(summary.design.quiz)]
    if quiz_studies:
        for study, state in quiz_backend().states_for(worker, quiz_studies).items():
            summaries[study].quiz = state
    _add_accuracy(worker, [summary for summary in summaries.values() if summary.design.workers.show_accuracy])
    return list(summaries.values())


def _add_page_counts(worker: Worker, summaries: dict[int, WorkerSummary]) -> None:
    """Count the worker's assignments by state. ``summaries`` are those of the worker, by the study's row id."""
    assignments = Assignment.objects.filter(worker=worker, study__in=summaries)
    state_counts = assignments.order_by().values_list("study", "state", "before_exclusion")
    for study, state, state_before, assignment_count in state_counts.annotate(n=Count("pk")):
        if state_before in LEASED_STATES:
            continue  # the page was never submitted
        summaries[study].pages[state] += assignment_count
        if state_before == Assignment.State.APPROVED:
            summaries[study].approved_before += assignment_count


def _add_judgment_totals(worker: Worker, summaries: dict[int, WorkerSummary]) -> None:
    judgments = Judgment.objects.current().filter(assignment__worker=worker, assignment__study__in=summaries)
    totals = judgments.order_by().values_list("assignment__study")
    for study, judgment_count, seconds in totals.annotate(n=Count("pk"), total_seconds=Sum("seconds")):
        summaries[study].judgments = judgment_count
        summaries[study].seconds = seconds or 0.0


def _add_accuracy(worker: Worker, summaries: list[WorkerSummary]) -> None:
    """Add the accuracy of each summary whose worker has answered ``controls.after`` or more control items.

    The first answer to each item counts. With fewer items, or with revised answers, a change of the accuracy would
    reveal which items are control items.
    """
    for summary in summaries:
        kind = kind_of(summary.study)
        answers = control_answers(summary.study, workers=[worker.pk], as_first_given=True)
        if len(answers) >= summary.design.controls.after:
            right_answers = sum(kind.is_right(answer.answer, answer.expected) for answer in answers)
            summary.controls = control_record(len(answers), right_answers, summary.design.controls)


def open_studies() -> QuerySet[Study]:
    """Return the studies that anybody may join, newest first."""
    studies = Study.objects.filter(state=Study.State.OPEN, simulated=False, design__access__join="open")
    return studies.filter(platform__in=PUBLIC_LINK_PLATFORMS).order_by("-opened_at", "slug")


def own_answers(worker: Worker) -> Iterator[dict[str, Any]]:
    """Yield all submitted answers of a worker, for the download of their own data."""
    rows = Assignment.objects.filter(worker=worker, state__in=SUBMITTED_STATES)
    for assignment in rows.select_related("study").order_by("submitted_at", "pk").iterator(chunk_size=100):
        yield from _answers_of(assignment)


def _answers_of(assignment: Assignment) -> Iterator[dict[str, Any]]:
    """Yield the current answers of an assignment, each with what the page showed."""
    design = design_of(assignment.study)
    kind = KINDS[design.protocol].for_design(design)
    key = answer_key(kind)  # "answer" for open answers, "value" for numbers
    current_judgments = Judgment.objects.filter(assignment=assignment, replaced_by__isnull=True)
    judgments = {judgment.unit_id: judgment for judgment in current_judgments}
    for page_unit in page_units_of(assignment):
        judgment = judgments.get(page_unit.unit.pk)
        if judgment is None:
            continue
        entry: dict[str, Any] = {
            "study": assignment.study.slug,
            "study_name": assignment.study.name,
            "page": str(assignment.pk),
            "state": assignment.state,
            "submitted_at": assignment.submitted_at.isoformat() if assignment.submitted_at else None,
            "position": page_unit.position,
            "question": design.question,
            "shown": _without_picture(texts_shown(page_unit, design=design, kind=kind, picture_url="")),
            # a judgment refers to the options in the order of the unit, which the worker may have seen reversed
            key: kind.sides.from_canonical(getattr(judgment, key), side=page_unit.side),
            "comment": judgment.comment,
            "seconds": judgment.seconds,
        }
        if design.writing.record:
            entry["signals"] = _own_signals(judgment)
        yield entry


def _own_signals(judgment: Judgment) -> dict[str, int]:
    """Return the page's counts of how the answer was written.

    The similarity to others' answers is left out, since it is not the worker's own data.
    """
    return {name: count for name, count in judgment.signals.items() if name in (*SIGNALS, *WRITING_SIGNALS)}


def _without_picture(content: dict[str, Any]) -> dict[str, Any]:
    """Return the shown content without its picture, whose address is valid only during the assignment."""
    return {name: value for name, value in content.items() if name != "image"}
