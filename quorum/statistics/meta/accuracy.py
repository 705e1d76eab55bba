"""Accuracy: how often a metric names people's winner of a pair.

The measure is that of Vedantam et al. 2015 (V15), section 3; the accuracy by number of references, that of figure 3.

Halves of the votes (V15 section 7.4) measure people and metrics by the same standard, and show the highest accuracy
that is possible. The votes on a pair (or its triplets, each won, lost or tied) are split into two halves. If their
number is odd, one half has a vote more. One half is the consensus; a pair on which it is tied is left out. All figures
are expectations over all splits and both halves, in closed form. They say how often the other half, or a metric, names
the consensus, where a tie is wrong, and how often any answers can be expected to name it at most (the ceiling).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Unpack

import numpy as np
import scipy  # its submodules load at first use
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
from quorum.statistics.inference import Clustering, Inference, Options, Result, signed
from quorum.statistics.inputs import (
    BadOption,
    BadShape,
    BadValue,
    check_positive_int,
    encode,
    finite_vector,
    floats_of,
    list_of_values,
    one_of,
    refuse_values,
    same_length,
    score_vector,
)
from quorum.statistics.resampling import Seed, generator_of
from quorum.statistics.significance import mcnemar_test, wilson_interval

MAX_VOTES = 2_000  # votes on a pair

# Two scores of a candidate pair are tied if their relative difference is smaller, because they differ by rounding.
TIE_TOLERANCE = 1e-12
NO_CONSENSUS = "no pair has a consensus"
METRIC_TIES = ("wrong", "half", "left-out")
UNDECIDED_CHOICES = ("left-out", "half")


@dataclass(frozen=True, slots=True)
class Halves:
    """(P,) chances over all splits into halves, nan for pairs with fewer than two votes.

    agree: chance that the halves name the same winner. disagree: chance that they name different winners. first,
    second: chances that a half names the first, and the second.
    """

    agree: Floats
    disagree: Floats
    first: Floats
    second: Floats

    @property
    def decided_chances(self) -> Floats:
        """The (P,) chances that a half names a winner, which are the weights of the pairs."""
        return self.first + self.second

    def ceiling(self, rows: Flags) -> Floats:
        """Return (P,) values whose sum over `rows`, divided by the sum of `decided_chances`, is the rows' ceiling.

        Answers chosen by the votes that score them would exceed what answers given in advance can reach, so they are
        not used. For a pair, let x be the difference of the chances that a half names the better and the worse
        candidate, and d the chance that it names a candidate. Answers that always name the better candidate reach
        (sum d + sum |x|) / (2 sum d), and sum |x| <= sqrt(pairs * sum x^2) (Jensen's inequality; both are equal if all
        pairs are equally hard). As the halves share no vote, agree - disagree has the expectation x^2.
        """
        squared_difference = self.agree - self.disagree
        mean, decided = float(squared_difference[rows].mean()), float(self.decided_chances[rows].mean())
        root = math.sqrt(max(mean, 0.0))
        ceiling = (1 + root / decided) / 2
        if ceiling >= 1:
            return self.decided_chances
        # The influence of each pair on the ceiling (delta method).
        if not root:
            return ceiling * self.decided_chances
        by_difference = (squared_difference - mean) / (4 * root)
        by_chances = root * (self.decided_chances - decided) / (2 * decided)
        return ceiling * self.decided_chances + (by_difference - by_chances)

    @property
    def ties_half(self) -> Floats:
        """The (P,) expected credits of a half for naming the other half's winner, if a tie is half right."""
        return (self.decided_chances + self.agree - self.disagree) / 2

    def chances_of(self, answers: Ints) -> Floats:
        """Return the (P,) chances that a half names the winner in `answers` (1 or 2). An answer 0, a tie, is wrong."""
        chance = np.where(answers == 1, self.first, np.where(answers == 2, self.second, 0.0))
        return np.where(np.isnan(self.first), np.nan, chance)


