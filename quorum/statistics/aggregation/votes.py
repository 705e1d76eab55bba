"""A unit's most frequent answer, plain or by weights of the judgments."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.statistics.aggregation.aggregated_labels import AggregatedLabels
from quorum.statistics.aggregation.weights import ZERO_WEIGHTS, judgment_weights
from quorum.statistics.inference import signed
from quorum.statistics.inputs import check_cells, encode, encode_on_scale, one_of, same_length
from quorum.statistics.resampling import Seed, generator_of

TIE_RULES = ("none", "lowest", "random")

# Sums of weights are tied if their relative difference is smaller, such as 0.1 + 0.2 and 0.3.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class MajorityResult(AggregatedLabels):
    """The most frequent answer of each unit.

    counts: (U, L) numbers of votes by label. share: (U,) share of the most frequent answer. margin: (U,) that share
    minus the second highest share. tie: (U,) whether several labels have the most votes, even if `ties` chose one of
    them. weight: (U, L) sums of weights, or None without weights. With weights, share, margin and tie are computed from
    these sums, and no label wins a unit whose weights are all zero.
    """

    counts: Ints
    share: Floats
    margin: Floats
    tie: Flags
    ties: str
    weight: Floats | None = None

    @property
    def n(self) -> Ints:
        """The (U,) numbers of votes."""
        return self.counts.sum(axis=1)


@signed("majority-vote")
def majority_vote(
    units: Iterable[Any],
    values: Iterable[Any],
    *,
    labels: Sequence[Any] | None = None,
    ties: str = "none",
    seed: Seed = 0,
) -> MajorityResult:
    """Return the most frequent answer of each unit.

    `ties` decides who wins a tie: "none", the "lowest" tied label, or a "random" one.
    """
    return weigh_votes(units, values, None, labels, ties, seed)


@signed("weighted-vote")
def weighted_vote(
    units: Iterable[Any],
    values: Iterable[Any],
    weights: ArrayLike,
    *,
    labels: Sequence[Any] | None = None,
    ties: str = "none",
    seed: Seed = 0,
) -> MajorityResult:
    """Return each unit's answer with the largest sum of (N,) weights. A relative difference below 10^-9 is a tie."""
    return weigh_votes(units, values, judgment_weights(weights), labels, ties, seed)


def majority_of_others(unit: Ints, value: ArrayLike) -> Floats:
    """Return, for each of (N,) judgments, the most frequent value among the unit's other judgments.

    The value is nan if the most frequent values are tied, or if there are no other judgments.
    """
    unit_names, rows = encode(unit, "units")
    labels, columns = encode(np.asarray(value, dtype=np.float64), "values")
    votes = np.bincount(rows * len(labels) + columns, minlength=len(unit_names) * len(labels))
    other_votes = votes.reshape(len(unit_names), len(labels))[rows]
    other_votes[np.arange(len(rows)), columns] -= 1
    most_votes = other_votes.max(axis=1, initial=0)
    has_majority = (most_votes > 0) & ((other_votes == most_votes[:, np.newaxis]).sum(axis=1) == 1)
    return np.where(has_majority, labels[other_votes.argmax(axis=1)] if len(labels) else np.nan, np.nan)


def agrees_with_others(unit: Ints, value: ArrayLike) -> Floats:
    """Return, for each of (N,) judgments, 1 if it has the `majority_of_others`, else 0; nan if there is none."""
    _, codes = encode(np.asarray(value), "values")
    majority = majority_of_others(unit, codes)
    return np.where(np.isnan(majority), np.nan, (majority == codes).astype(np.float64))


def weigh_votes(
    units: Iterable[Any],
    values: Iterable[Any],
    weights: Floats | None,
    labels: Sequence[Any] | None,
    ties: str,
    seed: Seed,
) -> MajorityResult:
    """Return the answers with the largest sums of `weights`; with None instead of weights, of votes."""
    one_of(ties, TIE_RULES, "ties")
    names, unit_codes = encode(units, "units")
    scale, codes = encode_on_scale(values, labels)
    same_length(units=unit_codes, values=codes)
    shape = (len(names), len(scale))
    check_cells(shape[0], "units", shape[1], shape[0] * shape[1])
    # Count the votes, or sum their weights, by unit and label.
    cells = unit_codes * shape[1] + codes
    counts = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
    sums: NDArray[Any] = counts
    if weights is not None:
        same_length(units=unit_codes, weights=weights)
        sums = np.bincount(cells, weights=weights, minlength=shape[0] * shape[1]).reshape(shape)
    # The highest sum, the labels that have it, and the second highest.
    total = sums.sum(axis=1)
    has_no_weight = total == 0
    largest_sums = sums.max(axis=1, initial=0)
    has_most = sums >= (largest_sums if weights is None else largest_sums * (1 - _ROUNDING))[:, np.newaxis]
    tie = has_most.sum(axis=1) > 1
    runner_up = np.partition(sums, -2, axis=1)[:, -2] if shape[1] > 1 else np.zeros_like(largest_sums)
    winner = has_most.argmax(axis=1) if len(names) else np.empty(0, dtype=np.int64)
    # Decide ties; a unit without weight has no winner, which is -1.
    reported_seed = None
    if ties == "none":
        winner = np.where(tie, -1, winner)
    elif ties == "random":
        generator, reported_seed = generator_of(seed)
        random_numbers = generator.random((int(tie.sum()), shape[1]))
        winner[tie] = np.where(has_most[tie], random_numbers, -1.0).argmax(axis=1)
    winner[has_no_weight] = -1
    total_or_nan = np.where(has_no_weight, math.nan, total)
    margin = np.where(tie, 0.0, largest_sums - runner_up) / total_or_nan
    return MajorityResult(
        units=names,
        labels=scale,
        counts=counts,
        winner=winner,
        share=largest_sums / total_or_nan,
        margin=margin,
        tie=tie,
        ties=ties,
        seed=reported_seed,
        weight=None if weights is None else sums,
        reason=ZERO_WEIGHTS.format(int(has_no_weight.sum()), len(names)) if has_no_weight.any() else "",
    )
