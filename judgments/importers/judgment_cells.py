"""Read the cells of a judgments file that need more than their column: answers, expected answers, content, credits.

``Record.textual``: the file's cells are untyped texts, as in CSV. ``json_texts``: its lists and objects are JSON texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from common.files import unguard_formula
from common.incoming import quote_value
from judgments.design.numbers import ends_of
from judgments.design.tables.sampling import SIDES
from judgments.drawing.keys import text_key
from judgments.importers.answer_checks import AnswerChecker, answer_problem
from judgments.importers.records.json_records import json_cell
from judgments.importers.records.record import Record
from judgments.importers.records.rows import ANNOTATION, SEARCH, Credit
from judgments.importers.records.values import SHORT_NAME_LIMIT, BadCell, read_name, read_number, read_text
from judgments.kinds import Kind

MAX_RANK = 100_000  # larger than any rank of a stored run
EMPTY_TEXT_KEY = text_key("")


def output_columns(kind: Kind | None) -> tuple[str, ...]:
    """Return the columns of the texts that a kind judges."""
    if kind is None:
        return ()
    if kind.two_sided:
        return tuple(f"{side}_text" for side in SIDES)
    return ("first_text",) if kind.judges_one_caption or kind.marks_text else ()


def empty_outputs(record: Record, checker: AnswerChecker | None) -> dict[str, str]:
    """Return "" for each column of an output that is empty in the row, unless the row has the id of another text."""
    if not record.textual or checker is None:
        return {}  # only in untyped cells can an empty one be the empty text of a system
    values = record.values
    return {
        column: ""
        for column in output_columns(checker.plain_kind)  # the kind with default options
        if values.get(column) == "" and values.get(column.removesuffix("_text")) in (None, EMPTY_TEXT_KEY)
    }


def unguard_cells(record: Record) -> Record:
    """Return the record of an export without the apostrophes that guard cells against spreadsheet formulas."""
    cells = [record.values.get(name) for name in ("systems", "content", "expected")]
    holds_json = any(isinstance(cell, str) and cell.startswith("{") for cell in cells)
    if holds_json and not record.textual and not record.json_texts:
        record = replace(record, textual=True)  # a CSV export that a program has saved as JSON
    if not record.textual or record.mapped_only:
        return record  # a mapping has already done this
    unguarded_cells = {
        column: unguard_formula(cell)
        for column, cell in record.values.items()
        if isinstance(cell, str) and cell.startswith("'")
    }
    return replace(record, values={**record.values, **unguarded_cells}) if unguarded_cells else record


def read_answer(record: Record, checker: AnswerChecker | None) -> tuple[float | None, object | None]:
    """Return the value (a number) and the answer (a text, list or object, of an open kind) of a row; one may be None.

    If the row's protocol is unknown, ``checker`` is None, and one of the two suffices.

    Raises:
        ImportProblem: the row has no answer, or an invalid one.
    """
    answer = _json_or_text(record, "answer")
    if isinstance(answer, str):
        answer = record.read("answer", lambda _: read_text(answer))  # an error then names the row
    elif answer is not None and not isinstance(answer, list | dict):
        raise record.problem("answer", quote_value(answer), "a text, a list or an object")
    if checker is None:
        number = _read_value(record)
        if number is None and answer is None:
            raise record.problem("value", "nothing", "a number, or an answer")
        return number, answer
    kind = checker.plain_kind
    if kind.is_open:
        if answer is None:
            raise record.problem("answer", "nothing", f"the answer of a {kind.name} unit")
        return _read_value(record), answer
    if answer is not None:
        raise record.problem("answer", quote_value(answer), f"nothing: {kind.name} is answered by value")
    value = record.get("value")
    with suppress(BadCell):  # another value is refused below, with what the kind expects
        value = read_number(value, record.textual)
    try:
        # exports have this column if the design allows further answers, such as "no difference"
        checker.check_number(value, has_answers_column=record.get("answers") is not None)
    except ValueError as error:
        raise record.problem("value", *answer_problem(value, error, kind)) from None
    return value, None


def _read_value(record: Record) -> float | None:
    if record.get("value") is None:
        return None
    return record.read("value", lambda value: read_number(value, record.textual))


def _json_or_text(record: Record, column: str) -> object:
    """Return the value of a cell. Parse a text that looks like JSON."""
    value = record.get(column)
    return json_cell(record, column) if isinstance(value, str) and value[:1] in tuple('[{"') else value


def read_expected(record: Record) -> object | None:
    """Return the right answer of a control item: a number, a range such as "3-4", a list or an object; or None."""
    value = _json_or_text(record, "expected")
    if value is None or isinstance(value, list | dict):
        return value
    text = str(value).strip() if type(value) in (int, float, str) else ""
    with suppress(ValueError):
        low, high = ends_of(text)
        # a minus sign may be the first character; another hyphen makes a range, which stays a text
        is_range = "-" in text[1:]
        return low if low == high and not is_range else text
    raise record.problem("expected", quote_value(value), 'a value, or a range of grades such as "3-4"')


def read_content(record: Record) -> dict[str, object] | None:
    value = json_cell(record, "content")
    if value is not None and not isinstance(value, dict):
        raise record.problem("content", quote_value(value), "an object")
    return value


def read_credits(record: Record) -> Mapping[str, tuple[Credit, ...]] | None:
    """Return the systems of each caption from a cell such as ``{"caption-1": [{"system": "nearest", "rank": 1}]}``.

    Return None if the cell is empty. Captions are given by their ids, or by sides if both sides show the same caption.
    """
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

    def parse_credits(_: object) -> dict[str, tuple[Credit, ...]]:
        return {key: tuple(map(_read_credit, systems)) for key, systems in value.items()}

    return record.read("systems", parse_credits)


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
