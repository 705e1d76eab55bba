"""The answers of a row as {field: value}, however the page that asked for them sent them.

Forms of the requester pages, by the column they come in:

- ``Answer.choice``: the value itself; several boxes of one name with ``|`` between them.
- ``Answer.choice.left``, ``Answer.choice.right``: ``true`` and ``false``, one column a radio button. Both stand as
  they are, and ``choice`` is ``left`` besides.
- ``Answer.taskAnswers``: what a crowd-form sends, a JSON list of one object. Members of members are named with a dot
  between them (``sentiment.label``); an object of true and false is a group of radio buttons, as above.
- ``answers[question_id answer_value]``: the command line tools' last column, names and values in turn.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from judgments.importers.mturk.columns import ANSWER

TASK_ANSWERS = "taskAnswers"
BETWEEN = "|"
_TRUTHS = {"true": True, "false": False}

Groups = Mapping[str, Sequence[tuple[str, str]]]


def groups_of(fields: Iterable[str]) -> Groups:
    """Fields that may be the radio buttons of one name: name -> (value, field).

    A dot may belong to the name or to the value, so both readings stand: the first dot and the last.
    """
    fields = list(fields)
    groups: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for field in fields:
        for name, dot, value in dict.fromkeys((field.partition("."), field.rpartition("."))):
            if dot and name and value and name not in fields:
                groups[name].append((value, field))
    return groups


def answers_of(cells: Mapping[str, str], groups: Groups) -> dict[str, str]:
    """The answers in a row's ``Answer.`` cells.

    Raises:
        ValueError: the JSON of a crowd-form cannot be read; the sentence says what was found.
    """
    answers: dict[str, str] = {}
    for column, cell in cells.items():
        if not column.startswith(ANSWER):
            continue
        field = column[len(ANSWER) :]
        answers[field] = cell
        if field == TASK_ANSWERS and cell.strip():
            for name, value in _members(_parsed(cell)):
                if answers.setdefault(name, value) != value:
                    raise ValueError(f"the field {name!r} twice with different values")
    for name, buttons in groups.items():
        chosen = _chosen({value: answers.get(field, "") for value, field in buttons})
        if chosen is not None:
            answers.setdefault(name, chosen)
    return answers


def _chosen(buttons: Mapping[str, str]) -> str | None:
    """The values of the buttons that are true; None where these are no buttons, or nothing is said of any."""
    said = {value: cell.strip().lower() for value, cell in buttons.items() if cell.strip()}
    if not said or not all(cell in _TRUTHS for cell in said.values()):
        return None
    return BETWEEN.join(value for value, cell in said.items() if _TRUTHS[cell])


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("JSON nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"text that is not JSON ({error.msg.lower()} at character {error.colno})") from None


def _members(document: Any) -> Iterator[tuple[str, str]]:
    parts = document if isinstance(document, list) else [document]
    for part in parts:
        if not isinstance(part, dict):
            raise ValueError("JSON that is no object of answers")
        if set(part) == {"name", "value"} and isinstance(part["name"], str):
            yield part["name"], _text(part["value"])
            continue
        yield from _flat("", part)


def _flat(prefix: str, held: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in held.items():
        path = f"{prefix}{name}"
        if not isinstance(value, dict):
            yield path, _text(value)
            continue
        if value and all(isinstance(one, bool) for one in value.values()):
            yield path, BETWEEN.join(button for button, on in value.items() if on)
        yield from _flat(f"{path}.", value)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def old_answers(cells: Sequence[str]) -> dict[str, str]:
    """``Answer.`` cells of a row of the command line tools, from what stands behind their last column's head.

    It is a name and a value in turn, in cells of their own or in one cell, there with a line for each pair or with tabs
    between all. Several values of one name are joined by ``|``.

    Raises:
        ValueError: a name without a value.
    """
    pairs: list[tuple[str, str]] = []
    if len(cells) == 1 and "\n" in cells[0].strip():
        for line in cells[0].strip().splitlines():
            name, _, value = line.strip("\r").partition("\t")
            if name.strip():
                pairs.append((name, value))
    else:
        words = cells[0].split("\t") if len(cells) == 1 else list(cells)
        while words and not words[-1].strip():
            words.pop()
        if len(words) % 2:
            words.append("")  # the last answer was left empty
        pairs = list(zip(words[::2], words[1::2], strict=True))
    answers: dict[str, str] = {}
    for name, value in pairs:
        column = f"{ANSWER}{name.strip()}"
        if not name.strip():
            raise ValueError("a value without a name before it")
        answers[column] = f"{answers[column]}{BETWEEN}{value}" if column in answers else value
    return answers
