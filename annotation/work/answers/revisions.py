"""Revise submitted answers for as long as the design allows it. Earlier answers are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.errors import AlreadyEnded, TooLateToChange
from annotation.models import Assignment, Judgment
from annotation.work.answers.checks import OPTIONAL_FIELDS, answer_key
from annotation.work.answers.drafts import check_submitted_answers, lock_assignment
from annotation.work.answers.judgments import add_copy_signals, build_judgment
from annotation.work.sheet.units import PageUnit
from annotation.work.stopping import settle_submission
from annotation.work.system_pairs import recount_system_pairs
from judgments.kinds import KINDS
from judgments.studies.designs import design_of, stops_early


def revision_deadline(assignment: Assignment) -> datetime | None:
    """Return the time until which the answers can be revised; None if they cannot be revised at all."""
    minutes = design_of(assignment.study).crowd.edit_minutes
    if assignment.state != Assignment.State.SUBMITTED or assignment.submitted_at is None or not minutes:
        return None
    return assignment.submitted_at + timedelta(minutes=minutes)


def current_answers(assignment: Assignment, page_units: Sequence[PageUnit]) -> dict[str, dict[str, Any]]:
    """Return the current answers of a submitted assignment by position, with options as the worker saw them."""
    kind = KINDS[assignment.study.protocol]
    key = answer_key(kind)
    judgments_by_unit = _current_judgments(assignment)
    answers: dict[str, dict[str, Any]] = {}
    for page_unit in page_units:
        judgment = judgments_by_unit.get(page_unit.unit.pk)
        if judgment is None:
            continue
        answer = {key: kind.sides.from_canonical(getattr(judgment, key), side=page_unit.side)}
        for name in OPTIONAL_FIELDS:
            field_value = getattr(judgment, name)
            if field_value not in (None, "", {}):
                answer[name] = field_value
        answers[str(page_unit.position)] = answer
    return answers


def _current_judgments(assignment: Assignment) -> dict[int, Judgment]:
    """Return the judgments of an assignment that no revision replaced, by unit row id."""
    current_judgments = Judgment.objects.filter(assignment=assignment, replaced_by__isnull=True)
    return {judgment.unit_id: judgment for judgment in current_judgments}


def revise_judgments(*, assignment: Assignment, answers: Sequence[Mapping[str, Any]]) -> list[int]:
    """Revise submitted answers and return the changed positions. A repeated call changes nothing.

    Each change adds a judgment and keeps the previous one. If an answer is invalid or late, nothing changes.

    Raises:
        AnswerProblem: an answer is invalid.
        AlreadyEnded, TooLateToChange: the assignment was never submitted, or its answers are final.
    """
    checked_answers = check_submitted_answers(assignment, answers)
    kind = checked_answers.kind
    key = answer_key(kind)
    with transaction.atomic():
        locked_assignment = lock_assignment(assignment)
        _refuse_late_revision(locked_assignment)
        judgments_by_unit = _current_judgments(locked_assignment)
        now = timezone.now()
        new_judgments: list[Judgment] = []
        changed_positions: list[int] = []
        for page_unit in checked_answers.page_units:
            answer = checked_answers.answers.get(str(page_unit.position))
            old_judgment = judgments_by_unit.get(page_unit.unit.pk)
            if answer is None or old_judgment is None:
                continue
            old_fields = {name: getattr(old_judgment, name) for name in OPTIONAL_FIELDS}
            judgment = build_judgment(
                locked_assignment, page_unit, {**old_fields, **answer}, kind=kind, made_at=now
            )
            if all(getattr(judgment, name) == getattr(old_judgment, name) for name in (key, "comment")):
                continue  # only times and signals differ
            judgment.replaces = old_judgment
            new_judgments.append(judgment)
            changed_positions.append(page_unit.position)
        add_copy_signals(new_judgments, assignment=locked_assignment)
        Judgment.objects.bulk_create(new_judgments)
        if new_judgments:
            if stops_early(locked_assignment.study):
                settle_submission(assignment=locked_assignment, is_revision=True)
            recount_system_pairs(locked_assignment.study)  # only an arena counts answers by system pair
    return changed_positions


def _refuse_late_revision(assignment: Assignment) -> None:
    """Raise AlreadyEnded or TooLateToChange if the answers can no longer be revised."""
    deadline = revision_deadline(assignment)
    if deadline is not None and deadline > timezone.now():
        return
    if assignment.submitted_at is None:
        raise AlreadyEnded(_("Nothing was changed: this page of work was never submitted."))
    raise TooLateToChange(_("Your answers stay as you submitted them: you cannot change them any more."))


def last_revisable_assignment(assignments: Sequence[Assignment]) -> Assignment | None:
    """Return the assignment that was submitted last if its answers can still be revised, else None."""
    submissions = [(row.submitted_at, row) for row in assignments if row.submitted_at is not None]
    if not submissions:
        return None
    _, last_assignment = max(submissions, key=itemgetter(0))
    deadline = revision_deadline(last_assignment)
    return last_assignment if deadline is not None and deadline > timezone.now() else None
