"""Read the records of a file by a `ColumnMapping`, so that they have Quorum's columns.

A mapping with a title is a layout: Quorum's own mapping of the files of another platform.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any

from common.incoming import quote_value, unpacked_name
from judgments.importers import foreign
from judgments.importers.mapped.mapping import (
    ANONYMOUS_WORKERS,
    BRACED_NAME,
    CONSTANT,
    ERROR_COLUMNS,
    FILE,
    FOLDER,
    MAPPABLE_COLUMNS,
    NUMBER_PLACEHOLDER,
    OMITTED_COLUMN,
    OUTPUT_COLUMNS,
    TEXT_COLUMNS,
    ColumnMapping,
)
from judgments.importers.mapped.record_parsing import RecordParser
from judgments.importers.mapped.row_splitting import RowSplitter
from judgments.importers.mapped.source_checks import SourceChecks
from judgments.importers.notes import ImportNotes
from judgments.importers.problems import ImportProblem
from judgments.importers.records.columns import Columns, RecordReader
from judgments.importers.records.record import Record
from judgments.importers.records.values import is_blank
from judgments.importers.times import TIME_EXPECTED, parse_time

MAX_FIRST_ROWS = 5  # rows of a file from which its columns are guessed
MAX_CRITERIA = 50


def mapped_reader(mapping: ColumnMapping, read: RecordReader, *, mapped_only: bool = False) -> RecordReader:
    """Return a reader of the files that ``read`` reads, whose records have Quorum's columns.

    If ``mapped_only`` is set, as for judgments, the reader drops the file's other columns, and the apostrophes by which
    exports guard cells against spreadsheet formulas.
    """

    def records(path: Path, columns: Columns, notes: ImportNotes, encoding: str | None) -> Iterator[Record]:
        if not mapping.reads_rows:  # it only corrects cells
            yield from map(mapping.correct_cells, read(path, columns, notes, encoding))
            return
        file_reader = _MappedFileReader(mapping, path, columns, notes, mapped_only)
        rows = file_reader.rows(read, encoding)
        if mapping.latest:
            rows = _latest_records(rows, notes)
        if mapping.merge:
            rows = _merge_rows(rows)
        yield from rows
        file_reader.checks.check_all_seen()

    return records


def dataset_reader(layout: ColumnMapping, read: RecordReader) -> RecordReader:
    """Return a reader of the items in a file of judgments, with a dataset's columns and texts without error marks."""
    mapping = ColumnMapping(
        columns=layout.dataset, header=layout.header, quoted=layout.quoted, skip=layout.skip
    )

    def items(path: Path, columns: Columns, notes: ImportNotes, encoding: str | None) -> Iterator[Record]:
        for record in mapped_reader(mapping, read)(path, columns, notes, encoding):
            values = {name: record.values.get(name) for name in layout.dataset}
            if layout.merge:  # the texts contain the marks of errors
                for name, value in values.items():
                    if isinstance(value, str):
                        values[name], _ = foreign.split_marked_text(value)
            yield replace(record, values=values)

    return items


def read_criteria(mapping: ColumnMapping, read: RecordReader, path: Path, encoding: str | None) -> list[str]:
    """Return the criteria, such as fluency, that a file's answers rate, in order; [] if the mapping names none.

    Raises:
        ImportProblem: a row has no criterion, or there are too many different criteria.
    """
    if not mapping.criterion:
        return list(mapping.criteria)
    reader = _MappedFileReader(mapping, path, Columns((), MAPPABLE_COLUMNS), ImportNotes(), mapped_only=True)
    names: dict[str, None] = {}
    for record, values in reader.raw_rows(read, encoding):
        reader.checks.first_values = reader.checks.first_values or values  # for `unknown_column_error`
        name = foreign.cell_text(foreign.look_up(values, mapping.criterion))
        if not name and foreign.look_up(values, mapping.criterion) is None:
            raise reader.checks.unknown_column_error(mapping.criterion)
        if not name:
            raise record.problem(mapping.criterion, "nothing", "a criterion in every row")
        names[name] = None
        if len(names) > MAX_CRITERIA:
            actual = f"more than {MAX_CRITERIA} different texts in {quote_value(mapping.criterion)}"
            raise ImportProblem(path, record.line, "--criterion", actual, "a column of criteria")
    return list(names)


def read_first_rows(
    mapping: ColumnMapping, read: RecordReader, path: Path, encoding: str | None
) -> list[dict[str, Any]]:
    """Return the first rows as a mapping reads them: values by column or by path into nested values."""
    reader = _MappedFileReader(mapping, path, Columns((), MAPPABLE_COLUMNS), ImportNotes(), mapped_only=True)
    rows = reader.unselected_rows(read, encoding)
    return [dict(foreign.flatten_members(values)) for values in islice(rows, MAX_FIRST_ROWS)]


