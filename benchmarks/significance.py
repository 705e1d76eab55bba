"""Tests, intervals and correlations beside scipy: CPU milliseconds, their ratio, and peak memory.

    python -m benchmarks.significance              # every job at three sizes, a few minutes
    python -m benchmarks.significance means        # one job

Both sides of a line run in one process, in turn, on the same input, and must give the same figure within the
noise of their draws; each time is the best of several, the first call (compiling, imports) left out. Memory
is measured in a process of its own for each side: the peak beyond what was there with the input made. A dash
is a side that has no counterpart, or whose counterpart would take minutes at that size.
"""

from __future__ import annotations

import json
import math
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from evaluation.statistics.correlation import correlation
from evaluation.statistics.meta import grouped_correlation, paired_correlation_test, pairwise_accuracy
from evaluation.statistics.significance import bootstrap_interval, randomization_test

Data = tuple[Any, ...]
SEED = 20
RESAMPLES = 1000
REDRAWS = 200
# Scores that the peer holds at once: all at once takes gigabytes, and more time.
BATCH = 10_000_000
SYSTEMS = 10
# A side is called until it has taken this long, at least twice and at most so often.
PATIENCE, CALLS = 1.5, 60


@dataclass(frozen=True)
class Job:
    """What is compared, at which sizes, and up to which size the peer is asked."""

    title: str
    sizes: tuple[int, ...]
    data: Callable[[int], Data]
    ours: Callable[..., float]
    peer: Callable[..., float] | None
    within: float
    peer_up_to: int = 1_000_000


def paired_scores(size: int) -> Data:
    """Two systems' scores of the same items."""
    generator = np.random.default_rng(SEED)
    first = generator.normal(size=size)
    return first, first + generator.normal(0.5 / math.sqrt(size), 1, size)


def scores_and_shares(size: int) -> Data:
    """A metric's scores and people's shares of yes, one to three of three."""
    generator = np.random.default_rng(SEED)
    scores = generator.random(size)
    return scores, np.clip(np.round(3 * scores + generator.normal(0, 1, size)), 0, 3) / 3


def outputs(size: int) -> Data:
    """Scores of two metrics, grades, items and systems, one output a row."""
    generator = np.random.default_rng(SEED)
    people = generator.integers(0, 5, size).astype(float)
    metrics = [people + generator.normal(0, spread, size) for spread in (1, 1.1)]
    items = size // SYSTEMS
    return *metrics, people, np.repeat(np.arange(items), SYSTEMS), np.tile(np.arange(SYSTEMS), items)


