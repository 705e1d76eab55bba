"""Files of keywords and links: from answers to the measures that take them as gold standard."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from evaluation.data.export.exporting import export_judgments
from evaluation.data.export.formats import formats_for
from judgments.models import Study
from quorum.metrics.content import content_selection
from quorum.metrics.keywords import keyword_best, keyword_forms, keyword_oot
from tests.annotation.casting import make_study
from tests.annotation.scenes import make_scenes
from tests.evaluation.studies import keyword_study, link_study
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


def lines(study: Study, format: str, folder: Path) -> list[dict[str, Any]]:
    path = folder / f"gold.{format}"
    export_judgments(study=study, format=format, output=path)
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def keywords() -> Study:
    return keyword_study()


@pytest.fixture
def links() -> Study:
    return link_study()


def test_the_gold_standard_of_keywords_counts_people_and_merges_stems_besides(
    keywords: Study, tmp_path: Path
) -> None:
    rows = lines(keywords, "keywords", tmp_path)
    assert sorted(row["image"] for row in rows) == ["scene-0.jpg", "scene-1.jpg"]
    assert rows[0]["workers"] == 3
    assert rows[0]["keywords"] == {"dog": 3, "barn": 2, "oak": 1, "red barn": 1, "visitors": 1}
    assert rows[0]["stems"] == {"dog": 3, "barn": 2, "oak": 1, "red barn": 1, "visitor": 1}


def test_keywords_reach_the_measures_of_semeval(keywords: Study, tmp_path: Path) -> None:
    gold = [Counter(row["stems"]) for row in lines(keywords, "keywords", tmp_path)]
    guesses = [keyword_forms(["dogs", "cats"]) for _ in gold]
    # 8 tags an image, "dog" thrice: best shares the credit of two guesses, out-of-ten gives it whole
    assert keyword_best(guesses, gold).recall == pytest.approx(3 / 8 / 2)
    assert keyword_oot(guesses, gold).recall == pytest.approx(3 / 8)


def test_links_reach_the_measure_of_content_selection(links: Study, tmp_path: Path) -> None:
    rows = lines(links, "grounding", tmp_path)
    assert len(rows) == 4  # two captions of each image
    row = next(row for row in rows if row["caption"] == "A dog sits near a barn .")
    assert row["links"] == [
        {"word": 1, "box": "1", "text": "dog", "label": "dog.n.01", "votes": 2},
        {"word": 5, "box": "0", "text": "barn", "label": "barn.n.01", "votes": 2},
    ]
    assert (row["boxes"], row["box_numbers"], row["workers"], row["tie"]) == (["1", "0"], [1, 0], 3, False)
    gold: dict[str, list[set[int]]] = {image: [] for image in sorted({row["image"] for row in rows})}
    for row in rows:
        gold[row["image"]].append(set(row["box_numbers"]))
    assert gold == {"scene-0.jpg": [{0, 1}] * 2, "scene-1.jpg": [{0, 1}] * 2}
    # WG15 eq. 1-3: one of two boxes named, and nothing else
    score = content_selection([[0]] * 2, list(gold.values()))
    assert (score.precision.mean, score.recall.mean, score.f1.mean) == (1, 0.5, pytest.approx(2 / 3))


@pytest.mark.parametrize(("protocol", "other"), [("keywords", "grounding"), ("grounding", "keywords")])
def test_a_format_of_another_kind_is_refused_and_not_offered(
    protocol: str, other: str, tmp_path: Path
) -> None:
    study = make_study(make_scenes(), protocol, controls={"per_hit": 0})
    names = {one.name for one in formats_for(study)}
    assert protocol in names
    assert other not in names
    with refuses(CommandError, other):
        call_command("export_judgments", study.slug, format=other, output=tmp_path / "x")
