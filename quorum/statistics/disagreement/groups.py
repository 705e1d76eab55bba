"""Groups of raters who differ.

Groups of raters are found by a latent class model (Lazarsfeld, Henry 1968): every rater is in one of the groups, and
each group has one table of errors (Dawid, Skene 1979). The fit maximises a lower bound of the likelihood, with
independent posteriors of labels and groups (Jordan et al. 1999). The number of groups is tested by the parametric
bootstrap (McLachlan 1987), which is valid for any measure of fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its submodules load at first use
from numpy.typing import NDArray

from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.aggregation.worker_models.answers import WorkerAnswers
from quorum.statistics.inference import Result, signed
from quorum.statistics.inputs import (
    BadValue,
    check_positive_float,
    check_positive_int,
    encode,
    same_length,
)

TOO_FEW_GROUPS = "all participants are in the same group; expected at least two groups"
NO_COMMON_ITEMS = "no two participants {of} have an item in common"
# Number added to every cell of a group's table of errors, so that answers that do not occur are not impossible.
_SMOOTHING = 0.5
# Standard deviation of the logits of memberships in random starts.
_START_DEVIATION = 2.0


@dataclass(frozen=True, slots=True)
class RaterGroupsResult(Result):
    """The fit of two groups of raters, compared with one group.

    membership: (W, 2) probability that the worker is in each group, the larger group first. shares: (2,) share of
    the workers in each group. prior: (L,) shares of true labels. confusion: (2, L, L) probability of the given
    label (last axis) by true label. accuracy: (2,) probability of a right answer. gain: increase of the bound of
    the log-likelihood from one group to two. p: (c + 1) / (bootstraps + 1), where c samples simulated with one
    group have at least the same gain. within: (2,) share of agreeing pairs among raters of one group, if each rater
    is in the likelier group. between: share of agreeing pairs among raters of different groups. Both are nan
    without such pairs.
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
    """Fit two groups of raters with different errors to three (N,) columns, and test them against one group.

    Of `restarts` seeded starts, the start with the highest bound is used, for the data and for each bootstrap sample.
    Careful and careless raters are also found as two groups. Raters who guess do not agree more within their group than
    with the other group.
    """
    check_positive_int(bootstraps, "bootstraps")
    check_positive_int(restarts, "restarts")
    check_positive_int(max_iterations, "max_iterations")
    check_positive_float(tolerance, "tolerance")
    answers = WorkerAnswers.from_columns(units, workers, values, labels)
    generator = np.random.default_rng(seed)
    limits = max_iterations, tolerance

    def fit_one_and_two_groups(data: _JudgmentTable) -> tuple[float, _GroupFit, _GroupFit]:
        """Return the increase of the bound from one group to two, and both fits."""
        single = _fit_classes(data, np.ones((data.worker_count, 1)), *limits)
        # Do not start with equal memberships, because the two groups would stay equal.
        logits = (generator.normal(0.0, _START_DEVIATION, (data.worker_count, 2)) for _ in range(restarts))
        double = max(
            (_fit_classes(data, scipy.special.softmax(start, axis=1), *limits) for start in logits),
            key=lambda fit: fit.bound,
        )
        return double.bound - single.bound, single, double

    data = _JudgmentTable(answers.unit, answers.worker, answers.value, answers.shape)
    gain, single, double = fit_one_and_two_groups(data)
    reached_count = 0
    for _ in range(bootstraps):
        reached_count += fit_one_and_two_groups(data.sample_data(single, generator))[0] >= gain
    order = np.argsort(-double.shares, kind="stable")
    membership, confusion = double.membership[:, order], double.confusion[order]
    group = membership.argmax(axis=1)
    pairs = _pair_raters(answers)
    within = [
        _agreement(pairs, (group[pairs.first] == side) & (group[pairs.second] == side)) for side in (0, 1)
    ]
    return RaterGroupsResult(
        workers=answers.workers,
        labels=answers.labels,
        membership=membership,
        shares=double.shares[order],
        prior=double.prior,
        confusion=confusion,
        accuracy=np.diagonal(confusion, axis1=1, axis2=2) @ double.prior,
        gain=gain,
        p=(reached_count + 1) / (bootstraps + 1),
        within=np.array(within),
        between=_agreement(pairs, group[pairs.first] != group[pairs.second]),
        converged=single.converged and double.converged,
        judgments=np.bincount(answers.worker),
        bootstraps=bootstraps,
        seed=seed,
        note=answers.note,
    )


