"""Imports are all or nothing, harmless to repeat, and complete on the real sets."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from PIL import Image as PillowImage

from common.errors import DataConflict
from judgments.datasets.importing.candidates import import_candidates
from judgments.datasets.importing.datasets import import_dataset
from judgments.datasets.picture_checks import PictureProblem
from judgments.datasets.pictures import PictureCopy
from judgments.importers.problems import ImportProblem
from judgments.models import Caption, Dataset, Item, Output, System
from tests.limits import longest_file
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
# the first chunk says that it has no bytes, where width and height should be
BROKEN_HEAD = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\0IHDR" + bytes(30)


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def references(tmp_path: Path) -> Path:
    rows = [{"image": f"{n}.png", "caption": f"picture {n} way {k}"} for n in range(3) for k in range(2)]
    return written(tmp_path / "references.jsonl", rows)


@pytest.fixture
def dataset(references: Path) -> Dataset:
    import_dataset(format="jsonl", path=references, name="small")
    return Dataset.objects.get()


def test_a_dataset_keeps_the_file_s_order(dataset: Dataset) -> None:
    assert list(dataset.items.values_list("name", flat=True)) == ["0.png", "1.png", "2.png"]
    texts = Caption.objects.filter(item__name="1.png").order_by("position").values_list("text", flat=True)
    assert list(texts) == ["picture 1 way 0", "picture 1 way 1"]


def test_the_same_file_again_changes_nothing_and_another_is_refused(
    dataset: Dataset, references: Path, tmp_path: Path
) -> None:
    before = list(Caption.objects.values_list("pk", "text"))
    assert import_dataset(format="jsonl", path=references, name="small").created is False
    other = written(tmp_path / "other.jsonl", [{"image": "0.png", "caption": "something else"}])
    with pytest.raises(DataConflict, match="with other rows"):
        import_dataset(format="jsonl", path=other, name="small")
    assert list(Caption.objects.values_list("pk", "text")) == before


def test_a_fault_late_in_the_file_leaves_nothing_behind(tmp_path: Path) -> None:
    rows = [{"image": f"{n}.png", "caption": "fine"} for n in range(5000)]
    path = written(tmp_path / "broken.jsonl", [*rows, {"image": "x.png"}])
    with pytest.raises(ImportProblem, match="line 5001"):
        import_dataset(format="jsonl", path=path, name="broken")
    assert not Dataset.objects.exists()
    assert not Item.objects.exists()


@pytest.mark.parametrize("name", ["", "two words", "a/b", "x" * 81])
def test_a_dataset_s_name_is_a_slug(references: Path, name: str) -> None:
    with refuses(DataConflict, "letters", "80"):
        import_dataset(format="jsonl", path=references, name=name)


def pictures(folder: Path, names: list[str]) -> Path:
    folder.mkdir()
    for name in names:
        PillowImage.new("RGB", (8, 6), "red").save(folder / name)
    return folder


def test_pictures_are_copied_under_names_that_tell_nothing(references: Path, tmp_path: Path) -> None:
    folder = pictures(tmp_path / "pictures", ["0.png", "1.png", "2.png"])
    import_dataset(format="jsonl", path=references, name="small", images=str(folder))
    for item in Item.objects.all():
        with item.picture.open("rb") as stored:
            assert stored.read() == (folder / item.name).read_bytes()
        assert Path(str(item.picture)).stem == f"{item.position:06d}"


def copy_both(folder: Path) -> None:
    with PictureCopy("small") as copy:
        copy.add(0, folder / "0.png")
        copy.add(1, folder / "1.png")


def test_an_import_that_stops_in_the_middle_leaves_no_picture(
    references: Path, tmp_path: Path, settings: Any
) -> None:
    """A full disk, and a kill after which the same name has fewer pictures."""
    settings.DATA_DIR, settings.MEDIA_ROOT = tmp_path, tmp_path / "media"
    stored = tmp_path / "media" / "pictures"
    folder = pictures(tmp_path / "pictures", ["0.png", "1.png", "2.png"])
    (folder / "1.png").write_bytes((folder / "1.png").read_bytes().ljust(100_000, b"\0"))
    with pytest.raises(OSError, match="File too large"), longest_file(50_000):
        copy_both(folder)
    assert list(stored.iterdir()) == []

    left = stored / "small" / "000009.jpg"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"of a killed import")
    import_dataset(format="jsonl", path=references, name="small", images=str(folder))
    found = [str(path.relative_to(stored)) for path in sorted(stored.rglob("*.*"))]
    assert found == ["small/000000.png", "small/000001.png", "small/000002.png"]


COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"


def test_both_spellings_of_an_accent_are_one_name(tmp_path: Path) -> None:
    rows = [{"image": f"{name}.png", "caption": f"in {len(name)} signs"} for name in (COMPOSED, DECOMPOSED)]
    folder = pictures(tmp_path / "pictures", [f"{DECOMPOSED}.png"])
    path = written(tmp_path / "both.jsonl", rows)
    import_dataset(format="jsonl", path=path, name="small", images=str(folder))
    item = Item.objects.get()
    assert (item.name, item.references.count(), bool(item.picture)) == (f"{COMPOSED}.png", 2, True)

    for name in (DECOMPOSED, COMPOSED):
        made = written(tmp_path / "made.jsonl", [{"image": f"{name}.png", "caption": "a cup"}])
        found = import_candidates(format="jsonl", path=made, dataset="small", system=name)
        assert found.created == (name == DECOMPOSED)
    assert System.objects.get().name == COMPOSED


def test_a_dataset_of_before_is_found_under_either_spelling(tmp_path: Path) -> None:
    made = written(tmp_path / "d.jsonl", [{"image": "0.png", "caption": "a cup"}])
    import_dataset(format="jsonl", path=made, name="small")
    Item.objects.update(name=f"{DECOMPOSED}.png")
    for number, name in enumerate((COMPOSED, DECOMPOSED)):
        path = written(tmp_path / "c.jsonl", [{"image": f"{name}.png", "caption": "a cup"}])
        import_candidates(format="jsonl", path=path, dataset="small", system=f"s{number}")
    assert Output.objects.filter(item=Item.objects.get()).count() == 2


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda folder: (folder / "2.png").unlink(), r"\b1\b.*\b3\b.*2\.png"),
        (lambda folder: (folder / "2.png").write_text("<svg onload=alert(1)>"), "is not a picture"),
        (lambda folder: (folder / "2.png").write_bytes(b""), "is not a picture"),
        (lambda folder: (folder / "2.png").write_bytes(BROKEN_HEAD), r"2\.png"),
    ],
)
def test_one_bad_picture_stops_the_whole_import(
    references: Path, tmp_path: Path, spoil: Any, sentence: str
) -> None:
    folder = pictures(tmp_path / "pictures", ["0.png", "1.png", "2.png"])
    spoil(folder)
    with pytest.raises(PictureProblem, match=sentence):
        import_dataset(format="jsonl", path=references, name="spoiled", images=str(folder))
    assert not Dataset.objects.exists()
    stored = Path(settings.MEDIA_ROOT) / "pictures" / "spoiled"
    assert not stored.exists() or not list(stored.iterdir())


def test_a_phone_s_two_pictures_in_one_file_are_a_jpeg(tmp_path: Path) -> None:
    path = written(tmp_path / "r.jsonl", [{"image": "phone.jpg", "caption": "a"}])
    both = [PillowImage.new("RGB", (9, 9), colour) for colour in ("navy", "teal")]
    both[0].save(tmp_path / "phone.jpg", format="MPO", save_all=True, append_images=both[1:])
    import_dataset(format="jsonl", path=path, name="phone", images=str(tmp_path))
    assert str(Item.objects.get().picture).endswith(".jpg")


def test_an_address_leads_to_the_picture_whatever_its_file_is_called(tmp_path: Path) -> None:
    path = written(tmp_path / "r.jsonl", [{"image": "set 1/50% #2?.png", "caption": "a"}])
    import_dataset(format="jsonl", path=path, name="odd", images="https://pictures.example/all/")
    assert Item.objects.get().url == "https://pictures.example/all/set%201/50%25%20%232%3F.png"


def test_an_address_too_long_to_be_stored_is_refused(references: Path) -> None:
    with refuses(PictureProblem, 500):
        import_dataset(
            format="jsonl", path=references, name="far", images=f"https://pictures.example/{'x' * 500}"
        )
    assert not Dataset.objects.exists()


def test_a_text_of_two_systems_is_one_caption_credited_to_both(dataset: Dataset, tmp_path: Path) -> None:
    path = written(tmp_path / "c.jsonl", [{"image": "0.png", "caption": "a dog"}])
    for system in ("one", "two"):
        import_candidates(format="jsonl", path=path, dataset="small", system=system)
    caption = Caption.objects.get(role="candidate")
    assert {output.system.name for output in caption.outputs.all()} == {"one", "two"}


def test_candidates_again_change_nothing_and_others_are_refused(dataset: Dataset, tmp_path: Path) -> None:
    path = written(tmp_path / "c.jsonl", [{"image": "0.png", "caption": "a dog"}])
    assert import_candidates(format="jsonl", path=path, dataset="small", system="one").created
    assert not import_candidates(format="jsonl", path=path, dataset="small", system="one").created
    written(path, [{"image": "0.png", "caption": " a dog\r\n"}])  # the same text
    assert not import_candidates(format="jsonl", path=path, dataset="small", system="one").created
    written(path, [{"image": "0.png", "caption": "a cat"}])
    with pytest.raises(DataConflict, match="with other captions"):
        import_candidates(format="jsonl", path=path, dataset="small", system="one")
    assert Output.objects.count() == 1


def test_candidates_for_an_unknown_image_leave_nothing(dataset: Dataset, tmp_path: Path) -> None:
    path = written(
        tmp_path / "c.jsonl", [{"image": "0.png", "caption": "a"}, {"image": "9.png", "caption": "b"}]
    )
    with pytest.raises(ImportProblem, match=r"line 2.*9\.png"):
        import_candidates(format="jsonl", path=path, dataset="small", system="one")
    assert not System.objects.exists()


def test_a_system_s_name_can_be_seen(dataset: Dataset, tmp_path: Path) -> None:
    path = written(tmp_path / "c.jsonl", [{"image": "0.png", "caption": "a"}])
    with refuses(DataConflict, "1 to 80"):
        import_candidates(format="jsonl", path=path, dataset="small", system="a\x01b")


def test_the_command_says_one_line_and_exits_with_an_error(tmp_path: Path) -> None:
    with pytest.raises(CommandError) as caught:
        call_command("import_dataset", "jsonl", str(tmp_path / "nothing.jsonl"), "--name", "x")
    assert "nothing.jsonl" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_coco_captions_with_their_systems(shared: Path) -> None:
    folder = shared / "data" / "coco-captions"
    summary = import_dataset(format="coco", path=folder / "captions_karpathy_test4.json", name="coco")
    assert (summary.counts["images"], summary.counts["captions"]) == (5000, 20010)
    for system in ("human", "system-1"):
        made = import_candidates(
            format="coco", path=folder / f"{system}_results.json", dataset="coco", system=system
        )
        assert made.counts["captions"] == 5000
