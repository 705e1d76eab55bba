"""How many pairs, references and votes tell two systems, or two metrics, apart, and the cheapest design.

Power is simulated, as by Card et al. 2020 ("With Little Power Comes Great Responsibility"), with the two-sided
binomial test of wins for systems and McNemar's exact test for metrics. Type S error: Gelman, Carlin 2014.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy  # its parts load when they are first used

from evaluation.arrays import Floats, Ints
from evaluation.parallel import map_parts
from evaluation.statistics.inputs import BadOption
from evaluation.statistics.people import People, beta_draws
from evaluation.statistics.resampling import streams
from evaluation.statistics.significance.intervals import wilson_interval

AT_ONCE = 2_000_000  # units of a chunk of simulations: 16 MB an array
MOST_UNITS = 2_000_000  # pairs times references of the largest design: what one simulation may hold
MOST_DRAWS = 20_000_000_000

MOST_DESIGNS = 2_000


@dataclass(frozen=True, slots=True)
class TwoSystems:
    """A is better on ``win_rate`` of the decided pairs; of the share ``ties`` half the votes are for A."""

    win_rate: float
    ties: float = 0.0

    def __post_init__(self) -> None:
        if not (0 <= self.win_rate <= 1 and self.win_rate != 0.5):
            raise BadOption(
                f"win_rate is {self.win_rate!r}, expected 0 to 1 and not 0.5: nothing to tell apart"
            )
        if not 0 <= self.ties < 1:
            raise BadOption(f"ties is {self.ties!r}, expected 0 to less than 1")


@dataclass(frozen=True, slots=True)
class TwoMetrics:
    """The shares of pairs on which each metric names the right winner, and on which both agree."""

    first: float
    second: float
    agreement: float

    def __post_init__(self) -> None:
        for name in ("first", "second", "agreement"):
            if not 0 <= getattr(self, name) <= 1:
                raise BadOption(f"{name} is {getattr(self, name)!r}, expected 0 to 1")
        if self.first == self.second:
            raise BadOption(f"first and second are both {self.first:g}: nothing to tell apart")
        low, high = abs(self.first + self.second - 1), 1 - abs(self.first - self.second)
        if not low - 1e-12 <= self.agreement <= high + 1e-12:
            raise BadOption(
                f"agreement is {self.agreement:g}, but metrics right on {self.first:g} and {self.second:g} of the "
                f"pairs agree on {low:.4g} to {high:.4g} of them"
            )

    @property
    def table(self) -> tuple[float, float, float, float]:
        """Return the chances of both right, the first alone, the second alone, neither."""
        both = (self.first + self.second - (1 - self.agreement)) / 2
        neither = 1 - self.first - self.second + both
        return max(0.0, both), max(0.0, self.first - both), max(0.0, self.second - both), max(0.0, neither)


Question = TwoSystems | TwoMetrics


@dataclass(frozen=True, slots=True, order=True)
class Size:
    pairs: int
    references: int
    votes: int

    def __post_init__(self) -> None:
        for name in ("pairs", "references", "votes"):
            if getattr(self, name) < 1:
                raise BadOption(f"{name} is {getattr(self, name)!r}, expected 1 or more")

    @property
    def judgments(self) -> int:
        return self.pairs * self.references * self.votes


@dataclass(frozen=True, slots=True)
class PowerResult:
    """The power of a design.

    Attributes:
        power: share of simulations with p < alpha and the right sign, with a Wilson interval.
        type_s: share of significant simulations with the wrong sign.
        wrong: share of simulations in which the wrong side leads.
        right_consensus: share among the pairs that have a truth and a consensus.
        undecided: share of pairs without a consensus.
    """

    size: Size
    power: float
    low: float
    high: float
    type_s: float
    wrong: float
    right_consensus: float
    undecided: float
    alpha: float
    simulations: int
    seed: int


def power_of(
    question: Question,
    people: People,
    sizes: Sequence[Size],
    *,
    alpha: float = 0.05,
    simulations: int = 1000,
    seed: int = 0,
    progress: Callable[[float], object] = lambda share: None,
) -> list[PowerResult]:
    """Return the power of each design; a smaller one takes the first pairs, references and votes of a larger one."""
    if not 0 < alpha < 1:
        raise BadOption(f"alpha is {alpha!r}, expected between 0 and 1")
    if not 1 <= simulations <= 1_000_000:
        raise BadOption(f"simulations is {simulations!r}, expected 1 to 1,000,000")
    if not sizes:
        raise BadOption("there is no design to simulate, expected one at least")
    most = Size(*(max(getattr(size, name) for size in sizes) for name in ("pairs", "references", "votes")))
    units = most.pairs * most.references
    if units > MOST_UNITS or simulations * most.judgments > MOST_DRAWS:
        raise BadOption(
            f"{most.pairs:,} pairs x {most.references:,} references x {most.votes:,} votes x {simulations:,} "
            f"simulations is more than is simulated; expected at most {MOST_UNITS:,} units and {MOST_DRAWS:,} votes"
        )
    wanted = sorted(set(sizes))
    counts: dict[Size, list[Ints]] = {size: [] for size in wanted}
    chunk = max(1, AT_ONCE // units)
    chunks = [min(chunk, simulations - begin) for begin in range(0, simulations, chunk)]
    parts = list(zip(streams(np.random.default_rng(seed), len(chunks)), chunks, strict=True))
    done = 0
    for (_, count), rows in zip(
        parts, map_parts(_simulate_part, (question, people, most, wanted), parts), strict=True
    ):
        for size, counted in rows:
            counts[size].append(counted)
        done += count
        progress(done / simulations)
    results = {
        size: _result(question, size, np.concatenate(rows), alpha, simulations, seed)
        for size, rows in counts.items()
    }
    return [results[size] for size in sizes]


def _simulate_part(
    shared: tuple[Question, People, Size, Sequence[Size]], part: tuple[np.random.Generator, int]
) -> list[tuple[Size, Ints]]:
    question, people, most, wanted = shared
    rng, count = part
    truth, gains = _draw_truth(question, (count, most.pairs), rng)
    return list(_simulate(people, truth, gains, most, wanted, rng))


def _draw_truth(question: Question, shape: tuple[int, int], rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Return whether each pair has a truth, and who gains by the right consensus: 1 the first, -1 the second."""
    if isinstance(question, TwoSystems):
        better = np.where(rng.random(shape) < question.win_rate, 1, -1)
        return (rng.random(shape) >= question.ties).astype(np.int64), better
    _, first, second, _ = question.table
    place = rng.random(shape)
    alone = np.where(place < first, 1, np.where(place < first + second, -1, 0))
    return np.ones(shape, dtype=np.int64), alone


