"""Import the answers of a judge from a file: CSV with a header line, or JSON lines."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from common.amounts import with_noun
from common.errors import DataConflict
from common.incoming.json_documents import load_json
from contrib.judges.models import Judge, JudgeAnswer, answer_fields
from contrib.judges.prompts import check_kind, has_orders
from evaluation.data.judgment_sets.loaders import ROWS_PER_BATCH
from evaluation.errors import EvaluationError
from judgments.access.study_log import note_event
from judgments.kinds import Kind
from judgments.models import Study, System, Unit
from judgments.studies.designs import design_of, kind_of

# JudgeAnswer.swapped by the column "order".
SWAPPED_BY_ORDER = {"": False, "first-left": False, "second-left": True}
MAX_RATER_LENGTH = 80  # characters


@dataclass(frozen=True, slots=True)
class ImportedJudge:
    """The outcome of an import. ``is_new`` is False if the judge was there already, with the same answers."""

    judge: Judge
    answer_count: int
    is_new: bool

    def describe(self) -> str:
        count = with_noun(self.answer_count, "answer")
        outcome = count if self.is_new else "the same answers were there already; nothing changed"
        return f"Judge {self.judge.name!r}: {outcome}."


def store_answers(
    *,
    study: Study,
    name: str,
    answers: str,
    source: str = Judge.Source.MODEL,
    model: str = "",
    own_systems: Sequence[str] = (),
    by: User | None = None,
) -> ImportedJudge:
    """Store a new judge with its answers. An invalid answer refuses the whole file.

    Args:
        answers: the text of the file, whose columns (or keys) are ``unit`` (the key of a unit), ``value`` or
            ``answer``, and optionally ``rater`` (who answered, if the judge is another crowd) and ``order``. Numbers
            are in ``value``, where 1 is the first candidate of the unit, whichever was shown first; other answers are
            in ``answer``, as in exports. ``order`` is "first-left" or "second-left", by the candidate shown first.
        own_systems: systems of the model's family, which it may favour.

    Raises:
        EvaluationError: a line is invalid, a system is not of the study, or judges cannot answer this kind of unit.
        DataConflict: a judge with this name has other answers, or another source, model or family.
    """
    check_kind(kind_of(study))
    check_systems(study, own_systems)
    answers = answers.replace("\r\n", "\n")  # forms send \r\n
    fingerprint = hashlib.sha256(answers.encode()).hexdigest()
    answers_fields = list(_read_answers(study, answers))
    if not answers_fields:
        raise EvaluationError("The answers hold no row, expected lines with unit and value.")
    with transaction.atomic():
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        judge = Judge.objects.filter(study=study, name=name).first()
        if judge is not None:
            has_same_answers = judge.fingerprint == fingerprint
            origin = (source, model, list(own_systems))
            has_same_origin = (judge.source, judge.model, judge.own_systems) == origin
            if has_same_answers and has_same_origin:
                return ImportedJudge(judge, len(answers_fields), is_new=False)
            difference = "of another source, model or family" if has_same_answers else "with other answers"
            raise DataConflict(f"This study has a judge {name!r} {difference}; expected another name.")
        judge = Judge.objects.create(
            study=study, name=name, source=source, model=model, own_systems=list(own_systems),
            fingerprint=fingerprint, made_by=by,
        )  # fmt: skip
        JudgeAnswer.objects.bulk_create(
            (
                JudgeAnswer(judge=judge, state=JudgeAnswer.State.ANSWERED, **fields)
                for fields in answers_fields
            ),
            batch_size=ROWS_PER_BATCH,
        )
        sentence = f"Judge {name!r} was imported: {with_noun(len(answers_fields), 'answer')}."
        note_event(study=study, what="judge-imported", sentence=sentence, by=by)
    return ImportedJudge(judge, len(answers_fields), is_new=True)


def check_systems(study: Study, names: Sequence[str]) -> None:
    """Raise EvaluationError if a name is not that of a system of the study."""
    systems = sorted(System.objects.of_study(study).values_list("name", flat=True))
    for name in names:
        if name not in systems:
            raise EvaluationError(
                f"own_systems names {name!r}; expected systems of this study: {', '.join(systems) or 'there are none'}."
            )


def _read_answers(study: Study, answers: str) -> Iterator[dict[str, Any]]:
    """Yield the fields of a ``JudgeAnswer`` for each line. Raise EvaluationError for an invalid line."""
    kind, design = kind_of(study), design_of(study)
    units = {unit.key: unit for unit in _units_to_answer(study, kind)}
    column = "answer" if kind.is_open else "value"
    earlier_keys: set[tuple[int, str, bool]] = set()
    for line_number, row in _parse_rows(answers, column):
        unit_key = str(row.get("unit", "")).strip()
        if unit_key not in units:
            raise EvaluationError(
                f"Line {line_number} names unit {unit_key[:80]!r}, which is no judged unit of this study."
            )
        unit, cell = units[unit_key], row.get(column)
        try:
            if kind.is_open:
                cell = load_json(cell) if isinstance(cell, str) else cell
                answer = kind.exchange.from_file(cell, content=unit.content)
            else:
                answer = _parse_integer(cell)
            answer = kind.clean_answer(answer, unit=unit, design=design)
        except ValueError as error:
            raise EvaluationError(f"Line {line_number} has {column} {str(cell)[:40]!r}; {error}.") from None
        order = str(row.get("order") or "").strip()
        rater = str(row.get("rater") or "").strip()
        if order not in SWAPPED_BY_ORDER or (order and not has_orders(kind)):
            expected_orders = (
                "first-left or second-left" if has_orders(kind) else "no order, as nothing is beside the text"
            )
            raise EvaluationError(f"Line {line_number} has order {order[:40]!r}; expected {expected_orders}.")
        if len(rater) > MAX_RATER_LENGTH:
            raise EvaluationError(
                f"Line {line_number} names a rater with {len(rater)} characters, expected {MAX_RATER_LENGTH} at most."
            )
        swapped = SWAPPED_BY_ORDER[order]
        if (unit.pk, rater, swapped) in earlier_keys:
            raise EvaluationError(
                f"Line {line_number} answers unit {unit_key!r} again, by the same rater in the same order."
            )
        earlier_keys.add((unit.pk, rater, swapped))
        yield {"unit_id": unit.pk, "rater": rater, "swapped": swapped, **answer_fields(answer)}


def _units_to_answer(study: Study, kind: Kind) -> Iterable[Unit]:
    """Return the units of the study that are not control items, with the fields that reading an answer needs."""
    units = Unit.objects.filter(study=study, control=False)
    return units.select_related("first") if kind.is_open else units.only("key")


def _parse_integer(value: Any) -> Any:
    """Return the integer in a CSV cell or a JSON value, or the value unchanged if it is no integer."""
    text = str(value).strip()
    return int(text) if text.lstrip("-").isdecimal() and text.isascii() else value


def _parse_rows(answers: str, column: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the line number and the row of each answer, from JSON lines if the text begins with "{", or else CSV."""
    text = answers.removeprefix("\ufeff")
    if text.lstrip().startswith("{"):
        for line_number, line in enumerate(text.splitlines(), start=1):
            if not line.strip():
                continue
            try:
                row = load_json(line)
            except ValueError:
                row = None
            if not isinstance(row, dict):
                raise EvaluationError(
                    f"Line {line_number} is no JSON object, expected one with unit and {column}."
                )
            yield line_number, row
        return
    table = csv.DictReader(io.StringIO(text))
    try:
        missing_columns = [name for name in ("unit", column) if name not in (table.fieldnames or ())]
        if missing_columns:
            raise EvaluationError(
                f"The first line names no column {missing_columns[0]!r}; expected unit and {column}, and "
                "rater and order if known."
            )
        for row in table:
            yield table.line_num, row
    except csv.Error as error:
        raise EvaluationError(f"Line {table.reader.line_num} is no CSV: {error}.") from None
