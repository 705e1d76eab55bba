"""Votes and mean grades: a unit's most frequent answer, relevance or grade, and the winner of a candidate pair.

An answer to "which of two is better" is one whole number. Its last digit is the side: 1 the first, 2 the second, 0 no
difference, 3 neither. 10 more says much better; 100, 200 or 300 more how sure the person is. Without both, answers are
1 and 2, as in Vedantam et al. 2015.

Grades standardised by rater as WMT does: Graham, Baldwin, Moffat, Zobel 2013; Bojar et al. 2016 (WMT16): z = (x - mean
of the rater) / (standard deviation of the rater), averaged over a unit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quorum.numeric.arrays import Flags, Floats, Ints, ratio
from quorum.statistics.inference import Result, signed
from quorum.statistics.inputs import (
    ROUNDING,
    BadOption,
    BadValue,
    check_cells,
    encode,
    encode_on_scale,
    finite_column,
    finite_vector,
    one_of,
    one_per_row,
    refuse_values,
    same_length,
)
from quorum.statistics.resampling import Seed, generator_of

TIE_RULES = ("none", "lowest", "random")

# H13 section 4.3.2: a caption is relevant when two of three judges say yes.
RELEVANT = (2, 3)

# Sums of weights that differ by a smaller part are tied: 0.1 + 0.2 against 0.3.
_ROUNDING = 1e-9

# Judgments of a unit, and the parts of a share: their product is a whole number of 64 bits.
_MOST, _PARTS = 2**52, 2**10

# Sums of squares of such weights are still numbers.
_HEAVIEST = 1e100
WEIGHTLESS = "{} of {} units have only judgments of weight zero, which decide nothing"
TRIPLET_TIES = ("set-aside", "count")
FIRST, SECOND, NO_DIFFERENCE, NEITHER = 1, 2, 0, 3
MUCH = 10
SURE = 100
CONFIDENCES = (1, 2, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class JointAnswers(Result):
    """The joint answers to (U,) units: `winner` (U,) is a position in `labels` (L,), -1 if no label wins."""

    units: NDArray[Any]
    labels: NDArray[Any]
    winner: Ints

    def values(self) -> list[Any]:
        """Return the winning label of each unit; None if no label wins."""
        names = self.labels.tolist()
        return [names[index] if index >= 0 else None for index in self.winner.tolist()]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerModel(JointAnswers):
    """Joint answers with (U, L) probabilities, by a model of (W,) workers who gave (W,) `judgments`."""

    workers: NDArray[Any]
    posterior: Floats
    judgments: Ints
    iterations: int = 0
    converged: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class MajorityResult(JointAnswers):
    """The most frequent answer of each unit.

    counts: (U, L) votes. share: (U,) of the most frequent answer. margin: (U,) share minus the runner-up's. tie: (U,)
    whether labels share the lead, whatever was decided. weight: (U, L) sums of weights, which then make share, margin
    and tie; without weight no label wins.
    """

    counts: Ints
    share: Floats
    margin: Floats
    tie: Flags
    ties: str
    weight: Floats | None = None

    @property
    def n(self) -> Ints:
        return self.counts.sum(axis=1)


@dataclass(frozen=True, slots=True)
class RelevanceResult(Result):
    units: NDArray[Any]
    yes: Ints
    n: Ints
    share: Floats
    relevant: Flags
    at_least: tuple[int, int]


@signed("majority-vote")
def majority_vote(
    units: Iterable[Any],
    values: Iterable[Any],
    *,
    labels: Sequence[Any] | None = None,
    ties: str = "none",
    seed: Seed = 0,
) -> MajorityResult:
    """Return the most frequent answer of each unit.

    `ties` decides "none", the "lowest" tied label, or a "random" one.
    """
    return _vote(units, values, None, labels, ties, seed)


@signed("weighted-vote")
def weighted_vote(
    units: Iterable[Any],
    values: Iterable[Any],
    weights: ArrayLike,
    *,
    labels: Sequence[Any] | None = None,
    ties: str = "none",
    seed: Seed = 0,
) -> MajorityResult:
    """Return the answer with the largest sum of (N,) weights; sums that differ by a part in 10^9 are tied."""
    return _vote(units, values, judgment_weights(weights), labels, ties, seed)


def majority_of_others(unit: Ints, value: ArrayLike) -> Floats:
    """Return (N,) the value of most other judgments of a judgment's unit; nan where these are tied or missing."""
    known, rows = encode(unit, "units")
    labels, columns = encode(np.asarray(value, dtype=np.float64), "values")
    cells = np.bincount(rows * len(labels) + columns, minlength=len(known) * len(labels))
    others = cells.reshape(len(known), len(labels))[rows]
    others[np.arange(len(rows)), columns] -= 1
    most = others.max(axis=1, initial=0)
    decided = (most > 0) & ((others == most[:, np.newaxis]).sum(axis=1) == 1)
    return np.where(decided, labels[others.argmax(axis=1)] if len(labels) else np.nan, np.nan)


