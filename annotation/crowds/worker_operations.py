"""Operations on a crowd's workers, for pages, API and commands: block them, qualify them, and send them messages.

The function of an operation writes outbox messages; a sync sends them to the crowd later.
"""

from __future__ import annotations

from collections.abc import Collection

from django.contrib.auth.models import User
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from rest_framework import serializers

from annotation.crowds import qualifications
from annotation.crowds.outbox import messages
from annotation.crowds.qualifications import workers_by_crowd_ids
from annotation.crowds.sync.schedule import SYNC_LATER
from annotation.models import CrowdSession, Worker, at_crowd
from annotation.work.joining import find_worker
from common.errors import WrongState
from common.parameters import KeysField, Parameters
from judgments.access.rights import Right
from judgments.design.requirements import MAX_QUALIFICATION_LENGTH
from judgments.models import Study
from judgments.operations import Outcome, operation

MAX_IDS = 1_000  # in one call; as many ids take some seconds, during which nobody else can write to SQLite
NAME_ATTRIBUTES = {"list": "crowd-workers"}  # HTML attributes of a field that suggests the names in this list


class BlockRequest(Parameters):
    """The worker to block, and the reason, which the crowd may ask for."""

    worker = serializers.CharField(max_length=80, label="Participant", style=NAME_ATTRIBUTES)
    why = serializers.CharField(
        max_length=500,
        label="Reason",
        error_messages=dict.fromkeys(("required", "blank"), "A block needs a reason; the crowd may ask."),
    )


@operation(
    "block-worker",
    "Block a participant",
    parameters=BlockRequest,
    right=Right.REVIEW,
    scope="workers",
    follow_up=SYNC_LATER,
)
def block(*, study: Study, by: User | None, worker: str, why: str) -> Outcome:
    """Ask the crowd to keep a worker from all work of this account, both current and future."""
    person = find_worker(study, worker)
    messages.ask_to_block(study=study, worker=person, why=why, by=by)
    return Outcome(_("The crowd will be asked to block %(found)s from all your work.") % {"found": person})


class UnblockRequest(Parameters):
    """The worker whose block is lifted, and the reason."""

    worker = serializers.CharField(max_length=80, label="Participant", style=NAME_ATTRIBUTES)
    why = serializers.CharField(max_length=500, required=False, allow_blank=True, label="Reason")


@operation(
    "unblock-worker",
    "Lift a block",
    parameters=UnblockRequest,
    right=Right.REVIEW,
    scope="workers",
    follow_up=SYNC_LATER,
)
def unblock(*, study: Study, by: User | None, worker: str, why: str = "") -> Outcome:
    """Ask the crowd to lift a worker's block."""
    person = find_worker(study, worker)
    messages.ask_to_unblock(study=study, worker=person, why=why, by=by)
    return Outcome(_("The crowd will be asked to lift the block of %(found)s.") % {"found": person})


class QualifyRequest(Parameters):
    """People, and the qualification that they get or lose. Designs name it in ``workers.requires`` or ``forbids``."""

    one_of = (("worker", "ids"),)  # exactly one of these two must be given

    worker = serializers.CharField(max_length=80, required=False, label="Participant", style=NAME_ATTRIBUTES)
    ids = KeysField(
        max_length=MAX_IDS,
        required=False,
        label="Ids at the crowd (instead of a participant)",
        help_text="One id per line. The people need not be participants of a study.",
    )
    qualification = serializers.CharField(max_length=MAX_QUALIFICATION_LENGTH)
    value = serializers.IntegerField(
        min_value=0, max_value=999_999_999, initial=1, default=1, help_text="0 removes the qualification."
    )


@operation(
    "qualify-worker",
    "Give a qualification",
    parameters=QualifyRequest,
    scope="workers",
    follow_up=SYNC_LATER,
)
def qualify(
    *,
    study: Study,
    by: User | None,
    qualification: str,
    value: int,
    worker: str = "",
    ids: Collection[str] = (),
) -> Outcome:
    """Give people a qualification, here and at their crowd. Studies require or forbid a qualification by its name."""
    people = [find_worker(study, worker)] if worker else workers_by_crowd_ids(study=study, ids=ids)
    qualifications.give_qualification(study=study, workers=people, name=qualification, value=value, by=by)
    who = str(people[0]) if len(people) == 1 else _("%(n)s people") % {"n": len(people)}
    message = (
        _("The qualification %(name)s was given to %(who)s.")
        if value
        else _("The qualification %(name)s was removed from %(who)s.")
    )
    return Outcome(message % {"who": who, "name": qualification})


class MessageRequest(Parameters):
    """A message to one worker, or to all workers whose work was approved or rejected."""

    worker = serializers.CharField(
        max_length=80, required=False, allow_blank=True, label="Participant", style=NAME_ATTRIBUTES
    )
    subject = serializers.CharField(max_length=messages.MAX_SUBJECT_LENGTH)
    text = serializers.CharField(
        max_length=messages.MAX_MESSAGE_LENGTH, style={"base_template": "textarea.html"}
    )


@operation(
    "write-workers",
    "Write to participants",
    parameters=MessageRequest,
    right=Right.REVIEW,
    scope="workers",
    follow_up=SYNC_LATER,
)
def write_to_workers(*, study: Study, by: User | None, subject: str, text: str, worker: str = "") -> Outcome:
    """Send a message to workers whose work was approved or rejected. Crowds do not allow messages to others."""
    if worker:
        people = [find_worker(study, worker)]
    else:
        decided_sessions = at_crowd(CrowdSession, study).filter(status__in=["approved", "rejected"])
        people = list(Worker.objects.filter(crowd_sessions__in=decided_sessions).distinct())
    if not people:
        raise WrongState(
            _("Nothing was sent: only participants whose work was approved or rejected can be messaged.")
        )
    calls = messages.ask_to_send_text(study=study, workers=people, subject=subject, text=text, by=by)
    message = ngettext("One message is being sent.", "%(n)s messages are being sent.", len(calls))
    return Outcome(message % {"n": len(calls)})
