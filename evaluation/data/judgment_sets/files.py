"""Read judgments files as columns for agreement, without a database.

A judgments file is a table with the columns `unit`, `worker` and `value` (docs/exports.md). Open answers are in the
column `answer`, with an empty `value`. Rows with `used` false, `control` true, or no answer are left out.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from django.utils import translation
from numpy.typing import NDArray

from common.files import unguard_formula
from common.incoming import READ_SIZE, quote_value
from judgments.design.numbers import plain_number
from judgments.design.study_design import StudyDesign
from judgments.drawing.documents import first_of_documents
from judgments.importers import ColumnMapping
from judgments.importers.answer_checks import AnswerChecker, answer_problem
from judgments.importers.judgment_tables import ANONYMOUS_NAME, TableJudgments
from judgments.importers.mapped.mapped_judgments import MappedJudgments
from judgments.importers.names import Lookalikes
from judgments.importers.notes import ImportNotes
from judgments.importers.problems import ImportProblem
from judgments.importers.records.columns import Columns
from judgments.importers.records.record import Record
from judgments.importers.records.rows import JudgmentRow
from judgments.importers.records.values import read_flag, read_name
from judgments.importers.tables.files import read_table
from judgments.importers.textio import read_head
from judgments.kinds import KINDS, Kind
from quorum.numeric.names import nearest_name
from quorum.statistics.aggregation.pair_answers import MUCH
from quorum.statistics.inputs import MAX_NUMBER

DEFAULT_LEVEL = "nominal"  # the level of answers whose protocol is unknown
# Why rows are left out, as in ``excluded_counts``.
NOT_USED, CONTROL_ITEMS, NO_VALUE = "not used", "control items", "without a value"
REASONS = (NOT_USED, CONTROL_ITEMS, NO_VALUE)
MAX_LABELS = 10_000  # largest number of different texts that are compared for similar ones
ROWS_PER_PROGRESS = 1000  # number of rows between two calls of `progress`


@dataclass(frozen=True, slots=True)
class FileJudgments:
    """N included judgments of a file, on U units, and counts of the rows left out.

    Attributes:
        units, workers: (N,) positions in `unit_names` and `worker_names`.
        values: (N,) float64, or objects if a value is a text.
        protocol: the name of the protocol in the rows, or None.
        excluded_counts: number of rows left out, by reason (REASONS).
        contents: the results of the argument `read_content` of `read_judgment_table` for each unit; else empty.
        has_answers_column: whether a row has the column `answers`; then values may have strength and confidence.
        scale: the scale that the rows name, or "".
        similar_labels: warnings about labels that differ only in type, case or blanks.
        items: (U,) the unit's item: its image, or the first image of its document; empty if a row has no image.
    """

    units: NDArray[np.int64]
    workers: NDArray[np.int64]
    values: NDArray[np.float64] | NDArray[np.object_]
    unit_names: list[str]
    worker_names: list[str]
    protocol: str | None
    excluded_counts: dict[str, int]
    contents: list[Any] = field(default_factory=list)
    has_answers_column: bool = False
    scale: str = ""
    similar_labels: list[str] = field(default_factory=list)
    items: list[str] = field(default_factory=list)

    @property
    def is_anonymous(self) -> bool:
        """Whether worker names are those of published totals (``anon-1``), which do not identify people."""
        return any(ANONYMOUS_NAME.fullmatch(name) for name in self.worker_names)

    @property
    def level(self) -> str:
        kind = KINDS.get(self.protocol or "")
        return kind.aggregation.level if kind is not None else DEFAULT_LEVEL


@dataclass(frozen=True, slots=True)
class OpenJudgments:
    """Included open answers, as N codes of their parts (``Aggregation.codes``).

    Attributes:
        units, parts, workers: (N,) names of units, parts of answers, and workers.
        values: (N,) codes.
        judgments: number of answers.
        is_anonymous: whether worker names do not identify people, as in `FileJudgments`.
        excluded_counts: number of rows left out, by reason (REASONS).
        items: (N,) items as in `FileJudgments`, or empty.
    """

    units: list[str]
    parts: list[str]
    workers: list[str]
    values: list[float]
    judgments: int
    is_anonymous: bool
    excluded_counts: dict[str, int]
    items: list[str]


class _CheckedColumns(Columns):
    """Columns of a table that refuse a table without the required ones."""

    def check(self, names: Collection[str], file: Path, line: int | None, notes: ImportNotes) -> None:
        """Raise ImportProblem if a required column is not among the ``names`` of the table's columns."""
        for column in self.required:
            if column not in names:
                similar = nearest_name(column, names)
                actual = f"no such column, but {similar!r}" if similar else "no such column"
                raise ImportProblem(file, line, column, actual, f"{', '.join(self.required)} in every record")


