"""Long work for the tests of jobs, registered where this module is imported."""

import time
from pathlib import Path
from typing import Any

from django.contrib.auth.models import Group

from judgments import jobs
from judgments.models import Job


class PictureMissing(Exception):
    """Stands for a named error of ours; see `fail_by_name`."""


def make_groups(run: jobs.Run, *, count: int, gate: str = "", slow: str = "") -> dict[str, Any]:
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


def fail_by_name(run: jobs.Run, *, path: str) -> None:
    """Ends with an error that says what was wrong, after it wrote something."""
    with run.commit():
        Group.objects.create(name="before the failure")
        raise PictureMissing(f"{path}, line 3: no picture of that name; expected a file in the folder.")


def be_overtaken(run: jobs.Run) -> None:
    """Writes, but only after another worker was given the job."""
    Job.objects.filter(pk=run.job_id).update(owner="another worker")
    with run.commit():
        Group.objects.create(name="of the slower worker")


def fail_unexpectedly(run: jobs.Run) -> None:
    """Ends with an error that nobody thought of."""
    raise ZeroDivisionError("one over nothing")


def _wait_while(path: str) -> None:
    while path and Path(path).exists():
        time.sleep(0.02)


def register_all() -> None:
    """Makes the kinds known."""
    for handler in (make_groups, fail_by_name, be_overtaken, fail_unexpectedly):
        jobs.register(handler.__name__.replace("_", "-"), f"{__name__}.{handler.__name__}")


jobs.OURS.add("tests")
register_all()