def _simulate(
    people: People, truth: Ints, gains: Ints, most: Size, wanted: Sequence[Size], rng: np.random.Generator
) -> Iterator[tuple[Size, Ints]]:
    """Yield each design with (simulations, 5) counts.

    Gains of the first, of the second, right consensuses, pairs with truth and consensus, pairs without consensus.
    """
    count, pairs = truth.shape
    shape = (count, pairs, most.references)
    of_pair = beta_draws(people.right, people.pair_spread, (count, pairs), rng)
    chances = beta_draws(of_pair[:, :, None], people.unit_spread, shape, rng)
    edge = np.where(truth[:, :, None] == 1, chances - 0.5, 0.0)
    blocks = -(-pairs // people.pairs_each)
    block_of = np.arange(pairs) // people.pairs_each
    right = np.zeros(shape, dtype=np.int64)
    votes = 0
    by_votes: dict[int, set[int]] = {}
    for size in wanted:
        by_votes.setdefault(size.votes, set()).add(size.references)
    for level in sorted(by_votes):
        while votes < level:
            looks = beta_draws(1 - people.careless, people.worker_spread, (count, blocks), rng)[:, block_of]
            right += rng.random(shape) < 0.5 + edge * looks[:, :, None]
            votes += 1
        lead = np.cumsum(np.sign(2 * right - level), axis=2)
        for references in sorted(by_votes[level]):
            outcome = np.sign(lead[:, :, references - 1])
            score = outcome * gains
            columns = [
                score > 0,
                score < 0,
                (outcome > 0) & (truth == 1),
                (outcome != 0) & (truth == 1),
                outcome == 0,
            ]
            sums = np.stack([np.cumsum(column, axis=1) for column in columns], axis=-1)
            for size in wanted:
                if (size.votes, size.references) == (level, references):
                    yield size, sums[:, size.pairs - 1]


def _result(
    question: Question, size: Size, counts: Ints, alpha: float, simulations: int, seed: int
) -> PowerResult:
    wins, losses = counts[:, 0], counts[:, 1]
    first_is_better = (
        question.win_rate > 0.5 if isinstance(question, TwoSystems) else question.first > question.second
    )
    if not first_is_better:
        wins, losses = losses, wins
    decided = exact_p(wins, losses) < alpha
    rightly, wrongly = int((decided & (wins > losses)).sum()), int((decided & (wins < losses)).sum())
    low, high = wilson_interval(rightly, simulations)
    with_truth = int(counts[:, 3].sum())
    return PowerResult(
        size=size,
        power=rightly / simulations,
        low=low,
        high=high,
        type_s=wrongly / (rightly + wrongly) if rightly + wrongly else math.nan,
        wrong=float((losses > wins).mean()),
        right_consensus=float(counts[:, 2].sum() / with_truth) if with_truth else math.nan,
        undecided=float(counts[:, 4].sum() / (size.pairs * simulations)),
        alpha=alpha,
        simulations=simulations,
        seed=seed,
    )


def exact_p(wins: Ints, losses: Ints) -> Floats:
    tail = scipy.special.bdtr(np.minimum(wins, losses), wins + losses, 0.5)
    found: Floats = np.minimum(1.0, 2 * tail)
    return found


@dataclass(frozen=True, slots=True)
class Plan:
    """The designs that were tried, with their costs in cents.

    `best` is the cheapest design whose interval lies above ``wanted``, then with the fewest judgments. It and those
    beside it have new simulations, because the choice favours lucky ones.
    """

    tried: tuple[PowerResult, ...]
    costs: tuple[int, ...]
    wanted: float
    best: PowerResult | None
    best_cost: int | None
    fewer_votes: PowerResult | None
    half_the_pairs: PowerResult | None


def plan_design(
    question: Question,
    people: People,
    *,
    pairs: Sequence[int],
    references: Sequence[int],
    votes: Sequence[int],
    cost: Callable[[Size], int],
    wanted: float = 0.8,
    alpha: float = 0.05,
    simulations: int = 1000,
    seed: int = 0,
    progress: Callable[[float], object] = lambda share: None,
) -> Plan:
    """Try every design of the grid; ``cost`` returns whole cents."""
    if not 0 < wanted < 1:
        raise BadOption(f"wanted is {wanted!r}, expected a power between 0 and 1")
    sizes = sorted({Size(p, r, v) for p in pairs for r in references for v in votes})
    if not 1 <= len(sizes) <= MOST_DESIGNS:
        raise BadOption(f"there are {len(sizes):,} designs to try, expected 1 to {MOST_DESIGNS:,}")
    simulate = partial(power_of, question, people, alpha=alpha, simulations=simulations)
    tried = simulate(sizes, seed=seed, progress=lambda share: progress(0.9 * share))
    costs = [cost(size) for size in sizes]
    reaching = [
        (price, one.size.judgments, number)
        for number, (one, price) in enumerate(zip(tried, costs, strict=True))
        if one.low >= wanted
    ]
    if not reaching:
        return Plan(tuple(tried), tuple(costs), wanted, None, None, None, None)
    number = min(reaching)[2]
    size = sizes[number]
    fewer = Size(size.pairs, size.references, size.votes - 1) if size.votes > 1 else None
    half = Size(size.pairs // 2, size.references, size.votes) if size.pairs > 1 else None
    others = [one for one in (fewer, half) if one is not None]
    # with the design itself among them, the smaller ones are cut from simulations of its size
    sized = [*others, size]
    beside = dict(zip(sized, simulate(sized, seed=fresh_seed(seed)), strict=True))
    progress(1.0)
    return Plan(
        tried=tuple(tried),
        costs=tuple(costs),
        wanted=wanted,
        best=beside[size],
        best_cost=costs[number],
        fewer_votes=beside.get(fewer) if fewer else None,
        half_the_pairs=beside.get(half) if half else None,
    )


def fresh_seed(seed: int) -> int:
    """Return a seed independent of ``seed``, below 2**53 for JSON."""
    return int(np.random.SeedSequence([seed, 1]).generate_state(1, np.uint64)[0] >> np.uint64(11))
