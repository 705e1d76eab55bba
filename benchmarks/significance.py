"""Compare tests, intervals and correlations with scipy on random scores.

    python -m benchmarks.significance                  # every job at three sizes, some minutes
    python -m benchmarks.significance means medians

Random jobs use other draws than scipy, so their results differ by chance. scipy processes as many reassignments at once
as fit into a gigabyte. For jobs without another program, the package index has none, or none that ends within minutes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.measuring import Job, main
from quorum.statistics.correlation import correlation
from quorum.statistics.meta import grouped_correlation, pairwise_accuracy
from quorum.statistics.significance import bootstrap_interval, randomization_test

Data = tuple[Any, ...]
SEED = 20
RESAMPLES = 1000
RESAMPLE_COUNT = 200
SYSTEMS = 10
# Number of scores in memory in scipy's permutation test; its default takes 7 GB for 100,000 items.
BATCH = 10_000_000
# Number of repetitions of calls that take a fraction of a millisecond.
REPEATS = 50
SCIPY = "scipy"


def paired_scores(size: int) -> Data:
    generator = np.random.default_rng(SEED)
    first = generator.normal(size=size)
    return first, first + generator.normal(0.5 / math.sqrt(size), 1, size)


def scores_and_shares(size: int) -> Data:
    """Return random scores of a metric, and people's shares of yes, which are thirds."""
    generator = np.random.default_rng(SEED)
    scores = generator.random(size)
    return scores, np.clip(np.round(3 * scores + generator.normal(0, 1, size)), 0, 3) / 3


def outputs(size: int) -> Data:
    """Return random scores of two metrics, grades, items and systems, with ten systems per item."""
    generator = np.random.default_rng(SEED)
    people = generator.integers(0, 5, size).astype(float)
    metrics = [people + generator.normal(0, spread, size) for spread in (1, 1.1)]
    items = size // SYSTEMS
    return *metrics, people, np.repeat(np.arange(items), SYSTEMS), np.tile(np.arange(SYSTEMS), items)


def p_of(statistic: str, reassignments: int = RESAMPLES) -> Callable[[Data], float]:
    return lambda data: randomization_test(data[0], data[1], statistic, reassignments=reassignments).p


def scipy_p(statistic: Callable[..., Any]) -> Callable[[Data], float]:
    def test(data: Data) -> float:
        found = stats.permutation_test(
            data,
            statistic,
            permutation_type="samples",
            vectorized=True,
            n_resamples=RESAMPLES,
            batch=max(1, BATCH // len(data[0])),
            rng=np.random.default_rng(0),
        )
        return float(found.pvalue)

    return test


def mean_difference(x: Any, y: Any, axis: int) -> Any:
    return np.mean(x - y, axis=axis)


def median_difference(x: Any, y: Any, axis: int) -> Any:
    return np.median(x, axis=axis) - np.median(y, axis=axis)


def bca(data: Data) -> list[float]:
    found = bootstrap_interval(data[1] - data[0], method="bca", resamples=RESAMPLES)
    return [found.low, found.high]


def scipy_bca(data: Data) -> list[float]:
    generator = np.random.default_rng(0)
    found = stats.bootstrap((data[1] - data[0],), np.mean, n_resamples=RESAMPLES, rng=generator)
    return [*map(float, found.confidence_interval)]


def tau(data: Data) -> float:
    return correlation(data[0], data[1], "kendall-tau-b", resamples=0).value


def scipy_tau(data: Data) -> float:
    return float(stats.kendalltau(*data).statistic)


def tau_interval(data: Data) -> list[float]:
    found = correlation(data[0], data[1], "kendall-tau-b", resamples=RESAMPLE_COUNT)
    return [found.low, found.high]


def scipy_tau_interval(data: Data) -> list[float]:
    scores, shares = data
    generator = np.random.default_rng(0)
    drawn = []
    for _ in range(RESAMPLE_COUNT):
        rows = generator.integers(0, len(scores), len(scores))
        drawn.append(stats.kendalltau(scores[rows], shares[rows]).statistic)
    return [*map(float, np.quantile(drawn, [0.025, 0.975]))]


def tau_by_item(data: Data) -> float:
    one, _, people, items, systems = data
    return grouped_correlation(one, people, items, systems, "kendall-tau-b", resamples=0).value


def scipy_tau_by_item(data: Data) -> float:
    """Return the mean of scipy's tau-b over the items with different grades."""
    one, _, people, _, _ = data
    rows = zip(one.reshape(-1, SYSTEMS), people.reshape(-1, SYSTEMS), strict=True)
    taus = [stats.kendalltau(scores, grades).statistic for scores, grades in rows if np.ptp(grades)]
    return float(np.mean(taus))


def calibrated_accuracy(data: Data) -> float:
    one, _, people, items, _ = data
    return pairwise_accuracy(one, people, items, epsilon="calibrate", resamples=0).value


THOUSANDS = (1_000, 10_000, 100_000)
MILLION = (10_000, 100_000, 1_000_000)

JOBS = (
    Job("means", THOUSANDS, paired_scores, p_of("mean"), scipy_p(mean_difference), SCIPY, repeats=REPEATS),
    Job(
        "medians",
        THOUSANDS,
        paired_scores,
        p_of("median"),
        scipy_p(median_difference),
        SCIPY,
        repeats=REPEATS,
    ),
    Job("medians-100,000-times", (100, 1_000, 10_000), paired_scores, p_of("median", 100_000)),
    Job("bca-of-a-mean", (100, 1_000, 10_000), paired_scores, bca, scipy_bca, SCIPY, repeats=REPEATS),
    Job("tau", MILLION, paired_scores, tau, scipy_tau, SCIPY),
    Job("tau-interval", THOUSANDS, scores_and_shares, tau_interval, scipy_tau_interval, SCIPY),
    Job("tau-by-item", THOUSANDS, outputs, tau_by_item, scipy_tau_by_item, SCIPY, unit=" rows"),
    Job("tau-by-item-of-a-million", (1_000_000,), outputs, tau_by_item, unit=" rows"),
    Job("tie-calibration-by-item", MILLION, outputs, calibrated_accuracy, unit=" rows"),
)

if __name__ == "__main__":
    main(JOBS)
