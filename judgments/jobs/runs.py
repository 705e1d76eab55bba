"""A worker's run of a job. The effect of a job happens exactly once (docs/decisions/0014-celery.md).

The job's row is authoritative; Celery's message only has the row's id. A worker claims the row by a guarded update,
and heartbeats renew its lease. The handler reads and computes outside any transaction, and reports progress. It writes
inside `run.commit()`, a transaction that also marks the row as done. `requeue_lost_jobs` finds lost messages and dead
workers.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from types import TracebackType
from typing import Any, Protocol

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models.functions import Now
from django.utils import timezone

from common.errors import ServiceBusy
from judgments.jobs.processes import CHECK_SECONDS, end_child_process, interrupt_regularly, is_stopping
from judgments.jobs.registry import CROWD, HEAVY, INTERACTIVE, READING
from judgments.models.jobs import Job, JobQuerySet

log = logging.getLogger(__name__)

MAX_ATTEMPTS = 3
# Seconds before the first retry after a failure of the database. Each retry doubles them, with jitter.
BACKOFF_SECONDS = 5
BUSY_RETRY_SECONDS = 30.0  # seconds before a retry while a needed resource is in use

# Seconds that a stopping worker waits for a job without a report of progress. The reply of a crowd must not get lost.
STOP_GRACE_SECONDS = {INTERACTIVE: 2.0, READING: 2.0, CROWD: 30.0, HEAVY: 2.0}
LOST_CLAIM_GRACE_SECONDS = 1.0  # seconds before the process of a cancelled or reassigned run ends
HEARTBEATS_PER_LEASE = 6  # heartbeats in the time after which a silent worker is presumed dead
MAX_MESSAGE_LENGTH = 200  # characters
DATABASE_FAILURES = (OperationalError, InterfaceError)

# Errors of these packages have messages for people.
PLATFORM_PACKAGES = {"annotation", "common", "config", "contrib", "evaluation", "judgments"}


class LostClaim(Exception):
    """The job was cancelled or given to another worker. The run's transaction is rolled back."""


class TookTooLong(Exception):
    """The handler ran longer than jobs of its queue may."""

    def __init__(self, queue: str) -> None:
        super().__init__(
            f"The work took longer than {settings.JOB_SECONDS[queue] / 60:g} minutes, the limit of its queue; "
            f"JOB_SECONDS_{queue.upper()} sets another."
        )


class NotEnoughMemory(Exception):
    """The handler needed more memory than there is."""


class WorkerShutdown(BaseException):
    """The worker was asked to stop. Another worker will run the job."""


class Progress(Protocol):
    """The argument `progress` of services: a function of the fraction done, from 0 to 1, and the current activity."""

    def __call__(self, share: float, message: str = "") -> None:
        pass


@dataclass
class JobRun:
    """A worker's claim of a job, passed to the handler.

    Attributes:
        args: the handler's keyword arguments.
        owner: the unique name of this run, its process and its machine (``claims.owner_name``).
        attempts: the number of runs of the job, with this one.
        is_finished: whether the job is done and its result is stored.
        share: the fraction that is done, as last reported.
        message: the current activity, as last reported.
        has_lost_claim: whether the job was cancelled or given to another worker.
        retry_in: the seconds before another try; None if there is none.
    """

    job_id: int
    kind: str
    queue: str
    args: dict[str, Any]
    owner: str
    attempts: int
    is_finished: bool = False
    share: float = 0.0
    message: str = ""
    has_lost_claim: bool = False
    retry_in: float | None = None
    _heartbeat: _HeartbeatThread = field(init=False, repr=False)
    _began: float = field(default_factory=time.monotonic, init=False, repr=False)

    @property
    def name(self) -> str:
        """8 hexadecimal digits that identify this run."""
        return self.owner.rpartition(":")[2]

    def progress(self, share: float, message: str = "") -> None:
        """Report progress. This is cheap, since a separate thread writes it. Raise the errors of `check`."""
        self.check()
        self.share, self.message = min(max(share, 0.0), 1.0), message[:MAX_MESSAGE_LENGTH]

    def check(self) -> None:
        """Raise WorkerShutdown if the worker was asked to stop, and LostClaim if this run has lost the job."""
        if is_stopping():
            raise WorkerShutdown
        if self.has_lost_claim and not self.is_finished:
            raise self._lost_claim_error()

    @contextmanager
    def commit(self) -> Iterator[dict[str, Any]]:
        """Open the transaction for the handler's writes and the job's end. Yield the dict of the job's result.

        Raise LostClaim, and roll back, if the job was cancelled or belongs to another worker.
        """
        result: dict[str, Any] = {}
        with transaction.atomic():
            yield result
            updated_count = self._row().update(
                state=Job.State.DONE,
                progress=1.0,
                words="",
                result=result,
                owner="",
                finished_at=timezone.now(),
            )
            if not updated_count:
                raise self._lost_claim_error()
        self.is_finished = True

    def _seconds(self) -> float:
        return time.monotonic() - self._began

    def _lost_claim_error(self) -> LostClaim:
        return LostClaim(f"Job {self.job_id} was cancelled or given to another worker.")

    def _row(self) -> JobQuerySet:
        """Return a query for the job's row. It is empty if this run has lost the job."""
        return Job.objects.filter(pk=self.job_id, state=Job.State.RUNNING, owner=self.owner)

    def __enter__(self) -> JobRun:
        self._heartbeat = _HeartbeatThread(self)
        self._heartbeat.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Store how the run ended if the handler raised an error. Return whether the error is suppressed.

        Celery logs errors that are not suppressed, with a traceback.
        """
        self._heartbeat.stop()
        if error is None:
            return False
        if isinstance(error, LostClaim):
            log.warning("%s Nothing of this run was kept.", error)
            return True
        if isinstance(error, SystemExit) and self._seconds() > settings.JOB_SECONDS[self.queue]:
            return self._fail(TookTooLong(self.queue))  # Celery ended the process at its hard limit
        if not isinstance(error, Exception):  # the worker or its process ends
            self._row().requeue(counted=False)
            return isinstance(error, WorkerShutdown)
        if isinstance(error, ServiceBusy):
            self._retry_later(BUSY_RETRY_SECONDS, counted=False)
            return True
        if isinstance(error, DATABASE_FAILURES) and self.attempts < MAX_ATTEMPTS:
            log.warning("Job %s will be tried again: %s", self.job_id, error)
            self._retry_later(BACKOFF_SECONDS * 2 ** (self.attempts - 1) * random.uniform(0.5, 1.5))
            return True
        if isinstance(error, MemoryError):
            # The error would end Celery's worker. The message of numpy has the size.
            log.exception("Job %s needed too much memory.", self.job_id)
            error = NotEnoughMemory(f"The work needed more memory than there is. {error}".strip())
        return self._fail(error)

    def _fail(self, error: Exception) -> bool:
        """Mark the job as failed. Return whether the error is the platform's own, with a message for people."""
        name = type(error).__name__
        has_message_for_people = type(error).__module__.partition(".")[0] in PLATFORM_PACKAGES
        log_hint = f"The work stopped on an unexpected error ({name}); see the log."
        sentence = str(error) if has_message_for_people else log_hint
        self._row().update(
            state=Job.State.FAILED, error=sentence or name, owner="", finished_at=timezone.now()
        )
        return has_message_for_people

    def _retry_later(self, seconds: float, *, counted: bool = True) -> None:
        if self._row().requeue(sent_in=timedelta(seconds=seconds), counted=counted):
            self.retry_in = seconds


