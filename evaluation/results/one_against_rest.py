"""Measure how often one judge of a unit agrees with the majority of the unit's other judges, as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from common.amounts import as_json, json_float
from evaluation.data.judgment_sets.records import UnitRow, Units
from quorum.numeric.arrays import Flags, Floats, Ints, places_in
from quorum.statistics.agreement.patterns import PatternedRatings, UnitPatterns
from quorum.statistics.crossed import CONFIDENCE, Clusters, share_of_rows
from quorum.statistics.meta import wilson_interval


def one_against_rest_of_ratings(
    pattern_data: PatternedRatings, units: Sequence[UnitRow], clusters: Clusters | None
) -> dict[str, Any]:
    """Return how often a judge agrees with the majority of the unit's other judges, by pair kind, and for "all".

    If the other judgments are tied or missing, a judgment is left out and counted in ``left_out``.
    """
    ratings = pattern_data.ratings
    kind_codes, kind_names = pair_kinds_of(ratings.units, units)
    # Each judgment gets the value of its cell, which is an answer to the units of a pattern.
    has_majority, agrees = (
        pattern_data.judgment_values(flags) > 0 for flags in _agreement_with_others(pattern_data.patterns)
    )
    judgments_of_kind = {name: (kind_codes == code)[ratings.unit] for code, name in kind_names.items()}
    judgments_of_kind["all"] = np.ones(len(has_majority), dtype=bool)
    figures = {}
    for name, is_of_kind in judgments_of_kind.items():
        n = int((has_majority & is_of_kind).sum())
        if clusters is not None:
            share = clustered_share(agrees, has_majority & is_of_kind, clusters)
        else:
            share = share_with_interval(int((agrees & is_of_kind).sum()), n)
        figures[name] = share | {"left_out": int(is_of_kind.sum()) - n}
    return figures


def _agreement_with_others(patterns: UnitPatterns) -> tuple[Floats, Floats]:
    """Return two (C,) columns of 0 and 1: whether a judge's others have a majority, and whether the judge agrees.

    A pattern is the number of each answer to a unit, such as two "yes" and one "no". A cell of the sparse matrix
    ``patterns.counts`` is an answer to units of a pattern, with the number of judges who gave it. The columns say for
    one of these judges whether the unit's other judges have a most frequent answer, and whether it is the judge's.
    """
    counts, pattern = patterns.counts.data, patterns.cells()[0]
    if not len(counts):
        return counts, counts
    # The cells of a pattern are adjacent, so `reduceat` reduces each pattern. Indexing by `pattern` repeats the result
    # of a pattern for each of its cells.
    starts = patterns.counts.indptr[:-1]
    largest = np.maximum.reduceat(counts, starts)[pattern]
    leader_count = np.add.reduceat((counts == largest) * 1.0, starts)[pattern]  # most frequent answers
    second_largest = np.maximum.reduceat(np.where(counts < largest, counts, 0), starts)[pattern]
    # The answer is the only most frequent one, and stays so without the judge.
    agrees = (counts == largest) & (leader_count == 1) & (counts - 1 > second_largest)
    # Another answer is the most frequent one, or becomes so when one of two equally frequent answers loses a judge.
    differs = leader_count == np.where(counts < largest, 1, 2)
    return (agrees | differs) * 1.0, agrees * 1.0


def pair_kinds_of(unit_ids: Ints, units: Sequence[UnitRow]) -> tuple[Ints, dict[int, str]]:
    """Return the (U,) codes of the pair kinds of units, given by row id, and the kinds' names by code.

    The names are sorted. Units without a kind have a code that is not among the names.
    """
    if not len(unit_ids):
        return unit_ids, {}
    units = Units.from_rows(units)
    codes = units.kind[places_in(units.pk, unit_ids)]
    names_and_codes = sorted(
        (units.kinds[code], code) for code in np.flatnonzero(np.bincount(codes)).tolist()
    )
    return codes, {code: name for name, code in names_and_codes if name}


def clustered_share(
    values: Flags, is_included: Flags, clusters: Mapping[str, Ints] | Clusters
) -> dict[str, Any]:
    """Return the share of the included ``values`` that are true, with its interval, as JSON."""
    n = int(is_included.sum())
    if not n:
        return share_with_interval(0, 0)
    interval = share_of_rows(values.astype(np.float64), clusters, CONFIDENCE, keep=is_included)
    share = {
        "value": float(values[is_included].mean()),
        **as_json(interval, "low", "high"),
        "n": n,
        "clusters": dict(interval.clusters.counts),
    }
    if interval.clusters.reason:
        share["reason"] = interval.clusters.reason
    return share


def share_with_interval(count: int, n: int) -> dict[str, Any]:
    """Return the share ``count / n`` with Wilson's 95 % interval as JSON. Values are null if ``n`` is 0."""
    low, high = wilson_interval(count, n)
    return {"value": count / n if n else None, "low": json_float(low), "high": json_float(high), "n": n}
