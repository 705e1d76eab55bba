"""Sources of judgments (studies or files), with the contents of their units."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.data.judgment_sets.files import DEFAULT_LEVEL
from evaluation.results.agreement import preference_scores
from judgments.design.numbers import plain_number
from judgments.kinds import Kind
from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.statistics.aggregation import majority_vote, mean_grade

Values = NDArray[np.float64] | NDArray[np.object_]
Captions = tuple[str | None, str | None, str | None]
NO_CAPTIONS: Captions = (None, None, None)

# the names of the first text's systems, and of the second text's systems
Sides = tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a unit: its image, and the ids and texts of its reference, first and second caption, if known.

    systems: names of the systems that a file credits with the first and with the second caption. kind: the kind of
    the candidate pair. document: the document to which the image belongs.
    """

    image: str | None = None
    ids: Captions = NO_CAPTIONS
    texts: Captions = NO_CAPTIONS
    systems: Sides = ((), ())
    kind: str = ""
    document: str = ""

    @property
    def has_reference(self) -> bool:
        return self.ids[0] is not None or self.texts[0] is not None

    def swapped(self) -> Content:
        """Return the content with its two captions exchanged."""
        ids, texts = ((reference, second, first) for reference, first, second in (self.ids, self.texts))
        return replace(self, ids=ids, texts=texts, systems=self.systems[::-1])

    def keys(
        self, *, with_reference: bool, two_sided: bool, by_system: bool = False
    ) -> Iterator[tuple[Hashable, bool]]:
        """Yield a key by the ids and a key by the texts, each with ``swapped``. Equal contents have equal keys.

        The candidates of a key are sorted; ``swapped`` says whether this changed their order.

        Args:
            with_reference: whether a key has the reference.
            two_sided: whether the unit has two candidates.
            by_system: whether a key has the credited systems.
        """
        for name, captions in (("ids", self.ids), ("texts", self.texts)):
            reference, first, second = captions
            if self.image is None or first is None or (two_sided and second is None):
                continue
            # Skip this form if only the other form (id or text) of the reference is known, since forms are not mixed.
            if with_reference and reference is None and self.has_reference:
                continue
            sides = [(first, self.systems[0]), (second, self.systems[1])]
            if not by_system:
                sides = [(caption, ()) for caption, _ in sides]
            swapped = two_sided and second is not None and sides[0] > sides[1]
            key_reference = reference if with_reference else None
            yield (name, self.image, key_reference, *(sides[::-1] if swapped else sides)), swapped


@dataclass(frozen=True, slots=True)
class SourceJudgments:
    """The N judgments of a source on U units.

    unit: (N,) positions in `units`. rater: (N,) whole numbers. value: (N,) numbers, or objects if a value is a
    text. left_out: number of rows that were left out, by reason. full_depth: (U,) whether early stopping did not
    end the unit, if early stopping was used. anonymous: whether raters stand for answers of published totals
    instead of people.
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

    def merged_into(self, groups: Ints, is_swapped: Flags, count: int) -> SourceJudgments:
        """Return the judgments with units merged into `count` groups, and answers to `is_swapped` units exchanged."""
        value = self.value
        if self.kind is not None and is_swapped.any():
            value = value.copy()
            rows = np.flatnonzero(is_swapped[self.unit])
            to_canonical = self.kind.sides.to_canonical
            value[rows] = [to_canonical(int(answer), side=True) for answer in value[rows].tolist()]
        names = [str(number) for number in range(count)]
        contents = [Content()] * count
        for unit, content in enumerate(self.contents):
            contents[groups[unit]] = content.swapped() if is_swapped[unit] else content
        return SourceJudgments(
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

    def limited_to(self, units: Flags) -> SourceJudgments:
        rows = units[self.unit]
        return replace(
            self, unit=self.unit[rows], rater=self.rater[rows], value=self.value[rows], full_depth=None
        )

    def scores(self) -> Floats:
        """Return the scores of the U units: (U,); nan without judgments."""
        scores = np.full(len(self.units), np.nan)
        if len(self.unit):
            value = preference_scores(self.value.astype(np.float64)) if self.two_sided else self.value
            means = mean_grade(self.unit, value)
            scores[means.units] = means.mean
        return scores

    def consensus(self) -> dict[int, Any]:
        """Return the consensus by unit. Units with a tie are left out."""
        if not len(self.unit):
            return {}
        if self.kind is None:
            votes = majority_vote(self.unit, self.value.tolist())
            winners = zip(votes.units.tolist(), votes.winner.tolist(), strict=True)
            labels = votes.labels.tolist()
            return {unit: labels[index] for unit, index in winners if index >= 0}
        answers = [plain_number(answer) for answer in self.value.tolist()]
        consensus = self.kind.aggregation.consensus(self.unit.tolist(), answers)
        return {unit: float(winner.value) for unit, winner in consensus.items() if winner.value is not None}
