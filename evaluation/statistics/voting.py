"""What the judgments of a unit say together: majority, relevance, mean grade (PROTOCOLS 3).

One judgment a row: `units` (N,) names, `values` (N,) answers. Results list the units in ascending
order and keep shares, margins and ties; what a tie decides is the caller's argument.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evaluation.statistics.errors import BadOption, BadValue
from evaluation.statistics.resampling import Seed, generator_of
from evaluation.statistics.tables import Floats, encode, encode_with, finite_vector, one_of, same_length
from evaluation.statistics.thresholds import at_least

TIE_RULES = ("none", "lowest", "random")

# H13 section 4.3.2: a caption is relevant when two of three judges say yes.
RELEVANT = (2, 3)
# H13 Table 1: the thresholds at which mean grades are reported.
GRADE_THRESHOLDS = (4.0, 3.66, 3.33, 3.0, 2.66, 2.33, 2.0)

# Votes are counted in a table of units by labels; this many cells are 800 MB.
_CELLS = 100_000_000


@dataclass(frozen=True, slots=True)
class MajorityResult:
    """The most frequent answer of each of U units, among L labels.

    counts: (U, L) votes. winner: (U,) position in `labels`, -1 where a tie decides nothing. share: (U,)
    votes of the most frequent answer over all. margin: (U,) that share minus the runner-up's, 0 on a
    tie. tie: (U,) whether two labels or more share the lead, whatever the rule made of it. `seed` is
    that of the rule "random", else None.
    """

    units: NDArray[Any]
    labels: NDArray[Any]
    counts: NDArray[np.int64]
    winner: NDArray[np.int64]
    share: Floats
    margin: Floats
    tie: NDArray[np.bool_]
    ties: str
    seed: int | None

    @property
    def n(self) -> NDArray[np.int64]:
        """(U,) judgments of each unit."""
        return self.counts.sum(axis=1)

    def values(self) -> list[Any]:
        """The winning label of each unit; None where a tie decides nothing."""
        labels = self.labels.tolist()
        return [labels[place] if place >= 0 else None for place in self.winner.tolist()]


@dataclass(frozen=True, slots=True)
class RelevanceResult:
    """Yes votes, judgments, share of yes and relevance of each of U units."""

    units: NDArray[Any]
    yes: NDArray[np.int64]
    n: NDArray[np.int64]
    share: Floats
    relevant: NDArray[np.bool_]
    at_least: tuple[int, int]


@dataclass(frozen=True, slots=True)
class MeanResult:
    """Mean grade of each of U units, its judgments, and their standard deviation (n - 1; nan for one)."""

    units: NDArray[Any]
    mean: Floats
    n: NDArray[np.int64]
    deviation: Floats


def majority_vote(
    units: Iterable[Any],
    values: Iterable[Any],
    *,
    labels: Sequence[Any] | None = None,
    ties: str = "none",
    seed: Seed = 0,
) -> MajorityResult:
    """The most frequent answer per unit.

    `labels` fixes the scale and its order (default: the answers that occur, ascending). `ties` says what
    a tie decides: "none" nothing, "lowest" the tied label that stands first on the scale, "random" one
    of the tied labels, drawn with `seed`. Raises BadShape, BadValue, BadOption.
    """
    one_of(ties, TIE_RULES, "ties")
    names, unit_codes = encode(units, "units")
    if labels is None:
        scale, codes = encode(values, "values")
    else:
        given = list(labels)
        if not given:
            raise BadOption("labels is empty, expected the scale's values")
        codes = encode_with(values if isinstance(values, np.ndarray) else list(values), given, "values")
        scale = np.empty(len(given), dtype=object)
        scale[:] = given
    same_length(units=unit_codes, values=codes)
    shape = (len(names), len(scale))
    if shape[0] * shape[1] > _CELLS:
        raise BadValue(
            f"there are {shape[0]:,} units and {shape[1]:,} different answers, expected a scale of a few values"
        )
    counts = np.bincount(unit_codes * shape[1] + codes, minlength=shape[0] * shape[1]).reshape(shape)
    n = counts.sum(axis=1)
    if not len(names):
        nothing = np.empty(0)
        no_place, no_tie = np.empty(0, dtype=np.int64), np.empty(0, dtype=bool)
        return MajorityResult(names, scale, counts, no_place, nothing, nothing, no_tie, ties, None)
    most = counts.max(axis=1)
    leading = counts == most[:, np.newaxis]
    tie = leading.sum(axis=1) > 1
    runner_up = np.partition(counts, -2, axis=1)[:, -2] if shape[1] > 1 else np.zeros_like(most)
    winner = leading.argmax(axis=1)
    reported = None
    if ties == "none":
        winner = np.where(tie, -1, winner)
    elif ties == "random":
        generator, reported = generator_of(seed)
        lots = generator.random((int(tie.sum()), shape[1]))
        winner[tie] = np.where(leading[tie], lots, -1.0).argmax(axis=1)
    return MajorityResult(names, scale, counts, winner, most / n, (most - runner_up) / n, tie, ties, reported)


def is_relevant(
    yes: ArrayLike, n: ArrayLike, at_least_share: tuple[int, int] = RELEVANT
) -> NDArray[np.bool_]:
    """Whether `yes` of `n` reach a share such as (2, 3), compared in whole numbers; equality counts.

    (U,) integers each. A unit without judgments is not relevant. Raises BadShape, BadValue, BadOption.
    """
    top, bottom = at_least_share
    if bottom < 1 or not 0 <= top <= bottom:
        raise BadOption(f"the share is {top} of {bottom}, expected whole numbers with 0 <= top <= bottom")
    votes, judgments = _counts(yes, "yes"), _counts(n, "n")
    same_length(yes=votes, n=judgments)
    if np.any(votes > judgments):
        where = int(np.flatnonzero(votes > judgments)[0])
        raise BadValue(f"unit {where} has {votes[where]} yes of {judgments[where]}, expected at most all")
    return (votes * bottom >= judgments * top) & (judgments > 0)


def relevance_vote(
    units: Iterable[Any], values: Iterable[Any], *, at_least_share: tuple[int, int] = RELEVANT
) -> RelevanceResult:
    """Share of yes per unit, and whether it is relevant (H13 section 4.3.2: two thirds or more).

    `values` are 0 or 1 (or booleans). Raises BadShape, BadValue, BadOption.
    """
    names, unit_codes = encode(units, "units")
    answers = finite_vector(_list(values), "values")
    same_length(units=unit_codes, values=answers)
    wrong = np.flatnonzero((answers != 0) & (answers != 1))
    if wrong.size:
        raise BadValue(f"values[{wrong[0]}] is {answers[wrong[0]]:g}, expected 0 or 1")
    n = np.bincount(unit_codes, minlength=len(names))
    yes = np.bincount(unit_codes[answers == 1], minlength=len(names))
    return RelevanceResult(names, yes, n, yes / n, is_relevant(yes, n, at_least_share), at_least_share)


def mean_grade(units: Iterable[Any], values: Iterable[Any]) -> MeanResult:
    """Mean grade per unit (H13 section 4.2.1). Raises BadShape, BadValue."""
    names, unit_codes = encode(units, "units")
    grades = finite_vector(_list(values), "values")
    same_length(units=unit_codes, values=grades)
    n = np.bincount(unit_codes, minlength=len(names))
    mean = np.bincount(unit_codes, weights=grades, minlength=len(names)) / n
    squares = np.bincount(unit_codes, weights=(grades - mean[unit_codes]) ** 2, minlength=len(names))
    deviation = np.full(len(names), math.nan)
    np.divide(squares, n - 1, out=deviation, where=n > 1)
    return MeanResult(names, mean, n, np.sqrt(deviation))


def cumulative_shares(means: ArrayLike, thresholds: Sequence[float] = GRADE_THRESHOLDS) -> Floats:
    """(T,) share of units whose mean grade reaches each threshold (H13 Table 1); nan without units."""
    grades = finite_vector(means, "means")
    if not len(grades):
        return np.full(len(thresholds), math.nan)
    return np.array([at_least(grades, threshold).mean() for threshold in thresholds], dtype=np.float64)


def _list(values: Iterable[Any]) -> ArrayLike:
    return values if isinstance(values, np.ndarray) else list(values)


def _counts(values: ArrayLike, name: str) -> NDArray[np.int64]:
    vector = finite_vector(values, name)
    bad = np.flatnonzero((vector < 0) | (vector != np.floor(vector)))
    if bad.size:
        raise BadValue(f"{name}[{bad[0]}] is {vector[bad[0]]:g}, expected a whole number from zero on")
    return vector.astype(np.int64)
