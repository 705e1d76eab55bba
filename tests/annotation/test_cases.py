"""Small files that went wrong once: read at the doors by which people bring them, they give the right figures."""

import csv
import json
import zipfile
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from annotation.models import Judgment
from judgments.models import Caption, Dataset, Item, Output, Study, Unit
from tests.evaluation.studies import make_dataset

pytestmark = pytest.mark.django_db
GRADED = "image=image,first_text=cap,system=sys,worker=rater,value=stars"
PAIRS = "image=image,first_text=x,second_text=y,system=a,second_system=b,worker=rater,value=best"
Run = Callable[..., Any]


@pytest.fixture
def cases(shared: Path) -> Path:
    return shared / "cases"


@pytest.fixture
def imported(cases: Path, tmp_path: Path) -> Run:
    """Import a file's judgments as a study of their own; ``back`` has its rows in reverse order."""

    def run(
        name: str, protocol: str, mapping: str, *options: str, back: bool = False, study: str = "s"
    ) -> str:
        path, said = cases / name, StringIO()
        content = path.read_bytes().decode()
        if path.suffix == ".csv":
            rows = list(csv.DictReader(StringIO(content, newline="")))
        else:
            rows = (
                json.loads(content) if path.suffix == ".json" else list(map(json.loads, content.splitlines()))
            )
        if back:
            path = (tmp_path / name).with_suffix(".json")
            path.write_text(json.dumps(rows[::-1]), encoding="utf-8")
        column = dict(pair.split("=") for pair in mapping.split(","))["image"]
        if not Dataset.objects.exists():
            make_dataset("items", {row[column]: [f"{row[column]} by a person"] for row in rows})
        call_command(
            "import_judgments", path.suffix[1:], str(path), "--dataset", "items", "--study", study, "--protocol",
            protocol, "--map", mapping, *options, stdout=said,
        )  # fmt: skip
        return said.getvalue()

    return run


@pytest.fixture
def figures(tmp_path: Path) -> Run:
    """What a command writes to its output file."""

    def run(command: str, *options: str) -> Any:
        path = tmp_path / f"{command}.json"
        call_command(command, *options, "--output", str(path), stdout=StringIO(), stderr=StringIO())
        return json.loads(path.read_text())

    return run


def means(result: Any) -> dict[str, float]:
    return {row["system"]: row["mean"]["value"] for row in result["systems"]}


def answers() -> list[tuple[str, str, float]]:
    rows = Judgment.objects.exclude(value=None).values_list(
        "unit__item__name", "assignment__worker__name", "value"
    )
    return sorted((item, worker, float(value or 0)) for item, worker, value in rows)


@pytest.mark.parametrize("back", [False, True], ids=["as it is", "in reverse"])
@pytest.mark.parametrize("protocol", ["graded", "slider"])
def test_grades_of_one_text_stay_with_the_system_that_was_graded(
    imported: Run, figures: Run, tmp_path: Path, protocol: str, back: bool
) -> None:
    right = {"s1": 4.0, "s2": 1.5}
    imported("shared-text-grades.csv", protocol, "image=image,first_text=out,system=model,worker=rater,value=stars",
             back=back)  # fmt: skip
    result = figures("aggregate", "s")
    assert means(result) == right
    assert {row["system"]: row["value"] for row in result["systems_verdict"]["systems"]} == right
    call_command("export_judgments", "s", format="mtme", output=tmp_path / "out.zip", stdout=StringIO())
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        (name,) = (
            name for name in archive.namelist() if "human-scores" in name and name.endswith("sys.score")
        )
        scores = dict(line.split("\t") for line in archive.read(name).decode().splitlines())
    assert {system: float(score) for system, score in scores.items()} == right
    call_command("export_judgments", "s", format="jsonl", output=tmp_path / "out.jsonl", stdout=StringIO())
    call_command(
        "import_judgments", "jsonl", tmp_path / "out.jsonl", dataset="items", study="again", stdout=StringIO()
    )
    assert means(figures("aggregate", "again")) == right


@pytest.mark.parametrize("back", [False, True], ids=["as it is", "in reverse"])
def test_votes_on_one_text_stay_with_the_two_systems_that_met(
    imported: Run, figures: Run, back: bool
) -> None:
    imported("shared-text-pairs.csv", "pairwise", PAIRS, back=back)
    strengths = {row["system"]: row["strength"] for row in figures("strengths", "s")["systems"]}
    assert strengths == pytest.approx({"s1": 0.69, "s2": 0, "s3": -0.69}, abs=0.005)
    assert list(strengths) == ["s1", "s2", "s3"]