def halves_of_votes(won: ArrayLike, lost: ArrayLike, tied: ArrayLike) -> Halves:
    """Return the chances of pairs with (P,) votes for the first, for the second, and for neither.

    Raise BadValue if a pair has more than MAX_VOTES votes.
    """
    columns = [finite_vector(values, name) for values, name in ((won, "won"), (lost, "lost"), (tied, "tied"))]
    same_length(won=columns[0], lost=columns[1], tied=columns[2])
    for values, name in zip(columns, ("won", "lost", "tied"), strict=True):
        refuse_values(
            values, (values < 0) | (values != np.floor(values)), name, "a whole number from zero on"
        )
    counts = np.stack(columns, axis=1).astype(np.int64)
    if counts.size and int(counts.sum(axis=1).max()) > MAX_VOTES:
        raise BadValue(f"a pair has {int(counts.sum(axis=1).max()):,} votes, expected {MAX_VOTES:,} at most")
    patterns, pattern = np.unique(counts, axis=0, return_inverse=True)
    chances = np.array([_chances(*row) for row in patterns.tolist()]).reshape(-1, 4)
    return Halves(*chances[pattern.ravel()].T)


def _chances(won: int, lost: int, tied: int) -> tuple[float, ...]:
    """Return the chances of `Halves` for a pair with these numbers of votes, from all splits into halves."""
    n = won + lost + tied
    if n < 2:
        return (np.nan,) * 4
    size = n // 2
    first_votes = np.arange(min(won, size) + 1)[:, np.newaxis]
    second_votes = np.arange(min(lost, size) + 1)[np.newaxis]
    tied_votes = size - first_votes - second_votes
    is_possible = (tied_votes >= 0) & (tied_votes <= tied)
    log_chance = (
        _log_binomial(won, first_votes)
        + _log_binomial(lost, second_votes)
        + _log_binomial(tied, np.clip(tied_votes, 0, tied))
        - _log_binomial(n, np.array(size))
    )
    chance = np.where(is_possible, np.exp(log_chance), 0.0)
    # The winners of the halves: 1 for the first, -1 for the second, 0 for a tie.
    smaller = np.sign(first_votes - second_votes)
    larger = np.sign((won - first_votes) - (lost - second_votes))
    agree, disagree = (float(chance[(smaller == sign * larger) & (smaller != 0)].sum()) for sign in (1, -1))
    first, second = (
        float((chance[smaller == winner].sum() + chance[larger == winner].sum()) / 2) for winner in (1, -1)
    )
    return tuple(min(share, 1.0) for share in (agree, disagree, first, second))


def _log_binomial(number: int, choices: Ints) -> Floats:
    """Return the logarithms of binomial coefficients, which themselves may overflow."""
    return np.asarray(
        scipy.special.gammaln(number + 1)
        - scipy.special.gammaln(choices + 1)
        - scipy.special.gammaln(number - choices + 1),
        dtype=np.float64,
    )


