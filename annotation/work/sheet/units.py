"""The units of a HIT at their positions on a page, and the units that are shown together."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any

from annotation.models import Assignment
from common.rows.prepared import PreparedQuery, query_parameter
from judgments.drawing.controls.makers import REPEATED
from judgments.drawing.material import UnitSpec, screen_of
from judgments.kinds import Kind
from judgments.models import HIT, HITUnit, Unit

CACHE_SECONDS = 300  # a longer cache would miss pictures that were scaled meanwhile

_HIT_UNITS_QUERY = PreparedQuery(
    lambda: (
        HITUnit.objects.filter(hit=query_parameter("hit"))
        .select_related("unit__item", "unit__reference", "unit__first", "unit__second")
        .order_by("position")
    )
)


@dataclass(frozen=True, slots=True)
class PageUnit:
    """A unit at its position in an assignment.

    Attributes:
        position: the position on the page, from 1.
        side: the side or the order of the options that was drawn for the worker (``Kind.sides``); None for none.
    """

    position: int
    unit: Unit
    side: Any = None


def units_of_hit(hit_id: int) -> list[Unit]:
    """Read the units of a HIT in its own order."""
    return [row.unit for row in _HIT_UNITS_QUERY.all_rows(hit=hit_id)]


def cached_units_of(hit: HIT) -> list[Unit]:
    """Return the units of a HIT. ``hit`` must have been read just now, since its version says whether they changed.

    Do not change the units: requests share them.
    """
    return list(_cached_units(hit.pk, hit.version, int(time.time() // CACHE_SECONDS)))


# 4 MB for HITs of ten units; each worker of a HIT requests it twice, within minutes
@lru_cache(maxsize=128)
def _cached_units(hit_id: int, version: int, period: int) -> tuple[Unit, ...]:
    """Return the units of a HIT. Calls with another ``version`` or ``period`` read them again."""
    return tuple(units_of_hit(hit_id))


def arrange_units(units: Sequence[Any], order: Sequence[int], sides: Sequence[Any]) -> list[PageUnit]:
    """Place the units of a HIT on a page.

    Args:
        order: for each position, the index of its unit; empty (imported work, previews) for the HIT's own order.
        sides: for each position, the side of its unit; empty for none.
    """
    ordered_units = [units[index] for index in order] if order else units
    return [
        PageUnit(position=index + 1, unit=unit, side=sides[index] if sides else None)
        for index, unit in enumerate(ordered_units)
    ]


def page_units_of(assignment: Assignment) -> list[PageUnit]:
    """Return the units of an assignment's page, in the order of the page."""
    if assignment.hit is None:  # the judgments were imported, and their HIT is unknown
        return []
    return arrange_units(cached_units_of(assignment.hit), assignment.order, assignment.flips)


def screens_of(page_units: Sequence[PageUnit], kind: Kind) -> Iterator[list[PageUnit]]:
    """Yield the units that are shown together: adjacent ones of the same ``screen_of`` or picture, or a single one."""

    def screen_key(page_unit: PageUnit) -> object:
        if kind.grouped:
            return _picture_key(page_unit.unit)
        return screen_of(page_unit.unit) or page_unit.position

    for _key, group in groupby(page_units, key=screen_key):
        yield list(group)


def _picture_key(unit: Any) -> object:
    item = unit.image if isinstance(unit, UnitSpec) else unit.item_id  # a ``UnitSpec`` is a unit of a preview
    return item, unit.control_kind == REPEATED  # a repeated picture has a screen of its own
