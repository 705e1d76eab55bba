"""How often a metric names people's winner (V15 section 3), also by number of references (V15 section 7, figure 3).

Halves of the votes (V15 section 7.4) tell what people and metrics reach on them, and what nobody can pass. The votes
on a pair (or its triplets, each won, lost or tied) are split into two halves; where their number is odd, one has a
vote more. One half is the consensus; where it is tied, the pair is left out. The figures are chances over all splits
and both halves, in closed form: that the other half, or a metric, names the consensus (its tie being wrong), and that
the pair's better answer does (the ceiling).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
import scipy  # its parts load when they are first used
from numpy.typing import ArrayLike

from evaluation.numeric.arrays import Flags, Floats, Ints
from evaluation.statistics.clustering import NAIVE, share_of_rows
from evaluation.statistics.inputs import (
    BadOption,
    BadShape,
    BadValue,
    encode,
    finite_vector,
    floats_of,
    one_of,
    one_per_row,
    positive,
    refuse_values,
    same_length,
    score_vector,
)
from evaluation.statistics.resampling import Seed, generator_of
from evaluation.statistics.results import Clustering, Inference, Options, Result, signed
from evaluation.statistics.significance.intervals import wilson_interval
from evaluation.statistics.significance.paired_tests import mcnemar_test

MOST_VOTES = 2_000  # of a pair

# Two scores of one candidate pair that differ by less than this part of their size differ by rounding.
TIE_TOLERANCE = 1e-12

NO_PAIRS = "no pair has a consensus"

METRIC_TIES = ("wrong", "half", "left-out")
UNDECIDED = ("left-out", "half")


@dataclass(frozen=True, slots=True)
class Halves:
    """(P,) chances over all splits, nan for pairs with fewer than two votes.

    agree: both halves name the same winner. first, second: a half names the first, the second.
    """

    agree: Floats
    first: Floats
    second: Floats

    @property
    def decided(self) -> Floats:
        """Return (P,) how often a half names a winner: the weights of the pairs."""
        return self.first + self.second

    @property
    def ceiling(self) -> Floats:
        return np.maximum(self.first, self.second)

    def reached(self, answers: Ints) -> Floats:
        """Return (P,) how often a half names the answers 1 or 2; 0 is a tie, and wrong."""
        chance = np.where(answers == 1, self.first, np.where(answers == 2, self.second, 0.0))
        return np.where(np.isnan(self.first), np.nan, chance)


def halves_of_votes(won: ArrayLike, lost: ArrayLike, tied: ArrayLike) -> Halves:
    """Return the chances of pairs with (P,) votes for the first, for the second, and for neither."""
    columns = [finite_vector(values, name) for values, name in ((won, "won"), (lost, "lost"), (tied, "tied"))]
    same_length(won=columns[0], lost=columns[1], tied=columns[2])
    for values, name in zip(columns, ("won", "lost", "tied"), strict=True):
        refuse_values(
            values, (values < 0) | (values != np.floor(values)), name, "a whole number from zero on"
        )
    counts = np.stack(columns, axis=1).astype(np.int64)
    if counts.size and int(counts.sum(axis=1).max()) > MOST_VOTES:
        raise BadValue(f"a pair has {int(counts.sum(axis=1).max()):,} votes, expected {MOST_VOTES:,} at most")
    patterns, pattern = np.unique(counts, axis=0, return_inverse=True)
    chances = np.array([_chances(*row) for row in patterns.tolist()]).reshape(-1, 3)
    return Halves(*chances[pattern.ravel()].T)


def _chances(won: int, lost: int, tied: int) -> tuple[float, float, float]:
    n = won + lost + tied
    if n < 2:
        return (np.nan,) * 3
    size = n // 2
    first_votes = np.arange(min(won, size) + 1)[:, np.newaxis]
    second_votes = np.arange(min(lost, size) + 1)[np.newaxis]
    rest = size - first_votes - second_votes
    possible = (rest >= 0) & (rest <= tied)
    ways = (
        _ways(won, first_votes)
        + _ways(lost, second_votes)
        + _ways(tied, np.clip(rest, 0, tied))
        - _ways(n, np.array(size))
    )
    chance = np.where(possible, np.exp(ways), 0.0)
    smaller, larger = (
        np.sign(first_votes - second_votes),
        np.sign((won - first_votes) - (lost - second_votes)),
    )
    agree = float(chance[(smaller == larger) & (smaller != 0)].sum())
    named = [float((chance[smaller == side].sum() + chance[larger == side].sum()) / 2) for side in (1, -1)]
    return min(agree, 1.0), min(named[0], 1.0), min(named[1], 1.0)


def _ways(of: int, taken: Ints) -> Floats:
    return np.asarray(
        scipy.special.gammaln(of + 1)
        - scipy.special.gammaln(taken + 1)
        - scipy.special.gammaln(of - taken + 1),
        dtype=np.float64,
    )


@dataclass(frozen=True, slots=True)
class AccuracyResult(Inference):
    """Accuracy of a metric on the pairs of one kind, with a Wilson interval.

    `value` is `correct` over `n`, the pairs with a consensus; a metric's tie is wrong, as in V15, or half a
    point in `value_ties_half`. `value_all_pairs` gives half a point for a winner named without a consensus.
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
    """Return (P,) winners by score; a tie is up to rounding."""
    first = score_vector(first_scores, "first_scores")
    second = score_vector(second_scores, "second_scores")
    same_length(first_scores=first, second_scores=second)
    margin: Floats = TIE_TOLERANCE * np.maximum(np.abs(first), np.abs(second))
    return (first - second > margin) + 2 * (second - first > margin).astype(np.int64)


