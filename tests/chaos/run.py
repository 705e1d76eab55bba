"""One run of chaos: what is done, what is killed, and what must agree afterwards."""

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from multiprocessing.process import BaseProcess
from typing import Any

import psycopg

from tests import forking
from tests.chaos.people import Turk, take_part_here
from tests.chaos.services import Service
from tests.chaos.uploads import ROWS, Uploader, hostile_files
from tests.crowd import Line, Person, Server, all_at_once
from tests.fakes.mturk import MTurkEmulator, mixed
from tests.installations import Installation, free_port, until

SHARE = 0.2  # of all calls to the crowd that go wrong
HERE, THERE = 14, 6  # people
HITS, WANTED = 16, 3  # of the study here, and people for each
SLUG = "shapes-by-triplet"  # the study there
REWARD, BONUS = 11, 7
FEE, BONUS_FEE = 2, 1  # 20 % of them, half up
UPLOADER, HOSTILE = "uploader", "hostile"  # accounts
LONGEST_PAUSE = 1.5  # seconds between two kills
MOST_SYNCS = 40
ROUNDS, PARTS = 4, 12  # of jobs that are asked for; of a job that is computed in parts
PAUSE = 1.0  # seconds between two calls for jobs at most
KINDS = "tests.judgments.job_kinds"
UNDER_WAY = "SELECT count(*) FROM annotation_crowdcall WHERE state IN ('waiting', 'started')"


@dataclass
class Outcome:
    """What a run saw."""

    kills: Counter[str] = field(default_factory=Counter)
    faults: dict[str, int] = field(default_factory=dict)
    said: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    jobs: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0  # job, in seconds from asking to its end
    latest_start: float = 0.0  # of an import of 20 kB, in seconds after asking
    uploads: dict[str, int] = field(default_factory=dict)  # by account
    seconds: float = 0.0


