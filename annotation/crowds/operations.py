"""Operations at a crowd: publish a study or take it down, synchronise, and block, qualify or message workers.

The list of qualifications here decides who may join by a link or a panel's entrance. Mechanical Turk and Prolific keep
people out themselves, so they get a copy of each change.
"""

from __future__ import annotations

from collections.abc import Collection

from django.contrib.auth.models import User
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from rest_framework import serializers

from annotation.crowds import outbox, qualifications
from annotation.crowds.outbox import carry_out_calls
from annotation.crowds.prolific.notifications import fetch_demographics
from annotation.crowds.publishing import (
    begin_closing,
    begin_opening,
    carry_out_opening,
    look_ahead,
    pay_more_screen_outs,
    unfinished_calls,
)
from annotation.crowds.qualifications import people_by_ids
from annotation.crowds.sync import SYNC, ask_to_sync, sync_crowd
from annotation.models import CrowdCall, CrowdSession, Worker, at_crowd
from annotation.money.confirming import confirmable
from annotation.work.joining import find_worker
from common.amounts import counted, thousands
from common.errors import WrongState
from common.parameters import KeysField, Parameters, Reason
from judgments.access.roles import Right
from judgments.design.requirements import LONGEST_QUALIFICATION
from judgments.models import Study
from judgments.studies.log import note_event
from judgments.study_operations import CommandHelp, FollowUp, Outcome, operation


def _ask_now(study: Study) -> str:
    carried = carry_out_calls(study=study)
    return f"{carried.stopped} {unfinished_calls(study, carried)}".strip()


def _ask_later(study: Study, by: User | None) -> None:
    if CrowdCall.objects.filter(study=study, state=CrowdCall.State.WAITING).exists():
        ask_to_sync(study=study, by=by)


ASK_THE_CROWD = FollowUp(now=_ask_now, later=_ask_later)
# for what may be much: an HTTP call does not wait for the crowd either, the next sync asks it
SYNC_LATER = FollowUp(now=lambda study: "", later=_ask_later)


@operation(
    "open",
    "Let workers in",
    orders=True,
    then=FollowUp(now=lambda study: carry_out_opening(study=study), later=_ask_later),
    command=CommandHelp("Let workers into a study.", "triplets-50"),
)
def open_to_workers(*, study: Study, by: User | None) -> Outcome:
    """Publish the study to its crowd; twice is harmless."""
    look_ahead(study=study)
    return _open(study=study, by=by)


@confirmable("open")
def _open(*, study: Study, by: User | None) -> Outcome:
    return Outcome(begin_opening(study=study, by=by))


@operation(
    "close",
    "Offer no more work",
    then=ASK_THE_CROWD,
    command=CommandHelp("Offer no more work of a study.", "triplets-50"),
)
def close(*, study: Study, by: User | None) -> Outcome:
    """Offer no more work. Workers who hold a HIT may still submit it; twice is harmless."""
    begin_closing(study=study, by=by)
    return Outcome(_("The study is closed; who holds a HIT may still hand it in."))


@operation("sync-crowd", "Compare with the crowd", job=SYNC)
def sync(*, study: Study, by: User | None, thorough: bool = False) -> Outcome:
    """Send what waits for the crowd, take over submitted work, and report differences."""
    synced = sync_crowd(study=study, thorough=thorough)
    odd = len(synced.discrepancies)
    event = (
        f"Compared with the crowd: {counted(synced.hits, 'HIT')} there, "
        f"{counted(odd, 'thing')} {'does' if odd == 1 else 'do'} not fit."
    )
    note_event(study=study, what="sync-crowd", sentence=event, by=by)
    there = ngettext("one HIT", "%(n)s HITs", synced.hits) % {"n": thousands(synced.hits)}
    message = ngettext(
        "Compared with the crowd: %(there)s there, one thing does not fit.",
        "Compared with the crowd: %(there)s there, %(n)s things do not fit.",
        odd,
    )
    return Outcome(message % {"there": there, "n": thousands(odd)}, synced)


MOST_IDS = 1_000  # some seconds, in which nobody else writes to SQLite
WORKERS = {"list": "crowd-workers"}  # the id of the page's list of names


class BlockRequest(Parameters):
    worker = serializers.CharField(max_length=80, style=WORKERS)
    why = serializers.CharField(
        max_length=500,
        error_messages=dict.fromkeys(("required", "blank"), "A block needs a reason; the crowd may ask."),
    )


@operation(
    "block-worker",
    "Block a worker",
    parameters=BlockRequest,
    right=Right.REVIEW,
    scope="workers",
    then=SYNC_LATER,
)
def block(*, study: Study, by: User | None, worker: str, why: str) -> Outcome:
    """Ask the crowd to keep a worker away from all work of this account, now and later."""
    person = find_worker(study, worker)
    outbox.ask_to_block(study=study, worker=person, why=why, by=by)
    return Outcome(_("The crowd is asked to keep %(found)s away from all your work.") % {"found": person})


