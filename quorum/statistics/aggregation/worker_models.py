"""Models of workers with unknown true labels: Dawid-Skene, GLAD, MACE, and item response.

GLAD and MACE maximise an objective by L-BFGS from several starts (`climb`).

Dawid-Skene finds true labels and each worker's errors by expectation maximisation. Dawid, Skene 1979, *Maximum
Likelihood Estimation of Observer Error-Rates Using the EM Algorithm*, eq. 2.3 to 2.5. The one-coin variant gives a
worker one accuracy; wrong labels are equally likely (Zhang, Chen, Zhou, Jordan 2016). Leaps accelerate it (Varadhan,
Roland 2008, scheme SqS3), if they climb.

The two-parameter logistic model of item response theory: Birnbaum 1968, in Lord, Novick, *Statistical Theories of
Mental Test Scores*; marginal maximum likelihood as in Bock, Aitkin 1981. A person of ability theta is right on an item
with probability 1 / (1 + exp(-a (theta - b))), a > 0 its discrimination and b its difficulty. Abilities are standard
normal and integrated out; weak priors as of Mislevy 1986.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its parts load when they are first used
from numpy.typing import ArrayLike, NDArray

from quorum.numeric.arrays import Floats, Ints, ratio
from quorum.statistics.aggregation.votes_and_means import WorkerModel
from quorum.statistics.inference import Result, signed
from quorum.statistics.inputs import (
    BadOption,
    above_zero,
    check_cells,
    encode,
    encode_on_scale,
    finite_column,
    finite_vector,
    from_zero,
    one_of,
    positive,
    refuse_values,
    same_length,
)

ONE_EACH = "no unit has two judgments, so nothing tells a worker's errors from the truth"
ONE_WORKER = "there is one worker, so nothing tells their errors from the truth"

SEVERAL = "several solutions fit the answers equally well; figures are their means"

# Probabilities that differ by more are those of two solutions.
_ANOTHER = 1e-3

# Steps that tell all apart that ever differ, while what rounding adds is still small.
_EARLY = 6

# Digits of means over solutions, each of which is known to a few more.
_DIGITS = 6

# Labels whose probabilities differ by less are equally likely, and figures that do are equal.
_ALIKE = 1e-9

# Two optima whose values differ by less than this part are one.
_SAME_VALUE = 1e-6

# Corrections that L-BFGS keeps; more than its usual ten shorten long valleys.
_CORRECTIONS = 30

# Mean of the priors of alpha and of log beta; their variance is one.
PRIOR_MEAN = 1.0
TRAININGS = ("variational", "em")

# Of the published program: the parameters of Beta and Dirichlet, and what EM adds to each count, over the labels.
KNOWING, GUESSING = 0.5, 10.0
SMOOTHING = 0.01

# Standard deviation of the logits of a random start.
_SCATTER = 1.0


@dataclass(frozen=True, slots=True)
class Answers:
    """Names of units, workers and labels, and the (N,) codes of each judgment."""

    units: NDArray[Any]
    workers: NDArray[Any]
    labels: NDArray[Any]
    unit: Ints
    worker: Ints
    value: Ints

    @classmethod
    def of(
        cls,
        units: Iterable[Any],
        workers: Iterable[Any],
        values: Iterable[Any],
        labels: Sequence[Any] | None,
    ) -> Answers:
        """Encode three (N,) columns. Raise BadOption without judgments or with a single label."""
        unit_names, unit = encode(units, "units")
        worker_names, worker = encode(workers, "workers")
        scale, value = encode_on_scale(values, labels)
        same_length(units=unit, workers=worker, values=value)
        if not len(unit):
            raise BadOption("there are no judgments, expected one or more")
        if len(scale) < 2:
            raise BadOption("there is one label, expected two or more (labels names the scale)")
        for names, what in ((unit_names, "units"), (worker_names, "workers")):
            check_cells(len(names), what, len(scale), len(names) * len(scale))
        return cls(unit_names, worker_names, scale, unit, worker, value)

    @property
    def shape(self) -> tuple[int, int, int]:
        return len(self.units), len(self.workers), len(self.labels)

    @property
    def note(self) -> str:
        return note_of(len(self.workers), int(np.bincount(self.unit).max()))

    def fitted(self, posterior: Floats, optimum: Optimum, *, several: bool) -> dict[str, Any]:
        """Return the fields of a `ClimbedModel`."""
        notes = [self.note, SEVERAL if several else ""]
        return {
            "units": self.units,
            "workers": self.workers,
            "labels": self.labels,
            "posterior": posterior,
            "winner": winners(posterior),
            "judgments": np.bincount(self.worker, minlength=len(self.workers)),
            "note": "; ".join(filter(None, notes)),
            "objective": optimum.objective,
            "gradient": optimum.gradient,
            "iterations": optimum.iterations,
            "converged": optimum.converged,
            "starts_at_optimum": optimum.starts_at_optimum,
        }

    def by_worker(self, weights: Floats) -> Floats:
        _, workers, width = self.shape
        cells = np.bincount(self.worker * width + self.value, weights=weights, minlength=workers * width)
        return np.asarray(cells, dtype=np.float64).reshape(workers, width)

    def posterior(self, evidence: Floats) -> tuple[Floats, Floats]:
        """Return (U, L) probabilities of true labels, equally likely before, and the (U,) logarithms of their sums.

        `evidence`: (N,) log-ratio of the answer's probability if it is the true label to that if it is not.
        """
        units, _, width = self.shape
        cells = np.bincount(self.unit * width + self.value, weights=evidence, minlength=units * width)
        joint = cells.reshape(units, width)
        total = scipy.special.logsumexp(joint, axis=1)
        return np.exp(joint - total[:, np.newaxis]), total


def note_of(workers: int, most: int) -> str:
    if workers == 1:
        return ONE_WORKER
    return ONE_EACH if most == 1 else ""


def even(best: Sequence[Floats], early: Sequence[Floats]) -> tuple[Sequence[Floats], bool]:
    """Return the figures of a solution, and whether they are means over several solutions.

    The (U, L) posterior, a (W,) probability of each worker, and others. `early` has them a few steps from a start that
    favours nobody: figures are equal there if the answers alone cannot tell them apart. A solution where they differ
    is one of several, which exchange them; the mean over all is that of the figures that they exchange.
    """
    means = [_mean_of_equals(*both) for both in zip(best, early, strict=True)]
    tied = winners(early[0]) < 0
    # Near 0 and 1 others are equal, too.
    inner = (early[1] > _ANOTHER) & (early[1] < 1 - _ANOTHER)
    moved = (means[0] - best[0])[tied], (means[1] - best[1])[inner]
    several = max(np.abs(part).max(initial=0.0) for part in moved) > _ANOTHER
    return ([mean.round(_DIGITS) for mean in means] if several else best), several


def _mean_of_equals(values: Floats, early: Floats) -> Floats:
    """Return the mean of `values` over each group that is equal in `early`."""
    order = np.argsort(early, axis=None)
    ordered = early.ravel()[order]
    group = np.empty(len(order), dtype=np.int64)
    group[order] = np.cumsum(np.diff(ordered, prepend=ordered[:1]) > _ALIKE)
    means = np.bincount(group, weights=values.ravel()) / np.bincount(group)
    return np.asarray(means[group].reshape(values.shape), dtype=np.float64)


def winners(posterior: Floats) -> Ints:
    best = posterior.max(axis=1, keepdims=True)
    alike = (posterior >= best - _ALIKE).sum(axis=1) > 1
    return np.where(alike, -1, posterior.argmax(axis=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClimbedModel(WorkerModel):
    objective: float
    gradient: float
    starts_at_optimum: int


@dataclass(frozen=True, slots=True)
class Optimum:
    """The highest optimum; fields as in the packages. `early` lies a few steps from the first start."""

    point: Floats
    early: Floats
    objective: float
    gradient: float
    iterations: int
    converged: bool
    starts_at_optimum: int


def climb(
    objective: Callable[[Floats], tuple[float, Floats]],
    starts: Iterable[Floats],
    *,
    max_iterations: int,
    tolerance: float,
) -> Optimum:
    """Maximise a smooth function by L-BFGS from each start; of equal optima the first counts.

    `objective` returns the value and its (P,) gradient. Converged if no partial derivative exceeds `tolerance`.
    Where L-BFGS ends because values no longer differ in their last digit, Newton-Krylov steps go on by the gradient
    alone.
    """

    def downhill(point: Any) -> tuple[float, Floats]:
        value, gradient = objective(point)
        return -value, -gradient

    def uphill(point: Any) -> Any:
        return objective(point)[1]

    options: Any = {
        "maxiter": max_iterations,
        "maxfun": 10 * max_iterations,
        "maxcor": _CORRECTIONS,
        "ftol": 0.0,
        "gtol": tolerance / 10,
    }
    starts = list(starts)
    ends = [
        scipy.optimize.minimize(downhill, start, jac=True, method="L-BFGS-B", options=options)
        for start in starts
    ]
    options["maxiter"] = min(_EARLY, max_iterations)
    early = scipy.optimize.minimize(downhill, starts[0], jac=True, method="L-BFGS-B", options=options)
    best = min(ends, key=lambda end: float(end.fun))
    near = _SAME_VALUE * max(1.0, abs(best.fun))
    chosen = next(end for end in ends if end.fun <= best.fun + near * 1e-3)
    point = chosen.x
    if np.abs(chosen.jac).max() > tolerance / 10 and chosen.nit < max_iterations:
        polish: Any = {"fatol": tolerance / 10, "maxiter": 20}
        flat = scipy.optimize.root(uphill, point, method="krylov", options=polish)
        point = min((point, flat.x), key=lambda at: float(np.abs(uphill(at)).max()))
    optimum, slope = objective(point)
    gradient = float(np.abs(slope).max())
    return Optimum(
        point=point,
        early=early.x,
        objective=optimum,
        gradient=gradient,
        iterations=int(chosen.nit),
        converged=gradient <= tolerance,
        starts_at_optimum=sum(bool(end.fun <= best.fun + near) for end in ends),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class GladResult(ClimbedModel):
    """The fitted model; shared fields as in the package.

    ability: (W,) alpha; zero is a coin, below zero answers the opposite. difficulty: (U,) 1 / beta. accuracy: (W,) mean
    probability of a right answer over the worker's units. objective: log posterior density, without its constant.
    """

    ability: Floats
    difficulty: Floats
    accuracy: Floats


@signed("glad")
def glad(
    units: Iterable[Any],
    workers: Iterable[Any],
    values: Iterable[Any],
    *,
    labels: Sequence[Any] | None = None,
    restarts: int = 5,
    seed: int = 0,
    max_iterations: int = 5000,
    tolerance: float = 1e-5,
) -> GladResult:
    """Fit the model to three (N,) columns.

    The first of `restarts` starts is the mean of the priors, the others are drawn from them; the highest end counts.

    Whitehill, Ruvolo, Wu, Bergsma, Movellan 2009, *Whose Vote Should Count More: Optimal Integration of Labels
    from Labelers of Unknown Expertise*. An answer is right with probability 1 / (1 + exp(-alpha beta)), alpha of
    the worker and beta > 0 of the unit (eq. 1); wrong labels are equally likely (section 3). Alpha and log beta
    have normal priors of mean and variance one, as in the authors' program. L-BFGS climbs the posterior of the
    paper's EM.
    """
    positive(restarts, "restarts")
    positive(max_iterations, "max_iterations")
    above_zero(tolerance, "tolerance")
    answers = Answers.of(units, workers, values, labels)
    n_units, n_workers, n_labels = answers.shape
    others = np.log(n_labels - 1)

    def objective(point: Floats) -> tuple[float, Floats]:
        alpha, beta = point[:n_workers][answers.worker], np.exp(point[n_workers:])[answers.unit]
        right = alpha * beta
        posterior, total = answers.posterior(right + others)
        wrong = scipy.special.log_expit(-right) - others
        deviation = point - PRIOR_MEAN
        log_posterior = float(
            total.sum() + wrong.sum() - n_units * np.log(n_labels) - 0.5 * (deviation * deviation).sum()
        )
        residual = posterior[answers.unit, answers.value] - scipy.special.expit(right)
        of_alpha = np.bincount(answers.worker, weights=residual * beta, minlength=n_workers)
        of_beta = np.bincount(answers.unit, weights=residual * right, minlength=n_units)
        return log_posterior, np.concatenate([of_alpha, of_beta]) - deviation

    generator = np.random.default_rng(seed)
    drawn = (generator.normal(PRIOR_MEAN, 1.0, n_workers + n_units) for _ in range(restarts - 1))
    optimum = climb(
        objective,
        [np.full(n_workers + n_units, PRIOR_MEAN), *drawn],
        max_iterations=max_iterations,
        tolerance=tolerance,
    )

    judgments = np.bincount(answers.worker, minlength=n_workers)

    def figures(point: Floats) -> tuple[Floats, ...]:
        ability, easy = point[:n_workers], np.exp(point[n_workers:])
        right = ability[answers.worker] * easy[answers.unit]
        hits = np.bincount(answers.worker, weights=scipy.special.expit(right), minlength=n_workers)
        return answers.posterior(right + others)[0], hits / judgments, ability, 1.0 / easy

    (posterior, accuracy, ability, difficulty), several = even(figures(optimum.point), figures(optimum.early))
    return GladResult(
        ability=ability,
        difficulty=difficulty,
        accuracy=accuracy,
        **answers.fitted(posterior, optimum, several=several),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MaceResult(ClimbedModel):
    """The fitted model; shared fields as in the package.

    entropy: (U,) of the posterior, in nats. competence: (W,) probability of knowing; its posterior mean if training is
    variational. guesses: (W, L) probability of each label when guessing.
    """

    entropy: Floats
    competence: Floats
    guesses: Floats
    training: str


@signed("mace")
def mace(
    units: Iterable[Any],
    workers: Iterable[Any],
    values: Iterable[Any],
    *,
    labels: Sequence[Any] | None = None,
    training: str = "variational",
    restarts: int = 10,
    seed: int = 0,
    max_iterations: int = 5000,
    tolerance: float = 1e-5,
) -> MaceResult:
    """Fit the model to three (N,) columns; `training` is "variational" or "em".

    The first of `restarts` starts is near the votes, the others are drawn; the highest end counts.

    Hovy, Berg-Kirkpatrick, Vaswani, Hovy 2013, *Learning Whom to Trust with MACE*. A worker knows the true label
    with probability theta, and otherwise draws one from habits xi of their own. All true labels are equally
    likely. L-BFGS climbs the objectives of section 3: EM with smoothed counts, or variational Bayes with
    Beta(0.5, 0.5) on theta and Dirichlet(10) on xi.
    """
    one_of(training, TRAININGS, "training")
    positive(restarts, "restarts")
    positive(max_iterations, "max_iterations")
    above_zero(tolerance, "tolerance")
    answers = Answers.of(units, workers, values, labels)
    objective = _Variational(answers) if training == "variational" else _Smoothed(answers)
    _, n_workers, width = answers.shape
    generator = np.random.default_rng(seed)
    drawn = (generator.normal(0.0, _SCATTER, n_workers * (width + 1)) for _ in range(restarts - 1))
    optimum = climb(
        objective.evaluate,
        [objective.start(logits) for logits in (np.zeros(n_workers * (width + 1)), *drawn)],
        max_iterations=max_iterations,
        tolerance=tolerance,
    )

    def figures(point: Floats) -> tuple[Floats, ...]:
        return _expect(answers, *objective.weights(point))[0], *objective.means(point)

    (posterior, competence, guesses), several = even(figures(optimum.point), figures(optimum.early))
    return MaceResult(
        entropy=scipy.special.entr(posterior).sum(axis=1),
        competence=competence,
        guesses=guesses,
        training=training,
        **answers.fitted(posterior, optimum, several=several),
    )


def _expect(answers: Answers, knows: Floats, guesses: Floats) -> tuple[Floats, float, Floats, Floats]:
    """Return the posterior, the log-likelihood, and expected numbers (W,) of known and (W, L) of guessed answers.

    `knows` (W,) and `guesses` (W, L) are log-weights.
    """
    units, workers, width = answers.shape
    by_answer = answers.worker, answers.value
    lead = (knows[:, np.newaxis] - guesses)[by_answer]
    posterior, total = answers.posterior(-scipy.special.log_expit(-lead))
    known = posterior[answers.unit, answers.value] * scipy.special.expit(lead)
    objective = float(total.sum() + guesses[by_answer].sum() - units * np.log(width))
    knew = np.asarray(np.bincount(answers.worker, weights=known, minlength=workers), dtype=np.float64)
    return posterior, objective, knew, answers.by_worker(1.0 - known)


class _Smoothed:
    def __init__(self, answers: Answers) -> None:
        self.answers = answers
        _, self.workers, self.width = answers.shape
        self.added = SMOOTHING / self.width

    def start(self, logits: Floats) -> Floats:
        return logits

    def _split(self, point: Floats) -> tuple[Floats, Floats]:
        return point[: self.workers], point[self.workers :].reshape(self.workers, self.width)

    def weights(self, point: Floats) -> tuple[Floats, Floats]:
        theta, xi = self._split(point)
        guessed = scipy.special.log_expit(-theta)[:, np.newaxis] + scipy.special.log_softmax(xi, axis=1)
        return scipy.special.log_expit(theta), guessed

    def means(self, point: Floats) -> tuple[Floats, Floats]:
        theta, xi = self._split(point)
        return scipy.special.expit(theta), scipy.special.softmax(xi, axis=1)

    def evaluate(self, point: Floats) -> tuple[float, Floats]:
        theta, xi = self._split(point)
        logs = scipy.special.log_softmax(xi, axis=1)
        _, objective, knew, guessed = _expect(self.answers, *self.weights(point))
        objective += self.added * float(
            scipy.special.log_expit(theta).sum() + scipy.special.log_expit(-theta).sum() + logs.sum()
        )
        knew, guessed_all = knew + self.added, guessed.sum(axis=1) + self.added
        guessed = guessed + self.added
        of_theta = knew - (knew + guessed_all) * scipy.special.expit(theta)
        of_xi = guessed - guessed.sum(axis=1, keepdims=True) * np.exp(logs)
        return objective, np.concatenate([of_theta, of_xi.ravel()])


class _Variational:
    def __init__(self, answers: Answers) -> None:
        self.answers = answers
        _, self.workers, self.width = answers.shape
        self.judged = np.bincount(answers.worker, minlength=self.workers)[:, np.newaxis]

    def start(self, logits: Floats) -> Floats:
        share = scipy.special.expit(logits[: self.workers])[:, np.newaxis]
        habit = scipy.special.softmax(logits[self.workers :].reshape(self.workers, self.width), axis=1)
        beta = KNOWING + self.judged * np.hstack([share, 1 - share])
        dirichlet = GUESSING + self.judged * (1 - share) * habit
        return np.log(np.concatenate([beta.ravel(), dirichlet.ravel()]))

    def _split(self, point: Floats) -> tuple[Floats, Floats]:
        both = np.exp(point)
        cut = 2 * self.workers
        return both[:cut].reshape(-1, 2), both[cut:].reshape(self.workers, self.width)

    def weights(self, point: Floats) -> tuple[Floats, Floats]:
        beta, dirichlet = (_mean_logs(parameters) for parameters in self._split(point))
        return beta[:, 0], beta[:, 1:] + dirichlet

    def means(self, point: Floats) -> tuple[Floats, Floats]:
        beta, dirichlet = self._split(point)
        return beta[:, 0] / beta.sum(axis=1), dirichlet / dirichlet.sum(axis=1, keepdims=True)

    def evaluate(self, point: Floats) -> tuple[float, Floats]:
        beta, dirichlet = self._split(point)
        _, objective, knew, guessed = _expect(self.answers, *self.weights(point))
        counts = np.stack([knew, guessed.sum(axis=1)], axis=1)
        parts = []
        for parameters, prior, count in ((beta, KNOWING, counts), (dirichlet, GUESSING, guessed)):
            objective -= _divergence(parameters, prior)
            miss = prior + count - parameters
            fisher = scipy.special.polygamma(1, parameters) * miss
            fisher -= scipy.special.polygamma(1, parameters.sum(axis=1, keepdims=True)) * miss.sum(
                axis=1, keepdims=True
            )
            parts.append((parameters * fisher).ravel())
        return objective, np.concatenate(parts)


def _mean_logs(dirichlet: Floats) -> Floats:
    return scipy.special.digamma(dirichlet) - scipy.special.digamma(dirichlet.sum(axis=1, keepdims=True))


def _divergence(parameters: Floats, prior: float) -> float:
    width = parameters.shape[1]
    constants = scipy.special.gammaln(parameters.sum(axis=1)) - scipy.special.gammaln(parameters).sum(axis=1)
    constants -= scipy.special.gammaln(prior * width) - width * scipy.special.gammaln(prior)
    return float(constants.sum() + ((parameters - prior) * _mean_logs(parameters)).sum())


MODELS = ("full", "one-coin")

# The logarithm of an impossible event is finite, far below any that changes a posterior.
_FLOOR = 1e-300

# Plain steps of the equations before any leap.
_PLAIN = 50

# A leap reduces no probability below this part of it: zero would be final.
_SHRINK = 0.1

# Changes of probabilities this small are rounding.
_ROUNDING = 8 * float(np.finfo(np.float64).eps)

# Part of a log-likelihood that is rounding; near its maximum the last digits mean nothing.
_FLAT = 1e-12

# A rate of shrinking is steady if one minus the rate changes by at most this part in a step.
_STEADY = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class DawidSkeneResult(WorkerModel):
    """The fitted model; shared fields as in the package.

    prior: (L,) shares. confusion: (W, L, L) probability of the given label (last axis) by the true one; even for a
    label that never occurs. accuracy: (W,) over the labels' shares. change: largest move of a probability in the last
    step; converged if neither it nor the expected sum of further moves exceeds `tolerance`.
    """

    prior: Floats
    confusion: Floats
    log_likelihood: float
    tolerance: float
    model: str
    smoothing: float
    accuracy: Floats
    change: float


@signed("dawid-skene")
def dawid_skene(
    units: Iterable[Any],
    workers: Iterable[Any],
    values: Iterable[Any],
    *,
    labels: Sequence[Any] | None = None,
    model: str = "full",
    smoothing: float = 0.0,
    max_iterations: int = 2000,
    tolerance: float = 1e-10,
) -> DawidSkeneResult:
    """Fit the model to three (N,) columns; find the local maximum uphill from the votes.

    `model` is "full" (a confusion table a worker) or "one-coin". `smoothing` adds that many answers of each kind to
    every worker (one-coin: right ones, and as many for each wrong label).
    """
    from quorum.statistics.kernels.expectation import expect, share_votes, sort_answers

    one_of(model, MODELS, "model")
    positive(max_iterations, "max_iterations")
    from_zero(tolerance, "tolerance")
    from_zero(smoothing, "smoothing")
    unit_names, unit_codes = encode(units, "units")
    worker_names, worker_codes = encode(workers, "workers")
    scale, codes = encode_on_scale(values, labels)
    same_length(units=unit_codes, workers=worker_codes, values=codes)
    if not len(unit_codes):
        raise BadOption("there are no judgments, expected one or more")
    width = len(scale)
    check_cells(len(unit_names), "units", width, len(unit_names) * width)
    check_cells(len(worker_names), "workers", width, len(worker_names) * width**2)

    starts = np.zeros(len(unit_names) + 1, dtype=np.int64)
    answers = np.empty(len(codes), dtype=np.int64)
    sort_answers(unit_codes, worker_codes, codes, width, starts, answers)
    judgments = np.bincount(worker_codes, minlength=len(worker_names))
    del unit_codes, worker_codes, codes  # as large as all that follows
    posterior = np.zeros((len(unit_names), width))
    prior, counts = np.zeros(width), np.zeros((len(worker_names) * width, width))
    share_votes(starts, answers, posterior, prior, counts)

    def maximised() -> _Parameters:
        errors = _maximise(counts.reshape(-1, width, width), model, smoothing)
        return _Parameters(prior / len(unit_names), errors)

    def expected(at: _Parameters) -> tuple[float, float]:
        prior.fill(0.0)
        counts.fill(0.0)
        log_prior, log_errors = (np.log(np.maximum(part, _FLOOR)) for part in (at.prior, at.errors))
        return expect(starts, answers, log_prior, log_errors.reshape(-1, width), posterior, prior, counts)

    converged = False
    iterations = 0
    change, log_likelihood = math.inf, math.nan
    path: list[_Parameters] = []
    # The moves of the plain steps since the last leap, and whether the last one seemed to be near the end.
    changes: list[float] = []
    resting = False
    early: tuple[Floats, ...] = ()

    def figures() -> tuple[Floats, ...]:
        shares, errors = path[-1].prior, path[-1].errors
        confusion = errors.transpose(0, 2, 1)
        return posterior, np.diagonal(confusion, axis1=1, axis2=2) @ shares, confusion, shares

    while not converged and iterations < max_iterations:
        path = [*path[-3:], maximised()]
        if len(path) == 4 and not resting and _PLAIN <= iterations < max_iterations - 2:
            before = log_likelihood + _log_prior(path[2], model, smoothing)
            leap = _leap(*path[1:])
            iterations += 1
            _, log_likelihood = expected(leap)
            changes = []
            after = log_likelihood + _log_prior(leap, model, smoothing)
            if after >= before - _FLAT * abs(before):
                path = [leap]
            else:
                path = path[3:]
                iterations += 1
                _, log_likelihood = expected(path[0])
            continue
        iterations += 1
        change, log_likelihood = expected(path[-1])
        if iterations == _EARLY:
            early = (posterior.copy(), *figures()[1:])
        changes = [*changes[-2:], change]
        resting = _at_rest(changes, tolerance)
        converged = change <= _ROUNDING or (resting and _is_steady(changes))
    (posterior, accuracy, confusion, shares), several = (
        even(figures(), early) if early else (figures(), False)
    )
    note = note_of(len(worker_names), int(np.diff(starts).max()))
    return DawidSkeneResult(
        units=unit_names,
        workers=worker_names,
        labels=scale,
        posterior=posterior,
        winner=winners(posterior),
        prior=shares,
        confusion=confusion,
        log_likelihood=log_likelihood,
        iterations=iterations,
        converged=converged,
        tolerance=float(tolerance),
        model=model,
        smoothing=float(smoothing),
        accuracy=accuracy,
        judgments=judgments,
        change=change,
        note="; ".join(filter(None, [note, SEVERAL if several else ""])),
    )


@dataclass(frozen=True, slots=True)
class _Parameters:
    """prior: (L,). errors: (W, given label, true label)."""

    prior: Floats
    errors: Floats


def _leap(first: _Parameters, second: _Parameters, third: _Parameters) -> _Parameters:
    """Extrapolate three steps (Varadhan, Roland 2008, eq. 8)."""
    step = [second.prior - first.prior, second.errors - first.errors]
    bend = [third.prior - second.prior - step[0], third.errors - second.errors - step[1]]
    length, turn = (math.sqrt(sum(float((part**2).sum()) for part in parts)) for parts in (step, bend))
    # At least as far as the steps themselves went; without a bend there is no telling how much farther.
    far = max(length / turn, 1.0) if turn > 0 else 1.0
    prior = first.prior + 2 * far * step[0] + far**2 * bend[0]
    errors = first.errors + 2 * far * step[1] + far**2 * bend[1]
    prior = np.maximum(prior, _SHRINK * third.prior)
    errors = np.maximum(errors, _SHRINK * third.errors)
    return _Parameters(prior / prior.sum(), errors / errors.sum(axis=1, keepdims=True))


def _log_prior(at: _Parameters, model: str, smoothing: float) -> float:
    if not smoothing:
        return 0.0
    imagined = smoothing if model == "full" else smoothing / len(at.prior)
    return imagined * float(np.log(np.maximum(at.errors, _FLOOR)).sum())


def _maximise(counts: Floats, model: str, smoothing: float) -> Floats:
    """Return (W, given label, true label) error rates."""
    width = counts.shape[-1]
    if model == "full":
        # Equation 2.3; a label that is nowhere true says nothing of the worker.
        smoothed = counts + smoothing
        totals = smoothed.sum(axis=1, keepdims=True)
        return ratio(smoothed, totals, otherwise=1 / width)
    total = counts.sum(axis=(1, 2)) + smoothing * width
    right = (np.trace(counts, axis1=1, axis2=2) + smoothing) / total
    # With one label there is no wrong one, and the division is by no one.
    wrong = (1 - right) / max(width - 1, 1)
    same = np.eye(width)
    return right[:, np.newaxis, np.newaxis] * same + wrong[:, np.newaxis, np.newaxis] * (1 - same)


def _at_rest(changes: list[float], tolerance: float) -> bool:
    # Near its limit EM shrinks its steps by a constant rate: a geometric series. Growing steps leave a saddle.
    if len(changes) < 2:
        return False
    *_, before, change = changes
    return change <= tolerance and change < before and change * change <= tolerance * (before - change)


def _is_steady(changes: list[float]) -> bool:
    if len(changes) < 3:
        return False
    first, second, third = changes
    return third / second - second / first <= _STEADY * (1 - third / second)


PRIORS = ("weak", "none")

# Standard deviations of the weak priors: of log a, and of the intercept -a b.
SLOPES, INTERCEPTS = 0.5, 2.0

# Abilities at which the integral is summed; equal steps are exact for so smooth a function.
_NODES = np.linspace(-6.0, 6.0, 61)
_LOG_WEIGHTS = -0.5 * _NODES**2 - np.logaddexp.reduce(-0.5 * _NODES**2)


@dataclass(frozen=True, slots=True)
class ResponseResult(Result):
    """The fitted model.

    discrimination, difficulty: (K,). ability, deviation: (P,) mean and standard deviation given a person's answers.
    objective: the log posterior, up to a constant. answers: (P,). note: items that all or none got right.
    """

    items: NDArray[Any]
    persons: NDArray[Any]
    discrimination: Floats
    difficulty: Floats
    ability: Floats
    deviation: Floats
    log_likelihood: float
    objective: float
    gradient: float
    iterations: int
    converged: bool
    answers: Ints

    def information(self, abilities: ArrayLike) -> Floats:
        """Return (K, T) Fisher information about (T,) abilities: a^2 p (1 - p)."""
        theta = finite_vector(abilities, "abilities")
        right = scipy.special.expit(
            self.discrimination[:, np.newaxis] * (theta - self.difficulty[:, np.newaxis])
        )
        return self.discrimination[:, np.newaxis] ** 2 * right * (1 - right)


@signed("item-response")
def item_response(
    items: Iterable[Any],
    persons: Iterable[Any],
    right: Iterable[Any],
    *,
    prior: str = "weak",
    max_iterations: int = 5000,
    tolerance: float = 1e-5,
) -> ResponseResult:
    """Fit the model to three (N,) columns, of which `right` holds 0 and 1.

    `prior` is "weak" (log a is normal around 0 with deviation 0.5, -a b with 2), which small data need, or "none"
    (maximum likelihood).
    """
    one_of(prior, PRIORS, "prior")
    positive(max_iterations, "max_iterations")
    above_zero(tolerance, "tolerance")
    item_names, item = encode(items, "items")
    person_names, person = encode(persons, "persons")
    correct = finite_column(right, "right")
    same_length(items=item, persons=person, right=correct)
    refuse_values(correct, (correct != 0) & (correct != 1), "right", "0 or 1")
    if not len(item):
        raise BadOption("there are no answers, expected one or more")
    count, people = len(item_names), len(person_names)
    shape = (people, count)
    yes = scipy.sparse.csr_array((correct, (person, item)), shape=shape)
    no = scipy.sparse.csr_array((1.0 - correct, (person, item)), shape=shape)
    known = prior == "weak"

    def expect(slope: Floats, intercept: Floats) -> tuple[Floats, Floats, Floats]:
        """Return (K, Q) probabilities at the nodes, (P, Q) posteriors of abilities, and (P,) log-likelihoods."""
        logits = slope[:, np.newaxis] * _NODES + intercept[:, np.newaxis]
        joint = yes @ scipy.special.log_expit(logits) + no @ scipy.special.log_expit(-logits) + _LOG_WEIGHTS
        total = scipy.special.logsumexp(joint, axis=1)
        return scipy.special.expit(logits), np.exp(joint - total[:, np.newaxis]), total

    def objective(point: Floats) -> tuple[float, Floats]:
        log_slope, intercept = point[:count], point[count:]
        slope = np.exp(log_slope)
        chance, posterior, total = expect(slope, intercept)
        hits, misses = yes.T @ posterior, no.T @ posterior
        surplus = np.asarray(hits - (hits + misses) * chance)
        of_slope, of_intercept = slope * (surplus @ _NODES), surplus.sum(axis=1)
        log_posterior = float(total.sum())
        if known:
            log_posterior -= 0.5 * float(
                ((log_slope / SLOPES) ** 2).sum() + ((intercept / INTERCEPTS) ** 2).sum()
            )
            of_slope -= log_slope / SLOPES**2
            of_intercept -= intercept / INTERCEPTS**2
        return log_posterior, np.concatenate([of_slope, of_intercept])

    times = np.bincount(item, minlength=count)
    share = (np.bincount(item, weights=correct, minlength=count) + 0.5) / (times + 1)
    start = np.concatenate([np.zeros(count), np.log(share / (1 - share))])
    optimum = climb(objective, [start], max_iterations=max_iterations, tolerance=tolerance)
    slope, intercept = np.exp(optimum.point[:count]), optimum.point[count:]
    _, posterior, total = expect(slope, intercept)
    ability = posterior @ _NODES
    hits = np.bincount(item, weights=correct, minlength=count)
    alike = int(((hits == 0) | (hits == times)).sum())
    bound = "only the prior bounds their difficulty" if known else "their difficulty has no bound"
    return ResponseResult(
        items=item_names,
        persons=person_names,
        discrimination=slope,
        difficulty=-intercept / slope,
        ability=ability,
        deviation=np.sqrt(np.maximum(posterior @ _NODES**2 - ability**2, 0.0)),
        log_likelihood=float(total.sum()),
        objective=optimum.objective,
        gradient=optimum.gradient,
        iterations=optimum.iterations,
        converged=optimum.converged,
        answers=np.bincount(person, minlength=people),
        note=f"{alike:,} of {count:,} items were answered alike by all; {bound}" if alike else "",
    )
