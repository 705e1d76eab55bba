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

# The paper's advice (section 3): 0.2 if people are experts, 0.15 if they are skilled, 0.1 for a crowd.
EPSILON = 0.2
# With fewer units, the mean of a person's comparisons is not close to normal.
MIN_UNITS = 30
PASSES = 0.5
MIN_CURVE_LENGTH = 5
DENSE_CELLS = 20_000_000  # largest number of cells (units times labels) that are counted in a dense array
NO_TESTED_PERSON = "no person judged {least} or more of the units that the judge and somebody else judged"
TOO_FEW_CLUSTERS = "no person judged items from enough clusters for the test"
NO_LABELS = "people judged {n} of the units, expected two or more"
NO_OTHERS = "people judged all items, so there are no items that only the judge answered"
SAME_ANSWER = "people gave the same answer to all items, so the variance of the answers cannot be estimated"


@dataclass(frozen=True, slots=True)
class AlternativeAnnotatorResult(Inference):
    """The result of a test whether the judge may replace a person of this group.

    Attributes:
        raters: the R people who were tested, ascending. left_out: number of others, who had too few units.
        units: (R,) number of units on which the person was compared with the judge.
        judge_advantage: (R,) share of these where the judge is at least as near to the others as the person (rho f).
        rater_advantage: (R,) share of these where the person is at least as near as the judge (rho h).
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
        return bool(self.winning_rate >= PASSES)


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
    if (twice := first_repeated(unit, rater)) is not None:
        raise DuplicateJudgment(f"rater {names[twice[1]]!r} judged a unit twice, expected once")
    if scoring == ACCURACY:
        labels, person, judge_code = encode_both(answers, judge, "answers", "judge")
        same_length(units=unit, answers=person)
        nearness, judge_nearness = _agreements(unit, person, judge_code, len(labels))
    else:
        values, predictions = (
            finite_vector(np.asarray(answers), "answers"),
            finite_vector(np.asarray(judge), "judge"),
        )
        same_length(units=unit, answers=values, judge=predictions)
        nearness, judge_nearness = _nearness(unit, values, predictions)
    # A single unit has no variance, so at least two are needed.
    least = max(check_positive_int(least_units, "least_units"), 2) if few == LEAVE_OUT else 2
    name, cluster = _single_column(clusters, unit, "a row")
    # Leave out rows whose unit nobody else judged, and people with few units.
    usable = ~np.isnan(nearness) & ~np.isnan(judge_nearness)
    counts = np.bincount(rater[usable], minlength=len(names))
    tested = np.flatnonzero(counts >= least)
    keep = usable & np.isin(rater, tested)
    unit, rater, cluster = unit[keep], renumber_codes(rater[keep]), cluster[keep]
    # Find who is nearer to the others, row by row, and how often.
    judge_wins = (judge_nearness >= nearness)[keep].astype(np.float64)
    person_wins = (nearness >= judge_nearness)[keep].astype(np.float64)
    n = counts[tested]
    by_judge = np.bincount(rater, weights=judge_wins) / np.maximum(n, 1)
    by_person = np.bincount(rater, weights=person_wins) / np.maximum(n, 1)
    # Test each person's differences; rows of a cluster are adjacent.
    differences = person_wins - judge_wins
    order = np.lexsort((cluster, rater))
    starts = np.cumsum(n) - n
    changes = (np.diff(cluster[order], prepend=-1) != 0) | (np.diff(rater[order], prepend=-1) != 0)
    number = np.cumsum(changes) - 1  # number of the person's cluster in each row
    p = np.empty(len(tested))
    for position, (start, size) in enumerate(zip(starts.tolist(), n.tolist(), strict=True)):
        rows = order[start : start + size]
        if few == WILCOXON and size < least_units:
            p[position] = _signed_ranks(differences[rows] - epsilon)
        else:
            cluster_of_row = number[start : start + size] - number[start]
            p[position] = _one_sided_p(differences[rows], cluster_of_row, name, epsilon)
    adjusted = adjusted_p_values(p, "benjamini-yekutieli").values
    # The mean advantage over people, with an interval over the clusters of all their units.
    advantage = float(by_judge.mean()) if len(tested) else math.nan
    low = high = math.nan
    cluster_counts: Mapping[str, int] = {}
    if len(tested):
        shared = Clusters.of_codes({name: renumber_codes(cluster)})
        influences = (judge_wins - by_judge[rater]) / (n[rater] * len(tested))
        low, high = share_interval(advantage, shared.spread(influences), shared.counts[name], CONFIDENCE)
        cluster_counts = shared.counts
    won = adjusted <= level
    has_p = ~np.isnan(p)
    reason = "" if has_p.any() else TOO_FEW_CLUSTERS if len(tested) else NO_TESTED_PERSON.format(least=least)
    return AlternativeAnnotatorResult(
        raters=tuple(names[tested].tolist()),
        units=n,
        judge_advantage=by_judge,
        rater_advantage=by_person,
        p=p,
        adjusted_p=adjusted,
        won=won,
        left_out=int((counts > 0).sum() - len(tested)),
        winning_rate=float(won[has_p].mean()) if has_p.any() else math.nan,
        advantage=advantage,
        low=low,
        high=high,
        all_units=int((np.bincount(unit) > 0).sum()),
        epsilon=float(epsilon),
        level=level,
        reason=reason,
        clusters=cluster_counts,
    )


def _agreements(unit: Ints, answer: Ints, judge: Ints, labels: int) -> tuple[Floats, Floats]:
    """Return the shares of the unit's other answers that equal the row's answer, and the judge's; each (N,).

    Both are nan for units without other answers.
    """
    others = np.bincount(unit)[unit] - 1.0
    others[others == 0] = np.nan
    mine, wanted = unit * labels + answer, unit * labels + judge
    if len(others) * labels <= DENSE_CELLS:
        counts = np.bincount(mine, minlength=int(wanted.max(initial=-1)) + 1)
        return (counts[mine] - 1) / others, (counts[wanted] - (answer == judge)) / others
    cells, counts = np.unique(mine, return_counts=True)
    at = np.minimum(np.searchsorted(cells, wanted), len(cells) - 1)
    same_as_judge = np.where(cells[at] == wanted, counts[at], 0) - (answer == judge)
    return (counts[np.searchsorted(cells, mine)] - 1) / others, same_as_judge / others


def _nearness(unit: Ints, answer: Floats, judge: Floats) -> tuple[Floats, Floats]:
    """Return the nearness to a unit's other answers, of the row's answer and of the judge's; each (N,).

    The nearness is the negative mean squared distance. Both are nan for units without other answers.
    """
    count = np.bincount(unit)[unit]
    total = np.bincount(unit, weights=answer)[unit]
    squares = np.bincount(unit, weights=answer * answer)[unit]
    others = np.where(count > 1, count - 1.0, np.nan)
    person = squares - 2 * answer * total + count * answer * answer
    beside = squares - 2 * judge * total + count * judge * judge - (judge - answer) ** 2
    # Round, because sums of decimals that should be equal differ in their last digits.
    size = squares + count * np.maximum(answer * answer, judge * judge)
    beside = np.where(np.abs(beside - person) <= 1e-12 * size, person, beside)
    return -person / others, -beside / others


def _signed_ranks(values: Floats) -> float:
    if not values.any():
        return 1.0
    return float(scipy.stats.wilcoxon(values, alternative="less", method="approx").pvalue)


def _one_sided_p(values: Floats, cluster: Ints, name: str, epsilon: float) -> float:
    mean = float(values.mean())
    shared = Clusters.of_codes({name: cluster})
    if shared.reason:
        return math.nan
    if np.all(values == values[0]):
        return 0.0 if mean < epsilon else 1.0
    return shared.spread((values - mean) / len(values)).p(mean - epsilon, only_below=True)


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
    alone = np.flatnonzero(np.isnan(label))
    n = len(labelled)
    mean_of_judge = float(prediction.mean()) if len(prediction) else math.nan
    mean = float(label[labelled].mean()) if n else math.nan
    reason = NO_LABELS.format(n=n) if n < 2 else SAME_ANSWER if np.ptp(label[labelled]) == 0 else ""
    parts = None if reason else _Parts.from_labels(label[labelled], prediction, labelled, alone, codes)
    if parts is not None and parts.reason:
        reason = parts.reason
    undefined = (math.nan, math.nan)
    if parts is None or reason:
        ends = people_ends = undefined
        chosen_weight, value, effective = math.nan, math.nan, math.nan
    else:
        chosen_weight = 0.0
        if len(alone):
            chosen_weight = tuned_power(label, prediction) if power is None else float(power)
        value = mean + chosen_weight * parts.shift
        spread, of_people = parts.spread(chosen_weight), parts.spread(0.0)
        half, people_half = spread.half_width(confidence), of_people.half_width(confidence)
        ends, people_ends = (value - half, value + half), (mean - people_half, mean + people_half)
        effective = n * of_people.variance / spread.variance if spread.variance > 0 else math.nan
        reason = "" if len(alone) else NO_OTHERS
    return PredictionPoweredResult(
        value=value,
        low=ends[0],
        high=ends[1],
        people=mean,
        people_low=people_ends[0],
        people_high=people_ends[1],
        judge=mean_of_judge,
        power=chosen_weight,
        labelled=n,
        unlabelled=len(alone),
        effective=effective,
        confidence=confidence,
        reason=reason,
        clusters={} if parts is None else parts.counts,
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


def _single_column(clusters: ClusterColumns, alone: Ints, row: str) -> tuple[str, Ints]:
    """Return the name and the codes of the only column of clusters.

    Without clusters, they are ITEM and the codes `alone`. Raise BadOption if there are several columns.
    """
    columns = cluster_columns(clusters)
    if not columns:
        return ITEM, alone
    if len(columns) != 1:
        raise BadOption(f"clusters has {len(columns)} columns, expected one: what units share")
    ((name, values),) = columns.items()
    return name, column_codes(values, name, len(alone), row)


@dataclass(frozen=True, slots=True)
class _Parts:
    """Influences of units on the parts of the estimate.

    labels: influences of labelled units on people's mean. beside: influences of labelled units on the judge's mean.
    alone: influences of the other units on the judge's mean. shift: the judge's mean over the other units minus the
    mean over labelled units. overlap: sums, over clusters with both kinds of units, of the products of `labels` and
    `alone`, and of `beside` and `alone`.
    """

    labels: Floats
    beside: Floats
    alone: Floats
    shift: float
    of_labelled: Clusters
    of_alone: Clusters | None
    overlap: tuple[float, float]
    counts: Mapping[str, int]
    reason: str

    @classmethod
    def from_labels(
        cls, label: Floats, prediction: Floats, labelled: Ints, alone: Ints, codes: tuple[str, Ints]
    ) -> _Parts:
        name, cluster = codes
        of_labelled = Clusters.of_codes({name: renumber_codes(cluster[labelled])})
        labels = (label - label.mean()) / len(label)
        beside = (prediction[labelled] - prediction[labelled].mean()) / len(labelled)
        counts, reason = dict(of_labelled.counts), of_labelled.reason
        if not len(alone):
            no_values: Floats = np.empty(0)
            return cls(labels, beside, no_values, 0.0, of_labelled, None, (0.0, 0.0), counts, reason)
        of_alone = Clusters.of_codes({name: renumber_codes(cluster[alone])})
        rest = (prediction[alone] - prediction[alone].mean()) / len(alone)
        size = int(cluster.max()) + 1
        sums = np.bincount(cluster[alone], weights=rest, minlength=size)
        overlap = [
            float(np.bincount(cluster[labelled], weights=influences, minlength=size) @ sums)
            for influences in (labels, beside)
        ]
        shift = float(prediction[alone].mean() - prediction[labelled].mean())
        counts = {name: len(np.unique(cluster))}
        return cls(
            labels, beside, rest, shift, of_labelled, of_alone, (overlap[0], overlap[1]), counts,
            reason or of_alone.reason,
        )  # fmt: skip

    def spread(self, power: float) -> Spread:
        spread = self.of_labelled.spread(self.labels - power * self.beside)
        if self.of_alone is None or power == 0:
            return replace(spread, df=min(spread.df, 1e9))
        other = self.of_alone.spread(power * self.alone)
        apart = spread.variance + other.variance
        shared = 2 * power * (self.overlap[0] - power * self.overlap[1])
        below = spread.variance**2 / spread.df + other.variance**2 / other.df
        return Spread(max(apart + shared, 0.0), min(apart**2 / below, 1e9) if below > 0 else 1e9)


@dataclass(frozen=True, slots=True)
class SavingsCurve(Result):
    """Properties of prediction-powered intervals if people had judged fewer units.

    Attributes:
        sizes: (S,) number of units that people judge.
        coverage, people_coverage: (S,) share of draws whose interval contains the mean of all units, with the judge
            and from people alone.
        width, people_width: (S,) mean width of the interval, with the judge and from people alone.
        effective: (S,) mean of `PredictionPoweredResult.effective`.
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
    wanted_sizes = tuple(sizes)
    for size in wanted_sizes:
        if not MIN_CURVE_LENGTH <= size <= count - MIN_CURVE_LENGTH:
            raise BadValue(
                f"sizes holds {size}, expected {MIN_CURVE_LENGTH} to {count - MIN_CURVE_LENGTH} of {count} units"
            )
    generator, reported_seed = generator_of(seed)
    truth = label.mean()
    figures = np.full((len(wanted_sizes), draws, 5), np.nan)
    for row, size in enumerate(wanted_sizes):
        for draw in range(draws):
            rows = generator.integers(count, size=count)
            known_labels = label[rows].copy()
            known_labels[size:] = np.nan
            estimate = prediction_powered_mean(known_labels, prediction[rows], confidence=confidence)
            if estimate.reason:
                continue
            figures[row, draw] = (
                estimate.low <= truth <= estimate.high,
                estimate.people_low <= truth <= estimate.people_high,
                estimate.high - estimate.low,
                estimate.people_high - estimate.people_low,
                estimate.effective,
            )
    undrawn = np.isnan(figures[:, :, 0]).all(axis=1)
    means = np.full((len(wanted_sizes), 5), np.nan)
    means[~undrawn] = np.nanmean(figures[~undrawn], axis=1)
    return SavingsCurve(
        sizes=wanted_sizes,
        coverage=means[:, 0],
        people_coverage=means[:, 1],
        width=means[:, 2],
        people_width=means[:, 3],
        effective=means[:, 4],
        draws=draws,
        seed=reported_seed,
    )
