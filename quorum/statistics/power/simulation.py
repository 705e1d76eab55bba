"""The power of a design, by simulated studies."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.numeric.packing import declare
from quorum.numeric.parallel import map_parts
from quorum.statistics.crossed import ITEM, RATER, RaterDeletions, renumber_codes
from quorum.statistics.inputs import BadOption
from quorum.statistics.meta.accuracy import PeoplesWinners
from quorum.statistics.power.questions import Question, Size, TwoSystems
from quorum.statistics.power.voters import People, beta_draws
from quorum.statistics.resampling import streams
from quorum.statistics.significance import wilson_interval

VOTES_PER_BATCH = 2_000_000  # number of votes in one chunk of simulations; an array of them has 16 MB
# Largest number of units (pairs times references) of a design, so that a simulation fits in memory.
MAX_UNITS = 2_000_000
MAX_DRAWS = 20_000_000_000  # votes in all simulations together

# (simulations, 5) columns: whether the first is significantly better, worse, or neither (1, -1, 0); which one is ahead;
# number of pairs with a right consensus; with a true winner and a consensus; without consensus.
Outcomes = Ints


@dataclass(frozen=True, slots=True)
class PowerResult:
    """The power of a design.

    Attributes:
        power: share of simulations with p <= alpha and the right sign, with a Wilson interval.
        type_s: share of significant simulations with the wrong sign.
        wrong: share of simulations in which the wrong side leads.
        right_consensus: share of pairs with a right consensus, among the pairs with a true winner and a consensus.
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
    """Return the power of each design.

    Smaller designs use the first pairs, references and votes of the largest design.
    """
    if not 0 < alpha < 1:
        raise BadOption(f"alpha is {alpha!r}, expected between 0 and 1")
    if not 1 <= simulations <= 1_000_000:
        raise BadOption(f"simulations is {simulations!r}, expected 1 to 1,000,000")
    if not sizes:
        raise BadOption("there is no design to simulate, expected one at least")
    largest_size = Size(
        *(max(getattr(size, name) for size in sizes) for name in ("pairs", "references", "votes"))
    )
    if 0 < people.raters < largest_size.votes:
        raise BadOption(f"raters is {people.raters}, expected the {largest_size.votes} of each unit or more")
    units = largest_size.pairs * largest_size.references
    if units > MAX_UNITS or simulations * largest_size.judgments > MAX_DRAWS:
        raise BadOption(
            f"{largest_size.pairs:,} pairs x {largest_size.references:,} references x {largest_size.votes:,} votes x "
            f"{simulations:,} simulations is more than is simulated; expected at most {MAX_UNITS:,} units and "
            f"{MAX_DRAWS:,} votes"
        )
    wanted_sizes = sorted(set(sizes))
    outcomes: dict[Size, list[Outcomes]] = {size: [] for size in wanted_sizes}
    chunk = max(1, VOTES_PER_BATCH // (units * largest_size.votes))
    chunks = [min(chunk, simulations - begin) for begin in range(0, simulations, chunk)]
    parts = list(zip(streams(np.random.default_rng(seed), len(chunks)), chunks, strict=True))
    done_count = 0
    for (_, count), rows in zip(
        parts,
        map_parts(_simulate_part, (question, people, largest_size, wanted_sizes, alpha), parts),
        strict=True,
    ):
        for size, outcome in rows:
            outcomes[size].append(outcome)
        done_count += count
        progress(done_count / simulations)
    results = {
        size: _result(question, size, np.concatenate(rows), alpha, simulations, seed)
        for size, rows in outcomes.items()
    }
    return [results[size] for size in sizes]


@declare
def _simulate_part(
    shared: tuple[Question, People, Size, Sequence[Size], float], part: tuple[np.random.Generator, int]
) -> list[tuple[Size, Outcomes]]:
    question, people, most, wanted, alpha = shared
    rng, count = part
    votes = _draw_votes(question, people, count, most, rng)
    return [(size, votes.outcomes(size, alpha)) for size in wanted]


def _draw_truth(question: Question, shape: tuple[int, int], rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Return (S, P) flags that say whether pairs have a true winner, and (S, P) signs of whom it favours.

    A sign is 1 if the right winner favours the first, -1 if it favours the second, and 0 if it favours neither.
    """
    if isinstance(question, TwoSystems):
        better = np.where(rng.random(shape) < question.win_rate, 1, -1)
        return (rng.random(shape) >= question.ties).astype(np.int64), better
    _, first, second, _ = question.table
    uniform = rng.random(shape)
    alone = np.where(uniform < first, 1, np.where(uniform < first + second, -1, 0))
    return np.ones(shape, dtype=np.int64), alone


@dataclass(frozen=True, slots=True)
class _Votes:
    """Votes of S simulated studies with P pairs and V votes on each unit.

    truth, gains: (S, P), see `_draw_truth`. is_right: (S, P, references, V) whether a vote is right. rater: (S, P, V)
    codes.
    """

    question: Question
    truth: Ints
    gains: Ints
    is_right: Flags
    rater: Ints

    def outcomes(self, size: Size, alpha: float) -> Outcomes:
        """Return the outcomes of a design that uses only the first pairs, references and votes."""
        votes = self.is_right[:, : size.pairs, : size.references, : size.votes].astype(np.int64)
        truth, gains = self.truth[:, : size.pairs], self.gains[:, : size.pairs]
        number = votes.sum(axis=3)
        # The majority of a unit's votes decides the unit, and the majority of units decides the pair.
        balance = 2 * number - size.votes
        part, lead = 2 * votes[:, :, 0] - 1, balance[:, :, 0]
        if size.references > 1:
            others = balance[..., np.newaxis] - (2 * votes - 1)
            lead = np.sign(balance).sum(axis=2)
            part = lead[..., np.newaxis] - np.sign(others).sum(axis=2)
        winner = np.sign(lead)
        rater = self.rater[:, : size.pairs, : size.votes]
        rows = [
            self._test_study(lead[study], part[study], gains[study], rater[study], alpha)
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

    def _test_study(self, lead: Ints, part: Ints, gains: Ints, rater: Ints, alpha: float) -> int:
        """Return 1 if the evaluation of one study finds the first better, -1 if it finds it worse, and 0 otherwise.

        lead: (P,) lead of the right winner. part: (P, V) contribution of each rater to the lead. rater: (P, V) codes.
        """
        pairs = np.arange(len(lead))
        if isinstance(self.question, TwoSystems):
            # Count leads for the first system instead of the right winner.
            lead, part = lead * gains, part * gains[:, np.newaxis]
        row = np.repeat(pairs, rater.shape[1])
        deletions = RaterDeletions.of_leads(row, renumber_codes(rater.ravel()), part.ravel(), lead)
        people = PeoplesWinners.from_winners(_as_winner(lead), clusters={ITEM: pairs, RATER: deletions})
        everywhere = np.ones(len(pairs), dtype=np.bool_)
        if isinstance(self.question, TwoSystems):
            share, spread = people.spread_if_even(_credit_of_first, everywhere)
            difference, p = share - 0.5, spread.p(share - 0.5)
        else:
            # The right winner is candidate 1. A metric that is wrong names candidate 2.
            named = np.where(gains < 0, 2, 1), np.where(gains > 0, 2, 1)
            mean_difference = people.difference(*named, everywhere)
            difference, p = mean_difference.difference, mean_difference.p
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
    # Each block of pairs is judged by the next workers, in a random order.
    order = rng.permuted(np.broadcast_to(np.arange(number), (count, number)), axis=1)
    rater = order[:, np.arange(slots) % number].reshape(count, -1, most.votes)[:, block]
    careful = beta_draws(1 - people.careless, people.worker_spread, (count, number), rng)
    study = np.arange(count)[:, np.newaxis, np.newaxis]
    careful = careful[study, rater][:, :, np.newaxis]
    if people.taste:
        taste = rng.normal(0, people.taste, (count, number))[study, rater][:, :, np.newaxis]
        odds = np.exp(taste * gains[:, :, np.newaxis, np.newaxis])
        chances = chances * odds / (chances * odds + 1 - chances)
    # A careless vote is right with probability 1/2.
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
