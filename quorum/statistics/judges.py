"""Judges, such as language models: whether one may replace people, and people's mean from a judge's answers.

The alternative annotator test is by Calderon, Reichart, Dror 2025. Prediction-powered inference is by Angelopoulos,
Bates, Fannjiang, Jordan, Zrnic 2023. Its power tuning is by Angelopoulos, Duchi, Zrnic 2023, "PPI++". See
contrib/judges/README.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy  # its submodules load at first use; scipy.stats alone takes half a second
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.statistics.crossed import (
    CONFIDENCE,
    ITEM,
    NAIVE,
    ClusterColumns,
    Clusters,
    Spread,
    check_confidence,
    cluster_columns,
    column_codes,
    renumber_codes,
    share_interval,
)
from quorum.statistics.inference import Inference, Result, signed
from quorum.statistics.inputs import (
    ROUNDING,
    BadOption,
    BadValue,
    DuplicateJudgment,
    check_positive_int,
    encode,
    encode_both,
    finite_vector,
    first_repeated,
    float_vector,
    one_of,
    refuse_values,
    same_length,
)
from quorum.statistics.resampling import Seed, generator_of
from quorum.statistics.significance import LEVEL, adjusted_p_values

ACCURACY, RMSE = "accuracy", "rmse"
SCORINGS = (ACCURACY, RMSE)
LEAVE_OUT, T_TEST, WILCOXON = "leave-out", "t", "wilcoxon"
SMALL_SAMPLE_RULES = (LEAVE_OUT, T_TEST, WILCOXON)

# The advice of Calderon et al. (section 3): 0.2 if people are experts, 0.15 if they are skilled, 0.1 for a crowd.
EPSILON = 0.2
# With fewer units, the mean of a person's comparisons is not close to normal.
MIN_UNITS = 30
MIN_WINNING_RATE = 0.5  # share of people against whom a judge must win to pass
MIN_CURVE_LENGTH = 5  # fewest units with people, and without, in a simulated study
_MAX_DF = 1e9  # with more degrees of freedom, t is normal
DENSE_CELLS = 20_000_000  # largest number of cells (units times labels) that are counted in a dense array
NO_TESTED_PERSON = "no person judged {least} or more of the units that the judge and somebody else judged"
TOO_FEW_CLUSTERS = "no person judged items from enough clusters for the test"
TOO_FEW_LABELS = "people judged {n} of the units, expected two or more"
NO_UNLABELLED_ITEMS = "people judged all items, so there are no items that only the judge answered"
SAME_ANSWER = "people gave the same answer to all items, so the variance of the answers cannot be estimated"


@dataclass(frozen=True, slots=True)
class AlternativeAnnotatorResult(Inference):
    """The result of a test whether the judge may replace a person of this group.

    Attributes:
        raters: the R people who were tested, ascending. left_out: number of others, who had too few units.
        units: (R,) number of units on which the person was compared with the judge.
        judge_advantage: (R,) share of these units on which the judge is at least as near to the other people as the
            person is (rho f).
        rater_advantage: (R,) share of these units on which the person is at least as near as the judge (rho h).
        p: (R,) one-sided p of the hypothesis rho_h - rho_f >= epsilon.
        adjusted_p: (R,) p adjusted by Benjamini and Yekutieli.
        won: (R,) bool, whether `adjusted_p` is at most `level`.
        winning_rate: share of `won` among the people with a p (omega); the judge passes the test at 0.5 or more.
        advantage: mean of `judge_advantage` (rho), with an interval over units or clusters.
        all_units: number of units with answers of the judge and of two people or more.
    """

    raters: tuple[Any, ...]
    units: Ints
    judge_advantage: Floats
    rater_advantage: Floats
    p: Floats
    adjusted_p: Floats
    won: Flags
    left_out: int
    winning_rate: float
    advantage: float
    all_units: int
    epsilon: float
    level: float

    @property
    def passed(self) -> bool:
        return bool(self.winning_rate >= MIN_WINNING_RATE)


@signed("alternative-annotator", input="answers")
def alternative_annotator_test(
    units: Iterable[Any],
    raters: Iterable[Any],
    answers: Iterable[Any],
    judge: Iterable[Any],
    *,
    scoring: str = ACCURACY,
    epsilon: float = EPSILON,
    level: float = LEVEL,
    least_units: int = MIN_UNITS,
    few: str = LEAVE_OUT,
    clusters: ClusterColumns = NAIVE,
) -> AlternativeAnnotatorResult:
    """Compare the judge with each person: which of them is nearer to the other people's (N,) answers.

    Args:
        judge: (N,) the judge's answer to the unit of each row.
        scoring: "accuracy" (mean agreement with the others, any values) or "rmse" (root mean squared distance,
            numbers).
        epsilon: by how much the judge may be worse, because it costs less.
        least_units: smallest number of units with which a person is tested as usual.
        few: treatment of people with fewer units: leave them out, test them by t all the same, or test them by
            Wilcoxon's signed ranks (contrib/judges/README.md).
        clusters: one column of clusters of units; by default each unit is a cluster.
    """
    one_of(scoring, SCORINGS, "scoring")
    one_of(few, SMALL_SAMPLE_RULES, "few")
    if not 0 <= epsilon < 1:
        raise BadOption(f"epsilon is {epsilon!r}, expected 0 or more and less than 1")
    level = check_confidence(level, "level")
    _, unit = encode(units, "units")
    names, rater = encode(raters, "raters")
    same_length(units=unit, raters=rater)
    if (repetition := first_repeated(unit, rater)) is not None:
        raise DuplicateJudgment(f"rater {names[repetition[1]]!r} judged a unit twice, expected once")
    if scoring == ACCURACY:
        labels, person, judge_code = encode_both(answers, judge, "answers", "judge")
        same_length(units=unit, answers=person)
        nearness, judge_nearness = _agreement_nearness(unit, person, judge_code, len(labels))
    else:
        values, predictions = (
            finite_vector(np.asarray(answers), "answers"),
            finite_vector(np.asarray(judge), "judge"),
        )
        same_length(units=unit, answers=values, judge=predictions)
        nearness, judge_nearness = _distance_nearness(unit, values, predictions)
    # A single unit has no variance, so at least two are needed.
    min_units = max(check_positive_int(least_units, "least_units"), 2) if few == LEAVE_OUT else 2
    name, cluster = _single_column(clusters, unit, "a row")
    # Leave out rows whose unit nobody else judged, and people with few units.
    has_nearness = ~np.isnan(nearness) & ~np.isnan(judge_nearness)
    counts = np.bincount(rater[has_nearness], minlength=len(names))
    tested_raters = np.flatnonzero(counts >= min_units)
    keep = has_nearness & np.isin(rater, tested_raters)
    unit, rater, cluster = unit[keep], renumber_codes(rater[keep]), cluster[keep]
    # Find who is nearer to the others, row by row, and how often.
    judge_wins = (judge_nearness >= nearness)[keep].astype(np.float64)
    person_wins = (nearness >= judge_nearness)[keep].astype(np.float64)
    n = counts[tested_raters]
    judge_advantage = np.bincount(rater, weights=judge_wins) / np.maximum(n, 1)
    rater_advantage = np.bincount(rater, weights=person_wins) / np.maximum(n, 1)
    # Test each person's differences; rows of a cluster are adjacent.
    differences = person_wins - judge_wins
    order = np.lexsort((cluster, rater))
    starts = np.cumsum(n) - n
    starts_cluster = (np.diff(cluster[order], prepend=-1) != 0) | (np.diff(rater[order], prepend=-1) != 0)
    cluster_numbers = np.cumsum(starts_cluster) - 1  # number of the person's cluster in each row
    p = np.empty(len(tested_raters))
    for position, (start, size) in enumerate(zip(starts.tolist(), n.tolist(), strict=True)):
        rows = order[start : start + size]
        if few == WILCOXON and size < least_units:
            p[position] = _signed_rank_p(differences[rows] - epsilon)
        else:
            cluster_of_row = cluster_numbers[start : start + size] - cluster_numbers[start]
            p[position] = _one_sided_p(differences[rows], cluster_of_row, name, epsilon)
    adjusted = adjusted_p_values(p, "benjamini-yekutieli").values
    # The mean advantage over people, with an interval over the clusters of all their units.
    advantage = float(judge_advantage.mean()) if len(tested_raters) else math.nan
    low = high = math.nan
    cluster_counts: Mapping[str, int] = {}
    if len(tested_raters):
        grouped = Clusters.of_codes({name: renumber_codes(cluster)})
        influences = (judge_wins - judge_advantage[rater]) / (n[rater] * len(tested_raters))
        low, high = share_interval(advantage, grouped.spread(influences), grouped.counts[name], CONFIDENCE)
        cluster_counts = grouped.counts
    won = adjusted <= level
    has_p = ~np.isnan(p)
    reason = TOO_FEW_CLUSTERS if len(tested_raters) else NO_TESTED_PERSON.format(least=min_units)
    return AlternativeAnnotatorResult(
        raters=tuple(names[tested_raters].tolist()),
        units=n,
        judge_advantage=judge_advantage,
        rater_advantage=rater_advantage,
        p=p,
        adjusted_p=adjusted,
        won=won,
        left_out=int((counts > 0).sum() - len(tested_raters)),
        winning_rate=float(won[has_p].mean()) if has_p.any() else math.nan,
        advantage=advantage,
        low=low,
        high=high,
        all_units=int((np.bincount(unit) > 0).sum()),
        epsilon=float(epsilon),
        level=level,
        reason="" if has_p.any() else reason,
        clusters=cluster_counts,
    )


def _agreement_nearness(unit: Ints, answer: Ints, judge: Ints, labels: int) -> tuple[Floats, Floats]:
    """Return the shares of the unit's other answers that equal the row's answer, and the judge's answer; each (N,).

    Both are nan for units without other answers.
    """
    other_count = np.bincount(unit)[unit] - 1.0
    other_count[other_count == 0] = np.nan
    own_cells, judge_cells = unit * labels + answer, unit * labels + judge
    if len(other_count) * labels <= DENSE_CELLS:
        counts = np.bincount(own_cells, minlength=int(judge_cells.max(initial=-1)) + 1)
        return (counts[own_cells] - 1) / other_count, (counts[judge_cells] - (answer == judge)) / other_count
    cells, counts = np.unique(own_cells, return_counts=True)
    positions = np.minimum(np.searchsorted(cells, judge_cells), len(cells) - 1)
    same_as_judge = np.where(cells[positions] == judge_cells, counts[positions], 0) - (answer == judge)
    return (counts[np.searchsorted(cells, own_cells)] - 1) / other_count, same_as_judge / other_count


def _distance_nearness(unit: Ints, answer: Floats, judge: Floats) -> tuple[Floats, Floats]:
    """Return the nearness to a unit's other answers, of the row's answer and of the judge's; each (N,).

    The nearness is the negative mean squared distance. Both are nan for units without other answers.
    """
    count = np.bincount(unit)[unit]
    total = np.bincount(unit, weights=answer)[unit]
    squares = np.bincount(unit, weights=answer * answer)[unit]
    other_count = np.where(count > 1, count - 1.0, np.nan)
    own_sum = squares - 2 * answer * total + count * answer * answer
    judge_sum = squares - 2 * judge * total + count * judge * judge - (judge - answer) ** 2
    # Round, because sums of decimals that should be equal differ in their last digits.
    size = squares + count * np.maximum(answer * answer, judge * judge)
    judge_sum = np.where(np.abs(judge_sum - own_sum) <= ROUNDING * size, own_sum, judge_sum)
    return -own_sum / other_count, -judge_sum / other_count


def _signed_rank_p(values: Floats) -> float:
    """Return Wilcoxon's one-sided p of the hypothesis that (N,) values are not below zero."""
    if not values.any():
        return 1.0
    return float(scipy.stats.wilcoxon(values, alternative="less", method="approx").pvalue)


