"""Flickr8k, PASCAL-50S and ABSTRACT-50S for packs, read by the importers without a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from evaluation.data.provenance import json_float
from evaluation.numeric.arrays import Flags, Floats, Ints
from evaluation.presentation.content import Estimate, estimate_of
from evaluation.reports.replication.verdicts import in_words
from evaluation.results.metric_figures import PairTexts, score_pairs
from evaluation.results.readings import accuracy_over_all
from evaluation.statistics.aggregation import pair_winners
from evaluation.statistics.clustering import ITEM, share_of_rows
from evaluation.statistics.meta import ReferenceCurve, random_subsets
from evaluation.statistics.resampling import CONFIDENCE
from judgments.importers.fifty import TRIPLET_REFERENCES, FiftyDataset, FiftyPairwise, FiftyTriplets
from judgments.importers.flickr8k import Flickr8kCrowd, Flickr8kDataset, Flickr8kExpert
from judgments.importers.records import ReferenceRow

# The pool of candidates is caption number 2 of every test image.
POOL = 2
TEST = "test"


@dataclass(frozen=True, slots=True)
class Pairs:
    """Judged pairs: (P,) images and captions as pool positions, and each pair's answers."""

    image: Ints
    caption: Ints
    answers: tuple[tuple[int, ...], ...]

    @property
    def means(self) -> Floats:
        return np.array([sum(own) / len(own) for own in self.answers])

    @property
    def count(self) -> int:
        return len(self.answers)


@dataclass(frozen=True, slots=True)
class Flickr8k:
    """The test images with five captions each, number 2 in the pool, and judgments of the pool."""

    images: tuple[str, ...]
    captions: tuple[tuple[str, ...], ...]
    experts: Pairs
    crowd: Pairs

    @property
    def pool(self) -> list[str]:
        return [own[POOL] for own in self.captions]

    def references(self, places: Sequence[int]) -> list[list[str]]:
        return [[own[place] for place in places] for own in self.captions]


def read_flickr8k(folder: Path) -> Flickr8k:
    captions: dict[str, list[str]] = {}
    for row in Flickr8kDataset(folder).rows():
        if isinstance(row, ReferenceRow) and row.split == TEST:
            captions.setdefault(row.image, []).append(row.text)
    images = sorted(captions)
    place = {image: number for number, image in enumerate(images)}
    return Flickr8k(
        tuple(images),
        tuple(tuple(captions[image]) for image in images),
        _pairs(Flickr8kExpert(folder), place),
        _pairs(Flickr8kCrowd(folder), place),
    )


def _pairs(source: Flickr8kExpert | Flickr8kCrowd, place: dict[str, int]) -> Pairs:
    found: dict[tuple[int, int], list[int]] = {}
    for row in source.judgments():
        own = str(row.first).rsplit("#", 1)[0]
        found.setdefault((place[str(row.image)], place[own]), []).append(int(row.value or 0))
    return Pairs(
        np.array([image for image, _ in found], dtype=np.int64),
        np.array([caption for _, caption in found], dtype=np.int64),
        tuple(map(tuple, found.values())),
    )


PASCAL, ABSTRACT = "pascal-50s", "abstract-50s"
SETS = {PASCAL: "PASCAL-50S", ABSTRACT: "ABSTRACT-50S"}
# V15's words are runs of letters, digits and underscores; its scores are met with them.
TOKENIZER = "v15"


@dataclass(frozen=True, slots=True)
class Fifty:
    """One of the two data sets.

    Attributes:
        pairs: candidate pairs with the winner of the triplets; 0 for a draw.
        systems: authors of each pair's candidates.
        references: image -> its first 48 references, all images.
        votes: (P, 48) answers to the triplets, 1 or 2; empty if unpublished.
        better: (P,) winners of the pairwise votes; empty if unpublished.
    """

    pairs: tuple[PairTexts, ...]
    systems: tuple[tuple[str, str], ...]
    references: Mapping[str, list[str]]
    votes: Ints
    better: Ints

    @property
    def winners(self) -> Ints:
        return np.array([pair.winner for pair in self.pairs], dtype=np.int64)

    @property
    def kinds(self) -> list[str]:
        return [pair.kind for pair in self.pairs]

    @property
    def images(self) -> list[str]:
        return [pair.image for pair in self.pairs]

    @property
    def clusters(self) -> dict[str, list[str]]:
        return {ITEM: self.images}

    def of_kind(self, kind: str) -> Flags:
        return np.array([one == kind for one in self.kinds], dtype=np.bool_)

    def scores(
        self, metrics: Sequence[str], tokenizer: str = TOKENIZER, places: Sequence[int] | None = None
    ) -> tuple[dict[str, Floats], dict[str, str]]:
        """Return metric -> (P, 2) scores, and signatures; ``places`` selects references."""
        # One list object for an image: its n-grams are counted once.
        chosen = self.references
        if places is not None:
            chosen = {image: [texts[place] for place in places] for image, texts in chosen.items()}
        pairs = [replace(pair, references=chosen[pair.image]) for pair in self.pairs]
        scored, scores = score_pairs(pairs, list(chosen.values()), metrics=metrics, tokenizer=tokenizer)
        return scores, {name: one.signature for name, one in scored.scores.items()}


