"""Compare consensus, comparisons and rankings with crowd-kit 1.4.2 and evalica 0.4.2, on random judgments.

    python -m benchmarks.aggregation                        # every job at every size, some minutes
    python -m benchmarks.aggregation "bradley-terry" --sizes 1000000

requirements-oracles.txt names the other programs. Judgments: 500 workers judge three per task, are right three
times in four, and choose between two labels; crowd-kit gets a pandas frame. Comparisons: of 50 systems, as lists of
names, with a tenth tied. crowd-kit's Dawid-Skene stops too early, so both programs do 20 steps.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks.measuring import Job, main
from quorum.statistics.aggregation import (
    bradley_terry_of_comparisons,
    dawid_skene,
    majority_vote,
    tournament,
    weighted_vote,
)
from quorum.statistics.ranking import judge_rankings, median_rank, r_precision, recall_at_k, success_at_k

TASKS = (10_000, 100_000, 1_000_000)
ROWS = (10_000, 100_000, 1_000_000)
JUDGMENTS = 3
WORKERS = 500
SYSTEMS = 50
STEPS = 20
SHOWN = 1_000
SEED = 20


@dataclass(frozen=True)
class Judgments:
    """Judgments as columns and as the other program's frame, and weights of workers."""

    units: NDArray[np.int64]
    workers: NDArray[np.int64]
    values: NDArray[np.int64]
    weights: NDArray[np.float64]
    frame: Any


def judgments(tasks: int) -> Judgments:
    rng = np.random.default_rng(SEED)
    rows = tasks * JUDGMENTS
    units, workers = np.repeat(np.arange(tasks), JUDGMENTS), rng.integers(0, WORKERS, rows)
    truth = rng.integers(0, 2, tasks)
    values = np.where(rng.random(rows) < 0.75, truth[units], 1 - truth[units])
    try:
        pandas = importlib.import_module("pandas")
        frame = pandas.DataFrame({"task": units, "worker": workers, "label": values})
    except ImportError:
        frame = None
    return Judgments(units, workers, values, rng.random(WORKERS) + 0.1, frame)


def _crowdkit(name: str) -> Any:
    return getattr(importlib.import_module("crowdkit.aggregation"), name)


def majority(given: Judgments) -> ArrayLike:
    return majority_vote(given.units, given.values, ties="lowest").winner[:SHOWN]


def peer_majority(given: Judgments) -> ArrayLike:
    labels: ArrayLike = _crowdkit("MajorityVote")().fit_predict(given.frame).sort_index().to_numpy()[:SHOWN]
    return labels


def weighted_winners(given: Judgments) -> ArrayLike:
    return weighted_vote(given.units, given.values, given.weights[given.workers]).winner[:SHOWN]


def peer_weighted(given: Judgments) -> ArrayLike:
    skills = importlib.import_module("pandas").Series(given.weights)
    labels = _crowdkit("MajorityVote")().fit_predict(given.frame, skills).sort_index()
    answer: ArrayLike = labels.to_numpy()[:SHOWN]
    return answer


def twenty_steps(given: Judgments) -> ArrayLike:
    found = dawid_skene(given.units, given.workers, given.values, max_iterations=STEPS, tolerance=0)
    return found.posterior[:SHOWN, 1]


def peer_twenty_steps(given: Judgments) -> ArrayLike:
    found = _crowdkit("DawidSkene")(n_iter=STEPS, tol=-np.inf).fit(given.frame)
    chances: ArrayLike = found.probas_.sort_index()[1].to_numpy()[:SHOWN]
    return chances


def to_the_end(given: Judgments) -> ArrayLike:
    found = dawid_skene(given.units, given.workers, given.values)
    return [found.converged, found.iterations]


def one_coin(given: Judgments) -> ArrayLike:
    found = dawid_skene(given.units, given.workers, given.values, model="one-coin")
    return [found.converged, found.iterations]


@dataclass(frozen=True)
class Comparisons:
    """Comparisons of two systems: the names, the winner (1, 2 or 0), and the winner in the other program's form."""

    first: list[str]
    second: list[str]
    winners: NDArray[np.int64]
    outcomes: list[Any]


