"""The context of a request, job or command: who acts (``Act``), and the fields of its log lines.

These are independent of each other. Fields of log lines are ids and the study's slug, never names or answers.
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
        origin: "page", "api", "job" or "command"; "" elsewhere, for example in a shell.
        origin_detail: the method and the address, the kind and number of the job, or the name of the command.
    """

    find_account: Callable[[], User | None]
    origin: str = ""
    origin_detail: str = ""


NO_ACT = Act(lambda: None)
_current_act: ContextVar[Act] = ContextVar("act", default=NO_ACT)
_log_context: ContextVar[dict[str, str | int] | None] = ContextVar("log_context", default=None)


@contextmanager
def acting_as(
    find_account: Callable[[], User | None], *, origin: str = "", origin_detail: str = ""
) -> Iterator[None]:
    """Let an account act in the block. The arguments are the attributes of ``Act``."""
    token = _current_act.set(Act(find_account, origin, origin_detail[:200]))
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
def log_field_scope(**fields: str | int) -> Iterator[dict[str, str | int]]:
    """Add only these fields to the log lines of the block, a request or job. Yield them; ``log_about`` adds more.

    The fields of an outer block are not added until this block ends.
    """
    token = _log_context.set(dict(fields))
    try:
        yield log_context()
    finally:
        _log_context.reset(token)


def log_about(**fields: str | int) -> None:
    """Add these fields to the next log lines of the current request or job. Outside of both, do nothing."""
    log_context().update(fields)


def log_context() -> dict[str, str | int]:
    """Return the log fields of the current request or job, or an empty dict if there is none."""
    fields = _log_context.get()
    return {} if fields is None else fields
