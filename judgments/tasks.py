"""Celery's tasks: one for each kind of job, one for parts of jobs, and one for each function that beat repeats."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from amqp.exceptions import AMQPError
from celery import Task, current_app, shared_task
from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.utils.module_loading import import_string
from kombu.exceptions import KombuError
from redis.exceptions import RedisError

from evaluation.parallel import using
from judgments import jobs, parts
from judgments.jobs import DATABASE_FAILURES, HEAVY, Run

log = logging.getLogger(__name__)

BROKER_FAILURES = (KombuError, AMQPError, RedisError, OSError)
PART = jobs.task_name("compute_part")


_queues: dict[str, str] = {}  # of a task, by its name


def route(name: str, *_: object, **__: object) -> dict[str, str]:
    """Return the queue of a task, for Celery's setting task_routes."""
    return {"queue": _queues[name]} if name in _queues else {}


def add_job_task(kind: str, queue: str) -> None:
    seconds = settings.JOB_SECONDS[queue]
    _queues[jobs.task_name(kind)] = queue

    @shared_task(
        bind=True,
        name=jobs.task_name(kind),
        soft_time_limit=seconds,
        time_limit=seconds + settings.JOB_GRACE_SECONDS,
        autoretry_for=DATABASE_FAILURES,  # of a claim; a run that was begun decides by its attempts
        retry_kwargs={"max_retries": jobs.MAX_ATTEMPTS},
        retry_backoff=jobs.BACKOFF,
        retry_jitter=True,
    )
    def run(task: Task[..., None], job_id: int) -> None:
        try:
            started = jobs.start_run(job_id, _as_task)
        finally:
            jobs.dispatch(queue)
        if started is not None and started.retry_in is not None:
            raise task.retry(countdown=started.retry_in, max_retries=None)


@contextmanager
def _as_task(run: Run) -> Iterator[None]:
    try:
        with using(parts.AllWorkers(run, send_parts)):
            yield
    except SoftTimeLimitExceeded:
        raise jobs.TookTooLong(run.queue) from None


_queues[PART] = parts.QUEUE


@shared_task(name=PART, time_limit=settings.JOB_SECONDS[HEAVY])
def compute_part(folder: str, number: int) -> None:
    try:
        parts.compute_claimed(folder, number)
    except MemoryError:  # Celery's worker would end; the job's own process tries it
        log.exception("A part of %s needed too much memory.", folder)


def send_parts(folder: str, count: int) -> None:
    """Ask all workers for the parts but the first, which the job's own process begins with."""
    from celery import group

    try:
        group(compute_part.s(folder, number) for number in range(1, count)).apply_async()
    except BROKER_FAILURES as error:
        log.warning("The parts in %s are computed by one process, as the broker is away: %s", folder, error)


def messages_at_broker(queue: str) -> int | None:
    """Return how many messages of a queue wait at the broker; None if it cannot be reached."""
    try:
        with current_app.connection_for_write(
            transport_options=settings.CELERY_BROKER_TRANSPORT_OPTIONS
        ) as link:
            try:
                channel: Any = link.default_channel
                return int(channel.queue_declare(queue, passive=True).message_count)
            except link.channel_errors:  # there is no such queue, as none is stored without messages
                return 0
    except BROKER_FAILURES:
        return None


def sweep_jobs() -> None:
    jobs.sweep_jobs(messages_at_broker)


def _add_round(scheduled: jobs.Round) -> None:
    _queues[scheduled.task] = scheduled.queue

    @shared_task(name=scheduled.task)
    def call() -> None:
        import_string(scheduled.function)()


for _kind, _registered in jobs.registered_kinds().items():
    add_job_task(_kind, _registered.queue)
for _round in jobs.scheduled_rounds():
    _add_round(_round)
