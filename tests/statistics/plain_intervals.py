"""Intervals and tests of crossed items and raters, written out cluster by cluster."""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from statistics import mean
from typing import NamedTuple

from scipy import stats

Labels = Sequence[Hashable]


class Spread(NamedTuple):
    """A variance, the degrees of freedom of its t, what was added for the items that few leave out, and by raters."""

    variance: float
    df: float
    for_few_items: float = 0.0
    by_raters: float = 0.0


def summed_squares(values: Iterable[float], labels: Iterable[Hashable]) -> float:
    sums: defaultdict[Hashable, float] = defaultdict(float)
    for value, label in zip(values, labels, strict=True):
        sums[label] += value
    return math.fsum(total**2 for total in sums.values())


def effective_number(labels: Iterable[Hashable]) -> float:
    """Kish: as many clusters of equal size weigh as much."""
    sizes: defaultdict[Hashable, int] = defaultdict(int)
    for label in labels:
        sizes[label] += 1
    return sum(sizes.values()) ** 2 / sum(size**2 for size in sizes.values())


def by_items(influences: Sequence[float], items: Labels) -> Spread:
    number = max(effective_number(items), 2)
    squares = summed_squares(influences, items)
    return Spread(squares * number / (number - 1), number - 1, squares / (number - 1))


def with_raters(
    spread: Spread, influences: Sequence[float], items: Labels, raters: Labels, *others: Sequence[float]
) -> Spread:
    """Add what raters' sums vary beyond the noise of single answers, one of each rater and item.

    The noise holds each rater's own part once an answer; the items hold it, too, but for raters whom they share. What
    is added counts in the share that it has, squared, in itself and the variance of noise alone. With the influences on
    other estimates, squares are means of all.
    """

    def squares_of(labels: Labels) -> float:
        return mean(summed_squares(each, labels) for each in (influences, *others))

    number = effective_number(raters)
    people = max(number, 2)
    answers = list(zip(items, raters, strict=True))
    noise = squares_of(answers) - squares_of(items) / number
    of_raters = squares_of(raters)
    scale = people / (people - 1)
    sizes, persons, each = Counter(raters).values(), len(set(raters)), len(raters) / len(set(items))
    both, once = sum(size**2 for size in sizes), sum(sizes)
    if both > once:
        scale *= (both - once * max(persons - each, 0) / (persons - 1)) / (both - once)
    # The largest variance by raters of which so small a one would come once in twenty times.
    most = of_raters * (people - 1) / float(stats.chi2.ppf(0.05, people - 1))
    df = satterthwaite(spread, max(most - noise, 0) * scale if persons >= 5 else math.inf, people - 1)
    added = max(of_raters - noise, 0) * scale
    of_answer = squares_of(answers) / once
    error = 2 * sum(size * (size - 1) for size in sizes) * (of_answer * scale) ** 2
    added *= added**2 / (added**2 + error) if added else 0
    return Spread(spread.variance + added, df, spread.for_few_items, added)


def satterthwaite(items: Spread, added: float, people: float) -> float:
    """The degrees of freedom of the sum of two variances, no fewer than the rarer has and no more than the items."""
    total = items.variance + added
    df = total**2 / (items.variance**2 / items.df + added**2 / people) if 0 < total < math.inf else 0.0
    return min(max(df, min(items.df, people)), items.df)


def crossed(influences: Sequence[float], items: Labels, raters: Labels) -> Spread:
    return with_raters(by_items(influences, items), influences, items, raters)


def half_width(spread: Spread, confidence: float = 0.95) -> float:
    return float(stats.t.ppf(0.5 + confidence / 2, spread.df)) * math.sqrt(spread.variance)


def p_of(value: float, spread: Spread) -> float:
    return float(2 * stats.t.sf(abs(value) / math.sqrt(spread.variance), spread.df))


def of_share(share: float, spread: Spread, clusters: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's for as many independent rows as vary so; Clopper's and Pearson's where all or none count."""
    t = float(stats.t.ppf(0.5 + confidence / 2, spread.df))
    if share in (0, 1):
        rows = clusters * (float(stats.t.ppf(0.5 + confidence / 2, max(clusters - 1, 1))) / t) ** 2
        least = ((1 - confidence) / 2) ** (1 / rows)
        return (0.0, 1 - least) if share == 0 else (least, 1.0)
    rows = share * (1 - share) / (spread.variance - spread.for_few_items)
    centre, half = share + t**2 / 2 / rows, t * math.sqrt(share * (1 - share) / rows + t**2 / 4 / rows**2)
    return (centre - half) / (1 + t**2 / rows), (centre + half) / (1 + t**2 / rows)


def of_coefficient(
    value: float, spread: Spread, judges: float, confidence: float = 0.95
) -> tuple[float, float]:
    """Symmetric where the variance of an intraclass correlation of so many judges is the same all along."""
    others = judges - 1
    half = half_width(spread, confidence) * judges / (1 + others * value) / (1 - value)
    odds = [(1 + others * value) / (1 - value) * math.exp(side * half) for side in (-1, 1)]
    return (odds[0] - 1) / (odds[0] + others), (odds[1] - 1) / (odds[1] + others)
