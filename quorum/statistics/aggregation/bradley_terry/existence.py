"""Find out whether the likelihood has a maximum, and the reason if it has none."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy  # its submodules load at first use
from numpy.typing import NDArray

from quorum.numeric.arrays import Ints
from quorum.statistics.aggregation.bradley_terry.likelihood import OutcomeCounts

# A smaller part of a sum of squares is a rounding error.
_BALANCE_TOLERANCE = 1e-9
# If the likelihood rises without bound, the solver finds a gain of at least 1, less its tolerance.
_MIN_RISE = 1e-6

NO_GAMES = "there are fewer than two items"
UNBOUNDED_REASON = (
    "the items fall into {} groups between which all comparisons went one way or there are none ({}), "
    "so the best-fitting strengths are infinite; a prior above zero makes them finite"
)
RISING_REASON = (
    "the likelihood rises for ever as strengths and {} grow together, so the best-fitting ones are infinite; "
    "a prior above zero makes them finite"
)
CONFOUNDED_REASON = (
    "no items were shown in both orders, not even through comparisons with other items, so the "
    "order effect cannot be separated from the strengths"
)

# A reason names at most this many groups, and this many items of a group.
_MAX_NAMED_ITEMS = 5


def connected_groups(tables: OutcomeCounts) -> tuple[int, Ints]:
    """Return the number of strongly connected groups of items, and the (K,) group of each item (Ford 1957).

    A win is an edge from one item to the other; a tie is an edge in both directions.
    """
    from scipy.sparse.csgraph import connected_components  # 9 MiB, which web servers never need

    beats = (tables.first + tables.second.T + tables.tied + tables.tied.T) > 0
    count, groups = connected_components(beats, directed=True, connection="strong")
    return int(count), groups.astype(np.int64)


def order_is_strength(tables: OutcomeCounts) -> bool:
    """Return whether strengths can explain all effects of the order.

    This is so if some theta have theta_i - theta_j = 1 for all i shown before j. Then the data cannot distinguish the
    order effect from the strengths. The items must be connected.
    """
    shown = (tables.first + tables.second + tables.tied) > 0
    pairs = shown.astype(np.float64)
    met = pairs + pairs.T
    balance = pairs.sum(axis=1) - pairs.sum(axis=0)
    theta = np.linalg.solve(np.diag(met.sum(axis=1)) - met + 1 / len(met), balance)
    return bool(pairs.sum() - balance @ theta < _BALANCE_TOLERANCE * pairs.sum())


def has_no_maximum(tables: OutcomeCounts, ties: bool, order: bool) -> bool:
    """Return whether the likelihood of connected items rises without bound because of ties or the order effect.

    It does so if, in some direction of the parameters, at least one observed outcome becomes likelier relative to the
    other outcomes of its pair, and no observed outcome becomes less likely.
    """
    won = (tables.first + tables.second.T) > 0
    both = (tables.first > 0) & (tables.second > 0)
    # If both items of a pair won, the difference of their strengths is bounded, and so is nu. If both won in both
    # orders, the order effect is bounded too.
    bounded = (both & both.T).any() if order else (won & won.T).any()
    if bounded or not (ties or order):
        return False
    from scipy.optimize import linprog  # imported late, as it loads slowly and is rarely needed

    items = len(tables.first)
    rows, columns, gains = [], [], []
    count = 0
    # Compare an observed outcome with the others of its pair: coefficients of the change of theta and of 2 log(nu).
    for outcomes_seen, signs in (
        (tables.first, ((2, 0), (1, -1))),
        (tables.second, ((-2, 0), (-1, -1))),
        (tables.tied, ((-1, 1), (1, 1))),
    ):
        shown, beside = np.nonzero(outcomes_seen)
        for step, tie in signs:
            if tie and not ties:
                continue
            column = np.arange(count, count + len(shown))
            count += len(shown)
            rows += [column] * 4
            columns += [shown, beside, np.full_like(shown, items), np.full_like(shown, items + 1)]
            gains += [np.full(len(shown), gain) for gain in (step, -step, tie, step * order)]
    shape = (count, items + 2)
    gain = scipy.sparse.coo_array(
        (np.concatenate(gains).astype(np.float64), (np.concatenate(rows), np.concatenate(columns))), shape
    )
    # The type stubs lack sparse arrays, which linprog takes.
    solution = linprog(  # type: ignore[call-overload]
        -gain.sum(axis=0), A_ub=-gain, b_ub=np.zeros(count), bounds=(-1, 1)
    )
    return bool(-solution.fun > _MIN_RISE)


def group_names(groups: Ints, items: NDArray[Any]) -> str:
    names = items.tolist()
    members: dict[int, list[str]] = {}
    for position, group in enumerate(groups.tolist()):
        members.setdefault(group, []).append(str(names[position]))
    return "; ".join(_shorten_names([", ".join(_shorten_names(group)) for group in members.values()]))


def _shorten_names(names: list[str]) -> list[str]:
    if len(names) <= _MAX_NAMED_ITEMS:
        return names
    return [*names[:_MAX_NAMED_ITEMS], f"and {len(names) - _MAX_NAMED_ITEMS} more"]
