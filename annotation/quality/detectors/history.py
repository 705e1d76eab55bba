"""The history of one worker's judgments, as arrays that detectors examine.

``make_history`` builds it from rows: the worker's judgments (``OwnJudgment``), and those of others on the same units.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from quorum.numeric.arrays import Floats, Ints

WINDOW = 300  # number of a worker's latest judgments that are examined
MAX_TEXTS_OF_OTHERS = 2_000  # texts of others that are compared with the worker's
NAN = float("nan")


@dataclass(frozen=True, slots=True)
class AnswerFormat:
    """The form of a study's answers.

    Attributes:
        value_count: the number of possible answers; 0 for open answers.
        has_sides: whether two candidates are on randomly drawn sides.
        agreement_distance: the largest difference between two answers that count as agreeing: 0 for nominal
            answers, a tenth of the scale (but at least half a step) for quantities.
        is_text: whether the answers are whole texts that people write.
        records_typing: whether the page records how they write.
        hidden_line: whether the page contains a line that only programs read.
    """

    value_count: int
    has_sides: bool
    agreement_distance: float
    is_text: bool = False
    records_typing: bool = False
    hidden_line: bool = False

    @classmethod
    def from_values(
        cls, values: Sequence[float], *, level: str, has_sides: bool, **features: bool
    ) -> AnswerFormat:
        """Return the format of answers with these possible values.

        Args:
            values: the possible values in equal steps; empty for open answers.
            level: the level of measurement: "nominal" or one of quantities.
            features: the fields ``is_text``, ``records_typing`` and ``hidden_line``.
        """
        is_nominal = level == "nominal" or not values
        length = 0.0 if is_nominal else max(values) - min(values)
        half_step = length / (len(values) - 1) / 2 if length else 0.0
        distance = max(half_step, length / 10)
        return cls(value_count=len(values), has_sides=has_sides, agreement_distance=distance, **features)


def is_pasted(signals: Mapping[str, int]) -> bool:
    """Return whether an answer counts as pasted: if half of its text was pasted, or dragged into the field.

    If the page did not record how much was pasted, any pasted text suffices.

    Args:
        signals: the page's counts, such as ``{"text": 80, "from_paste": 60, "pasted": 1}``: the characters of the text,
            those of them that were pasted, and how often the worker pasted.
    """
    if signals.get("text"):
        return 2 * signals.get("from_paste", 0) >= signals["text"]
    return bool(signals.get("pasted"))


class WrittenAnswer(NamedTuple):
    """The text that a worker wrote as an answer, and how it was written.

    Attributes:
        signals: the page's counts of how the answer was written (contrib/honest_answers/README.md), if any.
        word: the word that only the page's hidden line names; "" without such a line.
        position: the answer's position in the order of all answers of the study.
    """

    text: str
    signals: Mapping[str, int] = {}
    word: str = ""
    position: int = 0


class OthersText(NamedTuple):
    """A text by another worker; ``worker`` and ``unit`` are row ids, ``position`` is as in ``WrittenAnswer``."""

    worker: int
    unit: int
    text: str
    position: int = 0


class OwnJudgment(NamedTuple):
    """One judgment of the worker. Floats are nan where they do not apply.

    Attributes:
        assignment: a number that identifies the assignment.
        unit: the row id of the unit.
        shown_value: the answer in the order in which the worker saw the options, such as 1 for the left one.
        value: the answer in the unit's order of the options, which is the same for all workers.
        chose_left: 1.0 if the left option was chosen, 0.0 if the right one was.
        seconds: the active time of the answer.
        is_right: on a control item, 1.0 for a right answer, else 0.0.
        is_consistent: on a repeated unit, 1.0 if both answers are equal, else 0.0.
        is_pasted: 1.0 if text was pasted into an open answer, else 0.0.
        written_answer: the text, for kinds whose answers are texts.
    """

    assignment: int
    unit: int
    shown_value: float
    value: float
    chose_left: float = NAN
    seconds: float = NAN
    is_right: float = NAN
    is_consistent: float = NAN
    is_pasted: float = NAN
    written_answer: WrittenAnswer | None = None

    @property
    def is_control(self) -> bool:
        """Whether the judgment is on a control item that counts, or on a repeated unit."""
        return not (math.isnan(self.is_right) and math.isnan(self.is_consistent))


FLOAT_FIELDS = ("shown_value", "value", "chose_left", "seconds", "is_right", "is_consistent", "is_pasted")
NUMBER_FIELDS = ("assignment", "unit", *FLOAT_FIELDS)  # the order is that of ``OwnJudgment``


class OthersJudgment(NamedTuple):
    """A judgment of another worker on the same unit. Its fields are those of ``OwnJudgment``."""

    value: float
    seconds: float


@dataclass(frozen=True, slots=True)
class History:
    """A worker's N latest judgments (at most ``WINDOW``), oldest first.

    Fields that are not described here are (N,) arrays of the fields of ``OwnJudgment``.

    Attributes:
        answer_format: the form of the study's answers.
        total: the number of the worker's judgments in the study; for detectors with ``controls_only``, of those on
            control items.
        new_count: how many of them are new since detectors last examined the worker.
        others_values: (V,) the different values in the others' answers, ascending.
        others_value_counts: (N, V) how many others gave each of ``others_values`` to the unit of each judgment.
        others_seconds: (M,) the times of the others' answers to these units, without unknown ones.
        written_answers: the worker's text of each judgment; None for answers that are no texts.
        others_texts: the latest texts of others in the study, about any unit.
    """

    answer_format: AnswerFormat
    total: int
    new_count: int
    assignment: Ints
    unit: Ints
    shown_value: Floats
    value: Floats
    chose_left: Floats
    seconds: Floats
    is_right: Floats
    is_consistent: Floats
    is_pasted: Floats
    others_values: Floats
    others_value_counts: Ints
    others_seconds: Floats
    written_answers: Sequence[WrittenAnswer | None] = ()
    others_texts: Sequence[OthersText] = ()

    def __len__(self) -> int:
        return len(self.unit)

    @property
    def others_answer_counts(self) -> Ints:
        """The number of others who answered the unit of each judgment: (N,)."""
        return self.others_value_counts.sum(axis=1)

    @property
    def others_agreeing_counts(self) -> Ints:
        """The number of others who gave the same answer as the worker to the unit of each judgment: (N,)."""
        is_workers_value = self.others_values[None, :] == self.value[:, None]
        return (self.others_value_counts * is_workers_value).sum(axis=1)


def make_history(
    judgments: Sequence[OwnJudgment],
    others_judgments: Mapping[int, Sequence[OthersJudgment]],
    *,
    answer_format: AnswerFormat,
    total: int,
    new_count: int,
    others_texts: Sequence[OthersText] = (),
) -> History:
    """Return a worker's history.

    Args:
        judgments: the worker's judgments, oldest first.
        others_judgments: others' judgments by the row id of their unit.
    """
    latest_judgments = judgments[-WINDOW:]
    number_rows = [judgment[: len(NUMBER_FIELDS)] for judgment in latest_judgments]
    table = np.array(number_rows, dtype=np.float64)
    table = table.reshape(-1, len(NUMBER_FIELDS))  # (N, fields), also if N is 0
    columns = dict(zip(NUMBER_FIELDS, table.T, strict=True))
    unit = columns["unit"].astype(np.int64)
    others_values, value_counts, others_seconds = _tabulate_others(unit, others_judgments)
    return History(
        answer_format=answer_format,
        total=total,
        new_count=new_count,
        assignment=columns["assignment"].astype(np.int64),
        unit=unit,
        **{name: columns[name] for name in FLOAT_FIELDS},
        others_values=others_values,
        others_value_counts=value_counts,
        others_seconds=others_seconds,
        written_answers=[judgment.written_answer for judgment in latest_judgments],
        others_texts=others_texts,
    )


def _tabulate_others(
    unit: Ints, others_judgments: Mapping[int, Sequence[OthersJudgment]]
) -> tuple[Floats, Ints, Floats]:
    """Return ``others_values``, ``others_value_counts`` and ``others_seconds`` of a history.

    Args:
        unit: (N,) the row id of the unit of each judgment of the history.
    """
    # one entry for each judgment of another worker on the unit of a row of the history
    row_indices: list[int] = []
    values: list[float] = []
    seconds: list[float] = []
    for row_index, unit_id in enumerate(unit.tolist()):
        for judgment in others_judgments.get(unit_id, ()):
            row_indices.append(row_index)
            values.append(judgment.value)
            seconds.append(judgment.seconds)
    all_values = np.array(values, dtype=np.float64)
    has_value = ~np.isnan(all_values)
    rows_with_value = np.array(row_indices, dtype=np.int64)[has_value]
    others_values, value_indices = np.unique(all_values[has_value], return_inverse=True)
    value_counts = np.zeros((len(unit), len(others_values)), dtype=np.int64)
    # add.at counts equal pairs of indices one by one, which ``value_counts[...] += 1`` would not
    np.add.at(value_counts, (rows_with_value, value_indices), 1)
    others_seconds = np.array(seconds, dtype=np.float64)
    return others_values, value_counts, others_seconds[~np.isnan(others_seconds)]
