"""Measure how often 95 % intervals contain the truth, and what tests at 5 % find, in a matrix of simulated studies.

    python -m benchmarks.coverage --processes 2 --output docs/figures/coverage.csv     # all, about forty minutes
    python -m benchmarks.coverage share "best of" --data-sets 200 --cells 20           # some figures, 20 cells
    python -m benchmarks.coverage --cells "raters=8 taste=1.2" items=12                # cells with all parts of either

A cell is a study. It has numbers of items and raters, votes per item, the difference of raters in taste, the chance
that a rater is careless and answers at random, and even or uneven work. With uneven work, the busiest rater is ten
times as likely as the rarest to be asked for an item. Each data set draws its items and raters anew. The truth is
the mean of the figure over many other data sets of the cell.

The oracle is an ideal test for comparison. It knows the standard deviation of the figure from the other data sets,
and uses t. Its degrees of freedom are the smaller number of items (or documents of items) and raters, minus one.
Its test uses the standard deviation in the case that nothing differs. If several systems are compared, the test
compares the first with each other one, with Holm's correction.

The program prints the cells that exceed a limit by more than three standard errors of the simulation, with their
values.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, astuple, dataclass, fields, replace
from functools import cached_property, lru_cache, partial
from itertools import pairwise, product
from multiprocessing import get_context
from typing import Any, NamedTuple

import django
import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.statistics.agreement import Alpha, Ratings, agreement, ratings_of_judgments, threshold_kappa
from quorum.statistics.correlation import correlation, correlation_difference, means_without_raters
from quorum.statistics.meta import accuracy_difference, pair_accuracy, winners_without_raters

SEED = 17
DATA_SETS = 1000
# Number of data sets for the truth, per data set that is tried. The truth has 1/70, its deviation 1 %, error.
TRUTHS = 5
MIN_TRUTHS = 2000
NUMBERS_PER_BATCH = 2_000_000  # number of random numbers drawn at once

ITEMS = (12, 50, 150)
RATERS = (3, 4, 5, 8, 12, 25, 50)
VOTES = (1, 3, 5, 11, 21)
TASTES = (0.0, 0.4, 1.2)
CARELESS_SHARES = (0.0, 0.15)
INNER_CELLS = 24  # number of cells between the corners

STRENGTH_GAP = 0.5  # gap between the best system and the others, in standard deviations of a vote
EVEN, APART = (1.2, 1.2), (0.5, 2.0)  # noise of two metrics, if qualities have the standard deviation 1
FAR, ALIKE = 0.9, 0.3  # gap and standard deviation of pairs that the first wins nearly always, by many votes
GOOD_METRIC = (0.15, 2.0)  # noise of a metric that is nearly always right
GRADES = 5
SEGMENTS = 3  # number of segments of a document
MAX_WIDTH, MIN_POWER = 1.25, 0.9  # as multiples of the oracle's
MAX_FALL = 0.03
YES_OF_METRIC, YES_OF_PEOPLE = 0.3, 3.1  # no mean of an odd number of votes equals the second


@dataclass(frozen=True, slots=True)
class Cell:
    """A simulated study. The module documents its factors."""

    items: int
    raters: int
    votes: int
    taste: float
    careless_share: float
    is_uneven: bool

    @property
    def name(self) -> str:
        amounts = f"items={self.items} raters={self.raters} votes={self.votes} taste={self.taste:g}"
        return f"{amounts} careless={self.careless_share:g} {'uneven' if self.is_uneven else 'even'}"

    @property
    def has_strong_taste(self) -> bool:
        return self.taste > TASTES[1]

    def careless_raters(self, generator: np.random.Generator, sets: int) -> Flags:
        """Return random (S, raters) flags of careless raters."""
        return np.asarray(generator.random((sets, self.raters)) < self.careless_share)

    def generator(self, purpose: str) -> np.random.Generator:
        return np.random.default_rng([SEED, *(zlib.crc32(word.encode()) for word in (self.name, purpose))])

    def assignment(self, generator: np.random.Generator, sets: int) -> Ints:
        """Return random (S, I, V) raters. The raters of an item are distinct."""
        if self.votes == self.raters:
            return np.broadcast_to(np.arange(self.raters), (sets, self.items, self.votes))
        busy = np.linspace(1, 10 if self.is_uneven else 1, self.raters)
        arrival = generator.standard_exponential((sets, self.items, self.raters), np.float32)
        arrival /= busy.astype(np.float32)
        return np.argpartition(arrival, self.votes - 1, axis=2)[..., : self.votes]


def cells() -> list[Cell]:
    """Return the settings to simulate.

    They are the extreme settings, series in which one factor grows, and a Latin hypercube of settings in between.
    """

    def end_values(values: Sequence[Any]) -> tuple[Any, Any]:
        return values[0], values[-1]

    factors = [
        *map(end_values, (ITEMS, RATERS)),
        (0, 1),
        *map(end_values, (TASTES, CARELESS_SHARES)),
        (False, True),
    ]
    corners = [
        Cell(items, raters, most_votes(raters) if most else 1, *others)
        for items, raters, most, *others in product(*factors)
    ]
    chains = [Cell(50, raters, 3, 0.4, 0.0, False) for raters in RATERS]
    chains += [Cell(items, 12, 3, 0.4, 0.0, False) for items in ITEMS]
    chains += [Cell(50, 12, votes, 0.4, 0.0, False) for votes in VOTES if votes <= 12]
    chains += [Cell(50, 25, votes, 0.0, 0.0, False) for votes in VOTES]
    chains += [Cell(50, 8, votes, 1.2, 0.15, True) for votes in VOTES if votes <= 8]
    # The strict limits already apply to small numbers of raters.
    few = product(end_values(ITEMS), (5, 8), end_values(TASTES))
    chains += [Cell(items, raters, 5, taste, 0.0, False) for items, raters, taste in few]
    generator = np.random.default_rng(SEED)
    levels = [
        [
            values[level]
            for level in generator.permutation(np.arange(INNER_CELLS) * len(values) // INNER_CELLS)
        ]
        for values in (ITEMS, RATERS, VOTES, TASTES, CARELESS_SHARES, (False, True))
    ]
    between = [
        Cell(items, raters, min(votes, most_votes(raters)), *others)
        for items, raters, votes, *others in zip(*levels, strict=True)
    ]
    return list(dict.fromkeys([*corners, *chains, *between]))


def most_votes(raters: int) -> int:
    return max(votes for votes in VOTES if votes <= raters)


@dataclass(frozen=True, eq=False)
class Data:
    """S data sets, compared by identity.

    rater: (S, I, V). answer: (S, I, K, V) grades or scores of K systems, or (S, I, 1, V) winners 1 and 2.
    metric: (S, 2, I) scores of two metrics. document: (I,) documents of the items.
    """

    rater: Ints
    answer: Floats
    metric: Floats
    document: Ints

    @cached_property
    def mean(self) -> Floats:
        """The (S, I, K) means of the votes."""
        return np.asarray(self.answer.mean(axis=3))

    @cached_property
    def winner(self) -> Ints:
        """The (S, I) winners by most votes, whose number is odd."""
        return np.where(self.mean[:, :, 0] < 1.5, 1, 2)

    @cached_property
    def counts(self) -> Floats:
        """The (S, I, GRADES) numbers of votes by grade for the first system."""
        return (self.answer[:, :, 0, :, np.newaxis] == np.arange(1, GRADES + 1)).sum(axis=2).astype(float)

    @cached_property
    def differences(self) -> Data:
        """Data sets in which the answers are the differences of two systems' scores, by item and rater."""
        return replace(self, answer=self.answer[:, :, :1] - self.answer[:, :, 1:])

    def votes(self, at: int) -> tuple[Ints, Ints, Floats]:
        """Return the rows, raters and answers of a data set, with one entry per vote.

        A row is an item's output of a system.
        """
        items, systems, votes = self.answer.shape[1:]
        rater = np.broadcast_to(self.rater[at, :, np.newaxis], (items, systems, votes))
        return np.repeat(np.arange(items * systems), votes), rater.ravel(), self.answer[at].ravel()

    @lru_cache(maxsize=1)  # noqa: B019 - holds no more than the last data sets
    def clusters(self, without_raters: Callable[..., Any], at: int) -> dict[str, Any]:
        """Return the clusters of people's winners or means of a data set, with one winner or mean per item."""
        number = self.answer.shape[1]
        return {"item": np.arange(number), "rater": without_raters(*self.votes(at), number)}


