"""A record of a file, and the class `RowReader`, which converts records to rows.

A record has the values of a line or of an object in a document, as they are in the file. A row is an object of a
dataclass, whose annotations say how each value is read and checked. For a value that does not fit, `RowReader` raises
ImportProblem with file, line, column, the actual value and what was expected.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from common.files import as_cell
from common.incoming import quote_value
from judgments.importers.problems import ImportProblem
from judgments.importers.records.values import BadCell

MAX_SHOWN_LENGTH = 1_000  # characters of a cell with a problem

# columns of judgments that decide which rows count, and how
INCLUSION_COLUMNS = ("control", "expected", "used", "invalidated", "simulated", "revision", "kind", "pair")

# words that often mean an empty cell; an import treats them so only if a person asks for it (--missing)
MISSING_WORDS = ("NA", "N/A", "n/a", "na", "None", "none", "null", "NULL", "nan", "NaN")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Record:
    """The values of one record, and its place in a file.

    Attributes:
        line: the number of the record's first line, from 1; None if the format has no lines.
        textual: whether the format is untyped, as CSV is. Empty cells are then missing, and numbers and flags parsed.
        json_texts: whether lists and objects are texts with JSON, as in all untyped formats.
        path: the record's path in a document, such as `annotations[3]`. Several records may be on one line.
        origins: the name in the file of each column that a mapping has renamed, by column.
        mapped_only: whether only columns that are mapped, or have a name of Quorum's, were kept, without the
            apostrophes that guard cells. Errors then give both names of a column.
    """

    file: Path
    line: int | None
    values: Mapping[str, Any]
    textual: bool = False
    json_texts: bool = False
    path: str = ""
    origins: Mapping[str, str] = field(default_factory=dict)
    mapped_only: bool = False

    def problem(self, column: str | None, actual: str, expected: str) -> ImportProblem:
        """Return the error about a column of the record, with hints at options that may help."""
        missing_word = next((word for word in MISSING_WORDS if actual.startswith(quote_value(word))), "")
        has_options = self.textual or self.mapped_only  # a published set has no options for its columns
        if has_options and missing_word:
            expected += f", or nothing (--missing {missing_word})"
        origin = location = self.origins.get(column, column) if column else None
        if self.mapped_only and column in INCLUSION_COLUMNS and origin == column:
            expected += f" ({column}=- leaves the column out)"
        if self.mapped_only and origin != column:
            location = f"{origin} ({column})"
        if self.path:
            location = f"{self.path}.{location}" if location else self.path
        problem = ImportProblem(self.file, self.line, location, actual, expected)
        if column and self.line is not None and not self.path:  # a cell that a person can correct
            name = re.split(r"[.\[]", column)[0]  # the column before a path such as ``boxes[2].label``
            problem.cell = self.origins.get(name, name), as_cell(self.values.get(name))[:MAX_SHOWN_LENGTH]
        return problem

    def get(self, column: str) -> Any:
        """Return a column's value; None for an empty cell of an untyped format."""
        value = self.values.get(column)
        return None if self.textual and value == "" else value

    def read(self, column: str, read: Callable[[Any], T]) -> T:
        """Return a column's value parsed by `read`. Raise ImportProblem if `read` raises BadCell."""
        try:
            return read(self.values.get(column))
        except BadCell as bad_cell:
            raise self.problem(f"{column}{bad_cell.path}", bad_cell.actual, bad_cell.expected) from None


class RowReader(Generic[T]):
    """Converts records to rows of a dataclass.

    Args:
        columns: the column of each field whose name differs from the field's, by field.
        given_fields: fields whose values the caller passes to `read`.
    """

    def __init__(
        self, row: type[T], *, columns: Mapping[str, str] | None = None, given_fields: Collection[str] = ()
    ) -> None:
        fields = [row_field for row_field in dataclasses.fields(row) if row_field.name not in given_fields]  # type: ignore[arg-type]
        self._adapter = TypeAdapter(row)
        self._columns = {
            row_field.name: (columns or {}).get(row_field.name, row_field.name) for row_field in fields
        }
        no_default = dataclasses.MISSING
        self._required = {
            row_field.name
            for row_field in fields
            if row_field.default is no_default and row_field.default_factory is no_default
        }

    def read(self, record: Record, **values: Any) -> T:
        """Return the row of a record. Raise ImportProblem for a value that is missing or does not fit."""
        for name, column in self._columns.items():
            value = record.values.get(column)
            is_empty = value is None or (record.textual and value == "")
            if name in self._required or not is_empty:  # an optional field keeps its default
                values[name] = value
        try:
            # validators read `record.textual` from the context
            return self._adapter.validate_python(values, context=record)
        except ValidationError as error:
            # every validator of `column_types` raises BadCell, which pydantic keeps in "ctx"
            problem = error.errors(include_url=False, include_input=False)[0]
            column, bad_cell = self._columns[str(problem["loc"][0])], problem["ctx"]["error"]
            raise record.problem(f"{column}{bad_cell.path}", bad_cell.actual, bad_cell.expected) from None
