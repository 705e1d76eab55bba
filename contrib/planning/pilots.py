"""Estimate the assumptions of a plan from a pilot: people's accuracy, and the difference of two systems or metrics.

A consensus of few votes is sometimes wrong, which makes differences look smaller. Therefore, differences are corrected
by the probability that the pilot's consensus is right.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.utils.translation import gettext as _

from evaluation.data.judgment_sets import loaders
from evaluation.data.judgment_sets.study_signatures import hash_of_judgments
from evaluation.errors import EvaluationError
from evaluation.models import Analysis, Consensus, MetricScore
from evaluation.results.agreement import components_of, counted_ratings
from evaluation.results.consensus.study import SIDES
from judgments.kinds import KINDS
from judgments.models import Study, Unit
from quorum.statistics.crossed import ITEM, RATER, Clusters
from quorum.statistics.inputs import StatisticsError
from quorum.statistics.meta import metric_winners
from quorum.statistics.power import (
    MAX_TASTE,
    PilotModel,
    Size,
    TwoSystems,
    VoterModel,
    fit_voter_model,
    power_of,
    true_share,
)

# Number of pairs, and number, of the studies that are simulated to estimate how often a consensus is right.
SIMULATED_PAIRS, SIMULATED_STUDIES = 200, 200


@dataclass(frozen=True, slots=True)
class PilotEstimates:
    """The estimates from a pilot.

    Attributes:
        assumptions: values of fields of ``Assumptions``, which replace the usual ones.
        source: where they come from, to be stored with the plan: the slug of the pilot, the hash of its judgments and,
            if known, the two names and the variance components.
    """

    assumptions: dict[str, Any]
    source: dict[str, Any]


def estimate_from_pilot(*, study: Study, question: str, first: str = "", second: str = "") -> PilotEstimates:
    """Estimate people's accuracy and, if two names are given, the difference between these systems or metrics.

    Args:
        question: "systems" or "metrics".
        first, second: names of two of them; "" for people's accuracy only.

    Raises:
        EvaluationError: the study is not suitable, or only one name is given.
    """
    people = estimate_people_accuracy(study)  # careless votes included, so their share is 0 below
    assumptions: dict[str, Any] = {
        "right": round(people.right, 3),
        "pair_spread": round(people.spread, 3),
        "unit_spread": 0.0,
        "careless": 0.0,
        "worker_spread": 0.0,
    }
    source: dict[str, Any] = {"pilot": study.slug, "data_hash": hash_of_judgments(study)}
    components = variance_components(study)
    if components and not components["reason"]:
        source["components"] = components
    if bool(first) != bool(second):
        raise EvaluationError(_("Only one system or metric of the pilot is named; expected two, or none."))
    if first:
        right_share = simulate_consensus_accuracy(study, people)
        compares_systems = question == "systems"
        estimate_difference = estimate_system_difference if compares_systems else estimate_metric_difference
        estimates = estimate_difference(study, first, second, right=right_share)
        assumptions |= {name: round(value, 6) for name, value in estimates.items()}
        if not loaders.is_anonymous(study):
            find_sides = _sides_of_systems if compares_systems else _sides_of_metrics
            sides = find_sides(study, first, second)
            assumptions["taste"] = round(estimate_taste(study, people, sides), 3)
        source |= {"pilot_first": first, "pilot_second": second}
    return PilotEstimates(assumptions, source)


def variance_components(study: Study) -> dict[str, Any]:
    """Return the variance components of the pilot's votes (images, people and residual); {} if voters are anonymous."""
    if loaders.is_anonymous(study):
        return {}
    table, units = loaders.load_judgments(study), loaders.judged_units_of(study)
    is_numeric = table.is_counted & ~np.isnan(table.value)
    images = loaders.clusters_of_units(study, units)
    ratings, clusters = counted_ratings(table, units, is_numeric, images, anonymous=False)
    assert clusters is not None, "there are images"
    votes = ratings.labels[ratings.code]  # the values, which ratings hold as codes
    return components_of(KINDS[study.protocol], votes, clusters)


