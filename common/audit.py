"""The context of a request, job or command: its account, its origin, and the fields of its log lines.

Fields of log lines are ids and the study's slug, never names or answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.contrib.auth.models import User


@dataclass(frozen=True, slots=True)
class Act:
    """Who acts, and from where.

    Attributes:
        who: returns the account; called only if needed, as it may query the database.
        door: the origin: "page", "api", "job" or "command"; "" elsewhere, for example in a shell.
        call: the address, the kind and number of the job, or the name of the command.
    """

    who: Callable[[], User | None]
    door: str = ""
    call: str = ""


NOBODY = Act(lambda: None)
_now: ContextVar[Act] = ContextVar("act", default=NOBODY)
_log_context: ContextVar[dict[str, str | int] | None] = ContextVar("log_context", default=None)


@contextmanager
def acting_as(who: Callable[[], User | None], *, door: str = "", call: str = "") -> Iterator[None]:
    token = _now.set(Act(who, door, call[:200]))
    try:
        yield
    finally:
        _now.reset(token)


def acting_person() -> User | None:
    """Return the account that acts; None for the platform, for a worker, and for a command."""
    return _now.get().who()


def current_act() -> Act:
    return _now.get()


@contextmanager
def logged_with(**known: str | int) -> Iterator[dict[str, str | int]]:
    """Log the block, a request or job, with these fields; yield the fields, to which ``log_about`` adds."""
    token = _log_context.set(dict(known))
    try:
        yield log_context()
    finally:
        _log_context.reset(token)


def log_about(**known: str | int) -> None:
    log_context().update(known)


def log_context() -> dict[str, str | int]:
    """Return the log fields of the current request or job; outside of both, an empty dict."""
    known = _log_context.get()
    return {} if known is None else known
