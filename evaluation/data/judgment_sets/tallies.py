"""Counts and hashes of judgments, which are added one by one in the order of unit and worker name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from evaluation.data.judgment_sets.data_hash import DataHash
from quorum.statistics.aggregation.pair_answers import FIRST, MUCH, SECOND

FIRST_LEFT = "first-left"


@dataclass(slots=True)
class JudgmentTally:
    """A tally of judgments, which must be added in the order of unit and worker name.

    Its attributes are those of ``Votes``, up to the last complete unit.
    """

    counted: int = 0
    sided: int = 0
    first_left: int = 0
    units: int = 0
    least: int = 0
    most: int = 0
    _unit: str | None = None
    _votes: int = 0
    _hash: DataHash = field(default_factory=DataHash)

    @classmethod
    def writing_to(cls, write: Callable[[bytes], object]) -> JudgmentTally:
        """Return a tally for some of the units. It passes the lines to hash to ``write`` (see ``add_votes``)."""
        return cls(_hash=DataHash(write))

    def add(self, unit: str, worker: str, answer: Any, *, used: bool, control: bool, presented: str) -> None:
        """Add a judgment.

        ``answer`` is for the unit's order of options; ``presented`` is '' if the kind has no sides.
        """
        self._hash.add(unit, worker, answer, used)
        if control or not used:
            return
        if unit != self._unit:
            self._close_unit()
            self._unit = unit
        self._votes += 1
        self.counted += 1
        if presented and answer % MUCH in (FIRST, SECOND):
            self.sided += 1
            self.first_left += presented == FIRST_LEFT

    def _close_unit(self) -> None:
        if self._votes:
            self.least = min(self.least, self._votes) if self.units else self._votes
            self.most = max(self.most, self._votes)
            self.units += 1
        self._votes = 0

    def facts(self) -> Votes:
        """Return the counts and the hash of the judgments added so far, and end the current unit."""
        self._close_unit()
        self._unit = None
        return Votes(
            self.units,
            self.least,
            self.most,
            self.sided,
            self.first_left,
            self._hash.hexdigest(),
            self.counted,
        )


@dataclass(frozen=True, slots=True)
class Votes:
    """Counts of votes.

    Attributes:
        units: number of units with an included vote.
        least, most: fewest and most included votes of such a unit.
        sided: number of included votes on units with two sides.
        first_left: number of these votes with the first option on the left.
        data_hash: hash of all judgments, included or not.
        counted: number of included votes.
    """

    units: int
    least: int
    most: int
    sided: int
    first_left: int
    data_hash: str
    counted: int


def add_votes(parts: Sequence[Votes], data_hash: str) -> Votes:
    """Return the sums of the counts of disjoint sets of units. ``data_hash`` is the hash of all of them."""
    parts_with_votes = [part for part in parts if part.units]
    return Votes(
        units=sum(part.units for part in parts_with_votes),
        least=min((part.least for part in parts_with_votes), default=0),
        most=max((part.most for part in parts_with_votes), default=0),
        sided=sum(part.sided for part in parts_with_votes),
        first_left=sum(part.first_left for part in parts_with_votes),
        data_hash=data_hash,
        counted=sum(part.counted for part in parts_with_votes),
    )
