"""What is done to a study that is open: pausing, extending, taking back."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from django.contrib.auth.models import User
from rest_framework import serializers

from annotation.crowds.operations import ASK_THE_CROWD
from annotation.crowds.publishing import LONGEST_HOURS, offer_longer
from annotation.work.extending import (
    MOST_MINUTES,
    MOST_WORKERS,
    expire_assignments,
    expire_slots,
    extend_leases,
    extend_study,
)
from annotation.work.joining import MOST, create_invitations
from annotation.work.pausing import pause_study, resume_study
from common.parameters import KeysField, Parameters, Reason
from judgments.models import Study
from judgments.study_operations import Outcome, operation


@operation("pause", "Hand out nothing new", parameters=Reason, then=ASK_THE_CROWD)
def pause(*, study: Study, by: User | None, why: str) -> Outcome:
    """Who holds a HIT goes on; twice is harmless."""
    pause_study(study=study, why=why, by=by)
    return Outcome("The study is paused.")


@operation("resume", "Hand out work again", parameters=Reason, then=ASK_THE_CROWD)
def resume(*, study: Study, by: User | None, why: str) -> Outcome:
    """What pausing took down at the crowd is offered again; twice is harmless."""
    resume_study(study=study, why=why, by=by)
    return Outcome("Work is handed out again.")


class ExtendRequest(Reason):
    """More workers for all HITs or for those named, or more minutes for everybody who holds one."""

    one_of = (("workers", "minutes", "hours"),)

    workers = serializers.IntegerField(
        min_value=1,
        max_value=MOST_WORKERS,
        required=False,
        initial=1,
        label="More workers per HIT",
        help_text="So many more for each HIT.",
    )
    minutes = serializers.IntegerField(
        min_value=1,
        max_value=MOST_MINUTES,
        required=False,
        initial=30,
        help_text="Instead of workers: so many more for everybody who holds a HIT now.",
    )
    hours = serializers.IntegerField(
        min_value=1,
        max_value=LONGEST_HOURS,
        required=False,
        help_text="Instead of workers: offer what is up at the crowd for so many hours from now.",
    )
    hits = KeysField(required=False, label="HITs by key", help_text="Keys; all HITs where missing.")


@operation("extend", "More workers, or more time", parameters=ExtendRequest, then=ASK_THE_CROWD)
def extend(
    *,
    study: Study,
    by: User | None,
    why: str,
    workers: int = 0,
    minutes: int = 0,
    hours: int = 0,
    hits: Collection[str] | None = None,
) -> Outcome:
    """All or nothing: where the budget does not reach, nothing is changed."""
    if minutes:
        count = extend_leases(study=study, minutes=minutes, why=why, by=by)
        return Outcome(f"{count:,} leases are {minutes} minutes longer.")
    if hours:
        offer_longer(study=study, hours=hours, why=why, by=by)
        return Outcome(f"The crowd is asked to offer the work for {hours} hours from now.")
    count = extend_study(study=study, workers=workers, hits=hits, why=why, by=by)
    return Outcome(f"{count:,} HITs are offered to {workers} more.")


class ExpireRequest(Reason):
    """Assignments that are held, or open slots of HITs; all leases that are over where neither is named."""

    assignments = serializers.ListField(
        child=serializers.UUIDField(), required=False, label="Assignments", help_text="Ids."
    )
    hits = KeysField(required=False, label="HITs by key", help_text="Keys.")


@operation("expire", "Take back", parameters=ExpireRequest, then=ASK_THE_CROWD)
def expire(
    *,
    study: Study,
    by: User | None,
    why: str,
    assignments: Collection[UUID] | None = None,
    hits: Collection[str] | None = None,
) -> Outcome:
    """What was saved on a HIT that is taken back is kept."""
    if hits is not None:
        slots = expire_slots(study=study, hits=hits, why=why, by=by)
        return Outcome(f"{slots:,} open slots are not offered any more.")
    count = expire_assignments(study=study, assignments=assignments, why=why, by=by)
    return Outcome(f"{'One HIT is' if count == 1 else f'{count:,} HITs are'} free for others.")


class InvitationRequest(Parameters):
    """How many, and for whom."""

    count = serializers.IntegerField(min_value=1, max_value=MOST)
    note = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=200,
        help_text="Workers never see it.",
    )


@operation("invite", "Make invitations", parameters=InvitationRequest, scope="workers")
def invite(*, study: Study, by: User | None, count: int, note: str = "") -> Outcome:
    """New codes for a study that only invited people may join."""
    made = create_invitations(study=study, count=count, note=note)
    words = "One invitation was made." if len(made) == 1 else f"{len(made)} invitations were made."
    return Outcome(words, made)