def _one_sided_p(values: Floats, cluster: Ints, name: str, epsilon: float) -> float:
    """Return the p by t, over clusters, of the hypothesis that the mean of (N,) values is at least `epsilon`."""
    mean = float(values.mean())
    clusters = Clusters.of_codes({name: cluster})
    if clusters.reason:
        return math.nan
    if np.all(values == values[0]):
        return 0.0 if mean < epsilon else 1.0
    return clusters.spread((values - mean) / len(values)).p(mean - epsilon, only_below=True)


@dataclass(frozen=True, slots=True)
class PredictionPoweredResult(Inference):
    """People's mean, estimated from their answers to some units and a judge's answers to all units.

    Attributes:
        value, low, high: the prediction-powered estimate and its interval.
        people, people_low, people_high: the estimate from people's answers alone, and its interval.
        judge: the mean of the judge's answers, which includes the judge's bias.
        power: lambda, the weight of the judge's answers: 0 ignores them, 1 is as in the paper of 2023.
        labelled, unlabelled: number of units with people's answers, and with only the judge's.
        effective: number of units that people alone would have to judge for an equally narrow interval.
    """

    value: float
    people: float
    people_low: float
    people_high: float
    judge: float
    power: float
    labelled: int
    unlabelled: int
    effective: float

    @property
    def saved(self) -> float:
        """The number of units that people need not judge."""
        return self.effective - self.labelled


