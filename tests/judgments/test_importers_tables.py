"""Datasets and candidates in JSON lines and CSV."""

import json
import pickle
from pathlib import Path

import pytest

from judgments.importers import ImportProblem, open_candidates, open_dataset, open_judgments
from judgments.importers.records.rows import CandidateRow, ReferenceRow
from tests.judgments.files import assert_refused, refusal, written
from tests.refusals import assert_names, refuses


def dataset(folder: Path, text: str, name: str = "d.csv") -> list[ReferenceRow]:
    return list(open_dataset(name.rsplit(".", 1)[1], written(folder, name, text)).references())


def dataset_refusal(folder: Path, text: str, name: str = "d.csv") -> str:
    return refusal(open_dataset(name.rsplit(".", 1)[1], written(folder, name, text)).references())


def candidates(folder: Path, text: str, name: str = "c.csv") -> list[CandidateRow]:
    return list(open_candidates(name.rsplit(".", 1)[1], written(folder, name, text)).candidates())


def test_captions_without_ids_are_numbered_within_their_image(tmp_path):
    rows = dataset(tmp_path, "image,caption\na.jpg,One\nb.jpg,Other\na.jpg,Two\n")
    assert [(row.caption_id, row.position, row.text) for row in rows] == [
        ("a.jpg#0", 0, "One"),
        ("b.jpg#0", 0, "Other"),
        ("a.jpg#1", 1, "Two"),
    ]


def test_json_lines_carry_ids_splits_addresses_and_numeric_image_names(tmp_path):
    line = '{"image": 42, "caption": " A dog ", "caption_id": 7, "split": "dev", "url": "https://x.org/42.jpg"}\n\n'
    assert dataset(tmp_path, line, "d.jsonl") == [
        ReferenceRow("42", " A dog ", "7", 0, split="dev", url="https://x.org/42.jpg")
    ]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_header_decides_what_separates_the_cells(tmp_path, separator):
    text = f'Image {separator}CAPTION\na.jpg{separator}"One{separator} two"\n'
    assert [row.text for row in dataset(tmp_path, text)] == [f"One{separator} two"]


def test_the_separator_line_that_excel_writes_is_understood(tmp_path):
    assert [row.text for row in dataset(tmp_path, "sep=;\r\nimage;caption\r\na.jpg;One, two\r\n")] == [
        "One, two"
    ]


def test_line_breaks_and_doubled_quotes_inside_a_cell_are_kept(tmp_path):
    rows = dataset(tmp_path, 'image,caption\na.jpg,"A sign\nsays ""stop"""\n\n,\nb.jpg,Two\n')
    assert [row.text for row in rows] == ['A sign\nsays "stop"', "Two"]


def test_a_problem_names_the_line_on_which_its_record_starts(tmp_path):
    text = 'image,caption\na.jpg,"One\ntwo\nthree"\nb.jpg,"\n \n"\n'
    assert_names(dataset_refusal(tmp_path, text), "d.csv", "line 5", "caption", "empty")


def test_old_mac_line_ends_are_read(tmp_path):
    assert [row.text for row in dataset(tmp_path, "image,caption\ra.jpg,One\rb.jpg,Two\r")] == ["One", "Two"]


