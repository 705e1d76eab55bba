"""Old result files as judgments: which of their columns is what is said by whoever imports them."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from judgments.drawing.draws import content_key
from judgments.importers.errors import ImportProblem
from judgments.importers.fields import Columns, Fields, shown
from judgments.importers.judgment_tables import TableJudgments
from judgments.importers.mturk.columns import ANSWER, canonical
from judgments.importers.mturk.results import ResultRow, read_results
from judgments.importers.notes import ImportNotes
from judgments.importers.records import JudgmentRow
from judgments.importers.tables import parse_json

NUMBER = "{n}"  # in the name of a column: 0, 1, 2, ..., where a HIT asked about several things
WHAT = (
    "image",
    "reference",
    "first",
    "second",
    "reference_text",
    "first_text",
    "second_text",
    "kind",
    "pair",
    "content",
)
NAMES = ("unit", *WHAT, "value", "answer", "control", "expected", "comment", "seconds")
GIVEN = ("value", "answer")
_WHOLE = re.compile(r"[+-]?\d{1,18}(?:\.0*)?", re.ASCII)
_FLAGS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
EXAMPLE = "pairs such as image=Input.image,value=Answer.choice"


def same_name(worker: str) -> str:
    """The worker's name as the file has it."""
    return worker


@dataclass(frozen=True, slots=True)
class ResultColumns:
    """How a result file is read.

    Attributes:
        columns: name of a judgment's column (``NAMES``) -> column of the file; ``{n}`` in it counts what a HIT asked.
        values: cell -> value, for answers in words; empty: cells are values.
        zone: for times that name none.
        worker_name: a worker's id in the file -> the name to keep.
    """

    columns: Mapping[str, str]
    values: Mapping[str, str] = field(default_factory=dict)
    zone: tzinfo | None = None
    worker_name: Callable[[str], str] = same_name


def parse_pairs(text: str, path: Path, option: str, example: str = EXAMPLE) -> dict[str, str]:
    """``a=b,c=d`` as a dict.

    Raises:
        ImportProblem: it is none, or names something twice.
    """
    pairs: dict[str, str] = {}
    for pair in text.split(","):
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not (name and equals and value):
            raise ImportProblem(path, None, option, shown(pair.strip()), example)
        if name in pairs:
            raise ImportProblem(path, None, option, f"{shown(name)} twice", "it once")
        pairs[name] = value
    return pairs


def parse_zone(text: str, path: Path) -> tzinfo:
    """A time zone by its name.

    Raises:
        ImportProblem: there is none of this name.
    """
    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ImportProblem(path, None, "--zone", shown(text), "one such as America/Los_Angeles") from None


Read = Callable[[Path, str | None, tzinfo | None, ImportNotes], Iterator[ResultRow]]


def _mturk_rows(
    path: Path, encoding: str | None, zone: tzinfo | None, notes: ImportNotes
) -> Iterator[ResultRow]:
    return read_results(path, encoding=encoding, zone=zone)


def _as_it_is(column: str) -> str:
    return column


@dataclass(frozen=True, slots=True)
class ResultSource:
    """How the result files of a platform become rows with the columns of Mechanical Turk's.

    Attributes:
        read: (path, encoding, zone, notes) -> rows, each with its line.
        canonical: the name of a column in ``ResultRow.cells``.
        unit: the column that says which rows are about the same thing, unless another one is named.
        sparse: whether a row may lack what others have, because nothing was answered there.
        rejected: the quirk of rows that were kept and are not used.
    """

    read: Read
    canonical: Callable[[str], str] = _as_it_is
    unit: str | None = None
    sparse: bool = False
    rejected: str = "rejected-assignment"


MTURK = ResultSource(_mturk_rows, canonical)


class _MappedFields(Fields):
    """A record whose problems name the column of the file."""

    __slots__ = ("columns",)

    def __init__(self, row: ResultRow, values: Mapping[str, object], columns: Mapping[str, str]) -> None:
        super().__init__(row.file, row.line, values, textual=False)
        self.columns = columns

    def where(self, column: str | None) -> str | None:
        """``Answer.choice (value)``."""
        origin = self.columns.get(column or "")
        return f"{origin} ({column})" if origin else column


