"""Content selection: whether a description names the objects that people name (Wang, Gaizauskas 2015, WG15, §3.1).

With S the boxes that a system's description names and G_m the boxes that gold description m of M names,

    P = (1/M) sum_m |G_m & S| / |S|      (eq. 1)
    R = (1/M) sum_m |G_m & S| / |G_m|    (eq. 2)
    F = 2 P R / (P + R)                  (eq. 3), 0 if P = R = 0

per image. Final figures are means over images. A repeated box counts once. If a system names no box for an image,
its recall for the image is 0, and its precision and F are undefined (0 with `empty="zero"`). A gold description that
names no box is left out of eq. 2 only.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from quorum.metrics.inputs import InvalidInput, UnknownName, check_collection
from quorum.metrics.signatures import measure_signature
from quorum.numeric.arrays import Floats, Ints, ratio, starts_of
from quorum.numeric.compiling import compiled

Boxes = Collection[int]
UNDEFINED = "undefined"
ZERO = "zero"
EMPTY_CHOICES = (UNDEFINED, ZERO)

# Box numbers have 31 bits, so that the number of a set and a box fit one 64-bit key.
_BOX_BITS = 31
_BOX_LIMIT = 1 << _BOX_BITS


@dataclass(frozen=True, slots=True, eq=False)
class ContentFigure:
    """A figure of all images, and its (images,) values.

    mean: over the images where the figure is defined. sd: population standard deviation. undefined: number of images
    where the figure is not defined.
    """

    mean: float
    sd: float
    images: Floats
    undefined: int


@dataclass(frozen=True, slots=True, eq=False)
class ContentScore:
    """Precision, recall and F of selections of boxes against gold descriptions.

    images, descriptions: numbers of images and of gold descriptions. empty_selections, empty_descriptions: numbers of
    selections and of gold descriptions that name no box. reason: why some figures are undefined.
    """

    precision: ContentFigure
    recall: ContentFigure
    f1: ContentFigure
    images: int
    descriptions: int
    empty_selections: int
    empty_descriptions: int
    reason: str
    signature: str


class _BoxSets(NamedTuple):
    """Sets of boxes. Set s has the boxes boxes[starts[s]:starts[s + 1]] in ascending order."""

    boxes: Ints
    starts: Ints

    @property
    def sizes(self) -> Ints:
        return np.diff(self.starts)


class _GoldDescriptions(NamedTuple):
    """Gold descriptions as sets of boxes. Image i has the sets image_starts[i] to image_starts[i + 1] - 1."""

    sets: _BoxSets
    image_starts: Ints

    @property
    def counts(self) -> Ints:
        """The (images,) numbers of descriptions."""
        return np.diff(self.image_starts)


def content_selection(
    selections: Sequence[Boxes], descriptions: Sequence[Sequence[Boxes]], *, empty: str = UNDEFINED
) -> ContentScore:
    """Compare a system's descriptions with people's (WG15 eq. 1-3).

    `selections` has for each image the boxes that the system names, whole numbers from 0 to 2^31 - 1.
    `descriptions` has for each image the boxes that each gold description names. `empty` is one of EMPTY_CHOICES.
    """
    if empty not in EMPTY_CHOICES:
        raise UnknownName("empty", empty, EMPTY_CHOICES)
    check_collection(selections, "selections", "the boxes of each image")
    sets = _read_sets(selections, lambda image: f"selections[{image}]")
    gold = _read_gold(descriptions)
    images = gold.counts.size
    if sets.sizes.size != images:
        raise InvalidInput(f"selections has {sets.sizes.size} images, expected {images} as in descriptions")
    precision, recall = _compare_sets(sets, np.arange(images), np.full(images, -1), gold)
    is_empty = sets.sizes == 0
    if empty == ZERO:
        precision[is_empty & (gold.counts > 0)] = 0.0
    is_only_selection_empty = np.isnan(precision) & ~np.isnan(recall)
    return _make_score(
        [precision, recall, _harmonic_mean(precision, recall)],
        gold,
        int(is_empty.sum()),
        {
            "items without a gold description that names a box": int(np.isnan(recall).sum()),
            "items whose selection names no box": int(is_only_selection_empty.sum()),
        },
        measure_signature("content-selection", empty=empty),
    )


def content_upper_bound(descriptions: Sequence[Sequence[Boxes]]) -> ContentScore:
    """Compare every gold description with the others of its image (WG15 section 5).

    F is averaged over the held-out descriptions; no other interpretation reproduces the paper's 0.74. A description
    that names no box is not held out. The figures of an image with fewer than two descriptions that name a box are
    undefined.
    """
    gold = _read_gold(descriptions)
    images = gold.counts.size
    image_of = np.repeat(np.arange(images), gold.counts)
    precision, recall = _compare_sets(gold.sets, image_of, np.arange(image_of.size), gold)
    # A description without boxes is not held out, nor is one that has no others with boxes to be compared with.
    is_undefined = np.isnan(precision) | np.isnan(recall)
    precision[is_undefined] = recall[is_undefined] = np.nan
    figures_by_image = [
        _image_means(figure, image_of, images)
        for figure in (precision, recall, _harmonic_mean(precision, recall))
    ]
    return _make_score(
        figures_by_image,
        gold,
        int((gold.sets.sizes == 0).sum()),
        {"items with fewer than two descriptions that name a box": int(np.isnan(figures_by_image[0]).sum())},
        measure_signature("content-upper-bound"),
    )


@compiled
def _compare_sets(
    sets: _BoxSets, image_of: Ints, held_out: Ints, gold: _GoldDescriptions
) -> tuple[Floats, Floats]:
    """Return (sets,) precisions (eq. 1) and recalls (eq. 2) of the sets against the gold descriptions of their images.

    Set s belongs to image image_of[s]. It is not compared with description held_out[s], unless this is -1.
    """
    boxes, starts = gold.sets.boxes, gold.sets.starts
    precision, recall = np.empty(image_of.size), np.empty(image_of.size)
    for s in range(image_of.size):
        size = sets.starts[s + 1] - sets.starts[s]
        image = image_of[s]
        hits_of_all = 0
        compared_count = 0  # descriptions
        share_sum = 0.0  # of |G_m & S| / |G_m|
        naming_count = 0  # descriptions that name a box
        for d in range(gold.image_starts[image], gold.image_starts[image + 1]):
            if d == held_out[s]:
                continue
            hits = 0
            i, j = sets.starts[s], starts[d]
            while i < sets.starts[s + 1] and j < starts[d + 1]:
                if sets.boxes[i] == boxes[j]:
                    hits += 1
                    i += 1
                    j += 1
                elif sets.boxes[i] < boxes[j]:
                    i += 1
                else:
                    j += 1
            hits_of_all += hits
            compared_count += 1
            length = starts[d + 1] - starts[d]
            if length > 0:
                share_sum += hits / length
                naming_count += 1
        precision[s] = hits_of_all / (compared_count * size) if compared_count > 0 and size > 0 else np.nan
        recall[s] = share_sum / naming_count if naming_count > 0 else np.nan
    return precision, recall


def _harmonic_mean(precision: Floats, recall: Floats) -> Floats:
    """Return the harmonic mean elementwise: 0 if both are 0, and nan if one is nan."""
    total = precision + recall
    return np.divide(2 * precision * recall, total, out=total.copy(), where=total > 0)


def _image_means(values: Floats, image_of: Ints, image_count: int) -> Floats:
    """Return the (images,) means of the defined values of each image."""
    is_defined = ~np.isnan(values)
    counts = np.bincount(image_of[is_defined], minlength=image_count)
    sums = np.bincount(image_of[is_defined], weights=values[is_defined], minlength=image_count)
    return ratio(sums, counts)


def _make_figure(images: Floats) -> ContentFigure:
    """Return a figure from its (images,) values, which are nan where it is not defined."""
    defined_values = images[~np.isnan(images)]
    images.flags.writeable = False
    mean = sd = np.nan
    if defined_values.size:
        mean, sd = float(defined_values.mean()), float(defined_values.std())
    return ContentFigure(mean, sd, images, images.size - defined_values.size)


def _make_score(
    figures: Sequence[Floats],
    gold: _GoldDescriptions,
    empty_selections: int,
    image_counts_by_reason: Mapping[str, int],
    signature: str,
) -> ContentScore:
    """Return the score from the (images,) precisions, recalls and F."""
    precision, recall, f1 = (_make_figure(images) for images in figures)
    return ContentScore(
        precision,
        recall,
        f1,
        images=f1.images.size,
        descriptions=gold.sets.sizes.size,
        empty_selections=empty_selections,
        empty_descriptions=int((gold.sets.sizes == 0).sum()),
        reason="; ".join(f"{reason}: {count}" for reason, count in image_counts_by_reason.items() if count),
        signature=signature,
    )


def _read_gold(descriptions: Sequence[Sequence[Boxes]]) -> _GoldDescriptions:
    """Return the gold descriptions. Raise InvalidInput if there are none, or if one is no set of boxes."""
    check_collection(descriptions, "descriptions", "the gold descriptions of each image")
    sizes = _checked_sizes(descriptions, lambda image: f"descriptions[{image}]")
    if not sizes.size:
        raise InvalidInput("descriptions is empty, expected the gold descriptions of at least one image")
    starts = starts_of(sizes)

    def name_of(description: int) -> str:
        image = int(np.searchsorted(starts, description, side="right")) - 1
        return f"descriptions[{image}][{description - int(starts[image])}]"

    return _GoldDescriptions(_read_sets(list(chain.from_iterable(descriptions)), name_of), starts)


def _read_sets(sets: Sequence[Boxes], name_of: Callable[[int], str]) -> _BoxSets:
    """Return the sets without repeated boxes. `name_of` returns what error messages call a set.

    Raise InvalidInput if a set is no collection, or holds something that is no number of a box.
    """
    sizes = _checked_sizes(sets, name_of)
    boxes_of_all = list(chain.from_iterable(sets))
    are_boxes = _are_integers(boxes_of_all) and (
        not boxes_of_all or (min(boxes_of_all) >= 0 and max(boxes_of_all) < _BOX_LIMIT)
    )
    if not are_boxes:
        index = next(index for index, members in enumerate(sets) if not all(map(_is_box, members)))
        box = next(box for box in sets[index] if not _is_box(box))
        raise InvalidInput(
            f"{name_of(index)} holds {box!r}, expected whole numbers of boxes from 0 to {_BOX_LIMIT - 1}"
        )
    boxes = np.fromiter(boxes_of_all, dtype=np.int64, count=len(boxes_of_all))
    # The set's number is in the high bits of a key, and the box in the low bits.
    set_boxes = np.unique((np.repeat(np.arange(sizes.size), sizes) << _BOX_BITS) | boxes)
    starts = starts_of(np.bincount(set_boxes >> _BOX_BITS, minlength=sizes.size))
    return _BoxSets(set_boxes & (_BOX_LIMIT - 1), starts)


def _checked_sizes(collections: Sequence[Collection[Any]], name_of: Callable[[int], str]) -> Ints:
    """Return the sizes of collections. Raise InvalidInput if one is no collection, is a text or is a mapping."""
    for kind in set(map(type, collections)):
        if issubclass(kind, str | bytes | Mapping) or not issubclass(kind, Collection):
            index = next(index for index, collection in enumerate(collections) if type(collection) is kind)
            raise InvalidInput(f"{name_of(index)} is a {kind.__name__}, expected a collection")
    return np.fromiter(map(len, collections), dtype=np.int64, count=len(collections))


def _are_integers(values: Sequence[object]) -> bool:
    # Checking the distinct types is faster than checking each value.
    return all(kind is not bool and issubclass(kind, Integral) for kind in set(map(type, values)))


def _is_box(value: Any) -> bool:
    return _are_integers([value]) and 0 <= value < _BOX_LIMIT


# The functions by the names in their signatures.
CALLS: dict[str, Callable[..., ContentScore]] = {
    "content-selection": content_selection,
    "content-upper-bound": content_upper_bound,
}
