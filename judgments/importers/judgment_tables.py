"""Read judgments from tables with the columns of an export."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pydantic import ValidationError

from common.files import unguard_formula
from common.incoming import quote_value
from common.texts import one_text, quote_difference
from judgments.design.numbers import ends_of, number_text
from judgments.design.scale import InferredScale, Scale, ScaleBounds, bounds_from_text, scale_from_text
from judgments.design.tables.sampling import SIDES
from judgments.drawing.keys import text_key
from judgments.importers.names import NamesOfImages
from judgments.importers.records.columns import Columns, RecordReader
from judgments.importers.records.json_records import json_cell
from judgments.importers.records.record import Record, RowReader
from judgments.importers.records.rows import ANNOTATION, SEARCH, Credit, CreditedRow, JudgmentRow
from judgments.importers.records.sources import JudgmentSource
from judgments.importers.records.values import SHORT_NAME_LIMIT, BadCell, read_name, read_number, read_text
from judgments.importers.textio import ImportNotes, ImportProblem
from judgments.kinds import KINDS, Kind
from judgments.kinds.base import JUDGMENT_COLUMNS

Captions = Mapping[str, str]  # texts by id
_REQUIRED_COLUMNS = ("unit", "worker")
_COLUMNS = Columns(
    _REQUIRED_COLUMNS, tuple(name for name in JUDGMENT_COLUMNS if name not in _REQUIRED_COLUMNS), strict=True
)
MAX_RANK = 100_000  # larger than any rank of a stored run
# columns whose cells are checked here before the reader builds a row
_GIVEN_COLUMNS = ("value", "answer", "protocol", "expected", "content", "anonymous", "aggregated", "stored")
JUDGMENT_READER = RowReader(JudgmentRow, given_fields=_GIVEN_COLUMNS)
CREDITED_READER = RowReader(CreditedRow, given_fields=(*_GIVEN_COLUMNS, "credits"))
TEXT_EXPECTED = "the text that was judged, or {}, its id"
EMPTY_TEXT_KEY = text_key("")
ANONYMOUS_NAME = re.compile(r"anon-[1-9]\d*")


class AnswerRule:
    """Checks the answers of a file as the page of work does, with the design options that the file needs.

    The scale is inferred from the answers, unless ``hold_to_scale`` sets it.

    Attributes:
        setting: the design options that the answers need (`Kind.extend_setting`); None before the first answer.
    """

    def __init__(self, kind: Kind) -> None:
        self.plain_kind = kind
        self.setting: str | None = None
        self.scale_text = ""
        self._limits: ScaleBounds | None = None
        self._inferred_scale: InferredScale | None = None
        self._checked_numbers: set[tuple[object, bool]] = set()

    @property
    def kind(self) -> Kind:
        return self.plain_kind.with_setting(self.setting or "")

    @property
    def states_scale(self) -> bool:
        """Whether ``hold_to_scale`` has set the scale with its step."""
        return self._limits is not None and self._limits.step is not None

    def hold_to_scale(self, text: str) -> None:
        """Set the scale LOW:HIGH[:STEP], outside of which answers are refused. Without a step, infer the step.

        Raises:
            ValueError: the text is not a scale, the scale differs from an earlier one, or the kind has no scale.
        """
        if text == self.scale_text:
            return
        if self.plain_kind.scale is None:
            raise ValueError(f"expected no scale, which {self.plain_kind.name} has not")
        if self.scale_text:
            raise ValueError(f"expected {self.scale_text}, as before")
        self.scale_text, self._limits = text, bounds_from_text(text)
        self._inferred_scale = InferredScale.from_bounds(self._limits)
        if self._limits.step:
            self._set_scale(scale_from_text(text))

    def clean(self, answer: Any, *, unit: Any = None) -> Any:
        """Return an answer in its stored form. Raise ValueError, with the expected form, if it is invalid."""
        if self.setting is not None:
            try:
                return self.kind.clean_answer(answer, unit=unit, design=None)
            except ValueError:
                pass  # other design options may allow the answer
        setting = self.plain_kind.extend_setting(self.setting, answer)
        stored_answer = self.plain_kind.with_setting(setting).clean_answer(answer, unit=unit, design=None)
        self.setting = setting
        return stored_answer

    def check_number(self, value: object, *, needs_options: bool) -> None:
        """Check an answer. Check equal numbers only once.

        ``needs_options`` says whether the file may have answers that the kind's default options refuse. The answer 0
        (no difference) is always such an answer.
        """
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and (value, needs_options) in self._checked_numbers:
            return
        if self.plain_kind.scale is not None and isinstance(value, int | float) and is_number:
            self._check_on_scale(value)
        elif needs_options or value == 0 or not self.kind.two_sided:
            self.clean(value)
        else:
            self.plain_kind.clean_answer(value, unit=None, design=None)
        self._checked_numbers.add((value, needs_options))

    def _check_on_scale(self, value: float) -> None:
        limits, default_scale = self._limits, self.plain_kind.scale
        assert default_scale is not None
        if limits is not None and limits.step:
            if value not in (scale := scale_from_text(self.scale_text)):
                raise ValueError(f"expected {scale.in_words}")
            return
        if limits is not None and not limits.low <= value <= limits.high:
            raise ValueError(f"expected {number_text(limits.low)} to {number_text(limits.high)}")
        inferred_scale = (
            InferredScale.from_number(value)
            if self._inferred_scale is None
            else self._inferred_scale.with_number(value)
        )
        if limits is not None:
            scale = inferred_scale.scale()
            if len(scale) == 2 and self.plain_kind.scale_problem(scale):
                # A scale of the two numbers so far is refused, but points between them may follow.
                scale = Scale(low=scale.low, high=scale.high, step=(scale.high - scale.low) / 2)
            self._set_scale(scale)
        else:
            self._set_scale(inferred_scale.scale_like(default_scale))
        self._inferred_scale = inferred_scale

    def _set_scale(self, scale: Scale) -> None:
        default_scale = self.plain_kind.scale
        assert default_scale is not None
        if problem := self.plain_kind.scale_problem(scale):
            raise ValueError(f"as one of {len(scale):,} answers from {scale.in_words}; {problem}")
        self.setting = "" if scale.has_same_points(default_scale) else str(scale)


def answer_problem(answer: object, error: ValueError, kind: Kind) -> tuple[str, str]:
    """Return the actual and the expected value from a kind's error, whose message ends with "expected ..."."""
    reason, _, expected = str(error).rpartition("expected ")
    reason = reason.strip(" ;")
    return quote_value(answer) + (f" ({reason})" if reason else ""), f"{expected} ({kind.name})"


