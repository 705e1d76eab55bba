"""Imports of judgments are all or nothing, harmless to repeat, and complete on the real sets."""

from pathlib import Path
from typing import Any

import pytest

from annotation.models import Assignment, Judgment, Worker
from common.errors import DataConflict
from contrib.judgment_imports.importing import import_judgments
from evaluation.data.export.exporting import export_judgments
from judgments.datasets.importing.datasets import import_dataset
from judgments.importers.problems import ImportProblem
from judgments.models import CandidatePair, Dataset, Item, PublishedPair, Study, System
from judgments.studies.studies import find_study
from tests.judgments.test_importing import COMPOSED, DECOMPOSED, written
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


@pytest.fixture
def dataset() -> Dataset:
    row = Dataset.objects.create(name="small", source_format="jsonl", sharing="installation")
    Item.objects.create(dataset=row, name="0.png", position=0)
    return row


def judgment(unit: str, worker: str, value: int, **more: Any) -> dict[str, Any]:
    return {
        "unit": unit,
        "worker": worker,
        "value": value,
        "protocol": "graded",
        "image": "0.png",
        "first_text": f"caption {unit}",
    } | more


def test_judgments_become_a_closed_study_of_their_own(dataset: Dataset, tmp_path: Path) -> None:
    rows = [judgment(unit, worker, 3) for unit in ("u1", "u2") for worker in ("ann", "bob")]
    rows[0] |= {"used": False, "seconds": 2.5, "submitted_at": "2026-01-01T10:00:00Z"}
    path = written(tmp_path / "j.jsonl", rows)
    summary = import_judgments(format="jsonl", path=path, dataset="small", study="elsewhere")
    assert summary.created
    study = Study.objects.get(slug="elsewhere")
    assert (study.state, study.source, study.protocol) == ("closed", "imported", "graded")
    assert Judgment.objects.of_study(study).count() == 4
    first = Judgment.objects.of_study(study).first()
    assert first is not None
    assert (first.set_aside, first.seconds) == (True, 2.5)
    assert not import_judgments(format="jsonl", path=path, dataset="small", study="elsewhere").created
    assert Judgment.objects.count() == 4


def test_two_answers_of_one_worker_on_one_unit_are_refused_whole(dataset: Dataset, tmp_path: Path) -> None:
    path = written(tmp_path / "j.jsonl", [judgment("u1", "ann", 3), judgment("u1", "ann", 4)])
    with pytest.raises((DataConflict, ImportProblem), match=r"u1|contradicts itself"):
        import_judgments(format="jsonl", path=path, dataset="small", study="twice")
    assert not Study.objects.exists()
    assert not Worker.objects.exists()
    assert not Assignment.objects.exists()


def test_two_assignments_of_one_worker_on_one_hit_are_refused_in_one_line(
    dataset: Dataset, tmp_path: Path
) -> None:
    rows = [judgment(f"u{number}", "ann", 3, hit="h1", assignment=f"a{number}") for number in (1, 2)]
    path = written(tmp_path / "j.jsonl", rows)
    with refuses(DataConflict, "ann", "h1", "a1", "a2"):
        import_judgments(format="jsonl", path=path, dataset="small", study="twice")
    assert not Study.objects.exists()


def test_a_study_that_was_designed_here_is_never_overwritten(dataset: Dataset, tmp_path: Path) -> None:
    Study.objects.create(slug="mine", name="Mine", dataset=dataset, protocol="graded", design={})
    path = written(tmp_path / "j.jsonl", [judgment("u1", "ann", 3)])
    with refuses(DataConflict, "mine"):
        import_judgments(format="jsonl", path=path, dataset="small", study="mine")


def test_both_spellings_of_an_accent_are_one_name(dataset: Dataset, tmp_path: Path) -> None:
    Item.objects.update(name=f"{COMPOSED}.png")
    first, again = (
        {"image": f"{name}.png", "first_text": "a cup", "unit": name, "worker": name, "value": 1}
        for name in (DECOMPOSED, COMPOSED)
    )
    other = written(tmp_path / "judgments.jsonl", [first, again | {"worker": "another"}])
    import_judgments(format="jsonl", path=other, dataset="small", study="one", protocol="relevance")
    assert Study.objects.get(slug="one").units.get().key == COMPOSED
    twice = written(tmp_path / "twice.jsonl", [first, again])
    with pytest.raises(ImportProblem, match="line 2"):
        import_judgments(format="jsonl", path=twice, dataset="small", study="two", protocol="relevance")


def test_flickr8k_comes_in_whole_and_its_judgments_out_byte_for_byte(shared: Path, tmp_path: Path) -> None:
    folder = shared / "data" / "flickr8k"
    summary = import_dataset(format="flickr8k", path=folder, name="flickr8k")
    assert (summary.counts["images"], summary.counts["captions"]) == (8092, 40460)
    assert {
        split: Item.objects.filter(split=split).count() for split in ("train", "dev", "test", "")
    } == {"train": 6000, "dev": 1000, "test": 1000, "": 92}  # fmt: skip
    # the crowd's counts are read whole in test_importers_flickr8k.py
    first, again = (
        import_judgments(format="flickr8k-expert", path=folder, dataset="flickr8k", study="expert")
        for _ in range(2)
    )
    assert (first.counts["units"], first.counts["judgments"]) == (5822, 17466)
    assert (first.created, again.created) == (True, False)
    assert not Worker.objects.filter(anonymous=False).exists()
    import_judgments(format="flickr8k-crowd", path=folder, dataset="flickr8k", study="crowd")
    for study, file in (("expert", "ExpertAnnotations.txt"), ("crowd", "CrowdFlowerAnnotations.txt")):
        export_judgments(study=find_study(study), format="flickr8k", output=tmp_path / file)
        assert (tmp_path / file).read_bytes() == (folder / file).read_bytes()


def test_pascal_50s_with_its_pairs_winners_and_votes(shared: Path) -> None:
    folder = shared / "data" / "pascal-50s"
    summary = import_dataset(format="pascal-50s", path=folder, name="pascal")
    assert summary.counts == {"images": 1000, "captions": 50000, "candidate pairs": 4000, "systems": 7}
    assert set(PublishedPair.objects.values_list("references", flat=True)) == {48}
    assert set(System.objects.filter(human=True).values_list("name", flat=True)) == {"human", "human-other"}
    import_judgments(format="pascal-50s", path=folder, dataset="pascal", study="winners")
    pairs = CandidatePair.objects.filter(study__slug="winners")
    assert pairs.exclude(published_winner=None).count() == 4000
    assert {len(references) for references in pairs.values_list("references", flat=True)} == {48}
    votes = import_judgments(
        format="pascal-50s", path=folder, dataset="pascal", study="votes", protocol="pairwise"
    )
    assert votes.counts["judgments"] == 3994 * 11 + 6 * 10
    assert votes.counts["published winners"] == 0