@signed("pair-accuracy", data=("kinds",))
def pair_accuracy(
    first_scores: ArrayLike,
    second_scores: ArrayLike,
    winners: ArrayLike,
    kinds: Iterable[Any] | None = None,
    **options: Unpack[Clustering],
) -> dict[str, AccuracyResult]:
    """Return the accuracy of (P,) scores of both candidates by (P,) pair kind, and over all pairs as "all"."""
    chosen = Options.without_draws(**options)
    choices = metric_winners(first_scores, second_scores)
    consensus = consensus_winners(winners)
    same_length(first_scores=choices, winners=consensus)
    return {
        kind: _accuracy(kind, choices, consensus, rows, chosen)
        for kind, rows in kinds_of(kinds, len(choices)).items()
    }


def pair_credits(
    named: Ints, winners: Ints | Floats, *, metric_ties: str = "wrong", undecided: str = "left-out"
) -> tuple[Floats, Flags]:
    """Return (P,) credits of a metric from 0 to 1, and which pairs count.

    `named` are its `metric_winners`. A metric's tie is "wrong" (V15), "half" right, or "left-out"; a pair that people
    left "undecided" is "left-out", or "half" right whatever the metric says.
    """
    one_of(metric_ties, METRIC_TIES, "metric_ties")
    one_of(undecided, UNDECIDED, "undecided")
    decided = np.asarray(winners) != 0
    credit = np.where(decided, named == winners, 0.5)
    counts = decided if undecided == "left-out" else np.ones(len(named), dtype=np.bool_)
    if metric_ties == "half":
        credit = np.where(named == 0, 0.5, credit)
    elif metric_ties == "left-out":
        counts = counts & (named != 0)
    return credit.astype(np.float64), counts


