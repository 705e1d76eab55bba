"""Plan sizes: the power of comparisons, the voters they assume, and the variance that items and raters add.

How many pairs, references, votes and people tell two systems, or two metrics, apart: power is simulated, as by Card et
al. 2020 ("With Little Power Comes Great Responsibility"), with the t tests over items and raters of the verdict itself
(`PeoplesWinners`). Type S error: Gelman, Carlin 2014. Voters follow a beta-binomial model, assumed or of a pilot.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy  # its parts load when they are first used
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.numeric.packing import declare
from quorum.numeric.parallel import map_parts
from quorum.statistics.crossed import ITEM, RATER, Clusters, RaterDeletions, renumbered
from quorum.statistics.inference import signed
from quorum.statistics.inputs import (
    BadOption,
    BadValue,
    finite_vector,
    is_real,
    same_length,
    score_vector,
)
from quorum.statistics.meta.accuracy import PeoplesWinners
from quorum.statistics.resampling import streams
from quorum.statistics.significance import wilson_interval
from quorum.statistics.variance_components import VarianceComponents, components_of_clusters

LARGEST_SPREAD = 0.95  # beyond it the likelihood is flat: whole units are right or wrong, whatever the mean
LEAST_FOR_SPREAD = 4  # votes a unit: with fewer, one number is all that the split of the votes can tell
EDGE = 1e-9
AT_ONCE = 2_000_000  # units of a chunk of simulations: 16 MB an array
MOST_UNITS = 2_000_000  # pairs times references of the largest design: what one simulation may hold
MOST_DRAWS = 20_000_000_000
MOST_DESIGNS = 2_000
MOST_TASTE = 10.0


@declare
@dataclass(frozen=True, slots=True)
class People:
    """Assumptions about voters.

    Attributes:
        right: chance that a careful vote is right.
        pair_spread, unit_spread: intraclass correlation, of a beta distribution, of that chance between pairs, and
            between the units of a pair.
        careless: share of votes given without looking; half of them are right.
        worker_spread: how unevenly careless votes are distributed over workers.
        pairs_each: consecutive pairs that the same workers judge.
        raters: people who share the work; 0: new ones for every `pairs_each` pairs.
        taste: standard deviation over people of their log odds to prefer the first of the two.
    """

    right: float = 0.85
    pair_spread: float = 0.1
    unit_spread: float = 0.0
    careless: float = 0.0
    worker_spread: float = 0.0
    pairs_each: int = 20
    raters: int = 0
    taste: float = 0.0

    def __post_init__(self) -> None:
        for name, low, high in (
            ("taste", 0.0, MOST_TASTE),
            ("right", 0.5, 1.0),
            ("pair_spread", 0.0, 0.99),
            ("unit_spread", 0.0, 0.99),
            ("careless", 0.0, 1.0),
            ("worker_spread", 0.0, 1.0),
        ):
            value = getattr(self, name)
            if not is_real(value) or not low <= value <= high:
                raise BadOption(f"{name} is {value!r}, expected {low:g} to {high:g}")
        if self.pairs_each < 1:
            raise BadOption(f"pairs_each is {self.pairs_each!r}, expected 1 or more")
        if self.raters < 0:
            raise BadOption(f"raters is {self.raters!r}, expected 0 for new ones, or how many there are")


def beta_draws(
    mean: float | Floats, spread: float, shape: tuple[int, ...], rng: np.random.Generator
) -> Floats:
    """Draw beta chances around ``mean`` with the intraclass correlation ``spread``."""
    whole = np.broadcast_to(np.asarray(mean, dtype=np.float64), shape)
    if spread == 0:
        return np.array(whole)
    if spread == 1:
        return (rng.random(shape) < whole).astype(np.float64)
    scale = (1 - spread) / spread
    safe = np.clip(whole, EDGE, 1 - EDGE)
    return rng.beta(safe * scale, (1 - safe) * scale)


@dataclass(frozen=True, slots=True)
class PilotPeople:
    """Voters of a pilot.

    ``right`` and ``spread`` (over units) maximise the likelihood of each unit's split of votes; with too few votes a
    unit, ``spread`` is the assumed one. ``agreement``: share of agreeing pairs of votes on one unit.
    """

    right: float
    spread: float
    agreement: float
    units: int
    votes: int
    converged: bool
    reason: str


def fit_people(first: ArrayLike, votes: ArrayLike, spread: float = 0.1) -> PilotPeople:
    """Fit (U,) votes for the first option among (U,) votes; units with a single vote are left out.

    The model is an even mixture of BetaBinomial(n, a, b) and BetaBinomial(n, b, a) (Skellam 1948).
    """
    if not 0 <= spread < 1:
        raise BadOption(f"spread is {spread!r}, expected 0 to less than 1")
    counts, totals = finite_vector(first, "first"), finite_vector(votes, "votes")
    same_length(first=counts, votes=totals)
    if ((counts < 0) | (counts > totals) | (counts % 1 != 0) | (totals % 1 != 0)).any():
        raise BadValue("first holds a count that is not a whole number between 0 and the unit's votes")
    several = totals >= 2
    counts, totals = counts[several], totals[several]
    if not counts.size:
        raise BadValue("no unit has two votes, expected some to see how far people agree")
    pairs = totals * (totals - 1)
    agreeing = counts * (counts - 1) + (totals - counts) * (totals - counts - 1)
    agreement = float(agreeing.sum() / pairs.sum())
    cells, times = np.unique(np.stack([counts, totals]), axis=1, return_counts=True)
    free = totals.max() >= LEAST_FOR_SPREAD
    reason = (
        ""
        if free
        else f"no unit has {LEAST_FOR_SPREAD} votes, so the spread over units is assumed: {spread:g}"
    )

    if agreement == 1.0:
        reason = f"all votes agree, so the spread over units is assumed: {spread:g}"
        return PilotPeople(1.0, spread, agreement, int(counts.size), int(totals.sum()), True, reason)

    def loss(values: Any) -> float:
        right = 0.5 + 0.5 * scipy.special.expit(values[0])
        spread_of_units = LARGEST_SPREAD * scipy.special.expit(values[1]) if free else spread
        return -float((times * _log_split(cells[0], cells[1], right, spread_of_units)).sum())

    start = np.array([0.0, -2.0]) if free else np.array([0.0])
    best = min(
        (
            scipy.optimize.minimize(
                loss, start + shift, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-8}
            )
            for shift in (-1.5, 0.0, 1.5)
        ),
        key=lambda fit: fit.fun,
    )
    return PilotPeople(
        right=0.5 + 0.5 * float(scipy.special.expit(best.x[0])),
        spread=LARGEST_SPREAD * float(scipy.special.expit(best.x[1])) if free else spread,
        agreement=agreement,
        units=int(counts.size),
        votes=int(totals.sum()),
        converged=bool(best.success),
        reason=reason,
    )


def _log_split(k: Floats, n: Floats, right: float, spread: float) -> Floats:
    right = min(max(right, EDGE), 1 - EDGE)
    if spread < 1e-6:
        for_first = scipy.stats.binom(n, right).logpmf(k)
        for_second = scipy.stats.binom(n, right).logpmf(n - k)
    else:
        scale = (1 - spread) / spread
        law = scipy.stats.betabinom(n, right * scale, (1 - right) * scale)
        for_first, for_second = law.logpmf(k), law.logpmf(n - k)
    log_likelihood: Floats = np.logaddexp(for_first, for_second) - np.log(2)
    return log_likelihood


def without_noise(observed: float, right: float) -> float:
    """Return the true share s behind observed = s r + (1 - s)(1 - r), r = ``right``."""
    if not 0.5 < right <= 1:
        raise BadOption(f"right is {right!r}, expected more than 0.5 and at most 1")
    return min(1.0, max(0.0, (observed - (1 - right)) / (2 * right - 1)))


@declare
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


@declare
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


@declare
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
        power: share of simulations with p <= alpha and the right sign, with a Wilson interval.
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
    if 0 < people.raters < most.votes:
        raise BadOption(f"raters is {people.raters}, expected the {most.votes} of each unit or more")
    units = most.pairs * most.references
    if units > MOST_UNITS or simulations * most.judgments > MOST_DRAWS:
        raise BadOption(
            f"{most.pairs:,} pairs x {most.references:,} references x {most.votes:,} votes x {simulations:,} "
            f"simulations is more than is simulated; expected at most {MOST_UNITS:,} units and {MOST_DRAWS:,} votes"
        )
    wanted = sorted(set(sizes))
    outcomes: dict[Size, list[Outcomes]] = {size: [] for size in wanted}
    chunk = max(1, AT_ONCE // (units * most.votes))
    chunks = [min(chunk, simulations - begin) for begin in range(0, simulations, chunk)]
    parts = list(zip(streams(np.random.default_rng(seed), len(chunks)), chunks, strict=True))
    done = 0
    for (_, count), rows in zip(
        parts, map_parts(_simulate_part, (question, people, most, wanted, alpha), parts), strict=True
    ):
        for size, outcome in rows:
            outcomes[size].append(outcome)
        done += count
        progress(done / simulations)
    results = {
        size: _result(question, size, np.concatenate(rows), alpha, simulations, seed)
        for size, rows in outcomes.items()
    }
    return [results[size] for size in sizes]


# (simulations, 5): the first is found better, or worse (1, 0, -1); which is ahead; right consensuses; pairs with truth
# and consensus; pairs without consensus.
Outcomes = Ints


@declare
def _simulate_part(
    shared: tuple[Question, People, Size, Sequence[Size], float], part: tuple[np.random.Generator, int]
) -> list[tuple[Size, Outcomes]]:
    question, people, most, wanted, alpha = shared
    rng, count = part
    votes = _draw_votes(question, people, count, most, rng)
    return [(size, votes.outcomes(size, alpha)) for size in wanted]


def _draw_truth(question: Question, shape: tuple[int, int], rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Return whether each pair has a truth, and who gains by the right consensus: 1 the first, -1 the second."""
    if isinstance(question, TwoSystems):
        better = np.where(rng.random(shape) < question.win_rate, 1, -1)
        return (rng.random(shape) >= question.ties).astype(np.int64), better
    _, first, second, _ = question.table
    uniform = rng.random(shape)
    alone = np.where(uniform < first, 1, np.where(uniform < first + second, -1, 0))
    return np.ones(shape, dtype=np.int64), alone


