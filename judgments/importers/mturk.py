"""Result files of MTurk and of Turkle.

MTurk's are the requester pages' CSV and the older tab-separated ``.results`` (docs/crowds/batch-files.md names
public files and programs). Turkle's have the columns of ``Batch._get_csv_fieldnames`` in turkle/models.py of
github.com/hltcoe/turkle (version 2.10): MTurk's, but ``WorkerId`` is the user's row number and empty for anonymous
work.

The forms of answers on the requester pages, by column:

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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from common.incoming import TooDeep, load_json
from judgments.importers.records import Header, csv_rows, find_header, named_cells, quoted
from judgments.importers.textio import ImportProblem, read_lines, unguard_formula

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
        if match := form.fullmatch(text):
            return _moment(match.groupdict(), zone)
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
    for column in fields:
        for name, dot, value in dict.fromkeys((column.partition("."), column.rpartition("."))):
            if dot and name and value and name not in fields:
                groups[name].append((value, column))
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
    states = {value: cell.strip().lower() for value, cell in buttons.items() if cell.strip()}
    if not states or not all(cell in _TRUTHS for cell in states.values()):
        return None
    return BETWEEN.join(value for value, cell in states.items() if _TRUTHS[cell])


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


def _flat(prefix: str, members: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in members.items():
        path = f"{prefix}{name}"
        if not isinstance(value, dict):
            yield path, _text(value)
            continue
        if value and all(isinstance(state, bool) for state in value.values()):
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
        parts = cells[0].split("\t") if len(cells) == 1 else list(cells)
        while parts and not parts[-1].strip():
            parts.pop()
        if len(parts) % 2:
            parts.append("")  # the last answer was left empty
        pairs = list(zip(parts[::2], parts[1::2], strict=True))
    answers: dict[str, str] = {}
    for name, value in pairs:
        column = f"{ANSWER}{name.strip()}"
        if not name.strip():
            raise ValueError("a value without a name before it")
        answers[column] = f"{answers[column]}{BETWEEN}{value}" if column in answers else value
    return answers


MOST_DIGITS = 18
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ResultRow:
    """An assignment of a result file; cells are parsed, and refused, on access only.

    Attributes:
        cells: MTurk's column -> cell.
        zone: of times without one.
        groups: of MTurk's radio buttons.
    """

    file: Path
    line: int | None
    cells: Mapping[str, str]
    zone: tzinfo | None = None
    groups: Groups = field(default_factory=dict)

    def problem(self, column: str | None, actual: str, expected: str) -> ImportProblem:
        return ImportProblem(self.file, self.line, column, actual, expected)

    def text(self, column: str) -> str:
        return self.cells.get(column, "")

    def required(self, column: str) -> str:
        cell = self.text(column).strip()
        if not cell:
            raise self.problem(column, "nothing", "it in every row")
        return cell

    def time(self, column: str) -> datetime | None:
        return self._read(column, lambda cell: parse_time(cell, self.zone), TIME_EXPECTED)

    def whole(self, column: str) -> int | None:
        return self._read(column, _whole, "a whole number from 0")

    def _read(self, column: str, read: Callable[[str], T], expected: str) -> T | None:
        cell = self.text(column).strip()
        if not cell:
            return None
        try:
            return read(cell)
        except ValueError:
            raise self.problem(column, quoted(cell), expected) from None

    @property
    def rejected(self) -> bool:
        return self.text("AssignmentStatus").strip().lower() == "rejected"

    @property
    def answers(self) -> dict[str, str]:
        try:
            return answers_of(self.cells, self.groups)
        except ValueError as error:
            expected = "a JSON list with one object, as a crowd-form sends it"
            raise self.problem("Answer.taskAnswers", str(error), expected) from None


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS):
        raise ValueError("no whole number")
    return int(text)


SEPARATORS = ",\t;"


def read_results(
    path: Path,
    *,
    required: Sequence[str] = ("WorkerId",),
    encoding: str | None = None,
    zone: tzinfo | None = None,
) -> Iterator[ResultRow]:
    """Yield the assignments of a result file, without rows of unfinished HITs.

    Args:
        required: canonical columns that the file must have.
        zone: of times without one.
    """
    lines = read_lines(path, encoding=encoding, newline="")
    header = _read_header(path, lines, required)
    groups = groups_of(name[len(ANSWER) :] for name in header.names if name.startswith(ANSWER))
    for line, values in csv_rows(path, lines, header):
        cells = _cells(path, line, header, values)
        if cells.get("WorkerId", "").strip() or cells.get("AssignmentId", "").strip():
            yield ResultRow(path, line, cells, zone, groups)


def _read_header(path: Path, lines: Iterator[tuple[int, str]], required: Sequence[str]) -> Header:
    wanted = f"a header with {' and '.join(required)}"
    header = find_header(
        path,
        *next(lines, (1, "")),
        wanted=wanted,
        score=lambda names: sum(map(is_known, names)),
        separators=SEPARATORS,
        rename=canonical,
    )
    for name in required:
        if name not in header.names:
            raise ImportProblem(path, header.line, None, f"no column {name}", wanted)
    return header


def _cells(path: Path, line: int, header: Header, values: list[str]) -> dict[str, str]:
    names, more = header.names, {}
    if names[-1].lower() == OLD_ANSWERS and len(values) >= len(names):
        names, values, behind = names[:-1], values[: len(names) - 1], values[len(names) - 1 :]
        try:
            more = old_answers(behind)
        except ValueError as error:
            raise ImportProblem(path, line, OLD_ANSWERS, str(error), "names and values in turn") from None
    elif header.separator == "\t" and len(values) < len(names):
        values = values + [""] * (len(names) - len(values))  # those tools omitted empty cells at the end
    cells = named_cells(path, line, names, values, header.separator) | more
    return {name: unguard_formula(cell) for name, cell in cells.items()}


def mturk_rows(path: Path, encoding: str | None, zone: tzinfo | None) -> Iterator[ResultRow]:
    return read_results(path, encoding=encoding, zone=zone)


def turkle_rows(path: Path, encoding: str | None, zone: tzinfo | None) -> Iterator[ResultRow]:
    for row in read_results(path, required=("AssignmentId", "WorkerId"), encoding=encoding, zone=zone):
        # Anonymous work counts as another unknown person each time.
        name = row.text("Turkle.Username").strip() or row.text("WorkerId").strip()
        worker = name or f"anonymous-{row.required('AssignmentId')}"
        yield replace(row, cells={**row.cells, "WorkerId": worker})
