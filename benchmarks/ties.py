"""Compare strengths with ties with published scores, simulate adaptive sampling of pairs, and time a million votes.

    python -m benchmarks.ties --votes llmfao.csv --golden llmfao-golden.csv

The files are those of https://github.com/dustalov/evalica (left, right, winner; algorithm, item, score).
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import numpy as np

from quorum.numeric.arrays import Floats
from quorum.statistics.aggregation import bradley_terry_of_comparisons, preference_strengths

OUTCOMES = {"left": 1, "right": 2, "tie": 0}
PREFERENCES = np.array([0, 1, -1])
# Chances that the first of each pair wins. No strengths have these chances.
TRUE_WINS = np.array([0.8, 0.6, 0.55])
PAIRS = np.array([(0, 1), (1, 2), (0, 2)])


def _read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def compare_with_golden(votes: Path, golden: Path) -> None:
    """Compare strengths with Evalica's Bradley-Terry (half a win each) and Newman (whose ties are Davidson's)."""
    rows = _read_rows(votes)
    first, second = [row["left"] for row in rows], [row["right"] for row in rows]
    winners = np.array([OUTCOMES[row["winner"]] for row in rows])
    scores = {(row["algorithm"], row["item"]): float(row["score"]) for row in _read_rows(golden)}
    half = bradley_terry_of_comparisons(first, second, winners)
    davidson = preference_strengths(first, second, PREFERENCES[winners])
    kupper = preference_strengths(first, second, PREFERENCES[winners], model="cumulative")
    for name, found in (("bradley_terry", half), ("newman", davidson)):
        logs = np.log([scores[name, item] for item in found.items.tolist()])
        apart = np.abs(found.log_strength - (logs - logs.mean())).max()
        print(
            f"{name}: {len(logs)} items, {len(rows):,} votes, largest difference of log-strengths {apart:.1e}"
        )
    print(f"Davidson: nu {np.exp(davidson.cuts[0]):.4f}, log-likelihood {davidson.log_likelihood:.1f}")
    print(f"Rao-Kupper: theta {np.exp(kupper.cuts[0]):.4f}, log-likelihood {kupper.log_likelihood:.1f}")


def compare_adaptive_drawing(rows: int = 20_000, runs: int = 50) -> None:
    """Draw pairs unevenly, with chances that no strengths have, and fit with and without weights."""

    def fitted_strengths(shares: Floats, weigh: bool, seed: int) -> Floats:
        rng = np.random.default_rng(seed)
        pair = rng.choice(3, rows, p=shares)
        won = np.where(rng.random(rows) < TRUE_WINS[pair], 1, -1)
        weights = 1 / shares[pair] if weigh else None
        return preference_strengths(PAIRS[pair, 0], PAIRS[pair, 1], won, weights=weights).log_strength

    even, uneven = np.full(3, 1 / 3), np.array([0.1, 0.1, 0.8])
    target = np.mean([fitted_strengths(even, False, seed) for seed in range(runs)], axis=0)
    for weigh in (False, True):
        found = np.mean([fitted_strengths(uneven, weigh, runs + seed) for seed in range(runs)], axis=0)
        words = "with" if weigh else "without"
        print(f"{words} weights: largest bias of a log-strength {np.abs(found - target).max():.3f}")


def print_times(rows: int = 1_000_000, systems: int = 100) -> None:
    rng = np.random.default_rng(0)
    first = rng.integers(0, systems, rows)
    second = (first + rng.integers(1, systems, rows)) % systems
    preference = rng.integers(-2, 3, rows)
    clusters = {"item": rng.integers(0, 5000, rows), "rater": rng.integers(0, 1000, rows)}
    began = time.perf_counter()
    found = preference_strengths(first, second, preference, clusters=clusters)
    fitted = time.perf_counter()
    found.gains().argmax()
    print(f"{rows:,} votes, {systems} systems: fit with clusters {fitted - began:.1f} s, ", end="")
    print(f"next pair {1000 * (time.perf_counter() - fitted):.2f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--votes", type=Path)
    parser.add_argument("--golden", type=Path)
    options = parser.parse_args()
    if options.votes and options.golden:
        compare_with_golden(options.votes, options.golden)
    compare_adaptive_drawing()
    print_times()


if __name__ == "__main__":
    main()
