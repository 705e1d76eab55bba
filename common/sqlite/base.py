"""Django's backend for SQLite, with a queue for those who write.

SQLite lets one transaction write at a time. The others ask again after pauses of up to 100 ms, and the one that asks at
the right moment comes first: under load some wait ten times as long as most. Here transactions queue before they ask:
the threads of a process for a lock, and the first of each process for a lock on a file, which ends with its process.
The queue only orders. SQLite's own lock decides, also for those who have waited too long here or do not know the queue.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections import defaultdict
from contextlib import ExitStack

from django.db.backends.sqlite3 import base

PATIENCE = 10.0  # seconds in the queue, before SQLite's own timeout begins
PAUSE = 0.001  # between two looks at the file's lock

_threads: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
os.register_at_fork(after_in_child=_threads.clear)  # nobody in the child would release them


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection whose transactions queue."""

    # the lock of the threads and the file's descriptor, while this connection is at the head of the queue
    _place: tuple[threading.Lock, int] | None = None

    def _start_transaction_under_autocommit(self) -> None:
        with ExitStack() as on_failure:
            on_failure.callback(self._leave)
            if not self.is_in_memory_db():
                self._place = _place(f"{self.settings_dict['NAME']}-queue")
            super()._start_transaction_under_autocommit()  # type: ignore[misc]  # django-stubs leave it out
            on_failure.pop_all()

    def _commit(self) -> None:
        try:
            super()._commit()  # type: ignore[misc]  # django-stubs leave it out
        finally:
            self._leave()

    def _rollback(self) -> None:
        try:
            super()._rollback()  # type: ignore[misc]  # django-stubs leave it out
        finally:
            self._leave()

    def _close(self) -> None:
        try:
            super()._close()  # type: ignore[misc]  # django-stubs leave it out
        finally:
            self._leave()

    def _leave(self) -> None:
        if self._place is None:
            return
        (threads, file), self._place = self._place, None
        fcntl.flock(file, fcntl.LOCK_UN)  # a process that was forked meanwhile has the file open too
        os.close(file)
        threads.release()


def _place(name: str) -> tuple[threading.Lock, int] | None:
    """Wait for the head of the queue; return None if that takes too long, or the disk is full or cannot be written."""
    until, threads = time.monotonic() + PATIENCE, _threads[name]
    if not threads.acquire(timeout=PATIENCE):
        return None
    try:
        file = os.open(name, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        threads.release()
        return None
    while time.monotonic() < until:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(PAUSE)
        else:
            return threads, file
    os.close(file)
    threads.release()
    return None
