"""Claim and run a job in this process.

A claim has the name of its owner (a run of a job in a process), by which other processes find out whether the owner has
ended.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db.models import F
from django.db.models.functions import Now
from django.utils.module_loading import import_string

from common.audit import acting_as, log_field_scope
from judgments.jobs.registry import UnknownJobKind, job_kinds
from judgments.jobs.runs import MAX_ATTEMPTS, JobRun
from judgments.models.jobs import Job

local_owners: set[str] = set()  # the owners that run jobs in this process


def run_job(job_id: int) -> bool:
    """Run a queued job. Return whether it was finished.

    Exceptions of the handler propagate, except those that `JobRun.__exit__` handles, such as QuorumError.
    """
    run = start_run(job_id)
    return run is not None and run.is_finished


def start_run(
    job_id: int, context: Callable[[JobRun], AbstractContextManager[object]] = nullcontext
) -> JobRun | None:
    """Claim a job and run it as `run_job` does, in the context manager ``context(run)``, such as that of a Celery task.

    Return None if it cannot be claimed.
    """
    owner = owner_name()
    local_owners.add(owner)
    try:
        run = _claim_job(job_id, owner)
        if run is None:
            return None
        # as a context manager, the run sends heartbeats, and stores how it ended if the handler raises an error
        with log_field_scope(job=run.job_id, kind=run.kind), run, context(run):
            if run.kind not in job_kinds:
                raise UnknownJobKind(
                    f"This worker knows no job kind {run.kind!r}: it may be of another version."
                )
            handler: Callable[..., dict[str, Any] | None] = import_string(job_kinds[run.kind].handler)
            find_requester = cache(partial(_find_requester, run.job_id))  # called when something is logged
            with acting_as(find_requester, origin="job", origin_detail=f"{run.kind} {run.job_id}"):
                result = handler(run, **run.args)
            if not run.is_finished:  # a handler may have committed its result itself
                with run.commit() as stored_result:
                    stored_result.update(result or {})
        return run
    finally:
        # The job may have no result here, if the database failed. `jobs.sweep` then finds its row by the owner's end.
        local_owners.discard(owner)


def _find_requester(job_id: int) -> User | None:
    return User.objects.filter(pk__in=Job.objects.filter(pk=job_id).values("created_by")).first()


def _claim_job(job_id: int, owner: str) -> JobRun | None:
    """Mark a queued job, or a job whose worker has died, as running. Return None if another worker has it."""
    job = Job.objects.filter(pk=job_id, state__in=[Job.State.QUEUED, Job.State.RUNNING]).first()
    if job is None:
        return None
    if job.state == Job.State.RUNNING and (job.attempts >= MAX_ATTEMPTS or not has_ended(job.owner)):
        return None  # the queue delivered the job twice, or the job kills its workers
    # Nothing is updated if another worker has changed state and owner since they were read. The times are those of the
    # database's clock, since clocks of workers may differ.
    updated_count = Job.objects.filter(pk=job_id, state=job.state, owner=job.owner).update(
        state=Job.State.RUNNING, owner=owner, attempts=F("attempts") + 1, heartbeat=Now(), started_at=Now()
    )
    if not updated_count:
        return None
    return JobRun(
        job_id=job.pk,
        kind=job.kind,
        queue=job.queue,
        args=job.args,
        owner=owner,
        attempts=job.attempts + 1,
    )


def owner_name() -> str:
    """Return a new, unique name under which this process claims a job: its machine, process id and a random number."""
    return f"{_machine_name()}:{os.getpid()}:{secrets.token_hex(4)}"


@cache
def _machine_name() -> str:
    """Return a name of the container or machine and its start, within which process ids are unique."""
    name = socket.gethostname()
    with suppress(OSError):  # the system is not Linux
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        name += f"/{boot[:8]}/{os.stat('/proc/self/ns/pid').st_ino}"
    return name


def has_ended(owner: str) -> bool | None:
    """Return whether the process of an owner (``owner_name``) has ended; None if it runs on another machine."""
    machine_and_process, _, _random_number = owner.rpartition(":")
    host, _, process = machine_and_process.rpartition(":")
    if host != _machine_name():
        return None
    if int(process) == os.getpid():
        return owner not in local_owners
    try:
        os.kill(int(process), 0)  # signal 0 only checks whether the process exists
    except ProcessLookupError:
        return True
    except PermissionError:  # the process runs, and belongs to another user
        pass
    return False
