"""Operations on an open study: pause, resume, extend, expire, invite."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from django.contrib.auth.models import User
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from rest_framework import serializers

from annotation.crowds.operations import ASK_THE_CROWD
from annotation.crowds.publishing import LONGEST_HOURS, offer_longer
from annotation.money.confirming import confirmable
from annotation.work.extending import (
    MOST_MINUTES,
    MOST_WORKERS,
    expire_assignments,
    expire_slots,
    extend_leases,
    extend_study,
    pause_study,
    resume_study,
)
from annotation.work.joining import MOST_INVITATIONS, create_invitations
from common.amounts import thousands
from common.parameters import KeysField, Parameters, Reason
from judgments.models import Study
from judgments.study_operations import CommandHelp, Outcome, operation


@operation(
    "pause",
    "Pause the study",
    parameters=Reason,
    then=ASK_THE_CROWD,
    command=CommandHelp(
        "Stop claims of an open study; workers who hold a HIT may finish it.",
        "triplets-50 --why 'a caption is broken'",
    ),
)
def pause(*, study: Study, by: User | None, why: str) -> Outcome:
    """Stop claims; workers who hold a HIT may finish it. Pausing twice changes nothing."""
    pause_study(study=study, why=why, by=by)
    return Outcome(_("The study is paused."))


@operation(
    "resume",
    "Resume the study",
    parameters=Reason,
    then=ASK_THE_CROWD,
    orders=True,
    command=CommandHelp(
        "Hand out work of a paused study again, here and at its crowd.",
        "triplets-50 --why 'the caption is mended'",
    ),
)
@confirmable("resume")
def resume(*, study: Study, by: User | None, why: str) -> Outcome:
    """Allow claims again, and offer at the crowd what pausing took down. Resuming twice changes nothing."""
    resume_study(study=study, why=why, by=by)
    return Outcome(_("The study is resumed."))


class ExtendRequest(Reason):
    """More workers for all HITs or for those named, or more minutes for every lease."""

    one_of = (("workers", "minutes", "hours"),)

    workers = serializers.IntegerField(
        min_value=1,
        max_value=MOST_WORKERS,
        required=False,
        initial=1,
        label="More participants per page",
        help_text="Workers to add to each HIT.",
    )
    minutes = serializers.IntegerField(
        min_value=1,
        max_value=MOST_MINUTES,
        required=False,
        initial=30,
        help_text="Instead of workers: minutes to add to every lease.",
    )
    hours = serializers.IntegerField(
        min_value=1,
        max_value=LONGEST_HOURS,
        required=False,
        help_text="Instead of workers: hours from now for which the crowd offers the work.",
    )
    hits = KeysField(required=False, label="Pages (HITs) by key", help_text="Keys of HITs; default: all.")


@operation(
    "extend",
    "More workers, or more time",
    parameters=ExtendRequest,
    then=ASK_THE_CROWD,
    orders=True,
    command=CommandHelp(
        "Let more workers judge every HIT, or some, or give more time; the log says why.",
        "triplets-50 --workers 2 --why 'the pilot was too small'",
    ),
)
@confirmable("extend")
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
    """Add workers or time, all or nothing: without enough budget, nothing changes."""
    if minutes:
        count = extend_leases(study=study, minutes=minutes, why=why, by=by)
        return Outcome(
            ngettext(
                "One lease is %(minutes)s minutes longer.",
                "%(count)s leases are %(minutes)s minutes longer.",
                count,
            )
            % {"count": thousands(count), "minutes": minutes}
        )
    if hours:
        offer_longer(study=study, hours=hours, why=why, by=by)
        return Outcome(
            ngettext(
                "The crowd is asked to offer the work for one hour from now.",
                "The crowd is asked to offer the work for %(hours)s hours from now.",
                hours,
            )
            % {"hours": hours}
        )
    count = extend_study(study=study, workers=workers, hits=hits, why=why, by=by)
    people = ngettext("one more worker", "%(n)s more workers", workers) % {"n": workers}
    words = ngettext("One HIT is offered to %(people)s.", "%(n)s HITs are offered to %(people)s.", count)
    return Outcome(words % {"n": thousands(count), "people": people})


class ExpireRequest(Reason):
    """Assignments in work, or HITs with open slots; default: all leases that have ended."""

    assignments = serializers.ListField(
        child=serializers.UUIDField(), required=False, label="Assignments", help_text="Ids."
    )
    hits = KeysField(required=False, label="Pages (HITs) by key", help_text="Keys.")


@operation("expire", "Expire leases or slots", parameters=ExpireRequest, then=ASK_THE_CROWD)
def expire(
    *,
    study: Study,
    by: User | None,
    why: str,
    assignments: Collection[UUID] | None = None,
    hits: Collection[str] | None = None,
) -> Outcome:
    """End leases, or close open slots. Saved answers are kept."""
    if hits is not None:
        slots = expire_slots(study=study, hits=hits, why=why, by=by)
        words = ngettext("One open slot is closed.", "%(slots)s open slots are closed.", slots)
        return Outcome(words % {"slots": thousands(slots)})
    count = expire_assignments(study=study, assignments=assignments, why=why, by=by)
    words = ngettext("One HIT is free for others.", "%(n)s HITs are free for others.", count)
    return Outcome(words % {"n": thousands(count)})


class InvitationRequest(Parameters):
    """The number of invitations, and a note."""

    count = serializers.IntegerField(min_value=1, max_value=MOST_INVITATIONS)
    note = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=200,
        help_text="Workers never see it.",
    )


@operation("invite", "Make invitations", parameters=InvitationRequest, scope="workers")
def invite(*, study: Study, by: User | None, count: int, note: str = "") -> Outcome:
    """Make codes for a study that only invited people may join."""
    made = create_invitations(study=study, count=count, note=note)
    words = ngettext("One invitation was made.", "%(n)s invitations were made.", len(made))
    return Outcome(words % {"n": len(made)}, made)