@dataclass(frozen=True, slots=True)
class _Votes:
    """Votes of S simulated studies.

    truth, gains: (S, P), see `_draw_truth`. right: (S, P, references, V) whether votes are. rater: (S, P, V) codes.
    """

    question: Question
    truth: Ints
    gains: Ints
    right: Flags
    rater: Ints

    def outcomes(self, size: Size, alpha: float) -> Outcomes:
        """Return what a design finds that takes the first pairs, references and votes."""
        votes = self.right[:, : size.pairs, : size.references, : size.votes].astype(np.int64)
        truth, gains = self.truth[:, : size.pairs], self.gains[:, : size.pairs]
        number = votes.sum(axis=3)
        # A unit's votes decide a pair; of several units, the most.
        balance = 2 * number - size.votes
        part, lead = 2 * votes[:, :, 0] - 1, balance[:, :, 0]
        if size.references > 1:
            others = balance[..., np.newaxis] - (2 * votes - 1)
            lead = np.sign(balance).sum(axis=2)
            part = lead[..., np.newaxis] - np.sign(others).sum(axis=2)
        winner = np.sign(lead)
        rater = self.rater[:, : size.pairs, : size.votes]
        rows = [
            self._test(lead[study], part[study], gains[study], rater[study], alpha)
            for study in range(len(lead))
        ]
        score = winner * gains
        return np.column_stack(
            [
                np.array(rows, dtype=np.int64),
                np.sign(score.sum(axis=1)),
                ((winner > 0) & (truth == 1)).sum(axis=1),
                ((winner != 0) & (truth == 1)).sum(axis=1),
                (winner == 0).sum(axis=1),
            ]
        )

    def _test(self, lead: Ints, part: Ints, gains: Ints, rater: Ints, alpha: float) -> int:
        """Return whether a study finds the first better (1) or worse (-1), as the verdict on its answers would.

        lead: (P,) of the right one. part: (P, V) of each rater in it. rater: (P, V).
        """
        pairs = np.arange(len(lead))
        if isinstance(self.question, TwoSystems):
            # The first system is the first of each pair.
            lead, part = lead * gains, part * gains[:, np.newaxis]
        row = np.repeat(pairs, rater.shape[1])
        deletions = RaterDeletions.of_leads(row, renumbered(rater.ravel()), part.ravel(), lead)
        people = PeoplesWinners.of(_as_winner(lead), clusters={ITEM: pairs, RATER: deletions})
        everywhere = np.ones(len(pairs), dtype=np.bool_)
        if isinstance(self.question, TwoSystems):
            share, spread = people.spread_if_even(_credit_of_first, everywhere)
            difference, p = share - 0.5, spread.p(share - 0.5)
        else:
            # The right winner is the first of each pair; both metrics name it, or one of them alone.
            named = np.where(gains < 0, 2, 1), np.where(gains > 0, 2, 1)
            apart = people.difference(*named, everywhere)
            difference, p = apart.difference, apart.p
        return int(np.sign(difference)) if p <= alpha else 0


