"""Read judgments from a table in another layout, whose columns a `ColumnMapping` assigns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from common.incoming import compose_name, quote_value
from common.texts import one_text
from judgments.drawing.keys import candidate_key, content_key, text_key
from judgments.importers import foreign
from judgments.importers.judgment_cells import output_columns
from judgments.importers.judgment_tables import TableJudgments
from judgments.importers.mapped.mapped_records import mapped_reader
from judgments.importers.mapped.mapping import (
    ANONYMOUS_WORKERS,
    ANSWER_COLUMNS,
    CONTENT_COLUMNS,
    MAPPABLE_COLUMNS,
    OUTPUT_COLUMNS,
    REQUIRED_COLUMNS,
    SIDE_BY_SYSTEM_COLUMN,
    STRUCTURED_COLUMNS,
    TIME_COLUMNS,
    UNIT_TEXT_COLUMNS,
    ColumnMapping,
    parse_zone,
)
from judgments.importers.mapped.marked_errors import read_marked_errors
from judgments.importers.names import Lookalikes
from judgments.importers.notes import ImportNotes
from judgments.importers.problems import ImportProblem
from judgments.importers.records.columns import Columns, RecordReader
from judgments.importers.records.record import MAX_SHOWN_LENGTH, MISSING_WORDS, Record
from judgments.importers.records.rows import JudgmentRow
from judgments.importers.records.values import SHORT_NAME_LIMIT
from judgments.importers.times import TIME_EXPECTED, parse_time
from judgments.kinds import KINDS
from judgments.kinds.base import JUDGMENT_COLUMNS

NAME_COLUMNS = ("image", *SIDE_BY_SYSTEM_COLUMN, "worker")
_ADDRESS = re.compile(r"https?://")


class MappedJudgments(TableJudgments):
    """Judgments of a file with foreign columns. Judgments of rejected assignments are stored but excluded.

    Registers of what was read hold digests (``hash()``) instead of texts, since a file may have millions of rows.

    A unit is identified by the column `unit` or, in a file without this column, by its image, captions, systems and the
    other columns of ``CONTENT_COLUMNS``. In the column `image`, an address stands for the image that it ends with.
    The constructor's ``worker_name`` returns the name to store for a worker's id in the file.

    Attributes:
        text_of: for files without texts, returns the output of a system for an image, by the names of both, or None if
            there is no such output. If the file is read without a dataset, ``text_of`` and ``items_of`` stay None.
        uses_former_ids: whether ids of units and captions are derived from texts as written, and not from their normal
            form. Earlier versions did this, so files that they imported have such ids.
        items_of: returns the names of the dataset's items with a source text in normal form, for files without images.
    """

    text_of: Callable[[str, str], str | None] | None = None
    uses_former_ids = False
    items_of: Callable[[str], Sequence[str]] | None = None

    def __init__(
        self,
        path: Path,
        mapping: ColumnMapping,
        reader: RecordReader,
        worker_name: Callable[[str], str] = str,
        *,
        protocol: str | None,
        **options: Any,
    ) -> None:
        mapping.check(path, MAPPABLE_COLUMNS)
        super().__init__(
            path, self._answered_records, protocol=protocol or mapping.protocol or None, **options
        )
        self.mapping, self._worker_name = mapping, worker_name
        mapped_columns = (name for name in MAPPABLE_COLUMNS if name in mapping.columns)
        marks_column = ("marks",) if mapping.merge else ()  # "merge": a row of the file is one error
        self.columns = tuple(dict.fromkeys((*JUDGMENT_COLUMNS, *mapped_columns, *marks_column)))
        self._read_records = mapped_reader(mapping, reader, mapped_only=True)
        self._zone = parse_zone(mapping.zone, path) if mapping.zone else None
        self._rater_counts: Counter[int] = Counter()  # by the unit's digest, if raters are anonymous
        self._lookalikes = {name: Lookalikes() for name in (*SIDE_BY_SYSTEM_COLUMN, "worker")}  # by column
        # if rows must name their system, a blank cell means that no system wrote the text
        self._names_systems = "system" in mapping.required_columns()
        self._text_by_unit: dict[str, str] = {}  # the text without marks of the unit's first row
        # the digest of the first output of each system for each item, by the digest of system and item
        self._first_output_by_item: dict[int, int] = {}
        self._pair_orders: set[int] = set()  # digests of pairs, texts and systems in the order of the row
        # the values that words in the file stand for, by column and word
        self._values_of_words = {
            name: {foreign.cell_text(word): answer for word, answer in answers.items()}
            for name, answers in mapping.values.items()
        }
        # a layout, which has a title, must name its columns; other tables may have columns with Quorum's names
        for names, actual, expected in REQUIRED_COLUMNS if mapping.title else ():
            has_marked_answers = mapping.spans and names is ANSWER_COLUMNS
            if not has_marked_answers and not any(name in mapping.columns for name in names):
                raise ImportProblem(path, None, "--map", actual, expected)

    def judgments(
        self, images: Container[str] | None = None, captions: Mapping[str, str] | None = None
    ) -> Iterator[JudgmentRow]:
        self._rater_counts.clear()  # the file may have been read before
        self._pair_orders.clear()
        return super().judgments(images, captions)

    def _answered_records(
        self, path: Path, columns: Columns, notes: ImportNotes, encoding: str | None
    ) -> Iterator[Record]:
        """Yield the records that have an answer. Count the others in the notes, except HITs that nobody has done.

        This is a `RecordReader`. It ignores ``columns``, since the mapping names the file's columns.
        """
        for record in self._read_records(path, Columns((), MAPPABLE_COLUMNS, lenient=True), notes, encoding):
            values = record.values
            if (
                not values.get("worker")
                and "assignment" in self.mapping.columns
                and not values.get("assignment")
            ):
                continue  # nobody has done the HIT
            if not self.mapping.spans and all(_is_empty(values.get(name)) for name in ANSWER_COLUMNS):
                notes.count("empty-answer")  # with spans, an empty list of errors is an answer
                continue
            yield record

    def records(self) -> Iterator[Record]:
        """Yield the file's records with Quorum's columns. They are not checked yet."""
        rows = self._answered_records(self.path, Columns(()), self.notes, self._encoding)
        yield from self.row_problems.rows(rows, self._name_columns)

    def _read_row(self, record: Record) -> JudgmentRow:
        return super()._read_row(self._name_columns(record))

    def _name_columns(self, record: Record) -> Record:
        """Return a record with Quorum's columns, with its unit, its worker and the systems that it credits."""
        values = self._typed_values(record)
        self._compose_names(record, values)
        if values.get("used") in (False, "false"):
            self.notes.count("rejected-assignment")
        if isinstance(values.get("image"), str):
            values["image"] = self._image_name(values["image"])
        elif "image" not in values and "text" in values:
            values["image"] = self._item_name(record, str(values["text"]))
        # `_merge_rows` has joined the rows of each rater; the raters' copies of a text may differ in blanks and marks
        if self.mapping.merge and "first_text" in values:
            text, _ = foreign.split_marked_text(str(values["first_text"]))
            values["first_text"] = self._text_by_unit.setdefault(str(values.get("unit")), text)
        if not (self.uses_former_ids or "unit" in values):
            self._swap_sides(values)
        self._add_credits(record, values)
        if self.mapping.spans:
            values["answer"] = read_marked_errors(self.mapping, record, values)
        values["unit"] = self._unit_id(record, values)
        if self.mapping.workers == ANONYMOUS_WORKERS:
            unit_digest = hash(values["unit"])
            self._rater_counts[unit_digest] += 1
            values["worker"] = f"anon-{self._rater_counts[unit_digest]}"
        judgment_values = {name: value for name, value in values.items() if name in JUDGMENT_COLUMNS}
        # textual, since numbers and flags may be texts, as in CSV
        return replace(record, values=judgment_values, textual=True)

    def _typed_values(self, record: Record) -> dict[str, Any]:
        """Return the typed values of a record, without empty cells, except empty outputs that are judged."""
        values = {name: self._typed_value(record, name, value) for name, value in record.values.items()}
        judged_outputs = output_columns(KINDS.get(str(values.get("protocol") or self.protocol)))
        may_be_empty = set() if self.uses_former_ids else set(judged_outputs)
        excluded_outputs = {
            name for name in OUTPUT_COLUMNS if values.get(name) == "" and name not in may_be_empty
        }
        return {
            name: value
            for name, value in values.items()
            if value is not None and name not in excluded_outputs
        }

    def _compose_names(self, record: Record, values: dict[str, Any]) -> None:
        """Replace the names of image, systems and worker by their stored forms. Note labels that look alike."""
        for name, lookalikes in self._lookalikes.items():
            label = values.get(name)
            if isinstance(label, str) and (earlier_label := lookalikes.earlier_label(label)) is not None:
                self.notes.count("alike", detail=f"{quote_value(earlier_label)} and {quote_value(label)}")
        if not self.uses_former_ids:
            for name in NAME_COLUMNS:
                if isinstance(text := values.get(name), str):
                    values[name] = self._clean_name(record, name, text)
        if self.mapping.workers != ANONYMOUS_WORKERS:
            worker = str(values.get("worker", "")).strip()
            if not worker:
                raise _cell_problem(record, "worker", None, "it in every row")
            values["worker"] = self._worker_name(worker)

    def _unit_id(self, record: Record, values: dict[str, Any]) -> Any:
        """Return the id of a row's unit. If no column has the id, derive it from the unit's content."""
        if "unit" in values:
            unit = values["unit"]
            joins_columns = "{" in record.origins.get("unit", "")  # such an id may be too long to store
            return content_key("unit", unit) if joins_columns and len(str(unit)) > SHORT_NAME_LIMIT else unit
        systems = [values[name] for name in SIDE_BY_SYSTEM_COLUMN if name in values]
        normalise = str if self.uses_former_ids else one_text
        content = values | {
            name: normalise(str(values[name])) for name in UNIT_TEXT_COLUMNS if name in values
        }
        return content_key("unit", *(content.get(name) for name in CONTENT_COLUMNS), *systems)

    def _typed_value(self, record: Record, name: str, value: Any) -> Any:
        """Return a cell as the type of its column; "" for an empty output, and None for another empty cell."""
        if name not in STRUCTURED_COLUMNS:
            value = foreign.unwrap_value(value)
        text = value.strip() if isinstance(value, str) else value
        if text is None or text == "":
            return "" if name in OUTPUT_COLUMNS else None
        values_of_words = self._values_of_words.get("value" if name == "expected" else name)
        if name in UNIT_TEXT_COLUMNS and not values_of_words:
            if isinstance(value, list | dict | bool):
                raise _cell_problem(record, name, value, "a text")
            return str(text if self.uses_former_ids else value)  # as written in the file, even a number
        if values_of_words:
            text = self._value_of_word(record, name, text, values_of_words)
        if name in TIME_COLUMNS and text is not None:
            try:
                return parse_time(str(text), self._zone).isoformat()
            except ValueError:
                raise _cell_problem(record, name, text, TIME_EXPECTED) from None
        if name in self.mapping.factor and isinstance(text, int | float):
            try:
                return text * self.mapping.factor[name]
            except OverflowError:  # a whole number of hundreds of digits
                raise _cell_problem(record, name, text, "a number") from None
        return text

    def _value_of_word(self, record: Record, name: str, cell: Any, values_of_words: Mapping[str, Any]) -> Any:
        """Return the value that the mapping gives for the word in a cell. An answer must be one of the words."""
        word = foreign.cell_text(cell)
        if name not in ("value", "expected"):
            # mappings have these words in lower case; "*" is any other word
            return values_of_words.get(word.lower(), values_of_words.get("*"))
        if word not in values_of_words:
            raise _cell_problem(record, name, cell, f"one of {', '.join(values_of_words)}")
        return values_of_words[word]

    def _clean_name(self, record: Record, name: str, text: str) -> str:
        """Return the name of an image, system or person.

        Raise ImportProblem for a name such as NA, unless the option ``--missing`` says what the word means.
        """
        if text in MISSING_WORDS and not self.mapping.missing:
            # `Record.problem` adds the hint that the word may mean an empty cell
            expected = f"a name (--missing with another word keeps {text} as a name)"
            raise _cell_problem(record, name, text, expected)
        return compose_name(text)

    def _swap_sides(self, values: dict[str, Any]) -> None:
        """Swap the sides of a pair, and its answer, if an earlier row of the same unit has the opposite order."""
        kind = KINDS.get(str(values.get("protocol") or self.protocol))
        if kind is None or not kind.two_sided or not values.keys() >= {"first_text", "second_text"}:
            return
        if values.keys() & {"answer", "content", "systems", "first", "second"}:
            return  # these columns may refer to the sides, too, and cannot be swapped here
        # the normal form of the text and the system, of each side
        first, second = (
            (one_text(str(values[f"{side}_text"])), str(values.get(system, "")))
            for system, side in SIDE_BY_SYSTEM_COLUMN.items()
        )
        shared_content = tuple(
            one_text(str(values.get(name, ""))) for name in CONTENT_COLUMNS if name not in OUTPUT_COLUMNS
        )
        if hash((shared_content, second, first)) not in self._pair_orders or first == second:
            self._pair_orders.add(hash((shared_content, first, second)))
            return
        answers = {name: foreign.cell_text(values[name]) for name in ("value", "expected") if name in values}
        if not all(answer.isascii() and answer.isdecimal() for answer in answers.values()):
            return  # the reader of answers will refuse the row
        for name, answer in answers.items():
            values[name] = kind.sides.to_canonical(int(answer), side=True)  # True: the second was shown first
        for first_column, second_column in (("first_text", "second_text"), tuple(SIDE_BY_SYSTEM_COLUMN)):
            second_value, first_value = values.pop(first_column, None), values.pop(second_column, None)
            swapped_values = {first_column: first_value, second_column: second_value}
            values |= {name: value for name, value in swapped_values.items() if value is not None}
        self.notes.count("turned-pair")

    def _image_name(self, text: str) -> str:
        """Return the name of an image. For an address that is no image's name, return its last part."""
        if text in self._images:
            return text
        name = text
        if _ADDRESS.match(text):
            try:
                address = urlsplit(text)
            except ValueError:  # the address is invalid, such as an unclosed bracket of IPv6
                return text
            name = unquote(address.path).rpartition("/")[2] or text
        return self._images.name_of(name) if self.mapping.match_names else name

    def _item_name(self, record: Record, text: str) -> str:
        """Return the name of the item with a source text. Without a dataset, derive a name from the text."""
        if self.items_of is None:
            return content_key("text", one_text(text))
        names = self.items_of(one_text(text))
        if len(names) == 1:
            return names[0]
        actual = f"{len(names)} items with {quote_value(text)}" if names else quote_value(text)
        raise record.problem("text", actual, "the source text of one item of the dataset")

    def _add_credits(self, record: Record, values: dict[str, Any]) -> None:
        """Add the row's systems to ``values``, as the column `systems` of an export.

        They are given by caption id, such as ``{"caption-1": [{"system": "nmt", "rank": 1}]}``, or by side if both
        sides show the same caption. The caption ids are added, too.
        """
        credits_by_side: dict[str, list[dict[str, Any]]] = {}
        for system_column, side in SIDE_BY_SYSTEM_COLUMN.items():
            if system_column not in values or values[system_column] is None:
                continue
            self._add_text_of_system(record, values, system_column, side)
            text = values.get(f"{side}_text")
            if text is not None:
                values.setdefault(side, candidate_key(text) if self.uses_former_ids else text_key(text))
                credits_by_side[side] = [self._make_credit(values, system_column, side)]
        if not credits_by_side:
            self._add_empty_credit(values)
        elif not self.uses_former_ids and values.get("first") == values.get("second"):
            values.setdefault("systems", credits_by_side)
        else:
            credits_by_caption: dict[str, list[dict[str, Any]]] = {}
            for side, credits in credits_by_side.items():
                credits_by_caption.setdefault(values[side], []).extend(credits)
            values.setdefault("systems", credits_by_caption)

    def _add_text_of_system(
        self, record: Record, values: dict[str, Any], system_column: str, side: str
    ) -> None:
        """Add the dataset's output of a side's system to ``values``, if the row has neither its text nor its id."""
        text_column = f"{side}_text"
        if text_column in values or side in values or self.text_of is None:
            return
        system = values[system_column]
        text = self.text_of(str(system), str(values.get("image")))
        if text is not None:
            values[text_column] = text
        elif text_column not in self.mapping.columns:
            expected = f"a system with an output for this item, or a column of texts ({text_column}=COLUMN)"
            raise _cell_problem(record, system_column, system, expected)

    def _make_credit(self, values: dict[str, Any], system_column: str, side: str) -> dict[str, Any]:
        """Return the credit of a side's system. The first of its outputs for an item in the file has rank 1."""
        system = str(values[system_column])
        item_of_system = hash((system, str(values.get("image"))))
        output = hash(str(values[side]))
        is_first_output = self._first_output_by_item.setdefault(item_of_system, output) == output
        return {"system": system, "rank": 1} if is_first_output else {"system": system}

    def _add_empty_credit(self, values: dict[str, Any]) -> None:
        """Add to ``values`` that no system wrote the text, if the file has a column for the system of each row."""
        may_lack_system = self._names_systems and not self.uses_former_ids
        if may_lack_system and "first_text" in values and not values.keys() & {"second_text", "content"}:
            caption_id = values.setdefault("first", text_key(values["first_text"]))
            values.setdefault("systems", {caption_id: []})


def _cell_problem(record: Record, name: str, value: Any, expected: str) -> ImportProblem:
    """Return the error about a cell, with the column's name in the file, also in ``cell`` if people can correct it."""
    origin = record.origins.get(name, name)  # in the file, so `problem` must not look it up in origins again
    problem = replace(record, origins={}).problem(origin, quote_value(value), expected)
    if problem.cell is not None:  # people can correct it
        problem.cell = origin, "" if value is None else str(value)[:MAX_SHOWN_LENGTH]
    return problem


def _is_empty(value: Any) -> bool:
    return value is None or value == [] or (isinstance(value, str) and not value.strip())
