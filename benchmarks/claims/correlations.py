"""Coefficients of correlation."""

from itertools import combinations
from statistics import correlation


def tau_b(first: list[float], second: list[float]) -> float | None:
    pairs = list(combinations(zip(first, second, strict=True), 2))
    signs = [((a > c) - (a < c), (b > d) - (b < d)) for (a, b), (c, d) in pairs]
    here, there = (sum(sign[side] != 0 for sign in signs) for side in (0, 1))
    return sum(one * other for one, other in signs) / (here * there) ** 0.5 if here and there else None


def ranks(values: list[float]) -> list[float]:
    return [sum(other < value for other in values) + values.count(value) / 2 for value in values]


def pearson(first: list[float], second: list[float]) -> float | None:
    return correlation(first, second) if len(set(first)) > 1 < len(set(second)) else None


def of_name(name: str, first: list[float], second: list[float]) -> float | None:
    """Return the coefficient with this name, or None if it is undefined."""
    if name == "Kendall's tau-b":
        return tau_b(first, second)
    return pearson(first, second) if name == "Pearson's r" else pearson(ranks(first), ranks(second))
