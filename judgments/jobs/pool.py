"""Compute the parts of a job on all workers.

The job's own process computes parts, too, so it never waits for a free worker, and a killed worker only costs time. The
processes share a folder with the file ``task`` (the function and its arguments) and two files for each part: a process
claims part 3 by creating ``3.claim``, and writes ``3.result``. If two processes compute a part, both get the same
result.
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
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from amqp.exceptions import AMQPError
from celery import shared_task
from django.conf import settings
from kombu.exceptions import KombuError
from redis.exceptions import RedisError

from judgments.jobs import registry, runs
from judgments.jobs.claims import has_ended, owner_name
from judgments.jobs.registry import HEAVY
from judgments.jobs.runs import JobRun
from judgments.models import Study
from quorum.numeric import packing
from quorum.numeric.parallel import PartFunction, Results, Serial, use_pool

PARTS_QUEUE = "parts"
# A part that another process has claimed is taken over after this many times the time of the longest part so far.
TAKE_OVER_FACTOR = 3
MIN_WAIT_SECONDS = 10.0  # least seconds before a part is taken over
POLL_SECONDS = 0.02  # seconds between checks for results
TASK_FILE = "task"  # the file with the function and its arguments
# a folder's name: the job's id, the run's name, and the number of the call of `map` in the run
FOLDER_NAME = re.compile(r"[0-9]+-[0-9a-f]{8}-[0-9]+")
# Age of a message's draft after which nobody sends it. `config.celery` writes messages to files, drafts with a dot.
MAX_DRAFT_SECONDS = 60

# a study among the arguments is written as its row id, and read from the database
packing.declare_kind(Study, lambda study: study.pk, lambda pk: Study.objects.get(pk=pk))

log = logging.getLogger(__name__)

BROKER_FAILURES = (KombuError, AMQPError, RedisError, OSError)
PART_TASK = registry.task_name("compute_part")


def folder_of_parts() -> Path:
    return Path(settings.DATA_DIR) / "parts"


class AllWorkers:
    """A pool that computes the parts of a job on all workers. It has the interface of ``Serial``."""

    def __init__(self, run: JobRun) -> None:
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
                write_packed(folder / TASK_FILE, (function, shared, list(parts)))
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
        """Yield the results in order. While the next one is missing, compute a part that no process has claimed."""
        results: dict[int, Any] = {}
        unclaimed_numbers = deque(range(len(parts)))
        longest_seconds = 0.0
        for next_number in range(len(parts)):
            while next_number not in results:
                self._run.check()
                with suppress(FileNotFoundError):
                    results[next_number] = read_packed(folder / f"{next_number}.result")
                    continue
                claimed_number = _claim_next_part(folder, unclaimed_numbers)
                if claimed_number is None and _may_take_over(folder, next_number, longest_seconds):
                    claimed_number = next_number
                if claimed_number is None:
                    time.sleep(POLL_SECONDS)
                    continue
                started_at = time.monotonic()
                with use_pool(Serial()):  # a part that calls `map` itself is not divided further
                    results[claimed_number] = function(shared, parts[claimed_number])
                longest_seconds = max(longest_seconds, time.monotonic() - started_at)
            yield results.pop(next_number)


def _claim_next_part(folder: Path, unclaimed_numbers: deque[int]) -> int | None:
    """Remove numbers from ``unclaimed_numbers`` until one can be claimed, and return it; None if none can."""
    while unclaimed_numbers:
        number = unclaimed_numbers.popleft()
        if claim_part(folder, number):
            return number
    return None


def claim_part(folder: Path, number: int) -> bool:
    """Claim a part for this process. Return False if another process has claimed it already."""
    try:  # the mode "x" fails if the file exists
        with open(folder / f"{number}.claim", "x") as file:
            file.write(owner_name())
    except FileExistsError:
        return False
    return True


def _may_take_over(folder: Path, number: int, longest_seconds: float) -> bool:
    """Return whether the process that claimed a part has ended, or takes too long."""
    claim = folder / f"{number}.claim"
    waited_seconds = time.time() - claim.stat().st_mtime
    max_seconds = max(MIN_WAIT_SECONDS, TAKE_OVER_FACTOR * longest_seconds)
    return waited_seconds > max_seconds or bool(has_ended(claim.read_text()))


def _run_of_folder(folder_name: str) -> tuple[int, str]:
    """Return the job's id and the run's name from the name of a folder."""
    job_id, run_name, _map_number = folder_name.split("-")
    return int(job_id), run_name


@lru_cache(maxsize=1)
def read_task(folder: Path) -> tuple[PartFunction, Any, list[Any]]:
    """Return the arguments of a call of `map`: the function, the value shared by all parts, and the parts."""
    task: tuple[PartFunction, Any, list[Any]] = read_packed(folder / TASK_FILE)
    return task


def write_packed(path: Path, value: Any) -> None:
    """Write a value to a file, which other processes see only when it is complete."""
    temporary_path = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with temporary_path.open("wb") as file:
        packing.write(value, file)
    temporary_path.replace(path)


def read_packed(path: Path) -> Any:
    with path.open("rb") as file:
        return packing.read(file, runs.PLATFORM_PACKAGES)


def remove_leftovers() -> None:
    """Remove the folders of killed runs, and drafts of messages that were never sent."""
    for folder in folder_of_parts().glob("*-*-*"):
        if FOLDER_NAME.fullmatch(folder.name) and not runs.is_still_running(*_run_of_folder(folder.name)):
            shutil.rmtree(folder, ignore_errors=True)
    for message in Path(settings.DATA_DIR).glob("broker/.*.msg"):
        if message.stat().st_mtime < time.time() - MAX_DRAFT_SECONDS:
            message.unlink(missing_ok=True)


@shared_task(name=PART_TASK, time_limit=settings.JOB_SECONDS[HEAVY])
def compute_part(folder_name: str, number: int) -> None:
    """Compute a part if no process has claimed it and its job still waits for it."""
    if not FOLDER_NAME.fullmatch(folder_name):
        log.warning("A message names no folder of parts; nothing is computed.")
        return
    folder = folder_of_parts() / folder_name
    job_id, run_name = _run_of_folder(folder_name)
    if not runs.is_still_running(job_id, run_name):
        return
    try:
        # the folder of a job that has ended is missing
        with suppress(FileNotFoundError), runs.run_part(job_id, run_name):
            if claim_part(folder, number):
                function, shared, parts = read_task(folder)
                write_packed(folder / f"{number}.result", function(shared, parts[number]))
    except MemoryError:  # the error would end Celery's worker; the job's own process will compute the part
        log.exception("A part of %s needed too much memory.", folder_name)


def send_parts(folder: str, part_count: int) -> None:
    """Send a message for every part except the first, with which the job's own process begins."""
    from celery import group

    try:
        group(compute_part.s(folder, number) for number in range(1, part_count)).apply_async()
    except BROKER_FAILURES as error:
        log.warning("The parts in %s are computed by one process, as the broker is away: %s", folder, error)
