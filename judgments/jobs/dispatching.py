"""Send queued jobs to the broker in turn.

Only a few messages wait at the broker. All other jobs wait in the table, so that the account with the fewest running
jobs can go first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from django.conf import settings
from django.db import transaction
from django.db.models import Min, QuerySet
from django.db.models.functions import Now
from django.utils.module_loading import import_string

from judgments.jobs.registry import READING, job_kinds, task_name
from judgments.models.jobs import Job

# Up to this number, an account may send several. It is small, since a job that is sent next waits behind all of them.
MAX_MESSAGES_AT_BROKER = 8


def dispatch(queue: str) -> None:
    """Send waiting jobs to the broker while few messages wait there. The account with the fewest sent jobs goes first.

    An account without a sent job can always send one. An account can have only one sent job that reads files, since
    the content of files is unpredictable. Jobs of kinds that this version does not know are left to a worker of a
    version that does, which gets the first one of each kind by `requeue_lost_jobs`.
    """
    waiting_jobs = Job.objects.filter(queue=queue, state=Job.State.QUEUED, kind__in=job_kinds)
    running_jobs = Job.objects.filter(queue=queue, state=Job.State.RUNNING).order_by()
    account_by_locked_job: dict[int, int | None] = {}  # jobs that another process is sending
    # Each round sends at most one job of each account, since every sent job changes the order of accounts.
    while oldest_jobs := _oldest_unsent_by_account(waiting_jobs, account_by_locked_job):
        sent_jobs = waiting_jobs.filter(sent_at__isnull=False).order_by()
        accounts_at_broker = sent_jobs.values_list("created_by", flat=True)
        running_accounts = running_jobs.values_list("created_by", flat=True)
        sent_counts = Counter([*accounts_at_broker, *running_accounts, *account_by_locked_job.values()])
        free_messages = MAX_MESSAGES_AT_BROKER - len(accounts_at_broker)
        newly_sent_count = attempt_count = 0
        for account in sorted(oldest_jobs, key=lambda account: (sent_counts[account], oldest_jobs[account])):
            may_have_several = queue != READING and newly_sent_count < free_messages
            if sent_counts[account] and not may_have_several:
                continue
            attempt_count += 1
            job_id = oldest_jobs[account]
            if send_message(job_id):
                newly_sent_count += 1
            else:
                account_by_locked_job[job_id] = account
        if not attempt_count or newly_sent_count >= free_messages:
            return


def _oldest_unsent_by_account(waiting_jobs: QuerySet[Job], locked: Collection[int]) -> dict[int | None, int]:
    """Return the id of each account's oldest job that is neither sent nor locked by another process.

    The account of the platform's own jobs is None.
    """
    # order_by() removes the model's order, by which the query would also group
    unsent_jobs = waiting_jobs.filter(sent_at=None).exclude(pk__in=locked).order_by()
    return dict(unsent_jobs.values_list("created_by").annotate(Min("pk")))


def send_message(job_id: int) -> bool:
    """Mark a job as sent, and send its message on commit. Return False if another process is already sending it."""
    with transaction.atomic():
        # Waiting for another process that sends it could cause a deadlock.
        unlocked_jobs = Job.objects.select_for_update(skip_locked=True)
        job = unlocked_jobs.filter(pk=job_id, state=Job.State.QUEUED, sent_at=None).first()
        if job is None:
            return False
        Job.objects.filter(pk=job_id).update(sent_at=Now())
        # Celery is loaded only when the first message is sent.
        transaction.on_commit(
            lambda: import_string(settings.JOB_SENDER)(task_name(job.kind), job_id, queue=job.queue)
        )
    return True
