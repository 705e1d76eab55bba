"""Import a judge's answers from a file."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from common.amounts import counted
from common.errors import DataConflict
from common.incoming import load_json
from evaluation.errors import EvaluationError
from evaluation.models import Judge, JudgeAnswer
from evaluation.results.judges.asking import ROWS_AT_ONCE, fields_of
from evaluation.results.judges.prompts import check_kind, has_orders
from judgments.kinds import Kind
from judgments.models import Study, System, Unit
from judgments.studies.log import note_event
from judgments.studies.studies import design_of, kind_of

ORDERS = {"": False, "first-left": False, "second-left": True}
LONGEST_RATER = 80


@dataclass(frozen=True, slots=True)
class ImportedJudge:
    judge: Judge
    answers: int
    created: bool

    def describe(self) -> str:
        done = (
            counted(self.answers, "answer")
            if self.created
            else "the same answers were there already; nothing changed"
        )
        return f"Judge {self.judge.name!r}: {done}."


def import_judge(
    *,
    study: Study,
    name: str,
    answers: str,
    source: str = Judge.Source.MODEL,
    model: str = "",
    own_systems: Sequence[str] = (),
    by: User | None = None,
) -> ImportedJudge:
    """Store a new judge with answers in CSV with a header, or JSON lines: unit, value, and optional rater and
    order.

    `value` is in the unit's order: 1 for its first candidate; `answer` stands in its place where exports have one.
    `order` is "first-left" or "second-left": which was shown first. All or nothing. Raises EvaluationError,
    DataConflict.
    """
    check_kind(kind_of(study))
    check_systems(study, own_systems)
    answers = answers.replace("\r\n", "\n")  # as a form sends them
    fingerprint = hashlib.sha256(answers.encode()).hexdigest()
    rows = list(_read_answers(study, answers))
    if not rows:
        raise EvaluationError("The answers hold no row, expected lines with unit and value.")
    with transaction.atomic():
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        judge = Judge.objects.filter(study=study, name=name).first()
        if judge is not None:
            stored = judge.fingerprint, judge.source, judge.model, judge.own_systems
            if stored == (fingerprint, source, model, list(own_systems)):
                return ImportedJudge(judge, len(rows), created=False)
            what = (
                "of another source, model or family"
                if judge.fingerprint == fingerprint
                else "with other answers"
            )
            raise DataConflict(f"This study has a judge {name!r} {what}; expected another name.")
        judge = Judge.objects.create(
            study=study, name=name, source=source, model=model, own_systems=list(own_systems),
            fingerprint=fingerprint, made_by=by,
        )  # fmt: skip
        JudgeAnswer.objects.bulk_create(
            (JudgeAnswer(judge=judge, state=JudgeAnswer.State.ANSWERED, **row) for row in rows),
            batch_size=ROWS_AT_ONCE,
        )
        sentence = f"Judge {name!r} was imported: {counted(len(rows), 'answer')}."
        note_event(study=study, what="judge-imported", sentence=sentence, by=by)
    return ImportedJudge(judge, len(rows), created=True)


def check_systems(study: Study, names: Sequence[str]) -> None:
    known = sorted(System.objects.of_study(study).values_list("name", flat=True))
    for name in names:
        if name not in known:
            raise EvaluationError(
                f"own_systems names {name!r}; expected systems of this study: {', '.join(known) or 'there are none'}."
            )


def _read_answers(study: Study, answers: str) -> Iterator[dict[str, Any]]:
    kind, design = kind_of(study), design_of(study)
    units = {unit.key: unit for unit in _units_to_answer(study, kind)}
    column = "answer" if kind.is_open else "value"
    seen: set[tuple[Any, ...]] = set()
    for line, row in _parse_rows(answers, column):
        key = str(row.get("unit", "")).strip()
        if key not in units:
            raise EvaluationError(
                f"Line {line} names unit {key[:80]!r}, which is no judged unit of this study."
            )
        unit, content = units[key], row.get(column)
        try:
            if kind.is_open:
                content = load_json(content) if isinstance(content, str) else content
                value = kind.exchange.from_file(content, content=unit.content)
                value = kind.clean_answer(value, unit=unit, design=design)
            else:
                value = kind.clean_answer(_parse_integer(content), unit=unit, design=design)
        except ValueError as error:
            raise EvaluationError(f"Line {line} has {column} {str(content)[:40]!r}; {error}.") from None
        order, rater = str(row.get("order") or "").strip(), str(row.get("rater") or "").strip()
        if order not in ORDERS or (order and not has_orders(kind)):
            wanted = (
                "first-left or second-left" if has_orders(kind) else "no order, as nothing is beside the text"
            )
            raise EvaluationError(f"Line {line} has order {order[:40]!r}; expected {wanted}.")
        if len(rater) > LONGEST_RATER:
            raise EvaluationError(
                f"Line {line} names a rater with {len(rater)} characters, expected {LONGEST_RATER} at most."
            )
        answer = {"unit_id": unit.pk, "rater": rater, "swapped": ORDERS[order]}
        if tuple(answer.values()) in seen:
            raise EvaluationError(
                f"Line {line} answers unit {key!r} again, by the same rater in the same order."
            )
        seen.add(tuple(answer.values()))
        yield {**answer, **fields_of(value)}


def _units_to_answer(study: Study, kind: Kind) -> Iterable[Unit]:
    units = Unit.objects.filter(study=study, control=False)
    return units.select_related("first") if kind.is_open else units.only("key")


def _parse_integer(value: Any) -> Any:
    text = str(value).strip()
    return int(text) if text.lstrip("-").isdecimal() and text.isascii() else value


def _parse_rows(answers: str, column: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    text = answers.removeprefix("\ufeff")
    if text.lstrip().startswith("{"):
        for number, line in enumerate(text.splitlines(), start=1):
            if not line.strip():
                continue
            try:
                row = load_json(line)
            except ValueError:
                row = None
            if not isinstance(row, dict):
                raise EvaluationError(
                    f"Line {number} is no JSON object, expected one with unit and {column}."
                )
            yield number, row
        return
    table = csv.DictReader(io.StringIO(text))
    try:
        missing = [name for name in ("unit", column) if name not in (table.fieldnames or ())]
        if missing:
            raise EvaluationError(
                f"The first line names no column {missing[0]!r}; expected unit and {column}, and rater and order if "
                "known."
            )
        for row in table:
            yield table.line_num, row
    except csv.Error as error:
        raise EvaluationError(f"Line {table.reader.line_num} is no CSV: {error}.") from None
