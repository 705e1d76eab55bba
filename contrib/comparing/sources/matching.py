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

from contrib.comparing.sources.judgments import SourceJudgments, UnitContent
from evaluation.errors import EvaluationError
from quorum.numeric.arrays import Flags, Ints

TWO_SCALES = gettext_noop("the answers of the sources have different scales")


@dataclass(frozen=True, slots=True)
class MatchedSources:
    """Two sources of judgments whose equal units are merged into G groups.

    Attributes:
        first, second: the sources, with the groups as units.
        shared: (G,) whether both sources have judgments of the group.
        by_id: number of groups whose units have the same id in both sources.
        swapped: number of the second source's units whose candidates are in the other order.
        merged: for each source, the number of units that were merged because their contents are equal.
        without_reference: whether references were ignored, because only one source has them.
        stopped_early: whether a source ended the judgments of some units early.
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
    have_references = [_has_references(source) for source in (first, second)]
    first_count = len(first.units)
    groups = _Groups(first_count + len(second.units))
    key_options = {"with_reference": all(have_references), "two_sided": first.two_sided and second.two_sided}
    key_options["by_system"] = all(_judges_by_system(source, **key_options) for source in (first, second))
    positions_by_key: dict[Hashable, tuple[int, bool]] = {}
    for index, content in enumerate(chain(_contents(first), _contents(second))):
        for key, swapped in content.keys(**key_options):
            earlier, earlier_swapped = positions_by_key.setdefault(key, (index, swapped))
            groups.join(earlier, index, swapped=swapped != earlier_swapped)
    # Match by content first, since this also determines the order of candidates.
    same_ids = _same_ids(first, second)
    for position, other in same_ids:
        groups.join(position, first_count + other, swapped=False)
    group_numbers, is_swapped, group_count = groups.number_groups()
    first_groups, second_groups = group_numbers[:first_count], group_numbers[first_count:]
    is_shared = _mark_occurring(first_groups[first.unit], group_count)
    is_shared &= _mark_occurring(second_groups[second.unit], group_count)
    positions_by_id = np.array([position for position, _ in same_ids], dtype=np.int64)
    is_matched_by_id = _mark_occurring(first_groups[positions_by_id], group_count)
    return MatchedSources(
        first=first.merged_into(first_groups, is_swapped[:first_count], group_count),
        second=second.merged_into(second_groups, is_swapped[first_count:], group_count),
        shared=is_shared,
        by_id=int((is_shared & is_matched_by_id).sum()),
        swapped=int((is_swapped[first_count:] & is_shared[second_groups]).sum()),
        merged=(_count_merged(first_groups), _count_merged(second_groups)),
        without_reference=have_references[0] != have_references[1],
        stopped_early=first.full_depth is not None or second.full_depth is not None,
    )


def _count_merged(groups: Ints) -> int:
    return len(groups) - len(np.unique(groups))


def _mark_occurring(groups: Ints, count: int) -> Flags:
    """Return whether each of ``count`` groups occurs in ``groups``: (count,)."""
    occurring = np.zeros(count, dtype=bool)
    occurring[groups] = True
    return occurring


def _contents(source: SourceJudgments) -> Sequence[UnitContent]:
    return source.contents or [UnitContent()] * len(source.units)


def _judges_by_system(source: SourceJudgments, **key_options: bool) -> bool:
    """Return whether some units differ only in the systems that they credit."""
    plain, credited = (
        {key for content in _contents(source) for key, _ in content.keys(**key_options, by_system=by_system)}
        for by_system in (False, True)
    )
    return len(credited) > len(plain)


def _has_references(source: SourceJudgments) -> bool:
    return any(content.has_reference for content in source.contents)


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


def _contradict(content: UnitContent, other: UnitContent) -> bool:
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
        self._swapped = [False] * size  # whether a unit's candidates are in the other order than its parent's

    def _root(self, position: int) -> tuple[int, bool]:
        """Return the root of a unit's group, and whether the unit's candidates are swapped relative to the root's."""
        swapped, path = False, []
        while self._parent[position] != position:
            path.append(position)
            position = self._parent[position]
        # shorten the path, from the root outwards, since each step uses the previous one
        for step in reversed(path):
            swapped ^= self._swapped[step]
            self._parent[step], self._swapped[step] = position, swapped
        return position, swapped

    def join(self, position: int, other: int, *, swapped: bool) -> None:
        """Join the groups of two units. ``swapped`` says whether their candidates are in different orders."""
        (root, root_swapped), (other_root, other_swapped) = self._root(position), self._root(other)
        low, high = min(root, other_root), max(root, other_root)
        if low != high:
            self._parent[high], self._swapped[high] = low, swapped ^ root_swapped ^ other_swapped

    def number_groups(self) -> tuple[Ints, Flags, int]:
        """Return the (N,) group numbers of N units, (N,) flags of swapped units, and the number of groups."""
        roots, swapped = zip(*map(self._root, range(len(self._parent))), strict=True)
        distinct_roots, number = np.unique(roots, return_inverse=True)
        return number.astype(np.int64), np.array(swapped, dtype=bool), len(distinct_roots)