def read_fifty(name: str, folder: Path) -> Fifty:
    references: dict[str, list[str]] = {}
    for row in FiftyDataset(name, folder).rows():
        if isinstance(row, ReferenceRow) and row.position < TRIPLET_REFERENCES:
            references.setdefault(row.image, []).append(row.text)
    rows = list(FiftyDataset(name, folder).pairs())
    triplets = FiftyTriplets(name, folder)
    votes = [(str(row.pair), int(row.value or 0)) for row in triplets.judgments()]
    winners = {row.pair: row.winner for row in FiftyTriplets(name, folder).winners()}
    if votes:
        found = pair_winners([pair for pair, _ in votes], [vote for _, vote in votes])
        winners = dict(zip(found.pairs.tolist(), found.winner.tolist(), strict=True))
    better: list[int] = []
    if name == PASCAL:
        judged = [(str(row.pair), int(row.value or 0)) for row in FiftyPairwise(name, folder).judgments()]
        found = pair_winners([pair for pair, _ in judged], [vote for _, vote in judged])
        of_pair = dict(zip(found.pairs.tolist(), found.winner.tolist(), strict=True))
        better = [of_pair[row.pair] for row in rows]
    pairs = tuple(
        PairTexts(place, row.kind, row.image, row.first_text, row.second_text, (), winners[row.pair])
        for place, row in enumerate(rows)
    )
    return Fifty(
        pairs,
        tuple((row.first_system, row.second_system) for row in rows),
        references,
        np.array([vote for _, vote in votes], dtype=np.int64).reshape(len(rows), -1),
        np.array(better, dtype=np.int64),
    )


def accuracy_of_all(data: Fifty, scores: Floats) -> dict[str, Estimate]:
    """Return the accuracy of (P, 2) scores over all pairs by kind and as "all"; a draw is half right."""
    found = accuracy_over_all(scores, data.winners, data.kinds, data.clusters)
    return {kind: estimate_of(one) for kind, one in found.items()}


def share_by_image(
    outcomes: Floats | Flags, data: Fifty, keep: Flags, weights: Floats | None = None
) -> Estimate:
    """Return the (weighted) mean of (P,) outcomes of kept pairs, with an interval by image."""
    if not keep.any():
        return Estimate(None)
    values = outcomes.astype(np.float64)
    found = share_of_rows(values, data.clusters, CONFIDENCE, keep=keep, weights=weights)
    value = float(np.average(values[keep], weights=None if weights is None else weights[keep]))
    return Estimate(value, json_float(found.low), json_float(found.high), int(keep.sum()))


def scores_by_shared_subsets(
    data: Fifty,
    metrics: Sequence[str],
    sizes: Sequence[int],
    *,
    draws: int,
    seed: int,
    tokenizer: str = TOKENIZER,
) -> dict[str, dict[int, tuple[Floats, Floats]]]:
    """Return metric -> number of references -> (D, P) scores of both candidates, for
    ``accuracy_by_references``.

    The references are ``draws`` random subsets; all 48 are one.
    """
    found: dict[str, dict[int, tuple[Floats, Floats]]] = {metric: {} for metric in metrics}
    for size in sizes:
        tables = [
            data.scores(metrics, tokenizer, places.tolist())[0]
            for places in random_subsets(TRIPLET_REFERENCES, size, draws, seed=seed)
        ]
        for metric in metrics:
            first, second = np.stack([table[metric] for table in tables]).transpose(2, 0, 1)
            found[metric][size] = first, second
    return found


def estimates_of(found: ReferenceCurve) -> list[Estimate]:
    """Return an estimate for each number of references."""
    columns = (found.value.tolist(), found.low.tolist(), found.high.tolist())
    return [Estimate(*ends, found.n) for ends in zip(*columns, strict=True)]


def in_per_cent(found: Estimate) -> str:
    """Format as ``91.6 % (89.7 to 93.2)``."""
    return in_words(found, 1, scale=100, unit=" %")
