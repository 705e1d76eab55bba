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

from evaluation.statistics.aggregation import bradley_terry, dawid_skene, majority_vote, wins_table
from evaluation.statistics.correlation import correlation
from evaluation.statistics.significance import bootstrap_interval, randomization_test

TRIES = 3
SEED = 20


def main() -> None:
    """Print one line a job."""
    print(f"{'job':58} {'ours ms':>9} {'peer ms':>9} {'ratio':>6}")
    generator = np.random.default_rng(SEED)
    models(generator)
    differences(generator)
    correlations(generator)


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


def _correlation(first: Any, second: Any, coefficient: str) -> Callable[[], float]:
    return lambda: correlation(first, second, coefficient, resamples=200).value


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
