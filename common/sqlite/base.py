"""Django's backend for SQLite, with a queue in which transactions wait before they begin.

SQLite lets one transaction write at a time. Others try again with pauses of up to 100 ms, and chance decides which is
next. Therefore, under load, some wait ten times as long as most. This backend makes transactions wait in a queue first.

The queue only sets the order. SQLite's own lock still excludes other writers, including transactions that left the
queue after a timeout, and programs that do not use the queue.
"""

from __future__ import annotations

import os
from contextlib import ExitStack

from django.db.backends.sqlite3 import base

from common.sqlite.queue import Queue, Turn

QUEUE_SECONDS = 10.0  # longest wait in the queue, after which SQLite's own timeout begins

_queues: dict[str, Queue] = {}
os.register_at_fork(after_in_child=_queues.clear)  # a child process cannot end its parent's turns


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection whose transactions wait for their turn before they begin, and end it with the transaction."""

    _turn: Turn | None = None

    def _start_transaction_under_autocommit(self) -> None:
        with ExitStack() as on_failure:
            on_failure.callback(self._end_turn)
            if not self.is_in_memory_db():
                name = f"{self.settings_dict['NAME']}-queue"
                self._turn = _queues.setdefault(name, Queue(name)).wait(QUEUE_SECONDS)
            super()._start_transaction_under_autocommit()  # type: ignore[misc]  # django-stubs leave it out
            on_failure.pop_all()

    def _commit(self) -> None:
        try:
            super()._commit()  # type: ignore[misc]  # django-stubs leave it out
        finally:
            self._end_turn()

    def _rollback(self) -> None:
        try:
            super()._rollback()  # type: ignore[misc]  # django-stubs leave it out
        finally:
            self._end_turn()

    def _close(self) -> None:
        try:
            super()._close()  # type: ignore[misc]  # django-stubs leave it out
        finally:
            self._end_turn()

    def _end_turn(self) -> None:
        turn, self._turn = self._turn, None
        if turn is not None:
            turn.end()
