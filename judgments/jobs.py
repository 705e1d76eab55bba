"""Long work that neither a lost message nor a killed worker can lose or do twice.

The row is the truth and the message only wakes a worker. A worker claims a row by a guarded update; the
handler reads and computes outside any transaction, reports progress, and writes inside `run.commit()`,
whose one transaction also moves the row to done. A kill leaves both or neither. Rows whose worker is gone
and rows whose message was lost are found by `sweep_jobs`. docs/decisions/0002-jobs.md has the reasons.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from types import TracebackType
from typing import Any, Protocol

from celery import current_app
from django.conf import settings
from django.contrib.auth.models import User
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.module_loading import import_string
from kombu.exceptions import KombuError

from common.audit import acting_as
from judgments import owners
from judgments.models.jobs import Job

log = logging.getLogger(__name__)

RUN_TASK = "judgments.run_job"
MAX_ATTEMPTS = 3
RESEND_AFTER = timedelta(seconds=30)
LOOK_EVERY = 1.0  # seconds between two looks at whether there is progress to write down
BEAT_EVERY = 10.0  # seconds after which a sign of life is written without progress
OURS = {"annotation", "common", "config", "evaluation", "judgments"}

_handlers: dict[str, str] = {}


class UnknownJobKind(Exception):
    """Raised for a kind that no app has registered."""


class LostClaim(Exception):
    """Raised inside a run whose job was given to another worker; its transaction is rolled back."""


class Progress(Protocol):
    """What services take as `progress`: the share done, 0 to 1, and what is being done."""

    def __call__(self, share: float, words: str = "") -> None:
        """Notes how far the work is."""


def register(kind: str, handler: str) -> None:
    """Names the dotted path of the function `handler(run, **args) -> dict | None` that does `kind`."""
    if _handlers.setdefault(kind, handler) != handler:
        raise ValueError(f"Job kind {kind!r} is registered twice: {_handlers[kind]} and {handler}.")


def handlers() -> dict[str, str]:
    """The registered kinds and the dotted paths of the functions that do them."""
    return dict(_handlers)


def enqueue(*, kind: str, args: dict[str, Any] | None = None, user: User | None = None) -> Job:
    """Writes the job's row and wakes a worker once the transaction around it is committed.

    args: JSON values, passed to the handler by name; slugs and ids, never data.
    Raises UnknownJobKind.
    """
    if kind not in _handlers:
        known = ", ".join(sorted(_handlers)) or "none"
        raise UnknownJobKind(f"There is no job kind {kind!r}; known are: {known}.")
    with transaction.atomic():
        job = Job.objects.create(kind=kind, args=args or {}, created_by=user, sent_at=timezone.now())
        transaction.on_commit(partial(_send, job.pk))
    return job


def _send(job_id: int) -> None:
    try:
        current_app.send_task(RUN_TASK, args=[job_id], retry=False)
    except (KombuError, OSError) as error:
        # Not the caller's trouble: the row stands, and the sweep sends again.
        log.warning("Job %s is stored, but the broker could not be told: %s", job_id, error)


@dataclass
class Run:
    """One worker's hold on one job, handed to the handler."""

    job_id: int
    kind: str
    args: dict[str, Any]
    owner: str
    attempts: int
    finished: bool = False
    share: float = 0.0
    words: str = ""
    _heart: "_Heart" = field(init=False, repr=False)

    def progress(self, share: float, words: str = "") -> None:
        """Notes how far the work is; a thread of its own writes it down, so this costs nothing."""
        self.share, self.words = min(max(share, 0.0), 1.0), words[:200]

    @contextmanager
    def commit(self) -> Iterator[dict[str, Any]]:
        """One transaction for the handler's writes and the job's end; put the result into what it yields.

        Raises LostClaim, and undoes the block's writes, when the job belongs to another worker by now.
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
                raise LostClaim(f"Job {self.job_id} was given to another worker.")
        self.finished = True

    def _mine(self) -> Any:
        return Job.objects.filter(pk=self.job_id, state=Job.State.RUNNING, owner=self.owner)

    def __enter__(self) -> "Run":
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
            self._give_back()  # the worker is told to stop; another goes on
            return False
        if isinstance(error, OperationalError) and self.attempts < MAX_ATTEMPTS:
            log.warning("Job %s will be tried again: %s", self.job_id, error)
            self._give_back()
            return True
        named = type(error).__module__.partition(".")[0] in OURS
        name = type(error).__name__
        sentence = str(error) if named else f"The work stopped on an unexpected error ({name}); see the log."
        self._mine().update(
            state=Job.State.FAILED,
            error=sentence or name,
            owner="",
            finished_at=timezone.now(),
        )
        return named  # an error with a name says it all; any other goes on to the log, traceback and all

    def _give_back(self) -> None:
        self._mine().update(state=Job.State.QUEUED, owner="", progress=0.0, words="", heartbeat=None)


class _Heart(threading.Thread):
    """Writes a run's progress and signs of life through a connection of its own.

    The handler's transaction hides what it writes, and on SQLite it keeps every other writer waiting: the
    heart then waits too, without holding the handler up.
    """

    def __init__(self, run: Run) -> None:
        super().__init__(name=f"job-{run.job_id}-heart", daemon=True)
        self.run_, self.stopped = run, threading.Event()

    def run(self) -> None:
        """Looks every second until stopped."""
        written, silent = (0.0, ""), 0.0
        try:
            while not self.stopped.wait(LOOK_EVERY):
                silent += LOOK_EVERY
                now = (self.run_.share, self.run_.words)
                if (now != written or silent >= BEAT_EVERY) and self._write(*now):
                    written, silent = now, 0.0
        finally:
            connection.close()

    def _write(self, share: float, words: str) -> bool:
        try:
            self.run_._mine().update(progress=share, words=words, heartbeat=timezone.now())
        except (OperationalError, InterfaceError) as error:
            log.debug("No progress written for job %s: %s", self.run_.job_id, error)
            connection.close()  # a connection that was cut never comes back by itself
            return False
        return True

    def stop(self) -> None:
        """Ends the thread and waits for it."""
        self.stopped.set()
        self.join()


def run_job(job_id: int) -> bool:
    """Does a queued job; False when there was nothing to claim, or the claim was lost.

    Raises what the handler raises, unless it is one of Quorum's own named errors (they go to the row).
    """
    owner = owners.new_owner()
    try:
        run = _claim(job_id, owner)
        if run is None:
            return False
        with run:
            if run.kind not in _handlers:
                raise UnknownJobKind(
                    f"This worker knows no job kind {run.kind!r}: it may be of another version."
                )
            handler: Callable[..., dict[str, Any] | None] = import_string(_handlers[run.kind])
            with acting_as(lambda: _asked_for_by(run)):
                result = handler(run, **run.args)
            if not run.finished:
                with run.commit() as stored:
                    stored.update(result or {})
    finally:
        owners.let_go(owner)  # a database that is away could not be told; the sweep finds the row
    return run.finished


def _asked_for_by(run: Run) -> User | None:
    return User.objects.filter(pk__in=Job.objects.filter(pk=run.job_id).values("created_by")).first()


def _claim(job_id: int, owner: str) -> Run | None:
    now = timezone.now()
    changed = Job.objects.filter(pk=job_id, state=Job.State.QUEUED).update(
        state=Job.State.RUNNING, owner=owner, attempts=F("attempts") + 1, heartbeat=now, started_at=now
    )
    if not changed:
        return None
    job = Job.objects.get(pk=job_id)
    return Run(job_id=job.pk, kind=job.kind, args=job.args, owner=owner, attempts=job.attempts)


@dataclass(frozen=True)
class Swept:
    """What a sweep found: ids of jobs taken from dead workers, sent again, and given up."""

    requeued: tuple[int, ...]
    resent: tuple[int, ...]
    given_up: tuple[int, ...]


def sweep_jobs(*, resend_after: timedelta = RESEND_AFTER) -> Swept:
    """Takes jobs from workers that are gone and sends lost messages again; harmless at any time."""
    now = timezone.now()
    requeued, given_up = [], []
    silent_before = now - timedelta(seconds=settings.JOB_STALE_SECONDS)
    for job in Job.objects.filter(state=Job.State.RUNNING):
        lives = owners.owner_lives(job.owner)
        if lives or (lives is None and job.heartbeat and job.heartbeat >= silent_before):
            continue
        held = Job.objects.filter(pk=job.pk, state=Job.State.RUNNING, owner=job.owner)
        if job.attempts >= MAX_ATTEMPTS:
            error = f"The worker was gone before the work was done, {job.attempts} times over."
            if held.update(state=Job.State.FAILED, owner="", error=error, finished_at=now):
                given_up.append(job.pk)
        elif held.update(
            state=Job.State.QUEUED, owner="", progress=0.0, words="", heartbeat=None, sent_at=None
        ):
            requeued.append(job.pk)
    resent = []
    for job in Job.objects.unsent_since(now - resend_after):
        if Job.objects.filter(pk=job.pk, state=Job.State.QUEUED, sent_at=job.sent_at).update(sent_at=now):
            _send(job.pk)
            resent.append(job.pk)
    return Swept(tuple(requeued), tuple(resent), tuple(given_up))
