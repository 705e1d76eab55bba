"""Requests that fail through no fault of the program: the database is away, or a disk is full.

Every command loads this module with the settings of logging, and none of the figures.
"""

from __future__ import annotations

import errno
import logging
import sqlite3

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


def outage_cause_of(error: BaseException | None) -> BaseException | None:
    """Return the first error in a chain of causes that shows an outage, as of a session that is not stored."""
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


class OutageFilter(logging.Filter):
    """Drop the tracebacks of requests during an outage, which its first line explains."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.exc_info and outage_cause_of(record.exc_info[1]))
