"""The base of detectors: a name, settings, and a test of one worker's history.

Statistical detectors look at a worker repeatedly. Each look spends a part of ``alpha``, so that the probability of
*ever* flagging a worker who follows the null hypothesis is at most ``alpha`` (a union bound, valid under any
dependence). Looks are due at ``least`` judgments, then at steps that grow by a quarter, up to 125; the k-th spends
alpha / (k (k + 1)), which sums to alpha over all k. They happen after pages 1, 2, 3, 4, 6, 9, 13 and so on, up to
eight pages apart; a look that passes several due numbers spends all their parts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from django.utils import translation
from django.utils.translation import gettext as _
from pydantic import BaseModel, ConfigDict, Field

from annotation.quality.detectors.base import AnswerFormat, History, OwnJudgment
from common.amounts import thousands

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
    words: str
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
    def can_examine(cls, one: OwnJudgment) -> bool:
        """Return whether an answer has the data that the detector needs."""
        return True

    def is_due(self, *, total: int, fresh: int) -> bool:
        """Return whether a look is due at ``total`` judgments (or control items), ``fresh`` of them new."""
        return alpha_share(self.least, total=total, fresh=fresh) > 0

    @abstractmethod
    def in_words(self, numbers: Mapping[str, Any]) -> str:
        """Return the sentence for the numbers of a finding, in the reader's language."""

    def make_finding(self, history: History, **evidence: Any) -> Finding:
        """Return a finding with rounded numbers; its stored sentence is English."""
        with translation.override("en"):
            words = self.in_words(evidence)
        plain = {
            key: float(f"{value:.4g}") if isinstance(value, float) else value
            for key, value in evidence.items()
        }
        return Finding(rule=self.name, judgments=history.total, words=words, evidence=plain)


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


def chance_in_words(p: float) -> str:
    if p >= 0.1:
        return _("about %(n)s in 100") % {"n": round(100 * p)}
    if p < 1e-6:
        return _("less than 1 in a million")
    digits = round(1 / p)
    size = 10 ** max(0, len(str(digits)) - 2)
    return _("about 1 in %(n)s") % {"n": thousands(digits // size * size)}
