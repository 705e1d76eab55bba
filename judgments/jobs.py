"""Background jobs that survive killed workers and are done once (docs/decisions/0002-jobs.md).

The table of jobs is the queue. A worker claims a row and renews its lease by heartbeats. The handler reads and
computes outside any transaction, reports progress, and writes inside `run.commit()`, whose one transaction also
marks the row done. `sweep_jobs` requeues jobs whose lease ended.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from django.conf import settings
from django.contrib.auth.models import User
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.module_loading import import_string

from common.audit import acting_as, logged_with
from common.errors import Busy
from judgments.models.jobs import Job, JobQuerySet

if TYPE_CHECKING:
    from redis import Redis

log = logging.getLogger(__name__)

MAX_ATTEMPTS = 3
RETRY_AFTER = timedelta(seconds=30)  # pause after the database failed, or while something else is in the way
STOP_AFTER = timedelta(seconds=5)  # time for a stopping worker to be gone before another takes its job
LOOK_EVERY = 1.0  # seconds between checks for progress to write
BEATS = 6  # heartbeats for each lease
CHANNEL = "quorum-jobs"  # of Redis, which wakes waiting workers; who misses a message polls
DATABASE_FAILURES = (OperationalError, InterfaceError)
OURS = {"annotation", "common", "config", "evaluation", "judgments"}

_handlers: dict[str, str] = {}
_scopes: dict[str, str] = {}
_rounds: dict[str, Callable[[], float]] = {}
_claims: set[str] = set()  # the owners that run jobs in this process
_patient: set[str] = set()  # kinds that a stopping worker waits for
_awaited: set[str] = set()  # the owners that run such jobs
stopping = threading.Event()  # set by a worker that was asked to end


class UnknownJobKind(Exception):
    pass


class LostClaim(Exception):
    """The job was given to another worker; the run's transaction is rolled back."""


class WorkerStops(BaseException):
    """The worker was asked to end; another worker runs the job."""


class Progress(Protocol):
    """The `progress` argument of services: the share done, 0 to 1, and the current activity."""

    def __call__(self, share: float, words: str = "") -> None:
        pass


def register(kind: str, handler: str, *, scope: str = "studies", patient: bool = False) -> None:
    """Register the dotted path of `handler(run, **args) -> dict | None` for `kind`.

    A token needs the right to read `scope` for the kind's results. A stopping worker gives a patient kind more
    time, since a call that gets no reply may take effect all the same.
    """
    if _handlers.setdefault(kind, handler) != handler:
        raise ValueError(f"Job kind {kind!r} is registered twice: {_handlers[kind]} and {handler}.")
    _scopes[kind] = scope
    if patient:
        _patient.add(kind)


def scope_of(kind: str) -> str:
    return _scopes.get(kind, "studies")


def registered_handlers() -> dict[str, str]:
    return dict(_handlers)


def schedule(function: str, *, every: Callable[[], float]) -> None:
    """Register the dotted path of a function that workers call every so many seconds."""
    _rounds[function] = every


def scheduled_functions() -> list[tuple[Callable[[], object], float]]:
    return [(import_string(path), every()) for path, every in _rounds.items()]


def enqueue(*, kind: str, args: dict[str, Any] | None = None, user: User | None = None) -> Job:
    """Create the job's row and wake a worker on commit.

    Args:
        args: JSON values, passed to the handler by name; slugs and ids, never data.
    """
    if kind not in _handlers:
        known = ", ".join(sorted(_handlers)) or "none"
        raise UnknownJobKind(f"There is no job kind {kind!r}; known are: {known}.")
    with transaction.atomic():
        job = Job.objects.create(kind=kind, args=args or {}, created_by=user)
        transaction.on_commit(_wake_workers)
    return job


def _wake_workers() -> None:
    if not settings.CELERY_BROKER_URL:
        return
    import redis  # only where there is one

    try:
        redis_server(settings.CELERY_BROKER_URL).publish(CHANNEL, "")
    except redis.RedisError as error:
        log.warning("A job is stored, but Redis could not be reached: %s", error)


