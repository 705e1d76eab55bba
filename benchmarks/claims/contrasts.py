"""Differences between metrics, and between systems, with their spreads as docs/statistics.md defines them."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import combinations
from statistics import mean
from typing import NamedTuple

from scipy.stats import binomtest

from benchmarks.claims.correlations import tau_b
from benchmarks.claims.halves import leading_side, side_of
from benchmarks.claims.rows import PAIRED, Rows
from benchmarks.claims.spreads import (
    TINY,
    Difference,
    Spread,
    independent_rows,
    of_independent,
    over_items,
    with_people,
)

SIGN = {1: 1, 2: -1, 0: 0}
FEW_PEOPLE = 20  # of more, one hardly changes the means


def gains(rows: Rows) -> dict[tuple[int, str], dict[int, float]]:
    """Return how much more often each side wins with a person's votes than without, by (pair, person) and side."""
    units: defaultdict[int, list[list[tuple[str, float]]]] = defaultdict(list)
    for unit, votes in rows.votes.items():
        pair = rows.units[unit].pair_id
        if pair is not None:
            units[pair].append(votes)
    made = {}
    for pair, of_units in units.items():
        net = sum(SIGN.get(int(value), 0) for _, value in of_units[0])
        if len(of_units) == 1 and sign(net) == SIGN[leading_side([value for _, value in of_units[0]])]:
            for place, (name, value) in enumerate(of_units[0]):
                others = [SIGN.get(int(vote), 0) for at, (_, vote) in enumerate(of_units[0]) if at != place]
                made[pair, name] = gains_of_vote(others, SIGN.get(int(value), 0))
        else:
            made |= {(pair, name): gain for name, gain in gains_of_units(of_units).items()}
    return made


def gains_of_vote(others: list[int], own: int) -> dict[int, float]:
    """Return the mean change of each side's wins by the vote `own`, times the share of votes that remain.

    The mean is over all sets of `others` without an even number of votes, at most the square root of all votes.
    """
    votes = len(others) + 1
    gone = math.isqrt(votes) // 2 * 2
    rests = [sum(rest) for rest in combinations(others, len(others) - gone)]
    return {
        side: mean((to * (rest + own) > 0) - (to * rest > 0) for rest in rests) * (1 - gone / votes)
        for side, to in ((1, 1), (2, -1))
    }


def gains_of_units(units: list[list[tuple[str, float]]]) -> dict[str, dict[int, float]]:
    """Return the gains for a pair that several units decide.

    Without a person, a unit has the winner of its other votes.
    """
    leading, part = 0, Counter[str]()
    for votes in units:
        whole = SIGN[leading_side([value for _, value in votes])]
        leading += whole
        for place, (name, _) in enumerate(votes):
            part[name] += (
                whole - SIGN[leading_side([value for at, (_, value) in enumerate(votes) if at != place])]
            )
    return {
        name: {side: (to * leading > 0) - (to * (leading - one) > 0) for side, to in ((1, 1), (2, -1))}
        for name, one in part.items()
    }


def sign(number: float) -> int:
    return (number > 0) - (number < 0)


def credit(rows: Rows, first: str, second: str, pair: int, winner: int) -> int:
    """Return the first metric's credit (1 or 0) minus the second's, on a pair with the given winner."""
    right, other = (side_of(*rows.scores[name][pair]) == winner for name in (first, second))
    return right - other


def lost_votes(rows: Rows, credit: Mapping[int, Mapping[int, float]]) -> dict[tuple[int, str], float]:
    """Return the decrease of an estimate without each person's votes on a pair, by (pair, person).

    `credit` has the contribution of each side to the estimate if it wins, by pair.
    """
    return {
        (pair, name): sum(gain * credit[pair].get(side, 0.0) for side, gain in of_sides.items())
        for (pair, name), of_sides in gains(rows).items()
        if pair in credit
    }


def item_of_pair(rows: Rows) -> dict[int, int]:
    return dict(rows.study.pairs.values_list("pk", "item_id"))


def are_independent(rows: Rows, values: Mapping[int, float]) -> bool:
    """Return whether all values are 0 or 1, and each pair is of a different item."""
    item_of = item_of_pair(rows)
    return len({item_of[pair] for pair in values}) == len(values) and set(values.values()) <= {0.0, 1.0}


def accuracies(rows: Rows, first: str, second: str) -> Difference | None:
    """Return the difference of two metrics' accuracies, with the spread it would have if both were equally accurate.

    `first` must be the more accurate metric. Return None if all pairs are of one item.
    """
    winners = {pair: int(winner) for pair, winner in rows.pairs.items() if winner}
    credits = {pair: credit(rows, first, second, pair, winner) for pair, winner in winners.items()}
    difference, n = mean(credits.values()), len(credits)
    spread = over_items({pair: (one - difference) / n for pair, one in credits.items()}, item_of_pair(rows))
    if spread is None:
        return None
    if not rows.anonymous:
        shares = {
            pair: {side: (credit(rows, first, second, pair, side) - difference) / n for side in (1, 2)}
            for pair in {pair for pair, _ in gains(rows)}
        }
        spread = with_people(spread, lost_votes(rows, shares))
        # If both were equally accurate, people would add more variance, as they do to a share nearer to a half.
        apart = sum(one != 0 for one in credits.values()) or n
        more = 1 / (1 - min(abs(difference) * n / apart, 1 - 1 / apart) ** 2)
        spread = spread._replace(
            people=spread.people._replace(extra_variance=spread.people.extra_variance * more)
        )
    return Difference(difference, spread)