@dataclass(frozen=True, slots=True)
class AccuracyDifference(Inference):
    """Two metrics' accuracies on the decided pairs of one kind, and their difference with its interval of t."""

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
    """Return how much more accurate a first metric is than a second, by (P,) pair kind and over all as "all".

    `first`, `second`: (P, 2) scores of both candidates. p is McNemar's, by clusters or exact.
    """
    chosen = Options.without_draws(**options)
    # The columns are read once for each kind.
    columns = {name: list(values) for name, values in chosen.columns.items()}
    chosen = replace(chosen, columns=columns)
    consensus = consensus_winners(winners)
    right = []
    for name, scores in (("first", first), ("second", second)):
        table = floats_of(scores, name)
        if table.shape != (len(consensus), 2):
            raise BadShape(f"{name} has shape {table.shape}, expected both scores of {len(consensus)} pairs")
        right.append((metric_winners(table[:, 0], table[:, 1]) == consensus).astype(np.float64))
    return {
        kind: _difference(kind, right[0], right[1], rows & (consensus != 0), chosen)
        for kind, rows in kinds_of(kinds, len(consensus)).items()
    }


def _difference(
    kind: str, first_right: Floats, second_right: Floats, rows: Flags, options: Options
) -> AccuracyDifference:
    n = int(rows.sum())
    first, second = (float(right[rows].mean()) if n else math.nan for right in (first_right, second_right))
    difference, p = first - second, math.nan
    inference = options.undefined(NO_PAIRS)
    if n:
        columns = {
            name: [value for value, is_included in zip(values, rows, strict=True) if is_included]
            for name, values in options.columns.items()
        }
        influences = ((first_right - second_right)[rows] - difference) / n
        inference, _ = replace(options, columns=columns).of_difference(difference, influences, "pair")
        p = mcnemar_test(first_right[rows], second_right[rows], clusters=columns or NAIVE).best_p
    return AccuracyDifference(kind, first, second, difference, p, n, **inference.shared())


def consensus_winners(winners: ArrayLike) -> Floats:
    consensus = finite_vector(winners, "winners")
    refuse_values(consensus, ~np.isin(consensus, (0, 1, 2)), "winners", "1, 2, or 0 for none")
    return consensus


def kinds_of(kinds: Iterable[Any] | None, pairs: int) -> dict[str, Flags]:
    """Return (P,) flags of the pairs of each kind, and "all" last."""
    members = {}
    if kinds is not None:
        labels, codes = encode(kinds, "kinds")
        same_length(winners=np.empty(pairs), kinds=codes)
        for code, label in enumerate(labels.tolist()):
            if str(label) == "all":
                raise BadValue("kinds holds 'all', expected names of pair kinds; 'all' names the total")
            members[str(label)] = codes == code
    members["all"] = np.ones(pairs, dtype=np.bool_)
    return members


def _accuracy(kind: str, choices: Ints, consensus: Floats, rows: Flags, options: Options) -> AccuracyResult:
    decided, right = rows & (consensus != 0), (choices == consensus).astype(np.float64)
    n, pairs = int(decided.sum()), int(rows.sum())
    correct = int(right[decided].sum())
    ties = int((choices[decided] == 0).sum())
    by_lot = int((choices[rows & ~decided] != 0).sum())
    inference = options.undefined("" if n else NO_PAIRS)
    if options.columns and n:
        interval = share_of_rows(right, options.columns, options.confidence, keep=decided)
        inference = options.clustered(interval.clusters, (interval.low, interval.high))
    else:
        low, high = wilson_interval(correct, n, options.confidence)
        inference = replace(inference, low=low, high=high)
    return AccuracyResult(
        kind=kind,
        value=correct / n if n else math.nan,
        n=n,
        correct=correct,
        metric_ties=ties,
        no_consensus=pairs - n,
        pairs=pairs,
        value_ties_half=(correct + ties / 2) / n if n else math.nan,
        value_all_pairs=(correct + by_lot / 2) / pairs if pairs else math.nan,
        interval="clustered" if options.columns and n else "wilson",
        **inference.shared(),
    )


