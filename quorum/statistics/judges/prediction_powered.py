"""Prediction-powered inference: people's mean from their answers to some units and a judge's answers to all units.

The judge's answers make the interval narrower, and people's answers correct the judge's bias (Angelopoulos, Bates,
Fannjiang, Jordan, Zrnic 2023, *Prediction-Powered Inference*). The weight lambda of the judge's answers is tuned as in
Angelopoulos, Duchi, Zrnic 2023, *PPI++*.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.crossed import (
    CONFIDENCE,
    NAIVE,
    ClusterColumns,
    Clusters,
    Spread,
    check_confidence,
    renumber_codes,
)
from quorum.statistics.inference import Inference, Result, signed
from quorum.statistics.inputs import (
    BadOption,
    BadValue,
    check_positive_int,
    finite_vector,
    float_vector,
    refuse_values,
    same_length,
)
from quorum.statistics.judges.cluster_column import single_column
from quorum.statistics.resampling import Seed, generator_of

# Fewest units that people judge, and fewest that they do not judge, in a simulated study.
MIN_CURVE_LENGTH = 5
_MAX_DF = 1e9  # stands for infinitely many degrees of freedom
TOO_FEW_LABELS = "people judged {n} of the units, expected two or more"
NO_UNLABELLED_ITEMS = "people judged all items, so there are no items that only the judge answered"
SAME_ANSWER = "people gave the same answer to all items, so the variance of the answers cannot be estimated"


@dataclass(frozen=True, slots=True)
class PredictionPoweredResult(Inference):
    """People's mean, estimated from their answers to some units and a judge's answers to all units.

    Attributes:
        value, low, high: the prediction-powered estimate of the mean, and its interval.
        people, people_low, people_high: the estimate from people's answers alone, and its interval.
        judge: the mean of the judge's answers, which includes the judge's bias.
        power: lambda, the weight of the judge's answers: 0 ignores them, and 1 is the estimate without power tuning.
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
    cluster_name, cluster = single_column(clusters, np.arange(len(label)), "a unit")
    labelled = np.flatnonzero(~np.isnan(label))
    unlabelled = np.flatnonzero(np.isnan(label))
    n = len(labelled)
    mean_of_judge = float(prediction.mean()) if len(prediction) else math.nan
    mean = float(label[labelled].mean()) if n else math.nan
    influences = None
    if n < 2:
        reason = TOO_FEW_LABELS.format(n=n)
    elif np.ptp(label[labelled]) == 0:
        reason = SAME_ANSWER
    else:
        influences = _EstimateInfluences.from_labels(
            label, prediction, labelled, unlabelled, cluster_name, cluster
        )
        reason = influences.reason
    limits = people_limits = (math.nan, math.nan)
    judge_weight = value = effective = math.nan
    if influences is not None and not reason:
        judge_weight = 0.0
        if len(unlabelled):
            judge_weight = tuned_power(label, prediction) if power is None else float(power)
        value = mean + judge_weight * influences.shift
        spread, people_spread = influences.spread(judge_weight), influences.spread(0.0)
        margin, people_margin = spread.half_width(confidence), people_spread.half_width(confidence)
        limits, people_limits = (value - margin, value + margin), (mean - people_margin, mean + people_margin)
        effective = n * people_spread.variance / spread.variance if spread.variance > 0 else math.nan
        # Without unlabelled units, the estimate is people's mean. The reason says why the judge's answers do not help.
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
    """Return the lambda of PPI++ (equation 6), limited to 0 to 1, from (U,) answers. `people` has nan for no answer.

    Lambda is cov(people, judge) / ((1 + n / N) var(judge)). As in the authors' program ppi_py, the variance is that of
    all answers of the judge: to the n units that people judged, and to the N others.
    """
    is_labelled = ~np.isnan(people)
    label, prediction = people[is_labelled], judge[is_labelled]
    covariance = float(np.mean((label - label.mean()) * (prediction - prediction.mean())))
    variance = float(judge.var(ddof=1)) * (1 + len(label) / (len(judge) - len(label)))
    return min(max(covariance / variance, 0.0), 1.0) if variance > 0 else 0.0


