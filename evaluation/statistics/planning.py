"""Which design is the cheapest that reaches a power: a search over pairs, references and votes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from evaluation.statistics.errors import BadOption
from evaluation.statistics.people import People
from evaluation.statistics.power import PowerResult, Question, Size, power_of

MOST_DESIGNS = 2_000


@dataclass(frozen=True, slots=True)
class Plan:
    """The designs that were tried and what they give.

    Attributes:
        tried: every design of the grid, in the order pairs, references, votes.
        costs: cents of each, in the same order.
        best: the cheapest of which the lower end of its interval reaches ``wanted``, of equally dear ones that with
            the fewest judgments; None where none does. Whoever picks the cheapest of many picks the luckiest too, so
            its figures, and those of the two below, are of simulations of their own that had no part in the choice.
        fewer_votes, half_the_pairs: what is left of the power when one vote less, or half the pairs, are paid for.
    """

    tried: tuple[PowerResult, ...]
    costs: tuple[int, ...]
    wanted: float
    best: PowerResult | None
    best_cost: int | None
    fewer_votes: PowerResult | None
    half_the_pairs: PowerResult | None


def plan_design(
    question: Question, people: People, *, pairs: Sequence[int], references: Sequence[int], votes: Sequence[int],
    cost: Callable[[Size], int], wanted: float = 0.8, alpha: float = 0.05, simulations: int = 1000, seed: int = 0,
    progress: Callable[[float], object] = lambda share: None,
) -> Plan:  # fmt: skip
    """Try every design of the grid. ``cost`` gives whole cents. Raises BadOption."""
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
    """The seed of draws that have nothing to do with those of ``seed``; below 2**53, so that JSON holds it."""
    return int(np.random.SeedSequence([seed, 1]).generate_state(1, np.uint64)[0] >> np.uint64(11))
