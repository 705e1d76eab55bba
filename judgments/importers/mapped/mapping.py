"""Map a file's columns to Quorum's columns. The layouts of other platforms are such mappings.

A mapping is a TOML file whose keys are the fields of `ColumnMapping`. Each file in `importers/layouts` is the
mapping of one platform, except `names.toml`, which lists usual names of columns. For example, this mapping reads a
table with the columns ``file``, ``output``, ``r1`` and ``r2``, in which two people rate each output::

    [columns]
    image = "file"
    first_text = "output"
    value = "r{n}"
    worker = "{n}"

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
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import tzinfo
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from common.incoming import quote_value
from common.incoming.json_documents import load_json
from judgments.importers.problems import ImportProblem
from judgments.importers.records.record import Record
from judgments.importers.textio import read_whole
from judgments.kinds.base import JUDGMENT_COLUMNS
from quorum.numeric.names import nearest_name

LAYOUT_FOLDER = Path(__file__).parent.parent / "layouts"
NUMBER_PLACEHOLDER, FOLDER, FILE = "{n}", "folder", "file"  # what may be in braces in sources
OMITTED_COLUMN = "-"  # the source of a column that is left out
CRITERIA_SEPARATOR = "|"  # separates the columns of several criteria in the source of `value`
ANONYMOUS_WORKERS = "anonymous"
# the columns that describe what a unit shows
CONTENT_COLUMNS = (
    "image", "reference", "first", "second", "reference_text", "first_text", "second_text", "kind", "pair",
    "content"
)  # fmt: skip
ANSWER_COLUMNS = ("value", "answer")
OUTPUT_COLUMNS = ("first_text", "second_text")
UNIT_TEXT_COLUMNS = ("reference_text", *OUTPUT_COLUMNS)
# the columns of a marked error, in a file with a row for each error
ERROR_COLUMNS = ("severity", "category", "first_text")
# the side of a system's text, by the system's column
SIDE_BY_SYSTEM_COLUMN = {"system": "first", "second_system": "second"}
TIME_COLUMNS = ("accepted_at", "submitted_at")
# the columns of judgments that a mapping can have
MAPPABLE_COLUMNS = (
    *JUDGMENT_COLUMNS,
    *SIDE_BY_SYSTEM_COLUMN,
    "score",
    "spans",
    "severity",
    "category",
    "text",
)
# In these columns, words such as NA are texts and do not mean an empty cell.
TEXT_COLUMNS = {*UNIT_TEXT_COLUMNS, "caption", "text", "first", "second"}
STRUCTURED_COLUMNS = {"answer", "spans", "content", "marks", "systems", "expected"}  # lists or objects
EXAMPLE_PAIRS = "pairs such as image=filename,value=rating"
# columns of which a mapping must have one, and what an error message says was found, and expected, otherwise
REQUIRED_COLUMNS = (
    ((*CONTENT_COLUMNS, *ANSWER_COLUMNS), "nothing", EXAMPLE_PAIRS),
    (("unit", *CONTENT_COLUMNS), "nothing that was judged", "image=COLUMN, say, or unit=COLUMN"),
    (ANSWER_COLUMNS, "no value", "value=COLUMN, or answer=COLUMN for open answers"),
)
BRACED_NAME = re.compile(r"\{([^{}]+)\}")
CONSTANT = re.compile(r"""(['"])(.+)\1""")


def _as_tuple(value: object) -> object:
    return (str(value),) if isinstance(value, str) or type(value) is int else value


def _words_by_column(value: object) -> object:
    """Return the words by column. Words at the top level of ``value`` are for the column `value`."""
    if not isinstance(value, dict):
        return value
    words_of_value = {word: answer for word, answer in value.items() if not isinstance(answer, dict)}
    words_by_column = {column: words for column, words in value.items() if isinstance(words, dict)}
    return words_by_column | ({"value": words_of_value} if words_of_value else {})


# in TOML, a text of digits may be without quotation marks
Text = Annotated[str, BeforeValidator(lambda value: str(value) if type(value) is int else value)]
Sources = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]


class ColumnMapping(BaseModel):
    """The settings for reading a file of any layout.

    Attributes:
        columns: the sources of each of Quorum's columns; the first source that is not empty counts.
        values: by Quorum's column and by word in the file, the value that the word stands for; words at the top level
            are for the column `value`.
        zone: the time zone of times that state none.
        title: the label of a layout. Without one, columns with Quorum's names are read even if they are not mapped.
        asked: Quorum's columns whose sources the file must have.
        fixes: corrections of cells, by line and by column of the file.
        header: the column names, for a file without a header.
        quoted: whether quotation marks surround cells. rest: the column that gets all remaining cells of a row.
        rows: the steps that split a record into rows; each step names lists or objects that are iterated in parallel.
        named: for each list of objects, the two keys of a name and its value; names become columns.
        json_in: columns with JSON, whose members become columns.
        buttons: the separator between a group of radio buttons and a value, in column names such as ``tone.good``.
        labels: the path of an object with the selected labels by column, as Potato's ``{"quality": {"good": "true"}}``.
        sparse: a prefix, such as ``Answer.``; columns whose names begin with it may be missing.
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
        """Make each column in ``people``, for which ``{n}`` stands, the source of answers and of the worker's name."""
        if isinstance(values, dict) and values.get("people"):
            numbered_columns = {"value": NUMBER_PLACEHOLDER, "worker": NUMBER_PLACEHOLDER}
            return values | {"columns": numbered_columns | dict(values.get("columns", {}))}
        return values

    @property
    def reads_rows(self) -> bool:
        """Whether the mapping maps columns or selects rows, and does not only correct cells."""
        return self != ColumnMapping(fixes=self.fixes)

    @property
    def criteria(self) -> tuple[str, ...]:
        """The columns of the answers, if several criteria have a column each; otherwise ()."""
        sources = self.columns.get("value", ())
        names = sources[0].split(CRITERIA_SEPARATOR) if len(sources) == 1 else ()
        return tuple(name.strip() for name in names) if len(names) > 1 else ()

    def for_criterion(self, name: str) -> ColumnMapping:
        """Return the mapping that reads the judgments of one criterion, from its rows or from its column."""
        if self.criterion:
            return self.model_copy(update={"where": {**self.where, self.criterion: name}, "criterion": ""})
        return self.model_copy(update={"columns": {**self.columns, "value": (name,)}})

    def with_columns_of(self, mapping: ColumnMapping) -> ColumnMapping:
        """Return this layout with the columns and words of ``mapping``, a user's, which take precedence.

        Its other fields replace the layout's if they are set.
        """
        values = {name: {**self.values.get(name, {}), **answers} for name, answers in mapping.values.items()}
        merged_fields = {
            "columns": {**self.columns, **mapping.columns},
            "values": {**self.values, **values},
            "zone": mapping.zone or self.zone,
            "fixes": mapping.fixes,
            "asked": mapping.single_source_columns(),
        }
        other_fields = {name: getattr(mapping, name) for name in mapping.model_fields_set}
        return self.model_copy(update={**other_fields, **merged_fields})

    def required_columns(self) -> tuple[str, ...]:
        """Return those of Quorum's columns whose sources the file must have.

        A layout has many columns that its files may lack, so it requires none by itself.
        """
        if self.asked:
            return self.asked
        return () if self.title else self.single_source_columns()

    def single_source_columns(self) -> tuple[str, ...]:
        """Return Quorum's columns that have a single source."""
        return tuple(name for name, sources in self.columns.items() if len(sources) == 1)

    def check(self, path: Path, column_names: Iterable[str]) -> None:
        """Raise ImportProblem for columns that Quorum lacks, answers as workers' names, and an unknown time zone."""
        column_names = tuple(column_names)
        for name, sources in self.columns.items():
            if name not in column_names and sources != (OMITTED_COLUMN,):
                similar = nearest_name(name, column_names)
                expected = f"{similar!r} perhaps" if similar else f"one of {', '.join(column_names)}"
                raise ImportProblem(path, None, "--map", f"the unknown name {quote_value(name)}", expected)
        # with "r{n}" for both, each answer would also be the name of its worker
        worker_sources = self.columns.get("worker", ("",))
        worker_source = worker_sources[0]
        is_numbered_column = NUMBER_PLACEHOLDER in worker_source and worker_source != NUMBER_PLACEHOLDER
        if is_numbered_column and self.columns.get("value") == worker_sources:
            actual = f"{quote_value(worker_source)} for value and worker"
            raise ImportProblem(path, None, "--map", actual, f"worker={NUMBER_PLACEHOLDER}, their names")
        if self.zone:
            parse_zone(self.zone, path)

    def correct_cells(self, record: Record) -> Record:
        """Return the record with the corrections of its cells.

        Corrections are given by line. A record with a path has no line of its own, and thus no corrections.
        """
        if record.path or not (fixes := self.fixes.get(str(record.line))):
            return record
        new_cells = {name: _parse_correction(record.values.get(name), text) for name, text in fixes.items()}
        return replace(record, values={**record.values, **new_cells})


def _parse_correction(value: object, text: str) -> object:
    """Return the value of a correction, which replaces ``value``. Parse it as JSON unless ``value`` is a text."""
    if isinstance(value, str):
        return text
    try:
        return load_json(text)
    except ValueError:
        return text or None


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


@cache
def read_layouts() -> dict[str, ColumnMapping]:
    """Return the layouts of other platforms by name."""
    files = sorted(LAYOUT_FOLDER.glob("*.toml"))
    return {file.stem: read_mapping(file) for file in files if file.stem != "names"}


def parse_pairs(text: str, path: Path, option: str, example: str = EXAMPLE_PAIRS) -> dict[str, str]:
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
    """Return a time zone by its name, or raise ImportProblem."""
    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ImportProblem(
            path, None, "--zone", quote_value(text), "one such as America/Los_Angeles"
        ) from None
