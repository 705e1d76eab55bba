"""Submit work from a page in a frame of Mechanical Turk's site, or store it as excluded if it comes too late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.errors import StoredTooLate, TooLate
from annotation.models import Assignment, CrowdSession, Judgment
from annotation.work.answers.checks import answer_key
from annotation.work.answers.drafts import (
    CheckedAnswers,
    check_submitted_answers,
    lock_assignment,
    merge_answers,
)
from annotation.work.answers.judgments import build_judgment
from annotation.work.slots.release import release_slots
from annotation.work.submissions import SubmissionResult, submit_assignment

Status = CrowdSession.Status


def submit_for_session(
    *, session: CrowdSession, assignment: Assignment, answers: Sequence[Mapping[str, Any]]
) -> SubmissionResult:
    """Submit an assignment, and mark its session as submitted. The crowd confirms the session later.

    Raises:
        StoredTooLate: the lease had ended, or the crowd does not know the work; the answers are stored but
            excluded.
    """
    if assignment.state == Assignment.State.APART:  # a late submission before, or unknown to the crowd
        raise StoredTooLate(too_late_message())
    try:
        submission = submit_assignment(assignment=assignment, answers=answers)
    except TooLate:
        store_late_answers(session=session, assignment=assignment, answers=answers)
        raise StoredTooLate(too_late_message()) from None
    mark_as_submitted(session=session)
    return submission


def too_late_message() -> str:
    return _(
        "You submitted this HIT after the time that Mechanical Turk allows. Your answers are stored "
        "separately. They do not count, and you are not paid for them."
    )


def mark_as_submitted(*, session: CrowdSession) -> bool:
    """Mark a running session as submitted. Return False if it had ended before."""
    running_sessions = CrowdSession.objects.filter(pk=session.pk, status=Status.WORKING)
    return bool(running_sessions.update(status=Status.SUBMITTED))


@transaction.atomic
def store_late_answers(
    *, session: CrowdSession, assignment: Assignment, answers: Sequence[Mapping[str, Any]]
) -> None:
    """Store answers that came late, and end the assignment and the session.

    All answers are stored as a draft and, if they are complete, as excluded judgments, too.
    """
    checked_answers = check_submitted_answers(assignment, answers)
    locked_assignment = lock_assignment(assignment)
    release_slots(Assignment.objects.filter(pk=locked_assignment.pk), Assignment.State.EXPIRED)
    key = answer_key(checked_answers.kind)
    draft = merge_answers(locked_assignment.answers, checked_answers.answers)
    Assignment.objects.filter(pk=locked_assignment.pk, state=Assignment.State.EXPIRED).update(answers=draft)
    if all(key in draft.get(str(page_unit.position), {}) for page_unit in checked_answers.page_units):
        _store_excluded(locked_assignment, checked_answers, draft)
    CrowdSession.objects.filter(pk=session.pk, status=Status.WORKING).update(status=Status.TIMED_OUT)


def _store_excluded(
    assignment: Assignment, checked_answers: CheckedAnswers, draft: Mapping[str, dict[str, Any]]
) -> None:
    """Store complete late answers as judgments, and exclude the assignment.

    ``draft`` has the answers by position on the page, such as ``{"1": {"value": 2}}``.
    """
    now = timezone.now()
    is_excluded = Assignment.objects.filter(pk=assignment.pk, state=Assignment.State.EXPIRED).update(
        state=Assignment.State.APART, submitted_at=now
    )
    if is_excluded:
        Judgment.objects.bulk_create(
            build_judgment(
                assignment, page_unit, draft[str(page_unit.position)], kind=checked_answers.kind, made_at=now
            )
            for page_unit in checked_answers.page_units
        )
