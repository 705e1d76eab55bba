"""The fields that log lines share within a request or job: ids and the study's slug, never names or answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_known: ContextVar[dict[str, str | int] | None] = ContextVar("log_context", default=None)


@contextmanager
def logged_with(**known: str | int) -> Iterator[dict[str, str | int]]:
    """Begin a request or job; yield its fields, to which ``log_about`` adds."""
    token = _known.set(dict(known))
    try:
        yield log_context()
    finally:
        _known.reset(token)


def log_about(**known: str | int) -> None:
    log_context().update(known)


def log_context() -> dict[str, str | int]:
    """Return the fields of this request or job; a new dict outside of both."""
    known = _known.get()
    return {} if known is None else known
