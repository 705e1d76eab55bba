"""Read a panel's list of submissions, and write lists to pay. Pure functions."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from common.errors import QuorumError
from judgments.design.panels import PANEL_PRESETS, Panel
from judgments.importers.textio import guard_formula

MOST_ROWS = 20_000
MOST_CHARACTERS = 5_000_000
KINDS = ("worker", "session", "status", "code")
# a panel's status in lower case without blanks and hyphens -> a value of CrowdSession.Status
STATUSES = {
    "approved": "approved",
    "accepted": "approved",
    "paid": "approved",
    "participated": "approved",  # SONA: participation was marked, or credit was granted ("G" in its interface)
    "creditgranted": "approved",
    "g": "approved",
    "awaitingreview": "submitted",
    "submitted": "submitted",
    "completed": "submitted",
    "complete": "submitted",
    "pending": "submitted",
    "pendingreview": "submitted",
    "pendingapproval": "submitted",
    "": "submitted",  # lists without a status name the people who came back
    "rejected": "rejected",
    "returned": "returned",
    "timedout": "timed-out",
    "expired": "timed-out",
    "screenedout": "screened-out",
    "active": "working",
    "reserved": "working",
    "inprogress": "working",
    "started": "working",
    "awaitingaction": "working",
}
NO_CODE = ("nocode", "nan", "none", "")


class ListProblem(QuorumError):
    """A list that cannot be read; ``columns`` are its columns, if one has to be chosen."""

    title = "The list cannot be used"

    def __init__(self, message: str, *, columns: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.columns = list(columns)


@dataclass(frozen=True, slots=True)
class Submission:
    """A line of the list.

    Attributes:
        status: a value of ``CrowdSession.Status``; '' if unknown.
        said: the panel's own status.
        code: the code entered there, or ''.
    """

    line: int
    worker: str
    session: str
    status: str
    said: str
    code: str

    def as_json(self) -> list[object]:
        return list(asdict(self).values())


def read_submissions(
    text: str, panel: Panel, *, columns: Mapping[str, str] | None = None
) -> list[Submission]:
    """Parse a list with a header and cells separated by commas, semicolons or tabs.

    Args:
        columns: column names by KINDS, if they are not found automatically.

    Raises:
        ListProblem: it cannot be parsed, a column has to be chosen, or a submission appears twice and differs.
    """
    if len(text) > MOST_CHARACTERS:
        raise ListProblem(f"The list has {len(text):,} characters; expected {MOST_CHARACTERS:,} at most.")
    if "\x00" in text:
        raise ListProblem("The list holds the character U+0000, so that it is no text; expected CSV.")
    lines = _lines(text.removeprefix("\ufeff"))
    if not lines:
        raise ListProblem("The list is empty; expected a header and a line for each submission.")
    if len(lines) - 1 > MOST_ROWS:
        raise ListProblem(f"The list has {len(lines) - 1:,} lines; expected {MOST_ROWS:,} at most.")
    header = [cell.strip() for cell in lines[0][1]]
    places = _places(header, panel, columns or {})
    found: dict[tuple[str, str], Submission] = {}
    for number, cells in lines[1:]:
        one = _submission(number, cells, places)
        before = found.setdefault((one.worker, one.session), one)
        if (before.status, before.code) != (one.status, one.code):
            raise ListProblem(
                f"Lines {before.line} and {one.line} are about the same submission and differ; expected one line for "
                "each."
            )
    return list(found.values())


def _lines(text: str) -> list[tuple[int, list[str]]]:
    first = text.split("\n", 1)[0]
    separator = max((",", ";", "\t"), key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        return [(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    except csv.Error as error:
        raise ListProblem(f"Line {reader.line_num} of the list is no CSV: {error}.") from None


def _places(header: Sequence[str], panel: Panel, chosen: Mapping[str, str]) -> dict[str, int]:
    """Return column indices by KINDS; the worker's column is required."""
    plain = [_plain(name) for name in header]
    usual = PANEL_PRESETS[panel.preset].columns
    places: dict[str, int] = {}
    for kind in KINDS:
        if name := chosen.get(kind, ""):
            if name not in header:
                raise ListProblem(
                    f"The list has no column {name[:80]!r}; it has {', '.join(header)[:500]}.", columns=header
                )
            places[kind] = header.index(name)
            continue
        names = [_plain(name) for name in (*getattr(usual, kind), getattr(panel, kind, ""))]
        place = next((plain.index(name) for name in names if name and name in plain), None)
        if place is not None:
            places[kind] = place
    if "worker" not in places:
        raise ListProblem(
            f"Which column of the list holds the person's id? It has {', '.join(header)[:500]}.",
            columns=header,
        )
    return places


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _submission(number: int, cells: Sequence[str], places: Mapping[str, int]) -> Submission:
    def cell(kind: str) -> str:
        place = places.get(kind)
        return cells[place].strip() if place is not None and place < len(cells) else ""

    said, code = cell("status"), cell("code")
    if not cell("worker"):
        raise ListProblem(f"Line {number} of the list names nobody; expected the person's id.")
    return Submission(
        line=number,
        worker=cell("worker")[:200],
        session=cell("session")[:200],
        status=STATUSES.get(_plain(said), ""),
        said=said[:80],
        code="" if code.lower() in NO_CODE else code[:80],
    )


def as_csv(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV without spreadsheet formulas."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        writer.writerow([guard_formula(str(cell)) for cell in row])
    return text.getvalue()
