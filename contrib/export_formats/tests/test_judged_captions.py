"""Files of judged captions for other programs: relevance judgments, Flickr8k's files and tables of ratings."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from evaluation.data.export.exporting import export_judgments
from evaluation.errors import ExportError
from tests.evaluation.studies import StudyOf, candidate, make_dataset
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

REFERENCES = {"a.jpg": ["a dog runs"], "b.jpg": ["a cat"]}
TEXTS = ["=cmd|' /C calc'!A0", "+1", "-2 dogs", "@home"]


@pytest.fixture
def relevance() -> StudyOf:
    study = StudyOf(make_dataset("toy", REFERENCES), "relevance", controls={"per_hit": 1})
    units = [study.unit(f"u{place}", "a.jpg", first=text) for place, text in enumerate(TEXTS[:4])]
    control = study.unit("c1", "b.jpg", first="a cat", control=True, expected=1)
    hit = study.hit("h1", [*units, control])
    study.answer(hit, "alma", [1, 1, 0, 0, 1])
    study.answer(hit, "bela", [1, 1, 1, 0, 1])
    study.answer(hit, "clara", [1, 0, 0, 0, 1])
    study.answer(
        study.hit("h2", [study.unit("u9", "b.jpg", first="unused only"), control_again(study)]),
        "spam",
        [1, 0],
    )
    return study


def control_again(study: StudyOf) -> Any:
    return study.unit("c2", "b.jpg", first="a dog", control=True, expected=1)


def exported(study: StudyOf, path: Path, form: str, **options: Any) -> Path:
    export_judgments(study=study.study, format=form, output=path, **options)
    return path


def manifest(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.with_name(f"{path.name}.manifest.json").read_text())
    return found


def test_qrels_name_the_image_as_query_or_the_caption(relevance: StudyOf, tmp_path: Path) -> None:
    keys = [candidate(relevance.dataset, text).key for text in TEXTS[:4]]
    found = exported(relevance, tmp_path / "annotation", "qrels").read_text()
    assert found == "".join(f"a.jpg 0 {key} {value}\n" for key, value in zip(keys, [1, 1, 0, 0], strict=True))
    found = exported(relevance, tmp_path / "search", "qrels", task="search").read_text()
    assert found.startswith(f"{keys[0]} 0 a.jpg 1\n")


def test_mean_grades_become_whole_relevance(tmp_path: Path) -> None:
    study = StudyOf(make_dataset("toy", REFERENCES), "graded")
    study.judge_texts([f"c {n}" for n in range(4)], {"alma": [1, 1, 3, 4], "bela": [1, 2, 4, 4]})
    found = exported(study, tmp_path / "out", "qrels").read_text().split()[3::4]
    assert found == ["0", "0", "2", "3"]  # means 1, 1.5, 3.5 and 4; a half goes down


def test_flickr8k_crowd_lines_hold_share_yes_and_no_of_used_judgments(
    relevance: StudyOf, tmp_path: Path
) -> None:
    path = exported(relevance, tmp_path / "out", "flickr8k")
    assert [line.split("\t")[2:] for line in path.read_text().splitlines()] == [
        ["1", "3", "0"],
        ["0.666666666666667", "2", "1"],
        ["0.333333333333333", "1", "2"],
        ["0", "0", "3"],
    ]
    # the unit whose only judge failed the control item cannot be written, and is counted
    assert manifest(path)["counts"] == {"lines": 4, "left_out": 1}


def test_reliability_data_is_workers_by_units(relevance: StudyOf, tmp_path: Path) -> None:
    path = exported(relevance, tmp_path / "out.csv", "reliability")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [
        ["worker", "u0", "u1", "u2", "u3", "u9"],
        ["alma", "1", "1", "0", "0", ""],
        ["bela", "1", "1", "1", "0", ""],
        ["clara", "1", "0", "0", "0", ""],
    ]


def test_the_hash_of_the_judgments_is_the_same_in_every_format(relevance: StudyOf, tmp_path: Path) -> None:
    forms = ("jsonl", "csv", "parquet", "qrels", "flickr8k", "reliability")
    hashes = {manifest(exported(relevance, tmp_path / form, form))["judgments_sha256"] for form in forms}
    assert len(hashes) == 1


@pytest.mark.parametrize("form", ["qrels", "flickr8k"])
def test_a_format_refuses_a_study_it_cannot_hold(form: str, tmp_path: Path) -> None:
    pairwise = StudyOf(make_dataset("toy", REFERENCES), "pairwise")
    with refuses(ExportError, form, "toy-pairwise"):
        exported(pairwise, tmp_path / "out", form)
    assert list(tmp_path.iterdir()) == []


def test_qrels_refuse_a_name_with_a_blank_and_leave_an_earlier_file_alone(tmp_path: Path) -> None:
    study = StudyOf(make_dataset("toy", {"my dog.jpg": ["a dog"]}), "relevance")
    study.answer(study.hit("h1", [study.unit("u1", "my dog.jpg", first="a dog")]), "alma", [1])
    with refuses(ExportError, "my dog.jpg"):
        exported(study, tmp_path / "out", "qrels")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "out").write_text("kept")
    with pytest.raises(ExportError):
        exported(study, tmp_path / "out", "qrels")
    assert (tmp_path / "out").read_text() == "kept"
