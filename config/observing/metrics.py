"""Metrics for Prometheus: counts of requests, and of work that waits in the database.

Each gunicorn process counts in its own file in PROMETHEUS_MULTIPROC_DIR, which config.gunicorn sets. The process that
serves `/health/metrics` adds up the counts of all files, and reads the lengths of queues from the database.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Iterable, Iterator
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.db.models import Count, Min, QuerySet
from django.http import HttpResponse
from django.utils import timezone
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from common.features import declared_by_features

DURATION_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)  # seconds
WAITING_STATES = ("queued", "running", "waiting", "started", "sending")  # jobs and messages that wait or run
FAILED_STATES = ("failed", "parked", "given-up")
# by name of the work: its model, and the field with the time of creation
WORK_MODELS: dict[str, tuple[str, str]] = {
    "jobs": ("judgments.Job", "created_at"),
    "crowds": ("annotation.CrowdCall", "made_at"),
    **declared_by_features("queues"),  # such as "webhooks"
}
REQUESTS = Counter("quorum_requests", "Requests by pattern of their address", ["method", "path", "status"])
DURATIONS = Histogram(
    "quorum_request_seconds", "Time until a response begins", ["method", "path"], buckets=DURATION_BUCKETS
)
# what: "away" (no connection to the database), "disk" (it is full) or "other"
ERRORS = Counter("quorum_database_errors", "Requests that failed at the database or the disk", ["what"])


def may_read(address: str, authorization: str) -> bool:
    """Return whether a visitor may read the metrics, by METRICS_TOKEN or by an address in METRICS_FROM."""
    token: str = settings.METRICS_TOKEN
    if token and hmac.compare_digest(authorization.encode(), f"Bearer {token}".encode()):
        return True
    try:
        visitor = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(visitor, ipaddress.IPv6Address) and visitor.ipv4_mapped is not None:
        visitor = visitor.ipv4_mapped  # an IPv4 address in the form of IPv6, such as ::ffff:192.0.2.1
    return any(visitor in network for network in settings.METRICS_FROM)


def metrics_response() -> HttpResponse:
    """Return the metrics of all processes, in the text format of Prometheus."""
    registry = CollectorRegistry()
    if settings.FIGURES_FOLDER:  # PROMETHEUS_MULTIPROC_DIR
        MultiProcessCollector(registry, settings.FIGURES_FOLDER)
    else:
        for metric in (REQUESTS, DURATIONS, ERRORS):
            registry.register(metric)
    registry.register(_RowCollector())
    return HttpResponse(
        generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST, "Cache-Control": "no-store"}
    )


class _RowCollector(Collector):
    """Reads the lengths of queues from the database whenever Prometheus requests the metrics."""

    def describe(self) -> list[Any]:
        return []  # prevents a query when the collector is registered

    def collect(self) -> Iterator[GaugeMetricFamily]:
        database_up = GaugeMetricFamily("quorum_database_up", "Whether the database answers")
        try:
            work_metrics = list(_waiting_work())
        except (DatabaseError, InterfaceError):
            work_metrics = []
            database_up.add_metric([], 0)
        else:
            database_up.add_metric([], 1)
        finally:
            connection.close_if_unusable_or_obsolete()
        yield database_up
        yield from work_metrics


def _waiting_work() -> Iterator[GaugeMetricFamily]:
    """Yield the metrics of ``WORK_MODELS``, and those of jobs by queue (JOB_SECONDS has a time limit for each)."""
    work = [
        (name, apps.get_model(model)._default_manager.all(), time_field)
        for name, (model, time_field) in WORK_MODELS.items()
    ]
    yield from _metrics_by_state("quorum_work", "Jobs and messages that wait, run or failed", work)
    jobs = apps.get_model("judgments", "Job")._default_manager
    queues = [(queue, jobs.filter(queue=queue), "created_at") for queue in settings.JOB_SECONDS]
    yield from _metrics_by_state("quorum_jobs", "Jobs that wait, run or failed", queues)


def _metrics_by_state(
    name: str, description: str, queues: Iterable[tuple[str, QuerySet[Any], str]]
) -> Iterator[GaugeMetricFamily]:
    """Yield the number of rows, and the age of the oldest, by queue and state.

    Args:
        queues: the name, the rows and the field with the time of creation of each queue.
    """
    labels = ["queue", "state"]
    counts = GaugeMetricFamily(name, description, labels=labels)
    ages = GaugeMetricFamily(f"{name}_oldest_seconds", "Age of the oldest that waits or runs", labels=labels)
    now = timezone.now()
    for queue, all_rows, time_field in queues:
        rows = all_rows.filter(state__in=[*WAITING_STATES, *FAILED_STATES])
        for row in rows.order_by().values("state").annotate(row_count=Count("pk"), oldest=Min(time_field)):
            counts.add_metric([queue, row["state"]], row["row_count"])
            if row["state"] in WAITING_STATES:
                ages.add_metric([queue, row["state"]], (now - row["oldest"]).total_seconds())
    yield counts
    yield ages
