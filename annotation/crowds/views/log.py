"""The calls to the crowd on the crowd page: those that failed, and a log in which similar calls share a line."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.crowds import Ability
from annotation.crowds.views.figures import MAX_LINES_SHOWN
from annotation.models import CrowdCall

MAX_CALLS_READ = 200  # number of latest calls from which the lines of the log are made
# what a call of each kind asks of the crowd
ORDER_PHRASES = {
    Ability.PUBLISH: gettext_noop("publish"),
    Ability.EXTEND: gettext_noop("extend the offer, or add places"),
    Ability.EXPIRE: gettext_noop("take down published work"),
    Ability.DELETE: gettext_noop("delete ended publications"),
    Ability.APPROVE: gettext_noop("approve"),
    Ability.REJECT: gettext_noop("reject"),
    Ability.BONUS: gettext_noop("pay a bonus"),
    Ability.BLOCK: gettext_noop("block"),
    Ability.UNBLOCK: gettext_noop("lift a block"),
    Ability.QUALIFY: gettext_noop("give a qualification"),
    Ability.MESSAGE: gettext_noop("message participants"),
}


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of the log. It stands for one call, or for several similar calls.

    Attributes:
        order: words for what the calls ask of the crowd.
        subject: the name of the worker or of the HIT; "" for several calls, and for a call about the whole study.
        bonus_cents: the sum of bonuses, without fees.
    """

    newest_call: CrowdCall
    call_count: int
    order: str
    subject: str
    bonus_cents: int


def failed_calls(calls: QuerySet[CrowdCall]) -> list[dict[str, object]]:
    """Return the template variables of the first failed calls.

    If a call's outcome is unknown, a person must check at the crowd whether it was carried out ("needs_check"). This is
    not needed for a publish call: trying it again finds the publication if it exists.
    """
    calls = calls.filter(state=CrowdCall.State.FAILED).select_related("worker", "publication__hit")
    return [
        {
            "call": call,
            "order": _describe_order(call),
            "subject": _describe_subject(call),
            "needs_check": call.has_unknown_outcome and call.kind != Ability.PUBLISH,
        }
        for call in calls[:MAX_LINES_SHOWN]
    ]


def log_lines(calls: QuerySet[CrowdCall]) -> list[LogLine]:
    """Return the lines of the latest calls, newest first. Consecutive similar calls share a line."""
    newest_first = calls.select_related("worker", "made_by", "publication__hit").order_by("-pk")
    lines = []
    for _key, group in groupby(newest_first[:MAX_CALLS_READ], key=_similarity_key):
        similar_calls = list(group)
        newest_call = similar_calls[0]
        lines.append(
            LogLine(
                newest_call=newest_call,
                call_count=len(similar_calls),
                order=_describe_order(newest_call),
                subject=_describe_subject(newest_call) if len(similar_calls) == 1 else "",
                bonus_cents=sum(int(call.payload.get("bonus_cents", 0)) for call in similar_calls),
            )
        )
    return lines


def _similarity_key(call: CrowdCall) -> tuple[object, ...]:
    """Return a key that is equal for calls that differ only in their subjects, and in their time within a minute."""
    minute = call.made_at.replace(second=0, microsecond=0)
    return call.kind, call.state, call.why, call.made_by_id, minute


def _describe_order(call: CrowdCall) -> str:
    return _(ORDER_PHRASES.get(Ability(call.kind), call.kind))


def _describe_subject(call: CrowdCall) -> str:
    if call.worker is not None:
        return call.worker.name
    hit = call.publication.hit if call.publication else None
    return _("Page of work %(n)s") % {"n": hit.position + 1} if hit else ""
