"""Requests that fail through no fault of the program: the database is away, a disk is full, they compute for too long.

gunicorn's timeout ends a process with threads only if all of it hangs, so long requests are ended here.

Every command loads this module with the settings of logging, and none of the figures.
"""

from __future__ import annotations

import ctypes
import errno
import logging
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DatabaseError, InterfaceError, OperationalError

DATABASE = "The database cannot be reached"
DISK = "The disk is full or cannot be written"
SQLITE_OUTAGES = {
    sqlite3.SQLITE_BUSY: DATABASE,
    sqlite3.SQLITE_LOCKED: DATABASE,
    sqlite3.SQLITE_PROTOCOL: DATABASE,
    sqlite3.SQLITE_CANTOPEN: DATABASE,
    sqlite3.SQLITE_READONLY: DISK,
    sqlite3.SQLITE_IOERR: DISK,
    sqlite3.SQLITE_FULL: DISK,
}
# beginnings of an SQLSTATE: connection, disk full, resources, shut-down, system
POSTGRESQL_OUTAGES = {"08": DATABASE, "53100": DISK, "53": DATABASE, "57P": DATABASE, "58": DISK}


def root_of(error: BaseException | None) -> BaseException | None:
    """Return the error or the cause of it that shows an outage, such as that of a session not stored."""
    while error is not None and not outage_of(error):
        error = error.__cause__ or error.__context__
    return error


def outage_of(error: BaseException) -> str:
    """Return the kind of outage, or "" if the error is a fault of the program."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
        return DISK
    if not isinstance(error, DatabaseError | InterfaceError):
        return ""
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):
        # the extended code holds the primary one in its lowest byte
        return SQLITE_OUTAGES.get(getattr(cause, "sqlite_errorcode", 0) & 0xFF, "")
    if cause is not None and hasattr(cause, "sqlstate"):  # psycopg's, which is loaded for PostgreSQL alone
        state: str | None = cause.sqlstate
        if state is None:  # the server never answered
            return DATABASE if isinstance(error, OperationalError | InterfaceError) else ""
        return next((what for start, what in POSTGRESQL_OUTAGES.items() if state.startswith(start)), "")
    return DATABASE if isinstance(error, InterfaceError) else ""


class WithoutOutages(logging.Filter):
    """Drop the tracebacks of requests during an outage, which its first line explains."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.exc_info and root_of(record.exc_info[1]))


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
