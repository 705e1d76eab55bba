"""Pairwise accuracy: the share of pairs of texts that a metric orders as people do, where ties count.

Metrics rarely give two texts the same score, so scores that differ by up to epsilon are ties. Epsilon can be
calibrated: it is chosen so that the accuracy is highest. Choose it on one set of items and use it on another. Source:
Deutsch, Foster, Freitag 2023, *Ties Matter: Meta-Evaluating Modern Metrics with Pairwise Accuracy and Tie Calibration*.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Flags, Floats, Ints, ratio, starts_of
from quorum.statistics.correlation import read_observations
from quorum.statistics.correlation.coefficients import group_levels, groups_of_rows
from quorum.statistics.crossed import CONFIDENCE, NAIVE, ClusterColumns, share_of_rows
from quorum.statistics.inference import Inference, Options, signed
from quorum.statistics.inputs import (
    ROUNDING,
    BadOption,
    BadValue,
    check_positive_int,
    encode,
    is_real,
    same_length,
)
from quorum.statistics.resampling import RESAMPLES, Seed

CALIBRATED_EPSILON = "calibrate"

# Largest number of pairs whose gaps are sorted to find epsilon. If there are more, this many are sampled.
_MAX_PAIRS = 10_000_000
NO_PAIR = "no group has two observations"


@dataclass(frozen=True, slots=True)
class PairwiseAccuracyResult(Inference):
    """Share of pairs of texts that a metric orders as people do, averaged over groups.

    value: the mean accuracy over groups, with its interval. concordant, discordant: number of pairs that metric and
    people both order, in the same way, and in opposite ways. tied_both, tied_metric, tied_people: number of pairs that
    are tied by both, by the metric only, and by people only. pairs: the sum of these five numbers. epsilon: largest
    difference of scores that is a tie. calibrated: whether epsilon was chosen on these data, from `pairs_searched`
    pairs. n: number of texts with both scores. left_out: number of the other texts. groups: number of all groups,
    including the `undefined_groups`, which have no pair.
    """

    value: float
    epsilon: float
    calibrated: bool
    concordant: int
    discordant: int
    tied_both: int
    tied_metric: int
    tied_people: int
    pairs: int
    pairs_searched: int
    n: int
    left_out: int
    groups: int
    undefined_groups: int


@signed("pairwise-accuracy", data=("groups",))
def pairwise_accuracy(
    scores: ArrayLike,
    people: ArrayLike,
    groups: Iterable[Any] | None = None,
    *,
    epsilon: float | str = 0.0,
    missing: str = "refuse",
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    max_pairs: int = _MAX_PAIRS,
    seed: Seed = 0,
    clusters: ClusterColumns = NAIVE,
) -> PairwiseAccuracyResult:
    """Return the pairwise accuracy of (N,) scores of texts by a metric, and by people.

    The accuracy is acc_eq = (C + T_both) / (C + D + T_metric + T_people + T_both), where C, D and T are the numbers of
    concordant, discordant and tied pairs.

    Args:
        groups: (N,) groups, such as items. Pairs are formed within a group.
        epsilon: the largest difference of the metric's scores that is a tie, or "calibrate": the smallest value with
            the highest accuracy among the differences of all pairs.
        max_pairs: number of random pairs to calibrate with if there are more.
        clusters: columns that are constant within a group. Without clusters, the interval resamples groups.
    """
    options = Options.from_sampling(confidence=confidence, resamples=resamples, seed=seed, clusters=clusters)
    check_positive_int(max_pairs, "max_pairs")
    is_calibrated = isinstance(epsilon, str) and epsilon == CALIBRATED_EPSILON
    if not is_calibrated and not (is_real(epsilon) and 0 <= epsilon < math.inf):
        raise BadOption(f"epsilon is {epsilon!r}, expected a number from zero on, or {CALIBRATED_EPSILON}")
    (metric, people_scores), is_complete = read_observations(missing, first=scores, second=people)
    codes = np.zeros(len(is_complete), dtype=np.int64)
    if groups is not None:
        codes = encode(groups, "groups")[1]
        same_length(scores=metric, groups=codes)
    # Number only the groups of complete observations.
    _, first_rows, codes = np.unique(codes[is_complete], return_index=True, return_inverse=True)
    codes = codes.astype(np.int64, copy=False)
    scored_groups = _ScoreGroups(metric[is_complete], people_scores[is_complete], codes)
    pairs_searched = 0
    tie_gap = 0.0 if is_calibrated else float(epsilon)
    if is_calibrated and scored_groups.pairs.sum():
        tie_gap, pairs_searched = _best_epsilon(scored_groups, max_pairs, options.generator)
    counts = scored_groups.counts(tie_gap)
    right_counts = counts[:, 0] + counts[:, 2]  # concordant, and tied by both
    has_pairs = scored_groups.pairs > 0
    accuracies = right_counts[has_pairs] / scored_groups.pairs[has_pairs]
    inference = options.undefined_inference("" if len(accuracies) else NO_PAIR)
    if options.columns and len(accuracies):
        columns = {
            name: _clusters_of_groups(values, name, is_complete, codes, first_rows)[has_pairs]
            for name, values in options.columns.items()
        }
        mean = share_of_rows(accuracies, columns, confidence)
        inference = options.interval_of_clusters(mean.clusters, (mean.low, mean.high))
    elif len(accuracies) > 1 and resamples:
        inference = options.bootstrap(
            lambda weights: np.asarray(weights @ accuracies / len(accuracies), dtype=np.float64),
            np.ones(len(accuracies), dtype=np.int64),
        )
    concordant, discordant, tied_both, tied_metric, tied_people = (int(count) for count in counts.sum(axis=0))
    return PairwiseAccuracyResult(
        value=float(accuracies.mean()) if len(accuracies) else math.nan,
        epsilon=tie_gap,
        calibrated=is_calibrated,
        concordant=concordant,
        discordant=discordant,
        tied_both=tied_both,
        tied_metric=tied_metric,
        tied_people=tied_people,
        pairs=int(scored_groups.pairs.sum()),
        pairs_searched=pairs_searched,
        n=int(is_complete.sum()),
        left_out=int((~is_complete).sum()),
        groups=len(has_pairs),
        undefined_groups=int((~has_pairs).sum()),
        **inference.fields_by_name(),
    )


def _clusters_of_groups(
    values: Iterable[Any], name: str, is_complete: Flags, codes: Ints, first_rows: Ints
) -> Ints:
    """Return the (G,) clusters of groups, from a column of clusters with (N,) entries called `name`.

    is_complete: (N,) flags of the rows that are used. codes: the group of each of these. first_rows: (G,) position of
    each group's first row among these. Raise BadValue if a group has rows of two clusters.
    """
    column = f"clusters[{name!r}]"
    _, clusters = encode(values, column)
    same_length(scores=is_complete, **{column: clusters})
    clusters = clusters[is_complete]
    if (clusters != clusters[first_rows][codes]).any():
        raise BadValue(f"{column} differs within a group, expected one {name} for each of groups")
    return clusters[first_rows]


class _ScoreGroups:
    """N scores of a metric and of people, sorted by group (0 to G - 1) and by the metric's score.

    starts: (G + 1,) bounds of the groups. sizes, pairs: (G,) numbers of each group's scores, and of pairs of these.
    tolerance: scores with a smaller difference are equal up to rounding.
    """

    def __init__(self, scores: Floats, people: Floats, codes: Ints) -> None:
        order = np.lexsort((scores, codes))
        self.scores, self.people = scores[order], people[order]
        self.starts = starts_of(np.bincount(codes))
        self.sizes = np.diff(self.starts)
        self.pairs = self.sizes * (self.sizes - 1) // 2
        self.tolerance = ROUNDING * float(np.abs(scores).max(initial=0.0))

    def counts(self, epsilon: float) -> Floats:
        """Return the (G, 5) numbers of pairs: concordant, discordant, tied by both, by the metric only, by people only.

        The metric's scores are tied if they differ by up to `epsilon`.
        """
        from quorum.statistics.kernels.concordance import gap_sums

        if not len(self.scores):
            return np.zeros((len(self.sizes), 5))
        groups = groups_of_rows(self.starts)
        # The kernel counts pairs that the metric does not tie. It takes people's scores as levels 0, 1, ... of each
        # group. `codes` number these levels through all groups, and `bounds` (G + 1,) are the groups' first codes.
        codes, bounds = group_levels(self.people, groups)
        sums = gap_sums(
            self.scores, codes - bounds[groups], self.starts, np.diff(bounds), epsilon + self.tolerance
        )
        concordant, discordant, people_only = sums.T
        # Pairs that people tie are pairs of equal scores, which have the same code.
        code_counts = np.bincount(codes)
        tied_by_people = np.add.reduceat(code_counts * (code_counts - 1) // 2, bounds[:-1])
        tied_both = tied_by_people - people_only
        metric_only = self.pairs - concordant - discordant - tied_by_people
        return np.stack([concordant, discordant, tied_both, metric_only, people_only], axis=1)


def _best_epsilon(
    scored_groups: _ScoreGroups, max_pairs: int, generator: np.random.Generator
) -> tuple[float, int]:
    """Return the smallest epsilon with the highest accuracy, and the number of pairs that were searched.

    A pair's gap is the difference of its scores by the metric. When epsilon grows to a pair's gap, the metric ties the
    pair. Then the pair becomes right if people tie it, and wrong if it was concordant. Otherwise it stays wrong.
    """
    lower, upper, weights = _pairs(scored_groups, max_pairs, generator)
    gaps = scored_groups.scores[upper] - scored_groups.scores[lower]
    people_gaps = scored_groups.people[upper] - scored_groups.people[lower]
    # The change of the accuracy, times the number of groups, when each pair is tied.
    changes = np.where(people_gaps == 0, weights, np.where(people_gaps > 0, -weights, 0.0))
    changes[(people_gaps != 0) & (gaps <= scored_groups.tolerance)] = 0.0  # tied for every epsilon, and wrong
    # The gain of an epsilon is the sum of the changes of all pairs with gaps up to it.
    order_of_gaps = np.argsort(gaps)
    gaps = gaps[order_of_gaps]
    gains = np.cumsum(changes[order_of_gaps])
    # Pairs with equal gaps change together, so only the last of them has a gain that some epsilon reaches.
    is_last = np.append(np.diff(gaps) > scored_groups.tolerance, True)
    # Epsilon 0 ties no pair, so its gain is 0. If some gap is 0, its choice is in the list already.
    gaps, gains = np.append(0.0, gaps[is_last]), np.append(-np.inf, gains[is_last])
    if gaps[1] > scored_groups.tolerance:
        gains[0] = 0.0
    gain_tolerance = ROUNDING * float(weights.sum())
    best_index = int(np.flatnonzero(gains >= gains.max() - gain_tolerance)[0])
    return (float(gaps[best_index]) if gaps[best_index] > scored_groups.tolerance else 0.0), len(lower)


def _pairs(
    scored_groups: _ScoreGroups, max_pairs: int, generator: np.random.Generator
) -> tuple[Ints, Ints, Floats]:
    """Return all pairs of scores in a group, or `max_pairs` random ones if there are more.

    Return the positions of the pairs' lower and of their higher scores, and their weights. The weight is 1 / the number
    of the group's pairs, since accuracies are averaged over groups.
    """
    total = int(scored_groups.pairs.sum())
    pair_weights = ratio(1.0, scored_groups.pairs, otherwise=0.0)
    if total > max_pairs:
        pair_bounds = np.cumsum(scored_groups.pairs)
        group = np.searchsorted(pair_bounds, generator.integers(0, total, size=max_pairs), side="right")
        # Draw two different members of the group: the second is drawn from the others, which skip the first.
        member = generator.integers(0, scored_groups.sizes[group])
        other_member = generator.integers(0, scored_groups.sizes[group] - 1)
        other_member += other_member >= member
        start = scored_groups.starts[group]
        lower, upper = start + np.minimum(member, other_member), start + np.maximum(member, other_member)
        return lower, upper, pair_weights[group]
    lower_positions, upper_positions, weights = [], [], []
    # Groups of the same size have the same pairs of members.
    for size in np.unique(scored_groups.sizes[scored_groups.pairs > 0]):
        groups = np.flatnonzero(scored_groups.sizes == size)
        member, other_member = np.triu_indices(size, 1)
        start = scored_groups.starts[groups][:, np.newaxis]
        lower_positions.append((start + member).ravel())
        upper_positions.append((start + other_member).ravel())
        weights.append(np.repeat(pair_weights[groups], len(member)))
    return np.concatenate(lower_positions), np.concatenate(upper_positions), np.concatenate(weights)
