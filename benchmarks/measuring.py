"""Measure two programs on the same input, each figure in a new process.

A benchmark module lists its jobs and calls `main(JOBS)`, which prints a Markdown table: seconds of the best of
several calls, their ratio, peak memory in addition to the input, and the difference of the results. Start-up,
imports, compiling and making the input are excluded for both programs: a small input is processed first, and the
time of what the other program starts in every call is subtracted. Processes are bound to one core if possible.
Memory is that of the process on Linux, without programs that the other program starts.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

OURS, THEIRS = "ours", "theirs"
MAX_REPEATED_SECONDS = 2.0  # seconds after which a call is no longer repeated


@dataclass(frozen=True)
class Job:
    """A task for two programs.

    `prepare` makes the input of a size. `own_program` and `peer_program` return numbers to compare. `peer` names the
    other program, and `package` is the module that must be importable for it. `starting` does the part of
    `peer_program` that starts programs.
    """

    name: str
    sizes: Sequence[int]
    prepare: Callable[[int], Any]
    own_program: Callable[[Any], ArrayLike]
    peer_program: Callable[[Any], ArrayLike] | None = None
    peer: str = ""
    package: str | None = None
    repeats: int = 5
    warm_up: int = 100
    unit: str = ""
    starting: Callable[[], object] | None = None


def main(jobs: Iterable[Job]) -> None:
    """Run the jobs named on the command line, or all jobs."""
    known = {job.name: job for job in jobs}
    parser = argparse.ArgumentParser(description="Measure Quorum beside other programs.")
    parser.add_argument("jobs", nargs="*", help=f"names of jobs: {', '.join(known)}")
    parser.add_argument("--sizes", type=int, nargs="*", help="sizes instead of each job's own")
    parser.add_argument("--one", choices=(OURS, THEIRS), help=argparse.SUPPRESS)
    given = parser.parse_args()
    unknown = [name for name in given.jobs if name not in known]
    if unknown:
        parser.error(f"unknown job {unknown[0]!r}, expected one of {', '.join(known)}")
    chosen = [known[name] for name in given.jobs or known]
    if given.one:
        print(json.dumps(_figures(chosen[0], given.one, given.sizes[0])))
        return
    print_table(chosen, given.sizes)


def print_table(jobs: Iterable[Job], sizes: Sequence[int] | None = None) -> None:
    print("| what | size | peer | ours s | peer s | ratio | ours MB | peer MB | results differ by |")
    print("|---|---|---|---|---|---|---|---|---|")
    for job in jobs:
        for size in sizes or job.sizes:
            print(_row(job, size), flush=True)


def _row(job: Job, size: int) -> str:
    ours = _in_fresh_process(job, OURS, size)
    cells = [job.name, f"{size:,}{job.unit}", job.peer or "-", f"{ours['seconds']:.3g}"]
    if job.peer_program is None or (job.package and importlib.util.find_spec(job.package) is None):
        cells += ["not installed" if job.peer_program else "-", "-", f"{ours['megabytes']:.0f}", "-", "-"]
    else:
        theirs = _in_fresh_process(job, THEIRS, size)
        ratio = theirs["seconds"] / ours["seconds"]
        difference = np.abs(np.array(ours["result"]) - np.array(theirs["result"])).max()
        cells += [
            f"{theirs['seconds']:.3g}",
            f"{ratio:.1f}",
            f"{ours['megabytes']:.0f}",
            f"{theirs['megabytes']:.0f}",
            f"{difference:.0e}",
        ]
    return f"| {' | '.join(cells)} |"


def _in_fresh_process(job: Job, side: str, size: int) -> dict[str, Any]:
    module = getattr(
        job.own_program, "func", job.own_program
    ).__module__  # the module of a partial is that of its function
    if module == "__main__":
        spec = sys.modules["__main__"].__spec__
        assert spec is not None  # true if the benchmark is run with -m
        module = spec.name
    command = [sys.executable, "-m", module, job.name, "--one", side, "--sizes", str(size)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if run.returncode:
        said = run.stderr.strip().splitlines() or [f"ended with status {run.returncode}"]
        raise SystemExit(f"{job.name}, {size:,}, {side}: {said[-1]}")
    figures: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return figures


def _figures(job: Job, side: str, size: int) -> dict[str, Any]:
    """Return the seconds of the best call, the megabytes in addition to the input, and the result."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    work = job.own_program if side == OURS else job.peer_program
    assert work is not None  # the parent requests the other program only if there is one
    with contextlib.redirect_stdout(io.StringIO()):  # some peers print
        work(job.prepare(min(job.warm_up, size)))
        start_up = min(map(_seconds, [job.starting] * 3)) if job.starting and side == THEIRS else 0.0
        given = job.prepare(size)
        _forget_peak()
        before = _memory("VmRSS")
        best, spent = float("inf"), 0.0
        for _ in range(job.repeats):
            start = time.perf_counter()
            result = work(given)
            seconds = time.perf_counter() - start
            best, spent = min(best, seconds), spent + seconds
            if spent > MAX_REPEATED_SECONDS:
                break
    return {
        "seconds": best - start_up,
        "megabytes": _memory("VmHWM") - before,
        "result": np.atleast_1d(np.asarray(result, dtype=np.float64)).tolist(),
    }


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _forget_peak() -> None:
    """Reset the peak of memory, because making the input may have needed more than the work."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")


def _memory(what: str) -> float:
    """Return the megabytes in use now (`VmRSS`), or at the peak (`VmHWM`)."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith(what))