def agrees_with_others(unit: Ints, value: ArrayLike) -> Floats:
    """Return (N,) 1 where a judgment is that of most others on its unit, 0 where not, nan where these are tied."""
    _, codes = encode(np.asarray(value), "values")
    others = majority_of_others(unit, codes)
    return np.where(np.isnan(others), np.nan, (others == codes).astype(np.float64))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceResult(WorkerModel):
    """Votes weighted by how sure people were, and what their confidence is worth.

    posterior: (U, L) shares of the weights, even where all are zero. levels: (C,) confidences, 0 for none. answers:
    (C,) judgments of each; right of compared: (C,) how many are the answer of most others, where these have one.
    weights: (C,). confidence: (W,) the mean of each worker.
    """

    levels: Ints
    answers: Ints
    right: Ints
    compared: Ints
    weights: Floats
    confidence: Floats


@signed("confidence-vote")
def confidence_vote(
    units: Iterable[Any],
    workers: Iterable[Any],
    values: Iterable[Any],
    confidences: ArrayLike,
    *,
    labels: Sequence[Any] | None = None,
) -> ConfidenceResult:
    """Return the answers with the most weight, where (N,) confidences such as 1 to 3, or nan, weigh judgments.

    A level weighs the log-odds of being right (Nitzan, Paroush 1982; for confidence Meyen et al. 2021), at least zero.
    Right is the answer of most others on the unit: so the data say what "certain" is worth, and a scale that means
    nothing has equal weights.
    """
    names, unit = encode(units, "units")
    people, worker = encode(workers, "workers")
    scale, value = encode_on_scale(values, labels)
    stated = np.nan_to_num(np.asarray(confidences, dtype=np.float64), nan=0.0)
    same_length(units=unit, workers=worker, values=value, confidences=stated)
    levels, level = encode(stated, "confidences")
    right = agrees_with_others(unit, value)
    known = ~np.isnan(right)
    hits = np.bincount(level[known], weights=right[known], minlength=len(levels)).astype(np.int64)
    compared = np.bincount(level[known], minlength=len(levels))
    weights = accuracy_weights(hits, compared, max(len(scale), 2))
    vote = _vote(unit, value, weights[level], list(range(len(scale))), "none", 0)
    assert vote.weight is not None
    total = vote.weight.sum(axis=1, keepdims=True)
    shares = np.where(total > 0, vote.weight, 1.0) / np.where(total > 0, total, len(scale))
    judgments = np.bincount(worker, minlength=len(people))
    return ConfidenceResult(
        units=names,
        labels=scale,
        winner=vote.winner,
        posterior=shares,
        levels=levels.astype(np.int64),
        answers=np.bincount(level, minlength=len(levels)),
        right=hits,
        compared=compared,
        weights=weights,
        workers=people,
        confidence=np.bincount(worker, weights=stated, minlength=len(people)) / judgments,
        judgments=judgments,
    )