@dataclass(frozen=True, slots=True)
class _EstimateInfluences:
    """Influences of units on the three means of which the prediction-powered estimate consists.

    A unit is labelled if people judged it.

    label_influences: influences of labelled units on the mean of people's answers. judge_labelled, judge_unlabelled:
    influences of labelled units, and of the other units, on the means of the judge's answers to them. shift: the
    judge's mean over the other units minus the judge's mean over labelled units. labels_covariance: covariance of the
    means of people's answers and of the judge's answers to the other units, because clusters may have units of both
    kinds. judge_covariance: covariance of the judge's two means. counts: number of clusters by name. reason: why
    there is no interval, or "".
    """

    label_influences: Floats
    judge_labelled: Floats
    judge_unlabelled: Floats
    shift: float
    labelled_clusters: Clusters
    unlabelled_clusters: Clusters | None
    labels_covariance: float
    judge_covariance: float
    counts: Mapping[str, int]
    reason: str

    @classmethod
    def from_labels(
        cls,
        label: Floats,
        prediction: Floats,
        labelled: Ints,
        unlabelled: Ints,
        cluster_name: str,
        cluster: Ints,
    ) -> _EstimateInfluences:
        """Return the influences for (U,) answers of people (`label`) and of the judge (`prediction`).

        labelled, unlabelled: positions of these units. cluster: (U,) codes of clusters.
        """
        clusters = Clusters.of_codes({cluster_name: renumber_codes(cluster[labelled])})
        label_influences = (label[labelled] - label[labelled].mean()) / len(labelled)
        judge_labelled = (prediction[labelled] - prediction[labelled].mean()) / len(labelled)
        if not len(unlabelled):
            return cls(
                label_influences=label_influences,
                judge_labelled=judge_labelled,
                judge_unlabelled=np.empty(0),
                shift=0.0,
                labelled_clusters=clusters,
                unlabelled_clusters=None,
                labels_covariance=0.0,
                judge_covariance=0.0,
                counts=dict(clusters.counts),
                reason=clusters.reason,
            )
        other_clusters = Clusters.of_codes({cluster_name: renumber_codes(cluster[unlabelled])})
        judge_unlabelled = (prediction[unlabelled] - prediction[unlabelled].mean()) / len(unlabelled)
        size = int(cluster.max()) + 1
        unlabelled_sums = np.bincount(cluster[unlabelled], weights=judge_unlabelled, minlength=size)

        def covariance_with_unlabelled(influences: Floats) -> float:
            labelled_sums = np.bincount(cluster[labelled], weights=influences, minlength=size)
            return float(labelled_sums @ unlabelled_sums)

        return cls(
            label_influences=label_influences,
            judge_labelled=judge_labelled,
            judge_unlabelled=judge_unlabelled,
            shift=float(prediction[unlabelled].mean() - prediction[labelled].mean()),
            labelled_clusters=clusters,
            unlabelled_clusters=other_clusters,
            labels_covariance=covariance_with_unlabelled(label_influences),
            judge_covariance=covariance_with_unlabelled(judge_labelled),
            counts={cluster_name: len(np.unique(cluster))},
            reason=clusters.reason or other_clusters.reason,
        )

    def spread(self, power: float) -> Spread:
        """Return the spread of the estimate, with Satterthwaite's degrees of freedom, for lambda = `power`."""
        spread = self.labelled_clusters.spread(self.label_influences - power * self.judge_labelled)
        if self.unlabelled_clusters is None or power == 0:
            return replace(spread, df=min(spread.df, _MAX_DF))
        unlabelled_spread = self.unlabelled_clusters.spread(power * self.judge_unlabelled)
        sum_of_variances = spread.variance + unlabelled_spread.variance
        # The estimate has both means of the judge times lambda: that of labelled units subtracted, the other added.
        covariance = 2 * power * (self.labels_covariance - power * self.judge_covariance)
        denominator = spread.variance**2 / spread.df + unlabelled_spread.variance**2 / unlabelled_spread.df
        df = min(sum_of_variances**2 / denominator, _MAX_DF) if denominator > 0 else _MAX_DF
        return Spread(max(sum_of_variances + covariance, 0.0), df)


@dataclass(frozen=True, slots=True)
class SavingsCurve(Result):
    """How good prediction-powered intervals would be if people had judged fewer units, by simulation.

    Attributes:
        sizes: (S,) number of units that people judge in a simulated study.
        coverage, people_coverage: (S,) share of simulated studies whose interval contains the mean of people's answers
            to all units: the prediction-powered interval, and the interval from people's answers alone.
        width, people_width: (S,) mean width of these two intervals.
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
    """Simulate studies in which people judge only some units, from (U,) answers of people and of the judge.

    A study draws U units with replacement. People judge the first of them, as many as one of `sizes` says, and the
    judge answers all. Intervals regard units as independent.
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
    # The last axis has the figures of `SavingsCurve` in their order there, from `coverage` to `effective`.
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
    has_estimates = ~np.isnan(figures[:, :, 0]).all(axis=1)
    means = np.full((len(curve_sizes), 5), np.nan)
    means[has_estimates] = np.nanmean(figures[has_estimates], axis=1)
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