@signed("prediction-powered-mean")
def prediction_powered_mean(
    people: ArrayLike,
    judge: ArrayLike,
    *,
    power: float | None = None,
    confidence: float = CONFIDENCE,
    clusters: ClusterColumns = NAIVE,
) -> PredictionPoweredResult:
    """Estimate the mean of people's answers to (U,) units. `people` is nan for units that only the judge answered.

    The units that people judged must be a random sample. The estimate is lambda times the judge's mean over the units
    without people, plus the mean of (people - lambda * judge) over the units with both. The interval is by t, with
    degrees of freedom from both parts.

    Args:
        power: lambda, from 0 to 1; by default `tuned_power`.
        clusters: one (U,) column of clusters of units.
    """
    check_confidence(confidence)
    label, prediction = float_vector(people, "people"), finite_vector(judge, "judge")
    same_length(people=label, judge=prediction)
    refuse_values(label, np.isinf(label), "people", "a finite number, or nan")
    if power is not None and not (math.isfinite(power) and 0 <= power <= 1):
        raise BadOption(f"power is {power!r}, expected a number from 0 to 1, or None")
    codes = _single_column(clusters, np.arange(len(label)), "a unit")
    labelled = np.flatnonzero(~np.isnan(label))
    unlabelled = np.flatnonzero(np.isnan(label))
    n = len(labelled)
    mean_of_judge = float(prediction.mean()) if len(prediction) else math.nan
    mean = float(label[labelled].mean()) if n else math.nan
    reason = TOO_FEW_LABELS.format(n=n) if n < 2 else SAME_ANSWER if np.ptp(label[labelled]) == 0 else ""
    influences = (
        None if reason else _EstimateInfluences.from_labels(label, prediction, labelled, unlabelled, codes)
    )
    if influences is not None and influences.reason:
        reason = influences.reason
    no_limits = (math.nan, math.nan)
    if influences is None or reason:
        limits = people_limits = no_limits
        judge_weight, value, effective = math.nan, math.nan, math.nan
    else:
        judge_weight = 0.0
        if len(unlabelled):
            judge_weight = tuned_power(label, prediction) if power is None else float(power)
        value = mean + judge_weight * influences.shift
        spread, people_spread = influences.spread(judge_weight), influences.spread(0.0)
        half, people_half = spread.half_width(confidence), people_spread.half_width(confidence)
        limits, people_limits = (value - half, value + half), (mean - people_half, mean + people_half)
        effective = n * people_spread.variance / spread.variance if spread.variance > 0 else math.nan
        reason = "" if len(unlabelled) else NO_UNLABELLED_ITEMS
    return PredictionPoweredResult(
        value=value,
        low=limits[0],
        high=limits[1],
        people=mean,
        people_low=people_limits[0],
        people_high=people_limits[1],
        judge=mean_of_judge,
        power=judge_weight,
        labelled=n,
        unlabelled=len(unlabelled),
        effective=effective,
        confidence=confidence,
        reason=reason,
        clusters={} if influences is None else influences.counts,
    )