Draw = Callable[[Cell, np.random.Generator, int, bool], Data]


def normal_values(generator: np.random.Generator, deviation: float, *shape: int) -> NDArray[Any]:
    return deviation * generator.standard_normal(shape, np.float32)  # takes half the time of doubles


def at_raters(of_rater: NDArray[Any], rater: Ints) -> NDArray[Any]:
    """Return (S, I, V, ...) values of the rater of each vote."""
    return of_rater[np.arange(len(rater))[:, np.newaxis, np.newaxis], rater]


def answers(
    cell: Cell, generator: np.random.Generator, rater: Ints, sincere: NDArray[Any], highest: int
) -> Floats:
    """Return (S, I, K, V) answers. Those of careless raters are random whole numbers from 1 to the highest."""
    at_random = at_raters(cell.careless_raters(generator, len(rater)), rater)
    chance = generator.integers(1, highest + 1, sincere.shape)
    return np.where(at_random[:, :, np.newaxis], chance, sincere).astype(np.float64)


def in_grades(liking: NDArray[Any]) -> NDArray[Any]:
    return np.clip(np.round(3 + 1.2 * liking), 1, GRADES)


def outputs(
    cell: Cell,
    generator: np.random.Generator,
    sets: int,
    apart: bool,
    systems: int,
    spans: bool = False,
    gap: float = STRENGTH_GAP,
) -> Data:
    """Return random grades of the systems' outputs for items, or minus the weight of errors in segments of documents.

    If `apart` is true, the first system is better.
    """
    rater, document = cell.assignment(generator, sets), np.arange(cell.items) // (SEGMENTS if spans else 1)
    liking = normal_values(generator, 1, sets, cell.items, systems, cell.votes)
    liking += normal_values(generator, 0.7, sets, cell.items, 1, 1)
    liking += normal_values(generator, 0.5, sets, cell.items, systems, 1)
    if cell.taste:
        taste = at_raters(normal_values(generator, cell.taste, sets, cell.raters, systems), rater)
        liking += np.moveaxis(taste, 3, 2)
    if spans:
        liking += normal_values(generator, 0.5, sets, document[-1] + 1, systems, 1)[:, document]
    liking[:, :, 0] += gap * apart
    answer = answers(cell, generator, rater, in_grades(liking), GRADES)
    return Data(rater, -np.square(GRADES - answer) if spans else answer, np.empty(0), document)


