"""Parse the cells and nested records that other platforms write.

A path such as ``data.image`` or ``votes.0`` names a member of nested objects and lists.
"""

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
KEY_COLUMN = "key"  # the column with the key or index of the member that a row was made from
RECORD_PATH = "*"  # the path of the record itself; as a step of a longer path, the only member (``_member``)
_FLAG_WORDS = ("true", "false")
_UNSELECTED_STATES = (None, "", False, "false")
_SPAN_TAG = re.compile(r"</?v>")
# pairs of value and column, by the name of the group: {"Answer.score": [("1", "Answer.score.1"), ...]}
ButtonGroups = Mapping[str, Sequence[tuple[str, str]]]
_WHOLE_NUMBER = re.compile(r"(-?\d+)\.0+")


def look_up(values: Mapping[str, Any], path: str) -> Any:
    """Return the value of a column, or of a path into nested values; None if it does not exist.

    Columns may have names with dots, since other platforms name columns by paths. Therefore the longest beginning of
    the path that is a column counts.
    """
    if path in values:
        return values[path]
    steps = path.split(".")
    for length in range(len(steps) - 1, 0, -1):
        column = ".".join(steps[:length])
        if column in values:
            return reduce(_member, steps[length:], values[column])
    return reduce(_member, steps, values)


