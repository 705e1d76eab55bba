"""Match the units of two sources of judgments, and merge equal units of the same source.

Units are equal if their contents or their ids are. The two candidates of a unit may be in either order. If the order
differs from that of the first equal unit, the answers are swapped.
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
        is_shared: (G,) whether both sources have judgments of the group.
        matched_by_id_count: number of groups whose units have the same id in both sources.
        swapped_count: number of the second source's shared units whose candidates are in the other order.
        merged_counts: for each source, the number of units that were merged because their contents are equal.
        ignores_references: whether references were ignored, because only one source has them.
        has_early_stopping: whether a source ended the judgments of some units early.
    """

    first: SourceJudgments
    second: SourceJudgments
    is_shared: Flags
    matched_by_id_count: int
    swapped_count: int
    merged_counts: tuple[int, int]
    ignores_references: bool
    has_early_stopping: bool

    @property
    def have_same_scale(self) -> bool:
        first, second = self.first.kind, self.second.kind
        if first is None or second is None:
            return first is second  # true if neither file names its kind
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
    sources_and_options = ((first, second, "--second-protocol"), (second, first, "--first-protocol"))
    for source, other_source, option in sources_and_options:
        if source.two_sided and other_source.kind is None:
            raise EvaluationError(
                f"{other_source.name} does not say of which protocol its judgments are, and those of {source.name} "
                f"choose between two captions; name it with {option}."
            )
    first_has_references, second_has_references = _has_references(first), _has_references(second)
    key_options = {
        "with_reference": first_has_references and second_has_references,
        "two_sided": first.two_sided and second.two_sided,
    }
    key_options["by_system"] = all(_judges_by_system(source, **key_options) for source in (first, second))
    # The units of both sources are numbered from 0, those of the second source after those of the first.
    first_count = len(first.units)
    groups = _Groups(first_count + len(second.units))
    # Match by content first, since this also determines the order of candidates. In keys, the candidates are sorted;
    # ``swapped`` says whether this changed their order.
    first_unit_by_key: dict[Hashable, tuple[int, bool]] = {}
    for unit, content in enumerate(chain(_contents(first), _contents(second))):
        for key, swapped in content.keys(**key_options):
            earlier_unit, earlier_swapped = first_unit_by_key.setdefault(key, (unit, swapped))
            groups.join(earlier_unit, unit, swapped=swapped != earlier_swapped)
    pairs_with_same_id = _pairs_with_same_id(first, second)
    for first_unit, second_unit in pairs_with_same_id:
        groups.join(first_unit, first_count + second_unit, swapped=False)
    group_numbers, is_swapped, group_count = groups.number_groups()
    first_groups, second_groups = group_numbers[:first_count], group_numbers[first_count:]
    is_shared = _occurs(first_groups[first.unit], group_count) & _occurs(
        second_groups[second.unit], group_count
    )
    units_with_same_id = np.array([first_unit for first_unit, _ in pairs_with_same_id], dtype=np.int64)
    is_matched_by_id = _occurs(first_groups[units_with_same_id], group_count)
    return MatchedSources(
        first=first.with_merged_units(first_groups, is_swapped[:first_count], group_count),
        second=second.with_merged_units(second_groups, is_swapped[first_count:], group_count),
        is_shared=is_shared,
        matched_by_id_count=int((is_shared & is_matched_by_id).sum()),
        swapped_count=int((is_swapped[first_count:] & is_shared[second_groups]).sum()),
        merged_counts=(_count_merged(first_groups), _count_merged(second_groups)),
        ignores_references=first_has_references != second_has_references,
        has_early_stopping=first.full_depth is not None or second.full_depth is not None,
    )


def _count_merged(groups: Ints) -> int:
    """Return how many units are in the group of an earlier unit."""
    return len(groups) - len(np.unique(groups))


