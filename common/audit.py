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
    """The person who acts, and the origin of the action.

    Attributes:
        find_account: a function that returns the account. It is called only if needed, since it may query the database.
        door: the origin: "page", "api", "job" or "command"; "" elsewhere, for example in a shell.
        call: the address, the kind and number of the job, or the name of the command.
    """

    find_account: Callable[[], User | None]
    door: str = ""
    call: str = ""


NO_ACT = Act(lambda: None)
_current_act: ContextVar[Act] = ContextVar("act", default=NO_ACT)
_log_context: ContextVar[dict[str, str | int] | None] = ContextVar("log_context", default=None)


@contextmanager
def acting_as(find_account: Callable[[], User | None], *, door: str = "", call: str = "") -> Iterator[None]:
    """Let an account act in the block. The arguments are the attributes of ``Act``."""
    token = _current_act.set(Act(find_account, door, call[:200]))
    try:
        yield
    finally:
        _current_act.reset(token)


def acting_person() -> User | None:
    """Return the account that acts; None for the platform, for a worker, and for a command."""
    return _current_act.get().find_account()


def current_act() -> Act:
    return _current_act.get()


@contextmanager
def add_log_fields(**fields: str | int) -> Iterator[dict[str, str | int]]:
    """Add these fields to all log lines of the block, a request or job. Yield the fields; ``log_about`` adds more."""
    token = _log_context.set(dict(fields))
    try:
        yield log_context()
    finally:
        _log_context.reset(token)


def log_about(**fields: str | int) -> None:
    """Add these fields to the log lines of the current request or job."""
    log_context().update(fields)


def log_context() -> dict[str, str | int]:
    """Return the log fields of the current request or job, or an empty dict if there is none."""
    fields = _log_context.get()
    return {} if fields is None else fields
