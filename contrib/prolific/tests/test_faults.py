"""A study at Prolific whose calls fail or whose processes are killed: the sums on both sides agree afterwards."""

import json
import random
import time
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from annotation.crowds.base import Ability
from annotation.crowds.opening import begin_opening, close_study
from annotation.crowds.outbox.resolution import resolve_as_done, resolve_as_not_done
from annotation.crowds.panel.endings import end_panel_session
from annotation.crowds.publishing import ask_to_extend
from annotation.crowds.qualifications import give_qualification
from annotation.crowds.sync.run import sync_with_crowd
from annotation.models import CrowdCall, CrowdSession, Publication
from annotation.money.payments import decide_session, pay_bonus
from contrib.prolific.client import open_client
from contrib.prolific.tests.emulator import Fault, Faults, ProlificEmulator
from contrib.prolific.tests.panel import REWARD, Panel, go_on, panel_study, point_at
from contrib.prolific.tests.scenes import BONUS, REJECTED
from evaluation.data.integrity import check_integrity
from tests.installations import Installation
from tests.marks import long_except

PRICE = REWARD + 50

BONUS_CENTS = SCREEN_OUT = 30

MAX_RUNS = 200  # more than any seed needs
SHARES = dict.fromkeys(Fault, 0.05)


@pytest.mark.django_db
@pytest.mark.parametrize("seed", long_except([0, 1], 0))
def test_nothing_is_lost_and_nothing_is_paid_twice(settings: Settings, seed: int) -> None:
    faults = Faults(seed, SHARES, retry_after=0)
    with ProlificEmulator(faults=faults) as prolific:
        point_at(prolific, settings)
        settings.PROLIFIC_FEE_PERCENT = Decimal("33.3")
        asked = {"countries": ["US"], "forbids": ["pilot"]}
        panel = Panel(panel_study(workers=asked, screen_out_cents=SCREEN_OUT, screen_outs=3), prolific)
        people = [f"aa{number}" for number in range(12)]
        unfit = ["bb1", "bb2"]
        here = {"current-country-of-residence": "United States"}
        prolific.world.people |= dict.fromkeys([*people, *unfit], here)
        begin_opening(study=panel.study)
        deliver_all(panel)
        ask_to_extend(publication=panel.publication, places=4)
        deliver_all(panel)
        for name in unfit:
            end_panel_session(session=panel.arrive(name), status="screened-out")
            prolific.come_back(panel.came[name], panel.code("screened-out"))
        sessions = {name: panel.finish(name) for name in people}
        draw = random.Random(seed)
        rejected = set(draw.sample(people, 3))
        for name in people:
            decide_session(session=sessions[name], approve=name not in rejected, why="Looked at.")
        bonuses = {name: draw.randint(1, 2) for name in draw.sample(people, 6)}
        for name, count in bonuses.items():
            for number in range(count):
                pay_bonus(
                    session=sessions[name], cents=BONUS_CENTS, why="Below the floor.", number=number + 1
                )
        chosen = draw.sample(people, 4)
        give_qualification(
            study=panel.study, workers=[sessions[name].worker for name in chosen], name="careful"
        )
        deliver_all(panel)
        close_study(study=panel.study)
        deliver_all(panel)
        faults.stop()
        sync_with_crowd(study=panel.study, wait=lambda seconds: None)

        [there] = [one for one in prolific.world.studies.values() if one.status != "UNPUBLISHED"]
        assert (there.id, there.places) == (panel.publication.external_id, 12)
        assert panel.publication.places == 12
        assert panel.publication.state == Publication.State.FINISHED
        [*_lost, group] = [one for one in prolific.world.groups.values() if one.name == "careful"]
        assert sorted(group.members) == sorted(chosen)
        states = {name: panel.there(name) for name in people}
        assert states == {name: "REJECTED" if name in rejected else "APPROVED" for name in people}
        paid = {name: prolific.world.submissions[panel.came[name]].bonuses for name in people}
        assert paid == {name: [BONUS_CENTS] * bonuses.get(name, 0) for name in people}
        spent = 9 * PRICE + sum(bonuses.values()) * (BONUS_CENTS + 10) + 2 * (SCREEN_OUT + 10)
        assert panel.books() == (0, spent) == (0, prolific.world.spent_cents)
        decided = CrowdSession.objects.filter(study=panel.study).exclude(status__in=["approved", "rejected"])
        assert list(decided.values_list("status", flat=True)) == ["screened-out"] * len(unfit)
        assert not check_integrity().problems
        assert faults.met.total() > 10