def tuned_power(people: Floats, judge: Floats) -> float:
    """Return the lambda of PPI++ (equation 6) for (U,) units, limited to 0 to 1.

    It is cov(people, judge) / ((1 + n / N) var(judge)). The variance is pooled over the n units that people judged
    and the N others, as in the authors' program ppi_py.
    """
    labelled = ~np.isnan(people)
    label, prediction = people[labelled], judge[labelled]
    covariance = float(np.mean((label - label.mean()) * (prediction - prediction.mean())))
    variance = float(judge.var(ddof=1)) * (1 + len(label) / (len(judge) - len(label)))
    return min(max(covariance / variance, 0.0), 1.0) if variance > 0 else 0.0


def _single_column(clusters: ClusterColumns, default_codes: Ints, row: str) -> tuple[str, Ints]:
    """Return the name and the codes of the only column of clusters.

    Without clusters, they are ITEM and `default_codes`. Raise BadOption if there are several columns.
    """
    columns = cluster_columns(clusters)
    if not columns:
        return ITEM, default_codes
    if len(columns) != 1:
        raise BadOption(f"clusters has {len(columns)} columns, expected one: what units share")
    ((name, values),) = columns.items()
    return name, column_codes(values, name, len(default_codes), row)


@dataclass(frozen=True, slots=True)
class _EstimateInfluences:
    """Influences of units on the terms of the prediction-powered estimate.

    labels: influences of labelled units on people's mean. judge_labelled: influences of labelled units on the judge's
    mean. judge_unlabelled: influences of the other units on the judge's mean. shift: the judge's mean over the other
    units minus the mean over labelled units. overlap: sums, over clusters with both kinds of units, of the products of
    `labels` and `judge_unlabelled`, and of `judge_labelled` and `judge_unlabelled`.
    """

    labels: Floats
    judge_labelled: Floats
    judge_unlabelled: Floats
    shift: float
    labelled_clusters: Clusters
    unlabelled_clusters: Clusters | None
    overlap: tuple[float, float]
    counts: Mapping[str, int]
    reason: str

    @classmethod
    def from_labels(
        cls, label: Floats, prediction: Floats, labelled: Ints, unlabelled: Ints, codes: tuple[str, Ints]
    ) -> _EstimateInfluences:
        """Return the influences, for the positions of labelled and other units, and one column of clusters."""
        name, cluster = codes
        clusters = Clusters.of_codes({name: renumber_codes(cluster[labelled])})
        labels = (label[labelled] - label[labelled].mean()) / len(labelled)
        judge_labelled = (prediction[labelled] - prediction[labelled].mean()) / len(labelled)
        counts, reason = dict(clusters.counts), clusters.reason
        if not len(unlabelled):
            no_values: Floats = np.empty(0)
            return cls(labels, judge_labelled, no_values, 0.0, clusters, None, (0.0, 0.0), counts, reason)
        other_clusters = Clusters.of_codes({name: renumber_codes(cluster[unlabelled])})
        judge_unlabelled = (prediction[unlabelled] - prediction[unlabelled].mean()) / len(unlabelled)
        size = int(cluster.max()) + 1
        sums = np.bincount(cluster[unlabelled], weights=judge_unlabelled, minlength=size)
        overlap = [
            float(np.bincount(cluster[labelled], weights=influences, minlength=size) @ sums)
            for influences in (labels, judge_labelled)
        ]
        shift = float(prediction[unlabelled].mean() - prediction[labelled].mean())
        counts = {name: len(np.unique(cluster))}
        return cls(
            labels, judge_labelled, judge_unlabelled, shift, clusters, other_clusters, (overlap[0], overlap[1]),
            counts, reason or other_clusters.reason,
        )  # fmt: skip

    def spread(self, power: float) -> Spread:
        """Return the spread of the estimate, with Satterthwaite's degrees of freedom, for lambda = `power`."""
        spread = self.labelled_clusters.spread(self.labels - power * self.judge_labelled)
        if self.unlabelled_clusters is None or power == 0:
            return replace(spread, df=min(spread.df, _MAX_DF))
        other = self.unlabelled_clusters.spread(power * self.judge_unlabelled)
        sum_of_variances = spread.variance + other.variance
        covariance = 2 * power * (self.overlap[0] - power * self.overlap[1])
        denominator = spread.variance**2 / spread.df + other.variance**2 / other.df
        df = min(sum_of_variances**2 / denominator, _MAX_DF) if denominator > 0 else _MAX_DF
        return Spread(max(sum_of_variances + covariance, 0.0), df)