class TableJudgments(JudgmentSource):
    """Judgments in a table with the columns of an export. `unit`, `worker` and an answer are required.

    Workers named `anon-1`, `anon-2` and so on are anonymous, as in published totals. Memory holds a 64-bit digest for
    each unit and worker, and one for each unit and each pair.

    Attributes:
        columns: the columns that are read, by Quorum's names, for the file of the rows that an import leaves out.
        kinds: the kinds that can be read; includes a researcher's own page only if its design is given.
        scale: the scale of the answers, LOW:HIGH[:STEP]; "" if rows state it or it is inferred.
    """

    columns: tuple[str, ...] = JUDGMENT_COLUMNS

    def __init__(
        self,
        path: Path,
        records: RecordReader,
        *,
        protocol: str | None,
        encoding: str | None,
        own_page: Kind | None = None,
        scale: str = "",
    ) -> None:
        super().__init__(path, encoding)
        self.protocol = protocol
        self.kinds = {name: kind for name, kind in KINDS.items() if not kind.page.custom}
        if own_page is not None:
            self.kinds[own_page.name] = own_page
        self.scale = scale
        self._records = records
        self._rules: dict[str, AnswerRule] = {}
        # by digests of unit and worker: the line of the last row, and its revision
        self._lines: dict[int, int | None] = {}
        self._revisions: dict[int, int] = {}
        # digests of what units and pairs show, by those of their ids
        self._contents: dict[int, int] = {}
        self._pairs: dict[int, int] = {}
        self._has_reread_file = False
        self._images = NamesOfImages()
        if protocol is not None and protocol not in self.kinds:
            noun = "the protocol" if protocol in KINDS else "the unknown protocol"
            raise ImportProblem(path, None, None, f"{noun} {protocol!r}", self._expected_protocols(protocol))

    @property
    def setting(self) -> str:  # type: ignore[override]
        rule = self._rules.get(self.protocol or "")
        return rule.setting or "" if rule else ""

    @property
    def states_scale(self) -> bool:
        rule = self._rules.get(self.protocol or "")
        return rule is not None and rule.states_scale

    def judgments(
        self, images: Container[str] | None = None, captions: Captions | None = None
    ) -> Iterator[JudgmentRow]:
        self._images = NamesOfImages(images)

        def checked_row(record: Record) -> JudgmentRow:
            row = self._read_row(record, captions)
            self._check_names(record, row, captions)
            self._check_unit(record, row, captions)
            self.protocol = self.protocol or row.protocol
            return row

        yield from self._read_rows(self._records, _COLUMNS, checked_row)
        if not self._lines:
            raise ImportProblem(self.path, None, None, "no judgments", "at least one record")

    def _check_names(self, record: Record, row: JudgmentRow, captions: Captions | None) -> None:
        """Raise ImportProblem for an image or a caption that the dataset lacks."""
        if row.image is not None:
            self._images.check(record, row.image)
        rule = self._rules.get(row.protocol or "")
        is_stored = captions is not None and row.image is not None  # otherwise the missing image is reported
        for column in output_columns(rule.plain_kind) if rule is not None and is_stored else ():
            if getattr(row, column) is None and getattr(row, column.removesuffix("_text")) is None:
                raise record.problem(column, "nothing", TEXT_EXPECTED.format(column.removesuffix("_text")))
        for column in ("reference", "first", "second"):
            name = getattr(row, column)
            if captions is None or name is None or getattr(row, f"{column}_text") is not None:
                continue
            if name not in captions:
                raise record.problem(column, quote_value(name), f"a caption of the dataset, or {column}_text")

    def _check_unit(self, record: Record, row: JudgmentRow, captions: Captions | None) -> None:
        """Raise ImportProblem for a repeated unit or pair with other content, and for a second answer on a unit."""
        content_json = "" if row.content is None else json.dumps(row.content, sort_keys=True)
        captions_shown = tuple(_identify_caption(row, side) for side in ("reference", *SIDES))
        systems = row.systems() if isinstance(row, CreditedRow) else ()
        content_digest = hash((row.protocol, row.image, *captions_shown, row.pair, content_json, systems))
        unit_digest, unit_and_worker = hash(row.unit), hash((row.unit, row.worker))
        if self._contents.get(unit_digest, content_digest) != content_digest:
            expected = "the same protocol, image, captions, systems and pair in all of its rows"
            difference = self._describe_difference(row, captions)
            actual = f"{quote_value(row.unit)} with other content than before{difference}"
            raise record.problem("unit", actual, expected)
        if unit_and_worker in self._lines and row.revision != self._revisions[unit_and_worker] + 1:
            actual = f"a second answer of {quote_value(row.worker)} on unit {quote_value(row.unit)}"
            earlier_line = self._lines[unit_and_worker]
            location = "" if earlier_line is None else f" (the first is on line {earlier_line})"
            raise record.problem("worker", f"{actual}{location}", "one answer a participant and unit")
        if row.pair is not None and not row.control:
            pair_digest = hash(row.pair)
            pair_content = hash((row.image, *captions_shown[1:], systems[: len(SIDES)]))
            if self._pairs.setdefault(pair_digest, pair_content) != pair_content:
                expected = "the same image, captions and systems in all of its rows"
                raise record.problem(
                    "pair", f"{quote_value(row.pair)} with other content than before", expected
                )
        self._contents[unit_digest] = content_digest
        self._lines[unit_and_worker], self._revisions[unit_and_worker] = record.line, row.revision

    def _describe_difference(self, row: JudgmentRow, captions: Captions | None) -> str:
        """Describe how a row differs from the first row of its unit.

        This reads the file again, so it is done only for the first such row.
        """
        if self._has_reread_file:
            return ""
        self._has_reread_file = True
        reader = copy(self)
        reader.notes = ImportNotes()
        for record in reader._records(self.path, _COLUMNS, ImportNotes(), self._encoding):
            with suppress(ImportProblem):
                earlier_row = reader._read_row(record, captions)
                if earlier_row.unit == row.unit:
                    return _describe_first_difference(earlier_row, row, record)
        return ""

    def _read_row(self, record: Record, captions: Captions | None) -> JudgmentRow:
        record = _unguard_cells(record)
        protocol = self._read_protocol(record)
        if protocol is not None and protocol not in self._rules:
            self._rules[protocol] = self._make_rule(protocol)
        rule = None if protocol is None else self._rules[protocol]
        if rule is not None and not self.scale and record.get("scale") is not None:
            try:
                rule.hold_to_scale(str(record.get("scale")).strip())
            except ValueError as error:
                raise record.problem(
                    "scale", *answer_problem(record.get("scale"), error, rule.plain_kind)
                ) from None
        value, answer = _read_answer(record, rule)
        values = {
            "protocol": protocol,
            "value": value,
            "answer": answer,
            "expected": _read_expected(record),
            "content": _read_content(record),
            "anonymous": ANONYMOUS_NAME.fullmatch(str(record.get("worker")).strip()) is not None,
            **_empty_outputs(record, rule),
        }
        credits = _read_credits(record)
        values |= {} if credits is None else {"credits": credits}
        reader: RowReader[Any] = JUDGMENT_READER if credits is None else CREDITED_READER
        row: JudgmentRow = reader.read(record, **values)
        if row.accepted_at and row.submitted_at and row.submitted_at < row.accepted_at:
            raise record.problem("submitted_at", "a time before accepted_at", "one after it")
        if row.chance is not None and row.hit is None:
            raise record.problem("hit", "nothing", "the HIT that was drawn, as there is a chance")
        if row.presented and protocol is not None and not KINDS[protocol].two_sided:
            raise record.problem("presented", quote_value(row.presented), f"nothing: {protocol} has no sides")
        if rule is None:
            return row
        if rule.plain_kind.is_open:
            # dataclasses.replace would copy all fields of a million rows
            object.__setattr__(row, "stored", _stored_form(record, row, rule, captions))
        elif row.expected is not None:
            _check_expected(record, row, rule, value, None)
        return row

    def _make_rule(self, protocol: str) -> AnswerRule:
        rule = AnswerRule(self.kinds[protocol])
        if self.scale:
            try:
                rule.hold_to_scale(self.scale)
            except ValueError as error:
                raise ImportProblem(
                    self.path, None, "--scale", *answer_problem(self.scale, error, rule.plain_kind)
                ) from None
        return rule

    def _read_protocol(self, record: Record) -> str | None:
        if record.get("protocol") is None:
            return self.protocol
        protocol = record.read("protocol", read_name)
        if protocol not in self._rules and protocol not in self.kinds:
            raise record.problem("protocol", quote_value(protocol), self._expected_protocols(protocol))
        if self.protocol is not None and protocol != self.protocol:
            raise record.problem(
                "protocol", quote_value(protocol), f"{self.protocol!r}, the study's protocol"
            )
        return protocol

    def _expected_protocols(self, protocol: str) -> str:
        """Return the end of an error message: the protocols that were expected instead of this one."""
        if protocol in KINDS:
            return "the study's file beside it, which has the page (--design FILE)"
        return f"one of {', '.join(self.kinds)}"


