"""A whole study at Prolific while a share of the calls fails in drawn ways: what both sides' books say afterwards."""

import random
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone
from pytest_django import Settings

from annotation.crowds.base import Ability
from annotation.crowds.outbox import give_qualification, resolve_as_done, resolve_as_not_done
from annotation.crowds.panel.people import end_panel_session
from annotation.crowds.prolific.client import open_client
from annotation.crowds.publishing import ask_to_extend, begin_opening, close_study
from annotation.crowds.sync import sync_crowd
from annotation.models import CrowdCall, CrowdSession, Publication
from annotation.money.payments import decide_session, pay_bonus
from evaluation.data.integrity import check_integrity
from tests.annotation.crowds.prolific_panel import REWARD, Panel, go_on, panel_study, point_at
from tests.fakes.prolific import Fault, Faults, ProlificEmulator

PRICE = REWARD + 50
BONUS = SCREEN_OUT = 30
RUNS = 200  # more than any seed needs
SHARES = dict.fromkeys(Fault, 0.05)


@pytest.mark.django_db
@pytest.mark.parametrize("seed", range(2))
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
        settled(panel)
        ask_to_extend(publication=panel.publication, places=4)
        settled(panel)
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
                pay_bonus(session=sessions[name], cents=BONUS, why="Below the floor.", number=number + 1)
        chosen = draw.sample(people, 4)
        give_qualification(
            study=panel.study, workers=[sessions[name].worker for name in chosen], name="careful"
        )
        settled(panel)
        close_study(study=panel.study)
        settled(panel)
        faults.stop()
        sync_crowd(study=panel.study, wait=lambda seconds: None)

        [there] = [one for one in prolific.world.studies.values() if one.status != "UNPUBLISHED"]
        assert (there.id, there.places) == (panel.publication.external_id, 12)
        assert panel.publication.places == 12
        assert panel.publication.state == Publication.State.FINISHED
        [*_lost, group] = [one for one in prolific.world.groups.values() if one.name == "careful"]
        assert sorted(group.members) == sorted(chosen)
        states = {name: panel.there(name) for name in people}
        assert states == {name: "REJECTED" if name in rejected else "APPROVED" for name in people}
        paid = {name: prolific.world.submissions[panel.came[name]].bonuses for name in people}
        assert paid == {name: [BONUS] * bonuses.get(name, 0) for name in people}
        spent = 9 * PRICE + sum(bonuses.values()) * (BONUS + 10) + 2 * (SCREEN_OUT + 10)
        assert panel.books() == (0, spent) == (0, prolific.world.spent_cents)
        decided = CrowdSession.objects.filter(study=panel.study).exclude(status__in=["approved", "rejected"])
        assert list(decided.values_list("status", flat=True)) == ["screened-out"] * len(unfit)
        assert not check_integrity().problems
        assert faults.met.total() > 10


def settled(panel: Panel) -> None:
    """Later runs, and a person who looks at Prolific where nobody else can tell, until nothing waits."""
    for _ in range(RUNS):
        go_on(panel.study)
        calls = CrowdCall.objects.filter(study=panel.study)
        for call in calls.filter(state="parked"):
            assert call.kind == Ability.BONUS, call.problem
            look(panel, call)
        if not calls.filter(state__in=["waiting", "started"]).exists():
            return
        # An hour later a bonus that does not show is left to a person.
        for call in calls.filter(kind=Ability.BONUS, answer__has_key="paying", state="waiting"):
            call.answer["paying"] = (timezone.now() - timedelta(hours=2)).isoformat()
            call.save(update_fields=["answer"])
    raise AssertionError(f"still waiting: {list(calls.values('kind', 'state', 'problem'))}")


def look(panel: Panel, call: CrowdCall) -> None:
    """What a person would find on Prolific's page of the submission: as many bonuses as were paid, or one more."""
    assert call.session is not None
    raw = call.session.raw_ids.get().value
    shown = panel.prolific.world.submissions[raw].bonuses.count(BONUS)
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
        client.submission(panel.came["aa1"])
    assert panel.came["aa1"] not in caplog.text
