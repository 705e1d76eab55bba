"""Probes (`/health/live`, `/health/ready`), figures, and status 503 while the database is away or a disk is full.

Probes and figures are answered before the checks of host and HTTPS: they come by the machine's own address.
"""

from __future__ import annotations

import logging
import os
import shutil
import threading
import time
from collections.abc import Callable

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, HttpResponseNotFound, JsonResponse

from config.observing import requests
from config.observing.outages import DATABASE, DISK, outage_of, root_of
from config.observing.requests import visitor_address

LEAST_FREE = 100 * 1024 * 1024  # bytes; what a release or an export may need at once
FINE = "ok"
RETRY_SECONDS = 10
MARK = "X-Quorum-Outage"  # never leaves the server
QUIET_SECONDS = 5  # without an outage, before "is back" is logged: reads may work while writes do not
LABELS = {DATABASE: "away", DISK: "disk"}  # of the figures

logger = logging.getLogger(__name__)


def note_outage(error: BaseException) -> bool:
    """Return whether the error comes from an outage; log a new one."""
    root = root_of(error)
    if root is not None:
        STATE.begin(outage_of(root), root)
        requests.count_database_error(LABELS[outage_of(root)])
    elif isinstance(error, DatabaseError | InterfaceError):
        requests.count_database_error("other")
    return root is not None


class _State:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._what = ""
        self._last = 0.0

    def begin(self, what: str, error: BaseException) -> None:
        with self._lock:
            known, self._what, self._last = self._what, what, time.monotonic()
        if known != what:
            reason = " ".join(str(error).split())[:300]
            logger.error("%s (%s). Requests get status 503 until it is back.", what, reason)

    def may_be_over(self) -> bool:
        return bool(self._what) and time.monotonic() - self._last >= QUIET_SECONDS

    def end(self) -> None:
        with self._lock:
            over, self._what = self._what, ""
        if over:
            logger.warning("Over: %s. Requests are answered again.", over[0].lower() + over[1:])


STATE = _State()


class OutageMiddleware:
    """Set the status of responses of ``as_outage``, and notice the end of an outage."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if MARK in response.headers:
            del response.headers[MARK]
            response.status_code = 503
            response.headers["Retry-After"] = str(RETRY_SECONDS)
        elif response.status_code < 500 and STATE.may_be_over() and is_answering():
            STATE.end()
        return response


def as_outage(response: HttpResponse) -> HttpResponse:
    """Return the response with status 500 until ``OutageMiddleware``: with any other, the session is stored."""
    response.status_code = 500
    response.headers[MARK] = "yes"
    return response


def is_answering() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except (DatabaseError, InterfaceError):
        return False
    return True


class HealthMiddleware:
    """Answer `/health/live`, `/health/ready` and, to those who may read them, `/health/metrics`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info == "/health/live":
            return _answer({"process": FINE})
        if request.path_info == "/health/ready":
            return _answer({"database": _database(), "data folder": _data_folder()})
        if request.path_info == "/health/metrics":
            allowed = requests.may_read(visitor_address(request), request.headers.get("Authorization", ""))
            return requests.figures_response() if allowed else HttpResponseNotFound()
        return self.get_response(request)


def _answer(states: dict[str, str]) -> JsonResponse:
    fine = all(value == FINE for value in states.values())
    response = JsonResponse(states, status=200 if fine else 503)
    response.headers["Cache-Control"] = "no-store"
    return response


def _database() -> str:
    try:
        executor = MigrationExecutor(connection)
        waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except (DatabaseError, InterfaceError):
        return "does not answer"
    finally:
        connection.close_if_unusable_or_obsolete()
    return f"{len(waiting)} migrations are missing; run manage.py prepare" if waiting else FINE


def _data_folder() -> str:
    folder = settings.DATA_DIR
    if not os.access(folder, os.W_OK | os.X_OK):
        return "cannot be written"
    free = shutil.disk_usage(folder).free
    return FINE if free >= LEAST_FREE else f"has only {free // 1024**2} MB left"
