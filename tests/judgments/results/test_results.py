"""Result files in the forms of fifteen years, and files that are none."""

import csv
import io
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judgments.importers import ImportProblem
from judgments.importers.mturk import ResultRow, read_results
from judgments.importers.textio import guard_formula
from tests.judgments.results.result_files import OLD_ROW, csv_file, csv_text, old_header, old_line, row_with


def rows_of(folder: Path, text: str | bytes) -> list[ResultRow]:
    path = folder / "results.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return list(read_results(path))


def refused(folder: Path, text: str | bytes) -> str:
    with pytest.raises(ImportProblem) as caught:
        rows_of(folder, text)
    return str(caught.value).removeprefix(f"{folder}/")


def test_a_row_of_the_requester_pages(tmp_path: Path) -> None:
    (row,) = read_results(csv_file(tmp_path, row_with()))
    assert row.line == 2
    assert row.text("Reward") == "$0.10"
    assert row.time("SubmitTime") == datetime(2019, 11, 21, 16, 0, 44, tzinfo=UTC)
    assert row.time("ApprovalTime") is None
    assert row.whole("WorkTimeInSeconds") == 44
    assert row.text("Input.a") == "Two people fish ."
    assert row.answers == {"choice": "left"}
    assert row.rejected is False


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
        assert (row.text("WorkerId"), row.answers) == ("AWORKER0000001", {"choice": "left"})


def test_a_tab_separated_file_with_answer_columns(tmp_path: Path) -> None:
    text = old_header("Answer.choice", "Answer.why") + old_line(OLD_ROW, "left", 'it "fits"')
    (row,) = rows_of(tmp_path, text)
    assert row.text("HITId") == "OLDHIT1"
    assert row.text("RequesterAnnotation") == "pier.jpg"
    assert row.time("AcceptTime") == datetime(2010, 2, 21, 4, 24, 15, tzinfo=UTC)
    assert row.answers == {"choice": "left", "why": 'it "fits"'}


def test_a_tab_separated_file_with_answers_in_turn(tmp_path: Path) -> None:
    text = (
        old_header("answers[question_id answer_value]")
        + old_line(OLD_ROW, "choice", "left", "why", "it fits")
        + old_line(OLD_ROW, "choice\tright")
        + old_line(OLD_ROW)
    )
    first, second, third = rows_of(tmp_path, text)
    assert first.answers == {"choice": "left", "why": "it fits"}
    assert second.answers == {"choice": "right"}
    assert third.answers == {}


def test_hits_that_nobody_did_are_passed_over(tmp_path: Path) -> None:
    alone = {"hitid": "OLDHIT2", "reward": "$0.05"}
    text = old_header("Answer.choice") + old_line(alone, "") + old_line(OLD_ROW, "left")
    assert [row.line for row in rows_of(tmp_path, text)] == [3]


def test_line_breaks_in_answers_do_not_shift_the_line_numbers(tmp_path: Path) -> None:
    rows = [row_with(Answer__choice="a\nb\r\nc"), row_with(WorkTimeInSeconds="ten")]
    first, second = read_results(csv_file(tmp_path, *rows))
    assert first.answers["choice"] == "a\nb\r\nc"
    with pytest.raises(ImportProblem) as caught:
        second.whole("WorkTimeInSeconds")
    assert str(caught.value) == (
        f'{tmp_path}/Batch_1234567_batch_results.csv, line 5, WorkTimeInSeconds: found "ten", expected a whole '
        "number from 0."
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "results.csv, line 1: found no header, expected a header with WorkerId."),
        ("image,caption\n", 'results.csv, line 1: found the first line "image,caption", expected'),
        ("HITId,AssignmentId\n", "results.csv, line 1: found no column WorkerId, expected a header with WorkerId."),
        ("WorkerId,workerid\n", "results.csv, line 1, WorkerId: found this column twice in the header"),
        ("WorkerId,HITId\nA\n", "results.csv, line 2: found 1 cell, expected 2 as in the header"),
        ('WorkerId,HITId\nA,"H\n', "results.csv, line 2: found a quotation mark that is never closed"),
        ('WorkerId,HITId\nA,"H"x\n', "results.csv, line 2: found text behind a closing quotation mark"),
        ("WorkerId,HITId\nA,H\0\n", "results.csv, line 2: found a NUL character, expected text."),
        (b"WorkerId,HITId\nA,caf\xe9\n", "results.csv, line 2: found byte 0xE9"),
        ('"' * 300_000, "results.csv, line 1: found"),
        ("WorkerId\n" + "x" * 200_000, "results.csv, line 2: found a cell of more than 131,072 characters"),
        (
            'workerid\t"answers[question_id answer_value]"\nA\tq\t1\t\tlost\n',
            "results.csv, line 2, answers[question_id answer_value]: found a value without a name before it",
        ),
    ],
)  # fmt: skip
def test_what_is_no_result_file_is_refused_with_its_place(
    tmp_path: Path, text: str | bytes, sentence: str
) -> None:
    assert refused(tmp_path, text).startswith(sentence)


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ({"SubmitTime": "soon"}, 'SubmitTime: found "soon", expected a time with its zone'),
        ({"WorkTimeInSeconds": "-4"}, 'WorkTimeInSeconds: found "-4", expected a whole number from 0.'),
        ({"WorkTimeInSeconds": "9" * 40}, "WorkTimeInSeconds: found"),
        ({"Answer__taskAnswers": "[{"}, "Answer.taskAnswers: found text that is not JSON"),
    ],
)
def test_a_cell_is_refused_when_it_is_asked_for(tmp_path: Path, cells: dict[str, str], sentence: str) -> None:
    (row,) = read_results(csv_file(tmp_path, row_with(**cells)))
    assert row.text("WorkerId") == "AWORKER0000001"
    with pytest.raises(ImportProblem) as caught:
        assert [row.time("SubmitTime"), row.whole("WorkTimeInSeconds"), row.answers]
    assert f"line 2, {sentence}" in str(caught.value)


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
NAME = TEXT.filter(lambda text: bool(text.strip()))
CELLS = st.fixed_dictionaries({"WorkerId": NAME, "Title": TEXT, "Input.b.c": TEXT, "Answer.u1": TEXT})


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(CELLS, max_size=4))
def test_what_is_written_reads_back(tmp_path: Path, rows: list[dict[str, str]]) -> None:
    path, columns = tmp_path / "written.csv", ["WorkerId", "Title", "Input.b.c", "Answer.u1"]
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
        writer.writerow(columns)
        writer.writerows([guard_formula(row[column]) for column in columns] for row in rows)
    assert [dict(row.cells) for row in read_results(path)] == rows


def test_ten_times_the_rows_take_no_more_memory(tmp_path: Path) -> None:
    def peak_of(count: int) -> int:
        path = csv_file(tmp_path, *(row_with(AssignmentId=f"3A{number}") for number in range(count)))
        tracemalloc.start()
        assert sum(1 for _ in read_results(path)) == count
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    few, many = peak_of(200), peak_of(2_000)
    assert many < 2 * few
