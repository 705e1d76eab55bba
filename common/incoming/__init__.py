"""Limits for reading uploads, imports and bodies of requests.

A request reads at most 64 kB of files. A job reads larger files.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import cast

from django.conf import settings
from django.utils.translation import gettext

from common.environment import DEFAULT_LIMITS, IncomingLimits
from common.errors import QuorumError

READ_SIZE = 65_536  # bytes of a file that are read at once
MAX_REQUEST_BYTES = 65_536  # bytes of files that a request reads
ADDRESS_LIMIT = 500  # most characters of an address
UNLIMITED_GROWTH_BYTES = 2**20  # a file of up to this many bytes may grow by any factor when it is unpacked


@dataclass(slots=True)
class _ByteBudget:
    """The number of bytes of files that a request may still read."""

    bytes_left: int


# None outside a request
_byte_budget: ContextVar[_ByteBudget | None] = ContextVar("byte_budget", default=None)


def limits() -> IncomingLimits:
    """Return the limits in the settings. For commands on files, which run without settings, return the defaults."""
    return cast(IncomingLimits, getattr(settings, "INCOMING", DEFAULT_LIMITS))


def compose_name(name: str) -> str:
    """Return the name in Unicode's composed form, so that names with composed and decomposed accents are equal."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def unpacked_name(name: str) -> str:
    """Return the name of a file without the ending `.gz`, if it has it."""
    return name[:-3] if name.lower().endswith(".gz") else name


def quote_value(value: object) -> str:
    """Return a value as JSON of at most 60 characters, for a message."""
    if value is None:
        return "nothing"
    if isinstance(value, str) and not value.strip():
        return "an empty text"
    text = json.dumps(value, ensure_ascii=False, default=str)
    text = text.encode("utf-8", "backslashreplace").decode()  # single surrogates cannot be printed
    return text if len(text) <= 60 else text[:57] + "..."


class LimitExceeded(QuorumError):
    """Incoming data exceed a limit."""

    title = "More than is read"

    def __init__(self, actual: str, expected: str) -> None:
        super().__init__(actual, expected)
        self.actual = actual
        self.expected = expected

    def __str__(self) -> str:
        return f"Found {self.actual}, expected {self.expected}."


class RequestBytesExceeded(QuorumError):
    """A request would read more than MAX_REQUEST_BYTES of files. A job must read them."""

    title = "Too large to be read at once"

    def __str__(self) -> str:
        return gettext(
            "The file is too large to be imported on this page. An administrator can import it with a "
            "command."
        )


@contextmanager
def within_request() -> Iterator[None]:
    """Let the block read at most MAX_REQUEST_BYTES of files."""
    token = _byte_budget.set(_ByteBudget(MAX_REQUEST_BYTES))
    try:
        yield
    finally:
        _byte_budget.reset(token)


def check_request_size(size: int) -> None:
    """Raise RequestBytesExceeded if a file of this size is too large for a request. Do nothing outside a request."""
    if size > MAX_REQUEST_BYTES:
        refuse_in_request()


def refuse_in_request() -> None:
    """Raise RequestBytesExceeded in a request, for files that only jobs read. Do nothing outside a request."""
    if _byte_budget.get() is not None:
        raise RequestBytesExceeded


def count_bytes(size: int) -> None:
    """Count bytes that were read. Raise RequestBytesExceeded if a request has read too many."""
    budget = _byte_budget.get()
    if budget is not None:
        budget.bytes_left -= size
        if budget.bytes_left < 0:
            raise RequestBytesExceeded
