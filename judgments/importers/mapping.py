"""Map a file's columns to Quorum's columns. The layouts of other platforms are such mappings.

Each file in the folder `layouts` is one layout; its keys are the fields of `ColumnMapping`. `names.toml` lists the
names that columns have on other platforms, by which columns are guessed.

The source of a column is one of:

- a column of the file
- a path into nested records, such as ``data.image``, where ``*`` stands for the only member
- a text with names of columns in braces; ``{folder}`` and ``{file}`` are the file's folder and its name without ending
- a text in quotation marks (``'GPT-4'``), which is the value in all rows
- ``-``, which leaves the column out

If a row holds several judgments, ``{n}`` stands for their numbers in column names, for positions in a list or for
keys of an object. If the source of the worker is ``{n}``, this number, position or key is the worker's name.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import tzinfo
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from common.files import unguard_formula
from common.incoming import quote_value, unpacked_name
from common.incoming.json_documents import load_json
from judgments.importers import foreign
from judgments.importers.potato import is_letter_shown
from judgments.importers.records.columns import Columns, RecordReader
from judgments.importers.records.record import INCLUSION_COLUMNS, Record
from judgments.importers.records.values import is_blank
from judgments.importers.textio import ImportNotes, ImportProblem, read_whole
from judgments.kinds.base import JUDGMENT_COLUMNS
from quorum.numeric.names import nearest_name

LAYOUT_FOLDER = Path(__file__).with_name("layouts")
FIRST_ROWS = 5  # rows of a file from which its columns are guessed
NUMBER, FOLDER, FILE = "{n}", "folder", "file"  # names in braces, in sources
OMITTED_COLUMN = "-"  # the source of a column that is left out
BETWEEN_CRITERIA = "|"  # between the columns of several criteria, in the source of `value`
ANONYMOUS_WORKERS = "anonymous"
MAX_CRITERIA = 50
MAX_CACHED_HEADERS = 1_000  # cached headers of a file's records
# the columns that describe what a unit shows
CONTENT_COLUMNS = (
    "image", "reference", "first", "second", "reference_text", "first_text", "second_text", "kind", "pair",
    "content"
)  # fmt: skip
ANSWER_COLUMNS = ("value", "answer")
OUTPUTS = ("first_text", "second_text")
UNIT_TEXTS = ("reference_text", *OUTPUTS)
# the columns of a marked error, in a file with a row for each error
MARK_COLUMNS = ("severity", "category", "first_text")
# the side of a system's text, by the system's column
SIDES = {"system": "first", "second_system": "second"}
TIME_COLUMNS = ("accepted_at", "submitted_at")
# the columns of judgments that a mapping can have
MAPPABLE_COLUMNS = (*JUDGMENT_COLUMNS, *SIDES, "score", "spans", "severity", "category", "text")
# In these columns, words such as NA are texts and do not mean an empty cell.
TEXT_COLUMNS = {*UNIT_TEXTS, "caption", "text", "first", "second"}
STRUCTURED_COLUMNS = {"answer", "spans", "content", "marks", "systems", "expected"}
EXAMPLE = "pairs such as image=filename,value=rating"
# columns of which a mapping must have one, and what the error message found and expected otherwise
REQUIRED_COLUMNS = (
    ((*CONTENT_COLUMNS, *ANSWER_COLUMNS), "nothing", EXAMPLE),
    (("unit", *CONTENT_COLUMNS), "nothing that was judged", "image=COLUMN, say, or unit=COLUMN"),
    (ANSWER_COLUMNS, "no value", "value=COLUMN, or answer=COLUMN for open answers"),
)
_BRACED_NAME = re.compile(r"\{([^{}]+)\}")
_CONSTANT = re.compile(r"""(['"])(.+)\1""")


def _as_tuple(value: object) -> object:
    return (str(value),) if isinstance(value, str) or type(value) is int else value


def _words_by_column(value: object) -> object:
    """Move words without a column into the column `value`."""
    if not isinstance(value, dict):
        return value
    words_of_value = {word: answer for word, answer in value.items() if not isinstance(answer, dict)}
    words_by_column = {column: words for column, words in value.items() if isinstance(words, dict)}
    return words_by_column | ({"value": words_of_value} if words_of_value else {})


Text = Annotated[str, BeforeValidator(lambda value: str(value) if type(value) is int else value)]
Sources = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]


class ColumnMapping(BaseModel):
    """The settings for reading a file of any layout.

    Attributes:
        columns: the sources of each of Quorum's columns; the first source that is not empty counts.
        values: by Quorum's column and by word in the file, the value that the word stands for; words at the top level
            are for the column `value`.
        zone: the time zone of times that state none.
        title: the label of a layout. All columns of a layout are foreign; other tables may have some of Quorum's names.
        asked: columns that the file must have.
        fixes: corrections of cells, by line and by column of the file.
        header: the column names, for a file without a header.
        quoted, rest: as in `records.Columns`.
        rows: the steps that split a record into rows; each step names lists or objects that are iterated in parallel.
        named: for each list of objects, the two keys of a name and its value; names become columns.
        json_in: columns with JSON, whose members become columns.
        buttons: the separator between a group of radio buttons and a value, in column names.
        labels: an object of schemes, each with labels and their states.
        sparse: the prefix of the names of columns that files may lack.
        skip: by column, a pattern; rows with a matching cell are left out.
        factor: by column, a factor by which its numbers are multiplied.
        spans: the keys of marked errors: `start`, `end`, `severity`, `category`, and whether `end` is `inclusive`;
            `marked` is a column whose text has ``<v>`` and ``</v>`` around an error.
        merge: whether each row is an error, so that the rows of a unit and a worker form one judgment.
        latest: whether only a worker's answer on a unit with the latest `submitted_at` counts.
        dataset: the sources of each column of a dataset, to read the items from the file of judgments.
        files: patterns for the files of a folder; the first pattern that matches a file counts.
        protocol: the protocol of all rows.
        people: columns that each have the answers of one person, and the person's name as their name.
        workers: "anonymous" for a file without workers: each row is by another person.
        where: by column, the value that a row must have to be read.
        missing: words that mean an empty cell, in all columns except texts.
        criterion: a column that names the criterion of each row; each criterion becomes a study.
        match_names: whether names of images may differ in case, blanks and ending.
        header_row: the line of a table's header, from 1.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    columns: Mapping[str, Sources] = Field(default_factory=dict)
    values: Annotated[Mapping[str, Mapping[str, Text]], BeforeValidator(_words_by_column)] = Field(
        default_factory=dict
    )
    zone: str = ""
    title: str = ""
    asked: tuple[str, ...] = ()
    fixes: Mapping[str, Mapping[str, str]] = Field(default_factory=dict)
    header: tuple[str, ...] = ()
    quoted: bool = True
    rest: str = ""
    rows: tuple[tuple[str, ...], ...] = ()
    named: Mapping[str, tuple[str, str]] = Field(default_factory=dict)
    json_in: tuple[str, ...] = ()
    buttons: str = ""
    labels: str = ""
    sparse: str = ""
    skip: Mapping[str, str] = Field(default_factory=dict)
    factor: Mapping[str, float] = Field(default_factory=dict)
    spans: Mapping[str, str | bool] = Field(default_factory=dict)
    merge: bool = False
    latest: bool = False
    dataset: Mapping[str, Sources] = Field(default_factory=dict)
    files: Sources = ()
    protocol: str = ""
    people: tuple[str, ...] = ()
    workers: Literal["", "anonymous"] = ""
    where: Mapping[str, str] = Field(default_factory=dict)
    missing: tuple[str, ...] = ()
    criterion: str = ""
    match_names: bool = False
    header_row: int = Field(default=0, ge=0)

    @model_validator(mode="before")
    @classmethod
    def _add_people_columns(cls, values: Any) -> Any:
        """Make each column in ``people`` the source of answers and of the worker's name."""
        if isinstance(values, dict) and values.get("people"):
            return values | {"columns": {"value": NUMBER, "worker": NUMBER} | dict(values.get("columns", {}))}
        return values

    @property
    def reads_rows(self) -> bool:
        """Whether the mapping does more than correct single cells."""
        return self != ColumnMapping(fixes=self.fixes)

    @property
    def criteria(self) -> tuple[str, ...]:
        """The columns of the answers if each of several criteria has a column, or ()."""
        sources = self.columns.get("value", ())
        names = sources[0].split(BETWEEN_CRITERIA) if len(sources) == 1 else ()
        return tuple(name.strip() for name in names) if len(names) > 1 else ()

    def for_criterion(self, name: str) -> ColumnMapping:
        """Return the mapping that reads the judgments of one criterion, from its rows or from its column."""
        if self.criterion:
            return self.model_copy(update={"where": {**self.where, self.criterion: name}, "criterion": ""})
        return self.model_copy(update={"columns": {**self.columns, "value": (name,)}})

    def with_columns_of(self, other: ColumnMapping) -> ColumnMapping:
        """Return this layout with the columns and words of ``other``, a user's mapping, which take precedence."""
        values = {name: {**self.values.get(name, {}), **answers} for name, answers in other.values.items()}
        merged_fields = {
            "columns": {**self.columns, **other.columns},
            "values": {**self.values, **values},
            "zone": other.zone or self.zone,
            "fixes": other.fixes,
            "asked": other.single_source_columns(),
        }
        other_fields = {name: getattr(other, name) for name in other.model_fields_set}
        return self.model_copy(update={**other_fields, **merged_fields})

    def single_source_columns(self) -> tuple[str, ...]:
        """Return Quorum's columns that have a single source."""
        return tuple(name for name, sources in self.columns.items() if len(sources) == 1)

    def check(self, path: Path, column_names: Iterable[str]) -> None:
        """Raise ImportProblem for columns that Quorum does not have, and for an unknown time zone."""
        column_names = tuple(column_names)
        for name, sources in self.columns.items():
            if name not in column_names and sources != (OMITTED_COLUMN,):
                similar = nearest_name(name, column_names)
                expected = f"{similar!r} perhaps" if similar else f"one of {', '.join(column_names)}"
                raise ImportProblem(path, None, "--map", f"the unknown name {quote_value(name)}", expected)
        worker = self.columns.get("worker", ("",))
        if NUMBER in worker[0] and worker[0] != NUMBER and self.columns.get("value") == worker:
            actual = f"{quote_value(worker[0])} for value and worker"
            raise ImportProblem(path, None, "--map", actual, f"worker={NUMBER}, their names")
        if self.zone:
            parse_zone(self.zone, path)

    def reader(self, read: RecordReader, *, mapped_only: bool = False) -> RecordReader:
        """Return a reader of records with Quorum's columns.

        Args:
            mapped_only: whether the reader drops the file's other columns.
        """

        def records(
            path: Path, columns: Columns, notes: ImportNotes, encoding: str | None
        ) -> Iterator[Record]:
            if not self.reads_rows:
                yield from map(self.correct_cells, read(path, columns, notes, encoding))
                return
            file_reader = _MappedFileReader(self, path, columns, notes, mapped_only)
            rows = file_reader.rows(read, encoding)
            rows = _latest_records(rows, notes) if self.latest else rows
            yield from _merge_rows(rows) if self.merge else rows
            file_reader.finish()

        return records

    def items_reader(self, read: RecordReader) -> RecordReader:
        """Return a reader of the file's items, with a dataset's columns and texts without error marks."""
        mapping = ColumnMapping(columns=self.dataset, header=self.header, quoted=self.quoted, skip=self.skip)

        def items(path: Path, columns: Columns, notes: ImportNotes, encoding: str | None) -> Iterator[Record]:
            for record in mapping.reader(read)(path, columns, notes, encoding):
                values = {name: record.values.get(name) for name in self.dataset}
                plain_texts = {
                    name: foreign.split_marked_text(v)[0] for name, v in values.items() if isinstance(v, str)
                }
                yield replace(record, values={**values, **plain_texts} if self.merge else values)

        return items

    def correct_cells(self, record: Record) -> Record:
        """Return the record with its corrections. A record of a document has no line of its own, and thus none."""
        if record.path or not (fixes := self.fixes.get(str(record.line))):
            return record
        corrected = {name: _parse_correction(record.values.get(name), text) for name, text in fixes.items()}
        return replace(record, values={**record.values, **corrected})


def _parse_correction(value: object, text: str) -> object:
    """Return a correction. Parse it as JSON if the original value is not a text."""
    if isinstance(value, str):
        return text
    try:
        return load_json(text)
    except ValueError:
        return text or None


def _is_column(source: str) -> bool:
    """Return whether a source is the name of a column or of numbered columns."""
    return "{" not in source.replace(NUMBER, "") and source != NUMBER and not _CONSTANT.fullmatch(source)


class _MappedFileReader:
    """Reads the rows of one file, or of the files of a folder, by a mapping.

    Attributes:
        sources: the sources of each of Quorum's columns.
        unseen_sources: those of the required sources that no row had so far.
        raw_columns: the columns by which the file is read, before they get Quorum's names.
        first_values: the values of the first row, once it was read.
        mapped_only: whether to drop the columns that have no mapping.
        wanted_cells: the text that a row must have, by column, to fulfil the mapping's condition.
        has_match: whether a row has fulfilled the mapping's condition.
        numbered_sources: the sources with ``{n}``.
        keys_by_header: a cache of the values of ``{n}``, by source and column names.
    """

    def __init__(
        self, mapping: ColumnMapping, path: Path, columns: Columns, notes: ImportNotes, mapped_only: bool
    ) -> None:
        self.mapping, self.path, self.notes, self.mapped_only = mapping, path, notes, mapped_only
        own_columns = () if mapping.title else columns.required + columns.optional
        omitted_columns = (name for name, sources in mapping.columns.items() if sources == (OMITTED_COLUMN,))
        self.excluded_columns = set(omitted_columns)
        self.excluded_columns |= {"worker"} if mapping.workers == ANONYMOUS_WORKERS else set()
        # columns with Quorum's names need no mapping, but may have words that mean an empty cell
        kept_columns = own_columns if mapped_only or mapping.missing else ()
        sources = {name: (name,) for name in kept_columns} | dict(mapping.columns)
        self.sources = {name: names for name, names in sources.items() if name not in self.excluded_columns}
        self.columns = replace(columns, lenient=True, strict=False)
        required_columns = mapping.asked or (() if mapping.title else mapping.single_source_columns())
        required_sources = chain.from_iterable(self.sources.get(name, ()) for name in required_columns)
        self.unseen_sources = {*filter(_is_column, required_sources), *mapping.where}
        self.unseen_sources |= set(self._columns_of_people())
        self.required_sources = frozenset(self.unseen_sources)
        names = dict.fromkeys((*chain.from_iterable(self.sources.values()), *own_columns, *mapping.json_in))
        self.raw_columns = Columns(
            (), tuple(names), lenient=True, header=mapping.header, header_row=mapping.header_row, rest=mapping.rest,
            quoted=mapping.quoted,
        )  # fmt: skip
        self.button_groups: Mapping[str, Any] | None = None
        self.first_values: Mapping[str, Any] = {}
        self.has_match = not mapping.where
        self.wanted_cells = {column: foreign.cell_text(cell) for column, cell in mapping.where.items()}
        self.missing_words = set(map(foreign.cell_text, mapping.missing))
        numbered = [
            (name, source) for name, sources in self.sources.items() for source in sources if NUMBER in source
        ]
        # if the source of the worker is only the number, it does not show which numbers there are
        self.numbered_sources = [source for name, source in numbered if (name, source) != ("worker", NUMBER)]
        # the source of a list of answers, if this list alone shows that a row has several judgments
        self.list_source = ""
        if not self.numbered_sources and ("worker" in dict(numbered) or mapping.workers):
            self.list_source = self.sources.get("value", ("",))[0]
        self.keys_by_header: dict[tuple[str, ...], list[str]] = {}

    def _columns_of_people(self) -> list[str]:
        value = self.mapping.columns.get("value", (NUMBER,))[0]
        return [value.replace(NUMBER, person) for person in self.mapping.people]

    def files(self) -> list[Path]:
        """Return the file, or those files of a folder that the mapping reads."""
        mapping, path = self.mapping, self.path
        if not (mapping.files and path.is_dir()):
            return [path]
        files = next(filter(None, (sorted(path.glob(pattern)) for pattern in mapping.files)), [])
        if not files:
            raise ImportProblem(path, None, None, "no such files", f"some as {' or '.join(mapping.files)}")
        return files

    def _fulfils_condition(self, values: Mapping[str, Any]) -> bool:
        """Return whether a row fulfils the condition of ``where``."""
        cells = {column: foreign.look_up(values, column) for column in self.mapping.where}
        self.unseen_sources -= {column for column, cell in cells.items() if cell is not None}
        is_fulfilled = all(foreign.cell_text(cells[name]) == text for name, text in self.wanted_cells.items())
        self.has_match = self.has_match or is_fulfilled
        return is_fulfilled

    def rows(self, read: RecordReader, encoding: str | None) -> Iterator[Record]:
        """Yield a record with Quorum's columns for each judgment of the file."""
        for record, values in self.raw_rows(read, encoding, checked=True):
            yield from self._split_row(replace(record, values=values))

    def raw_rows(
        self, read: RecordReader, encoding: str | None, *, checked: bool = False
    ) -> Iterator[tuple[Record, Mapping[str, Any]]]:
        """Yield each row to read as a pair of record and values.

        If ``checked`` is set, check first that the file has the mapped columns.
        """
        mapping = self.mapping
        for file in self.files():
            # each file of a folder may have another header, unless the mapping is a layout
            needs_check = checked and not (self.first_values and mapping.title)
            for record in read(file, self.raw_columns, self.notes, encoding):
                record_values = self.parsed_values(mapping.correct_cells(record))
                if needs_check:
                    self._check_header(record, record_values)
                    needs_check = False
                for values in foreign.explode_rows(record_values, mapping.rows):
                    if self._is_skipped(values):
                        self.notes.count("skipped-row")
                    elif not mapping.where or self._fulfils_condition(values):
                        yield record, values

    def _is_skipped(self, values: Mapping[str, Any]) -> bool:
        cells = {name: str(foreign.look_up(values, name) or "") for name in self.mapping.skip}
        return any(re.search(pattern, cells[name]) for name, pattern in self.mapping.skip.items())

    def parsed_values(self, record: Record) -> dict[str, Any]:
        """Return the values of a record, with lists, JSON and radio buttons parsed."""
        mapping, values = self.mapping, dict(record.values)
        if record.textual and self.mapped_only:
            values = {name: unguard_formula(v) if isinstance(v, str) else v for name, v in values.items()}
        name = mapping.rest  # the column of an error
        try:
            if mapping.rest and isinstance(cells := values.pop(mapping.rest, None), list):
                values |= foreign.command_line_answers(list(map(unguard_formula, cells)), mapping.sparse)
            for name in mapping.json_in:
                if isinstance(cell := values.get(name), str) and cell.strip():
                    for column, value in foreign.form_answers(cell, name[: name.rfind(".") + 1]):
                        if values.setdefault(column, value) != value:
                            raise ValueError(f"the field {column!r} twice with different values")
        except ValueError as error:
            raise record.problem(name, str(error), "what the layout has there") from None
        if mapping.buttons:
            if self.button_groups is None or record.line is None or record.path:
                self.button_groups = foreign.button_groups(record.values, mapping.buttons, mapping.sparse)
            for name, buttons in self.button_groups.items():
                states = {value: values.get(column, "") for value, column in buttons}
                if (state := foreign.selected_values(states, flags=mapping.buttons == ".")) is not None:
                    values.setdefault(name, state)
        if mapping.labels:
            values |= foreign.selected_labels(foreign.look_up(values, mapping.labels))
        return values

    def _check_header(self, record: Record, values: Mapping[str, Any]) -> None:
        """Raise ImportProblem for mapped columns that the header lacks, before rows are read."""
        self.first_values = values
        is_export = {"study", "protocol", "assignment"} <= values.keys()
        for name in INCLUSION_COLUMNS if self.mapped_only and not (self.mapping.title or is_export) else ():
            if self.sources.get(name) == (name,) and name not in self.mapping.columns and name in values:
                self.notes.count("acting-column", detail=name)
        for source in self.sources.get("value", ()) if self.mapped_only else ():
            if is_letter_shown(values, source):
                expected = (
                    "the folder of the annotators, whose user_state.json says which text it was (potato)"
                )
                raise ImportProblem(self.path, record.line, source, "letters of places", expected)
        if not self.mapped_only:
            self.columns.check({*self.sources, *values}, self.path, record.line, self.notes)
        if record.textual:
            self._refuse_unknown(record, {*values, *(self.button_groups or ())})

    def _refuse_unknown(self, record: Record, columns: set[str]) -> None:
        """Raise ImportProblem if the mapping names a column that is not among the columns of the file."""
        workers = self.sources.get("worker", ()) if self.mapped_only else ()
        can_name_worker = any(
            "{" in source or source in columns or _CONSTANT.fullmatch(source) for source in workers
        )
        if workers and not can_name_worker:
            raise self.unknown_column_error(workers[0], record.file)
        for source in sorted(self.required_sources):
            column = source.partition(".")[0]  # of a path
            is_sparse = bool(self.mapping.sparse) and source.startswith(self.mapping.sparse)
            if NUMBER not in source and not is_sparse and not {source, column} & columns:
                raise self.unknown_column_error(source, record.file)

    def unknown_column_error(self, source: str, file: Path | None = None) -> ImportProblem:
        similar = nearest_name(source, self.first_values)
        expected = f"{similar!r} perhaps" if similar else "a column of the file"
        if source == "worker":
            expected += ' (--workers anonymous, or workers = "anonymous" in a mapping, if it does not say who answered)'
        return ImportProblem(
            file or self.path, None, "--map", f"the unknown column {quote_value(source)}", expected
        )

    def finish(self) -> None:
        """Raise ImportProblem if a mapped column was in no row, or if no row fulfilled the condition."""
        if not self.first_values:
            return
        missing_sources = self.unseen_sources & set(self.mapping.where)
        if not missing_sources and self.has_match:  # only rows that fulfil the condition show further sources
            missing_sources = self.unseen_sources
        if missing_sources:
            raise self.unknown_column_error(min(missing_sources))
        if not self.has_match:
            condition = ", ".join(f"{column}={cell}" for column, cell in self.mapping.where.items())
            raise ImportProblem(self.path, None, "--where", f"no row with {condition}", "at least one")

    def _split_row(self, record: Record) -> Iterator[Record]:
        """Yield a record with Quorum's columns for each judgment in a row."""
        values = dict(record.values)
        for path, (name, value) in self.mapping.named.items():
            entries = foreign.look_up(values, path)
            for entry in entries if isinstance(entries, list) else ():
                if isinstance(entry, dict) and isinstance(entry.get(name), str):
                    values[entry[name]] = foreign.unwrap_value(entry.get(value))
        records = [
            self._map_record(replace(record, values=cells), key)
            for key, cells in self._judgments_of_row(values)
        ]
        self.notes.count("empty-answer", not records)
        for judgment in records:
            if len(records) > 1:  # the time of several answers together is not the time of each answer
                values = {name: v for name, v in judgment.values.items() if name != "wall_seconds"}
                judgment = replace(judgment, values=values)
            yield judgment

    def _judgments_of_row(self, values: dict[str, Any]) -> Iterable[tuple[str, dict[str, Any]]]:
        """Return, for each judgment in a row, the value of ``{n}`` and the row's values.

        If no source has ``{n}``, the row is one judgment.
        """
        if self.mapping.people:
            return [(person, values) for person in self.mapping.people]
        if self.numbered_sources:
            keys = dict.fromkeys(
                key for source in self.numbered_sources for key in self._find_keys(source, values)
            )
            # Members get columns of their own, since a key may have dots, so that the source is no path.
            ending = f".{NUMBER}"
            paths = {name.removesuffix(ending) for name in self.numbered_sources if name.endswith(ending)}
            member_values = {
                f"{path}.{key}": member
                for path in paths
                for key, member in foreign.members_of(foreign.look_up(values, path))
            }
            return [(key, values | member_values) for key in sorted(keys, key=_numeric_order)]
        if self.list_source:
            cell = foreign.look_up(values, self.list_source)
            if isinstance(cell, str) and cell.lstrip().startswith("["):
                with suppress(ValueError):
                    cell = load_json(cell)
            if isinstance(cell, list):
                return [
                    (str(index), {**values, self.list_source: member}) for index, member in enumerate(cell)
                ]
        return [("", values)]

    def _find_keys(self, source: str, values: Mapping[str, Any]) -> list[str]:
        """Return the values of ``{n}`` in a source: numbers in column names, or the keys of a container."""
        names = (source, *values)
        if names not in self.keys_by_header:
            if len(self.keys_by_header) >= MAX_CACHED_HEADERS:
                self.keys_by_header.clear()
            pattern = re.compile(r"(\d+)".join(map(re.escape, source.split(NUMBER))))
            matches = (pattern.fullmatch(name) for name in values)
            self.keys_by_header[names] = [match.group(1) for match in matches if match]
        if keys := self.keys_by_header[names]:
            return keys
        # no column has the number, so it stands for a part of a path, between dots
        text_before, _, text_after = source.partition(NUMBER)
        path, _, start = text_before.rpartition(".")
        end = text_after.partition(".")[0]
        container = foreign.look_up(values, path) if path else None
        key_pattern = r"\d+" if start or end else ".*"
        pattern = re.compile(f"{re.escape(start)}({key_pattern}){re.escape(end)}", re.DOTALL)
        matches = (pattern.fullmatch(key) for key, _ in foreign.members_of(container))
        return [match.group(1) for match in matches if match]

    def _map_record(self, record: Record, key: str) -> Record:
        """Return a record with Quorum's columns. ``key`` replaces ``{n}`` in the sources."""
        mapped_values: dict[str, Any] = {}
        origins: dict[str, str] = {}
        mapped_columns: set[str] = set()
        for name, sources in self.sources.items():
            for source in sources:
                origin = source.replace(NUMBER, key)
                is_key = source == NUMBER and name == "worker"
                value = key if is_key else self._cell(record, origin)
                if value is not None:
                    if self.unseen_sources:
                        self.unseen_sources -= {source, origin}
                    mapped_columns.add(origin)
                    may_be_missing = self.missing_words and name not in TEXT_COLUMNS
                    if may_be_missing and foreign.cell_text(value) in self.missing_words:
                        value = ""
                if value is not None and value != "":
                    mapped_values[name], origins[name] = value, origin
                    break
                if name in OUTPUTS and is_blank(value) and origin.partition(".")[0] in record.values:
                    mapped_values[name] = ""  # a later source may replace it
                origins.setdefault(name, origin)
        if not self.mapped_only:
            excluded = {*mapped_columns, *mapped_values, *self.excluded_columns}
            other_values = {name: value for name, value in record.values.items() if name not in excluded}
            mapped_values = other_values | mapped_values
        return replace(record, values=mapped_values, origins=origins, renamed=self.mapped_only)

    def _cell(self, record: Record, source: str) -> Any:
        if source in record.values or source.isidentifier():  # most of Quorum's columns are missing in a file
            return record.values.get(source)
        if constant := _CONSTANT.fullmatch(source):
            return constant.group(2)
        if "{" not in source:
            return foreign.look_up(record.values, source)
        cells = {name: _braced_value(record, name) for name in _BRACED_NAME.findall(source)}
        if any(cell is None or cell == "" for cell in cells.values()):
            return None
        return _BRACED_NAME.sub(lambda match: str(cells[match.group(1)]).strip(), source)


def _braced_value(record: Record, name: str) -> Any:
    """Return what a name in braces stands for: the folder, the file's name without ending, or a cell."""
    if name == FOLDER:
        return record.file.parent.name
    if name == FILE:
        return Path(unpacked_name(record.file.name)).stem
    return foreign.look_up(record.values, name)


def _numeric_order(key: str) -> tuple[int, str]:
    """Return a sort key that leaves names in their order, before numbers."""
    return (int(key), key) if key.isdecimal() else (0, "")


def _merge_rows(records: Iterable[Record]) -> Iterator[Record]:
    """Merge the rows of a unit and a worker, each with a marked error, into one record with all errors as ``marks``."""
    groups: dict[tuple[str, ...], Record] = {}
    for record in records:
        values = record.values
        key = tuple(str(values.get(name)) for name in ("unit", "image", "system", "worker"))
        mark = {name: values.get(name) for name in MARK_COLUMNS}
        if key not in groups:
            groups[key] = replace(record, values={**values, "marks": []})
        groups[key].values["marks"].append(mark)
    yield from groups.values()


def _latest_records(records: Iterable[Record], notes: ImportNotes) -> Iterator[Record]:
    """Yield each worker's last submitted record on each unit."""
    latest_records: dict[tuple[str, ...], Record] = {}
    for record in records:
        key = tuple(str(record.values.get(name)) for name in ("unit", "worker"))
        last = latest_records.get(key)
        notes.count("skipped-row", last is not None)
        if last is None or str(last.values.get("submitted_at")) <= str(record.values.get("submitted_at")):
            latest_records[key] = record
    yield from latest_records.values()


def read_mapping(path: Path) -> ColumnMapping:
    """Read a mapping from a TOML file. Raise ImportProblem if it is invalid."""
    try:
        return ColumnMapping.model_validate(tomllib.loads(read_whole(path)))
    except tomllib.TOMLDecodeError as error:
        raise ImportProblem(
            path, None, None, f"no TOML ({error})", "[columns] with a line a column"
        ) from None
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        actual, expected = quote_value(problem["input"]), "a text or a whole number"
        if problem["type"] == "extra_forbidden":
            actual, expected = "this unknown key", f"one of {', '.join(ColumnMapping.model_fields)}"
        elif problem["type"].startswith(("mapping", "dict")):
            expected = "a table"
        location = ".".join(map(str, problem["loc"][:2]))
        raise ImportProblem(path, None, location, actual, expected) from None


def criteria_of(mapping: ColumnMapping, read: RecordReader, path: Path, encoding: str | None) -> list[str]:
    """Return the criteria of a file's answers, in order; [] if the mapping names no criteria.

    Raises:
        ImportProblem: a row has no criterion, or there are too many different criteria.
    """
    if not mapping.criterion:
        return list(mapping.criteria)
    reader = _MappedFileReader(mapping, path, Columns((), MAPPABLE_COLUMNS), ImportNotes(), mapped_only=True)
    names: dict[str, None] = {}
    for record, values in reader.raw_rows(read, encoding):
        reader.first_values = reader.first_values or values
        name = foreign.cell_text(foreign.look_up(values, mapping.criterion))
        if not name and foreign.look_up(values, mapping.criterion) is None:
            raise reader.unknown_column_error(mapping.criterion)
        if not name:
            raise record.problem(mapping.criterion, "nothing", "a criterion in every row")
        names[name] = None
        if len(names) > MAX_CRITERIA:
            actual = f"more than {MAX_CRITERIA} different texts in {quote_value(mapping.criterion)}"
            raise ImportProblem(path, record.line, "--criterion", actual, "a column of criteria")
    return list(names)


@cache
def read_layouts() -> dict[str, ColumnMapping]:
    """Return the layouts of other platforms by name."""
    files = sorted(LAYOUT_FOLDER.glob("*.toml"))
    return {file.stem: read_mapping(file) for file in files if file.stem != "names"}


def first_rows(
    mapping: ColumnMapping, read: RecordReader, path: Path, encoding: str | None
) -> list[dict[str, Any]]:
    """Return the first rows as a mapping reads them: values by column or by path into nested values."""
    reader = _MappedFileReader(mapping, path, Columns((), MAPPABLE_COLUMNS), ImportNotes(), mapped_only=True)
    rows = (
        dict(foreign.flatten_members(values))
        for file in reader.files()
        for record in read(file, reader.raw_columns, reader.notes, encoding)
        for values in foreign.explode_rows(reader.parsed_values(record), mapping.rows)
    )
    return list(islice(rows, FIRST_ROWS))


def guess_columns(names: Iterable[str], columns: Iterable[str]) -> dict[str, str]:
    """Return, for each of Quorum's columns, the column that probably corresponds. Use each of ``names`` only once."""
    unused_names = {
        re.sub(r"[^a-z0-9]", "", name.rpartition(".")[2].lower()): name for name in reversed(list(names))
    }
    synonyms = _synonyms()
    guesses: dict[str, str] = {}
    # first those that the file has under Quorum's names
    for column in sorted(columns, key=lambda column: column.replace("_", "") not in unused_names):
        for synonym in (column.replace("_", ""), *synonyms.get(column, ())):
            if synonym in unused_names and column not in guesses:
                guesses[column] = unused_names.pop(synonym)
    return guesses


@cache
def _synonyms() -> dict[str, list[str]]:
    """Return the names that other platforms have for Quorum's columns, by column."""
    names: dict[str, list[str]] = tomllib.loads(read_whole(LAYOUT_FOLDER / "names.toml"))
    return names


def parse_pairs(text: str, path: Path, option: str, example: str = EXAMPLE) -> dict[str, str]:
    """Parse pairs such as ``left=1,right=2``. Raise ImportProblem for other texts and for repeated names."""
    pairs: dict[str, str] = {}
    for pair in text.split(","):
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not (name and equals and value):
            raise ImportProblem(path, None, option, quote_value(pair.strip()), example)
        if name in pairs:
            raise ImportProblem(path, None, option, f"{quote_value(name)} twice", "it once")
        pairs[name] = value
    return pairs


def parse_zone(text: str, path: Path) -> tzinfo:
    """Return a time zone by its name. Raise ImportProblem for an unknown name."""
    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ImportProblem(
            path, None, "--zone", quote_value(text), "one such as America/Los_Angeles"
        ) from None
