"""Whether this process is alive (`/health/live`) and whether it can serve (`/health/ready`).

Both are answered before the host is checked and before HTTPS is asked for: a probe comes by the address of the machine.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse

LEAST_FREE = 100 * 1024 * 1024  # bytes; what a release or an export may need at once
FINE = "ok"


class HealthMiddleware:
    """Answers `/health/live` and `/health/ready`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info == "/health/live":
            return _answer({"process": FINE})
        if request.path_info == "/health/ready":
            return _answer({"database": _database(), "data folder": _data_folder()})
        return self.get_response(request)


def _answer(found: dict[str, str]) -> JsonResponse:
    fine = all(value == FINE for value in found.values())
    response = JsonResponse(found, status=200 if fine else 503)
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
