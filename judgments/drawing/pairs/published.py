"""Draw from the candidate pairs that were published with a dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from judgments.drawing.draws import shuffle
from judgments.drawing.material import Image, Material, Pair
from judgments.drawing.pairs.comparisons import (
    AcceptedPairs,
    Comparison,
    SystemNames,
    has_equal_texts,
    least_drawn,
    texts_compared,
)


def draw_published(
    material: Material,
    images: Sequence[Image],
    kind: str,
    count: int,
    accepted_pairs: AcceptedPairs,
    rng: np.random.Generator,
) -> list[Pair]:
    """Return up to ``count`` published pairs in random order. Prefer pairs of systems that were drawn least often."""
    pool: dict[SystemNames, list[Pair]] = {}  # by the pair's systems, without those that are people
    usable_pairs = [pair for pair in _published_pairs(material, images, kind) if not has_equal_texts(pair)]
    for pair in shuffle(usable_pairs, rng):
        names = sorted({name for name in (pair.first_system, pair.second_system) if name} - material.people)
        pool.setdefault(tuple(names), []).append(pair)
    draw_counts: Counter[str] = Counter()
    drawn_pairs: list[Pair] = []
    while pool and len(drawn_pairs) < count:
        systems = least_drawn(pool, draw_counts)
        pair = pool[systems].pop()
        if not pool[systems]:
            del pool[systems]
        if accepted_pairs.accept(pair):
            drawn_pairs.append(pair)
            draw_counts.update(systems)
    return drawn_pairs


def _published_pairs(material: Material, images: Sequence[Image], kind: str) -> list[Pair]:
    image_names = {image.name for image in images}
    return [pair for pair in material.published_pairs if pair.kind == kind and pair.image in image_names]


def unusable_pairs(material: Material, images: Sequence[Image], kind: str) -> list[Pair]:
    """Return published pairs that have equal texts, or that repeat another pair in the same or the opposite order.

    PASCAL-50S has one pair with equal texts and three repeated pairs. A design that asks for all 1,000 pairs of a kind
    gets the pairs without these.
    """
    comparisons: set[Comparison] = set()
    refused_pairs = []
    for pair in _published_pairs(material, images, kind):
        if has_equal_texts(pair) or texts_compared(pair) in comparisons:
            refused_pairs.append(pair)
        comparisons.add(texts_compared(pair))
    return refused_pairs


def pairs_left_out(
    material: Material, images: Sequence[Image], *, pair_counts: dict[str, int], drawn: Sequence[Pair]
) -> dict[str, int]:
    """Return how many of the design's ``pair_counts`` were not drawn, by reason. Drawing refused any other shortage."""
    shortage = sum(pair_counts.values()) - len(drawn)
    if shortage <= 0:
        return {}
    pairs_to_drop: list[Pair] = []
    for kind, count in pair_counts.items():
        if count:
            pairs_to_drop += unusable_pairs(material, images, kind)
    equal_count = min(shortage, sum(has_equal_texts(pair) for pair in pairs_to_drop))
    notes = {"pairs_of_equal_texts_left_out": equal_count, "repeated_pairs_left_out": shortage - equal_count}
    return {name: count for name, count in notes.items() if count}
