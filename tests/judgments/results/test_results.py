"""Result files in the forms of fifteen years, and files that are none."""

import csv
import io
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from common.files import guard_formula
from judgments.importers import ColumnMapping, ImportProblem, open_judgments, read_layouts
from judgments.importers.mapped.mapped_records import mapped_reader
from judgments.importers.notes import ImportNotes
from judgments.importers.records.columns import Columns
from judgments.importers.records.csv_records import read_csv
from judgments.importers.records.rows import JudgmentRow
from tests.judgments.results.result_files import OLD_ROW, csv_file, csv_text, old_header, old_line, row_with
from tests.refusals import assert_names, refuses


def rows_of(folder: Path, text: str | bytes, **columns: str) -> list[JudgmentRow]:
    path = folder / "results.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    how = ColumnMapping(columns={"unit": "HITId", "answer": "Answer.choice"} | columns)
    return list(open_judgments("mturk", path, mapping=how).judgments())


def refused(folder: Path, text: str | bytes) -> str:
    with pytest.raises(ImportProblem) as caught:
        rows_of(folder, text)
    return str(caught.value).removeprefix(f"{folder}/")


def test_files_without_rates_with_a_mark_or_from_a_spreadsheet_read_the_same(tmp_path: Path) -> None:
    rates = ("LifetimeApprovalRate", "Last30DaysApprovalRate", "Last7DaysApprovalRate", "NumberOfSimilarHITs")
    short = csv_text(row_with(), without=rates)
    cells = list(csv.reader(io.StringIO(short)))
    semicolons = io.StringIO()
    csv.writer(semicolons, delimiter=";").writerows(cells)
    variants = [
        short.encode(),
        b"\xef\xbb\xbf" + short.encode(),
        short.encode("utf-16"),
        short.replace("\n", "\r\n").encode(),
        semicolons.getvalue().encode(),
    ]
    for text in variants:
        (row,) = rows_of(tmp_path, text)
        assert (row.worker, row.answer) == ("AWORKER0000001", "left")


def test_a_tab_separated_file_with_answer_columns(tmp_path: Path) -> None:
    text = old_header("Answer.choice", "Answer.why") + old_line(OLD_ROW, "left", 'it "fits"')
    (row,) = rows_of(tmp_path, text, comment="Answer.why", image="annotation")
    assert (row.hit, row.image, row.answer, row.comment) == ("OLDHIT1", "pier.jpg", "left", 'it "fits"')
    assert row.accepted_at == datetime(2010, 2, 21, 4, 24, 15, tzinfo=UTC)


def test_a_tab_separated_file_with_answers_in_turn(tmp_path: Path) -> None:
    others = [OLD_ROW | {"workerid": name, "hitid": name} for name in ("AOLD2", "AOLD3")]
    text = (
        old_header("answers[question_id answer_value]")
        + old_line(OLD_ROW, "choice", "left", "why", "it fits")
        + old_line(others[0], "choice\tright")
        + old_line(others[1])
    )
    first, second = rows_of(tmp_path, text, comment="Answer.why")
    assert (first.answer, first.comment, second.answer) == ("left", "it fits", "right")


def test_hits_that_nobody_did_are_passed_over(tmp_path: Path) -> None:
    alone = {"hitid": "OLDHIT2", "reward": "$0.05"}
    text = old_header("Answer.choice") + old_line(alone, "") + old_line(OLD_ROW, "left")
    assert [row.hit for row in rows_of(tmp_path, text)] == ["OLDHIT1"]


def test_line_breaks_in_answers_do_not_shift_the_line_numbers(tmp_path: Path) -> None:
    rows = [row_with(Answer__choice="a\nb\r\nc"), row_with(HITId="3H2", WorkTimeInSeconds="ten")]
    with pytest.raises(ImportProblem) as caught:
        rows_of(tmp_path, csv_text(*rows))
    assert_names(
        str(caught.value), tmp_path, "line 5", "WorkTimeInSeconds (wall_seconds)", "ten", "0", "1,000,000,000"
    )


