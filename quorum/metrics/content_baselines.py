"""Baselines for content selection, which choose an image's boxes without seeing the picture.

Source: Wang, Gaizauskas 2015 (WG15), section 4. A box is a labelled rectangle in an image. Every baseline ranks the
boxes of each image; `BoxRanks.selections(k)` returns the first k. In the paper F is highest for k = 3 and 4. The
arguments of baselines are

    labels    for each image, the labels of its boxes, such as ["dog", "grass"]
    boxes     for each image, a (B, 4) table with the x, y, width and height of its B boxes
    ties      a seed or generator, to order boxes of equal rank at random; with None, the lower box number comes first
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from quorum.metrics.inputs import InvalidInput, check_collection, check_lists_of, checked_count
from quorum.metrics.signatures import measure_signature
from quorum.numeric.arrays import Flags, Floats, Ints, starts_of
from quorum.numeric.compiling import compiled
from quorum.numeric.signatures import PLACEHOLDER, Value

Seed = np.random.Generator | int | None
BOX_COLUMNS = 4  # x, y, width, height
# Larger coordinates are refused, so that areas and distances stay finite.
_MAX_COORDINATE = 1e100


@dataclass(frozen=True, slots=True, eq=False)
class BoxRanks:
    """The boxes of all images, one image after another, ranked by a baseline within each image.

    starts: (images + 1,); image i has the boxes starts[i] to starts[i + 1] - 1. ranks: (boxes,) from 1 on. is_selected:
    (boxes,) flags of the boxes that the baseline selects. If it selects N_s of an image's N_box boxes, the others share
    the rank 0.5 ((N_box + 1) - N_s) + N_s. places: (boxes,) position in the image's order, from 0; unlike ranks, places
    are never shared. signature: of the baseline and its options.
    """

    ranks: Floats
    is_selected: Flags
    places: Ints
    starts: Ints
    signature: str

    @property
    def counts(self) -> Ints:
        """The (images,) numbers of boxes."""
        return np.diff(self.starts)

    def selections(self, k: int) -> list[list[int]]:
        """Return the first k selected boxes of every image, best first, numbered within the image."""
        k = checked_count(k, "k")
        # Sort the boxes of all images by image and place, and drop those that are not among the first k.
        first_boxes = np.repeat(self.starts[:-1], self.counts)  # the first box of the image of each box
        boxes_by_rank = np.argsort(first_boxes + self.places)
        boxes_by_rank = boxes_by_rank[(self.is_selected & (self.places < k))[boxes_by_rank]]
        # Number the boxes within their images, and cut the list at the images.
        selection_sizes = np.bincount(_image_of(self.starts)[boxes_by_rank], minlength=self.starts.size - 1)
        numbers = (boxes_by_rank - first_boxes[boxes_by_rank]).tolist()
        return [numbers[start:end] for start, end in pairwise(starts_of(selection_sizes).tolist())]


@dataclass(frozen=True, slots=True)
class UnigramPrior:
    """Counts of how often training descriptions name a label, and the number of these descriptions."""

    counts: Mapping[str, int]
    descriptions: int

    @classmethod
    def fit(cls, mentions: Iterable[Sequence[str]]) -> UnigramPrior:
        """Return the prior of training descriptions, each given by the labels that it names (`mentions_of`)."""
        mentions = _checked_mentions(mentions)
        return cls(Counter(chain.from_iterable(mentions)), len(mentions))


@dataclass(frozen=True, slots=True)
class BigramPrior:
    """Counts of how often a label begins a training description, and how often it directly follows another label.

    first[a] is how often a description begins with a. following[a, b] is how often b follows a. descriptions: number
    of training descriptions.
    """

    first: Mapping[str, int]
    following: Mapping[tuple[str, str], int]
    descriptions: int

    @classmethod
    def fit(cls, mentions: Iterable[Sequence[str]]) -> BigramPrior:
        """Return the prior of training descriptions, each given by the labels that it names (`mentions_of`)."""
        mentions = _checked_mentions(mentions)
        first_labels = Counter(labels[0] for labels in mentions if labels)
        following: Counter[tuple[str, str]] = Counter()
        for labels in mentions:
            following.update(pairwise(labels))
        return cls(first_labels, following, len(mentions))

    def number_labels(self) -> dict[str, int]:
        """Return a number for each label, from 0 in alphabetical order."""
        labels = sorted({*self.first, *chain.from_iterable(self.following)})
        return {label: number for number, label in enumerate(labels)}


def mentions_of(
    labels: Sequence[Sequence[str]], descriptions: Sequence[Sequence[Sequence[int]]]
) -> list[list[str]]:
    """Return the labels of the boxes that each description names, for `UnigramPrior.fit` and `BigramPrior.fit`.

    labels[i] are the labels of the boxes of image i. descriptions[i][d] are the numbers of the boxes that description d
    of image i names, in the order of its words. Raise InvalidInput if a description names a box that its image does not
    have.
    """
    _check_labels(labels, "labels")
    check_collection(descriptions, "descriptions", "the descriptions of each image")
    if len(labels) != len(descriptions):
        raise InvalidInput(
            f"descriptions has {len(descriptions)} images, expected {len(labels)} as in labels"
        )
    mentions = []
    for image, (names, sentences) in enumerate(zip(labels, descriptions, strict=True)):
        for position, boxes in enumerate(sentences):
            if not isinstance(boxes, Sequence | np.ndarray):
                raise InvalidInput(
                    f"descriptions[{image}][{position}] is a {type(boxes).__name__}, "
                    "expected a list of boxes in the order of the words"
                )
            if not all(isinstance(box, Integral) and 0 <= box < len(names) for box in boxes):
                raise InvalidInput(
                    f"descriptions[{image}][{position}] names a box that the image has not, "
                    f"expected whole numbers from 0 to {len(names) - 1}"
                )
            mentions.append([names[box] for box in boxes])
    return mentions


def random_ranks(counts: Sequence[int], *, seed: Seed) -> BoxRanks:
    """Rank boxes at random, where image i has counts[i] boxes."""
    generator = _generator_of(seed, "seed")
    check_collection(counts, "counts", "the number of boxes of each image")
    sizes = np.array(counts) if len(counts) else np.zeros(0, dtype=np.int64)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or np.any(sizes < 0):
        raise InvalidInput("counts is no list of whole numbers from 0 on, expected the boxes of each image")
    starts = starts_of(sizes)
    sort_keys = generator.random(int(starts[-1]))
    return _rank_boxes("content-random", sort_keys, starts, None, seed=_seed_field(seed))


def size_ranks(boxes: Sequence[ArrayLike], *, ties: Seed = None) -> BoxRanks:
    """Rank larger boxes first (WG15 section 4.1)."""
    table, starts = _flat_boxes(boxes)
    return _rank_boxes("content-size", -table[:, 2] * table[:, 3], starts, ties)


def centre_ranks(boxes: Sequence[ArrayLike], image_sizes: ArrayLike, *, ties: Seed = None) -> BoxRanks:
    """Rank boxes nearer to the image's centre first (WG15 section 4.1).

    `image_sizes` is an (images, 2) table of width and height.
    """
    table, starts = _flat_boxes(boxes)
    sizes = _numbers(image_sizes, "image_sizes")
    if sizes.shape != (starts.size - 1, 2) or not np.all((sizes > 0) & (sizes < _MAX_COORDINATE)):
        raise InvalidInput(
            f"image_sizes is no table of {starts.size - 1} rows, expected a width and a height above 0 for each image"
        )
    image_centres = np.repeat(sizes / 2, np.diff(starts), axis=0)
    offsets = table[:, :2] + table[:, 2:] / 2 - image_centres
    distances = np.hypot(offsets[:, 0], offsets[:, 1])
    return _rank_boxes("content-centre", distances, starts, ties)


def unigram_ranks(labels: Sequence[Sequence[str]], prior: UnigramPrior, *, ties: Seed = None) -> BoxRanks:
    """Rank boxes with frequently named labels first (WG15 section 4.2)."""
    _check_prior(prior, UnigramPrior)
    flat_labels, starts = _flat_labels(labels)
    counts = np.fromiter(
        (prior.counts.get(label, 0) for label in flat_labels), dtype=np.float64, count=len(flat_labels)
    )
    return _rank_boxes("content-unigram", -counts, starts, ties)


def bigram_ranks(labels: Sequence[Sequence[str]], prior: BigramPrior, *, ties: Seed = None) -> BoxRanks:
    """Rank boxes greedily by the bigrams of labels in training descriptions (WG15 section 4.2).

    The first label is the one that most often begins a description. Each next label is the one that most often follows
    the label before it. Boxes that this procedure does not reach are not selected.
    """
    _check_prior(prior, BigramPrior)
    flat_labels, starts = _flat_labels(labels)
    number_by_label = prior.number_labels()
    codes = np.fromiter(
        (number_by_label.get(label, -1) for label in flat_labels), dtype=np.int64, count=len(flat_labels)
    )
    counts = _LabelCounts.from_prior(prior, number_by_label)
    tie_places = _places(np.zeros(codes.size), starts, ties)
    ranks, is_selected = _walk_greedily(codes, starts, tie_places, counts)
    # The boxes that are not reached share the mean of the remaining ranks.
    image_of = _image_of(starts)
    selected_counts = np.bincount(image_of[is_selected], minlength=starts.size - 1)
    shared_ranks = 0.5 * ((np.diff(starts) + 1) - selected_counts) + selected_counts
    ranks[~is_selected] = shared_ranks[image_of[~is_selected]]
    # Order boxes with equal ranks by the rule for ties.
    order = np.lexsort((tie_places, ranks, image_of))
    return BoxRanks(
        ranks,
        is_selected,
        _places_in_order(order, starts),
        starts,
        measure_signature("content-bigram", ties=_seed_field(ties)),
    )


class _LabelCounts(NamedTuple):
    """A `BigramPrior` of numbered labels, as the compiled loop reads it.

    first: (labels,) how often each label begins a description. Label l is followed by the labels
    following[row_starts[l]:row_starts[l + 1]], which are ascending; times[i] is how often following[i] follows l.
    """

    first: Ints
    row_starts: Ints
    following: Ints
    times: Ints

    @classmethod
    def from_prior(cls, prior: BigramPrior, number_by_label: Mapping[str, int]) -> _LabelCounts:
        rows = sorted(
            (number_by_label[label_before], number_by_label[label_after], times)
            for (label_before, label_after), times in prior.following.items()
        )
        table = np.array(rows, dtype=np.int64).reshape(-1, 3)
        label_count = len(number_by_label)
        return cls(
            first=np.fromiter(
                (prior.first.get(label, 0) for label in number_by_label), dtype=np.int64, count=label_count
            ),
            row_starts=starts_of(np.bincount(table[:, 0], minlength=label_count)),
            following=np.ascontiguousarray(table[:, 1]),
            times=np.ascontiguousarray(table[:, 2]),
        )


@compiled
def _walk_greedily(labels: Ints, starts: Ints, places: Ints, counts: _LabelCounts) -> tuple[Floats, Flags]:
    """Rank boxes as `bigram_ranks` describes. Return (boxes,) ranks from 1 on, and (boxes,) flags of the boxes reached.

    The rank of a box that is not reached is 0. labels: (boxes,) numbers of labels; -1 for labels that the training data
    lack. places: (boxes,) order in which boxes with equal counts are taken.
    """
    ranks, is_selected = np.zeros(labels.size), np.zeros(labels.size, dtype=np.bool_)
    for image in range(starts.size - 1):
        last_label = -1
        for rank in range(1, starts[image + 1] - starts[image] + 1):
            choice, best_count = -1, 0
            for box in range(starts[image], starts[image + 1]):
                label = labels[box]
                if is_selected[box] or label < 0:
                    continue
                if last_label < 0:
                    count = counts.first[label]
                else:
                    row_start, row_end = counts.row_starts[last_label], counts.row_starts[last_label + 1]
                    index = row_start + np.searchsorted(counts.following[row_start:row_end], label)
                    count = counts.times[index] if index < row_end and counts.following[index] == label else 0
                if count > best_count or (count == best_count and count > 0 and places[box] < places[choice]):
                    choice, best_count = box, count
            if choice < 0:
                break
            ranks[choice] = rank
            is_selected[choice] = True
            last_label = labels[choice]
    return ranks, is_selected


def mean_ranks(first: BoxRanks, second: BoxRanks, *, ties: Seed = None) -> BoxRanks:
    """Rank boxes by the mean of two baselines' ranks (WG15 section 5.1). All boxes are selected."""
    if not np.array_equal(first.starts, second.starts):
        raise InvalidInput("first and second rank the boxes of different images, expected the same images")
    means = (first.ranks + second.ranks) / 2
    signatures = first.signature, second.signature
    return _rank_boxes("content-mean", means, first.starts, ties, of=signatures, ties=_seed_field(ties))


