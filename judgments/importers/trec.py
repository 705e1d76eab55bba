"""Read TREC runs: ranked lists of systems, with one item per line (``qid Q0 docid rank score system``)."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import PlainValidator

from common.amounts import with_noun
from common.incoming import compose_name, quote_value
from judgments.importers.notes import ImportNotes
from judgments.importers.problems import ImportProblem
from judgments.importers.records.column_types import ShortName
from judgments.importers.records.record import Record, RowReader
from judgments.importers.records.values import BadCell, read_number
from judgments.importers.textio import read_lines

COLUMNS = ("qid", "Q0", "docid", "rank", "score", "system")
MAX_RANK_DIGITS = 9
LINES_PER_REPORT = 50_000  # lines after which progress is reported again


def _read_rank(value: Any) -> int:
    if not (value.isascii() and value.isdigit() and len(value) <= MAX_RANK_DIGITS):
        raise BadCell(quote_value(value), "a whole number from 0")
    return int(value)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a run: an item in the ranked list of a system for a query. ``number`` is that of the line, from 1."""

    number: int
    query: Annotated[str, PlainValidator(compose_name)]
    item: Annotated[str, PlainValidator(compose_name)]
    rank: Annotated[int, PlainValidator(_read_rank)]
    score: Annotated[float, PlainValidator(lambda value: read_number(value, textual=True))]
    system: ShortName


_LINE_READER = RowReader(_Line, columns={"query": "qid", "item": "docid"}, given_fields=("number",))


@dataclass(slots=True)
class RankedLists:
    """The ranked lists of a system, one for each query, as arrays with an entry for each of its lines in the file.

    They take 40 bytes per line.

    Attributes:
        query, item: the numbers of the query and the item, as in ``read_runs``.
        rank, score: those in the file.
        line: the number of the line, for errors.
    """

    path: Path
    query: array[int] = field(default_factory=lambda: array("q"))
    item: array[int] = field(default_factory=lambda: array("q"))
    rank: array[int] = field(default_factory=lambda: array("q"))
    score: array[float] = field(default_factory=lambda: array("d"))
    line: array[int] = field(default_factory=lambda: array("q"))

    def entries_in_order(self, depth: int | None, notes: ImportNotes) -> list[tuple[int, int, int, float]]:
        """Return the entries of all lists, sorted by query and rank, as tuples of query, item, rank and score.

        Ranks are counted from 1 in each list, without gaps.

        Args:
            depth: the number of entries to which each list is cut; None for whole lists.
            notes: gets notes about scores that contradict the ranks, and about entries that are cut off.

        Raises:
            ImportProblem: a list repeats a rank or an item.
        """
        query, item, rank, line = (
            np.array(column, dtype=np.int64) for column in (self.query, self.item, self.rank, self.line)
        )
        for values, column in ((rank, "rank"), (item, "docid")):
            # sort by query, then by value, then by line, so that equal values of a list are next to one another
            order = np.lexsort((line, values, query))
            is_repeated = (np.diff(query[order]) == 0) & (np.diff(values[order]) == 0)
            if is_repeated.any():
                first_line = int(line[order[1:][is_repeated]].min())
                raise ImportProblem(
                    self.path, first_line, column, f"a {column} that its list has already", "each once a list"
                )
        order = np.lexsort((rank, query))
        query, item, score = query[order], item[order], np.array(self.score)[order]
        # Ranks in the file may have gaps; positions count from 1 in each list. A list starts where the query changes.
        list_starts = np.flatnonzero(np.diff(query, prepend=-1))  # no query has the number -1
        list_lengths = np.diff(np.append(list_starts, len(query)))
        position = np.arange(len(query)) - np.repeat(list_starts, list_lengths) + 1
        # an entry has a higher score than the entry before it in the same list
        score_rises = (np.diff(score) > 0) & (np.diff(query) == 0)
        notes.count("scores-against-ranks", len(np.unique(query[1:][score_rises])))
        is_kept = position <= (len(position) if depth is None else depth)
        notes.count("below-depth", int((~is_kept).sum()))
        columns = (column[is_kept].tolist() for column in (query, item, position, score))
        return list(zip(*columns, strict=True))


def read_runs(
    path: Path,
    *,
    queries: Mapping[str, int],
    items: Mapping[str, int],
    encoding: str | None = None,
    progress: Callable[[float, str], None],
) -> dict[str, RankedLists]:
    """Return the ranked lists of each system, by its name.

    Args:
        queries: the numbers of the valid queries, by name.
        items: the numbers of the valid items, which queries rank, by name.

    Raises:
        ImportProblem: the file cannot be read, is empty, or has an unknown name.
    """
    runs: dict[str, RankedLists] = {}
    for row in _read_lines(path, encoding):
        for column, name, known_names in (("qid", row.query, queries), ("docid", row.item, items)):
            if name not in known_names:
                expected = "one, but the dataset has none"
                if known_names:
                    expected = f"a name of the dataset such as {next(iter(known_names))!r}"
                raise ImportProblem(path, row.number, column, quote_value(name), expected)
        run = runs.setdefault(row.system, RankedLists(path))
        run.query.append(queries[row.query])
        run.item.append(items[row.item])
        run.rank.append(row.rank)
        run.score.append(row.score)
        run.line.append(row.number)
        if row.number % LINES_PER_REPORT == 0:
            # the number of lines is unknown, so the share rises towards a half; storing is the rest
            progress(0.5 * row.number / (row.number + 10 * LINES_PER_REPORT), f"{row.number:,} lines")
    return runs


def _read_lines(path: Path, encoding: str | None) -> Iterator[_Line]:
    is_empty = True
    for number, line in read_lines(path, encoding=encoding):
        cells = line.split()
        if not cells:
            continue
        if len(cells) != len(COLUMNS):
            expected = f"six: {' '.join(COLUMNS)}"
            raise ImportProblem(path, number, None, with_noun(len(cells), "column"), expected)
        is_empty = False
        yield _LINE_READER.read(Record(path, number, dict(zip(COLUMNS, cells, strict=True))), number=number)
    if is_empty:
        raise ImportProblem(path, None, None, "no lines", "at least one ranked item")
