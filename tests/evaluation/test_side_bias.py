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
from annotation.work.sheet.units import page_units_of
from annotation.work.submissions import submit_assignment
from evaluation.models import Analysis
from evaluation.reports.releases.verification import verify_study
from evaluation.results.aggregation import aggregate_study
from judgments.models import Caption, Study
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


def lengthen_captions() -> None:
    better_and_worse()
    for number, caption in enumerate(Caption.objects.filter(role="candidate").order_by("pk")):
        caption.text += " again" * (number * 7 % 5)
        caption.save()


@pytest.fixture(scope="module")
def animals(module_db: None) -> None:
    lengthen_captions()


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


@pytest.mark.usefixtures("undrawn")
def test_every_door_says_it(
    biased: Study, tmp_path: Path, designer: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("aggregate", biased.slug, output=tmp_path / "consensus.json")
    bias = json.loads((tmp_path / "consensus.json").read_text())["agreement"]["side_bias"]
    figures = [f"{100 * bias[name]:.0f}" for name in ("value", "low", "high")]
    sentence = "The left side was chosen in {} % of {} answers (95 % interval {} to {} %, p ".format(
        figures[0], bias["n"], *figures[1:]
    )
    report = unescape(written(biased, tmp_path / "report")["index.html"].decode())
    shown = words(designer.get(page(biased, "results")))
    for text in (capsys.readouterr().out, shown, report):
        assert sentence in text.replace("\u00a0", " ")
    called = designer.get(f"/api/studies/{biased.slug}/agreement/").json()
    assert called["result"]["agreement"]["side_bias"] == bias


def test_without_a_habit_nothing_is_claimed(fair: Study) -> None:
    bias = aggregate_study(study=fair)["agreement"]["side_bias"]
    assert bias["low"] < 0.5 < bias["high"]
    assert bias["p"] > 0.05


FIRST, SECOND = "first-left", "second-left"


@pytest.mark.parametrize(
    ("sides", "imported", "sentence"),
    [
        ([FIRST, SECOND, FIRST], False, r"interval .*, p [=<] .*\)\. Sides are random"),
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
        assert "left side was chosen" not in printed
    else:
        assert re.search(rf"left side was chosen in 83 % of 6 answers \(95 % {sentence}", printed)


def test_results_of_earlier_versions_verify(biased: Study) -> None:
    aggregate_study(study=biased)
    stored = Analysis.objects.newest(biased, Analysis.Kind.AGGREGATION)
    assert stored is not None
    del stored.result["agreement"]["side_bias"]
    stored.save()
    assert verify_study(study=biased).differences == ()
