"""Parse a result file's columns and cells: times, money, and a row's answers as {field: value}.

Forms of the requester pages, by column:

- ``Answer.choice``: the value itself; several boxes of one name joined by ``|``.
- ``Answer.choice.left``, ``Answer.choice.right``: ``true`` and ``false``, one column per radio button.
  Both are kept, and ``choice`` becomes ``left``.
- ``Answer.taskAnswers``: a crowd-form's JSON list of one object. Nested members are joined by dots
  (``sentiment.label``); an object of true and false is a group of radio buttons, as above.
- ``answers[question_id answer_value]``: the last column of the command line tools (2008 to 2017), whose names
  are lower-case and separated by tabs.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Any

from common.incoming.documents import TooDeep, load_json

COLUMNS = (
    "HITId", "HITTypeId", "Title", "Description", "Keywords", "Reward", "CreationTime", "MaxAssignments",
    "RequesterAnnotation", "AssignmentDurationInSeconds", "AutoApprovalDelayInSeconds", "Expiration",
    "NumberOfSimilarHITs", "LifetimeInSeconds", "AssignmentId", "WorkerId", "AssignmentStatus", "AcceptTime",
    "SubmitTime", "AutoApprovalTime", "ApprovalTime", "RejectionTime", "RequesterFeedback", "WorkTimeInSeconds",
    "LifetimeApprovalRate", "Last30DaysApprovalRate", "Last7DaysApprovalRate",
)  # fmt: skip
REVIEW_COLUMNS = ("Approve", "Reject")
INPUT, ANSWER = "Input.", "Answer."
TASK_ANSWERS = "taskAnswers"
BETWEEN = "|"

# The command line tools' names that differ by more than case. Their "reject" is an equivalent flag.
OLD_NAMES = {
    "assignments": "MaxAssignments",
    "annotation": "RequesterAnnotation",
    "assignmentduration": "AssignmentDurationInSeconds",
    "autoapprovaldelay": "AutoApprovalDelayInSeconds",
    "hitlifetime": "LifetimeInSeconds",
    "assignmentaccepttime": "AcceptTime",
    "assignmentsubmittime": "SubmitTime",
    "assignmentapprovaltime": "ApprovalTime",
    "assignmentrejecttime": "RejectionTime",
    "feedback": "RequesterFeedback",
}
# Their last column: every answer follows it, name and value in turn.
OLD_ANSWERS = "answers[question_id answer_value]"

_KNOWN = {name.lower(): name for name in (*COLUMNS, *REVIEW_COLUMNS)} | OLD_NAMES

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

# Hours from UTC. The requester pages write Pacific time; the command line tools wrote local time.
# Abbreviations of several countries mean the American zone.
ZONES = {
    "UTC": 0, "GMT": 0, "Z": 0, "WET": 0,
    "PST": -8, "PDT": -7, "MST": -7, "MDT": -6, "CST": -6, "CDT": -5, "EST": -5, "EDT": -4,
    "CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "BST": 1, "JST": 9,
}  # fmt: skip

_DAY = r"(?:[A-Z][a-z]{2},? )?"
_CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d{2}):(?P<second>\d{2})"
_ZONE = r"(?P<zone>[A-Z]{1,4})?(?P<offset>[+-]\d{2}:?\d{2})?"
_FORMS = tuple(
    re.compile(form, re.ASCII)
    for form in (
        # Fri Nov 20 06:00:00 PST 2026, as the requester pages and Java write it
        rf"{_DAY}(?P<word>[A-Z][a-z]{{2}}) +(?P<day>\d{{1,2}}) {_CLOCK} {_ZONE} (?P<year>\d{{4}})",
        # Fri Nov 20 2026 06:00:00 GMT-0800 (PST), as JavaScript does
        rf"{_DAY}(?P<word>[A-Z][a-z]{{2}}) +(?P<day>\d{{1,2}}) (?P<year>\d{{4}}) {_CLOCK} {_ZONE}(?: \([^()]*\))?",
        # 2026-11-20 14:00:00 UTC
        rf"(?P<year>\d{{4}})-(?P<month>\d{{2}})-(?P<day>\d{{2}})[T ]{_CLOCK} {_ZONE}",
        # 11/20/26 6:00 or 11/20/2026 06:00:05 PM, as a spreadsheet program leaves it: no zone
        r"(?P<month>\d{1,2})/(?P<day>\d{1,2})/(?P<year>\d{2}|\d{4}),? (?P<hour>\d{1,2}):(?P<minute>\d{2})"
        r"(?::(?P<second>\d{2}))?(?: (?P<half>[AaPp][Mm]))?",
    )
)
TIME_EXPECTED = "a time with its zone, such as Fri Nov 20 06:00:00 PST 2026"

_TRUTHS = {"true": True, "false": False}
Groups = Mapping[str, Sequence[tuple[str, str]]]


def canonical(name: str) -> str:
    """Write a header's name as the requester pages do; leave unknown names."""
    name = name.strip()
    for prefix in (INPUT, ANSWER):
        if name.lower().startswith(prefix.lower()):
            return prefix + name[len(prefix) :]
    return _KNOWN.get(name.lower(), name)


