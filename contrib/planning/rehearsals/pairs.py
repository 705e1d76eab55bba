"""The true winners of a rehearsed study's pairs, and how often systems, metrics and people are right about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.data.judgment_sets import loaders
from evaluation.results.agreement import clustered_share
from evaluation.results.metrics.evaluation import MetaEvaluation
from evaluation.results.systems import SystemsVerdict
from judgments.models import Study, Unit
from judgments.studies.designs import design_of
from quorum.numeric.arrays import Ints
from quorum.statistics.crossed import ITEM
from quorum.statistics.inputs import StatisticsError
from quorum.statistics.meta import metric_winners
from quorum.statistics.power import People

ESTIMATE = ("value", "low", "high", "n")
NO_ESTIMATE = dict.fromkeys(ESTIMATE) | {"n": 0}


@dataclass(frozen=True, slots=True)
class KnownPairs:
    """The true winners (1 or 2) and the clusters of pairs, by the pair's row id."""

    truth: Mapping[int, int]
    cluster: Mapping[int, int]


def share_by_item(right: Sequence[bool], clusters: Sequence[int] | Ints) -> dict[str, Any]:
    columns = {ITEM: np.asarray(clusters, dtype=np.int64)}
    return clustered_share(np.array(right, dtype=np.bool_), np.ones(len(right), dtype=np.bool_), columns)


def known_pairs(study: Study, truths: Mapping[int, Any]) -> KnownPairs:
    units = Unit.objects.filter(study=study, control=False, pair__isnull=False)
    rows = {pair: (unit, item) for pair, unit, item in units.values_list("pair_id", "pk", "item_id")}
    clusters = loaders.clusters_of_items(study, [item for _, item in rows.values()])
    return KnownPairs(
        truth={pair: int(truths[unit]) for pair, (unit, _) in rows.items()},
        cluster=dict(zip(rows, clusters.tolist(), strict=True)),
    )


def people_of_crowd(study: Study, truths: Mapping[int, Any]) -> People | None:
    table, design = loaders.load_judgments(study), design_of(study)
    keep = table.counted
    truth = np.array([int(truths[unit]) for unit in table.unit[keep].tolist()])
    if not truth.size:
        return None
    try:
        return People(
            right=float((table.value[keep] == truth).mean()),
            pair_spread=0.0,
            careless=0.0,
            worker_spread=0.0,
            pairs_each=max(1, design.units_per_hit - design.controls.per_hit),
            raters=max(len(np.unique(table.worker[keep])), design.judgments_per_unit),
        )
    except StatisticsError:  # a crowd with less than chance accuracy decides nothing
        return None


def metric_hits(evaluation: MetaEvaluation | None, pairs: KnownPairs) -> dict[str, dict[int, int]]:
    if evaluation is None or evaluation.judged.pks is None:
        return {}
    pks = evaluation.judged.pks.tolist()
    return {
        name: {
            pk: winner
            for pk, winner in zip(pks, metric_winners(scores[:, 0], scores[:, 1]).tolist(), strict=True)
            if pk in pairs.truth
        }
        for name, scores in evaluation.judged.scores.items()
    }


def share_of_truth(named: Mapping[int, int], pairs: KnownPairs) -> dict[str, Any]:
    """Return the share of pairs whose named side is the true winner.

    Args:
        named: the named side by pair row id.
    """
    right = [side == pairs.truth[pair] for pair, side in named.items()]
    return share_by_item(right, [pairs.cluster[pair] for pair in named])


def accuracy_of(evaluation: MetaEvaluation | None, metric: str) -> dict[str, Any]:
    """Return the accuracy of a metric from an evaluation."""
    assert evaluation is not None, "it has the metric"
    return {name: evaluation.result["metrics"][metric]["accuracy"]["all"][name] for name in ESTIMATE}


def compared_systems(study: Study, pairs: KnownPairs) -> dict[int, tuple[str, str]]:
    of_pair = loaders.systems_of_pairs(study)
    rows = {pair.pk: of_pair[pair.key] for pair in loaders.pair_rows(study) if pair.pk in pairs.truth}
    return {pk: names for pk, names in rows.items() if names[0] != names[1]}


def system_rows(
    meetings: Mapping[int, tuple[str, str]], pairs: KnownPairs, verdict: SystemsVerdict | None
) -> list[dict[str, Any]]:
    """Return for each system how often it truly wins, and how often it wins by the votes, as in the verdict."""
    results = {row["system"]: row for row in verdict["systems"]} if verdict else {}
    rows = []
    for name in sorted({name for names in meetings.values() for name in names}):
        sides = {pk: names.index(name) + 1 for pk, names in meetings.items() if name in names}
        voted = {key: results.get(name, NO_ESTIMATE)[key] for key in ESTIMATE}
        rows.append({"name": name, "truth": share_of_truth(sides, pairs), "found": voted})
    return sorted(rows, key=lambda row: -(row["truth"]["value"] or 0.0))
