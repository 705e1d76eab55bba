"""Check that the rows of a file of judgments agree with one another: about units, about pairs and about answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import chain

from common.incoming import quote_value
from common.texts import one_text, quote_difference
from judgments.design.tables.sampling import SIDES
from judgments.importers.records.record import Record
from judgments.importers.records.rows import CreditedRow, JudgmentRow

# gets the id of a unit, and returns the unit's first row and its record by reading the file again
FirstRowFinder = Callable[[str], tuple[JudgmentRow, Record] | None]


class UnitRegister:
    """Finds units and pairs whose rows have different content, and second answers of a worker on a unit.

    Memory holds a 64-bit digest for each unit and worker, and one for each unit and each pair.
    """

    def __init__(self) -> None:
        # by digests of unit and worker: the line of the last row, and its revision
        self._lines: dict[int, int | None] = {}
        self._revisions: dict[int, int] = {}
        self._contents: dict[int, int] = {}  # digests of what units show, by digests of the units' ids
        self._pair_contents: dict[int, int] = {}  # digests of what pairs show, by digests of the pairs' ids
        self._has_reread_file = False

    @property
    def is_empty(self) -> bool:
        return not self._lines

    def add(self, record: Record, row: JudgmentRow, find_first_row: FirstRowFinder) -> None:
        """Add a row. Raise ImportProblem if it contradicts an earlier row.

        ``find_first_row`` is called only for the first contradiction, since it reads the file again.
        """
        content_json = "" if row.content is None else json.dumps(row.content, sort_keys=True)
        captions = tuple(_identify_caption(row, side) for side in ("reference", *SIDES))
        systems = row.systems() if isinstance(row, CreditedRow) else ()
        content = hash((row.protocol, row.image, *captions, row.pair, content_json, systems))
        unit_digest, unit_and_worker = hash(row.unit), hash((row.unit, row.worker))
        if self._contents.get(unit_digest, content) != content:
            difference = self._describe_difference(row, find_first_row)
            actual = f"{quote_value(row.unit)} with other content than before{difference}"
            expected = "the same protocol, image, captions, systems and pair in all of its rows"
            raise record.problem("unit", actual, expected)
        self._check_answer_count(record, row, unit_and_worker)
        # without the reference, since a pair may be shown with several; the systems of the sides come first
        self._check_pair(record, row, (row.image, *captions[1:], systems[: len(SIDES)]))
        self._contents[unit_digest] = content
        self._lines[unit_and_worker], self._revisions[unit_and_worker] = record.line, row.revision

    def _check_pair(self, record: Record, row: JudgmentRow, content: tuple[object, ...]) -> None:
        """Raise ImportProblem if the row's pair had other content in an earlier row."""
        if row.pair is None or row.control:  # check questions do not count for a pair
            return
        content_digest = hash(content)
        if self._pair_contents.setdefault(hash(row.pair), content_digest) != content_digest:
            actual = f"{quote_value(row.pair)} with other content than before"
            raise record.problem("pair", actual, "the same image, captions and systems in all of its rows")

    def _check_answer_count(self, record: Record, row: JudgmentRow, unit_and_worker: int) -> None:
        """Raise ImportProblem for a second answer of a worker on a unit that does not revise the first answer."""
        if unit_and_worker not in self._lines or row.revision == self._revisions[unit_and_worker] + 1:
            return
        actual = f"a second answer of {quote_value(row.worker)} on unit {quote_value(row.unit)}"
        earlier_line = self._lines[unit_and_worker]
        location = "" if earlier_line is None else f" (the first is on line {earlier_line})"
        raise record.problem("worker", f"{actual}{location}", "one answer a participant and unit")

    def _describe_difference(self, row: JudgmentRow, find_first_row: FirstRowFinder) -> str:
        """Describe how a row differs from the first row of its unit. Return "" after the first call."""
        if self._has_reread_file:
            return ""
        self._has_reread_file = True
        row_and_record = find_first_row(row.unit)
        if row_and_record is None:
            return ""
        first_row, first_record = row_and_record
        return _describe_first_difference(first_row, row, first_record)


def _identify_caption(row: JudgmentRow, side: str) -> str | None:
    """Return the identity of a caption: its id or, without an id, the normal form of its text."""
    key: str | None = getattr(row, side)
    text: str | None = getattr(row, f"{side}_text")
    return key if key is not None or text is None else one_text(text)


def _describe_first_difference(earlier_row: JudgmentRow, row: JudgmentRow, record: Record) -> str:
    """Describe the first column in which two rows of a unit differ. ``record`` is that of the earlier row."""
    location = f"in {record.path}" if record.line is None else f"on line {record.line}"
    for column in ("protocol", "image", *(f"{side}_text" for side in ("reference", *SIDES)), "pair"):
        earlier_value, value = getattr(earlier_row, column), getattr(row, column)
        if column.endswith("_text") and earlier_value is not None and value is not None:
            if one_text(earlier_value) != one_text(value):
                earlier_value, value = quote_difference(earlier_value, value)
                return f" ({column} is {earlier_value} {location}, and {value} here)"
        elif earlier_value != value:
            return f" ({column} is {quote_value(earlier_value)} {location}, and {quote_value(value)} here)"
    earlier_systems, systems = _list_systems(earlier_row), _list_systems(row)
    if earlier_systems == systems:
        return ""
    return f" (systems are {earlier_systems or 'nobody'} {location}, and {systems or 'nobody'} here)"


def _list_systems(row: JudgmentRow) -> str:
    if not isinstance(row, CreditedRow):
        return ""
    return ", ".join(chain.from_iterable(row.systems()))
