"""What a rule is: a name, settings that are data, and a look at one worker's history.

Rules that test look at a worker's history more than once, after pages of work. Testing at the same level every time
would accuse more and more honest people, so each look spends a part of ``alpha``, and all of them together no more
than ``alpha``: the chance that a worker who answers as the rule's null says is *ever* accused by it (a union bound,
which holds whatever the looks have in common). Looks are due when the number of judgments passes ``least``, then at
steps that grow by a quarter, up to 125 judgments; the k-th may spend alpha / (k (k + 1)), which sums to alpha over
all k. They happen at the end of a page, after pages 1, 2, 3, 4, 6, 9, 13 and so on, up to eight pages apart; one that
passes several at once spends all their parts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from annotation.quality.detectors.history import Answers, History

GROWTH = 4  # a look is due again after a quarter more judgments
LONGEST_STEP = 125
GROWTH_OF_PAGES, LONGEST_PAGES = 2, 8

Share = Annotated[float, Field(ge=0, le=1)]
Alpha = Annotated[float, Field(gt=0, le=0.2)]
Least = Annotated[int, Field(ge=1, le=10_000)]


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule found against a worker.

    Attributes:
        rule: its name.
        judgments: how many judgments the worker had made.
        words: the evidence in a sentence.
        evidence: the evidence in numbers; ``p`` and ``level`` where the rule tests.
    """

    rule: str
    judgments: int
    words: str
    evidence: dict[str, Any]


class Rule(BaseModel, ABC):
    """One rule; its fields are its settings.

    Attributes:
        name: as in study files.
        title: the rule in a few words.
        about: what it looks at, for the designer.
        needs_others: whether it asks what others answered.
        on_controls: whether it looks at control items alone: it gets a history of nothing else, and its looks go by
            their number.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: ClassVar[str]
    title: ClassVar[str]
    about: ClassVar[str]
    needs_others: ClassVar[bool] = False
    on_controls: ClassVar[bool] = False

    least: Least = 20

    @abstractmethod
    def examine(self, history: History) -> Finding | None:
        """What the history says against the worker; None where it says nothing, or not enough."""

    @classmethod
    def applies(cls, answers: Answers) -> bool:
        """Whether the rule means something where answers look like this."""
        return True

    def is_due(self, *, total: int, fresh: int) -> bool:
        """Whether to look at all at ``total`` judgments, of which ``fresh`` came since the last look; a rule that looks
        at control items alone is told of those."""
        return spending(self.least, total=total, fresh=fresh) > 0

    def found(self, history: History, words: str, **evidence: Any) -> Finding:
        """A finding with numbers of no more digits than anybody reads."""
        plain = {
            key: float(f"{value:.4g}") if isinstance(value, float) else value
            for key, value in evidence.items()
        }
        return Finding(rule=self.name, judgments=history.total, words=words, evidence=plain)


class SequentialRule(Rule):
    """A rule that tests; ``alpha`` bounds its false alarms over all looks at a worker."""

    alpha: Alpha = 0.001

    def level(self, history: History) -> float:
        """What this look may spend of alpha; 0 where none is due."""
        return self.alpha * spending(self.least, total=history.total, fresh=history.fresh)


def looks(least: int, *, growth: int = GROWTH, longest: int = LONGEST_STEP) -> Iterator[int]:
    """The numbers at which a look is due: from ``least`` on, each time a ``growth``-th further, ``longest`` at most."""
    due = least
    while True:
        yield due
        due += min(max(due // growth, 1), longest)


def pages_since_look(pages: int) -> int:
    """How many pages of work a look after the page numbered ``pages`` (from 1) is about: those since the last page at
    which the rules were let look at all; 0 where they are not let look. Workers with many pages cost little so."""
    before = 0
    for due in looks(1, growth=GROWTH_OF_PAGES, longest=LONGEST_PAGES):
        if due >= pages:
            return pages - before if due == pages else 0
        before = due
    return 0


def spending(least: int, *, total: int, fresh: int) -> float:
    """The share of alpha for a look after ``total`` judgments, of which ``fresh`` came since the look before."""
    share = 0.0
    for number, due in enumerate(looks(least), start=1):
        if due > total:
            return share
        if due > total - fresh:
            share += 1 / (number * (number + 1))
    return share


def one_in(p: float) -> str:
    """A chance as people say it."""
    if p >= 0.1:
        return f"about {round(100 * p)} in 100"
    if p < 1e-6:
        return "less than 1 in a million"
    digits = round(1 / p)
    size = 10 ** max(0, len(str(digits)) - 2)
    return f"about 1 in {digits // size * size:,}"
