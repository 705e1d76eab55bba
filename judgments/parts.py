"""Parts of a job's work, computed by all workers.

The job's own process takes part, so it never waits for a free worker, and a worker that was killed costs nothing but
time. A part is claimed by a file; if two compute it, both get the same result.
"""

from __future__ import annotations

import itertools
import pickle
import secrets
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings

from evaluation.parallel import PartFunction, Results, Serial, using
from judgments.jobs import Run, is_gone, owner_name
from judgments.models import Job

QUEUE = "parts"
TAKE_OVER = 3  # times the longest part so far, before a part of a silent worker is computed here
LEAST_WAIT = 10.0  # seconds
LOOK_EVERY = 0.02
TASK = "task"


def folder_of_parts() -> Path:
    return Path(settings.DATA_DIR) / "parts"


class AllWorkers:
    """The pool of a job.

    Args:
        send: asks the workers for the parts of a folder, given its name and their number.
    """

    def __init__(self, run: Run, send: Callable[[str, int], None]) -> None:
        self._run, self._send = run, send
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
            except (pickle.PicklingError, AttributeError, TypeError):  # such as a function within a function
                yield from Serial().map(function, shared, parts)
                return
            self._send(folder.name, len(parts))
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


def compute_claimed(folder_name: str, number: int) -> None:
    """Compute a part that nobody has claimed, for a job that still waits for it."""
    folder = folder_of_parts() / folder_name
    with suppress(FileNotFoundError):  # the job has ended
        if _claim(folder, number):
            function, shared, parts = _task(folder)
            _write(folder / f"{number}.result", function(shared, parts[number]))


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
        pickle.dump(value, file, protocol=pickle.HIGHEST_PROTOCOL)
    draft.replace(path)


def _read(path: Path) -> Any:
    with path.open("rb") as file:
        return pickle.load(file)  # noqa: S301 - of our own data folder, which holds nobody else's files


def remove_leftovers() -> None:
    """Remove the folders of runs that were killed, and the drafts of messages that were never sent."""
    for folder in folder_of_parts().glob("*-*-*"):
        job_id, run, _ = folder.name.split("-")
        if not Job.objects.filter(pk=job_id, state=Job.State.RUNNING, owner__endswith=f":{run}").exists():
            shutil.rmtree(folder, ignore_errors=True)
    for message in Path(settings.DATA_DIR).glob("broker/.*.msg"):
        if message.stat().st_mtime < time.time() - 60:
            message.unlink(missing_ok=True)
