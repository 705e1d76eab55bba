"""Write an entry of a study's log, which says who did what and when."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User

from common.audit import acting_person
from judgments.models import Study, StudyEvent


def note_event(
    *, study: Study, what: str, sentence: str, by: User | None = None, why: str = "", **details: Any
) -> StudyEvent:
    """Log an action on a study in the caller's transaction.

    Args:
        what: the action's code, such as ``opened``.
        sentence: what was done, with the amounts. Only the first 1000 characters are stored.
        by: the account that did it; None for the current actor (``common.audit``).
        why: the reason that a person gave. Only the first 500 characters are stored.
        details: further facts, as JSON values.
    """
    return StudyEvent.objects.create(
        study=study,
        slug=study.slug,  # remains if the study is deleted
        what=what,
        words=sentence[:1000],
        why=why[:500],
        by=by or acting_person(),
        details=details,
    )
