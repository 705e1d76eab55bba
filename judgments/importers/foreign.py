"""Parse cells and records of other platforms: JSON, radio buttons, lists, and rows with several judgments."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

from common.files import as_cell
from common.incoming.json_documents import TooDeep, load_json
from common.texts import one_text

ANSWER_SEPARATOR = "|"  # between several answers
KEY = "key"  # column with the key of the object that a row was made from
RECORD = "*"  # the path of the record itself
_FLAG_WORDS = ("true", "false")
_UNSELECTED_STATES = (None, "", False, "false")
_SPAN_TAG = re.compile(r"</?v>")
ButtonGroups = Mapping[str, Sequence[tuple[str, str]]]  # pairs of value and column, by the name of the group
_WHOLE_NUMBER = re.compile(r"(-?\d+)\.0+")


def look_up(values: Mapping[str, Any], path: str) -> Any:
    """Return the value of a column, or of a path into nested values; None if it does not exist.

    A path begins with the longest name that is a column, since flattened rows have columns named by paths.
    """
    if path in values:
        return values[path]
    steps = path.split(".")
    for length in range(len(steps) - 1, 0, -1):
        if (column := ".".join(steps[:length])) in values:
            return reduce(_member, steps[length:], values[column])
    return reduce(_member, steps, values)


def _member(container: Any, step: str) -> Any:
    """Return the member with this key or index, or the only member for "*"; None if there is none."""
    if isinstance(container, Mapping):
        takes_only_member = step == "*" and len(container) == 1
        return next(iter(container.values())) if takes_only_member else container.get(step)
    # a text of more than eight digits is no index
    if isinstance(container, list) and step.isdecimal() and len(step) <= 8 and int(step) < len(container):
        return container[int(step)]
    return None


def members_of(container: object) -> Iterator[tuple[str, Any]]:
    """Yield the members of an object as (key, value), or of a list as (index, value). The index is text, from "0"."""
    if isinstance(container, dict):
        yield from container.items()
    elif isinstance(container, list):
        yield from ((str(index), member) for index, member in enumerate(container))


def explode_rows(
    values: Mapping[str, Any], steps: Sequence[Sequence[str]], level: int = 1
) -> Iterator[Mapping[str, Any]]:
    """Yield a row for each member of the lists or objects that the first step names. Repeat this for further steps.

    The lists or objects of one step are iterated in parallel. The path ``*`` stands for the record itself, and after
    the first step for its member. The columns ``key1``, ``key2`` and so on have the keys of the steps, and ``key`` has
    the last key.
    """
    if not steps:
        yield values
        return
    containers = {
        path: values if path == RECORD and path not in values else look_up(values, path) for path in steps[0]
    }
    rows = containers[steps[0][0]]
    keys = range(len(rows)) if isinstance(rows, list) else rows if isinstance(rows, dict) else ()
    for key in keys:
        members = {path: _member(value, str(key)) for path, value in containers.items()}
        yield from explode_rows({**values, KEY: key, f"{KEY}{level}": key, **members}, steps[1:], level + 1)


def flatten_members(values: Mapping[str, Any], prefix: str = "", depth: int = 3) -> Iterator[tuple[str, Any]]:
    """Yield (path, value) for each member of nested records; lists are not flattened."""
    for name, value in values.items():
        if isinstance(value, dict) and value and depth > 1:
            yield from flatten_members(value, f"{prefix}{name}.", depth - 1)
        else:
            yield f"{prefix}{name}", value


def cell_text(value: object) -> str:
    """Return a cell as normalised text. Return "99" for 99.0, since workbooks store whole numbers as floats."""
    text = one_text(as_cell(value))
    return match.group(1) if (match := _WHOLE_NUMBER.fullmatch(text)) else text


def unwrap_value(value: Any) -> Any:
    """Return the innermost value of nested lists and objects with a single member.

    For an object of flags, return the names of its true flags.
    """
    while isinstance(value, list | dict) and len(value) == 1 and _true_flags(value) is None:
        value = next(iter(value.values() if isinstance(value, dict) else value))
    names = _true_flags(value)
    return value if names is None else names


def _true_flags(value: object) -> str | None:
    """Return the names of the true flags of an object; None if it is not an object of flags."""
    if isinstance(value, dict) and value and all(isinstance(state, bool) for state in value.values()):
        return ANSWER_SEPARATOR.join(name for name, state in value.items() if state)
    return None


def selected_labels(schemes: object) -> dict[str, Any]:
    """Return the selected labels of each scheme by scheme, and its entered values by ``SCHEME.value``."""
    columns: dict[str, Any] = {}
    for scheme, states in schemes.items() if isinstance(schemes, dict) else ():
        entries = states.items() if isinstance(states, dict) else ()
        if selected := {name: state for name, state in entries if state not in _UNSELECTED_STATES}:
            columns[scheme] = ANSWER_SEPARATOR.join(selected)
            columns[f"{scheme}.value"] = unwrap_value(list(selected.values()))
    return columns


def button_groups(fields: Iterable[str], separator: str, prefix: str) -> ButtonGroups:
    """Return possible groups of radio buttons among columns, whose names are prefix, group, ``separator`` and value.

    A dot in a column's name may belong to the group's name or to the value. Therefore split at the first separator and
    at the last one.
    """
    columns = [column for column in fields if column.startswith(prefix)]
    groups: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for column in columns:
        field = column[len(prefix) :]
        splits = dict.fromkeys((field.partition(separator), field.rpartition(separator)))
        for name, found_separator, value in splits:
            if found_separator and name and value and prefix + name not in columns:
                groups[prefix + name].append((value, column))
    return groups


def selected_values(buttons: Mapping[str, Any], *, flags: bool) -> str | None:
    """Return the values of the selected buttons; None if all cells are empty, or if they are not of buttons.

    Args:
        buttons: the cells, by the button's value.
        flags: whether each cell must be true or false.
    """
    texts = {value: cell.strip().lower() for value, cell in buttons.items() if isinstance(cell, str)}
    states = {value: text for value, text in texts.items() if text}
    if not states or (flags and not all(cell in _FLAG_WORDS for cell in states.values())):
        return None
    return ANSWER_SEPARATOR.join(value for value, cell in states.items() if cell != "false")


def form_answers(text: str, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield the answers in a form's JSON as (column, text), with ``prefix``. Raise ValueError for other JSON."""
    try:
        document = load_json(text)
    except TooDeep:
        raise ValueError("JSON nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"text that is not JSON ({error.msg.lower()} at character {error.colno})") from None
    for answers in document if isinstance(document, list) else [document]:
        if not isinstance(answers, dict):
            raise ValueError("JSON that is no object of answers")
        if set(answers) == {"name", "value"} and isinstance(answers["name"], str):
            yield prefix + answers["name"], as_cell(answers["value"])
        else:
            yield from _flatten_answers(prefix, answers)


def _flatten_answers(prefix: str, answers: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in answers.items():
        path = f"{prefix}{name}"
        if not isinstance(value, dict):
            yield path, as_cell(value)
            continue
        if (flags := _true_flags(value)) is not None:
            yield path, flags
        yield from _flatten_answers(f"{path}.", value)


def command_line_answers(cells: Sequence[str], prefix: str) -> dict[str, str]:
    """Return the answers in the last column that MTurk's command line tools write, as columns with ``prefix``.

    Names and values alternate in this column. They are in separate cells, or in one cell on lines or between tabs.
    Raise ValueError for a value without a name.
    """
    pairs: list[tuple[str, str]] = []
    if len(cells) == 1 and "\n" in cells[0].strip():
        for line in cells[0].strip().splitlines():
            name, _, value = line.strip("\r").partition("\t")
            if name.strip():
                pairs.append((name, value))
    else:
        names_and_values = cells[0].split("\t") if len(cells) == 1 else list(cells)
        while names_and_values and not names_and_values[-1].strip():
            names_and_values.pop()
        if len(names_and_values) % 2:
            names_and_values.append("")  # the last answer is empty
        pairs = list(zip(names_and_values[::2], names_and_values[1::2], strict=True))
    answers: dict[str, str] = {}
    for name, value in pairs:
        column = f"{prefix}{name.strip()}"
        if not name.strip():
            raise ValueError("a value without a name before it")
        answers[column] = f"{answers[column]}{ANSWER_SEPARATOR}{value}" if column in answers else value
    return answers


def split_marked_text(text: str) -> tuple[str, tuple[int, int] | None]:
    """Return a text without ``<v>`` and ``</v>``, and the offsets of the part between them or None."""
    parts = _SPAN_TAG.split(text)
    plain_text = "".join(parts)
    if len(parts) == 1:
        return plain_text, None
    start = len(parts[0])
    return plain_text, (start, start + len(parts[1]))


def find_marked_part(text: str, target: str) -> tuple[int, int] | None:
    """Return the offsets in ``target`` of the part that is marked in ``text``; None if there is no such part.

    Of several occurrences of the marked letters, take the nearest to the mark.
    """
    plain_text, span = split_marked_text(text)
    if span is None or span[0] == span[1]:
        return None
    if plain_text == target:
        return span
    marked_part = re.escape(plain_text[slice(*span)])
    spans = (match.span() for match in re.finditer(marked_part, target))
    return min(spans, key=lambda other: abs(other[0] - span[0]), default=None)
