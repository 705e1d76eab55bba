"""Find out whether the likelihood has a maximum, and the reason if it has none."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy  # its submodules load at first use
from numpy.typing import NDArray

from quorum.numeric.arrays import Ints
from quorum.statistics.aggregation.bradley_terry.likelihood import OutcomeCounts

# A smaller share of a sum of squares is a rounding error.
_BALANCE_TOLERANCE = 1e-9
# If the likelihood rises without bound, the solver finds a gain of at least 1, less its tolerance.
_MIN_RISE = 1e-6

TOO_FEW_ITEMS = "there are fewer than two items"
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

    beats = (tables.first + tables.second.T + tables.tied + tables.tied.T) > 0  # rows of tables: shown first
    group_count, groups = connected_components(beats, directed=True, connection="strong")
    return int(group_count), groups.astype(np.int64)


def strengths_explain_order(tables: OutcomeCounts) -> bool:
    """Return whether strengths can explain all effects of the order.

    This is so if some theta have theta_i - theta_j = 1 for all i shown before j. Then the data cannot distinguish the
    order effect from the strengths. The items must be connected.
    """
    # Fit theta_i - theta_j = 1 by least squares, where adding 1 / K to all entries of the normal equations fixes the
    # mean of theta. Strengths explain the order if no sum of squares (here sum 1 ^ 2 - balance theta) is left.
    was_compared = ((tables.first + tables.second + tables.tied) > 0).astype(np.float64)
    pair_orders = was_compared + was_compared.T
    balance = was_compared.sum(axis=1) - was_compared.sum(axis=0)
    theta = np.linalg.solve(np.diag(pair_orders.sum(axis=1)) - pair_orders + 1 / len(pair_orders), balance)
    return bool(was_compared.sum() - balance @ theta < _BALANCE_TOLERANCE * was_compared.sum())


def has_no_maximum(tables: OutcomeCounts, has_ties: bool, has_order_effect: bool) -> bool:
    """Return whether the likelihood of connected items rises without bound because of ties or the order effect.

    It does so if, in some direction of the parameters, at least one observed outcome becomes likelier relative to the
    other outcomes of its pair, and no observed outcome becomes less likely.
    """
    ever_won = (tables.first + tables.second.T) > 0  # [i, j]: i beat j
    both_won = (tables.first > 0) & (tables.second > 0)
    # If both items of a pair won, the difference of their strengths is bounded, and so is nu. If both won in both
    # orders, the order effect is bounded too.
    is_bounded = (both_won & both_won.T).any() if has_order_effect else (ever_won & ever_won.T).any()
    if is_bounded or not (has_ties or has_order_effect):
        return False
    from scipy.optimize import linprog  # imported late, as it loads slowly and is rarely needed

    # Look for the direction, with no entry beyond 1, of the largest sum of gains, none of which may be negative.
    gain_table = _gains_of_observed_outcomes(tables, has_ties, has_order_effect)
    # The type stubs lack sparse arrays, which linprog takes.
    solution = linprog(  # type: ignore[call-overload]
        -gain_table.sum(axis=0), A_ub=-gain_table, b_ub=np.zeros(gain_table.shape[0]), bounds=(-1, 1)
    )
    return bool(-solution.fun > _MIN_RISE)


def _gains_of_observed_outcomes(
    tables: OutcomeCounts, has_ties: bool, has_order_effect: bool
) -> scipy.sparse.coo_array:
    """Return a table of contrasts by the K + 2 parameters: log-strengths theta, 2 log(nu) and the order effect.

    A contrast compares an observed outcome with another one of its pair: a win with a loss and with a tie, and a tie
    with a win and with a loss. Its gains are the derivatives of twice the log of the ratio of their chances.
    """
    item_count = len(tables.first)
    rows, columns, gains = [], [], []
    contrast_count = 0
    # A contrast is a pair: the gain of theta_i, which is also that of the order effect and the opposite of that of
    # theta_j, and the gain of 2 log(nu). For example, the log of the ratio of a win to a tie is (theta_i - theta_j +
    # order) / 2 - log(nu), of which twice the derivatives are (1, -1).
    for outcomes_seen, contrasts in (
        (tables.first, ((2, 0), (1, -1))),
        (tables.second, ((-2, 0), (-1, -1))),
        (tables.tied, ((-1, 1), (1, 1))),
    ):
        first, second = np.nonzero(outcomes_seen)
        for theta_gain, nu_gain in contrasts:
            if nu_gain and not has_ties:  # no contrasts with ties in a model without ties
                continue
            rows += [np.arange(contrast_count, contrast_count + len(first))] * 4
            contrast_count += len(first)
            columns += [first, second, np.full_like(first, item_count), np.full_like(first, item_count + 1)]
            contrast_gains = (theta_gain, -theta_gain, nu_gain, theta_gain * has_order_effect)
            gains += [np.full(len(first), gain) for gain in contrast_gains]
    return scipy.sparse.coo_array(
        (np.concatenate(gains).astype(np.float64), (np.concatenate(rows), np.concatenate(columns))),
        (contrast_count, item_count + 2),
    )


def group_names(groups: Ints, items: NDArray[Any]) -> str:
    """Return the names of the items by group, for a message; long groups are shortened."""
    names = items.tolist()
    members: dict[int, list[str]] = {}
    for position, group in enumerate(groups.tolist()):
        members.setdefault(group, []).append(str(names[position]))
    return "; ".join(_shorten_names([", ".join(_shorten_names(group)) for group in members.values()]))


def _shorten_names(names: list[str]) -> list[str]:
    if len(names) <= _MAX_NAMED_ITEMS:
        return names
    return [*names[:_MAX_NAMED_ITEMS], f"and {len(names) - _MAX_NAMED_ITEMS} more"]
