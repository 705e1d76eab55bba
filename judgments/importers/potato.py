"""Read the annotations that Potato stores, from its older JSON lines or from a ``user_state.json`` per annotator.

If Potato shuffles the order of two texts, an answer is the letter of the position at which a text was shown. Only the
state file has the order: `instance_id_to_presentation_order` has the numbers of the texts in the shown order, by item
and scheme (github.com/davidjurgens/potato, 2.12.1, potato/server_utils/presentation_order.py). Answers are converted
to the letter of the text in the item's own list.
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
# keys of the state file, each of an object by item
ANSWERS, ORDERS, BEHAVIOUR = (
    f"instance_id_to_{what}" for what in ("label_to_value", "presentation_order", "behavioral_data")
)
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# labels of an answer about two texts: the better one, or how much better it is
LETTER_LABEL, SCALE_LABEL = "selection", "scale_value"


def read_potato(path: Path, columns: Columns, notes: ImportNotes, encoding: str | None) -> Iterator[Record]:
    """Read the records of a ``user_state.json``, or of a table of any format."""
    if path.name == STATE_FILE:
        yield from _read_state(path, encoding)
    else:
        yield from read_table(path, columns, notes, encoding)


def is_letter_shown(names: Mapping[str, Any], source: str) -> bool:
    """Return whether a column has the letter of a shown position. Potato's tables do not say which text was there."""
    if "instance_id" not in names or not names.keys() & {"user_id", "user"}:
        return False
    endings = tuple(f"{mark}{label}" for mark in (".", ":::") for label in (LETTER_LABEL, SCALE_LABEL))
    return source.endswith(endings) or any(f"{source}{ending}" in names for ending in endings)


def _read_state(path: Path, encoding: str | None) -> Iterator[Record]:
    members = read_document(path, encoding)
    keys = {"user_id", ANSWERS, ORDERS, BEHAVIOUR}
    # a member of a list has a number
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
    states = state.get(name)
    item_state = states.get(item) if isinstance(states, dict) else None
    return item_state if isinstance(item_state, dict) else {}


def _scheme_answers(record: Record, labels: object, orders: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return an item's answers by scheme and label, converted to the order of the item's own texts."""
    schemes: dict[str, dict[str, Any]] = {}
    for entry in labels if isinstance(labels, list) else ():
        if not (isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], dict)):
            raise record.problem(None, quote_value(entry), "a label and its value")
        scheme, label = str(entry[0].get("schema")), str(entry[0].get("name"))
        schemes.setdefault(scheme, {})[label] = _unshuffle_answer(record, entry[1], label, orders.get(scheme))
    return schemes


def _unshuffle_answer(record: Record, value: Any, label: str, order: object) -> Any:
    """Convert an answer about shown positions to an answer about the item's own texts."""
    if not isinstance(order, list) or not all(type(position) is int for position in order):
        return value
    if sorted(order) != list(range(len(order))):
        raise record.problem(None, f"the order {json.dumps(order)}", "every text of the item once")
    if label == SCALE_LABEL:
        return value if order == sorted(order) else _restore_sides(record, value)
    position = LETTERS.find(value) if isinstance(value, str) and len(value) == 1 else -1
    return LETTERS[order[position]] if 0 <= position < len(order) <= len(LETTERS) else value


def _restore_sides(record: Record, value: Any) -> Any:
    """Return the answer on a scale between two texts that were shown in the opposite order."""
    try:
        return -float(value)
    except (TypeError, ValueError):
        raise record.problem(SCALE_LABEL, quote_value(value), "a number") from None
