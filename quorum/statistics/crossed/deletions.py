"""The raters behind a consensus: how leaving out each of them changes the consensus of a row.

A row is what raters judge together, such as a pair of texts, whose consensus is the winner by their votes, or a
caption, whose consensus is the mean of their grades. The variance that other raters would add is computed from these
changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import scipy  # its submodules load at first use
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.statistics.crossed.clusters import (
    NAIVE,
    RATER,
    ClusterColumns,
    Clusters,
    fixed_note,
    renumber_codes,
)
from quorum.statistics.crossed.spread import Spread, crossed_covariance, crossed_spread
from quorum.statistics.crossed.variance import MIN_CLUSTERS, Squares, cluster_correction, effective_number
from quorum.statistics.inputs import BadOption, BadShape, encode, finite_vector, refuse_values, same_length


@dataclass(frozen=True, slots=True)
class RaterDeletions:
    """The effects of V deletions, each of a rater from a row, on the consensus (winner or mean) of the row.

    row, rater: (V,) positions of rows, and codes of raters from 0. has_means: whether the consensus is a mean. value:
    for means, the (V,) means without the rater, nan if there is no other rater. For winners, (V, 2) changes: the
    chances that the first, and the second, wins with the rater's vote, minus the chances without it.
    """

    row: Ints
    rater: Ints
    value: Floats
    has_means: bool = False

    @classmethod
    def of_leads(cls, row: Ints, rater: Ints, contribution: ArrayLike, lead: ArrayLike) -> RaterDeletions:
        """Return the deletions for winners, from the (N,) leads of the first over the second.

        row, rater: (V,) columns with an entry for each answer. contribution: (V,) what the answer adds to the lead of
        its row, such as 1, -1 or 0 for a vote.

        One vote rarely decides a clear majority, although several raters of another taste could change it together.
        So if the lead is a difference of votes, `jackknife_size` other votes, chosen at random, are left out together
        with the rater's vote (the delete-d jackknife: Shao, Wu 1989).
        """
        contributions, leads = np.asarray(contribution, dtype=np.float64), np.asarray(lead, dtype=np.float64)
        # Sum the contributions of a rater who answered a row several times.
        first_answers, cell = answers_by_cell(row, rater)
        row, rater = row[first_answers], rater[first_answers]
        cell_contributions = np.bincount(cell, contributions, len(first_answers)).astype(np.float64)
        value = _gains(leads[row], cell_contributions)
        _replace_gains_of_votes(value, row, cell_contributions, leads)
        return cls(row, rater, value)

    def subset(self, rows: Flags) -> RaterDeletions:
        """Return the deletions in the rows for which `rows` (N,) is true, as `at` does."""
        return self.at(np.flatnonzero(rows[self.row]))

    def at(self, positions: Ints) -> RaterDeletions:
        """Return the deletions at these positions. Rows keep their positions; raters are renumbered."""
        rater = renumber_codes(self.rater[positions])
        return RaterDeletions(self.row[positions], rater, self.value[positions], self.has_means)

    def of_rows(self, keep: Flags, row_name: str) -> RaterDeletions:
        """Return the deletions in the rows for which `keep` (N,) is true, with rows and raters renumbered.

        Raise BadShape as `check` does.
        """
        self.check(len(keep), row_name)
        deletions = self.subset(keep)
        return replace(deletions, row=(np.cumsum(keep) - 1)[deletions.row])

    def check(self, row_count: int, row_name: str) -> None:
        """Raise BadShape if a deletion is of a row that does not exist. The message calls a row `row_name`."""
        last_row = int(self.row.max(initial=-1))
        if last_row >= row_count:
            raise BadShape(
                f"clusters[{RATER!r}] names {row_name} {last_row}, expected one of {row_count} from 0 on"
            )

    @property
    def rater_count(self) -> int:
        return int(self.rater.max(initial=-1)) + 1

    def widen(
        self, spread: Spread, items: Clusters, decreases: Callable[[], Floats | Iterator[Floats]]
    ) -> tuple[Spread, Clusters]:
        """Return the spread of the items with the raters' variance added, and the clusters with the raters added.

        One rater adds no variance. `decreases` returns the argument of `spread`, and is called only if needed.
        """
        if self.rater_count < MIN_CLUSTERS or items.reason:
            return spread, self.add_raters(items)
        return self.spread(spread, decreases()), self.add_raters(items)

    def add_raters(self, items: Clusters) -> Clusters:
        """Return the clusters of the items with the number of raters added; with a note if there is one rater."""
        if not self.rater_count or items.reason:
            return items
        note = fixed_note(RATER, self.rater_count) if self.rater_count < MIN_CLUSTERS else ""
        return replace(items, counts={**items.counts, RATER: self.rater_count}, note=note)

    def spread(self, item_spread: Spread, decreases: Floats | Iterator[Floats]) -> Spread:
        """Return the spread of the items with the raters' variance added.

        decreases: (V,) decrease of the estimate if a rater's answer to a row is left out, on average over the other
        raters' answers. This is the contribution of the answer to the estimate (Hoeffding 1948). Several arrays are the
        decreases of estimates close to the estimate; their variances are averaged.
        """
        arrays = [decreases] if isinstance(decreases, np.ndarray) else decreases
        return crossed_spread(item_spread, Squares.mean([self._squares(array) for array in arrays]))

    def covariance(self, covariance: Floats, freedom: Floats, decreases: Floats) -> tuple[Floats, Floats]:
        """Return the items' (K, K) covariance with the raters' added, and its (K,) degrees of freedom.

        decreases: (V, K) decreases of the K estimates, as in `spread`.
        """
        return crossed_covariance(covariance, freedom, self._squares(decreases))

    def _squares(self, decreases: Floats) -> Squares:
        sizes = np.bincount(self.rater)
        deviations = decreases - decreases.mean(axis=0)
        if self.has_means:
            # Without one of R raters, a mean changes by R / (R - 1) times the rater's contribution (the jackknife's
            # factor). All rows have the factor of the effective number of raters of the whole estimate. A row without
            # another rater disappears from the estimate.
            jackknife_factor = cluster_correction(effective_number(sizes))
            deviations[~np.isnan(self.value)] /= jackknife_factor

        def squares_of(codes: Ints) -> Any:
            sums = np.zeros((int(codes.max()) + 1, *decreases.shape[1:]))
            np.add.at(sums, codes, deviations)
            return sums.T @ sums

        items = len(np.unique(self.row))
        return Squares(squares_of(self.row), squares_of(self.rater), deviations.T @ deviations, items, sizes)


def _replace_gains_of_votes(value: Floats, row: Ints, contribution: Floats, leads: Floats) -> None:
    """Replace the (V, 2) gains in rows whose lead is a difference of votes by those of the delete-d jackknife.

    Rows with too few votes to leave out several keep their gains. contribution: (V,) what each rater adds to the lead
    of the row; a vote adds 1, -1 or 0.
    """
    vote_counts = np.bincount(row, minlength=len(leads))
    for_first, for_second, for_neither = (
        np.bincount(row[contribution == vote], minlength=len(leads)) for vote in (1, -1, 0)
    )
    has_votes_alone = for_first + for_second + for_neither == vote_counts
    is_vote_lead = has_votes_alone & (for_first - for_second == leads)
    positions = np.flatnonzero((is_vote_lead & (jackknife_size(vote_counts) > 0))[row])
    counts = np.stack([row_counts[row[positions]] for row_counts in (for_first, for_second, for_neither)])
    votes = contribution[positions]
    # Compute the gains once for each distinct case, which consists of the row's numbers of votes and the rater's vote.
    base = int(vote_counts.max(initial=0)) + 1
    case_codes = np.ravel_multi_index((*counts, votes.astype(np.int64) + 1), (base, base, base, 3))
    _, examples, case_of_deletion = np.unique(case_codes, return_index=True, return_inverse=True)
    gains = [
        _gains_of_vote(tuple(counts[:, example].tolist()), float(votes[example]))
        for example in examples.tolist()
    ]
    value[positions] = np.array(gains).reshape(-1, 2)[case_of_deletion]


def jackknife_size(votes: Any) -> Any:
    """Return the number of other votes to leave out with a rater's: sqrt(votes), rounded down to an even number.

    An odd number would cause additional ties.
    """
    return np.sqrt(votes).astype(np.int64) // 2 * 2


def _gains(lead: Floats, vote: Floats | float) -> Floats:
    """Return the (V, 2) gains of the first and of the second side from votes, given the leads with these votes.

    A side has one win if the lead is in its favour, and none otherwise. Its gain is its wins with the vote, minus its
    wins without it.
    """
    return np.stack([(side * lead > 0) * 1.0 - (side * (lead - vote) > 0) for side in (1, -1)], axis=-1)


@lru_cache(maxsize=4096)  # cached, as simulated studies have few different cases
def _gains_of_vote(counts: tuple[int, ...], vote: float) -> Floats:
    """Return the (2,) mean of `_gains` over all sets of other votes left out, times the share of votes that remain.

    counts: numbers of votes for the first, the second, and neither, of which `vote` (1, -1 or 0) is one. A set has
    `jackknife_size` votes. One vote decides more among fewer votes; the share that remains makes up for this.
    """
    # Sum over all numbers of other votes, for the first, the second and neither, that are left out, with their chances.
    vote_count = sum(counts)
    size = int(jackknife_size(vote_count))
    first_out, second_out = np.ogrid[: size + 1, : size + 1]
    neither_out = size - first_out - second_out
    other_counts = np.array(counts) - (np.array([1, -1, 0]) == vote)
    log_ways = sum(map(_log_binomial, other_counts, (first_out, second_out, neither_out)))
    chances = np.exp(log_ways - _log_binomial(vote_count - 1, size))
    gains = _gains(counts[0] - counts[1] - (first_out - second_out), vote)
    return np.asarray(np.einsum("ij,ijk->k", chances, gains) * (1 - size / vote_count))


def _log_binomial(number: Any, choices: Any) -> Any:
    """Return the logarithm of a binomial coefficient, which itself may overflow. It is -inf if the coefficient is 0."""
    gammaln = scipy.special.gammaln
    return gammaln(number + 1) - gammaln(choices + 1) - gammaln(number - choices + 1)


NO_DELETIONS = RaterDeletions(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


def answers_by_cell(row: Ints, rater: Ints) -> tuple[Ints, Ints]:
    """Return the position of the first answer in each cell, and the (V,) cells of V answers.

    A cell is a row with a rater, who may have answered the row several times. row, rater: (V,) codes.
    """
    cell_codes = row * (int(rater.max(initial=0)) + 1) + rater
    _, first_answers, cell = np.unique(cell_codes, return_index=True, return_inverse=True)
    return first_answers, cell


def cluster_columns(clusters: ClusterColumns) -> Mapping[str, Iterable[Any]]:
    """Return the columns of clusters, or {} for "naive". Raise BadOption if there is anything else."""
    if not isinstance(clusters, Mapping):
        if clusters != NAIVE:
            raise BadOption(f"clusters is {clusters!r}, expected {NAIVE!r} or columns by name")
        return {}
    for name, column in clusters.items():
        if isinstance(column, RaterDeletions):
            raise BadOption(
                f"clusters[{name!r}] has a consensus without each rater, expected one {name} a row"
            )
    return clusters


def columns_and_deletions(clusters: ClusterColumns) -> tuple[ClusterColumns, RaterDeletions | None]:
    """Return the columns other than `RaterDeletions`, and the `RaterDeletions`, or None if there are none.

    Raise BadOption if several columns are `RaterDeletions`.
    """
    if not isinstance(clusters, Mapping):
        return clusters, None
    deletions = [column for column in clusters.values() if isinstance(column, RaterDeletions)]
    if len(deletions) > 1:
        raise BadOption(f"clusters has {len(deletions)} kinds of raters, expected one")
    columns = {name: column for name, column in clusters.items() if not isinstance(column, RaterDeletions)}
    return columns, deletions[0] if deletions else None


def positions_and_raters(
    name: str, positions: ArrayLike, raters: Iterable[Any], row_count: int
) -> tuple[Ints, Ints]:
    """Return the (V,) positions of rows, and the (V,) codes of raters, of answers.

    `name` is what messages call the positions. Raise BadValue if one is not from 0 to `row_count` - 1.
    """
    given_positions = finite_vector(positions, name)
    _, rater = encode(raters, "raters")
    same_length(**{name: given_positions, "raters": rater})
    position = given_positions.astype(np.int64)
    refuse_values(given_positions, (position < 0) | (position >= row_count), name, f"0 to {row_count - 1}")
    return position, rater
