"""Personal codes for studies that only invited people may join."""

from __future__ import annotations

import secrets

from django.db import transaction

from annotation.models import Invitation
from judgments.errors import WrongState
from judgments.models import Study
from judgments.services.events import note_event
from judgments.services.studies import design_of

LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # none that are taken for one another
LENGTH = 12  # 59 bits: nobody guesses one
MOST = 500


@transaction.atomic
def create_invitations(*, study: Study, count: int, note: str = "") -> list[Invitation]:
    """``count`` new codes, each good for one person.

    Raises:
        WrongState: the study is not for invited people, or more than 500 are asked for at once.
    """
    if design_of(study).access.join != "invited":
        raise WrongState(f"Study {study.slug!r} asks nobody for an invitation; its design says who may join.")
    if not 1 <= count <= MOST:
        raise WrongState(f"{count} invitations were asked for; expected 1 to {MOST} at a time.")
    made = Invitation.objects.bulk_create(
        Invitation(study=study, code="".join(secrets.choice(LETTERS) for _ in range(LENGTH)), note=note)
        for _ in range(count)
    )
    words = "One invitation was made." if count == 1 else f"{count} invitations were made."
    note_event(study=study, what="invited", words=words, note=note)
    return made
