"""Read workers' judgments from the database, in the form that detectors examine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.models import Assignment, Judgment, Worker
from annotation.models.assignments import FINISHED_STATES
from annotation.models.judgments import JudgmentQuerySet
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
    is_pasted,
    make_history,
)
from annotation.work.sheet.hidden_line import hidden_word
from judgments.kinds import KINDS, Kind
from judgments.models import Study, Unit
from judgments.studies.designs import kind_of

# The columns of judgments to read: for answers that are numbers, for open answers, and for open answers that are texts
# by people. The HIT identifies the assignment of a worker, since its integer key is faster to read than a UUID.
VALUE_COLUMNS = ("assignment__hit_id", "unit_id", "value", "presented", "seconds")
OPEN_COLUMNS = (*VALUE_COLUMNS, "signals")
WRITTEN_COLUMNS = (*OPEN_COLUMNS, "answer", "assignment__hit__key", "assignment__worker__name", "pk")


def answer_format_of(study: Study) -> AnswerFormat:
    """Return the form of a study's answers, which says which detectors apply."""
    kind = kind_of(study)
    # the stored JSON of a study that is older than this table of the design lacks it
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
    """A converter of judgments' database rows (tuples of the columns ``columns``) into ``OwnJudgment``.

    Attributes:
        kind: the study's kind without its settings, which do not change how answers are read.
        assignment_numbers: the number of each assignment, from 0 in the order read, by the row id of its HIT.
        seed: the study's seed if its pages hide a line with a word, which only programs read; else None.
    """

    kind: Kind
    assignment_numbers: dict[int, int]
    seed: int | None = None

    @classmethod
    def for_study(cls, study: Study) -> JudgmentReader:
        has_hidden_line = study.design.get("writing", {}).get("hidden_line")
        return cls(KINDS[study.protocol], {}, study.design["seed"] if has_hidden_line else None)

    def read(self, row: tuple[Any, ...]) -> OwnJudgment:
        """Return the judgment of a row, which begins with the values of ``columns``. Further values are ignored."""
        hit, unit, value, presented, seconds = row[: len(VALUE_COLUMNS)]
        judgment = OwnJudgment(
            assignment=self.assignment_numbers.setdefault(hit, len(self.assignment_numbers)),
            unit=unit,
            shown_value=NAN,
            value=NAN,
            seconds=NAN if seconds is None else seconds,
        )
        if value is None:  # an open answer
            return judgment._replace(
                is_pasted=float(is_pasted(row[OPEN_COLUMNS.index("signals")])),
                written_answer=self._read_text(row) if self.kind.writes_captions else None,
            )
        value = self.kind.outcome_of(value)  # without strength and confidence
        shown_value = self.kind.sides.from_canonical(value, side=presented == Judgment.Presented.SECOND_LEFT)
        is_on_a_side = presented and shown_value in (1, 2)  # 1 is the left option, 2 the right one
        chose_left = float(shown_value == 1) if is_on_a_side else NAN
        return judgment._replace(value=value, shown_value=shown_value, chose_left=chose_left)

    def _read_text(self, row: tuple[Any, ...]) -> WrittenAnswer:
        signals, text, hit_key, worker_name, pk = row[len(VALUE_COLUMNS) : len(WRITTEN_COLUMNS)]
        # only imported work may have no HIT
        word = "" if self.seed is None else hidden_word(seed=self.seed, hit=hit_key or "", worker=worker_name)
        return WrittenAnswer(text, signals, word, position=pk)  # later answers have higher row ids

    @property
    def columns(self) -> tuple[str, ...]:
        if self.kind.writes_captions:
            return WRITTEN_COLUMNS
        return OPEN_COLUMNS if self.kind.is_open else VALUE_COLUMNS


def count_submitted_pages(study: Study, worker: int) -> int:
    return Assignment.objects.filter(worker=worker, study=study, submitted_at__isnull=False).count()


def count_worker_judgments(study: Study, worker: int) -> int:
    """Return the number of a worker's submitted judgments, whether they are used or not. A revised one counts once."""
    finished_work = Assignment.objects.filter(study=study, worker=worker, submitted_at__isnull=False)
    return Judgment.objects.filter(assignment__in=finished_work, replaces__isnull=True).count()


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
    others_judgments = valid_judgments.exclude(assignment__worker=worker)
    judgments_of_others: Mapping[int, Sequence[OthersJudgment]] = {}
    if with_others:
        units = [judgment.unit for judgment in judgments]
        judgments_of_others = _judgments_by_unit(others_judgments.filter(unit__in=units), reader.kind)
    others_texts: Sequence[OthersText] = ()
    if with_texts:
        others_texts = _latest_texts(others_judgments.filter(assignment__study=study))
    return make_history(
        judgments,
        judgments_of_others,
        answer_format=answer_format_of(study),
        total=total,
        new_count=new_count,
        others_texts=others_texts,
    )


def _judgments_by_unit(judgments: JudgmentQuerySet, kind: Kind) -> Mapping[int, Sequence[OthersJudgment]]:
    judgments_by_unit: defaultdict[int, list[OthersJudgment]] = defaultdict(list)
    for unit, value, seconds in judgments.values_list("unit_id", "value", "seconds"):
        judgments_by_unit[unit].append(
            OthersJudgment(
                value=NAN if value is None else kind.outcome_of(value),
                seconds=NAN if seconds is None else seconds,
            )
        )
    return judgments_by_unit


def _latest_texts(judgments: JudgmentQuerySet) -> list[OthersText]:
    rows = judgments.order_by("-pk").values_list("assignment__worker_id", "unit_id", "answer", "pk")
    return [
        OthersText(worker=author, unit=unit, text=str(text), position=pk)
        for author, unit, text, pk in rows[:MAX_TEXTS_OF_OTHERS]
    ]


def control_history_of(study: Study, worker: Worker, *, pages: int) -> History:
    """Return the history of the worker's answers to control items. Answers on the latest ``pages`` pages are new."""
    finished_work = Assignment.objects.filter(worker=worker, study=study, submitted_at__isnull=False)
    new_pages = set(finished_work.order_by("-submitted_at", "-pk").values_list("pk", flat=True)[:pages])
    answers = control_answers(study, workers=[worker.pk])
    kind = kind_of(study)
    # the detectors of control items do not look at assignments, so any numbers will do
    judgments = [control_judgment(answer, kind, number) for number, answer in enumerate(answers)]
    new_count = sum(answer.assignment in new_pages for answer in answers)
    return make_history(
        judgments, {}, answer_format=answer_format_of(study), total=len(judgments), new_count=new_count
    )


def control_judgment(answer: ControlAnswer, kind: Kind, assignment_number: int) -> OwnJudgment:
    """Return an answer to a control item as a judgment.

    It has only ``is_right`` or, for a repeated unit, only ``is_consistent``.
    """
    judgment = OwnJudgment(assignment_number, answer.unit, shown_value=NAN, value=NAN)
    is_as_expected = float(kind.is_right(answer.answer, answer.expected))
    if answer.control_kind == Unit.ControlKind.REPEATED:
        return judgment._replace(is_consistent=is_as_expected)
    return judgment._replace(is_right=is_as_expected)