class ResultJudgments(TableJudgments):
    """The answers of a result file; a rejected assignment's are kept and not used.

    A unit is what has the same image, captions and the rest of ``WHAT``, unless a column names it. Images may be
    addresses that end in the image's name.
    """

    def __init__(
        self,
        path: Path,
        how: ResultColumns,
        *,
        protocol: str | None = None,
        encoding: str | None = None,
        source: ResultSource = MTURK,
    ) -> None:
        super().__init__(path, self._read, protocol=protocol, encoding=encoding)
        self.how = how
        self._source = source
        self._images: Container[str] | None = None
        columns = {**({"unit": source.unit} if source.unit else {}), **how.columns}
        self._columns = {name: source.canonical(column) for name, column in columns.items()}
        for name in how.columns:
            if name not in NAMES:
                near = get_close_matches(name, NAMES, n=1)
                expected = f"{near[0]!r} perhaps" if near else f"one of {', '.join(NAMES)}"
                raise ImportProblem(path, None, "--columns", f"the unknown name {shown(name)}", expected)
        if not any(name in columns for name in ("unit", *WHAT)):
            raise ImportProblem(
                path, None, "--columns", "nothing that was judged", "image=COLUMN, say, or unit=COLUMN"
            )
        if not any(name in how.columns for name in GIVEN):
            raise ImportProblem(
                path, None, "--columns", "no value", "value=COLUMN, or answer=COLUMN for open answers"
            )

    def judgments(
        self, images: Container[str] | None = None, captions: Container[str] | None = None
    ) -> Iterator[JudgmentRow]:
        """The rows, as for every table."""
        self._images = images
        return super().judgments(images, captions)

    def _read(
        self, path: Path, columns: Columns, notes: ImportNotes, encoding: str | None
    ) -> Iterator[Fields]:
        unseen = set(self._columns.values())
        for row in self._source.read(path, encoding, self.how.zone, notes):
            answers = row.answers
            places = list(self._places(row, answers))
            for place in places:
                if unseen:
                    unseen -= {
                        self._columns[name]
                        for name, column in place.items()
                        if self._has(row, answers, column)
                    }
                texts = {name: self._cell(row, answers, column).strip() for name, column in place.items()}
                if not any(texts.get(name) for name in GIVEN):
                    notes.count("empty-answer")
                    continue
                if row.rejected:
                    notes.count(self._source.rejected)
                yield _MappedFields(row, self._values(row, texts, place, alone=len(places) == 1), place)
        if unseen:
            column = sorted(unseen)[0]
            raise ImportProblem(
                path, None, "--columns", f"no answer {shown(column)} in any row", "one of the file"
            )

    def _places(self, row: ResultRow, answers: Mapping[str, str]) -> Iterator[dict[str, str]]:
        """Per thing that the HIT asked about, name -> column; only one where no column is numbered."""
        numbered = [column for column in self._columns.values() if NUMBER in column]
        if not numbered:
            yield self._columns
            return
        number = 0
        while True:
            asked = any(self._has(row, answers, column.replace(NUMBER, str(number))) for column in numbered)
            if asked:
                yield {name: column.replace(NUMBER, str(number)) for name, column in self._columns.items()}
            elif number:
                return
            number += 1

    def _has(self, row: ResultRow, answers: Mapping[str, str], column: str) -> bool:
        return column in row.cells or (column.startswith(ANSWER) and column[len(ANSWER) :] in answers)

    def _cell(self, row: ResultRow, answers: Mapping[str, str], column: str) -> str:
        if column in row.cells:
            return row.cells[column]
        if column.startswith(ANSWER):  # a form may leave out what was not answered
            return answers.get(column[len(ANSWER) :], "")
        if self._source.sparse:
            return ""
        near = get_close_matches(column, row.cells, n=1)
        expected = f"{near[0]!r} perhaps" if near else "a column of the file"
        raise ImportProblem(row.file, None, "--columns", f"the unknown column {shown(column)}", expected)

    def _values(
        self, row: ResultRow, texts: Mapping[str, str], place: Mapping[str, str], *, alone: bool
    ) -> dict[str, object]:
        values: dict[str, object] = {
            name: self._typed(row, name, text, place[name]) for name, text in texts.items() if text
        }
        if "unit" not in texts:
            values["unit"] = content_key("unit", *(values.get(name) for name in WHAT))
        values["worker"] = self.how.worker_name(row.required("WorkerId"))
        accepted, submitted = row.time("AcceptTime"), row.time("SubmitTime")
        values |= {
            "assignment": row.text("AssignmentId").strip() or None,
            "hit": row.text("HITId").strip() or None,
            "used": not row.rejected,
            "accepted_at": accepted.isoformat() if accepted else None,
            "submitted_at": submitted.isoformat() if submitted else None,
        }
        if row.control:
            values.setdefault("control", True)
        if row.truth is not None and "expected" not in texts:
            column = place.get("value") or place["answer"]
            if right := row.truth.get(column, "").strip():
                values["expected"] = self._typed(row, "expected", right, column)
        if alone:  # the time of several answers belongs to none of them
            values["wall_seconds"] = row.whole("WorkTimeInSeconds") if row.seconds is None else row.seconds
        return values

    def _typed(self, row: ResultRow, name: str, text: str, column: str) -> Any:
        if name in ("value", "expected") and self.how.values:
            if text not in self.how.values:
                raise row.problem(column, shown(text), f"one of {', '.join(self.how.values)}")
            text = self.how.values[text]
        if name in ("value", "expected", "seconds"):
            return _number(text)
        if name == "control":
            if text.lower() not in _FLAGS:
                raise row.problem(column, shown(text), "true or false")
            return _FLAGS[text.lower()]
        if name == "image":
            return self._image(text)
        if name == "content" or (name == "answer" and text[0] in "[{"):
            return parse_json(text, row.file, row.line)
        return text

    def _image(self, text: str) -> str:
        """The image's name; of an address that the dataset does not know, the last part."""
        if self._images is not None and text in self._images:
            return text
        last = unquote(urlsplit(text).path).rpartition("/")[2] if re.match(r"https?://", text) else ""
        return last or text


def _number(text: str) -> Any:
    """The number in a cell; what is none is refused by the column that it is for."""
    if _WHOLE.fullmatch(text):
        return int(text.partition(".")[0])
    try:
        return float(text)
    except ValueError:
        return text
