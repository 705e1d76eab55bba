"""Store answers in the draft of an assignment: check them, lock the assignment's row, and merge them.

Saving and submitting share these steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, UUIDField
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.errors import AlreadyEnded, TooLate
from annotation.models import Assignment, Participation, QualityRule, Worker
from annotation.models.assignments import submission_annotations
from annotation.quality.exclusions import refuse_stopped_worker
from annotation.work.answers.checks import answer_key, check_answers
from annotation.work.sheet.units import PageUnit, page_units_of
from common.audit import log_about
from common.errors import ObjectNotFound
from common.rows.prepared import PreparedQuery, query_parameter
from judgments.kinds import KINDS, Kind
from judgments.studies.designs import design_of

# queries whose SQL is generated once, since each saved answer needs both
_OWN_ASSIGNMENT_QUERY = PreparedQuery(
    lambda: Assignment.objects.select_related("study", "hit").filter(
        pk=query_parameter("assignment", UUIDField()), worker=query_parameter("worker")
    )
)

_LOCKED_ASSIGNMENT_QUERY: PreparedQuery[Any] = PreparedQuery(
    lambda: (
        Assignment.objects.select_for_update()
        .filter(pk=query_parameter("assignment", UUIDField()))
        .annotate(
            **submission_annotations,
            has_enabled_rules=Exists(QualityRule.objects.filter(study=OuterRef("study"), enabled=True)),
        )
    )
)


def own_assignment(*, worker: Worker, assignment_id: str | UUID) -> Assignment:
    """Return the worker's assignment with this id. Raise ObjectNotFound if there is none."""
    try:
        assignment_pk = UUID(str(assignment_id))
    except ValueError:
        raise ObjectNotFound("There is no such assignment.") from None
    assignment = _OWN_ASSIGNMENT_QUERY.first(assignment=assignment_pk, worker=worker.pk)
    if assignment is None:
        raise ObjectNotFound("There is no such assignment.")
    assignment.worker = worker
    log_about(study=assignment.study.slug)
    return assignment


@dataclass(frozen=True, slots=True)
class CheckedAnswers:
    """Valid answers to a page of work, in their stored form by position, with the kind and the units."""

    assignment: Assignment
    kind: Kind
    page_units: list[PageUnit]
    answers: dict[str, dict[str, Any]]


def check_submitted_answers(assignment: Assignment, answers: Sequence[Mapping[str, Any]]) -> CheckedAnswers:
    """Check answers to the page of an assignment. Raise AnswerProblem if one is invalid."""
    study = assignment.study
    page_units = page_units_of(assignment)
    valid_answers = check_answers(answers, design=design_of(study), page_units=page_units)
    return CheckedAnswers(
        assignment=assignment, kind=KINDS[study.protocol], page_units=page_units, answers=valid_answers
    )


def lock_assignment(assignment: Assignment) -> Assignment:
    """Lock the assignment's row, and return it with the annotations that a submission needs."""
    locked_row: Any = _LOCKED_ASSIGNMENT_QUERY.first(assignment=assignment.pk)
    if locked_row is None:
        raise ObjectNotFound("There is no such assignment.")
    locked_row.study = assignment.study
    # The query cannot annotate ``has_detectors`` itself, since the model has an attribute of this name.
    locked_row.has_detectors = locked_row.has_enabled_rules
    return locked_row


def refuse_ended_assignment(assignment: Assignment) -> None:
    """Refuse an assignment that is not in progress.

    Raises:
        AlreadyEnded: the assignment was returned or submitted, or it waits until the current page has ended.
        TooLate: its time is over, or it was ended early because no answers came.
        WorkerExcluded: the worker is excluded from the study.
    """
    if assignment.state == Assignment.State.RETURNED:
        raise AlreadyEnded(_("Nothing was changed: you returned this page of work."))
    if assignment.state == Assignment.State.INVALIDATED:
        refuse_stopped_worker(Participation.Standing.EXCLUDED)
    if assignment.state == Assignment.State.RESERVED:
        raise AlreadyEnded(_("Nothing was changed: submit or return your current page of work first."))
    if assignment.state not in (Assignment.State.ACCEPTED, Assignment.State.EXPIRED):
        raise AlreadyEnded(_("Your answers were submitted and stay as they are."))
    # the page of a local worker, who has no session, may be ended early because no answers came (silent_leases)
    is_over = assignment.expires_at is not None and assignment.expires_at <= timezone.now()
    is_expired = assignment.state == Assignment.State.EXPIRED
    was_ended_early = is_expired and not is_over and assignment.session_id is None
    if was_ended_early:
        raise TooLate(
            _(
                "You sent no answers for a while, so somebody else got your place on this page of work. "
                "Your saved answers are kept. Take the page again, or open the study again."
            )
        )
    if is_expired or is_over:
        raise TooLate(
            _(
                "The time for this page of work is over, and somebody else may have your place. Your saved "
                "answers are kept."
            )
        )


def store_draft(assignment: Assignment, answers: Mapping[str, dict[str, Any]]) -> None:
    """Merge answers into the draft. The time of the last answer changes only if ``_has_new_answer``."""
    old_answers = assignment.answers
    assignment.answers = merge_answers(old_answers, answers)
    if _has_new_answer(old_answers, assignment.answers, KINDS[assignment.study.protocol]):
        assignment.answered_at = timezone.now()
    assignment.save(update_fields=["answers", "answered_at"])


def _has_new_answer(
    old_answers: Mapping[str, dict[str, Any]], new_answers: Mapping[str, dict[str, Any]], kind: Kind
) -> bool:
    """Return whether an unanswered unit was answered, or an open answer changed.

    Sending a choice again, or another choice for the same unit, does not count. Otherwise a worker could keep a lease
    forever by answering one unit again and again.
    """
    key = answer_key(kind)
    answer_pairs = [(old_answers.get(position, {}), answer) for position, answer in new_answers.items()]
    if kind.is_open:
        return any(new_answer.get(key) != old_answer.get(key) for old_answer, new_answer in answer_pairs)
    return any(key in new_answer and key not in old_answer for old_answer, new_answer in answer_pairs)


def merge_answers(
    saved_answers: Mapping[str, dict[str, Any]], answers: Mapping[str, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Merge new answers into saved ones, by position.

    A new answer replaces the saved one. Other saved fields, such as a comment, are kept unless the new answer has them.

    For example, ``{"1": {"value": 2, "comment": "blurred"}}`` and ``{"1": {"value": 3}}`` give
    ``{"1": {"comment": "blurred", "value": 3}}``.
    """
    # These fields are not kept: an answer replaces unfinished input, and unfinished input replaces an answer.
    replaced_names = {"value", "answer", "unfinished"}
    all_answers = dict(saved_answers)
    for position, answer in answers.items():
        old_answer = saved_answers.get(position, {})
        kept_fields = {name: value for name, value in old_answer.items() if name not in replaced_names}
        all_answers[position] = kept_fields | answer
    return all_answers
