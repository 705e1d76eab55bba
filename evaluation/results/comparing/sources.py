"""Match the units of two sources of judgments. Pure.

Units match by id, else by content. Candidates may be in either order; the second source's answers are flipped
to fit.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.data.judgment_sets.records import Flags, Floats, Ints
from evaluation.errors import EvaluationError
from evaluation.results.consensus import first_chosen
from evaluation.statistics.aggregation import majority_vote, mean_grade
from judgments.kinds import Kind

DEFAULT_LEVEL = "nominal"
Values = NDArray[np.float64] | NDArray[np.object_]
Captions = tuple[str | None, str | None, str | None]
NONE: Captions = (None, None, None)


@dataclass(frozen=True, slots=True)
class Content:
    """A unit's reference, first and second caption, by id and by text as far as known."""

    image: str | None = None
    ids: Captions = NONE
    texts: Captions = NONE

    def keys(self, *, reference: bool, two_sided: bool) -> Iterator[tuple[Hashable, bool]]:
        """Yield (key, whether candidates are swapped), by ids and by texts."""
        for name, captions in (("ids", self.ids), ("texts", self.texts)):
            shown, first, second = captions
            if self.image is None or first is None or (two_sided and second is None):
                continue
            # The other ids may be known although this one is not.
            if reference and shown is None and any(one is not None for one in (self.ids[0], self.texts[0])):
                continue
            turned = two_sided and second is not None and first > second
            pair = (second, first) if turned else (first, second)
            yield (name, self.image, shown if reference else None, *pair), turned


@dataclass(frozen=True, slots=True)
class Source:
    """N judgments of a source.

    unit: (N,) positions in `units`. rater: (N,) whole numbers. value: (N,) numbers, or objects if any is a
    text. left_out: reason -> rows. full_depth: (U,) unstopped units, if sampled. anonymous: whether raters
    are positions in published totals, not people.
    """

    name: str
    kind: Kind | None
    units: Sequence[str]
    contents: Sequence[Content]
    unit: Ints
    rater: Ints
    value: Values
    left_out: Mapping[str, int] = field(default_factory=dict)
    full_depth: Flags | None = None
    anonymous: bool = False

    @property
    def level(self) -> str:
        return DEFAULT_LEVEL if self.kind is None else self.kind.aggregation.level

    @property
    def two_sided(self) -> bool:
        return self.kind is not None and self.kind.two_sided

    @property
    def is_numeric(self) -> bool:
        return self.value.dtype != object

    @property
    def score(self) -> str:
        if self.two_sided:
            return "share for the first"
        return "share of yes" if self.kind is not None and self.level == "nominal" else "mean"

    def merged_into(self, groups: Ints, turned: Flags, count: int) -> Source:
        """Merge units into `count` groups; flip answers on turned units."""
        value = self.value
        if self.kind is not None and turned.any():
            value = value.copy()
            rows = np.flatnonzero(turned[self.unit])
            value[rows] = [self.kind.sides.to_canonical(int(one), side=True) for one in value[rows].tolist()]
        names = [str(one) for one in range(count)]
        contents = [Content()] * count
        for group, content in zip(groups.tolist(), self.contents, strict=False):
            contents[group] = content
        return Source(
            self.name,
            self.kind,
            names,
            contents,
            groups[self.unit],
            self.rater,
            value,
            self.left_out,
            anonymous=self.anonymous,
        )

    def limited_to(self, kept: Flags) -> Source:
        rows = kept[self.unit]
        return replace(
            self, unit=self.unit[rows], rater=self.rater[rows], value=self.value[rows], full_depth=None
        )

    def scores(self) -> Floats:
        """Return (U,) scores; nan without judgments."""
        found = np.full(len(self.units), np.nan)
        if len(self.unit):
            value = first_chosen(self.value.astype(np.float64)) if self.two_sided else self.value
            means = mean_grade(self.unit, value)
            found[means.units] = means.mean
        return found

    def consensus(self) -> dict[int, Any]:
        """Return unit -> consensus, omitting ties."""
        if not len(self.unit):
            return {}
        if self.kind is None:
            votes = majority_vote(self.unit, self.value.tolist())
            winners = zip(votes.units.tolist(), votes.winner.tolist(), strict=True)
            labels = votes.labels.tolist()
            return {unit: labels[place] for unit, place in winners if place >= 0}
        found = self.kind.aggregation.consensus(self.unit.tolist(), [int(one) for one in self.value.tolist()])
        return {unit: float(one.value) for unit, one in found.items() if one.value is not None}


@dataclass(frozen=True, slots=True)
class Matched:
    """Two sources over the same groups of units.

    shared: (G,) bool, groups in both. by_id: number matched by id. turned: number of the second's units with
    swapped candidates. joined: per source, units merged by equal content. without_reference: references were
    ignored, because only one source shows them.
    """

    first: Source
    second: Source
    shared: Flags
    by_id: int
    turned: int
    joined: tuple[int, int]
    without_reference: bool
    stopped_early: bool

    @property
    def same_scale(self) -> bool:
        first, second = self.first.kind, self.second.kind
        if first is None or second is None:
            return first is second
        same_level = first.aggregation.level == second.aggregation.level
        return same_level and first.outcomes == second.outcomes


