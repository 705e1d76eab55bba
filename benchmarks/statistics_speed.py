"""The statistics beside other people's programs: milliseconds of each, and their ratio.

    python -m benchmarks.statistics_speed

A peer that is not installed (requirements-oracles.txt) is named and left out. Both must give the same
figure, or the run stops. Times are the best of three, one after the other in this process.
"""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from scipy import stats

from evaluation.statistics.agreement import (
    alpha_interval,
    alpha_of_judgments,
    cohen_kappa,
    kappa_interval,
    krippendorff_alpha,
    threshold_kappa,
)
from evaluation.statistics.correlation import correlation
from evaluation.statistics.significance import bootstrap_interval, randomization_test

TRIES = 3
SEED = 20


def main() -> None:
    """Print one line a job."""
    print(f"{'job':58} {'ours ms':>9} {'peer ms':>9} {'ratio':>6}")
    generator = np.random.default_rng(SEED)
    alphas(generator)
    kappas(generator)
    differences(generator)
    correlations(generator)


def alphas(generator: np.random.Generator) -> None:
    """Alpha of a table beside krippendorff, its interval, and a million rows of many workers."""
    peer = _peer("krippendorff")
    for units in (10_000, 1_000_000):
        table = generator.integers(1, 5, (5, units)).astype(float)
        table[generator.random(table.shape) < 0.2] = np.nan
        for level in ("nominal", "ordinal"):
            job = f"alpha, {level}, 5 x {units:,}"
            _compare(job, _alpha(table, level), _peer_alpha(peer, table, level))
        _alone(f"alpha with 2,000 resamples, interval, 5 x {units:,}", _interval(table))
    names = [f"unit-{row // 3}" for row in range(1_000_000)]
    raters = [f"w-{(row // 3 * 7 + row % 3) % 9999}" for row in range(1_000_000)]
    grades = generator.integers(1, 5, 1_000_000)
    _alone(
        "alpha with 2,000 resamples, 1,000,000 rows of text ids",
        lambda: alpha_of_judgments(names, raters, grades, "ordinal").value,
    )


def kappas(generator: np.random.Generator) -> None:
    """Cohen's kappa beside scikit-learn, and the kappa between two sources with its interval."""
    peer = _peer("sklearn.metrics")
    first = generator.integers(1, 6, 1_000_000)
    second = np.where(generator.random(1_000_000) < 0.6, first, generator.integers(1, 6, 1_000_000))
    for weights in (None, "quadratic"):
        theirs = None
        if peer is not None:
            theirs = _bound(peer.cohen_kappa_score, first, second, weights=weights)
        _compare(f"kappa, weights {weights}, 1,000,000", _bound(cohen_kappa, first, second, weights), theirs)
    _alone("kappa with 2,000 resamples, 1,000,000", lambda: kappa_interval(first, second).value)
    _alone(
        "kappa at thresholds with 2,000 resamples, 1,000,000",
        lambda: threshold_kappa(first, second, 4, 4).kappa.value,
    )


def differences(generator: np.random.Generator) -> None:
    """The randomisation test beside scipy's, and a bootstrap interval beside scipy's."""
    first = generator.random(1000)
    second = first + generator.normal(0.01, 0.2, 1000)

    def theirs() -> float:
        test = stats.permutation_test(
            (first, second),
            lambda x, y, axis: np.mean(x - y, axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=1000,
            rng=np.random.default_rng(0),
        )
        return float(test.pvalue)

    _compare(
        "randomisation test of means, 1,000 items, 1,000 times",
        lambda: randomization_test(first, second, reassignments=1000).p,
        theirs,
        0.05,
    )
    _alone(
        "randomisation test of means, 1,000 items, 100,000 times",
        lambda: randomization_test(first, second).p,
    )
    _compare(
        "BCa interval of a mean, 1,000 values, 10,000 resamples",
        lambda: bootstrap_interval(first, method="bca").low,
        lambda: float(
            stats.bootstrap(
                (first,), np.mean, n_resamples=10_000, rng=np.random.default_rng(0)
            ).confidence_interval.low
        ),
        0.01,
    )


def correlations(generator: np.random.Generator) -> None:
    """A metric's scores against shares of yes, at the size of Flickr8k's crowd file."""
    scores = generator.random(47_830)
    shares = np.clip(np.round(3 * scores + generator.normal(0, 1, 47_830)), 0, 3) / 3
    for coefficient in ("spearman", "kendall-tau-b"):
        job = f"{coefficient} with 200 resamples, 47,830 pairs"
        _alone(job, _correlation(scores, shares, coefficient))


def _alpha(table: Any, level: str) -> Callable[[], float]:
    return lambda: krippendorff_alpha(table, level)


def _correlation(first: Any, second: Any, coefficient: str) -> Callable[[], float]:
    return lambda: correlation(first, second, coefficient, resamples=200).value


def _interval(table: Any) -> Callable[[], float]:
    return lambda: alpha_interval(table, "interval").value


def _peer_alpha(peer: ModuleType | None, table: Any, level: str) -> Callable[[], float] | None:
    return None if peer is None else _bound(peer.alpha, table, level_of_measurement=level)


def _bound(function: Callable[..., Any], *arguments: Any, **options: Any) -> Callable[[], float]:
    return lambda: float(function(*arguments, **options))


def _peer(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"({name} is not installed and left out)")
        return None


def _best(job: Callable[[], float]) -> tuple[float, float]:
    best, figure = math.inf, math.nan
    for _ in range(TRIES):
        start = time.perf_counter()
        figure = job()
        best = min(best, time.perf_counter() - start)
    return best * 1000, figure


def _alone(name: str, job: Callable[[], float]) -> None:
    ours, _ = _best(job)
    print(f"{name:58} {ours:9.1f}")


def _compare(
    name: str, job: Callable[[], float], peer: Callable[[], float] | None, tolerance: float = 1e-9
) -> None:
    if peer is None:
        _alone(name, job)
        return
    ours, figure = _best(job)
    theirs, expected = _best(peer)
    if not math.isclose(figure, expected, abs_tol=tolerance):
        raise SystemExit(f"{name}: we say {figure}, the peer {expected}")
    print(f"{name:58} {ours:9.1f} {theirs:9.1f} {theirs / ours:6.1f}")


if __name__ == "__main__":
    main()
