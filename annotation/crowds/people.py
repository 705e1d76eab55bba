"""Workers from a crowd: pseudonyms, with their raw ids kept apart."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Collection, Iterable
from typing import Any

from django.conf import settings
from django.db.models import Q

from annotation.models import CrowdCall, CrowdSession, RawId

BY_THE_LINK = ("", "local")  # places of studies that nobody is sent to


def pseudonym(place: str, raw: str) -> str:
    """The name of the person whom ``place`` calls ``raw``: the same every time, and telling nothing without the
    installation's key."""
    return f"p-{_mark('person', place, raw)[:16]}"


def session_pseudonym(place: str, raw: str) -> str:
    """The name of a panel's submission; as ``pseudonym``."""
    return f"s-{_mark('session', place, raw)[:24]}"


def installation_word() -> str:
    """Tells what this installation asked of a crowd from what another one did with the same account."""
    return _mark("installation")[:12]


def worker_token(place: str, name: str) -> str:
    """What the browser of a person whom a panel sends shows from page to page: the panel's link is their way in, in
    any number of browsers, so that all of them get the same."""
    return _mark("token", place, name)


def installation_mark(*parts: str) -> str:
    """64 hexadecimal digits that only this installation can make of the parts."""
    return _mark("mark", *parts)


def comes_by_the_link(place: str) -> bool:
    """Whether people find their own way to a study of this place, rather than being sent by a crowd."""
    return place in BY_THE_LINK


def _mark(*parts: str) -> str:
    text = "\x1f".join(parts).encode()
    return hmac.new(settings.PSEUDONYM_KEY.encode(), text, hashlib.sha256).hexdigest()


INSTEAD = "…"


def without_ids(words: str, values: Iterable[str]) -> str:
    """``words`` with a mark where one of the ids stood by itself."""
    for value in sorted(values, key=len, reverse=True):
        if value in words:
            words = re.sub(rf"(?<![A-Za-z0-9]){re.escape(value)}(?![A-Za-z0-9])", INSTEAD, words)
    return words


def said_of(call: CrowdCall, words: str) -> str:
    """What went wrong with a call, without the ids of its person and submission."""
    rows = RawId.objects.none()
    if call.session is not None:
        rows = RawId.objects.filter(Q(session=call.session) | Q(worker=call.session.worker_id, session=None))
    elif call.worker_id is not None:
        rows = RawId.objects.filter(worker=call.worker_id, session=None)
    return without_ids(words, rows.values_list("value", flat=True))


def scrub(rows: Collection[RawId]) -> None:
    """Take ids that are about to be deleted out of what was asked about their people and what these sent, within the
    caller's transaction: people write ids into reasons, messages and forms."""
    values: dict[int, list[str]] = {}
    for row in rows:
        values.setdefault(row.worker_id, []).append(row.value)
    about = Q(worker__in=values) | Q(session__worker__in=values)
    for call in CrowdCall.objects.filter(about).select_related("session").iterator():
        worker = call.worker_id or (call.session.worker_id if call.session else 0)
        own = values.get(worker, [])
        before = (call.payload, call.answer, call.why, call.problem)
        after = tuple(_within(one, own) for one in before)
        if after != before:
            call.payload, call.answer, call.why, call.problem = after
            call.save(update_fields=["payload", "answer", "why", "problem"])
    for session in CrowdSession.objects.filter(worker__in=values).exclude(receipt="", feedback="").iterator():
        own = values[session.worker_id]
        told = (without_ids(session.receipt, own), without_ids(session.feedback, own))
        if told != (session.receipt, session.feedback):
            session.receipt, session.feedback = told
            session.save(update_fields=["receipt", "feedback"])


def _within(value: Any, ids: Collection[str]) -> Any:
    if isinstance(value, str):
        return without_ids(value, ids)
    if isinstance(value, list):
        return [_within(one, ids) for one in value]
    if isinstance(value, dict):
        return {name: _within(one, ids) for name, one in value.items()}
    return value
