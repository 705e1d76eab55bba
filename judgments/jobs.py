"""Background jobs: rows that Celery's workers carry out, each with exactly one effect (docs/decisions/0014-celery.md).

The row is the truth; a message of Celery carries its id. A worker claims the row by a guarded update and renews its
lease by heartbeats. The handler reads and computes outside any transaction, reports progress, and writes inside
`run.commit()`, whose one transaction also marks the row done. `sweep_jobs` finds lost messages and dead workers.

Few messages wait at the broker, the other jobs in the table: so whose account has the fewest at work goes first.
"""

from __future__ import annotations

import logging
import mmap
import os
import random
import secrets
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from math import ceil
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from django.conf import settings
from django.contrib.auth.models import User
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import Count, F, Min
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.module_loading import import_string
from django.utils.translation import gettext, ngettext

from common.audit import acting_as, logged_with
from common.errors import Busy, WrongState
from common.rate_limits import TooMany
from judgments.models.studies import DELETED_STUDY, Job, JobQuerySet

log = logging.getLogger(__name__)

INTERACTIVE, READING, CROWD, HEAVY = QUEUES = ("interactive", "reading", "crowd", "heavy")
MAX_ATTEMPTS = 3
BACKOFF = 5  # seconds before the first retry after the database failed; doubled each time, with jitter
BUSY_AFTER = 30.0  # seconds before a retry while something else is in the way
AT_BROKER = 8  # messages of a queue that wait there; of more, a newcomer would wait for all
LOST_AFTER = timedelta(seconds=5)  # a message that the broker does not list by then is lost
LOOK_EVERY = 1.0  # seconds between looks whether the job is still this run's
# Of a worker that stops, before it leaves work that reports no progress; a lost reply of a crowd costs people time.
STOP_SECONDS = {INTERACTIVE: 2.0, READING: 2.0, CROWD: 30.0, HEAVY: 2.0}
LOST_SECONDS = 1.0  # of a run whose job was cancelled or given to another worker, before its process ends
BEATS = 6  # heartbeats for each lease
DATABASE_FAILURES = (OperationalError, InterfaceError)
PLACES = """
    SELECT id, place FROM (
        SELECT id, row_number() OVER (PARTITION BY queue ORDER BY turn, id) AS place FROM (
            SELECT id, queue, row_number() OVER (PARTITION BY queue, created_by_id ORDER BY id) AS turn
            FROM judgments_job WHERE state = 'queued'
        ) AS turns
    ) AS places WHERE id IN ({keys})
"""
OURS = {"annotation", "common", "config", "contrib", "evaluation", "judgments"}

_stopping: bytearray | mmap.mmap = bytearray(1)  # 1 once this process's worker was asked to end
_worker = 0  # the process whose children run jobs, and may end at any time
_running: set[str] = set()  # the owners that run jobs in this process


class UnknownJobKind(Exception):
    pass


class LostClaim(Exception):
    """The job was cancelled or given to another worker; the run's transaction is rolled back."""


class TookTooLong(Exception):
    def __init__(self, queue: str) -> None:
        super().__init__(
            f"The work took longer than {settings.JOB_SECONDS[queue] / 60:g} minutes, the limit of its queue; "
            f"JOB_SECONDS_{queue.upper()} sets another."
        )


class NotEnoughMemory(Exception):
    pass


class WorkerStops(BaseException):
    """The worker was asked to end; another worker runs the job."""


class Progress(Protocol):
    """The `progress` argument of services: the share done, 0 to 1, and the current activity."""

    def __call__(self, share: float, message: str = "") -> None:
        pass


def task_name(work: str) -> str:
    return f"quorum.{work}"


@dataclass(frozen=True)
class JobKind:
    """A kind of job.

    Attributes:
        handler: the dotted path of `handler(run, **args) -> dict | None`.
        scope: what a token needs the right to read for the kind's results.
        relied_on: whether others wait for what it does, so that nobody cancels it and no limit refuses it.
    """

    handler: str
    queue: str
    scope: str
    relied_on: bool = False


@dataclass(frozen=True)
class Round:
    """A function that beat lets a worker call every so many seconds."""

    function: str
    every: Callable[[], float]
    queue: str

    @property
    def task(self) -> str:
        return task_name(self.function.rpartition(".")[2])


