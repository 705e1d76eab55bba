"""The crowd's page in the admin: what it shows of money and wages, and what it lets nobody do."""

import pytest
from django.test import Client

from annotation.models import Budget
from annotation.money import ledger
from judgments.models import Study, StudyEvent
from tests.annotation.casting import make_dataset, make_study
from tests.judgments.desk import do, page, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return make_study(make_dataset(pictures=False), crowd={"reward_cents": 12, "floor_cents_per_hour": 900})


def test_before_anybody_is_paid_it_says_what_the_study_costs(designer: Client, study: Study) -> None:
    text = words(designer.get(page(study, "crowd")))
    copies = sum(study.hits.values_list("required", flat=True))
    assert f"What it will cost {copies * 12 // 100}.{copies * 12 % 100:02d}" in text
    assert f"{copies} pieces of work" in text
    assert "It cannot" not in text  # what this site lacks of a crowd is no news
    assert "the floor is 9.00" in text


def test_a_crowd_that_can_do_nothing_is_asked_for_nothing(designer: Client, study: Study) -> None:
    shown = designer.get(page(study, "crowd")).content.decode()
    for step in ("bonus", "block-worker", "write-workers", "extend-crowd", "set-budget", "sync-crowd"):
        assert do(study, step) not in shown


def test_a_budget_is_changed_in_amounts_and_never_below_what_is_taken(designer: Client, study: Study) -> None:
    study.platform = "mturk-sandbox"
    study.save(update_fields=["platform"])
    budget = ledger.set_budget(study=study, platform=study.platform, cents=500)
    ledger.book(budget=budget, key="reserve:x", what="reserve", reserved=300)

    def change(amount: str) -> str:
        sent = {"page": "crowd", "amount": amount, "why": "More pairs."}
        return words(designer.post(do(study, "set-budget"), sent, follow=True))

    assert "Expected an amount such as 12.30" in change("1e3x")
    assert "Expected an amount such as 12.30" in change("1.005")
    assert "0.00 USD are spent and 3.00 USD reserved" in change("2.99")
    assert "The budget is changed." in change("12.30")
    assert Budget.objects.get(study=study).budget_cents == 1230
    said = StudyEvent.objects.filter(study=study, what="budget").first()
    assert said is not None
    assert said.by is not None
    assert said.words == "The budget at mturk-sandbox is 12.30 USD, before it was 5.00 USD. More pairs."
