"""Compare what metrics, systems and people's votes say about a rehearsed study's pairs with the drawn true winners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.data.judgment_sets import loaders
from evaluation.results.metrics.evaluation import MetaEvaluation
from evaluation.results.one_against_rest import clustered_share
from evaluation.results.systems import SystemsVerdict
from judgments.models import Study, Unit
from judgments.studies.designs import design_of
from quorum.numeric.arrays import Ints
from quorum.statistics.crossed import ITEM
from quorum.statistics.inputs import StatisticsError
from quorum.statistics.meta import metric_winners
from quorum.statistics.power import VoterModel

ESTIMATE_KEYS = ("value", "low", "high", "n")
NO_ESTIMATE = dict.fromkeys(ESTIMATE_KEYS) | {"n": 0}


@dataclass(frozen=True, slots=True)
class TrueWinners:
    """The true winners of pairs.

    Attributes:
        winners: 1 or 2, by the pair's row id.
        clusters: the cluster of the pair's item, by the pair's row id.
    """

    winners: Mapping[int, int]
    clusters: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class PairFindings:
    """The results of a rehearsed study of pairs, next to the true winners.

    Attributes:
        truth: the true winners.
        people: a model of people as accurate as the simulated crowd; None without counted judgments or below chance.
        sides_of_metrics: the side that each metric names (0 for equal scores), by metric and by the pair's row id.
        compared_systems: the two systems of the pairs that compare two, by the pair's row id.
        metrics, systems: one row each, best first. "truth" is the share of pairs on which the metric names the true
            winner, or on which the system is the true winner; "found" is the same share by people's votes.
    """

    truth: TrueWinners
    people: VoterModel | None
    sides_of_metrics: Mapping[str, Mapping[int, int]]
    compared_systems: Mapping[int, tuple[str, str]]
    metrics: list[dict[str, Any]]
    systems: list[dict[str, Any]]


def compare_pairs(
    study: Study,
    true_answers: Mapping[int, Any],
    evaluation: MetaEvaluation | None,  # None if no metric could be computed
    verdict: SystemsVerdict | None,  # None if no pair is of two systems
) -> PairFindings:
    """Compare a rehearsed study of pairs with its true winners. ``true_answers`` is by the unit's row id."""
    truth = _true_winners(study, true_answers)
    sides_of_metrics = _sides_of_metrics(evaluation, truth)
    metrics = [
        {"name": name, "truth": _share_right(sides, truth), "found": _accuracy_of(evaluation, name)}
        for name, sides in sides_of_metrics.items()
    ]
    systems = _compared_systems(study, truth)
    return PairFindings(
        truth=truth,
        people=_people_of_crowd(study, true_answers),
        sides_of_metrics=sides_of_metrics,
        compared_systems=systems,
        metrics=sorted(metrics, key=lambda row: -row["truth"]["value"]),
        systems=_system_rows(systems, truth, verdict),
    )


def share_by_item(is_right: Sequence[bool], clusters: Sequence[int] | Ints) -> dict[str, Any]:
    """Return the share of rows that are right, with an interval by the clusters of their items."""
    columns = {ITEM: np.asarray(clusters, dtype=np.int64)}
    has_answer = np.ones(len(is_right), dtype=np.bool_)
    return clustered_share(np.array(is_right, dtype=np.bool_), has_answer, columns)


def _true_winners(study: Study, true_answers: Mapping[int, Any]) -> TrueWinners:
    units = Unit.objects.filter(study=study, control=False, pair__isnull=False)
    # the units of a pair, of which triplets have several, share one truth and one item
    rows = {pair: (unit, item) for pair, unit, item in units.values_list("pair_id", "pk", "item_id")}
    clusters = loaders.clusters_of_items(study, [item for _, item in rows.values()])
    return TrueWinners(
        winners={pair: int(true_answers[unit]) for pair, (unit, _) in rows.items()},
        clusters=dict(zip(rows, clusters.tolist(), strict=True)),
    )


def _people_of_crowd(study: Study, true_answers: Mapping[int, Any]) -> VoterModel | None:
    """Return a model of people with the accuracy of the counted judgments; None without any, or below chance."""
    table, design = loaders.load_judgments(study), design_of(study)
    is_counted = table.is_counted
    true_values = np.array([int(true_answers[unit]) for unit in table.unit[is_counted].tolist()])
    if not true_values.size:
        return None
    try:
        # `right` is of all votes, so it contains careless ones. A unit cannot have more votes than there are `raters`.
        return VoterModel(
            right=float((table.value[is_counted] == true_values).mean()),
            pair_spread=0.0,
            careless=0.0,
            worker_spread=0.0,
            pairs_each=max(1, design.units_per_hit - design.controls.per_hit),
            raters=max(len(np.unique(table.worker[is_counted])), design.judgments_per_unit),
        )
    except StatisticsError:  # a crowd with less than chance accuracy decides nothing
        return None


def _sides_of_metrics(evaluation: MetaEvaluation | None, truth: TrueWinners) -> dict[str, dict[int, int]]:
    """Return the side that each metric names, by metric and by the pair's row id."""
    if evaluation is None or evaluation.metric_results.pks is None:  # pairs always have ``pks``
        return {}
    pks = evaluation.metric_results.pks.tolist()
    return {
        name: {
            pk: winner
            for pk, winner in zip(pks, metric_winners(scores[:, 0], scores[:, 1]).tolist(), strict=True)
            if pk in truth.winners
        }
        for name, scores in evaluation.metric_results.scores.items()
    }


def _share_right(sides: Mapping[int, int], truth: TrueWinners) -> dict[str, Any]:
    """Return the share of pairs whose true winner is on the given side, by pair row id, of a metric or a system."""
    is_right = [side == truth.winners[pair] for pair, side in sides.items()]
    return share_by_item(is_right, [truth.clusters[pair] for pair in sides])


def _accuracy_of(evaluation: MetaEvaluation | None, metric: str) -> dict[str, Any]:
    assert evaluation is not None, "it has the metric"
    return {name: evaluation.result["metrics"][metric]["accuracy"]["all"][name] for name in ESTIMATE_KEYS}


def _compared_systems(study: Study, truth: TrueWinners) -> dict[int, tuple[str, str]]:
    """Return the two systems of each pair that compares two different ones, by the pair's row id."""
    systems_by_pair = loaders.systems_of_pairs(study)
    rows = {
        pair.pk: systems_by_pair[pair.key] for pair in loaders.pair_rows(study) if pair.pk in truth.winners
    }
    return {pk: names for pk, names in rows.items() if names[0] != names[1]}


def _system_rows(
    systems_by_pair: Mapping[int, tuple[str, str]], truth: TrueWinners, verdict: SystemsVerdict | None
) -> list[dict[str, Any]]:
    """Return for each system how often it truly wins, and how often it wins by the votes, as in the verdict."""
    results = {row["system"]: row for row in verdict["systems"]} if verdict else {}
    rows = []
    for name in sorted({name for names in systems_by_pair.values() for name in names}):
        sides = {pk: names.index(name) + 1 for pk, names in systems_by_pair.items() if name in names}
        estimate = {key: results.get(name, NO_ESTIMATE)[key] for key in ESTIMATE_KEYS}
        rows.append({"name": name, "truth": _share_right(sides, truth), "found": estimate})
    return sorted(rows, key=lambda row: -(row["truth"]["value"] or 0.0))
