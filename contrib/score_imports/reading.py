"""Read scores of captions, systems or pairs from tables of any format, and from mt-metrics-eval's folders.

A table has a column per metric. The other columns say what is scored:

    image, and caption, caption_id or system    a caption of an image
    image, first, second (or their ids)         a pair: above 0 the first is better
    system                                      a whole system

mt-metrics-eval (github.com/google-research/mt-metrics-eval) has a file per metric, NAME.seg.score or
NAME.sys.score. A line has a system and its score. A system's lines are in the order of the images.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, overload

import numpy as np

from common.amounts import thousands
from common.incoming import LimitExceeded, limits, quote_value, unpacked_name
from common.incoming.bounded_files import GZIP_ERRORS, open_bounded
from evaluation.errors import EvaluationError
from evaluation.models import ID_COLUMNS, METRIC_NAME, ScoreKeys
from judgments.importers import TABLE_FORMATS, ColumnMapping
from judgments.importers.records.columns import Columns, RecordReader
from judgments.importers.records.record import Record
from judgments.importers.records.values import BadCell, read_name, read_number, read_output
from judgments.importers.tables.files import read_table
from judgments.importers.textio import ImportNotes, ImportProblem, read_lines
from quorum.numeric.arrays import Floats
from quorum.statistics.inputs import MAX_NUMBER

Subject = ScoreKeys.Subject

SCORE = "score"
WMT_FORMAT = "mt-metrics-eval"
FORMATS = (*TABLE_FORMATS, WMT_FORMAT)
SEGMENTS, SYSTEMS = ".seg.score", ".sys.score"  # of file names in mt-metrics-eval
NO_SCORE = ("None", "")  # how mt-metrics-eval writes a missing score
CHECK_INTERVAL = 10_000  # rows between two checks of the memory that they take
KEY_COLUMNS = ("image", "system", *ID_COLUMNS, *ID_COLUMNS.values())


class _Texts(Sequence[str]):
    """Strings that are stored as UTF-8, one after the other. A list would take some 60 bytes more for each string."""

    def __init__(self) -> None:
        self._utf8, self._ends = bytearray(), array("q", [0])

    def append(self, text: str) -> None:
        self._utf8 += text.encode("utf-8", "surrogatepass")
        self._ends.append(len(self._utf8))

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[row] for row in range(len(self))[index]]
        index = range(len(self))[index]
        return self._utf8[self._ends[index] : self._ends[index + 1]].decode("utf-8", "surrogatepass")

    @property
    def nbytes(self) -> int:
        return len(self._utf8) + self._ends.itemsize * len(self._ends)


@dataclass(frozen=True, slots=True)
class ScoreRows:
    """N rows of one file, with scores by one or more metrics.

    Attributes:
        per: what a row scores, a value of ``ScoreKeys.Subject``.
        keys: (N,) values of each key column; of mt-metrics-eval only `system`.
        scores: (N,) float64 scores of each metric, nan if missing.
        lines: (N,) line on which each row begins, 0 for a row of a request; () if every row is a line.
        segments: (N,) position of each row's item in the dataset, from 0; () if `keys` name the item.
    """

    file: Path
    per: str
    keys: Mapping[str, Sequence[str]]
    scores: dict[str, Floats]
    lines: Sequence[int] = ()
    segments: Sequence[int] = ()

    def problem(self, row: int, column: str | None, actual: str, expected: str) -> ImportProblem:
        line = (self.lines[row] or None) if len(self.lines) else row + 1
        # a row of a request: rows are numbered from 0, as in other messages about a request
        if line is None:
            column = f"[{row}].{column}" if column else f"[{row}]"
        return ImportProblem(self.file, line, column, actual, expected)


def read_scores(
    path: Path, metrics: Sequence[str], *, format: str = "", mapping: ColumnMapping | None = None
) -> list[ScoreRows]:
    """Return the scores of the named metrics; without names, of all metrics in a folder of mt-metrics-eval.

    Args:
        format: one of FORMATS; "" to detect it.
        mapping: the columns of the table for Quorum's columns.

    Raises:
        ImportProblem: the file cannot be read.
        EvaluationError: a name or the format is invalid.
    """
    check_names(metrics)
    name = unpacked_name(path.name).lower()
    if not format and (path.is_dir() or name.endswith((SEGMENTS, SYSTEMS))):
        format = WMT_FORMAT
    elif not format and name.endswith((".jsonl", ".ndjson")):
        format = "jsonl"
    if format and format not in FORMATS:
        raise EvaluationError(
            f"There is no format {format!r} of scores; expected one of {', '.join(FORMATS)}."
        )
    if format == WMT_FORMAT:
        if mapping is not None:
            raise ImportProblem(path, None, "--map", "columns of mt-metrics-eval", "them for tables alone")
        return list(_read_mt_metrics_eval(path, metrics))
    if not metrics:
        raise EvaluationError(f"{path} needs the name of its metric; expected --metric NAME.")
    records = score_records(TABLE_FORMATS.get(format, read_table), path, metrics, mapping)
    return [read_score_rows(records, path, metrics)]


def score_records(
    reader: RecordReader, path: Path, metrics: Sequence[str], mapping: ColumnMapping | None
) -> Iterator[Record]:
    """Yield the records of a table, with the column names of scores."""
    columns = Columns((), (*KEY_COLUMNS, SCORE, *metrics), lenient=True)
    if mapping is not None:
        mapping.check(path, columns.optional)
        reader = mapping.reader(reader)
    return reader(path, columns, ImportNotes(), None)


def check_names(metrics: Iterable[str]) -> None:
    for name in metrics:
        if not METRIC_NAME.fullmatch(name):
            raise EvaluationError(
                f"{quote_value(name)} is no name of a metric; expected up to 80 letters, digits and the marks . _ + -."
            )


def read_score_rows(records: Iterable[Record], path: Path, metrics: Sequence[str]) -> ScoreRows:
    """Return the scores in a table's records. All records must have the columns of the first record.

    Raises:
        ImportProblem: a record does not fit, or the rows take more than half of the memory allowed for a file.
    """
    keys: dict[str, _Texts] = {}
    score_columns: list[str] = []
    cells, lines = array("d"), array("q")
    for record in records:
        if not keys:
            per, columns = _key_columns(record)
            score_columns = _metric_columns(record, metrics)
            keys = {name: _Texts() for name in columns}
        for name, column in keys.items():
            read_value = read_name if name in ("image", "system", *ID_COLUMNS.values()) else read_output
            column.append(record.read(name, read_value))
        lines.append(record.line or 0)
        cells.extend(_read_scores_of_row(record, score_columns))
        if not len(lines) % CHECK_INTERVAL:
            number_bytes = cells.itemsize * len(cells) + lines.itemsize * len(lines)
            _check_size(path, number_bytes + sum(column.nbytes for column in keys.values()))
    if not keys:
        raise ImportProblem(path, None, None, "no rows", "a score in each")
    scores = np.frombuffer(cells, dtype=np.float64).reshape(-1, len(metrics))
    scores_by_metric = {name: np.ascontiguousarray(scores[:, column]) for column, name in enumerate(metrics)}
    rows = ScoreRows(path, per, keys, scores_by_metric, lines)
    too_large = np.argwhere(np.abs(scores) > MAX_NUMBER)
    if len(too_large):
        row, column = too_large[0].tolist()
        actual, expected = f"{scores[row, column]:g}", f"a number of size {MAX_NUMBER:g} at most"
        raise rows.problem(row, score_columns[column], actual, expected)
    return rows


def _check_size(path: Path, byte_count: int) -> None:
    max_bytes = limits().memory // 2
    if byte_count > max_bytes:
        actual = f"more than {thousands(max_bytes >> 20)} MiB of names, texts and scores"
        raise ImportProblem(path, None, None, actual, "smaller files; each metric can have a file of its own")


def _key_columns(record: Record) -> tuple[str, tuple[str, ...]]:
    """Return what a table scores (a ``ScoreKeys.Subject``), and the columns that name it, by its first record."""
    present_columns = {name for name in KEY_COLUMNS if record.get(name) is not None}
    # without a system, an empty cell is an empty caption; otherwise the caption is the system's
    if "system" not in present_columns:
        present_columns |= {name for name in ID_COLUMNS if name in record.values}
    sides = {
        name: next((column for column in (key, name) if column in present_columns), None)
        for name, key in ID_COLUMNS.items()
    }
    if sides["first"] and sides["second"] and "image" in present_columns:
        return Subject.PAIRS, ("image", sides["first"], sides["second"])
    if "image" in present_columns and (sides["caption"] or "system" in present_columns):
        system_columns = ("system",) if "system" in present_columns else ()
        return Subject.CAPTIONS, (
            "image",
            *((sides["caption"],) if sides["caption"] else ()),
            *system_columns,
        )
    if "system" in present_columns and not present_columns & {"image", *ID_COLUMNS, *ID_COLUMNS.values()}:
        return Subject.SYSTEMS, ("system",)
    raise record.problem(
        None,
        f"the columns {', '.join(sorted(present_columns)) or quote_value('')}",
        "image with caption, caption_id or system; image with first and second; or system alone",
    )


def _metric_columns(record: Record, metrics: Sequence[str]) -> list[str]:
    """Return the column of each metric. A single metric can have the column "score"."""
    if len(metrics) == 1 and metrics[0] not in record.values:
        if SCORE not in record.values:
            raise record.problem(None, f"no column {SCORE!r}", f"it, or {metrics[0]!r}, in every row")
        return [SCORE]
    for metric in metrics:
        if metric not in record.values:
            raise record.problem(None, f"no column {metric!r}", "one for each metric")
    return list(metrics)


def _read_scores_of_row(record: Record, columns: Sequence[str]) -> list[float]:
    """Return the scores of a row. They are read one by one only if a cell is missing or invalid, to name it."""
    try:
        cells = [record.values[name] for name in columns]
        if record.textual or not {type(cell) for cell in cells} - {int, float}:
            numbers = list(map(float, cells))
            if not any(map(math.isnan, numbers)):
                return numbers
    except (ValueError, TypeError, KeyError, OverflowError):
        pass
    return [_read_score(record, name) for name in columns]


def _read_score(record: Record, column: str) -> float:
    if record.get(column) is None:
        return np.nan
    return float(record.read(column, lambda value: read_number(value, record.textual, "a score, or nothing")))


class _ScoreFile(NamedTuple):
    """A file of mt-metrics-eval, with the system and the score of each line."""

    metric: str
    file: Path
    systems: list[str]
    scores: Floats


def _read_mt_metrics_eval(path: Path, metrics: Sequence[str]) -> Iterator[ScoreRows]:
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    metric_files = [
        (name.removesuffix(SEGMENTS).removesuffix(SYSTEMS), file)
        for file in files
        if (name := unpacked_name(file.name)).endswith((SEGMENTS, SYSTEMS))
    ]
    if not path.is_dir() and len(metrics) == 1:
        metric_files = [(metrics[0], path)]
    for name in metrics:
        if name not in [metric for metric, _ in metric_files]:
            raise EvaluationError(f"{path} has no {name}{SEGMENTS} or {name}{SYSTEMS}; expected one of them.")
    if not metric_files:
        raise EvaluationError(f"{path} has no file *{SEGMENTS} or *{SYSTEMS}; expected one for each metric.")
    check_names(metric for metric, _ in metric_files)
    score_files = (
        _read_score_file(metric, file) for metric, file in metric_files if not metrics or metric in metrics
    )
    # consecutive files with the same lines become one table with several metrics
    for _, group in groupby(score_files, key=lambda entry: (_has_whole_systems(entry.file), entry.systems)):
        entries = list(group)
        file, systems = entries[0].file, entries[0].systems
        keys, scores = {"system": systems}, {entry.metric: entry.scores for entry in entries}
        if _has_whole_systems(file):
            yield ScoreRows(file, Subject.SYSTEMS, keys, scores)
        else:
            yield ScoreRows(file, Subject.CAPTIONS, keys, scores, segments=_number_segments(systems))


def _has_whole_systems(file: Path) -> bool:
    return unpacked_name(file.name).endswith(SYSTEMS)


def _number_segments(systems: Sequence[str]) -> Sequence[int]:
    """Return the number of each row among the rows of its system, counted from 0."""
    segment_counts: Counter[str] = Counter()
    segments = array("q")
    for system in systems:
        segments.append(segment_counts[system])
        segment_counts[system] += 1
    return segments


def _read_score_file(metric: str, file: Path) -> _ScoreFile:
    systems, scores = _read_columns(file)
    return _ScoreFile(metric=metric, file=file, systems=systems, scores=scores)


def _read_columns(file: Path) -> tuple[list[str], Floats]:
    """Return the system and the score of each line. If Arrow cannot read the file, ``_read_by_line`` does."""
    import pyarrow as pa  # imported lazily, since web processes start without it
    from pyarrow import csv

    systems: list[str] = []
    scores = array("d")
    interned_names: dict[str, str] = {}
    try:
        batches = csv.open_csv(
            open_bounded(file),
            csv.ReadOptions(column_names=["system", "score"], use_threads=False),
            csv.ParseOptions(delimiter="\t", quote_char=False, ignore_empty_lines=False),
            csv.ConvertOptions(
                column_types={"system": pa.string(), "score": pa.float64()}, null_values=[NO_SCORE[0]]
            ),
        )
        for batch in batches:
            encoded_names = batch["system"].dictionary_encode()
            names = [interned_names.setdefault(name, name) for name in encoded_names.dictionary.to_pylist()]
            numbers = batch["score"].to_numpy(zero_copy_only=False)
            has_valid_names = all(read_name(name, "the name of a system") == name for name in names)
            # other scores than missing ones are not numbers, or too large: the error names their line
            invalid_count = np.count_nonzero(~(np.abs(numbers) <= MAX_NUMBER)) - batch["score"].null_count
            if invalid_count or not has_valid_names:
                return _read_by_line(file)
            systems += [names[code] for code in encoded_names.indices.to_numpy().tolist()]
            scores.frombytes(numbers.tobytes())
            _check_size(file, _size_of_lines(systems, interned_names))
    except (pa.ArrowInvalid, OSError, BadCell, LimitExceeded, *GZIP_ERRORS):
        return _read_by_line(file)
    return systems, np.frombuffer(scores, dtype=np.float64)


def _read_by_line(file: Path) -> tuple[list[str], Floats]:
    systems, scores, interned_names = list[str](), array("d"), dict[str, str]()
    for line_number, line in read_lines(file):
        system, tab, value = line.rstrip("\r\n").partition("\t")
        if not tab:
            raise ImportProblem(
                file, line_number, None, quote_value(line.strip()), "a system, a tab, and its score"
            )
        try:
            name = read_name(system, "the name of a system")
            systems.append(interned_names.setdefault(name, name))
            scores.append(
                np.nan if value.strip() in NO_SCORE else float(read_number(value, True, "a score, or None"))
            )
        except BadCell as error:
            raise ImportProblem(file, line_number, None, error.actual, error.expected) from None
        if not len(systems) % CHECK_INTERVAL:
            _check_size(file, _size_of_lines(systems, interned_names))
    if not systems:
        raise ImportProblem(file, None, None, "no lines", "a system and its score in each")
    return systems, np.frombuffer(scores, dtype=np.float64)


def _size_of_lines(systems: list[str], distinct_names: Collection[str]) -> int:
    """Return the number of bytes that lines take in memory, with their scores and segment numbers."""
    # 8 bytes for each of the reference to the name, the score and the segment; about 200 for a name in a dictionary
    return 24 * len(systems) + 200 * len(distinct_names)
