"""Baselines for content selection, which choose an image's boxes without seeing the picture.

Source: Wang, Gaizauskas 2015 (WG15), section 4. Every baseline ranks the boxes of each image;
`BoxRanks.selections(k)` returns the first k. In the paper F is highest for k = 3 and 4. For each image, `labels` has
the labels of its boxes, and `boxes` a (B, 4) table with the x, y, width and height of its B boxes. `ties` is
the seed or generator that orders boxes of equal rank at random; with None, the lower box number comes first.
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
    """Boxes ranked by a baseline. Image i has the boxes starts[i] to starts[i + 1] - 1.

    ranks: (boxes,) from 1 on. Of an image's N_box boxes, N_s are selected; the others share the rank
    0.5 ((N_box + 1) - N_s) + N_s. is_selected: (boxes,) flags. places: (boxes,) position in the image's order, from 0;
    unlike ranks, places are never shared. signature: of the baseline and its options.
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
        first_boxes = np.repeat(self.starts[:-1], self.counts)
        boxes_by_rank = np.argsort(first_boxes + self.places)
        boxes_by_rank = boxes_by_rank[(self.is_selected & (self.places < k))[boxes_by_rank]]
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
        mentions = _checked_mentions(mentions)
        return cls(Counter(chain.from_iterable(mentions)), len(mentions))


@dataclass(frozen=True, slots=True)
class BigramPrior:
    """Counts of how often a label begins a training description, and how often it directly follows each other label.

    following[a, b] is how often b follows a. descriptions: number of training descriptions.
    """

    first: Mapping[str, int]
    following: Mapping[tuple[str, str], int]
    descriptions: int

    @classmethod
    def fit(cls, mentions: Iterable[Sequence[str]]) -> BigramPrior:
        mentions = _checked_mentions(mentions)
        return cls(
            Counter(labels[0] for labels in mentions if labels),
            Counter(chain.from_iterable(map(pairwise, mentions))),
            len(mentions),
        )


def mentions_of(
    labels: Sequence[Sequence[str]], descriptions: Sequence[Sequence[Sequence[int]]]
) -> list[list[str]]:
    """Return the labels of the boxes that each description names, for `UnigramPrior.fit` and `BigramPrior.fit`.

    Raise InvalidInput if a description names a box that its image does not have.
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
    # Number the labels of the training data.
    known_labels = sorted({*prior.first, *chain.from_iterable(prior.following)})
    number_by_label = {label: number for number, label in enumerate(known_labels)}
    codes = np.fromiter(
        (number_by_label.get(label, -1) for label in flat_labels), dtype=np.int64, count=len(flat_labels)
    )
    # List the labels that follow each label, row by row, and how often they do.
    rows = sorted(
        (number_by_label[label_before], number_by_label[label_after], times)
        for (label_before, label_after), times in prior.following.items()
    )
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    counts = _LabelCounts(
        np.fromiter(
            (prior.first.get(label, 0) for label in known_labels), dtype=np.int64, count=len(known_labels)
        ),
        starts_of(np.bincount(table[:, 0], minlength=len(known_labels))),
        np.ascontiguousarray(table[:, 1]),
        np.ascontiguousarray(table[:, 2]),
    )
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
    """Counts of labels by number: as the first of a description (`first`), and after each other label.

    Label l is followed by the labels following[row_starts[l]:row_starts[l + 1]], each `times` times.
    """

    first: Ints
    row_starts: Ints
    following: Ints
    times: Ints


@compiled
def _walk_greedily(labels: Ints, starts: Ints, places: Ints, counts: _LabelCounts) -> tuple[Floats, Flags]:
    """Return the (boxes,) ranks, from 1 on, or 0 for boxes that are not reached, and (boxes,) flags of those reached.

    labels: (boxes,) label numbers, -1 for labels that the training data lack. places: (boxes,) order of boxes with
    equal labels.
    """
    ranks, is_selected = np.zeros(labels.size), np.zeros(labels.size, dtype=np.bool_)
    for image in range(starts.size - 1):
        previous = -1
        for rank in range(1, starts[image + 1] - starts[image] + 1):
            best, best_count = -1, 0
            for box in range(starts[image], starts[image + 1]):
                label = labels[box]
                if is_selected[box] or label < 0:
                    continue
                if previous < 0:
                    count = counts.first[label]
                else:
                    row_start, row_end = counts.row_starts[previous], counts.row_starts[previous + 1]
                    index = row_start + np.searchsorted(counts.following[row_start:row_end], label)
                    count = counts.times[index] if index < row_end and counts.following[index] == label else 0
                if count > best_count or (count == best_count and count > 0 and places[box] < places[best]):
                    best, best_count = box, count
            if best < 0:
                break
            ranks[best] = rank
            is_selected[best] = True
            previous = labels[best]
    return ranks, is_selected


def mean_ranks(first: BoxRanks, second: BoxRanks, *, ties: Seed = None) -> BoxRanks:
    """Rank boxes by the mean of two baselines' ranks (WG15 section 5.1). All boxes are selected."""
    if not np.array_equal(first.starts, second.starts):
        raise InvalidInput("first and second rank the boxes of different images, expected the same images")
    means = (first.ranks + second.ranks) / 2
    signatures = first.signature, second.signature
    return _rank_boxes("content-mean", means, first.starts, ties, of=signatures, ties=_seed_field(ties))


def _rank_boxes(name: str, sort_keys: Floats, starts: Ints, tie_seed: Seed, **fields: Value) -> BoxRanks:
    """Return boxes ranked by ascending (boxes,) sort keys, with a signature.

    The signature has the `fields`; by default it says how ties were broken.
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
    """Return the (boxes,) places, from the positions of the boxes sorted by image and within images."""
    places = np.empty(order.size, dtype=np.int64)
    places[order] = np.arange(order.size) - np.repeat(starts[:-1], np.diff(starts))
    return places


def _image_of(starts: Ints) -> Ints:
    """Return the (boxes,) images of the boxes."""
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
    is_wrong = ~(np.abs(all_boxes) < _MAX_COORDINATE).all(axis=1) | (all_boxes[:, 2:] < 0).any(axis=1)
    if is_wrong.any():
        box = int(np.argmax(is_wrong))
        image = int(_image_of(starts)[box])
        raise InvalidInput(
            f"boxes[{image}][{box - int(starts[image])}] is {all_boxes[box].tolist()}, "
            "expected finite numbers with width and height from 0 on"
        )
    return all_boxes, starts


def _numbers(values: ArrayLike, what: str) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"{what} holds something that is no number, expected a table of numbers"
        ) from error


def _seed_field(seed: Seed) -> Value:
    return PLACEHOLDER if isinstance(seed, np.random.Generator) else seed


def _generator_of(seed: Seed, what: str) -> np.random.Generator:
    if isinstance(seed, np.random.Generator):
        return seed
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InvalidInput(f"{what} is {seed!r}, expected a whole number from zero on or a numpy Generator")
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


def _check_labels(lists: Sequence[Any], what: str) -> None:
    check_lists_of(lists, what, "labels", list_types=(Sequence, np.ndarray))


# The functions by the names that their signatures have.
CALLS: dict[str, Callable[..., BoxRanks]] = {
    "content-random": random_ranks,
    "content-size": size_ranks,
    "content-centre": centre_ranks,
    "content-unigram": unigram_ranks,
    "content-bigram": bigram_ranks,
    "content-mean": mean_ranks,
}