def judgments(
    cell: Cell,
    generator: np.random.Generator,
    sets: int,
    apart: bool,
    severity: float,
    favour: float,
    gap: float = STRENGTH_GAP,
    deviation: float = 1.0,
    noise: tuple[float, float] = APART,
    graded: bool = False,
) -> Data:
    """Return random grades of captions, or votes on pairs, and two metrics' scores.

    Raters' taste consists of severity, or of a preference for the first of each pair, and of `favour` for what each
    metric prefers. If `apart` is true, the first metric is better; without favour, people prefer the first of each
    pair instead.
    """
    rater = cell.assignment(generator, sets)
    quality = generator.normal(0, deviation, (sets, cell.items))
    of_metric = np.array(noise if apart else EVEN)[:, np.newaxis]
    metric = quality[:, np.newaxis] + of_metric * generator.normal(0, 1, (sets, 2, cell.items))
    liking = quality[:, :, np.newaxis] + normal_values(generator, 1, *rater.shape)
    liking += at_raters(normal_values(generator, severity * cell.taste, sets, cell.raters), rater)
    for signs in np.moveaxis(np.sign(metric), 1, 0):
        liking += signs[:, :, np.newaxis] * at_raters(
            normal_values(generator, favour * cell.taste, sets, cell.raters), rater
        )
    if not favour:
        liking += gap * apart
    sincere = in_grades(liking) if graded else np.where(liking > 0, 1, 2)
    answer = answers(cell, generator, rater, sincere[:, :, np.newaxis], GRADES if graded else 2)
    return Data(rater, answer, metric, np.arange(cell.items))


class Estimate(NamedTuple):
    """A figure's value and interval. `test_outcome` is 1 or -1 if a test finds the first better or worse, else 0."""

    value: float
    low: float = math.nan
    high: float = math.nan
    test_outcome: int = 0


@lru_cache(maxsize=2)  # one entry for systems, and one for their differences
def standings(data: Data, at: int) -> Any:
    from evaluation.results.outputs import Outputs
    from evaluation.results.standings import MEAN

    items, systems = data.answer.shape[1:3]
    return Outputs(
        names=[f"system-{code}" for code in range(systems)],
        item=np.repeat(np.arange(items), systems),
        system=np.tile(np.arange(systems), items),
        cluster=data.document,
        score=data.mean[at].ravel(),
        deletions=means_without_raters(*data.votes(at), items * systems),
    ).standings(MEAN)


