"""Old result files as judgments: the columns are named by whoever imports them."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from judgments.importers import ColumnMapping, ImportProblem, open_judgments
from judgments.importers.mapped.mapping import parse_pairs, parse_zone
from judgments.importers.records.rows import JudgmentRow
from tests.judgments.results.result_files import OLD_ROW, csv_file, old_header, old_line, row_with
from tests.refusals import assert_names, refuses

PAIR = {"image": "Input.image", "first_text": "Input.a", "second_text": "Input.b", "value": "Answer.choice"}
SIDES = {"left": "1", "right": "2"}


def judged(
    path: Path,
    columns: dict[str, str],
    protocol: str | None = "pairwise",
    *,
    values: Mapping[str, str] = SIDES,
    worker_name: Callable[[str], str] = str,
) -> list[JudgmentRow]:
    wanted = ColumnMapping(columns=columns, values=values)
    source = open_judgments("mturk", path, protocol=protocol, mapping=wanted, worker_name=worker_name)
    return list(source.judgments({"pier.jpg", "dog.jpg"}))


def refused(path: Path, columns: dict[str, str], values: Mapping[str, str] = SIDES) -> str:
    with pytest.raises(ImportProblem) as caught:
        judged(path, columns, values=values)
    return str(caught.value).replace(f"{path.parent}/", "")


def test_a_row_becomes_a_judgment(tmp_path: Path) -> None:
    (row,) = judged(csv_file(tmp_path, row_with()), PAIR)
    assert (row.image, row.first_text, row.second_text) == ("pier.jpg", "Two people fish .", "A dog sleeps .")
    assert (row.value, row.used, row.wall_seconds) == (1, True, 44)
    assert (row.worker, row.hit, row.assignment) == (
        "AWORKER0000001",
        "3KHIT00000000000000000000000A1",
        "3ASSIGNMENT0000000000000000001",
    )
    assert row.accepted_at == datetime(2019, 11, 21, 16, 0, 0, tzinfo=UTC)


def test_the_same_question_is_one_unit_whoever_answers_it(tmp_path: Path) -> None:
    other = row_with(WorkerId="AWORKER2", AssignmentId="3A2", HITId="3H2")
    third = row_with(WorkerId="AWORKER3", AssignmentId="3A3", Input__b="Nobody is there .")
    units = [row.unit for row in judged(csv_file(tmp_path, row_with(), other, third), PAIR)]
    assert units[0] == units[1] != units[2]


def test_a_column_may_name_the_unit(tmp_path: Path) -> None:
    (row,) = judged(csv_file(tmp_path, row_with()), PAIR | {"unit": "HITId"})
    assert row.unit == "3KHIT00000000000000000000000A1"


def test_answers_of_rejected_assignments_are_kept_and_not_used(tmp_path: Path) -> None:
    path = csv_file(
        tmp_path, row_with(AssignmentStatus="Rejected", RejectionTime="Fri Nov 22 08:00:00 PST 2019")
    )
    source = open_judgments(
        "mturk", path, protocol="pairwise", mapping=ColumnMapping(columns=PAIR, values=SIDES)
    )
    assert [row.used for row in source.judgments()] == [False]
    assert (source.notes["rejected-assignment"], len(source.notes.sentences())) == (1, 1)


def test_a_hit_that_asked_several_things_is_read_by_number(tmp_path: Path) -> None:
    numbered = {"image": "Input.image{n}", "first_text": "Input.text{n}", "value": "Answer.grade{n}"}
    cells = {
        "Input.image1": "https://pictures.example/a%20b/pier.jpg?size=2",
        "Input.text1": "Two people fish .",
        "Answer.grade1": "4",
        "Input.image2": "dog.jpg",
        "Input.text2": "A dog sleeps .",
        "Answer.grade2": "1",
        "Input.image3": "dog.jpg",
        "Input.text3": "A dog runs .",
        "Answer.grade3": "",
    }
    path = csv_file(tmp_path, row_with() | cells)
    source = open_judgments("mturk", path, protocol="graded", mapping=ColumnMapping(columns=numbered))
    rows = list(source.judgments({"pier.jpg", "dog.jpg"}))
    assert [(row.image, row.first_text, row.value) for row in rows] == [
        ("pier.jpg", "Two people fish .", 4),
        ("dog.jpg", "A dog sleeps .", 1),
    ]
    assert [row.wall_seconds for row in rows] == [None, None]
    assert source.notes["empty-answer"] == 1


def test_radio_buttons_and_crowd_forms_give_values_too(tmp_path: Path) -> None:
    buttons = row_with(Answer__choice="", Answer__side__left="false", Answer__side__right="true")
    (row,) = judged(csv_file(tmp_path, buttons), PAIR | {"value": "Answer.side"})
    assert row.value == 2
    form = row_with(Answer__taskAnswers='[{"side": {"left": true, "right": false}}]')
    (row,) = judged(csv_file(tmp_path, form), PAIR | {"value": "Answer.side"})
    assert row.value == 1


def test_the_oldest_files_give_judgments(tmp_path: Path) -> None:
    path = tmp_path / "sentences.results"
    path.write_text(
        old_header("answers[question_id answer_value]") + old_line(OLD_ROW, "grade", "3", "why", "it fits")
    )
    columns = {
        "image": "annotation",
        "first_text": "Answer.why",
        "value": "Answer.grade",
        "comment": "Answer.why",
    }
    (row,) = judged(path, columns, "graded", values={})
    assert (row.image, row.value, row.comment, row.hit) == ("pier.jpg", 3, "it fits", "OLDHIT1")


def test_workers_get_the_names_that_are_given_them(tmp_path: Path) -> None:
    (row,) = judged(csv_file(tmp_path, row_with()), PAIR, worker_name=lambda name: f"w-{len(name)}")
    assert row.worker == "w-14"


def test_texts_keep_an_apostrophe_of_their_own(tmp_path: Path) -> None:
    (row,) = judged(csv_file(tmp_path, row_with(Input__a="''=x", Input__b="'tis")), PAIR)
    assert (row.first_text, row.second_text) == ("'=x", "'tis")


@pytest.mark.parametrize(
    ("columns", "values"),
    [
        (PAIR | {"value": "Answer.chioce"}, ['"Answer.chioce"', "'Answer.choice'"]),
        (PAIR | {"image": "Input.picture"}, ['"Input.picture"']),
        ({"image": "Input.image"}, ["no value", "value=COLUMN"]),
        (PAIR | {"fist": "Input.a"}, ['"fist"', "'first'"]),
    ],
)
def test_columns_that_are_not_there_are_named(
    tmp_path: Path, columns: dict[str, str], values: list[str]
) -> None:
    with refuses(ImportProblem, *values, column="--map"):
        judged(csv_file(tmp_path, row_with()), columns, values=SIDES)


@pytest.mark.parametrize(
    ("cells", "line", "column", "values"),
    [
        ({"Answer__choice": "middle"}, 2, "Answer.choice", ['"middle"', "left, right"]),
        ({"Input__image": "cat.jpg"}, 2, "Input.image (image)", ['"cat.jpg"', "image of the dataset"]),
        (
            {"SubmitTime": "Thu Nov 21 07:00:00 PST 2019"},
            2,
            "SubmitTime (submitted_at)",
            ["before accepted_at"],
        ),
        ({"WorkerId": ""}, 2, "WorkerId", ["nothing", "every row"]),
        ({"Answer__choice": ""}, None, None, ["no judgments"]),
    ],
)
def test_cells_that_do_not_fit_are_named_with_their_line(
    tmp_path: Path, cells: dict[str, str], line: int | None, column: str | None, values: list[str]
) -> None:
    with refuses(ImportProblem, *values, line=line, column=column):
        judged(csv_file(tmp_path, row_with(**cells)), PAIR, values=SIDES)


def test_values_stay_on_their_protocol_s_scale(tmp_path: Path) -> None:
    path = csv_file(tmp_path, row_with(Answer__choice="3"))
    assert_names(refused(path, PAIR, values={}), "Answer.choice")


def test_open_answers_are_texts_or_json(tmp_path: Path) -> None:
    path = csv_file(
        tmp_path, row_with(Answer__choice="A pier ."), row_with(WorkerId="A2", Answer__choice='["pier"]')
    )
    first, second = judged(path, {"image": "Input.image", "answer": "Answer.choice"}, None, values={})
    assert (first.answer, second.answer) == ("A pier .", ["pier"])


def test_columns_are_for_tables_and_for_them_alone(tmp_path: Path) -> None:
    path = csv_file(tmp_path, row_with())
    with refuses(ImportProblem, column="--map", actual="nothing"):
        open_judgments("mturk", path)
    with pytest.raises(ImportProblem, match="fixed"):
        open_judgments("flickr8k-expert", path, mapping=ColumnMapping(columns=PAIR))


def test_pairs_and_zones_are_read_from_an_option(tmp_path: Path) -> None:
    assert parse_pairs("a = Input.a , b=Answer.b", tmp_path, "--columns") == {"a": "Input.a", "b": "Answer.b"}
    for text in ("a", "a=", "=b", "a=1,a=2", ""):
        with pytest.raises(ImportProblem):
            parse_pairs(text, tmp_path, "--values")
    assert parse_zone("UTC", tmp_path).utcoffset(None) is not None
    for text in ("Nowhere/Else", "../etc/passwd", ""):
        with pytest.raises(ImportProblem, match="America/Los_Angeles"):
            parse_zone(text, tmp_path)
