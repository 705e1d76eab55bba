"""Measure how often a habit of people to choose the left side is found, and whether strengths without it are right.

    python -m benchmarks.side_bias [--studies 400]      # about ten minutes

25 people judge pages of 20 pairs. The busiest person has three times the work of the rarest. Pairs differ in how clear
they are, and people differ in taste. Half of each page has the first text on the left, as in the product. "Uneven": the
system with the lower number is on the left in four of five pairs, as may be in files from elsewhere, for which no bias
is claimed. People have one of these habits:

    none      no habit
    both      in 15 of 100 pairs a side, whatever the texts: half of the people the left, the others the right
    15 %      in 15 of 100 pairs the left
    some      in 30 of 100 pairs the left, half of the people; the others have no habit
    log-odds  the left as if its text were better by .4

Strengths are compared with those of an infinite study of the same people, and with those of an infinite study of people
without a habit. Both are computed by quadrature. They differ if a habit replaces answers about the texts.

The limits are: a habit of 15 % is found in at least 95 of 100 studies; with "none" and "both", a bias is claimed in at
most 5. With the option, 95 % intervals contain the strengths of the same people in .93 to .985 of the studies, and also
the strengths of people without a habit if both are equal. Three standard errors of the simulation are tolerated.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any, NamedTuple

import django
import numpy as np
from scipy.special import expit

from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.statistics.aggregation import preference_strengths

PEOPLE, PAGE, SEED = 25, 20, 29
CLEAR, TASTE = 0.5, 0.3  # standard deviations
HABIT, LOG_ODDS, OFTEN = 0.15, 0.4, 0.8
BIASED_SHARE = 0.9  # share of the answers of the person whom the detector should find
MIN_FOUND, MAX_CLAIMED, MIN_HELD, MAX_HELD = 0.95, 0.05, 0.93, 0.985
NO_BIAS = ("none", "both")
HABITS = (*NO_BIAS, "15 %", "some", "log-odds")
# Of each half of the people: the share of pairs in which they choose a side, and the side that they choose.
SHARES = {
    "both": ((HABIT, 1), (HABIT, -1)),
    "15 %": ((HABIT, 1), (HABIT, 1)),
    "some": ((2 * HABIT, 1), (0.0, 1)),
}
COLUMNS = (
    "left", "bias claimed", "held", "effect held", "held, of no habit", "the same, without the option", "size",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Design:
    systems: int
    pairs: int
    votes: int
    is_uneven: bool = False

    @property
    def name(self) -> str:
        sides = ", uneven" if self.is_uneven else ""
        return f"{self.systems} systems, {self.pairs} pairs, {self.votes} votes{sides}"

    @property
    def strengths(self) -> Floats:
        return np.linspace(0.8, -0.8, self.systems)


DESIGNS = (Design(3, 1000, 3), Design(4, 600, 5), Design(6, 200, 15), Design(5, 1000, 3, is_uneven=True))


class Votes(NamedTuple):
    """(N,) judgments: pair, person, page, systems of both texts, whether the first was on the left, whether it won."""

    pair: Ints
    person: Ints
    page: Ints
    first: Ints
    second: Ints
    on_left: Flags
    first_won: Flags

    @property
    def chose_left(self) -> Flags:
        return self.on_left == self.first_won


def draw_votes(design: Design, habit: str, generator: np.random.Generator) -> Votes:
    systems = np.array(list(permutations(range(design.systems), 2)))
    both = systems[generator.integers(len(systems), size=design.pairs)]
    clear = generator.normal(0, CLEAR, design.pairs)
    taste = generator.normal(0, TASTE, (PEOPLE, design.systems))
    hits = design.pairs // PAGE
    arrival = generator.exponential(size=(hits, PEOPLE)) / np.linspace(1, 3, PEOPLE)
    work = np.argsort(arrival, axis=1)[:, : design.votes].ravel()
    pair = np.repeat(np.arange(hits), design.votes)[:, np.newaxis] * PAGE + np.arange(PAGE)
    first, second = both[pair, 0], both[pair, 1]
    on_left = generator.permuted(np.tile(np.arange(PAGE) % 2 == 0, (len(work), 1)), axis=1)
    if design.is_uneven:
        on_left = (generator.random(pair.shape) < OFTEN) == (first < second)
    person = np.broadcast_to(work[:, np.newaxis], pair.shape)
    gap = design.strengths[first] - design.strengths[second] + clear[pair]
    gap += taste[person, first] - taste[person, second]
    gap += np.where(on_left, LOG_ODDS, -LOG_ODDS) * (habit == "log-odds")
    won = generator.random(pair.shape) < expit(gap)
    half = generator.permutation(np.arange(PEOPLE) % 2)[person]
    share, side = np.array(SHARES.get(habit, ((0.0, 1),) * 2))[half].transpose(2, 0, 1)
    won = np.where(generator.random(pair.shape) < share, on_left == (side > 0), won)
    page = np.broadcast_to(np.arange(len(work))[:, np.newaxis], pair.shape)
    return Votes(*map(np.ravel, (pair, person, page, first, second, on_left, won)))


def infinite_study(design: Design, habit: str) -> tuple[Floats, float]:
    """Return the strengths and the order effect that the option gives in an infinite study."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(61)
    spread = np.hypot(CLEAR, np.sqrt(2) * TASTE) * nodes
    rows: list[tuple[float, ...]] = []
    for first, second in permutations(range(design.systems), 2):
        for order in (1, -1):
            often = (OFTEN if (order > 0) == (first < second) else 1 - OFTEN) if design.is_uneven else 0.5
            gap = (
                design.strengths[first] - design.strengths[second] + LOG_ODDS * order * (habit == "log-odds")
            )
            sincere = float(weights @ expit(gap + spread)) / float(weights.sum())
            halves = [
                (1 - share) * sincere + share * (order == side)
                for share, side in SHARES.get(habit, ((0.0, 1),))
            ]
            wins = sum(halves) / len(halves)
            rows += [(first, second, order, 1, often * wins), (first, second, order, -1, often * (1 - wins))]
    first, second, order, preference, weight = np.array(rows).T
    fit = preference_strengths(first, second, preference, covariates=order, weights=weight)
    return fit.log_strength, float(fit.coefficients[0])