def _as_winner(lead: Ints) -> Floats:
    return np.where(lead > 0, 1.0, np.where(lead < 0, 2.0, 0.0))


def _credit_of_first(_pairs: Ints, winners: Floats) -> Floats:
    return np.where(winners == 0, 0.5, winners == 1)


def _draw_votes(
    question: Question, people: People, count: int, most: Size, rng: np.random.Generator
) -> _Votes:
    truth, gains = _draw_truth(question, (count, most.pairs), rng)
    shape = (count, most.pairs, most.references)
    of_pair = beta_draws(people.right, people.pair_spread, shape[:2], rng)
    chances = beta_draws(of_pair[:, :, np.newaxis], people.unit_spread, shape, rng)
    chances = np.where(truth[:, :, np.newaxis] == 1, chances, 0.5)[..., np.newaxis]
    block = np.arange(most.pairs) // people.pairs_each
    slots = (int(block[-1]) + 1) * most.votes
    number = people.raters or slots
    # Page after page the next ones come, in an order of their own.
    order = rng.permuted(np.broadcast_to(np.arange(number), (count, number)), axis=1)
    rater = order[:, np.arange(slots) % number].reshape(count, -1, most.votes)[:, block]
    careful = beta_draws(1 - people.careless, people.worker_spread, (count, number), rng)
    study = np.arange(count)[:, np.newaxis, np.newaxis]
    careful = careful[study, rater][:, :, np.newaxis]
    if people.taste:
        taste = rng.normal(0, people.taste, (count, number))[study, rater][:, :, np.newaxis]
        odds = np.exp(taste * gains[:, :, np.newaxis, np.newaxis])
        chances = chances * odds / (chances * odds + 1 - chances)
    # A careless vote is right by half.
    right = rng.random((*shape, most.votes)) < 0.5 + (chances - 0.5) * careful
    return _Votes(question, truth, gains, right, rater)


