"""The comparisons drawn so far, so that two texts are compared once per image and systems occur equally often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from common.texts import one_text
from judgments.drawing.material import Pair

SystemNames = tuple[str, ...]

Comparison = tuple[str, frozenset[str]]  # an image and the two texts of a pair


@dataclass
class AcceptedPairs:
    """The pairs drawn so far. ``skipped_pairs`` counts pairs with fewer than ``min_references`` references."""

    min_references: int
    allow_no_references: bool = False
    of_kind: dict[str, list[Pair]] = field(default_factory=dict)
    comparisons: set[Comparison] = field(default_factory=set)
    skipped_pairs: int = 0

    def accept(self, pair: Pair) -> bool:
        """Return whether the pair has enough references and was not compared before; if so, record it."""
        if texts_compared(pair) in self.comparisons:
            return False
        if len(pair.references) < self.min_references:
            self.skipped_pairs += 1
            return False
        self.comparisons.add(texts_compared(pair))
        return True


def least_used(choices: Iterable[SystemNames], used: Counter[str]) -> SystemNames:
    return min(
        choices,
        key=lambda names: (max((used[name] for name in names), default=0), sum(used[name] for name in names)),
    )


def has_equal_texts(pair: Pair) -> bool:
    return one_text(pair.first.text) == one_text(pair.second.text)


def texts_compared(pair: Pair) -> Comparison:
    return pair.image, frozenset((one_text(pair.first.text), one_text(pair.second.text)))
