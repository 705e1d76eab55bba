"""Read the annotations that Potato stores, from its older JSON lines or from a ``user_state.json`` per annotator.

Potato may shuffle the order of the texts of an item. An answer is then the letter of the position at which a text was
shown. It is converted to the letter of the text in the item's original order. Only the state file has the shown order:
``{"instance_id_to_presentation_order": {"item-1": {"better": [1, 0]}}}`` means that for the scheme "better" the second
text was shown first (github.com/davidjurgens/potato, 2.12.1, potato/server_utils/presentation_order.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from common.incoming import quote_value
from judgments.importers.notes import ImportNotes
from judgments.importers.problems import ImportProblem
from judgments.importers.records.columns import Columns
from judgments.importers.records.json_records import read_document
from judgments.importers.records.record import Record
from judgments.importers.tables.files import read_table

STATE_FILE = "user_state.json"
# keys of the state file; the value of each is an object by item
ANSWERS = "instance_id_to_label_to_value"
ORDERS = "instance_id_to_presentation_order"
BEHAVIOUR = "instance_id_to_behavioral_data"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LETTER_LABEL = "selection"  # the letter of the better text
SCALE_LABEL = "scale_value"  # a number whose sign says which text is better


def read_potato(path: Path, columns: Columns, notes: ImportNotes, encoding: str | None) -> Iterator[Record]:
    """Read the records of a ``user_state.json``, or of a table of any format."""
    if path.name == STATE_FILE:
        yield from _read_state(path, encoding)
    else:
        yield from read_table(path, columns, notes, encoding)


def is_letter_shown(values: Mapping[str, Any], source: str) -> bool:
    """Return whether a column names the preferred text by its position on the page, so that the text is unknown.

    Of ``values``, a row of the table, only the names of the columns matter. ``source`` is the answer's column, such
    as "better.selection" or "better:::selection", or its scheme ("better").
    """
    if "instance_id" not in values or not values.keys() & {"user_id", "user"}:
        return False
    endings = tuple(f"{mark}{label}" for mark in (".", ":::") for label in (LETTER_LABEL, SCALE_LABEL))
    return source.endswith(endings) or any(f"{source}{ending}" in values for ending in endings)


def _read_state(path: Path, encoding: str | None) -> Iterator[Record]:
    """Yield a record for each item that an annotator has answered, with the keys of Potato's older JSON lines."""
    members = read_document(path, encoding)
    keys = {"user_id", ANSWERS, ORDERS, BEHAVIOUR}
    # members of lists, which have a number, are not needed
    state = {key: value for key, number, value, _ in members if number is None and key in keys}
    answers = state.get(ANSWERS)
    if not isinstance(answers, dict):
        raise ImportProblem(path, None, None, "no answers by item", "the state of an annotator of Potato")
    for item, labels in answers.items():
        record = Record(path, None, {}, path=f"{ANSWERS}.{item}")
        values = {
            "id": item,
            "user_id": state.get("user_id") or path.parent.name,
            "label_annotations": _scheme_answers(record, labels, _state_of_item(state, ORDERS, item)),
            "behavioral_data": _state_of_item(state, BEHAVIOUR, item),
        }
        yield Record(path, None, values, path=record.path)


def _state_of_item(state: Mapping[str, Any], name: str, item: str) -> Mapping[str, Any]:
    """Return what the state file has about an item under a key; {} if it has nothing."""
    states = state.get(name)
    item_state = states.get(item) if isinstance(states, dict) else None
    return item_state if isinstance(item_state, dict) else {}


def _scheme_answers(record: Record, labels: object, orders: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return an item's answers by scheme and label, converted to the original order of its texts.

    ``labels`` are pairs such as ``[{"schema": "better", "name": "selection"}, "A"]``.
    """
    schemes: dict[str, dict[str, Any]] = {}
    for entry in labels if isinstance(labels, list) else ():
        if not (isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], dict)):
            raise record.problem(None, quote_value(entry), "a label and its value")
        key, value = entry
        scheme, label = str(key.get("schema")), str(key.get("name"))
        schemes.setdefault(scheme, {})[label] = _unshuffle_answer(record, value, label, orders.get(scheme))
    return schemes


def _unshuffle_answer(record: Record, value: Any, label: str, order: object) -> Any:
    """Return an answer about shown positions as an answer about texts in their original order.

    ``order`` has the original position of the text at each shown position. Answers without an order are unchanged.
    """
    if not isinstance(order, list) or not all(type(position) is int for position in order):
        return value
    if sorted(order) != list(range(len(order))):
        raise record.problem(None, f"the order {json.dumps(order)}", "every text of the item once")
    if label == SCALE_LABEL:
        return value if order == sorted(order) else _opposite_answer(record, value)
    position = LETTERS.find(value) if isinstance(value, str) and len(value) == 1 else -1
    return LETTERS[order[position]] if 0 <= position < len(order) <= len(LETTERS) else value


def _opposite_answer(record: Record, value: Any) -> Any:
    """Return an answer on a scale between two texts with its sign changed, since they were shown in reverse order."""
    try:
        return -float(value)
    except (TypeError, ValueError):
        raise record.problem(SCALE_LABEL, quote_value(value), "a number") from None