def accuracy_weights(right: ArrayLike, seen: ArrayLike, labels: int = 2, *, rule: str = "log-odds") -> Floats:
    """Return (W,) weights of workers who got (W,) `right` of `seen` control items right.

    With p = (right + 1) / (seen + labels), the rule "accuracy" takes p; "log-odds" takes
    log(p (labels - 1) / (1 - p)), best for independent workers (Nitzan, Paroush 1982), and at least zero.
    """
    one_of(rule, ("log-odds", "accuracy"), "rule")
    if isinstance(labels, bool) or not isinstance(labels, (int, np.integer)) or labels < 2:
        raise BadOption(f"labels is {labels!r}, expected a whole number from two on")
    hits, tries = _counts(right, "right"), _counts(seen, "seen")
    same_length(right=hits, seen=tries)
    if np.any(hits > tries):
        where = int(np.flatnonzero(hits > tries)[0])
        raise BadValue(f"worker {where} has {hits[where]} right of {tries[where]}, expected at most all")
    choices = float(labels)
    if rule == "accuracy":
        return np.asarray((hits + 1) / (tries + choices), dtype=np.float64)
    # p / (1 - p) in counts, which stays a number where p is one but for rounding.
    return np.maximum(np.log((hits + 1) * (choices - 1) / (tries - hits + (choices - 1))), 0.0)


def _vote(
    units: Iterable[Any],
    values: Iterable[Any],
    weights: Floats | None,
    labels: Sequence[Any] | None,
    ties: str,
    seed: Seed,
) -> MajorityResult:
    one_of(ties, TIE_RULES, "ties")
    names, unit_codes = encode(units, "units")
    scale, codes = encode_on_scale(values, labels)
    same_length(units=unit_codes, values=codes)
    shape = (len(names), len(scale))
    check_cells(shape[0], "units", shape[1], shape[0] * shape[1])
    # Count the votes, or sum their weights, by unit and label.
    cells = unit_codes * shape[1] + codes
    counts = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
    sums: NDArray[Any] = counts
    if weights is not None:
        same_length(units=unit_codes, weights=weights)
        sums = np.bincount(cells, weights=weights, minlength=shape[0] * shape[1]).reshape(shape)
    # The label in the lead, the labels that share it, and the runner-up.
    total = sums.sum(axis=1)
    empty = total == 0
    most = sums.max(axis=1, initial=0)
    leading = sums >= (most if weights is None else most * (1 - _ROUNDING))[:, np.newaxis]
    tie = leading.sum(axis=1) > 1
    runner_up = np.partition(sums, -2, axis=1)[:, -2] if shape[1] > 1 else np.zeros_like(most)
    winner = leading.argmax(axis=1) if len(names) else np.empty(0, dtype=np.int64)
    # Decide ties; a unit without weight has no winner.
    reported = None
    if ties == "none":
        winner = np.where(tie, -1, winner)
    elif ties == "random":
        generator, reported = generator_of(seed)
        lots = generator.random((int(tie.sum()), shape[1]))
        winner[tie] = np.where(leading[tie], lots, -1.0).argmax(axis=1)
    winner[empty] = -1
    whole = np.where(empty, math.nan, total)
    margin = np.where(tie, 0.0, most - runner_up) / whole
    return MajorityResult(
        units=names,
        labels=scale,
        counts=counts,
        winner=winner,
        share=most / whole,
        margin=margin,
        tie=tie,
        ties=ties,
        seed=reported,
        weight=None if weights is None else sums,
        reason=WEIGHTLESS.format(int(empty.sum()), len(names)) if empty.any() else "",
    )


