"""Count pairs of observations that two columns order in the same way, for Kendall's tau and pairwise accuracy."""

import numpy as np

from quorum.numeric.arrays import Floats, Ints
from quorum.numeric.compiling import compiled


@compiled
def weight_below(tree: Floats, column: int) -> float:
    """Return the sum of the weights of all lower columns in a binary indexed tree (Fenwick 1994)."""
    weight = 0.0
    node = column
    while node > 0:
        weight += tree[node]
        node -= node & -node
    return weight


@compiled
def add_weight(tree: Floats, levels: int, column: int, weight: float) -> None:
    """Add a weight to a column of a tree of `levels` columns, in which column c is stored at c + 1."""
    node = column + 1
    while node <= levels:
        tree[node] += weight
        node += node & -node


@compiled
def kendall_sums(rows: Ints, columns: Ints, weights: Floats, starts: Ints, levels: Ints) -> Floats:
    """Return (G, 6) sums of weighted observations, from which tau-b and tau-c of groups are computed.

    Group g has the observations starts[g] to starts[g + 1] - 1, ascending by `rows`; its `columns` are below
    levels[g]. The sums are: concordant minus discordant pairs; all weights; squared total weights of rows; squared
    total weights of columns; number of rows with a weight; number of columns with a weight.
    """
    groups = starts.shape[0] - 1
    sums = np.zeros((groups, 6))
    tree, totals = np.empty(levels.sum() + 1), np.empty(levels.sum())  # reused by all groups
    for group in range(groups):
        size = levels[group]
        tree[: size + 1] = 0.0
        totals[:size] = 0.0
        first, end = starts[group], starts[group + 1]
        weight_before = 0.0
        while first < end:
            # Compare a run of equal rows with all observations before it.
            stop = first
            run = 0.0
            while stop < end and rows[stop] == rows[first]:
                weight = weights[stop]
                if weight != 0.0:
                    lower_weight = weight_below(tree, columns[stop])
                    weight_up_to = lower_weight + totals[columns[stop]]
                    # Lower columns are concordant, higher ones discordant, and equal ones neither.
                    sums[group, 0] += weight * (lower_weight - (weight_before - weight_up_to))
                    run += weight
                stop += 1
            # Then add the run to the tree.
            for observation in range(first, stop):
                weight = weights[observation]
                if weight != 0.0:
                    totals[columns[observation]] += weight
                    add_weight(tree, size, columns[observation], weight)
            weight_before += run
            sums[group, 2] += run * run
            if run > 0.0:
                sums[group, 4] += 1.0
            first = stop
        sums[group, 1] = weight_before
        for column in range(size):
            sums[group, 3] += totals[column] * totals[column]
            if totals[column] > 0.0:
                sums[group, 5] += 1.0
    return sums


@compiled
def gap_sums(scores: Floats, columns: Ints, starts: Ints, levels: Ints, epsilon: float) -> Floats:
    """Return (G, 3) numbers of pairs whose scores differ by more than epsilon: concordant, discordant, tied by people.

    Groups are as in `kendall_sums`, but ascending by `scores`. `columns` are codes of people's scores.
    """
    groups = starts.shape[0] - 1
    sums = np.zeros((groups, 3))
    tree, totals = np.empty(levels.sum() + 1), np.empty(levels.sum())
    for group in range(groups):
        size = levels[group]
        tree[: size + 1] = 0.0
        totals[:size] = 0.0
        next_lower = starts[group]
        lower_count = 0.0
        for observation in range(starts[group], starts[group + 1]):
            while scores[observation] - scores[next_lower] > epsilon:  # lower by more than epsilon
                totals[columns[next_lower]] += 1.0
                add_weight(tree, size, columns[next_lower], 1.0)
                lower_count += 1.0
                next_lower += 1
            concordant_count = weight_below(tree, columns[observation])
            tied_count = totals[columns[observation]]
            sums[group, 0] += concordant_count
            sums[group, 1] += lower_count - concordant_count - tied_count
            sums[group, 2] += tied_count
    return sums


@compiled
def balances(rows: Ints, columns: Ints, weights: Floats, levels: int) -> Floats:
    """Return, for each of (N,) observations, the weight of the concordant others minus that of the discordant others.

    `rows` must be ascending. `columns` are from 0 to levels - 1.
    """
    n = len(rows)
    balance = np.zeros(n)
    # Forwards (1), compare each observation with those of lower rows; those in lower columns are concordant, and those
    # in higher columns discordant. Backwards (-1), compare it with those of higher rows, where the reverse holds.
    for direction in (1, -1):
        tree = np.zeros(levels + 1)
        total = 0.0
        observation = 0 if direction == 1 else n - 1
        while 0 <= observation < n:
            # Compare equal rows with all observations before them, then add them to the tree.
            stop = observation
            while 0 <= stop < n and rows[stop] == rows[observation]:
                higher_weight = total - weight_below(tree, columns[stop] + 1)
                balance[stop] += direction * (weight_below(tree, columns[stop]) - higher_weight)
                stop += direction
            while observation != stop:
                if weights[observation] != 0.0:
                    add_weight(tree, levels, columns[observation], weights[observation])
                    total += weights[observation]
                observation += direction
    return balance
