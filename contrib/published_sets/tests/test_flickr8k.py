"""Flickr8k's captions, expert grades and crowd judgments (H13), small and whole."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from judgments.importers import ImportProblem, open_dataset, open_judgments
from judgments.importers.records.rows import JudgmentRow, ReferenceRow
from tests.judgments.files import assert_refused, refusal, written
from tests.refusals import assert_names, refuses

TOKENS = "a_1.jpg#0\tA dog runs .\na_1.jpg#1\tA dog .\nb_2.jpg.1#0\tTwo cats\nb_2.jpg.1#1\t Two cats sit .\n"


def folder(path: Path, tokens: str = TOKENS, **splits: str) -> Path:
    written(path, "Flickr8k.token.txt", tokens)
    for split, text in splits.items():
        written(path, f"Flickr_8k.{split}Images.txt", text)
    return path


def crowd(path: Path, text: str, **known: Any) -> str:
    return refusal(
        open_judgments("flickr8k-crowd", written(path, "CrowdFlowerAnnotations.txt", text)).judgments(**known)
    )


def test_captions_get_their_image_number_and_split_and_stay_as_they_are(tmp_path):
    source = open_dataset("flickr8k", folder(tmp_path, train="a_1.jpg\n", dev="z_9.jpg\n"))
    assert list(source.references()) == [
        ReferenceRow("a_1.jpg", "A dog runs .", "a_1.jpg#0", 0, split="train"),
        ReferenceRow("a_1.jpg", "A dog .", "a_1.jpg#1", 1, split="train"),
        ReferenceRow("b_2.jpg", "Two cats", "b_2.jpg#0", 0),
        ReferenceRow("b_2.jpg", " Two cats sit .", "b_2.jpg#1", 1),
    ]
    notes = source.notes
    assert (notes["repaired-key"], notes["no-split"], notes["split-without-captions"]) == (2, 1, 1)
    assert notes.details() == {"b_2.jpg.1", ""}
    assert len(notes.sentences()) == 3


def test_the_token_file_alone_is_a_data_set_without_splits(tmp_path):
    source = open_dataset("flickr8k", folder(tmp_path) / "Flickr8k.token.txt")
    assert {row.split for row in source.references()} == {None}
    assert source.notes["no-split"] == 0


@pytest.mark.parametrize(
    ("line", "column", "values"),
    [
        ("a_1.jpg#0 A dog", None, ["1 cell", "image.jpg#number, a tab"]),
        ("a_1.jpg#0\tA dog\truns", None, ["3 cells", "image.jpg#number, a tab"]),
        ("a_1.jpg\tA dog", "caption id", ['"a_1.jpg"', "image.jpg#number"]),
        ("c_3.jpg#0\t ", "caption", ["empty", "caption"]),
        ("a_1.jpg#0\tA bird", "caption_id", ['"a_1.jpg#0"', "second time", "same image and text"]),
        ("../a.jpg#0\tA dog", "caption id", ['"../a.jpg"', "inside the folder"]),
    ],
)
def test_bad_caption_lines_are_refused_with_their_line(tmp_path, line, column, values):
    source = open_dataset("flickr8k", folder(tmp_path, TOKENS + line + "\n"))
    assert_refused(source.references(), "Flickr8k.token.txt", 5, column, *values)


def test_an_image_in_two_split_lists_is_refused(tmp_path):
    source = open_dataset("flickr8k", folder(tmp_path, train="a_1.jpg\n", test="b_2.jpg\na_1.jpg\n"))
    assert_names(
        refusal(source.references()), "Flickr_8k.testImages.txt", "line 2", "image", "a_1.jpg", "train"
    )


def test_a_folder_without_captions_says_what_it_misses(tmp_path):
    with refuses(ImportProblem, "Flickr8k.token.txt"):
        open_dataset("flickr8k", tmp_path)


def test_three_grades_become_three_anonymous_raters(tmp_path):
    path = written(tmp_path, "ExpertAnnotations.txt", "a_1.jpg\tb_2.jpg#2\t1\t2\t4\n")
    rows = list(open_judgments("flickr8k-expert", path).judgments())
    assert [(row.worker, row.value) for row in rows] == [("anon-1", 1), ("anon-2", 2), ("anon-3", 4)]
    assert rows[0] == JudgmentRow(
        unit="a_1.jpg|b_2.jpg#2",
        worker="anon-1",
        value=1,
        protocol="graded",
        image="a_1.jpg",
        first="b_2.jpg#2",
        anonymous=True,
    )


def test_long_image_names_still_give_a_short_and_steady_unit(tmp_path):
    long = "x" * 90 + ".jpg"
    path = written(tmp_path, "ExpertAnnotations.txt", f"{long}\ta.jpg#0\t1\t1\t1\n{long}\tb.jpg#0\t1\t1\t1\n")
    units = [[row.unit for row in open_judgments("flickr8k-expert", path).judgments()] for _ in range(2)]
    assert units[0] == units[1]
    assert len(set(units[0])) == 2
    assert max(map(len, units[0])) <= 80


def test_counts_of_yes_and_no_become_as_many_anonymous_raters(tmp_path):
    path = written(tmp_path, "CrowdFlowerAnnotations.txt", "a_1.jpg\tb_2.jpg#2\t0.75\t3\t1\n")
    source = open_judgments("flickr8k-crowd", path)
    rows = list(source.judgments())
    assert [(row.worker, row.value) for row in rows] == [
        ("anon-1", 1),
        ("anon-2", 1),
        ("anon-3", 1),
        ("anon-4", 0),
    ]
    assert {row.protocol for row in rows} == {"relevance"}
    assert source.anonymous


@pytest.mark.parametrize(
    ("text", "line", "column", "values"),
    [
        ("a.jpg\tb.jpg#2\t1\t2\t5\n", 1, "grade", ['"5"', "1 to 4"]),
        ("a.jpg\tb.jpg#2\t1\t2\tNaN\n", 1, "grade", ['"NaN"', "1 to 4"]),
        ("a.jpg\tb.jpg#2\t1\t2\n", 1, None, ["4 cells", "three grades"]),
        (
            "a.jpg\tb.jpg#2\t1\t1\t1\na.jpg\tb.jpg#2\t1\t1\t2\n",
            2,
            None,
            ["line 1", "pair of image and caption"],
        ),
    ],
)
def test_bad_grades_are_refused(tmp_path, text, line, column, values):
    source = open_judgments("flickr8k-expert", written(tmp_path, "ExpertAnnotations.txt", text))
    assert_refused(source.judgments(), "ExpertAnnotations.txt", line, column, *values)


@pytest.mark.parametrize(
    ("text", "column", "values"),
    [
        ("a.jpg\tb.jpg#2\t0.5\t2\t1\n", "share", ['"0.5"', "2/3"]),
        ("a.jpg\tb.jpg#2\tnan\t2\t1\n", "share", ['"nan"', "2/3"]),
        ("a.jpg\tb.jpg#2\thalf\t2\t1\n", "share", ['"half"', "0 to 1"]),
        ("a.jpg\tb.jpg#2\t0\t0\t0\n", "count", ["no judgments", "at least one"]),
        ("a.jpg\tb.jpg#2\t1\t3\t-1\n", "count", ['"-1"', "number of judgments"]),
    ],
)
def test_bad_counts_are_refused(tmp_path, text, column, values):
    source = open_judgments("flickr8k-crowd", written(tmp_path, "CrowdFlowerAnnotations.txt", text))
    assert_refused(source.judgments(), "CrowdFlowerAnnotations.txt", 1, column, *values)


def test_judgments_of_unknown_images_and_captions_are_refused(tmp_path):
    line = "a.jpg\tb.jpg#2\t1\t3\t0\n"
    assert_names(
        crowd(tmp_path, line, images={"b.jpg"}), "CrowdFlowerAnnotations.txt", "line 1", "image", "a.jpg"
    )
    assert_names(
        crowd(tmp_path, line, images={"a.jpg"}, captions={"b.jpg#1": "A dog"}),
        "CrowdFlowerAnnotations.txt",
        "line 1",
        "caption id",
        "b.jpg#2",
    )


def test_asking_experts_for_another_protocol_is_refused(tmp_path):
    with refuses(ImportProblem, "flickr8k"):
        open_judgments("flickr8k-expert", tmp_path, protocol="triplet")


def test_the_released_captions_and_judgments_are_read_with_their_quirks_counted(shared):
    data = shared / "data" / "flickr8k"
    source = open_dataset("flickr8k", data)
    rows = list(source.references())
    captions, images = {row.caption_id: row.text for row in rows}, {row.image for row in rows}
    splits = Counter(row.split for row in rows if row.position == 0)
    assert (len(rows), len(images), len(captions)) == (40_460, 8_092, 40_460)
    assert splits == {"train": 6_000, "dev": 1_000, "test": 1_000, None: 92}
    assert (source.notes["no-split"], source.notes["repaired-key"]) == (92, 5)
    assert "2258277193_586949ec62.jpg" in images
    assert sum(not row.text.endswith(".") for row in rows) == 3_896
    assert captions["2428275562_4bde2bc5ea.jpg#0"] == "A"

    grades = open_judgments("flickr8k-expert", data)
    graded = Counter(row.unit for row in grades.judgments(images, captions))
    assert (graded.total(), len(graded)) == (17_466, 5_822)
    assert (grades.notes["own-caption"], grades.notes["sorted-grades"]) == (158, 5_822)

    crowd = open_judgments("flickr8k-crowd", data)
    judged = Counter(row.unit for row in crowd.judgments(images, captions))
    assert (len(judged), judged.total()) == (47_830, 144_860)
    assert Counter(judged.values()) == {3: 46_780, 4: 780, 5: 220, 6: 50}
    assert crowd.notes["own-caption"] == 721