@pytest.mark.parametrize(
    ("text", "line", "column", "values"),
    [
        ("", 1, None, ["no header", "image, caption"]),
        ("a.jpg,A dog\nb.jpg,A cat\n", 1, None, ['"a.jpg,A dog"', "image, caption"]),
        ("image,captoin\na.jpg,A dog\n", 1, None, ['"captoin"', "'caption'"]),
        ("image,words\na.jpg,A dog\n", 1, "caption", ["no such field", "every record"]),
        ("image,caption,image\na,b,c\n", 1, "image", ["column twice", "column once"]),
        ("image,caption\n", None, None, ["no captions", "at least one record"]),
        ("image,caption\na.jpg,A dog, running\n", 2, None, ["3 cells", 2, "','"]),
        ("image,caption\na.jpg\n", 2, None, ["1 cell", 2, "','"]),
        ('image,caption\na.jpg,"A dog\nb.jpg,A cat\n', 2, None, ["a quotation mark", "never closed", "CSV"]),
        (
            'image,caption\na.jpg,"A dog" runs\n',
            2,
            None,
            ["a closing quotation mark", "written twice", "CSV"],
        ),
        ('image,caption\na.jpg,"' + "x" * 140_000 + '"\n', 2, None, ["131,072", "never closed", "CSV"]),
        (
            "image,caption,caption_id\na.jpg,A dog,1\na.jpg,A cat,1\n",
            3,
            "caption_id",
            ['"1"', "second time", "same image and text"],
        ),
        ("image,caption,split\na.jpg,A dog,dev\na.jpg,A cat,test\n", 3, "split", ['"test"', '"dev"']),
        (
            "image,text,text_title\na.jpg,A text,One\na.jpg,A text,Two\n",
            3,
            "text_title",
            ["else than before", "first record"],
        ),
        ("image,caption,text_title\na.jpg,A dog,One\n", 2, "text_title", ['"One"', "beside its title"]),
        ("image,caption,split\na.jpg,A dog,the test part\n", 2, "split", ['"the test part"', "train", 20]),
        (
            "image,caption,url\na.jpg,A dog,javascript:alert(1)\n",
            2,
            "url",
            ['"javascript:alert(1)"', "http://", "https://"],
        ),
        (
            "image,caption\n../../secret.jpg,A dog\n",
            2,
            "image",
            ['"../../secret.jpg"', "inside the folder"],
        ),
        (f"image,caption\n{'a' * 300}.jpg,A dog\n", 2, "image", ["304 characters", 200]),
    ],
)
def test_bad_csv_is_refused_at_its_place(tmp_path, text, line, column, values):
    source = open_dataset("csv", written(tmp_path, "d.csv", text))
    assert_refused(source.references(), "d.csv", line, column, *values)


def test_a_problem_says_where_it_is_what_was_found_and_what_was_expected():
    problem = ImportProblem("d.csv", 2, "url", '"x"', "an address")
    assert str(problem) == 'd.csv, line 2, url: found "x", expected an address.'


@pytest.mark.parametrize(
    ("text", "column", "values"),
    [
        ('{"image": "a.jpg", "caption": "A dog"', None, ["not JSON", "','", "character 38"]),
        ('[{"image": 1}]', None, ["a JSON array", "one JSON object a line"]),
        ('"a.jpg"', None, ['"a.jpg"', "one JSON object a line"]),
        ('{"image": "a.jpg"}', "caption", ["no such field", "every record"]),
        ('{"image": "a.jpg", "caption": null}', "caption", ["nothing", "caption"]),
        ('{"image": "a.jpg", "caption": 5}', "caption", [5, "caption"]),
        ('{"image": "a.jpg", "caption": NaN}', None, ["NaN", "number or null"]),
        ('{"image": true, "caption": "A dog"}', "image", ["true", "image's name"]),
        (
            '{"image": "a\\u000b.jpg", "caption": "A dog"}',
            "image",
            ['control characters in "a\\u000b.jpg"', "image's name"],
        ),
        ('{"image": "a.jpg", "captions": "A dog"}', None, ['"captions"', "'caption'"]),
        ('{"image": "a.jpg", "caption": "A dog", "image": "b.jpg"}', "image", ["key twice", "key once"]),
        ("[" * 100_000, None, ["nested too deeply"]),
        ('{"image": ' + "1" * 5000 + "}", None, ["number too long"]),
    ],
)
def test_a_bad_json_line_is_refused_at_its_place(tmp_path, text, column, values):
    good = '{"image": "z.jpg", "caption": "A bird"}\n'
    source = open_dataset("jsonl", written(tmp_path, "d.jsonl", good + text + "\n"))
    assert_refused(source.references(), "d.jsonl", 2, column, *values)


def test_repeated_lines_and_unused_columns_are_counted(tmp_path):
    line = '{"image": "a.jpg", "caption": "A dog", "caption_id": "1", "author": "me"}\n'
    same_text = '{"image": "a.jpg", "caption": "A dog", "caption_id": "2"}\n'
    source = open_dataset("jsonl", written(tmp_path, "d.jsonl", line * 3 + same_text))
    assert [row.caption_id for row in source.references()] == ["1", "2"]
    assert source.notes.sentences() == [
        "Column “author” is not used.",
        "Lines that are identical to an earlier line, left out: 2.",
        "Texts that are identical to another text of the same item (imported): 1.",
    ]