def _rank_boxes(name: str, sort_keys: Floats, starts: Ints, tie_seed: Seed, **fields: Value) -> BoxRanks:
    """Return all boxes ranked by ascending (boxes,) sort keys.

    The signature has the `name` of the baseline and the `fields`; without fields, it says how ties were broken.
    """
    places = _places(sort_keys, starts, tie_seed)
    signature = measure_signature(name, **(fields or {"ties": _seed_field(tie_seed)}))
    ranks, is_selected = places.astype(np.float64) + 1, np.ones(sort_keys.size, dtype=np.bool_)
    return BoxRanks(ranks, is_selected, places, starts, signature)


def _places(sort_keys: Floats, starts: Ints, ties: Seed) -> Ints:
    """Return the (boxes,) places of boxes in their image's order, by ascending sort keys."""
    if ties is None:
        order = np.lexsort((sort_keys, _image_of(starts)))
    else:
        tie_keys = _generator_of(ties, "ties").random(sort_keys.size)
        order = np.lexsort((tie_keys, sort_keys, _image_of(starts)))
    return _places_in_order(order, starts)


def _places_in_order(order: Ints, starts: Ints) -> Ints:
    """Return the (boxes,) places, from the (boxes,) order that sorts boxes by image, and by place within an image."""
    places = np.empty(order.size, dtype=np.int64)
    places[order] = np.arange(order.size) - np.repeat(starts[:-1], np.diff(starts))
    return places


