"""Judgments in the columns in which they are exported: what goes out comes in again."""

import csv
import io
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.files import csv_line, guard_formula, unguard_formula
from judgments.importers import ImportProblem, open_judgments
from judgments.importers.records.rows import JudgmentRow
from judgments.kinds.base import JUDGMENT_COLUMNS, answer_cell
from tests.judgments.files import assert_refused, refusal, written
from tests.refusals import assert_names, refuses

EXPORTED: dict[str, object] = {
    "study": "flickr8k-relevance",
    "unit": "u-1",
    "protocol": "relevance",
    "image": "1305564994_00513f9a5b.jpg",
    "reference": None,
    "first": "1305564994_00513f9a5b.jpg#2",
    "second": None,
    "reference_text": None,
    "first_text": "=Two dogs run, “through”\nthe snow .",
    "second_text": None,
    "kind": None,
    "pair": None,
    "worker": "w-0007",
    "assignment": "as-1",
    "hit": "h-1",
    "value": 1,
    "control": True,
    "expected": 1,
    "used": False,
    "presented": None,
    "simulated": True,
    "accepted_at": "2026-01-01T10:00:00Z",
    "submitted_at": "2026-01-01T10:01:30.250000Z",
    "seconds": 3.2,
}
READ = JudgmentRow(
    study="flickr8k-relevance",
    unit="u-1",
    protocol="relevance",
    image="1305564994_00513f9a5b.jpg",
    first="1305564994_00513f9a5b.jpg#2",
    first_text="=Two dogs run, “through”\nthe snow .",
    worker="w-0007",
    assignment="as-1",
    hit="h-1",
    value=1,
    control=True,
    expected=1,
    used=False,
    simulated=True,
    accepted_at=datetime(2026, 1, 1, 10, tzinfo=UTC),
    submitted_at=datetime(2026, 1, 1, 10, 1, 30, 250_000, tzinfo=UTC),
    seconds=3.2,
)


SHOWN: dict[str, object] = {
    "keywords": {"text": "A dog in a snow field", "collocations": ["snow field"]},
    "grounding": {"boxes": [{"id": "b2", "label": "dog", "x": 0.1, "y": 0.1, "width": 0.2, "height": 0.2}]},
    "best-worst": {"options": [{"key": f"a#{number}", "text": f"Dog {number}"} for number in (1, 2, 3)]},
}


