"""Celery's tasks: one for each kind of job, one for parts of jobs, and one for each function that beat repeats.

All workers compute the parts of a job's work. The job's own process takes part, so it never waits for a free worker,
and a worker that was killed costs nothing but time. A part is claimed by a file; if two compute it, both get the
same result.
"""

from __future__ import annotations

import itertools
import logging
import re
import secrets
import shutil
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from amqp.exceptions import AMQPError
from celery import Task, current_app, shared_task
from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.utils.module_loading import import_string
from kombu.exceptions import KombuError
from redis.exceptions import RedisError

from common.incoming.apart import at_most_memory
from judgments import jobs
from judgments.jobs import DATABASE_FAILURES, HEAVY, READING, Run, is_gone, owner_name
from judgments.models import Study
from quorum.numeric import packing
from quorum.numeric.parallel import PartFunction, Results, Serial, using

QUEUE = "parts"
TAKE_OVER = 3  # times the longest part so far, before a part of a silent worker is computed here
LEAST_WAIT = 10.0  # seconds
LOOK_EVERY = 0.02
TASK = "task"
FOLDER = re.compile(r"[0-9]+-[0-9a-f]{8}-[0-9]+")  # job, run, and turn

packing.declare_kind(Study, lambda study: study.pk, lambda pk: Study.objects.get(pk=pk))


def folder_of_parts() -> Path:
    return Path(settings.DATA_DIR) / "parts"


class AllWorkers:
    """The pool of a job."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._folders = itertools.count()

    def map(
        self, function: PartFunction, shared: Any, parts: Sequence[Any], *, threads: bool = False
    ) -> Results:
        if len(parts) < 2:
            yield from Serial().map(function, shared, parts)
            return
        folder = folder_of_parts() / f"{self._run.job_id}-{self._run.name}-{next(self._folders)}"
        folder.mkdir(parents=True)
        try:
            try:
                _write(folder / TASK, (function, shared, list(parts)))
            except packing.NotPackable:
                yield from Serial().map(function, shared, parts)
                return
            send_parts(folder.name, len(parts))
            yield from self._results(folder, function, shared, parts)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _results(
        self, folder: Path, function: PartFunction, shared: Any, parts: Sequence[Any]
    ) -> Iterator[Any]:
        results: dict[int, Any] = {}
        unclaimed = deque(range(len(parts)))
        longest = 0.0
        for number in range(len(parts)):
            while number not in results:
                self._run.check()
                with suppress(FileNotFoundError):
                    results[number] = _read(folder / f"{number}.result")
                    continue
                mine = next((other for other in _pop_all(unclaimed) if _claim(folder, other)), None)
                if mine is None and _may_take_over(folder, number, longest):
                    mine = number
                if mine is None:
                    time.sleep(LOOK_EVERY)
                    continue
                began = time.monotonic()
                with using(Serial()):
                    results[mine] = function(shared, parts[mine])
                longest = max(longest, time.monotonic() - began)
            yield results.pop(number)


def _pop_all(numbers: deque[int]) -> Iterator[int]:
    while numbers:
        yield numbers.popleft()


def _claim(folder: Path, number: int) -> bool:
    try:
        with open(folder / f"{number}.claim", "x") as file:
            file.write(owner_name())
    except FileExistsError:
        return False
    return True


def _may_take_over(folder: Path, number: int, longest: float) -> bool:
    claim = folder / f"{number}.claim"
    waited = time.time() - claim.stat().st_mtime
    return waited > max(LEAST_WAIT, TAKE_OVER * longest) or bool(is_gone(claim.read_text()))


@lru_cache(maxsize=1)
def _task(folder: Path) -> tuple[PartFunction, Any, list[Any]]:
    task: tuple[PartFunction, Any, list[Any]] = _read(folder / TASK)
    return task


def _write(path: Path, value: Any) -> None:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with draft.open("wb") as file:
        packing.write(value, file)
    draft.replace(path)


def _read(path: Path) -> Any:
    with path.open("rb") as file:
        return packing.read(file, jobs.OURS)


def remove_leftovers() -> None:
    """Remove the folders of runs that were killed, and the drafts of messages that were never sent."""
    for folder in filter(lambda path: FOLDER.fullmatch(path.name), folder_of_parts().glob("*-*-*")):
        job_id, run, _ = folder.name.split("-")
        if not jobs.is_run(int(job_id), run):
            shutil.rmtree(folder, ignore_errors=True)
    for message in Path(settings.DATA_DIR).glob("broker/.*.msg"):
        if message.stat().st_mtime < time.time() - 60:
            message.unlink(missing_ok=True)


log = logging.getLogger(__name__)

BROKER_FAILURES = (KombuError, AMQPError, RedisError, OSError)
PART = jobs.task_name("compute_part")


_queues: dict[str, str] = {}  # of a task, by its name


def route(name: str, *_: object, **__: object) -> dict[str, str]:
    """Return the queue of a task, for Celery's setting task_routes."""
    return {"queue": _queues[name]} if name in _queues else {}


