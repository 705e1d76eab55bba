"""The tasks of Celery: one for each kind of job, one for parts of jobs, and one for each periodic function.

They are made from the registers of ``judgments.jobs.registry`` when this module is loaded.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from celery import Task, current_app, shared_task
from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.utils.module_loading import import_string

from common.incoming.isolation import memory_limit
from judgments.jobs import claims, dispatching, processes, registry, runs, sweep
from judgments.jobs.pool import BROKER_FAILURES, PART_TASK, PARTS_QUEUE, AllWorkers
from judgments.jobs.registry import READING
from judgments.jobs.runs import DATABASE_FAILURES, JobRun
from quorum.numeric.parallel import use_pool

_queue_by_task: dict[str, str] = {}  # the queue of each task, by the task's name


def route(name: str, *_: object, **__: object) -> dict[str, str]:
    """Return the options by which Celery sends a task to its queue. This is a function for the setting task_routes."""
    return {"queue": _queue_by_task[name]} if name in _queue_by_task else {}


def add_job_task(kind: str, queue: str) -> None:
    seconds = settings.JOB_SECONDS[queue]
    _queue_by_task[registry.task_name(kind)] = queue

    @shared_task(
        bind=True,
        name=registry.task_name(kind),
        soft_time_limit=seconds,
        time_limit=seconds + settings.JOB_GRACE_SECONDS,
        autoretry_for=DATABASE_FAILURES,  # retries only the claim; a run that has begun counts its attempts
        retry_kwargs={"max_retries": runs.MAX_ATTEMPTS},
        retry_backoff=runs.BACKOFF_SECONDS,
        retry_jitter=True,
    )
    def run(task: Task[..., None], job_id: int) -> None:
        try:
            finished_run = claims.start_run(job_id, _task_context)  # runs it; None if there is nothing to do
        finally:
            dispatching.dispatch(queue)  # the broker has one message less, so another job can be sent to it
        if finished_run is not None and finished_run.retry_in is not None:
            # Celery must not limit these retries: the job counts its attempts itself
            raise task.retry(countdown=finished_run.retry_in, max_retries=None)


@contextmanager
def _task_context(run: JobRun) -> Iterator[None]:
    """Run the block with all workers as its pool, interrupted for heartbeats, within its queue's memory and time."""
    try:
        memory_mb = settings.JOB_MEMORY_MB if run.queue == READING else 0  # 0 for no limit
        with use_pool(AllWorkers(run)), processes.interrupt_regularly(), memory_limit(memory_mb):
            yield
    except SoftTimeLimitExceeded:
        raise runs.TookTooLong(run.queue) from None


_queue_by_task[PART_TASK] = PARTS_QUEUE  # the task itself is in ``judgments.jobs.pool``


def count_messages_at_broker(queue: str) -> int | None:
    """Return the number of a queue's messages at the broker; None if the broker cannot be reached."""
    try:
        with current_app.connection_for_write(
            transport_options=settings.CELERY_BROKER_TRANSPORT_OPTIONS
        ) as link:
            try:
                channel: Any = link.default_channel
                return int(channel.queue_declare(queue, passive=True).message_count)
            except link.channel_errors:  # the broker does not store queues without messages
                return 0
    except BROKER_FAILURES:
        return None


def sweep_jobs() -> None:
    sweep.requeue_lost_jobs(count_messages_at_broker)


def _add_periodic_task(periodic_task: registry.PeriodicTask) -> None:
    _queue_by_task[periodic_task.task_name] = periodic_task.queue

    @shared_task(name=periodic_task.task_name)
    def call() -> None:
        import_string(periodic_task.function)()


for _kind, _job_kind in registry.job_kinds.items():
    add_job_task(_kind, _job_kind.queue)
for _periodic_task in registry.periodic_tasks():
    _add_periodic_task(_periodic_task)
