"""Encodings, compression and broken bytes, seen through the CSV and JSON lines readers."""

import gzip
import json
from pathlib import Path

import pytest

from common.incoming import limits
from judgments.importers import ImportProblem, open_dataset
from tests.judgments.files import refusal, written
from tests.refusals import assert_names, refuses

CSV = "image,caption\r\nkafé.jpg,Two people drink “café” 🍵\r\n"
TEXT = "Two people drink “café” 🍵"


def captions(format: str, path: Path, encoding: str | None = None) -> list[str]:
    return [row.text for row in open_dataset(format, path, encoding=encoding).references()]


@pytest.mark.parametrize(
    "data",
    [
        CSV.encode(),
        CSV.encode("utf-8-sig"),
        CSV.encode("utf-16"),
        b"\xfe\xff" + CSV.encode("utf-16-be"),
        CSV.encode("utf-32"),
        gzip.compress(CSV.encode(), mtime=0),
        gzip.compress(CSV.encode("utf-16"), mtime=0),
    ],
    ids=["utf-8", "utf-8 with mark", "utf-16", "utf-16 big", "utf-32", "gzip", "gzip of utf-16"],
)
def test_marked_or_utf8_text_is_read_whatever_its_encoding(tmp_path, data):
    assert captions("csv", written(tmp_path, "captions.csv", data)) == [TEXT]


def test_json_lines_with_a_byte_order_mark_are_read(tmp_path):
    line = json.dumps({"image": "a.jpg", "caption": TEXT}, ensure_ascii=False)
    assert captions("jsonl", written(tmp_path, "c.jsonl", line.encode("utf-8-sig"))) == [TEXT]


def test_windows_1252_is_refused_by_name_with_line_and_byte(tmp_path):
    path = written(
        tmp_path, "c.csv", "image,caption\na.jpg,A cup\nb.jpg,A café scene\n".encode("windows-1252")
    )
    assert_names(
        refusal(open_dataset("csv", path).references()),
        "c.csv",
        "line 3",
        "0xE9",
        "12",
        "UTF-8",
        "Windows-1252",
        "é",
    )


@pytest.mark.parametrize("encoding", ["windows-1252", "latin-1"])
def test_a_named_encoding_is_used(tmp_path, encoding):
    path = written(tmp_path, "c.csv", "image,caption\nb.jpg,A café\n".encode(encoding))
    assert captions("csv", path, encoding) == ["A café"]


def test_a_byte_order_mark_wins_over_the_named_encoding(tmp_path):
    path = written(tmp_path, "c.csv", CSV.encode("utf-8-sig"))
    assert captions("csv", path, "windows-1252") == [TEXT]


def test_other_unknown_bytes_are_not_called_windows_1252(tmp_path):
    path = written(tmp_path, "c.csv", b"image,caption\na.jpg,\x93\xfa\x96\x7b\x8c\xea\n")
    said = refusal(open_dataset("csv", path).references())
    assert said.startswith("c.csv, line 2: found byte 0x93 (number 7 of the line), which is not UTF-8, ")
    assert "1252" not in said


def test_utf_16_without_a_mark_is_recognised(tmp_path):
    path = written(tmp_path, "c.csv", CSV.encode("utf-16-le"))
    assert_names(refusal(open_dataset("csv", path).references()), "UTF-8", "utf-16-le")
    assert captions("csv", path, "utf-16-le") == [TEXT]


def test_a_cut_utf_16_file_is_refused(tmp_path):
    path = written(tmp_path, "c.csv", CSV.encode("utf-16")[:-1])
    assert_names(refusal(open_dataset("csv", path).references()), "UTF-16")


def test_a_nul_character_is_refused_with_its_line(tmp_path):
    path = written(tmp_path, "c.csv", "image,caption\na.jpg,Fine\nb.jpg,Bro\0ken\n")
    assert_names(refusal(open_dataset("csv", path).references()), "c.csv", "line 3", "NUL")


@pytest.mark.parametrize("escape", ["\\u0000", "\\ud83d"])
def test_characters_that_no_database_stores_are_refused_behind_json_escapes_too(tmp_path, escape):
    path = written(tmp_path, "c.jsonl", f'{{"image": "a.jpg", "caption": "A {escape} b"}}\n')
    assert_names(refusal(open_dataset("jsonl", path).references()), "c.jsonl", "line 1", "caption", "NUL")


def test_an_unknown_encoding_is_named(tmp_path):
    path = written(tmp_path, "c.csv", CSV)
    said = refusal(open_dataset("csv", path, encoding="klingon").references())
    assert_names(said, "c.csv", "klingon")


def test_a_damaged_gzip_file_is_refused(tmp_path):
    path = written(tmp_path, "c.csv.gz", gzip.compress(CSV.encode() * 50)[:-12])
    assert "compressed data" in refusal(open_dataset("csv", path).references())


def test_a_file_without_line_ends_does_not_fill_the_memory(tmp_path):
    path = written(tmp_path, "c.jsonl", b" " * (limits().line + 10))
    assert_names(refusal(open_dataset("jsonl", path).references()), "2,097,152")


def test_a_missing_file_and_a_folder_in_its_place_are_named(tmp_path):
    with refuses(ImportProblem, actual="nothing there"):
        open_dataset("csv", tmp_path / "gone.csv")
    assert "is a directory" in refusal(open_dataset("csv", tmp_path).references())
