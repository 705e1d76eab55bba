"""The log of a study."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User

from common.audit import acting_person
from judgments.models import Study, StudyEvent


def note_event(
    *, study: Study, what: str, words: str, by: User | None = None, why: str = "", **details: Any
) -> StudyEvent:
    """Write down, within the caller's transaction, what was done.

    Args:
        what: in a word, such as ``opened``.
        words: in a sentence that names the amounts.
        by: who did it; None: who is acting now (``common.audit``), and nobody where the platform does by itself.
        why: the reason that was given.
        details: JSON values.
    """
    return StudyEvent.objects.create(
        study=study,
        slug=study.slug,
        what=what,
        words=words[:1000],
        why=why[:500],
        by=by or acting_person(),
        details=details,
    )
