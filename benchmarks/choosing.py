"""Measure savings by choosing items, by repeated sampling from three published data sets and by simulation.

    python -m benchmarks.choosing                          a simulation of known truth: bias and coverage
    python -m benchmarks.choosing --pascal FOLDER          `pairs.jsonl`, `references.jsonl`: 11 votes a pair
    python -m benchmarks.choosing --abstract FOLDER        the same files: 48 triplets a pair
    python -m benchmarks.choosing --flickr8k FOLDER        `ExpertAnnotations.txt`, `expert_metric_scores.tsv.gz`

The data sets are PASCAL-50S, ABSTRACT-50S and Flickr8k. Metrics are bleu-4, rouge-l and cider-d, with the tokens of the
COCO evaluation.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quorum.numeric.arrays import Floats
from quorum.statistics.choosing import (
    FLOOR,
    METHODS,
    draw_items,
    inclusion_probabilities,
    mean_of_all_items,
    weighted_kendall,
)

if TYPE_CHECKING:
    from contrib.choosing.population import Population, ScoredPopulation
    from contrib.choosing.savings import EstimatedResults

DRAWS, TAU_DRAWS = 1000, 200
METRICS = ("bleu-4", "rouge-l", "cider-d")


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def of_pairs(folder: Path, kind: str = "") -> Population:
    """Return the pairs of a folder with people's majority. Triplets count like votes, and a drawn pair is a tie."""
    from contrib.choosing.population import Population
    from evaluation.results.metrics.texts import PairTexts

    references = {row["image"]: row["references"][:48] for row in _lines(folder / "references.jsonl")}
    places = {name: place for place, name in enumerate(references)}
    pairs, systems = [], []
    for row in _lines(folder / "pairs.jsonl"):
        votes = row.get("pairwise_votes") or row["triplet_votes"]
        ahead = votes.count(1) - votes.count(2)
        first, second = row["first"].strip(), row["second"].strip()
        if first == second or (kind and row["kind"] != kind):
            continue
        winner = 1 if ahead > 0 else 2 if ahead < 0 else 0
        pairs.append(
            PairTexts(
                row["pair"], row["kind"], places[row["image"]], first, second,
                tuple(references[row["image"]]), winner, not winner,
            )
        )  # fmt: skip
        sources = (row.get("first_source", 6), row.get("second_source", 6))
        systems.append(tuple(f"machine {one}" if one < 6 else "people" for one in sources))
    return Population(
        per="pairs",
        pairs=pairs,
        captions=(),
        keys=[str(pair.pk) for pair in pairs],
        systems=systems,
        documents=list(references.values()),
    )


def report(
    name: str, population: Population, scored: ScoredPopulation, targets: EstimatedResults
) -> dict[str, Floats]:
    from contrib.choosing.savings import BUDGET_SHARES, savings_rows
    from contrib.choosing.selecting import usefulness_of

    useful = {}
    for method in METHODS:
        began = time.perf_counter()
        useful[method] = usefulness_of(method, population, scored)
        print(f"{name}: {method} of {population.size:,} items in {time.perf_counter() - began:.1f} s")
    found = savings_rows(population, useful, targets, draws=DRAWS)
    for group in dict.fromkeys(targets.groups):
        print(
            f"\n{name}, {group} ({targets.groups.count(group)} figures): error, and saved against a uniform sample"
        )
        print(f"{'method':<14}" + "".join(f"{round(100 * share):>10d} %   " for share in BUDGET_SHARES))
        for method in ("even", *METHODS):
            own = [row for row in found if (row["method"], row["group"]) == (method, group)]
            cells = "".join(f"  {row['error']:.4f} {100 * (row['saved'] or 0):+4.0f} %" for row in own)
            print(f"{method:<14}{cells}")
    return useful


def compare_pairs(name: str, folder: Path) -> None:
    from contrib.choosing.savings import results_to_estimate

    for kind in ("", "MM") if name == "PASCAL-50S" else ("",):
        population = of_pairs(folder, kind)
        scored = population.score(METRICS, "ptb")
        targets = results_to_estimate(population, scored.row_scores, METRICS)
        report(f"{name} {kind}".strip(), population, scored, targets)