class _HeartbeatThread(threading.Thread):
    """Writes progress and heartbeats through a separate connection.

    The handler's own transaction would hide these writes. On SQLite, this transaction blocks all other writers. The
    heartbeat then waits, and does not delay the handler.
    """

    def __init__(self, run: JobRun) -> None:
        super().__init__(name=f"job-{run.job_id}-heart", daemon=True)
        self._job_run, self._stop_event = run, threading.Event()

    def run(self) -> None:
        written_progress = (0.0, "")
        seconds_silent = seconds_stopping = 0.0
        had_claim_at = time.monotonic()
        heartbeat_seconds = settings.JOB_STALE_SECONDS / HEARTBEATS_PER_LEASE
        try:
            while not self._stop_event.wait(CHECK_SECONDS):
                seconds_silent += CHECK_SECONDS
                if is_stopping():
                    seconds_stopping += CHECK_SECONDS
                if seconds_stopping >= STOP_GRACE_SECONDS[self._job_run.queue]:
                    self._requeue_job_and_exit()
                if not self._job_run.has_lost_claim or self._job_run.is_finished:
                    had_claim_at = time.monotonic()
                elif time.monotonic() - had_claim_at >= LOST_CLAIM_GRACE_SECONDS:
                    self._exit_without_claim()
                progress = (self._job_run.share, self._job_run.message)
                if progress == written_progress and seconds_silent < heartbeat_seconds:
                    self._update_row()  # only looks whether this run still has the job
                elif self._update_row(progress=progress[0], words=progress[1], heartbeat=Now()):
                    written_progress, seconds_silent = progress, 0.0
        finally:
            connection.close()

    def _update_row(self, **fields: Any) -> bool:
        """Store fields of the job, and note whether this run still has the job. Return False if the database fails."""
        try:
            row = self._job_run._row()
            self._job_run.has_lost_claim = not (row.update(**fields) if fields else row.exists())
        except DATABASE_FAILURES as error:
            log.debug("No progress written for job %s: %s", self._job_run.job_id, error)
            connection.close()  # a broken connection does not recover automatically
            return False
        return True

    def _requeue_job_and_exit(self) -> None:
        """End this process during the work, and give the job to another worker. The attempt does not count."""
        with suppress(*DATABASE_FAILURES):
            if self._job_run._row().requeue(counted=False):
                os._exit(0)

    def _exit_without_claim(self) -> None:
        """End this process, whose run goes on although it has lost the job."""
        with suppress(*DATABASE_FAILURES):
            # A run that has finished may still be sending notifications.
            if not Job.objects.filter(pk=self._job_run.job_id, state=Job.State.DONE).exists():
                end_child_process(str(self._job_run._lost_claim_error()))

    def stop(self) -> None:
        self._stop_event.set()
        self.join()


@contextmanager
def run_part(job_id: int, run: str) -> Iterator[None]:
    """Compute a part of a job in the block. When the job's run is over, end this process, even within the block.

    ``run`` is the name of the run (``JobRun.name``), which another process carries out.
    """
    stop_event = threading.Event()

    def watch_job() -> None:
        try:
            while not stop_event.wait(CHECK_SECONDS):
                with suppress(*DATABASE_FAILURES):
                    if not is_still_running(job_id, run):
                        end_child_process(f"Job {job_id} needs its parts no longer.")
        finally:
            connection.close()

    watcher = threading.Thread(target=watch_job, name=f"job-{job_id}-part", daemon=True)
    watcher.start()
    try:
        with interrupt_regularly():  # so that the watcher runs even during a long match of a pattern
            yield
    finally:
        stop_event.set()
        watcher.join()


def is_still_running(job_id: int, run: str) -> bool:
    """Return whether the job is being run, and by the run with this name."""
    return Job.objects.filter(pk=job_id, state=Job.State.RUNNING, owner__endswith=f":{run}").exists()
