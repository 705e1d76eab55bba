"""The correlation of each judge's answers with the means of the unit's other answers, and its interval."""

from collections.abc import Callable
from statistics import mean

import numpy as np

from benchmarks.claims.correlations import of_name, pearson
from benchmarks.claims.rows import Rows
from benchmarks.claims.spreads import KINDS, Answer, of_answers, of_coefficient, of_squares

STEP = 1e-5

Column = np.ndarray
Weighted = Callable[[Column, Column, Column], float]


def answers_against_others(rows: Rows) -> list[tuple[Answer, float, float]]:
    """Return each answer, its value, and the mean of the unit's other answers, for units with several answers."""
    return [
        (
            Answer(rows.units[unit].item_id, name, 0.0),
            value,
            round(mean(other for place, (_, other) in enumerate(votes) if place != at), 9),
        )
        for unit, votes in rows.votes.items()
        for at, (name, value) in enumerate(votes if len(votes) > 1 else ())
    ]


def against_others(rows: Rows) -> tuple[list[float], list[float]]:
    found = answers_against_others(rows)
    return [value for _, value, _ in found], [others for _, _, others in found]


def ends_against_others(rows: Rows, name: str) -> tuple[float, float] | None:
    """Return the interval of a correlation of answers with the means of other people; None if it is undefined."""
    values, others = against_others(rows)
    value = of_name(name, values, others)
    answers = [answer for answer, _, _ in answers_against_others(rows)]
    if value is None:
        return None
    if name == "Pearson's r":
        found = of_squares(answers, jackknife(answers, values, others, value), anonymous=rows.anonymous)
    else:
        weighted = weighted_tau if name == "Kendall's tau-b" else weighted_rho
        slopes = slopes_of(weighted, np.array(values), np.array(others))
        moved = [one._replace(influence=slope) for one, slope in zip(answers, slopes, strict=True)]
        found = of_answers(moved, anonymous=rows.anonymous)
    return found and of_coefficient(value, *found)


def jackknife(answers: list[Answer], values: list[float], others: list[float], value: float) -> list[float]:
    """Return the sums of squared changes of r if each item, each person, or each answer is left out.

    r uses the jackknife, because single answers may dominate it.
    """
    squares = []
    for kind in KINDS:
        squares.append(0.0)
        for label in set(map(kind, answers)):
            kept = [place for place, answer in enumerate(answers) if kind(answer) != label]
            without = pearson([values[place] for place in kept], [others[place] for place in kept])
            if without is not None:
                squares[-1] += (value - without) ** 2
    return squares


def slopes_of(coefficient: Weighted, values: Column, others: Column) -> list[float]:
    """Return the derivatives of a coefficient by the weights of the answers, shifted so that their mean is zero."""
    weights = np.ones(len(values))
    slopes = [
        (coefficient(values, others, weights + move) - coefficient(values, others, weights - move))
        / (2 * STEP)
        for move in STEP * np.eye(len(values))
    ]
    return [slope - mean(slopes) for slope in slopes]


def weighted_tau(first: Column, second: Column, weights: Column) -> float:
    signs = [np.sign(np.subtract.outer(column, column)) for column in (first, second)]
    pairs = np.outer(weights, weights)
    untied = [(pairs * sign**2).sum() for sign in signs]
    return float((pairs * signs[0] * signs[1]).sum() / (untied[0] * untied[1]) ** 0.5)


def weighted_rho(first: Column, second: Column, weights: Column) -> float:
    """Return the correlation of weighted mid-ranks. A rank counts half of the weight of equal values."""
    ranks = [(np.sign(np.subtract.outer(column, column)) / 2 + 0.5) @ weights for column in (first, second)]
    x, y = (one - np.average(one, weights=weights) for one in ranks)
    return float(weights @ (x * y) / ((weights @ x**2) * (weights @ y**2)) ** 0.5)