_kinds: dict[str, JobKind] = {}
_rounds: list[Round] = []


def register(kind: str, handler: str, *, queue: str, scope: str = "studies", relied_on: bool = False) -> None:
    registered = _kinds.setdefault(kind, JobKind(handler, queue, scope, relied_on))
    if registered.handler != handler:
        raise ValueError(f"Job kind {kind!r} is registered twice: {registered.handler} and {handler}.")


def registered_kinds() -> dict[str, JobKind]:
    return dict(_kinds)


def schedule(function: str, *, every: Callable[[], float], queue: str = INTERACTIVE) -> None:
    """Register the dotted path of a function to be called every so many seconds."""
    _rounds.append(Round(function, every, queue))


def scheduled_rounds() -> tuple[Round, ...]:
    return tuple(_rounds)


def scope_of(kind: str) -> str:
    return _kinds[kind].scope if kind in _kinds else "studies"


def enqueue(
    *, kind: str, args: dict[str, Any] | None = None, user: User | None = None, once: bool = False
) -> Job:
    """Create the job's row; its message is sent on commit, or when its turn comes.

    Args:
        args: JSON values, passed to the handler by name; slugs and ids, never data.
        once: whether to refuse it while the account's same job waits or runs.

    Raises:
        TooMany: the account has as many jobs waiting as it may.
        WrongState: its same job is under way.
    """
    if kind not in _kinds:
        known = ", ".join(sorted(_kinds)) or "none"
        raise UnknownJobKind(f"There is no job kind {kind!r}; known are: {known}.")
    queue = _kinds[kind].queue
    with transaction.atomic():
        if user is not None:
            _check_waiting(user, kind)
        if once and Job.objects.under_way().filter(kind=kind, args=args or {}, created_by=user).exists():
            raise WrongState(gettext("This is under way already."))
        job = Job.objects.create(kind=kind, queue=queue, args=args or {}, created_by=user)
        dispatch(queue)
    return job


def is_relied_on(kind: str) -> bool:
    return kind in _kinds and _kinds[kind].relied_on


def _check_waiting(user: User, kind: str) -> None:
    registered = _kinds.get(kind)
    if registered and (registered.relied_on or registered.queue == CROWD):  # such as what pays people
        return
    User.objects.select_for_update(no_key=True).get(pk=user.pk)  # of many at once, each counts those before
    waiting = Job.objects.filter(created_by=user, state=Job.State.QUEUED).count()
    if waiting < settings.JOBS_WAITING:
        return
    # the pace of the last minutes, for all accounts
    ended = Job.objects.filter(finished_at__gt=Now() - timedelta(minutes=5)).count()
    wait = min(600, max(5, ceil(300 / max(ended, 1))))
    message = ngettext(
        "%(n)d job of %(name)s waits, as many as an account may have waiting; try again in %(wait)d seconds, or "
        "cancel it.",
        "%(n)d jobs of %(name)s wait, as many as an account may have waiting; try again in %(wait)d seconds, or "
        "cancel some.",
        waiting,
    )
    raise TooMany(message % {"n": waiting, "name": user.get_username(), "wait": wait}, wait=wait)


def dispatch(queue: str) -> None:
    """Hand waiting jobs to the broker, while few messages wait there: those of the account with fewest at work first.

    An account that has none at work always gets one in; of those that read files it has one at work at a time, as
    nobody knows what is in a file. Kinds that another version knows are left to the sweep.
    """
    waiting = Job.objects.filter(queue=queue, state=Job.State.QUEUED, kind__in=_kinds)
    elsewhere: dict[
        int, int | None
    ] = {}  # jobs that another process sends at this moment, and their accounts
    while oldest := dict(
        waiting.filter(sent_at=None)
        .exclude(pk__in=elsewhere)
        .order_by()
        .values_list("created_by")
        .annotate(Min("pk"))
    ):
        at_broker = waiting.filter(sent_at__isnull=False).order_by().values_list("created_by", flat=True)
        running = Job.objects.filter(queue=queue, state=Job.State.RUNNING).order_by()
        busy = Counter([*at_broker, *running.values_list("created_by", flat=True), *elsewhere.values()])
        room = AT_BROKER - len(at_broker)
        sent = tried = 0
        for account in sorted(oldest, key=lambda account: (busy[account], oldest[account])):
            if (sent < room and queue != READING) or not busy[account]:
                tried += 1
                if _send(oldest[account]):
                    sent += 1
                else:
                    elsewhere[oldest[account]] = account
        if not tried or sent >= room:
            return


