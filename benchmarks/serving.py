"""Measure how fast Quorum assigns and accepts HITs over HTTP, and check that it makes no mistakes.

    python -m benchmarks.serving --hits 200 --workers 1,10,50,100
    python -m benchmarks.serving --database postgresql --hits 10000 --most 300 --workers 50
    python -m benchmarks.serving --workers 30 --twice
    python -m benchmarks.serving --workers 30 --kill

Each run has a new database and a new study: triplets, ten per HIT, and three workers per HIT. Workers keep their
connections and do not pause, so every figure is at saturation, with driver, server and database on the
same cores. A cycle is one HIT: a worker's submission returns the next one. After each run the database is compared
with the responses of the server. PostgreSQL is the server that TEST_DATABASE_URL names. The web server listens on
127.0.0.1 only, and ends automatically.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path

from tests.crowd import AUDIT, Person, Server, all_at_once
from tests.installations import Installation, Installations, free_port, until

WANTED, SIZE = 3, 10
MAKE_STUDY = """
from tests.studies import make_dataset, make_study
# ten images give {hits} HITs: each triplet is one of 6 references x 5 other captions of an image
make_dataset(images={images}, references=12, systems=0)
study = make_study(
    "triplet", units_per_hit={size}, judgments_per_unit={wanted}, controls={{"per_hit": 0}},
    sampling={{"pairs": {{"HC": {hits}}}, "references": 10, "split": "test"}},
)
print(study.slug, study.hits.count())
"""
LIMIT = 600.0  # seconds after which a run requests no more work


def children(pid: int) -> list[int]:
    """Return the ids of the process and of all its descendants."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += children(int(child))
    return found


def cpu_seconds(pids: list[int]) -> float:
    """Return the user and system time of the processes, including their ended children."""
    total = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except FileNotFoundError:
            continue
        total += sum(int(field) for field in fields[11:13])
    return total / os.sysconf("SC_CLK_TCK")


def memory(pids: list[int]) -> float:
    """Return the memory of the processes in MiB. Pages that they share are counted once."""
    total = 0
    for pid in pids:
        with suppress(FileNotFoundError, ProcessLookupError):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            total += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def postgres_pids() -> list[int]:
    """Return the ids of all PostgreSQL processes. The server under test must be the only one that is busy."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                name = (entry / "comm").read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if name.startswith("postgres"):
                found.append(int(entry.name))
    return found


def percentile(values: list[float], share: float) -> float:
    """Return, in milliseconds, the value below which ``share`` of the values lie."""
    ordered = sorted(values)
    return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class WebServer:
    """gunicorn, started as by `make run`.

    The servers of the tests differ: they are forked from a fully loaded process.
    """

    def __init__(self, installation: Installation) -> None:
        installation.collect_static()
        self._env = installation.env | {"DJANGO_SETTINGS_MODULE": "config.settings"}
        self._log = installation.folder / "server.log"
        self.start()

    def start(self) -> None:
        bind = f"127.0.0.1:{free_port()}"
        self.url = f"http://{bind}"
        command = ["gunicorn", "--config", "python:config.gunicorn", "--bind", bind, "config.wsgi"]
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *command],
                env=self._env,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        until(self._answers, what="the server's first answer")

    def _answers(self) -> bool:
        assert self.process.poll() is None, self._log.read_text()
        try:
            with urllib.request.urlopen(f"{self.url}/health/live", timeout=10):  # noqa: S310 - our own
                return True
        except OSError:
            return False

    def kill(self) -> None:
        """Kill the server without letting it finish requests."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def kill_after(web: WebServer, server: Server, done: threading.Semaphore, count: int) -> None:
    """Kill the server after ``count`` HITs are done, and start it again at another address."""
    for _ in range(count):
        done.acquire()
    web.kill()
    web.start()
    server.url = web.url