def p_of_accuracies(rows: Rows, first: str, second: str) -> float:
    """Return the p of the difference of two metrics' accuracies. If it has no variance, the test is McNemar's."""
    difference = accuracies(rows, first, second)
    if difference is None or difference.spread.variance <= 1e-18:
        signs = [
            credit(rows, first, second, pair, int(winner)) for pair, winner in rows.pairs.items() if winner
        ]
        ahead = [one for one in signs if one]
        return float(binomtest(ahead.count(1), len(ahead)).pvalue) if ahead else 1.0
    return difference.spread.p(difference.value)


class Share(NamedTuple):
    """A share, its spread, the number of its items or independent pairs, and whether pairs are independent."""

    value: float
    spread: Spread
    rows: int
    independent: bool


def share_of_pairs(
    rows: Rows, credit: Mapping[int, Mapping[int, float]], *, tied: float | None
) -> Share | None:
    """Return the mean credit of the pairs' winners, or None if it is undefined.

    The credit of a tied pair is `tied`. If `tied` is None, tied pairs are left out.
    """
    values = {
        pair: of_side[int(winner)] if winner else tied or 0.0
        for pair, of_side in credit.items()
        if (winner := rows.pairs[pair]) or (winner == 0 and tied is not None)
    }
    if not values:
        return None
    share, n = mean(values.values()), len(values)
    alone = are_independent(rows, values)
    items = len({item_of_pair(rows)[pair] for pair in values})
    spread = (
        of_independent(share, n)
        if alone
        else over_items({pair: (one - share) / n for pair, one in values.items()}, item_of_pair(rows))
    )
    if spread is not None and not rows.anonymous:
        none = share if tied is None else tied
        parts = {
            pair: {side: (one - none) / n for side, one in of_side.items()}
            for pair, of_side in credit.items()
            if tied is None or pair in values
        }
        spread = with_people(spread, lost_votes(rows, parts))
    return spread and Share(share, spread, n if alone else items, alone)


def accuracy(rows: Rows, metric: str) -> Share | None:
    sides = {pair: side_of(*rows.scores[metric][pair]) for pair in rows.scores[metric]}
    return share_of_pairs(
        rows, {pair: {s: float(s == side) for s in (1, 2)} for pair, side in sides.items()}, tied=None
    )


def won_by(rows: Rows, system: str, other: str | None = None) -> Share | None:
    """Return the share of its pairs that a system wins, where a tie is half a win.

    If `other` is given, only pairs of both systems count.
    """
    credit = {}
    for pair, both in rows.systems_of_pairs.items():
        if both[0] != both[1] and system in both and (other is None or other in both):
            credit[pair] = {side: float(both[side - 1] == system) for side in (1, 2)}
    return share_of_pairs(rows, credit, tied=0.5)


def influences(
    scores: Mapping[int, float], means: Mapping[int, float], elsewhere: Mapping[tuple[int, str], float]
) -> tuple[dict[int, float], dict[tuple[int, str], float]]:
    """Return the influences of captions on tau-b with people's `means`.

    Also return, by the keys (caption, person) of `elsewhere`, the influences if people's mean were the value there.
    """
    value = tau_b(list(scores.values()), list(means.values())) or 0.0
    n = len(scores)
    untied = [
        n**2 - sum(count**2 for count in Counter(column.values()).values()) for column in (scores, means)
    ]

    def raw_value(score: float, people: float) -> float:
        balance = sum(sign(score - scores[unit]) * sign(people - means[unit]) for unit in scores)
        apart = [
            sum(one != own for one in column.values()) for column, own in ((scores, score), (means, people))
        ]
        return 2 * balance / (untied[0] * untied[1]) ** 0.5 - value * sum(
            one / pairs for one, pairs in zip(apart, untied, strict=True)
        )

    here = {unit: raw_value(scores[unit], means[unit]) for unit in scores}
    middle = mean(here.values())
    there = {cell: raw_value(scores[cell[0]], people) - middle for cell, people in elsewhere.items()}
    return {unit: one - middle for unit, one in here.items()}, there


