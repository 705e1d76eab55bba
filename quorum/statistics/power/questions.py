"""The question that a planned study is to answer, and the size of the study."""

from __future__ import annotations

from dataclasses import dataclass

from quorum.numeric.packing import declare
from quorum.statistics.inputs import BadOption

CONVENTIONAL_POWER = 0.8  # the power that a study should reach (Cohen 1988, section 2.4)


@declare
@dataclass(frozen=True, slots=True)
class TwoSystems:
    """The question whether system A is better than B.

    ties: share of pairs without a true winner, on which each vote is for A with probability 1/2. win_rate: share of the
    other pairs on which A is better.
    """

    win_rate: float
    ties: float = 0.0

    def __post_init__(self) -> None:
        if not (0 <= self.win_rate <= 1 and self.win_rate != 0.5):
            raise BadOption(
                f"win_rate is {self.win_rate!r}, expected 0 to 1 and not 0.5: nothing to tell apart"
            )
        if not 0 <= self.ties < 1:
            raise BadOption(f"ties is {self.ties!r}, expected 0 to less than 1")


@declare
@dataclass(frozen=True, slots=True)
class TwoMetrics:
    """The question whether the first metric is better than the second.

    first, second: share of pairs on which the metric names the right winner. agreement: share on which both name the
    same winner.
    """

    first: float
    second: float
    agreement: float

    def __post_init__(self) -> None:
        for name in ("first", "second", "agreement"):
            if not 0 <= getattr(self, name) <= 1:
                raise BadOption(f"{name} is {getattr(self, name)!r}, expected 0 to 1")
        if self.first == self.second:
            raise BadOption(f"first and second are both {self.first:g}: nothing to tell apart")
        # At least |first + second - 1| of the pairs have both right or both wrong, and |first - second| have one right.
        low, high = abs(self.first + self.second - 1), 1 - abs(self.first - self.second)
        if not low - 1e-12 <= self.agreement <= high + 1e-12:
            raise BadOption(
                f"agreement is {self.agreement:g}, but metrics right on {self.first:g} and {self.second:g} of the "
                f"pairs agree on {low:.4g} to {high:.4g} of them"
            )

    @property
    def table(self) -> tuple[float, float, float, float]:
        """The chances that both metrics name the right winner, only the first does, only the second, and neither."""
        # The sum of both shares counts pairs with both right twice, and pairs with one right (no agreement) once.
        both_right = (self.first + self.second - (1 - self.agreement)) / 2
        neither_right = 1 - self.first - self.second + both_right
        # A rounding error may make a chance of zero negative.
        return (
            max(0.0, both_right),
            max(0.0, self.first - both_right),
            max(0.0, self.second - both_right),
            max(0.0, neither_right),
        )


Question = TwoSystems | TwoMetrics


@declare
@dataclass(frozen=True, slots=True, order=True)
class Size:
    """The size of a study: numbers of pairs, of references of each pair, and of votes on a pair with a reference."""

    pairs: int
    references: int
    votes: int

    def __post_init__(self) -> None:
        for name in ("pairs", "references", "votes"):
            if getattr(self, name) < 1:
                raise BadOption(f"{name} is {getattr(self, name)!r}, expected 1 or more")

    @property
    def judgments(self) -> int:
        return self.pairs * self.references * self.votes
