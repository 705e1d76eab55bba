"""The order of a HIT's units, and the sides of their options. Both are drawn for each worker."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any

import numpy as np

from annotation.models import Worker
from judgments.design.study_design import StudyDesign
from judgments.drawing.controls.dealing import ORIGINAL_UNIT
from judgments.drawing.controls.makers import REPEATED
from judgments.drawing.draws import rng_for, shuffle
from judgments.drawing.hits import order_with_repeats_apart
from judgments.drawing.material import screen_of
from judgments.kinds import KINDS, Kind
from judgments.models import HIT, Unit


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of a page.

    Attributes:
        order: for each position, the index of its unit in the HIT.
        sides: for each position, the drawn order of its unit's options (``Kind.sides``); empty if the kind draws none.
    """

    order: list[int]
    sides: list[Any]


def draw_layout(
    *,
    design: StudyDesign,
    hit: HIT,
    worker: Worker,
    units: Sequence[Unit],
    left_out: Collection[int] = (),
    with_withdrawn: bool = False,
) -> Layout:
    """Draw the order of a HIT's units, and the sides of their options, for a worker.

    The draw depends only on the seed, the HIT and the worker's name, so that a HIT that the worker takes back looks the
    same. The units of a passage (``Kind.passage``), such as a document, keep the HIT's order. Units of one screen
    (``screen_of``) stay together; their order is drawn once for a whole passage. A unit and its repetition are kept
    apart; if that is impossible, the repetition is left out.

    Args:
        left_out: row ids of units to leave out, such as those that need no more judgments.
        with_withdrawn: whether to include withdrawn units, to read a page as it was published.
    """
    kind = KINDS[design.protocol]
    rng = rng_for(design.seed, f"order {hit.key} {worker.name}")
    groups: list[list[int]] = []
    for group in shuffle(_group_indices(kind, units), rng):
        is_passage = kind.passage(units[group[0]])
        drawn_group = _draw_screen_order(units, group, rng) if is_passage else shuffle(group, rng)
        # units are left out after the draw, so that the order of the others stays the same
        shown_group = [
            index
            for index in drawn_group
            if units[index].pk not in left_out and (with_withdrawn or not units[index].withdrawn)
        ]
        if shown_group:
            groups.append(shown_group)
    originals = _originals_by_repetition(units, groups)
    group_order = order_with_repeats_apart(len(groups), originals, rng) if originals else range(len(groups))
    order = list(chain.from_iterable(groups[number] for number in group_order))
    # sides are drawn in the order of the HIT, so that they do not depend on the order of the page
    indices = sorted(order)
    rng = rng_for(design.seed, f"sides {hit.key} {worker.name}")
    drawn_sides = kind.sides.draw([units[index] for index in indices], rng)
    if not drawn_sides:  # the kind has no sides
        return Layout(order=order, sides=[])
    sides_by_index = dict(zip(indices, drawn_sides, strict=True))
    return Layout(order=order, sides=[sides_by_index[index] for index in order])


def _group_indices(kind: Kind, units: Sequence[Unit]) -> list[list[int]]:
    """Return the indices of units in groups that stay together: those of one picture, passage or screen.

    Any other unit is a group of its own.
    """
    groups: dict[Any, list[int]] = {}
    for index, unit in enumerate(units):
        if kind.grouped:  # the repetition of a picture is a group of its own
            key: Any = (unit.item_id, unit.control_kind == REPEATED)
        else:
            key = kind.passage(unit) or screen_of(unit) or index
        groups.setdefault(key, []).append(index)
    return list(groups.values())


def _draw_screen_order(units: Sequence[Unit], passage: list[int], rng: np.random.Generator) -> list[int]:
    """Return the indices of a passage in its order, but in half of the draws with each screen's units reversed.

    So the first unit of a screen is not always shown first. Nothing is drawn if each screen has one unit.
    """

    def key_of_screen(index: int) -> Any:
        return screen_of(units[index]) or index  # without a screen of several units, a unit is one of its own

    screens = [list(screen) for _key, screen in groupby(passage, key_of_screen)]
    if len(screens) == len(passage) or rng.integers(2):
        return passage
    return list(chain.from_iterable(reversed(screen) for screen in screens))


def _originals_by_repetition(units: Sequence[Unit], groups: Sequence[Sequence[int]]) -> dict[int, int]:
    """Return the number of the group that another group repeats, by the number of the repeating group.

    Args:
        groups: the indices of the units of each group.
    """
    group_numbers_by_key: dict[str, int] = {}
    for number, group in enumerate(groups):
        group_numbers_by_key.update(dict.fromkeys((units[index].key for index in group), number))
    first_units = [units[group[0]] for group in groups]
    return {
        number: group_numbers_by_key[unit.content[ORIGINAL_UNIT]]
        for number, unit in enumerate(first_units)
        if unit.control_kind == REPEATED and unit.content[ORIGINAL_UNIT] in group_numbers_by_key
    }