def read_judgment_table(
    path: Path,
    *,
    numeric: bool = False,
    read_content: Callable[[Record], Any] | None = None,
    encoding: str | None = None,
    mapping: ColumnMapping | None = None,
    progress: Callable[[int], None] | None = None,
) -> FileJudgments:
    """Read a judgments file line by line, in UTF-8 unless a byte order mark or `encoding` says otherwise.

    Args:
        numeric: whether to refuse values that are not numbers.
        read_content: a function that is called with the first record of each unit.
        mapping: names of the columns of a table in any format.
        progress: a function that is called with line numbers.

    Raises:
        ImportProblem: the file is not such a table, it has no judgments or several protocols, or a worker judged a unit
            twice.
    """
    units, workers, lines = array("q"), array("q"), array("q")
    unit_index: dict[str, int] = {}
    worker_index: dict[str, int] = {}
    values: list[float | str] = []
    protocol: str | None = None
    has_texts = False
    excluded_counts: Counter[str] = Counter()
    contents: list[Any] = []
    items: list[str | None] = []
    document_by_image: dict[str, str] = {}
    has_answers_column, scale = False, ""
    records = _read_records(path, encoding, mapping)
    for record, unit, worker, value in _included_records(records, numeric, excluded_counts, progress):
        row_protocol = read_optional(record, "protocol", read_name)
        if row_protocol is not None and protocol is not None and row_protocol != protocol:
            raise record.problem(
                "protocol", quote_value(row_protocol), f"{protocol!r} as before, one protocol a file"
            )
        protocol = protocol or row_protocol
        has_texts = has_texts or isinstance(value, str)
        has_answers_column = has_answers_column or record.get("answers") is not None
        scale = scale or str(record.get("scale") or "")
        if unit not in unit_index:
            image, document = read_optional(record, "image", read_name), read_document(record)
            items.append(image)
            if image is not None and document:
                document_by_image.setdefault(image, document)
            if read_content is not None:
                contents.append(read_content(record))
        units.append(unit_index.setdefault(unit, len(unit_index)))
        workers.append(worker_index.setdefault(worker, len(worker_index)))
        lines.append(record.line or 0)
        values.append(value)
    if not (values or excluded_counts):
        raise ImportProblem(path, None, None, "no judgments", "one record or more")
    values, warnings = _with_equal_numbers(values) if has_texts else (values, [])
    has_texts = any(isinstance(value, str) for value in values)
    column = np.array(values, dtype=object if has_texts else np.float64)
    # With a column ``answers``, a number is the side, plus 10 (MUCH) for "much better" and 100 for each step of
    # confidence (pair_answers.py), so its last digit is the side.
    table = FileJudgments(
        units=np.array(units, dtype=np.int64),
        workers=np.array(workers, dtype=np.int64),
        values=column % MUCH if has_answers_column and not has_texts else column,
        unit_names=list(unit_index),
        worker_names=list(worker_index),
        protocol=protocol,
        excluded_counts={why: excluded_counts[why] for why in REASONS if excluded_counts[why]},
        contents=contents,
        has_answers_column=has_answers_column,
        scale=scale,
        similar_labels=warnings,
        items=clusters_of_images(items, document_by_image),
    )
    _refuse_duplicates(path, table, np.array(lines, dtype=np.int64))
    return table


def _included_records(
    records: Iterable[Record],
    numeric: bool,
    excluded_counts: Counter[str],
    progress: Callable[[int], None] | None,
) -> Iterator[tuple[Record, str, str, float | str]]:
    """Yield the records that count, with unit, worker and value. Count the others in ``excluded_counts`` by reason."""
    for number, record in enumerate(records, 1):
        if progress is not None and number % ROWS_PER_PROGRESS == 0:
            progress(record.line or 0)
        unit, worker = _read_name(record, "unit"), _read_name(record, "worker")
        if not _read_flag(record, "used", True):
            excluded_counts[NOT_USED] += 1
        elif _read_flag(record, "control", False):
            excluded_counts[CONTROL_ITEMS] += 1
        elif (value := _read_value(record, numeric)) is None:
            excluded_counts[NO_VALUE] += 1
        else:
            yield record, unit, worker, value


