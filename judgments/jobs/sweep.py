"""Find lost messages and dead workers, and queue their jobs again."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.db.models import Count, Min
from django.db.models.functions import Now
from django.utils import timezone

from judgments.jobs.claims import has_ended, local_owners
from judgments.jobs.dispatching import dispatch, send_message
from judgments.jobs.registry import QUEUES, job_kinds
from judgments.jobs.runs import MAX_ATTEMPTS, TookTooLong
from judgments.models.jobs import Job

log = logging.getLogger(__name__)

LOST_AFTER = timedelta(seconds=5)  # a message is lost if the broker does not list it after this time

_woke_at = float("-inf")  # when this machine last woke from sleep, by the monotonic clock
# by how much the wall clock is ahead of the monotonic clock
_clock_difference = time.time() - time.monotonic()
MAX_CLOCK_DRIFT_SECONDS = 1  # a larger change of the difference means that the machine has slept


def requeue_lost_jobs(count_at_broker: Callable[[str], int | None] = lambda queue: None) -> None:
    """Queue the jobs of dead workers and of lost messages again. It is safe to call this at any time.

    Args:
        count_at_broker: returns the number of a queue's messages at the broker; None if it is unknown.
    """
    for job in Job.objects.filter(state=Job.State.RUNNING):
        if not _has_lost_worker(job):
            continue
        run_row = Job.objects.filter(pk=job.pk, state=Job.State.RUNNING, owner=job.owner)
        if error := _failure_reason(job):
            run_row.update(state=Job.State.FAILED, owner="", error=error, finished_at=timezone.now())
        else:
            run_row.requeue()
    _send_unknown_kinds()
    for queue in QUEUES:
        _requeue_lost_messages(queue, count_at_broker)
    for queue in QUEUES:
        dispatch(queue)


def _send_unknown_kinds() -> None:
    """Send a message for one waiting job of each kind that this version does not know, unless one was sent before.

    It may be that only workers of this version look for lost jobs. The message reaches a worker that knows the kind,
    which then sends the other jobs of the kind.
    """
    waiting_jobs = Job.objects.filter(state=Job.State.QUEUED).exclude(kind__in=job_kinds).order_by("kind")
    kinds = waiting_jobs.values_list("kind").annotate(Count("pk"), Count("sent_at"), Min("pk"))
    for kind, count, sent_count, oldest_id in kinds:
        message = "Jobs of kind %r wait (%d), which this version does not know; a worker of another may."
        log.warning(message, kind, count)
        if not sent_count:
            send_message(oldest_id)


def _failure_reason(job: Job) -> str:
    """Return why a job whose worker has died is not queued again; "" if it is."""
    if job.attempts >= MAX_ATTEMPTS:
        return f"The worker was gone before the work was done, {job.attempts} times over."
    if job.started_at and job.heartbeat:
        seconds = (job.heartbeat - job.started_at).total_seconds()
        if seconds > settings.JOB_SECONDS[job.queue]:  # Celery ended the job's process
            return str(TookTooLong(job.queue))
    return ""


def _has_lost_worker(job: Job) -> bool:
    """Return whether the worker of a running job has died.

    If the worker runs on this machine, look for its process, since sleep of the machine or a long transaction on
    SQLite delay heartbeats.
    """
    has_process_ended = has_ended(job.owner)  # None if it runs on another machine
    if has_process_ended:
        return True
    max_silence = settings.JOB_STALE_SECONDS
    if has_process_ended is not None:
        # The process seems to run, but another process may have the id of a dead one. Wait twice as long.
        max_silence *= 2
    silent_before = Now() - timedelta(seconds=max_silence)
    return (
        job.owner not in local_owners  # this process runs their jobs
        and (has_process_ended is None or _seconds_awake() > max_silence)
        and Job.objects.filter(pk=job.pk, owner=job.owner, heartbeat__lt=silent_before).exists()
    )


def _seconds_awake() -> float:
    """Return the seconds since this machine last woke from sleep; infinity if it has not slept since the start."""
    global _woke_at, _clock_difference
    # Only the wall clock continues while the machine sleeps.
    difference = time.time() - time.monotonic()
    if abs(difference - _clock_difference) > MAX_CLOCK_DRIFT_SECONDS:
        _woke_at, _clock_difference = time.monotonic(), difference
    return time.monotonic() - _woke_at


def _requeue_lost_messages(queue: str, count_at_broker: Callable[[str], int | None]) -> None:
    """Mark the oldest sent jobs as not sent if the broker has fewer messages than jobs are marked as sent.

    It is unknown which messages are lost. A message that is sent twice does no harm.
    """
    sent_jobs = Job.objects.filter(queue=queue, state=Job.State.QUEUED, sent_at__lt=Now() - LOST_AFTER)
    job_ids = list(sent_jobs.order_by("sent_at", "pk").values_list("pk", flat=True))
    message_count = count_at_broker(queue) if job_ids else None
    if message_count is not None:
        job_ids = job_ids[: max(0, len(job_ids) - message_count)]
        Job.objects.filter(pk__in=job_ids, state=Job.State.QUEUED).update(sent_at=None)