def _occurs(groups: Ints, group_count: int) -> Flags:
    """Return whether each of the groups from 0 to ``group_count`` - 1 occurs in ``groups``: (group_count,)."""
    occurs = np.zeros(group_count, dtype=bool)
    occurs[groups] = True
    return occurs


def _contents(source: SourceJudgments) -> Sequence[UnitContent]:
    """Return the contents of a source's units, of which nothing is known if the source has no contents."""
    return source.contents or [UnitContent()] * len(source.units)


def _judges_by_system(source: SourceJudgments, **key_options: bool) -> bool:
    """Return whether some units differ only in the systems that they credit, so that keys must have these."""
    plain_keys, keys_with_systems = (
        {key for content in _contents(source) for key, _ in content.keys(**key_options, by_system=by_system)}
        for by_system in (False, True)
    )
    return len(keys_with_systems) > len(plain_keys)


def _has_references(source: SourceJudgments) -> bool:
    return any(content.has_reference for content in source.contents)


def _pairs_with_same_id(first: SourceJudgments, second: SourceJudgments) -> list[tuple[int, int]]:
    """Return the pairs of a unit of each source that have the same id, and contents that do not contradict."""
    second_unit_by_id = {name: unit for unit, name in enumerate(second.units)}
    pairs = [
        (unit, second_unit_by_id[name]) for unit, name in enumerate(first.units) if name in second_unit_by_id
    ]
    if not first.contents or not second.contents:
        return pairs
    return [
        (first_unit, second_unit)
        for first_unit, second_unit in pairs
        if not _contradict(first.contents[first_unit], second.contents[second_unit])
    ]


def _contradict(content: UnitContent, other_content: UnitContent) -> bool:
    """Return whether two contents have different images or candidates.

    Candidates are compared by their ids if both contents have them, or else by their texts.
    """
    if content.image is not None and other_content.image is not None and content.image != other_content.image:
        return True
    for captions, other_captions in ((content.ids, other_content.ids), (content.texts, other_content.texts)):
        _reference, *candidates = captions
        _other_reference, *other_candidates = other_captions
        if candidates[0] is not None and other_candidates[0] is not None:
            return set(candidates) != set(other_candidates)
    return False


class _Groups:
    """A union-find structure of equal units, which also tracks the order of their two candidates.

    Each unit has a parent. The units of a group form a tree, whose root is its first unit and its own parent.
    """

    def __init__(self, size: int) -> None:
        self._parent = list(range(size))
        self._swapped = [False] * size  # whether a unit's candidates are in the other order than its parent's

    def _root(self, unit: int) -> tuple[int, bool]:
        """Return the root of a unit's group, and whether its candidates are in the other order than the unit's."""
        swapped, path = False, []
        while self._parent[unit] != unit:
            path.append(unit)
            unit = self._parent[unit]
        # Make the root the parent of all units on the path, the unit nearest to the root first. A unit is swapped
        # relative to the root if it is swapped relative to its parent or its parent to the root, but not if both are.
        for descendant in reversed(path):
            swapped ^= self._swapped[descendant]
            self._parent[descendant], self._swapped[descendant] = unit, swapped
        return unit, swapped

    def join(self, unit: int, other_unit: int, *, swapped: bool) -> None:
        """Join the groups of two units. ``swapped`` says whether their candidates are in different orders."""
        (root, unit_swapped), (other_root, other_swapped) = self._root(unit), self._root(other_unit)
        low, high = min(root, other_root), max(root, other_root)
        if low != high:
            self._parent[high], self._swapped[high] = low, swapped ^ unit_swapped ^ other_swapped

    def number_groups(self) -> tuple[Ints, Flags, int]:
        """Return the group of each of N units (N,), whether it is swapped (N,), and the number of groups.

        A unit is swapped if its candidates are in the other order than those of the first unit of its group.
        """
        roots, swapped = zip(*map(self._root, range(len(self._parent))), strict=True)
        distinct_roots, number = np.unique(roots, return_inverse=True)
        return number.astype(np.int64), np.array(swapped, dtype=bool), len(distinct_roots)
