"""Handing in what belongs to a piece of paid work at a crowd, in time or late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.answers import answer_key
from annotation.errors import KeptApart, TooLate
from annotation.models import Assignment, CrowdSession, Judgment
from annotation.services.claims import free_seats
from annotation.services.submissions import (
    Sheet,
    Submission,
    judgment_of,
    laid_over,
    lock_assignment,
    read_answers,
    submit_assignment,
)

Status = CrowdSession.Status


def hand_in(
    *, session: CrowdSession, assignment: Assignment, answers: Sequence[Mapping[str, Any]]
) -> Submission:
    """Submit an assignment of the session; it is then our turn to wait for the crowd's word of it.

    Raises:
        AnswersMissing, AnswerProblem, AlreadyEnded: as for ``submit_assignment``.
        KeptApart: its time was over; what came is kept apart.
    """
    if assignment.state == Assignment.State.APART:
        raise KeptApart(late_words())
    try:
        submission = submit_assignment(assignment=assignment, answers=answers)
    except TooLate:
        keep_apart(session=session, assignment=assignment, answers=answers)
        raise KeptApart(late_words()) from None
    note_handed_in(session=session)
    return submission


def late_words() -> str:
    """What a worker is told whose time was over."""
    return _(
        "Mechanical Turk’s time for this HIT was over before you handed it in. Your answers are kept apart: they do "
        "not count, and they are not paid."
    )


def note_handed_in(*, session: CrowdSession) -> bool:
    """The answers are here; whether the crowd has the work is for the crowd to say. Whether it was news."""
    working = CrowdSession.objects.filter(pk=session.pk, status=Status.WORKING)
    return bool(working.update(status=Status.SUBMITTED))


@transaction.atomic
def keep_apart(
    *, session: CrowdSession, assignment: Assignment, answers: Sequence[Mapping[str, Any]]
) -> None:
    """What came too late: complete, it becomes judgments that count nowhere; else it stays a draft. The seat is free,
    and the session timed out.

    Raises:
        AnswerProblem: an answer is not valid; nothing changes.
    """
    sheet = read_answers(assignment, answers)
    locked = lock_assignment(assignment)
    free_seats(Assignment.objects.filter(pk=locked.pk), Assignment.State.EXPIRED)
    key = answer_key(sheet.kind)
    merged = laid_over(locked.answers, sheet.given)
    Assignment.objects.filter(pk=locked.pk, state=Assignment.State.EXPIRED).update(answers=merged)
    if all(key in merged.get(str(place.position), {}) for place in sheet.places):
        _store_apart(locked, sheet, merged)
    CrowdSession.objects.filter(pk=session.pk, status=Status.WORKING).update(status=Status.TIMED_OUT)


def _store_apart(locked: Assignment, sheet: Sheet, answers: Mapping[str, dict[str, Any]]) -> None:
    now = timezone.now()
    moved = Assignment.objects.filter(pk=locked.pk, state=Assignment.State.EXPIRED).update(
        state=Assignment.State.APART, submitted_at=now
    )
    if moved:
        Judgment.objects.bulk_create(
            judgment_of(locked, place, answers[str(place.position)], kind=sheet.kind, made_at=now)
            for place in sheet.places
        )