class UnblockRequest(Parameters):
    worker = serializers.CharField(max_length=80, style=WORKERS)
    why = serializers.CharField(max_length=500, required=False, allow_blank=True)


@operation(
    "unblock-worker",
    "Take a block back",
    parameters=UnblockRequest,
    right=Right.REVIEW,
    scope="workers",
    then=SYNC_LATER,
)
def unblock(*, study: Study, by: User | None, worker: str, why: str = "") -> Outcome:
    """Ask the crowd to let a blocked worker come again."""
    person = find_worker(study, worker)
    outbox.ask_to_unblock(study=study, worker=person, why=why, by=by)
    return Outcome(_("The crowd is asked to let %(found)s come again.") % {"found": person})


class QualifyRequest(Parameters):
    """People, and a qualification's name, which studies require or forbid (``workers.requires``, ``forbids``)."""

    one_of = (("worker", "ids"),)

    worker = serializers.CharField(max_length=80, required=False, style=WORKERS)
    ids = KeysField(
        max_length=MOST_IDS,
        required=False,
        label="Or ids at the crowd",
        help_text="One a line; also of people who never came.",
    )
    qualification = serializers.CharField(max_length=LONGEST_QUALIFICATION)
    value = serializers.IntegerField(
        min_value=0, max_value=999_999_999, initial=1, default=1, help_text="0 takes it away."
    )


@operation(
    "qualify-worker",
    "Give a qualification",
    parameters=QualifyRequest,
    scope="workers",
    then=SYNC_LATER,
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
    """Give people a qualification, here and at their crowd. Studies require or forbid it by its name."""
    people = [find_worker(study, worker)] if worker else people_by_ids(study=study, ids=ids)
    qualifications.give_qualification(study=study, workers=people, name=qualification, value=value, by=by)
    who = str(people[0]) if len(people) == 1 else _("%(n)s people") % {"n": len(people)}
    message = (
        _("%(who)s got the qualification %(name)s.")
        if value
        else _("%(who)s lost the qualification %(name)s.")
    )
    return Outcome(message % {"who": who, "name": qualification})


class ScreenOutsRequest(Reason):
    count = serializers.IntegerField(min_value=1, max_value=100_000, label="More paid screen-outs")


@operation(
    "more-screen-outs",
    "Pay more people who are screened out",
    parameters=ScreenOutsRequest,
    orders=True,
    then=SYNC_LATER,
)
@confirmable("more-screen-outs")
def more_screen_outs(*, study: Study, by: User | None, why: str, count: int) -> Outcome:
    pay_more_screen_outs(study=study, count=count, by=by, why=why)
    message = ngettext(
        "One more person who is screened out will be paid.",
        "%(n)s more people who are screened out will be paid.",
        count,
    )
    return Outcome(message % {"n": count})


@operation(
    "fetch-demographics",
    "Fetch demographics",
    scope="exports",
    command=CommandHelp(
        "Fetch what the design names in crowd.demographics from Prolific, for the export demographics.",
        "triplets-50",
    ),
)
def demographics(*, study: Study, by: User | None) -> Outcome:
    """Fetch demographics named by the design (``crowd.demographics``) of people who submitted work, from Prolific."""
    count = fetch_demographics(study=study, by=by)
    message = ngettext("Prolific described one person.", "Prolific described %(n)s people.", count)
    return Outcome(message % {"n": count})


class MessageRequest(Parameters):
    """A message to one worker, or to all whose work was decided on."""

    worker = serializers.CharField(max_length=80, required=False, allow_blank=True, style=WORKERS)
    subject = serializers.CharField(max_length=outbox.LONGEST_SUBJECT)
    text = serializers.CharField(max_length=outbox.LONGEST_MESSAGE, style={"base_template": "textarea.html"})


@operation(
    "write-workers",
    "Write to workers",
    parameters=MessageRequest,
    right=Right.REVIEW,
    scope="workers",
    then=SYNC_LATER,
)
def write(*, study: Study, by: User | None, subject: str, text: str, worker: str = "") -> Outcome:
    """Write to workers whose work was approved or rejected. A crowd lets nobody write to strangers."""
    if worker:
        people = [find_worker(study, worker)]
    else:
        decided = at_crowd(CrowdSession, study).filter(status__in=["approved", "rejected"])
        people = list(Worker.objects.filter(crowd_sessions__in=decided).distinct())
    if not people:
        raise WrongState(
            _("Nothing was sent: only workers whose work was approved or rejected can be written to.")
        )
    calls = outbox.ask_to_write(study=study, workers=people, subject=subject, text=text, by=by)
    message = ngettext("One message is on its way.", "%(n)s messages are on their way.", len(calls))
    return Outcome(message % {"n": len(calls)})
