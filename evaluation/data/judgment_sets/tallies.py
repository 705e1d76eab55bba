"""Count and hash the judgments of a study for its signature, one by one, in the order of unit and worker name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from evaluation.data.judgment_sets.data_hash import DataHash
from quorum.statistics.aggregation.pair_answers import FIRST, SECOND, side_of

FIRST_LEFT = "first-left"  # value of ``Judgment.presented``: the unit's first option was on the left


@dataclass(slots=True)
class JudgmentTally:
    """A tally of judgments, which must be added in the order of unit and worker name.

    Its attributes are the counts of ``VoteCounts``. The unit to which judgments are being added is among ``counted``,
    ``sided`` and ``first_left``, but not yet among ``units``, ``least`` and ``most``.
    """

    counted: int = 0
    sided: int = 0
    first_left: int = 0
    units: int = 0
    least: int = 0
    most: int = 0
    _unit: str | None = None
    _votes_of_unit: int = 0
    _hash: DataHash = field(default_factory=DataHash)

    @classmethod
    def writing_to(cls, write: Callable[[bytes], object]) -> JudgmentTally:
        """Return a tally of some of the units, which does not hash the judgments' lines but passes them to ``write``.

        The lines of all units are hashed together later (see ``sum_of_counts``).
        """
        return cls(_hash=DataHash(write))

    def add(self, unit: str, worker: str, answer: Any, *, used: bool, control: bool, presented: str) -> None:
        """Add a judgment.

        Args:
            unit, worker: key of the unit, and name of the worker.
            answer: the answer for the unit's order of options.
            used: whether the judgment is used; unused ones are hashed, but not counted.
            control: whether the unit is a control item; these are hashed, but not counted.
            presented: the option that was on the left; '' if the kind has no sides.
        """
        self._hash.add(unit, worker, answer, used)
        if control or not used:
            return
        if unit != self._unit:
            self._close_unit()
            self._unit = unit
        self._votes_of_unit += 1
        self.counted += 1
        if presented and side_of(answer) in (FIRST, SECOND):
            self.sided += 1
            self.first_left += presented == FIRST_LEFT

    def _close_unit(self) -> None:
        if self._votes_of_unit:
            self.least = min(self.least, self._votes_of_unit) if self.units else self._votes_of_unit
            self.most = max(self.most, self._votes_of_unit)
            self.units += 1
        self._votes_of_unit = 0

    def finish(self) -> VoteCounts:
        """End the last unit, and return the counts and the hash of all judgments that were added."""
        self._close_unit()
        self._unit = None
        return VoteCounts(
            units=self.units,
            least=self.least,
            most=self.most,
            sided=self.sided,
            first_left=self.first_left,
            data_hash=self._hash.hexdigest(),
            counted=self.counted,
        )


@dataclass(frozen=True, slots=True)
class VoteCounts:
    """Counts of votes, which are the used judgments of units that are not control items, and the judgments' hash.

    Attributes:
        units: number of units with a vote.
        least, most: fewest and most votes of such a unit.
        sided: number of votes that chose one of two sides.
        first_left: number of these votes with the first option on the left.
        data_hash: hash of all judgments, whether or not they are votes.
        counted: number of votes.
    """

    units: int
    least: int
    most: int
    sided: int
    first_left: int
    data_hash: str
    counted: int


def sum_of_counts(parts: Sequence[VoteCounts], data_hash: str) -> VoteCounts:
    """Return the counts of all units from those of disjoint sets of units.

    ``data_hash`` is the hash of the lines of all sets, which were written by ``JudgmentTally.writing_to``.
    """
    parts_with_votes = [part for part in parts if part.units]
    return VoteCounts(
        units=sum(part.units for part in parts_with_votes),
        least=min((part.least for part in parts_with_votes), default=0),
        most=max((part.most for part in parts_with_votes), default=0),
        sided=sum(part.sided for part in parts_with_votes),
        first_left=sum(part.first_left for part in parts_with_votes),
        data_hash=data_hash,
        counted=sum(part.counted for part in parts_with_votes),
    )
