"""Whether people favour a side: one sentence at every door, and strengths without the bias."""

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command
from django.test import Client

from annotation.work.claims import claim_assignment
from annotation.work.submissions import submit_assignment
from annotation.work.worksheet import page_units_of
from evaluation.errors import EvaluationError
from evaluation.models import Analysis
from evaluation.reports.releases.verification import verify_study
from evaluation.results.aggregation import aggregate_study
from evaluation.results.strengths.computing import strengths_of
from judgments.models import Caption, Study
from quorum.statistics.aggregation import bradley_terry_of_comparisons
from tests.annotation.voting import joined
from tests.evaluation import studies
from tests.evaluation.reporting import exported, words, written
from tests.evaluation.test_scales import better_and_worse
from tests.judgments.desk import page
from tests.statistics import plain_intervals
from tests.studies import make_study

pytestmark = pytest.mark.django_db

NO_DIFFERENCE, LEFT, RIGHT = 0, 1, 2


def systems_by(study: Study, name: str) -> dict[Any, tuple[str, str]]:
    rows = study.pairs.values_list(name, "first_system__name", "second_system__name")
    return {key: (first, second) for key, first, second in rows}


def answered(slug: str, habit: float) -> Study:
    """Pairs of five systems whose texts are better by number; eight people, who take the left by habit."""
    study = make_study(
        "pairwise", slug=slug, answers={"no_difference": True}, controls={"per_hit": 0}, units_per_hit=10,
        judgments_per_unit=8, sampling={"pairs": {"MM": 60}},
    )  # fmt: skip
    systems = systems_by(study, "pk")
    draw = np.random.default_rng(11)
    for number in range(8):
        worker = joined(study, f"{slug}-{number}")
        while (claim := claim_assignment(study=study, worker=worker)) is not None:
            answers = []
            for place in page_units_of(claim.assignment):
                first_system, second_system = systems[place.unit.pair_id]
                gap = int(first_system[-1]) - int(second_system[-1])
                first = draw.random() < 1 / (1 + np.exp(-0.5 * gap))
                seen = LEFT if first != place.side else RIGHT  # `side`: the second is on the left
                if draw.random() < 0.1:
                    seen = NO_DIFFERENCE
                elif draw.random() < habit:
                    seen = LEFT
                answers.append({"position": place.position, "value": seen})
            submit_assignment(assignment=claim.assignment, answers=answers)
    return study


@pytest.fixture(scope="module")
def animals(module_db: None) -> None:
    better_and_worse()
    for number, caption in enumerate(Caption.objects.filter(role="candidate").order_by("pk")):
        caption.text += " again" * (number * 7 % 5)
        caption.save()


@pytest.fixture(scope="module")
def biased(animals: None) -> Study:
    return answered("biased", 0.3)


@pytest.fixture(scope="module")
def fair(animals: None) -> Study:
    return answered("fair", 0.0)


def rows_of(study: Study, folder: Path) -> list[dict[str, Any]]:
    return exported(study, folder / "rows.jsonl")


def test_the_share_of_the_left_is_tested_over_items_and_people(biased: Study, tmp_path: Path) -> None:
    rows = [row for row in rows_of(biased, tmp_path) if row["value"] in (1, 2)]
    left = np.array([(row["value"] == 1) == (row["presented"] == "first-left") for row in rows])
    share = float(left.mean())
    influences = ((left - share) / len(left)).tolist()
    items, people = ([row[name] for row in rows] for name in ("image", "worker"))
    spread = plain_intervals.crossed(influences, items, people)
    low, high = plain_intervals.of_share(share, spread, len(set(items)))
    of_rows = spread.variance - spread.for_few_items
    # A score test, as Wilson's interval inverts it.
    if_even = plain_intervals.Spread(0.25 * of_rows / (share * (1 - share)), spread.df)
    bias = aggregate_study(study=biased)["agreement"]["side_bias"]
    assert [bias[name] for name in ("value", "low", "high", "p")] == pytest.approx(
        [share, low, high, plain_intervals.p_of(share - 0.5, if_even)]
    )
    assert (bias["n"], bias["clusters"]) == (len(rows), {"item": len(set(items)), "rater": 8})
    assert bias["p"] < 0.05
    assert low > 0.5


