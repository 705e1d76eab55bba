"""Variances of estimates over items and people, intervals by t, and the sizes of larger studies."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from itertools import product
from statistics import mean
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import beta, chi2, nct, t

TINY = 1e-12
ROUNDING_VARIANCE = 1e-18  # largest variance of a coefficient that is only a rounding error
LEVEL, POWER = 0.05, 0.8
TAILS = (0.1, 0.3, 0.5, 0.7, 0.9)
MAX_SIZE_FACTOR, NEARLY, ENDLESS = 20, 1.25, 1e6


def effective_number_of(sizes: list[int]) -> float:
    return float(sum(sizes) ** 2 / sum(size**2 for size in sizes))


def variance_correction(number: float) -> float:
    """Return n / (n - 1), the correction of a variance estimated from n clusters, where n is at least 2."""
    return max(number, 2) / (max(number, 2) - 1)


class People(NamedTuple):
    """The variance that people add to an estimate, its upper limit, and its degrees of freedom.

    noise_variance: the variance between people that the noise of single answers explains. effective_number: the
    effective number of people. number: the number of people.
    """

    extra_variance: float
    max_variance: float
    df: float
    noise_variance: float = 0.0
    effective_number: float = math.inf
    number: float = math.inf


def people_add(by_item: float, by_rater: float, by_answer: float, items: int, raters: list[int]) -> People:
    """Return the variance that people add, from sums of squares of influences by item, rater and answer.

    items: number of items. raters: number of answers of each person.
    """
    number, answers, squares = effective_number_of(raters), sum(raters), sum(size**2 for size in raters)
    missing = max(len(raters) - answers / items, 0) / (len(raters) - 1)
    scale = variance_correction(number)
    if squares > answers:
        scale *= (squares - answers * missing) / (squares - answers)
    within, df = scale * (by_answer - by_item / number), max(number, 2) - 1
    # Fewer than five people may be alike by chance, so the variance has no upper limit.
    most = math.inf if len(raters) < 5 else scale * by_rater * df / float(chi2.ppf(0.05, df)) - within
    added = max(scale * by_rater - within, 0.0)
    by_chance = 2 * (squares - answers) * (scale * by_answer / answers) ** 2
    credible = added**3 / (added**2 + by_chance) if added else 0.0
    return People(credible, max(most, 0.0), df, within, number, len(raters))


NO_PEOPLE = People(0.0, 0.0, math.inf)


class Spread(NamedTuple):
    """The variance by items, people's part, the degrees of freedom, and the effective number of items."""

    by_items: float
    people: People
    df: float
    items: float

    @property
    def variance(self) -> float:
        return self.by_items + self.people.extra_variance

    def scaled_spread(self, ratio: float) -> "Spread":
        people = self.people._replace(
            extra_variance=self.people.extra_variance * ratio,
            noise_variance=self.people.noise_variance * ratio,
        )
        return self._replace(by_items=self.by_items * ratio, people=people)

    def half_width(self) -> float:
        return float(t.isf(0.025, self.df)) * self.variance**0.5

    def p(self, value: float) -> float:
        return float(2 * t.sf(abs(value) / self.variance**0.5, self.df))


def sum_of_squares(parts: Iterable[tuple[Hashable, float]]) -> float:
    """Return the sum of squares of the sums of parts by label."""
    sums: defaultdict[Hashable, float] = defaultdict(float)
    for label, part in parts:
        sums[label] += part
    return sum(one**2 for one in sums.values())


def freedom(by_items: float, df: float, people: People) -> float:
    """Return Satterthwaite's degrees of freedom, limited to the range between those of items and of people."""
    least = min(df, people.df)
    if people.max_variance == math.inf or not (by_items or people.max_variance):
        return least
    whole = (by_items + people.max_variance) ** 2 / (by_items**2 / df + people.max_variance**2 / people.df)
    return min(max(whole, least), df)


def over_items(influences: Mapping[Any, float], item_of: Mapping[Any, Hashable]) -> Spread | None:
    """Return the spread of an estimate from the influences of its rows, or None if all rows are of one item."""
    sizes = list(Counter(item_of[row] for row in influences).values())
    if len(sizes) < 2:
        return None
    squares = sum_of_squares((item_of[row], part) for row, part in influences.items())
    return Spread(
        squares * variance_correction(effective_number_of(sizes)),
        NO_PEOPLE,
        max(effective_number_of(sizes), 2) - 1,
        effective_number_of(sizes),
    )


def of_independent(share: float, rows: int) -> Spread:
    """Return the spread of a share of independent zeros and ones, whose variance is computed from the share."""
    return Spread(share * (1 - share) / rows, NO_PEOPLE, math.inf, math.inf)


