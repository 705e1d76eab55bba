"""Read the errors that people have marked in a text, by `ColumnMapping.spans`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from common.incoming import quote_value
from judgments.importers import foreign
from judgments.importers.mapped.mapping import ColumnMapping
from judgments.importers.records.json_records import parse_json
from judgments.importers.records.record import Record

MAX_WHOLE_SCORE = 1e9  # largest float score that is read as int


def read_marked_errors(mapping: ColumnMapping, record: Record, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the marked errors of a row as an answer, with the row's score if it has one.

    For example, return ``{"spans": [{"start": 3, "end": 6, "severity": "minor"}], "score": 80}``.

    Args:
        values: the row by Quorum's columns. Its marks are in the column ``marks``, or else in ``spans``.
    """
    marks = values.get("marks")
    if marks is None:
        marks = values.get("spans", [])
        if isinstance(marks, str):
            marks = parse_json(marks, record.file, record.line)
        if not isinstance(marks, list) or not all(isinstance(mark, dict) for mark in marks):
            raise record.problem("spans", quote_value(marks), "a list of marked errors")
    text = str(values.get("first_text", ""))
    spans = [span for mark in marks if (span := _read_span(mapping, mark, text)) is not None]
    score = _read_score(values.get("score"))
    return {"spans": spans} if score is None else {"spans": spans, "score": score}


def _read_span(mapping: ColumnMapping, mark: Mapping[str, Any], text: str) -> dict[str, Any] | None:
    """Return a marked error with Quorum's keys; None if the mark has no severity, or means "no error".

    For example, return ``{"start": 3, "end": 6, "severity": "minor"}``. Start and end are None for an error without
    a place, such as an omission.
    """
    severity, category = (
        _read_word(mapping, name, _member_of(mapping, mark, name)) for name in ("severity", "category")
    )
    if not severity or category == "":
        return None
    if "first_text" in mark:  # a row for each error, with tags around it (`ColumnMapping.merge`)
        start, end = foreign.find_marked_part(str(mark["first_text"] or ""), text) or (None, None)
    else:
        start, end = _read_offsets(mapping, mark, len(text))
    span = {"start": start, "end": end, "severity": severity}
    return span if category is None else span | {"category": category}


def _read_offsets(mapping: ColumnMapping, mark: Mapping[str, Any], text_length: int) -> tuple[Any, Any]:
    """Return the start of a mark and the offset after its end; (None, None) if it has no start."""
    start, end = _member_of(mapping, mark, "start"), _member_of(mapping, mark, "end")
    if type(start) is not int:
        return None, None
    if mapping.spans.get("inclusive") and type(end) is int:  # ``end`` is the last character
        if start == text_length:  # a mark after the text means that something is missing
            return None, None
        if end != text_length:  # a mark up to the end may have the text's length already
            end += 1
    return start, end


def _member_of(mapping: ColumnMapping, mark: Mapping[str, Any], name: str) -> Any:
    """Return a member of a mark by Quorum's name. `ColumnMapping.spans` says how the file names it."""
    return foreign.look_up(mark, str(mapping.spans.get(name, name)))


def _read_word(mapping: ColumnMapping, name: str, value: Any) -> str | None:
    """Return Quorum's name of a severity or category; None if the cell is empty, "" if it means "no error"."""
    if isinstance(value, list):
        value = "/".join(map(str, value))
    if value is None or value == "":
        return None
    text = str(value).strip().lower()
    return mapping.values.get(name, {}).get(text, text)


def _read_score(value: Any) -> Any:
    """Return a whole score as int. Return other values unchanged; they are refused later, with their column."""
    if isinstance(value, str) and re.fullmatch(r"\d{1,3}(\.0*)?", value):
        return int(value.partition(".")[0])
    if isinstance(value, float) and value.is_integer() and abs(value) < MAX_WHOLE_SCORE:
        return int(value)
    return value
