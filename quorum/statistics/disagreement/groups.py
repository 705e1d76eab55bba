"""Groups of raters who judge differently: groups found in the judgments, and tests of known groups.

Unknown groups are found by a latent class model (Lazarsfeld, Henry 1968): every rater is in one of the groups, and
each group has one table of errors, which says how often it gives each label to units of each true label (Dawid, Skene
1979). The fit maximises a lower bound of the likelihood, with independent posteriors of labels and groups (Jordan et
al. 1999). Two groups are tested against one by the parametric bootstrap (McLachlan 1987), which is valid for any
measure of fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its submodules load at first use
from numpy.typing import NDArray

from quorum.numeric.arrays import Flags, Floats, Ints
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

    workers: (W,) names, ascending. labels: (L,). membership: (W, 2) probability that the worker is in each group, the
    larger group first. shares: (2,) share of the workers in each group. prior: (L,) shares of true labels. confusion:
    (2, L, L) probability of the given label (last axis) by true label. accuracy: (2,) probability of a right answer.
    gain: increase of the bound of the log-likelihood from one group to two. p: (c + 1) / (bootstraps + 1), where c
    samples simulated with one group have at least the same gain. within: (2,) share of equal answers when two raters of
    the group judged the same unit, if each rater is in the likelier group. between: the same share for two raters of
    different groups. Both are nan if there are no such raters. judgments: (W,) number of each worker's judgments.
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

    A row of the columns is a judgment. The fit is started `restarts` times at random, and the fit with the highest
    bound is used, for the data and for each of the `bootstraps` samples. Careful and careless raters are also found as
    two groups. Raters who guess do not agree more within their group than with the other group.
    """
    check_positive_int(bootstraps, "bootstraps")
    check_positive_int(restarts, "restarts")
    check_positive_int(max_iterations, "max_iterations")
    check_positive_float(tolerance, "tolerance")
    answers = WorkerAnswers.from_columns(units, workers, values, labels)
    generator = np.random.default_rng(seed)

    def fit_one_group(judgments: _JudgmentTable) -> _GroupFit:
        return _fit_groups(judgments, np.ones((judgments.worker_count, 1)), max_iterations, tolerance)

    def fit_two_groups(judgments: _JudgmentTable) -> _GroupFit:
        fits = []
        for _ in range(restarts):
            # Do not start with equal memberships, because the two groups would stay equal.
            logits = generator.normal(0.0, _START_DEVIATION, (judgments.worker_count, 2))
            memberships = scipy.special.softmax(logits, axis=1)
            fits.append(_fit_groups(judgments, memberships, max_iterations, tolerance))
        return max(fits, key=lambda fit: fit.bound)

    judgments = _JudgmentTable(answers.unit, answers.worker, answers.value, answers.shape)
    one_group, two_groups = fit_one_group(judgments), fit_two_groups(judgments)
    gain = two_groups.bound - one_group.bound
    larger_gains = 0
    for _ in range(bootstraps):
        sample = judgments.simulated_judgments(one_group, generator)
        one_group_of_sample = fit_one_group(sample)
        larger_gains += fit_two_groups(sample).bound - one_group_of_sample.bound >= gain
    order = np.argsort(-two_groups.shares, kind="stable")
    membership, confusion = two_groups.membership[:, order], two_groups.confusion[order]
    group = membership.argmax(axis=1)
    pairs = _pair_raters(answers)
    first, second = group[pairs.first], group[pairs.second]
    within = [_agreement(pairs, (first == number) & (second == number)) for number in (0, 1)]
    return RaterGroupsResult(
        workers=answers.workers,
        labels=answers.labels,
        membership=membership,
        shares=two_groups.shares[order],
        prior=two_groups.prior,
        confusion=confusion,
        accuracy=np.diagonal(confusion, axis1=1, axis2=2) @ two_groups.prior,
        gain=gain,
        p=(larger_gains + 1) / (bootstraps + 1),
        within=np.array(within),
        between=_agreement(pairs, first != second),
        converged=one_group.converged and two_groups.converged,
        judgments=np.bincount(answers.worker),
        bootstraps=bootstraps,
        seed=seed,
        note=answers.note,
    )