def as_csv(*rows: dict[str, object]) -> str:
    """The rows as Quorum's CSV export writes them."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(JUDGMENT_COLUMNS)
    for row in rows:
        cells = []
        for column in JUDGMENT_COLUMNS:
            value = row.get(column)
            if column in ("answer", "content"):
                cells.append(answer_cell(value))
            elif isinstance(value, bool):
                cells.append(str(value).lower())
            else:
                cells.append("" if value is None else guard_formula(str(value)))
        writer.writerow(cells)
    return out.getvalue()


def judgments(
    folder: Path, text: str, name: str = "j.csv", *, protocol: str | None = None
) -> list[JudgmentRow]:
    source = open_judgments(name.rsplit(".", 1)[1], written(folder, name, text), protocol=protocol)
    return list(source.judgments())


def row_refusal(folder: Path, changes: dict[str, object], *, protocol: str | None = None) -> str:
    path = written(folder, "j.jsonl", json.dumps(EXPORTED | changes) + "\n")
    return refusal(open_judgments("jsonl", path, protocol=protocol).judgments())


def test_an_exported_json_line_comes_back_with_types(tmp_path):
    assert judgments(tmp_path, json.dumps(EXPORTED), "j.jsonl") == [READ]


def test_an_exported_csv_row_comes_back_the_same_and_without_its_guard(tmp_path):
    text = as_csv(EXPORTED)
    assert "'=Two dogs" in text
    assert judgments(tmp_path, text) == [READ]


@pytest.mark.parametrize(
    ("protocol", "answer"),
    [
        ("caption", "A dog, says “woof”"),
        ("caption", "[1] A dog sits there"),
        ("keywords", ["dog", "snow field"]),
        ("grounding", [{"word": 1, "box": "b2"}]),
        ("best-worst", {"best": "a#1", "worst": "a#2"}),
        ("spans", {"spans": [{"start": 1, "end": 4, "severity": "minor"}], "score": 70}),
    ],
)
def test_open_answers_come_back_from_both_formats(tmp_path, protocol, answer):
    row = EXPORTED | {"protocol": protocol, "value": None, "expected": None, "answer": answer}
    row |= {"content": SHOWN.get(protocol)}
    for name, text in (("j.csv", as_csv(row)), ("j.jsonl", json.dumps(row))):
        [read] = judgments(tmp_path, text, name)
        assert (read.value, read.answer) == (None, answer)


def test_a_plain_text_is_an_answer_too(tmp_path):
    [read] = judgments(tmp_path, "unit,worker,answer\nu,w,A dog\n", protocol="caption")
    assert read.answer == "A dog"


def test_three_columns_are_enough(tmp_path):
    rows = judgments(tmp_path, "unit;worker;value\nu1;w1;4.0\nu1;w2;3\n", protocol="graded")
    assert [(row.unit, row.worker, row.value, row.protocol, row.used) for row in rows] == [
        ("u1", "w1", 4, "graded", True),
        ("u1", "w2", 3, "graded", True),
    ]


def test_raters_of_published_totals_stay_anonymous(tmp_path):
    rows = judgments(tmp_path, "unit,worker,value\nu,anon-2,1\nu,anonymous,1\nu,anon-0,1\n")
    assert [row.anonymous for row in rows] == [True, False, False]


@pytest.mark.parametrize(
    ("changes", "column", "values"),
    [
        ({"value": 2}, "value", [2, "0 or 1", "relevance"]),
        ({"value": True}, "value", ["true", "0 or 1", "relevance"]),
        ({"value": "1"}, "value", ['"1"', "0 or 1", "relevance"]),
        ({"value": None}, "value", ["nothing", "0 or 1", "relevance"]),
        ({"protocol": "graded", "value": 44}, "value", ["1 to 44", "at most 11", "slider"]),
        ({"protocol": "triplet", "value": 4}, "value", [4, "1 or 2", "triplet"]),
        ({"protocol": "slider", "value": 2_000_000}, "value", [2000000, "-1,000,000 to 1,000,000", "slider"]),
        ({"protocol": "caption"}, "answer", ["nothing", "caption unit"]),
        ({"protocol": "relevanse"}, "protocol", ['"relevanse"', "triplet, pairwise, relevance", "spans"]),
        # a researcher's own questions lie in the design
        ({"protocol": "template", "answer": {"tone": "good"}}, "protocol", ['"template"', "--design FILE"]),
        ({"protocol": "triplet", "kind": "HH"}, "kind", ['"HH"', "HC, HI, HM, MM"]),
        ({"presented": "first-left"}, "presented", ['"first-left"', "relevance has no sides"]),
        ({"presented": "left"}, "presented", ['"left"', "first-left", "second-left"]),
        ({"used": "no"}, "used", ['"no"', "true or false"]),
        ({"expected": "yes"}, "expected", ['"yes"', '"3-4"']),
        (
            {"accepted_at": "2026-01-01T10:00:00"},
            "accepted_at",
            ['"2026-01-01T10:00:00" without', "2026-01-01T10:00:00Z"],
        ),
        ({"accepted_at": "yesterday"}, "accepted_at", ['"yesterday"', "2026-01-01T10:00:00Z"]),
        ({"submitted_at": "2026-01-01T09:59:59Z"}, "submitted_at", ["before accepted_at", "after"]),
        ({"seconds": -1}, "seconds", [-1, "0 to 1,000,000,000"]),
        ({"wall_seconds": 10**20}, "wall_seconds", [10**20, "0 to 1,000,000,000"]),  # no database stores it
        ({"worker": ""}, "worker", ["empty", "name"]),
        ({"reference_text": " "}, "reference_text", ["empty", "text"]),
    ],
)
def test_a_wrong_value_is_refused_at_its_column(tmp_path, changes, column, values):
    source = open_judgments("jsonl", written(tmp_path, "j.jsonl", json.dumps(EXPORTED | changes) + "\n"))
    assert_refused(source.judgments(), "j.jsonl", 1, column, *values)


def test_an_unknown_column_is_refused_with_the_nearest_known_one(tmp_path):
    assert_names(
        row_refusal(tmp_path, {"submited_at": None}), "j.jsonl", "line 1", "submited_at", "submitted_at"
    )
    path = written(tmp_path, "j.csv", "unit,worker,value,colour\nu,w,1,red\n")
    assert_names(
        refusal(open_judgments("csv", path).judgments()),
        "j.csv",
        "line 1",
        "colour",
        "unit",
        "worker",
        "study",
    )


def test_another_protocol_than_the_studys_is_refused(tmp_path):
    assert_names(
        row_refusal(tmp_path, {}, protocol="graded"), "j.jsonl", "line 1", "protocol", "relevance", "graded"
    )
    with refuses(ImportProblem, "grade"):
        open_judgments("jsonl", tmp_path, protocol="grade")


def test_a_worker_answers_a_unit_once(tmp_path):
    path = written(tmp_path, "j.csv", "unit,worker,value\nu,w,1\nu,x,1\nu,w,0\n")
    assert_names(
        refusal(open_judgments("csv", path).judgments()), "j.csv", "line 4", "worker", "w", "u", "line 2"
    )


def test_a_unit_has_one_content(tmp_path):
    path = written(tmp_path, "j.csv", "unit,worker,value,image\nu,w,1,a.jpg\nu,x,1,b.jpg\n")
    assert_names(
        refusal(open_judgments("csv", path).judgments()),
        "j.csv",
        "line 3",
        "unit",
        "u",
        "a.jpg",
        "line 2",
        "b.jpg",
    )


def test_unknown_images_and_captions_are_refused(tmp_path):
    path = written(tmp_path, "j.jsonl", json.dumps(EXPORTED | {"first_text": None}))
    image, caption = "1305564994_00513f9a5b.jpg", "1305564994_00513f9a5b.jpg#2"
    known = open_judgments("jsonl", path).judgments({image}, {caption: "Two dogs"})
    assert [row.unit for row in known] == ["u-1"]
    assert_names(refusal(open_judgments("jsonl", path).judgments({"x"})), image, "j.jsonl", "line 1", "image")
    assert_names(
        refusal(open_judgments("jsonl", path).judgments(None, {"x": "A dog"})),
        caption,
        "j.jsonl",
        "line 1",
        "first",
        "first_text",
    )


@settings(deadline=None)
@given(st.text())
def test_every_text_survives_the_guard_and_none_stays_a_formula(text):
    assert unguard_formula(guard_formula(text)) == text
    assert not guard_formula(text).startswith(tuple("=+-@＝＋－＠\t\r"))


@settings(deadline=None)
@given(st.text(alphabet="'=+-@＝＠\t\r a", max_size=6))
def test_texts_that_look_guarded_survive_too(text):
    assert unguard_formula(guard_formula(text)) == text


@settings(deadline=None)
@given(st.lists(st.text(alphabet='\r\n,"= a'), min_size=1, max_size=3))
def test_a_text_stays_in_its_cell(cells):
    text = f"{csv_line(cells)}\n{csv_line(['next'])}\n"
    assert list(csv.reader(io.StringIO(text, newline=""))) == [cells, ["next"]]
