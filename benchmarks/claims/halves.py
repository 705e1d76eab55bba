"""Agreement of people and metrics with halves of the votes, computed by trying every split of every pair."""

from collections import Counter, defaultdict
from itertools import combinations
from statistics import mean
from typing import NamedTuple

from benchmarks.claims.rows import Rows


class Chances(NamedTuple):
    """Chances over all splits of a pair's votes into two halves.

    agree: the halves name the same winner. apart: they name different winners. named: by side, a half names this
    winner.
    """

    agree: float
    apart: float
    named: dict[int, float]

    @property
    def decided_chance(self) -> float:
        return sum(self.named.values())


def leading_side(votes: list[float]) -> int:
    """Return the side with the most votes, 1 or 2, or 0 for a tie."""
    count = Counter(votes)
    return 1 if count[1] > count[2] else 2 * (count[2] > count[1])


def split_votes(rows: Rows) -> dict[int, list[float]]:
    """Return the votes to split, by pair. If pairs have several units, the winners of the units are split instead."""
    of_pair: defaultdict[int, list[float]] = defaultdict(list)
    units = Counter(unit.pair_id for unit in rows.units.values() if unit.pair_id is not None)
    several = max(units.values(), default=1) > 1
    for unit, votes in rows.votes.items():
        values = [value for _, value in votes]
        pair = rows.units[unit].pair_id
        if pair is not None:
            of_pair[pair] += [leading_side(values)] if several else values
    return of_pair


def chances(votes: list[float]) -> Chances:
    winners = []
    for half in combinations(range(len(votes)), len(votes) // 2):
        rest = [vote for place, vote in enumerate(votes) if place not in half]
        winners.append((leading_side([votes[place] for place in half]), leading_side(rest)))
    agree = mean(float(one == other != 0) for one, other in winners)
    apart = mean(float(0 != one != other != 0) for one, other in winners)
    named = {side: mean(both.count(side) / 2 for both in winners) for side in (1, 2)}
    return Chances(agree, apart, named)


def of_pairs(rows: Rows) -> dict[int, Chances]:
    """Return the chances of the pairs of which at least one half can name a winner."""
    every = {pair: chances(votes) for pair, votes in split_votes(rows).items() if len(votes) > 1}
    return {pair: one for pair, one in every.items() if one.decided_chance}


def people_and_ceiling(rows: Rows) -> tuple[float, float]:
    pairs = list(of_pairs(rows).values())
    decided = sum(one.decided_chance for one in pairs)
    better = max(mean(one.agree - one.apart for one in pairs), 0) ** 0.5
    return sum(one.agree for one in pairs) / decided, min((1 + better * len(pairs) / decided) / 2, 1)


def expected_accuracy(rows: Rows, metric: str) -> float:
    pairs = of_pairs(rows)
    choices = {pair: side_of(*rows.scores[metric][pair]) for pair in pairs}
    hits = sum(one.named.get(choices[pair], 0.0) for pair, one in pairs.items())
    return hits / sum(one.decided_chance for one in pairs.values())


def side_of(first: float, second: float) -> int:
    return 1 if first > second else 2 * (second > first)
