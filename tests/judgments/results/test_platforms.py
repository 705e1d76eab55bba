"""Results of CrowdFlower, Turkle, Label Studio and Potato, in files made here in the shapes that they document."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from judgments.importers import ImportProblem, ResultColumns, open_judgments
from judgments.importers.records import JudgmentRow
from judgments.importers.results.judgments import parse_zone

SIDES = {"left": "1", "right": "2"}
PAIR = {"image": "image", "first_text": "a", "second_text": "b", "value": "better"}


def table(path: Path, rows: list[dict[str, Any]], separator: str = ",") -> Path:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), delimiter=separator)
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(out.getvalue(), encoding="utf-8", newline="")
    return path


def judged(form: str, path: Path, columns: dict[str, str], **options: Any) -> list[JudgmentRow]:
    zone = parse_zone("UTC", path) if options.pop("zone", True) else None
    wanted = ResultColumns(columns, options.pop("values", SIDES), zone=zone)
    protocol = options.pop("protocol", "pairwise")
    source = open_judgments(form, path, protocol=protocol, columns=wanted)
    rows = list(source.judgments({"pier.jpg", "dog.jpg"}))
    assert options.pop("notes", None) in (None, source.notes.sentences())
    return rows


def refused(form: str, path: Path, columns: dict[str, str], **options: Any) -> str:
    with pytest.raises(ImportProblem) as caught:
        judged(form, path, columns, **options)
    return str(caught.value).replace(f"{path.parent}/", "")


def flower(**cells: str) -> dict[str, str]:
    return {
        "_unit_id": "1001", "_created_at": "11/20/2016 14:05:09", "_golden": "false", "_id": "2001",
        "_missed": "", "_started_at": "11/20/2016 14:04:39", "_tainted": "false", "_channel": "neodev",
        "_trust": "0.91", "_worker_id": "31415", "_country": "DEU", "_region": "", "_city": "", "_ip": "",
        "better": "left", "image": "http://example.org/pier.jpg", "a": "Two people fish .", "b": "A dog sleeps .",
        "better_gold": "",
    } | cells  # fmt: skip


def test_a_full_report_of_crowdflower_becomes_judgments(tmp_path: Path) -> None:
    path = table(tmp_path / "full.csv", [flower(), flower(_id="2002", _worker_id="2", _tainted="true")])
    first, second = judged(
        "crowdflower",
        path,
        PAIR,
        notes=["Judgments of contributors who fell below the job's trust, kept and not used: 1."],
    )
    assert (first.unit, first.worker, first.assignment, first.image) == ("1001", "31415", "2001", "pier.jpg")
    assert (first.value, first.used, first.control, first.hit) == (1, True, False, None)
    assert first.accepted_at == datetime(2016, 11, 20, 14, 4, 39, tzinfo=UTC)
    assert first.submitted_at == datetime(2016, 11, 20, 14, 5, 9, tzinfo=UTC)
    assert (second.used, second.unit) == (False, "1001")


def test_a_test_question_of_crowdflower_becomes_a_control_item(tmp_path: Path) -> None:
    gold = flower(_golden="true", better_gold="right")
    several = flower(_golden="true", better_gold="right\nleft", _unit_id="1002")
    first, second = judged("crowdflower", table(tmp_path / "full.csv", [gold, several]), PAIR)
    assert (first.control, first.expected) == (True, 2)
    assert (second.control, second.expected) == (True, None)


def test_an_aggregated_report_has_a_row_a_unit_of_nobody(tmp_path: Path) -> None:
    row = {
        "_unit_id": "1", "_golden": "false", "_unit_state": "finalized", "_trusted_judgments": "3",
        "_last_judgment_at": "11/20/2016 14:05:09", "better": "right", "better:confidence": "0.6667",
        "image": "dog.jpg",
    }  # fmt: skip
    (found,) = judged(
        "crowdflower",
        table(tmp_path / "aggregated.csv", [row]),
        {"image": "image", "value": "better"},
        notes=["Votes that are already majorities of several answers: 1."],
    )
    assert (found.worker, found.anonymous, found.value) == ("anon-1", True, 2)


@pytest.mark.parametrize(
    ("cells", "columns", "sentence"),
    [
        ({"better": "middle"}, PAIR, 'full.csv, line 3, better: found "middle", expected one of left, right.'),
        ({"_golden": "perhaps"}, PAIR, 'full.csv, line 3, _golden: found "perhaps", expected true or false.'),
        ({"_worker_id": ""}, PAIR, "full.csv, line 3, WorkerId: found nothing, expected it in every row."),
        ({}, PAIR | {"kind": "sort"}, "full.csv, --columns: found the unknown column \"sort\", expected a column of the"
         " file."),
    ],
)  # fmt: skip
def test_what_crowdflower_does_not_say_is_refused_with_its_line(
    tmp_path: Path, cells: dict[str, str], columns: dict[str, str], sentence: str
) -> None:
    path = table(tmp_path / "full.csv", [flower(), flower(_id="2", _worker_id="2") | cells])
    assert refused("crowdflower", path, columns) == sentence


def test_a_time_without_a_zone_asks_for_one(tmp_path: Path) -> None:
    path = table(tmp_path / "full.csv", [flower()])
    assert "expected a time with its zone" in refused("crowdflower", path, PAIR, zone=False)


def turkle(**cells: str) -> dict[str, str]:
    return {
        "HITId": "12", "HITTypeId": "3", "Title": "Sides", "CreationTime": "Fri Nov 20 14:00:00 UTC 2020",
        "MaxAssignments": "2", "AssignmentDurationInSeconds": "86400", "AssignmentId": "77", "WorkerId": "5",
        "AcceptTime": "Fri Nov 20 14:04:39 UTC 2020", "SubmitTime": "Fri Nov 20 14:05:09 UTC 2020",
        "WorkTimeInSeconds": "30", "Input.image": "pier.jpg", "Answer.better": "right", "Turkle.Username": "esther",
    } | cells  # fmt: skip


def test_turkle_names_its_workers_at_the_end_of_the_row(tmp_path: Path) -> None:
    rows = [turkle(), turkle(AssignmentId="78", WorkerId="", **{"Turkle.Username": ""})]
    named, unnamed = judged(
        "turkle", table(tmp_path / "t.csv", rows), {"image": "Input.image", "value": "Answer.better"}
    )
    assert (named.worker, named.hit, named.assignment, named.value) == ("esther", "12", "77", 2)
    assert (named.wall_seconds, unnamed.worker) == (30, "anonymous-78")


def task(*annotations: dict[str, Any], number: int = 1) -> dict[str, Any]:
    return {"id": number, "project": 8, "data": {"image": "https://example.org/pier.jpg", "a": "x"}, "annotations":
            list(annotations), "predictions": []}  # fmt: skip


def annotation(by: Any, side: str, **more: Any) -> dict[str, Any]:
    return {
        "id": 1000, "completed_by": by, "was_cancelled": False, "ground_truth": False, "lead_time": 4.288,
        "created_at": "2021-03-09T22:16:08.728353Z", "result": [
            {"id": "x", "type": "pairwise", "from_name": "pw", "to_name": "a,b", "value": {"selected": side}},
            {"id": "y", "type": "rating", "from_name": "stars", "to_name": "a", "value": {"rating": 3}},
            {"id": "z", "type": "taxonomy", "from_name": "why", "to_name": "a", "value": {"taxonomy": [["a", "b"]]}},
        ],
    } | more  # fmt: skip


STUDIO = {"image": "image", "value": "pw", "comment": "why"}


def test_label_studio_s_json_becomes_judgments(tmp_path: Path) -> None:
    path = tmp_path / "project.json"
    tasks = [task(annotation(10, "left"), annotation({"id": 2, "email": "e@example.org"}, "right", id=2)),
             task(annotation(10, "left", was_cancelled=True), number=2)]  # fmt: skip
    path.write_text(json.dumps(tasks, indent=2), encoding="utf-8")
    first, second = judged(
        "label-studio", path, STUDIO, notes=["Tasks that their annotator skipped, left out: 1."]
    )
    assert (first.unit, first.worker, first.value, first.image) == ("1", "10", 1, "pier.jpg")
    assert (first.wall_seconds, first.comment, first.control) == (4.288, "a/b", False)
    assert first.submitted_at == datetime(2021, 3, 9, 22, 16, 8, 728353, tzinfo=UTC)
    assert (second.worker, second.value) == ("e@example.org", 2)


def test_a_ground_truth_is_what_is_expected_of_the_others(tmp_path: Path) -> None:
    path = tmp_path / "project.json"
    truth = annotation(1, "right", ground_truth=True)
    path.write_text(json.dumps([task(annotation(10, "left"), truth)]), encoding="utf-8")
    (row,) = judged("label-studio", path, STUDIO)
    assert (row.worker, row.value, row.control, row.expected) == ("10", 1, True, 2)


def test_a_rating_is_a_value(tmp_path: Path) -> None:
    path = tmp_path / "project.json"
    path.write_text(json.dumps([task(annotation(10, "left"))]), encoding="utf-8")
    columns = {"image": "data.image", "value": "stars"}
    assert [row.value for row in judged("label-studio", path, columns, values={}, protocol="graded")] == [3]


@pytest.mark.parametrize("suffix", ["json", "csv"])
def test_the_short_exports_of_label_studio_say_the_same(tmp_path: Path, suffix: str) -> None:
    record = {"id": 1, "image": "pier.jpg", "pw": "left", "stars": [{"rating": 4}], "annotator": 10,
              "annotation_id": 1000, "created_at": "2021-03-09T22:16:08Z", "lead_time": 4.288}  # fmt: skip
    path = tmp_path / f"short.{suffix}"
    if suffix == "json":
        path.write_text(json.dumps([record]), encoding="utf-8")
    else:
        table(path, [record | {"stars": json.dumps(record["stars"])}])
    (row,) = judged("label-studio", path, {"image": "image", "value": "pw", "comment": "stars"})
    assert (row.unit, row.worker, row.value, row.comment) == ("1", "10", 1, "4")
    assert (row.wall_seconds, row.assignment) == (4.288, "1000")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('[\n{"id": 1, "annotations": 3, "data": {}}]', "p.json, line 2, annotations: found 3, expected a list of"
         " objects."),
        ('[\n{"annotator": 1,\n"pw": }]', "p.json, line 3: found damaged JSON (expecting value), expected a JSON"
         " array."),
        ('[{"id": 1, "image": "dog.jpg", "annotator": 1, "pw": "left"}',
         "p.json, line 1: found the end of the file, expected the end of the JSON array."),
        ("[1]", "p.json, line 1: found 1, expected an object."),
        ("[]", "p.json, --columns: found no answer \"image\" in any row, expected one of the file."),
    ],
)  # fmt: skip
def test_damaged_exports_of_label_studio_are_refused(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "p.json"
    path.write_text(text, encoding="utf-8")
    assert refused("label-studio", path, {"image": "image", "value": "pw"}) == sentence


POTATO = {"image": "id", "value": "better"}


def test_potato_s_folder_has_an_annotator_a_folder(tmp_path: Path) -> None:
    for user, side in (("ann", "left"), ("bob", "right")):
        (tmp_path / user).mkdir()
        line = {"id": "pier.jpg", "displayed_text": "x", "label_annotations": {"better": {side: "1"}},
                "span_annotations": {}, "behavioral_data": {"time_string": "Time spent: 0d 0h 1m 5s "}}  # fmt: skip
        (tmp_path / user / "annotated_instances.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    rows = judged("potato", tmp_path, POTATO)
    assert [(row.worker, row.unit, row.value, row.wall_seconds) for row in rows] == [
        ("ann", "pier.jpg", 1, 65),
        ("bob", "pier.jpg", 2, 65),
    ]


@pytest.mark.parametrize(
    "labels",
    [
        {"better": {"left": "true", "right": False}},
        [[{"schema": "better", "name": "left"}, True], [{"schema": "sure", "name": "scale"}, "57"]],
    ],
)
def test_potato_s_state_comes_before_the_lines_beside_it(tmp_path: Path, labels: Any) -> None:
    state = {"user_id": "ann", "instance_id_to_label_to_value": {"dog.jpg": labels}}
    (tmp_path / "ann").mkdir()
    (tmp_path / "ann" / "user_state.json").write_text(json.dumps(state), encoding="utf-8")
    (tmp_path / "ann" / "annotated_instances.jsonl").write_text('{"id": "older"}\n', encoding="utf-8")
    (row,) = judged("potato", tmp_path, POTATO)
    assert (row.worker, row.image, row.value) == ("ann", "dog.jpg", 1)


def test_potato_s_table_has_a_column_a_label(tmp_path: Path) -> None:
    rows = [{"user": "ann", "instance_id": "dog.jpg", "displayed_text": "x", "better:::left": "",
             "better:::right": "1", "sure:::scale": "57"}]  # fmt: skip
    (row,) = judged("potato", table(tmp_path / "annotated_instances.tsv", rows, "\t"), POTATO)
    assert (row.worker, row.value) == ("ann", 2)
    columns = {"image": "id", "value": "sure.value"}
    path = table(tmp_path / "annotated_instances.csv", rows)
    assert [row.value for row in judged("potato", path, columns, values={}, protocol="slider")] == [57]


def test_an_empty_folder_of_potato_is_refused(tmp_path: Path) -> None:
    assert "found no annotator's folder" in refused("potato", tmp_path, POTATO)
