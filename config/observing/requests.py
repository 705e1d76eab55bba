"""A request's id, its line in the access log, figures for Prometheus, probes, and status 503 in an outage.

Each gunicorn process counts in its own file below PROMETHEUS_MULTIPROC_DIR, which config.gunicorn sets; the process
that is asked for the figures (`/health/metrics`) adds them up, and reads queue lengths from the database.

Probes (`/health/live`, `/health/ready`) and figures are answered before the checks of host and HTTPS: they come by the
machine's own address.
"""

from __future__ import annotations

import functools
import hmac
import ipaddress
import logging
import os
import re
import shutil
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.admindocs.utils import replace_metacharacters, replace_named_groups
from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Count, Min, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotFound, JsonResponse
from django.utils import timezone
from django.utils.functional import LazyObject, empty
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram
from prometheus_client import generate_latest as written
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from common.audit import logged_with
from common.features import declared_by_features
from config.observing.logs import KNOWN
from config.observing.outages import DATABASE, DISK, outage_of, root_of

SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

WAITING = ("queued", "running", "waiting", "started", "sending")

FAILED = ("failed", "parked", "given-up")

WORK: dict[str, tuple[str, str]] = {
    "jobs": ("judgments.Job", "created_at"),
    "crowds": ("annotation.CrowdCall", "made_at"),
    **declared_by_features("queues"),
}

REQUESTS = Counter("quorum_requests", "Requests by pattern of their address", ["method", "path", "status"])

DURATIONS = Histogram(
    "quorum_request_seconds", "Time until a response begins", ["method", "path"], buckets=SECONDS
)

ERRORS = Counter("quorum_database_errors", "Requests that failed at the database or the disk", ["what"])


def may_read(address: str, authorization: str) -> bool:
    """Return whether a visitor may read the figures: by METRICS_TOKEN, or from an address of METRICS_FROM."""
    token: str = settings.METRICS_TOKEN
    if token and hmac.compare_digest(authorization.encode(), f"Bearer {token}".encode()):
        return True
    try:
        visitor = ipaddress.ip_address(address)
    except ValueError:
        return False
    visitor = getattr(visitor, "ipv4_mapped", None) or visitor
    return any(visitor in network for network in settings.METRICS_FROM)


def figures_response() -> HttpResponse:
    registry = CollectorRegistry()
    if settings.FIGURES_FOLDER:
        MultiProcessCollector(registry, settings.FIGURES_FOLDER)
    else:
        for counted in (REQUESTS, DURATIONS, ERRORS):
            registry.register(counted)
    registry.register(_Rows())
    return HttpResponse(
        written(registry), headers={"Content-Type": CONTENT_TYPE_LATEST, "Cache-Control": "no-store"}
    )


class _Rows(Collector):
    def describe(self) -> list[Any]:
        return []  # so that registering asks the database nothing

    def collect(self) -> Iterator[GaugeMetricFamily]:
        answers = GaugeMetricFamily("quorum_database_up", "Whether the database answers")
        try:
            families = list(_waiting())
        except (DatabaseError, InterfaceError):
            families = []
            answers.add_metric([], 0)
        else:
            answers.add_metric([], 1)
        finally:
            connection.close_if_unusable_or_obsolete()
        yield answers
        yield from families


def _waiting() -> Iterator[GaugeMetricFamily]:
    work = [
        (name, apps.get_model(model)._default_manager.all(), created)
        for name, (model, created) in WORK.items()
    ]
    yield from _by_state("quorum_work", "Jobs and messages that wait, run or failed", work)
    jobs = apps.get_model("judgments", "Job")._default_manager
    queues = [(queue, jobs.filter(queue=queue), "created_at") for queue in settings.JOB_SECONDS]
    yield from _by_state("quorum_jobs", "Jobs that wait, run or failed", queues)


