"""Django's backend for SQLite, whose transactions wait in a queue of writers before they begin.

SQLite lets one transaction write at a time. The others poll with pauses of up to 100 ms, and the luckiest comes
first: under load some wait ten times as long as most. Here transactions queue before they poll.

The queue only orders. SQLite's own lock decides, also for those that gave up on the queue or do not know it.
"""

from __future__ import annotations

import os
from contextlib import ExitStack

from django.db.backends.sqlite3 import base

from common.sqlite.queue import Queue, Turn

QUEUE_SECONDS = 10.0  # seconds in the queue, before SQLite's own timeout begins

_queues: dict[str, Queue] = {}
os.register_at_fork(after_in_child=_queues.clear)  # nobody in the child would end the turns of its parent


class DatabaseWrapper(base.DatabaseWrapper):
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
