"""The books of a study: nothing beyond the budget, nothing twice, nothing lost; and the examples of docs/crowds."""

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import override_settings

from annotation.crowds import backend_for
from annotation.crowds.outbox import settle_session
from annotation.models import Budget, CrowdSession, LedgerEntry, Publication, Worker
from annotation.money import ledger
from common.amounts import spell_cents
from common.errors import WrongState
from common.rows import LogIsAppendOnly
from judgments.design.study_design import StudyDesign
from judgments.models import Study, StudyEvent
from tests.annotation.casting import make_dataset, make_study
from tests.installations import Installation

PLACE = "mturk-sandbox"


@pytest.fixture
def study(db: None) -> Study:
    made = make_study(make_dataset(pictures=False))
    made.platform = PLACE
    made.save(update_fields=["platform"])
    return made


def published(study: Study, *, places: int = 3, reward: int = 10, fee: int = 2) -> Publication:
    """Something that is up, its places paid for out of the budget's reservation."""
    budget, number = ledger.budget_of(study, PLACE), Publication.objects.count()
    publication = Publication.objects.create(
        study=study, platform=PLACE, token=f"t-{number}", external_id=f"H{number}", number=number + 1,
        state="published", places=places, held_slots=places, reward_cents=reward, fee_cents=fee,
    )  # fmt: skip
    ledger.book(
        budget=budget,
        key=f"reserve:{publication.token}",
        what="reserve",
        reserved=places * (reward + fee),
        publication=publication,
    )
    return publication


def handed_in(publication: Publication, name: str = "p-1", external_id: str = "A1") -> CrowdSession:
    worker, _ = Worker.objects.get_or_create(source="crowd", platform=PLACE, name=name)
    return CrowdSession.objects.create(
        study=publication.study, platform=PLACE, publication=publication, worker=worker,
        external_id=external_id, status="submitted",
    )  # fmt: skip


def counters(study: Study) -> tuple[int, int, int]:
    budget = Budget.objects.get(study=study, platform=PLACE)
    assert ledger.ledger_sums(budget) == (budget.reserved_cents, budget.spent_cents)
    assert ledger.reserved_cents(budget) == budget.reserved_cents
    return budget.budget_cents, budget.reserved_cents, budget.spent_cents


def test_publishing_reserves_approving_spends_and_rejecting_gives_back(study: Study) -> None:
    ledger.set_budget(study=study, platform=PLACE, cents=100)
    publication = published(study)
    assert counters(study) == (100, 36, 0)
    assert settle_session(session=handed_in(publication), status="approved")
    assert counters(study) == (100, 24, 12)
    assert settle_session(session=handed_in(publication, "p-2", "A2"), status="rejected", feedback="Empty.")
    assert counters(study) == (100, 12, 12)
    assert ledger.release_slots(publication=publication, places=1)
    assert counters(study) == (100, 0, 12)


def test_whatever_is_said_twice_is_booked_once(study: Study) -> None:
    ledger.set_budget(study=study, platform=PLACE, cents=100)
    publication = published(study)
    session = handed_in(publication)
    assert settle_session(session=session, status="approved")
    assert not settle_session(session=session, status="approved")
    assert not settle_session(session=session, status="rejected")  # what is paid stays paid
    session.refresh_from_db()
    assert not ledger.pay_session(session=session)
    assert ledger.release_slots(publication=publication, places=2)
    assert not ledger.release_slots(publication=publication, places=1)
    assert counters(study) == (100, 0, 12)


def test_a_rejection_that_is_overridden_needs_its_money_again(study: Study) -> None:
    ledger.set_budget(study=study, platform=PLACE, cents=36)
    publication = published(study)
    session = handed_in(publication)
    settle_session(session=session, status="rejected", feedback="Empty.")
    assert counters(study) == (36, 24, 0)
    published(study, places=1)
    assert counters(study) == (36, 36, 0)
    with pytest.raises(ledger.OverBudget, match=r"This costs 0\.12 USD; .* 0\.36 USD, 0\.00 USD are left"):
        settle_session(session=session, status="approved")
    session.refresh_from_db()
    assert session.status == "rejected"
    ledger.set_budget(study=study, platform=PLACE, cents=48)
    assert settle_session(session=session, status="approved")
    assert counters(study) == (48, 36, 12)


def test_a_budget_is_never_set_below_what_is_spent_and_reserved(study: Study) -> None:
    ledger.set_budget(study=study, platform=PLACE, cents=100)
    published(study)
    with pytest.raises(WrongState, match=r"stays 1\.00 USD: 0\.00 USD are spent and 0\.36 USD reserved"):
        ledger.set_budget(study=study, platform=PLACE, cents=35)
    ledger.set_budget(study=study, platform=PLACE, cents=36)
    assert [event.details["cents"] for event in StudyEvent.objects.filter(what="budget").order_by("pk")] == [
        100,
        36,
    ]


