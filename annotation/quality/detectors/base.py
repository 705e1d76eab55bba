"""The base of detectors: the history of one worker's judgments, and a rule with a name, settings and a test of it.

Statistical detectors look at a worker repeatedly. Each look spends a part of ``alpha``, so that the probability of
*ever* flagging a worker who follows the null hypothesis is at most ``alpha`` (a union bound, valid under any
dependence). Looks are due at ``least`` judgments, then at steps that grow by a quarter, up to 125; the k-th spends
alpha / (k (k + 1)), which sums to alpha over all k. They happen after pages 1, 2, 3, 4, 6, 9, 13 and so on, up to
eight pages apart; a look that passes several due numbers spends all their parts.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
import scipy  # loads its parts on first use
from django.utils import translation
from django.utils.translation import gettext as _
from pydantic import BaseModel, ConfigDict, Field

from common.amounts import thousands
from quorum.numeric.arrays import Floats, Ints

WINDOW = 300  # only the latest judgments are examined
MOST_OTHERS_TEXTS = 2_000  # compared with the worker's texts
NAN = float("nan")


@dataclass(frozen=True, slots=True)
class AnswerFormat:
    """The form of a study's answers.

    Attributes:
        values: the number of possible answers; 0 for open answers.
        sided: whether two candidates are on randomly drawn sides.
        agreement_distance: up to which answers agree: 0 for nominal answers, a tenth of the scale (at least half a
            step) for quantities.
        written: whether people write whole texts.
        recorded: whether the page counts how they write.
        hidden_line: whether the page holds a line for programs.
    """

    values: int
    sided: bool
    agreement_distance: float
    written: bool = False
    recorded: bool = False
    hidden_line: bool = False

    @classmethod
    def from_values(
        cls, values: Sequence[float], *, level: str, sided: bool, **writing: bool
    ) -> AnswerFormat:
        nominal = level == "nominal" or not values
        length = 0.0 if nominal else max(values) - min(values)
        distance = max(length / (len(values) - 1) / 2, length / 10) if length else 0.0
        return cls(values=len(values), sided=sided, agreement_distance=distance, **writing)


class WrittenAnswer(NamedTuple):
    """A written answer.

    Attributes:
        signals: the page's counts of how it was written (docs/honest-answers.md), if any.
        word: the word that only the page's hidden line named; "" without such a line.
        at: its place in the order of all answers of the study.
    """

    text: str
    signals: Mapping[str, int] = {}
    word: str = ""
    at: int = 0


class OthersText(NamedTuple):
    worker: int
    unit: int
    text: str
    at: int = 0


class OwnJudgment(NamedTuple):
    """One judgment of the worker. Floats are nan where they do not apply.

    Attributes:
        assignment: a number that identifies the assignment.
        seen: the answer as seen; ``value`` has the unit's order.
        left: 1.0 for the left option, 0.0 for the right.
        right: 1.0 or 0.0 on a control item.
        same: on a repeated unit, 1.0 for an equal answer, else 0.0.
        pasted: 1.0 if text was pasted into an open answer, else 0.0.
        written: the text, of kinds whose answers are texts.
    """

    assignment: int
    unit: int
    seen: float
    value: float
    left: float = NAN
    seconds: float = NAN
    right: float = NAN
    same: float = NAN
    pasted: float = NAN
    written: WrittenAnswer | None = None

    @property
    def is_control(self) -> bool:
        """Return whether it is a control item that counts, or a repeated unit."""
        return not (math.isnan(self.right) and math.isnan(self.same))


NUMBER_FIELDS = OwnJudgment._fields.index("written")  # fields before it are numbers


class OthersJudgment(NamedTuple):
    value: float
    seconds: float


@dataclass(frozen=True, slots=True)
class History:
    """A worker's latest judgments (at most ``WINDOW``), oldest first, as (N,) arrays of ``OwnJudgment``'s fields.

    Attributes:
        total: the worker's judgments in the study, or on control items for detectors with ``controls_only``.
        fresh: how many of them are new since the last look.
        labels: (V,) the values in the others' answers.
        others: (N, V) how many others gave each value to the unit of each judgment.
        others_seconds: (M,) their times on these units.
        written: the worker's texts by judgment; None for other answers.
        others_texts: the latest texts of others in the study, of all units.
    """

    answers: AnswerFormat
    total: int
    fresh: int
    assignment: Ints
    unit: Ints
    seen: Floats
    value: Floats
    left: Floats
    seconds: Floats
    right: Floats
    same: Floats
    pasted: Floats
    labels: Floats
    others: Ints
    others_seconds: Floats
    written: Sequence[WrittenAnswer | None] = ()
    others_texts: Sequence[OthersText] = ()

    def __len__(self) -> int:
        return len(self.unit)

    @property
    def others_count(self) -> Ints:
        return self.others.sum(axis=1)

    @property
    def others_same(self) -> Ints:
        """Return (N,) how many others gave the worker's answer."""
        return (self.others * (self.labels[None, :] == self.value[:, None])).sum(axis=1)