class _JudgmentTable:
    """Judgments as a sparse (W * L, U) table of how often each worker gave each label to each unit.

    `shape` has the numbers of units, workers and labels. vote_shares: (U, L) shares of the unit's judgments.
    """

    def __init__(self, unit: Ints, worker: Ints, value: Ints, shape: tuple[int, int, int]) -> None:
        self.unit, self.worker, self.shape = unit, worker, shape
        units, self.worker_count, self.width = shape
        rows = worker * self.width + value
        self.by_worker = scipy.sparse.csr_array(
            (np.ones(len(unit)), (rows, unit)), shape=(self.worker_count * self.width, units)
        )
        self.by_unit = scipy.sparse.csr_array(self.by_worker.T)
        votes = np.bincount(unit * self.width + value, minlength=units * self.width).reshape(units, -1)
        self.vote_shares = votes / votes.sum(axis=1, keepdims=True)

    def sample_data(self, model: _GroupFit, generator: np.random.Generator) -> _JudgmentTable:
        """Return judgments of the same units by the same workers, simulated by a fit of one group."""
        units, _, width = self.shape
        truth = generator.choice(width, size=units, p=model.prior)
        bounds = np.cumsum(model.confusion[0], axis=1)[truth[self.unit]]
        drawn_values = (generator.random(len(self.unit))[:, np.newaxis] > bounds[:, :-1]).sum(axis=1)
        return _JudgmentTable(self.unit, self.worker, drawn_values, self.shape)


@dataclass(frozen=True, slots=True)
class _GroupFit:
    """A fit of G groups: the fields of `RaterGroupsResult`, and the bound of the log-likelihood."""

    membership: Floats
    shares: Floats
    prior: Floats
    confusion: Floats
    bound: float
    converged: bool


def _fit_classes(
    data: _JudgmentTable, membership: Floats, max_iterations: int, tolerance: float
) -> _GroupFit:
    """Maximise the bound, from (W, G) memberships and the shares of votes, until a step gains at most `tolerance`."""
    _, workers, width = data.shape
    truth, bound, converged = data.vote_shares, -np.inf, False
    groups = membership.shape[1]
    for _ in range(max_iterations):
        # (W, given, true) expected answers of each worker, and (G, true, given) of each group.
        expected_answers = (data.by_worker @ truth).reshape(workers, width, width)
        group_counts = np.einsum("wg,wvl->glv", membership, expected_answers) + _SMOOTHING
        confusion = group_counts / group_counts.sum(axis=2, keepdims=True)
        prior, shares = truth.mean(axis=0), membership.mean(axis=0)
        logs = np.log(confusion)
        # Count the smoothing in the objective; without it, steps might lower the objective.
        value = _SMOOTHING * float(logs.sum())
        log_membership = np.einsum("wvl,glv->wg", expected_answers, logs) + np.log(np.maximum(shares, 1e-300))
        membership = scipy.special.softmax(log_membership, axis=1)
        log_chances = np.einsum("wg,glv->wvl", membership, logs).reshape(workers * width, width)
        log_prior = np.log(np.maximum(prior, 1e-300))
        joint = data.by_unit @ log_chances + log_prior
        truth = scipy.special.softmax(joint, axis=1)
        value += float((truth * joint).sum() + scipy.special.entr(truth).sum())
        value += float(
            (membership * np.log(np.maximum(shares, 1e-300))).sum() + scipy.special.entr(membership).sum()
        )
        converged = value - bound <= tolerance
        bound = value
        if converged:
            break
    # Remove what the smoothing adds to the objective for uniform tables, so that numbers of groups are comparable.
    bound += _SMOOTHING * groups * width * width * np.log(width)
    return _GroupFit(membership, shares, prior, confusion, bound, converged)


