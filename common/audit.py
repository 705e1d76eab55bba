"""The account on whose behalf the program works, for log entries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.contrib.auth.models import User

_who: ContextVar[Callable[[], User | None]] = ContextVar("acting_person", default=lambda: None)


@contextmanager
def acting_as(who: Callable[[], User | None]) -> Iterator[None]:
    """Within the block, ``acting_person`` is who this answers; asked only where it is wanted, as a request's person
    costs a query."""
    token = _who.set(who)
    try:
        yield
    finally:
        _who.reset(token)


def acting_person() -> User | None:
    """Who asked for what is being done; None where the platform, a worker or a command does it."""
    return _who.get()()
