"""The context of a request, job or command: its account and way in, and the fields of its log lines.

Fields are ids and the study's slug, never names or answers.
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
    """An account and its way in.

    Attributes:
        who: returns the account; called only if needed, as it may cost a query.
        door: "page", "api", "job" or "command"; "" elsewhere, as in a shell.
        call: the address, the kind and number of the job, or the command's name.
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
    """Return the current account; None for the platform, a worker or a command."""
    return _now.get().who()


def current_act() -> Act:
    return _now.get()


@contextmanager
def logged_with(**known: str | int) -> Iterator[dict[str, str | int]]:
    """Begin a request or job; yield its fields, to which ``log_about`` adds."""
    token = _log_context.set(dict(known))
    try:
        yield log_context()
    finally:
        _log_context.reset(token)


def log_about(**known: str | int) -> None:
    log_context().update(known)


def log_context() -> dict[str, str | int]:
    """Return the fields of this request or job; a new dict outside of both."""
    known = _log_context.get()
    return {} if known is None else known