def test_an_empty_output_is_an_output(imported: Run, figures: Run, admin_client: Client) -> None:
    imported(
        "empty-output.csv", "graded", "image=image,first_text=output,system=model,worker=rater,value=score"
    )
    assert means(figures("aggregate", "s")) == {"s1": 3.0, "s2": 2.5}
    units = admin_client.get(f"/admin/judgments/unit/?study__id__exact={Study.objects.get().pk}")
    assert "(empty)" in units.content.decode()


@pytest.mark.parametrize("values", [(), ("--values", "1=1,0=0")], ids=["as they are", "in words"])
def test_ties_of_a_file_give_no_difference(imported: Run, values: tuple[str, ...]) -> None:
    imported(
        "ties.csv", "pairwise", "image=image,first_text=x,second_text=y,worker=rater,value=best", *values
    )
    assert answers() == [("A.jpg", "w1", 1), ("A.jpg", "w2", 0)]
    assert Study.objects.get().design["answers"]["no_difference"] is True


def test_captions_of_systems_are_not_by_people(cases: Path) -> None:
    call_command("import_dataset", "csv", cases / "captions-of-a-system.csv", name="items", stdout=StringIO())
    assert Caption.objects.filter(role="reference").values_list("text", flat=True).get() == "by a person"
    outputs = Output.objects.values_list("system__name", "caption__text")
    assert sorted(outputs) == [("m1", "by a machine"), ("m2", "by another")]


def test_grades_from_1_to_5_by_halves_keep_their_scale(imported: Run, figures: Run) -> None:
    imported("one-to-five.csv", "graded", GRADED.replace("stars", "score"))
    scale = Study.objects.get().design["scale"]
    assert (scale["low"], scale["high"], scale["step"]) == (1, 5, 0.5)
    assert means(figures("aggregate", "s")) == {"s1": 3.875, "s2": 1.25}


@pytest.mark.parametrize(
    ("name", "value", "people"), [("wide.csv", "r{n}", "123"), ("lists.json", "ratings", "012")]
)
def test_a_column_or_place_for_each_person_is_a_judgment(
    imported: Run, name: str, value: str, people: str
) -> None:
    imported(name, "graded", f"image=item,first_text=cap,value={value},worker={{n}}")
    keys = [(item, person) for item in ("t1", "t2") for person in people]
    assert answers() == [(*key, value) for key, value in zip(keys, (3, 4, 2, 1, 2, 3), strict=True)]


def test_people_may_be_unknown(imported: Run, figures: Run) -> None:
    imported("no-people.csv", "graded", "image=image,first_text=cap,value=stars", "--workers", "anonymous")
    assert Judgment.objects.values("assignment__worker").distinct().count() == 2
    result = figures("aggregate", "s")
    # Of the two units one has two judgments, 3 and 4, whose only disagreement is also that of chance.
    alpha = result["agreement"]["alpha"]
    assert (alpha["value"], alpha["judgments"], alpha["clusters"]) == (0, 3, {"item": 1})
    assert "a file that does not name them" in result["agreement"]["per_worker"]["reason"]
    assert result["workers"] == []


def test_columns_of_our_names_can_be_left_out(imported: Run, figures: Run) -> None:
    imported(
        "column-names-like-ours.csv", "graded",
        "image=image,first_text=cap,worker=rater,value=stars,kind=-,invalidated=-",
    )  # fmt: skip
    assert [unit["n"] for unit in figures("aggregate", "s")["units"]] == [1, 1]


@pytest.mark.parametrize(
    ("name", "value", "options", "right"),
    [
        ("criteria-in-rows.csv", "score", ("--criterion", "criterion"), (3.5, 2.0)),
        ("criteria-in-columns.csv", "fluency|adequacy", (), (2.25, 3.0)),
    ],
    ids=["rows", "columns"],
)
def test_two_criteria_are_one_import(
    imported: Run, figures: Run, name: str, value: str, options: tuple[str, ...], right: tuple[float, float]
) -> None:
    imported(name, "graded", GRADED.replace("stars", value), *options)
    for criterion, mean in zip(("fluency", "adequacy"), right, strict=True):
        result = figures("aggregate", f"s-{criterion}")
        assert means(result) == {"s1": mean}
        assert result["agreement"]["alpha"]["judgments"] == sum(unit["n"] for unit in result["units"])