def is_known(name: str) -> bool:
    return name.lower() in _KNOWN or name.startswith((INPUT, ANSWER)) or name.lower() == OLD_ANSWERS


@lru_cache(maxsize=4_096)  # cached: the rows of a batch repeat the times of their HITs
def parse_time(text: str, zone: tzinfo | None = None) -> datetime:
    """Parse a time in any known form as UTC; ``zone`` is for times without one."""
    for form in _FORMS:
        if found := form.fullmatch(text):
            return _moment(found.groupdict(), zone)
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        if zone is None:
            raise ValueError("without a zone")
        moment = moment.replace(tzinfo=zone)
    return _in_utc(moment)


def _moment(parts: dict[str, str | None], zone: tzinfo | None) -> datetime:
    word = parts.get("word")
    month = MONTHS.index(word) + 1 if word else int(parts["month"] or 0)
    year, hour = int(parts["year"] or 0), int(parts["hour"] or 0)
    if len(parts["year"] or "") == 2:
        year += 2000
    if half := parts.get("half"):
        if not 1 <= hour <= 12:
            raise ValueError("no such hour")
        hour = hour % 12 + (12 if half.lower() == "pm" else 0)
    return _in_utc(
        datetime(
            year,
            month,
            int(parts["day"] or 0),
            hour,
            int(parts["minute"] or 0),
            int(parts.get("second") or 0),
            tzinfo=_zone(parts.get("zone"), parts.get("offset"), zone),
        )
    )


def _zone(name: str | None, offset: str | None, otherwise: tzinfo | None) -> tzinfo:
    if name is not None and name not in ZONES:
        raise ValueError(f"the unknown zone {name}")
    if offset is not None:
        digits = offset[1:].replace(":", "")
        minutes = int(digits[:2]) * 60 + int(digits[2:])
        return timezone(timedelta(minutes=-minutes if offset[0] == "-" else minutes))
    if name is not None:
        return timezone(timedelta(hours=ZONES[name]))
    if otherwise is None:
        raise ValueError("without a zone")
    return otherwise


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("no such moment") from None


def groups_of(fields: Iterable[str]) -> Groups:
    """Return candidate radio groups: name -> (value, field).

    A dot may belong to the name or to the value, so both the first and the last dot are tried.
    """
    fields = list(fields)
    groups: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for field in fields:
        for name, dot, value in dict.fromkeys((field.partition("."), field.rpartition("."))):
            if dot and name and value and name not in fields:
                groups[name].append((value, field))
    return groups


def answers_of(cells: Mapping[str, str], groups: Groups) -> dict[str, str]:
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
    """Return None if they are no buttons, or all empty."""
    said = {value: cell.strip().lower() for value, cell in buttons.items() if cell.strip()}
    if not said or not all(cell in _TRUTHS for cell in said.values()):
        return None
    return BETWEEN.join(value for value, cell in said.items() if _TRUTHS[cell])


def _parsed(text: str) -> Any:
    try:
        return load_json(text)
    except TooDeep:
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
    """Return ``Answer.`` cells from the last column of the command line tools.

    It holds names and values in turn, in separate cells or in one, there in lines or separated by tabs.
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