def mean_of_system(data: Data, at: int) -> Estimate:
    figure = standings(data, at).figures["system-0"]
    low, high = (math.nan if figure[end] is None else figure[end] for end in ("low", "high"))
    return Estimate(figure["value"], low, high)


def difference_of_systems(data: Data, at: int) -> Estimate:
    return mean_of_system(data.differences, at)._replace(test_outcome=best_of_systems(data, at).test_outcome)


def best_of_systems(data: Data, at: int) -> Estimate:
    leaders = standings(data, at).compare().leaders  # as in the verdict
    return Estimate(math.nan, test_outcome=0 if len(leaders) > 1 else 1 if leaders == ["system-0"] else -1)


def share_won(data: Data, at: int) -> Estimate:
    """Return the share of pairs that the first wins. The test asks whether the interval contains a half."""
    share = accuracy_of(data, at, np.ones(data.answer.shape[1]))
    return share._replace(test_outcome=(share.low > 0.5) - (share.high < 0.5))


def accuracy(data: Data, at: int) -> Estimate:
    return accuracy_of(data, at, data.metric[at, 0])


def accuracy_of(data: Data, at: int, scores: Floats) -> Estimate:
    clusters = data.clusters(winners_without_raters, at)
    figure = pair_accuracy(scores, np.zeros_like(scores), data.winner[at], clusters=clusters)["all"]
    return Estimate(figure.value, figure.low, figure.high)


def difference_of_accuracies(data: Data, at: int) -> Estimate:
    first, second = (np.column_stack([scores, np.zeros_like(scores)]) for scores in data.metric[at])
    clusters = data.clusters(winners_without_raters, at)
    return estimate_of(accuracy_difference(first, second, data.winner[at], clusters=clusters)["all"])


def estimate_of(figure: Any) -> Estimate:
    better = int(np.sign(figure.difference)) if figure.p <= 0.05 else 0
    return Estimate(figure.difference, figure.low, figure.high, better)


@lru_cache(maxsize=1)
def ratings(data: Data, at: int) -> Ratings:
    return ratings_of_judgments(*data.votes(at))


def alpha(data: Data, at: int, level: str) -> Estimate:
    figure = agreement(ratings(data, at), Alpha(level), clusters="both")
    return Estimate(figure.value, figure.low, figure.high)


def kappa(data: Data, at: int) -> Estimate:
    figure = threshold_kappa(
        data.metric[at, 0],
        data.mean[at, :, 0],
        YES_OF_METRIC,
        YES_OF_PEOPLE,
        clusters=data.clusters(means_without_raters, at),
    ).kappa
    return Estimate(figure.value, figure.low, figure.high)


def tau(data: Data, at: int) -> Estimate:
    clusters = data.clusters(means_without_raters, at)
    figure = correlation(data.metric[at, 0], data.mean[at, :, 0], "kendall-tau-b", clusters=clusters)
    return Estimate(figure.value, figure.low, figure.high)


def difference_of_taus(data: Data, at: int) -> Estimate:
    (first, second), clusters = data.metric[at], data.clusters(means_without_raters, at)
    return estimate_of(correlation_difference(first, second, data.mean[at, :, 0], clusters=clusters))


def system_means(data: Data) -> Floats:
    return np.asarray(data.mean.mean(axis=1))


def first(values: Callable[[Data], Floats]) -> Callable[[Data], Floats]:
    return lambda data: values(data)[:, 0]


def difference(values: Callable[[Data], Floats]) -> Callable[[Data], Floats]:
    return lambda data: values(data)[:, 0] - values(data)[:, 1]


def shares(data: Data) -> Floats:
    return np.asarray((data.winner == 1).mean(axis=1))


def metric_accuracies(data: Data) -> Floats:
    """Return the (S, 2) accuracies of the metrics."""
    return np.asarray((np.where(data.metric > 0, 1, 2) == data.winner[:, np.newaxis]).mean(axis=2))