def make_history(
    judgments: Sequence[OwnJudgment],
    others: Mapping[int, Sequence[OthersJudgment]],
    *,
    answers: AnswerFormat,
    total: int,
    fresh: int,
    others_texts: Sequence[OthersText] = (),
) -> History:
    latest = judgments[-WINDOW:]
    numbers = [judgment[:NUMBER_FIELDS] for judgment in latest]
    columns = np.array(numbers, dtype=np.float64).reshape(-1, NUMBER_FIELDS).T
    unit = columns[1].astype(np.int64)
    values: list[float] = []
    rows: list[int] = []
    seconds: list[float] = []
    for row, judgment in enumerate(unit.tolist()):
        for other in others.get(judgment, ()):
            values.append(other.value)
            rows.append(row)
            seconds.append(other.seconds)
    others_values = np.array(values, dtype=np.float64)
    known = ~np.isnan(others_values)
    labels, places = np.unique(others_values[known], return_inverse=True)
    counts = np.zeros((len(latest), len(labels)), dtype=np.int64)
    np.add.at(counts, (np.array(rows, dtype=np.int64)[known], places), 1)
    times = np.array(seconds, dtype=np.float64)
    return History(
        answers=answers,
        total=total,
        fresh=fresh,
        assignment=columns[0].astype(np.int64),
        unit=unit,
        seen=columns[2],
        value=columns[3],
        left=columns[4],
        seconds=columns[5],
        right=columns[6],
        same=columns[7],
        pasted=columns[8],
        labels=labels,
        others=counts,
        others_seconds=times[~np.isnan(times)],
        written=[judgment.written for judgment in latest],
        others_texts=others_texts,
    )


GROWTH = 4  # the next look is due after a quarter more judgments
LONGEST_STEP = 125
GROWTH_OF_PAGES, LONGEST_PAGES = 2, 8

Share = Annotated[float, Field(ge=0, le=1)]
Alpha = Annotated[float, Field(gt=0, le=0.2)]
Least = Annotated[int, Field(ge=1, le=10_000)]


@dataclass(frozen=True, slots=True)
class Finding:
    """The evidence against a worker, as a sentence and in numbers."""

    rule: str
    judgments: int
    sentence: str
    evidence: dict[str, Any]


class Rule(BaseModel, ABC):
    """A detector; its fields are its settings.

    Attributes:
        controls_only: whether it gets control items only, and counts its looks by them.
        only_flags: whether it may only flag, as it finds signs and no proof.
        false_alarms: how often it flags honest people, in a sentence; "" where docs/quality.md says it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: ClassVar[str]
    title: ClassVar[str]
    description: ClassVar[str]
    needs_others: ClassVar[bool] = False
    needs_texts: ClassVar[bool] = False
    controls_only: ClassVar[bool] = False
    only_flags: ClassVar[bool] = False
    false_alarms: ClassVar[str] = ""

    least: Least = 20

    @abstractmethod
    def examine(self, history: History) -> Finding | None:
        pass

    @classmethod
    def applies_to(cls, answers: AnswerFormat) -> bool:
        return True

    @classmethod
    def can_examine(cls, judgment: OwnJudgment) -> bool:
        """Return whether an answer has the data that the detector needs."""
        return True

    def is_due(self, *, total: int, fresh: int) -> bool:
        """Return whether a look is due at ``total`` judgments (or control items), ``fresh`` of them new."""
        return alpha_share(self.least, total=total, fresh=fresh) > 0

    @abstractmethod
    def describe(self, numbers: Mapping[str, Any]) -> str:
        """Return the sentence for the numbers of a finding, in the reader's language."""

    def make_finding(self, history: History, **evidence: Any) -> Finding:
        """Return a finding with rounded numbers; its stored sentence is English."""
        with translation.override("en"):
            sentence = self.describe(evidence)
        plain = {
            key: float(f"{value:.4g}") if isinstance(value, float) else value
            for key, value in evidence.items()
        }
        return Finding(rule=self.name, judgments=history.total, sentence=sentence, evidence=plain)


class SequentialRule(Rule):
    """A statistical detector; ``alpha`` bounds its false alarms over all looks at a worker."""

    alpha: Alpha = 0.001

    def alpha_now(self, history: History) -> float:
        """Return the alpha of this look; 0 if none is due."""
        return self.alpha * alpha_share(self.least, total=history.total, fresh=history.fresh)


def look_schedule(least: int, *, growth: int = GROWTH, longest: int = LONGEST_STEP) -> Iterator[int]:
    due = least
    while True:
        yield due
        due += min(max(due // growth, 1), longest)


def pages_since_look(pages: int) -> int:
    """Return how many pages a look after page ``pages`` (from 1) covers; 0 if none is due."""
    before = 0
    for due in look_schedule(1, growth=GROWTH_OF_PAGES, longest=LONGEST_PAGES):
        if due >= pages:
            return pages - before if due == pages else 0
        before = due
    return 0


def alpha_share(least: int, *, total: int, fresh: int) -> float:
    """Return the share of alpha for a look after ``total`` judgments, ``fresh`` of them new."""
    share = 0.0
    for number, due in enumerate(look_schedule(least), start=1):
        if due > total:
            return share
        if due > total - fresh:
            share += 1 / (number * (number + 1))
    return share


def describe_chance(p: float) -> str:
    if p >= 0.1:
        return _("about %(n)s in 100") % {"n": round(100 * p)}
    if p < 1e-6:
        return _("less than 1 in a million")
    digits = round(1 / p)
    size = 10 ** max(0, len(str(digits)) - 2)
    return _("about 1 in %(n)s") % {"n": thousands(digits // size * size)}


def binomial_at_most(count: int, n: int, chance: float) -> float:
    """Return P(X <= count) for X ~ binomial(n, chance)."""
    return 1.0 if count >= n else float(scipy.special.bdtr(count, n, min(max(chance, 0.0), 1.0)))


def binomial_at_least(count: int, n: int, chance: float) -> float:
    """Return P(X >= count) for X ~ binomial(n, chance)."""
    return 1.0 if count <= 0 else float(scipy.special.bdtrc(count - 1, n, min(max(chance, 0.0), 1.0)))
