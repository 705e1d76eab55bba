"""Results of Turkle, in files made here in the shape that it documents."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from judgments.importers import ColumnMapping, ImportProblem, open_judgments
from judgments.importers.records.rows import JudgmentRow

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
    zone = "UTC" if options.pop("zone", True) else ""
    wanted = ColumnMapping(columns=columns, values=options.pop("values", SIDES), zone=zone)
    protocol = options.pop("protocol", "pairwise")
    source = open_judgments(form, path, protocol=protocol, mapping=wanted)
    rows = list(source.judgments({"pier.jpg", "dog.jpg"}))
    assert options.pop("notes", None) in (None, source.notes.sentences())
    return rows


def refused(form: str, path: Path, columns: dict[str, str], **options: Any) -> str:
    with pytest.raises(ImportProblem) as caught:
        judged(form, path, columns, **options)
    return str(caught.value).replace(f"{path.parent}/", "")


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
