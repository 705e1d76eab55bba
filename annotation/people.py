"""People whom a crowd sends: known by a pseudonym, their raw ids kept apart."""

from __future__ import annotations

import hashlib
import hmac
import re

from django.conf import settings

BY_THE_LINK = ("", "local")  # places of studies that nobody is sent to
# People of result files; those whom Mechanical Turk's API names are rows of their own.
OF_FILES = "mturk-files"
AMAZON_ID = re.compile(r"A[0-9A-Z]{9,20}")
ADDRESS = re.compile(r"[^@\s]+@[^@\s]+")  # what Label Studio names people by


def pseudonym(place: str, raw: str) -> str:
    """The name of the person whom ``place`` calls ``raw``: the same every time, and telling nothing without the
    installation's key."""
    return f"p-{_mark('person', place, raw)[:16]}"


def worker_name(found: str) -> str:
    """Return a pseudonym for an Amazon id or a mail address of a result file, the same in every file.

    Other names were given by somebody already and stay.
    """
    return pseudonym(OF_FILES, found) if AMAZON_ID.fullmatch(found) or ADDRESS.fullmatch(found) else found


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