def add_job_task(kind: str, queue: str) -> None:
    seconds = settings.JOB_SECONDS[queue]
    _queues[jobs.task_name(kind)] = queue

    @shared_task(
        bind=True,
        name=jobs.task_name(kind),
        soft_time_limit=seconds,
        time_limit=seconds + settings.JOB_GRACE_SECONDS,
        autoretry_for=DATABASE_FAILURES,  # of a claim; a run that was begun decides by its attempts
        retry_kwargs={"max_retries": jobs.MAX_ATTEMPTS},
        retry_backoff=jobs.BACKOFF,
        retry_jitter=True,
    )
    def run(task: Task[..., None], job_id: int) -> None:
        try:
            started = jobs.start_run(job_id, _as_task)
        finally:
            jobs.dispatch(queue)
        if started is not None and started.retry_in is not None:
            raise task.retry(countdown=started.retry_in, max_retries=None)


@contextmanager
def _as_task(run: Run) -> Iterator[None]:
    try:
        memory = settings.JOB_MEMORY_MB if run.queue == READING else 0
        with using(AllWorkers(run)), jobs.interrupted(), at_most_memory(memory):
            yield
    except SoftTimeLimitExceeded:
        raise jobs.TookTooLong(run.queue) from None


_queues[PART] = QUEUE


@shared_task(name=PART, time_limit=settings.JOB_SECONDS[HEAVY])
def compute_part(folder_name: str, number: int) -> None:
    """Compute a part that nobody has claimed, for a job that still waits for it."""
    if not FOLDER.fullmatch(folder_name):
        log.warning("A message names no folder of parts; nothing is computed.")
        return
    folder = folder_of_parts() / folder_name
    job_id, run, _ = folder_name.split("-")
    if not jobs.is_run(int(job_id), run):
        return
    try:
        with suppress(FileNotFoundError), jobs.during(int(job_id), run):  # a job that has ended has no folder
            if _claim(folder, number):
                function, shared, parts = _task(folder)
                _write(folder / f"{number}.result", function(shared, parts[number]))
    except MemoryError:  # Celery's worker would end; the job's own process tries it
        log.exception("A part of %s needed too much memory.", folder_name)


def send_parts(folder: str, count: int) -> None:
    """Ask all workers for the parts but the first, which the job's own process begins with."""
    from celery import group

    try:
        group(compute_part.s(folder, number) for number in range(1, count)).apply_async()
    except BROKER_FAILURES as error:
        log.warning("The parts in %s are computed by one process, as the broker is away: %s", folder, error)


def messages_at_broker(queue: str) -> int | None:
    """Return how many messages of a queue wait at the broker; None if it cannot be reached."""
    try:
        with current_app.connection_for_write(
            transport_options=settings.CELERY_BROKER_TRANSPORT_OPTIONS
        ) as link:
            try:
                channel: Any = link.default_channel
                return int(channel.queue_declare(queue, passive=True).message_count)
            except link.channel_errors:  # there is no such queue, as none is stored without messages
                return 0
    except BROKER_FAILURES:
        return None


def sweep_jobs() -> None:
    jobs.sweep_jobs(messages_at_broker)


def _add_round(scheduled: jobs.Round) -> None:
    _queues[scheduled.task] = scheduled.queue

    @shared_task(name=scheduled.task)
    def call() -> None:
        import_string(scheduled.function)()


for _kind, _registered in jobs.registered_kinds().items():
    add_job_task(_kind, _registered.queue)
for _round in jobs.scheduled_rounds():
    _add_round(_round)
