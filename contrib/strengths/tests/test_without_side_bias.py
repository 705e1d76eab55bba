"""Strengths without side bias, on the page, by the command and the call."""

import json
import re
from html import unescape
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client

from contrib.strengths.strengths import strengths_of
from evaluation.errors import EvaluationError
from judgments.models import Study
from quorum.statistics.aggregation import bradley_terry_of_comparisons
from tests.evaluation import studies
from tests.evaluation.reporting import exported, words
from tests.evaluation.test_side_bias import answered, lengthen_captions, systems_by
from tests.judgments.desk import page

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def animals(module_db: None) -> None:
    lengthen_captions()


@pytest.fixture(scope="module")
def biased(animals: None) -> Study:
    return answered("biased", 0.3)


@pytest.fixture(scope="module")
def fair(animals: None) -> Study:
    return answered("fair", 0.0)


def test_strengths_without_the_bias_are_davidson_and_beavers(biased: Study, tmp_path: Path) -> None:
    rows = exported(biased, tmp_path / "rows.jsonl")
    sides, winners = [], []
    systems = systems_by(biased, "key")
    for row in rows:
        first_left = row["presented"] == "first-left"
        sides.append(systems[row["pair"]][:: 1 if first_left else -1])
        winners.append(0 if row["value"] == 0 else 1 if (row["value"] == 1) == first_left else 2)
    left, right = zip(*sides, strict=True)
    clusters = {"item": [row["image"] for row in rows], "rater": [row["worker"] for row in rows]}
    theirs = bradley_terry_of_comparisons(
        left, right, winners, tie_model="davidson", order_effect=True, clusters=clusters
    )
    ours = strengths_of(biased, order_effect=True)
    expected = {
        name: (theirs.log_strength[place], theirs.low[place], theirs.high[place])
        for place, name in enumerate(theirs.items.tolist())
    }
    assert 0 in winners
    for row in ours["systems"]:
        assert [row[name] for name in ("strength", "low", "high")] == pytest.approx(
            expected[row["system"]], abs=1e-6
        )
    assert [ours["order_effect"][name] for name in ("value", "low", "high")] == pytest.approx(
        [theirs.order_effect, theirs.order_effect_low, theirs.order_effect_high], abs=1e-6
    )
    assert ours["order_effect"]["low"] > 0
    without = strengths_of(biased)
    assert without["order_effect"] is None
    assert without["systems"] != ours["systems"]
    both = strengths_of(biased, order_effect=True, control="length")
    assert both["length"] == pytest.approx(strengths_of(biased, control="length")["length"], abs=0.1)
    assert both["order_effect"] == pytest.approx(ours["order_effect"], abs=0.1)
    assert both["length"]["high"] < both["order_effect"]["low"]


def test_the_page_offers_them_where_a_bias_is_found(biased: Study, fair: Study, designer: Client) -> None:
    offer = "Show the strengths without side bias"
    shown = designer.get(page(biased, "ranking"), {"control": "length"})
    assert offer in words(shown)
    assert "The left side was chosen in" in words(shown)
    (link,) = re.findall(r'href="(\?[^"]*order_effect=on)"', unescape(shown.content.decode()))
    assert "control=length" in link
    without = designer.get(page(biased, "ranking") + link)
    assert offer not in words(without)
    effect = strengths_of(biased, order_effect=True, control="length")["order_effect"]
    said = f"the position on the left changes the log-odds by +{effect['value']:.2f}".replace("+0.", "+.")
    assert said in words(without)
    assert re.search(r'name="order_effect"[^>]*checked', without.content.decode())
    assert offer not in words(designer.get(page(fair, "ranking")))


def test_the_command_and_the_call_take_the_option(
    biased: Study, fair: Study, designer: Client, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    call_command("strengths", biased.slug)
    assert "--order-effect gives strengths without this bias" in capsys.readouterr().out
    call_command("strengths", fair.slug)
    assert "--order-effect" not in capsys.readouterr().out
    call_command("strengths", biased.slug, "--order-effect", "--output", str(tmp_path / "s.json"))
    assert "Standing on the left adds +" in capsys.readouterr().out
    stored = json.loads((tmp_path / "s.json").read_text())
    address = f"/api/studies/{biased.slug}/strengths/"
    called = designer.get(address, {"order_effect": "true"}).json()
    assert called["order_effect"] == pytest.approx(stored["order_effect"])
    assert called["side_bias"]["p"] < 0.05
    assert designer.get(address).json()["order_effect"] is None
    assert designer.get(address, {"order_effect": "perhaps"}).status_code == 400


def test_sides_that_nobody_knows_have_no_order_effect(animals: None) -> None:
    study = studies.StudyOf(studies.make_dataset("toy", {"a.jpg": ["a dog runs"]}), "pairwise")
    systems = [study.dataset.systems.create(name=name) for name in ("s1", "s2")]
    pair = study.pair("p", "a.jpg", "a dog", "a cat", first_system=systems[0], second_system=systems[1])
    study.answer(study.hit("h1", [study.unit("u", pair=pair)]), "alma", [1])
    with pytest.raises(EvaluationError, match="effect"):
        strengths_of(study.study, order_effect=True)