def compare_on_flickr8k(folder: Path) -> None:
    """Print the savings on Flickr8k's images with graded captions.

    No caption names a system, and no reference is used.
    """
    from contrib.choosing.population import Population, ScoredPopulation
    from contrib.choosing.savings import results_to_estimate
    from evaluation.results.metrics.texts import CaptionTexts

    with gzip.open(folder / "expert_metric_scores.tsv.gz", "rt", encoding="utf-8") as file:
        scores = {
            (row["image"], row["caption"]): [float(row[name]) for name in METRICS]
            for row in csv.DictReader(file, delimiter="\t")
        }
    texts = dict(line.split("\t") for line in (folder / "Flickr8k.token.txt").read_text("utf-8").splitlines())
    captions, rows = [], []
    places_by_image: dict[str, int] = {}
    for line in (folder / "ExpertAnnotations.txt").read_text("utf-8").splitlines():
        image, caption, *grades = line.split("\t")
        if (image, caption) in scores:
            place = places_by_image.setdefault(image, len(places_by_image))
            people = sum(map(int, grades)) / 3
            captions.append(CaptionTexts(None, place, caption, texts[caption], (), people))
            rows.append(scores[image, caption])
    population = Population(
        per="images", pairs=(), captions=captions, keys=[one.key for one in captions],
        systems=[()] * len(captions), documents=[],
    )  # fmt: skip
    row_scores = np.array(rows)[:, np.newaxis]
    scored = ScoredPopulation(population.scores_by_item(row_scores), row_scores, {})
    useful = report("Flickr8k", population, scored, results_to_estimate(population, row_scores, METRICS))
    experts = np.array([one.people for one in captions])

    def taus(places: Any, chance: Floats) -> list[float]:
        own = np.isin(population.item, places)
        return [
            weighted_kendall(row_scores[own, 0, at], experts[own], chance[population.item[own]]).value
            for at in range(len(METRICS))
        ]

    whole = taus(np.arange(population.size), np.ones(population.size))
    print("\nFlickr8k, tau-b of metrics with experts:", dict(zip(METRICS, np.round(whole, 4), strict=True)))
    print("error of tau-b, and of its differences, by budget")
    for method, values in {"even": np.ones(population.size), **useful}.items():
        cells = ""
        for share in (0.1, 0.2, 0.3):
            budget = round(share * population.size)
            chance = inclusion_probabilities(values, budget, floor=1.0 if method == "even" else FLOOR)
            rng = np.random.default_rng(budget)
            off = np.array([taus(draw_items(chance, seed=rng), chance) for _ in range(TAU_DRAWS)]) - whole
            apart = np.stack([off[:, 0] - off[:, 1], off[:, 0] - off[:, 2], off[:, 1] - off[:, 2]])
            cells += (
                f"  {budget:4d}: {np.sqrt(np.square(off).mean()):.4f} {np.sqrt(np.square(apart).mean()):.4f}"
            )
        print(f"{method:<14}{cells}")


def simulate_choosing(runs: int = 4000, items: int = 400, budget: int = 80) -> None:
    """Print bias and coverage on items from an infinite population.

    Half of people's answers depends on the score that determines the item's probability.
    """
    print(
        "what people say goes with usefulness by   bias (HT)   bias (Hajek)   of the most useful   coverage (Hajek)"
    )
    for slope in (0.0, 0.5, 1.0):
        errors: list[tuple[float, float, float, bool]] = []
        for run in range(runs):
            rng = np.random.default_rng([run, round(10 * slope)])
            useful = rng.gamma(1.0, 1.0, items)
            said = 3.0 + slope * (np.sqrt(useful) - 0.8862269254527580) + rng.normal(0, 0.6, items)
            chance = inclusion_probabilities(useful, budget)
            drawn = draw_items(chance, seed=rng)
            hajek = mean_of_all_items(said[drawn], chance[drawn])
            thompson = mean_of_all_items(
                said[drawn], chance[drawn], estimator="horvitz-thompson", population=items
            )
            top = said[np.argsort(-useful)[:budget]].mean()
            errors.append((thompson.value - 3, hajek.value - 3, top - 3, hajek.low <= 3 <= hajek.high))
        means = np.mean(errors, axis=0)
        error = np.std([one[1] for one in errors]) / np.sqrt(runs)
        print(
            f"{slope:<40.1f}  {means[0]:+.4f}     {means[1]:+.4f} ± {1.96 * error:.4f}   {means[2]:+.4f}"
            f"             {means[3]:.3f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("pascal", "abstract", "flickr8k"):
        parser.add_argument(f"--{name}", type=Path)
    asked = parser.parse_args()
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    if asked.pascal:
        compare_pairs("PASCAL-50S", asked.pascal)
    if asked.abstract:
        compare_pairs("ABSTRACT-50S", asked.abstract)
    if asked.flickr8k:
        compare_on_flickr8k(asked.flickr8k)
    if not (asked.pascal or asked.abstract or asked.flickr8k):
        simulate_choosing()


if __name__ == "__main__":
    main()