def is_relevant(yes: ArrayLike, n: ArrayLike, at_least_share: tuple[int, int] = RELEVANT) -> Flags:
    """Return (U,) whether `yes` of `n` reach a share such as (2, 3), in exact whole numbers."""
    share = one_per_row(at_least_share, "the share")
    if not all(isinstance(part, (int, np.integer)) for part in share) or len(share) != 2:
        raise BadOption(f"the share is {at_least_share!r}, expected two whole numbers such as (2, 3)")
    top, bottom = share
    if not (0 <= top <= bottom <= _PARTS and bottom > 0):
        raise BadOption(
            f"the share is {top} of {bottom}, expected 0 <= top <= bottom, and bottom {_PARTS} at most"
        )
    votes, judgments = _counts(yes, "yes"), _counts(n, "n")
    same_length(yes=votes, n=judgments)
    if np.any(votes > judgments):
        where = int(np.flatnonzero(votes > judgments)[0])
        raise BadValue(f"unit {where} has {votes[where]} yes of {judgments[where]}, expected at most all")
    return (votes * bottom >= judgments * top) & (judgments > 0)


@signed("relevance-vote")
def relevance_vote(
    units: Iterable[Any], values: Iterable[Any], *, at_least_share: tuple[int, int] = RELEVANT
) -> RelevanceResult:
    """Return the share of yes (1, else 0) of each unit, and its relevance (H13 section 4.3.2)."""
    names, unit_codes = encode(units, "units")
    answers = finite_column(values, "values")
    same_length(units=unit_codes, values=answers)
    refuse_values(answers, (answers != 0) & (answers != 1), "values", "0 or 1")
    n = np.bincount(unit_codes, minlength=len(names))
    yes = np.bincount(unit_codes[answers == 1], minlength=len(names))
    return RelevanceResult(names, yes, n, yes / n, is_relevant(yes, n, at_least_share), at_least_share)


def judgment_weights(weights: ArrayLike) -> Floats:
    vector = finite_vector(weights, "weights")
    wrong = (vector < 0) | (vector > _HEAVIEST)
    refuse_values(vector, wrong, "weights", f"a number from zero to {_HEAVIEST:g}")
    return vector


def _counts(values: ArrayLike, name: str) -> Ints:
    vector = finite_vector(values, name)
    wrong = (vector < 0) | (vector > _MOST) | (vector != np.floor(vector))
    refuse_values(vector, wrong, name, "a whole number from zero on, 2^52 at most")
    return vector.astype(np.int64)


@dataclass(frozen=True, slots=True)
class PairResult(Result):
    """Wins, losses and ties of the first candidate in the triplets of (P,) pairs, and the winners.

    share: the larger part of all triplets. margin: |wins - losses| over all triplets.
    """

    pairs: NDArray[Any]
    wins: Ints
    losses: Ints
    ties: Ints
    winner: Ints
    tie: Flags
    share: Floats
    margin: Floats
    triplet_ties: str


def outcomes_of(winners: ArrayLike) -> Ints:
    """Return (N,) int64 winners; raise BadValue."""
    if not isinstance(winners, np.ndarray) or winners.dtype.kind in "OUS":
        named = np.asarray(winners, dtype=object)
        for position, winner in enumerate(named.tolist() if named.ndim == 1 else []):
            if winner is None or isinstance(winner, str | bytes):
                raise BadValue(f"winners[{position}] is {winner!r}, expected 1, 2, or 0 for a tie")
    whole = isinstance(winners, np.ndarray) and winners.dtype.kind in "iu" and winners.ndim == 1
    outcome = np.asarray(winners) if whole else finite_vector(winners, "winners")
    if len(outcome) and (outcome.min() < 0 or outcome.max() > 2 or outcome.dtype.kind == "f"):
        refuse_values(outcome, ~np.isin(outcome, (0, 1, 2)), "winners", "1, 2, or 0 for a tie")
    return outcome.astype(np.int64, copy=False)


