"""Accuracy: how often a metric names people's winner of a pair.

A pair is two candidate captions. People's winner is the consensus of their votes; a metric's winner is the candidate
with the higher score. The measure is that of Vedantam et al. 2015 (V15), section 3. It is a mean of credits: 1 for a
pair on which the metric names people's winner, 0 for another pair with a consensus. A winner is 1 for the first
candidate, 2 for the second, and 0 for neither.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.statistics.crossed import (
    NO_DELETIONS,
    Clusters,
    Contrast,
    DifferenceOfShares,
    RaterDeletions,
    Spread,
    column_codes,
    positions_and_raters,
    renumber_codes,
    share_interval,
    spread_if_even,
)
from quorum.statistics.inference import Clustering, Inference, Options, signed
from quorum.statistics.inputs import (
    BadShape,
    BadValue,
    encode,
    finite_vector,
    floats_of,
    one_of,
    refuse_values,
    same_length,
    score_vector,
)
from quorum.statistics.significance import mcnemar_test, wilson_interval

# Two scores of a pair are tied if their relative difference is smaller than this, because it may be a rounding error.
TIE_TOLERANCE = 1e-12
NO_CONSENSUS = "no pair has a consensus"
METRIC_TIES = ("wrong", "half", "left-out")
UNDECIDED_CHOICES = ("left-out", "half")


@dataclass(frozen=True, slots=True)
class AccuracyResult(Inference):
    """Accuracy of a metric on the pairs of one kind, with its interval.

    value: `correct` / `n`, where n is the number of pairs with a consensus, and a metric's tie is wrong, as in V15.
    metric_ties: number of these pairs on which the metric's scores are tied. no_consensus: number of the other pairs.
    value_ties_half: the accuracy if a metric's tie is half right. value_all_pairs: the accuracy over all `pairs`, where
    either winner of a pair without a consensus is half right. interval: "clustered" if pairs have clusters, else
    "wilson".
    """

    kind: str
    value: float
    n: int
    correct: int
    metric_ties: int
    no_consensus: int
    pairs: int
    value_ties_half: float
    value_all_pairs: float
    interval: str


def metric_winners(first_scores: ArrayLike, second_scores: ArrayLike) -> Ints:
    """Return the (P,) winners by score: 1, 2, or 0 if the scores are equal up to rounding."""
    first = score_vector(first_scores, "first_scores")
    second = score_vector(second_scores, "second_scores")
    same_length(first_scores=first, second_scores=second)
    margin: Floats = TIE_TOLERANCE * np.maximum(np.abs(first), np.abs(second))
    return (first - second > margin) + 2 * (second - first > margin).astype(np.int64)


# A function of the (R,) positions of pairs and their (R,) winners, which returns the (R,) credits of a metric.
Credit = Callable[[Ints, Floats], Floats]


@dataclass(frozen=True, slots=True)
class PeoplesWinners:
    """People's winners of (P,) candidate pairs (1, 2, or 0 for none), with which winners by metrics are compared.

    columns: (P,) codes of clusters by name. deletions: how leaving out each rater changes the winners, or None if
    raters are not random. confidence: the confidence of all intervals.
    """

    winners: Floats
    columns: Mapping[str, Ints]
    deletions: RaterDeletions | None
    confidence: float

    @classmethod
    def from_winners(cls, winners: ArrayLike, **options: Unpack[Clustering]) -> PeoplesWinners:
        """Check (P,) winners, and return them with their clusters.

        Besides columns, the option `clusters` may have the result of `winners_without_raters`.
        """
        checked_options, deletions = Options.with_raters(resamples=0, **options)
        consensus = consensus_winners(winners)
        codes = {
            name: column_codes(column, name, len(consensus), "pair")
            for name, column in checked_options.columns.items()
        }
        if deletions is not None:
            deletions.check(len(consensus), "pair")
        return cls(consensus, codes, deletions, checked_options.confidence)

    @property
    def has_clusters(self) -> bool:
        return bool(self.columns) or self.deletions is not None

    def accuracy(
        self, predicted_winners: Ints, kinds: Iterable[Any] | None = None
    ) -> dict[str, AccuracyResult]:
        """Return the accuracy of a metric's (P,) `metric_winners`, by pair kind, and over all pairs as "all"."""
        pairs_by_kind = kinds_of(kinds, len(predicted_winners))
        return {
            kind: self.accuracy_of(predicted_winners, pairs, kind) for kind, pairs in pairs_by_kind.items()
        }

    def accuracy_of(self, predicted_winners: Ints, pairs: Flags, kind: str = "all") -> AccuracyResult:
        """Return the accuracy of a metric's (P,) `metric_winners` on the pairs for which `pairs` (P,) is true."""
        has_consensus = pairs & (self.winners != 0)
        n, pair_count = int(has_consensus.sum()), int(pairs.sum())
        correct = int((predicted_winners == self.winners)[has_consensus].sum())
        ties = int((predicted_winners[has_consensus] == 0).sum())
        predicted_without_consensus = int((predicted_winners[pairs & ~has_consensus] != 0).sum())
        if n and self.has_clusters:
            inference = self.share(credit_of(predicted_winners), pairs)
        else:
            low, high = wilson_interval(correct, n, self.confidence)
            reason = "" if n else NO_CONSENSUS
            inference = Inference(low=low, high=high, confidence=self.confidence, reason=reason)
        return AccuracyResult(
            kind=kind,
            value=correct / n if n else math.nan,
            n=n,
            correct=correct,
            metric_ties=ties,
            no_consensus=pair_count - n,
            pairs=pair_count,
            value_ties_half=(correct + ties / 2) / n if n else math.nan,
            value_all_pairs=(correct + predicted_without_consensus / 2) / pair_count
            if pair_count
            else math.nan,
            interval="clustered" if n and self.has_clusters else "wilson",
            **inference.fields_by_name(),
        )

    def contrast(self, first: Ints, second: Ints, pairs: Flags) -> Contrast:
        """Return the difference of two metrics' accuracies on the pairs for which `pairs` (P,) is true.

        first, second: (P,) `metric_winners` of the metrics. The returned spread is the one that the difference would
        have if both metrics were equally accurate.
        """
        difference, *_ = self._difference(first, second, pairs)
        return Contrast(difference.value, difference.if_equal)

    def difference(self, first: Ints, second: Ints, pairs: Flags, kind: str = "all") -> AccuracyDifference:
        """Return the difference of two metrics' accuracies on the pairs for which `pairs` (P,) is true, with its test.

        first, second: (P,) `metric_winners` of the metrics. For p see `AccuracyDifference`.
        """
        has_consensus = pairs & (self.winners != 0)
        n = int(has_consensus.sum())
        if not n:
            no_inference = Inference(confidence=self.confidence, reason=NO_CONSENSUS)
            return AccuracyDifference(
                kind, math.nan, math.nan, math.nan, math.nan, 0, **no_inference.fields_by_name()
            )
        difference, cluster_count, inference = self._difference(first, second, pairs)
        value, spread = difference.value, difference.spread
        low, high = difference.interval(self.confidence)
        if abs(value) == 1:  # one metric is always right and the other always wrong
            # As a share of 0 or 1, it has an exact interval, which uses only the degrees of freedom of `spread`.
            share_limits = share_interval((1 + value) / 2, spread, cluster_count, self.confidence)
            low, high = (2 * limit - 1 for limit in share_limits)
        first_right, second_right = ((winners == self.winners)[has_consensus] for winners in (first, second))
        # The test uses the spread that the difference would have if both metrics were equally accurate. McNemar's test
        # needs no variance, which is zero if the difference is the same on all pairs.
        p = difference.if_equal.p(value)
        if not self.has_clusters or not spread.has_variance:
            p = mcnemar_test(first_right, second_right).exact_p
        return AccuracyDifference(
            kind,
            float(first_right.mean()),
            float(second_right.mean()),
            value,
            p,
            n,
            **replace(inference, low=low, high=high).fields_by_name(),
        )

    def _difference(
        self, first: Ints, second: Ints, pairs: Flags
    ) -> tuple[DifferenceOfShares, int, Inference]:
        """Return the difference of two accuracies, the number of clusters, and an `Inference` without limits."""
        mean = self._mean_credit(credit_difference(first, second), pairs, is_share=False)
        is_discordant = (first == self.winners) != (second == self.winners)
        is_discordant = is_discordant[pairs & (self.winners != 0)]
        difference = DifferenceOfShares.from_spread(mean.value, mean.spread, is_discordant)
        return difference, mean.cluster_count, mean.inference

    def share(self, credit: Credit, pairs: Flags, *, include_undecided: bool = False) -> Inference:
        """Return the interval of the mean credit over the pairs for which `pairs` (P,) is true.

        `credit` returns credits from 0 to 1. Pairs without a winner are left out unless `include_undecided`.
        """
        mean = self._mean_credit(credit, pairs, include_undecided=include_undecided)
        low, high = share_interval(mean.value, mean.spread, mean.cluster_count, self.confidence)
        return replace(mean.inference, low=low, high=high)

    def spread_if_even(self, credit: Credit, pairs: Flags) -> tuple[float, Spread]:
        """Return the mean credit of the pairs, and the spread that the mean would have if its true value were a half.

        `pairs` (P,) is true for the pairs. Pairs without a winner are included. The spread is for a score test.
        """
        mean = self._mean_credit(credit, pairs, include_undecided=True)
        return mean.value, spread_if_even(mean.value, mean.spread, mean.cluster_count)

    def _mean_credit(
        self, credit: Credit, pairs: Flags, *, include_undecided: bool = False, is_share: bool = True
    ) -> _MeanCredit:
        """Return the mean credit of the pairs for which `pairs` (P,) is true.

        `is_share` is false if the credits are differences of two metrics' credits, whose mean is no share of pairs.
        """
        rows = np.flatnonzero(pairs if include_undecided else pairs & (self.winners != 0))
        n = len(rows)
        credits = credit(rows, self.winners[rows])
        mean = float(credits.mean())
        # The variance over other pairs, or over other clusters of pairs.
        columns = {name: renumber_codes(column[rows]) for name, column in self.columns.items()}
        clusters = Clusters.of_codes(columns or {"pair": np.arange(n)})
        spread = clusters.spread((credits - mean) / n)
        are_zeros_and_ones = is_share and not (credits % 1).any()
        if are_zeros_and_ones and clusters.has_single_rows(n):
            # A share of independent zeros and ones has a binomial variance, which needs no minimum number of pairs.
            spread = Spread.of_share(mean, n)
            clusters = replace(clusters, reason="", note="")
        if not columns:
            clusters = replace(clusters, counts={})
        # The variance that other raters would add.
        deletions = (self.deletions or NO_DELETIONS).subset(pairs)
        spread, clusters = deletions.widen(
            spread, clusters, lambda: _decreases_without_votes(credit, mean, n, deletions, include_undecided)
        )
        inference = Inference(
            confidence=self.confidence, reason=clusters.reason, note=clusters.note, clusters=clusters.counts
        )
        return _MeanCredit(mean, spread, clusters.cell_count or n, inference)


