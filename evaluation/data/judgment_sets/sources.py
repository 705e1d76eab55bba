"""Judgments of one source, a study or a file, with what their units show."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.data.judgment_sets.records import Flags, Floats, Ints
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


def first_chosen(side: Floats) -> Floats:
    """Return (N,) 1 for the first of two candidates, 0 for the second, 0.5 for neither side."""
    return np.where(side == 1, 1.0, np.where(side == 2, 0.0, 0.5))
