"""The likelihood of paired comparisons with ties and an order effect, maximised by Newton's method.

Tables are (K, K) counts with the row's item shown first: `first` of its wins, `second` of the column's,
`tied`. With log-strengths theta and d = (theta_i - theta_j + order) / 2 the chances of the three outcomes are
exp(d), exp(-d) and nu over their sum (Davidson 1970, eq. 2.4). The order effect multiplies the strength of
what is shown first (Davidson, Beaver 1977). nu = 0 is Bradley, Terry 1952. The likelihood is concave in
theta, log(nu) and order.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import log_expit

from evaluation.arrays import Floats, Ints

# Part of the log-likelihood that is rounding.
_ROUNDING = 1e-12
# A step moves no parameter farther: beyond, chances are so near 0 and 1 that the next step would find no slope.
_FARTHEST = 4.0
# Part of a sum of squares that is rounding.
_NONE_LEFT = 1e-9
# A direction in which the likelihood rises for ever rises by one at least, but for the solver's tolerance.
_RISES = 1e-6


@dataclass(frozen=True, slots=True)
class Tables:
    """Counts of comparisons by outcome, with the row's item shown first."""

    first: Floats
    second: Floats
    tied: Floats


@dataclass(frozen=True, slots=True)
class Parameters:
    """theta: (K,) with mean zero. log_nu: -inf without ties. order: 0 without an order effect."""

    theta: Floats
    log_nu: float
    order: float


@dataclass(frozen=True, slots=True)
class Fit:
    """The maximum, and the covariance of (theta, log_nu if free, order if free)."""

    peak: Parameters
    covariance: Floats
    log_likelihood: float
    iterations: int
    converged: bool
    gradient: float


def log_chances(at: Parameters) -> tuple[Floats, Floats, Floats]:
    """Return (K, K) log-probabilities of a win of the first, of the second, and of a tie, in full precision."""
    difference = at.theta[:, np.newaxis] - at.theta[np.newaxis, :] + at.order
    if at.log_nu == -math.inf:
        return log_expit(difference), log_expit(-difference), np.full_like(difference, -math.inf)
    half = difference / 2
    first = -np.logaddexp(0, np.logaddexp(-difference, at.log_nu - half))
    second = -np.logaddexp(0, np.logaddexp(difference, at.log_nu + half))
    return first, second, at.log_nu - np.logaddexp(np.logaddexp(half, -half), at.log_nu)


def groups_of(tables: Tables) -> tuple[int, Ints]:
    """Return the strongly connected groups of items: an edge a win, two a tie (Ford 1957)."""
    beats = (tables.first + tables.second.T + tables.tied + tables.tied.T) > 0
    count, groups = connected_components(beats, directed=True, connection="strong")
    return int(count), groups.astype(np.int64)


def order_is_strength(tables: Tables) -> bool:
    """Return whether strengths alone can explain an order effect: theta_i - theta_j = 1 for all i shown before j.

    The items must be connected.
    """
    shown = (tables.first + tables.second + tables.tied) > 0
    pairs = shown.astype(np.float64)
    met = pairs + pairs.T
    balance = pairs.sum(axis=1) - pairs.sum(axis=0)
    theta = np.linalg.solve(np.diag(met.sum(axis=1)) - met + 1 / len(met), balance)
    return bool(pairs.sum() - balance @ theta < _NONE_LEFT * pairs.sum())


def rises_for_ever(tables: Tables, ties: bool, order: bool) -> bool:
    """Return whether the likelihood of connected items has no maximum because of ties or the order effect.

    It rises in a direction in which no observed outcome becomes less likely beside the others of its pair,
    and one becomes more likely: a linear program, rarely needed.
    """
    won = (tables.first + tables.second.T) > 0
    both = (tables.first > 0) & (tables.second > 0)
    # Wins both ways hold a pair in place, and with it the ties; in both orders, the order effect too.
    bounded = (both & both.T).any() if order else (won & won.T).any()
    if bounded or not (ties or order):
        return False
    from scipy.optimize import linprog  # takes a while to load and is hardly ever needed

    items = len(tables.first)
    rows, columns, gains = [], [], []
    count = 0
    # An outcome seen against another one of its pair: the change of theta, and of 2 log(nu).
    for seen, signs in (
        (tables.first, ((2, 0), (1, -1))),
        (tables.second, ((-2, 0), (-1, -1))),
        (tables.tied, ((-1, 1), (1, 1))),
    ):
        shown, beside = np.nonzero(seen)
        for step, tie in signs:
            if tie and not ties:
                continue
            place = np.arange(count, count + len(shown))
            count += len(shown)
            rows += [place] * 4
            columns += [shown, beside, np.full_like(shown, items), np.full_like(shown, items + 1)]
            gains += [np.full(len(shown), gain) for gain in (step, -step, tie, step * order)]
    shape = (count, items + 2)
    gain = coo_array(
        (np.concatenate(gains).astype(np.float64), (np.concatenate(rows), np.concatenate(columns))), shape
    )
    # The stubs do not know that sparse tables are welcome.
    found = linprog(  # type: ignore[call-overload]
        -gain.sum(axis=0), A_ub=-gain, b_ub=np.zeros(count), bounds=(-1, 1)
    )
    return bool(-found.fun > _RISES)