def _by_state(
    name: str, what: str, work: Iterable[tuple[str, QuerySet[Any], str]]
) -> Iterator[GaugeMetricFamily]:
    labels = ["queue", "state"]
    counts = GaugeMetricFamily(name, what, labels=labels)
    ages = GaugeMetricFamily(f"{name}_oldest_seconds", "Age of the oldest that waits or runs", labels=labels)
    now = timezone.now()
    for queue, everything, created in work:
        rows = everything.filter(state__in=[*WAITING, *FAILED])
        for row in rows.order_by().values("state").annotate(n=Count("pk"), first=Min(created)):
            counts.add_metric([queue, row["state"]], row["n"])
            if row["state"] in WAITING:
                ages.add_metric([queue, row["state"]], (now - row["first"]).total_seconds())
    yield counts
    yield ages


HEADER = "X-Request-ID"

USABLE_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")  # of a proxy; any other is replaced

WITH_PORT = re.compile(r"\[([^\]]+)\](?::\d+)?|([\d.]+):\d+")  # as some proxies write an address

METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

access = logging.getLogger("quorum.access")


class Middleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response


class RequestMiddleware(Middleware):
    """Give each request an id for its log lines and its response, and count it."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        sent = request.headers.get(HEADER, "")
        name = sent if USABLE_ID.fullmatch(sent) else uuid.uuid4().hex
        began = time.perf_counter()
        with logged_with(request=name) as known:
            setattr(request, KNOWN, known)
            response = self.get_response(request)
            seconds = time.perf_counter() - began
            account = _account(request)
            if account is not None:
                known["account"] = account
            method, path = request.method if request.method in METHODS else "other", pattern_of(request)
            REQUESTS.labels(method, path, str(response.status_code)).inc()
            DURATIONS.labels(method, path).observe(seconds)
            if settings.ACCESS_LOG:
                ms, status = round(seconds * 1000), response.status_code
                fields = {"method": method, "path": path, "status": status, "ms": ms}
                access.info("%s %s %s in %s ms", method, path, status, ms, extra=fields)
        response.headers[HEADER] = name
        return response


def pattern_of(request: HttpRequest) -> str:
    """Return the pattern of the address, without its secrets: `/s/<slug:slug>/work/`."""
    match = request.resolver_match
    if match is None:
        return f"{settings.STATIC_URL}…" if request.path.startswith(settings.STATIC_URL) else "unknown"
    return _simplified(match.route)


@functools.cache  # as many as there are addresses
def _simplified(route: str) -> str:
    return "/" + replace_metacharacters(replace_named_groups(route))


def _account(request: HttpRequest) -> int | None:
    """Return the id of the account that the view loaded; never query for it."""
    user = vars(request).get("user")
    if isinstance(user, LazyObject):
        user = None if vars(user).get("_wrapped") is empty else vars(user)["_wrapped"]
    if user is None or getattr(getattr(user, "_meta", None), "label", "") != settings.AUTH_USER_MODEL:
        return None  # nobody, or the worker of a token
    return int(user.pk)


def visitor_address(request: HttpRequest) -> str:
    """Return the address that the outermost of our proxies saw."""
    address: str = request.META.get("REMOTE_ADDR", "")
    if settings.PROXIES:
        # what is further left came with the visitor's own header
        passed = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")[-settings.PROXIES :]
        forwarded = passed[0].strip() or address
        with_port = WITH_PORT.fullmatch(forwarded)
        address = with_port[1] or with_port[2] if with_port else forwarded
    return address


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
        ERRORS.labels(LABELS[outage_of(root)]).inc()
    elif isinstance(error, DatabaseError | InterfaceError):
        ERRORS.labels("other").inc()
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


class OutageMiddleware(Middleware):
    """Set the status of responses of ``as_outage``, and notice the end of an outage."""

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


class HealthMiddleware(Middleware):
    """Answer `/health/live`, `/health/ready` and, to those who may read them, `/health/metrics`."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info == "/health/live":
            return _answer({"process": FINE})
        if request.path_info == "/health/ready":
            return _answer({"database": _database(), "data folder": _data_folder()})
        if request.path_info == "/health/metrics":
            allowed = may_read(visitor_address(request), request.headers.get("Authorization", ""))
            return figures_response() if allowed else HttpResponseNotFound()
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