@dataclass(frozen=True, slots=True)
class AccuracyResult(Inference):
    """Accuracy of a metric on the pairs of one kind, with its interval.

    value: `correct` / `n`, where n is the number of pairs with a consensus, and a metric's tie is wrong, as in V15.
    metric_ties: number of these pairs that the metric ties. no_consensus: number of the other pairs. value_ties_half:
    the same figure with half a point for a metric's tie. value_all_pairs: the figure over all `pairs`, with half a
    point for naming a winner of a pair without a consensus. interval: "clustered" or "wilson".
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


# A function of positions of pairs, and of their winners, which returns credits.
Credit = Callable[[Ints, Floats], Floats]


@dataclass(frozen=True, slots=True)
class PeoplesWinners:
    """People's winners of (P,) candidate pairs (1, 2, or 0 for none), and the clusters of the pairs.

    columns: (P,) codes of clusters by name. deletions: the winners without each rater, or None. confidence: that of all
    intervals.
    """

    winners: Floats
    columns: Mapping[str, Ints]
    deletions: RaterDeletions | None
    confidence: float

    @classmethod
    def from_winners(cls, winners: ArrayLike, **options: Unpack[Clustering]) -> PeoplesWinners:
        """Check (P,) winners, and return them with their clusters.

        The option `clusters` may have `winners_without_raters` in addition to columns.
        """
        chosen_options, deletions = Options.with_raters(resamples=0, **options)
        consensus = consensus_winners(winners)
        codes = {
            name: column_codes(column, name, len(consensus), "pair")
            for name, column in chosen_options.columns.items()
        }
        if deletions is not None:
            deletions.check(len(consensus), "pair")
        return cls(consensus, codes, deletions, chosen_options.confidence)

    @property
    def has_clusters(self) -> bool:
        return bool(self.columns) or self.deletions is not None

    def accuracy(self, sides: Ints, kinds: Iterable[Any] | None = None) -> dict[str, AccuracyResult]:
        """Return the accuracy of the (P,) winners that a metric names, by pair kind, and over all pairs as "all"."""
        masks = kinds_of(kinds, len(sides))
        return {kind: self.accuracy_of(sides, pairs, kind) for kind, pairs in masks.items()}

    def accuracy_of(self, named_sides: Ints, pairs: Flags, kind: str = "all") -> AccuracyResult:
        """Return the accuracy on the pairs for which `pairs` (P,) is true."""
        has_consensus = pairs & (self.winners != 0)
        n, pair_count = int(has_consensus.sum()), int(pairs.sum())
        correct = int((named_sides == self.winners)[has_consensus].sum())
        ties = int((named_sides[has_consensus] == 0).sum())
        named_without_consensus = int((named_sides[pairs & ~has_consensus] != 0).sum())
        if n and self.has_clusters:
            inference = self.share(lambda rows, winners: (named_sides[rows] == winners) * 1.0, pairs)
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
            value_all_pairs=(correct + named_without_consensus / 2) / pair_count if pair_count else math.nan,
            interval="clustered" if n and self.has_clusters else "wilson",
            **inference.fields_by_name(),
        )

    def contrast(self, first: Ints, second: Ints, pairs: Flags) -> Contrast:
        """Return the difference of two metrics' accuracies on the pairs for which `pairs` (P,) is true.

        Its spread is the spread that it would have if both were equally accurate.
        """
        difference, *_ = self._difference(first, second, pairs)
        return Contrast(difference.value, difference.if_equal)

    def difference(self, first: Ints, second: Ints, pairs: Flags, kind: str = "all") -> AccuracyDifference:
        """Return the difference of two metrics' accuracies on the pairs for which `pairs` (P,) is true, with its test.

        first, second: (P,) winners that the metrics name. p is by t if pairs have clusters, else McNemar's.
        """
        has_consensus = pairs & (self.winners != 0)
        n = int(has_consensus.sum())
        if not n:
            undefined = Inference(confidence=self.confidence, reason=NO_CONSENSUS)
            return AccuracyDifference(
                kind, math.nan, math.nan, math.nan, math.nan, 0, **undefined.fields_by_name()
            )
        difference, cluster_count, inference = self._difference(first, second, pairs)
        value, spread = difference.value, difference.spread
        low, high = difference.interval(self.confidence)
        if abs(value) == 1:  # one metric is always right and the other always wrong
            # The interval of a share of 0 or 1 is exact. Of `spread`, it uses only the degrees of freedom.
            share_limits = share_interval((1 + value) / 2, spread, cluster_count, self.confidence)
            low, high = (2 * limit - 1 for limit in share_limits)
        first_right, second_right = ((sides == self.winners)[has_consensus] for sides in (first, second))
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
        credit = credit_difference(first, second)
        value, spread, cluster_count, inference = self._spread(credit, pairs, is_share=False)
        is_discordant = (first == self.winners) != (second == self.winners)
        is_discordant = is_discordant[pairs & (self.winners != 0)]
        return DifferenceOfShares.from_spread(value, spread, is_discordant), cluster_count, inference

    def share(self, credit: Credit, pairs: Flags, *, undecided: bool = False) -> Inference:
        """Return the interval of the mean credit over the pairs for which `pairs` (P,) is true.

        `credit` returns credits from 0 to 1. Pairs without a winner are included only if `undecided`.
        """
        share, spread, cluster_count, inference = self._spread(credit, pairs, undecided=undecided)
        low, high = share_interval(share, spread, cluster_count, self.confidence)
        return replace(inference, low=low, high=high)

    def spread_if_even(self, credit: Credit, pairs: Flags) -> tuple[float, Spread]:
        """Return the mean credit of the pairs, and the spread that the mean would have if its true value were a half.

        `pairs` (P,) is true for the pairs. Pairs without a winner are included. The spread is for a score test.
        """
        share, spread, cluster_count, _ = self._spread(credit, pairs, undecided=True)
        return share, spread_if_even(share, spread, cluster_count)

    def _spread(
        self, credit: Credit, pairs: Flags, *, undecided: bool = False, is_share: bool = True
    ) -> tuple[float, Spread, int, Inference]:
        """Return the mean credit of the pairs, its spread, the number of clusters, and an `Inference` without limits.

        Credits that are 0 or 1 give a share if `is_share`; differences of credits do not.
        """
        rows = np.flatnonzero(pairs if undecided else pairs & (self.winners != 0))
        n = len(rows)
        credits = credit(rows, self.winners[rows])
        mean = float(credits.mean())
        columns = {name: renumber_codes(column[rows]) for name, column in self.columns.items()}
        items = Clusters.of_codes(columns or {"pair": np.arange(n)})
        spread = items.spread((credits - mean) / n)
        if is_share and items.has_single_rows(n) and not (credits % 1).any():
            spread = Spread.of_share(mean, n)
            items = replace(items, reason="", note="")
        if not columns:
            items = replace(items, counts={})
        kept_deletions = (self.deletions or NO_DELETIONS).subset(pairs)

        def changes() -> Floats:
            # Return the (V,) changes of the mean credit by each rater's answers. `value` has the changes of the chances
            # that the first, and the second, wins. A change is worth the credit with this winner minus that with a tie;
            # credits are minus the mean, and a tie is worth nothing if pairs without a winner are left out.
            credit_if_tied, credit_if_first, credit_if_second = (
                credit(kept_deletions.row, np.full(len(kept_deletions.row), winner)) - mean
                if winner or undecided
                else 0.0
                for winner in (0, 1, 2)
            )
            worth = np.column_stack([credit_if_first - credit_if_tied, credit_if_second - credit_if_tied])
            return np.asarray((kept_deletions.value * worth).sum(axis=1)) / n

        spread, items = kept_deletions.widen(spread, items, changes)
        inference = Inference(
            confidence=self.confidence, reason=items.reason, note=items.note, clusters=items.counts
        )
        return mean, spread, items.cell_count or n, inference


def credit_difference(first: Ints, second: Ints) -> Credit:
    """Return a function that computes the first metric's credit (1 or 0) minus the second metric's.

    first, second: the winners that the metrics name.
    """
    return lambda rows, winners: (first[rows] == winners) * 1.0 - (second[rows] == winners)


@signed("pair-accuracy", data=("kinds",))
def pair_accuracy(
    first_scores: ArrayLike,
    second_scores: ArrayLike,
    winners: ArrayLike,
    kinds: Iterable[Any] | None = None,
    **options: Unpack[Clustering],
) -> dict[str, AccuracyResult]:
    """Return the accuracy of a metric by pair kind (P,), and over all pairs as "all".

    first_scores, second_scores: (P,) scores of both candidates. `clusters` may have `winners_without_raters` in
    addition to columns; intervals then also generalise to other raters.
    """
    named_sides = metric_winners(first_scores, second_scores)
    people = PeoplesWinners.from_winners(winners, **options)
    same_length(first_scores=named_sides, winners=people.winners)
    return people.accuracy(named_sides, kinds)


def winners_without_raters(
    pairs: ArrayLike, raters: Iterable[Any], votes: ArrayLike, pair_count: int
) -> RaterDeletions:
    """Return the winners of `pair_count` pairs without each of their raters, to pass as the raters of `clusters`.

    pairs, raters, votes: (V,) columns with one vote in each entry. `pairs` are positions from 0; votes are 1, 2, or
    0 for no difference. The winner has the most votes. A rater may vote several times on a pair.
    """
    vote = consensus_winners(votes)
    position, rater = positions_and_raters("pairs", pairs, raters, pair_count)
    same_length(pairs=position, votes=vote)
    contribution = (vote == 1) * 1 - (vote == 2)
    leads = np.bincount(position, weights=contribution, minlength=pair_count)
    return RaterDeletions.of_leads(position, rater, contribution, leads)


def pair_credits(
    named_sides: Ints, winners: Ints | Floats, *, metric_ties: str = "wrong", undecided: str = "left-out"
) -> tuple[Floats, Flags]:
    """Return the (P,) credits of a metric from 0 to 1, and (P,) flags of the pairs that count.

    `named_sides` are the metric's `metric_winners`. `metric_ties` says whether a metric's tie is "wrong" (V15), "half"
    right, or "left-out". `undecided` says whether a pair without a consensus is "left-out", or "half" right for any
    answer.
    """
    one_of(metric_ties, METRIC_TIES, "metric_ties")
    one_of(undecided, UNDECIDED_CHOICES, "undecided")
    has_consensus = np.asarray(winners) != 0
    credit = np.where(has_consensus, named_sides == winners, 0.5)
    is_counted = has_consensus if undecided == "left-out" else np.ones(len(named_sides), dtype=np.bool_)
    if metric_ties == "half":
        credit = np.where(named_sides == 0, 0.5, credit)
    elif metric_ties == "left-out":
        is_counted = is_counted & (named_sides != 0)
    return credit.astype(np.float64), is_counted


@dataclass(frozen=True, slots=True)
class AccuracyDifference(Inference):
    """Two metrics' accuracies on the pairs of one kind, and their difference with an interval by t.

    first, second: the accuracies on the `n` pairs with a consensus. p: by t with clusters, else McNemar's.
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
    """Return the first metric's accuracy minus the second's, by pair kind (P,), and over all pairs as "all".

    first, second: (P, 2) the metrics' scores of both candidates. `clusters` are as in `pair_accuracy`. With clusters,
    p is by t, else it is McNemar's exact p.
    """
    people = PeoplesWinners.from_winners(winners, **options)
    named_sides = []
    for name, scores in (("first", first), ("second", second)):
        table = floats_of(scores, name)
        if table.shape != (len(people.winners), 2):
            raise BadShape(
                f"{name} has shape {table.shape}, expected both scores of {len(people.winners)} pairs"
            )
        named_sides.append(metric_winners(table[:, 0], table[:, 1]))
    return {
        kind: people.difference(named_sides[0], named_sides[1], pairs, kind)
        for kind, pairs in kinds_of(kinds, len(people.winners)).items()
    }


