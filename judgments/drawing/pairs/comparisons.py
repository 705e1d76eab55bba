"""Choose among possible pairs, so that two texts are compared once per image and systems occur equally often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from common.texts import one_text
from judgments.drawing.material import Pair

# the systems of a pair: none, one or two, since candidates can be people's captions
SystemNames = tuple[str, ...]

Comparison = tuple[str, frozenset[str]]  # an image and the two texts of a pair


@dataclass
class AcceptedPairs:
    """The pairs drawn so far, and which further pairs are accepted.

    Attributes:
        min_references: number of references that a pair needs.
        allow_no_references: whether callers of ``accept`` allow pairs without references, if ``min_references`` is 0.
        by_kind: the drawn pairs by kind, which the caller of ``accept`` adds.
        skipped_pairs: number of pairs that were not accepted because of too few references.
    """

    min_references: int
    allow_no_references: bool = False
    by_kind: dict[str, list[Pair]] = field(default_factory=dict)
    comparisons: set[Comparison] = field(default_factory=set)
    skipped_pairs: int = 0

    def accept(self, pair: Pair) -> bool:
        """Return whether the pair has enough references and was not compared before; if so, record the comparison."""
        if texts_compared(pair) in self.comparisons:
            return False
        if len(pair.references) < self.min_references:
            self.skipped_pairs += 1
            return False
        self.comparisons.add(texts_compared(pair))
        return True


def least_drawn(combinations: Iterable[SystemNames], draw_counts: Counter[str]) -> SystemNames:
    """Return the combination of systems that was drawn least often so far.

    Compare combinations by the system that was drawn most often and, if these are equal, by the sum of the draws.
    """

    def largest_and_total_count(names: SystemNames) -> tuple[int, int]:
        counts = [draw_counts[name] for name in names]
        return max(counts, default=0), sum(counts)

    return min(combinations, key=largest_and_total_count)


def has_equal_texts(pair: Pair) -> bool:
    return one_text(pair.first.text) == one_text(pair.second.text)


def texts_compared(pair: Pair) -> Comparison:
    """Return the pair's image and the unordered set of its two texts in normal form."""
    return pair.image, frozenset((one_text(pair.first.text), one_text(pair.second.text)))
