"""Check that a file has the columns that a `ColumnMapping` names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from common.incoming import quote_value
from judgments.importers.mapped.mapping import CONSTANT, NUMBER_PLACEHOLDER, ColumnMapping
from judgments.importers.notes import ImportNotes
from judgments.importers.potato import is_letter_shown
from judgments.importers.problems import ImportProblem
from judgments.importers.records.columns import Columns
from judgments.importers.records.record import INCLUSION_COLUMNS, Record
from quorum.numeric.names import nearest_name


class SourceChecks:
    """Checks that a file has the columns that its mapping names: in a table at the first record, else after the last.

    ``sources`` has the file's columns for each of Quorum's columns, and ``columns`` are those of Quorum's that the
    caller expects. ``mapped_only`` is set for files of judgments, of which only ``sources`` are read.

    Attributes:
        first_values: the values of the first record; {} before it was read.
        has_match: whether a row has fulfilled the mapping's condition ``where``.
    """

    def __init__(
        self,
        mapping: ColumnMapping,
        path: Path,
        sources: Mapping[str, tuple[str, ...]],
        columns: Columns,
        notes: ImportNotes,
        *,
        mapped_only: bool,
    ) -> None:
        self._mapping, self._path, self._sources, self._notes = mapping, path, sources, notes
        self._columns = replace(columns, lenient=True, strict=False)  # mapped files may have more
        self._mapped_only = mapped_only
        required_sources = chain.from_iterable(sources.get(name, ()) for name in mapping.required_columns())
        value_source = mapping.columns.get("value", (NUMBER_PLACEHOLDER,))[0]  # {n}: a person's name
        columns_of_people = [value_source.replace(NUMBER_PLACEHOLDER, person) for person in mapping.people]
        self._required_sources = frozenset(
            [*filter(_is_column, required_sources), *mapping.where, *columns_of_people]
        )
        self._unseen_sources = set(self._required_sources)  # those that no row had so far
        self.first_values: Mapping[str, Any] = {}
        self.has_match = not mapping.where

    def mark_seen(self, *sources: str) -> None:
        if self._unseen_sources:
            self._unseen_sources.difference_update(sources)

    def check_first_record(
        self, record: Record, values: Mapping[str, Any], button_groups: Iterable[str]
    ) -> None:
        """Raise ImportProblem if the first record of a file, with these parsed values, lacks mapped columns.

        ``button_groups`` are the names of groups of radio buttons, which become columns.
        """
        self.first_values = values
        if self._mapped_only:
            self._note_inclusion_columns(values)
            # Potato's tables may have the letters under which texts were shown; only its state file says which texts.
            for source in self._sources.get("value", ()):
                if is_letter_shown(values, source):
                    expected = (
                        "the folder of the annotators, whose user_state.json says which text it was (potato)"
                    )
                    raise ImportProblem(self._path, record.line, source, "letters of places", expected)
        else:
            self._columns.check({*self._sources, *values}, self._path, record.line, self._notes)
        if record.textual:  # the record is of a table, so it has all columns
            self._check_sources(record, {*values, *button_groups})

    def _note_inclusion_columns(self, values: Mapping[str, Any]) -> None:
        """Note columns that decide which judgments are used, and that the mapping does not name.

        They are read all the same, because they have the names of Quorum's columns.
        """
        is_own_export = {"study", "protocol", "assignment"} <= values.keys()
        is_layout = bool(self._mapping.title)  # a layout reads no column only because of its name
        if is_layout or is_own_export:
            return
        for name in INCLUSION_COLUMNS:
            if self._sources.get(name) == (name,) and name not in self._mapping.columns and name in values:
                self._notes.count("acting-column", detail=name)

    def _check_sources(self, record: Record, columns: set[str]) -> None:
        """Raise ImportProblem if the file lacks a mapped column whose name does not start with the prefix `sparse`."""
        worker_sources = self._sources.get("worker", ()) if self._mapped_only else ()
        can_name_worker = any(
            "{" in source or source in columns or CONSTANT.fullmatch(source) for source in worker_sources
        )
        if worker_sources and not can_name_worker:
            raise self.unknown_column_error(worker_sources[0], record.file)
        for source in sorted(self._required_sources):
            column = source.partition(".")[0]  # the first part of a path into nested values
            prefix = self._mapping.sparse  # of the columns that some files lack, such as "Answer."
            may_be_absent = bool(prefix) and source.startswith(prefix)
            if NUMBER_PLACEHOLDER not in source and not may_be_absent and not {source, column} & columns:
                raise self.unknown_column_error(source, record.file)

    def unknown_column_error(self, source: str, file: Path | None = None) -> ImportProblem:
        similar_name = nearest_name(source, self.first_values)
        expected = f"{similar_name!r} perhaps" if similar_name else "a column of the file"
        if source == "worker":
            expected += ' (--workers anonymous, or workers = "anonymous" in a mapping, if it does not say who answered)'
        return ImportProblem(
            file or self._path, None, "--map", f"the unknown column {quote_value(source)}", expected
        )

    def check_all_seen(self) -> None:
        """Raise ImportProblem if a mapped column was in no row, or if no row fulfilled the condition."""
        if not self.first_values:
            return
        missing_sources = self._unseen_sources & set(self._mapping.where)
        if not missing_sources and self.has_match:  # only rows that fulfil the condition show further sources
            missing_sources = self._unseen_sources
        if missing_sources:
            raise self.unknown_column_error(min(missing_sources))
        if not self.has_match:
            condition = ", ".join(f"{column}={cell}" for column, cell in self._mapping.where.items())
            raise ImportProblem(self._path, None, "--where", f"no row with {condition}", "at least one")


def _is_column(source: str) -> bool:
    """Return whether a source is a column or numbered columns ("r{n}"), and no constant, "{n}", or text with braces."""
    return (
        "{" not in source.replace(NUMBER_PLACEHOLDER, "")
        and source != NUMBER_PLACEHOLDER
        and not CONSTANT.fullmatch(source)
    )