def _member(container: Any, step: str) -> Any:
    """Return the member of a container with a key or index; None if there is none. "*" stands for its only member."""
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

    The lists or objects of one step are iterated in parallel. In a row, their members replace them. For example, the
    step ``["outputs", "scores"]`` makes two rows of ``{"outputs": ["A", "B"], "scores": [3, 4]}``, with the outputs "A"
    and "B" and the scores 3 and 4.

    The path ``*`` stands for the record itself; a step that explodes ``*`` replaces it by the member, so that
    ``[["*"], ["*"]]`` takes two levels apart. The columns ``key1``, ``key2`` and so on have the keys or indices of the
    members of each step, and ``key`` has that of the last. ``level`` is the number of the first of ``steps`` in these
    names.
    """
    if not steps:
        yield values
        return
    paths, *further_steps = steps
    containers = {
        path: values if path == RECORD_PATH and path not in values else look_up(values, path)
        for path in paths
    }
    first_container = containers[paths[0]]
    keys: Iterable[Any] = ()
    if isinstance(first_container, list):
        keys = range(len(first_container))
    elif isinstance(first_container, dict):
        keys = first_container
    for key in keys:
        members = {path: _member(container, str(key)) for path, container in containers.items()}
        row = {**values, KEY_COLUMN: key, f"{KEY_COLUMN}{level}": key, **members}
        yield from explode_rows(row, further_steps, level + 1)


def flatten_members(values: Mapping[str, Any], prefix: str = "", depth: int = 3) -> Iterator[tuple[str, Any]]:
    """Yield the path and the value of each member of nested records, down to ``depth`` levels. Keep lists."""
    for name, value in values.items():
        if isinstance(value, dict) and value and depth > 1:
            yield from flatten_members(value, f"{prefix}{name}.", depth - 1)
        else:
            yield f"{prefix}{name}", value


def cell_text(value: object) -> str:
    """Return a cell as normalised text. Return "99" for 99.0, since workbooks store whole numbers as floats."""
    text = one_text(as_cell(value))
    match = _WHOLE_NUMBER.fullmatch(text)
    return match.group(1) if match else text


def unwrap_value(value: Any) -> Any:
    """Return the innermost value of nested lists and objects with a single member, such as 3 for ``[{"score": 3}]``.

    For an object of flags, return the names of its true flags, such as "a|b" for ``{"a": true, "b": true}``.
    """
    while isinstance(value, list | dict) and len(value) == 1 and _true_flags(value) is None:
        value = next(iter(value.values() if isinstance(value, dict) else value))
    names = _true_flags(value)
    return value if names is None else names


def _true_flags(value: object) -> str | None:
    """Return the joined names of the true flags of an object; None if the value is not an object of flags."""
    if isinstance(value, dict) and value and all(isinstance(state, bool) for state in value.values()):
        return ANSWER_SEPARATOR.join(name for name, state in value.items() if state)
    return None


def selected_labels(schemes: object) -> dict[str, Any]:
    """Return the labels that an annotator of Potato has selected, as cells by column.

    ``schemes`` has the state of each label of each scheme, such as ``{"quality": {"good": "true", "bad": "false"}}``.
    The result is then ``{"quality": "good", "quality.value": "true"}``. Several selected labels are joined by
    ANSWER_SEPARATOR. A scheme without a selected label has no columns. For a text field, its state is the text.
    """
    columns: dict[str, Any] = {}
    for scheme, labels in schemes.items() if isinstance(schemes, dict) else ():
        states = labels.items() if isinstance(labels, dict) else ()
        selected_states = {label: state for label, state in states if state not in _UNSELECTED_STATES}
        if selected_states:
            columns[scheme] = ANSWER_SEPARATOR.join(selected_states)
            columns[f"{scheme}.value"] = unwrap_value(list(selected_states.values()))
    return columns


def button_groups(names: Iterable[str], separator: str, prefix: str) -> ButtonGroups:
    """Return possible groups of radio buttons, each of which has a column for each value.

    A column's name consists of ``prefix``, the name of the group, ``separator`` and the value, such as
    ``Answer.score.1``. A dot may also belong to the group's name or to the value. Therefore each name is split at the
    first separator, and again at the last one. A group has no column of its own.
    """
    columns = [name for name in names if name.startswith(prefix)]
    groups: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for column in columns:
        button = column.removeprefix(prefix)
        splits = dict.fromkeys((button.partition(separator), button.rpartition(separator)))
        for group, found_separator, value in splits:
            if found_separator and group and value and prefix + group not in columns:
                groups[prefix + group].append((value, column))
    return groups


def selected_values(buttons: Mapping[str, Any], *, flags: bool) -> str | None:
    """Return the values of the selected radio buttons, joined by ANSWER_SEPARATOR.

    ``buttons`` are the cells by the button's value. If ``flags`` is set, each cell must be true or false. Return None
    if all cells are empty, or if they are not the cells of buttons.
    """
    texts = {value: cell.strip().lower() for value, cell in buttons.items() if isinstance(cell, str)}
    states = {value: text for value, text in texts.items() if text}
    if not states or (flags and not all(state in _FLAG_WORDS for state in states.values())):
        return None
    return ANSWER_SEPARATOR.join(value for value, state in states.items() if state != "false")


def form_answers(text: str, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield the column and the text of each answer in a form's JSON.

    The JSON is an object of answers, a list of such objects, or a list such as ``[{"name": "score", "value": "3"}]``.
    Columns are called by the field with ``prefix`` before it. An object inside an answer is flattened.

    Raises:
        ValueError: the text is other JSON, or is not JSON.
    """
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
    """Yield the path and the text of each answer, and the names of the true flags of each object of flags."""
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

    Names and values alternate, such as ``score``, ``3``, ``comment``, ``good``. They are in separate cells, in one cell
    with a line for each name and its value, or in one cell between tabs. Several values of a name are joined.

    Raises:
        ValueError: a value has no name before it.
    """
    pairs: list[tuple[str, str]] = []
    only_cell = cells[0] if len(cells) == 1 else ""
    if "\n" in only_cell.strip():
        for line in only_cell.strip().splitlines():
            name, _, value = line.strip("\r").partition("\t")
            if name.strip():
                pairs.append((name, value))
    else:
        names_and_values = only_cell.split("\t") if len(cells) == 1 else list(cells)
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
    """Return a text without the tags ``<v>`` and ``</v>``, and the (start, end) of the part between, or None."""
    text_before, *marked_parts = _SPAN_TAG.split(text)
    if not marked_parts:
        return text, None
    start = len(text_before)
    return "".join((text_before, *marked_parts)), (start, start + len(marked_parts[0]))


def find_marked_part(text: str, target: str) -> tuple[int, int] | None:
    """Return the offsets in ``target`` of the part that is marked in ``text``; None if there is no such part.

    The texts may differ in other parts. Of several occurrences of the marked letters in ``target``, take the one whose
    offset is nearest to that of the mark.
    """
    plain_text, span = split_marked_text(text)
    if span is None or span[0] == span[1]:
        return None
    if plain_text == target:
        return span
    start, end = span
    occurrences = (match.span() for match in re.finditer(re.escape(plain_text[start:end]), target))
    return min(occurrences, key=lambda occurrence: abs(occurrence[0] - start), default=None)
