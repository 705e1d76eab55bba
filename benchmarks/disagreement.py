"""Check the figures of docs/disagreement.md by simulations of known truth, and on Flickr8k's experts.

    python -m benchmarks.disagreement                     floors, false alarms and power
    python -m benchmarks.disagreement --flickr8k FOLDER   metrics against soft labels of real people

FOLDER has `ExpertAnnotations.txt` (image, caption, three grades) and `expert_metric_scores.tsv.gz` (image, caption,
scores by metric).
"""

from __future__ import annotations

import argparse
import csv
import gzip
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import entr

from quorum.numeric.arrays import Floats
from quorum.statistics.disagreement import (
    divergence,
    known_groups,
    metric_probabilities,
    rater_groups,
    soft_labels,
)

UNITS = 2_000
GRADES = [1, 2, 3, 4]
FOLDS = 5


def print_floors() -> None:
    """Print the entropy by counting and with corrections, and the true entropy.

    The last truth is not a Dirichlet distribution.
    """
    generator = np.random.default_rng(1)
    print("answers  truth of p    true  counted  Miller-Madow  Dirichlet")
    for n in (2, 3, 5, 10):
        truths = {
            "Beta(1, 1)": generator.beta(1, 1, UNITS),
            "Beta(.3, .3)": generator.beta(0.3, 0.3, UNITS),
            "two points": np.where(generator.random(UNITS) < 0.7, 0.95, 0.5),
        }
        for name, p in truths.items():
            yes = generator.binomial(n, p)
            values = [value for one in yes for value in [1] * one + [0] * (n - one)]
            found = [
                soft_labels(
                    np.repeat(np.arange(UNITS), n), values, labels=[0, 1], correction=correction
                ).floor
                for correction in ("none", "miller-madow", "dirichlet")
            ]
            true = float(entr([p, 1 - p]).sum(axis=0).mean())
            print(f"{n:7d}  {name:12s}  {true:.3f}  {found[0]:7.3f}  {found[1]:12.3f}  {found[2]:9.3f}")


def crowd(seed: int, *, biased: int = 0, careless: int = 0) -> tuple[Any, Any, Any]:
    """Return the judgments of twenty raters, who are right in nine of ten; five judge each of 120 units.

    The first `biased` raters answer yes to half of the units whose answer is no. The last `careless` raters guess.
    """
    generator = np.random.default_rng(seed)
    truth, unit = generator.integers(0, 2, 120), np.repeat(np.arange(120), 5)
    rater = np.concatenate([generator.permutation(20)[:5] for _ in range(120)])
    right = generator.random(600) < np.where(rater >= 20 - careless, 0.5, 0.9)
    value = np.where(right, truth[unit], 1 - truth[unit])
    swayed = (rater < biased) & (truth[unit] == 0) & (generator.random(600) < 0.5)
    return unit, rater, np.where(swayed, 1, value)


def print_groups() -> None:
    """Print how often p is .05 or less."""
    for name, size, options in (
        ("one kind", 100, {}),
        ("5 of 20 biased", 40, {"biased": 5}),
        ("3 of 20 careless", 40, {"careless": 3}),
    ):
        ps = [
            rater_groups(*crowd(1000 + seed, **options), bootstraps=19, restarts=2, seed=seed).p
            for seed in range(size)
        ]
        print(f"found groups, {name}: {np.mean(np.array(ps) <= 0.05):.3f} of {size}")
    for name, size, options in (
        ("one kind", 400, {}),
        ("half of all careless, groups by chance", 400, {"careless": 10}),
        ("5 of 20 biased", 100, {"biased": 5}),
    ):
        ps = []
        for seed in range(size):
            unit, rater, value = crowd(5000 + seed, **options)
            group = rater < 5 if "biased" in options else rater % 2
            ps.append(known_groups(unit, rater, value, group, permutations=99, seed=seed).p)
        print(f"known groups, {name}: {np.mean(np.array(ps) <= 0.05):.3f} of {size}")


def print_flickr8k(folder: Path) -> None:
    """Compare metrics with the grades of three experts, with the images in five folds."""
    with gzip.open(folder / "expert_metric_scores.tsv.gz", "rt", encoding="utf-8") as lines:
        scores = {
            (row.pop("image"), row.pop("caption")): row for row in csv.DictReader(lines, delimiter="\t")
        }
    told = (folder / "ExpertAnnotations.txt").read_text(encoding="utf-8").splitlines()
    rows = [row for row in (line.split("\t") for line in told) if (row[0], row[1]) in scores]
    units = np.repeat(np.arange(len(rows)), 3)
    grades = [int(grade) for row in rows for grade in row[2:]]
    soft = soft_labels(units, grades, labels=GRADES)
    counted = soft_labels(units, grades, labels=GRADES, correction="none").floor
    fold = np.unique([row[0] for row in rows], return_inverse=True)[1] % FOLDS
    print(f"{len(rows):,} captions: entropy {counted:.3f} counted, {soft.floor:.3f} corrected")
    predictions = {
        "equally likely": np.full(soft.shares.shape, 1 / len(GRADES)),
        "same for all": metric_probabilities(np.zeros(len(rows)), soft.counts, fold),
    }
    for metric in next(iter(scores.values())):
        metric_scores: Floats = np.array([float(scores[row[0], row[1]][metric]) for row in rows])
        predictions[metric] = metric_probabilities(metric_scores, soft.counts, fold)
    for name, predicted in predictions.items():
        found = divergence(soft.shares, predicted)
        print(f"{name:15s} {found.mean_cross_entropy:.3f} {found.mean_jensen_shannon:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--flickr8k", type=Path, metavar="FOLDER")
    asked = parser.parse_args()
    if asked.flickr8k:
        print_flickr8k(asked.flickr8k)
    else:
        print_floors()
        print_groups()