def consensus_winners(winners: ArrayLike) -> Floats:
    """Return (P,) winners. Raise BadValue if one is not 1, 2 or 0."""
    consensus = finite_vector(winners, "winners")
    refuse_values(consensus, ~np.isin(consensus, (0, 1, 2)), "winners", "1, 2, or 0 for none")
    return consensus


def kinds_of(kinds: Iterable[Any] | None, pair_count: int) -> dict[str, Flags]:
    """Return the (P,) flags of the pairs of each kind. The last entry, "all", has those of all pairs.

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


@dataclass(frozen=True, slots=True)
class ReferenceCurve(Result):
    """Accuracy of a metric on the pairs of one kind, for each of (K,) numbers of references.

    value: mean over `draws` random subsets of references. low, high: interval over pairs (Wilson's, of the mean
    number of right pairs). draws_low, draws_high: percentiles over subsets of references. deviation: standard deviation
    over subsets. value_ties_half, n, no_consensus, pairs: as in `AccuracyResult`.
    """

    kind: str
    references: Ints
    value: Floats
    low: Floats
    high: Floats
    draws_low: Floats
    draws_high: Floats
    deviation: Floats
    value_ties_half: Floats
    draws: Ints
    n: int
    no_consensus: int
    pairs: int
    confidence: float


@signed("accuracy-by-references", data=("kinds",))
def accuracy_by_references(
    scores: Mapping[int, tuple[ArrayLike, ArrayLike]],
    winners: ArrayLike,
    kinds: Iterable[Any] | None = None,
    **options: Unpack[Clustering],
) -> dict[str, ReferenceCurve]:
    """Return the accuracy by number of references, for each pair kind, and for all pairs as "all".

    `scores` maps a number of references to two (D, P) arrays, the scores of the first and of the second candidates with
    D `random_subsets` of that many references.
    """
    people = PeoplesWinners.from_winners(winners, **options)
    if not isinstance(scores, Mapping):
        raise BadShape(
            f"scores is of type {type(scores).__name__}, expected a mapping of numbers of references"
        )
    if not scores:
        raise BadShape("scores is empty, expected one number of references or more")
    for number in scores:
        check_positive_int(number, "a number of references")
    numbers = sorted(scores)
    named_sides = [_named_sides(number, scores[number], len(people.winners)) for number in numbers]
    return {
        kind: _curve(kind, numbers, named_sides, people, pairs)
        for kind, pairs in kinds_of(kinds, len(people.winners)).items()
    }


def random_subsets(available: int, size: int, draws: int, *, seed: Seed = 0) -> Ints:
    """Return (D, size) positions of randomly drawn references, ascending. If `size` is `available`, D is 1.

    Raise BadOption if `size` is larger than `available`.
    """
    check_positive_int(available, "available")
    check_positive_int(size, "size")
    check_positive_int(draws, "draws")
    if size > available:
        raise BadOption(f"size is {size}, expected at most the {available} references there are")
    if size == available:
        return np.arange(size, dtype=np.int64)[np.newaxis]
    generator, _ = generator_of(seed)
    keys = generator.random((draws, available))
    return np.sort(np.argpartition(keys, size - 1, axis=1)[:, :size], axis=1).astype(np.int64)


def _named_sides(number: int, scores: tuple[ArrayLike, ArrayLike], pair_count: int) -> Ints:
    """Return the (D, P) winners that a metric names with D subsets of `number` references."""
    scores_by_side = list_of_values(scores, f"scores[{number}]")
    if len(scores_by_side) != 2:
        raise BadShape(f"scores[{number}] has {len(scores_by_side)} sides, expected those of both candidates")
    tables = [np.atleast_2d(floats_of(side_scores, f"scores[{number}]")) for side_scores in scores_by_side]
    for table in tables:
        if table.ndim != 2 or table.shape != (len(tables[0]), pair_count) or not len(table):
            raise BadShape(
                f"scores[{number}] has shape {table.shape}, expected draws and {pair_count} pairs on both sides"
            )
    first, second = tables
    return metric_winners(first.ravel(), second.ravel()).reshape(first.shape)


def _curve(
    kind: str, numbers: list[int], named_sides: list[Ints], people: PeoplesWinners, pairs: Flags
) -> ReferenceCurve:
    """Return the accuracies on the pairs of one kind, for each number of references."""
    has_consensus = pairs & (people.winners != 0)
    n = int(has_consensus.sum())
    inference = Inference(reason="" if n else NO_CONSENSUS)
    confidence = people.confidence
    levels = [(1 - confidence) / 2, (1 + confidence) / 2]
    points = []
    for sides in named_sides:
        if not n:
            points.append([math.nan] * 7)
            continue
        accuracies = (sides[:, has_consensus] == people.winners[has_consensus]).mean(axis=1)
        half_tie_share = float((sides[:, has_consensus] == 0).mean()) / 2
        value = float(accuracies.mean())
        if people.has_clusters:
            # the reason, note and clusters of all sizes are the same, since the pairs are
            inference = people.share(partial(_mean_credit, sides), pairs)
            low, high = inference.low, inference.high
        else:
            low, high = wilson_interval(value * n, n, confidence)
        draws_low = draws_high = deviation = math.nan
        if len(accuracies) > 1:
            (draws_low, draws_high), deviation = np.quantile(accuracies, levels), accuracies.std(ddof=1)
        points.append([value, low, high, draws_low, draws_high, deviation, value + half_tie_share])
    value, low, high, draws_low, draws_high, deviation, ties_half = np.array(points, dtype=np.float64).T
    return ReferenceCurve(
        kind=kind,
        references=np.array(numbers, dtype=np.int64),
        value=value,
        low=low,
        high=high,
        draws_low=draws_low,
        draws_high=draws_high,
        deviation=deviation,
        value_ties_half=ties_half,
        draws=np.array([len(sides) for sides in named_sides], dtype=np.int64),
        n=n,
        no_consensus=int(pairs.sum()) - n,
        pairs=int(pairs.sum()),
        confidence=confidence,
        reason=inference.reason,
        note=inference.note,
        clusters=inference.clusters,
    )


def _mean_credit(named_sides: Ints, pairs: Ints, winners: Floats) -> Floats:
    """Return the share of draws in which the metric names the winner of each of these pairs."""
    credits: Floats = (named_sides[:, pairs] == winners).mean(axis=0)
    return credits