def _result(
    question: Question, size: Size, outcomes: Outcomes, alpha: float, simulations: int, seed: int
) -> PowerResult:
    decision, ahead, right, with_truth, undecided = outcomes.T
    first_is_better = (
        question.win_rate > 0.5 if isinstance(question, TwoSystems) else question.first > question.second
    )
    better = 1 if first_is_better else -1
    rightly, wrongly = int((decision == better).sum()), int((decision == -better).sum())
    low, high = wilson_interval(rightly, simulations)
    return PowerResult(
        size=size,
        power=rightly / simulations,
        low=low,
        high=high,
        type_s=wrongly / (rightly + wrongly) if rightly + wrongly else math.nan,
        wrong=float((ahead == -better).mean()),
        right_consensus=float(right.sum() / with_truth.sum()) if with_truth.any() else math.nan,
        undecided=float(undecided.sum() / (size.pairs * simulations)),
        alpha=alpha,
        simulations=simulations,
        seed=seed,
    )


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
    reaching = [number for number, result in enumerate(tried) if result.low >= wanted]
    if not reaching:
        return Plan(tuple(tried), tuple(costs), wanted, None, None, None)
    # The cheapest design that reaches the power; of equally cheap ones that of the fewest judgments.
    best = min(reaching, key=lambda number: (costs[number], sizes[number].judgments))
    size = sizes[best]
    fewer = Size(size.pairs, size.references, size.votes - 1) if size.votes > 1 else None
    half = Size(size.pairs // 2, size.references, size.votes) if size.pairs > 1 else None
    # With the design itself among them, the smaller ones are cut from simulations of its size.
    sized = [smaller for smaller in (fewer, half) if smaller is not None] + [size]
    beside = dict(zip(sized, simulate(sized, seed=fresh_seed(seed)), strict=True))
    progress(1.0)
    return Plan(
        tried=tuple(tried),
        costs=tuple(costs),
        wanted=wanted,
        best=beside[size],
        fewer_votes=beside.get(fewer) if fewer else None,
        half_the_pairs=beside.get(half) if half else None,
    )


def fresh_seed(seed: int) -> int:
    """Return a seed independent of ``seed``, below 2**53 for JSON."""
    return int(np.random.SeedSequence([seed, 1]).generate_state(1, np.uint64)[0] >> np.uint64(11))


@signed("variance-components")
def variance_components(values: ArrayLike, items: Iterable[Any], raters: Iterable[Any]) -> VarianceComponents:
    """Return the components of (N,) values of items and raters, by the moments of `inference`, none below zero."""
    value = score_vector(values, "values")
    return components_of_clusters(value, Clusters.of({ITEM: items, RATER: raters}, len(value)))
