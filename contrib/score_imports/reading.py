"""Read scores of captions, systems or pairs from tables of any format, and from files of mt-metrics-eval.

A table has a column per metric. The other columns say what is scored:

    image, and caption, caption_id or system    a caption of an image
    image, first, second (or their ids)         a pair: above 0 the first is better
    system                                      a whole system
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from common.incoming import quote_value, unpacked_name
from contrib.score_imports.mt_metrics_eval import is_score_file, read_mt_metrics_eval
from contrib.score_imports.rows import CHECK_INTERVAL, CompactTexts, ScoreRows, check_names, check_size
from evaluation.errors import EvaluationError
from evaluation.models import ID_COLUMN_BY_TEXT, ScoreKeys
from judgments.importers import TABLE_FORMATS, ColumnMapping
from judgments.importers.mapped.mapped_records import mapped_reader
from judgments.importers.notes import ImportNotes
from judgments.importers.problems import ImportProblem
from judgments.importers.records.columns import Columns, RecordReader
from judgments.importers.records.record import Record
from judgments.importers.records.values import read_name, read_number, read_output
from judgments.importers.tables.files import read_table
from quorum.statistics.inputs import MAX_NUMBER

Subject = ScoreKeys.Subject

SCORE = "score"  # the column of scores if there is a single metric
WMT_FORMAT = "mt-metrics-eval"
FORMATS = (*TABLE_FORMATS, WMT_FORMAT)
# The columns that say what is scored: images, systems, and texts by the text or by its id ("caption": "caption_id").
SUBJECT_COLUMNS = ("image", "system", *ID_COLUMN_BY_TEXT, *ID_COLUMN_BY_TEXT.values())


def read_scores(
    path: Path, metrics: Sequence[str], *, format: str = "", mapping: ColumnMapping | None = None
) -> list[ScoreRows]:
    """Return the scores of the named metrics; without names, of all metrics in a folder of mt-metrics-eval.

    Args:
        format: one of FORMATS; "" to detect it.
        mapping: which column of the table stands for which of Quorum's columns.

    Raises:
        ImportProblem: the file cannot be read.
        EvaluationError: a name or the format is invalid.
    """
    check_names(metrics)
    if not format and is_score_file(path):
        format = WMT_FORMAT
    elif not format and unpacked_name(path.name).lower().endswith((".jsonl", ".ndjson")):
        format = "jsonl"
    if format and format not in FORMATS:
        raise EvaluationError(
            f"There is no format {format!r} of scores; expected one of {', '.join(FORMATS)}."
        )
    if format == WMT_FORMAT:
        if mapping is not None:
            raise ImportProblem(path, None, "--map", "columns of mt-metrics-eval", "them for tables alone")
        return list(read_mt_metrics_eval(path, metrics))
    if not metrics:
        raise EvaluationError(f"{path} needs the name of its metric; expected --metric NAME.")
    records = score_records(TABLE_FORMATS.get(format, read_table), path, metrics, mapping)
    return [read_score_rows(records, path, metrics)]


def score_records(
    reader: RecordReader, path: Path, metrics: Sequence[str], mapping: ColumnMapping | None
) -> Iterator[Record]:
    """Yield the records of a table. Columns are renamed by ``mapping`` to those that the module's docstring lists."""
    columns = Columns((), (*SUBJECT_COLUMNS, SCORE, *metrics), lenient=True)  # other columns are ignored
    if mapping is not None:
        mapping.check(path, columns.optional)
        reader = mapped_reader(mapping, reader)
    return reader(path, columns, ImportNotes(), None)  # None: the encoding is detected


def read_score_rows(records: Iterable[Record], path: Path, metrics: Sequence[str]) -> ScoreRows:
    """Return the scores in a table's records. All records must have the columns of the first record.

    Raises:
        ImportProblem: a record does not fit, or the rows take more than half of the memory allowed for a file.
    """
    keys: dict[str, CompactTexts] = {}
    score_columns: list[str] = []
    cells, lines = array("d"), array("q")
    for record in records:
        if not keys:
            subject, columns = _key_columns(record)
            score_columns = _metric_columns(record, metrics)
            keys = {name: CompactTexts() for name in columns}
        for name, texts in keys.items():
            read_value = read_output if name in ID_COLUMN_BY_TEXT else read_name
            texts.append(record.read(name, read_value))
        lines.append(record.line or 0)
        cells.extend(_read_scores_of_row(record, score_columns))
        if not len(lines) % CHECK_INTERVAL:
            number_bytes = cells.itemsize * len(cells) + lines.itemsize * len(lines)
            check_size(path, number_bytes + sum(texts.nbytes for texts in keys.values()))
    if not keys:
        raise ImportProblem(path, None, None, "no rows", "a score in each")
    scores = np.frombuffer(cells, dtype=np.float64).reshape(-1, len(metrics))
    scores_by_metric = {name: np.ascontiguousarray(scores[:, index]) for index, name in enumerate(metrics)}
    rows = ScoreRows(path, subject, keys, scores_by_metric, lines)
    too_large = np.argwhere(np.abs(scores) > MAX_NUMBER)
    if len(too_large):
        row, column = too_large[0].tolist()
        actual, expected = f"{scores[row, column]:g}", f"a number of size {MAX_NUMBER:g} at most"
        raise rows.problem(row, score_columns[column], actual, expected)
    return rows


def _key_columns(record: Record) -> tuple[str, tuple[str, ...]]:
    """Return what a table scores, a value of ``ScoreKeys.Subject``, and the columns that name it.

    Args:
        record: the first record of the table.
    """
    present_columns = {name for name in SUBJECT_COLUMNS if record.get(name) is not None}
    # An empty cell in a column of texts: with a column of systems, the system's caption for the image is scored;
    # without one, the caption is empty.
    if "system" not in present_columns:
        present_columns |= {name for name in ID_COLUMN_BY_TEXT if name in record.values}
    # the column that names a caption, "first" or "second": that of its id or, without one, that of its text
    text_columns = {
        name: next((column for column in (id_column, name) if column in present_columns), None)
        for name, id_column in ID_COLUMN_BY_TEXT.items()
    }
    first_column, second_column = text_columns["first"], text_columns["second"]
    caption_columns = tuple(filter(None, [text_columns["caption"]]))
    has_system = "system" in present_columns
    if first_column and second_column and "image" in present_columns:
        return Subject.PAIRS, ("image", first_column, second_column)
    if "image" in present_columns and (caption_columns or has_system):
        system_columns = ("system",) if has_system else ()
        return Subject.CAPTIONS, ("image", *caption_columns, *system_columns)
    if has_system and not present_columns & {"image", *ID_COLUMN_BY_TEXT, *ID_COLUMN_BY_TEXT.values()}:
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
    """Return the scores of a row; nan for an empty cell.

    All cells are converted at once. Only if one is empty or invalid, they are read one by one, so that an error names
    the cell.
    """
    try:
        cells = [record.values[name] for name in columns]
        # In CSV all cells are texts. In JSON a score must be a number, and neither a text nor true.
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