@dataclass(frozen=True, slots=True)
class _RaterPairs:
    """Pairs of raters, their numbers of common units, and of the units to which both gave the same answer."""

    first: Ints
    second: Ints
    units: Floats
    agreeing: Floats


def _pair_raters(answers: WorkerAnswers) -> _RaterPairs:
    """Return all pairs of raters with a common unit."""
    units, workers, width = answers.shape
    columns = answers.unit * width + answers.value
    ones = np.ones(len(columns))
    answer_table = scipy.sparse.csr_array((ones, (answers.worker, columns)), shape=(workers, units * width))
    judged_units = scipy.sparse.csr_array((ones, (answers.worker, answers.unit)), shape=(workers, units))
    common_units = scipy.sparse.coo_array(scipy.sparse.triu(judged_units @ judged_units.T, k=1))
    first, second = (np.asarray(coordinates, dtype=np.int64) for coordinates in common_units.coords)
    # A sparse table cannot be indexed with empty arrays.
    equal = scipy.sparse.csr_array(answer_table @ answer_table.T)[first, second] if len(first) else ()
    return _RaterPairs(first, second, common_units.data, np.asarray(equal, dtype=np.float64).ravel())


def _agreement(pairs: _RaterPairs, mask: NDArray[np.bool_]) -> float:
    """Return the share of equal answers over the common units of the pairs under the mask; nan if there are none."""
    units = float(pairs.units[mask].sum())
    return float(pairs.agreeing[mask].sum()) / units if units else np.nan


@dataclass(frozen=True, slots=True)
class KnownGroupsResult(Result):
    """Agreement within groups compared with agreement between them.

    within: (G,) share of agreeing pairs of raters of a group, over common units; nan without such pairs. overall:
    the same share over the within-group pairs of all groups. between: share among pairs of different groups.
    difference: overall - between. p: (c + 1) / (permutations + 1), where c permutations have at least the same
    difference. raters: (G,) number of raters.
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
    """Test whether raters of one group agree more with each other than with raters of other groups.

    Each row of the four (N,) columns is a judgment, with the rater's group. The test is exact and one-sided. It
    permutes the groups of raters. Raise BadValue if a rater is in two groups.
    """
    check_positive_int(permutations, "permutations")
    group_names, group = encode(groups, "groups")
    answers = WorkerAnswers.from_columns(units, workers, values, None)
    same_length(units=answers.unit, groups=group)
    group_of = np.empty(len(answers.workers), dtype=np.int64)
    group_of[answers.worker] = group
    if (group_of[answers.worker] != group).any():
        judgment = int((group_of[answers.worker] != group).argmax())
        name = answers.workers.tolist()[int(answers.worker[judgment])]
        raise BadValue(f"worker {name!r} is of two groups, expected one each")
    pairs = _pair_raters(answers)
    size = len(group_names)

    def agreement_difference(group_codes: Ints) -> float:
        same = group_codes[pairs.first] == group_codes[pairs.second]
        return _agreement(pairs, same) - _agreement(pairs, ~same)

    first, second = group_of[pairs.first], group_of[pairs.second]
    within = [_agreement(pairs, (first == group) & (second == group)) for group in range(size)]
    overall, between = _agreement(pairs, first == second), _agreement(pairs, first != second)
    reason = ""
    if size < 2:
        reason = TOO_FEW_GROUPS
    elif np.isnan(between):
        reason = NO_COMMON_ITEMS.format(of="of different groups")
    elif np.isnan(overall):
        reason = NO_COMMON_ITEMS.format(of="of one group")
    p = np.nan
    if not reason:
        generator = np.random.default_rng(seed)
        gap = overall - between
        # Count a permutation as extreme if it has no pairs within groups, or no pairs across groups.
        shuffled_gaps = (agreement_difference(generator.permutation(group_of)) for _ in range(permutations))
        as_extreme = sum(not shuffled < gap - 1e-12 for shuffled in shuffled_gaps)
        p = (as_extreme + 1) / (permutations + 1)
    return KnownGroupsResult(
        groups=group_names,
        within=np.array(within),
        overall=overall,
        between=between,
        difference=overall - between,
        p=p,
        raters=np.bincount(group_of, minlength=size),
        permutations=permutations,
        seed=seed,
        reason=reason,
    )