def included_rows(
    rows: Iterable[JudgmentRow], excluded_counts: Counter[str], progress: Callable[[int], None] | None
) -> Iterator[JudgmentRow]:
    """Yield the used rows that are not control items, and count the others by reason. ``progress`` gets row counts."""
    for number, row in enumerate(rows, 1):
        if progress is not None and number % ROWS_PER_PROGRESS == 0:
            progress(number)
        if row.control or not row.used:
            excluded_counts[CONTROL_ITEMS if row.used else NOT_USED] += 1
        else:
            yield row


def clusters_of_images(images: Sequence[str | None], document_by_image: Mapping[str, str]) -> list[str]:
    """Return each row's cluster, which is its image, or the first image of its document; [] if a row has no image."""
    documents = first_of_documents(document_by_image.items())
    return [] if None in images else [documents.get(image, image) for image in images if image is not None]


def open_kind_of(path: Path, *, encoding: str | None = None) -> Kind | None:
    """Return the kind that the first row of a judgments file names, or None if answers of this kind are not open."""
    record = next(_read_records(path, encoding, None), None)
    kind = KINDS.get(str(record.get("protocol"))) if record is not None else None
    return kind if kind is not None and kind.is_open else None


def read_open_judgments(
    path: Path,
    kind: Kind,
    *,
    design: StudyDesign | None = None,
    encoding: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> OpenJudgments:
    """Read a judgments file of open answers of a kind, and return the codes of their parts.

    ``design`` is needed for kinds whose answers depend on it, and ``progress`` gets row counts. Raise ImportProblem if
    an answer is not of the kind.
    """
    custom_kind = None
    if design is not None:
        kind = kind.for_design(design)
        # Only the design says what the answers on a page of one's own (a HIT template) mean.
        custom_kind = kind if kind.page.custom else None
    source = TableJudgments(path, read_table, protocol=kind.name, encoding=encoding, custom_kind=custom_kind)
    units: list[str] = []
    parts: list[str] = []
    workers: list[str] = []
    values: list[float] = []
    images: list[str | None] = []
    document_by_image: dict[str, str] = {}
    excluded_counts: Counter[str] = Counter()
    judgment_count, is_anonymous = 0, False
    for row in included_rows(source.judgments(), excluded_counts, progress):
        judgment_count += 1
        is_anonymous = is_anonymous or row.anonymous
        # The attributes of a unit that `codes` reads.
        unit = SimpleNamespace(content=row.content or {}, first=SimpleNamespace(text=row.first_text))
        for part, code in kind.aggregation.codes(unit, row.stored).items():
            units.append(row.unit)
            parts.append(part)
            workers.append(row.worker)
            values.append(code)
            images.append(row.image)
        if row.image is not None and row.document is not None:
            document_by_image.setdefault(row.image, row.document)
    return OpenJudgments(
        units,
        parts,
        workers,
        values,
        judgments=judgment_count,
        is_anonymous=is_anonymous,
        excluded_counts={why: excluded_counts[why] for why in REASONS if excluded_counts[why]},
        items=clusters_of_images(images, document_by_image),
    )


@translation.override("en")
def checked_kind(path: Path, table: FileJudgments, kind: Kind) -> Kind:
    """Return the kind with the options that the file's values need.

    Raise ImportProblem if a value is not allowed with any options.
    """
    checker = AnswerChecker(kind)
    try:
        checker.require_scale(table.scale)
    except ValueError as error:
        raise ImportProblem(path, None, "scale", *answer_problem(table.scale, error, kind)) from None
    for value in dict.fromkeys(table.values.tolist()):
        answer = plain_number(value) if isinstance(value, float) else value
        try:
            checker.check_number(answer, has_answers_column=table.has_answers_column)
        except ValueError as error:
            raise ImportProblem(path, None, "value", *answer_problem(answer, error, kind)) from None
    return checker.kind


def read_document(record: Record) -> str:
    """Return the document of a record's item as text, or "" if it has none.

    Documents are only compared for equality.
    """
    document = record.get("document")
    return "" if document is None else str(document).strip()


def _with_equal_numbers(values: Sequence[float | str]) -> tuple[list[float | str], list[str]]:
    """Return the values with texts such as "1" replaced by numbers, if other rows have these numbers, and warnings.

    The warnings are about the replaced texts, and about labels that differ only in case or blanks.
    """
    numbers = {value for value in values if not isinstance(value, str)}
    texts = dict.fromkeys(value for value in values if isinstance(value, str))
    equal_numbers = {text: number for text in texts if (number := _parse_number(text)) in numbers}
    warnings = [
        f"{quote_value(text)} is a text in some rows and a number in others, and counts as the number"
        for text in equal_numbers
    ]
    if len(texts) <= MAX_LABELS:
        labels = Lookalikes()
        for text in texts:
            if text in equal_numbers:
                continue
            earlier_label = labels.earlier_label(text)
            if earlier_label is not None:
                labels_in_quotes = f"{quote_value(earlier_label)} and {quote_value(text)}"
                warnings.append(f"{labels_in_quotes} differ in case or blanks alone, and count as two")
    typed_values = [equal_numbers.get(value, value) if isinstance(value, str) else value for value in values]
    return typed_values, warnings


def _parse_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _read_records(path: Path, encoding: str | None, mapping: ColumnMapping | None) -> Iterator[Record]:
    if mapping is not None:
        yield from MappedJudgments(path, mapping, read_table, protocol=None, encoding=encoding).records()
        return
    columns = _CheckedColumns(("unit", "worker", "value"))
    if not read_head(path, READ_SIZE, encoding=encoding).strip():
        raise ImportProblem(path, None, None, "an empty file", "JSON lines or CSV")
    yield from read_table(path, columns, ImportNotes(), encoding)


def read_optional(record: Record, column: str, read: Callable[[Any], str]) -> str | None:
    return None if record.get(column) is None else record.read(column, read)


def _read_flag(record: Record, column: str, default: bool) -> bool:
    if record.get(column) is None:
        return default
    return record.read(column, lambda value: read_flag(value, record.textual))


def _read_name(record: Record, column: str) -> str:
    name = record.read(column, read_name)
    return unguard_formula(name) if record.textual else name


def _read_value(record: Record, numeric: bool) -> float | str | None:
    value = record.get("value")
    if value is None:
        return None
    expected = "a number" if numeric else "a number or a text"
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        text = unguard_formula(value).strip() if record.textual else value.strip()
        number = _parse_number(text) if record.textual else None  # CSV has numbers as text, and JSON does not
        if number is None:
            if numeric or text in ("", "nan", "NaN"):
                raise record.problem("value", quote_value(text if record.textual else value), expected)
            return text
        value = number
    if not isinstance(value, (int, float)) or math.isnan(value):
        raise record.problem("value", quote_value(value), expected)
    if abs(value) > MAX_NUMBER:
        raise record.problem("value", quote_value(value), f"{expected}, of size {MAX_NUMBER:g} at most")
    return float(value)


def _refuse_duplicates(path: Path, table: FileJudgments, lines: NDArray[np.int64]) -> None:
    """Raise ImportProblem if a worker judged a unit twice, with the first repeated row of the file.

    ``lines`` are the (N,) numbers of the rows' lines.
    """
    # Compare pairs of a unit and a worker as one number.
    keys = table.units * max(len(table.worker_names), 1) + table.workers
    sorted_keys = np.sort(keys)
    repeats = np.flatnonzero(sorted_keys[1:] == sorted_keys[:-1])
    rows = np.flatnonzero(np.isin(keys, sorted_keys[repeats]))
    first_rows: dict[int, int] = {}
    for row in rows.tolist():
        first_row = first_rows.setdefault(int(keys[row]), row)
        if first_row != row:
            unit, worker = table.unit_names[table.units[row]], table.worker_names[table.workers[row]]
            actual = f"a second answer of {quote_value(worker)} on unit {quote_value(unit)}"
            expected = f"one answer a participant and unit (the first is on line {lines[first_row]})"
            raise ImportProblem(path, int(lines[row]), "worker", actual, expected)