def output_columns(kind: Kind | None) -> tuple[str, ...]:
    """Return the columns of the texts that a kind judges."""
    if kind is None:
        return ()
    judges_first_text = kind.judges_one_caption or kind.marks_text
    sides = SIDES if kind.two_sided else SIDES[:1] if judges_first_text else ()
    return tuple(f"{side}_text" for side in sides)


def _empty_outputs(record: Record, rule: AnswerRule | None) -> dict[str, str]:
    """Return "" for each column of an empty output. A column is not included if the row has a caption id for it."""
    if not record.textual or rule is None:
        return {}
    values = record.values
    return {
        column: ""
        for column in output_columns(rule.plain_kind)
        if values.get(column) == "" and values.get(column.removesuffix("_text")) in (None, EMPTY_TEXT_KEY)
    }


def _identify_caption(row: JudgmentRow, side: str) -> str | None:
    """Return the identity of a caption: its id or, without an id, the normal form of its text."""
    key: str | None = getattr(row, side)
    text: str | None = getattr(row, f"{side}_text")
    return key if key is not None or text is None else one_text(text)


def _describe_first_difference(earlier_row: JudgmentRow, row: JudgmentRow, record: Record) -> str:
    location = f"in {record.path}" if record.line is None else f"on line {record.line}"
    for column in ("protocol", "image", *(f"{side}_text" for side in ("reference", *SIDES)), "pair"):
        first, second = getattr(earlier_row, column), getattr(row, column)
        if column.endswith("_text") and first is not None and second is not None:
            if one_text(first) != one_text(second):
                first, second = quote_difference(first, second)
                return f" ({column} is {first} {location}, and {second} here)"
        elif first != second:
            return f" ({column} is {quote_value(first)} {location}, and {quote_value(second)} here)"
    systems = [
        ", ".join(name for names in each.systems() for name in names) if isinstance(each, CreditedRow) else ""
        for each in (earlier_row, row)
    ]
    if systems[0] == systems[1]:
        return ""
    return f" (systems are {systems[0] or 'nobody'} {location}, and {systems[1] or 'nobody'} here)"


