"""The current account, for log entries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.contrib.auth.models import User

_who: ContextVar[Callable[[], User | None]] = ContextVar("acting_person", default=lambda: None)


@contextmanager
def acting_as(who: Callable[[], User | None]) -> Iterator[None]:
    """Set the account within the block; ``who`` is called only if needed, as it may cost a query."""
    token = _who.set(who)
    try:
        yield
    finally:
        _who.reset(token)


def acting_person() -> User | None:
    """Return the current account; None for the platform, a worker or a command."""
    return _who.get()()
