"""Match the units of two sources of judgments.

Units match by id, else by content. The two candidates of a unit may be in either order. If the order differs,
answers of the second source are swapped.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from django.utils.translation import gettext_noop

from contrib.comparing.sources.judgments import Content, SourceJudgments
from evaluation.errors import EvaluationError
from quorum.numeric.arrays import Flags, Ints

TWO_SCALES = gettext_noop("the answers of the sources have different scales")


@dataclass(frozen=True, slots=True)
class MatchedSources:
    """Two sources of judgments whose equal units are merged into G groups.

    shared: (G,) bool, whether both sources have the group. by_id: number of units matched by id. swapped: number of
    the second source's units with swapped candidates. merged: for each source, the number of units that were merged
    because their contents are equal. without_reference: whether references were ignored, because only one source
    has them.
    """

    first: SourceJudgments
    second: SourceJudgments
    shared: Flags
    by_id: int
    swapped: int
    merged: tuple[int, int]
    without_reference: bool
    stopped_early: bool

    @property
    def same_scale(self) -> bool:
        first, second = self.first.kind, self.second.kind
        if first is None or second is None:
            return first is second
        same_level = first.aggregation.level == second.aggregation.level
        return same_level and first.outcomes == second.outcomes


def match_sources(first: SourceJudgments, second: SourceJudgments) -> MatchedSources:
    """Match the units of two sources. Raise EvaluationError if their protocols are incompatible."""
    for source in (first, second):
        if source.kind is not None and source.kind.is_open:
            raise EvaluationError(
                f"{source.name} is of protocol {source.kind.name}, whose answers are no numbers; expected grades, "
                "yes or no, or choices between two captions."
            )
        if not len(source.unit):
            raise EvaluationError(f"{source.name} has no used judgment; expected one or more.")
    for sided, unnamed, option in ((first, second, "--second-protocol"), (second, first, "--first-protocol")):
        if sided.two_sided and unnamed.kind is None:
            raise EvaluationError(
                f"{unnamed.name} does not say of which protocol its judgments are, and those of {sided.name} choose "
                f"between two captions; name it with {option}."
            )
    references = [_has_references(source) for source in (first, second)]
    split = len(first.units)
    groups = _Groups(split + len(second.units))
    how = {"reference": all(references), "two_sided": first.two_sided and second.two_sided}
    how["by_system"] = all(_judges_by_system(source, **how) for source in (first, second))
    positions_by_key: dict[Hashable, tuple[int, bool]] = {}
    for index, content in enumerate(chain(_contents(first), _contents(second))):
        for key, turned in content.keys(**how):
            earlier, earlier_turned = positions_by_key.setdefault(key, (index, turned))
            groups.join(earlier, index, odd=turned != earlier_turned)
    # Match by content first, since this also determines the order of candidates.
    ids = _same_ids(first, second)
    for position, other in ids:
        groups.join(position, split + other, odd=False)
    group, odd, count = groups.number_groups()
    first_groups, second_groups = group[:split], group[split:]
    shared = _mark_occurring(first_groups[first.unit], count) & _mark_occurring(
        second_groups[second.unit], count
    )
    by_id = _mark_occurring(first_groups[np.array([position for position, _ in ids], dtype=np.int64)], count)
    return MatchedSources(
        first=first.merged_into(first_groups, odd[:split], count),
        second=second.merged_into(second_groups, odd[split:], count),
        shared=shared,
        by_id=int((shared & by_id).sum()),
        swapped=int((odd[split:] & shared[second_groups]).sum()),
        merged=(split - len(np.unique(first_groups)), len(second.units) - len(np.unique(second_groups))),
        without_reference=references[0] != references[1],
        stopped_early=first.full_depth is not None or second.full_depth is not None,
    )


def _mark_occurring(groups: Ints, count: int) -> Flags:
    occurring = np.zeros(count, dtype=bool)
    occurring[groups] = True
    return occurring


def _contents(source: SourceJudgments) -> Sequence[Content]:
    return source.contents or [Content()] * len(source.units)


def _judges_by_system(source: SourceJudgments, **how: bool) -> bool:
    """Return whether some units differ only in the systems that they credit."""
    plain, credited = (
        {key for content in _contents(source) for key, _ in content.keys(**how, by_system=by_system)}
        for by_system in (False, True)
    )
    return len(credited) > len(plain)


def _has_references(source: SourceJudgments) -> bool:
    return any(content.ids[0] is not None or content.texts[0] is not None for content in source.contents)


def _same_ids(first: SourceJudgments, second: SourceJudgments) -> list[tuple[int, int]]:
    """Return the positions of units that have equal ids and consistent contents, as pairs."""
    positions = {name: position for position, name in enumerate(second.units)}
    pairs = ((position, positions[name]) for position, name in enumerate(first.units) if name in positions)
    if not first.contents or not second.contents:
        return list(pairs)
    return [
        (position, other)
        for position, other in pairs
        if not _contradict(first.contents[position], second.contents[other])
    ]


def _contradict(content: Content, other: Content) -> bool:
    """Return whether two contents contradict each other: by ids if both have them, else by texts."""
    if content.image is not None and other.image is not None and content.image != other.image:
        return True
    for captions, others in ((content.ids, other.ids), (content.texts, other.texts)):
        if captions[1] is not None and others[1] is not None:
            return set(captions[1:]) != set(others[1:])
    return False


class _Groups:
    """A union-find structure of equal units, which also tracks the order of candidates."""

    def __init__(self, size: int) -> None:
        self._parent = list(range(size))
        self._odd = [False] * size

    def _root(self, position: int) -> tuple[int, bool]:
        """Return the root of a unit's group, and whether the unit's candidates are swapped relative to the root's."""
        odd, path = False, []
        while self._parent[position] != position:
            path.append(position)
            position = self._parent[position]
        for step in reversed(path):  # from the root outwards, since each step uses the previous one
            odd ^= self._odd[step]
            self._parent[step], self._odd[step] = position, odd
        return position, odd

    def join(self, position: int, other: int, *, odd: bool) -> None:
        (root, turned), (other_root, other_turned) = self._root(position), self._root(other)
        low, high = min(root, other_root), max(root, other_root)
        if low != high:
            self._parent[high], self._odd[high] = low, odd ^ turned ^ other_turned

    def number_groups(self) -> tuple[Ints, Flags, int]:
        """Return the (N,) group numbers of N units, (N,) flags of swapped units, and the number of groups."""
        rooted = [self._root(position) for position in range(len(self._parent))]
        roots, number = np.unique([root for root, _ in rooted], return_inverse=True)
        return number.astype(np.int64), np.array([odd for _, odd in rooted], dtype=bool), len(roots)