def _send(job_id: int) -> bool:
    """Send a job's message on commit; return False if another process does."""
    with transaction.atomic():
        # To wait for another process that sends it could be a deadlock.
        row = Job.objects.select_for_update(skip_locked=True)
        job = row.filter(pk=job_id, state=Job.State.QUEUED, sent_at=None).first()
        if job is None:
            return False
        Job.objects.filter(pk=job_id).update(sent_at=Now())
        # Celery is loaded where the first message is sent.
        transaction.on_commit(
            lambda: import_string(settings.JOB_SENDER)(task_name(job.kind), job_id, queue=job.queue)
        )
    return True


@dataclass
class Run:
    """A worker's claim of a job, passed to the handler."""

    job_id: int
    kind: str
    queue: str
    args: dict[str, Any]
    owner: str
    attempts: int
    finished: bool = False
    share: float = 0.0
    message: str = ""
    lost: bool = False
    retry_in: float | None = None  # seconds, for a run that is to be tried again
    _heart: _Heart = field(init=False, repr=False)
    _began: float = field(default_factory=time.monotonic, init=False, repr=False)

    @property
    def name(self) -> str:
        """8 hexadecimal digits that identify this run."""
        return self.owner.rpartition(":")[2]

    def progress(self, share: float, message: str = "") -> None:
        """Report progress; a separate thread writes it, so this is cheap. Raise as `check` does."""
        self.check()
        self.share, self.message = min(max(share, 0.0), 1.0), message[:200]

    def check(self) -> None:
        """Raise WorkerStops if the worker was asked to end, and LostClaim if the job is not this run's any more."""
        if _stopping[0]:
            raise WorkerStops
        if self.lost and not self.finished:
            raise self._lost_claim()

    @contextmanager
    def commit(self) -> Iterator[dict[str, Any]]:
        """Open the transaction for the handler's writes and the job's end; yield the result dict.

        Raise LostClaim, and roll back, if the job was cancelled or belongs to another worker.
        """
        result: dict[str, Any] = {}
        with transaction.atomic():
            yield result
            changed = self._row().update(
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

    def _seconds(self) -> float:
        return time.monotonic() - self._began

    def _lost_claim(self) -> LostClaim:
        return LostClaim(f"Job {self.job_id} was cancelled or given to another worker.")

    def _row(self) -> JobQuerySet:
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
        if isinstance(error, SystemExit) and self._seconds() > settings.JOB_SECONDS[self.queue]:
            error = TookTooLong(self.queue)  # the hard limit
        if not isinstance(error, Exception):
            self._row().give_back(counted=False)
            return isinstance(error, WorkerStops)
        if isinstance(error, Busy):
            self._retry(BUSY_AFTER, counted=False)
            return True
        if isinstance(error, DATABASE_FAILURES) and self.attempts < MAX_ATTEMPTS:
            log.warning("Job %s will be tried again: %s", self.job_id, error)
            self._retry(BACKOFF * 2 ** (self.attempts - 1) * random.uniform(0.5, 1.5))
            return True
        named = type(error).__module__.partition(".")[0] in OURS
        if isinstance(error, MemoryError):  # numpy's says how much; Celery's worker would end
            log.exception("Job %s needed too much memory.", self.job_id)
            error = NotEnoughMemory(f"The work needed more memory than there is. {error}".strip())
            named = True
        name = type(error).__name__
        sentence = str(error) if named else f"The work stopped on an unexpected error ({name}); see the log."
        self._row().update(
            state=Job.State.FAILED, error=sentence or name, owner="", finished_at=timezone.now()
        )
        return named  # a named error explains itself; others are logged with a traceback

    def _retry(self, seconds: float, *, counted: bool = True) -> None:
        if self._row().give_back(sent_in=timedelta(seconds=seconds), counted=counted):
            self.retry_in = seconds


class _Heart(threading.Thread):
    """Write progress and heartbeats through a separate connection.

    The handler's transaction hides its writes, and on SQLite blocks all other writers: then the heartbeat waits
    without delaying the handler.
    """

    def __init__(self, run: Run) -> None:
        super().__init__(name=f"job-{run.job_id}-heart", daemon=True)
        self.run_, self.stopped = run, threading.Event()

    def run(self) -> None:
        written, silent, stopping, ours = (0.0, ""), 0.0, 0.0, time.monotonic()
        beat_every = settings.JOB_STALE_SECONDS / BEATS
        try:
            while not self.stopped.wait(LOOK_EVERY):
                silent += LOOK_EVERY
                stopping += LOOK_EVERY * _stopping[0]
                if stopping >= STOP_SECONDS[self.run_.queue]:
                    self._leave()
                if not self.run_.lost or self.run_.finished:
                    ours = time.monotonic()
                elif time.monotonic() - ours >= LOST_SECONDS:
                    self._leave_lost()
                now = (self.run_.share, self.run_.message)
                if now == written and silent < beat_every:
                    self._look()
                elif self._look(progress=now[0], words=now[1], heartbeat=Now()):
                    written, silent = now, 0.0
        finally:
            connection.close()

    def _look(self, **values: Any) -> bool:
        """Write the values, and note whether the job is still this run's."""
        try:
            row = self.run_._row()
            self.run_.lost = not (row.update(**values) if values else row.exists())
        except DATABASE_FAILURES as error:
            log.debug("No progress written for job %s: %s", self.run_.job_id, error)
            connection.close()  # a broken connection does not recover by itself
            return False
        return True

    def _leave(self) -> None:
        """End this process in the middle of the work, for another worker to take it up; the attempt does not count."""
        with suppress(*DATABASE_FAILURES):
            if self.run_._row().give_back(counted=False):
                os._exit(0)

    def _leave_lost(self) -> None:
        with suppress(*DATABASE_FAILURES):
            # A run that is done still tells others of it.
            if not Job.objects.filter(pk=self.run_.job_id, state=Job.State.DONE).exists():
                _end_process(str(self.run_._lost_claim()))

    def stop(self) -> None:
        self.stopped.set()
        self.join()


def _end_process(reason: str) -> None:
    """End this process of a worker in the middle of work whose job was cancelled or given to another worker."""
    if os.getppid() == _worker:
        log.warning("%s Its process ends.", reason)
        os._exit(0)


@contextmanager
def during(job_id: int, run: str) -> Iterator[None]:
    """Let the block compute for a run of a job; end this process in its middle when that run is over."""
    stopped = threading.Event()

    def watch() -> None:
        try:
            while not stopped.wait(LOOK_EVERY):
                with suppress(*DATABASE_FAILURES):
                    if not is_run(job_id, run):
                        _end_process(f"Job {job_id} needs its parts no longer.")
        finally:
            connection.close()

    heart = threading.Thread(target=watch, name=f"job-{job_id}-part", daemon=True)
    heart.start()
    try:
        with interrupted():
            yield
    finally:
        stopped.set()
        heart.join()


def is_run(job_id: int, run: str) -> bool:
    """Return whether a run of a job, by its name, is under way."""
    return Job.objects.filter(pk=job_id, state=Job.State.RUNNING, owner__endswith=f":{run}").exists()


@contextmanager
def interrupted() -> Iterator[None]:
    """Interrupt what keeps other threads from running, such as a regular expression, so that the heart beats."""
    signal.signal(signal.SIGALRM, lambda *_: time.sleep(0.01))  # a look at the row
    signal.setitimer(signal.ITIMER_REAL, LOOK_EVERY, LOOK_EVERY)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def share_stopping() -> None:
    """Let processes that will be forked from this one see when it is asked to end."""
    global _stopping, _worker
    _stopping, _worker = mmap.mmap(-1, 1), os.getpid()


def ask_to_stop() -> None:
    """Let the runs of this process and its children end at their next report of progress."""
    _stopping[0] = 1


def run_job(job_id: int) -> bool:
    """Run a queued job; return whether it was finished.

    Raise what the handler raises, except Quorum's named errors, which are stored in the row.
    """
    run = start_run(job_id)
    return run is not None and run.finished


def start_run(
    job_id: int, within: Callable[[Run], AbstractContextManager[object]] = nullcontext
) -> Run | None:
    """Claim a job and run it as `run_job` does; return None if it is not to be had.

    Args:
        within: the context of the handler's call.
    """
    owner = owner_name()
    _running.add(owner)
    try:
        run = _claim(job_id, owner)
        if run is None:
            return None
        with logged_with(job=run.job_id, kind=run.kind), run, within(run):
            if run.kind not in _kinds:
                raise UnknownJobKind(
                    f"This worker knows no job kind {run.kind!r}: it may be of another version."
                )
            handler: Callable[..., dict[str, Any] | None] = import_string(_kinds[run.kind].handler)
            with acting_as(cache(lambda: _asked_for_by(run)), door="job", call=f"{run.kind} {run.job_id}"):
                result = handler(run, **run.args)
            if not run.finished:
                with run.commit() as stored:
                    stored.update(result or {})
        return run
    finally:
        _running.discard(owner)  # without a database nothing can be recorded; the sweep finds the row


def _asked_for_by(run: Run) -> User | None:
    return User.objects.filter(pk__in=Job.objects.filter(pk=run.job_id).values("created_by")).first()


def _claim(job_id: int, owner: str) -> Run | None:
    job = Job.objects.filter(pk=job_id, state__in=[Job.State.QUEUED, Job.State.RUNNING]).first()
    if job is None:
        return None
    if job.state == Job.State.RUNNING and (job.attempts >= MAX_ATTEMPTS or not is_gone(job.owner)):
        return None  # a message that came twice, or a job that kills its workers
    # The database's clock, as those of the workers may differ.
    changed = Job.objects.filter(pk=job_id, state=job.state, owner=job.owner).update(
        state=Job.State.RUNNING, owner=owner, attempts=F("attempts") + 1, heartbeat=Now(), started_at=Now()
    )
    if not changed:
        return None
    return Run(job.pk, job.kind, job.queue, job.args, owner, job.attempts + 1)


def owner_name() -> str:
    """Return a new name of this process, as an owner of work."""
    return f"{_machine()}:{os.getpid()}:{secrets.token_hex(4)}"


@cache
def _machine() -> str:
    """Return a name of all processes whose numbers differ: those of a container, or of a machine since it started."""
    name = socket.gethostname()
    with suppress(OSError):  # another system than Linux
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        name += f"/{boot[:8]}/{os.stat('/proc/self/ns/pid').st_ino}"
    return name


def is_gone(owner: str) -> bool | None:
    """Return whether an owner's process has ended; None for one of another machine."""
    host, _, process = owner.rpartition(":")[0].rpartition(":")
    if host != _machine():
        return None
    if int(process) == os.getpid():
        return owner not in _running
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # another user's
        return False
    return False


def sweep_jobs(at_broker: Callable[[str], int | None] = lambda queue: None) -> None:
    """Queue the jobs of dead workers and of lost messages again; safe at any time.

    Args:
        at_broker: how many messages of a queue the broker holds; None if it does not say.
    """
    for job in Job.objects.filter(state=Job.State.RUNNING):
        if not _is_lapsed(job):
            continue
        run = Job.objects.filter(pk=job.pk, state=Job.State.RUNNING, owner=job.owner)
        if error := _why_given_up(job):
            run.update(state=Job.State.FAILED, owner="", error=error, finished_at=timezone.now())
        else:
            run.give_back()
    _offer_unknown_kinds()
    for queue in QUEUES:
        _take_back_lost(queue, at_broker)
    for queue in QUEUES:
        dispatch(queue)


def _offer_unknown_kinds() -> None:
    """Send a message for each kind: a worker that knows it sends the others, while sweeps may all come here."""
    waiting = Job.objects.filter(state=Job.State.QUEUED).exclude(kind__in=_kinds).order_by("kind")
    kinds = waiting.values_list("kind").annotate(Count("pk"), Count("sent_at"), Min("pk"))
    for kind, count, sent, oldest in kinds:
        log.warning(
            "Jobs of kind %r wait (%d), which this version does not know; a worker of another may.",
            kind,
            count,
        )
        if not sent:
            _send(oldest)


def _why_given_up(job: Job) -> str:
    if job.attempts >= MAX_ATTEMPTS:
        return f"The worker was gone before the work was done, {job.attempts} times over."
    if job.started_at and job.heartbeat:
        took = (job.heartbeat - job.started_at).total_seconds()
        if took > settings.JOB_SECONDS[job.queue]:  # Celery ended its process
            return str(TookTooLong(job.queue))
    return ""


def _is_lapsed(job: Job) -> bool:
    """Return whether a running job's worker is gone.

    On this machine its process tells, as a computer that slept, or a long transaction on SQLite, delays heartbeats.
    """
    gone = is_gone(job.owner)
    if gone:
        return True
    leases = 1 if gone is None else 2  # another process may have got the number of a dead one
    silence = leases * settings.JOB_STALE_SECONDS
    silent_before = Now() - timedelta(seconds=silence)
    return (
        job.owner not in _running
        and (gone is None or _seconds_awake() > silence)
        and Job.objects.filter(pk=job.pk, owner=job.owner, heartbeat__lt=silent_before).exists()
    )


_woke, _clocks_apart = float("-inf"), time.time() - time.monotonic()


def _seconds_awake() -> float:
    """Return how long this machine has not slept, as far as this process can tell."""
    global _woke, _clocks_apart
    # Only the clock of the day goes on while the machine sleeps.
    apart = time.time() - time.monotonic()
    if abs(apart - _clocks_apart) > 1:
        _woke, _clocks_apart = time.monotonic(), apart
    return time.monotonic() - _woke


def _take_back_lost(queue: str, at_broker: Callable[[str], int | None]) -> None:
    """Mark as not sent the oldest of more jobs than messages wait; a message sent twice does nothing."""
    sent = Job.objects.filter(queue=queue, state=Job.State.QUEUED, sent_at__lt=Now() - LOST_AFTER)
    lost = list(sent.order_by("sent_at", "pk").values_list("pk", flat=True))
    messages = at_broker(queue) if lost else None
    if messages is not None:
        lost = lost[: max(0, len(lost) - messages)]
        Job.objects.filter(pk__in=lost, state=Job.State.QUEUED).update(sent_at=None)


def cancel_job(job: Job) -> None:
    """End a job that waits or runs, and store nothing of it.

    A running one stops at its next report of progress; its worker's process ends if that does not come soon.
    Raise WrongState if it has ended, or if others rely on it.
    """
    if is_relied_on(job.kind):
        raise WrongState(
            gettext("Job %(pk)s cannot be cancelled: others rely on what it does.") % {"pk": job.pk}
        )
    changed = (
        Job.objects.under_way()
        .filter(pk=job.pk)
        .update(state=Job.State.CANCELLED, owner="", words="", finished_at=timezone.now())
    )
    job.refresh_from_db()
    if not changed:
        raise WrongState(
            gettext("Job %(pk)s has ended (%(state)s); only one that waits or runs can be cancelled.")
            % {"pk": job.pk, "state": gettext(job.get_state_display())}
        )


def retry_job(job: Job) -> None:
    """Queue a failed or cancelled job again, as if it were asked for now.

    Raise WrongState for another, and TooMany as `enqueue` does.
    """
    with transaction.atomic():
        if job.created_by is not None:
            _check_waiting(job.created_by, job.kind)
        ended = Job.objects.filter(pk=job.pk, state__in=[Job.State.FAILED, Job.State.CANCELLED])
        changed = ended.exclude(args__has_key=DELETED_STUDY).update(
            state=Job.State.QUEUED,
            queue=_kinds[job.kind].queue if job.kind in _kinds else job.queue,
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
        if not changed and DELETED_STUDY in job.args:
            raise WrongState(gettext("The study of job %(pk)s was deleted.") % {"pk": job.pk})
        if not changed:
            raise WrongState(
                gettext("Job %(pk)s is %(state)s; only one that failed or was cancelled is tried again.")
                % {"pk": job.pk, "state": gettext(job.get_state_display())}
            )
        dispatch(job.queue)


def queue_positions(shown: Iterable[Job]) -> dict[int, int]:
    """Return by key the positions in their queues of those that wait, from 1, if accounts take turns."""
    keys = [job.pk for job in shown if job.state == Job.State.QUEUED]
    if not keys:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(PLACES.format(keys=", ".join(["%s"] * len(keys))), keys)
        return dict(cursor.fetchall())
