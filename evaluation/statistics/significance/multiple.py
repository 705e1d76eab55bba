"""Several tests at once: adjusted p-values, and clusters of systems.

p-values are adjusted by Holm 1979 or Benjamini, Hochberg 1995. Systems form clusters with ranges of ranks, as
in WMT (Koehn 2012; Bojar et al. 2013): systems of a higher cluster are significantly better than all those
below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its parts load when they are first used
from numpy.typing import ArrayLike

from evaluation.arrays import Floats, Ints
from evaluation.statistics.errors import BadOption, BadShape, BadValue
from evaluation.statistics.inputs import (
    float_vector,
    floats_of,
    gappy_vector,
    is_real,
    one_of,
    one_per_row,
    positive,
    refuse_values,
    score_vector,
)
from evaluation.statistics.resampling import Seed, generator_of
from evaluation.statistics.results import signed
from evaluation.statistics.significance.paired_tests import randomization_test

CORRECTIONS = ("holm", "benjamini-hochberg", "none")

# One test a pair of systems: fewer reassignments than for a single test.
_REASSIGNMENTS = 10_000
LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class AdjustedPValues:
    """(N,) adjusted p-values, in the given order; `tests` are defined, `undefined` ones nan."""

    values: Floats
    method: str
    tests: int
    undefined: int
    signature: str = ""


@signed("adjusted-p")
def adjusted_p_values(p_values: ArrayLike, method: str = "holm") -> AdjustedPValues:
    """Return adjusted p-values of (N,) tests.

    With p_(1) <= ... <= p_(m): "holm" gives max over j <= i of (m - j + 1) p_(j), which bounds the chance of
    any false discovery; "benjamini-hochberg" gives min over j >= i of m p_(j) / j, which bounds their
    expected share. None exceeds 1. nan stays nan and does not count in m.
    """
    one_of(method, CORRECTIONS, "method")
    given = float_vector(p_values, "p_values")
    refuse_values(given, (given < 0) | (given > 1), "p_values", "between 0 and 1")
    defined = np.flatnonzero(~np.isnan(given))
    m = len(defined)
    values = given.copy()
    if method == "holm":
        order = defined[np.argsort(given[defined], kind="stable")]
        values[order] = np.minimum(np.maximum.accumulate(np.arange(m, 0, -1) * given[order]), 1)
    elif method == "benjamini-hochberg":
        values[defined] = scipy.stats.false_discovery_control(given[defined])
    return AdjustedPValues(values, method, m, len(given) - m)


def holm(p_values: ArrayLike) -> Floats:
    return adjusted_p_values(p_values, "holm").values


def benjamini_hochberg(p_values: ArrayLike) -> Floats:
    return adjusted_p_values(p_values, "benjamini-hochberg").values


def stars(p: float) -> str:
    """Return one star at p <= 0.1, two at 0.05, three at 0.01 (H13 Table 1)."""
    return "*" * sum(p <= bound for bound in (0.1, 0.05, 0.01))


@dataclass(frozen=True, slots=True)
class ClusterResult:
    """S systems from the best down, and which of them differ at `level`.

    names, values: (S,) systems and scores. clusters: each member beats every member of the clusters below. A
    system beats another with a higher value and an adjusted p of at most `level`. rank_low, rank_high: (S,) 1
    + the systems that beat it, and S - the systems it beats. p, adjusted_p: (S, S), nan on the diagonal and
    without a test. `n` items and `reassignments` of each test are 0 if p-values were given.
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
    n: int
    left_out: int
    reassignments: int
    seed: int | None
    signature: str = ""