def _image_of(starts: Ints) -> Ints:
    return np.repeat(np.arange(starts.size - 1), np.diff(starts))


def _flat_boxes(boxes: Sequence[ArrayLike]) -> tuple[Floats, Ints]:
    """Return a (boxes, 4) table of the boxes of all images, and the starts of the images.

    Raise InvalidInput if a table has another shape, or holds a number that is not allowed.
    """
    check_collection(boxes, "boxes", "a table of boxes for each image")
    tables = [_numbers(table, f"boxes[{image}]") for image, table in enumerate(boxes)]
    tables = [table.reshape(0, BOX_COLUMNS) if table.size == 0 else table for table in tables]
    for image, table in enumerate(tables):
        if table.ndim != 2 or table.shape[1] != BOX_COLUMNS:
            raise InvalidInput(
                f"boxes[{image}] has the shape {table.shape}, expected x, y, width and height of each box"
            )
    all_boxes = np.concatenate([np.empty((0, BOX_COLUMNS)), *tables])
    starts = starts_of(list(map(len, tables)))
    is_in_range = (np.abs(all_boxes) < _MAX_COORDINATE).all(axis=1)  # false for nan too
    is_invalid = ~is_in_range | (all_boxes[:, 2:] < 0).any(axis=1)
    if is_invalid.any():
        box = int(np.argmax(is_invalid))
        image = int(_image_of(starts)[box])
        raise InvalidInput(
            f"boxes[{image}][{box - int(starts[image])}] is {all_boxes[box].tolist()}, "
            "expected finite numbers with width and height from 0 on"
        )
    return all_boxes, starts