@signed("pair-winners")
def pair_winners(pairs: Iterable[Any], winners: ArrayLike, *, triplet_ties: str = "set-aside") -> PairResult:
    """Return the winner of each pair by majority of its (N,) triplets (V15 section 3).

    With `triplet_ties` "count" (not "set-aside") a winner needs more than half of all.
    """
    one_of(triplet_ties, TRIPLET_TIES, "triplet_ties")
    names, codes = encode(pairs, "pairs")
    outcome = outcomes_of(winners)
    same_length(pairs=codes, winners=outcome)
    table = np.bincount(codes * 3 + outcome, minlength=3 * len(names)).reshape(-1, 3)
    ties, wins, losses = table.T
    n = table.sum(axis=1)
    if triplet_ties == "set-aside":
        first, second = wins > losses, losses > wins
    else:
        first, second = 2 * wins > n, 2 * losses > n
    winner = first.astype(np.int64) + 2 * second
    share = np.maximum(wins, losses) / n
    return PairResult(
        names, wins, losses, ties, winner, winner == 0, share, np.abs(wins - losses) / n, triplet_ties
    )


def sides_of(answers: ArrayLike) -> Ints:
    """Return (N,) sides: 1, 2, 0 for no difference, or 3 for neither. Raise BadValue for any other answer."""
    answer = np.asarray(answers, dtype=np.float64)
    whole = np.nan_to_num(answer, nan=-1.0).astype(np.int64)
    side, strength, confidence = whole % 10, whole // MUCH % 10, whole // SURE
    sided = (side == FIRST) | (side == SECOND)
    right = (answer == whole) & (whole >= 0) & (side <= NEITHER) & (confidence <= max(CONFIDENCES))
    right &= (strength == 0) | ((strength == 1) & sided)
    if not right.all():
        where = int(np.flatnonzero(~right)[0])
        raise BadValue(f"answer {where} is {answer[where]:g}, expected a side, and 10 more for much")
    return side


def other_side(answers: Floats) -> Floats:
    """Return (N,) answers as they are where the two texts are exchanged."""
    side = sides_of(answers)
    return np.asarray(answers + np.array([0, 1, -1, 0])[side], dtype=np.float64)


def preferences_of(answers: ArrayLike) -> Floats:
    """Return (N,) preferences: 2 or 1 for the first, much or slightly, 0, -1 or -2 for the second; nan for neither."""
    side = sides_of(answers)
    much = np.asarray(answers, dtype=np.int64) // MUCH % 10
    sign = np.array([0.0, 1.0, -1.0, np.nan])[side]
    return sign * (1 + much)


def confidences_of(answers: ArrayLike) -> Floats:
    """Return (N,) confidences from 1 (a guess) to 3 (certain); nan where not given."""
    sides_of(answers)
    confidence = np.asarray(answers, dtype=np.int64) // SURE
    return np.where(confidence > 0, confidence, np.nan)


# H13 Table 1: the thresholds at which mean grades are reported.
GRADE_THRESHOLDS = (4.0, 3.66, 3.33, 3.0, 2.66, 2.33, 2.0)

# Freedom that is a smaller part of the weight is rounding: one judgment has all of it.
_LIGHT = 1e-9


@dataclass(frozen=True, slots=True)
class StandardisedResult(Result):
    """Mean of (U,) n ratings, and mean z of the z_n ratings whose raters have one.

    `left_out` of the (R,) raters have no z: one rating, or all equal.
    """

    units: NDArray[Any]
    n: Ints
    mean: Floats
    z_n: Ints
    z: Floats
    raters: NDArray[Any]
    left_out: int


