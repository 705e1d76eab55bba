"""Read judgments from tables with the columns of an export, such as this CSV::

unit,protocol,image,first_text,worker,value
u1,graded,1.jpg,A dog runs.,ada,4
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from contextlib import suppress
from copy import copy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pydantic import ValidationError

from common.incoming import quote_value
from judgments.design.tables.sampling import SIDES
from judgments.importers.answer_checks import AnswerChecker, answer_problem
from judgments.importers.judgment_cells import (
    empty_outputs,
    output_columns,
    read_answer,
    read_content,
    read_credits,
    read_expected,
    unguard_cells,
)
from judgments.importers.names import ImageNames
from judgments.importers.notes import ImportNotes
from judgments.importers.problems import ImportProblem
from judgments.importers.records.columns import Columns, RecordReader
from judgments.importers.records.record import Record, RowReader
from judgments.importers.records.rows import CreditedRow, JudgmentRow
from judgments.importers.records.sources import JudgmentSource
from judgments.importers.records.values import read_name
from judgments.importers.unit_checks import UnitRegister
from judgments.kinds import KINDS, Kind
from judgments.kinds.base import JUDGMENT_COLUMNS

Captions = Mapping[str, str]  # texts by id
_REQUIRED_COLUMNS = ("unit", "worker")
_COLUMNS = Columns(
    _REQUIRED_COLUMNS, tuple(name for name in JUDGMENT_COLUMNS if name not in _REQUIRED_COLUMNS), strict=True
)
# fields that the row's reader does not fill from columns: `_read_row` passes or sets them, or they keep their default
_GIVEN_COLUMNS = ("value", "answer", "protocol", "expected", "content", "anonymous", "aggregated", "stored")
JUDGMENT_READER = RowReader(JudgmentRow, given_fields=_GIVEN_COLUMNS)
CREDITED_READER = RowReader(CreditedRow, given_fields=(*_GIVEN_COLUMNS, "credits"))
TEXT_EXPECTED = "the text that was judged, or {}, its id"
ANONYMOUS_NAME = re.compile(r"anon-[1-9]\d*")


class TableJudgments(JudgmentSource):
    """Judgments in a table with the columns of an export. `unit`, `worker` and an answer are required.

    Workers named `anon-1`, `anon-2` and so on are anonymous: some data sets publish only the totals of votes.

    Attributes:
        columns: the columns that are read, by Quorum's names, for the file of the rows that an import leaves out.
        kinds: the kinds that can be read, by name. A researcher's own page is among them only as ``custom_kind``, whose
            design says what the answers mean.
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
        custom_kind: Kind | None = None,
        scale: str = "",
    ) -> None:
        super().__init__(path, encoding)
        self.protocol = protocol
        self.kinds = {name: kind for name, kind in KINDS.items() if not kind.page.custom}
        if custom_kind is not None:
            self.kinds[custom_kind.name] = custom_kind
        self.scale = scale
        self._records = records
        self._checkers: dict[str, AnswerChecker] = {}
        self._units = UnitRegister()
        self._images = ImageNames()
        self._captions: Captions | None = None  # those of the dataset; None to accept any caption
        if protocol is not None and protocol not in self.kinds:
            noun = "the protocol" if protocol in KINDS else "the unknown protocol"
            raise ImportProblem(path, None, None, f"{noun} {protocol!r}", self._expected_protocols(protocol))

    @property
    def setting(self) -> str:  # type: ignore[override]
        checker = self._checkers.get(self.protocol or "")
        return (checker.setting if checker else None) or ""  # the options that the answers so far need

    @property
    def states_scale(self) -> bool:
        checker = self._checkers.get(self.protocol or "")
        return checker is not None and checker.states_scale

    def judgments(
        self, images: Container[str] | None = None, captions: Captions | None = None
    ) -> Iterator[JudgmentRow]:
        self._images, self._captions = ImageNames(images), captions
        yield from self._read_rows(self._records, _COLUMNS, self._read_checked_row)
        if self._units.is_empty:
            raise ImportProblem(self.path, None, None, "no judgments", "at least one record")

    def _read_checked_row(self, record: Record) -> JudgmentRow:
        row = self._read_row(record)
        self._check_names(record, row)
        self._units.add(record, row, self._find_first_row)
        self.protocol = self.protocol or row.protocol
        return row

    def _check_names(self, record: Record, row: JudgmentRow) -> None:
        """Raise ImportProblem for an image or a caption that the dataset lacks, and for a missing text to judge."""
        if row.image is not None:
            self._images.check(record, row.image)
        captions = self._captions
        if captions is None:
            return
        checker = self._checkers.get(row.protocol or "")
        if checker is not None and row.image is not None:  # a missing image is reported elsewhere
            for text_column in output_columns(checker.plain_kind):  # the kind with default options
                id_column = text_column.removesuffix("_text")
                if getattr(row, text_column) is None and getattr(row, id_column) is None:
                    raise record.problem(text_column, "nothing", TEXT_EXPECTED.format(id_column))
        for column in ("reference", *SIDES):
            caption_id = getattr(row, column)
            has_text = getattr(row, f"{column}_text") is not None
            if caption_id is not None and not has_text and caption_id not in captions:
                expected = f"a caption of the dataset, or {column}_text"
                raise record.problem(column, quote_value(caption_id), expected)

    def _find_first_row(self, unit: str) -> tuple[JudgmentRow, Record] | None:
        """Read the file again for an error about a later row: return a unit's first row and record; None if invalid."""
        reader = copy(self)
        reader.notes = ImportNotes()  # so that rows that are read twice count once
        for record in reader._records(self.path, _COLUMNS, ImportNotes(), self._encoding):
            with suppress(ImportProblem):
                row = reader._read_row(record)
                if row.unit == unit:
                    return row, record
        return None

    def _read_row(self, record: Record) -> JudgmentRow:
        record = unguard_cells(record)  # without the apostrophes that guard an export against formulas
        protocol = self._read_protocol(record)
        checker = None if protocol is None else self._checker_of(protocol, record)
        value, answer = read_answer(record, checker)
        values = {
            "protocol": protocol,
            "value": value,
            "answer": answer,
            "expected": read_expected(record),
            "content": read_content(record),
            "anonymous": ANONYMOUS_NAME.fullmatch(str(record.get("worker")).strip()) is not None,
            **empty_outputs(record, checker),  # "" where a system gave an empty text, which is judged too
        }
        credits = read_credits(record)  # the systems of the captions; None if the row names none
        row: JudgmentRow
        if credits is None:
            row = JUDGMENT_READER.read(record, **values)
        else:
            row = CREDITED_READER.read(record, **values, credits=credits)
        if row.accepted_at and row.submitted_at and row.submitted_at < row.accepted_at:
            raise record.problem("submitted_at", "a time before accepted_at", "one after it")
        if row.chance is not None and row.hit is None:
            raise record.problem("hit", "nothing", "the HIT that was drawn, as there is a chance")
        if row.presented and protocol is not None and not KINDS[protocol].two_sided:
            raise record.problem("presented", quote_value(row.presented), f"nothing: {protocol} has no sides")
        if checker is None:
            return row
        if checker.plain_kind.is_open:
            # dataclasses.replace would copy all fields of a million rows
            object.__setattr__(row, "stored", _stored_form(record, row, checker, self._captions))
        elif row.expected is not None:
            _check_expected(record, row, checker, value, None)
        return row

    def _checker_of(self, protocol: str, record: Record) -> AnswerChecker:
        """Return the checker of a protocol's answers, with the scale that the import or else the record states."""
        if protocol not in self._checkers:
            self._checkers[protocol] = self._make_checker(protocol)
        checker = self._checkers[protocol]
        scale = record.get("scale")
        if not self.scale and scale is not None:
            try:
                checker.require_scale(str(scale).strip())
            except ValueError as error:
                raise record.problem("scale", *answer_problem(scale, error, checker.plain_kind)) from None
        return checker

    def _make_checker(self, protocol: str) -> AnswerChecker:
        checker = AnswerChecker(self.kinds[protocol])
        if self.scale:
            try:
                checker.require_scale(self.scale)
            except ValueError as error:
                raise ImportProblem(
                    self.path, None, "--scale", *answer_problem(self.scale, error, checker.plain_kind)
                ) from None
        return checker

    def _read_protocol(self, record: Record) -> str | None:
        if record.get("protocol") is None:
            return self.protocol
        protocol = record.read("protocol", read_name)
        if protocol not in self.kinds:
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


def _stored_form(
    record: Record, row: JudgmentRow, checker: AnswerChecker, captions: Captions | None
) -> object:
    """Return the stored form of an open kind's answer. Check the unit's content, the answer and the expected answer."""
    kind, content = checker.plain_kind, row.content or {}
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
    unit = SimpleNamespace(first=SimpleNamespace(text=text), content=content)  # stands for the ``Unit`` row
    try:
        stored_answer = checker.clean(kind.exchange.from_file(row.answer, content=content), unit=unit)
    except ValueError as error:
        raise record.problem("answer", *answer_problem(row.answer, error, kind)) from None
    if row.expected is not None:
        _check_expected(record, row, checker, stored_answer, unit)
    return stored_answer


def _check_expected(record: Record, row: JudgmentRow, checker: AnswerChecker, answer: Any, unit: Any) -> None:
    """Raise ImportProblem if the answer to a control item cannot be compared with the expected answer."""
    try:
        expected = checker.kind.exchange.from_file(row.expected, content=row.content or {})
        checker.kind.check_expected(expected, answer=answer, unit=unit)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        requirement = f"what an answer of {checker.kind.name} can be compared with"
        raise record.problem("expected", quote_value(row.expected), requirement) from None