def _unguard_cells(record: Record) -> Record:
    """Return the record of an export without the apostrophes that guard cells against spreadsheet formulas."""
    if not (record.textual or record.json_texts) and any(
        isinstance(record.values.get(name), str) and str(record.values[name]).startswith("{")
        for name in ("systems", "content", "expected")
    ):
        record = replace(record, textual=True)  # a CSV export that a program has saved as JSON
    if not record.textual or record.renamed:
        return record  # a mapping has already done this
    cells = {
        column: unguard_formula(cell)
        for column, cell in record.values.items()
        if isinstance(cell, str) and cell.startswith("'")
    }
    return replace(record, values={**record.values, **cells}) if cells else record


def _read_answer(record: Record, rule: AnswerRule | None) -> tuple[float | None, object | None]:
    """Return the value and the answer of a row, checked by its kind's rule."""
    answer = _json_or_text(record, "answer")
    if isinstance(answer, str):
        answer = record.read("answer", lambda _: read_text(answer))
    elif answer is not None and not isinstance(answer, list | dict):
        raise record.problem("answer", quote_value(answer), "a text, a list or an object")
    if rule is None:
        number = _read_value(record)
        if number is None and answer is None:
            raise record.problem("value", "nothing", "a number, or an answer")
        return number, answer
    kind = rule.plain_kind
    if kind.is_open:
        if answer is None:
            raise record.problem("answer", "nothing", f"the answer of a {kind.name} unit")
        return _read_value(record), answer
    if answer is not None:
        raise record.problem("answer", quote_value(answer), f"nothing: {kind.name} is answered by value")
    value = record.get("value")
    with suppress(BadCell):
        value = read_number(value, record.textual)
    try:
        rule.check_number(value, needs_options=record.get("answers") is not None)
    except ValueError as error:
        raise record.problem("value", *answer_problem(value, error, kind)) from None
    return value, None


