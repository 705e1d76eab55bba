"""Measure the biases of a judge: towards the text shown first, longer texts, and systems of its model family."""

from __future__ import annotations

from typing import Any

import numpy as np

from common.amounts import json_float
from contrib.judges.models import Judge
from contrib.judges.prompts import has_orders
from contrib.judges.results.estimates import clustered_estimate, mean_estimate, undefined_estimate
from contrib.judges.results.material import JudgeAnswers, JudgeMaterial
from quorum.numeric.arrays import Flags
from quorum.statistics.aggregation.pair_answers import FIRST, NEITHER, NO_DIFFERENCE

LENGTH_STEP = 10.0  # words; the bias by length is the change of the answer per this many


def position_bias(answers: JudgeAnswers, material: JudgeMaterial) -> dict[str, Any]:
    """Return how often the judge chose the text shown first, and how often it chose the same text in both orders.

    Only units about which the judge was asked in both orders count. ``by_chance`` is how often a judge without a bias
    chooses the text shown first; None if there are no such units.
    """
    unit_count = len(material.unit_ids)
    straight_counts = np.bincount(answers.unit_index[~answers.is_swapped], minlength=unit_count)
    swapped_counts = np.bincount(answers.unit_index[answers.is_swapped], minlength=unit_count)
    has_both_orders = (straight_counts > 0) & (swapped_counts > 0)
    is_counted = has_both_orders[answers.unit_index]  # by answer
    text_counts = (~np.isnan(material.lengths)).sum(axis=1)  # a missing text has no length
    # The value of an answer that names the text shown first. It is the last text if the order is reversed.
    first_text = np.where(answers.is_swapped, text_counts[answers.unit_index], FIRST)
    # For lists of texts, the numbers of NO_DIFFERENCE and NEITHER are positions of texts.
    is_tie = np.isin(answers.value, (NO_DIFFERENCE, NEITHER)) & material.kind.two_sided
    names_first = np.where(is_tie, 0.5, answers.value == first_text)[is_counted]
    # The mean over both orders of each unit; with T texts, it is 1 / T for a judge without a preference for a place.
    first_sums = np.bincount(answers.unit_index[is_counted], weights=names_first, minlength=unit_count)
    share = first_sums[has_both_orders] / answers.answer_counts[has_both_orders]
    has_one_label = answers.label_counts.max(axis=1) == answers.answer_counts
    is_consistent = has_one_label[has_both_orders].astype(np.float64)
    images = material.image_ids[has_both_orders]
    return {
        "first_shown": mean_estimate(share, images),
        "by_chance": json_float((1 / text_counts[has_both_orders]).mean()) if has_both_orders.any() else None,
        "consistent": mean_estimate(is_consistent, images),
    }


def length_bias(answers: JudgeAnswers, material: JudgeMaterial) -> dict[str, Any]:
    """Return how much more than people the judge favours longer texts.

    If units show several texts, it is the judge's share of votes for the longest text minus people's share. For
    single texts, it is the increase per ten words of the difference between the judge's answer and people's.
    """
    if has_orders(material.kind):
        is_longest = material.lengths == np.nanmax(material.lengths, axis=1, keepdims=True)
        has_one_longest = is_longest.sum(axis=1) == 1
        return _bias_towards(is_longest, has_one_longest, answers, material)
    gap = answers.mean - material.people.mean
    units = np.flatnonzero(~np.isnan(gap))
    lengths = material.lengths[units, 0]
    centred = lengths - lengths.mean() if len(units) else lengths
    squares = float(centred @ centred)
    if not squares > 0:
        return undefined_estimate(len(units))
    slope = float(centred @ gap[units]) / squares
    # The influence of a unit on the slope of least squares is centred * residual / squares.
    residuals = gap[units] - gap[units].mean() - slope * centred
    influences = LENGTH_STEP * centred * residuals / squares
    return clustered_estimate(LENGTH_STEP * slope, influences, material.image_ids[units], len(units))


def _bias_towards(
    is_favoured: Flags, is_counted: Flags, answers: JudgeAnswers, material: JudgeMaterial
) -> dict[str, Any]:
    """Return by how much the judge's share of votes for certain texts exceeds people's share.

    Args:
        is_favoured: (U, S) whether each of S texts of each of U units is such a text.
        is_counted: (U,) whether the unit counts.
    """
    gap = ((answers.shares - material.people.shares) * is_favoured).sum(axis=1)
    units = np.flatnonzero(~np.isnan(gap) & is_counted)
    return mean_estimate(gap[units], material.image_ids[units])


def has_some_outputs(outputs: Flags, material: JudgeMaterial) -> Flags:
    """Return, for each of U units, whether some but not all of its texts are outputs of a system: (U,).

    Args:
        outputs: (U, S) whether each text is an output of the system.
    """
    has_output: Flags = np.logical_or.reduce(outputs, axis=1)
    is_output_or_missing = outputs | np.isnan(material.lengths)  # units can have fewer than S texts
    return has_output & ~np.logical_and.reduce(is_output_or_missing, axis=1)


def own_family_bias(judge: Judge, answers: JudgeAnswers, material: JudgeMaterial) -> dict[str, Any] | None:
    """Return how much more than people the judge favours texts of systems of its family; None if there are none."""
    is_own = np.zeros(material.lengths.shape, dtype=np.bool_)
    for name in judge.own_systems:
        is_own |= material.systems.get(name, False)
    if not is_own.any():
        return None
    if has_orders(material.kind):
        return _bias_towards(is_own, has_some_outputs(is_own, material), answers, material)
    gap = answers.mean - material.people.mean
    has_answers = ~np.isnan(gap)
    own_units = np.flatnonzero(has_answers & is_own[:, 0])
    other_units = np.flatnonzero(has_answers & ~is_own[:, 0])
    if not len(own_units) or not len(other_units):
        return undefined_estimate(len(own_units))
    rows = np.concatenate([own_units, other_units])
    # Each unit's influence on the mean to which it belongs. The bias is the difference of the two means.
    own_influences, other_influences = (
        (gap[units] - gap[units].mean()) / len(units) for units in (own_units, other_units)
    )
    difference = float(gap[own_units].mean() - gap[other_units].mean())
    return clustered_estimate(
        difference,
        np.concatenate([own_influences, -other_influences]),
        material.image_ids[rows],
        len(own_units),
    )