def run_server(installation: Installation, options: argparse.Namespace, workers: int) -> bool:
    """Make a study and start a server, and let simulated people work. Return whether no promise was broken."""
    images = max(20, options.hits // 25)
    made = installation.python(
        MAKE_STUDY.format(hits=options.hits, images=2 * images, size=SIZE, wanted=WANTED)
    )
    slug, hits = made.splitlines()[-1].split()
    web = WebServer(installation)
    try:
        return run_people(installation, options, workers, web, slug, int(hits))
    finally:
        web.kill()


def run_people(
    installation: Installation,
    options: argparse.Namespace,
    workers: int,
    web: WebServer,
    slug: str,
    hits: int,
) -> bool:
    """Let simulated people work. Print the line of the table, and return whether no promise was broken."""
    processes = int(os.environ.get("WEB_PROCESSES") or (2 if options.database == "postgresql" else 1))
    # Wait for all processes. Otherwise the first would accept all connections, and keep them.
    until(lambda: len(children(web.process.pid)) > processes, what="the server's processes")
    time.sleep(0.5)
    server = Server(web.url)
    people = [Person(server, slug, f"w-{number:04d}", twice=options.twice) for number in range(workers)]
    start = time.perf_counter()
    all_at_once([person.join for person in people])
    joined = time.perf_counter() - start
    joins = [seconds for person in people for seconds in person.seconds]
    for person in people:
        person.seconds.clear()

    done = threading.Semaphore(0)
    end = time.monotonic() + LIMIT
    most = None if options.most is None else -(-options.most // workers)
    actions = [partial(person.work, done.release, most=most, until=end) for person in people]
    if options.kill:
        wanted = hits * min(WANTED, workers) if most is None else most * workers
        actions.append(partial(kill_after, web, server, done, wanted // 2))
    pids = children(web.process.pid)
    databases = postgres_pids() if options.database == "postgresql" else []
    before, before_db = cpu_seconds(pids), cpu_seconds(databases)
    start = time.perf_counter()
    all_at_once(actions)
    took = time.perf_counter() - start
    cpu, held = cpu_seconds(pids) - before, memory(pids)
    if options.database == "postgresql":
        # processes of connections that were opened after the start begin at zero
        cpu += max(0.0, cpu_seconds(postgres_pids()) - before_db)
    for person in people:
        person.hang_up()

    found = json.loads(installation.python(AUDIT).splitlines()[-1])
    acknowledged = sorted(one for person in people for one in person.acknowledged)
    statuses = sum((person.statuses for person in people), Counter())
    seconds = [second for person in people for second in person.seconds]
    failures = {
        "lost or unacknowledged": len(set(acknowledged) ^ set(found["submitted"])),
        "acknowledged twice": len(acknowledged) - len(set(acknowledged)),
        "worker twice on a HIT": found["worker_twice_on_a_hit"],
        "more than k": sum(count > WANTED for count in found["per_hit"]),
        "fewer than k": 0
        if most is not None or workers < WANTED
        else found["hits"] * WANTED - sum(found["per_hit"]),
        "half stored": found["incomplete"] + found["judgments_of_others"],
        "mixed up": found["wrong"],
        "5xx": sum(count for status, count in statuses.items() if status >= 500),
    }
    broken = {name: count for name, count in failures.items() if count}
    cost = "-" if options.kill else f"{1000 * cpu / max(1, len(acknowledged)):.1f}"
    print(
        f"{options.database:10} {hits:6} HITs {workers:4} workers: "
        f"{len(acknowledged) / took:6.1f} HITs/s  mean {1000 * sum(seconds) / len(seconds):5.0f}  "
        f"p50 {percentile(seconds, 0.5):5.0f}  p95 {percentile(seconds, 0.95):5.0f}  "
        f"p99 {percentile(seconds, 0.99):5.0f} ms  CPU {cost} ms/HIT  {held:.0f} MiB  "
        f"{len(acknowledged)} HITs by {sum(1 for person in people if person.acknowledged)} workers  "
        f"join p50 {percentile(joins, 0.5):.0f} ms, all in {joined:.1f} s  "
        f"{'exact' if not broken else f'BROKEN {broken}'}",
        flush=True,
    )
    return not broken


def main() -> int:
    """Run what the options request. Return 1 if a promise was broken, else 0."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--hits", type=int, default=200)
    parser.add_argument("--workers", default="1,10,50,100", help="how many at once, separated by commas")
    parser.add_argument("--most", type=int, help="stop after so many HITs, where a study is large")
    parser.add_argument("--twice", action="store_true", help="send every submission twice at the same moment")
    parser.add_argument("--kill", action="store_true", help="kill -9 the server halfway and start it again")
    options = parser.parse_args()
    url = os.environ.get("TEST_DATABASE_URL")
    if options.database == "postgresql" and not url:
        parser.error("TEST_DATABASE_URL names no PostgreSQL server")
    kept = True
    with tempfile.TemporaryDirectory(prefix="quorum-serving-") as folder:
        maker = Installations(Path(folder), url)
        try:
            for workers in options.workers.split(","):
                with maker.fresh(options.database) as installation:
                    kept &= run_server(installation, options, int(workers))
        finally:
            maker.close()
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
