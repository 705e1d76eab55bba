"""Strengths of three systems or more by the pairs that they won (Davidson 1970), with their covariance.

The chances of a pair's outcomes are proportional to exp(x b). b has the log-strengths, with mean zero, and log(nu) if
pairs are tied. x has 1/2 for the winner and -1/2 for the loser; for a tie, it has 1 for log(nu). The slope of the
log-likelihood of an outcome is its x minus the mean x. The information is the sum of the covariances of x over pairs.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog, minimize
from scipy.special import logsumexp, softmax

from benchmarks.claims.contrasts import item_of_pair, lost_votes, of_systems
from benchmarks.claims.rows import Rows
from benchmarks.claims.spreads import (
    NO_PEOPLE,
    Difference,
    People,
    Spread,
    effective_number_of,
    freedom,
    people_add,
    variance_correction,
)

MIN_RISE = 1e-6  # a direction in which the likelihood rises without bound adds at least 1


class Fit(NamedTuple):
    """Strengths by system, their covariance and degrees of freedom.

    The covariance is None if all pairs are of one item.
    """

    strengths: dict[str, float]
    covariance: np.ndarray | None
    df: np.ndarray


class Pair(NamedTuple):
    """The x of each outcome of a pair (a tie, the first wins, the second wins), and the observed outcome's position."""

    outcomes: np.ndarray
    observed_outcome: int

    def possible_outcomes(self, ties: bool) -> np.ndarray:
        return self.outcomes if ties else self.outcomes[1:]


def fit_strengths(rows: Rows) -> Fit | None:
    """Return the fitted strengths, or None if the likelihood has no maximum."""
    names = sorted(rows.systems)
    pairs = {
        pair: Pair(
            outcomes_of(names.index(first), names.index(second), len(names)), int(rows.pairs[pair] or 0)
        )
        for pair, (first, second) in rows.systems_of_pairs.items()
    }
    ties = any(pair.observed_outcome == 0 for pair in pairs.values())
    # The free parameters: differences of strengths, and log(nu) if it is finite.
    free = np.zeros((len(names) + 1, len(names) - 1 + ties))
    free[: len(names), : len(names) - 1] = np.eye(len(names))[:, 1:] - 1 / len(names)
    if ties:
        free[-1, -1] = 1
    seen = np.array([pair.outcomes[pair.observed_outcome] for pair in pairs.values()]) @ free
    possible = np.array([pair.possible_outcomes(ties) for pair in pairs.values()]) @ free
    if not has_maximum(seen, possible):
        return None
    at, information = likeliest(seen, possible)
    moves = np.linalg.inv(information) @ free.T
    chances = softmax(possible @ at, axis=1)
    slopes = seen - np.einsum("no,nop->np", chances, possible)
    influences = dict(zip(pairs, slopes @ moves, strict=True))
    # The changes of x if a tie is replaced by a winner.
    credits = {pair: one.outcomes[1:] - one.outcomes[0] for pair, one in pairs.items()}
    gains = {pair: credit @ free @ moves for pair, credit in credits.items()}
    strengths = dict(zip(names, free[: len(names)] @ at, strict=True))
    return Fit(strengths, *spread_of(rows, influences, gains))


def outcomes_of(first: int, second: int, systems: int) -> np.ndarray:
    wins = (np.eye(systems + 1)[first] - np.eye(systems + 1)[second]) / 2
    return np.array([np.eye(systems + 1)[-1], wins, -wins])


def has_maximum(seen: np.ndarray, possible: np.ndarray) -> bool:
    """Return whether the likelihood has a maximum (Albert, Anderson 1984).

    It has one if each direction of the parameters makes at least one observed outcome less likely than another one.
    """
    steps = (seen[:, np.newaxis] - possible).reshape(-1, seen.shape[1])
    if np.linalg.matrix_rank(steps) < seen.shape[1]:
        return False
    best = linprog(-steps.sum(axis=0), A_ub=-steps, b_ub=np.zeros(len(steps)), bounds=(-1, 1))
    return bool(steps.sum(axis=0) @ best.x < MIN_RISE)