def _numbers(values: ArrayLike, name: str) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"{name} holds something that is no number, expected a table of numbers"
        ) from error


def _seed_field(seed: Seed) -> Value:
    """Return the seed as a signature states it. A generator has no seed that could be stated."""
    return PLACEHOLDER if isinstance(seed, np.random.Generator) else seed


def _generator_of(seed: Seed, name: str) -> np.random.Generator:
    if isinstance(seed, np.random.Generator):
        return seed
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InvalidInput(f"{name} is {seed!r}, expected a whole number from zero on or a numpy Generator")
    return np.random.default_rng(seed)


def _check_prior(prior: object, kind: type) -> None:
    if not isinstance(prior, kind):
        raise InvalidInput(f"prior is a {type(prior).__name__}, expected a {kind.__name__}")


def _flat_labels(labels: Sequence[Sequence[str]]) -> tuple[list[str], Ints]:
    _check_labels(labels, "labels")
    return list(chain.from_iterable(labels)), starts_of(list(map(len, labels)))


def _checked_mentions(mentions: Iterable[Sequence[str]]) -> list[Sequence[str]]:
    mentions = list(mentions)
    _check_labels(mentions, "mentions")
    return mentions


def _check_labels(lists: Sequence[Any], name: str) -> None:
    check_lists_of(lists, name, "labels", list_types=(Sequence, np.ndarray))


# The functions by the names in their signatures.
CALLS: dict[str, Callable[..., BoxRanks]] = {
    "content-random": random_ranks,
    "content-size": size_ranks,
    "content-centre": centre_ranks,
    "content-unigram": unigram_ranks,
    "content-bigram": bigram_ranks,
    "content-mean": mean_ranks,
}
