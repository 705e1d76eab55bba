"""Groups of raters who answer differently, found or known.

Found: a latent class model (Lazarsfeld, Henry 1968) over raters, each class with one table of errors (Dawid, Skene
1979). Independent posteriors of labels and classes bound the likelihood from below (Jordan et al. 1999). The
parametric bootstrap tests the number of classes (McLachlan 1987), which holds for any measure of fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its parts load when they are first used
from numpy.typing import NDArray

from evaluation.arrays import Floats, Ints
from evaluation.statistics.aggregation.latent import Answers
from evaluation.statistics.inputs import BadValue, above_zero, encode, positive, same_length
from evaluation.statistics.results import Result, signed

FEW_GROUPS = "all raters are of one group, expected two or more to compare"
NO_PAIRS = "no two raters {of} have a unit in common"
# Imagined answers of each kind in every group: a table without them would rule out answers that were not seen.
_SMOOTHING = 0.5
# How far random starts' memberships are from even.
_SCATTER = 2.0


@dataclass(frozen=True, slots=True)
class RaterGroupsResult(Result):
    """Two groups against one.

    membership: (W, 2) probability of each group, the larger one first. shares: (2,). prior: (L,) of true labels.
    confusion: (2, L, L) probability of the given label (last axis) by the true one. accuracy: (2,) over `prior`.
    gain: of the bound of the log-likelihood by two groups. p: share of samples from one group that gain as much,
    (c + 1) / (bootstraps + 1). within: (2,) share of agreeing pairs of raters of each group, by their likelier one;
    between: of pairs across. nan where there are none.
    """

    workers: NDArray[Any]
    labels: NDArray[Any]
    membership: Floats
    shares: Floats
    prior: Floats
    confusion: Floats
    accuracy: Floats
    gain: float
    p: float
    within: Floats
    between: float
    converged: bool
    judgments: Ints
    bootstraps: int


@signed("rater-groups")
def rater_groups(
    units: Iterable[Any],
    workers: Iterable[Any],
    values: Iterable[Any],
    *,
    labels: Sequence[Any] | None = None,
    bootstraps: int = 99,
    restarts: int = 3,
    seed: int = 0,
    max_iterations: int = 500,
    tolerance: float = 1e-3,
) -> RaterGroupsResult:
    """Split raters into two groups that err differently, by three (N,) columns, and test that against one group.

    The highest of `restarts` seeded starts counts, for the data and for each sample. Raters of unlike care are two
    groups as well: those who guess agree no more within their group than across.
    """
    positive(bootstraps, "bootstraps")
    positive(restarts, "restarts")
    positive(max_iterations, "max_iterations")
    above_zero(tolerance, "tolerance")
    answers = Answers.of(units, workers, values, labels)
    generator = np.random.default_rng(seed)
    limits = max_iterations, tolerance

    def gain_of(data: _Data) -> tuple[float, _Fit, _Fit]:
        one = _fit(data, np.ones((data.workers, 1)), *limits)
        # Even memberships are a saddle from which two groups never part.
        logits = (generator.normal(0.0, _SCATTER, (data.workers, 2)) for _ in range(restarts))
        two = max(
            (_fit(data, scipy.special.softmax(start, axis=1), *limits) for start in logits),
            key=lambda fit: fit.bound,
        )
        return two.bound - one.bound, one, two

    data = _Data(answers.unit, answers.worker, answers.value, answers.shape)
    gain, one, two = gain_of(data)
    reached = 0
    for _ in range(bootstraps):
        reached += gain_of(data.sampled(one, generator))[0] >= gain
    order = np.argsort(-two.shares, kind="stable")
    membership, confusion = two.membership[:, order], two.confusion[order]
    group = membership.argmax(axis=1)
    pairs = _pairs(answers)
    within = [_agreement(pairs, (group[pairs.first] == one) & (group[pairs.second] == one)) for one in (0, 1)]
    return RaterGroupsResult(
        workers=answers.workers,
        labels=answers.labels,
        membership=membership,
        shares=two.shares[order],
        prior=two.prior,
        confusion=confusion,
        accuracy=np.diagonal(confusion, axis1=1, axis2=2) @ two.prior,
        gain=gain,
        p=(reached + 1) / (bootstraps + 1),
        within=np.array(within),
        between=_agreement(pairs, group[pairs.first] != group[pairs.second]),
        converged=one.converged and two.converged,
        judgments=np.bincount(answers.worker),
        bootstraps=bootstraps,
        seed=seed,
        note=answers.note,
    )


class _Data:
    """Judgments as a sparse table (W * L, U) of how often a worker gave a label to a unit."""

    def __init__(self, unit: Ints, worker: Ints, value: Ints, shape: tuple[int, int, int]) -> None:
        self.unit, self.worker, self.shape = unit, worker, shape
        units, self.workers, self.width = shape
        rows = worker * self.width + value
        self.given = scipy.sparse.csr_array(
            (np.ones(len(unit)), (rows, unit)), shape=(self.workers * self.width, units)
        )
        self.by_unit = scipy.sparse.csr_array(self.given.T)
        votes = np.bincount(unit * self.width + value, minlength=units * self.width).reshape(units, -1)
        self.votes = votes / votes.sum(axis=1, keepdims=True)

    def sampled(self, model: _Fit, generator: np.random.Generator) -> _Data:
        units, _, width = self.shape
        truth = generator.choice(width, size=units, p=model.prior)
        ends = np.cumsum(model.confusion[0], axis=1)[truth[self.unit]]
        drawn = (generator.random(len(self.unit))[:, np.newaxis] > ends[:, :-1]).sum(axis=1)
        return _Data(self.unit, self.worker, drawn, self.shape)


@dataclass(frozen=True, slots=True)
class _Fit:
    membership: Floats
    shares: Floats
    prior: Floats
    confusion: Floats
    bound: float
    converged: bool


def _fit(data: _Data, membership: Floats, max_iterations: int, tolerance: float) -> _Fit:
    """Raise the bound from (W, G) memberships and the shares of votes until a step gains at most `tolerance`."""
    _, workers, width = data.shape
    truth, bound, converged = data.votes, -np.inf, False
    groups = membership.shape[1]
    for _ in range(max_iterations):
        # (W, given, true) expected answers of each worker, and (G, true, given) of each group.
        own = (data.given @ truth).reshape(workers, width, width)
        met = np.einsum("wg,wvl->glv", membership, own) + _SMOOTHING
        confusion = met / met.sum(axis=2, keepdims=True)
        prior, shares = truth.mean(axis=0), membership.mean(axis=0)
        logs = np.log(confusion)
        # The smoothing is part of the objective, else steps might lower it.
        height = _SMOOTHING * float(logs.sum())
        pull = np.einsum("wvl,glv->wg", own, logs) + np.log(np.maximum(shares, 1e-300))
        membership = scipy.special.softmax(pull, axis=1)
        of_answers = np.einsum("wg,glv->wvl", membership, logs).reshape(workers * width, width)
        log_prior = np.log(np.maximum(prior, 1e-300))
        joint = data.by_unit @ of_answers + log_prior
        truth = scipy.special.softmax(joint, axis=1)
        height += float((truth * joint).sum() + scipy.special.entr(truth).sum())
        height += float(
            (membership * np.log(np.maximum(shares, 1e-300))).sum() + scipy.special.entr(membership).sum()
        )
        converged = height - bound <= tolerance
        bound = height
        if converged:
            break
    # Empty rows of a group weigh as many imagined answers as others; two groups have twice as many.
    bound += _SMOOTHING * groups * width * width * np.log(width)
    return _Fit(membership, shares, prior, confusion, bound, converged)


@dataclass(frozen=True, slots=True)
class _Pairs:
    first: Ints
    second: Ints
    units: Floats
    agreeing: Floats


def _pairs(answers: Answers) -> _Pairs:
    units, workers, width = answers.shape
    columns = answers.unit * width + answers.value
    ones = np.ones(len(columns))
    given = scipy.sparse.csr_array((ones, (answers.worker, columns)), shape=(workers, units * width))
    judged = scipy.sparse.csr_array((ones, (answers.worker, answers.unit)), shape=(workers, units))
    both = scipy.sparse.coo_array(scipy.sparse.triu(judged @ judged.T, k=1))
    first, second = (np.asarray(one, dtype=np.int64) for one in both.coords)
    # A sparse table cannot be read at no place.
    agreeing = scipy.sparse.csr_array(given @ given.T)[first, second] if len(first) else ()
    return _Pairs(first, second, both.data, np.asarray(agreeing, dtype=np.float64).ravel())


def _agreement(pairs: _Pairs, among: NDArray[np.bool_]) -> float:
    units = float(pairs.units[among].sum())
    return float(pairs.agreeing[among].sum()) / units if units else np.nan


@dataclass(frozen=True, slots=True)
class KnownGroupsResult(Result):
    """Agreement within groups against agreement between them.

    within: (G,) share of agreeing pairs of raters of each group, over the units they share; nan where there is none.
    overall: the same over all pairs of one group. between: of pairs across groups. difference: overall - between.
    p: share of shufflings with as large a difference, (c + 1) / (permutations + 1). raters: (G,).
    """

    groups: NDArray[Any]
    within: Floats
    overall: float
    between: float
    difference: float
    p: float
    raters: Ints
    permutations: int


@signed("known-groups")
def known_groups(
    units: Iterable[Any],
    workers: Iterable[Any],
    values: Iterable[Any],
    groups: Iterable[Any],
    *,
    permutations: int = 999,
    seed: int = 0,
) -> KnownGroupsResult:
    """Test whether raters of one group agree more with each other than with those of others.

    Takes four (N,) columns, the last one the rater's group. The test is exact and one-sided; it shuffles raters over
    groups.
    """
    positive(permutations, "permutations")
    group_names, group = encode(groups, "groups")
    answers = Answers.of(units, workers, values, None)
    same_length(units=answers.unit, groups=group)
    of_rater = np.empty(len(answers.workers), dtype=np.int64)
    of_rater[answers.worker] = group
    if (of_rater[answers.worker] != group).any():
        place = int((of_rater[answers.worker] != group).argmax())
        name = answers.workers.tolist()[int(answers.worker[place])]
        raise BadValue(f"worker {name!r} is of two groups, expected one each")
    pairs = _pairs(answers)
    size = len(group_names)

    def apart(of: Ints) -> float:
        same = of[pairs.first] == of[pairs.second]
        return _agreement(pairs, same) - _agreement(pairs, ~same)

    first, second = of_rater[pairs.first], of_rater[pairs.second]
    within = [_agreement(pairs, (first == one) & (second == one)) for one in range(size)]
    overall, between = _agreement(pairs, first == second), _agreement(pairs, first != second)
    reason = ""
    if size < 2:
        reason = FEW_GROUPS
    elif np.isnan(between):
        reason = NO_PAIRS.format(of="of different groups")
    elif np.isnan(overall):
        reason = NO_PAIRS.format(of="of one group")
    p = np.nan
    if not reason:
        generator = np.random.default_rng(seed)
        found = overall - between
        # A shuffling under which no pair is of one group, or none across, is no evidence against chance.
        shuffled = (apart(generator.permutation(of_rater)) for _ in range(permutations))
        p = (sum(not one < found - 1e-12 for one in shuffled) + 1) / (permutations + 1)
    return KnownGroupsResult(
        groups=group_names,
        within=np.array(within),
        overall=overall,
        between=between,
        difference=overall - between,
        p=p,
        raters=np.bincount(of_rater, minlength=size),
        permutations=permutations,
        seed=seed,
        reason=reason,
    )