class Chaos:
    """A study here and one at the crowd, on an installation of its own, with all that it needs to run.

    Args:
        hits: of the study at the crowd, for ``people`` people each.
        kills: two thirds while people work, the rest while the crowd is told what was decided.
        services: what is killed besides web servers and workers, by name.
        each: web servers, each on a port of its own, background workers, and readers, which are workers for files
            alone; one of them is killed at a time.
    """

    def __init__(
        self,
        installation: Installation,
        services: dict[str, Service],
        *,
        seed: int,
        hits: int = 24,
        people: int = 2,
        kills: int = 15,
        each: int = 1,
    ) -> None:
        self.installation, self.services, self.seed = installation, services, seed
        self.hits, self.people, self.kills = hits, people, kills
        self.rng, self.outcome = random.Random(seed), Outcome()
        self.ports = [free_port() for _ in range(each)]
        self.servers = [Server(f"http://127.0.0.1:{port}") for port in self.ports]
        for server, other in zip(self.servers, self.servers[1:] + self.servers[:1], strict=True):
            server.other = other
        self.running: dict[str, list[BaseProcess]] = {"web": [], "worker": [], "reader": [], "beat": []}

    def run(self) -> Outcome:
        """Everything; fails where anything does not agree."""
        began = time.monotonic()
        with MTurkEmulator(seed=self.seed, faults=mixed(SHARE), balance_cents=10_000_000) as emulator:
            self.emulator = emulator
            self.installation.env |= {
                "AWS_ENDPOINT_URL_MTURK": emulator.endpoint_url,
                "AWS_ACCESS_KEY_ID": "emulated",
                "AWS_SECRET_ACCESS_KEY": "emulated",
                "MTURK_SITES": emulator.endpoint_url,
                "PUBLIC_URL": self.servers[0].url,
                "CROWD_CALL_SECONDS": "5",
                "CROWD_BACKOFF_SECONDS": "0.002",
                "CROWD_GRACE_SECONDS": "0",
                "CROWD_SYNC_SECONDS": "2",
                "JOB_SWEEP_SECONDS": "1",
                "JOB_STALE_SECONDS": "6",
                "LOG_LEVEL": "WARNING",
            }
            here = self.scene("make_local()")
            assert here["hits"] == HITS
            self.watched = self.scene("make_watched()")
            self.scene(f"make_uploaders({[UPLOADER, HOSTILE]})")
            assert self.scene(f"make({self.hits}, {self.people})")["hits"] == self.hits
            hostile_files()  # making them takes a while
            for _ in self.servers:
                for name in ("web", "worker", "reader"):
                    self.start(name)
            self.start("beat")
            with self.killing(self.kills * 2 // 3):
                self.everybody_works(here["slug"])
                posted = self.outcome.said["done"] + self.outcome.said["saved"]
                confirmed = "SELECT count(*) FROM annotation_crowdsession WHERE confirmed"
                until(
                    lambda: self.counted(confirmed) == posted, what="the crowd's word on all that was posted"
                )
            self.outcome.said += Counter(self.scene(f"decide({self.seed})"))
            with self.killing(self.kills // 3):
                until(lambda: self.counted(UNDER_WAY) == 0, what="the end of all calls to the crowd")
            self.agree_jobs()
            self.kill("beat")
            for _ in self.servers:
                for name in ("web", "worker", "reader"):
                    self.kill(name)
            emulator.clock.advance(days=31)  # the lifetime ends, and the crowd approves what nobody decided
            self.sync_to_the_end()
            self.agree()
            self.agree_here(here["slug"])
            self.outcome.faults = dict(emulator.faults.counts)
        self.outcome.seconds = time.monotonic() - began
        return self.outcome

    def scene(self, call: str) -> dict[str, Any]:
        """A function of ``scenes`` inside the installation; what it printed."""
        told = self.installation.python(f"from tests.chaos import scenes\nscenes.{call}")
        found: dict[str, Any] = json.loads(told.splitlines()[-1])
        return found

    # What is killed

    def kill(self, name: str) -> None:
        """Of several web servers or workers, the one that has run longest."""
        if name in self.services:
            self.services[name].kill()
            return
        process = self.running[name].pop(0)
        forking.kill(process)
        self.installation.processes.remove(process)

    def start(self, name: str) -> None:
        if name in self.services:
            self.services[name].start()
            return
        if name == "web":
            self.ports.append(port := self.ports.pop(0))  # that of the server which was killed
            self.installation.start_server(port=port)
        elif name == "beat":
            self.installation.start_beat()
        else:
            queues = "reading" if name == "reader" else "interactive,crowd,heavy,parts"
            self.installation.start_worker(f"--queues={queues}", include=KINDS, beat=False)
        self.running[name].append(self.installation.processes[-1])

    @contextmanager
    def killing(self, times: int) -> Iterator[None]:
        """Kill and start one after the other while the block runs, so many times; then let it come to an end."""

        def kill_on() -> None:
            names = list[str]()
            for _ in range(times):
                time.sleep(self.rng.uniform(0, LONGEST_PAUSE))
                if not names:  # each in its turn, in another order every time
                    names = [*self.running, *self.services]
                    self.rng.shuffle(names)
                self.kill(name := names.pop())
                self.outcome.kills[name] += 1
                time.sleep(self.rng.uniform(0, LONGEST_PAUSE / 2))
                self.start(name)

        with ThreadPoolExecutor(1) as pool:
            killing = pool.submit(kill_on)
            yield
            killing.result()  # what failed there fails the run

    # What is done

    def everybody_works(self, slug: str) -> None:
        servers, asked = cycle(self.servers), threading.Event()
        self.uploader, hostile = Uploader(next(servers), UPLOADER), Uploader(next(servers), HOSTILE)
        with ExitStack() as stack:
            self.people_here = [
                Person(next(servers), slug, f"w-{number:04d}", twice=not number % 4, patient=True)
                for number in range(HERE)
            ]
            for person in self.people_here:
                stack.callback(person.hang_up)
            self.people_there = [
                Turk(self.emulator.turker(f"AP{number}"), self.seed * 100 + number, next(servers))
                for number in range(THERE)
            ]
            all_at_once(
                [
                    *(
                        partial(take_part_here, one, self.seed * 100 + n)
                        for n, one in enumerate(self.people_here)
                    ),
                    *(partial(one.take_part, self.all_is_published) for one in self.people_there),
                    partial(self.ask_for_jobs, random.Random(self.seed + 1), asked),
                    partial(self.uploader.upload_tables, asked.is_set, random.Random(self.seed + 2)),
                    partial(hostile.upload_bombs, asked.is_set, random.Random(self.seed + 3)),
                ]
            )
        statuses = sum((person.statuses for person in self.people_here), Counter())
        same("failures of the server", {status for status in statuses if status >= 500}, set())
        self.outcome.said = sum((turk.said for turk in self.people_there), Counter())
        self.outcome.uploads = {one.account: one.uploads for one in (self.uploader, hostile)}

    def ask_for_jobs(self, rng: random.Random, asked: threading.Event) -> None:
        """Ask for jobs of all queues; what is asked again as its answer was lost may be there twice."""
        line = Line(self.servers[-1], self.watched["key"], patient=True)
        study = self.watched["slug"]
        calls: list[tuple[str, dict[str, Any]]] = [
            ("exports/", {"study": study, "format": "jsonl"}),
            (f"studies/{study}/aggregate/", {}),
            ("exports/", {"study": study, "format": "csv"}),
            ("rehearsals/", {"study": self.watched["draft"], "workers": 6, "seed": 4}),
        ]
        try:
            for _ in range(ROUNDS):
                for path, body in rng.sample(calls, len(calls)):
                    status, reply = line.call("POST", f"/api/{path}", body)
                    # one of two requests may have been carried out before its server was killed, and but for
                    # exports the same work may be under way
                    assert status == 202 or (status == 409 and (line.repeated or path != "exports/")), (
                        path,
                        status,
                        reply,
                    )
                    time.sleep(rng.uniform(0, PAUSE))
                until(self.enqueued_more, what="the database")
        finally:
            line.close()
            asked.set()

    def enqueued_more(self) -> bool:
        """Jobs that no call asks for."""
        fine, _, said = forking.run(
            f"from tests.chaos import scenes\nscenes.ask({PARTS})", self.installation.env
        )
        assert fine or "OperationalError" in said, said
        return fine

    def all_live(self) -> None:
        """Fails where a process ended that nobody killed."""
        ended = [
            name
            for name, processes in self.running.items()
            for process in list(processes)
            if not process.is_alive() and process in processes
        ]
        same("what ended by itself", ended, [])

    def all_is_published(self) -> bool:
        self.all_live()
        return len(self.emulator.dump()["hits"]) >= self.hits

    def counted(self, question: str) -> int | None:
        """A number from the database, if it answers."""
        self.all_live()
        try:
            return int(self.installation.query(question)[0][0])
        except psycopg.OperationalError:
            return None

    def sync_to_the_end(self) -> None:
        report = self.installation.folder / "report.json"
        for _ in range(MOST_SYNCS):
            self.installation.manage("sync_crowd", SLUG, "--output", str(report))
            kinds = {one["kind"] for one in json.loads(report.read_text())["discrepancies"]}
            if not self.counted(UNDER_WAY) and not kinds & {"not-looked-at", "stopped"}:
                return
        raise AssertionError(f"calls are under way after all: {self.scene('rows()')['problems']}")

    # What must agree

    def retry_given_up(self) -> None:
        """Do what an administrator does with a job that was given up, as three kills of its worker hit it."""
        given_up = (
            "SELECT id FROM judgments_job WHERE state = 'failed' "
            "AND error LIKE 'The worker was gone %, 3 times over.'"
        )
        for (job,) in self.installation.query(given_up):
            self.installation.manage("retry_job", str(job))

    def agree_jobs(self) -> None:
        """Every job was done, soon, and once."""
        under_way = (
            "SELECT count(*) FROM judgments_job WHERE state IN ('queued', 'running') "
            "AND (kind <> 'sync_crowd' OR attempts >= 3)"
        )
        until(lambda: self.counted(under_way) == 0, what="the end of all jobs")
        self.retry_given_up()
        found = self.scene("jobs()")
        self.outcome.jobs = Counter(found["done"])
        self.outcome.slowest, self.outcome.latest_start = found["slowest"], found["latest_start"]
        same("jobs that failed", found["failed"], [])
        for kind, least in {"export": ROUNDS, "add-in-parts": ROUNDS, "aggregate": 1, "rehearse": 1}.items():
            assert found["done"].get(kind, 0) >= least, (kind, found["done"])
        same("jobs in parts and what they left", found["added"], found["in_parts"])
        same("sums", found["sums"], [sum(number**2 for number in range(PARTS))])
        same("files of exports", found["files"], found["exports"])
        same("contents of exports", found["contents"], 2)
        same("results of rehearsals", found["rehearsals"], found["done"]["rehearse"])
        same("answers in a rehearsal", len(found["answers"]), 1)
        same("results of aggregations", found["aggregations"], 1)
        same("datasets that were lost", sorted(set(self.uploader.datasets) - set(found["datasets"])), [])
        same("captions of a dataset", set(found["datasets"].values()) - {ROWS}, set())
        same("imports of datasets", found["done"].get("import_dataset", 0), len(found["datasets"]))

    def agree_here(self, slug: str) -> None:
        """Every submission that was acknowledged is there once, with the answers that its person gave."""
        found = self.scene(f"local({slug!r})")
        acknowledged = [one for person in self.people_here for one in person.acknowledged]
        self.outcome.acknowledged = (
            len(acknowledged) + self.outcome.said["done"] + self.outcome.said["unposted"]
        )
        same("acknowledged", sorted(set(acknowledged)), sorted(acknowledged))
        same("handed in here", found["submitted"], sorted(acknowledged))
        same("people for each HIT", found["per_hit"], [WANTED] * HITS)
        same("judgments here", found["judgments"], WANTED * HITS * 3)
        for nothing in (
            "worker_twice_on_a_hit",
            "incomplete",
            "judgments_of_others",
            "wrong",
            "open_slots",
            "held",
        ):
            same(nothing, found[nothing], 0)

    def agree(self) -> None:
        """Every row on one side has its like on the other, to the cent."""
        rows, dump, ledger = self.scene("rows()"), self.emulator.dump(), self.emulator.ledger()
        assert set(rows["calls"]) == {"done"}, (rows["calls"], rows["problems"])
        same("integrity", rows["integrity"], [])
        # money
        same("our books", rows["budget"], rows["ledger"])
        same("spent", rows["budget"], [0, ledger["spent"]])
        same("held", ledger["held"], rows["kept"])
        # HITs
        same("HITs", sorted(rows["publications"].values()), sorted(one["hit_id"] for one in dump["hits"]))
        same("HITs of one name", len({one["annotation"] for one in dump["hits"]}), self.hits)
        # what was handed in, and what was decided
        theirs = Counter(
            (one["hit_id"], turn["assignment_id"], turn["state"].lower())
            for one in dump["hits"]
            for turn in one["turns"]
            if turn["state"] in ("Submitted", "Approved", "Rejected")
        )
        ours = Counter(
            (hit, external_id, status)
            for hit, external_id, _, status, confirmed, _ in rows["sessions"]
            if confirmed
        )
        same("sessions", sorted((ours - theirs).elements()), sorted((theirs - ours).elements()))
        same("how often a session is there", set(theirs.values()), {1})
        approved = sum(state == "approved" for _, _, state in theirs)
        said = self.outcome.said
        same("rewards", rows["rewards"], approved)
        same("bonuses", [rows["bonuses"], len(dump["bonuses"])], [said["bonus"], said["bonus"]])
        same("the account", ledger["spent"], approved * (REWARD + FEE) + said["bonus"] * (BONUS + BONUS_FEE))
        # answers
        stored = sum(count for name, count in rows["assignments"].items() if name.endswith(" 1"))
        answered = said["done"] + said["saved"] + said["unposted"]
        same("judgments", [stored, rows["judgments"]], [answered, answered])
        same("kept apart", rows["assignments"].get("apart 1", 0), said["unposted"])
        same("handed in", len(theirs), said["done"] + said["saved"])


def same(what: str, found: object, expected: object) -> None:
    """Says what differs."""
    assert found == expected, f"{what}: {str(found)[:1000]} instead of {str(expected)[:1000]}"