@cache
def redis_server(url: str) -> Redis:
    import redis

    return redis.Redis.from_url(url, socket_connect_timeout=2, socket_timeout=2)


@dataclass
class Run:
    """A worker's claim of a job, passed to the handler."""

    job_id: int
    kind: str
    args: dict[str, Any]
    owner: str
    attempts: int
    finished: bool = False
    share: float = 0.0
    words: str = ""
    lost: bool = False
    _heart: _Heart = field(init=False, repr=False)

    @property
    def name(self) -> str:
        """8 hexadecimal digits that identify this run."""
        return self.owner.rpartition(":")[2]

    def progress(self, share: float, words: str = "") -> None:
        """Report progress; a separate thread writes it, so this is cheap.

        Raise WorkerStops if the worker was asked to end, and LostClaim if the job now belongs to another worker.
        """
        if stopping.is_set():
            raise WorkerStops
        if self.lost and not self.finished:
            raise self._lost_claim()
        self.share, self.words = min(max(share, 0.0), 1.0), words[:200]

    @contextmanager
    def commit(self) -> Iterator[dict[str, Any]]:
        """Open the transaction for the handler's writes and the job's end; yield the result dict.

        Raise LostClaim, and roll back, if the job now belongs to another worker.
        """
        result: dict[str, Any] = {}
        with transaction.atomic():
            yield result
            changed = self._mine().update(
                state=Job.State.DONE,
                progress=1.0,
                words="",
                result=result,
                owner="",
                finished_at=timezone.now(),
            )
            if not changed:
                raise self._lost_claim()
        self.finished = True

    def _lost_claim(self) -> LostClaim:
        return LostClaim(f"Job {self.job_id} was given to another worker.")

    def _mine(self) -> JobQuerySet:
        return Job.objects.filter(pk=self.job_id, state=Job.State.RUNNING, owner=self.owner)

    def __enter__(self) -> Run:
        self._heart = _Heart(self)
        self._heart.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._heart.stop()
        if error is None:
            return False
        if isinstance(error, LostClaim):
            log.warning("%s Nothing of this run was kept.", error)
            return True
        if not isinstance(error, Exception):
            self._mine().give_back(counted=False)
            return isinstance(error, WorkerStops)
        if isinstance(error, Busy):
            self._mine().give_back(after=RETRY_AFTER, counted=False)
            return True
        if isinstance(error, DATABASE_FAILURES) and self.attempts < MAX_ATTEMPTS:
            log.warning("Job %s will be tried again: %s", self.job_id, error)
            self._mine().give_back(after=RETRY_AFTER)
            return True
        named = type(error).__module__.partition(".")[0] in OURS
        name = type(error).__name__
        sentence = str(error) if named else f"The work stopped on an unexpected error ({name}); see the log."
        self._mine().update(
            state=Job.State.FAILED, error=sentence or name, owner="", finished_at=timezone.now()
        )
        return named  # a named error explains itself; others are logged with a traceback


class _Heart(threading.Thread):
    """Write progress and heartbeats through a separate connection.

    The handler's transaction hides its writes, and on SQLite blocks all other writers: then the heartbeat waits
    without delaying the handler.
    """

    def __init__(self, run: Run) -> None:
        super().__init__(name=f"job-{run.job_id}-heart", daemon=True)
        self.run_, self.stopped = run, threading.Event()

    def run(self) -> None:
        written, silent = (0.0, ""), 0.0
        beat_every = settings.JOB_STALE_SECONDS / BEATS
        try:
            while not self.stopped.wait(LOOK_EVERY):
                silent += LOOK_EVERY
                now = (self.run_.share, self.run_.words)
                if (now != written or silent >= beat_every) and self._write(*now):
                    written, silent = now, 0.0
        finally:
            connection.close()

    def _write(self, share: float, words: str) -> bool:
        try:
            living = self.run_._mine().update(progress=share, words=words, heartbeat=Now())
        except DATABASE_FAILURES as error:
            log.debug("No progress written for job %s: %s", self.run_.job_id, error)
            connection.close()  # a broken connection does not recover by itself
            return False
        self.run_.lost = not living
        return True

    def stop(self) -> None:
        self.stopped.set()
        self.join()