class _MappedFileReader:
    """Reads the rows of one file, or of the files of a folder, by a mapping.

    Attributes:
        sources: by Quorum's column, where its value is from: columns of the file, constants, texts with ``{name}``.
        raw_columns: the columns by which the file is read, before they get Quorum's names.
        excluded_columns: Quorum's columns that are left out, even if the file has them.
        wanted_cells: the text that a row must have, by column, to fulfil the mapping's condition.
        missing_words: the words that mean an empty cell.
    """

    def __init__(
        self, mapping: ColumnMapping, path: Path, columns: Columns, notes: ImportNotes, mapped_only: bool
    ) -> None:
        self.mapping, self.path, self.notes, self.mapped_only = mapping, path, notes, mapped_only
        # Quorum's columns that the file may have under their names
        standard_columns = () if mapping.title else columns.required + columns.optional
        omitted_columns = (name for name, sources in mapping.columns.items() if sources == (OMITTED_COLUMN,))
        self.excluded_columns = set(omitted_columns)
        if mapping.workers == ANONYMOUS_WORKERS:
            self.excluded_columns.add("worker")
        # these columns need a source if others are dropped, or if words in their cells may mean an empty cell
        kept_columns = standard_columns if mapped_only or mapping.missing else ()
        sources = {name: (name,) for name in kept_columns} | dict(mapping.columns)
        self.sources = {name: names for name, names in sources.items() if name not in self.excluded_columns}
        sources_and_columns = (
            *chain.from_iterable(self.sources.values()),
            *standard_columns,
            *mapping.json_in,
        )
        self.raw_columns = Columns(
            (),
            tuple(dict.fromkeys(sources_and_columns)),
            lenient=True,
            header=mapping.header,
            header_row=mapping.header_row,
            rest=mapping.rest,
            quoted=mapping.quoted,
        )
        self.wanted_cells = {column: foreign.cell_text(cell) for column, cell in mapping.where.items()}
        self.missing_words = set(map(foreign.cell_text, mapping.missing))
        self.checks = SourceChecks(mapping, path, self.sources, columns, notes, mapped_only=mapped_only)
        self.parser = RecordParser(mapping, unguards_cells=mapped_only)
        self.row_splitter = RowSplitter(mapping, self.sources)

    def files(self) -> list[Path]:
        """Return the file, or those files of a folder that match the first pattern that any file matches."""
        mapping, path = self.mapping, self.path
        if not (mapping.files and path.is_dir()):
            return [path]
        files = next(filter(None, (sorted(path.glob(pattern)) for pattern in mapping.files)), [])
        if not files:
            raise ImportProblem(path, None, None, "no such files", f"some as {' or '.join(mapping.files)}")
        return files

    def _fulfils_condition(self, values: Mapping[str, Any]) -> bool:
        cells = {column: foreign.look_up(values, column) for column in self.mapping.where}
        self.checks.mark_seen(*(column for column, cell in cells.items() if cell is not None))
        is_fulfilled = all(foreign.cell_text(cells[name]) == text for name, text in self.wanted_cells.items())
        self.checks.has_match |= is_fulfilled
        return is_fulfilled

    def rows(self, read: RecordReader, encoding: str | None) -> Iterator[Record]:
        """Yield a record with Quorum's columns for each judgment of the file."""
        for record, values in self.raw_rows(read, encoding, checks_columns=True):
            yield from self._split_row(replace(record, values=values))

    def raw_rows(
        self, read: RecordReader, encoding: str | None, *, checks_columns: bool = False
    ) -> Iterator[tuple[Record, Mapping[str, Any]]]:
        """Yield each row to read as a pair of its record and its values.

        A record with nested lists may have several rows (`foreign.explode_rows`). With ``checks_columns``, check the
        first record of each file for the mapped columns, which may be groups of radio buttons (``button_groups``).
        """
        mapping = self.mapping
        for file in self.files():
            # each file of a folder may have another header, unless the mapping is a layout
            needs_check = checks_columns and not (self.checks.first_values and mapping.title)
            for record in read(file, self.raw_columns, self.notes, encoding):
                record_values = self.parser.values_of(mapping.correct_cells(record))
                if needs_check:
                    self.checks.check_first_record(record, record_values, self.parser.button_groups or ())
                    needs_check = False
                for values in foreign.explode_rows(record_values, mapping.rows):
                    if self._is_skipped(values):
                        self.notes.count("skipped-row")
                    elif not mapping.where or self._fulfils_condition(values):
                        yield record, values

    def unselected_rows(self, read: RecordReader, encoding: str | None) -> Iterator[Mapping[str, Any]]:
        """Yield the values of all rows, as in the file: without corrections, conditions or checks."""
        for file in self.files():
            for record in read(file, self.raw_columns, self.notes, encoding):
                yield from foreign.explode_rows(self.parser.values_of(record), self.mapping.rows)

    def _is_skipped(self, values: Mapping[str, Any]) -> bool:
        cells = {name: str(foreign.look_up(values, name) or "") for name in self.mapping.skip}
        return any(re.search(pattern, cells[name]) for name, pattern in self.mapping.skip.items())

    def _split_row(self, record: Record) -> Iterator[Record]:
        """Yield a record with Quorum's columns for each judgment in a row."""
        values = dict(record.values)
        # a list such as [{"name": "score", "value": 3}] becomes the column "score"
        for path, (name_key, value_key) in self.mapping.named.items():
            entries = foreign.look_up(values, path)
            for entry in entries if isinstance(entries, list) else ():
                if isinstance(entry, dict) and isinstance(entry.get(name_key), str):
                    values[entry[name_key]] = foreign.unwrap_value(entry.get(value_key))
        records = [
            self._map_record(replace(record, values=cells), key)
            for key, cells in self.row_splitter.judgments_of(values)
        ]
        self.notes.count("empty-answer", not records)
        for judgment in records:
            if len(records) > 1:  # the time of several answers together is not the time of each answer
                values = {name: cell for name, cell in judgment.values.items() if name != "wall_seconds"}
                judgment = replace(judgment, values=values)
            yield judgment

    def _map_record(self, record: Record, key: str) -> Record:
        """Return a record with Quorum's columns, each with the value of its first source that is not empty.

        ``key`` replaces ``{n}`` in the sources. Errors about a ``mapped_only`` record give both names of a column.
        """
        mapped_values: dict[str, Any] = {}
        origins: dict[str, str] = {}
        mapped_columns: set[str] = set()
        for name, sources in self.sources.items():
            for source in sources:
                origin = source.replace(NUMBER_PLACEHOLDER, key)
                # with worker = "{n}", the key itself is the worker's name
                is_key = source == NUMBER_PLACEHOLDER and name == "worker"
                value = key if is_key else self._cell(record, origin)
                if value is not None:
                    self.checks.mark_seen(source, origin)
                    mapped_columns.add(origin)
                    if self._means_empty_cell(name, value):
                        value = ""
                if value is not None and value != "":
                    mapped_values[name], origins[name] = value, origin
                    break
                # the file has the column of an output, so the output is empty unless a later source has it
                if name in OUTPUT_COLUMNS and is_blank(value) and origin.partition(".")[0] in record.values:
                    mapped_values[name] = ""
                origins.setdefault(name, origin)
        if not self.mapped_only:
            handled_names = {*mapped_columns, *mapped_values, *self.excluded_columns}
            other_values = {name: value for name, value in record.values.items() if name not in handled_names}
            mapped_values = other_values | mapped_values
        return replace(record, values=mapped_values, origins=origins, mapped_only=self.mapped_only)

    def _means_empty_cell(self, name: str, value: Any) -> bool:
        """Return whether a value is one of the words that mean an empty cell. In columns of texts, no word does."""
        if not self.missing_words or name in TEXT_COLUMNS:
            return False
        return foreign.cell_text(value) in self.missing_words

    def _cell(self, record: Record, source: str) -> Any:
        """Return the value of a source, in which ``{n}`` is replaced; None if the record does not have it."""
        if source in record.values or source.isidentifier():  # most of Quorum's columns are missing in a file
            return record.values.get(source)
        if constant := CONSTANT.fullmatch(source):
            return constant.group(2)
        if "{" not in source:
            return foreign.look_up(record.values, source)
        cells = {name: _braced_value(record, name) for name in BRACED_NAME.findall(source)}
        if any(cell is None or cell == "" for cell in cells.values()):
            return None
        return BRACED_NAME.sub(lambda match: str(cells[match.group(1)]).strip(), source)