@signed("standardised-mean")
def standardised_mean(
    units: Iterable[Any], raters: Iterable[Any], values: Iterable[Any]
) -> StandardisedResult:
    """Return the mean rating of each unit, raw and as z-scores."""
    unit_names, unit = encode(units, "units")
    rater_names, rater = encode(raters, "raters")
    rating = finite_column(values, "values")
    same_length(units=unit, raters=rater, values=rating)
    judged = np.bincount(rater, minlength=len(rater_names))
    centre = np.bincount(rater, weights=rating, minlength=len(rater_names)) / judged
    away = np.bincount(rater, weights=(rating - centre[rater]) ** 2, minlength=len(rater_names))
    deviation = np.sqrt(ratio(away, judged - 1))
    size = np.abs(rating).max(initial=0.0)
    usable = np.nan_to_num(deviation) > ROUNDING * size
    scored = usable[rater]
    z = (rating[scored] - centre[rater[scored]]) / deviation[rater[scored]]
    n = np.bincount(unit, minlength=len(unit_names))
    z_n = np.bincount(unit[scored], minlength=len(unit_names))
    return StandardisedResult(
        units=unit_names,
        n=n,
        mean=np.bincount(unit, weights=rating, minlength=len(unit_names)) / n,
        z_n=z_n,
        z=ratio(np.bincount(unit[scored], weights=z, minlength=len(unit_names)), z_n),
        raters=rater_names,
        left_out=int((~usable).sum()),
    )


@dataclass(frozen=True, slots=True)
class MeanResult(Result):
    """(U,) mean grades of n judgments, and standard deviations (n - 1).

    With sums of weights the deviation divides by sum(w) - sum(w^2) / sum(w), which is n - 1 for equal ones.
    """

    units: NDArray[Any]
    mean: Floats
    n: Ints
    deviation: Floats
    weight: Floats | None = None


@signed("mean-grade")
def mean_grade(units: Iterable[Any], values: Iterable[Any]) -> MeanResult:
    """Return the mean grade of each unit (H13 section 4.2.1)."""
    return _mean(units, values, None)


@signed("weighted-mean")
def weighted_mean(units: Iterable[Any], values: Iterable[Any], weights: ArrayLike) -> MeanResult:
    """Return the mean grade of each unit with (N,) weights from zero on."""
    return _mean(units, values, judgment_weights(weights))


def _mean(units: Iterable[Any], values: Iterable[Any], weights: Floats | None) -> MeanResult:
    names, unit_codes = encode(units, "units")
    grades = finite_column(values, "values")
    same_length(units=unit_codes, values=grades)
    n = np.bincount(unit_codes, minlength=len(names))
    weighted = np.ones(len(grades)) if weights is None else weights
    same_length(units=unit_codes, weights=weighted)
    weight: Floats = np.bincount(unit_codes, weights=weighted, minlength=len(names)).astype(np.float64)
    # Grades of any size, without overflow: a power of two changes no digit.
    size = int(np.frexp(np.abs(grades).max(initial=0.0))[1])
    scaled = np.ldexp(grades, -size)
    empty = weight == 0
    whole = np.where(empty, math.nan, weight)
    mean = np.bincount(unit_codes, weights=weighted * scaled, minlength=len(names)) / whole
    away = weighted * (scaled - mean[unit_codes]) ** 2
    squares = np.bincount(unit_codes, weights=away, minlength=len(names))
    freedom = whole - np.bincount(unit_codes, weights=weighted**2, minlength=len(names)) / whole
    deviation = ratio(squares, freedom, where=freedom > _LIGHT * whole)
    with np.errstate(over="ignore"):  # grades near both ends of the doubles differ by more than a double
        deviation = np.ldexp(np.sqrt(deviation), size)
    return MeanResult(
        units=names,
        mean=np.ldexp(mean, size),
        n=n,
        deviation=deviation,
        weight=None if weights is None else weight,
        reason=WEIGHTLESS.format(int(empty.sum()), len(names)) if empty.any() else "",
    )


def unit_medians(units: Iterable[Any], values: Iterable[Any]) -> tuple[NDArray[Any], Floats]:
    """Return (U,) units and their median grades."""
    names, codes = encode(units, "units")
    grades = finite_column(values, "values")
    same_length(units=codes, values=grades)
    ordered = grades[np.lexsort((grades, codes))]
    n = np.bincount(codes, minlength=len(names))
    starts = np.cumsum(n) - n
    return names, (ordered[starts + (n - 1) // 2] + ordered[starts + n // 2]) / 2
