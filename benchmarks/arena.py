"""Adaptive drawing: bias and coverage with and without weights, by simulation; and the time of a draw.

    python -m benchmarks.arena [--runs 200] [--pages 400] [--judgments 1000000]

Systems differ by item, people by taste. "Even" draws all pairs of systems alike, "live" as an arena does.
"""

from __future__ import annotations

import argparse
from itertools import combinations

import numpy as np

from evaluation.arrays import Floats
from evaluation.statistics.adaptive import Drawing, prior_strengths
from evaluation.statistics.aggregation import preference_strengths

SYSTEMS, ITEMS, PEOPLE, PAGE = 5, 60, 30, 5
PAIRS = np.array(list(combinations(range(SYSTEMS), 2)))
LADDER = np.array([1.0, 0.5, 0.4, -0.3, -1.6])  # strengths, of which two are hard to tell apart
TIE = 0.6  # Davidson's nu
# added to the difference of some pairs: no strengths have these chances
TWISTED = {(0, 4): -2.0, (1, 2): 1.2, (2, 3): -1.0}


def _differences(twisted: bool) -> Floats:
    found = LADDER[PAIRS[:, 0]] - LADDER[PAIRS[:, 1]]
    if twisted:
        for place, pair in enumerate(map(tuple, PAIRS.tolist())):
            found[place] += TWISTED.get(pair, 0.0)
    return found


def _chances(difference: Floats) -> Floats:
    """Return (N, 3) chances of the second, none and the first."""
    weights = np.stack(
        [np.exp(-difference / 2), np.full_like(difference, TIE), np.exp(difference / 2)], axis=-1
    )
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def _strengths(rows: list[tuple[int, ...]], weights: Floats | None = None) -> tuple[Floats, Floats, Floats]:
    pair, answer, item, person = np.array(rows).T
    found = preference_strengths(
        PAIRS[pair, 0], PAIRS[pair, 1], answer - 1, weights=weights, clusters={"item": item, "rater": person}
    )
    return found.log_strength, found.low, found.high


def one_run(differences: Floats, seed: int, pages: int, even: float) -> tuple[list[tuple[int, ...]], Floats]:
    """Return (pair, answer, item, person) of each judgment, and its pair's chance."""
    rng = np.random.default_rng(seed)
    of_item = rng.normal(0, 0.6, (ITEMS, SYSTEMS))
    of_person = rng.normal(0, 0.3, (PEOPLE, SYSTEMS))
    counts = np.zeros((len(PAIRS), 3))
    rows, chances = [], []
    for _ in range(pages):
        theta = prior_strengths(PAIRS[:, 0], PAIRS[:, 1], counts[:, ::-1], items=SYSTEMS)
        drawing = Drawing.of(PAIRS[:, 0], PAIRS[:, 1], counts.sum(axis=1), theta, even=even)
        person = int(rng.integers(PEOPLE))
        for _ in range(PAGE):
            pair, chance = drawing.draw(np.ones(len(PAIRS), dtype=bool), rng)
            item = int(rng.integers(ITEMS))
            own = of_item[item] + of_person[person]
            difference = differences[pair] + own[PAIRS[pair, 0]] - own[PAIRS[pair, 1]]
            answer = int(rng.choice(3, p=_chances(np.array(difference))))
            rows.append((pair, answer, item, person))
            chances.append(chance)
        answered = np.array(rows[-PAGE:])
        np.add.at(counts, (answered[:, 0], answered[:, 1]), 1)
    return rows, np.array(chances)


def _target(differences: Floats) -> Floats:
    """Return the strengths that endless even drawing would give."""
    rng = np.random.default_rng(0)
    spread = rng.normal(0, np.sqrt(2 * (0.6**2 + 0.3**2)), 200_000)
    table = np.array([_chances(one + spread).mean(axis=0) for one in differences])
    first, second = np.repeat(PAIRS[:, 0], 3), np.repeat(PAIRS[:, 1], 3)
    answers = np.tile([-1, 0, 1], len(PAIRS))
    return preference_strengths(first, second, answers, weights=table.ravel()).log_strength


def simulate(runs: int, pages: int, even: float = 0.2) -> None:
    for name, twisted in (("strengths hold", False), ("no strengths hold", True)):
        differences = _differences(twisted)
        target = _target(differences)
        found: dict[str, list[tuple[Floats, Floats, Floats]]] = {"even": [], "live": [], "live, weighted": []}
        for seed in range(runs):
            found["even"].append(_strengths(one_run(differences, seed, pages, 1.0)[0]))
            rows, chances = one_run(differences, seed, pages, even)
            found["live"].append(_strengths(rows))
            found["live, weighted"].append(_strengths(rows, (1 / chances) / (1 / chances).mean()))
        print(f"{name}: {runs} runs of {pages * PAGE:,} judgments, {SYSTEMS} systems")
        for words, results in found.items():
            values, lows, highs = map(np.array, zip(*results, strict=True))
            bias = np.abs(values.mean(axis=0) - target).max()
            covered = ((lows <= target) & (target <= highs)).mean()
            close = (values[:, 1] - values[:, 2]).std()
            print(f"  {words:15} largest bias {bias:.3f}, coverage {100 * covered:.1f} %, ", end="")
            print(f"standard error {values.std(axis=0).mean():.3f}, of the closest two {close:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--pages", type=int, default=400)
    options = parser.parse_args()
    simulate(options.runs, options.pages)


if __name__ == "__main__":
    main()
