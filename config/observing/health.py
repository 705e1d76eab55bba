"""Health probes of this process, its database and its data folder.

Probes (`/health/live`, `/health/ready`) and metrics are served before host and HTTPS are checked, since such requests
use the machine's own address.
"""

from __future__ import annotations

import os
import shutil

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, HttpResponseNotFound, JsonResponse

from config.observing.metrics import may_read, metrics_response
from config.observing.requests import Middleware
from config.observing.visitors import visitor_address

MIN_FREE_BYTES = 100 * 1024 * 1024  # bytes that a release or an export may need at once

OK = "ok"


class HealthMiddleware(Middleware):
    """Serve `/health/live`, `/health/ready` and, to visitors who may read them, `/health/metrics`."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info == "/health/live":
            return _states_response({"process": OK})
        if request.path_info == "/health/ready":
            return _states_response({"database": _check_database(), "data folder": _check_data_folder()})
        if request.path_info == "/health/metrics":
            is_allowed = may_read(visitor_address(request), request.headers.get("Authorization", ""))
            return metrics_response() if is_allowed else HttpResponseNotFound()
        return self.get_response(request)


def _states_response(states: dict[str, str]) -> JsonResponse:
    """Return the states by name, with status 503 if one of them is not OK."""
    is_fine = all(value == OK for value in states.values())
    response = JsonResponse(states, status=200 if is_fine else 503)
    response.headers["Cache-Control"] = "no-store"
    return response


def _check_database() -> str:
    """Return OK if the database responds and has all migrations, or else a message."""
    try:
        executor = MigrationExecutor(connection)
        missing_count = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    except (DatabaseError, InterfaceError):
        return "does not answer"
    finally:
        connection.close_if_unusable_or_obsolete()
    return f"{missing_count} migrations are missing; run manage.py prepare" if missing_count else OK


def _check_data_folder() -> str:
    """Return OK if the data folder can be written and has free space, or else a message."""
    folder = settings.DATA_DIR
    if not os.access(folder, os.W_OK | os.X_OK):
        return "cannot be written"
    free_bytes = shutil.disk_usage(folder).free
    return OK if free_bytes >= MIN_FREE_BYTES else f"has only {free_bytes // 1024**2} MB left"