class _MeanCredit(NamedTuple):
    """The mean credit of a metric on some pairs, with its spread.

    cluster_count: the number of clusters (of two columns: of cells), or of pairs if no column has two clusters.
    inference: the note, the reason and the numbers of clusters that a result reports; it has no limits yet.
    """

    value: float
    spread: Spread
    cluster_count: int
    inference: Inference


def _decreases_without_votes(
    credit: Credit, mean: float, pair_count: int, deletions: RaterDeletions, include_undecided: bool
) -> Floats:
    """Return the (V,) decreases of the mean credit of `pair_count` pairs if one rater's vote on one pair is left out.

    V is the number of `deletions`. Their `value` has the decreases of the chances that the first candidate, and the
    second, wins. Each is multiplied by what the win is worth: the credit with this winner minus the credit without a
    winner. Credits are relative to the mean, because a pair with the mean credit does not change the mean. So an
    undecided pair that is left out counts 0.
    """

    def credit_with(winner: int) -> Floats:
        return credit(deletions.row, np.full(len(deletions.row), winner)) - mean

    credit_if_undecided = credit_with(0) if include_undecided else 0.0
    worth = np.column_stack([credit_with(1) - credit_if_undecided, credit_with(2) - credit_if_undecided])
    return np.asarray((deletions.value * worth).sum(axis=1)) / pair_count