def fit(tables: Tables, ties: bool, order: bool, max_iterations: int, tolerance: float) -> Fit:
    """Find the maximum, which must exist, by Newton's method from equal strengths with halved, bounded steps.

    Converged if the last step moved no parameter by more than `tolerance`, or than that part of its standard
    error; the error is then about its square.
    """
    at = _start(tables, ties)
    items = len(at.theta)
    free = np.r_[np.ones(items, dtype=bool), ties, order]
    chances = log_chances(at)
    value = _log_likelihood(tables, chances)
    slope, information = _derivatives(tables, chances)
    converged = False
    iterations = 0
    while not converged and iterations < max_iterations:
        iterations += 1
        step = np.zeros(items + 2)
        step[free] = np.linalg.solve(_constrained(information[np.ix_(free, free)], items), slope[free])
        size = min(1.0, _FARTHEST / max(np.abs(step).max(), _ROUNDING))
        candidate = _moved(at, size * step)
        chances = log_chances(candidate)
        reached = _log_likelihood(tables, chances)
        while reached < value - _ROUNDING * abs(value) and size > _ROUNDING:
            size /= 2
            candidate = _moved(at, size * step)
            chances = log_chances(candidate)
            reached = _log_likelihood(tables, chances)
        # The root of slope times step is at least any parameter's step in units of its standard error.
        away = math.sqrt(max(float(slope @ step), 0.0))
        converged = bool(min(np.abs(step).max(), away) <= tolerance)
        at, value = candidate, reached
        slope, information = _derivatives(tables, chances)
    covariance: Floats = np.linalg.inv(_constrained(information[np.ix_(free, free)], items)).astype(
        np.float64, copy=False
    )
    # The constant matrix that held the strengths in place is no part of it.
    covariance[:items, :items] -= 1 / (float(information[:items, :items].max()) * items)
    return Fit(at, covariance, value, iterations, converged, float(np.abs(slope[free]).max()))


def _log_likelihood(tables: Tables, chances: tuple[Floats, Floats, Floats]) -> float:
    first, second, tie = chances
    total = float((tables.first * first + tables.second * second).sum())
    return total + float((tables.tied * tie).sum()) if tables.tied.any() else total


def _start(tables: Tables, ties: bool) -> Parameters:
    tied, decided = tables.tied.sum(), (tables.first + tables.second).sum()
    # Among equals, nu / 2 is the odds of a tie.
    log_nu = math.log(2 * tied / decided) if ties else -math.inf
    return Parameters(np.zeros(len(tables.first)), log_nu, 0.0)


def _moved(at: Parameters, step: Floats) -> Parameters:
    theta = at.theta + step[:-2]
    return Parameters(theta - theta.mean(), at.log_nu + float(step[-2]), at.order + float(step[-1]))


def _derivatives(tables: Tables, chances: tuple[Floats, Floats, Floats]) -> tuple[Floats, Floats]:
    """Return (K + 2,) slope and (K + 2, K + 2) information of theta, log_nu and order.

    No differences of nearly equal numbers, so that one win in a million million counts.
    """
    first, second, tie = (np.exp(chance) for chance in chances)
    games = tables.first + tables.second + tables.tied
    decided = first + second
    by_pair = (
        tables.first * (2 * second + tie) - tables.second * (2 * first + tie) - tables.tied * (first - second)
    ) / 2
    spread = games * (decided * tie + 4 * first * second) / 4
    pull = -games * (first - second) * tie / 2
    items = len(games)
    slope = np.empty(items + 2)
    slope[:items] = by_pair.sum(axis=1) - by_pair.sum(axis=0)
    slope[items] = (tables.tied * decided).sum() - ((tables.first + tables.second) * tie).sum()
    slope[items + 1] = by_pair.sum()
    information = np.empty((items + 2, items + 2))
    information[:items, :items] = -(spread + spread.T)
    information[np.arange(items), np.arange(items)] += spread.sum(axis=1) + spread.sum(axis=0)
    information[:items, items] = pull.sum(axis=1) - pull.sum(axis=0)
    information[:items, items + 1] = spread.sum(axis=1) - spread.sum(axis=0)
    information[items, items] = (games * decided * tie).sum()
    information[items, items + 1] = pull.sum()
    information[items + 1, items + 1] = spread.sum()
    information[items:, :items] = information[:items, items:].T
    information[items + 1, items] = information[items, items + 1]
    return slope, information


def _constrained(information: Floats, items: int) -> Floats:
    """Fix the free direction of the information: a constant added to all log-strengths."""
    constrained = information.copy()
    constrained[:items, :items] += constrained[:items, :items].max() / items
    return constrained