def with_people(
    spread: Spread,
    lost: Mapping[Any, float],
    of_means: Iterable[Hashable] = (),
    *further: Mapping[Any, float],
) -> Spread:
    """Return the spread with the variance of people added.

    lost: by (row, person), the decrease of the estimate without the person's answers to the row. of_means: the
    cells (row, person) in which other people remain; without a person, a mean changes by R / (R - 1) times the
    person's share. further: decreases of estimates close to the estimate; squares are means over all.
    """
    raters = Counter(name for _, name in lost)
    if len(raters) < 2:
        return spread
    means, factor = set(of_means), variance_correction(effective_number_of(list(raters.values())))
    centred = []
    for each in (lost, *further):
        middle = mean(each.values())
        centred.append(
            {cell: (one - middle) / (factor if cell in means else 1) for cell, one in each.items()}
        )
    by_row, by_person = (
        mean(sum_of_squares((cell[at], one) for cell, one in each.items()) for each in centred)
        for at in (0, 1)
    )
    rows = len({row for row, _ in lost})
    by_cell = mean(sum_of_squares(each.items()) for each in centred)
    people = people_add(by_row, by_person, by_cell, rows, list(raters.values()))
    if people.extra_variance <= TINY * by_cell:
        people = people._replace(extra_variance=0.0)
    items = spread.items if spread.items < math.inf else rows
    return spread._replace(people=people, items=items, df=freedom(spread.by_items, max(items, 2) - 1, people))


class Answer(NamedTuple):
    """An answer of a person to an item, with its influence on an estimate."""

    item: Hashable
    person: str
    influence: float


# The labels by which influences of answers are summed: item, person, and cell.
KINDS: tuple[Callable[[Answer], Hashable], ...] = (
    lambda answer: answer.item,
    lambda answer: answer.person,
    lambda answer: (answer.item, answer.person),
)


def of_answers(answers: list[Answer], *, anonymous: bool, fewest: int = 2) -> tuple[Spread, int] | None:
    """Return the spread of an estimate from answers, and the number of items (or people, if there is one item).

    People count as fixed if they are anonymous or fewer than `fewest`. Return None if there is one item and people are
    fixed.
    """
    by_kind = [sum_of_squares((kind(one), one.influence) for one in answers) for kind in KINDS]
    return of_squares(answers, by_kind, anonymous=anonymous, fewest=fewest)


def of_squares(
    answers: list[Answer], by_kind: list[float], *, anonymous: bool, fewest: int = 2
) -> tuple[Spread, int] | None:
    """Return the same as `of_answers`, from sums of squares of influences by each of KINDS."""
    items, people = (list(Counter(map(kind, answers)).values()) for kind in KINDS[:2])
    by_item, by_person, by_cell = by_kind
    known = not anonymous and len(people) >= fewest
    if len(items) < 2 and not known:
        return None
    sizes, squares = (items, by_item) if len(items) > 1 else (people, by_person)
    number = effective_number_of(sizes)
    spread = Spread(squares * variance_correction(number), NO_PEOPLE, max(number, 2) - 1, number)
    if len(items) < 2 or not known:
        return spread, len(sizes)
    added = people_add(by_item, by_person, by_cell, len(items), people)
    return spread._replace(people=added, df=freedom(spread.by_items, spread.df, added)), len(sizes)


def wilson(share: float, spread: Spread, rows: float, *, independent: bool = False) -> tuple[float, float]:
    """Return Wilson's interval with t.

    For a share of 0 or 1, return Clopper and Pearson's for `rows` independent rows.
    """
    z = float(t.isf(0.025, spread.df))
    if share in (0, 1):
        alone = rows * min(float(t.isf(0.025, max(rows - 1, 1))) / z, 1) ** 2
        ends = (0.0, float(beta.ppf(0.975, 1, alone)))
        return ends if share == 0 else (1 - ends[1], 1.0)
    n = independent_rows(share, spread, rows, independent=independent)
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * (share * (1 - share) / n + z**2 / (4 * n**2)) ** 0.5
    return middle - half, middle + half


def independent_rows(share: float, spread: Spread, rows: float, *, independent: bool = False) -> float:
    """Return the number of independent rows that would give the share the same variance.

    Both variances are without the correction n / (n - 1).
    """
    if spread.variance <= TINY**2 or share in (0, 1):
        return rows
    by_items = spread.by_items / (1 if independent else variance_correction(spread.items))
    return share * (1 - share) / (by_items + spread.people.extra_variance)