def estimate_taste(study: Study, people: PilotModel, sides: Mapping[int, int]) -> float:
    """Return the standard deviation over people of the log odds that a person prefers the first system or metric.

    People's tastes shift the log odds of their votes. To first order, the variance component of people in the votes
    (Brennan 2001) is the variance of the log odds times the squared mean slope of the logistic function.

    Args:
        sides: by pair row id, the text (1 or 2) that the first system wrote or the first metric prefers.
    """
    table, units = loaders.load_judgments(study), loaders.judged_units_of(study)
    side_of_unit = {
        unit.pk: sides[unit.pair] for unit in units if unit.pair is not None and unit.pair in sides
    }
    is_vote = table.is_counted & np.isin(table.value, SIDES) & np.isin(table.unit, list(side_of_unit))
    unit = table.unit[is_vote]
    columns = {ITEM: unit, RATER: table.worker[is_vote]}
    # The slope of the logistic function at a probability q is q (1 - q). This is its mean over pairs, where q is the
    # probability of a right vote on a pair, with the mean right and the variance spread * right * (1 - right).
    slope = people.right * (1 - people.right) * (1 - people.spread)
    if not is_vote.any() or not slope:
        return 0.0
    clusters = Clusters.from_columns(columns, len(unit))
    if len(clusters.columns_used) < len(columns):  # all votes are on one unit, or of one person
        return 0.0
    votes_for_first = (table.value[is_vote] == np.array([side_of_unit[pk] for pk in unit.tolist()])) * 1.0
    # in the order of `columns`
    _variance_of_units, variance_of_people, *_ = clusters.components(votes_for_first)
    return min(MAX_TASTE, math.sqrt(float(variance_of_people)) / slope)


def _sides_of_systems(study: Study, first: str, second: str) -> dict[int, int]:
    """Return the side (1 or 2) of the first system in each pair of both systems, by row id of the pair."""
    systems_by_pair = loaders.systems_of_pairs(study)
    names = {pair.pk: systems_by_pair[pair.key] for pair in loaders.pair_rows(study)}
    return {pk: systems.index(first) + 1 for pk, systems in names.items() if set(systems) == {first, second}}


def _sides_of_metrics(study: Study, first: str, second: str) -> dict[int, int]:
    """Return the side that the first metric prefers, by row id of the pair, if the second prefers the other side."""
    first_sides, second_sides = (_winners_of_metric(study, metric) for metric in (first, second))
    other_side = {1: 2, 2: 1}
    return {pk: side for pk, side in first_sides.items() if side and second_sides.get(pk) == other_side[side]}


def estimate_people_accuracy(study: Study) -> PilotModel:
    """Estimate people's accuracy from how votes on the same unit differ. Raise EvaluationError if it is impossible."""
    if not KINDS[study.protocol].compares_pairs:
        raise EvaluationError(
            _("Study %(slug)r does not compare pairs, so it cannot be a pilot for this design.")
            % {"slug": study.slug}
        )
    table = loaders.load_judgments(study)
    # Accuracy is the share of right votes for a side, so other answers are left out.
    is_counted = table.is_counted & np.isin(table.value, SIDES)
    _units, unit_index = np.unique(table.unit[is_counted], return_inverse=True)
    vote_counts = np.bincount(unit_index)
    first_counts = np.bincount(unit_index, weights=table.value[is_counted] == 1, minlength=vote_counts.size)
    try:
        return fit_voter_model(first_counts, vote_counts)
    except StatisticsError as error:
        raise EvaluationError(
            _("Study %(slug)r cannot be used as a pilot: %(error)s.") % {"slug": study.slug, "error": error}
        ) from None


def simulate_consensus_accuracy(study: Study, people: PilotModel) -> float:
    """Simulate how often a consensus of as many votes as in the pilot is right.

    Raises:
        EvaluationError: the consensus is no better than chance.
    """
    units = Unit.objects.filter(study=study, control=False, pair__isnull=False)
    pair_count = units.values("pair").distinct().count()
    size = Size(
        pairs=SIMULATED_PAIRS,
        references=max(1, round(units.count() / max(1, pair_count))),  # a unit shows one
        votes=max(1, round(people.votes / people.units)),
    )
    crowd = VoterModel(right=people.right, pair_spread=people.spread, careless=0.0, worker_spread=0.0)
    # The assumed difference has no effect on the consensus.
    (result,) = power_of(TwoSystems(1.0), crowd, [size], simulations=SIMULATED_STUDIES, seed=0)
    if not result.right_consensus > 0.5:  # or nan
        raise EvaluationError(
            _("Study %(slug)r cannot be used as a pilot: its votes are no better than chance.")
            % {"slug": study.slug}
        )
    return result.right_consensus