def test_every_door_says_it(
    biased: Study, tmp_path: Path, designer: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("aggregate", biased.slug, output=tmp_path / "consensus.json")
    bias = json.loads((tmp_path / "consensus.json").read_text())["agreement"]["side_bias"]
    figures = [f"{100 * bias[name]:.0f}" for name in ("value", "low", "high")]
    sentence = "{} % of {} choices fell on the left (95 % interval {} to {} %, p ".format(
        figures[0], bias["n"], *figures[1:]
    )
    report = unescape(written(biased, tmp_path / "report")["index.html"].decode())
    shown = words(designer.get(page(biased, "results")))
    for text in (capsys.readouterr().out, shown, report):
        assert sentence in text.replace("\u00a0", " ")
    called = designer.get(f"/api/studies/{biased.slug}/agreement/").json()
    assert called["result"]["agreement"]["side_bias"] == bias


def test_strengths_without_the_bias_are_davidson_and_beavers(biased: Study, tmp_path: Path) -> None:
    rows = rows_of(biased, tmp_path)
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
    assert "choices fell on the left" in words(shown)
    (link,) = re.findall(r'href="(\?[^"]*order_effect=on)"', unescape(shown.content.decode()))
    assert "control=length" in link
    without = designer.get(page(biased, "ranking") + link)
    assert offer not in words(without)
    effect = strengths_of(biased, order_effect=True, control="length")["order_effect"]
    said = f"standing there changes the log-odds by +{effect['value']:.2f}".replace("+0.", "+.")
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


def test_without_a_habit_nothing_is_claimed(fair: Study) -> None:
    bias = aggregate_study(study=fair)["agreement"]["side_bias"]
    assert bias["low"] < 0.5 < bias["high"]
    assert bias["p"] > 0.05


FIRST, SECOND = "first-left", "second-left"


@pytest.mark.parametrize(
    ("sides", "imported", "sentence"),
    [
        ([FIRST, SECOND, FIRST], False, r"interval .*, p [=<] .*\); sides are drawn by lot"),
        ([FIRST, SECOND, FIRST], True, r"interval \S+ to \S+ %\)\."),
        ([FIRST, FIRST, FIRST], False, None),
        ([], False, None),
    ],
    ids=["drawn", "from elsewhere", "never changed", "unknown"],
)
def test_a_half_is_expected_only_where_sides_were_drawn(
    sides: list[str], imported: bool, sentence: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    images = {f"{name}.jpg": ["a dog runs"] for name in "abc"}
    study = studies.StudyOf(studies.make_dataset("toy", images), "pairwise", imported=imported)
    pairs = [study.pair(name, name, "a dog", "a cat") for name in images]
    hit = study.hit("h1", [study.unit(f"u{pair.pk}", pair=pair) for pair in pairs])
    study.answer(hit, "alma", [1, 2, 1], presented=sides)
    study.answer(hit, "bela", [1, 1, 1], presented=sides)
    call_command("aggregate", study.study.slug)
    printed = capsys.readouterr().out.replace("\u00a0", " ")
    if sentence is None:
        assert "fell on the left" not in printed
    else:
        assert re.search(rf"83 % of 6 choices fell on the left \(95 % {sentence}", printed)


def test_sides_that_nobody_knows_have_no_order_effect(animals: None) -> None:
    study = studies.StudyOf(studies.make_dataset("toy", {"a.jpg": ["a dog runs"]}), "pairwise")
    systems = [study.dataset.systems.create(name=name) for name in ("s1", "s2")]
    pair = study.pair("p", "a.jpg", "a dog", "a cat", first_system=systems[0], second_system=systems[1])
    study.answer(study.hit("h1", [study.unit("u", pair=pair)]), "alma", [1])
    with pytest.raises(EvaluationError, match="there is no order effect to fit"):
        strengths_of(study.study, order_effect=True)


def test_results_of_earlier_versions_verify(biased: Study) -> None:
    aggregate_study(study=biased)
    stored = Analysis.objects.newest(biased, Analysis.What.AGGREGATION)
    assert stored is not None
    del stored.result["agreement"]["side_bias"]
    stored.save()
    assert verify_study(study=biased).differences == ()
