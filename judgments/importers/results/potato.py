"""Potato's output: one CSV, or folders of annotators with ``user_state.json`` or ``annotated_instances.jsonl``.

Formats of github.com/davidjurgens/potato: the state has ``instance_id_to_label_to_value``, the lines
``{"id", "displayed_text", "label_annotations": {scheme: {label: value}}, "behavioral_data"}``, the CSV
``user, instance_id, displayed_text`` and a column ``scheme:::label`` per label. Columns here: ``id``,
``displayed_text``, and per scheme its name (the chosen label; a JSON list of several), ``SCHEME.value``
(the entered value) and ``SCHEME:::LABEL``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import tzinfo
from pathlib import Path
from typing import Any

from judgments.importers.readers import cell_of, csv_records
from judgments.importers.records import Record, quoted
from judgments.importers.results.rows import ResultRow, ResultSource
from judgments.importers.textio import ImportNotes, ImportProblem, read_lines, read_whole

STATE, LINES = "user_state.json", "annotated_instances.jsonl"
BETWEEN = ":::"
_SPENT = re.compile(r"(\d+)d (\d+)h (\d+)m (\d+)s")
_UNCHOSEN = (None, "", False, "false")


def _read(path: Path, encoding: str | None, zone: tzinfo | None, notes: ImportNotes) -> Iterator[ResultRow]:
    if path.is_dir():
        files = sorted((*path.rglob(STATE), *path.rglob(LINES)))
        # the state repeats the lines beside it
        chosen = [file for file in files if file.name == STATE or not file.with_name(STATE).exists()]
        if not chosen:
            raise ImportProblem(path, None, None, "no annotator's folder", f"some with {STATE} or {LINES}")
    else:
        chosen = [path]
    for file in chosen:
        if file.suffix in (".csv", ".tsv"):
            yield from _of_table(file, encoding, zone)
        elif file.name == STATE or file.suffix == ".json":
            yield from _of_state(file, encoding, zone)
        else:
            yield from _of_lines(file, encoding, zone)


def _of_table(path: Path, encoding: str | None, zone: tzinfo | None) -> Iterator[ResultRow]:
    separator = "\t" if path.suffix == ".tsv" else ","
    for record in csv_records(path, encoding=encoding, required=("user", "instance_id"), separator=separator):
        labels: dict[str, dict[str, Any]] = {}
        for name, cell in record.values.items():
            scheme, between, label = name.partition(BETWEEN)
            if between and cell.strip():
                labels.setdefault(scheme, {})[label] = cell
        about = {
            "id": record.values["instance_id"],
            "displayed_text": record.values.get("displayed_text", ""),
        }
        yield _row(record, record.values["user"], about, labels, {}, zone)


def _of_lines(path: Path, encoding: str | None, zone: tzinfo | None) -> Iterator[ResultRow]:
    for number, text in read_lines(path, encoding=encoding):
        if not text.strip():
            continue
        values = _json(path, number, text)
        record = Record(path, number, values)
        if "id" not in values:
            raise record.problem("id", "nothing", "the instance's id")
        labels = values.get("label_annotations", values.get("annotation"))
        about = {"id": values["id"], "displayed_text": values.get("displayed_text")}
        user = values.get("user_id") or values.get("user") or path.parent.name
        yield _row(record, user, about, labels, values.get("behavioral_data"), zone)


def _of_state(path: Path, encoding: str | None, zone: tzinfo | None) -> Iterator[ResultRow]:
    text = read_whole(path, encoding=encoding)
    state = _json(path, 1, text)
    instances, spent = state.get("instance_id_to_label_to_value"), state.get("instance_id_to_behavioral_data")
    if not isinstance(instances, dict):
        raise ImportProblem(path, 1, "instance_id_to_label_to_value", quoted(instances), "an object")
    for instance, labels in instances.items():
        behaviour = spent.get(instance) if isinstance(spent, dict) else None
        user = state.get("user_id") or path.parent.name
        line = 1 + text.count("\n", 0, max(text.find(json.dumps(instance)), 0))
        record = Record(path, line, {"id": instance})
        yield _row(record, user, record.values, _labels(record, labels), behaviour, zone)


def _json(path: Path, line: int | None, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise ImportProblem(path, line, None, "damaged JSON", "an object") from None
    if not isinstance(value, dict):
        raise ImportProblem(path, line, None, quoted(value), "an object")
    return value


def _labels(record: Record, labels: Any) -> Any:
    """Convert ``[[{"schema", "name"}, value], ...]`` of older states."""
    if not isinstance(labels, list):
        return labels
    found: dict[str, dict[str, Any]] = {}
    for entry in labels:
        try:
            label, value = entry
            found.setdefault(str(label["schema"]), {})[str(label["name"])] = value
        except (TypeError, ValueError, KeyError):
            where = f"instance_id_to_label_to_value[{record.values['id']}]"
            raise record.problem(where, quoted(entry), "a label and its value") from None
    return found


def _row(
    record: Record,
    user: object,
    about: Mapping[str, Any],
    labels: Any,
    behaviour: Any,
    zone: tzinfo | None,
) -> ResultRow:
    if not isinstance(labels, dict):
        raise record.problem("label_annotations", quoted(labels), "an object")
    cells = {name: cell_of(value) for name, value in about.items()}
    for scheme, given in labels.items():
        if not isinstance(given, dict):
            raise record.problem(str(scheme), quoted(given), "labels and their values")
        taken = {str(name): value for name, value in given.items() if value not in _UNCHOSEN}
        cells |= {f"{scheme}{BETWEEN}{name}": cell_of(value) for name, value in taken.items()}
        if taken:
            names, values = list(taken), list(taken.values())
            cells[str(scheme)] = cell_of(names[0] if len(names) == 1 else names)
            cells[f"{scheme}.value"] = cell_of(values[0] if len(values) == 1 else values)
    said = {"WorkerId": cell_of(user), "AssignmentId": ""}
    return ResultRow(record.file, record.line, cells | said, zone, seconds=_seconds(behaviour))


def _seconds(behaviour: Any) -> float | None:
    if not isinstance(behaviour, dict):
        return None
    total = behaviour.get("total_time_ms")
    if isinstance(total, (int, float)) and not isinstance(total, bool) and total > 0:
        return total / 1000
    if found := _SPENT.search(str(behaviour.get("time_string", ""))):
        days, hours, minutes, seconds = (int(part) for part in found.groups())
        return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
    return None


POTATO = ResultSource(_read, unit="id", sparse=True)