def held_by(fit: Any, truth: Floats) -> float:
    return float(((fit.low <= truth) & (truth <= fit.high)).mean())


def study_values(design: Design, votes: Votes, truths: tuple[Floats, Floats, float]) -> tuple[float, ...]:
    """Return a study's values for the first columns, computed by the functions that pages use."""
    from contrib.strengths.pairs import is_biased
    from evaluation.data.judgment_sets.records import JudgmentTable, UnitRow, Units
    from evaluation.results.agreement import judgment_clusters, side_bias

    n = len(votes.pair)
    value, no = np.where(votes.first_won, 1.0, 2.0), np.zeros(n, dtype=np.bool_)
    side = np.where(votes.on_left, 1, 2).astype(np.int8)
    table = JudgmentTable(
        np.arange(n), votes.pair, votes.person, value, value, (), no, ~no, side, np.full(n, np.nan), ""
    )
    units = Units.from_rows([UnitRow(pair, str(pair), "", pair) for pair in range(design.pairs)])
    images = np.arange(design.pairs) * 3 // 4  # some have two pairs
    bias = side_bias(table, units, images, anonymous=False)
    clusters = judgment_clusters(units, images, table.unit, table.worker, anonymous=False)
    fit, fit_without = (
        preference_strengths(
            votes.first, votes.second, np.where(votes.first_won, 1, -1), covariates=order, clusters=clusters
        )
        for order in (table.order_sign, None)
    )
    same, without_habit, effect = truths
    effect_held = fit.coefficient_low[0] <= effect <= fit.coefficient_high[0]
    return (
        bias["value"], is_biased(bias, random_sides=not design.is_uneven), held_by(fit, same), effect_held,
        held_by(fit, without_habit), held_by(fit_without, without_habit),
    )  # fmt: skip


def is_within(values: Sequence[float], least: float, most: float) -> bool:
    """Return whether the mean is within the limits, or outside them by at most three standard errors."""
    mean, error = float(np.mean(values)), 3 * float(np.std(values)) / len(values) ** 0.5
    return least - error <= mean <= most + error


