"""What a kind of HIT answers.

A kind is one strategy object in ``KINDS``: what it makes of a dataset, which control items it has, which answers
are allowed, how they are shown, and what several of them say together. Nothing outside this package asks for a
kind's name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from judgments.material import Batch, Material

if TYPE_CHECKING:
    from judgments.design import StudyDesign


@dataclass(frozen=True, slots=True)
class Choice:
    """An answer a worker can give.

    Attributes:
        value: what the API carries; what the worker sees, not yet mapped to the unit's order.
        label: its words on the page.
        key: the key that gives it, where a key does.
    """

    value: int
    label: str
    key: str = ""


@dataclass(frozen=True, slots=True)
class Consensus:
    """What the used judgments of a unit say together.

    Attributes:
        n: how many there are.
        value: the winner, 0/1, or the mean grade; None on a tie or without judgments.
        share: share of the winning answer (relevance: of yes; graded: None).
        margin: share of the winner minus share of the runner-up (graded: None).
        tie: no answer has the most votes.
        votes: how often each answer was given.
    """

    n: int
    value: float | None
    share: float | None
    margin: float | None
    tie: bool
    votes: Mapping[str, int]


class Kind(ABC):
    """A protocol of PROTOCOLS.md 2.

    Attributes:
        name: the protocol's name in files and addresses.
        values: allowed canonical answers.
        level: level of measurement for agreement.
        two_sided: whether a unit has two candidates whose sides are drawn.
        grouped: whether HITs hold images with several captions each.
        compares_pairs: whether units belong to candidate pairs.
        defaults: values of the study file that differ from the design's own defaults.
        template: the worker's page, below templates/.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    values: ClassVar[tuple[int, ...]]
    level: ClassVar[str]
    choices: ClassVar[tuple[Choice, ...]]
    two_sided: ClassVar[bool] = False
    grouped: ClassVar[bool] = False
    compares_pairs: ClassVar[bool] = False
    defaults: ClassVar[dict[str, Any]] = {}
    template: ClassVar[str]

    @abstractmethod
    def batch(self, design: StudyDesign, material: Material) -> Batch:
        """Units, controls and HITs for a design.

        Raises:
            DesignError: the dataset cannot give what the design asks for.
        """

    @abstractmethod
    def shown(self, unit: Any, *, flipped: bool, picture_url: str) -> dict[str, Any]:
        """The unit as its worker sees it (docs/api.md), without position, protocol and question.

        ``unit`` is a ``Unit`` row or a ``UnitSpec`` (a preview): both have the same names.
        """

    @abstractmethod
    def consensus(self, units: Sequence[int], values: Sequence[int]) -> dict[int, Consensus]:
        """What the judgments of each unit say together.

        Args:
            units: (N,) the unit of each judgment.
            values: (N,) canonical answers.

        Returns:
            unit -> consensus, for the units that occur.
        """

    def canonical(self, value: int, *, flipped: bool) -> int:
        """The unit's answer for what the worker saw: on flipped sides 1 and 2 change places."""
        return 3 - value if flipped else value

    def is_right(self, value: int, expected: Any) -> bool:
        """Whether ``value`` is the right answer of a control item."""
        return value == expected

    @abstractmethod
    def leaning(self, qualities: Sequence[float]) -> list[float]:
        """How a rehearsal draws a unit's truth: the chance of each of ``values``, given how good its captions are.

        Args:
            qualities: of the unit's first and, where there is one, second candidate, on the scale of grades 1 to 4.
        """
