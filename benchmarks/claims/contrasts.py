"""The t test of two metrics' accuracies over items and people, as docs/statistics.md defines it."""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable
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


def winners_without(rows: Rows) -> dict[tuple[int, str], int]:
    """Pair and person -> who would win if this person had not voted."""
    leading: Counter[int] = Counter()
    part: Counter[tuple[int, str]] = Counter()
    for unit, votes in rows.votes.items():
        pair, whole = rows.units[unit].pair_id, SIGN[leads([value for _, value in votes])]
        if pair is None:
            continue
        leading[pair] += whole
        for place, (name, _) in enumerate(votes):
            others = [value for other, (_, value) in enumerate(votes) if other != place]
            part[pair, name] += whole - SIGN[leads(others)]
    left = {(pair, name): leading[pair] - one for (pair, name), one in part.items()}
    return {cell: 1 if lead > 0 else 2 * (lead < 0) for cell, lead in left.items()}


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
        (pair, name): share(pair, winners.get(pair, 0)) - share(pair, winner)
        for (pair, name), winner in winners_without(rows).items()
    }
    if variance and not rows.anonymous and len({name for _, name in lost}) > 1:
        people = part_of_people(lost)
        of_items = df if df < math.inf else max(len({pair for pair, _ in lost}), 2) - 1
        df = freedom(variance, of_items, people)
        variance += people.added
    if variance <= 1e-18:
        apart = [one for one in credits.values() if one]
        return float(binomtest(apart.count(1), len(apart)).pvalue) if apart else 1.0
    return float(2 * t.sf(abs(difference) / variance**0.5, df))


def by_items(rows: Rows, credits: dict[int, int]) -> tuple[float, float]:
    """The variance over items and its degrees of freedom; none of one item."""
    item_of = dict(rows.study.pairs.values_list("pk", "item_id"))
    n, difference = len(credits), mean(credits.values())
    sizes = list(Counter(item_of[pair] for pair in credits).values())
    if n == len(sizes) and min(credits.values()) >= 0:  # independent noughts and ones
        return difference * (1 - difference) / n, math.inf
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
