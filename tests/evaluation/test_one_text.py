"""Blanks at the ends, line ends and composed letters make no other text, at no door."""

import csv
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Judgment
from common.errors import DataConflict
from contrib.judgment_imports.importing import import_judgments
from evaluation.data.export.exporting import export_judgments
from evaluation.results.aggregation import compute_aggregation
from judgments.datasets.importing.base import ImportSummary
from judgments.datasets.importing.candidates import import_candidates, store_candidates
from judgments.importers import ColumnMapping, ImportProblem
from judgments.models import Caption, Dataset, Output, Study
from tests.evaluation.studies import make_dataset

pytestmark = pytest.mark.django_db
WRITINGS = ["un café", "un cafe\u0301", "  un café ", "un cafe\u0301\r\n"]
LINES = ["one\nline", "one\r\nline", "one\rline", " one\nline\n"]


@pytest.fixture
def dataset() -> Dataset:
    return make_dataset("cafe", {"A.jpg": ["by people"], "B.jpg": ["by others"]})


def brought(rows: list[tuple[Any, ...]], folder: Path, slug: str = "brought", **columns: str) -> Study:
    path = folder / f"{slug}.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(("image", "cap", "rater", "stars", "model")[: len(rows[0])])
        writer.writerows(rows)
    of_columns = {"first_text": "cap", "worker": "rater", "value": "stars"} | columns
    mapping = ColumnMapping(columns={name: (source,) for name, source in of_columns.items()})
    import_judgments(format="csv", path=path, dataset="cafe", study=slug, protocol="graded", mapping=mapping)
    return Study.objects.get(slug=slug)


@pytest.mark.parametrize("writings", [WRITINGS, LINES])
def test_writings_of_a_text_are_one_unit(dataset: Dataset, tmp_path: Path, writings: list[str]) -> None:
    rows = [("A.jpg", text, f"w{number}", 1 + number % 4, "s") for number, text in enumerate(writings)]
    for slug, some in (("ahead", rows), ("back", rows[::-1])):
        study = brought(some, tmp_path, slug, system="model")
        (unit,) = compute_aggregation(study=study).as_json()["units"]
        assert (unit["n"], unit["value"]) == (4, 2.5)
    assert Caption.objects.filter(role="candidate").count() == 1


def test_the_case_files_have_two_units_of_two_votes(dataset: Dataset, tmp_path: Path) -> None:
    for slug, rows in (
        ("letters", [("A.jpg", "café", 3), ("A.jpg", "cafe\u0301", 3), ("B.jpg", "lön", 1), ("B.jpg", "lo\u0308n", 2)]),
        ("ends", [("A.jpg", "one\nline", 3), ("A.jpg", "one\r\nline", 3), ("B.jpg", "two", 1), ("B.jpg", "two", 2)]),
    ):  # fmt: skip
        votes = [
            (image, text, f"w{1 + number % 2}", stars, "") for number, (image, text, stars) in enumerate(rows)
        ]
        units = compute_aggregation(study=brought(votes, tmp_path, slug)).as_json()["units"]
        assert [(unit["n"], unit["value"]) for unit in units] == [(2, 3.0), (2, 1.5)]