def likeliest(seen: np.ndarray, possible: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the free parameters with the highest likelihood, and the information about them."""

    def loss(at: np.ndarray) -> float:
        return float((logsumexp(possible @ at, axis=1) - seen @ at).sum())

    def slope(at: np.ndarray) -> np.ndarray:
        return np.asarray(np.einsum("no,nop->p", softmax(possible @ at, axis=1), possible) - seen.sum(axis=0))

    def information(at: np.ndarray) -> np.ndarray:
        chances = softmax(possible @ at, axis=1)
        apart = possible - np.einsum("no,nop->np", chances, possible)[:, np.newaxis]
        return np.asarray(np.einsum("no,nop,noq->pq", chances, apart, apart))

    start = np.zeros(seen.shape[1])
    found = minimize(loss, start, jac=slope, hess=information, method="trust-exact", options={"gtol": 1e-9})
    return found.x, information(found.x)


def products(parts: Iterable[tuple[Hashable, np.ndarray]]) -> np.ndarray:
    """Return the sum, over labels, of the outer product of each label's sum with itself."""
    sums: defaultdict[Hashable, np.ndarray | float] = defaultdict(float)
    for label, part in parts:
        sums[label] = sums[label] + part
    return np.asarray(sum(np.outer(one, one) for one in sums.values()))


def spread_of(
    rows: Rows, influences: Mapping[int, np.ndarray], gains: Mapping[int, np.ndarray]
) -> tuple[np.ndarray | None, np.ndarray]:
    """Return the covariance of the parameters, and the degrees of freedom of each parameter."""
    item_of = item_of_pair(rows)
    number = effective_number_of(list(Counter(item_of[pair] for pair in influences).values()))
    if len({item_of[pair] for pair in influences}) < 2:
        return None, np.array([])
    covariance = products((item_of[pair], part) for pair, part in influences.items()) * variance_correction(
        number
    )
    variances, df = np.diag(covariance), max(number, 2) - 1
    width = len(covariance)
    gradients_by_person: defaultdict[tuple[int, str], np.ndarray] = defaultdict(lambda: np.zeros(width))
    for parameter in range(width):
        credit = {pair: {1: gain[0][parameter], 2: gain[1][parameter]} for pair, gain in gains.items()}
        for cell, part in lost_votes(rows, credit).items():
            gradients_by_person[cell][parameter] = part
    raters = list(Counter(name for _, name in gradients_by_person).values())
    if rows.anonymous or len(raters) < 2:
        return covariance, np.full(width, df)
    middle = sum(gradients_by_person.values()) / len(gradients_by_person)
    centred = {cell: part - middle for cell, part in gradients_by_person.items()}
    by_row, by_person = (products((cell[at], part) for cell, part in centred.items()) for at in (0, 1))
    by_cell, judged = products(centred.items()), len({pair for pair, _ in gradients_by_person})

    def added_along(direction: np.ndarray) -> People:
        row, person, cell = (float(direction @ form @ direction) for form in (by_row, by_person, by_cell))
        return people_add(row, person, cell, judged, raters)

    # The variance that people add counts along each of its principal axes, to the extent that it exceeds chance.
    axes = np.linalg.eigh(by_person - by_cell + by_row / effective_number_of(raters))[1].T
    whole = covariance + sum(added_along(axis).extra_variance * np.outer(axis, axis) for axis in axes)
    each = [
        freedom(float(one), df, added_along(axis)) for one, axis in zip(variances, np.eye(width), strict=True)
    ]
    return whole, np.array(each)


def differences(rows: Rows, fit: Fit | None, first: str) -> dict[str, Difference | None]:
    """Return the difference of the first system to each other one, by name; None if its variance is unknown."""
    return {name: difference(rows, fit, first, name) for name in rows.systems if name != first}


def difference(rows: Rows, fit: Fit | None, first: str, second: str) -> Difference | None:
    direct = of_systems(rows, first, second)
    if fit is None:
        return direct
    names = sorted(fit.strengths)
    places = [names.index(first), names.index(second)]
    if fit.covariance is None:
        return None
    contrast = np.zeros(len(fit.covariance))
    contrast[places] = 1, -1
    variance, df = float(contrast @ fit.covariance @ contrast), float(min(fit.df[places]))
    if not variance > 0:
        return None
    value = fit.strengths[first] - fit.strengths[second]
    if direct is None:
        return Difference(value, Spread(variance, NO_PEOPLE, df, df + 1))
    # People's part of the variance is the part that they add to the share of the pairs of both systems.
    parts = direct.spread.scaled_spread(variance / direct.spread.variance)
    return Difference(value, parts._replace(df=df, items=parts.items if parts.items < np.inf else df + 1))