def credit_of(predicted_winners: Ints) -> Credit:
    """Return a function that computes a metric's credit: 1 if the metric names the winner of a pair, else 0."""

    def credit(rows: Ints, winners: Floats) -> Floats:
        return (predicted_winners[rows] == winners) * 1.0

    return credit


def credit_difference(first: Ints, second: Ints) -> Credit:
    """Return a function that computes the first metric's credit (1 or 0) minus the second metric's.

    first, second: (P,) `metric_winners` of the metrics.
    """

    def credit(rows: Ints, winners: Floats) -> Floats:
        return (first[rows] == winners) * 1.0 - (second[rows] == winners)

    return credit


@signed("pair-accuracy", data=("kinds",))
def pair_accuracy(
    first_scores: ArrayLike,
    second_scores: ArrayLike,
    winners: ArrayLike,
    kinds: Iterable[Any] | None = None,
    **options: Unpack[Clustering],
) -> dict[str, AccuracyResult]:
    """Return the accuracy of a metric on the pairs of each kind, and on all pairs as "all".

    first_scores, second_scores: (P,) scores of the first and of the second candidates of P pairs. winners: (P,)
    people's winners: 1, 2, or 0 for none. kinds: (P,) kinds of the pairs. Besides columns, `clusters` may have the
    result of `winners_without_raters`; intervals then also generalise to other raters.
    """
    predicted_winners = metric_winners(first_scores, second_scores)
    people = PeoplesWinners.from_winners(winners, **options)
    same_length(first_scores=predicted_winners, winners=people.winners)
    return people.accuracy(predicted_winners, kinds)


