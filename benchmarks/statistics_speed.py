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

from evaluation.statistics.aggregation import bradley_terry, dawid_skene, majority_vote, wins_table
from evaluation.statistics.agreement import (
    alpha_interval,
    alpha_of_judgments,
    cohen_kappa,
    kappa_interval,
    krippendorff_alpha,
    threshold_kappa,
)

TRIES = 3
SEED = 20


def main() -> None:
    """Print one line a job."""
    print(f"{'job':58} {'ours ms':>9} {'peer ms':>9} {'ratio':>6}")
    generator = np.random.default_rng(SEED)
    alphas(generator)
    kappas(generator)
    models(generator)


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


def models(generator: np.random.Generator) -> None:
    """Majority, Dawid-Skene and Bradley-Terry at size."""
    units = np.repeat(np.arange(100_000), 3)
    workers = generator.integers(0, 500, 300_000)
    truth = generator.integers(0, 2, 100_000)
    answers = np.where(generator.random(300_000) < 0.75, truth[units], 1 - truth[units])
    _alone("majority of 100,000 units x 3", lambda: float(majority_vote(units, answers).share.mean()))
    _alone(
        "Dawid-Skene, 20 steps, 100,000 x 3",
        lambda: dawid_skene(units, workers, answers, max_iterations=20).log_likelihood,
    )
    strengths = generator.random(50) + 0.1
    one, two = generator.integers(0, 50, (2, 1_000_000))
    one, two = one[one != two], two[one != two]
    won = generator.random(len(one)) < strengths[one] / (strengths[one] + strengths[two])
    winners, losers = np.where(won, one, two), np.where(won, two, one)
    peer = _peer("evalica")
    theirs = None
    if peer is not None:
        outcomes = [peer.Winner.X] * len(winners)
        left, right = winners.tolist(), losers.tolist()

        def theirs() -> float:
            scores = peer.bradley_terry(left, right, outcomes, tolerance=1e-9).scores
            return float(scores[0] / scores[1])

    def ours() -> float:
        strength = bradley_terry(wins_table(winners, losers)[1]).strength
        return float(strength[0] / strength[1])

    _compare("Bradley-Terry with intervals, 1,000,000 games of 50", ours, theirs, 1e-4)


def _alpha(table: Any, level: str) -> Callable[[], float]:
    return lambda: krippendorff_alpha(table, level)


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
