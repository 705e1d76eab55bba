"""A call imports rows of judgments with the options of the command."""

import csv
import io
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Judgment
from contrib.judgment_imports.tests.test_tables_as_people_have_them import (
    COLUMNS,
    CRITERIA_IN_COLUMNS,
    CRITERIA_IN_ROWS,
    OURS,
    PEOPLE,
    WIDE,
    answers,
)
from judgments.models import Dataset, Item, Study
from tests.refusals import assert_names

pytestmark = pytest.mark.django_db
OUTPUTS = "image=image,first_text=cap,system=sys,worker=rater"


@pytest.fixture
def dataset() -> Dataset:
    row = Dataset.objects.create(name="items", source_format="jsonl", sharing="installation")
    names = ("A.jpg", "B.jpg", "t1", "t2")
    texts = ("one sentence", "another", "", "")
    Item.objects.bulk_create(
        Item(dataset=row, name=name, text=text, position=at)
        for at, (name, text) in enumerate(zip(names, texts, strict=True))
    )
    return row


def rows_of(table: str) -> list[dict[str, Any]]:
    return [
        {name: int(cell) if cell.isdecimal() else cell or None for name, cell in row.items()}
        for row in csv.DictReader(io.StringIO(table))
    ]


def sent(client: Client, rows: list[dict[str, Any]], **options: Any) -> Any:
    body = {"study": "brought", "protocol": "graded", "rows": rows} | options
    return client.post(
        reverse("api:dataset-judgments", args=["items"]), body, content_type="application/json"
    )


@pytest.mark.usefixtures("dataset")
@pytest.mark.parametrize(
    ("table", "options", "expected"),
    [
        pytest.param(
            WIDE,
            {"map": "image=item,first_text=cap,value=r{n},worker={n}"},
            {("t1", "1"): 3, ("t1", "2"): 4, ("t1", "3"): 2, ("t2", "1"): 1, ("t2", "2"): 2, ("t2", "3"): 3},
            id="numbered columns",
        ),
        pytest.param(
            PEOPLE,
            {"map": "image=item,first_text=cap", "people": "Ada,Ben,Eva"},
            {("t1", "Ada"): 3, ("t1", "Ben"): 4, ("t1", "Eva"): 2, ("t2", "Ada"): 1, ("t2", "Eva"): 3},
            id="columns of people",
        ),
        pytest.param(
            "image,cap,stars\nA.jpg,one,3\nA.jpg,one,4\n",
            {"map": "image=image,first_text=cap,value=stars", "workers": "anonymous"},
            {("A.jpg", "anon-1"): 3, ("A.jpg", "anon-2"): 4},
            id="nobody",
        ),
        pytest.param(
            OURS,
            {"map": f"{COLUMNS},kind=-,invalidated=-"},
            {("A.jpg", "w1"): 3, ("B.jpg", "w1"): 2},
            id="our names",
        ),
        pytest.param(
            "src,cap,rater,stars\none sentence,one,w1,3\nanother ,two,w1,NA\n",
            {"map": "text=src,first_text=cap,worker=rater,value=stars", "missing": "NA"},
            {("A.jpg", "w1"): 3},
            id="texts and words for nothing",
        ),
        pytest.param(
            CRITERIA_IN_ROWS,
            {"map": f"{OUTPUTS},value=score", "where": "criterion=fluency"},
            {("A.jpg", "w1"): 4, ("A.jpg", "w2"): 3},
            id="part of the rows",
        ),
        pytest.param(
            "image,cap,rater,stars\na.PNG,one,w1,3\n",
            {"map": COLUMNS, "match_names": True},
            {("A.jpg", "w1"): 3},
            id="names",
        ),
    ],
)
def test_rows_of_any_shape_are_imported(
    designer: Client, table: str, options: dict[str, Any], expected: dict[tuple[str, str], int]
) -> None:
    rows = rows_of(table)
    tried = sent(designer, rows, dry_run=True, **options)
    assert tried.status_code == 200, tried.content
    assert not Study.objects.exists()
    made = sent(designer, rows, **options)
    assert made.status_code == 201, made.content
    assert made.json()["study"] == "brought"
    assert answers() == expected
    assert sent(designer, rows, **options).status_code == 200


@pytest.mark.usefixtures("dataset")
@pytest.mark.parametrize(
    ("table", "options"),
    [
        pytest.param(
            CRITERIA_IN_ROWS, {"map": f"{OUTPUTS},value=score", "criterion": "criterion"}, id="rows"
        ),
        pytest.param(CRITERIA_IN_COLUMNS, {"map": f"{OUTPUTS},value=fluency|adequacy"}, id="columns"),
    ],
)
def test_criteria_become_studies(designer: Client, table: str, options: dict[str, str]) -> None:
    made = sent(designer, rows_of(table), **options)
    assert made.json()["study"] == "brought-fluency, brought-adequacy"
    assert answers("brought-adequacy")["A.jpg", "w1"] == 2


@pytest.mark.usefixtures("dataset")
def test_a_call_names_the_scale_of_its_answers(designer: Client) -> None:
    rows = rows_of("image,cap,rater,stars\nA.jpg,one,w1,5\nA.jpg,one,w2,2\n")
    assert sent(designer, rows, map=COLUMNS, scale="five").status_code in (400, 409)
    assert sent(designer, rows, map=COLUMNS, scale="1:5:1").status_code == 201
    assert Study.objects.get().design["scale"]["high"] == 5


@pytest.mark.usefixtures("dataset")
def test_a_call_has_keys_of_a_study_file(designer: Client) -> None:
    rows = rows_of("image,cap,rater,stars\nA.jpg,one,w1,5\n")
    assert sent(designer, rows, map=COLUMNS, design={"scale": "five"}).status_code in (400, 409)
    scale = {"low": 1, "high": 5, "step": 1, "labels": {"5": "best"}}
    made = sent(designer, rows, map=COLUMNS, design={"scale": scale})
    assert made.status_code == 201, made.content
    assert Study.objects.get().design["scale"]["labels"] == {"5": "best"}


@pytest.mark.usefixtures("dataset")
def test_a_call_is_refused_as_a_command_is(designer: Client) -> None:
    refused = sent(designer, rows_of("image,cap,rater,stars\nA.jpg,one,w1,good\n"), map=COLUMNS)
    assert refused.status_code == 400
    assert_names(refused.json()["detail"], "line 1", "stars (value)", "good")
    assert sent(designer, [{"a": 1}], map="image").status_code == 400
    assert not Judgment.objects.exists()


@pytest.mark.usefixtures("dataset")
def test_a_stranger_imports_nothing(client: Client) -> None:
    assert sent(client, [{"a": 1}]).status_code in (401, 403)