def of_coefficient(
    value: float, spread: Spread, rows: float, judges: float = 2.0, different: float = 1.0
) -> tuple[float, float]:
    """Return Fisher's interval of a coefficient of m judges, on the scale log((1 + (m - 1) v) / (1 - v))."""
    if spread.variance <= ROUNDING_VARIANCE or abs(abs(value) - 1) < TINY:
        half = wilson(0.0, spread, rows)[1] / different
        return max(value - half, min(value, -1.0)), min(value + half, max(value, 1.0))
    if not -1 / (judges - 1) < value < 1:
        return max(value - spread.half_width(), min(value, -1.0)), min(
            value + spread.half_width(), max(value, 1.0)
        )
    above, below = 1 + (judges - 1) * value, 1 - value
    factors = [np.exp(min(side * spread.half_width() * judges / (above * below), 700)) for side in (-1, 1)]
    low, high = ((factor * above - below) / (factor * above + (judges - 1) * below) for factor in factors)
    return float(low), float(high)


class Difference(NamedTuple):
    """The difference of two systems or metrics, and its spread."""

    value: float
    spread: Spread


class Open(NamedTuple):
    """The comparisons that a verdict leaves open.

    differences: differences of the best from each other one, None if another model computes them. items, people:
    numbers of items and of people.
    """

    differences: list[Difference | None]
    items: int
    people: int | None


def power(difference: Difference, times: float, people_times: float, level: float) -> float:
    """Return the power of a two-sided t test in a study with more items and people.

    `times` and `people_times` are the factors of the numbers of items and people, by which the variances are divided
    (Brennan 2001). The power is averaged over the possible true variances, at five quantiles of the chi-squared
    distribution of the estimates.
    """
    spread, people = difference.spread, difference.spread.people
    found = []
    own = spread.df if spread.items == math.inf else max(spread.items, 2) - 1
    others = max(people.effective_number, 2) - 1
    for of_items, of_people in product(scales(own), scales(others)):
        within = people.noise_variance
        added = max((people.extra_variance + within) * of_people - within, 0.0)
        by_items, by_people = spread.by_items * of_items / times, added / people_times
        variance = by_items + by_people
        if variance <= 0:
            found.append(float(difference.value != 0))
            continue
        df = freedom_of_larger(
            by_items, by_people, within / times, spread.items * times, people, people_times
        )
        shift, least = abs(difference.value) / variance**0.5, float(t.isf(level / 2, df))
        # zeros and ones: the test uses the variance of a half, not of their share
        if spread.items == math.inf:
            ratio = max(1 - 4 * difference.value**2, 0.25) ** 0.5
            shift, least = shift / ratio, least / ratio
        reached = float(nct.sf(least, df, shift))
        found.append(1.0 if math.isnan(reached) else reached)  # nan if a large shift underflows
    return mean(found)


def scales(df: float) -> list[float]:
    return [1.0] if df == math.inf else [df / float(chi2.isf(tail, df)) for tail in TAILS]


def freedom_of_larger(
    by_items: float, by_people: float, within: float, items: float, people: People, times: float
) -> float:
    of_items, of_people = max(items, 2) - 1, max(people.effective_number * times, 2) - 1
    most = math.inf
    if people.number == math.inf:
        return of_items
    if people.number * times >= 5:
        most = max((by_people + within) * of_people / float(chi2.ppf(0.05, of_people)) - within, 0.0)
    return freedom(by_items, of_items, People(by_people, most, of_people))


class Larger(NamedTuple):
    """Numbers of new items, additional people, and new items with the same people; None if it would be too many."""

    items: float | None
    people: float
    of_same: float | None


def settles_differences(differences: list[Difference], times: float, people_times: float) -> bool:
    level = LEVEL / len(differences)
    return all(power(one, times, people_times, level) >= POWER for one in differences)


def smallest_study(differences: list[Difference], items: int, people: int | None) -> Larger:
    """Return the smallest study, at most twenty times as large, that would find all differences significant.

    If the same people suffice with about as many items, no further people are added.
    """
    times = least_factor(lambda times: settles_differences(differences, times, times), MAX_SIZE_FACTOR)
    if times is None or (people is not None and people < 2):
        return Larger(None, 0, None)
    same = least_factor(lambda times: settles_differences(differences, times, 1.0), ENDLESS)
    if people is None or (same is not None and same <= min(NEARLY * times, MAX_SIZE_FACTOR)):
        return Larger(items * (same or times), 0, None)
    return Larger(items * times, people * times - people, None if same is None else items * same)


def least_factor(does: Callable[[float], bool], most: float) -> float | None:
    if not does(most):
        return None
    low, high = 1.0, most
    while high / low > 1.0002:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if does(middle) else (middle, high)
    return high
