"""Celery messages of this app: each has at most an id, calls one service, and may arrive twice."""

from datetime import timedelta
from typing import Any

from celery import shared_task
from celery.signals import worker_ready
from django.conf import settings

from judgments import jobs


@shared_task(name=jobs.RUN_TASK)
def run_job(job_id: int) -> None:
    jobs.run_job(job_id)


@shared_task(name="judgments.sweep_jobs")
def sweep_jobs(resend_all: bool = False) -> None:
    """Recover work of dead workers and lost messages."""
    jobs.sweep_jobs(**({"resend_after": timedelta(0)} if resend_all else {}))


@worker_ready.connect
def _sweep_from_now_on(sender: Any, **_: object) -> None:
    """Sweep when a worker starts, then periodically.

    A timer of its own replaces Celery's beat, a second process that outlives a killed worker.
    """
    every = settings.JOB_SWEEP_SECONDS
    sweep_jobs.delay(resend_all=True)
    sender.timer.call_repeatedly(every, sweep_jobs.apply_async, kwargs={"expires": every})