def alphas(data: Data, level: str) -> Floats:
    """Return the (S,) alphas of the first system's grades (Krippendorff 2011)."""
    total = data.counts.sum(axis=1)
    number, votes = total.sum(axis=1), data.answer.shape[3]
    grade = np.arange(GRADES)
    if level == "ordinal":
        rank = np.cumsum(total, axis=1) - total / 2
        distance = np.square(rank[:, :, np.newaxis] - rank[:, np.newaxis])
    elif level == "interval":
        distance = np.square(grade[:, np.newaxis] - grade)[np.newaxis].astype(float)
    else:
        distance = 1.0 - np.eye(GRADES)[np.newaxis]
    together = np.swapaxes(data.counts, 1, 2) @ data.counts
    observed = (together * distance).sum(axis=(1, 2)) / (votes - 1)
    expected = (total[:, :, np.newaxis] * total[:, np.newaxis] * distance).sum(axis=(1, 2)) / (number - 1)
    with np.errstate(invalid="ignore"):
        return np.asarray(1 - observed / expected)


def kappas(data: Data) -> Floats:
    first, second = data.metric[:, 0] >= YES_OF_METRIC, data.mean[:, :, 0] >= YES_OF_PEOPLE
    alike, of_first, of_second = (flags.mean(axis=1) for flags in (first == second, first, second))
    chance = of_first * of_second + (1 - of_first) * (1 - of_second)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((alike - chance) / (1 - chance))


