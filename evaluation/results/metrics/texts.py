"""The texts that metrics score: judged pairs and captions, with their references."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from judgments.design.tables.sampling import PAIR_KINDS
from quorum.numeric.arrays import Floats

References = Sequence[str]
UNKNOWN_KIND = "unknown"


@dataclass(frozen=True, slots=True)
class PairTexts:
    """The two texts of a candidate pair, their references, and the winner.

    Attributes:
        image: row id of the image, or its key in files.
        winner: 1, 2, or 0 for none.
        is_tied: whether the pair was judged and has no winner.
        systems: names of both texts' systems.
    """

    pk: int
    kind: str
    image: Any
    first: str
    second: str
    references: References
    winner: int
    is_tied: bool = False
    systems: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class CaptionTexts:
    """A judged caption of an image.

    Attributes:
        unit: row id of the unit; None if several units judge the caption.
        item: row id of the image.
        key: id of the caption.
        people: the consensus: the share of yes, the mean grade, or a score.
        ratings: if several units judge the caption, the (worker, rating) pairs from which the score is computed.
        systems: row ids of the systems that a file credits with the caption.
        weight: 1 unless the unit stands for several captions that a filter rejected (``weights_of_units``).
    """

    unit: int | None
    item: int
    key: str
    text: str
    references: References
    people: float
    ratings: Sequence[tuple[int, float]] = ()
    systems: tuple[int, ...] = ()
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class PairMaterial:
    """Pairs, and the documents from which metrics compute the frequency of words, one for each image.

    A document has the first ``leading_count`` references of its image; all of them if it is 0, since pairs differ.
    """

    pairs: list[PairTexts]
    documents: list[References]
    leading_count: int


def find_references_of_pairs(
    pairs: Iterable[tuple[int, str, Any, str, str, Sequence[str]]],
    references_by_image: Mapping[Any, Sequence[tuple[str, str]]],
) -> PairMaterial | None:
    """Return pairs with their references, but without winners. Return None if an image has no references.

    If all pairs use the same number of first references (in PASCAL-50S 48 of 50), documents have that number, too.

    Args:
        pairs: (row id, kind, image, first text, second text, reference ids) of each pair.
        references_by_image: the (id, text) references of each image in order.
    """
    pairs_with_references, leading_counts = [], set()
    for pk, kind, image, first, second, reference_ids in pairs:
        image_references = references_by_image.get(image, [])
        text_by_id = dict(image_references)
        pair_references = [text_by_id[key] for key in reference_ids if key in text_by_id]
        if not pair_references:  # the pair uses all references of its image
            pair_references = [text for _, text in image_references]
        if not pair_references:
            return None
        # The number of references, if the pair uses the first ones, or all, of its image, else 0.
        leading_ids = [key for key, _ in image_references[: len(reference_ids)]]
        leading_counts.add(len(pair_references) if leading_ids == list(reference_ids) else 0)
        pairs_with_references.append(PairTexts(pk, kind, image, first, second, tuple(pair_references), 0))
    leading_count = leading_counts.pop() if len(leading_counts) == 1 else 0
    documents: list[References] = [
        [text for _, text in image_references[: leading_count or None]]
        for image_references in references_by_image.values()
    ]
    return PairMaterial(pairs_with_references, documents, leading_count)


def pair_kinds(names: Iterable[str]) -> list[str]:
    """Return the distinct pair kinds, except "all". The kinds of the papers come first."""
    kinds = set(names) - {"all"}
    return [kind for kind in PAIR_KINDS if kind in kinds] + sorted(kinds.difference(PAIR_KINDS))


def kinds_with_unknown(kinds: Iterable[str]) -> list[str]:
    """Return the kinds of pairs, with UNKNOWN_KIND for a pair without a kind."""
    return [kind or UNKNOWN_KIND for kind in kinds]


def kinds_or_none(kinds: Sequence[str]) -> list[str] | None:
    """Return the kinds of pairs, with UNKNOWN_KIND for a pair without a kind; None if no pair has a kind."""
    return kinds_with_unknown(kinds) if any(kinds) else None


def weights_of_captions(captions: Sequence[CaptionTexts]) -> Floats | None:
    """Return the (N,) weights of captions, or None if all are 1."""
    weights = np.array([caption.weight for caption in captions], dtype=np.float64)
    return None if (weights == 1).all() else weights
