"""Django's backend for SQLite with a queue of writers.

SQLite lets one transaction write at a time. The others poll with pauses of up to 100 ms, and the luckiest comes
first: under load some wait ten times as long as most. Here transactions queue before they poll.

The queue only orders. SQLite's own lock decides, also for those that gave up on the queue or do not know it.

The queue is first come, first served, for threads and processes. The first thread of each process competes with
those of other processes for locks on two bytes of a file: one for the thread that has the turn, one for the next. As
the next one is known before a turn ends, processes alternate and no thread overtakes. The kernel frees both bytes
when a process ends, however it ends.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections import deque
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field

from django.db.backends.sqlite3 import base

TURN, NEXT = 0, 1  # bytes of the file
PAUSE = 0.001  # seconds between two tries to lock one


class Late(Exception):
    pass


@dataclass
class Queue:
    """The queue at a file, which is created when needed; without one, of this process's threads alone.

    Byte locks belong to a process, so only the thread at the head of its own may have the file open.
    """

    name: str = ""
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _threads: deque[Turn] = field(default_factory=deque)

    def wait(self, patience: float) -> Turn | None:
        """Wait for a turn. Return None if it takes longer, or if the file cannot be made or locked."""
        turn, until = Turn(self), time.monotonic() + patience
        with self._guard:
            self._threads.append(turn)
            if self._threads[0] is turn:
                turn.is_first.set()
        # also for what a signal raises: those behind would wait for a thread that is gone
        with suppress(Late, OSError), ExitStack() as on_failure:
            on_failure.callback(turn.end)
            if not turn.is_first.wait(patience):
                raise Late
            if self.name:
                turn.file = os.open(self.name, os.O_RDWR | os.O_CREAT, 0o600)
                _lock(turn.file, NEXT, until)
                _lock(turn.file, TURN, until)
                fcntl.lockf(turn.file, fcntl.LOCK_UN, 1, NEXT)
            on_failure.pop_all()
            return turn
        return None

    def leave(self, turn: Turn) -> None:
        with self._guard:
            self._threads.remove(turn)
            if self._threads:
                self._threads[0].is_first.set()


@dataclass(eq=False)
class Turn:
    """A thread's place in a queue."""

    queue: Queue
    is_first: threading.Event = field(default_factory=threading.Event)
    file: int | None = None
    process: int = field(default_factory=os.getpid)

    def end(self) -> None:
        if self.file is not None:
            os.close(self.file)  # frees its bytes
        if self.process == os.getpid():  # a child that was forked meanwhile has no part in the queue
            self.queue.leave(self)


def _lock(file: int, byte: int, until: float) -> None:
    while True:
        try:
            return fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        except (BlockingIOError, PermissionError):  # as the platform says it
            if time.monotonic() > until:
                raise Late from None
        time.sleep(PAUSE)


PATIENCE = 10.0  # seconds in the queue, before SQLite's own timeout begins

_queues: dict[str, Queue] = {}
os.register_at_fork(after_in_child=_queues.clear)  # nobody in the child would end the turns of its parent


class DatabaseWrapper(base.DatabaseWrapper):
    _turn: Turn | None = None

    def _start_transaction_under_autocommit(self) -> None:
        with ExitStack() as on_failure:
            on_failure.callback(self._end_turn)
            if not self.is_in_memory_db():
                name = f"{self.settings_dict['NAME']}-queue"
                self._turn = _queues.setdefault(name, Queue(name)).wait(PATIENCE)
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