def taus(data: Data) -> Floats:
    """Return the (S, 2) tau-b of the metrics with people's mean grades."""
    first, second = np.triu_indices(data.answer.shape[1], 1)
    people = np.sign(data.mean[:, first, 0] - data.mean[:, second, 0])
    metric = np.sign(data.metric[:, :, first] - data.metric[:, :, second])
    pairs = np.count_nonzero(people, axis=1)[:, np.newaxis] * np.count_nonzero(metric, axis=2)
    with np.errstate(invalid="ignore"):
        return np.einsum("sp,smp->sm", people, metric) / np.sqrt(pairs)


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure to measure.

    values: function of data that returns their (S,) values, or (S, K) values of systems. estimate: function of data
    and the position of a data set. null: the value if nothing differs; None without a test. is_lopsided: whether the
    figure is a share near one. Its interval may be wide, and its coverage high, if fewer than five items are
    expected to differ.
    """

    draw: Draw
    values: Callable[[Data], Floats]
    estimate: Callable[[Data, int], Estimate]
    null: float | None = None
    least_votes: int = 1
    documents: bool = False
    is_lopsided: bool = False

    def freedom(self, cell: Cell) -> int:
        clusters = math.ceil(cell.items / SEGMENTS) if self.documents else cell.items
        return min(clusters, cell.raters) - 1


# One object per draw, so that figures of the same draw share their data sets.
TWO, THREE, SIX = (partial(outputs, systems=systems) for systems in (2, 3, 6))
SPANS = partial(outputs, systems=2, spans=True)
SYSTEM_JUDGMENTS = partial(judgments, severity=1.0, favour=0.0)
METRIC_JUDGMENTS = partial(judgments, severity=0.0, favour=1.0)
LOPSIDED, OF_GOOD = (
    partial(SYSTEM_JUDGMENTS, gap=FAR, deviation=ALIKE),
    partial(METRIC_JUDGMENTS, noise=GOOD_METRIC),
)
CAPTIONS = partial(judgments, severity=0.5, favour=0.5, graded=True)
FIGURES = {
    "mean of a system": Figure(TWO, first(system_means), mean_of_system),
    "best of 2, difference of means": Figure(TWO, difference(system_means), difference_of_systems, 0.0),
    "best of 3": Figure(THREE, system_means, best_of_systems, 0.0),
    "best of 6": Figure(SIX, system_means, best_of_systems, 0.0),
    "share of pairs won": Figure(SYSTEM_JUDGMENTS, shares, share_won, 0.5),
    "share of nearly all pairs": Figure(LOPSIDED, shares, share_won, 0.5, is_lopsided=True),
    "accuracy": Figure(METRIC_JUDGMENTS, first(metric_accuracies), accuracy),
    "accuracy of a good metric": Figure(OF_GOOD, first(metric_accuracies), accuracy, is_lopsided=True),
    "difference of accuracies": Figure(
        METRIC_JUDGMENTS, difference(metric_accuracies), difference_of_accuracies, 0.0
    ),
    "difference of a good and a bad one": Figure(
        OF_GOOD, difference(metric_accuracies), difference_of_accuracies, 0.0
    ),
    **{
        f"alpha, {level}": Figure(
            CAPTIONS, partial(alphas, level=level), partial(alpha, level=level), least_votes=2
        )
        for level in ("nominal", "ordinal", "interval")
    },
    "kappa": Figure(CAPTIONS, kappas, kappa),
    "tau-b": Figure(CAPTIONS, first(taus), tau),
    "difference of tau-b": Figure(CAPTIONS, difference(taus), difference_of_taus, 0.0),
    "spans, mean of a system": Figure(SPANS, first(system_means), mean_of_system, documents=True),
    "spans, best of 2": Figure(SPANS, difference(system_means), difference_of_systems, 0.0, documents=True),
}


def data_of(cell: Cell, draw: Draw, purpose: str, apart: bool, sets: int) -> Iterator[Data]:
    """Yield data sets in parts that fit into memory. Figures of the same draw have the same data sets."""
    at_once = max(1, NUMBERS_PER_BATCH // (cell.items * max(cell.raters, 6 * cell.votes, cell.items)))
    generator = cell.generator(f"{purpose} {apart}")
    for start in range(0, sets, at_once):
        yield draw(cell, generator, min(at_once, sets - start), apart)


@dataclass(frozen=True, slots=True)
class Row:
    """The results of a figure's intervals and tests in a cell, nan without them. Widths are means.

    undefined_share: the share of data sets without the figure, which are left out. A data set with a figure but
    without an interval counts as one whose interval does not contain the truth.
    """

    cell: Cell
    figure: str
    data_sets: int
    truth: float
    undefined_share: float = math.nan
    coverage: float = math.nan
    oracle_coverage: float = math.nan
    width: float = math.nan
    oracle_width: float = math.nan
    size: float = math.nan
    oracle_size: float = math.nan
    power: float = math.nan
    oracle_power: float = math.nan
    fails: str = ""

    @property
    def relative_width(self) -> float:
        return self.width / self.oracle_width

    @property
    def power_reached(self) -> float:
        """The power as a share of the oracle's power, or nan if the oracle's is a tenth or less."""
        return self.power / self.oracle_power if self.oracle_power > 0.1 else math.nan

    def fail(self, *reasons: str) -> Row:
        return replace(self, fails=", ".join(filter(None, (self.fails, *reasons))))


class Sample(NamedTuple):
    """Values of a figure in a cell.

    They are the values of many data sets, for the oracle, and (S,) values and (S, 4) estimates of other data sets.
    """

    truths: Floats
    values: Floats
    estimates: Floats


def measure(cell: Cell, names: Sequence[str], data_sets: int) -> list[Row]:
    rows = []
    of_cell = {name: FIGURES[name] for name in names if FIGURES[name].least_votes <= cell.votes}
    for draw in dict.fromkeys(figure.draw for figure in of_cell.values()):
        figures = {name: figure for name, figure in of_cell.items() if figure.draw is draw}
        tested = {name: figure for name, figure in figures.items() if figure.null is not None}
        apart, even = (
            sample(cell, draw, figures, True, data_sets),
            sample(cell, draw, tested, False, data_sets),
        )
        for name, figure in figures.items():
            row = Row(cell, name, data_sets, float(np.nanmean(lead_of_first(apart[name].truths))))
            if apart[name].truths.ndim == 1:
                row = with_intervals(row, figure, apart[name])
            if name in tested:
                row = with_tests(row, figure, apart[name], even[name])
            rows.append(row)
    return rows


def sample(
    cell: Cell, draw: Draw, figures: Mapping[str, Figure], apart: bool, data_sets: int
) -> dict[str, Sample]:
    truths, values, estimates = ({name: [] for name in figures} for _ in range(3))  # type: ignore[var-annotated]
    for data in data_of(cell, draw, "truth", apart, max(MIN_TRUTHS, TRUTHS * data_sets)) if figures else ():
        for name, figure in figures.items():
            truths[name].append(figure.values(data))
    for data in data_of(cell, draw, "study", apart, data_sets) if figures else ():
        for name, figure in figures.items():
            values[name].append(figure.values(data))
        for at, (name, figure) in product(range(len(data.rater)), figures.items()):
            estimates[name].append(figure.estimate(data, at))
    samples = {
        name: Sample(
            np.concatenate(truths[name]), np.concatenate(values[name]), np.array(estimates[name], float)
        )
        for name in figures
    }
    for name, of_figure in samples.items():
        if of_figure.values.ndim == 1:  # the truth must belong to the figure whose interval is tried
            np.testing.assert_allclose(of_figure.estimates[:, 0], of_figure.values, atol=1e-9, err_msg=name)
    return samples


def lead_of_first(values: Floats) -> Floats:
    return values if values.ndim == 1 else values[:, 0] - values[:, 1]


def with_intervals(row: Row, figure: Figure, apart: Sample) -> Row:
    there = ~np.isnan(apart.values)
    low, high = apart.estimates[there, 1:3].T
    half = float(stdtrit(figure.freedom(row.cell), 0.975) * np.nanstd(apart.truths))
    coverage = float(((low <= row.truth) & (row.truth <= high)).mean())
    fewest, most = coverage_limits(row.cell)
    loose = figure.is_lopsided and row.cell.items * (1 - row.truth) < 5
    if exceeds_limit(fewest - coverage, fewest, len(low)) or (
        exceeds_limit(coverage - most, most, len(low)) and not loose
    ):
        row = row.fail("coverage")
    width, widths = math.nan, (high - low)[~np.isnan(high - low)]
    if len(widths):
        with np.errstate(invalid="ignore"):  # intervals may be infinite
            width, error = float(widths.mean()), float(widths.std()) / math.sqrt(len(widths))
        if row.cell.raters >= 8 and not loose and not width - 3 * error <= MAX_WIDTH * 2 * half:
            row = row.fail("width")
    return replace(
        row,
        undefined_share=float(1 - there.mean()),
        coverage=coverage,
        oracle_coverage=float((np.abs(apart.values[there] - row.truth) <= half).mean()),
        width=width,
        oracle_width=2 * half,
    )


def with_tests(row: Row, figure: Figure, apart: Sample, even: Sample) -> Row:
    assert figure.null is not None
    oracle = partial(
        decided_by_oracle, figure.null, float(np.nanstd(lead_of_first(even.truths))), figure.freedom(row.cell)
    )
    right_of_test, right_of_oracle = apart.estimates[:, 3] == 1, oracle(apart.values) == 1
    size = float((even.estimates[:, 3] != 0).mean())
    largest = 0.08 if row.cell.has_strong_taste else 0.065
    if exceeds_limit(size - largest, largest, row.data_sets):
        row = row.fail("size")
    missed = MIN_POWER * right_of_oracle - right_of_test
    if row.cell.raters >= 8 and missed.mean() > 3 * missed.std() / math.sqrt(row.data_sets):
        row = row.fail("power")
    return replace(
        row,
        size=size,
        oracle_size=float((oracle(even.values) != 0).mean()),
        power=float(right_of_test.mean()),
        oracle_power=float(right_of_oracle.mean()),
    )


def decided_by_oracle(null: float, deviation: float, freedom: int, values: Floats) -> Ints:
    """Return the oracle's (S,) decisions on (S,) values, or on (S, K) values of systems, as in `Estimate`."""
    if values.ndim == 1:
        lead = values - null
        return np.where(np.abs(lead) > stdtrit(freedom, 0.975) * deviation, np.sign(lead), 0).astype(np.int64)
    leads = np.sort(values.max(axis=1, keepdims=True) - values, axis=1)[:, :0:-1]  # in descending order
    critical = stdtrit(freedom, 1 - 0.025 / np.arange(leads.shape[1], 0, -1)) * deviation
    return np.where(np.all(leads > critical, axis=1), np.where(values.argmax(axis=1) == 0, 1, -1), 0)


