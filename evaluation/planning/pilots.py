"""Estimate a planner's assumptions from a pilot.

Metrics and systems are measured against a noisy consensus, which shrinks differences, so estimates are
corrected for the pilot's noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.errors import EvaluationError
from evaluation.judgment_sets import loaders
from evaluation.judgment_sets.signature import hash_of_judgments
from evaluation.models import Analysis, Consensus, MetricScore
from evaluation.statistics.errors import StatisticsError
from evaluation.statistics.meta import metric_winners
from evaluation.statistics.people import People, PilotPeople, fit_people, without_noise
from evaluation.statistics.power import Size, TwoSystems, power_of
from judgments.kinds import KINDS
from judgments.models import Study, Unit

PAIRS, TIMES = 200, 200  # simulated pairs for the probability that a consensus is right


@dataclass(frozen=True, slots=True)
class Told:
    """Estimates of a pilot, which override the planner's assumptions, and their source."""

    assumptions: dict[str, Any]
    source: dict[str, str]


def told_by_pilot(*, study: Study, question: str, first: str = "", second: str = "") -> Told:
    """Estimate people's accuracy and, given two names, the difference of two systems or metrics.

    Raises:
        EvaluationError: an unsuitable study, or only one name.
    """
    people = pilot_people(study)
    assumptions: dict[str, Any] = {
        "right": round(people.right, 3),
        "pair_spread": round(people.spread, 3),
        "unit_spread": 0.0,
        "careless": 0.0,
        "worker_spread": 0.0,
    }
    source = {"pilot": study.slug, "data_hash": hash_of_judgments(study)}
    if bool(first) != bool(second):
        raise EvaluationError("Only one of the pilot's two is named; expected both, or neither.")
    if first:
        right = consensus_right(study, people)
        loader = pilot_systems if question == "systems" else pilot_metrics
        assumptions |= {
            name: round(value, 6) for name, value in loader(study, first, second, right=right).items()
        }
        source |= {"pilot_first": first, "pilot_second": second}
    return Told(assumptions, source)


def pilot_people(study: Study) -> PilotPeople:
    """Estimate people's accuracy from split votes in a study of comparisons. Raise EvaluationError."""
    if not KINDS[study.protocol].compares_pairs:
        raise EvaluationError(f"Study {study.slug!r} compares no pairs; it says nothing about this design.")
    table = loaders.load_judgments(study)
    counted = table.counted
    _, rows = np.unique(table.unit[counted], return_inverse=True)
    votes = np.bincount(rows)
    first = np.bincount(rows, weights=table.value[counted] == 1, minlength=votes.size)
    try:
        return fit_people(first, votes)
    except StatisticsError as error:
        raise EvaluationError(f"Study {study.slug!r} is no pilot: {error}.") from None


def consensus_right(study: Study, people: PilotPeople) -> float:
    """Simulate how often a pair's consensus is right with the pilot's units and votes.

    Raises:
        EvaluationError: it is right no more often than by chance.
    """
    units = Unit.objects.filter(study=study, control=False, pair__isnull=False)
    pairs = units.values("pair").distinct().count()
    size = Size(
        PAIRS, max(1, round(units.count() / max(1, pairs))), max(1, round(people.votes / people.units))
    )
    crowd = People(right=people.right, pair_spread=people.spread, careless=0.0, worker_spread=0.0)
    # The assumed difference has no effect on the consensus.
    (found,) = power_of(TwoSystems(1.0), crowd, [size], simulations=TIMES, seed=0)
    if not found.right_consensus > 0.5:
        raise EvaluationError(f"Study {study.slug!r} is no pilot: its votes are as good as a coin's.")
    return found.right_consensus


def _consensus(study: Study) -> dict[int, int]:
    rows = Consensus.objects.filter(study=study, pair__isnull=False, value__isnull=False)
    said = {pair: int(value) for pair, value in rows.values_list("pair", "value") if pair and value}
    if not said:
        raise EvaluationError(f"Study {study.slug!r} has no pair with a consensus; aggregate it first.")
    return said


def pilot_systems(study: Study, first: str, second: str, *, right: float = 1.0) -> dict[str, float]:
    """Estimate how often the first of two systems is truly better, among decided pairs.

    ``right`` is the share of right consensuses. Tied votes are excluded, as in the planner.

    Raises:
        EvaluationError: the two never met, or no such pair has a consensus.
    """
    said = _consensus(study)
    of_pair = loaders.systems_of_pairs(study)
    wins = losses = 0
    for pair in loaders.pair_rows(study):
        value, names = said.get(pair.pk), of_pair[pair.key]
        if value is None or set(names) != {first, second} or first == second:
            continue
        won = names[value - 1] == first
        wins, losses = wins + won, losses + (not won)
    if not wins + losses:
        known = sorted({name for names in of_pair.values() if len(set(names)) == 2 for name in names})
        raise EvaluationError(
            f"Study {study.slug!r} decided no pair of {first!r} and {second!r}; "
            f"systems that meet in it: {', '.join(known) or 'none'}."
        )
    return {"win_rate": without_noise(wins / (wins + losses), right), "ties": 0.0}


def pilot_metrics(study: Study, first: str, second: str, *, right: float = 1.0) -> dict[str, float]:
    """Estimate two metrics' accuracies and agreement from the newest evaluation.

    ``right`` is the share of right consensuses. The agreement is clipped to the possible range.

    Raises:
        EvaluationError: a metric was not evaluated.
    """
    newest = Analysis.objects.newest_first(study, Analysis.What.META_EVALUATION).first()
    winners: dict[str, dict[int, int]] = {}
    for metric in (first, second):
        scores = MetricScore.objects.filter(analysis=newest, metric=metric, pair__isnull=False)
        rows = list(scores.order_by("pair").values_list("pair", "first", "second"))
        if newest is None or not rows:
            raise EvaluationError(
                f"Study {study.slug!r} was not evaluated with {metric!r}; compute it first."
            )
        named = metric_winners(np.array([row[1] for row in rows]), np.array([row[2] for row in rows]))
        winners[metric] = dict(zip((row[0] for row in rows), named.tolist(), strict=True))
    said = _consensus(study)
    hits = {
        metric: {pair: winners[metric].get(pair) == value for pair, value in said.items()}
        for metric in winners
    }
    one, two = (without_noise(sum(hits[metric].values()) / len(said), right) for metric in (first, second))
    same = sum(hits[first][pair] == hits[second][pair] for pair in said) / len(said)
    return {
        "first": one,
        "second": two,
        "agreement": min(max(same, abs(one + two - 1)), 1 - abs(one - two)),
    }
