"""The demo: its files are what its script makes, every photograph is credited, every study fits."""

import csv

import pytest
from PIL import Image as Picture

from contrib.demo import FOLDER
from contrib.demo.make_systems import make_systems
from judgments.design.reading.study_files import read_toml
from judgments.drawing.material import Image, Material, Text
from judgments.importers import open_candidates, open_dataset
from judgments.importers.records.rows import ReferenceRow
from judgments.kinds import KINDS

MADE = ["nearest.jsonl", "random.jsonl"]


@pytest.fixture(scope="module")
def rows() -> list[ReferenceRow]:
    return list(open_dataset("jsonl", FOLDER / "dataset.jsonl").references())


@pytest.fixture(scope="module")
def material(rows: list[ReferenceRow]) -> Material:
    texts: dict[str, list[Text]] = {}
    for row in rows:
        texts.setdefault(row.image, []).append(Text(row.caption_id, row.text))
    outputs: dict[str, list[tuple[str, Text]]] = {image: [] for image in texts}
    for system in ("nearest", "random"):
        for candidate in open_candidates("jsonl", FOLDER / "systems" / f"{system}.jsonl").candidates(texts):
            outputs[candidate.image].append((system, Text(candidate.text, candidate.text)))
    split = {row.image: row.split or "" for row in rows}
    return Material(
        "demo",
        tuple(Image(image, split[image], tuple(texts[image]), tuple(outputs[image])) for image in texts),
    )


def test_the_script_makes_the_committed_files_byte_for_byte(tmp_path):
    make_systems(tmp_path)
    for name in MADE:
        assert (tmp_path / name).read_bytes() == (FOLDER / "systems" / name).read_bytes()


def test_the_demo_has_five_captions_for_each_of_35_photographs_of_which_six_are_for_control(rows):
    assert len(rows) == 175
    assert {row.position for row in rows} == {0, 1, 2, 3, 4}
    assert len({row.image for row in rows if row.split == "dev"}) == 6
    assert len({row.image for row in rows if row.split == "test"}) == 29


def test_no_system_gives_a_photograph_one_of_its_own_captions(material):
    for image in material.images:
        own = {text.text for text in image.references}
        assert [system for system, _ in image.outputs] == ["nearest", "random"]
        assert not own & {text.text for _, text in image.outputs}


def test_the_nearest_caption_is_about_a_similar_photograph(material):
    said = {image.name: dict(image.outputs)["nearest"].text for image in material.images}
    assert said["airliner.jpg"] == "A yellow Navy biplane is flying in a blue sky."
    assert said["tabby-cat.jpg"] == "A close-up of the face of an orange tabby cat."
    assert said["rocket.jpg"] == "A space shuttle lifts off in a cloud of smoke."


def test_every_photograph_can_be_opened_and_is_credited_with_a_licence(rows):
    with (FOLDER / "ATTRIBUTION.csv").open(encoding="utf-8", newline="") as stream:
        credits = {line["file"]: line for line in csv.DictReader(stream)}
    photos = {path.name for path in (FOLDER / "photos").iterdir()}
    assert photos == credits.keys() == {row.image for row in rows}
    for photo in photos:
        with Picture.open(FOLDER / "photos" / photo) as picture:
            assert max(picture.size) <= 640
        assert credits[photo]["licence"]
        assert credits[photo]["source"]
        assert credits[photo]["evidence"]


@pytest.mark.parametrize(
    ("file", "hits", "units", "controls"),
    [
        ("triplet.toml", 6, 48, 6),
        ("triplet-finished.toml", 14, 120, 14),
        ("pairwise.toml", 3, 24, 3),
        ("relevance.toml", 2, 100, 20),
        ("graded.toml", 14, 56, 14),
    ],
)
def test_every_study_of_the_demo_fits_its_photographs(material, file, hits, units, controls):
    design = read_toml((FOLDER / "studies" / file).read_text(encoding="utf-8"))
    batch = KINDS[design.protocol].draw_batch(design, material)
    assert (len(batch.hits), batch.unit_count, batch.control_count) == (hits, units, controls)
    assert design.dataset == "demo"
    assert design.instructions.strip()


def test_the_finished_study_says_that_it_is_simulated():
    design = read_toml((FOLDER / "studies" / "triplet-finished.toml").read_text(encoding="utf-8"))
    assert "simulated" in design.name
    assert "simulated" in design.slug
