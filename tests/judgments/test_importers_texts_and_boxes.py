"""What images bring besides captions: a text that stands with them, and labelled boxes."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from judgments.datasets.importing.datasets import import_dataset
from judgments.importers import open_dataset
from judgments.importers.records.rows import BoxRow, ImageRow, ReferenceRow
from judgments.models import Item
from tests.judgments.files import assert_refused, refusal, written
from tests.refusals import assert_names

BOX = {"id": 2, "label": "woman.n.01", "x": 0.25, "y": 0.1, "width": 0.5, "height": 0.9}


def lines(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def rows(folder: Path, text: str, name: str = "d.jsonl") -> list[Any]:
    return list(open_dataset(name.rsplit(".", 1)[1], written(folder, name, text)).rows())


def said(folder: Path, *records: dict[str, Any]) -> str:
    return refusal(open_dataset("jsonl", written(folder, "d.jsonl", lines(*records))).rows())


def test_an_image_brings_its_text_and_boxes_before_its_captions(tmp_path):
    record = {"image": "a.jpg", "caption": "A woman", "text": "Who she is", "boxes": [BOX], "split": "test"}
    found = rows(tmp_path, lines(record, {"image": "a.jpg", "caption": "Two"}))
    box = BoxRow("2", "woman.n.01", 0.25, 0.1, 0.5, 0.9)
    assert found == [
        ImageRow("a.jpg", "Who she is", (box,), "test"),
        ReferenceRow("a.jpg", "A woman", "a.jpg#0", 0, split="test"),
        ReferenceRow("a.jpg", "Two", "a.jpg#1", 1, split="test"),
    ]


def test_pixels_become_shares_of_the_picture(tmp_path):
    box = BOX | {"x": 160, "y": 0, "width": 320, "height": 120}
    record = {"image": "a.jpg", "caption": "One", "boxes": [box], "image_width": 640, "image_height": 480}
    image = rows(tmp_path, lines(record))[0]
    assert isinstance(image, ImageRow)
    assert image.boxes == (BoxRow("2", "woman.n.01", 0.25, 0, 0.5, 0.25),)


def test_a_box_that_sticks_out_by_a_hair_is_cut_off_at_the_edge(tmp_path):
    image = rows(tmp_path, lines({"image": "a.jpg", "caption": "One", "boxes": [BOX | {"y": -0.004}]}))[0]
    assert isinstance(image, ImageRow)
    assert (image.boxes[0].y, image.boxes[0].height) == (0, 0.896)


def test_an_image_with_a_text_needs_no_caption(tmp_path):
    source = open_dataset("csv", written(tmp_path, "d.csv", "image,text\na.jpg,News of the day\n"))
    assert list(source.rows()) == [ImageRow("a.jpg", "News of the day")]
    assert (source.notes["text-alone"], len(source.notes.sentences())) == (1, 1)
    with_caption = rows(tmp_path, "image,text,caption\na.jpg,News,\na.jpg,,A dog\n", "e.csv")
    assert [type(row).__name__ for row in with_caption] == ["ImageRow", "ReferenceRow"]


def test_csv_holds_boxes_as_json(tmp_path):
    sheet = io.StringIO()
    csv.writer(sheet).writerows([["image", "caption", "boxes"], ["a.jpg", "One", json.dumps([BOX])]])
    image = rows(tmp_path, sheet.getvalue(), "d.csv")[0]
    assert isinstance(image, ImageRow)
    assert image.boxes[0].id == "2"


@pytest.mark.parametrize(
    ("change", "column", "values"),
    [
        ({"width": 0}, "boxes[0].width", [0.0, "more than 0"]),
        ({"x": 0.6}, "boxes[0].x", ["0.6 to 1.1", "0 to 1", "image_width and image_height"]),
        ({"label": ""}, "boxes[0].label", ["empty", "name"]),
        ({"height": "9"}, "boxes[0].height", ['"9"', "number"]),
        ({"height": True}, "boxes[0].height", ["true", "number"]),
        ({"depth": 1}, "boxes[0]", ['"depth"', "id, label, x, y, width, height"]),
    ],
)
def test_a_wrong_box_is_named_with_its_place(tmp_path, change, column, values):
    record = {"image": "b.jpg", "caption": "One", "boxes": [BOX | change]}
    text = lines({"image": "a.jpg", "caption": "One"}, record)
    source = open_dataset("jsonl", written(tmp_path, "d.jsonl", text))
    assert_refused(source.rows(), "d.jsonl", 2, column, *values)


LIST = '{"id", "label", "x", "y", "width", "height"}'


@pytest.mark.parametrize(
    ("name", "value", "column", "values"),
    [
        ("boxes", {}, "boxes", ["{}", LIST]),
        ("boxes", [1], "boxes[0]", [1, LIST]),
        ("boxes", [BOX, BOX], "boxes[1].id", ['"2"', "second time"]),
        ("boxes", [{"id": 1}], "boxes[0].label", ["no such key", "every box"]),
        ("boxes", [BOX | {"id": n} for n in range(101)], "boxes", ["101 boxes", 100]),
        ("text", "x" * 100_001, "text", ["100,001 characters", "100,000"]),
        ("text", 5, "text", [5, "text"]),
    ],
)
def test_a_wrong_column_is_refused_at_its_place(tmp_path, name, value, column, values):
    record = {"image": "a.jpg", "caption": "One", name: value}
    source = open_dataset("jsonl", written(tmp_path, "d.jsonl", lines(record)))
    assert_refused(source.rows(), "d.jsonl", 1, column, *values)


def test_one_side_of_the_picture_alone_is_no_size(tmp_path):
    record = {"image": "a.jpg", "caption": "One", "boxes": [BOX], "image_width": 640}
    assert_names(said(tmp_path, record), "d.jsonl", "line 1", "image_height", "sides")


def test_a_text_does_not_change_after_an_images_first_record(tmp_path):
    first = {"image": "a.jpg", "caption": "One", "text": "News"}
    assert_names(
        said(tmp_path, first, first | {"caption": "Two", "text": "Other news"}),
        "d.jsonl",
        "line 2",
        "text",
        "same as",
    )
    assert_names(
        said(tmp_path, {"image": "a.jpg", "caption": "One"}, first),
        "d.jsonl",
        "line 2",
        "text",
        "expected it",
    )
    assert len(rows(tmp_path, lines(first, first | {"caption": "Two"}))) == 3


@pytest.mark.django_db
def test_texts_and_boxes_are_stored_and_known_again(tmp_path):
    record = {"image": "a.jpg", "text": "News of a woman", "boxes": [BOX]}
    path = written(tmp_path, "d.jsonl", lines(record, {"image": "b.jpg", "caption": "A dog"}))
    assert import_dataset(format="jsonl", path=path, name="news").counts["images"] == 2
    item = Item.objects.get(name="a.jpg")
    assert (item.text, item.boxes[0]["label"], item.boxes[0]["width"]) == (
        "News of a woman",
        "woman.n.01",
        0.5,
    )
    assert import_dataset(format="jsonl", path=path, name="news").created is False