@signed("clusters", data=("names",), input="scores")
def system_clusters(
    scores: ArrayLike,
    names: Sequence[Any] | None = None,
    *,
    correction: str = "holm",
    level: float = LEVEL,
    missing: str = "refuse",
    reassignments: int = _REASSIGNMENTS,
    seed: Seed = 0,
) -> ClusterResult:
    """Return clusters of S systems from their (S, N) scores of the same N items; higher is better.

    Every two means are compared by `randomization_test`; p-values are adjusted by `correction`. `missing`
    refuses nan or drops the item for all systems ("leave-out"). The default `names` are 1 to S.
    """
    one_of(missing, ("refuse", "leave-out"), "missing")
    positive(reassignments, "reassignments")
    generator, reported = generator_of(seed)
    table = _table(scores)
    given = ~np.isnan(table)
    if missing == "refuse" and not given.all():
        system, item = np.argwhere(~given)[0]
        raise BadValue(f"scores[{system}, {item}] is nan, expected a score (or leave such items out)")
    kept = table[:, given.all(axis=0)]
    size, n = kept.shape
    if not n:
        raise BadShape("no item has a score of every system, expected one or more")
    p = np.full((size, size), np.nan)
    for one in range(size):
        for two in range(one):
            test = randomization_test(kept[one], kept[two], reassignments=reassignments, seed=generator)
            p[one, two] = p[two, one] = test.p
    return _clustered(
        kept.mean(axis=1),
        p,
        names,
        correction,
        level,
        {"n": n, "left_out": table.shape[1] - n, "reassignments": reassignments, "seed": reported},
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
    """Return clusters from (S,) values, higher is better, and (S, S) two-sided p of any paired test.

    The diagonal is not read; nan elsewhere is a test without p.
    """
    means = score_vector(values, "values")
    p = floats_of(p_values, "p_values").copy()
    if p.shape != (len(means), len(means)):
        raise BadShape(f"p_values has shape {p.shape}, expected {len(means)} rows and columns")
    np.fill_diagonal(p, np.nan)
    if not np.array_equal(p, p.T, equal_nan=True):
        raise BadValue("p_values is not symmetric, expected the same p of both orders of a pair")
    return _clustered(
        means, p, names, correction, level, {"n": 0, "left_out": 0, "reassignments": 0, "seed": None}
    )


def _table(scores: ArrayLike) -> Floats:
    table = floats_of(scores, "scores")
    if table.ndim != 2:
        raise BadShape(f"scores has {table.ndim} dimensions, expected two: systems and items")
    for system, row in enumerate(table):
        gappy_vector(row, f"scores[{system}]")
    return table


def _clustered(
    values: Floats,
    p: Floats,
    names: Sequence[Any] | None,
    correction: str,
    level: float,
    made: dict[str, Any],
) -> ClusterResult:
    one_of(correction, CORRECTIONS, "correction")
    size = len(values)
    if not (is_real(level) and 0 < level < 1):
        raise BadOption(f"level is {level!r}, expected a number between 0 and 1")
    called = tuple(
        str(name) for name in (range(1, size + 1) if names is None else one_per_row(names, "names"))
    )
    if len(called) != size or len(set(called)) != size:
        raise BadShape(
            f"names holds {len(set(called))} different names, expected one for each of {size} systems"
        )
    upper = np.triu_indices(size, 1)
    adjusted = np.full((size, size), np.nan)
    adjusted[upper] = adjusted_p_values(p[upper], correction).values
    adjusted[upper[::-1]] = adjusted[upper]
    order = np.argsort(-values, kind="stable")
    values, p, adjusted = values[order], p[np.ix_(order, order)], adjusted[np.ix_(order, order)]
    ranked = tuple(called[place] for place in order)
    beats = (adjusted <= level) & (values[:, np.newaxis] > values)
    bounds = [place for place in range(1, size) if beats[:place, place:].all()]
    clusters = tuple(ranked[start:stop] for start, stop in zip([0, *bounds], [*bounds, size], strict=True))
    return ClusterResult(
        names=ranked,
        values=values,
        clusters=clusters if size else (),
        rank_low=1 + beats.sum(axis=0),
        rank_high=size - beats.sum(axis=1),
        p=p,
        adjusted_p=adjusted,
        correction=correction,
        level=float(level),
        **made,
    )