def coverage_limits(cell: Cell) -> tuple[float, float]:
    if cell.raters < 5:
        return 0.90, 1.0
    return (0.91, 1.0) if cell.has_strong_taste else (0.93, 0.985)


def exceeds_limit(excess: float, limit: float, number: int) -> bool:
    """Return whether a share of `number` data sets exceeds its limit by more than three standard errors."""
    return excess > 3 * math.sqrt(limit * (1 - limit) / max(number, 1))


def with_falls(rows: Sequence[Row]) -> list[Row]:
    """Return the rows, marking those with less power than a smaller study as failed.

    A smaller study has fewer items, raters or votes, and is otherwise equal.
    """
    checked = list(rows)
    for factor in ("items", "raters", "votes"):
        chains: dict[Any, list[int]] = {}
        for position, row in enumerate(rows):
            others = [value for name, value in asdict(row.cell).items() if name != factor]
            chains.setdefault((row.figure, *others), []).append(position)
        for chain in chains.values():
            chain.sort(key=lambda position: getattr(rows[position].cell, factor))
            for fewer, more in pairwise(chain):
                before, after = rows[fewer].power, rows[more].power
                error = math.sqrt((before * (1 - before) + after * (1 - after)) / rows[more].data_sets)
                if before - after > MAX_FALL + 3 * error:
                    reason = f"power {short(before)} with {factor}={getattr(rows[fewer].cell, factor)}"
                    checked[more] = checked[more].fail(reason)
    return checked


