"""Label Studio's exports: JSON (a record per task), JSON-MIN and CSV (a record per annotation).

See labelstud.io/guide/task_format and label-studio-converter. In JSON an answer is in ``result`` under its
``from_name``; in the others it is a column of that name, shortened for one choice or text. Columns here are the
task's data (``image`` and ``data.image`` alike) and the names of the control tags.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import tzinfo
from pathlib import Path
from typing import Any

from judgments.importers.readers import cell_of, csv_records, json_array
from judgments.importers.records import Record, quoted
from judgments.importers.results.rows import ResultRow, ResultSource
from judgments.importers.textio import ImportNotes, read_lines

# The key of each control tag's answer.
ANSWERS = ("choices", "rating", "number", "text", "taxonomy", "selected", "datetime")
_JSON_BEGINS = ("[", "{")


def _read(path: Path, encoding: str | None, zone: tzinfo | None, notes: ImportNotes) -> Iterator[ResultRow]:
    if _first_letter(path, encoding) != "[":
        for record in csv_records(path, encoding=encoding, required=("annotator",)):
            yield _short(record, zone)
        return
    for record in json_array(path, encoding=encoding):
        if "annotations" in record.values:
            yield from _of_task(record, zone, notes)
        elif "annotator" in record.values:
            yield _short(record, zone)
        else:
            found = "a record with neither annotations nor annotator"
            raise record.problem(None, found, "an export as JSON, JSON-MIN or CSV")


def _first_letter(path: Path, encoding: str | None) -> str:
    return next((text.strip()[0] for _, text in read_lines(path, encoding=encoding) if text.strip()), "")


def _of_task(record: Record, zone: tzinfo | None, notes: ImportNotes) -> Iterator[ResultRow]:
    """Take the expected answer from a ground-truth annotation."""
    task = record.values
    data, annotations = task.get("data"), task["annotations"]
    if not isinstance(data, dict):
        raise record.problem("data", quoted(data), "an object")
    if not isinstance(annotations, list) or not all(isinstance(one, dict) for one in annotations):
        raise record.problem("annotations", quoted(annotations), "a list of objects")
    shared = {f"data.{name}": cell_of(value) for name, value in data.items()}
    shared |= {name: cell_of(value) for name, value in data.items()} | {"task": cell_of(task.get("id"))}
    truth: dict[str, str] | None = None
    for one in annotations:
        if one.get("ground_truth") is True and truth is None:
            truth = _results(record, one)
    for one in annotations:
        if one.get("ground_truth") is True:
            notes.count("ground-truth")
        elif one.get("was_cancelled") is True:
            notes.count("skipped")
        else:
            cells = shared | _results(record, one)
            yield _row(record, cells, one, one.get("completed_by"), one.get("id"), zone, truth)


def _results(record: Record, annotation: Mapping[str, Any]) -> dict[str, str]:
    results = annotation.get("result")
    if not isinstance(results, list):
        raise record.problem("result", quoted(results), "a list")
    found: dict[str, list[Any]] = {}
    for number, result in enumerate(results):
        if not isinstance(result, dict) or not isinstance(result.get("value", {}), dict):
            raise record.problem(f"result[{number}]", quoted(result), "an object with a value")
        if "from_name" in result and "value" in result:
            found.setdefault(str(result["from_name"]), []).append(result["value"])
    return {name: cell_of(_plain(values)) for name, values in found.items()}


def _short(record: Record, zone: tzinfo | None) -> ResultRow:
    values = record.values
    cells = {}
    for name, value in values.items():
        read = value
        if isinstance(value, str) and value.startswith(_JSON_BEGINS):
            try:
                read = json.loads(value)
            except (ValueError, RecursionError):
                read = value  # a text that begins with a bracket
        cells[name] = cell_of(_plain(read))
    cells["task"] = cells.get("id", "")
    return _row(record, cells, values, values["annotator"], values.get("annotation_id"), zone, None)


def _row(
    record: Record,
    cells: Mapping[str, str],
    annotation: Mapping[str, Any],
    by: Any,
    number: Any,
    zone: tzinfo | None,
    truth: Mapping[str, str] | None,
) -> ResultRow:
    if isinstance(by, dict):
        by = by.get("email") or by.get("id")
    said = {
        "WorkerId": cell_of(by),
        "AssignmentId": cell_of(number),
        "SubmitTime": cell_of(annotation.get("created_at")),
    }
    return ResultRow(
        record.file,
        record.line,
        {**cells, **said},
        zone,
        seconds=_seconds(record, annotation.get("lead_time")),
        control=truth is not None,
        truth=truth,
    )


def _seconds(record: Record, value: Any) -> float | None:
    if value is None or value == "":
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        raise record.problem("lead_time", quoted(value), "a number of seconds") from None


def _plain(value: Any) -> Any:
    """Unwrap one choice to its word, a taxonomy path to ``a/b``."""
    if isinstance(value, dict):
        kept = [name for name in ANSWERS if name in value]
        if len(kept) != 1:
            return value
        inner = value[kept[0]]
        if kept[0] == "taxonomy" and isinstance(inner, list):
            inner = ["/".join(map(str, way)) if isinstance(way, list) else way for way in inner]
        return _plain(inner)
    if isinstance(value, list) and len(value) == 1:
        return _plain(value[0])
    return value


LABEL_STUDIO = ResultSource(_read, unit="task", sparse=True)
