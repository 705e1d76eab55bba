"""Find the cheapest design in a grid that has the required power."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from quorum.statistics.inputs import BadOption
from quorum.statistics.power.questions import Question, Size
from quorum.statistics.power.simulation import PowerResult, power_of
from quorum.statistics.power.voters import VoterModel

MAX_DESIGNS = 2_000  # designs in a grid


@dataclass(frozen=True, slots=True)
class Plan:
    """The designs that were tried, and the cheapest one that suffices.

    tried: the power of all designs. costs: their costs in cents, in the same order. best: the cheapest design whose
    interval of power begins at `required_power` or above; of equally cheap designs, the one with the fewest judgments;
    None if there is none. fewer_votes, half_the_pairs: designs that are smaller than the best one in this respect, for
    comparison. These three are simulated again, because the search favours designs whose simulations were lucky.
    """

    tried: tuple[PowerResult, ...]
    costs: tuple[int, ...]
    required_power: float
    best: PowerResult | None
    fewer_votes: PowerResult | None
    half_the_pairs: PowerResult | None


def plan_design(
    question: Question,
    people: VoterModel,
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
    """Simulate every design in a grid, and return a plan.

    ``cost`` returns a design's cost in whole cents, ``wanted`` is the required power, and ``progress`` is called with
    the share of the work that is done.
    """
    if not 0 < wanted < 1:
        raise BadOption(f"wanted is {wanted!r}, expected a power between 0 and 1")
    sizes = sorted({Size(*numbers) for numbers in product(pairs, references, votes)})
    if not 1 <= len(sizes) <= MAX_DESIGNS:
        raise BadOption(f"there are {len(sizes):,} designs to try, expected 1 to {MAX_DESIGNS:,}")
    simulate = partial(power_of, question, people, alpha=alpha, simulations=simulations)
    # The last tenth of the work is to simulate the best design again.
    results = simulate(sizes, seed=seed, progress=lambda share: progress(0.9 * share))
    costs = [cost(size) for size in sizes]
    sufficient_numbers = [number for number, result in enumerate(results) if result.low >= wanted]
    if not sufficient_numbers:
        return Plan(tuple(results), tuple(costs), wanted, None, None, None)
    best_number = min(sufficient_numbers, key=lambda number: (costs[number], sizes[number].judgments))
    size = sizes[best_number]
    fewer_votes = Size(size.pairs, size.references, size.votes - 1) if size.votes > 1 else None
    half_the_pairs = Size(size.pairs // 2, size.references, size.votes) if size.pairs > 1 else None
    # Simulate the design together with the smaller ones, which then use votes of its simulations.
    final_sizes = [smaller for smaller in (fewer_votes, half_the_pairs) if smaller is not None] + [size]
    results_by_size = dict(zip(final_sizes, simulate(final_sizes, seed=fresh_seed(seed)), strict=True))
    progress(1.0)
    return Plan(
        tried=tuple(results),
        costs=tuple(costs),
        required_power=wanted,
        best=results_by_size[size],
        fewer_votes=results_by_size.get(fewer_votes) if fewer_votes else None,
        half_the_pairs=results_by_size.get(half_the_pairs) if half_the_pairs else None,
    )


def fresh_seed(seed: int) -> int:
    """Return another seed, derived from ``seed``, below 2**53 for JSON."""
    return int(np.random.SeedSequence([seed, 1]).generate_state(1, np.uint64)[0] >> np.uint64(11))
