"""Recognise outages: errors that occur because the database is not available or a disk is full.

The logging settings import this module in every command, before models can be imported.
"""

from __future__ import annotations

import errno
import logging
import sqlite3

from django.db import DatabaseError, InterfaceError, OperationalError

NO_CONNECTION = "The database cannot be reached"
DISK_FULL = "The disk is full or cannot be written"
SQLITE_OUTAGES = {
    sqlite3.SQLITE_BUSY: NO_CONNECTION,
    sqlite3.SQLITE_LOCKED: NO_CONNECTION,
    sqlite3.SQLITE_PROTOCOL: NO_CONNECTION,
    sqlite3.SQLITE_CANTOPEN: NO_CONNECTION,
    sqlite3.SQLITE_READONLY: DISK_FULL,
    sqlite3.SQLITE_IOERR: DISK_FULL,
    sqlite3.SQLITE_FULL: DISK_FULL,
}
# kinds of outage by prefix of the SQLSTATE, of which the first that matches counts (connection, disk full, other
# resources, shut-down, system)
POSTGRESQL_OUTAGES = {
    "08": NO_CONNECTION,
    "53100": DISK_FULL,
    "53": NO_CONNECTION,
    "57P": NO_CONNECTION,
    "58": DISK_FULL,
}


def outage_cause_of(error: BaseException | None) -> BaseException | None:
    """Return the error if it shows an outage, or else the first of its causes that does; None if none does.

    Causes matter, since Django wraps errors of storing a session.
    """
    while error is not None and not outage_of(error):
        error = error.__cause__ or error.__context__
    return error


def outage_of(error: BaseException) -> str:
    """Return the kind of outage that caused the error; "" if it was not an outage."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
        return DISK_FULL
    if not isinstance(error, DatabaseError | InterfaceError):
        return ""
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):
        # the lowest byte of an extended error code is the primary code
        return SQLITE_OUTAGES.get(getattr(cause, "sqlite_errorcode", 0) & 0xFF, "")
    if cause is not None and hasattr(cause, "sqlstate"):  # an error of psycopg, which may not be installed
        state: str | None = cause.sqlstate
        if state is None:  # there was no response from the server
            return NO_CONNECTION if isinstance(error, OperationalError | InterfaceError) else ""
        return next((outage for prefix, outage in POSTGRESQL_OUTAGES.items() if state.startswith(prefix)), "")
    return NO_CONNECTION if isinstance(error, InterfaceError) else ""


class OutageFilter(logging.Filter):
    """Drop the log records, with tracebacks, of requests that failed because of an outage, which is logged once."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.exc_info and outage_cause_of(record.exc_info[1]))
