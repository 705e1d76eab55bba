"""End requests that compute for too long: gunicorn's timeout ends a process with threads only if all of it hangs."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class RequestTooLong(Exception):
    """The request used more processor time than any may."""


class LongRequests:
    def __init__(self, most: float) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._until: dict[int, float] = {}  # thread -> its processor time at which its request is ended

    @contextmanager
    def watched(self) -> Iterator[None]:
        thread = threading.get_ident()
        self._until[thread] = time.thread_time() + self._most
        try:
            yield
        finally:
            with self._lock:  # nothing is raised in this thread from here on
                self._until.pop(thread, None)

    def end(self) -> None:
        """Raise RequestTooLong in the threads whose requests took too long."""
        with self._lock:
            for thread, until in list(self._until.items()):
                if time.clock_gettime(time.pthread_getcpuclockid(thread)) > until:
                    del self._until[thread]
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(
                        ctypes.c_ulong(thread), ctypes.py_object(RequestTooLong)
                    )