def comparisons(rows: int) -> Comparisons:
    """Return random comparisons of 50 systems. Every name is a separate str, as if read from a file."""
    rng = np.random.default_rng(SEED)
    strength = rng.random(SYSTEMS) + 0.1
    first = rng.integers(0, SYSTEMS, rows)
    second = (first + rng.integers(1, SYSTEMS, rows)) % SYSTEMS
    won = rng.random(rows) < strength[first] / (strength[first] + strength[second])
    winners = np.where(rng.random(rows) < 0.1, 0, np.where(won, 1, 2))
    names = [[f"system-{place:02}" for place in column.tolist()] for column in (first, second)]
    try:
        winner = importlib.import_module("evalica").Winner
        kinds = [winner.Draw, winner.X, winner.Y]
        outcomes = [kinds[place] for place in winners.tolist()]
    except ImportError:
        outcomes = []
    return Comparisons(names[0], names[1], winners, outcomes)


def bradley_terry(given: Comparisons) -> ArrayLike:
    return bradley_terry_of_comparisons(given.first, given.second, given.winners).strength


def peer_bradley_terry(given: Comparisons) -> ArrayLike:
    found = importlib.import_module("evalica").bradley_terry(given.first, given.second, given.outcomes)
    scores = found.scores.sort_index()
    strength: ArrayLike = (scores / scores.sum()).to_numpy()
    return strength


def davidson(given: Comparisons) -> ArrayLike:
    found = bradley_terry_of_comparisons(
        given.first, given.second, given.winners, tie_model="davidson", order_effect=True
    )
    return [found.nu, found.order_effect]


def fractions(given: Comparisons) -> ArrayLike:
    return tournament(given.first, given.second, given.winners, resamples=0).fraction


def fractions_with_intervals(given: Comparisons) -> ArrayLike:
    return tournament(given.first, given.second, given.winners).low


@dataclass(frozen=True)
class Run:
    """Ranked lists of 100 items per query, and grades of half of them."""

    rankings: list[list[str]]
    grades: list[dict[str, int]]


def random_run(rows: int) -> Run:
    """Return a random run, with lists drawn from 1,000 items per query."""
    rng = np.random.default_rng(SEED)
    shifts = rng.integers(0, 1000, rows // 100).tolist()
    rankings = [[f"caption-{(shift + 7 * rank) % 1000}" for rank in range(100)] for shift in shifts]
    judged, relevant = rng.random((len(shifts), 100)) < 0.5, rng.random((len(shifts), 100)) < 0.1
    grades = [
        {items[rank]: int(relevant[query, rank]) for rank in np.flatnonzero(judged[query]).tolist()}
        for query, items in enumerate(rankings)
    ]
    return Run(rankings, grades)


def ranking(given: Run) -> ArrayLike:
    lists = judge_rankings(given.rankings, given.grades)
    found = [recall_at_k(lists, k=10), success_at_k(lists, k=10), r_precision(lists), median_rank(lists)]
    return [one.value for one in found]


CROWDKIT = ("crowd-kit 1.4.2", "crowdkit")
EVALICA = ("evalica 0.4.2", "evalica")
UNIT = f" x {JUDGMENTS}"
JOBS = (
    Job("majority", TASKS, judgments, majority, peer_majority, *CROWDKIT, unit=UNIT),
    Job("weighted majority", TASKS, judgments, weighted_winners, peer_weighted, *CROWDKIT, unit=UNIT),
    Job(
        f"dawid-skene, {STEPS} steps", TASKS, judgments, twenty_steps, peer_twenty_steps, *CROWDKIT, unit=UNIT
    ),
    Job("dawid-skene, to the optimum", TASKS, judgments, to_the_end, repeats=2, unit=UNIT),
    Job("one-coin, to the optimum", TASKS, judgments, one_coin, repeats=2, unit=UNIT),
    Job("bradley-terry", ROWS, comparisons, bradley_terry, peer_bradley_terry, *EVALICA, warm_up=10_000),
    Job("davidson with order effect", ROWS, comparisons, davidson, warm_up=10_000),
    Job("tournament", ROWS, comparisons, fractions),
    Job("tournament, 2,000 resamples", ROWS, comparisons, fractions_with_intervals),
    Job("four ranking measures", ROWS, random_run, ranking),
)

if __name__ == "__main__":
    main(JOBS)
