"""Comparisons of several systems: the best with all others, and clusters with ranges of ranks.

Clusters are defined as at WMT (Koehn 2012; Bojar et al. 2013).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.statistics.crossed import check_confidence
from quorum.statistics.inference import signed
from quorum.statistics.inputs import BadShape, BadValue, floats_of, list_of_values, one_of, score_vector
from quorum.statistics.significance.several_tests import CORRECTIONS, adjusted_p_values

LEVEL = 0.05  # significance level of two-sided tests


@dataclass(frozen=True, slots=True)
class ClusterResult:
    """S systems in descending order of value, divided into clusters that differ significantly.

    A system beats another one if its value is higher and the adjusted p of their difference is at most `level`.

    names, values: (S,) names and values of the systems. clusters: the names by cluster; every member of a cluster beats
    every member of lower clusters. rank_low: (S,) 1 + the number of systems that beat the system. rank_high: (S,) S -
    the number of systems that it beats. p, adjusted_p: (S, S), nan on the diagonal and without a test. correction: one
    of CORRECTIONS.
    """

    names: tuple[str, ...]
    values: Floats
    clusters: tuple[tuple[str, ...], ...]
    rank_low: Ints
    rank_high: Ints
    p: Floats
    adjusted_p: Floats
    correction: str
    level: float
    signature: str = ""


@dataclass(frozen=True, slots=True)
class BestResult:
    """S systems or metrics in descending order of value, with tests of the best one against each of the others.

    p: (S,) two-sided p with Holm's correction; nan for the best itself and without a test. Leaders are the best one and
    those that are not significantly worse.
    """

    names: tuple[str, ...]
    values: Floats
    p: Floats

    @property
    def leaders(self) -> list[str]:
        """The names of the best system and of those that are not significantly worse."""
        return list(compress(self.names, (~self._is_worse).tolist()))

    @property
    def significantly_worse(self) -> list[str]:
        """The names of the systems that are significantly worse than the best one."""
        return list(compress(self.names, self._is_worse.tolist()))

    @property
    def compared(self) -> dict[str, float | None]:
        """The p value of the best system's comparison with each other system, by name. It is None without a test."""
        p = zip(self.names[1:], self.p[1:].tolist(), strict=True)
        return {name: None if math.isnan(value) else value for name, value in p}

    @property
    def p_of_rest(self) -> float | None:
        """The largest p of the systems that are not leaders, or None if all are leaders."""
        return float(self.p[self._is_worse].max()) if self._is_worse.any() else None

    @property
    def p_of_leaders(self) -> float | None:
        """The largest p of the other leaders' comparisons with the best one, or None without a test."""
        p = self.p[~self._is_worse]
        return None if np.isnan(p).all() else float(np.nanmax(p))

    @property
    def _is_worse(self) -> Flags:
        highest_value = self.values[:1]  # empty if there are no systems
        return np.asarray((self.p <= LEVEL) & (self.values < highest_value))


def compare_with_best(
    values: ArrayLike, names: Sequence[str], test: Callable[[int, int], float]
) -> BestResult:
    """Compare the highest of (S,) values with every other one, with Holm's correction for S - 1 tests (Holm 1979).

    `test` maps the positions of two values to the two-sided p of their difference, or nan.
    """
    scores = score_vector(values, "values")
    order = np.argsort(-scores, kind="stable").tolist()
    p = [math.nan if position == order[0] else test(order[0], position) for position in order]
    return BestResult(
        tuple(names[position] for position in order),
        scores[order],
        adjusted_p_values(p).values,
    )


@signed("clusters", data=("names",), input="p-values")
def clusters_of_p_values(
    values: ArrayLike,
    p_values: ArrayLike,
    names: Sequence[Any] | None = None,
    *,
    correction: str = "holm",
    level: float = LEVEL,
) -> ClusterResult:
    """Return clusters from (S,) values and the (S, S) two-sided p of any paired test, which are nan without a test.

    Raise BadShape if the shapes do not match, and BadValue if the p are not symmetric.
    """
    means = score_vector(values, "values")
    p = floats_of(p_values, "p_values").copy()
    size, level = len(means), check_confidence(level, "level")
    if p.shape != (size, size):
        raise BadShape(f"p_values has shape {p.shape}, expected {size} rows and columns")
    np.fill_diagonal(p, np.nan)
    if not np.array_equal(p, p.T, equal_nan=True):
        raise BadValue("p_values is not symmetric, expected the same p of both orders of a pair")
    one_of(correction, CORRECTIONS, "correction")
    labels = range(1, size + 1) if names is None else list_of_values(names, "names")
    systems = [str(label) for label in labels]
    if len(systems) != size or len(set(systems)) != size:
        raise BadShape(
            f"names holds {len(set(systems))} different names, expected one for each of {size} systems"
        )
    # Adjust each pair's p once, using those above the diagonal.
    upper_triangle = np.triu_indices(size, 1)
    adjusted_p = np.full((size, size), np.nan)
    adjusted_p[upper_triangle] = adjusted_p_values(p[upper_triangle], correction).values
    adjusted_p[upper_triangle[::-1]] = adjusted_p[upper_triangle]
    # Rank the systems, and divide the ranking wherever all systems above beat all systems below.
    order = np.argsort(-means, kind="stable")
    means, p, adjusted_p = means[order], p[np.ix_(order, order)], adjusted_p[np.ix_(order, order)]
    ranking = tuple(systems[system] for system in order)
    beats = (adjusted_p <= level) & (means[:, np.newaxis] > means)
    bounds = [rank for rank in range(1, size) if beats[:rank, rank:].all()]
    clusters = tuple(ranking[start:stop] for start, stop in zip([0, *bounds], [*bounds, size], strict=True))
    return ClusterResult(
        names=ranking,
        values=means,
        clusters=clusters if size else (),
        rank_low=1 + beats.sum(axis=0),
        rank_high=size - beats.sum(axis=1),
        p=p,
        adjusted_p=adjusted_p,
        correction=correction,
        level=level,
    )
