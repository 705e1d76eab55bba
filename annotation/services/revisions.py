"""Correcting answers for a while after they were submitted: new judgments beside the old ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.answers import answer_key
from annotation.errors import AlreadyEnded, TooLateToChange
from annotation.models import Assignment, Judgment
from annotation.presentation import Place
from annotation.services.caption_signals import note_copies
from annotation.services.stopping import settle_submission
from annotation.services.submissions import judgment_of, lock_assignment, read_answers
from judgments.kinds import KINDS
from judgments.services.studies import design_of

BESIDES = ("seconds", "wall_seconds", "comment", "signals")


def changeable_until(assignment: Assignment) -> datetime | None:
    """Until when its answers may be revised; None where they may not: not submitted, decided on, or never."""
    minutes = design_of(assignment.study).crowd.edit_minutes
    if assignment.state != Assignment.State.SUBMITTED or assignment.submitted_at is None or not minutes:
        return None
    return assignment.submitted_at + timedelta(minutes=minutes)


def current_answers(assignment: Assignment, places: Sequence[Place]) -> dict[str, dict[str, Any]]:
    """Position -> the answer that counts now, as the worker sees it, with what came beside it."""
    kind = KINDS[assignment.study.protocol]
    key = answer_key(kind)
    rows = {
        row.unit_id: row for row in Judgment.objects.filter(assignment=assignment, replaced_by__isnull=True)
    }
    return {
        str(place.position): {key: kind.seen(getattr(row, key), side=place.side)}
        | {name: given for name in BESIDES if (given := getattr(row, name)) not in (None, "", {})}
        for place in places
        if (row := rows.get(place.unit.pk)) is not None
    }


def revise_judgments(*, assignment: Assignment, answers: Sequence[Mapping[str, Any]]) -> list[int]:
    """Replace submitted answers by others: each that differs becomes a new judgment, and the one before stays. The same
    call again changes nothing.

    Returns:
        The positions that changed.

    Raises:
        AnswerProblem: an answer is not valid; nothing changes.
        TooLateToChange: the time for it is over, or the assignment was decided on; nothing changes.
        AlreadyEnded: it was never submitted.
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
        for place in sheet.places:
            given, before = sheet.given.get(str(place.position)), rows.get(place.unit.pk)
            if given is None or before is None:
                continue
            kept = {name: getattr(before, name) for name in BESIDES}
            judgment = judgment_of(locked, place, {**kept, **given}, kind=sheet.kind, made_at=now)
            if (getattr(judgment, key), judgment.comment) == (getattr(before, key), before.comment):
                continue
            judgment.replaces = before
            revised.append(judgment)
            changed.append(place.position)
        note_copies(revised, assignment=locked)
        Judgment.objects.bulk_create(revised)
        if revised:
            settle_submission(assignment=locked, revised=True)
    return changed


def _refuse_late(assignment: Assignment) -> None:
    until = changeable_until(assignment)
    if until is not None and until > timezone.now():
        return
    if assignment.submitted_at is None:
        raise AlreadyEnded(_("Nothing was changed: this page of work was never submitted."))
    raise TooLateToChange(_("Your answers stay as you submitted them: the time to change them is over."))


def last_changeable(assignments: Sequence[Assignment]) -> Assignment | None:
    """Of a worker's assignments in a study, the one submitted last, where it can still be revised."""
    finished = [one for one in assignments if one.submitted_at is not None]
    last = max(finished, key=lambda one: one.submitted_at or one.accepted_at, default=None)
    until = changeable_until(last) if last is not None else None
    return last if until is not None and until > timezone.now() else None
