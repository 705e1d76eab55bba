"""Check whether studies decide as often as the planner promises, and as the proposed larger studies should.

    python -m benchmarks.planning                  # all, some minutes
    python -m benchmarks.planning --studies 100

`promised` is the planner's power. `kept` is the share of simulated studies whose verdict names the better one; their
votes are drawn by code of this module. `larger` simulates studies without a verdict, computes how many items and
people would settle each, and simulates a study of that size, whose true difference is the observed one.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import django
import numpy as np

from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.statistics.crossed import Contrast
from quorum.statistics.meta import PeoplesWinners, metric_winners, winners_without_raters
from quorum.statistics.power import Size, TwoMetrics, TwoSystems, VoterModel, power_of

SEED = 31
STUDIES = 1600
SIMULATIONS = 2000
MOST_OFF, LEAST, MOST = 0.05, 0.75, 0.88
MANY, SETS = Size(2000, 1, 1), 8  # numbers of items and of data sets that give the true difference of a gap
GAPS = np.array([0, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1.1, 1.5, 2.5, 5, 30])


@dataclass(frozen=True, slots=True)
class Design:
    """A study of two systems or metrics.

    `raters` is the number of people who share the work; 0 if every ten pairs have new people.
    """

    question: TwoSystems | TwoMetrics
    pairs: int
    votes: int
    raters: int
    taste: float

    @property
    def name(self) -> str:
        what = "systems" if isinstance(self.question, TwoSystems) else "metrics"
        who = f"{self.raters} raters" if self.raters else "fresh raters"
        return f"{what}, {self.pairs} pairs, votes={self.votes}, {who}, taste={self.taste:g}"

    @property
    def people(self) -> VoterModel:
        return VoterModel(0.85, pair_spread=0.1, pairs_each=10, raters=self.raters, taste=self.taste)


SYSTEMS, METRICS = TwoSystems(0.7), TwoMetrics(0.8, 0.65, 0.7)
DESIGNS = (
    Design(SYSTEMS, 60, 1, 0, 0.0),
    Design(SYSTEMS, 60, 3, 0, 0.5),
    Design(SYSTEMS, 100, 1, 8, 0.5),
    Design(SYSTEMS, 100, 3, 8, 1.0),
    Design(SYSTEMS, 100, 3, 25, 0.5),
    Design(TwoSystems(0.6), 200, 2, 25, 0.0),
    Design(METRICS, 100, 1, 0, 0.0),
    Design(METRICS, 100, 3, 0, 0.5),
    Design(METRICS, 150, 1, 8, 0.5),
    Design(METRICS, 150, 3, 8, 0.5),
    Design(METRICS, 150, 2, 25, 0.0),
    Design(METRICS, 150, 3, 25, 1.0),
)


def votes_of(design: Design, generator: np.random.Generator) -> tuple[Ints, Ints, Ints, Floats]:
    """Return random votes: (P,) gains, and (V,) pairs, raters and whether the vote is right.

    Gains say whom the right winner of a pair favours.
    """
    gains = np.empty(design.pairs, dtype=np.int64)
    for pair in range(design.pairs):
        if isinstance(design.question, TwoSystems):
            gains[pair] = 1 if generator.random() < design.question.win_rate else -1
        else:
            gains[pair] = generator.choice([0, 1, -1, 0], p=design.question.table)
    taste: dict[int, float] = {}
    rows = []
    order = generator.permutation(design.raters)
    for pair in range(design.pairs):
        chance = generator.beta(0.85 * 9, 0.15 * 9)
        for vote in range(design.votes):
            turn = pair // 10 * design.votes + vote
            rater = int(order[turn % design.raters]) if design.raters else turn
            lean = taste.setdefault(rater, generator.normal(0, design.taste)) * gains[pair]
            odds = chance / (1 - chance) * math.exp(lean)
            rows.append((pair, rater, float(generator.random() < odds / (1 + odds))))
    pairs, raters, right = zip(*rows, strict=True)
    return gains, np.array(pairs), np.array(raters), np.array(right)


def names_the_better(design: Design, generator: np.random.Generator) -> bool:
    """Return whether the verdict on the simulated votes of a study names the better one."""
    from evaluation.results.verdict import pair_verdict

    gains, pairs, raters, right = votes_of(design, generator)
    if isinstance(design.question, TwoSystems):
        # The first system's text is the first of each pair.
        side = np.where((right == 1) == (gains[pairs] > 0), 1, 2)
    else:
        side = np.where(right == 1, 1, 2)  # the right winner is the first of each pair
    lead = np.bincount(pairs, np.where(side == 1, 1.0, -1.0), design.pairs)
    winner = np.where(lead > 0, 1, np.where(lead < 0, 2, 0))
    deletions = winners_without_raters(pairs, raters, side, design.pairs)
    people = PeoplesWinners.from_winners(
        winner, clusters={"item": np.arange(design.pairs), "rater": deletions}
    )
    all_pairs: Flags = np.ones(design.pairs, dtype=np.bool_)
    if isinstance(design.question, TwoSystems):
        share, spread = people.spread_if_even(half_for_none, all_pairs)
        return share > 0.5 and spread.p(share - 0.5) <= 0.05
    named = {"first": np.where(gains < 0, 2, 1), "second": np.where(gains > 0, 2, 1)}
    cells = {metric: {"value": 0.5, "low": 0.0, "high": 1.0} for metric in named}
    verdict = pair_verdict(named, people, all_pairs, cells)
    return verdict["settled"] and verdict["leaders"] == ["first"]


def half_for_none(_pairs: Ints, winners: Floats) -> Floats:
    return np.where(winners == 0, 0.5, winners == 1)


def contrast_of_pairs(data: Any, at: int) -> Contrast:
    people = people_of(data, at)
    share, spread = people.spread_if_even(half_for_none, np.ones(len(people.winners), dtype=np.bool_))
    return Contrast(share - 0.5, spread)


def contrast_of_outputs(data: Any, at: int) -> Contrast:
    from benchmarks.coverage import standings

    contrast: Contrast = standings(data, at).contrast(0, 1)
    return contrast


def contrast_of_metrics(data: Any, at: int) -> Contrast:
    people = people_of(data, at)
    first, second = (metric_winners(scores, np.zeros_like(scores)) for scores in data.metric[at])
    return people.contrast(first, second, np.ones(len(first), dtype=np.bool_))


def people_of(data: Any, at: int) -> PeoplesWinners:
    return PeoplesWinners.from_winners(data.winner[at], clusters=data.clusters(winners_without_raters, at))


Draw = Callable[[Any, np.random.Generator, int, float], Any]


def draws() -> dict[str, tuple[Draw, Callable[[Any, int], Contrast], Callable[[Any], float]]]:
    """Return three functions for each kind of comparison.

    They draw studies with a true difference `gap`, return the contrast of a study, and return its mean difference.
    """
    from benchmarks.coverage import judgments, metric_accuracies, outputs, system_means

    def of_metrics(cell: Any, generator: np.random.Generator, sets: int, gap: float) -> Any:
        return judgments(cell, generator, sets, True, 0.5, 0.5, noise=(0.8, 0.8 + gap))

    return {
        "pairs": (
            lambda cell, generator, sets, gap: judgments(cell, generator, sets, True, 1.0, 0.0, gap=gap),
            contrast_of_pairs,
            lambda data: float((data.winner == 1).mean()) - 0.5,
        ),
        "grades": (
            lambda cell, generator, sets, gap: outputs(cell, generator, sets, True, 2, gap=gap),
            contrast_of_outputs,
            lambda data: float(-np.diff(system_means(data)).mean()),
        ),
        "metrics": (
            of_metrics,
            contrast_of_metrics,
            lambda data: float(-np.diff(metric_accuracies(data)).mean()),
        ),
    }


# The comparison, numbers of items, raters and votes, taste, and the gap of the first studies.
LARGER_STUDIES = (
    ("pairs", 50, 8, 3, 0.4, 0.3),
    ("pairs", 100, 25, 1, 0.0, 0.2),
    ("grades", 50, 8, 3, 1.2, 0.4),
    ("grades", 50, 12, 3, 0.4, 0.2),
    ("metrics", 100, 12, 3, 0.0, 0.4),
    ("metrics", 100, 25, 1, 0.4, 0.4),
)


def share_settled(
    what: str, items: int, raters: int, votes: int, taste: float, gap: float, studies: int
) -> float:
    """Return the share of larger studies that settle the comparison."""
    from benchmarks.coverage import Cell
    from evaluation.results.larger_studies import larger_study

    draw, contrast_of, difference_of = draws()[what]
    generator = np.random.default_rng([SEED, items, raters, votes])
    many = Cell(MANY.pairs, 200, votes, taste, 0.0, False)
    differences = np.maximum.accumulate(
        [difference_of(draw(many, generator, SETS, one_gap)) for one_gap in GAPS.tolist()]
    )
    is_settled: list[bool] = []
    while len(is_settled) < studies:
        data = draw(Cell(items, raters, votes, taste, 0.0, False), generator, 1, gap)
        contrast = contrast_of(data, 0)
        contrast = Contrast(abs(contrast.difference), contrast.spread)
        larger = larger_study([contrast], items, raters)
        if contrast.p <= 0.05 or larger["more"] is None or larger["more_raters"] is None:
            continue
        gap_seen = float(np.interp(contrast.difference, differences, GAPS))
        cell = Cell(larger["more"], raters + larger["more_raters"], votes, taste, 0.0, False)
        new = contrast_of(draw(cell, generator, 1, gap_seen), 0)
        is_settled.append(new.p <= 0.05 and new.difference > 0)
    return float(np.mean(is_settled))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--studies", type=int, default=STUDIES)
    studies = parser.parse_args().studies
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    off = 0
    for number, design in enumerate(DESIGNS):
        size = Size(design.pairs, 1, design.votes)
        (promise,) = power_of(design.question, design.people, [size], simulations=SIMULATIONS, seed=SEED)
        generator = np.random.default_rng([SEED, number])
        kept = float(np.mean([names_the_better(design, generator) for _ in range(studies)]))
        off += abs(kept - promise.power) > MOST_OFF
        print(f"{design.name:<52} promised {promise.power:.3f} kept {kept:.3f}", flush=True)
    for what, items, raters, votes, taste, gap in LARGER_STUDIES:
        share = share_settled(what, items, raters, votes, taste, gap, studies)
        off += not LEAST <= share <= MOST
        name = f"{what}, {items} items, {raters} raters, votes={votes}, taste={taste:g}"
        print(f"{name:<52} larger studies settle {share:.3f}", flush=True)
    print(f"{off} beyond a limit (promises within {MOST_OFF}; larger studies from {LEAST} to {MOST})")
    return 1 if off else 0


if __name__ == "__main__":
    sys.exit(main())
