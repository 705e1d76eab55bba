"""Keywords and links: the consensus, how far people agree, and answers that come back from a file."""

import json
from pathlib import Path

import pytest

from annotation.models import Judgment
from contrib.judgment_imports.importing import import_judgments
from evaluation.data.export.exporting import export_judgments
from evaluation.errors import EvaluationError
from evaluation.results.aggregation import aggregate_study
from evaluation.results.metrics.storage import evaluate_study
from judgments.kinds.grounding import content_figures
from judgments.kinds.keywords import f1, pairwise_f1
from judgments.models import Study
from tests.evaluation.studies import keyword_study, link_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def keywords() -> Study:
    return keyword_study()


@pytest.fixture
def links() -> Study:
    return link_study()


def test_aggregate_tells_keywords_their_stems_and_how_far_people_agree(keywords: Study) -> None:
    found = aggregate_study(study=keywords)
    unit = found["units"][0]
    assert unit["answer"] == {"dog": 3, "barn": 2, "oak": 1, "red barn": 1, "visitors": 1}
    assert unit["stems"]["visitor"] == 1
    # F1 of {dog, barn, visitors} and {dog, oak}: 2/5; and {dog, barn, red barn}: 4/6; the last two: 2/5
    assert found["figures"]["pairwise_f1"]["value"] == pytest.approx((2 / 5 + 4 / 6 + 2 / 5) / 3)
    assert 0 < found["agreement"]["alpha"]["value"] < 1


def test_aggregate_tells_links_by_majority_and_how_well_people_select_content(links: Study) -> None:
    found = aggregate_study(study=links)
    assert found["units"][0]["answer"] == [{"word": 1, "box": "1"}, {"word": 5, "box": "0"}]
    assert found["units"][0]["boxes"] == ["1", "0"]
    assert found["figures"]["content_selection"]["boxes_named"] == 2
    # of each caption's 6 or 9 words people differ about two
    words = [[2, 2, 3], [1, 0, 1]] * 4 + [[0, 0, 0]] * (2 * (4 + 7))
    assert found["agreement"]["alpha"]["value"] == pytest.approx(nominal_alpha(words))


def nominal_alpha(units: list[list[int]]) -> float:
    """1 - D_o / D_e, spelled out: pairs within units against pairs of all values."""
    values = [value for unit in units for value in unit]
    within = sum(
        (one != other) / (len(unit) - 1) for unit in units for i, one in enumerate(unit)
        for j, other in enumerate(unit) if i != j
    )  # fmt: skip
    overall = sum(one != other for i, one in enumerate(values) for j, other in enumerate(values) if i != j)
    return 1 - (within / len(values)) / (overall / (len(values) * (len(values) - 1)))


@pytest.mark.parametrize("study", ["keywords", "links"])
def test_evaluate_says_in_one_sentence_what_to_use_instead(
    study: str, request: pytest.FixtureRequest
) -> None:
    with pytest.raises(EvaluationError, match="measures") as caught:
        evaluate_study(study=request.getfixturevalue(study), metrics=["rouge-l"])
    assert "evaluated against" in str(caught.value)


@pytest.mark.parametrize("name", ["keywords", "links"])
def test_exported_answers_come_back_as_they_went(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    study = request.getfixturevalue(name)
    path, again = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    export_judgments(study=study, format="jsonl", output=path)
    import_judgments(format="jsonl", path=path, dataset=study.dataset.name, study="again")
    export_judgments(study=Study.objects.get(slug="again"), format="jsonl", output=again)
    answers = [[json.loads(line)["answer"] for line in one.read_text().splitlines()] for one in (path, again)]
    assert answers[0] == answers[1]
    assert len(answers[0]) == Judgment.objects.of_study(study).count() > 5


def test_the_overlap_of_two_sets_is_f1_whichever_is_held_for_right() -> None:
    assert f1({"a", "b"}, {"b", "c", "d"}) == 2 / 5
    assert f1(set(), set()) == 1
    assert f1(set(), {"a"}) == 0
    found = pairwise_f1({1: [{"a"}, {"a"}, {"b"}], 2: [{"a"}]}, seed=0)
    assert (found["value"], found["n"], found["pairs_of_answers"]) == (pytest.approx(1 / 3), 1, 3)
    assert found["floor"] == pytest.approx(2 / 3)  # two of three name what the other unit's one names
    assert pairwise_f1({1: [{"a"}, {"a"}]}, seed=0)["floor"] is None
    assert pairwise_f1({}, seed=0)["reason"]


def test_people_who_select_the_same_content_reach_one() -> None:
    named = {"a.jpg": [{0, 1}, {0, 1}], "b.jpg": [{2}, {2}]}
    same = content_figures(named, {"a.jpg": 2, "b.jpg": 3}, seed=0)
    f1 = same["upper_bound"]["f1"]
    assert (f1["value"], f1["deviation"], f1["n"]) == (1.0, 0.0, 2)
    assert same["boxes_named"] == 1.5
    alone = content_figures(named | {"c.jpg": [{0}, set()]}, {"a.jpg": 2, "b.jpg": 3, "c.jpg": 9}, seed=0)
    assert alone["upper_bound"]["f1"] == f1  # nobody is held against others there, and so no random boxes
    # two of two boxes are always right; of b's three boxes each draw hits the named one or none
    assert 0.5 <= f1["floor"] < 1.0
    assert (
        f1["floor"]
        == content_figures(dict(reversed(named.items())), {"b.jpg": 3, "a.jpg": 2}, seed=0)["upper_bound"][
            "f1"
        ]["floor"]
    )
