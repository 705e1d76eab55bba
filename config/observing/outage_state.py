"""Log the beginning and the end of outages of the database or the disk, and give failed requests the status 503."""

from __future__ import annotations

import logging
import threading
import time

from django.db import DatabaseError, InterfaceError, connection
from django.http import HttpRequest, HttpResponse

from config.observing.metrics import ERRORS
from config.observing.outages import DISK_FULL, NO_CONNECTION, outage_cause_of, outage_of
from config.observing.requests import Middleware

RETRY_SECONDS = 10  # the Retry-After header of responses in an outage
OUTAGE_HEADER = "X-Quorum-Outage"  # an internal header, which is removed before the response is sent
QUIET_SECONDS = 5  # seconds without failure before the end is logged, since reads may work before writes do
METRIC_LABELS = {NO_CONNECTION: "away", DISK_FULL: "disk"}
logger = logging.getLogger(__name__)


def note_outage(error: BaseException) -> bool:
    """Return whether an outage caused the error. If so, log it, unless its beginning has been logged."""
    cause = outage_cause_of(error)
    if cause is not None:
        outage = outage_of(cause)
        STATE.begin(outage, cause)
        ERRORS.labels(METRIC_LABELS[outage]).inc()
    elif isinstance(error, DatabaseError | InterfaceError):
        ERRORS.labels("other").inc()
    return cause is not None


class _State:
    """The present outage of this process, and the time of the last failure."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._outage = ""
        self._last_failure = 0.0

    def begin(self, outage: str, error: BaseException) -> None:
        """Record a failure. Log the outage, unless it is the present one, which is logged already."""
        with self._lock:
            previous_outage = self._outage
            self._outage = outage
            self._last_failure = time.monotonic()
        if previous_outage != outage:
            reason = " ".join(str(error).split())[:300]
            logger.error("%s (%s). Requests get status 503 until it is back.", outage, reason)

    def may_be_over(self) -> bool:
        return bool(self._outage) and time.monotonic() - self._last_failure >= QUIET_SECONDS

    def end(self) -> None:
        with self._lock:
            outage, self._outage = self._outage, ""
        if outage:
            logger.warning("Over: %s. Requests are answered again.", outage[0].lower() + outage[1:])


STATE = _State()


class OutageMiddleware(Middleware):
    """Set status 503 on responses that ``mark_outage`` has marked, and log the end of an outage."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if OUTAGE_HEADER in response.headers:
            del response.headers[OUTAGE_HEADER]
            response.status_code = 503
            response.headers["Retry-After"] = str(RETRY_SECONDS)
        elif response.status_code < 500 and STATE.may_be_over() and _is_database_answering():
            STATE.end()
        return response


def mark_outage(response: HttpResponse) -> HttpResponse:
    """Set status 500 and a header on a response, and return it. ``OutageMiddleware`` later sets status 503.

    With another status than 500, Django would try to store the session, which may fail again.
    """
    response.status_code = 500
    response.headers[OUTAGE_HEADER] = "yes"
    return response


def _is_database_answering() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except (DatabaseError, InterfaceError):
        return False
    return True
