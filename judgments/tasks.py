"""The messages of this app: each carries an id at most, calls one service, and may arrive twice."""

from datetime import timedelta
from typing import Any

from celery import shared_task
from celery.signals import worker_ready
from django.conf import settings

from judgments import jobs


@shared_task(name=jobs.RUN_TASK)
def run_job(job_id: int) -> None:
    """Does the job, unless another worker has it or it is done."""
    jobs.run_job(job_id)


@shared_task(name="judgments.sweep_jobs")
def sweep_jobs(resend_all: bool = False) -> None:
    """Takes up what dead workers and lost messages left behind."""
    jobs.sweep_jobs(**({"resend_after": timedelta(0)} if resend_all else {}))


@worker_ready.connect
def _sweep_from_now_on(sender: Any, **_: object) -> None:
    """A new worker takes up at once what its predecessor left, and looks again by its own clock.

    Its own timer rather than Celery's beat: beat is a second process, which outlives a killed worker.
    """
    every = settings.JOB_SWEEP_SECONDS
    sweep_jobs.delay(resend_all=True)
    sender.timer.call_repeatedly(every, sweep_jobs.apply_async, kwargs={"expires": every})
