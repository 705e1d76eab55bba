"""Captions that people wrote, in exports."""

import json
from pathlib import Path

import pytest

from annotation.models import Worker
from evaluation.data.export.exporting import export_judgments
from evaluation.errors import ExportError
from judgments.datasets.importing.datasets import import_dataset
from judgments.models import Caption, Dataset, Study
from tests.annotation.casting import make_study
from tests.annotation.writing import caption_by, written_study

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def written(module_db: None) -> Study:
    """Ada and Ben wrote a caption of each of three images."""
    return written_study("ada", "ben", images=3)


def test_the_caption_file_is_a_dataset_that_comes_back(written: Study, tmp_path: Path) -> None:
    path = tmp_path / "captions.jsonl"
    made = export_judgments(study=written, format="captions", output=path)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert made.manifest["counts"] == {"captions": 6, "writers": 2}
    assert {row["worker"] for row in rows} == {"writer-0001", "writer-0002"}
    assert not any("name" in row for row in rows)
    import_dataset(format="jsonl", path=path, name="again")
    back = Caption.objects.filter(dataset__name="again").order_by("item__position", "position")
    assert [(one.item.name, one.text, one.key) for one in back if one.item] == [
        (row["image"], row["caption"], row["caption_id"]) for row in rows
    ]
    assert set(Dataset.objects.get(name="again").items.values_list("split", flat=True)) == {"test"}


def test_a_study_that_writes_no_captions_has_no_caption_file(written: Study, tmp_path: Path) -> None:
    graded = make_study(written.dataset, "graded", name="Grades", slug="grades", controls={"per_hit": 0})
    with pytest.raises(ExportError, match="workers"):
        export_judgments(study=graded, format="captions", output=tmp_path / "captions.jsonl")


def test_judgments_of_captions_are_exported_with_their_texts(written: Study, tmp_path: Path) -> None:
    for name in ("jsonl", "csv", "parquet"):
        export_judgments(study=written, format=name, output=tmp_path / f"judgments.{name}")
    rows = [json.loads(line) for line in (tmp_path / "judgments.jsonl").read_text().splitlines()]
    people = Worker.objects.filter(name__in=["ada", "ben"])
    assert {row["answer"] for row in rows} == {
        caption_by(worker, row["image"]) for row in rows for worker in people
    }
    assert all(row["value"] is None for row in rows)
