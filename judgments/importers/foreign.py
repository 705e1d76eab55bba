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
RECORD = "*"
_TRUTHS = ("true", "false")
_UNCHOSEN_STATES = (None, "", False, "false")
_SPAN_TAG = re.compile(r"</?v>")
Groups = Mapping[str, Sequence[tuple[str, str]]]
_WHOLE_NUMBER = re.compile(r"(-?\d+)\.0+")


def look_up(values: Mapping[str, Any], path: str) -> Any:
    """Return the value of a column, or of a path into nested values; None if it does not exist.

    A path begins with the longest name that is a column, since flattened rows have columns named by paths.
    """
    if path in values:
        return values[path]
    begin, dot, end = path, ".", ""
    while dot:
        begin, dot, step = begin.rpartition(".")
        end = f"{step}.{end}" if end else step
        if dot and begin in values:
            return reduce(_member, end.split("."), values[begin])
    return reduce(_member, path.split("."), values)


def _member(container: Any, step: str) -> Any:
    if isinstance(container, Mapping):
        only = step == "*" and len(container) == 1
        return next(iter(container.values())) if only else container.get(step)
    if isinstance(container, list) and step.isdecimal() and len(step) < 9 and int(step) < len(container):
        return container[int(step)]
    return None


def members_of(container: object) -> Iterator[tuple[str, Any]]:
    """Yield the members of an object as (key, value), or of a list as (index, value). The index is text, from "0"."""
    if isinstance(container, dict):
        yield from container.items()
    elif isinstance(container, list):
        yield from ((str(at), member) for at, member in enumerate(container))


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
    first = containers[steps[0][0]]
    for key in range(len(first)) if isinstance(first, list) else first if isinstance(first, dict) else ():
        members_of_key = {path: _member(container, str(key)) for path, container in containers.items()}
        yield from explode_rows(
            {**values, KEY: key, f"{KEY}{level}": key, **members_of_key}, steps[1:], level + 1
        )


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
    return whole.group(1) if (whole := _WHOLE_NUMBER.fullmatch(text)) else text


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


def labels(schemes: object) -> dict[str, Any]:
    """Return the selected labels of each scheme by scheme, and its entered values by ``SCHEME.value``."""
    columns: dict[str, Any] = {}
    for scheme, states in schemes.items() if isinstance(schemes, dict) else ():
        entries = states.items() if isinstance(states, dict) else ()
        if entered := {name: state for name, state in entries if state not in _UNCHOSEN_STATES}:
            columns[scheme] = ANSWER_SEPARATOR.join(entered)
            columns[f"{scheme}.value"] = unwrap_value(list(entered.values()))
    return columns


def button_groups(fields: Iterable[str], between: str, prefix: str) -> Groups:
    """Return possible groups of radio buttons: pairs of value and column, by the group's name.

    A dot in a column's name may belong to the group's name or to the value. Therefore split at the first separator and
    at the last one.
    """
    columns = [column for column in fields if column.startswith(prefix)]
    groups: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for column in columns:
        field = column[len(prefix) :]
        for name, separator, value in dict.fromkeys((field.partition(between), field.rpartition(between))):
            if separator and name and value and prefix + name not in columns:
                groups[prefix + name].append((value, column))
    return groups


def chosen_values(buttons: Mapping[str, Any], *, flags: bool) -> str | None:
    """Return the values of the chosen buttons; None if all cells are empty, or if they are not of buttons.

    Args:
        buttons: the cells, by the button's value.
        flags: whether each cell must be true or false.
    """
    states = {
        value: cell.strip().lower()
        for value, cell in buttons.items()
        if isinstance(cell, str) and cell.strip()
    }
    if not states or (flags and not all(cell in _TRUTHS for cell in states.values())):
        return None
    return ANSWER_SEPARATOR.join(value for value, cell in states.items() if cell != "false")


def members(text: str, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield the answers in a form's JSON as (column, text), with ``prefix``. Raise ValueError for other JSON."""
    try:
        document = load_json(text)
    except TooDeep:
        raise ValueError("JSON nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"text that is not JSON ({error.msg.lower()} at character {error.colno})") from None
    for part in document if isinstance(document, list) else [document]:
        if not isinstance(part, dict):
            raise ValueError("JSON that is no object of answers")
        if set(part) == {"name", "value"} and isinstance(part["name"], str):
            yield prefix + part["name"], as_cell(part["value"])
        else:
            yield from _flat(prefix, part)


def _flat(prefix: str, inner: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in inner.items():
        path = f"{prefix}{name}"
        if not isinstance(value, dict):
            yield path, as_cell(value)
            continue
        if (buttons := _true_flags(value)) is not None:
            yield path, buttons
        yield from _flat(f"{path}.", value)


def pairs_of(cells: Sequence[str], prefix: str) -> dict[str, str]:
    """Return the answers in the last column of MTurk's command line tools, as columns with ``prefix``.

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
        parts = cells[0].split("\t") if len(cells) == 1 else list(cells)
        while parts and not parts[-1].strip():
            parts.pop()
        if len(parts) % 2:
            parts.append("")  # the last answer is empty
        pairs = list(zip(parts[::2], parts[1::2], strict=True))
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
    whole = "".join(parts)
    if len(parts) == 1:
        return whole, None
    start = len(parts[0])
    return whole, (start, start + len(parts[1]))


def find_marked_part(text: str, whole: str) -> tuple[int, int] | None:
    """Return the offsets in ``whole`` of the part that is marked in ``text``; None if there is no such part.

    Of several occurrences of the marked letters, take the nearest to the mark.
    """
    clean, span = split_marked_text(text)
    if span is None or span[0] == span[1]:
        return None
    if clean == whole:
        return span
    part = re.escape(clean[slice(*span)])
    spans = (match.span() for match in re.finditer(part, whole))
    return min(spans, key=lambda other: abs(other[0] - span[0]), default=None)
