"""What the judgments say together, in the formats of other programs: qrels, Flickr8k's two, reliability data."""

from __future__ import annotations

import csv
import io
import sqlite3
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from annotation.moments import Moment
from evaluation import loaders
from evaluation.errors import ExportError
from evaluation.export.rows import UNITS_AT_ONCE, JudgmentRows
from evaluation.export.tables import append_files
from evaluation.judgment_signature import counted_votes
from evaluation.judgment_tally import JudgmentTally, Votes
from judgments.files import HashedFile
from judgments.importers.formulas import guard_formula
from judgments.kinds import KINDS
from judgments.models import Study, Unit
from judgments.streams import batched

ROWS_AT_ONCE = 2_000
GRADES_A_LINE = 3  # the expert file has three columns of grades


@dataclass(frozen=True, slots=True)
class UnitAnswers:
    """The used answers on one image-caption unit; ``values`` are empty where there is none."""

    pk: int
    image: str
    caption: str
    values: tuple[int, ...]


def unit_answers(study: Study, moment: Moment, units: Sequence[int]) -> Iterator[UnitAnswers]:
    """Those of ``units``, row ids in their order, with the answers that counted; control items are left out."""
    for some in batched(units, UNITS_AT_ONCE):
        answers = dict(loaders.counted_answers(study, moment, units=some))
        names = Unit.objects.filter(pk__in=some, control=False).order_by("position", "pk")
        for pk, image, caption in names.values_list("pk", "item__name", "first__key"):
            yield UnitAnswers(pk, image, caption, tuple(answers.get(pk, ())))


def _name(text: str, *, what: str) -> str:
    """``text`` as a field of a blank-separated line."""
    if not text or text.split() != [text]:
        raise ExportError(f"The {what} {text!r} holds a blank; qrels separates its fields by blanks.")
    return text


class LineParts(ABC):
    """Lines of text in parts, some for each unit."""

    suffix = "lines"
    tallies = False

    def __init__(self) -> None:
        self.counts = {"lines": 0, "left_out": 0}

    def write_part(self, rows: JudgmentRows, file: HashedFile, *, first: bool) -> None:
        """The lines of the units of ``rows``."""
        units = unit_answers(rows.study, rows.moment, rows.only or ())
        for batch in batched(units, ROWS_AT_ONCE):
            for line in self.lines(rows, batch):
                if line is None:
                    rows.counts["left_out"] += 1
                else:
                    file.write_text(f"{line}\n")
                    rows.counts["lines"] += 1

    @abstractmethod
    def lines(self, rows: JudgmentRows, units: Sequence[UnitAnswers]) -> Iterator[str | None]:
        """A line for each unit; None where there is nothing to say of it."""

    def join(self, study: Study, parts: Iterable[Path], file: HashedFile) -> None:
        """One after the other."""
        append_files(parts, file)


class Qrels(LineParts):
    """TREC relevance judgments: ``query 0 document relevance``.

    ``task`` annotation asks with an image for captions, search with a caption for images. Relevance is the
    consensus as a whole number, as the kind has it (``Kind.relevance``), or what an adjudicator decided. Units
    without either are left out.
    """

    def __init__(self, task: str) -> None:
        super().__init__()
        self.task = task

    def lines(self, rows: JudgmentRows, units: Sequence[UnitAnswers]) -> Iterator[str | None]:
        """By consensus or decision."""
        kind, decisions = KINDS[rows.study.protocol], rows.moment.decisions
        if decisions:
            rows.counts.setdefault("adjudicated", 0)
        places = [place for place, unit in enumerate(units) for _ in unit.values]
        values = [value for unit in units for value in unit.values]
        found = kind.consensus(places, values) if values else {}
        for place, unit in enumerate(units):
            decision = decisions.get(unit.pk)
            if place not in found and decision is None:
                yield None
                continue
            if decision is not None:
                rows.counts["adjudicated"] += 1
            value = found[place].value if decision is None else float(decision)
            assert value is not None  # these kinds have no ties
            image, caption = _name(unit.image, what="image"), _name(unit.caption, what="caption id")
            query, document = (image, caption) if self.task == "annotation" else (caption, image)
            yield f"{query} 0 {document} {kind.relevance(value)}"


class Flickr8kCrowd(LineParts):
    """CrowdFlowerAnnotations.txt: image, caption id, share of yes, number of yes, number of no."""

    def lines(self, rows: JudgmentRows, units: Sequence[UnitAnswers]) -> Iterator[str | None]:
        """By counting."""
        for unit in units:
            n, yes = len(unit.values), sum(unit.values)
            yield f"{unit.image}\t{unit.caption}\t{yes / n:.15g}\t{yes}\t{n - yes}" if n else None


