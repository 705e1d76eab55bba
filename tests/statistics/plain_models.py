"""Models of judgments in their slow, obvious form: what the fast ones are held against."""

import math
from typing import Any

import numpy as np
from scipy.optimize import minimize


def em(
    rows: list[tuple[int, int, int]],
    labels: int,
    steps: int,
    *,
    one_coin: bool = False,
    smoothing: float = 0.0,
    start: dict[int, list[float]] | None = None,
) -> tuple[dict[int, list[float]], float]:
    """Dawid-Skene by dictionaries: the posterior of each unit after that many steps, and the log-likelihood."""
    units, workers = sorted({row[0] for row in rows}), sorted({row[1] for row in rows})
    posterior = dict(start or {})
    for unit in units:
        votes = [value for one, _, value in rows if one == unit]
        posterior.setdefault(unit, [votes.count(label) / len(votes) for label in range(labels)])
    likelihood = math.nan
    for _ in range(steps):
        prior = [sum(posterior[unit][label] for unit in units) / len(units) for label in range(labels)]
        chance = {}
        for worker in workers:
            counts = [[smoothing] * labels for _ in range(labels)]
            for unit, who, value in rows:
                for true in range(labels):
                    counts[true][value] += posterior[unit][true] * (who == worker)
            right = sum(counts[true][true] for true in range(labels)) - smoothing * (labels - 1)
            total = sum(map(sum, counts)) - smoothing * labels * (labels - 1)
            for true in range(labels):
                for value in range(labels):
                    if one_coin:
                        share = right / total if value == true else (1 - right / total) / (labels - 1)
                    else:
                        share = counts[true][value] / sum(counts[true]) if sum(counts[true]) else 1 / labels
                    chance[worker, true, value] = max(share, 1e-300)
        likelihood = 0.0
        for unit in units:
            joint = [max(prior[label], 1e-300) for label in range(labels)]
            for one, worker, value in rows:
                if one == unit:
                    joint = [joint[true] * chance[worker, true, value] for true in range(labels)]
            likelihood += math.log(sum(joint))
            posterior[unit] = [part / sum(joint) for part in joint]
    return posterior, likelihood


def davidson(comparisons: list[tuple[int, int, int]], items: int, *, order: bool) -> dict[str, Any]:
    """Strengths summing to 1, nu and the factor of the first place, by a general optimiser on raw comparisons."""

    def loss(at: Any) -> float:
        strength, nu, factor = np.exp(at[:items]), math.exp(at[items]), math.exp(at[items + 1] * order)
        total = 0.0
        for first, second, winner in comparisons:
            one, two = strength[first] * factor, strength[second]
            tie = nu * math.sqrt(one * two)
            total -= math.log((tie, one, two)[winner] / (one + two + tie))
        return total + at[:items].sum() ** 2

    found = minimize(loss, np.zeros(items + 2), method="BFGS", options={"gtol": 1e-7})
    strength = np.exp(found.x[:items])
    return {
        "strength": strength / strength.sum(),
        "nu": math.exp(found.x[items]),
        "order": found.x[items + 1],
        "log_likelihood": -loss(found.x),
    }
