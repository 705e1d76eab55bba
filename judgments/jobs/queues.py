"""Queue jobs, cancel them, and retry them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from math import ceil
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from common.errors import WrongState
from common.rate_limits import TooManyAttempts
from judgments.jobs.dispatching import dispatch
from judgments.jobs.registry import CROWD, UnknownJobKind, is_essential_kind, job_kinds
from judgments.models.jobs import DELETED_STUDY_KEY, Job

# The period whose ended jobs are counted to estimate how long an account with too many waiting jobs must wait.
THROUGHPUT_PERIOD = timedelta(minutes=5)
MIN_WAIT_SECONDS, MAX_WAIT_SECONDS = 5, 600

# The position of each job in its queue: first the first job of each account, then the second of each, and so on.
POSITIONS_SQL = """
    SELECT id, place FROM (
        SELECT id, row_number() OVER (PARTITION BY queue ORDER BY turn, id) AS place FROM (
            SELECT id, queue, row_number() OVER (PARTITION BY queue, created_by_id ORDER BY id) AS turn
            FROM judgments_job WHERE state = 'queued'
        ) AS turns
    ) AS places WHERE id IN ({job_ids})
"""


def enqueue(
    *, kind: str, args: dict[str, Any] | None = None, user: User | None = None, once: bool = False
) -> Job:
    """Create a job's row. Its message is sent on commit, or later when it is the job's turn.

    Args:
        args: the handler's keyword arguments as JSON values: slugs and ids, never data.
        once: whether to refuse the job while the account has the same job queued or running.

    Raises:
        TooManyAttempts: the account has the maximum number of queued jobs.
        WrongState: the same job is queued or running.
    """
    if kind not in job_kinds:
        kinds = ", ".join(sorted(job_kinds)) or "none"
        raise UnknownJobKind(f"There is no job kind {kind!r}; known are: {kinds}.")
    queue = job_kinds[kind].queue
    with transaction.atomic():
        if user is not None:
            refuse_too_many_jobs(user, kind)
        if once and Job.objects.under_way().filter(kind=kind, args=args or {}, created_by=user).exists():
            raise WrongState(gettext("This job is already running."))
        job = Job.objects.create(kind=kind, queue=queue, args=args or {}, created_by=user)
        dispatch(queue)
    return job


def refuse_too_many_jobs(user: User, kind: str) -> None:
    """Raise TooManyAttempts if the account has the maximum number of queued jobs. Essential jobs are never refused."""
    job_kind = job_kinds.get(kind)
    if job_kind and (job_kind.is_essential or job_kind.queue == CROWD):  # such as payments
        return
    # Lock the account, so that each request counts the jobs of earlier ones; ``no_key`` lets others refer to it.
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    waiting_count = Job.objects.filter(created_by=user, state=Job.State.QUEUED).count()
    if waiting_count < settings.JOBS_WAITING:
        return
    wait = _estimated_wait()
    message = ngettext(
        "%(n)d job of %(name)s is waiting, and an account cannot have more waiting jobs. Try "
        "again in %(wait)d seconds, or cancel the job.",
        "%(n)d jobs of %(name)s are waiting, and an account cannot have more waiting jobs. Try "
        "again in %(wait)d seconds, or cancel a job.",
        waiting_count,
    )
    raise TooManyAttempts(
        message % {"n": waiting_count, "name": user.get_username(), "wait": wait}, wait=wait
    )


def _estimated_wait() -> int:
    """Return the seconds after which another job has probably ended, by the recent jobs of all accounts."""
    ended_count = Job.objects.filter(finished_at__gt=Now() - THROUGHPUT_PERIOD).count()
    seconds_per_job = ceil(THROUGHPUT_PERIOD.total_seconds() / max(ended_count, 1))
    return min(MAX_WAIT_SECONDS, max(MIN_WAIT_SECONDS, seconds_per_job))


def cancel_job(job: Job) -> None:
    """End a queued or running job, without storing any of its results.

    A running job stops at its next report of progress. If it does not report soon, its worker's process is ended.

    Raises:
        WrongState: the job has ended, or other work depends on it.
    """
    if is_essential_kind(job.kind):
        raise WrongState(
            gettext("Job %(pk)s cannot be cancelled, because other people need its result.") % {"pk": job.pk}
        )
    rows = Job.objects.under_way().filter(pk=job.pk)
    updated_count = rows.update(state=Job.State.CANCELLED, owner="", words="", finished_at=timezone.now())
    job.refresh_from_db()
    if not updated_count:
        raise WrongState(
            gettext(
                "Job %(pk)s has ended (%(state)s). Only a job that is waiting or running can be cancelled."
            )
            % {"pk": job.pk, "state": gettext(job.get_state_display())}
        )


def retry_job(job: Job) -> None:
    """Queue a failed or cancelled job again, as if it were requested now.

    Raises:
        WrongState: the job is in another state, or its study was deleted.
        TooManyAttempts: the account has the maximum number of queued jobs.
    """
    with transaction.atomic():
        if job.created_by is not None:
            refuse_too_many_jobs(job.created_by, job.kind)
        ended_jobs = Job.objects.filter(pk=job.pk, state__in=[Job.State.FAILED, Job.State.CANCELLED])
        updated_count = ended_jobs.exclude(args__has_key=DELETED_STUDY_KEY).update(
            state=Job.State.QUEUED,
            queue=job_kinds[job.kind].queue if job.kind in job_kinds else job.queue,
            attempts=0,
            progress=0.0,
            words="",
            error="",
            created_at=timezone.now(),
            sent_at=None,
            started_at=None,
            heartbeat=None,
            finished_at=None,
        )
        job.refresh_from_db()
        if not updated_count and DELETED_STUDY_KEY in job.args:
            raise WrongState(gettext("The study of job %(pk)s was deleted.") % {"pk": job.pk})
        if not updated_count:
            raise WrongState(
                gettext(
                    "Job %(pk)s is %(state)s. Only a job that failed or was cancelled can be tried again."
                )
                % {"pk": job.pk, "state": gettext(job.get_state_display())}
            )
        dispatch(job.queue)


def queue_positions(jobs: Iterable[Job]) -> dict[int, int]:
    """Return the position of each waiting job in its queue, from 1, by the job's row id. Leave out other jobs.

    Positions are in the order in which jobs are sent. Accounts take turns in this order.
    """
    job_ids = [job.pk for job in jobs if job.state == Job.State.QUEUED]
    if not job_ids:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(POSITIONS_SQL.format(job_ids=", ".join(["%s"] * len(job_ids))), job_ids)
        return dict(cursor.fetchall())