@dataclass(frozen=True, slots=True)
class ReferenceCurve(Result):
    """Accuracy of a metric on the pairs of one kind, by (K,) number of references.

    value: mean over `draws` random subsets of references. low, high: for other pairs (Wilson, of the mean number of
    right pairs). draws_low, draws_high, deviation: for other references (percentiles of the draws).
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
    """Return the accuracy by number of references, for each pair kind and as "all".

    `scores` maps a number of references to the scores of the first and second candidates, (D, P) each, under D
    `random_subsets` of that many references.
    """
    chosen = Options.without_draws(**options)
    consensus = consensus_winners(winners)
    if not isinstance(scores, Mapping):
        raise BadShape(
            f"scores is of type {type(scores).__name__}, expected a mapping of numbers of references"
        )
    if not scores:
        raise BadShape("scores is empty, expected one number of references or more")
    for number in scores:
        positive(number, "a number of references")
    numbers = sorted(scores)
    choices = [_winners(number, scores[number], len(consensus)) for number in numbers]
    return {
        kind: _curve(kind, numbers, choices, consensus, rows, chosen)
        for kind, rows in kinds_of(kinds, len(consensus)).items()
    }


def random_subsets(available: int, size: int, draws: int, *, seed: Seed = 0) -> Ints:
    """Return (D, size) positions of drawn references, ascending; one draw if all `available` are taken."""
    positive(available, "available")
    positive(size, "size")
    positive(draws, "draws")
    if size > available:
        raise BadOption(f"size is {size}, expected at most the {available} references there are")
    if size == available:
        return np.arange(size, dtype=np.int64)[np.newaxis]
    generator, _ = generator_of(seed)
    keys = generator.random((draws, available))
    return np.sort(np.argpartition(keys, size - 1, axis=1)[:, :size], axis=1).astype(np.int64)


def _winners(number: int, scores: tuple[ArrayLike, ArrayLike], pairs: int) -> Ints:
    sides = one_per_row(scores, f"scores[{number}]")
    if len(sides) != 2:
        raise BadShape(f"scores[{number}] has {len(sides)} sides, expected those of both candidates")
    tables = [np.atleast_2d(floats_of(side, f"scores[{number}]")) for side in sides]
    for table in tables:
        if table.ndim != 2 or table.shape[1] != pairs or table.shape != tables[0].shape or not len(table):
            raise BadShape(
                f"scores[{number}] has shape {table.shape}, expected draws and {pairs} pairs on both sides"
            )
    first, second = tables
    return metric_winners(first.ravel(), second.ravel()).reshape(first.shape)


def _curve(
    kind: str,
    numbers: list[int],
    choices: list[Ints],
    consensus: Floats,
    rows: Flags,
    options: Options,
) -> ReferenceCurve:
    decided = rows & (consensus != 0)
    n = int(decided.sum())
    reason = "" if n else NO_PAIRS
    counts: Mapping[str, int] = {}
    confidence = options.confidence
    ends = [(1 - confidence) / 2, (1 + confidence) / 2]
    points = []
    for table in choices:
        if not n:
            points.append([math.nan] * 7)
            continue
        accuracies = (table[:, decided] == consensus[decided]).mean(axis=1)
        half = float((table[:, decided] == 0).mean()) / 2
        value = float(accuracies.mean())
        if options.columns:
            right = (table == consensus).mean(axis=0)
            interval = share_of_rows(right, options.columns, confidence, keep=decided)
            low, high = interval.low, interval.high
            reason, counts = interval.clusters.reason, interval.clusters.counts
        else:
            low, high = wilson_interval(value * n, n, confidence)
        several = len(accuracies) > 1
        spread = [*np.quantile(accuracies, ends), accuracies.std(ddof=1)] if several else [math.nan] * 3
        points.append([value, low, high, *spread, value + half])
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
        draws=np.array([len(table) for table in choices], dtype=np.int64),
        n=n,
        no_consensus=int(rows.sum()) - n,
        pairs=int(rows.sum()),
        confidence=confidence,
        reason=reason,
        clusters=counts,
    )
