"""The latest calls of a study to its crowd, described for people."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.crowds import Ability
from annotation.crowds.views.figures import MAX_LINES_SHOWN
from annotation.models import CrowdCall

LATEST_CALLS = 200  # number of latest calls that are read; similar ones are shown in one line
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
        subject: the worker or the HIT.
        cents: the sum of bonuses, without fees.
    """

    first: CrowdCall
    count: int
    order: str
    subject: str
    cents: int


def parked_calls(calls: QuerySet[CrowdCall]) -> list[dict[str, object]]:
    """Return failed and indeterminate calls for the page. A person decides on the indeterminate ones."""
    rows = calls.filter(state=CrowdCall.State.FAILED).select_related("worker", "publication__hit")[
        :MAX_LINES_SHOWN
    ]
    return [
        {
            "call": call,
            "what": _describe_order(call),
            "about": _describe_subject(call),
            "unsure": call.unsure and call.kind != Ability.PUBLISH,
        }
        for call in rows
    ]


def log_lines(calls: QuerySet[CrowdCall]) -> list[LogLine]:
    rows = calls.select_related("worker", "made_by", "publication__hit").order_by("-pk")[:LATEST_CALLS]
    lines = []
    for _key, group in groupby(rows, key=_group_key):
        similar_calls = list(group)
        lines.append(
            LogLine(
                first=similar_calls[0],
                count=len(similar_calls),
                order=_describe_order(similar_calls[0]),
                subject=_describe_subject(similar_calls[0]) if len(similar_calls) == 1 else "",
                cents=sum(int(call.payload.get("bonus_cents", 0)) for call in similar_calls),
            )
        )
    return lines


def _group_key(call: CrowdCall) -> tuple[object, ...]:
    return call.kind, call.state, call.why, call.made_by_id, call.made_at.replace(second=0, microsecond=0)


def _describe_order(call: CrowdCall) -> str:
    return _(ORDER_PHRASES.get(Ability(call.kind), call.kind))


def _describe_subject(call: CrowdCall) -> str:
    if call.worker is not None:
        return call.worker.name
    hit = call.publication.hit if call.publication else None
    return _("Page of work %(n)s") % {"n": hit.position + 1} if hit else ""
