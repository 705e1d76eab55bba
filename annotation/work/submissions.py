"""Save answers as a draft, and submit them. All judgments of an assignment are stored, or none.

The module also stores reports of problems, which workers send from the same page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import DateTimeField, Exists, JSONField, QuerySet, UUIDField
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.crowds.panel.sessions import complete_session_if_done
from annotation.crowds.qualifications import grant_qualification
from annotation.errors import AddressFull, AlreadyEnded, AnswerProblem, AnswersMissing, TooLate
from annotation.models import Assignment, Judgment, Participation, ProblemReport
from annotation.models.assignments import assignment_submitted
from annotation.quality.exclusions import refuse_stopped_worker
from annotation.quality.flags import has_stopping_flag, run_detectors
from annotation.work.answers.checks import MAX_COMMENT_LENGTH, answer_key, unanswered_positions
from annotation.work.answers.drafts import (
    CheckedAnswers,
    check_submitted_answers,
    lock_assignment,
    merge_answers,
    refuse_ended_assignment,
    store_draft,
)
from annotation.work.answers.judgments import add_copy_signals, build_judgment
from annotation.work.claims import claim_assignment, commit_claim
from annotation.work.seats import share_pause_lock
from annotation.work.sheet.units import page_units_of
from annotation.work.slots.acceptance import SlotLost
from annotation.work.slots.candidates import Claim, prepare_candidate
from annotation.work.stopping import settle_submission
from annotation.work.system_pairs import count_answers_to_pairs
from common.errors import QuorumError
from common.rows.prepared import PreparedUpdate, query_parameter
from common.rows.writing import insert_rows
from judgments.kinds import KINDS
from judgments.studies.designs import design_of, draws_at_claim, stops_early

# The columns of a new judgment, which is no revision. ``insert_rows`` is used, since bulk_create takes ten times as
# long.
JUDGMENT_COLUMNS = (
    "assignment_id", "unit_id", "value", "answer", "presented", "seconds", "wall_seconds", "comment", "signals",
    "made_at",
)  # fmt: skip

_NOW_PARAMETER = query_parameter("now", DateTimeField())
_SUBMIT_UPDATE = PreparedUpdate(
    lambda: Assignment.objects.with_lease(_NOW_PARAMETER).filter(
        # the HIT may have been claimed while the worker was being excluded, so that the exclusion missed it
        ~Exists(_excluded_participations(query_parameter("study"), query_parameter("worker"))),
        pk=query_parameter("assignment", UUIDField()),
    ),
    state=Assignment.State.SUBMITTED,
    submitted_at=_NOW_PARAMETER,
    answers=query_parameter("answers", JSONField()),
)


@dataclass(frozen=True, slots=True)
class SubmissionResult:
    """The result of submitting.

    Attributes:
        is_repeat: whether the assignment was submitted before.
        missing_positions: the positions without an answer. If there are any, the answers were only saved.
    """

    assignment: Assignment
    is_repeat: bool
    missing_positions: tuple[int, ...] = ()


def save_answers(
    *,
    assignment: Assignment,
    answers: Sequence[Mapping[str, Any]],
    unfinished: Mapping[int, Any] | None = None,
    keep_late: bool = False,
) -> Assignment:
    """Merge ``answers`` into the draft. If one answer is invalid, save nothing.

    Args:
        unfinished: the invalid input of a form without scripts, by position. It is saved, but is not an answer.
        keep_late: whether to keep the draft even if TooLate is raised. A form without scripts would otherwise lose it.

    Raises:
        AnswerProblem, TooLate, AlreadyEnded: the answers are invalid or late.
    """
    checked_answers = check_submitted_answers(assignment, answers)
    with transaction.atomic():
        locked_assignment = lock_assignment(assignment)
        late_error: TooLate | None = None
        try:
            refuse_ended_assignment(locked_assignment)
        except TooLate as error:
            if not keep_late:
                raise
            late_error = error
        unfinished_answers = {
            str(position): {"unfinished": text} for position, text in (unfinished or {}).items()
        }
        store_draft(locked_assignment, {**checked_answers.answers, **unfinished_answers})
    if late_error is not None:
        raise late_error
    return locked_assignment


def advice_on(assignment: Assignment, answers: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """Return sentences about answers that are valid, but that the worker may want to improve, by position."""
    kind = KINDS[assignment.study.protocol]
    design = design_of(assignment.study)
    key = answer_key(kind)  # "answer" for open answers, "value" for numbers
    advice = {answer["position"]: kind.advise(answer[key], design) for answer in answers if key in answer}
    return {position: sentence for position, sentence in advice.items() if sentence}


def submit_assignment(*, assignment: Assignment, answers: Sequence[Mapping[str, Any]]) -> SubmissionResult:
    """Merge ``answers`` into the draft, and store a judgment for every unit. Repeating changes nothing.

    One transaction stores the state and the judgments, and updates what depends on them (``_store_judgments``). The
    detectors run after it.

    Raises:
        AnswersMissing: positions have no answer; the other answers are saved.
        AnswerProblem, TooLate, AlreadyEnded, WorkerExcluded: nothing changes.
    """
    checked_answers = check_submitted_answers(assignment, answers)
    with transaction.atomic():
        submission = _submit_answers(checked_answers)
    _require_complete(submission)
    _run_detectors(submission)
    return submission


def submit_and_claim(
    *, assignment: Assignment, answers: Sequence[Mapping[str, Any]]
) -> tuple[SubmissionResult, Claim | None]:
    """Submit an assignment, then claim the next HIT of the study, in one commit if possible.

    One commit is faster: each waits for the disk, and on SQLite everybody waits for it. The claim is None if the
    worker gets no HIT now. The errors are those of ``submit_assignment``.
    """
    # With early stopping, a submission locks HITs. A claim locks another HIT, so a transaction for both could deadlock.
    # The page of an arena is drawn from committed judgments only.
    if not (stops_early(assignment.study) or draws_at_claim(assignment.study)):
        try:
            return _submit_with_claim(assignment, answers)
        except (SlotLost, AddressFull, IntegrityError):
            pass  # the transaction was rolled back: submit and claim in separate ones
    submission = submit_assignment(assignment=assignment, answers=answers)
    try:
        return submission, claim_assignment(study=assignment.study, worker=assignment.worker)
    except QuorumError:  # for instance, this submission excluded the worker; the next claim reports it
        return submission, None


def _submit_with_claim(
    assignment: Assignment, answers: Sequence[Mapping[str, Any]]
) -> tuple[SubmissionResult, Claim | None]:
    """Submit and claim in one transaction.

    Raises:
        SlotLost, AddressFull, IntegrityError: the claim failed, so nothing was submitted.
    """
    study = assignment.study
    checked_answers = check_submitted_answers(assignment, answers)
    try:
        candidate = prepare_candidate(study, assignment.worker, ignored_assignment=assignment)
    except QuorumError:  # a refused claim must not undo the submission
        candidate = None  # then `commit_claim` claims nothing
    with transaction.atomic():
        if candidate is not None:
            share_pause_lock(study)  # against a pause meanwhile; before other locks, to avoid deadlocks
        submission = _submit_answers(checked_answers)
        claim = None if submission.missing_positions else commit_claim(candidate)
    _require_complete(submission)
    is_stopped = _run_detectors(submission)
    return submission, None if is_stopped else claim


def _submit_answers(checked_answers: CheckedAnswers) -> SubmissionResult:
    """Store the judgments of a page. If answers are missing, store a draft instead."""
    locked_assignment = lock_assignment(checked_answers.assignment)
    if locked_assignment.submitted_at is not None:  # submitted before, whatever its state is now
        _refuse_other_answers(locked_assignment, checked_answers.answers)
        return SubmissionResult(assignment=locked_assignment, is_repeat=True)
    refuse_ended_assignment(locked_assignment)
    all_answers = merge_answers(locked_assignment.answers, checked_answers.answers)
    missing_positions = unanswered_positions(
        checked_answers.page_units, all_answers, kind=checked_answers.kind
    )
    if missing_positions:
        store_draft(locked_assignment, checked_answers.answers)
    else:
        _store_judgments(locked_assignment, checked_answers, all_answers)
    return SubmissionResult(locked_assignment, is_repeat=False, missing_positions=tuple(missing_positions))


def _require_complete(submission: SubmissionResult) -> None:
    if submission.missing_positions:
        raise AnswersMissing(submission.missing_positions)


def _run_detectors(submission: SubmissionResult) -> bool:
    """Run the detectors after the commit. Return whether they paused or excluded the worker."""
    if submission.is_repeat or not submission.assignment.has_detectors:
        return False
    return has_stopping_flag(run_detectors(assignment=submission.assignment))


def _refuse_other_answers(assignment: Assignment, answers: Mapping[str, dict[str, Any]]) -> None:
    """Raise AlreadyEnded if the answers differ from those that were submitted."""
    key = answer_key(KINDS[assignment.study.protocol])  # "answer" or "value"
    is_same = all(
        assignment.answers.get(position, {}).get(key) == answer.get(key)
        for position, answer in answers.items()
        if key in answer
    )
    if not is_same:
        raise AlreadyEnded(_("You have already submitted your answers. They stay as you submitted them."))


def _store_judgments(
    assignment: Assignment, checked_answers: CheckedAnswers, answers: Mapping[str, dict[str, Any]]
) -> None:
    """Store a complete page of answers as judgments, and update everything that depends on them.

    Args:
        checked_answers: the answers of this request, with the units of the page.
        answers: the answers of this request and of the draft, by position.
    """
    _mark_submitted(assignment, answers)
    judgments = [
        build_judgment(assignment, page_unit, answers[str(page_unit.position)], kind=checked_answers.kind)
        for page_unit in checked_answers.page_units
    ]
    add_copy_signals(judgments, assignment=assignment)  # notes captions that copy another text
    values_of_row = attrgetter(*JUDGMENT_COLUMNS)
    insert_rows(Judgment, JUDGMENT_COLUMNS, map(values_of_row, judgments))
    study = assignment.study
    if stops_early(study):
        settle_submission(assignment=assignment)
    if assignment.session_id is not None:
        complete_session_if_done(assignment=assignment)
    if design_of(study).workers.grants:
        grant_qualification(assignment=assignment)
    # receivers of the signal read these rows, which are already in memory
    assignment.hit = checked_answers.assignment.hit
    assignment.worker = checked_answers.assignment.worker
    assignment_submitted.send(Assignment, assignment=assignment, judgments=len(judgments))
    # update the counters last: all workers lock these rows, and the lock order has sessions before them
    if draws_at_claim(study):
        answered_units = zip(checked_answers.page_units, judgments, strict=True)
        count_answers_to_pairs(
            study=study, answers=((page_unit.unit, judgment.value) for page_unit, judgment in answered_units)
        )


def _excluded_participations(study: Any, worker: Any) -> QuerySet[Participation]:
    return Participation.objects.filter(study=study, worker=worker, standing=Participation.Standing.EXCLUDED)


def _mark_submitted(assignment: Assignment, answers: Mapping[str, dict[str, Any]]) -> None:
    """Mark the assignment as submitted.

    The update has conditions, since the lease may end, and the worker may be excluded, after they were checked.

    Raises:
        WorkerExcluded: the worker was excluded meanwhile.
        TooLate: the lease ended meanwhile.
    """
    now = timezone.now()
    participation = {"study": assignment.study_id, "worker": assignment.worker_id}
    is_stored = _SUBMIT_UPDATE(assignment=assignment.pk, now=now, answers=dict(answers), **participation)
    if not is_stored and _excluded_participations(**participation).exists():
        refuse_stopped_worker(Participation.Standing.EXCLUDED)
    if not is_stored:
        raise TooLate(
            _("The time for this page of work ended while you submitted it. Your saved answers are kept.")
        )
    assignment.state = Assignment.State.SUBMITTED
    assignment.submitted_at = now
    assignment.answers = dict(answers)


@transaction.atomic
def report_problem(*, assignment: Assignment, position: int, what: str, comment: str = "") -> ProblemReport:
    """Store a worker's report of a problem with the item at a position. Raise AnswerProblem if the report is invalid.

    Args:
        what: the kind of problem, a value of ``ProblemReport.Kind``.
    """
    page_unit = next(
        (candidate for candidate in page_units_of(assignment) if candidate.position == position), None
    )
    if page_unit is None:
        raise AnswerProblem(
            _("The report was not saved: this page of work has no item at position %(position)s.")
            % {"position": position}
        )
    if what not in ProblemReport.Kind.values:
        raise AnswerProblem(
            f"The report was not saved: {what!r} is none of {', '.join(ProblemReport.Kind.values)}."
        )
    return ProblemReport.objects.create(
        assignment=assignment, unit=page_unit.unit, what=what, comment=comment.strip()[:MAX_COMMENT_LENGTH]
    )
