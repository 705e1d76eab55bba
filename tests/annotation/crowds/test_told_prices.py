"""The worked examples of docs/crowds are what the product counts, to the cent."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings

from annotation.crowds import backend_for
from annotation.words import spell_cents
from judgments.design.study_design import StudyDesign

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
