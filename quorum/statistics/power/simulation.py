"""The power of a design, by simulated studies.

Each simulated study draws the true winners of pairs and people's votes, and is then evaluated as a real study is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.numeric.packing import declare
from quorum.numeric.parallel import map_parts
from quorum.statistics.crossed import ITEM, RATER, RaterDeletions, renumber_codes
from quorum.statistics.inputs import BadOption
from quorum.statistics.meta.accuracy import PeoplesWinners
from quorum.statistics.power.questions import Question, Size, TwoSystems
from quorum.statistics.power.voters import VoterModel, beta_draws
from quorum.statistics.resampling import streams
from quorum.statistics.significance import wilson_interval

VOTES_PER_BATCH = 2_000_000  # number of votes in one chunk of simulations; an array of them has 16 MB
# Largest number of units (pairs times references) of a design, so that a simulation fits in memory.
MAX_UNITS = 2_000_000
MAX_DRAWS = 20_000_000_000  # votes in all simulations together


@declare  # declared objects and functions can be sent to other processes (`map_parts`)
class Outcomes(NamedTuple):
    """The outcomes of S simulated studies; (S,) each.

    decision: 1 if the evaluation finds the first system or metric significantly better, -1 if it finds it worse, else
    0. leader: 1 if the first is ahead, -1 if the second is, 0 in a tie. right: number of pairs with a right consensus.
    decided: number of pairs with a true winner and a consensus. undecided: number of pairs without a consensus.
    """

    decision: Ints
    leader: Ints
    right: Ints
    decided: Ints
    undecided: Ints

    @classmethod
    def joined(cls, batches: Sequence[Outcomes]) -> Outcomes:
        """Return the outcomes of all batches, one after another."""
        return cls(*(np.concatenate(columns) for columns in zip(*batches, strict=True)))


@dataclass(frozen=True, slots=True)
class PowerResult:
    """The power of a design.

    Attributes:
        size: the design.
        power: share of simulations with p <= alpha and the right sign, with a Wilson interval (low, high).
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
    people: VoterModel,
    sizes: Sequence[Size],
    *,
    alpha: float = 0.05,
    simulations: int = 1000,
    seed: int = 0,
    progress: Callable[[float], object] = lambda share: None,
) -> list[PowerResult]:
    """Return the power of each design in `sizes` to answer the question, if people vote as in the model.

    Every simulation draws a study of the largest numbers of pairs, references and votes. Smaller designs use its first
    pairs, references and votes. `progress` is called with the share of simulations that are done.
    """
    if not 0 < alpha < 1:
        raise BadOption(f"alpha is {alpha!r}, expected between 0 and 1")
    if not 1 <= simulations <= 1_000_000:
        raise BadOption(f"simulations is {simulations!r}, expected 1 to 1,000,000")
    if not sizes:
        raise BadOption("there is no design to simulate, expected one at least")
    largest_size = Size(
        pairs=max(size.pairs for size in sizes),
        references=max(size.references for size in sizes),
        votes=max(size.votes for size in sizes),
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
    distinct_sizes = sorted(set(sizes))
    outcomes: dict[Size, list[Outcomes]] = {size: [] for size in distinct_sizes}
    batch_size = max(1, VOTES_PER_BATCH // (units * largest_size.votes))
    batch_sizes = [min(batch_size, simulations - start) for start in range(0, simulations, batch_size)]
    batches = list(zip(streams(np.random.default_rng(seed), len(batch_sizes)), batch_sizes, strict=True))
    setup = question, people, largest_size, distinct_sizes, alpha
    done_count = 0
    for count, batch_outcomes in zip(batch_sizes, map_parts(_simulate_batch, setup, batches), strict=True):
        for size, outcomes_of_size in zip(distinct_sizes, batch_outcomes, strict=True):
            outcomes[size].append(outcomes_of_size)
        done_count += count
        progress(done_count / simulations)
    results = {
        size: _result(question, size, Outcomes.joined(batches_of_size), alpha, simulations, seed)
        for size, batches_of_size in outcomes.items()
    }
    return [results[size] for size in sizes]


@declare
def _simulate_batch(
    setup: tuple[Question, VoterModel, Size, Sequence[Size], float], batch: tuple[np.random.Generator, int]
) -> list[Outcomes]:
    """Return the outcomes of each size, in the order of the sizes in `setup`.

    `batch` has the random generator and the number of simulations.
    """
    question, people, largest_size, sizes, alpha = setup
    rng, count = batch
    votes = _draw_votes(question, people, count, largest_size, rng)
    return [votes.outcomes(size, alpha) for size in sizes]


def _draw_truth(question: Question, shape: tuple[int, int], rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Return whether each of (S, P) pairs has a true winner (1 or 0), and whom the right winner favours (1, -1 or 0).

    For two systems, it favours the first system (1) or the second (-1), whose candidate it is. For two metrics, it
    favours the one that alone names it, or neither (0).
    """
    if isinstance(question, TwoSystems):
        favoured_side = np.where(rng.random(shape) < question.win_rate, 1, -1)
        return (rng.random(shape) >= question.ties).astype(np.int64), favoured_side
    _, only_first, only_second, _ = question.table  # chances that this metric alone names the right winner
    uniform = rng.random(shape)
    favoured_metric = np.where(uniform < only_first, 1, np.where(uniform < only_first + only_second, -1, 0))
    return np.ones(shape, dtype=np.int64), favoured_metric


@dataclass(frozen=True, slots=True)
class _Votes:
    """Votes of S simulated studies with P pairs and V votes on each unit. A unit is a pair with one of its references.

    has_winner, favours: (S, P), see `_draw_truth`. is_right: (S, P, references, V) whether each vote is right. rater:
    (S, P, V) codes of the raters, who vote on all units of a pair.
    """

    question: Question
    has_winner: Ints
    favours: Ints
    is_right: Flags
    rater: Ints

    def outcomes(self, size: Size, alpha: float) -> Outcomes:
        """Return the outcomes of a smaller study, which has only the first of these pairs, references and votes."""
        votes = self.is_right[:, : size.pairs, : size.references, : size.votes].astype(np.int64)
        has_winner, favours = self.has_winner[:, : size.pairs], self.favours[:, : size.pairs]
        right_votes = votes.sum(axis=3)
        # The majority of a unit's votes decides the unit, and the majority of units decides the pair.
        # balance: (S, P, references) right minus wrong votes on a unit.
        # lead: (S, P) right minus wrong votes with one reference, right minus wrong units with several.
        # contribution: (S, P, V) the lead minus the lead without this rater's votes on the pair.
        balance = 2 * right_votes - size.votes
        if size.references == 1:
            lead, contribution = balance[:, :, 0], 2 * votes[:, :, 0] - 1
        else:
            balance_without_rater = balance[..., np.newaxis] - (2 * votes - 1)
            lead = np.sign(balance).sum(axis=2)
            contribution = lead[..., np.newaxis] - np.sign(balance_without_rater).sum(axis=2)
        winner = np.sign(lead)  # of each pair: 1 the right one, -1 the wrong one, 0 none
        rater = self.rater[:, : size.pairs, : size.votes]
        decisions = [
            self._test_study(lead[study], contribution[study], favours[study], rater[study], alpha)
            for study in range(len(lead))
        ]
        return Outcomes(
            decision=np.array(decisions, dtype=np.int64),
            leader=np.sign((winner * favours).sum(axis=1)),
            right=((winner > 0) & (has_winner == 1)).sum(axis=1),
            decided=((winner != 0) & (has_winner == 1)).sum(axis=1),
            undecided=(winner == 0).sum(axis=1),
        )

    def _test_study(self, lead: Ints, contribution: Ints, favours: Ints, rater: Ints, alpha: float) -> int:
        """Return 1 if the evaluation of one study finds the first better, -1 if it finds it worse, and 0 otherwise.

        lead: (P,) lead of the right winner. contribution: (P, V) what each rater adds to the lead. favours: (P,) signs,
        see `_draw_truth`. rater: (P, V) codes.
        """
        pairs = np.arange(len(lead))
        if isinstance(self.question, TwoSystems):
            # Count leads for the first system instead of the right winner.
            lead, contribution = lead * favours, contribution * favours[:, np.newaxis]
        row = np.repeat(pairs, rater.shape[1])
        deletions = RaterDeletions.of_leads(row, renumber_codes(rater.ravel()), contribution.ravel(), lead)
        people = PeoplesWinners.from_winners(_as_winner(lead), clusters={ITEM: pairs, RATER: deletions})
        all_pairs = np.ones(len(pairs), dtype=np.bool_)
        if isinstance(self.question, TwoSystems):
            share, spread = people.spread_if_even(_credit_of_first, all_pairs)  # if the true share is 0.5
            difference, p = share - 0.5, spread.p(share - 0.5)
        else:
            # The right winner is candidate 1. If one metric alone is right, the other names candidate 2. If both are
            # right or both are wrong, both name candidate 1, since only the difference of their credits counts.
            first_winners, second_winners = np.where(favours < 0, 2, 1), np.where(favours > 0, 2, 1)
            mean_difference = people.difference(first_winners, second_winners, all_pairs)
            difference, p = mean_difference.difference, mean_difference.p
        return int(np.sign(difference)) if p <= alpha else 0


def _as_winner(lead: Ints) -> Floats:
    """Return the winners 1, 2 or 0 of pairs, from the lead of the first."""
    return np.where(lead > 0, 1.0, np.where(lead < 0, 2.0, 0.0))


def _credit_of_first(_pairs: Ints, winners: Floats) -> Floats:
    """Return the first system's credits: 1 for a win, and a half for a tie."""
    return np.where(winners == 0, 0.5, winners == 1)


def _draw_votes(
    question: Question, people: VoterModel, count: int, size: Size, rng: np.random.Generator
) -> _Votes:
    """Return the votes of `count` studies of this size."""
    # The chance that a careful vote is right, which differs between pairs, and between the units of a pair.
    has_winner, favours = _draw_truth(question, (count, size.pairs), rng)
    shape = (count, size.pairs, size.references)
    pair_chances = beta_draws(people.right, people.pair_spread, shape[:2], rng)
    chances = beta_draws(pair_chances[:, :, np.newaxis], people.unit_spread, shape, rng)
    chances = np.where(has_winner[:, :, np.newaxis] == 1, chances, 0.5)[..., np.newaxis]  # 0.5: a tie
    # Pairs are divided into blocks, which are judged by the same raters.
    block = np.arange(size.pairs) // people.pairs_each
    place_count = (int(block[-1]) + 1) * size.votes  # a place is a rater's share of a block
    worker_count = people.raters or place_count  # if 0, each block has new people
    # Each block of pairs is judged by the next workers, in a random order: (S, blocks, V), and (S, P, V) by pair.
    order = rng.permuted(np.broadcast_to(np.arange(worker_count), (count, worker_count)), axis=1)
    rater = order[:, np.arange(place_count) % worker_count].reshape(count, -1, size.votes)[:, block]
    care = beta_draws(1 - people.careless, people.worker_spread, (count, worker_count), rng)
    study = np.arange(count)[:, np.newaxis, np.newaxis]
    care = care[study, rater][:, :, np.newaxis]
    if people.taste:  # the spread of people's log odds of preferring the first system or metric
        taste = rng.normal(0, people.taste, (count, worker_count))[study, rater][:, :, np.newaxis]
        odds = np.exp(taste * favours[:, :, np.newaxis, np.newaxis])
        chances = chances * odds / (chances * odds + 1 - chances)
    # A vote is careful with the chance `care`. A careless vote is right with probability 1/2.
    is_right = rng.random((*shape, size.votes)) < 0.5 + (chances - 0.5) * care
    return _Votes(question, has_winner, favours, is_right, rater)


def _result(
    question: Question, size: Size, outcomes: Outcomes, alpha: float, simulations: int, seed: int
) -> PowerResult:
    """Return the power of a design from the outcomes of its simulations."""
    if isinstance(question, TwoSystems):
        is_first_better = question.win_rate - 0.5 > 0
    else:
        is_first_better = question.first - question.second > 0
    better_side = 1 if is_first_better else -1
    successes = int((outcomes.decision == better_side).sum())
    reversals = int((outcomes.decision == -better_side).sum())
    low, high = wilson_interval(successes, simulations)
    return PowerResult(
        size=size,
        power=successes / simulations,
        low=low,
        high=high,
        type_s=reversals / (successes + reversals) if successes + reversals else math.nan,
        wrong=float((outcomes.leader == -better_side).mean()),
        right_consensus=(
            float(outcomes.right.sum() / outcomes.decided.sum()) if outcomes.decided.any() else math.nan
        ),
        undecided=float(outcomes.undecided.sum() / (size.pairs * simulations)),
        alpha=alpha,
        simulations=simulations,
        seed=seed,
    )
