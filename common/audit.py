"""The current account and how it came in, for log entries and the ledger."""

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
