"""A study at Prolific while calls fail and the process that asks is killed: both sides' books agree in the end."""

import json
import random
import time
from collections.abc import Callable
from typing import Any

from tests.annotation.crowds.prolific_panel import REWARD
from tests.annotation.crowds.prolific_scenes import BONUS, REJECTED
from tests.fakes.prolific import Fault, Faults, ProlificEmulator
from tests.installations import Installation

PRICE = REWARD + 50
PEOPLE = 8
PATIENCE = 300.0
MOST_SYNCS = 60


def scene(installation: Installation, call: str) -> dict[str, Any]:
    """A function of ``prolific_scenes`` inside the installation; what it told."""
    said = installation.python(f"from tests.annotation.crowds import prolific_scenes\nprolific_scenes.{call}")
    found: dict[str, Any] = json.loads(said.splitlines()[-1])
    return found


def kill_in_the_middle(installation: Installation, prolific: ProlificEmulator, *, after: int) -> None:
    """A real process compares; it is killed once so many more calls were carried out, if it lives so long."""
    limit = prolific.calls.total() + after
    process = installation.start("manage", "sync_crowd", "shapes-there", log="sync.log")
    end = time.monotonic() + PATIENCE
    while process.is_alive() and prolific.calls.total() < limit:
        assert time.monotonic() < end, "a comparison that does not end"
        time.sleep(0.001)
    installation.stop()


def to_the_end(installation: Installation, prolific: ProlificEmulator) -> None:
    """Later comparisons, until nothing is left to do or to say."""
    for _ in range(MOST_SYNCS):
        with prolific.lock:
            shown = {one.id: len(one.bonuses) for one in prolific.world.submissions.values()}
        if not scene(installation, f"go_on({shown!r})")["left"]:
            return
    raise AssertionError(f"calls are left after {MOST_SYNCS} comparisons")


def test_kills_and_lost_answers_lose_nothing_and_pay_nothing_twice(
    installation_on: Callable[[str], Installation], database: str
) -> None:
    draw = random.Random(11)
    faults = Faults(11, dict.fromkeys(Fault, 0.03), retry_after=0)
    with ProlificEmulator(faults=faults) as prolific:
        installation = installation_on(database)
        installation.env |= {
            "PROLIFIC_API_URL": prolific.url,
            "PROLIFIC_TOKEN": prolific.token,
            "PROLIFIC_WORKSPACE": "w1",
            "PROLIFIC_FEE_PERCENT": "33.3",
            "PUBLIC_URL": "https://quorum.example",
            "CROWD_CALL_SECONDS": "0",
            "CROWD_BACKOFF_SECONDS": "0.002",
            "CROWD_GRACE_SECONDS": "0",
        }
        code = scene(installation, "make()")["code"]
        kill_in_the_middle(installation, prolific, after=draw.randint(3, 7))
        to_the_end(installation, prolific)
        [there] = [one for one in prolific.world.studies.values() if one.status != "UNPUBLISHED"]
        came = {}
        for number in range(PEOPLE):
            submission, _ = prolific.enter(there.id, f"aa{number}")
            prolific.come_back(submission, code)
            came[f"aa{number}"] = submission
        scene(installation, f"work({came!r})")
        for _ in range(2):
            kill_in_the_middle(installation, prolific, after=draw.randint(4, 12))
        to_the_end(installation, prolific)

        spent = (PEOPLE - REJECTED) * PRICE + PEOPLE // 2 * (BONUS + 10)
        assert prolific.world.spent_cents == spent
        bonuses = [prolific.world.submissions[came[f"aa{number}"]].bonuses for number in range(PEOPLE)]
        assert bonuses == [[BONUS] if number % 2 else [] for number in range(PEOPLE)]
        rows = scene(installation, "rows()")
        assert rows["external_id"] == there.id
        assert rows["budget"] == rows["ledger"] == [0, spent]
        assert rows["kept"] == 0
        assert rows["sessions"] == {"approved": PEOPLE - REJECTED, "rejected": REJECTED}
        assert rows["integrity"] == []
        assert len([one for one in prolific.world.studies.values() if one.status != "UNPUBLISHED"]) == 1