def _stored_form(record: Record, row: JudgmentRow, rule: AnswerRule, captions: Captions | None) -> object:
    """Return the stored form of an open kind's answer. Check it against the unit's content and expected answer."""
    kind, content = rule.plain_kind, row.content or {}
    try:
        kind.content.model_validate(content)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        actual = "nothing" if problem["type"] == "missing" else quote_value(problem["input"])
        error_location = ".".join(map(str, ("content", *problem["loc"])))
        raise record.problem(
            error_location, actual, f"what a {kind.name} unit shows: {problem['msg'].lower()}"
        ) from None
    text = row.first_text
    if kind.marks_text and captions is not None and row.first is not None:
        text = captions.get(row.first, text)
    if kind.marks_text and text is None:
        raise record.problem("first_text", "nothing", TEXT_EXPECTED.format("first"))
    unit = SimpleNamespace(first=SimpleNamespace(text=text), content=content)
    try:
        stored_answer = rule.clean(kind.exchange.from_file(row.answer, content=content), unit=unit)
    except ValueError as error:
        raise record.problem("answer", *answer_problem(row.answer, error, kind)) from None
    if row.expected is not None:
        _check_expected(record, row, rule, stored_answer, unit)
    return stored_answer


def _check_expected(record: Record, row: JudgmentRow, rule: AnswerRule, answer: Any, unit: Any) -> None:
    try:
        expected = rule.kind.exchange.from_file(row.expected, content=row.content or {})
        rule.kind.check_expected(expected, answer=answer, unit=unit)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        comparable = f"what an answer of {rule.kind.name} can be compared with"
        raise record.problem("expected", quote_value(row.expected), comparable) from None