def _braced_value(record: Record, name: str) -> Any:
    """Return what a name in braces stands for: the folder, the file's name without ending, or a cell."""
    if name == FOLDER:
        return record.file.parent.name
    if name == FILE:
        return Path(unpacked_name(record.file.name)).stem
    return foreign.look_up(record.values, name)


def _merge_rows(records: Iterable[Record]) -> Iterator[Record]:
    """Merge the rows of a unit and a worker, with one marked error each, into one record.

    The column ``marks`` of the record has all errors, as objects of the columns ``ERROR_COLUMNS``.
    """
    groups: dict[tuple[str, ...], Record] = {}
    for record in records:
        values = record.values
        key = tuple(str(values.get(name)) for name in ("unit", "image", "system", "worker"))
        mark = {name: values.get(name) for name in ERROR_COLUMNS}
        if key not in groups:
            groups[key] = replace(record, values={**values, "marks": []})
        groups[key].values["marks"].append(mark)
    yield from groups.values()


def _latest_records(records: Iterable[Record], notes: ImportNotes) -> Iterator[Record]:
    """Yield each worker's last submitted record on each unit. Of records of the same time, or none, the last counts."""
    latest_records: dict[tuple[str, ...], Record] = {}
    for record in records:
        key = tuple(str(record.values.get(name)) for name in ("unit", "worker"))
        entry = latest_records.get(key)
        notes.count("skipped-row", entry is not None)
        if entry is None or _submission_time(entry) <= _submission_time(record):
            latest_records[key] = record
    yield from latest_records.values()


def _submission_time(record: Record) -> datetime:
    """Return the time in ``submitted_at``, as if in UTC if it has no zone; the first possible time for none."""
    text = foreign.cell_text(record.values.get("submitted_at"))
    try:
        return parse_time(text, UTC) if text else datetime.min.replace(tzinfo=UTC)
    except ValueError:
        raise record.problem("submitted_at", quote_value(text), TIME_EXPECTED) from None
