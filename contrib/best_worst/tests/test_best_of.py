"""The best of several, without the worst: from the study file to the ranking of systems."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.test import Client

from annotation.models import Judgment
from annotation.work.claims import claim_assignment
from common.errors import DesignError
from contrib.best_worst.choices import Choices, fit_choices
from contrib.judgment_imports.importing import import_judgments
from evaluation.data.integrity import check_integrity
from evaluation.results.aggregation import aggregate_study
from judgments.design.reading.checking import make_design
from judgments.design.reading.study_files import read_toml, write_toml
from judgments.kinds import KINDS
from judgments.models import HIT, Output, Study, Unit
from judgments.studies.designs import kind_of
from quorum.statistics.aggregation import luce_choice
from quorum.statistics.crossed import ITEM
from tests.annotation.casting import joined
from tests.evaluation.test_scales import better_and_worse, exported, rehearsed
from tests.studies import make_study, make_worker

pytestmark = pytest.mark.django_db
BEST_ALONE: dict[str, Any] = {"answers": {"worst": False}, "sampling": {"options": "all"}}


def best_of_several() -> Study:
    """Five systems, each list with all of them, that eight people who err now and then filled."""
    controls = {"per_hit": 1, "threshold": 0.0}
    return rehearsed(
        "best-worst", "best-of", accuracy=0.7, judgments_per_unit=8, controls=controls, **BEST_ALONE
    )


@pytest.fixture(scope="module")
def animals(module_db: None) -> None:
    better_and_worse()


@pytest.fixture(scope="module")
def study(animals: None) -> Study:
    return best_of_several()


def best_of(judgment: Judgment) -> int:
    assert judgment.answer is not None
    place: int = judgment.answer["best"]
    return place


def design(**values: Any) -> Any:
    return make_design({"name": "x", "dataset": "animals", "protocol": "best-worst"} | values)


def test_a_design_asks_for_the_worst_unless_it_says_otherwise() -> None:
    usual, alone = design(), design(**BEST_ALONE)
    assert usual.question == "Which caption describes the image best, and which worst?"
    assert "answers" not in write_toml(usual)
    assert alone.question == "Which caption describes the image best?"
    assert alone.seconds_per_unit < usual.seconds_per_unit
    assert read_toml(write_toml(alone)) == alone
    assert "worst = false" in write_toml(alone)
    assert 'options = "all"' in write_toml(alone)
    preset = make_design(
        {"name": "x", "dataset": "a", "preset": "our-best-worst", "answers": {"worst": False}}
    )
    assert preset.question == alone.question
    own = design(question="Which one would you print?", **BEST_ALONE)
    assert own.question == "Which one would you print?"


def test_a_design_of_pairs_with_more_answers_is_written_as_before() -> None:
    pairs = make_design({"name": "x", "dataset": "a", "protocol": "pairwise", "answers": {"neither": True}})
    assert pairs.model_dump(mode="json")["answers"] == {
        "no_difference": False,
        "neither": True,
        "strength": False,
        "confidence": False,
    }


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"protocol": "pairwise", "answers": {"worst": False}}, "pairwise"),
        ({"protocol": "slider", "answers": {"worst": False}}, "slider"),
        ({"answers": {"neither": True}}, "is only for protocols that compare pairs"),
        ({"answers": {"worst": False, "strength": True}}, "is only for protocols that compare pairs"),
        ({"sampling": {"options": 2}}, "sampling.options is 2"),
        ({"sampling": {"options": "some"}}, "sampling.options is 'some'"),
        ({"stopping": {"rule": "settled"}, "answers": {"worst": False}}, "stopping.rule"),
    ],
)
def test_designs_that_cannot_be_are_refused_with_the_key(values: dict[str, Any], words: str) -> None:
    with pytest.raises(DesignError, match=words):
        design(**values)


def test_each_image_is_shown_once_with_one_text_of_each_system(study: Study) -> None:
    units = Unit.objects.filter(study=study, control=False)
    assert {len(unit.content["options"]) for unit in units} == {5}
    assert units.values("item").distinct().count() == units.count()
    controls = Unit.objects.filter(study=study, control=True)
    assert {tuple(unit.expected or ()) for unit in controls} == {("best",)}
    assert {len(unit.content["options"]) for unit in controls} <= {3, 5}


def test_systems_that_gave_the_same_text_share_its_place(animals: None) -> None:
    first, second = Output.objects.filter(item__position=3).order_by("system__name")[:2]
    second.caption = first.caption
    second.save()
    made = make_study("best-worst", slug="shared", controls={"per_hit": 0}, **BEST_ALONE)
    sizes = {unit.item.position: len(unit.content["options"]) for unit in Unit.objects.filter(study=made)}
    assert sizes.pop(3) == 4
    assert set(sizes.values()) == {5}


def test_a_worker_names_the_best_and_nothing_else(animals: None, client: Client) -> None:
    made = make_study("best-worst", slug="asked", judgments_per_unit=1, **BEST_ALONE)
    worker, headers = make_worker(made)
    address = f"/api/studies/{made.slug}/assignments/"
    given = client.post(address, content_type="application/json", headers=headers).json()
    unit = given["units"][0]
    assert unit["question"] == "Which caption describes the image best?"
    assert set(unit) == {"position", "protocol", "question", "image", "options"}
    submit = f"/api/assignments/{given['id']}/submit/"

    def answer(each: Any) -> Any:
        body = {"answers": [{"position": one["position"], "answer": each} for one in given["units"]]}
        return client.post(submit, body, content_type="application/json", headers=headers)

    refused = answer({"best": 1, "worst": 2})
    assert refused.status_code == 400
    assert "a number from 1 to" in refused.content.decode()
    assert answer({"best": 6}).status_code == 400
    assert answer({"best": 2}).status_code == 200
    judged = Judgment.objects.filter(assignment__worker=worker).select_related("unit").order_by("pk")
    seen = {one["position"]: one["options"][1]["text"] for one in given["units"]}
    stored = [one.unit.content["options"][best_of(one) - 1]["text"] for one in judged]
    assert sorted(stored) == sorted(seen.values()), "what is stored is in the unit's order"


def test_the_page_works_without_scripts(animals: None) -> None:
    made = make_study("best-worst", slug="plain", judgments_per_unit=1, **BEST_ALONE)
    worker = joined(made, "ada").worker
    claim = claim_assignment(study=made, worker=worker)
    assert claim is not None
    unit = claim.page_units[0].unit
    kind = kind_of(made)
    assert kind.read_form({"u1-best": "3"}, 1, unit) == {"best": 3}
    assert kind.read_form({}, 1, unit) is None
    assert kind.page.template == "annotation/kinds/best_of.html"
    assert KINDS["best-worst"].page.template == "annotation/kinds/best_worst.html"


def test_the_consensus_is_the_text_that_was_the_best_most_often(study: Study) -> None:
    result = aggregate_study(study=study)
    assert all(set(unit["answer"]) == {"best"} for unit in result["units"])
    alpha = result["agreement"]["alpha"]
    assert alpha["value"] > 0.1
    assert alpha["low"] < alpha["value"] < alpha["high"]
    captions = result["figures"]["captions"]
    assert all("worst" not in row and 0 <= row["score"] <= 1 for row in captions)
    for image in {row["image"] for row in captions}:
        own = [row for row in captions if row["image"] == image]
        assert sum(row["score"] for row in own) == pytest.approx(1)
        assert max(own, key=lambda row: row["score"])["strength"] == max(row["strength"] for row in own)
    assert check_integrity().problems == []


def test_answers_go_out_by_id_and_come_back(study: Study, tmp_path: Path) -> None:
    rows = exported(study, tmp_path / "out.jsonl")
    assert all(set(row["answer"]) == {"best"} for row in rows)
    for row in rows:
        assert row["answer"]["best"] in [option["key"] for option in row["content"]["options"]]
    import_judgments(format="jsonl", path=tmp_path / "out.jsonl", dataset="animals", study="again")
    again = Study.objects.get(slug="again")
    assert again.design["answers"] == {"worst": False}
    assert HIT.objects.filter(study=again).exists()
    mine, theirs = fit_choices(study).strengths, fit_choices(again).strengths
    assert theirs.items.tolist() == mine.items.tolist()
    assert theirs.log_strength == pytest.approx(mine.log_strength)


def test_systems_that_no_list_shows_together_are_not_compared_directly() -> None:
    """The strength of a is infinite, so standings rest on direct comparisons; a and b are never on one list."""
    lists = [("a", "c")] * 20 + [("b", "c")] * 20
    winners = ["a"] * 20 + ["b", "c"] * 10
    choices = Choices(
        strengths=luce_choice(lists, winners),
        winners=[[winner] for winner in winners],
        shown_systems=[set(names) for names in lists],
        clusters={ITEM: np.arange(40)},
        items=40,
    )
    standings = choices.standings()
    a, b, c = (standings.names.index(name) for name in "abc")
    assert standings.contrast(a, c).difference == 0.5
    assert np.isnan(standings.contrast(a, b).t)
