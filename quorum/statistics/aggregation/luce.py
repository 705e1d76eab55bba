"""Luce's choice model (1959).

Item i of strength s_i is chosen from a list with probability s_i / (sum of the list's strengths). For lists of two
items this is Bradley-Terry's model. A ranking is a series of choices, each from the items not chosen before (Plackett
1975). The log-likelihood is concave in theta = log s; Newton's method finds the same maximum as Hunter's (2004) MM
algorithm. An option that m items share, such as a text that two systems gave, counts 1 / m for each of them: in the
list's sum, and in the choice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy  # its submodules load at first use
from numpy.typing import NDArray

from quorum.numeric.arrays import Floats, Ints, starts_of
from quorum.statistics.aggregation.bradley_terry.existence import (
    TOO_FEW_ITEMS,
    UNBOUNDED_REASON,
    connected_groups,
    group_names,
)
from quorum.statistics.aggregation.bradley_terry.likelihood import OutcomeCounts
from quorum.statistics.aggregation.bradley_terry.maximum import (
    Fit,
    StoppingRule,
    TrialFit,
    maximise,
    remove_fixed_level,
)
from quorum.statistics.aggregation.bradley_terry.results import ItemStrengths, shares_of
from quorum.statistics.crossed import (
    CONFIDENCE,
    NAIVE,
    ClusterColumns,
    Clusters,
    check_confidence,
    cluster_columns,
)
from quorum.statistics.inference import signed
from quorum.statistics.inputs import (
    MAX_TABLE_CELLS,
    BadValue,
    check_non_negative,
    check_positive_int,
    encode,
    list_of_values,
    same_length,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LuceResult(ItemStrengths):
    """Strengths from choices.

    strength: (K,) with sum 1: the chance to be chosen among all items. shown, best: (K,) how often an item was shown,
    and how often it was the best. choices: number of lists.
    """

    strength: Floats
    shown: Ints
    best: Ints
    choices: int
    prior: float


@signed("luce-choice", data=("owners",))
def luce_choice(
    shown: Iterable[Sequence[Any]],
    best: Iterable[Any],
    *,
    owners: Mapping[Any, Sequence[Any]] | None = None,
    prior: float = 0.0,
    confidence: float = CONFIDENCE,
    max_iterations: int = 200,
    tolerance: float = 1e-7,
    clusters: ClusterColumns = NAIVE,
) -> LuceResult:
    """Fit strengths to (N,) lists of options and the (N,) options chosen from them.

    owners[option] has the items that share the option; without `owners`, options are items. `prior` adds that many wins
    of each item to every pair. `clusters` are columns with one entry for each list, as in
    `bradley_terry_of_comparisons`; covariance and intervals are then by the sandwich estimator.

    Raise BadValue, BadShape or BadOption if a list has fewer than two different options or lacks its best one, an
    option has no owners, or a setting is wrong.
    """
    check_confidence(confidence)
    check_positive_int(max_iterations, "max_iterations")
    check_non_negative(prior, "prior")
    check_non_negative(tolerance, "tolerance")
    rows = _ChoiceLists.from_choices(shown, best, owners)
    columns = cluster_columns(clusters)
    row_clusters = Clusters.from_columns(columns, rows.count) if columns else None
    reason = rows.no_maximum_reason(prior)
    fit = None if reason else _fit_choices(rows, prior, StoppingRule(max_iterations, tolerance))
    freedom = np.full(len(rows.items), math.inf)
    if fit is not None and row_clusters is not None:
        chances, _ = _chances(rows, fit.theta)
        scores = scipy.sparse.csr_array(rows.wins - chances)  # (N, K) slopes of each list's log-likelihood
        covariance, freedom = row_clusters.covariance(scores, fit.covariance)
        fit = replace(fit, covariance=covariance)
    strengths = ItemStrengths.from_fit(rows.items, fit, confidence, freedom, reason, row_clusters)
    return LuceResult(
        strength=shares_of(strengths.log_strength),
        shown=rows.shown,
        best=rows.best,
        choices=rows.count,
        prior=float(prior),
        **strengths.fields_by_name(),
    )


@dataclass(frozen=True, slots=True)
class _ChoiceLists:
    """N lists over K items, and the option chosen from each.

    weights: (N, K) share of each item in the options of a list. wins: (N, K) share of each item in the chosen option.
    shown, best: (K,) numbers of lists.
    """

    items: NDArray[Any]
    weights: scipy.sparse.csr_array
    wins: scipy.sparse.csr_array
    shown: Ints
    best: Ints

    @property
    def count(self) -> int:
        return int(self.weights.shape[0])

    @classmethod
    def from_choices(
        cls, shown: Iterable[Sequence[Any]], best: Iterable[Any], owners: Mapping[Any, Sequence[Any]] | None
    ) -> _ChoiceLists:
        lists = [
            list_of_values(row, f"shown[{number}]")
            for number, row in enumerate(list_of_values(shown, "shown"))
        ]
        best_items = list_of_values(best, "best")
        same_length(shown=lists, best=best_items)
        for number, row in enumerate(lists):
            if len(row) < 2 or len(set(row)) != len(row):
                raise BadValue(f"shown[{number}] is {row!r}, expected two or more different options")
            if best_items[number] not in row:
                raise BadValue(f"best[{number}] is {best_items[number]!r}, expected one of {row!r}")
        options, codes = encode([option_name for row in lists for option_name in row], "shown")
        members = [_owners_of(option_name, owners) for option_name in options.tolist()]
        items, item_codes = encode([item for group in members for item in group], "owners")
        if len(items) ** 2 > MAX_TABLE_CELLS:
            raise BadValue(
                f"there are {len(items):,} items, expected {math.isqrt(MAX_TABLE_CELLS):,} at most"
            )
        sizes = np.array([len(group) for group in members], dtype=np.int64)
        # (options, items): the items of an option have equal shares
        shares = scipy.sparse.csr_array(
            (np.repeat(1 / sizes, sizes), item_codes, starts_of(sizes)),
            shape=(len(options), len(items)),
        )
        bounds = starts_of([len(row) for row in lists])
        ones = np.ones(len(codes))
        lists_of_options = scipy.sparse.csr_array((ones, codes, bounds), shape=(len(lists), len(options)))
        # positions of the best options among all lists' options
        best_positions = bounds[:-1] + np.array(
            [row.index(option_name) for row, option_name in zip(lists, best_items, strict=True)],
            dtype=np.int64,
        )
        one_entry_a_row = np.arange(len(lists) + 1)
        best_lists = scipy.sparse.csr_array(
            (np.ones(len(lists)), codes[best_positions], one_entry_a_row), shape=(len(lists), len(options))
        )
        weights, wins = (scipy.sparse.csr_array(table @ shares) for table in (lists_of_options, best_lists))
        return cls(items, weights, wins, _count_lists(weights), _count_lists(wins))

    def no_maximum_reason(self, prior: float) -> str:
        """Return the reason why the likelihood has no maximum, or "" if it has one.

        It has one if chains of wins lead from each item to every other one (Hunter 2004, section 2), as with a prior,
        which lets all items win against each other.
        """
        item_count = len(self.items)
        if item_count < 2:
            return TOO_FEW_ITEMS
        if prior > 0:
            return ""
        # (K, K) numbers of lists that show both items, and from which the row's item was chosen
        win_counts = np.asarray((self.wins.sign().T @ self.weights.sign()).toarray(), dtype=np.float64)
        np.fill_diagonal(win_counts, 0)
        no_counts = np.zeros_like(win_counts)
        group_count, groups = connected_groups(OutcomeCounts(win_counts, no_counts, no_counts))
        if group_count == 1:
            return ""
        return UNBOUNDED_REASON.format(group_count, group_names(groups, self.items))


def _owners_of(option: Any, owners: Mapping[Any, Sequence[Any]] | None) -> list[Any]:
    if owners is None:
        return [option]
    members = list(dict.fromkeys(owners.get(option, ())))
    if not members:
        raise BadValue(f"owners names no item of {option!r}, expected one or more")
    return members


def _count_lists(table: scipy.sparse.csr_array) -> Ints:
    return np.bincount(table.indices, minlength=table.shape[1]).astype(np.int64)


def _chances(rows: _ChoiceLists, theta: Floats) -> tuple[scipy.sparse.csr_array, Floats]:
    """Return (N, K) chances that items are chosen from lists, and (N,) logarithms of the lists' sums of strengths.

    Strengths are divided by the largest of all items. If those of a list underflow nevertheless, their sum stays above
    zero.
    """
    largest_theta = float(theta.max())
    scaled_weights = rows.weights.multiply(np.exp(theta - largest_theta)[np.newaxis, :]).tocsr()
    sums = np.maximum(np.asarray(scaled_weights.sum(axis=1)).ravel(), np.finfo(np.float64).tiny)
    chances = scipy.sparse.csr_array(scaled_weights.multiply((1 / sums)[:, np.newaxis]))
    return chances, np.log(sums) + largest_theta


def _log_likelihood(rows: _ChoiceLists, theta: Floats, log_sums: Floats, prior: float) -> float:
    """Return the log-likelihood, with the prior, up to a constant. `log_sums` (N,) are as in `_chances`."""
    log_likelihood = float((rows.wins @ theta).sum() - log_sums.sum())
    if prior:
        # Each item wins `prior` times against each other. Leave out the diagonal of the table, which has log(0.5).
        difference = theta[:, np.newaxis] - theta
        log_likelihood += prior * float(
            scipy.special.log_expit(difference).sum() - len(theta) * math.log(0.5)
        )
    return log_likelihood


def _derivatives(
    theta: Floats, chances: scipy.sparse.csr_array, win_counts: Floats, prior: float
) -> tuple[Floats, Floats]:
    """Return the (K,) slope of the log-likelihood in theta, and the (K, K) information. `win_counts` is (K,)."""
    expected_wins = np.asarray(chances.sum(axis=0)).ravel()
    slope = win_counts - expected_wins
    information = np.diag(expected_wins) - (chances.T @ chances).toarray()
    if prior:
        # The prior compares each two items 2 prior times. The row's item wins half of them.
        win_chances = scipy.special.expit(theta[:, np.newaxis] - theta)
        slope = slope + prior * (1 - 2 * win_chances).sum(axis=1)
        spread = 2 * prior * win_chances * (1 - win_chances)
        np.fill_diagonal(spread, 0)
        information = information + np.diag(spread.sum(axis=1)) - spread
    return slope, np.asarray(information, dtype=np.float64)


def _fit_choices(rows: _ChoiceLists, prior: float, stopping_rule: StoppingRule) -> Fit:
    """Return the strengths that maximise the likelihood, which must have a maximum."""
    count = len(rows.items)
    win_counts = np.asarray(rows.wins.sum(axis=0), dtype=np.float64).ravel()

    def evaluate(theta: Floats) -> TrialFit:
        theta = theta - theta.mean()
        chances, log_sums = _chances(rows, theta)
        return TrialFit(theta, _log_likelihood(rows, theta, log_sums, prior), chances)

    def derivatives(candidate: TrialFit) -> tuple[Floats, Floats]:
        return _derivatives(candidate.parameters, candidate.chances, win_counts, prior)

    is_free = np.ones(count, dtype=np.bool_)
    # Remove the variance of the mean log-strength, which `maximise` adds so that the information can be inverted.
    return remove_fixed_level(maximise(evaluate, derivatives, np.zeros(count), is_free, count, stopping_rule))