def winners_without_raters(
    pairs: ArrayLike, raters: Iterable[Any], votes: ArrayLike, pair_count: int
) -> RaterDeletions:
    """Return how leaving out each rater changes the winners of `pair_count` pairs, to pass as the raters of `clusters`.

    pairs, raters, votes: (V,) columns with one vote in each entry. A pair is given by its position from 0; a vote is 1,
    2, or 0 for no difference. The winner has the most votes. A rater may vote several times on a pair.
    """
    vote = consensus_winners(votes)
    position, rater = positions_and_raters("pairs", pairs, raters, pair_count)
    same_length(pairs=position, votes=vote)
    contribution = (vote == 1) * 1 - (vote == 2)
    leads = np.bincount(position, weights=contribution, minlength=pair_count)
    return RaterDeletions.of_leads(position, rater, contribution, leads)


def pair_credits(
    predicted_winners: Ints,
    winners: Ints | Floats,
    *,
    metric_ties: str = "wrong",
    undecided: str = "left-out",
) -> tuple[Floats, Flags]:
    """Return the (P,) credits of a metric from 0 to 1, and (P,) flags of the pairs that count.

    predicted_winners, winners: (P,) winners by the metric (`metric_winners`) and by people. metric_ties: whether a
    metric's tie is "wrong" (V15), "half" right, or "left-out". undecided: whether a pair without a consensus is
    "left-out", or "half" right whatever the metric names.
    """
    one_of(metric_ties, METRIC_TIES, "metric_ties")
    one_of(undecided, UNDECIDED_CHOICES, "undecided")
    has_consensus = np.asarray(winners) != 0
    credit = np.where(has_consensus, predicted_winners == winners, 0.5)
    is_counted = has_consensus if undecided == "left-out" else np.ones(len(predicted_winners), dtype=np.bool_)
    if metric_ties == "half":
        credit = np.where(predicted_winners == 0, 0.5, credit)
    elif metric_ties == "left-out":
        is_counted = is_counted & (predicted_winners != 0)
    return credit.astype(np.float64), is_counted


@dataclass(frozen=True, slots=True)
class AccuracyDifference(Inference):
    """Two metrics' accuracies on the pairs of one kind, and their difference with an interval by t.

    first, second: the accuracies on the `n` pairs with a consensus. difference: the first minus the second. p: by t
    if pairs have clusters and the difference is not the same on all of them, else McNemar's exact p.
    """

    kind: str
    first: float
    second: float
    difference: float
    p: float
    n: int


@signed("accuracy-difference", data=("kinds",))
def accuracy_difference(
    first: ArrayLike,
    second: ArrayLike,
    winners: ArrayLike,
    kinds: Iterable[Any] | None = None,
    **options: Unpack[Clustering],
) -> dict[str, AccuracyDifference]:
    """Return the first metric's accuracy minus the second's, on the pairs of each kind and on all pairs as "all".

    first, second: (P, 2) the metrics' scores of both candidates. `winners`, `kinds` and `clusters` are as in
    `pair_accuracy`.
    """
    people = PeoplesWinners.from_winners(winners, **options)
    winners_by_metric = []
    for name, scores in (("first", first), ("second", second)):
        table = floats_of(scores, name)
        if table.shape != (len(people.winners), 2):
            raise BadShape(
                f"{name} has shape {table.shape}, expected both scores of {len(people.winners)} pairs"
            )
        winners_by_metric.append(metric_winners(table[:, 0], table[:, 1]))
    first_winners, second_winners = winners_by_metric
    return {
        kind: people.difference(first_winners, second_winners, pairs, kind)
        for kind, pairs in kinds_of(kinds, len(people.winners)).items()
    }


def consensus_winners(winners: ArrayLike) -> Floats:
    """Return (P,) winners as float64. Raise BadValue if one is not 1, 2 or 0."""
    consensus = finite_vector(winners, "winners")
    refuse_values(consensus, ~np.isin(consensus, (0, 1, 2)), "winners", "1, 2, or 0 for none")
    return consensus


def kinds_of(kinds: Iterable[Any] | None, pair_count: int) -> dict[str, Flags]:
    """Return, for each kind, (P,) flags that are true for its pairs. The last entry is "all", true for every pair.

    Raise BadValue if a kind is named "all".
    """
    flags = {}
    if kinds is not None:
        labels, codes = encode(kinds, "kinds")
        same_length(winners=np.empty(pair_count), kinds=codes)
        for code, label in enumerate(labels.tolist()):
            if str(label) == "all":
                raise BadValue("kinds holds 'all', expected names of pair kinds; 'all' names the total")
            flags[str(label)] = codes == code
    flags["all"] = np.ones(pair_count, dtype=np.bool_)
    return flags