def test_a_file_in_our_own_columns_is_read_alike(dataset: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [
        {
            "unit": "u",
            "worker": f"w{number}",
            "image": "A.jpg",
            "protocol": "graded",
            "value": 3,
            "first_text": text,
        }
        for number, text in enumerate(WRITINGS)
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    import_judgments(format="jsonl", path=path, dataset="cafe", study="own")
    assert Caption.objects.get(role="candidate").text == WRITINGS[0]
    export_judgments(study=Study.objects.get(slug="own"), format="jsonl", output=tmp_path / "out.jsonl")
    call_command("agreement", str(path), stdout=StringIO())


@pytest.mark.parametrize("stored", WRITINGS)
def test_the_first_writing_stays_and_is_met_by_all_others(
    dataset: Dataset, tmp_path: Path, stored: str
) -> None:
    path = tmp_path / "system.jsonl"
    path.write_text(f"{json.dumps({'image': 'A.jpg', 'caption': stored})}\n", encoding="utf-8")
    import_candidates(format="jsonl", path=path, dataset="cafe", system="s")
    found = store_candidates(dataset, WRITINGS)
    assert set(found.values()) == {Output.objects.get().caption_id}
    assert Output.objects.get().caption.text == stored
    rows = [("A.jpg", text, f"w{number}", 4, "s") for number, text in enumerate(WRITINGS)]
    study = brought(rows, tmp_path, system="model")
    assert [row["mean"]["value"] for row in compute_aggregation(study=study).as_json()["systems"]] == [4.0]
    assert Output.objects.count() == 1


def test_another_text_of_the_system_is_still_a_contradiction(dataset: Dataset, tmp_path: Path) -> None:
    brought([("A.jpg", "un café", "w", 4, "s")], tmp_path, system="model")
    with pytest.raises(DataConflict, match="'un thé'"):
        brought([("A.jpg", "un thé", "w", 4, "s")], tmp_path, "other", system="model")


def test_marks_move_with_the_writing_that_is_kept(dataset: Dataset, tmp_path: Path) -> None:
    store_candidates(dataset, ["un café noir"])
    path = tmp_path / "marks.jsonl"
    text = "  un cafe\u0301 noir"
    rows = [
        {"unit": "u", "worker": "w", "image": "A.jpg", "protocol": "spans", "first_text": text,
         "answer": {"spans": [{"start": 5, "end": 10, "severity": "minor"}]}}
    ]  # fmt: skip
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    import_judgments(format="jsonl", path=path, dataset="cafe", study="marks")
    judgment = Judgment.objects.get()
    assert judgment.answer is not None
    assert judgment.unit.first is not None
    (span,) = judgment.answer["spans"]
    assert judgment.unit.first.text[span["start"] : span["end"]] == "café"


def test_bytes_that_differ_go_out_as_they_came(dataset: Dataset, tmp_path: Path) -> None:
    study = brought([("A.jpg", "  un cafe\u0301 ", "w", 4, "s")], tmp_path, system="model")
    export_judgments(study=study, format="jsonl", output=tmp_path / "out.jsonl")
    assert json.loads((tmp_path / "out.jsonl").read_text("utf-8"))["first_text"] == "  un cafe\u0301 "


def test_a_dry_run_refuses_what_the_import_refuses(dataset: Dataset, tmp_path: Path) -> None:
    brought([("A.jpg", "un café", "w", 4, "s")], tmp_path, system="model")
    path = tmp_path / "other.csv"
    path.write_text("image,first_text,worker,value,system\nA.jpg,un thé,w,4,s\n", encoding="utf-8")
    before = [model.objects.count() for model in (Study, Caption, Judgment, Output)]
    said = []
    for more in ({"dry_run": True}, {}):
        with pytest.raises(CommandError) as refusal:
            call_command(
                "import_judgments", "csv", str(path), dataset="cafe", study="other", protocol="graded",
                map="system=system", stdout=StringIO(), **more,
            )  # fmt: skip
        said.append(str(refusal.value))
    assert said[0] == said[1]
    assert "has caption 'un thé' at rank 1 for image 'A.jpg'" in said[0]
    path.write_text("image,first_text,worker,value,system\nA.jpg,un café,w,4,s\n", encoding="utf-8")
    printed = StringIO()
    call_command(
        "import_judgments", "csv", str(path), dataset="cafe", study="other", protocol="graded",
        map="system=system", dry_run=True, stdout=printed,
    )  # fmt: skip
    assert "Nothing was stored" in printed.getvalue()
    assert [model.objects.count() for model in (Study, Caption, Judgment, Output)] == before


def test_a_refusal_quotes_where_two_texts_part(dataset: Dataset, tmp_path: Path) -> None:
    long = "The quick brown fox jumps over the lazy dog and runs away into the dark green forest "
    path = tmp_path / "rows.csv"
    rows = [f"u,w1,A.jpg,{long}today.,3", f"u,w2,A.jpg,{long}tonight.,3"]
    path.write_text("\n".join(["unit,worker,image,first_text,value", *rows]), encoding="utf-8")
    with pytest.raises(ImportProblem) as refusal:
        import_judgments(format="csv", path=path, dataset="cafe", study="parts", protocol="graded")
    words = "(first_text is '…green forest today.' on line 2, and '…green forest tonight.' here)"
    assert words in str(refusal.value)
    assert "line 3, unit" in str(refusal.value)


# Files, and the fingerprints that their studies got before texts had one form (0.5.0 to 0c367337).
STORED: dict[str, tuple[list[tuple[Any, ...]], dict[str, str], str]] = {
    "graded": (
        [
            ("image", "cap", "rater", "stars", "model"),
            ("A.jpg", "un cafe\u0301", "w1", 4, "s1"),
            ("A.jpg", " one\r\nline ", "w1", 2, ""),
            ("B.jpg", "un thé", "w2", 3, "s1"),
        ],
        {"first_text": "cap", "worker": "rater", "value": "stars", "system": "model"},
        "80ef1d7732fae8b650ba203fe6c7e26573422a0ce9b3f68345532f46b5e2aefa",
    ),
    "pairwise": (
        [
            ("image", "x", "y", "a", "b", "rater", "best"),
            ("A.jpg", "un cafe\u0301 ", "same", "s1", "s2", "w1", 1),
            ("A.jpg", "same", "same", "s2", "s3", "w1", 2),
            ("B.jpg", " x", "y\r\nz", "s1", "", "w1", 1),
        ],
        {
            "first_text": "x", "second_text": "y", "system": "a", "second_system": "b", "worker": "rater",
            "value": "best",
        },
        "be0401f6c6897f37d595e542d0825daf01da52a087dc38fb01bdba15a8cb0864",
    ),
}  # fmt: skip


@pytest.mark.parametrize("protocol", STORED)
def test_a_file_that_was_stored_before_is_known_again(
    dataset: Dataset, tmp_path: Path, protocol: str
) -> None:
    rows, columns, fingerprint = STORED[protocol]
    path = tmp_path / "file.csv"

    def again() -> ImportSummary:
        with path.open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows(rows)
        mapping = ColumnMapping(columns={name: (source,) for name, source in columns.items()})
        return import_judgments(
            format="csv", path=path, dataset="cafe", study="s", protocol=protocol, mapping=mapping
        )

    assert again().created
    assert not again().created
    Study.objects.filter(slug="s").update(fingerprint=fingerprint)
    assert not again().created
    rows = rows[:-1]
    with pytest.raises(DataConflict, match="with other judgments"):
        again()


def test_a_file_that_is_refused_now_is_known_again(dataset: Dataset, tmp_path: Path) -> None:
    """One person judged two writings of a text, which are one now."""
    rows = [("A.jpg", "un café", "w1", 4), ("A.jpg", "un cafe\u0301", "w1", 4)]
    study = brought(rows[:1], tmp_path, "two")
    with pytest.raises(ImportProblem, match="a second answer"):
        brought(rows, tmp_path, "two")
    fingerprint = "47325b747d5ff1e2d086775cf10bd37f69ddfda6fd70b1cc128cd5d42854f713"  # as above
    Study.objects.filter(pk=study.pk).update(fingerprint=fingerprint)
    brought(rows, tmp_path, "two")
