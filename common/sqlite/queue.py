"""A queue of threads and processes, in which the first waiting thread is served first.

The first waiting threads of all processes compete for locks on two bytes of a file: one for the thread whose turn it
is, and one for the next thread. Since the next thread is known before a turn ends, processes alternate, and no thread
overtakes another. The kernel releases both locks when a process ends, even if it is killed.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections import deque
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field

TURN_BYTE, NEXT_BYTE = 0, 1  # positions of the locked bytes in the file
PAUSE_SECONDS = 0.001  # seconds between two attempts to lock a byte


class QueueTimeout(Exception):
    """The turn did not come in time."""


@dataclass
class Queue:
    """The queue of all processes that use the same file. Without a file, it is the queue of this process's threads.

    The file with the path ``name`` ("" for none) is created when it is needed. Byte locks belong to a process, so only
    the first thread of a process may have the file open.
    """

    name: str = ""
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _threads: deque[Turn] = field(default_factory=deque)

    def wait(self, max_seconds: float) -> Turn | None:
        """Wait for a turn for at most this time. Return None after this time, or if the file is unusable."""
        turn = Turn(self)
        deadline = time.monotonic() + max_seconds
        with self._guard:
            self._threads.append(turn)
            if self._threads[0] is turn:
                turn.is_first.set()
        # clean up even if a signal handler raises, or the next threads would wait for this thread forever
        with suppress(QueueTimeout, OSError), ExitStack() as on_failure:
            on_failure.callback(turn.end)
            if not turn.is_first.wait(max_seconds):
                raise QueueTimeout
            if self.name:
                turn.file = os.open(self.name, os.O_RDWR | os.O_CREAT, 0o600)
                _lock_byte(turn.file, NEXT_BYTE, deadline)
                _lock_byte(turn.file, TURN_BYTE, deadline)
                fcntl.lockf(turn.file, fcntl.LOCK_UN, 1, NEXT_BYTE)
            on_failure.pop_all()
            return turn
        return None

    def leave_queue(self, turn: Turn) -> None:
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
            os.close(self.file)  # releases the locks
        if self.process == os.getpid():  # a child process that was forked during the turn is not in the queue
            self.queue.leave_queue(self)


def _lock_byte(file: int, byte: int, deadline: float) -> None:
    """Lock a byte of the file. Raise QueueTimeout if other processes hold it until the deadline."""
    while True:
        try:
            return fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        except (BlockingIOError, PermissionError):  # which of the two is raised depends on the platform
            if time.monotonic() > deadline:
                raise QueueTimeout from None
        time.sleep(PAUSE_SECONDS)
