"""Variances of answers and of their mean, by dense matrices and sums, as docs/statistics.md defines them."""

from typing import NamedTuple

import numpy as np

from benchmarks.claims.rows import PAIRED, Rows
from benchmarks.claims.spreads import effective_number_of, people_add, variance_correction


class Components(NamedTuple):
    """Variances between items, between people, and of the residual, and the standard error of the mean answer."""

    item: float
    rater: float
    residual: float
    error: float
    items: int
    raters: int
    answers: int

    def ratio(self, *, items: int = 1, raters: int = 1, answers: int = 1) -> float:
        """Return the factor by which the error of a balanced study changes with larger numbers.

        The arguments are the factors of the numbers of items, people and answers.
        """
        larger = self.variance(items, raters, answers)
        return float((larger / self.variance(1, 1, 1)) ** 0.5)

    def variance(self, items: int, raters: int, answers: int) -> float:
        parts = self.item / (items * self.items), self.rater / (raters * self.raters)
        return sum(parts) + self.residual / (answers * self.answers)


def label_equality(labels: list[object]) -> np.ndarray:
    """Return an (N, N) matrix with ones where two answers have the same label, else zeros."""
    return np.array([[float(one == other) for other in labels] for one in labels])


def components(rows: Rows) -> Components:
    """Return the variance components by Henderson's method 1 (1953).

    It equates sums of squares with their expectations.
    """
    answers = [
        (rows.units[unit].item_id, name, value_of(rows, value))
        for unit, votes in rows.votes.items()
        for name, value in votes
    ]
    items, people, values = map(list, zip(*answers, strict=True))
    groupings = [
        label_equality(items),
        label_equality(people),
        label_equality(list(zip(items, people, strict=True))),
    ]
    centring = np.eye(len(values)) - 1 / len(values)
    forms = [centring @ grouping @ centring for grouping in groupings]
    squares = [max(float(np.array(values) @ form @ np.array(values)), 0.0) for form in forms]
    expected = [[(form * grouping).sum() for grouping in groupings] for form in forms]
    item, rater, residual = np.maximum(np.linalg.solve(expected, squares), 0).tolist()
    by_item, by_rater, by_cell = (one / len(values) ** 2 for one in squares)
    of_items, of_people = ([labels.count(label) for label in set(labels)] for labels in (items, people))
    error = error_of_mean(by_item, by_rater, by_cell, of_items, of_people)
    return Components(item, rater, residual, error, len(of_items), len(of_people), len(values))


def value_of(rows: Rows, value: float) -> float:
    return {1.0: 1.0, 2.0: 0.0}.get(value, 0.5) if rows.protocol in PAIRED else value


def error_of_mean(
    by_item: float, by_rater: float, by_cell: float, items: list[int], raters: list[int]
) -> float:
    """Return the standard error of a mean, from the variance by items and the variance that people add."""
    added = people_add(by_item, by_rater, by_cell, len(items), raters).extra_variance
    return float((by_item * variance_correction(effective_number_of(items)) + added) ** 0.5)
