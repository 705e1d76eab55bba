"""Long work for the tests of jobs, registered where this module is imported."""

import os
import re
import signal
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
from celery.exceptions import SoftTimeLimitExceeded
from django.contrib.auth.models import Group
from django.db import OperationalError
from django.utils import timezone

from common.errors import ServiceBusy
from judgments import tasks
from judgments.jobs import queues, registry, runs, sweep
from judgments.models import Job
from quorum.numeric.packing import declare
from quorum.numeric.parallel import map_parts


class PictureMissing(Exception):
    """Stands for a named error of ours; see `fail_by_name`."""


def make_groups(run: runs.JobRun, *, count: int, gate: str = "", slow: str = "") -> dict[str, Any]:
    """Thinks, then writes `count` groups; stops half-way through each for as long as the files are there."""
    run.progress(0.25, "thinking")
    _wait_while(gate)
    with run.commit() as result:
        for number in range(count):
            Group.objects.create(name=f"group {run.job_id}-{run.attempts}-{number}")
            if number == count // 2:
                if slow:
                    Path(f"{slow}.reached").touch()
                _wait_while(slow)
        result["groups"] = count
    return {}


def fail_by_name(run: runs.JobRun, *, path: str) -> None:
    """Ends with an error that says what was wrong, after it wrote something."""
    with run.commit():
        Group.objects.create(name="before the failure")
        raise PictureMissing(f"{path}, line 3: no picture of that name; expected a file in the folder.")


def be_overtaken(run: runs.JobRun) -> None:
    """Writes, but only after another worker was given the job."""
    Job.objects.filter(pk=run.job_id).update(owner="another worker")
    with run.commit():
        Group.objects.create(name="of the slower worker")


def be_given_away(run: runs.JobRun) -> None:
    """Goes on after another worker was given the job, until a heartbeat finds that out."""
    Job.objects.filter(pk=run.job_id).update(owner="another worker")
    while True:
        run.progress(0.5)
        time.sleep(0.02)


def be_cancelled(run: runs.JobRun) -> None:
    """Goes on after it was cancelled, until a look at the row finds that out."""
    queues.cancel_job(Job.objects.get(pk=run.job_id))
    while True:
        run.progress(0.5)
        time.sleep(0.02)


def meet_another(run: runs.JobRun) -> None:
    """Finds that something else does the same."""
    raise ServiceBusy("Study 'captions' is being rehearsed at this moment.")


def fail_unexpectedly(run: runs.JobRun) -> None:
    """Ends with an error that nobody thought of."""
    raise ZeroDivisionError("one over nothing")


def tell_progress(run: runs.JobRun, *, gate: str, left: str) -> None:
    """Reports progress for as long as the file `gate` is there; writes the file `left` when it is interrupted."""
    try:
        while Path(gate).exists():
            run.progress(0.5, "thinking")
            time.sleep(0.02)
    finally:
        Path(left).touch()


def lose_the_database(run: runs.JobRun) -> None:
    """Ends as if the database were away for a moment."""
    raise OperationalError("server closed the connection unexpectedly")


def be_swept(run: runs.JobRun, *, seconds: int) -> dict[str, Any]:
    """Wakes up long after its last heartbeat, and finds a sweep in its own process."""
    Job.objects.filter(pk=run.job_id).update(heartbeat=timezone.now() - timedelta(seconds=seconds))
    sweep.requeue_lost_jobs()
    return {"states": list(Job.objects.values_list("state", flat=True))}


def make_group(run: runs.JobRun, *, name: str) -> None:
    """Fails when another run of it was stored."""
    with run.commit():
        Group.objects.create(name=name)


def add_in_parts(run: runs.JobRun, *, parts: int) -> None:
    """Adds the squares of so many numbers, each by whichever process is free; a second run would leave a second
    group."""
    total = sum(map_parts(_square, 2, range(parts)))
    with run.commit() as result:
        Group.objects.create(name=f"{run.job_id} added {total} as {run.name}")
        result["total"] = total


def rest_in_parts(run: runs.JobRun, *, parts: int) -> None:
    """Rests for a day in each part, one process after the other as they come free."""
    for _ in map_parts(_rest, 86_400, range(parts)):
        run.progress(0.5)


@declare
def _rest(seconds: float, number: int) -> int:
    time.sleep(seconds)
    return number


@declare
def _square(power: int, number: int) -> int:
    time.sleep(0.1)
    return int(number**power)


def die(run: runs.JobRun) -> None:
    """Kills its process."""
    os.kill(os.getpid(), signal.SIGKILL)


def note_process(run: runs.JobRun, *, megabytes: int = 0) -> dict[str, Any]:
    """Says which process it ran in, after it used so much memory."""
    used = b"\1" * (megabytes * 1_000_000)
    return {"process": os.getpid(), "used": len(used)}


def ask_for_too_much_memory(run: runs.JobRun) -> None:
    """Asks for more than any machine has."""
    np.ones(10**15)


def take_long(run: runs.JobRun, *, seconds: float, stubborn: bool = False) -> None:
    """Sleeps; who is stubborn sleeps on when asked to end."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            time.sleep(0.05)
        except SoftTimeLimitExceeded:
            if not stubborn:
                raise


def rest(run: runs.JobRun, *, seconds: float) -> None:
    run.progress(0.5, "resting")
    time.sleep(seconds)


def search_without_end(run: runs.JobRun) -> None:
    """Searches for longer than anybody lives, and lets no other thread run meanwhile."""
    run.progress(0.5, "searching")
    re.match("(a+)+$", "a" * 60 + "b")


def _wait_while(path: str) -> None:
    while path and Path(path).exists():
        time.sleep(0.02)


def register_all() -> None:
    """Makes the kinds known."""
    for handler in (
        make_groups,
        fail_by_name,
        be_overtaken,
        be_given_away,
        be_cancelled,
        meet_another,
        fail_unexpectedly,
        tell_progress,
        lose_the_database,
        be_swept,
        make_group,
        add_in_parts,
        rest_in_parts,
        die,
        note_process,
        ask_for_too_much_memory,
        take_long,
        rest,
        search_without_end,
    ):
        kind = handler.__name__.replace("_", "-")
        registry.register({kind: registry.JobKind(f"{__name__}.{handler.__name__}", registry.HEAVY)})
        tasks.add_job_task(kind, registry.HEAVY)
    registry.register({"read-file": registry.JobKind(f"{__name__}.note_process", registry.READING)})
    tasks.add_job_task("read-file", registry.READING)


runs.PLATFORM_PACKAGES.add("tests")
register_all()