@dataclass(frozen=True, slots=True)
class SavingsCurve(Result):
    """Properties of prediction-powered intervals if people had judged fewer units.

    Attributes:
        sizes: (S,) number of units that people judge.
        coverage, people_coverage: (S,) share of draws whose interval contains the mean of all units, with the judge
            and from people alone.
        width, people_width: (S,) mean width of the interval, with the judge and from people alone.
        effective: (S,) mean of `PredictionPoweredResult.effective`.
        draws: number of simulated studies of each size.
    """

    sizes: tuple[int, ...]
    coverage: Floats
    people_coverage: Floats
    width: Floats
    people_width: Floats
    effective: Floats
    draws: int


@signed("prediction-powered-savings")
def savings_curve(
    people: ArrayLike,
    judge: ArrayLike,
    *,
    sizes: Sequence[int] = (50,),
    draws: int = 200,
    confidence: float = CONFIDENCE,
    seed: Seed = 0,
) -> SavingsCurve:
    """Simulate studies in which people judge only some units, from (U,) units with answers of people and the judge.

    Each study draws U units with replacement, and people judge the first of them. Intervals regard units as
    independent.
    """
    label, prediction = finite_vector(people, "people"), finite_vector(judge, "judge")
    count = same_length(people=label, judge=prediction)
    check_positive_int(draws, "draws")
    curve_sizes = tuple(sizes)
    for size in curve_sizes:
        if not MIN_CURVE_LENGTH <= size <= count - MIN_CURVE_LENGTH:
            raise BadValue(
                f"sizes holds {size}, expected {MIN_CURVE_LENGTH} to {count - MIN_CURVE_LENGTH} of {count} units"
            )
    generator, reported_seed = generator_of(seed)
    mean_of_all = label.mean()
    # The last axis has what `SavingsCurve` has from `coverage` on.
    figures = np.full((len(curve_sizes), draws, 5), np.nan)
    for row, size in enumerate(curve_sizes):
        for draw in range(draws):
            rows = generator.integers(count, size=count)
            labels = label[rows].copy()
            labels[size:] = np.nan
            estimate = prediction_powered_mean(labels, prediction[rows], confidence=confidence)
            if estimate.reason:
                continue
            figures[row, draw] = (
                estimate.low <= mean_of_all <= estimate.high,
                estimate.people_low <= mean_of_all <= estimate.people_high,
                estimate.high - estimate.low,
                estimate.people_high - estimate.people_low,
                estimate.effective,
            )
    has_no_draw = np.isnan(figures[:, :, 0]).all(axis=1)
    means = np.full((len(curve_sizes), 5), np.nan)
    means[~has_no_draw] = np.nanmean(figures[~has_no_draw], axis=1)
    return SavingsCurve(
        sizes=curve_sizes,
        coverage=means[:, 0],
        people_coverage=means[:, 1],
        width=means[:, 2],
        people_width=means[:, 3],
        effective=means[:, 4],
        draws=draws,
        seed=reported_seed,
    )