def test_the_database_itself_keeps_a_study_within_its_budget(study: Study) -> None:
    ledger.set_budget(study=study, platform=PLACE, cents=100)
    with pytest.raises(IntegrityError), transaction.atomic():
        Budget.objects.filter(study=study).update(reserved_cents=60, spent_cents=41)
    with pytest.raises(LogIsAppendOnly):
        LedgerEntry.objects.all().delete()


def test_sandbox_and_live_have_books_of_their_own(study: Study) -> None:
    ledger.set_budget(study=study, platform=PLACE, cents=100)
    ledger.set_budget(study=study, platform="mturk-live", cents=5)
    published(study)
    live = Budget.objects.get(study=study, platform="mturk-live")
    assert (live.reserved_cents, live.spent_cents) == (0, 0)


SCENE = """
import json, threading
from django.db import connection
from annotation.money import ledger as money
from judgments.models import Study
from tests.studies import make_study

study = make_study("triplet")
budget = money.set_budget(study=study, platform="mturk-sandbox", cents=130)
start, said = threading.Barrier(12), []

def reserve(key):
    start.wait()
    try:
        said.append(money.book(budget=budget, key=key, what="reserve", reserved=30))
    except money.OverBudget:
        said.append("refused")
    finally:
        connection.close()

keys = ["the same"] * 4 + [f"another {number}" for number in range(8)]
people = [threading.Thread(target=reserve, args=[key]) for key in keys]
[person.start() for person in people]
[person.join() for person in people]
budget.refresh_from_db()
found = {"reserved": budget.reserved_cents, "ledger": money.ledger_sums(budget)}
print(json.dumps({"said": sorted(map(str, said)), **found}))
"""


def test_twelve_who_reserve_at_once_have_what_is_there_and_one_booking_once(
    installation_on: Callable[[str], Installation], database: str
) -> None:
    found = json.loads(installation_on(database).python(SCENE).splitlines()[-1])
    assert found["reserved"] == 120
    assert found["ledger"] == [120, 0]
    assert len(found["said"]) == 12
    assert found["said"].count("True") == 4


DOCS = Path(__file__).resolve().parents[3] / "docs" / "crowds"

HITS = 100


def design(crowd: dict[str, Any], **values: Any) -> StudyDesign:
    """A study of triplets."""
    named = {"name": "Told", "slug": "told", "dataset": "told", "protocol": "triplet"}
    return StudyDesign.model_validate(named | {"crowd": {"budget_cents": 1_000_000} | crowd} | values)


def row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


@pytest.mark.parametrize(
    ("people", "reward", "masters"),
    [(3, 12, False), (3, 12, True), (9, 12, False), (10, 12, False), (3, 1, False)],
)
def test_what_mechanical_turk_costs(people: int, reward: int, masters: bool) -> None:
    asked = design(
        {"backend": "mturk", "reward_cents": reward, "masters": masters}, judgments_per_unit=people
    )
    price = backend_for(asked).price(asked, places=people)
    places = HITS * people
    told = row(
        f"{people} people each" + (", Masters" if masters else ""),
        spell_cents(reward),
        spell_cents(price.fee_cents),
        f"{places:,}",
        spell_cents(places * price.cents),
    )
    assert told in (DOCS / "mturk.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("page", "crowd", "panel"),
    [
        ("panels.md", {"reward_cents": 60, "fee_percent": 33.3}, {"preset": "prolific", "hits": 2}),
        ("panels.md", {"reward_cents": 60, "fee_percent": 25}, {"preset": "connect", "hits": 2}),
        ("panels.md", {"reward_cents": 0}, {"preset": "sona", "hits": 2}),
        ("prolific.md", {"reward_cents": 40}, {"preset": "prolific", "api": True, "hits": 3}),
    ],
)
def test_what_a_panel_costs(page: str, crowd: dict[str, Any], panel: dict[str, Any]) -> None:
    asked = design({"backend": "external"} | crowd, panel=panel, judgments_per_unit=3)
    with override_settings(PROLIFIC_FEE_PERCENT=Decimal("42.8")):
        price = backend_for(asked).price(asked, places=1)
    sessions = -(-HITS * 3 // asked.panel.hits)
    told = row(
        spell_cents(price.reward_cents),
        spell_cents(price.fee_cents),
        str(sessions),
        spell_cents(sessions * price.cents),
    )
    assert told.removeprefix("| ") in (DOCS / page).read_text(encoding="utf-8")
