"""Read workers' judgments from the database, in the form that detectors examine."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from annotation.models import Assignment, Judgment, Worker
from annotation.models.assignments import FINISHED_STATES
from annotation.quality.controls import ControlAnswer, control_answers
from annotation.quality.detectors.history import (
    MAX_TEXTS_OF_OTHERS,
    NAN,
    WINDOW,
    AnswerFormat,
    History,
    OthersJudgment,
    OthersText,
    OwnJudgment,
    WrittenAnswer,
    make_history,
)
from annotation.quality.detectors.honesty import hidden_word, is_pasted
from judgments.kinds import KINDS, Kind
from judgments.models import Study, Unit
from judgments.studies.designs import kind_of

# The columns to read for answers that are values, for other open answers, and for texts that people write. The HIT
# stands for the assignment, since its integer key is faster to read than a UUID.
VALUE_COLUMNS = ("assignment__hit_id", "unit_id", "value", "presented", "seconds")
OPEN_COLUMNS = (*VALUE_COLUMNS, "signals")
WRITTEN_COLUMNS = (*OPEN_COLUMNS, "answer", "assignment__hit__key", "assignment__worker__name", "pk")


def answer_format_of(study: Study) -> AnswerFormat:
    """Return the form of a study's answers, which says which detectors apply."""
    kind = kind_of(study)
    # read the stored JSON, as in _with_design_settings
    writing = study.design.get("writing", {})
    return AnswerFormat.from_values(
        kind.outcomes,
        level=kind.aggregation.level,
        has_sides=kind.two_sided,
        is_text=kind.writes_captions,
        records_typing=bool(writing.get("record")),
        hidden_line=bool(writing.get("hidden_line")),
    )


@dataclass(slots=True)
class JudgmentReader:
    """A reader that converts rows of ``columns`` into judgments.

    Attributes:
        assignment_numbers: the number of each assignment, from 0 in the order read, by the row id of its HIT.
        seed: the seed of the study if its pages have a hidden line, else None.
    """

    kind: Kind
    assignment_numbers: dict[int, int]
    seed: int | None = None

    @classmethod
    def for_study(cls, study: Study) -> JudgmentReader:
        has_hidden_line = study.design.get("writing", {}).get("hidden_line")
        return cls(KINDS[study.protocol], {}, study.design["seed"] if has_hidden_line else None)

    def read(self, row: tuple[Any, ...]) -> OwnJudgment:
        """Return the judgment with the values of ``columns``. Further values may follow them in the row."""
        hit, unit, value, presented, seconds = row[: len(VALUE_COLUMNS)]
        shown_answer = is_left = pasted = NAN
        written = None
        if value is None:
            pasted = float(is_pasted(row[OPEN_COLUMNS.index("signals")]))
            written = self._read_text(row) if self.kind.writes_captions else None
        else:
            value = self.kind.outcome_of(value)
            shown_answer = self.kind.sides.from_canonical(
                value, side=presented == Judgment.Presented.SECOND_LEFT
            )
            is_left = float(shown_answer == 1) if presented and shown_answer in (1, 2) else NAN
        return OwnJudgment(
            assignment=self.assignment_numbers.setdefault(hit, len(self.assignment_numbers)),
            unit=unit,
            seen=shown_answer,
            value=NAN if value is None else value,
            left=is_left,
            seconds=NAN if seconds is None else seconds,
            pasted=pasted,
            written=written,
        )

    def _read_text(self, row: tuple[Any, ...]) -> WrittenAnswer:
        signals, text, hit_key, worker, position = row[len(VALUE_COLUMNS) : len(WRITTEN_COLUMNS)]
        word = "" if self.seed is None else hidden_word(seed=self.seed, hit=hit_key or "", worker=worker)
        return WrittenAnswer(text, signals, word, position)

    @property
    def columns(self) -> tuple[str, ...]:
        if self.kind.writes_captions:
            return WRITTEN_COLUMNS
        return OPEN_COLUMNS if self.kind.is_open else VALUE_COLUMNS


