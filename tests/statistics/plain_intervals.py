"""Intervals and tests of crossed items and raters, written out cluster by cluster."""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence

from scipy import stats

Labels = Sequence[Hashable]
Spread = tuple[float, float]  # a variance, and the degrees of freedom of its t


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
    return summed_squares(influences, items) * number / (number - 1), number - 1


def with_raters(spread: Spread, influences: Sequence[float], items: Labels, raters: Labels) -> Spread:
    """Add what raters' sums vary beyond the noise of single answers, one of each rater and item.

    The noise holds each rater's own part once an answer; the items hold it, too, but for raters whom they share.
    """
    number = effective_number(raters)
    people = max(number, 2)
    answers = list(zip(items, raters, strict=True))
    noise = summed_squares(influences, answers) - summed_squares(influences, items) / number
    added = (summed_squares(influences, raters) - noise) * people / (people - 1)
    sizes, persons, each = Counter(raters).values(), len(set(raters)), len(raters) / len(set(items))
    both, once = sum(size**2 for size in sizes), sum(sizes)
    if both > once:
        added *= (both - once * max(persons - each, 0) / (persons - 1)) / (both - once)
    return spread[0] + max(added, 0), min(spread[1], people - 1)


def crossed(influences: Sequence[float], items: Labels, raters: Labels) -> Spread:
    return with_raters(by_items(influences, items), influences, items, raters)


def half_width(spread: Spread, confidence: float = 0.95) -> float:
    variance, df = spread
    return float(stats.t.ppf(0.5 + confidence / 2, df)) * math.sqrt(variance)


def p_of(value: float, spread: Spread) -> float:
    variance, df = spread
    return float(2 * stats.t.sf(abs(value) / math.sqrt(variance), df))


def of_share(share: float, spread: Spread, clusters: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's for as many independent rows as vary so; Clopper's and Pearson's where all or none count."""
    variance, df = spread
    t = float(stats.t.ppf(0.5 + confidence / 2, df))
    if share in (0, 1):
        rows = clusters * (float(stats.t.ppf(0.5 + confidence / 2, max(clusters - 1, 1))) / t) ** 2
        least = ((1 - confidence) / 2) ** (1 / rows)
        return (0.0, 1 - least) if share == 0 else (least, 1.0)
    rows = share * (1 - share) / variance
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
