"""Whether one metric correlates better with people than another: a paired permutation test.

PERM-BOTH of Deutsch, Dror and Roth 2021, which the metrics task of WMT uses: it asks nothing
of the scores' distribution, and works for every coefficient and grouping. Williams' test is its
counterpart for Pearson's r of independent observations.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evaluation.statistics.coefficients import (
    COEFFICIENTS,
    group_coefficients,
    group_levels,
    kendall_groups,
    mid_ranks,
    pearson_groups,
    taus,
)
from evaluation.statistics.errors import BadShape
from evaluation.statistics.grouped_correlation import GROUPINGS, Table, group_starts, long_table, rounded
from evaluation.statistics.randomization import ALTERNATIVES, coins, count_extreme
from evaluation.statistics.resampling import Seed, generator_of
from evaluation.statistics.score_vectors import score_vector
from evaluation.statistics.signed import signed
from evaluation.statistics.tables import Codes, Floats, one_of, positive, same_length

_REASSIGNMENTS = 1000

UNDEFINED = "the {} metric's correlation is undefined"


@dataclass(frozen=True, slots=True)
class PairedCorrelationResult:
    """Two metrics' correlations with people, and p = (c + 1) / (n + 1), c of n reassignments as extreme.

    `difference` is `first` less `second`. `undefined_reassignments` gave no coefficient and count as
    extreme, which can only raise p. nan where undefined, with the `reason`. `seed` is None where a running
    random stream was handed in.
    """

    coefficient: str
    grouping: str
    first: float
    second: float
    difference: float
    p: float
    as_extreme: int
    undefined_reassignments: int
    reassignments: int
    alternative: str
    n: int
    seed: int | None
    reason: str
    signature: str = ""


@signed("paired-correlation")
def paired_correlation_test(
    first: ArrayLike,
    second: ArrayLike,
    people: ArrayLike,
    items: Iterable[Any],
    systems: Iterable[Any],
    coefficient: str = "pearson",
    *,
    grouping: str = "item",
    alternative: str = "two-sided",
    reassignments: int = _REASSIGNMENTS,
    seed: Seed = 0,
) -> PairedCorrelationResult:
    """Whether (N,) scores of two metrics correlate differently with people's (N,) scores, one output a row.

    Both metrics are standardised (mean 0, deviation 1 over all rows); each reassignment swaps the two
    scores of every output or not by the toss of a coin, and correlates again as `grouped_correlation`
    does. Equal differences count as extreme. `alternative` "greater" asks whether the first correlates
    better. Raises BadShape, BadValue, BadOption.
    """
    one_of(coefficient, COEFFICIENTS, "coefficient")
    one_of(grouping, GROUPINGS, "grouping")
    one_of(alternative, ALTERNATIVES, "alternative")
    positive(reassignments, "reassignments")
    generator, reported = generator_of(seed)
    one, human, table = long_table(first, people, items, systems, "refuse")
    two = score_vector(second, "second")
    same_length(first=one, second=two)
    if not len(one):
        raise BadShape("first is empty, expected one score or more")
    statistic = _Swapped(_standardised(one), _standardised(two), human, table, coefficient, grouping)
    observed = statistic(np.zeros(len(one), dtype=np.bool_))
    reason = "; ".join(
        UNDEFINED.format(name) for name, r in zip(("first", "second"), observed, strict=True) if math.isnan(r)
    )
    difference = p = math.nan
    as_extreme = undefined = 0
    if not reason:
        difference = observed[0] - observed[1]
        drawn = np.empty(reassignments)
        for place in range(reassignments):
            tossed = np.unpackbits(coins(generator, 1, (len(one) + 7) // 8), count=len(one)).astype(bool)
            r_one, r_two = statistic(tossed)
            drawn[place] = r_one - r_two
        undefined = int(np.isnan(drawn).sum())
        as_extreme = undefined + count_extreme(drawn, difference, 1.0, alternative)
        p = (as_extreme + 1) / (reassignments + 1)
    return PairedCorrelationResult(
        coefficient=coefficient,
        grouping=grouping,
        first=observed[0],
        second=observed[1],
        difference=difference,
        p=p,
        as_extreme=as_extreme,
        undefined_reassignments=undefined,
        reassignments=reassignments,
        alternative=alternative,
        n=len(one),
        seed=reported,
        reason=reason,
    )


def _standardised(scores: Floats) -> Floats:
    """Mean 0 and deviation 1; zeros where all scores are equal, which correlate with nothing."""
    if np.all(scores == scores[0]):
        return np.zeros(len(scores))
    centred = scores - scores.mean()
    centred = centred / np.abs(centred).max()  # so that no square vanishes
    return np.asarray(centred / centred.std(), dtype=np.float64)


class _Swapped:
    """Both metrics' correlations with people after some outputs swapped their two scores.

    Rows are put in the order of groups and of people's scores, and scores become codes, once: a
    reassignment then sorts nothing.
    """

    def __init__(
        self, one: Floats, two: Floats, human: Floats, table: Table, coefficient: str, grouping: str
    ) -> None:
        self._coefficient = coefficient
        self._by_system = grouping == "system-level"
        codes = {"item": table.items, "system": table.systems}.get(grouping, np.zeros(len(one), np.int64))
        order = np.lexsort((human, codes))
        groups = codes[order]
        self._starts = group_starts(groups)
        self._one, self._two, self._human = one[order], two[order], human[order]
        if self._by_system:
            self._systems = table.systems[order]
            self._counts = np.bincount(self._systems)
            self._means = self._of_systems(self._human)
        elif coefficient != "pearson":
            self._arrange_codes(groups)

    def _arrange_codes(self, groups: Codes) -> None:
        both = np.stack([self._one, self._two], axis=1).ravel()
        codes, bounds = group_levels(both, np.repeat(groups, 2))
        rows, _ = group_levels(self._human, groups)
        if self._coefficient == "spearman":
            self._human = mid_ranks(rows)
        else:
            codes = codes - bounds[np.repeat(groups, 2)]
            self._rows, self._ones = rows, np.ones(len(rows))
            self._levels = np.diff(bounds)
        self._one_codes, self._two_codes = codes.reshape(-1, 2).T

    def __call__(self, swapped: NDArray[np.bool_]) -> tuple[float, float]:
        """The averaged coefficients of the first and the second metric; nan where no group has one."""
        return self._value(swapped), self._value(~swapped)

    def _value(self, other: NDArray[np.bool_]) -> float:
        if self._by_system:
            means = self._of_systems(np.where(other, self._two, self._one))
            ends = np.array([0, len(means)])
            return float(group_coefficients(means, self._means, ends, self._coefficient)[0])
        if self._coefficient == "pearson":
            scores = np.where(other, self._two, self._one)
            values = pearson_groups(scores, self._human, self._starts)
        else:
            codes = np.where(other, self._two_codes, self._one_codes)
            if self._coefficient == "spearman":
                values = pearson_groups(mid_ranks(codes), self._human, self._starts)
            else:
                sums = kendall_groups(self._rows, codes, self._ones, self._starts, self._levels)
                values = taus(sums, self._coefficient)
        defined = values[~np.isnan(values)]
        return float(defined.mean()) if len(defined) else math.nan

    def _of_systems(self, scores: Floats) -> Floats:
        return rounded(np.bincount(self._systems, weights=scores) / self._counts, scores)
