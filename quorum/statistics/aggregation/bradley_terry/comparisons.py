"""Read comparisons, as rows or as tables of counts, and compute the covariance of strengths of clustered rows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy  # its submodules load at first use
from numpy.typing import ArrayLike, NDArray

from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.aggregation.bradley_terry.likelihood import StrengthParameters, log_chances
from quorum.statistics.aggregation.bradley_terry.maximum import Fit
from quorum.statistics.aggregation.bradley_terry.settings import FitSettings
from quorum.statistics.aggregation.pair_winners import outcomes_of
from quorum.statistics.crossed import MIN_CLUSTERS, NO_DELETIONS, Clusters, RaterDeletions
from quorum.statistics.inputs import MAX_TABLE_CELLS, BadShape, BadValue, encode_both, floats_of, same_length


@dataclass(frozen=True, slots=True)
class ComparisonRows:
    """Comparisons with clusters, one in each row.

    first, second: (N,) positions of the items. outcome: (N,) 1, 2, or 0 for a tie. deletions: if outcomes are votes'
    majorities, (V, 2) changes of the chances that the first, and the second, item has the majority: with a rater's
    vote, minus without it (`RaterDeletions`).
    """

    first: Ints
    second: Ints
    outcome: Ints
    clusters: Clusters
    deletions: RaterDeletions | None

    def covariance(self, fit: Fit, settings: FitSettings) -> tuple[Floats, Floats, Clusters]:
        """Return the (P, P) covariance of the parameters, their (P,) degrees of freedom, and the clusters.

        If outcomes are majorities of votes, and there are several raters, the covariance includes the raters' variance,
        from how parameters change if one rater's votes are deleted. The raters are then listed among the clusters.
        """
        covariance, freedom = self.clusters.covariance(self.scores(fit, settings), fit.covariance)
        deletions = self.deletions or NO_DELETIONS
        # A row's expected scores are the sum of probability times scores over the outcomes. A rater's vote changes the
        # probabilities by `deletions.value`, that of a tie by minus their sum, since all sum to 1. Parameters change
        # by the change of the scores, times the covariance of the fit.
        if deletions.rater_count >= MIN_CLUSTERS and not self.clusters.reason:
            tie_scores, first_scores, second_scores = (
                self.with_outcomes(deletions.row, np.full(len(deletions.row), winner)).scores(fit, settings)
                for winner in (0, 1, 2)
            )
            by_first, by_second = map(scipy.sparse.diags_array, deletions.value.T)
            score_changes = by_first @ (first_scores - tie_scores) + by_second @ (second_scores - tie_scores)
            covariance, freedom = deletions.covariance(covariance, freedom, score_changes @ fit.covariance)
        return covariance, freedom, deletions.add_raters(self.clusters)

    def with_outcomes(self, rows: Ints, outcome: Ints) -> ComparisonRows:
        """Return the comparisons at (V,) positions with other (V,) outcomes, only for `scores`."""
        return replace(self, first=self.first[rows], second=self.second[rows], outcome=outcome)

    def scores(self, fit: Fit, settings: FitSettings) -> scipy.sparse.csr_array:
        """Return the (N, P) derivatives of each row's log-likelihood (`likelihood`) by the free parameters."""
        items, n = len(fit.theta), len(self.first)
        peak = StrengthParameters.from_values(fit.parameters)
        chances = [np.exp(chance)[self.first, self.second] for chance in log_chances(peak)]
        wins, losses, ties = ((self.outcome == outcome).astype(np.float64) for outcome in (1, 2, 0))
        if settings.tie_model == "half":
            wins, losses, ties = wins + ties / 2, losses + ties / 2, np.zeros(n)
        first, second, tie = chances  # the probabilities of the outcomes
        # By theta of the first item, of which the derivative by theta of the second is the opposite.
        slope = (wins * (2 * second + tie) - losses * (2 * first + tie) - ties * (first - second)) / 2
        derivatives = [(self.first, slope), (self.second, -slope)]
        parameter_count = items
        if peak.log_nu > -math.inf:  # nu was fitted
            derivatives.append((np.full(n, parameter_count), ties * (first + second) - (wins + losses) * tie))
            parameter_count += 1
        if settings.order_effect:
            derivatives.append((np.full(n, parameter_count), slope))
            parameter_count += 1
        row = np.tile(np.arange(n), len(derivatives))
        column, value = (np.concatenate(parts) for parts in zip(*derivatives, strict=True))
        return scipy.sparse.csr_array((value, (row, column)), shape=(n, parameter_count))


def encode_comparisons(
    first: Iterable[Any], second: Iterable[Any], winners: ArrayLike
) -> tuple[NDArray[Any], Ints, Ints, Ints, Ints]:
    """Encode three (N,) columns. Raise BadValue if an item is compared with itself, or if there are too many items.

    Return the (K,) items, the (N,) codes of the first and of the second items, the (N,) outcomes 1, 2 or 0, and the
    (3, K, K) counts of ties, wins of the first item, and wins of the second, by first and second item.
    """
    from quorum.statistics.kernels.comparisons import count_comparisons

    items, first_item, second_item = encode_both(first, second, "first", "second")
    if 3 * len(items) ** 2 > MAX_TABLE_CELLS:
        max_items = math.isqrt(MAX_TABLE_CELLS // 3)
        raise BadValue(
            f"first and second hold {len(items):,} different items, expected {max_items:,} at most"
        )
    outcome = outcomes_of(winners)
    same_length(first=first_item, winners=outcome)
    counts = np.zeros((3, len(items), len(items)), dtype=np.int64)
    own_row = count_comparisons(first_item, second_item, outcome, counts)
    if own_row >= 0:  # a row that compares an item with itself
        name = items.tolist()[first_item[own_row]]
        raise BadValue(f"row {own_row} sets {name!r} against itself, expected two different items")
    return items, first_item, second_item, outcome, counts


def square_counts(counts: ArrayLike, name: str) -> Floats:
    """Return a (K, K) table of counts. Raise BadShape or BadValue if it is no such table, or an item meets itself."""
    table = floats_of(counts, name, "something that is no number, expected counts from zero on")
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        raise BadShape(f"{name} is of shape {table.shape}, expected a square table of items by items")
    if table.size and not (np.isfinite(table).all() and table.min() >= 0):
        raise BadValue(f"{name} holds a negative or infinite number, expected counts from zero on")
    if np.diag(table).any():
        position = int(np.flatnonzero(np.diag(table))[0])
        raise BadValue(f"{name}[{position}, {position}] is above zero, expected no item to meet itself")
    return table
