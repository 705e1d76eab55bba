"""The beta-binomial model of voters, with assumed parameters or fitted to a pilot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its submodules load at first use
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Floats
from quorum.numeric.packing import declare
from quorum.statistics.inputs import BadOption, BadValue, finite_vector, is_real, same_length

# With a larger spread, the likelihood is flat, because all votes of a unit are right, or all are wrong.
MAX_SPREAD = 0.95
MIN_VOTES_FOR_SPREAD = 4  # number of votes per unit; with fewer, the votes determine only one parameter
CHANCE_MARGIN = 1e-9  # least distance of chances from 0 and 1, where logarithms are infinite
MAX_TASTE = 10.0  # log odds; with more, hardly any vote depends on the pair


@declare  # so that it can be sent to other processes
@dataclass(frozen=True, slots=True)
class VoterModel:
    """A model of how people vote, with assumed parameters.

    Attributes:
        right: mean chance that a careful vote is right.
        pair_spread, unit_spread: intraclass correlation of that chance, which has a beta distribution between pairs,
            and between the units of a pair, each of which shows one of its references.
        careless: share of careless votes; half of them are right.
        worker_spread: intraclass correlation of carelessness within workers.
        pairs_each: number of consecutive pairs that the same workers judge.
        raters: number of people who share the work; 0 if every `pairs_each` pairs have new people.
        taste: standard deviation, over people, of the log odds to favour the first of the two systems (or the choices
            of the first of the two metrics) that a study compares.
    """

    right: float = 0.85
    pair_spread: float = 0.1
    unit_spread: float = 0.0
    careless: float = 0.0
    worker_spread: float = 0.0
    pairs_each: int = 20
    raters: int = 0
    taste: float = 0.0

    def __post_init__(self) -> None:
        for name, low, high in (
            ("taste", 0.0, MAX_TASTE),
            ("right", 0.5, 1.0),
            ("pair_spread", 0.0, 0.99),
            ("unit_spread", 0.0, 0.99),
            ("careless", 0.0, 1.0),
            ("worker_spread", 0.0, 1.0),
        ):
            value = getattr(self, name)
            if not is_real(value) or not low <= value <= high:
                raise BadOption(f"{name} is {value!r}, expected {low:g} to {high:g}")
        if self.pairs_each < 1:
            raise BadOption(f"pairs_each is {self.pairs_each!r}, expected 1 or more")
        if self.raters < 0:
            raise BadOption(f"raters is {self.raters!r}, expected 0 for new ones, or how many there are")


def beta_draws(
    mean: float | Floats, spread: float, shape: tuple[int, ...], rng: np.random.Generator
) -> Floats:
    """Return chances of this shape, drawn from beta distributions with these means and this intraclass correlation.

    With a spread of 0, chances are equal to the mean; with 1, they are 0 or 1.
    """
    means = np.broadcast_to(np.asarray(mean, dtype=np.float64), shape)
    if spread == 0:
        return np.array(means)
    if spread == 1:
        return (rng.random(shape) < means).astype(np.float64)
    scale = (1 - spread) / spread
    inner_means = np.clip(means, CHANCE_MARGIN, 1 - CHANCE_MARGIN)
    return rng.beta(inner_means * scale, (1 - inner_means) * scale)


@dataclass(frozen=True, slots=True)
class PilotModel:
    """The model fitted to the votes of a pilot.

    right: mean chance that a vote is right. spread: intraclass correlation of that chance over units, which is assumed
    if units have too few votes. Both maximise the likelihood of the votes. agreement: share of agreeing pairs of votes
    on the same unit. units, votes: numbers of units with two votes or more, and of their votes. converged: whether the
    maximum was found. reason: why `spread` was assumed, or "".
    """

    right: float
    spread: float
    agreement: float
    units: int
    votes: int
    converged: bool
    reason: str


def fit_voter_model(first: ArrayLike, votes: ArrayLike, spread: float = 0.1) -> PilotModel:
    """Fit the model to a pilot with (U,) numbers of `votes` on each unit, `first` (U,) of them for the first option.

    `spread`, an intraclass correlation (`PilotModel`), is assumed if it cannot be fitted. Units with a single vote are
    left out; raise BadValue if there are no others. The model is an equal mixture of BetaBinomial(n, a, b) and
    BetaBinomial(n, b, a) (Skellam 1948), because either option may be the right one.
    """
    if not 0 <= spread < 1:
        raise BadOption(f"spread is {spread!r}, expected 0 to less than 1")
    counts, totals = finite_vector(first, "first"), finite_vector(votes, "votes")
    same_length(first=counts, votes=totals)
    if ((counts < 0) | (counts > totals) | (counts % 1 != 0) | (totals % 1 != 0)).any():
        raise BadValue("first holds a count that is not a whole number between 0 and the unit's votes")
    has_pairs = totals >= 2
    counts, totals = counts[has_pairs], totals[has_pairs]
    if not counts.size:
        raise BadValue("no unit has two votes, expected some to see how far people agree")
    pairs = totals * (totals - 1)
    agreeing_pairs = counts * (counts - 1) + (totals - counts) * (totals - counts - 1)
    agreement = float(agreeing_pairs.sum() / pairs.sum())
    cases, case_counts = np.unique(np.stack([counts, totals]), axis=1, return_counts=True)
    is_fitted = totals.max() >= MIN_VOTES_FOR_SPREAD
    reason = ""
    if not is_fitted:
        reason = f"no unit has {MIN_VOTES_FOR_SPREAD} votes, so the spread over units is assumed: {spread:g}"
    if agreement == 1.0:
        reason = f"all votes agree, so the spread over units is assumed: {spread:g}"
        return PilotModel(1.0, spread, agreement, int(counts.size), int(totals.sum()), True, reason)

    def right_and_spread(point: Any) -> tuple[float, float]:
        # The optimiser's numbers are logits, so that both parameters stay within their limits.
        right = 0.5 + 0.5 * scipy.special.expit(point[0])
        return right, MAX_SPREAD * scipy.special.expit(point[1]) if is_fitted else spread

    def loss(point: Any) -> float:
        return -float((case_counts * _log_split(cases[0], cases[1], *right_and_spread(point))).sum())

    # Search from several points around right = 0.75 and spread = 0.11, since the likelihood may have several maxima.
    start = np.array([0.0, -2.0]) if is_fitted else np.array([0.0])
    fits = [
        scipy.optimize.minimize(
            loss, start + shift, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-8}
        )
        for shift in (-1.5, 0.0, 1.5)
    ]
    best_fit = min(fits, key=lambda fit: fit.fun)
    fitted_right, fitted_spread = right_and_spread(best_fit.x)
    return PilotModel(
        right=float(fitted_right),
        spread=float(fitted_spread) if is_fitted else spread,
        agreement=agreement,
        units=int(counts.size),
        votes=int(totals.sum()),
        converged=bool(best_fit.success),
        reason=reason,
    )


def _log_split(k: Floats, n: Floats, right: float, spread: float) -> Floats:
    """Return the log-likelihoods of k of n votes for the first option, if either option is right with equal chance."""
    right = min(max(right, CHANCE_MARGIN), 1 - CHANCE_MARGIN)
    if spread < 1e-6:  # nearly binomial; without spread, the scale would be infinite
        for_first = scipy.stats.binom(n, right).logpmf(k)
        for_second = scipy.stats.binom(n, right).logpmf(n - k)
    else:
        scale = (1 - spread) / spread
        distribution = scipy.stats.betabinom(n, right * scale, (1 - right) * scale)
        for_first, for_second = distribution.logpmf(k), distribution.logpmf(n - k)
    log_likelihood: Floats = np.logaddexp(for_first, for_second) - np.log(2)
    return log_likelihood


def true_share(observed: float, right: float) -> float:
    """Return the true share s of wins behind ``observed`` = s r + (1 - s)(1 - r), if a share r (``right``) is right."""
    if not 0.5 < right <= 1:
        raise BadOption(f"right is {right!r}, expected more than 0.5 and at most 1")
    return min(1.0, max(0.0, (observed - (1 - right)) / (2 * right - 1)))