def taus(rows: Rows, *metrics: str) -> Difference | None:
    """Return the tau-b of one metric with people, or of two metrics the first's minus the second's, with its spread."""
    units = rows.scores[metrics[0]]
    cells = {
        (unit, name): [vote for other, vote in rows.votes[unit] if other != name]
        for unit in units
        for name, _ in rows.votes[unit]
    }
    means = {cell: mean(others) for cell, others in cells.items() if others}
    people = {unit: rows.people_of(unit) for unit in units}
    of_metric = {name: {unit: first for unit, (first, _) in rows.scores[name].items()} for name in metrics}
    value, own = 0.0, defaultdict[int, float](float)
    for to, metric in zip((1, -1), metrics, strict=False):
        value += to * (rows.accuracy_of(metric) or 0.0)
        for unit, one in influences(of_metric[metric], people, {})[0].items():
            own[unit] += to * one

    def lost_at(others: Mapping[int, float]) -> dict[tuple[int, str], float]:
        """Return what each cell loses if its person is left out of people's means."""
        moved = {cell: others[cell[0]] + left - people[cell[0]] for cell, left in means.items()}
        lost = defaultdict[tuple[int, str], float](float)
        for to, metric in zip((1, -1), metrics, strict=False):
            here, there = influences(of_metric[metric], others, moved)
            for cell in cells:
                lost[cell] += to * (here[cell[0]] - there.get(cell, 0.0))
        return lost

    spread = over_items(own, {unit: rows.units[unit].item_id for unit in units})
    if spread is None:
        return None
    if rows.anonymous:
        return Difference(value, spread)
    names = {name for _, name in cells}
    without = [
        {unit: means.get((unit, name), own_mean) for unit, own_mean in people.items()}
        for name in sorted(names if len(names) <= FEW_PEOPLE else ())
    ]
    defined = [others for others in without if len(set(others.values())) > 1]
    lost, *further = [lost_at(others) for others in defined or [people]]
    return Difference(value, with_people(spread, lost, means, *further))


def means_of(rows: Rows, system: str, other: str | None = None) -> Difference | None:
    """Return the mean of a system's outputs with its spread.

    If `other` is given, return the system's mean minus the other's, on the items that have outputs of both.
    """
    signs = {system: 1.0} | ({other: -1.0} if other else {})
    outputs = [(name, unit) for name, units in rows.outputs.items() if name in signs for unit in units]
    items = [{rows.units[unit].item_id for name, unit in outputs if name == one} for one in signs]
    both = set.intersection(*items)
    outputs = [(name, unit) for name, unit in outputs if rows.units[unit].item_id in both]
    if not outputs:
        return None
    number = Counter(name for name, _ in outputs)
    average = {one: mean(rows.people_of(unit) for name, unit in outputs if name == one) for one in signs}
    deviations: defaultdict[int, float] = defaultdict(float)
    person_deviations: defaultdict[tuple[int, str], float] = defaultdict(float)
    gone = set()
    for name, unit in outputs:
        item, weight = rows.units[unit].item_id, signs[name] / number[name]
        deviations[item] += weight * (rows.people_of(unit) - average[name])
        for person, _ in rows.votes[unit]:
            others = [vote for who, vote in rows.votes[unit] if who != person]
            person_deviations[item, person] += (
                weight * (rows.people_of(unit) - mean(others)) if others else 0.0
            )
            if not others:
                gone.add((item, person))
    for cell in gone:  # without its only rater, an output is left out, and its item too
        person_deviations[cell] = deviations[cell[0]]
    spread = over_items(deviations, {item: item for item in deviations})
    if spread is None:
        return None
    if not rows.anonymous:
        spread = with_people(spread, person_deviations, set(person_deviations) - gone)
    value = sum(signs[name] * average[name] for name in signs)
    highest = max(abs(rows.people_of(unit)) for _, unit in outputs)
    if spread.variance <= (TINY * highest) ** 2:
        if other is None:
            return Difference(value, spread.scaled_spread(0.0))
        return Difference(
            sign(value) / 2,
            spread._replace(
                by_items=0.25 / len(both),
                people=spread.people._replace(extra_variance=0.0, noise_variance=0.0),
            ),
        )
    return Difference(value, spread)


def of_systems(rows: Rows, first: str, second: str) -> Difference | None:
    """Return the difference of the first system to the second, or None if its variance is unknown.

    The difference is set to 0 if its sign contradicts the systems' overall means.
    """
    if rows.protocol not in PAIRED:
        found = means_of(rows, first, second)
        whole = mean(rows.systems[first]) - mean(rows.systems[second])
        # On the items of both systems, the second may be better, or both may be equal.
        return found and found._replace(value=found.value if found.value * whole > 0 else 0.0)
    share = won_by(rows, first, second)
    if share is None:
        return None
    even = 0.25 / independent_rows(share.value, share.spread, share.rows, independent=share.independent)
    spread, value = share.spread, share.value - 0.5
    # With three systems, the pairs of two may contradict the means over all pairs of each.
    whole = mean(rows.systems[first]) - mean(rows.systems[second])
    return Difference(
        value if value * whole > 0 else 0.0,
        spread.scaled_spread(even / spread.variance)
        if spread.variance
        else spread.scaled_spread(0.0)._replace(by_items=even),
    )
