"""One fault run: what is done, what goes wrong, and what must agree afterwards."""

from __future__ import annotations

import json
import random
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests import forking
from tests.fakes.mturk import MTurkEmulator, mixed
from tests.installations import Installation

SHARE = 0.2  # of all calls
KILLS = 10
REPORT = "report.json"
SLUG = "shapes-by-triplet"
REWARD, BONUS = 11, 7
FEE, BONUS_FEE = 2, 1  # 20 % of them, half up
MOST_SYNCS = 40
PATIENCE = 600.0


@dataclass
class Outcome:
    """What a run saw."""

    kills: int = 0
    syncs: int = 0
    seconds: float = 0.0
    faults: dict[str, int] = field(default_factory=dict)
    said: dict[str, Any] = field(default_factory=dict)


class FaultRun:
    """A study of ``hits`` HITs for ``people`` people each, on an installation of its own."""

    def __init__(
        self,
        installation: Installation,
        *,
        seed: int,
        hits: int,
        people: int = 1,
        kills: int = KILLS,
    ) -> None:
        self.installation, self.seed, self.hits, self.people = installation, seed, hits, people
        self.rng = random.Random(seed)
        self.kills = kills
        self.outcome = Outcome()

    def run(self) -> Outcome:
        """Everything; fails where anything does not agree."""
        began = time.monotonic()
        with MTurkEmulator(seed=self.seed, faults=mixed(SHARE), balance_cents=10_000_000) as emulator:
            self.emulator = emulator
            self.installation.env |= {
                "AWS_ENDPOINT_URL_MTURK": emulator.endpoint_url,
                "AWS_ACCESS_KEY_ID": "emulated",
                "AWS_SECRET_ACCESS_KEY": "emulated",
                "PUBLIC_URL": "http://127.0.0.1:1",
                "CROWD_CALL_SECONDS": "0",
                "CROWD_BACKOFF_SECONDS": "0.002",
                "CROWD_GRACE_SECONDS": "0",
                "LOG_LEVEL": "WARNING",
            }
            made = self.scene(f"make({self.hits}, {self.people})")
            assert made["hits"] == self.hits
            self.sync_while_killed(self.kills * 4 // 10, calls=self.hits)
            self.nothing_twice()
            self.outcome.said = self.scene(f"work({self.seed})")
            self.sync_while_killed(self.kills * 3 // 10, calls=self.hits // 2)
            self.outcome.said |= self.scene(f"decide({self.seed})")
            self.sync_while_killed(self.kills - self.outcome.kills, calls=self.hits)
            emulator.clock.advance(days=31)  # the lifetime ends, and the crowd approves what nobody decided
            self.sync_while_killed(0, calls=0)
            self.agree()
            self.outcome.faults = dict(emulator.faults.counts)
        self.outcome.seconds = time.monotonic() - began
        return self.outcome

    def scene(self, call: str) -> dict[str, Any]:
        """A function of ``scenes`` inside the installation; what it told."""
        told = self.installation.python(f"from tests.fault_runs import scenes\nscenes.{call}")
        found: dict[str, Any] = json.loads(told.splitlines()[-1])
        return found

    def sync_while_killed(self, kills: int, *, calls: int) -> None:
        """Kill the process that many times in the middle of its work, then let it come to an end."""
        for _ in range(kills):
            limit = self.calls() + self.rng.randint(1, max(2, calls // (kills + 1)))
            if self.killed(limit):
                self.outcome.kills += 1
        for _ in range(MOST_SYNCS):
            before = self.calls()
            assert not self.killed(None)
            self.outcome.syncs += 1
            if not self.under_way() and not self.unfinished():
                return
            assert self.calls() > before, "a sync asked nothing, and calls are under way"
        raise AssertionError(
            f"calls are under way after {MOST_SYNCS} syncs: {self.scene('rows()')['problems']}"
        )

    def killed(self, limit: int | None) -> bool:
        """A real process syncs; whether it was killed, when so many calls had come, before it ended by itself."""
        process = self.installation.start(
            "manage", "sync_crowd", SLUG, "--output", str(self.installation.folder / REPORT), log="sync.log"
        )
        end = time.monotonic() + PATIENCE
        while process.is_alive():
            assert time.monotonic() < end, "a sync that does not end"
            if limit is not None and self.calls() >= limit:
                forking.kill(process)
                if process.exitcode == -signal.SIGKILL:
                    return True
            time.sleep(0.002)
        assert process.exitcode == 0, (self.installation.folder / "sync.log").read_text()[-3000:]
        return False

    def calls(self) -> int:
        """How many arrived at the crowd."""
        return sum(self.emulator.service.counts.values())

    def unfinished(self) -> list[str]:
        """What the last sync says it could not do."""
        report = json.loads((self.installation.folder / REPORT).read_text())
        kinds = {one["kind"] for one in report["discrepancies"]}
        return sorted(kinds & {"not-looked-at", "stopped"})

    def under_way(self) -> int:
        """Calls that are not done."""
        rows = self.installation.query(
            "SELECT count(*) FROM annotation_crowdcall WHERE state IN ('waiting', 'started')"
        )
        return int(rows[0][0])

    def nothing_twice(self) -> None:
        """After publishing: one HIT for each, and the money of each reserved."""
        rows, there = self.scene("rows()"), self.emulator.dump()["hits"]
        assert len(there) == self.hits
        assert sorted(rows["publications"].values()) == sorted(one["hit_id"] for one in there)
        assert len({one["annotation"] for one in there}) == self.hits
        held = self.emulator.ledger()["held"]
        assert rows["budget"] == [held, 0]
        assert held == self.hits * self.people * (REWARD + FEE)

    def agree(self) -> None:
        """In the end: every row on one side has its like on the other, to the cent."""
        rows, dump, ledger = self.scene("rows()"), self.emulator.dump(), self.emulator.ledger()
        assert set(rows["calls"]) == {"done"}, (rows["calls"], rows["problems"])
        same("integrity", rows["integrity"], [])
        # money
        same("our books", rows["budget"], rows["ledger"])
        same("spent", rows["budget"], [0, ledger["spent"]])
        same("held", ledger["held"], rows["kept"])
        # HITs
        same("HITs", sorted(rows["publications"].values()), sorted(one["hit_id"] for one in dump["hits"]))
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
        said = Counter(self.outcome.said)
        same("rewards", rows["rewards"], approved)
        same("bonuses", [rows["bonuses"], len(dump["bonuses"])], [said["bonus"], said["bonus"]])
        same("the account", ledger["spent"], approved * (REWARD + FEE) + said["bonus"] * (BONUS + BONUS_FEE))
        # answers
        stored = sum(count for name, count in rows["assignments"].items() if name.endswith(" 1"))
        answered = said["done"] + said["saved"] + said["unposted"]
        same("judgments", [stored, rows["judgments"]], [answered, answered])
        same("kept apart", rows["assignments"].get("apart 1", 0), said["unposted"])
        same("handed in", len(theirs), said["done"] + said["saved"] + said["empty"])


def same(what: str, found: object, expected: object) -> None:
    """Says what differs."""
    assert found == expected, f"{what}: {str(found)[:1000]} instead of {str(expected)[:1000]}"
