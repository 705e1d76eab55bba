"""Tournaments: the fraction of comparisons that each system won (Vedantam et al. 2015, V15, section 7.3).

If system i won w_ij of its n_ij comparisons with j, its fraction of wins is sum_j w_ij / sum_j n_ij.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its submodules load at first use
from numpy.typing import ArrayLike, NDArray

from quorum.numeric.arrays import Floats, Ints, ratio
from quorum.statistics.aggregation.bradley_terry.comparisons import encode_comparisons
from quorum.statistics.crossed import (
    CONFIDENCE,
    NAIVE,
    ClusterColumns,
    ClusteredInterval,
    check_confidence,
    share_of_rows,
)
from quorum.statistics.inference import signed
from quorum.statistics.inputs import check_positive_int, encode, list_of_values, one_of, same_length
from quorum.statistics.resampling import RESAMPLES, Seed, bootstrap, generator_of, percentile_interval

TIE_RULES = ("half", "no-win", "set-aside")
NO_COMPARISONS = "{} has no comparison that counts"
TOO_FEW_CLUSTERS = "there are fewer than two {}, which give no interval"


@dataclass(frozen=True, slots=True)
class TournamentResult:
    """Fractions of comparisons that K systems won, with intervals.

    systems: (K,) names, ascending. fraction, low, high: (K,) fractions of wins and their limits. wins, losses, tied:
    (K,) numbers of comparisons that the system won, lost and tied. table: (K, K) fraction of wins of the row's system
    against the column's. compared: (K, K) number of comparisons. order: (K,) positions from the largest fraction to the
    smallest, then the undefined ones. ties: one of TIE_RULES. comparisons: number of all comparisons. resampled: what
    a bootstrap resamples ("rows" or "clusters"), or the names of the columns of clusters, from which intervals are
    computed without resampling. clusters: number of rows or clusters; of several columns, the smallest number.
    undefined_resamples: (K,) number of resamples in which the system has no comparison that counts.
    """

    systems: NDArray[Any]
    fraction: Floats
    low: Floats
    high: Floats
    wins: Ints
    losses: Ints
    tied: Ints
    table: Floats
    compared: Ints
    order: Ints
    ties: str
    comparisons: int
    clusters: int
    resampled: str
    confidence: float
    resamples: int
    seed: int | None
    undefined_resamples: Ints
    reason: str
    signature: str = ""


@signed("tournament", data=("clusters",))
def tournament(
    first: Iterable[Any],
    second: Iterable[Any],
    winners: ArrayLike,
    *,
    ties: str = "half",
    clusters: ClusterColumns | Iterable[Any] | None = None,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: Seed = 0,
) -> TournamentResult:
    """Return the fractions of wins of the systems in (N,) comparisons.

    Args:
        winners: (N,) 1, 2, or 0 for a tie.
        ties: a tie counts as "half" a win for each system, as a comparison without a win ("no-win", as V15 count a
            metric's tie), or not at all ("set-aside").
        clusters: None to resample rows; one (N,) column, such as images, to resample whole clusters; or a mapping of
            columns, with which nothing is resampled.
        resamples: number of resamples; with 0 there are no bootstrap intervals.
    """
    one_of(ties, TIE_RULES, "ties")
    check_confidence(confidence)
    systems, first_item, second_item, outcome, outcome_counts = encode_comparisons(first, second, winners)
    comparisons = _SystemComparisons(first_item, second_item, outcome, ties)
    system_count, comparison_count = len(systems), len(outcome)
    # The tables of `encode_comparisons` have the system that is named first in the row.
    tie_counts, first_won, second_won = outcome_counts
    wins, tied = first_won + second_won.T, tie_counts + tie_counts.T
    credits, compared = _count_wins(wins, tied, ties)
    fraction = ratio(credits.sum(axis=1), compared.sum(axis=1))
    undefined_systems = [str(systems.tolist()[position]) for position in np.flatnonzero(np.isnan(fraction))]
    reason = NO_COMPARISONS.format(", ".join(undefined_systems)) if undefined_systems else ""

    if isinstance(clusters, str) and clusters == NAIVE:  # the word of other statistics for single rows
        clusters = None
    generator, reported_seed = generator_of(seed)
    low, high = np.full(system_count, math.nan), np.full(system_count, math.nan)
    undefined_counts = np.zeros(system_count, dtype=np.int64)
    if isinstance(clusters, Mapping):
        resampled_units, resamples = "+".join(clusters), 0
        unit_count = min(
            (len(set(list_of_values(column, name))) for name, column in clusters.items()), default=0
        )
        for position in range(system_count):
            interval = comparisons.interval(position, clusters, confidence)
            low[position], high[position] = interval.low, interval.high
            if interval.clusters.reason and not reason:
                reason = interval.clusters.reason
    else:
        resampled_units, unit_count, cluster = "rows", comparison_count, None
        if clusters is not None:
            cluster_names, cluster = encode(clusters, "clusters")
            same_length(first=first_item, clusters=cluster)
            resampled_units, unit_count = "clusters", len(cluster_names)
        if unit_count < 2:
            reason = "; ".join(filter(None, (reason, TOO_FEW_CLUSTERS.format(resampled_units))))
        elif resamples:
            check_positive_int(resamples, "resamples")
            if cluster is None:
                draws = _resample_rows(wins, tied, ties, resamples, generator)
            else:
                draws = comparisons.resampled_wins(cluster, system_count, resamples, generator)
            undefined_counts = np.isnan(draws).sum(axis=0)
            for position in range(system_count):
                low[position], high[position], _ = percentile_interval(draws[:, position], confidence)
    return TournamentResult(
        systems=systems,
        fraction=fraction,
        low=low,
        high=high,
        wins=wins.sum(axis=1),
        losses=wins.sum(axis=0),
        tied=tied.sum(axis=1),
        table=ratio(credits, compared),
        compared=wins + wins.T + tied,
        order=np.argsort(-fraction, kind="stable"),
        ties=ties,
        comparisons=comparison_count,
        clusters=unit_count,
        resampled=resampled_units,
        confidence=float(confidence),
        resamples=resamples,
        seed=reported_seed,
        undefined_resamples=undefined_counts,
        reason=reason,
    )


@dataclass(frozen=True, slots=True)
class _SystemComparisons:
    """(N,) comparisons of two systems with outcomes 1, 2 or 0. `ties` is one of TIE_RULES."""

    first: Ints
    second: Ints
    outcome: Ints
    ties: str

    def interval(
        self, system: int, clusters: Mapping[str, Iterable[Any]], confidence: float
    ) -> ClusteredInterval:
        keep = (self.first == system) | (self.second == system)
        if self.ties == "set-aside":
            keep &= self.outcome != 0
        winner = np.where(self.outcome == 1, self.first, self.second)
        won = np.where(self.outcome == 0, 0.5 if self.ties == "half" else 0.0, winner == system)
        return share_of_rows(won, clusters, confidence, keep=keep)

    def resampled_wins(
        self, cluster: Ints, systems: int, resamples: int, generator: np.random.Generator
    ) -> Floats:
        """Return the (resamples, systems) fractions of wins in resamples of whole clusters."""
        cluster_count = int(cluster.max()) + 1
        tie_credit = 0.5 if self.ties == "half" else 0.0
        is_tied = self.outcome == 0
        comparison_counts = np.where(is_tied & (self.ties == "set-aside"), 0.0, 1.0)
        first_credits = np.where(self.outcome == 1, 1.0, np.where(is_tied, tie_credit, 0.0))
        second_credits = np.where(self.outcome == 2, 1.0, np.where(is_tied, tie_credit, 0.0))
        # A sparse table of what each cluster adds to the systems' wins (first columns) and comparisons (last columns).
        values = np.concatenate([first_credits, second_credits, comparison_counts, comparison_counts])
        columns = np.concatenate([self.first, self.second, systems + self.first, systems + self.second])
        cluster_sums = scipy.sparse.csr_array(
            scipy.sparse.coo_array((values, (np.tile(cluster, 4), columns)), (cluster_count, 2 * systems))
        )

        def fractions(weights: Floats) -> Floats:
            sums = weights @ cluster_sums  # the largest array: its width is passed to `bootstrap`
            return ratio(sums[:, :systems], sums[:, systems:])

        frequency = np.ones(cluster_count, dtype=np.int64)
        return bootstrap(fractions, frequency, resamples=resamples, generator=generator, width=2 * systems)


def _count_wins(wins: Ints, tie_counts: Ints, ties: str) -> tuple[NDArray[Any], Ints]:
    """Return the (K, K) wins, ties included by the rule `ties`, and the (K, K) numbers of comparisons that count."""
    decided_counts = wins + wins.T
    if ties == "set-aside":
        return wins, decided_counts
    return (wins + tie_counts / 2 if ties == "half" else wins), decided_counts + tie_counts


def _resample_rows(
    wins: Ints,
    tie_counts: Ints,
    ties: str,
    resamples: int,
    generator: np.random.Generator,
) -> Floats:
    """Return the (resamples, K) fractions of wins in resamples of single comparisons.

    A system's numbers of wins, losses and ties in a resample are multinomial, so no rows need to be drawn. Systems are
    drawn independently of each other, because each interval is of one system.
    """
    counts = np.stack([wins.sum(axis=1), wins.sum(axis=0), tie_counts.sum(axis=1)], axis=1)
    comparisons = int(counts.sum()) // 2  # each is in the rows of two systems
    draws = np.empty((resamples, len(counts)))
    for system, outcomes in enumerate(counts):
        # The last share is that of comparisons without the system.
        shares = np.append(outcomes, comparisons - outcomes.sum()) / comparisons
        won, lost, tie_draws, _ = generator.multinomial(comparisons, shares, size=resamples).T
        credits = won + tie_draws / 2 if ties == "half" else won
        draws[:, system] = ratio(credits, won + lost if ties == "set-aside" else won + lost + tie_draws)
    return draws