def run_cell(design: Design, habit: str, studies: int) -> Iterator[str]:
    """Print a row, and yield what exceeds a limit."""
    (same, effect), (without_habit, _) = infinite_study(design, habit), infinite_study(design, "none")
    cell = (DESIGNS.index(design), HABITS.index(habit))
    rows = [
        study_values(
            design,
            draw_votes(design, habit, np.random.default_rng([SEED, *cell, number])),
            (same, without_habit, effect),
        )
        for number in range(studies)
    ]
    _, claimed, held, _, held_without_habit, _ = np.array(rows, dtype=np.float64).T
    size = float(np.abs(same).sum() / np.abs(without_habit).sum())
    figures = [*np.mean(rows, axis=0), size]
    print(f"| {design.name} | {habit} | {' | '.join(f'{figure:.3f}' for figure in figures)} |", flush=True)
    checks = [("intervals hold the strengths", held, MIN_HELD, MAX_HELD)]
    if habit in ("none", "log-odds"):
        checks.append(("intervals hold those of no habit", held_without_habit, MIN_HELD, MAX_HELD))
    if habit in NO_BIAS:
        checks.append(("a bias is claimed", claimed, 0.0, MAX_CLAIMED))
    elif habit == "15 %" and not design.is_uneven:
        checks.append(("the bias is found", claimed, MIN_FOUND, 1.0))
    for what, values, least, most in checks:
        if not is_within(values, least, most):
            yield f"{design.name}, {habit}: {what} in {np.mean(values):.3f}, expected {least} to {most}."


def count_flags(habit: str, studies: int) -> tuple[int, int, int]:
    """Count studies in which the detector flags a one-sided person.

    Return their number, the number of other people flagged, and the number of all other people. The detector checks the
    pages in the order in which they were submitted.
    """
    from annotation.quality.detectors import make_rule
    from annotation.quality.detectors.history import AnswerFormat, OwnJudgment
    from contrib.replays.page_replays import replay_detectors
    from contrib.replays.submitted_pages import SubmittedPage

    rules = [make_rule("side-bias", {})]
    answers = AnswerFormat.from_values((1, 2), level="nominal", has_sides=True)
    detected = others = people = 0
    for number in range(studies):
        generator = np.random.default_rng([SEED, len(DESIGNS), HABITS.index(habit), number])
        votes = draw_votes(DESIGNS[0], habit, generator)
        one_sided = int(generator.choice(votes.person))
        left = np.where(
            votes.person == one_sided, generator.random(len(votes.person)) < BIASED_SHARE, votes.chose_left
        )
        pages = [
            SubmittedPage(
                int(votes.person[rows[0]]),
                [
                    OwnJudgment(
                        page,
                        int(votes.pair[row]),
                        2.0 - left[row],
                        2.0 - votes.first_won[row],
                        float(left[row]),
                    )
                    for row in rows.tolist()
                ],
            )
            for page, rows in enumerate(np.arange(len(left)).reshape(-1, PAGE))
        ]
        flagged = set(replay_detectors(pages, rules=rules, answer_format=answers))
        detected += one_sided in flagged
        others += len(flagged - {one_sided})
        people += len(np.unique(votes.person)) - 1
    return detected, others, people


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--studies", type=int, default=400, help="of each row (default: 400)")
    studies = parser.parse_args().studies
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    print(f"{studies} studies a row, seed {SEED}.\n")
    print(f"| study | habit | {' | '.join(COLUMNS)} |")
    print("|---" * (2 + len(COLUMNS)) + "|")
    problems = [line for design in DESIGNS for habit in HABITS for line in run_cell(design, habit, studies)]
    print(f"\nThe detector side-bias, with one person who takes the left in {BIASED_SHARE:.0%}:")
    for habit in ("none", "15 %"):
        detected, others, people = count_flags(habit, studies)
        print(
            f"others' habit {habit}: found in {detected} of {studies} studies, and {others} of {people:,} others"
        )
    print("\n".join(["", *(problems or ["Within all limits."])]))
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
