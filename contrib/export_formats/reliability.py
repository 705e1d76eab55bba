"""Export the reliability matrix, which has the answer of each worker to each unit, for programs that compute alpha."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from common.files import HashedFile, csv_line, guard_formula
from common.rows.batches import batched
from evaluation.data.export.encodings import Encoding, ExportWork, read_part_lines
from evaluation.data.export.formats.written_captions import ROWS_PER_BATCH, names_in_order
from judgments.kinds import KINDS
from judgments.models import Unit


class Reliability(Encoding):
    """Write a header of unit ids, and a line for each worker. Cells without an answer are empty.

    Parts have a line for each unit. An SQLite file transposes them on disk, so memory holds only the workers' names.
    """

    suffix = "units"
    tallies = True  # write_part adds all judgments to the export's signature, by `work.votes`
    progress_count = "values"
    counts = {"lines": 0, "units": 0, "values": 0}

    def write_part(self, work: ExportWork, file: HashedFile) -> None:
        outcome_of = KINDS[work.study.protocol].outcome_of  # without strength and confidence
        for unit_ids, answers in work.votes():
            units = Unit.objects.filter(pk__in=unit_ids, control=False).order_by("position", "pk")
            for pk, key in units.values_list("pk", "key"):
                votes = [(worker, outcome_of(value)) for worker, value in answers.get(pk, [])]
                file.write_text(f"{json.dumps([key, votes], separators=(',', ':'))}\n")
                work.counts["units"] += 1
                work.counts["values"] += len(votes)

    def join(self, work: ExportWork, file: HashedFile, parts: Iterator[Path]) -> None:
        database_file = work.folder / "transposed"
        database_file.unlink(missing_ok=True)  # the file of a join that was stopped
        with closing(sqlite3.connect(database_file, isolation_level=None)) as database:
            for name in ("journal_mode", "synchronous"):  # the file need not survive a crash
                database.execute(f"PRAGMA {name} = OFF")
            database.execute("CREATE TABLE cells (worker INTEGER, column INTEGER, value INTEGER)")
            database.execute("BEGIN")
            file.write_text("worker")
            # Write the header, which has the units' keys, and store the answers.
            for batch in batched(enumerate(read_part_lines(parts)), ROWS_PER_BATCH):
                file.write_text(f",{csv_line(guard_formula(key) for _, (key, _) in batch)}")
                database.executemany("INSERT INTO cells VALUES (?, ?, ?)", _cells_of_units(batch))
            file.write_text("\r\n")
            for name, cells in _cells_by_worker(database):
                file.write_text(csv_line([guard_formula(name)]))
                last_column = -1  # the column of the last cell; a comma is written for each column after it
                for batch in batched(cells, ROWS_PER_BATCH):
                    text = ""
                    for column, value in batch:
                        text += f"{',' * (column - last_column)}{value}"
                        last_column = column
                    file.write_text(text)
                file.write_text(f"{',' * (work.counts['units'] - 1 - last_column)}\r\n")
                work.counts["lines"] += 1


def _cells_of_units(lines: Iterable[tuple[int, Any]]) -> Iterator[tuple[int, int, int]]:
    """Yield (worker, column, value) of each answer, from the columns of units and their lines in a part's file."""
    for column, (_key, votes) in lines:
        for worker, value in votes:
            yield worker, column, value


def _cells_by_worker(database: sqlite3.Connection) -> Iterator[tuple[str, Iterator[tuple[int, int]]]]:
    """Yield each worker's name with the (column, value) of the worker's cells, in order."""
    workers = [worker for (worker,) in database.execute("SELECT DISTINCT worker FROM cells ORDER BY worker")]
    names = names_in_order(workers)  # by row id
    database.execute("CREATE TABLE ranks (worker INTEGER PRIMARY KEY, position INTEGER)")
    database.executemany("INSERT INTO ranks (position, worker) VALUES (?, ?)", enumerate(names))
    rows = database.execute(
        "SELECT position, column, value FROM cells JOIN ranks USING (worker) ORDER BY position, column"
    )
    for name, (_, group) in zip(names.values(), groupby(rows, key=itemgetter(0)), strict=True):
        yield name, ((column, value) for _, column, value in group)
