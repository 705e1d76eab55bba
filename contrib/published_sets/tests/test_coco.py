"""MS COCO's captions and results files."""

import json
from pathlib import Path

import pytest

from judgments.importers import open_candidates, open_dataset
from judgments.importers.records.rows import CandidateRow, ReferenceRow
from tests.judgments.files import assert_refused, refusal, written
from tests.refusals import assert_names

IMAGES = [{"id": 9, "file_name": "COCO_9.jpg", "coco_url": "http://x.org/9.jpg"}, {"id": 10}]


def captions(folder: Path, annotations: object, images: object = IMAGES) -> Path:
    return written(folder, "captions.json", json.dumps({"images": images, "annotations": annotations}))


def test_images_are_named_by_id_and_their_pictures_by_file_name(tmp_path):
    path = captions(
        tmp_path,
        [{"id": 1, "image_id": 9, "caption": "A dog\nruns "}, {"id": 2, "image_id": 9, "caption": "A dog"}],
    )
    source = open_dataset("coco", path)
    assert list(source.references()) == [
        ReferenceRow("9", "A dog\nruns ", "1", 0, url="http://x.org/9.jpg", file="COCO_9.jpg"),
        ReferenceRow("9", "A dog", "2", 1, url="http://x.org/9.jpg", file="COCO_9.jpg"),
    ]
    assert (source.notes["no-captions"], len(source.notes.sentences())) == (1, 1)


@pytest.mark.parametrize(
    ("annotations", "line", "column", "values"),
    [
        (
            [{"id": 1, "image_id": 9, "caption": "A dog"}, {"id": 2, "image_id": 9, "caption": " "}],
            1,
            "annotations[1].caption",
            ["empty", "caption"],
        ),
        ([{"id": 1, "image_id": 77, "caption": "A dog"}], 1, "annotations[0].image_id", [77, '"images"']),
        (
            [{"id": 1, "image_id": 9, "caption": ["A dog"]}],
            1,
            "annotations[0].caption",
            ['["A dog"]', "caption"],
        ),
        ([{"image_id": 9, "caption": "A dog"}], 1, "annotations[0].id", ["nothing", "annotation's id"]),
        (
            [{"id": 1, "image_id": 9, "caption": "A dog"}, {"id": 1, "image_id": 9, "caption": "A cat"}],
            1,
            "annotations[1].id",
            ['"1"', "second time", "same image and text"],
        ),
        (["A dog"], 1, "annotations[0]", ['"A dog"', "object"]),
        ({}, 1, "annotations", ["{}", "list"]),
        ([], None, "annotations", ["empty list", "at least one caption"]),
    ],
)
def test_a_bad_annotation_is_named_by_its_place_in_the_document(tmp_path, annotations, line, column, values):
    source = open_dataset("coco", captions(tmp_path, annotations))
    assert_refused(source.references(), "captions.json", line, column, *values)


def test_two_images_with_one_id_are_refused(tmp_path):
    path = captions(tmp_path, [], [{"id": 1, "file_name": "a.jpg"}, {"id": 1, "file_name": "b.jpg"}])
    assert_names(
        refusal(open_dataset("coco", path).references()), "captions.json", "line 1", "images[1].id", "second"
    )


def test_a_results_file_is_no_data_set_and_the_other_way_round(tmp_path):
    results = written(tmp_path, "results.json", '[{"image_id": 9, "caption": "A dog"}]')
    assert_names(refusal(open_dataset("coco", results).references()), "results.json", "images", "annotations")
    assert_names(
        refusal(open_candidates("coco", captions(tmp_path, [], [])).candidates()),
        "captions.json",
        "line 1",
        "a list",
    )


def test_a_broken_document_names_line_and_character(tmp_path):
    path = written(tmp_path, "results.json", '[{"image_id": 9,\n "caption": "A dog"\n')
    assert_names(refusal(open_candidates("coco", path).candidates()), "results.json", "line 3", "character 1")


def test_a_second_caption_of_an_image_is_refused(tmp_path):
    text = json.dumps([{"image_id": 9, "caption": "A dog"}, {"image_id": 9, "caption": "A cat"}])
    assert_names(
        refusal(open_candidates("coco", written(tmp_path, "r.json", text)).candidates()),
        "r.json",
        "line 1",
        "[1].image_id",
        "9",
        "A dog",
        "A cat",
    )


def test_a_result_for_an_unknown_image_is_refused(tmp_path):
    path = written(tmp_path, "r.json", '[{"image_id": 9, "caption": "A dog"}]')
    assert list(open_candidates("coco", path).candidates({"9"})) == [CandidateRow("9", "A dog")]
    assert_names(
        refusal(open_candidates("coco", path).candidates({"10"})), "r.json", "line 1", "[0].image_id", "9"
    )


def test_the_karpathy_test_split_and_its_systems_are_read_whole(shared):
    source = open_dataset("coco", shared / "data" / "coco-captions" / "captions_karpathy_test4.json")
    rows = list(source.references())
    assert (len(rows), len({row.image for row in rows})) == (20_010, 5_000)
    assert rows[0].image == "391895"
    assert rows[0].file == "COCO_val2014_000000391895.jpg"
    images = {row.image for row in rows}
    for system in ("human", "system-1", "system-2", "system-3"):
        results = shared / "data" / "coco-captions" / f"{system}_results.json"
        given = list(open_candidates("coco", results).candidates(images))
        assert {row.image for row in given} == images
        assert len(given) == 5_000