def _consensus_winners(study: Study) -> dict[int, int]:
    """Return the side that the consensus of people names, by row id of the pair.

    Raise EvaluationError if no pair has a consensus.
    """
    rows = Consensus.objects.filter(study=study, pair__isnull=False, value__isnull=False)
    # The value of a tie is 0.
    consensus = {pair: int(value) for pair, value in rows.values_list("pair", "value") if pair and value}
    if not consensus:
        raise EvaluationError(
            _("Study %(slug)r has no pair with a consensus; compute its consensus first.")
            % {"slug": study.slug}
        )
    return consensus


def estimate_system_difference(
    study: Study, first: str, second: str, *, right: float = 1.0
) -> dict[str, float]:
    """Estimate how often the first of two systems is truly better, among decided pairs.

    ``right`` is the share of consensuses that are right. Tied votes are left out, as in the simulation.

    Raises:
        EvaluationError: the systems were never compared, or no such pair has a consensus.
    """
    consensus = _consensus_winners(study)
    systems_by_pair = loaders.systems_of_pairs(study)
    wins = losses = 0
    for pair in loaders.pair_rows(study):
        value, names = consensus.get(pair.pk), systems_by_pair[pair.key]
        if value is None or set(names) != {first, second} or first == second:
            continue
        is_win = names[value - 1] == first
        wins, losses = wins + is_win, losses + (not is_win)
    if not wins + losses:
        compared_systems = sorted(
            {name for names in systems_by_pair.values() if len(set(names)) == 2 for name in names}
        )
        raise EvaluationError(
            _(
                "Study %(slug)r has no pair of %(first)r and %(second)r with a consensus; "
                "expected two of the systems %(value)s."
            )
            % {
                "slug": study.slug,
                "first": first,
                "second": second,
                "value": ", ".join(compared_systems) or "none",
            }
        )
    return {"win_rate": true_share(wins / (wins + losses), right), "ties": 0.0}


def estimate_metric_difference(
    study: Study, first: str, second: str, *, right: float = 1.0
) -> dict[str, float]:
    """Estimate the accuracies of two metrics, and their agreement, which is clipped to the possible range.

    ``right`` is the share of consensuses that are right.

    Raises:
        EvaluationError: a metric was not evaluated, or no pair has a consensus.
    """
    winners = {metric: _winners_of_metric(study, metric) for metric in (first, second)}
    consensus = _consensus_winners(study)
    # By metric and pair, whether the metric prefers the winner of people.
    agrees = {
        metric: {pair: winners[metric].get(pair) == value for pair, value in consensus.items()}
        for metric in winners
    }
    pair_count = len(consensus)
    first_accuracy, second_accuracy = (
        true_share(sum(agrees[metric].values()) / pair_count, right) for metric in (first, second)
    )
    same_count = sum(agrees[first][pair] == agrees[second][pair] for pair in consensus)
    # Metrics with accuracies a and b agree on a share of pairs from |a + b - 1| to 1 - |a - b|.
    least_agreement = abs(first_accuracy + second_accuracy - 1)
    greatest_agreement = 1 - abs(first_accuracy - second_accuracy)
    agreement = min(max(same_count / pair_count, least_agreement), greatest_agreement)
    return {"first": first_accuracy, "second": second_accuracy, "agreement": agreement}


def _winners_of_metric(study: Study, metric: str) -> dict[int, int]:
    """Return the side that a metric prefers in the newest evaluation (0 for a tie), by row id of the pair.

    Raises:
        EvaluationError: the metric was not evaluated.
    """
    newest_evaluation = Analysis.objects.newest(study, Analysis.Kind.META_EVALUATION)
    scores = MetricScore.objects.filter(analysis=newest_evaluation, metric=metric, pair__isnull=False)
    rows = list(scores.order_by("pair").values_list("pair", "first", "second"))
    if newest_evaluation is None or not rows:
        raise EvaluationError(
            _("Study %(slug)r has no results for metric %(metric)r; compute the metric first.")
            % {"slug": study.slug, "metric": metric}
        )
    pairs, first, second = zip(*rows, strict=True)
    return dict(zip(pairs, metric_winners(np.array(first), np.array(second)).tolist(), strict=True))