def deliver_all(panel: Panel) -> None:
    """Run deliveries until nothing waits. A person resolves calls whose outcome is unknown."""
    for _ in range(MAX_RUNS):
        go_on(panel.study)
        calls = CrowdCall.objects.filter(study=panel.study)
        for call in calls.filter(state="parked"):
            assert call.kind == Ability.BONUS, call.problem
            resolve_as_person(panel, call)
        if not calls.filter(state__in=["waiting", "started"]).exists():
            return
        # An hour later a bonus that does not show is left to a person.
        for call in calls.filter(kind=Ability.BONUS, answer__has_key="paying", state="waiting"):
            call.answer["paying"] = (timezone.now() - timedelta(hours=2)).isoformat()
            call.save(update_fields=["answer"])
    raise AssertionError(f"still waiting: {list(calls.values('kind', 'state', 'problem'))}")


def resolve_as_person(panel: Panel, call: CrowdCall) -> None:
    """Resolve a bonus with an unknown outcome, as a person does who looks at the submission at Prolific."""
    assert call.session is not None
    raw = call.session.raw_ids.get().value
    shown = panel.prolific.world.submissions[raw].bonuses.count(BONUS_CENTS)
    known = CrowdCall.objects.filter(session=call.session, kind=Ability.BONUS, state="done").count()
    assert shown in (known, known + 1)
    if shown > known:
        resolve_as_done(call=call)
    else:
        resolve_as_not_done(call=call)


@pytest.mark.django_db
def test_the_log_names_no_submission(panel: Panel, caplog: pytest.LogCaptureFixture) -> None:
    panel.finish("aa1")
    with open_client() as client:
        client.get_submission(panel.came["aa1"])
    assert panel.came["aa1"] not in caplog.text


PEOPLE = 8
MAX_SYNC_SECONDS = 300.0
MAX_SYNCS = 60


def run_scene(installation: Installation, call: str) -> dict[str, Any]:
    """Run a function of ``scenes`` inside the installation, and return its result."""
    said = installation.python(f"from contrib.prolific.tests import scenes\nscenes.{call}")
    found: dict[str, Any] = json.loads(said.splitlines()[-1])
    return found


def kill_in_the_middle(installation: Installation, prolific: ProlificEmulator, *, after: int) -> None:
    """Synchronise in a process of its own, and kill it once it has carried out a number of calls."""
    limit = prolific.calls.total() + after
    process = installation.start("manage", "sync_crowd", "shapes-there", log="sync.log")
    end = time.monotonic() + MAX_SYNC_SECONDS
    while process.is_alive() and prolific.calls.total() < limit:
        assert time.monotonic() < end, "a sync that does not end"
        time.sleep(0.001)
    installation.stop()


def sync_to_the_end(installation: Installation, prolific: ProlificEmulator) -> None:
    """Synchronise until no calls and no discrepancies are left."""
    for _ in range(MAX_SYNCS):
        with prolific.lock:
            shown = {one.id: len(one.bonuses) for one in prolific.world.submissions.values()}
        if not run_scene(installation, f"go_on({shown!r})")["left"]:
            return
    raise AssertionError(f"calls are left after {MAX_SYNCS} comparisons")


@pytest.mark.long
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
        code = run_scene(installation, "make()")["code"]
        kill_in_the_middle(installation, prolific, after=draw.randint(3, 7))
        sync_to_the_end(installation, prolific)
        [there] = [one for one in prolific.world.studies.values() if one.status != "UNPUBLISHED"]
        came = {}
        for number in range(PEOPLE):
            submission, _ = prolific.enter(there.id, f"aa{number}")
            prolific.come_back(submission, code)
            came[f"aa{number}"] = submission
        run_scene(installation, f"work({came!r})")
        for _ in range(2):
            kill_in_the_middle(installation, prolific, after=draw.randint(4, 12))
        sync_to_the_end(installation, prolific)

        spent = (PEOPLE - REJECTED) * PRICE + PEOPLE // 2 * (BONUS + 10)
        assert prolific.world.spent_cents == spent
        bonuses = [prolific.world.submissions[came[f"aa{number}"]].bonuses for number in range(PEOPLE)]
        assert bonuses == [[BONUS] if number % 2 else [] for number in range(PEOPLE)]
        rows = run_scene(installation, "rows()")
        assert rows["external_id"] == there.id
        assert rows["budget"] == rows["ledger"] == [0, spent]
        assert rows["kept"] == 0
        assert rows["sessions"] == {"approved": PEOPLE - REJECTED, "rejected": REJECTED}
        assert rows["integrity"] == []
        assert len([one for one in prolific.world.studies.values() if one.status != "UNPUBLISHED"]) == 1