def _read_value(record: Record) -> float | None:
    if record.get("value") is None:
        return None
    return record.read("value", lambda value: read_number(value, record.textual))


def _json_or_text(record: Record, column: str) -> object:
    """Return the value of a cell. Parse a text that looks like JSON."""
    value = record.get(column)
    return json_cell(record, column) if isinstance(value, str) and value[:1] in tuple('[{"') else value


def _read_expected(record: Record) -> object | None:
    value = _json_or_text(record, "expected")
    if value is None or isinstance(value, list | dict):
        return value
    text = str(value).strip() if type(value) in (int, float, str) else ""
    with suppress(ValueError):
        low, high = ends_of(text)
        # a single number, which may have a minus sign, is stored as a number; a range stays a text
        return low if low == high and "-" not in text[1:] else text
    raise record.problem("expected", quote_value(value), 'a value, or a range of grades such as "3-4"')


def _read_content(record: Record) -> dict[str, object] | None:
    value = json_cell(record, "content")
    if value is not None and not isinstance(value, dict):
        raise record.problem("content", quote_value(value), "an object")
    return value


def _read_credits(record: Record) -> Mapping[str, tuple[Credit, ...]] | None:
    value = json_cell(record, "systems")
    if value is None:
        return None
    if not isinstance(value, dict) or not all(isinstance(systems, list) for systems in value.values()):
        raise record.problem("systems", quote_value(value), "an object from caption ids to lists of systems")
    content = json_cell(record, "content")
    options = content.get("options") if isinstance(content, dict) else None
    caption_ids = {record.get(side) for side in SIDES}
    caption_ids |= {option.get("key") for option in options or () if isinstance(option, dict)}
    if record.get("first") is not None and record.get("first") == record.get("second"):
        caption_ids |= set(SIDES)  # sides stand for the caption that both show
    unknown_ids = [key for key in value if key not in caption_ids]
    if unknown_ids:
        actual = f"the caption id {quote_value(unknown_ids[0])}"
        raise record.problem("systems", actual, "a caption of the unit")
    return record.read(
        "systems", lambda _: {key: tuple(map(_read_credit, systems)) for key, systems in value.items()}
    )


def _read_credit(value: object) -> Credit:
    if not isinstance(value, dict) or not value.keys() <= {"system", "rank", "task"}:
        raise BadCell(quote_value(value), 'an object such as {"system": "nearest", "rank": 1}')
    system, rank, task = value.get("system"), value.get("rank"), value.get("task", ANNOTATION)
    if not isinstance(system, str):
        raise BadCell(quote_value(system), "a system's name")
    if rank is not None and (type(rank) is not int or not 1 <= rank <= MAX_RANK):
        raise BadCell(f"the rank {quote_value(rank)}", f"a whole number from 1 to {MAX_RANK:,}")
    if task not in (ANNOTATION, SEARCH):
        raise BadCell(f"the task {quote_value(task)}", f"{ANNOTATION} or {SEARCH}")
    return Credit(read_name(system, "a system's name", SHORT_NAME_LIMIT), rank, task)