def count_submitted_pages(study: Study, worker: int) -> int:
    return Assignment.objects.filter(worker=worker, study=study, submitted_at__isnull=False).count()


def count_worker_judgments(study: Study, worker: int) -> int:
    """Return the number of a worker's submitted judgments, whether they are used or not. Revisions do not count."""
    finished = Assignment.objects.filter(study=study, worker=worker, submitted_at__isnull=False)
    return Judgment.objects.filter(assignment__in=finished, replaces__isnull=True).count()


def history_of(
    study: Study, worker: int, *, total: int, pages: int, with_others: bool, with_texts: bool = False
) -> History:
    """Return the history of the worker's latest judgments.

    Args:
        total: the number of the worker's judgments in the study.
        pages: how many of the worker's latest pages are new to the detectors.
        with_others: whether to add others' judgments on the same units.
        with_texts: whether to add others' written answers to any unit.
    """
    reader = JudgmentReader.for_study(study)
    valid_judgments = Judgment.objects.filter(assignment__state__in=FINISHED_STATES, replaced_by__isnull=True)
    workers_judgments = valid_judgments.filter(assignment__study=study, assignment__worker=worker)
    latest_rows = workers_judgments.order_by("-pk").values_list(*reader.columns)[:WINDOW]
    judgments = [reader.read(row) for row in reversed(latest_rows)]
    # assignments are numbered in order, so the latest ``pages`` have the highest numbers
    first_new_number = len(reader.assignment_numbers) - pages
    new_count = sum(judgment.assignment >= first_new_number for judgment in judgments)
    judgments_of_others: defaultdict[int, list[OthersJudgment]] = defaultdict(list)
    if with_others:
        units = [judgment.unit for judgment in judgments]
        others_rows = valid_judgments.filter(unit__in=units).exclude(assignment__worker=worker)
        for unit, value, seconds in others_rows.values_list("unit_id", "value", "seconds"):
            judgments_of_others[unit].append(
                OthersJudgment(
                    value=NAN if value is None else reader.kind.outcome_of(value),
                    seconds=NAN if seconds is None else seconds,
                )
            )
    others_texts: list[OthersText] = []
    if with_texts:
        others_rows = valid_judgments.filter(assignment__study=study).exclude(assignment__worker=worker)
        text_rows = others_rows.order_by("-pk").values_list(
            "assignment__worker_id", "unit_id", "answer", "pk"
        )
        others_texts = [
            OthersText(worker=author, unit=unit, text=str(text), position=pk)
            for author, unit, text, pk in text_rows[:MAX_TEXTS_OF_OTHERS]
        ]
    return make_history(
        judgments,
        judgments_of_others,
        answers=answer_format_of(study),
        total=total,
        fresh=new_count,
        others_texts=others_texts,
    )


def control_history_of(study: Study, worker: Worker, *, pages: int) -> History:
    """Return the history of the worker's answers to control items. Answers on the latest ``pages`` pages are new."""
    finished = Assignment.objects.filter(worker=worker, study=study, submitted_at__isnull=False)
    new_pages = set(finished.order_by("-submitted_at", "-pk").values_list("pk", flat=True)[:pages])
    answers = control_answers(study, workers=[worker.pk])
    kind = kind_of(study)
    judgments = [control_judgment(answer, kind, number) for number, answer in enumerate(answers)]
    new_count = sum(answer.assignment in new_pages for answer in answers)
    return make_history(judgments, {}, answers=answer_format_of(study), total=len(judgments), fresh=new_count)


def control_judgment(answer: ControlAnswer, kind: Kind, assignment_number: int) -> OwnJudgment:
    """Return an answer to a control item as a judgment that says only whether it is right, or equals the first one."""
    is_right = float(kind.is_right(answer.answer, answer.expected))
    is_repeated = answer.control_kind == Unit.ControlKind.REPEATED
    right, agrees = (NAN, is_right) if is_repeated else (is_right, NAN)
    return OwnJudgment(assignment_number, answer.unit, seen=NAN, value=NAN, right=right, agrees=agrees)
