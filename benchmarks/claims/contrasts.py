"""The t test of two metrics' accuracies over items and people, as docs/statistics.md defines it."""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable
from itertools import combinations
from statistics import mean

from scipy.stats import binomtest, t

from benchmarks.claims.halves import leads, side_of
from benchmarks.claims.rows import Rows
from benchmarks.claims.variances import People, effective, enlarged, people_add

SIGN = {1: 1, 2: -1, 0: 0}


def sum_of_squares(parts: Iterable[tuple[Hashable, float]]) -> float:
    """Of sums by label."""
    sums: defaultdict[Hashable, float] = defaultdict(float)
    for label, part in parts:
        sums[label] += part
    return sum(one**2 for one in sums.values())


def gains(rows: Rows) -> dict[tuple[int, str], dict[int, float]]:
    """Pair and person -> how much more often each side wins with this person's votes than without."""
    units: defaultdict[int, list[list[tuple[str, float]]]] = defaultdict(list)
    for unit, votes in rows.votes.items():
        pair = rows.units[unit].pair_id
        if pair is not None:
            units[pair].append(votes)
    made = {}
    for pair, of_units in units.items():
        net = sum(SIGN.get(int(value), 0) for _, value in of_units[0])
        if len(of_units) == 1 and sign(net) == SIGN[leads([value for _, value in of_units[0]])]:
            for place, (name, value) in enumerate(of_units[0]):
                others = [SIGN.get(int(vote), 0) for at, (_, vote) in enumerate(of_units[0]) if at != place]
                made[pair, name] = gains_of_vote(others, SIGN.get(int(value), 0))
        else:
            made |= {(pair, name): gain for name, gain in gains_of_units(of_units).items()}
    return made


def gains_of_vote(others: list[int], own: int) -> dict[int, float]:
    """The mean over the sets of others that stay where an even number, at most the root of the votes, has left."""
    votes = len(others) + 1
    gone = math.isqrt(votes) // 2 * 2
    rests = [sum(rest) for rest in combinations(others, len(others) - gone)]
    return {
        side: mean((to * (rest + own) > 0) - (to * rest > 0) for rest in rests) * (1 - gone / votes)
        for side, to in ((1, 1), (2, -1))
    }


def gains_of_units(units: list[list[tuple[str, float]]]) -> dict[str, dict[int, float]]:
    """Of a pair that several units decide: without a person each has the winner of its others."""
    leading, part = 0, Counter[str]()
    for votes in units:
        whole = SIGN[leads([value for _, value in votes])]
        leading += whole
        for place, (name, _) in enumerate(votes):
            part[name] += whole - SIGN[leads([value for at, (_, value) in enumerate(votes) if at != place])]
    return {
        name: {side: (to * leading > 0) - (to * (leading - one) > 0) for side, to in ((1, 1), (2, -1))}
        for name, one in part.items()
    }


def sign(number: float) -> int:
    return (number > 0) - (number < 0)


def credit(rows: Rows, first: str, second: str, pair: int, winner: int) -> int:
    """How much more the first metric gets on a pair with that winner."""
    right, other = (side_of(*rows.scores[name][pair]) == winner for name in (first, second))
    return right - other


def p_of_accuracies(rows: Rows, first: str, second: str) -> float:
    """The p of their difference, the first being the more accurate; McNemar's where nothing varies."""
    winners = {pair: int(winner) for pair, winner in rows.pairs.items() if winner}
    credits = {pair: credit(rows, first, second, pair, winner) for pair, winner in winners.items()}
    difference, n = mean(credits.values()), len(credits)
    variance, df = by_items(rows, credits)

    def share(pair: int, winner: int) -> float:
        return (credit(rows, first, second, pair, winner) - difference) / n if winner else 0.0

    lost = {
        (pair, name): sum(gain * share(pair, side) for side, gain in of_sides.items())
        for (pair, name), of_sides in gains(rows).items()
    }
    if variance and not rows.anonymous and len({name for _, name in lost}) > 1:
        people = part_of_people(lost)
        of_items = df if df < math.inf else max(len({pair for pair, _ in lost}), 2) - 1
        df = freedom(variance, of_items, people)
        apart = sum(one != 0 for one in credits.values()) or n
        # If both were right as often, people would add more, as they do to a share nearer to a half.
        variance += people.added / (1 - min(abs(difference) * n / apart, 1 - 1 / apart) ** 2)
    if variance <= 1e-18:
        ahead = [one for one in credits.values() if one]
        return float(binomtest(ahead.count(1), len(ahead)).pvalue) if ahead else 1.0
    return float(2 * t.sf(abs(difference) / variance**0.5, df))


def by_items(rows: Rows, credits: dict[int, int]) -> tuple[float, float]:
    """The variance over items and its degrees of freedom; none of one item."""
    item_of = dict(rows.study.pairs.values_list("pk", "item_id"))
    n, difference = len(credits), mean(credits.values())
    sizes = list(Counter(item_of[pair] for pair in credits).values())
    if len(sizes) < 2:
        return 0.0, math.inf
    squares = sum_of_squares((item_of[pair], (one - difference) / n) for pair, one in credits.items())
    return squares * enlarged(effective(sizes)), max(effective(sizes), 2) - 1


def part_of_people(lost: dict[tuple[int, str], float]) -> People:
    """Of what is lost of an estimate where a person leaves a pair."""
    middle = mean(lost.values())
    centred = {cell: one - middle for cell, one in lost.items()}
    by_pair, by_person = (sum_of_squares((cell[at], one) for cell, one in centred.items()) for at in (0, 1))
    sizes = Counter(name for _, name in lost)
    pairs = len({pair for pair, _ in lost})
    return people_add(by_pair, by_person, sum_of_squares(centred.items()), pairs, list(sizes.values()))


def freedom(by_items: float, df: float, people: People) -> float:
    """Satterthwaite's degrees of freedom, between those of both."""
    least = min(df, people.df)
    if people.most == math.inf:
        return least
    whole = (by_items + people.most) ** 2 / (by_items**2 / df + people.most**2 / people.df)
    return min(max(whole, least), df)