class _JudgmentTable:
    """N judgments, as columns of codes and as tables.

    shape: the numbers U, W and L of units, workers and labels. by_worker: sparse (W * L, U) table of how often each
    worker gave each label to each unit; worker w and label l have the row w * L + l. by_unit: its transpose.
    vote_shares: (U, L) shares of the labels among the judgments of each unit.
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

    def simulated_judgments(self, model: _GroupFit, generator: np.random.Generator) -> _JudgmentTable:
        """Return judgments of the same units by the same workers, simulated by a fit of one group."""
        units, _, width = self.shape
        # Draw the units' true labels, then a label for each judgment: a uniform number lies between the cumulative
        # probabilities of the label and of the one before it.
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


def _fit_groups(
    judgments: _JudgmentTable, membership: Floats, max_iterations: int, tolerance: float
) -> _GroupFit:
    """Fit G groups by variational EM, until a step raises the bound by at most `tolerance`.

    `membership` (W, G) are the probabilities of groups to start with. The probabilities of true labels start with the
    shares of votes.
    """
    _, workers, width = judgments.shape
    truth, bound, converged = judgments.vote_shares, -np.inf, False
    groups = membership.shape[1]
    for _ in range(max_iterations):
        # M step: tables of errors and shares from (W, given, true) expected answers of each worker.
        expected_answers = (judgments.by_worker @ truth).reshape(workers, width, width)
        # (G, true, given) expected answers of each group. In `einsum`, w is the worker, g the group, v the given label
        # and l the true one.
        group_counts = np.einsum("wg,wvl->glv", membership, expected_answers) + _SMOOTHING
        confusion = group_counts / group_counts.sum(axis=2, keepdims=True)
        prior, shares = truth.mean(axis=0), membership.mean(axis=0)
        logs = np.log(confusion)
        # Count the smoothing in the objective; without it, steps might lower the objective.
        new_bound = _SMOOTHING * float(logs.sum())
        # E step: memberships, then true labels.
        log_membership = np.einsum("wvl,glv->wg", expected_answers, logs) + np.log(np.maximum(shares, 1e-300))
        membership = scipy.special.softmax(log_membership, axis=1)
        log_chances = np.einsum("wg,glv->wvl", membership, logs).reshape(workers * width, width)
        log_prior = np.log(np.maximum(prior, 1e-300))
        joint = judgments.by_unit @ log_chances + log_prior
        truth = scipy.special.softmax(joint, axis=1)
        # The bound is the expected log-likelihood plus the entropies of true labels and memberships.
        new_bound += float((truth * joint).sum() + scipy.special.entr(truth).sum())
        new_bound += float(
            (membership * np.log(np.maximum(shares, 1e-300))).sum() + scipy.special.entr(membership).sum()
        )
        converged = new_bound - bound <= tolerance
        bound = new_bound
        if converged:
            break
    # Remove what the smoothing adds to the objective for uniform tables, so that numbers of groups are comparable.
    bound += _SMOOTHING * groups * width * width * np.log(width)
    return _GroupFit(membership, shares, prior, confusion, bound, converged)


@dataclass(frozen=True, slots=True)
class _RaterPairs:
    """All pairs of raters who judged a common unit.

    first, second: (P,) codes of the raters. units: (P,) number of common units. equal: (P,) number of common units to
    which both gave the same answer.
    """

    first: Ints
    second: Ints
    units: Floats
    equal: Floats


def _pair_raters(answers: WorkerAnswers) -> _RaterPairs:
    # Products of a table of raters with its transpose count what two raters have in common.
    units, workers, width = answers.shape
    columns = answers.unit * width + answers.value
    ones = np.ones(len(columns))
    answer_table = scipy.sparse.csr_array((ones, (answers.worker, columns)), shape=(workers, units * width))
    judged_units = scipy.sparse.csr_array((ones, (answers.worker, answers.unit)), shape=(workers, units))
    common_units = scipy.sparse.coo_array(scipy.sparse.triu(judged_units @ judged_units.T, k=1))
    first, second = (np.asarray(coordinates, dtype=np.int64) for coordinates in common_units.coords)
    # A sparse table cannot be indexed with empty arrays.
    equal_counts = scipy.sparse.csr_array(answer_table @ answer_table.T)[first, second] if len(first) else ()
    return _RaterPairs(first, second, common_units.data, np.asarray(equal_counts, dtype=np.float64).ravel())


def _agreement(pairs: _RaterPairs, is_included: Flags) -> float:
    units = float(pairs.units[is_included].sum())
    return float(pairs.equal[is_included].sum()) / units if units else np.nan


@dataclass(frozen=True, slots=True)
class KnownGroupsResult(Result):
    """Agreement of raters within G groups, compared with agreement between raters of different groups.

    Agreement is the share of equal answers when two raters judged the same unit, or nan without such raters.

    groups: (G,) names, ascending. within: (G,) agreement of raters of the group. overall: agreement of raters of the
    same group, whichever it is. between: agreement of raters of different groups. difference: overall - between. p:
    (c + 1) / (permutations + 1), where c permutations have at least the same difference. raters: (G,) number of raters.
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

    Each row of the four (N,) columns is a judgment, with the rater's group. The test permutes the groups of raters; it
    is exact and one-sided. Raise BadValue if a rater is in two groups.
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
    group_count = len(group_names)

    def agreement_difference(group_codes: Ints) -> float:
        is_same_group = group_codes[pairs.first] == group_codes[pairs.second]
        return _agreement(pairs, is_same_group) - _agreement(pairs, ~is_same_group)

    first, second = group_of[pairs.first], group_of[pairs.second]
    within = [_agreement(pairs, (first == code) & (second == code)) for code in range(group_count)]
    overall, between = _agreement(pairs, first == second), _agreement(pairs, first != second)
    reason = ""
    if group_count < 2:
        reason = TOO_FEW_GROUPS
    elif np.isnan(between):
        reason = NO_COMMON_ITEMS.format(of="of different groups")
    elif np.isnan(overall):
        reason = NO_COMMON_ITEMS.format(of="of one group")
    p = np.nan
    if not reason:
        generator = np.random.default_rng(seed)
        observed_difference = overall - between
        extreme_count = 0
        for _ in range(permutations):
            difference = agreement_difference(generator.permutation(group_of))
            # nan, of a permutation without pairs within groups or without pairs across groups, counts as extreme. So
            # does a difference that is equal but for rounding.
            extreme_count += not difference < observed_difference - 1e-12
        p = (extreme_count + 1) / (permutations + 1)
    return KnownGroupsResult(
        groups=group_names,
        within=np.array(within),
        overall=overall,
        between=between,
        difference=overall - between,
        p=p,
        raters=np.bincount(group_of, minlength=group_count),
        permutations=permutations,
        seed=seed,
        reason=reason,
    )
