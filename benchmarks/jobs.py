"""Measure the cost of the queue of jobs, the time until a job starts, and whether accounts take turns.

    python -m benchmarks.jobs                                   # SQLite, messages in files
    python -m benchmarks.jobs --database postgresql --broker    # the servers of TEST_DATABASE_URL and TEST_REDIS_URL

There are three measurements, each on a new installation with one Celery worker of four processes, and beat:

- many small jobs that do nothing: processor time of all of Quorum's processes per job (user and system)
- single jobs on an idle server: seconds from the row to the start
- eight accounts with 200 jobs of a tenth of a second each, and a ninth with one: when the ninth account's job starts
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks.serving import children, cpu_seconds
from tests.installations import Installation, Installations, until

KINDS = "tests.judgments.job_kinds"
ACCOUNTS = 50
PREPARATION_SCRIPT = f"""
import sys, time
from django.contrib.auth.models import User
from {KINDS} import queues
from judgments.models import Job

def account(name):
    return User.objects.get_or_create(username=name)[0]
"""
BULK_SCRIPT = """
accounts = [account(f"account {{n}}") for n in range({accounts})]
for number in range({jobs}):
    queues.enqueue(kind="make-groups", args={{"count": 0}}, user=accounts[number % {accounts}])
print(time.process_time())
"""
SINGLE_SCRIPT = """
for number in range({jobs}):
    job = queues.enqueue(kind="make-groups", args={{"count": 0}})
    while Job.objects.filter(pk=job.pk).exclude(state="done").exists():
        time.sleep(0.02)
    time.sleep(0.3 + 0.037 * (number % 10))
for job in Job.objects.filter(kind="make-groups", created_by=None):
    print((job.started_at - job.created_at).total_seconds())
"""
TURNS_SCRIPT = """
for name in "abcdefgh":
    for number in range(200):
        queues.enqueue(kind="rest", args={"seconds": 0.1}, user=account(name))
time.sleep(2)
job = queues.enqueue(kind="rest", args={"seconds": 0.1}, user=account("ninth"))
while Job.objects.filter(pk=job.pk, started_at=None).exists():
    time.sleep(0.02)
job.refresh_from_db()
print((job.started_at - job.created_at).total_seconds())
"""


@contextmanager
def worker(installation: Installation, processes: int = 4) -> Iterator[int]:
    """Start a worker, and yield its process id when it is ready."""
    command = ["celery", "--quiet", "--app", "config", "worker", "--beat", f"--include={KINDS}"]
    command.append(f"--concurrency={processes}")
    with (installation.folder / "worker.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", *command], env=installation.env, stdout=log, stderr=log
        )
    try:
        installation.python(PREPARATION_SCRIPT + 'queues.enqueue(kind="make-groups", args={"count": 1})')
        until(lambda: waiting_jobs(installation) == 0, what="the first job")
        yield process.pid
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            for pid in children(process.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, 9)


def waiting_jobs(installation: Installation) -> int:
    ((count,),) = installation.query(
        "SELECT count(*) FROM judgments_job WHERE state IN ('queued', 'running')"
    )
    return int(count)


def small_jobs(installation: Installation, jobs: int) -> str:
    with worker(installation) as pid:
        before, began = cpu_seconds(children(pid)), time.monotonic()
        script = PREPARATION_SCRIPT + BULK_SCRIPT.format(accounts=ACCOUNTS, jobs=jobs)
        asking = float(installation.python(script).split()[-1])
        while waiting_jobs(installation):
            time.sleep(0.5)
        wall, working = time.monotonic() - began, cpu_seconds(children(pid)) - before
    return (
        f"{jobs} small jobs: {1000 * asking / jobs:.1f} ms of processor each to ask for, "
        f"{1000 * working / jobs:.1f} ms to carry out; {jobs / wall:.0f} a second"
    )


def idle_starts(installation: Installation, jobs: int) -> str:
    with worker(installation):
        lines = installation.python(PREPARATION_SCRIPT + SINGLE_SCRIPT.format(jobs=jobs)).split()
    seconds = sorted(float(line) for line in lines[-jobs:])
    return f"start on an idle server: median {statistics.median(seconds):.2f} s, longest {seconds[-1]:.2f} s"


def measure_turns(installation: Installation) -> str:
    with worker(installation):
        seconds = installation.python(PREPARATION_SCRIPT + TURNS_SCRIPT).split()[-1]
    return f"the ninth account's job begins after {float(seconds):.2f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--broker", action="store_true", help="the Redis of TEST_REDIS_URL instead of files")
    parser.add_argument("--jobs", type=int, default=10_000)
    arguments = parser.parse_args()
    broker = os.environ["TEST_REDIS_URL"] if arguments.broker else ""
    print(f"{arguments.database}, messages in {'Redis' if broker else 'files'}")
    with tempfile.TemporaryDirectory() as folder:
        made = Installations(Path(folder), os.environ.get("TEST_DATABASE_URL"))
        for measure in (
            lambda installation: idle_starts(installation, 30),
            measure_turns,
            lambda installation: small_jobs(installation, arguments.jobs),
        ):
            with made.fresh(arguments.database) as installation:
                installation.env["CELERY_BROKER_URL"] = broker
                print(measure(installation), flush=True)


if __name__ == "__main__":
    main()
