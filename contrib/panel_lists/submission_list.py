"""Parse a panel's list of submissions, a CSV file with one line for each submission.

Panels differ in the names of the columns and in their words for a status. An example::

    Participant id,Submission id,Status,Completion code
    5f1c,60ab,AWAITING REVIEW,C1X2
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from django.utils.translation import gettext as _

from common.amounts import thousands
from common.errors import QuorumError
from judgments.design.panels import PANEL_PRESETS
from judgments.design.tables.panel import Panel

MAX_LINES = 20_000  # maximum number of lines in a list
MAX_CHARACTERS = 5_000_000  # maximum number of characters in a list
LIST_COLUMNS = ("worker", "session", "status", "code")  # the kinds of columns that are read
# the value of CrowdSession.Status for each word that panels use for a status, as ``normalise_name`` returns it
STATUS_BY_WORD = {
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
    "": "submitted",  # a list without statuses names the people who came back to the panel
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
MISSING_CODES = ("nocode", "nan", "none", "")  # words that stand for no code


class ListProblem(QuorumError):
    """Raised if a list cannot be read.

    Attributes:
        columns: the headers of the list's columns, if the person has to choose one; otherwise empty.
    """

    title = "The list cannot be used"

    def __init__(self, message: str, *, columns: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.columns = list(columns)


@dataclass(frozen=True, slots=True)
class PanelListLine:
    """A line of the list.

    Attributes:
        line: the number of the line in the file.
        worker, session: the panel's ids of the person and of the submission.
        status: a value of ``CrowdSession.Status``; "" if the panel's word is unknown.
        panel_status: the panel's word for the status.
        code: the completion code that the person entered.
    """

    line: int
    worker: str
    session: str
    status: str
    panel_status: str
    code: str

    def as_json(self) -> list[object]:
        """Return the values of the fields in order, so that ``PanelListLine(*values)`` gives the line back."""
        return list(asdict(self).values())


def read_submissions(
    text: str, panel: Panel, *, columns: Mapping[str, str] | None = None
) -> list[PanelListLine]:
    """Parse a list that has a header, and cells separated by commas, semicolons or tabs. Repeated lines count once.

    Args:
        columns: headers of columns that a person has chosen, by their kind (``LIST_COLUMNS``). Columns of other kinds
            are found by their usual names.

    Raises:
        ListProblem: the list is not CSV, is too long, lacks a column, or contradicts itself.
    """
    if len(text) > MAX_CHARACTERS:
        raise ListProblem(
            _("The list is too long (number of characters: %(text)s); expected at most %(most)s.")
            % {"text": thousands(len(text)), "most": thousands(MAX_CHARACTERS)}
        )
    if "\x00" in text:
        raise ListProblem(_("The list contains the character U+0000, so it is not CSV."))
    lines = _read_lines(text.removeprefix("\ufeff"))
    _number, header = next(lines, (0, []))
    if not header:
        raise ListProblem(_("The list is empty; expected a header and a line for each submission."))
    column_indices = _find_columns([cell.strip() for cell in header], panel, columns or {})
    submissions: dict[tuple[str, str], PanelListLine] = {}
    for index, (line_number, cells) in enumerate(lines):
        if index == MAX_LINES:
            raise ListProblem(
                _("The list has too many lines; expected at most %(most)s.") % {"most": thousands(MAX_LINES)}
            )
        submission = _read_submission(line_number, cells, column_indices)
        earlier_submission = submissions.setdefault((submission.worker, submission.session), submission)
        if (earlier_submission.status, earlier_submission.code) != (submission.status, submission.code):
            raise ListProblem(
                _(
                    "Lines %(line)s and %(line_2)s are about the same submission but differ. Expected one line "
                    "for each submission."
                )
                % {"line": earlier_submission.line, "line_2": submission.line}
            )
    return list(submissions.values())


def _read_lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each line that is not blank.

    The separator is the one that is most frequent in the first line.
    """
    first_line = text.split("\n", 1)[0]
    separator = max((",", ";", "\t"), key=first_line.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        yield from ((reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells))
    except csv.Error as error:
        raise ListProblem(
            _("Line %(line_num)s of the list is not CSV: %(error)s.")
            % {"line_num": reader.line_num, "error": error}
        ) from None


def _find_columns(header: Sequence[str], panel: Panel, chosen_columns: Mapping[str, str]) -> dict[str, int]:
    """Return the index of the column of each kind, such as ``{"worker": 0, "status": 2}``, for kinds with a column.

    The column is the chosen one, or else the one with one of the panel's usual names, or with the name of the parameter
    in the panel's links.

    Raises:
        ListProblem: no column has the participants' ids, or a chosen column is missing.
    """
    normalised_header = [normalise_name(name) for name in header]
    usual_names = PANEL_PRESETS[panel.preset].columns
    column_indices: dict[str, int] = {}
    for kind in LIST_COLUMNS:
        if name := chosen_columns.get(kind, ""):
            if name not in header:
                raise ListProblem(
                    _("The list has no column %(name)r. Its columns are: %(header)s.")
                    % {"name": name[:80], "header": ", ".join(header)[:500]},
                    columns=header,
                )
            column_indices[kind] = header.index(name)
            continue
        link_parameter = getattr(panel, kind, "")  # ``panel.worker`` or ``panel.session``; others have none
        names = [normalise_name(name) for name in (*getattr(usual_names, kind), link_parameter)]
        name = next((name for name in names if name and name in normalised_header), "")
        if name:
            column_indices[kind] = normalised_header.index(name)
    if "worker" not in column_indices:
        raise ListProblem(
            _(
                "Choose the column that contains the participant's id. The columns of the list are: %(header)s."
            )
            % {"header": ", ".join(header)[:500]},
            columns=header,
        )
    return column_indices


def normalise_name(name: str) -> str:
    """Return a column name or status in lower case, with letters and digits only."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _read_submission(
    line_number: int, cells: Sequence[str], column_indices: Mapping[str, int]
) -> PanelListLine:
    def read_cell(kind: str) -> str:
        index = column_indices.get(kind)
        return cells[index].strip() if index is not None and index < len(cells) else ""

    status, code = read_cell("status"), read_cell("code")
    if not read_cell("worker"):
        raise ListProblem(_("Line %(number)s of the list has no participant's id.") % {"number": line_number})
    # In the database, ids have 200 characters at most, and codes 80.
    return PanelListLine(
        line=line_number,
        worker=read_cell("worker")[:200],
        session=read_cell("session")[:200],
        status=STATUS_BY_WORD.get(normalise_name(status), ""),
        panel_status=status[:80],
        code="" if code.lower() in MISSING_CODES else code[:80],
    )
