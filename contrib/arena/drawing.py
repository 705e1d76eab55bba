"""Draw the units of an arena's page when the page is claimed, from the answers so far (contrib/arena/README.md).

The transaction that takes a page's first slot locks the HIT's row and draws its units. It stores a ``DrawState``
and the probability of each system pair. Together with the seed, the HIT and the worker's earlier pages, these
determine the units, so that they can be drawn again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from django.db.models import F

from annotation.models import Worker
from common.rows.prepared import PreparedQuery, PreparedUpdate, query_parameter
from common.rows.writing import insert_rows
from contrib.arena.pair_table import PairTable, pair_table_of
from judgments.design.study_design import StudyDesign
from judgments.drawing.draws import rng_for
from judgments.models import HIT, DrawState, HITUnit, Study, SystemPair, Unit
from judgments.studies.designs import design_of
from quorum.statistics.drawing import PairDraws, prior_strengths

RENEWAL_DIVISOR = 50  # draw from a new state once the number of answers has grown by a fiftieth
MAX_TRIES = 8  # number of items to try for a pair of systems, to find one that is not on the page yet

# Queries that are compiled once, since they run at each claim.
_STUDY, _WORKER, _HIT = query_parameter("study"), query_parameter("worker"), query_parameter("hit")
_NEWEST_STATE: PreparedQuery[Any] = PreparedQuery(
    lambda: DrawState.objects.filter(study=_STUDY).order_by("-number")[:1]
)
_ANSWERS_BY_PAIR: PreparedQuery[Any] = PreparedQuery(
    lambda: (
        SystemPair.objects.filter(study=_STUDY)
        .order_by("position")
        .values_list(F("wins") + F("ties") + F("losses"), flat=True)
    )
)
# Units on the worker's pages, without check questions, which are not drawn and have no probability.
_SEEN_UNITS: PreparedQuery[Any] = PreparedQuery(
    lambda: (
        HITUnit.objects.filter(hit__assignments__worker=_WORKER, hit__study=_STUDY, chance__isnull=False)
        .order_by()
        .values_list("hit_id", "unit_id", "unit__position")
    )
)
_HIT_STATE: PreparedQuery[Any] = PreparedQuery(
    lambda: HIT.objects.filter(pk=_HIT).order_by().values_list("drawn_from_id", "version")
)
_HIT_UNITS: PreparedQuery[Any] = PreparedQuery(
    lambda: HITUnit.objects.filter(hit=_HIT).order_by().values_list("unit_id", flat=True)
)
_STORE_DRAW = PreparedUpdate(
    lambda: HIT.objects.filter(pk=_HIT), drawn_from=query_parameter("state"), version=F("version") + 1
)


@dataclass(frozen=True, slots=True)
class DrawnUnit:
    """A unit that was drawn for a page.

    Attributes:
        unit: its row id.
        pair: index of its system pair in the ``PairTable``.
        chance: the probability with which this pair was drawn.
    """

    unit: int
    pair: int
    chance: float


def draw_missing_units(
    *, study: Study, hit: HIT, worker: Worker, own_captions: Collection[int]
) -> frozenset[int]:
    """Draw the units of a page, unless an earlier claim of the page has drawn them.

    Return the row ids of units to leave out for this worker: all units on other pages of the study that this worker has
    claimed; none after a new draw, which has left them out already.

    The HIT's version, which counts changes to its units, and its state are read, and those of a new draw are stored.
    Call this function in the transaction that took a slot of the HIT.

    Args:
        own_captions: row ids of captions that the worker must not judge.
    """
    ((hit.drawn_from_id, hit.version),) = _HIT_STATE.all_rows(hit=hit.pk)
    rows = _SEEN_UNITS.all_rows(study=study.pk, worker=worker.pk)
    seen_units = {unit: position for hit_id, unit, position in rows if hit_id != hit.pk}
    if hit.drawn_from_id is not None:
        return frozenset(seen_units)
    state = state_to_draw_from(study)
    drawn_units = draw_page(
        study=study, state=state, hit=hit, seen_positions=set(seen_units.values()), own_captions=own_captions
    )
    control_count = len(_HIT_UNITS.all_rows(hit=hit.pk))  # the page has only its check questions so far
    insert_rows(
        HITUnit,
        ("hit_id", "unit_id", "position", "chance"),
        (
            (hit.pk, drawn_unit.unit, control_count + number, drawn_unit.chance)
            for number, drawn_unit in enumerate(drawn_units, start=1)
        ),
    )
    _STORE_DRAW(hit=hit.pk, state=state.pk)
    hit.drawn_from, hit.version = state, hit.version + 1
    return frozenset()


def state_to_draw_from(study: Study) -> DrawState:
    """Return the newest state from which units are drawn.

    Create the next one if many answers were added since, or if there are fewer, because some were excluded.
    """
    answer_count = sum(_ANSWERS_BY_PAIR.all_rows(study=study.pk))
    state = _NEWEST_STATE.first(study=study.pk)
    if state is not None and 0 <= answer_count - state.answers < max(1, state.answers // RENEWAL_DIVISOR):
        return state
    rows = SystemPair.objects.filter(study=study).order_by("position")
    counts = [list(row) for row in rows.values_list("wins", "ties", "losses")]
    table = pair_table_of(study)
    new_state = DrawState(
        study=study,
        number=0 if state is None else state.number + 1,
        answers=sum(map(sum, counts)),
        counts=counts,
        strengths=prior_strengths(table.first, table.second, counts, items=len(table.systems)).tolist(),
    )
    # another transaction may have created the same state
    DrawState.objects.bulk_create([new_state], ignore_conflicts=True)
    return DrawState.objects.get(study=study, number=new_state.number)


class PoolUnit(NamedTuple):
    """A unit of the pool from which an arena draws: its row id, and those of its item and of its two captions."""

    unit: int
    item: int
    first: int
    second: int


class DrawnPair(NamedTuple):
    """A drawn system pair.

    Attributes:
        pair: its index in the ``PairTable``.
        chance: the probability with which it was drawn.
        positions: positions in the pool of the units to try for it, in this order.
    """

    pair: int
    chance: float
    positions: list[int]


def draw_page(
    *,
    study: Study,
    state: DrawState,
    hit: HIT,
    seen_positions: Collection[int],
    own_captions: Collection[int],
) -> list[DrawnUnit]:
    """Draw system pairs one after the other, and an item for each. All items are equally probable.

    An item is repeated on a page only if each unit that is tried for a pair has such an item. If no unit is left, fewer
    units than planned are returned.

    Args:
        seen_positions: positions in the pool of units that the worker has seen before.
        own_captions: row ids of captions that the worker must not judge.
    """
    design, table = design_of(study), pair_table_of(study)
    rng = rng_for(design.seed, f"arena {hit.key}")
    drawn_pairs = _draw_pairs(design, table, state, seen_positions, rng)
    units = _read_units(study, set(chain.from_iterable(pair.positions for pair in drawn_pairs)))
    used_positions, page_items, page_units = set(seen_positions), set(), []
    for pair, chance, positions in drawn_pairs:
        candidates = {position: units[position] for position in positions if position not in used_positions}
        candidates = _without_own_captions(candidates, own_captions)
        if not candidates:  # no unit to try can be used, so look among all units of the pair
            all_positions = (table.start[pair] + rng.permutation(int(table.unit_counts[pair]))).tolist()
            unused_positions = [position for position in all_positions if position not in used_positions]
            candidates = _without_own_captions(_read_units(study, unused_positions[:MAX_TRIES]), own_captions)
        if not candidates:
            continue
        with_new_item = [position for position, unit in candidates.items() if unit.item not in page_items]
        position = next(iter(with_new_item or candidates))
        used_positions.add(position)
        page_items.add(candidates[position].item)
        page_units.append(DrawnUnit(candidates[position].unit, pair, chance))
    return page_units


def _draw_pairs(
    design: StudyDesign,
    table: PairTable,
    state: DrawState,
    seen_positions: Collection[int],
    rng: np.random.Generator,
) -> list[DrawnPair]:
    """Draw a system pair for each unit of a page, among the pairs with units that the worker has not seen."""
    # The counts are (P, 3) wins, ties and losses.
    answers = np.array(state.counts, dtype=np.int64).reshape(-1, 3).sum(axis=1)
    drawing = PairDraws.from_comparisons(
        table.first, table.second, answers, state.strengths, even=design.arena.even
    )
    units_left = table.unit_counts - table.count_by_pair(seen_positions)
    drawn_pairs: list[DrawnPair] = []
    for _ in range(page_size(design)):
        if not (units_left > 0).any():
            break
        pair, chance = drawing.draw(units_left > 0, rng)
        units_left[pair] -= 1
        positions = table.start[pair] + rng.integers(table.unit_counts[pair], size=MAX_TRIES)
        drawn_pairs.append(DrawnPair(pair, chance, positions.tolist()))
    return drawn_pairs


def _read_units(study: Study, positions: Collection[int]) -> dict[int, PoolUnit]:
    """Return the units by their position in the pool, in the order of ``positions``."""
    rows = Unit.objects.filter(study=study, position__in=positions)
    fields = ("position", "pk", "item_id", "first_id", "second_id")
    units = {
        position: PoolUnit(unit=pk, item=item, first=first, second=second)
        for position, pk, item, first, second in rows.values_list(*fields)
    }
    return {position: units[position] for position in positions}


def _without_own_captions(
    units: Mapping[int, PoolUnit], own_captions: Collection[int]
) -> dict[int, PoolUnit]:
    return {
        position: unit
        for position, unit in units.items()
        if unit.first not in own_captions and unit.second not in own_captions
    }


def page_size(design: StudyDesign) -> int:
    """Return the number of units to draw for a page, besides its check questions."""
    return design.units_per_hit - design.controls.per_hit