@pytest.mark.parametrize(
    ("text", "line", "column", "values"),
    [
        ("", 1, None, ["no header"]),
        ("image,caption\na,b\n", None, "--map", ['"WorkerId"']),
        ("HITId,Answer.choice\nH,left\n", None, "--map", ['"WorkerId"']),
        ("WorkerId,workerid\n", 1, "WorkerId", ["column twice"]),
        ("WorkerId,HITId\nA\n", 2, None, ["1 cell", "2 as in the header"]),
        ('WorkerId,HITId\nA,"H\n', 2, None, ["a quotation mark", "never closed"]),
        ('WorkerId,HITId\nA,"H"x\n', 2, None, ["a closing quotation mark"]),
        ("WorkerId,HITId\nA,H\0\n", 2, None, ["NUL"]),
        (b"WorkerId,HITId\nA,caf\xe9\n", 2, None, ["0xE9"]),
        ('"' * 300_000, 1, None, []),
        ("WorkerId\n" + "x" * 200_000, 2, None, ["131,072"]),
        (
            'workerid\t"answers[question_id answer_value]"\nA\tq\t1\t\tlost\n',
            2,
            "answers[question_id answer_value]",
            ["without a name"],
        ),
    ],
)
def test_what_is_no_result_file_is_refused_with_its_place(
    tmp_path: Path, text: str | bytes, line: int | None, column: str | None, values: list[str]
) -> None:
    with refuses(ImportProblem, *values, line=line, column=column):
        rows_of(tmp_path, text)


@pytest.mark.parametrize(
    ("cells", "column", "values"),
    [
        ({"SubmitTime": "soon"}, "SubmitTime", ['"soon"', "time with its zone"]),
        ({"WorkTimeInSeconds": "-4"}, "WorkTimeInSeconds (wall_seconds)", [-4, "number of seconds"]),
        ({"Answer__taskAnswers": "[{"}, "Answer.taskAnswers", ["not JSON"]),
        ({"Answer__taskAnswers": '[{"a": "1"}, {"a": "2"}]'}, "Answer.taskAnswers", ["'Answer.a' twice"]),
    ],
)
def test_a_cell_that_does_not_fit_is_refused(
    tmp_path: Path, cells: dict[str, str], column: str, values: list[object]
) -> None:
    with refuses(ImportProblem, *values, line=2, column=column):
        rows_of(tmp_path, csv_text(row_with(**cells)))


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
NAME = TEXT.filter(lambda text: bool(text.strip()))
CELLS = st.fixed_dictionaries({"Input.b.c": NAME, "Answer.u1": st.just("left")})


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(CELLS, max_size=4))
def test_what_is_written_reads_back(tmp_path: Path, rows: list[dict[str, str]]) -> None:
    path, columns = tmp_path / "written.csv", ["WorkerId", "HITId", "Input.b.c", "Answer.u1"]
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
        writer.writerow(columns)
        for number, row in enumerate(rows):
            cells = {"WorkerId": "A", "HITId": f"H{number}", **row}
            writer.writerow([guard_formula(cells[column]) for column in columns])
    how = ColumnMapping(columns={"unit": "HITId", "first_text": "Input.b.c", "answer": "Answer.u1"})
    if rows:
        read = list(open_judgments("mturk", path, mapping=how).judgments())
        assert [row.first_text for row in read] == [row["Input.b.c"] for row in rows]


def test_ten_times_the_rows_take_no_more_memory(tmp_path: Path) -> None:
    def peak_of(count: int) -> int:
        path = csv_file(tmp_path, *(row_with(AssignmentId=f"3A{number}") for number in range(count)))
        tracemalloc.start()
        records = mapped_reader(read_layouts()["mturk"], read_csv, mapped_only=True)
        assert sum(1 for _ in records(path, Columns(()), ImportNotes(), None)) == count
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    few, many = peak_of(200), peak_of(2_000)
    assert many < 2 * few