def run_next() -> bool:
    """Return False if no job is due."""
    return _run_first(Job.objects.due()) is not None


def run_job(job_id: int) -> bool:
    """Run a queued job; return whether it was finished.

    Raise what the handler raises, except Quorum's named errors, which are stored in the row.
    """
    run = _run_first(Job.objects.due().filter(pk=job_id))
    return run is not None and run.finished


def _run_first(jobs: JobQuerySet) -> Run | None:
    owner = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
    _claims.add(owner)
    try:
        run = _claim(jobs, owner)
        if run is None:
            return None
        if run.kind in _patient:
            _awaited.add(owner)
        with logged_with(job=run.job_id, kind=run.kind), run:
            if run.kind not in _handlers:
                raise UnknownJobKind(
                    f"This worker knows no job kind {run.kind!r}: it may be of another version."
                )
            handler: Callable[..., dict[str, Any] | None] = import_string(_handlers[run.kind])
            with acting_as(cache(lambda: _asked_for_by(run)), door="job", call=f"{run.kind} {run.job_id}"):
                result = handler(run, **run.args)
            if not run.finished:
                with run.commit() as stored:
                    stored.update(result or {})
        return run
    finally:
        _awaited.discard(owner)
        _claims.discard(owner)  # without a database nothing can be recorded; the sweep finds the row


def _asked_for_by(run: Run) -> User | None:
    return User.objects.filter(pk__in=Job.objects.filter(pk=run.job_id).values("created_by")).first()


def _claim(jobs: JobQuerySet, owner: str) -> Run | None:
    """PostgreSQL skips rows that other workers claim; SQLite has one writer."""
    if not jobs.exists():
        return None  # do not take SQLite's write lock at every poll
    with transaction.atomic():
        job = jobs.select_for_update(skip_locked=True).first()
        if job is None:
            return None
        # The database's clock, as those of the workers may differ.
        Job.objects.filter(pk=job.pk).update(
            state=Job.State.RUNNING,
            owner=owner,
            attempts=F("attempts") + 1,
            retry_at=None,
            heartbeat=Now(),
            started_at=Now(),
        )
    return Run(job_id=job.pk, kind=job.kind, args=job.args, owner=owner, attempts=job.attempts + 1)


@dataclass(frozen=True)
class Swept:
    requeued: tuple[int, ...]
    given_up: tuple[int, ...]


def sweep_jobs() -> Swept:
    """Requeue the jobs of dead workers; safe at any time."""
    silent_before = Now() - timedelta(seconds=settings.JOB_STALE_SECONDS)
    # A suspended computer wakes up with late heartbeats: do not take its jobs from this process itself.
    own = tuple(_claims)
    lapsed = Job.objects.filter(state=Job.State.RUNNING, heartbeat__lt=silent_before).exclude(owner__in=own)
    requeued, given_up = [], []
    for job in lapsed:
        run = lapsed.filter(pk=job.pk, owner=job.owner)
        if job.attempts >= MAX_ATTEMPTS:
            error = f"The worker was gone before the work was done, {job.attempts} times over."
            if run.update(state=Job.State.FAILED, owner="", error=error, finished_at=timezone.now()):
                given_up.append(job.pk)
        elif run.give_back():
            requeued.append(job.pk)
    return Swept(tuple(requeued), tuple(given_up))


def wait_for_patient(seconds: float) -> None:
    """Wait at most so long."""
    end = time.monotonic() + seconds
    while _awaited and time.monotonic() < end:
        time.sleep(0.1)


def give_back_all() -> None:
    """Requeue the jobs of this process, which is about to end."""
    running = Job.objects.filter(state=Job.State.RUNNING, owner__in=tuple(_claims))
    running.give_back(after=STOP_AFTER, counted=False)