def test_one_source_text_is_one_item(cases: Path) -> None:
    path = cases / "texts-without-ids.csv"
    call_command("import_dataset", "csv", path, "--name", "items", "--map", "text=src", stdout=StringIO())
    call_command(
        "import_judgments", "csv", path, "--dataset", "items", "--study", "s", "--protocol", "graded", "--map",
        "text=src,first_text=out,system=model,worker=rater,value=score", stdout=StringIO(),
    )  # fmt: skip
    assert sorted(Item.objects.values_list("text", flat=True)) == ["another sentence", "one sentence"]
    assert Unit.objects.filter(item__text="one sentence").count() == 2


@pytest.mark.parametrize("name", ["composed-and-decomposed.csv", "line-ends.csv"])
@pytest.mark.parametrize("back", [False, True], ids=["as it is", "in reverse"])
def test_writings_of_one_text_are_one_unit(imported: Run, figures: Run, name: str, back: bool) -> None:
    imported(name, "graded", "image=image,first_text=cap,worker=rater,value=stars", back=back)
    units = figures("aggregate", "s")["units"]
    assert sorted((unit["n"], unit["value"]) for unit in units) == [(2, 1.5), (2, 3.0)]


def test_numbers_and_texts_of_numbers_agree_and_that_is_said(cases: Path) -> None:
    said, aside = StringIO(), StringIO()
    call_command(
        "agreement", cases / "numbers-and-texts.jsonl", "--level", "nominal", stdout=said, stderr=aside
    )
    assert json.loads(said.getvalue())["alpha"]["value"] == 1
    assert '"1" is a text in some rows and a number in others, and counts as the number' in aside.getvalue()


@pytest.mark.parametrize(("last", "right"), [(1, 5 / 6), (0, 1)], ids=["one disagreement", "none"])
def test_the_interval_of_a_share_lies_within_0_and_1(
    cases: Path, tmp_path: Path, figures: Run, last: int, right: float
) -> None:
    *rows, row = (cases / "two-raters-one-disagreement.jsonl").read_text().splitlines()
    path = tmp_path / "raters.jsonl"
    path.write_text("\n".join([*rows, json.dumps(json.loads(row) | {"value": last})]))
    percent = figures("agreement", str(path), "--coefficient", "percent")["coefficients"]["percent"]
    assert percent["value"] == pytest.approx(right)
    assert 0 <= percent["low"] < percent["high"] <= 1
    assert percent["low"] <= percent["value"] <= percent["high"]


@pytest.mark.parametrize("back", [False, True], ids=["as it is", "in reverse"])
def test_of_two_who_never_agree_neither_is_right(imported: Run, figures: Run, back: bool) -> None:
    imported(
        "never-agree.jsonl", "relevance", "image=unit,first_text=unit,worker=worker,value=value", back=back
    )
    result = figures("aggregate", "s", "--method", "mace,glad")
    for model in (result["dawid_skene"], *result["models"].values()):
        assert {unit["value"] for unit in model["units"]} == {None}
        assert [unit["probability"] for unit in model["units"]] == pytest.approx([0.5] * 8)
        skills = [row.get("accuracy", row.get("competence")) for row in model["workers"]]
        assert skills[0] == pytest.approx(skills[1])


@pytest.mark.parametrize(("name", "least"), [("eleven-votes.csv", 0.75), ("three-votes.csv", 0.6)])
def test_more_votes_never_decide_less(imported: Run, figures: Run, name: str, least: float) -> None:
    """49 of 50 pairs are won with eleven votes each, 39 of 50 with three."""
    imported(name, "pairwise", PAIRS)
    verdict = figures("aggregate", "s")["systems_verdict"]
    best = verdict["systems"][0]
    assert (verdict["settled"], best["system"]) == (True, "sa")
    assert best["low"] >= least


def test_four_people_are_too_few_for_a_winner(imported: Run, figures: Run) -> None:
    imported("four-raters.csv", "graded", GRADED)
    verdict = figures("aggregate", "s")["systems_verdict"]
    assert verdict["scope"] == "items and people"
    assert verdict["p"] == pytest.approx(0.051, abs=0.001)
    assert not verdict["settled"]
    assert verdict["sentence"].startswith("No winner yet")