class Flickr8kExpert(LineParts):
    """ExpertAnnotations.txt: image, caption id, three grades sorted ascending.

    Units without exactly three used grades cannot be written; they are left out and counted.
    """

    def lines(self, rows: JudgmentRows, units: Sequence[UnitAnswers]) -> Iterator[str | None]:
        """By sorting."""
        for unit in units:
            grades = "\t".join(str(grade) for grade in sorted(unit.values))
            fits = len(unit.values) == GRADES_A_LINE
            yield f"{unit.image}\t{unit.caption}\t{grades}" if fits else None


@dataclass(slots=True)
class Cells:
    """The cells of a table of workers x units, which come by unit and are wanted by worker.

    Kept in a file of SQLite's, which sorts them on the disk: memory holds the names of the workers.
    """

    file: sqlite3.Connection
    names: dict[int, str] = field(default_factory=dict)
    count: int = 0

    def add(self, cells: Iterable[tuple[int, str, int, int]]) -> None:
        """(worker's row id, name, column from 0, value)."""
        for some in batched(cells, ROWS_AT_ONCE):
            self.names.update((worker, name) for worker, name, _, _ in some)
            self.count += len(some)
            self.file.executemany(
                "INSERT INTO cells VALUES (?, ?, ?)",
                ((worker, column, value) for worker, _, column, value in some),
            )

    def lines(self) -> Iterator[tuple[str, Iterator[tuple[int, int]]]]:
        """(worker's name, its (column, value) in order), by name."""
        ordered = sorted(self.names, key=lambda worker: (self.names[worker], worker))
        self.file.execute("CREATE TABLE ranks (worker INTEGER PRIMARY KEY, place INTEGER)")
        self.file.executemany(
            "INSERT INTO ranks VALUES (?, ?)", ((worker, place) for place, worker in enumerate(ordered))
        )
        rows = self.file.execute(
            "SELECT place, column, value FROM cells JOIN ranks USING (worker) ORDER BY place, column"
        )
        for place, group in groupby(rows, key=itemgetter(0)):
            yield self.names[ordered[place]], ((column, value) for _, column, value in group)


def write_reliability(study: Study, moment: Moment, file: HashedFile) -> tuple[dict[str, int], Votes]:
    """Workers x units: a header of unit ids, then a line a worker, empty where they did not judge.

    Holds what agreement is computed from: used judgments, no control items.

    Returns:
        counts, and what people gave, for the judgment signature: it is counted on the way.
    """
    units = Unit.objects.filter(study=study, control=False).order_by("position", "pk")
    keys = units.values_list("key", flat=True).iterator(ROWS_AT_ONCE)
    tally, width = JudgmentTally(), 0
    with (
        tempfile.TemporaryDirectory(prefix="quorum-") as folder,
        closing(sqlite3.connect(Path(folder) / "cells", isolation_level=None)) as place,
    ):
        place.execute("PRAGMA journal_mode = OFF")
        place.execute("PRAGMA synchronous = OFF")
        place.execute("CREATE TABLE cells (worker INTEGER, column INTEGER, value INTEGER)")
        place.execute("BEGIN")
        cells = Cells(place)
        file.write_text("worker")
        for batch in batched(keys, ROWS_AT_ONCE):
            width += len(batch)
            file.write_text(f",{_joined(guard_formula(key) for key in batch)}")
        file.write_text("\r\n")
        cells.add(_cells(study, moment, tally))
        lines = 0
        for name, own in cells.lines():
            file.write_text(_joined([guard_formula(name)]))
            at = -1
            for some in batched(own, ROWS_AT_ONCE):
                text = ""
                for column, value in some:
                    text += f"{',' * (column - at)}{value}"
                    at = column
                file.write_text(text)
            file.write_text(f"{',' * (width - 1 - at)}\r\n")
            lines += 1
    return {"lines": lines, "units": width, "values": cells.count}, tally.facts()


def _joined(cells: Iterable[str]) -> str:
    """Cells of a CSV line, without its end."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(cells)
    return line.getvalue()


def _cells(study: Study, moment: Moment, tally: JudgmentTally) -> Iterator[tuple[int, str, int, int]]:
    """(worker's row id, name, column of the unit, value) of each answer that counts."""
    units = Unit.objects.filter(study=study, control=False).order_by("position", "pk")
    columns = enumerate(units.values_list("pk", flat=True).iterator(ROWS_AT_ONCE))
    column, at = -1, None
    for unit, worker, name, value in counted_votes(study, moment, tally):
        while at != unit:  # both come in the order of the units
            column, at = next(columns)
        yield worker, name, column, value
