"""Strengths of systems in judgments from elsewhere."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from contrib.strengths.strengths import strengths_of
from judgments.models import CandidatePair, Dataset
from tests.evaluation.studies import make_dataset
from tests.evaluation.test_outputs import (
    EXAMPLES,
    FORMS,
    IMAGES,
    NAMES,
    OF_PAIRS,
    PAIRS,
    TEXTS,
    VOTES,
    brought,
    in_a_data_set_of_its_own,
    renamed,
    rows_of,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def dataset() -> Dataset:
    return make_dataset("shared", IMAGES)


def test_the_page_the_call_and_the_command_say_one_strength(
    dataset: Dataset, tmp_path: Path, admin_client: Client
) -> None:
    brought(rows_of(PAIRS), "pairwise", OF_PAIRS, tmp_path)
    output = tmp_path / "strengths.json"
    call_command("strengths", "brought", "--output", str(output), stdout=StringIO())
    printed = {row["system"]: row["strength"] for row in json.loads(output.read_text())["systems"]}
    called = admin_client.get("/api/studies/brought/strengths/").json()
    assert printed == {row["system"]: row["strength"] for row in called["systems"]}
    assert {name: round(value, 2) for name, value in printed.items()} == {"s1": 0.69, "s2": 0.0, "s3": -0.69}


def test_the_command_says_how_many_answers_name_no_side(dataset: Dataset, tmp_path: Path) -> None:
    votes = [1, 2, 0, 0, 0, 0, 0, 0]
    rows = [
        {
            "image": "A.jpg",
            "x": "one",
            "y": "other",
            "a": "s1",
            "b": "s2",
            "rater": f"w{number}",
            "best": str(vote),
        }
        for number, vote in enumerate(votes)
    ]
    brought(rows, "pairwise", OF_PAIRS, tmp_path)
    call_command("strengths", "brought", stdout=(said := StringIO()))
    assert "Log-strengths from 8 comparisons, 75\N{NO-BREAK SPACE}% without a side" in said.getvalue()


@given(votes=VOTES, texts=TEXTS, data=st.data())
@EXAMPLES
def test_order_names_and_writing_change_no_strength(
    votes: list[tuple[str, list[str], int]], texts: Any, data: Any, tmp_path: Path
) -> None:
    """Each system wins as often as its own side was chosen, whatever others wrote."""
    rows = [
        {"image": image, "x": texts[image, one], "y": texts[image, other], "a": one, "b": other,
         "rater": f"w{number}", "best": str(value)}
        for number, (image, (one, other, _), value) in enumerate(votes)
    ]  # fmt: skip
    names = dict(zip(["s1", "s2", "s3"], data.draw(NAMES), strict=True))
    others = [
        row
        | {"a": names[row["a"]], "b": names[row["b"]]}
        | {side: data.draw(st.sampled_from(FORMS))(row[side]) for side in "xy"}
        for row in data.draw(st.permutations(rows))
    ]
    found = []
    for some in (rows, others):
        study = in_a_data_set_of_its_own(some, "pairwise", OF_PAIRS, tmp_path)
        found.append({row["system"]: row["strength"] for row in strengths_of(study)["systems"]})
        pairs = {(row["image"], frozenset((row["a"], row["b"]))) for row in some}
        assert CandidatePair.objects.filter(study=study).count() == len(pairs)
    if None not in found[0].values():
        assert found[1] == pytest.approx(renamed(found[0], names), abs=1e-6)