def scipy_permutation(statistic: Callable[..., Any]) -> Callable[..., float]:
    """scipy's paired permutation test of a difference, with as many reassignments."""

    def test(first: Any, second: Any) -> float:
        found = stats.permutation_test(
            (first, second),
            statistic,
            permutation_type="samples",
            vectorized=True,
            n_resamples=RESAMPLES,
            batch=max(1, BATCH // len(first)),
            rng=np.random.default_rng(0),
        )
        return float(found.pvalue)

    return test


def scipy_bca(first: Any, second: Any) -> float:
    """The lower end of scipy's BCa interval of a mean."""
    found = stats.bootstrap((second - first,), np.mean, n_resamples=RESAMPLES, rng=np.random.default_rng(0))
    return float(found.confidence_interval.low)


def scipy_redrawn(scores: Any, shares: Any) -> float:
    """The lower end of a percentile interval of tau-b by scipy on redrawn rows."""
    generator = np.random.default_rng(0)
    drawn = []
    for _ in range(REDRAWS):
        rows = generator.integers(0, len(scores), len(scores))
        drawn.append(stats.kendalltau(scores[rows], shares[rows]).statistic)
    return float(np.quantile(drawn, 0.025))


def scipy_by_item(metric: Any, _: Any, people: Any, items: Any, systems: Any) -> float:
    """Tau-b item by item with scipy, averaged; of items whose grades differ."""
    rows = zip(metric.reshape(-1, SYSTEMS), people.reshape(-1, SYSTEMS), strict=True)
    taus = [stats.kendalltau(one, two).statistic for one, two in rows if two.min() < two.max()]
    return float(np.mean(taus))


def jobs() -> dict[str, Job]:
    """Every line of the table."""
    return {
        "means": Job(
            "randomisation of means, 1,000 times",
            (1_000, 10_000, 100_000),
            paired_scores,
            lambda first, second: randomization_test(first, second, reassignments=RESAMPLES).p,
            scipy_permutation(lambda x, y, axis: np.mean(x - y, axis=axis)),
            0.1,
        ),
        "medians": Job(
            "randomisation of medians, 1,000 times",
            (1_000, 10_000, 100_000),
            paired_scores,
            lambda first, second: randomization_test(first, second, "median", reassignments=RESAMPLES).p,
            scipy_permutation(lambda x, y, axis: np.median(x, axis=axis) - np.median(y, axis=axis)),
            0.1,
        ),
        "medians-100000": Job(
            "randomisation of medians, 100,000 times",
            (100, 1_000, 10_000),
            paired_scores,
            lambda first, second: randomization_test(first, second, "median").p,
            None,
            0,
        ),
        "bca": Job(
            "BCa interval of a mean, 1,000 resamples",
            (1_000, 10_000, 100_000),
            paired_scores,
            lambda first, second: bootstrap_interval(second - first, method="bca", resamples=RESAMPLES).low,
            scipy_bca,
            0.02,
            peer_up_to=10_000,  # beyond, it asks for 75 GB
        ),
        "tau": Job(
            "Kendall's tau-b, two continuous scores",
            (10_000, 100_000, 1_000_000),
            paired_scores,
            lambda first, second: correlation(first, second, "kendall-tau-b", resamples=0).value,
            lambda first, second: float(stats.kendalltau(first, second).statistic),
            1e-9,
        ),
        "tau-bootstrap": Job(
            "tau-b of scores and shares, 200 resamples",
            (1_000, 10_000, 100_000),
            scores_and_shares,
            lambda scores, shares: correlation(scores, shares, "kendall-tau-b", resamples=REDRAWS).low,
            scipy_redrawn,
            0.02,
        ),
        "by-item": Job(
            "tau-b by item, ten systems an item",
            (10_000, 100_000, 1_000_000),
            outputs,
            lambda one, two, people, items, systems: (
                grouped_correlation(one, people, items, systems, "kendall-tau-b", resamples=0).value
            ),
            scipy_by_item,
            1e-9,
            peer_up_to=100_000,
        ),
        "ties": Job(
            "tie calibration by item, ten systems an item",
            (10_000, 100_000, 1_000_000),
            outputs,
            lambda one, two, people, items, systems: (
                pairwise_accuracy(one, people, items, epsilon="calibrate", resamples=0).value
            ),
            None,
            0,
        ),
        "paired": Job(
            "two metrics' tau-b by item, 1,000 permutations",
            (1_000, 10_000, 100_000),
            outputs,
            lambda one, two, people, items, systems: (
                paired_correlation_test(
                    one, two, people, items, systems, "kendall-tau-b", reassignments=RESAMPLES
                ).p
            ),
            None,
            0,
        ),
    }


def main(chosen: list[str]) -> None:
    """Print one line a job and size."""
    print(f"{'job':48} {'size':>9} {'ours ms':>9} {'peer ms':>9} {'ratio':>6} {'ours MB':>8} {'peer MB':>8}")
    for name, job in jobs().items():
        if chosen and name not in chosen:
            continue
        for size in job.sizes:
            sides = ["ours", "peer"] if job.peer and size <= job.peer_up_to else ["ours"]
            times = _child("times", name, size)
            peaks = {side: _child(side, name, size)["peak"] for side in sides}
            print(
                f"{job.title:48} {size:9,} {times['ours']:9.2f} {_cell(times, 'peer', 9, 1)}"
                f" {_cell(times, 'ratio', 6, 0)} {peaks['ours']:8.0f} {_cell(peaks, 'peer', 8, 0)}",
                flush=True,
            )


def _cell(values: dict[str, float], key: str, width: int, digits: int) -> str:
    return f"{values[key]:{width}.{digits}f}" if key in values else f"{'-':>{width}}"


def _child(what: str, name: str, size: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.significance", "--child", what, name, str(size)]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(command, check=False, capture_output=True, text=True, env={**os.environ, **threads})
    if done.returncode:
        raise SystemExit(done.stderr.strip().splitlines()[-1])
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


def child(what: str, name: str, size: int) -> dict[str, float]:
    """Times of both sides in turn, or the peak memory of one."""
    job = jobs()[name]
    if what == "times":
        return _times(job, size)
    side = job.ours if what == "ours" else job.peer
    assert side is not None  # only sides that exist are asked for
    side(*job.data(job.sizes[0]))  # imports and compiled code are no part of the peak
    data = job.data(size)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    side(*data)
    return {"peak": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024}


def _times(job: Job, size: int) -> dict[str, float]:
    data = job.data(size)
    sides = {"ours": job.ours}
    if job.peer is not None and size <= job.peer_up_to:
        sides["peer"] = job.peer
    best = dict.fromkeys(sides, math.inf)
    spent = dict.fromkeys(sides, 0.0)
    figures = {key: side(*job.data(min(size, job.sizes[0]))) for key, side in sides.items()}
    for call in range(CALLS):
        for key, side in sides.items():
            if call > 1 and spent[key] > PATIENCE:
                continue
            start = time.process_time()
            figures[key] = side(*data)
            took = time.process_time() - start
            best[key], spent[key] = min(best[key], took), spent[key] + took
    found = {key: 1000 * seconds for key, seconds in best.items()}
    if "peer" in sides:
        if not math.isclose(figures["ours"], figures["peer"], abs_tol=job.within):
            raise SystemExit(f"{job.title}: we say {figures['ours']}, the peer {figures['peer']}")
        found["ratio"] = best["peer"] / best["ours"]
    return found


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(child(sys.argv[2], sys.argv[3], int(sys.argv[4]))))
    else:
        main(sys.argv[1:])