def test_references_come_one_by_one_before_a_later_line_fails(tmp_path):
    path = written(tmp_path, "d.csv", "image,caption\na.jpg,One\nb.jpg,\n")
    rows = open_dataset("csv", path).references()
    assert next(rows).text == "One"
    with pytest.raises(ImportProblem):
        next(rows)


def test_a_problem_survives_the_way_to_another_process(tmp_path):
    problem = ImportProblem("d.csv", 3, "caption", "an empty text", "a caption")
    again = pickle.loads(pickle.dumps(problem))
    assert (str(again), again.line, again.column) == (str(problem), 3, "caption")


def test_an_unknown_format_lists_the_known_ones(tmp_path):
    with refuses(ImportProblem, "flickr8k", "pascal-50s", "abstract-50s"):
        open_dataset("excel", tmp_path)


def test_candidates_have_one_caption_an_image_or_ranks(tmp_path):
    assert candidates(tmp_path, "image,caption,rank,score\na,One,1,1.5\na,Two,2,\nb,Three,1,2\n") == [
        CandidateRow("a", "One", 1, 1.5),
        CandidateRow("a", "Two", 2, None),
        CandidateRow("b", "Three", 1, 2),
    ]


@pytest.mark.parametrize(
    ("text", "line", "column", "values"),
    [
        (
            "image,caption\na,One\nb,Two\na,Three\n",
            4,
            "image",
            ['"a"', "line 2", "'One' there", "'Three' here", "one caption an image"],
        ),
        ("image,caption,score\na,One,nan\n", 2, "score", ['"nan"', "--missing nan"]),
        ("image,caption,score\na,One,good\n", 2, "score", ['"good"', "number"]),
        ("image,caption,rank\na,One,-1\n", 2, "rank", [-1, "whole number from 1"]),
        ("image,caption,rank\na,One,1.5\n", 2, "rank", [1.5, "whole number from 1"]),
        ("image,caption,system\na,One,x\nb,Two,y\n", 3, "system", ['"y"', "one system a file", '"x"']),
        ("image,caption\n", None, None, ["no candidates", "at least one record"]),
    ],
)
def test_bad_candidates_are_refused_at_their_place(tmp_path, text, line, column, values):
    source = open_candidates("csv", written(tmp_path, "c.csv", text))
    assert_refused(source.candidates(), "c.csv", line, column, *values)


def test_candidates_for_an_image_outside_the_data_set_are_refused(tmp_path):
    source = open_candidates("csv", written(tmp_path, "c.csv", "image,caption\na,One\nb,Two\n"))
    assert_names(refusal(source.candidates({"a"})), "c.csv", "line 3", "image", "b")


def test_a_candidate_line_that_stands_twice_is_counted_once(tmp_path):
    source = open_candidates("csv", written(tmp_path, "c.csv", "image,caption,system\na,One,s\na,One,s\n"))
    assert list(source.candidates()) == [CandidateRow("a", "One")]
    assert source.notes["repeated-line"] == 1
    assert (source.notes["file-names-system"], source.notes.details()) == (1, {"", "s"})


def test_ranks_count_from_1(tmp_path):
    with refuses(ImportProblem, "1", line=2, column="rank", actual="0"):
        candidates(tmp_path, "image,caption,rank\na,One,0\n")


@pytest.mark.parametrize(("indent", "line", "first"), [(None, 1, 1), (1, 17, 7)])
def test_a_problem_in_a_document_has_its_line_and_its_path(tmp_path, indent, line, first):
    rows = [{"unit": f"u{number}", "worker": "w", "value": 1} for number in range(3)]
    path = written(tmp_path, "rows.json", json.dumps([*rows, rows[1]], indent=indent))
    said = rf"line {line}, \[3\]\.worker: .* \(the first is on line {first}\)"
    with pytest.raises(ImportProblem, match=said):
        list(open_judgments("json", path).judgments())