def short(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.3f}".replace("0.", ".", 1) if value < 1 else f"{value:.2f}"


def print_worst(rows: Sequence[Row]) -> None:
    """Print a line for each figure and group of cells, with the worst value of each measure."""
    print("| figure | raters | taste | cells | coverage | size | width | power | failing |")
    print("|---|---|---|---|---|---|---|---|---|")
    groups = product(
        dict.fromkeys(row.figure for row in rows),
        {"3 and 4": (3, 4), "5": (5, 7), "8 and more": (8, math.inf)}.items(),
        {"none and mild": False, "strong": True}.items(),
    )
    for figure, (raters, (fewest, most)), (taste, strong) in groups:
        of_figure = [row for row in rows if row.figure == figure and row.cell.has_strong_taste == strong]
        group = [row for row in of_figure if fewest <= row.cell.raters <= most]
        if not group:
            continue

        def worst_value(choose: Callable[[Iterable[float]], float], name: str) -> str:
            there = [value for row in group if not math.isnan(value := getattr(row, name))]  # noqa: B023
            return short(choose(there)) if there else ""

        coverage = f"{worst_value(min, 'coverage')} to {worst_value(max, 'coverage')}".removeprefix(" to ")
        parts = [
            coverage,
            worst_value(max, "size"),
            worst_value(max, "relative_width"),
            worst_value(min, "power_reached"),
        ]
        failing = sum(row.fails != "" for row in group)
        print(f"| {figure} | {raters} | {taste} | {len(group)} | {' | '.join(parts)} | {failing} |")
    print("Width and power are parts of the oracle's.\n")


def print_failing(rows: Sequence[Row]) -> None:
    failing = [row for row in rows if row.fails]
    print(f"{len(failing)} of {len(rows)} figures in cells are beyond a limit; in brackets the oracle's.\n")
    print("| figure | cell | coverage | width | size | power | beyond |\n|---|---|---|---|---|---|---|")
    for row in failing:
        parts = [
            f"{value} ({short(getattr(row, 'oracle_' + name))})"
            if (value := short(getattr(row, name)))
            else ""
            for name in ("coverage", "width", "size", "power")
        ]
        print(f"| {row.figure} | {row.cell.name} | {' | '.join(parts)} | {row.fails} |")


def cells_named(wanted: Sequence[str]) -> list[Cell]:
    """Return the wanted cells.

    `wanted` is a number of cells, which are spread over the matrix, or names; a cell must have all parts of one of
    them.
    """
    matrix = cells()
    if not wanted:
        return matrix
    if len(wanted) == 1 and wanted[0].isdigit():
        order = np.random.default_rng(SEED).permutation(len(matrix))
        return [matrix[position] for position in order[: int(wanted[0])]]
    return [cell for cell in matrix if any({*parts.split()} <= {*cell.name.split()} for parts in wanted)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("figures", nargs="*", help="beginnings of names; default: all")
    parser.add_argument("--data-sets", type=int, default=DATA_SETS)
    parser.add_argument("--cells", nargs="+", default=(), help="a number of cells, or parts of their names")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--output", help="a CSV file of all cells")
    options = parser.parse_args()
    names = [name for name in FIGURES if not options.figures or name.startswith(tuple(options.figures))]
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()  # for models that the verdict imports; no database is read
    matrix = cells_named(options.cells)
    rows, start = [], time.perf_counter()
    with ProcessPoolExecutor(options.processes, mp_context=get_context("fork")) as pool:
        measured = pool.map(partial(measure, names=names, data_sets=options.data_sets), matrix)
        for number, (cell, of_cell) in enumerate(zip(matrix, measured, strict=True), 1):
            rows += of_cell
            seconds = time.perf_counter() - start
            print(
                f"{number} of {len(matrix)} cells, {seconds:.0f} s: {cell.name}", file=sys.stderr, flush=True
            )
    rows = with_falls(rows)
    if options.output:
        with open(options.output, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([field.name for field in (*fields(Cell), *fields(Row)[1:])])
            for cell, *others in map(astuple, rows):
                writer.writerow(
                    [f"{value:.4g}" if isinstance(value, float) else value for value in (*cell, *others)]
                )
    print_worst(rows)
    print_failing(rows)


if __name__ == "__main__":
    main()