def match_sources(first: Source, second: Source) -> Matched:
    """Match two sources. Raise EvaluationError for incompatible protocols."""
    for one in (first, second):
        if one.kind is not None and one.kind.is_open:
            raise EvaluationError(
                f"{one.name} is of protocol {one.kind.name}, whose answers are no numbers; expected grades, "
                "yes or no, or choices between two captions."
            )
        if not len(one.unit):
            raise EvaluationError(f"{one.name} holds no judgment that counts, expected one or more.")
    for sided, unnamed, option in ((first, second, "--second-protocol"), (second, first, "--first-protocol")):
        if sided.two_sided and unnamed.kind is None:
            raise EvaluationError(
                f"{unnamed.name} does not say of which protocol its judgments are, and those of {sided.name} choose "
                f"between two captions; name it with {option}."
            )
    references = [_has_references(one) for one in (first, second)]
    split = len(first.units)
    groups = _Groups(split + len(second.units))
    two_sided = first.two_sided and second.two_sided
    known: dict[Hashable, tuple[int, bool]] = {}
    for place, content in enumerate(chain(_contents(first), _contents(second))):
        for key, turned in content.keys(reference=all(references), two_sided=two_sided):
            there, other = known.setdefault(key, (place, turned))
            groups.join(there, place, odd=turned != other)
    # Contents go first: they also determine the sides.
    ids = _same_ids(first, second)
    for own, other_own in ids:
        groups.join(own, split + other_own, odd=False)
    group, odd, count = groups.number_groups()
    first_groups, second_groups = group[:split], group[split:]
    shared = _mark_occurring(first_groups[first.unit], count) & _mark_occurring(
        second_groups[second.unit], count
    )
    by_id = _mark_occurring(first_groups[np.array([one for one, _ in ids], dtype=np.int64)], count)
    return Matched(
        first=first.merged_into(first_groups, odd[:split], count),
        second=second.merged_into(second_groups, odd[split:], count),
        shared=shared,
        by_id=int((shared & by_id).sum()),
        turned=int((odd[split:] & shared[second_groups]).sum()),
        joined=(split - len(np.unique(first_groups)), len(second.units) - len(np.unique(second_groups))),
        without_reference=references[0] != references[1],
        stopped_early=first.full_depth is not None or second.full_depth is not None,
    )


def _mark_occurring(groups: Ints, count: int) -> Flags:
    found = np.zeros(count, dtype=bool)
    found[groups] = True
    return found


def _contents(source: Source) -> Sequence[Content]:
    return source.contents or [Content()] * len(source.units)


def _has_references(source: Source) -> bool:
    return any(one.ids[0] is not None or one.texts[0] is not None for one in source.contents)


def _same_ids(first: Source, second: Source) -> list[tuple[int, int]]:
    """Return positions of units with equal ids and consistent contents."""
    places = {name: place for place, name in enumerate(second.units)}
    pairs = ((place, places[name]) for place, name in enumerate(first.units) if name in places)
    if not first.contents or not second.contents:
        return list(pairs)
    return [
        (place, other)
        for place, other in pairs
        if not _contradict(first.contents[place], second.contents[other])
    ]


def _contradict(one: Content, other: Content) -> bool:
    """Return whether contents contradict each other; ids outweigh texts."""
    if one.image is not None and other.image is not None and one.image != other.image:
        return True
    for captions, others in ((one.ids, other.ids), (one.texts, other.texts)):
        if captions[1] is not None and others[1] is not None:
            return set(captions[1:]) != set(others[1:])
    return False


class _Groups:
    """Union-find of equal units that tracks candidate order."""

    def __init__(self, size: int) -> None:
        self._parent = list(range(size))
        self._odd = [False] * size

    def _root(self, place: int) -> tuple[int, bool]:
        """Return the group's root, and whether `place` is turned against it."""
        odd, path = False, []
        while self._parent[place] != place:
            path.append(place)
            place = self._parent[place]
        for step in reversed(path):  # from the root outwards, so that each step uses the one before
            odd ^= self._odd[step]
            self._parent[step], self._odd[step] = place, odd
        return place, odd

    def join(self, one: int, other: int, *, odd: bool) -> None:
        (root, turned), (second, again) = self._root(one), self._root(other)
        low, high = min(root, second), max(root, second)
        if low != high:
            self._parent[high], self._odd[high] = low, odd ^ turned ^ again

    def number_groups(self) -> tuple[Ints, Flags, int]:
        """Return (N,) group numbers, (N,) turned flags, and the number of groups."""
        found = [self._root(place) for place in range(len(self._parent))]
        roots = np.array([root for root, _ in found], dtype=np.int64)
        known, number = np.unique(roots, return_inverse=True)
        return number.astype(np.int64), np.array([odd for _, odd in found], dtype=bool), len(known)
