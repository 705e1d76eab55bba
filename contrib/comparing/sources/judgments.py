"""The judgments of a source (a study or a file) as arrays, with the contents of its units."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.data.judgment_sets.files import CONTROL_ITEMS, DEFAULT_LEVEL
from evaluation.results.agreement import preference_scores
from judgments.design.numbers import plain_number
from judgments.kinds import Kind
from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.statistics.aggregation import majority_vote, mean_grade

Values = NDArray[np.float64] | NDArray[np.object_]
# Ids or texts of a unit's reference, first caption and second caption; None if unknown.
CaptionTriple = tuple[str | None, str | None, str | None]
NO_CAPTIONS: CaptionTriple = (None, None, None)
# The names of the systems of the first caption, and of those of the second caption.
CreditedSystems = tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class UnitContent:
    """The content of a unit, as far as it is known.

    Attributes:
        image: name of the image.
        ids, texts: ids and texts of the reference, the first and the second caption.
        systems: names of the systems that a file credits with the first and with the second caption.
        kind: the kind of the candidate pair, such as HC.
        document: the document to which the image belongs.
    """

    image: str | None = None
    ids: CaptionTriple = NO_CAPTIONS
    texts: CaptionTriple = NO_CAPTIONS
    systems: CreditedSystems = ((), ())
    kind: str = ""
    document: str = ""

    @property
    def has_reference(self) -> bool:
        return self.ids[0] is not None or self.texts[0] is not None

    def with_swapped_candidates(self) -> UnitContent:
        """Return the content with its two captions exchanged."""
        ids, texts = ((reference, second, first) for reference, first, second in (self.ids, self.texts))
        return replace(self, ids=ids, texts=texts, systems=self.systems[::-1])

    def keys(
        self, *, with_reference: bool, two_sided: bool, by_system: bool = False
    ) -> Iterator[tuple[Hashable, bool]]:
        """Yield keys by which units with the same content are found: one of the ids, and one of the texts.

        The two candidates in a key are sorted. With each key comes whether this changed their order. No key is yielded
        if it would be incomplete.

        Args:
            with_reference: whether a key has the reference.
            two_sided: whether the unit has two candidates.
            by_system: whether a key has the credited systems.
        """
        for name, captions in (("ids", self.ids), ("texts", self.texts)):
            reference, first, second = captions
            if self.image is None or first is None or (two_sided and second is None):
                continue
            # Ids and texts are not mixed, so there is no key of the ids if only the text of the reference is known.
            if with_reference and reference is None and self.has_reference:
                continue
            sides = [(first, self.systems[0]), (second, self.systems[1])]
            if not by_system:
                sides = [(caption, ()) for caption, _ in sides]
            is_swapped = two_sided and second is not None and sides[0] > sides[1]
            key_reference = reference if with_reference else None
            yield (name, self.image, key_reference, *(sides[::-1] if is_swapped else sides)), is_swapped


@dataclass(frozen=True, slots=True)
class SourceJudgments:
    """The N judgments of a source on U units.

    Attributes:
        name: slug of the study, or name of the file or its format.
        kind: the kind of judgment; None if a file does not name it.
        units: (U,) ids of the units.
        contents: (U,) contents of the units; empty if unknown.
        unit: (N,) positions in `units`.
        rater: (N,) codes of the raters.
        value: (N,) answers: numbers, or objects if an answer is a text.
        left_out: number of rows that were left out, by reason.
        full_depth: (U,) whether the unit has all its judgments, exempt from early stopping; None if the source
            has no early stopping, and for merged or selected units.
        anonymous: whether raters stand for the votes of a published total, of which nobody knows who gave which.
    """

    name: str
    kind: Kind | None
    units: Sequence[str]
    contents: Sequence[UnitContent]
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
    def has_control_items(self) -> bool:
        return CONTROL_ITEMS in self.left_out

    @property
    def score_name(self) -> str:
        """The name of the score that each unit has (``scores``)."""
        if self.two_sided:
            return "share for the first"
        return "share of yes" if self.kind is not None and self.level == "nominal" else "mean"

    def with_merged_units(self, groups: Ints, is_swapped: Flags, group_count: int) -> SourceJudgments:
        """Return the judgments with groups of units as the new units.

        Args:
            groups: (U,) group of each unit.
            is_swapped: (U,) whether the unit's candidates are in the other order than those of its group. Answers to
                these units are changed accordingly.
        """
        value = self.value
        if self.kind is not None and is_swapped.any():
            value = value.copy()
            rows = np.flatnonzero(is_swapped[self.unit])
            # An answer for one side becomes one for the other: `side=True` says that the candidates are swapped.
            to_canonical = self.kind.sides.to_canonical
            value[rows] = [to_canonical(int(answer), side=True) for answer in value[rows].tolist()]
        contents = [UnitContent()] * group_count
        for unit, content in enumerate(self.contents):
            contents[groups[unit]] = content.with_swapped_candidates() if is_swapped[unit] else content
        return SourceJudgments(
            name=self.name,
            kind=self.kind,
            units=[str(group) for group in range(group_count)],
            contents=contents,
            unit=groups[self.unit],
            rater=self.rater,
            value=value,
            left_out=self.left_out,
            anonymous=self.anonymous,
        )

    def on_units(self, is_kept: Flags) -> SourceJudgments:
        """Return the judgments on some units. ``is_kept`` is (U,)."""
        rows = is_kept[self.unit]
        return replace(
            self, unit=self.unit[rows], rater=self.rater[rows], value=self.value[rows], full_depth=None
        )

    def scores(self) -> Floats:
        """Return the scores of the U units: (U,); nan for a unit without judgments."""
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
            return {unit: labels[index] for unit, index in winners if index >= 0}  # -1 is a tie
        answers = [plain_number(answer) for answer in self.value.tolist()]
        consensus = self.kind.aggregation.consensus(self.unit.tolist(), answers)
        return {unit: float(winner.value) for unit, winner in consensus.items() if winner.value is not None}
