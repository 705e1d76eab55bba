"""The best kappa over thresholds of metrics with people, and of one judge with the other people."""

import numpy as np

from benchmarks.claims.rows import Rows

TOLERANCE = 1e-9  # allowance with which a mean of thirds reaches its threshold
QUANTILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
CUTS = {
    "graded": (2, 7 / 3, 8 / 3, 3, 10 / 3, 11 / 3, 4),
    "relevance": (1 / 3, 2 / 3, 1),
    "slider": tuple(range(10, 100, 10)),
}


def kappa(first: list[bool], second: list[bool]) -> float | None:
    """Return Cohen's kappa (1960), or None if it is undefined."""
    same = sum(one == other for one, other in zip(first, second, strict=True)) / len(first)
    shares = [sum(side) / len(side) for side in (first, second)]
    chance = shares[0] * shares[1] + (1 - shares[0]) * (1 - shares[1])
    return None if chance == 1 else (same - chance) / (1 - chance)


def at_least(values: list[float], cut: float) -> list[bool]:
    return [value >= cut - TOLERANCE for value in values]


def best_of_metric(rows: Rows, metric: str) -> float | None:
    scores = {unit: first for unit, (first, _) in rows.scores[metric].items()}
    people = [rows.people_of(unit) for unit in scores]
    of_metric = list(scores.values())
    kappas = [
        kappa(at_least(of_metric, cut), at_least(people, other))
        for cut in np.quantile(of_metric, QUANTILES)
        for other in CUTS[rows.protocol]
    ]
    return max((one for one in kappas if one is not None), default=None)


def best_of_judge(rows: Rows, answers: list[float], others: list[float]) -> float | None:
    """Return the best kappa of answers with the means of the other answers, at the same threshold for both."""
    if not answers:
        return None
    kappas = [kappa(at_least(answers, cut), at_least(others, cut)) for cut in CUTS[rows.protocol]]
    return max((one for one in kappas if one is not None), default=None)
