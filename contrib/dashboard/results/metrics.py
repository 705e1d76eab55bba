"""Compare metrics with people's judgments for the dashboard, now and at each checkpoint."""

from __future__ import annotations

from typing import Any

import numpy as np

from contrib.dashboard.replay import (
    VotesInOrder,
    accuracy_so_far,
    correlation_so_far,
    means_so_far,
    winners_so_far,
)
from contrib.dashboard.scores import CandidateScores
from evaluation.data.judgment_sets import loaders
from evaluation.data.judgment_sets.records import JudgmentTable, Units
from evaluation.results.consensus.clusters import clusters_of_captions
from evaluation.results.metrics.texts import pair_kinds
from judgments.kinds import KINDS
from judgments.models import Study
from quorum.numeric.arrays import places_in


def evaluate_metrics(
    study: Study, votes: VotesInOrder, units: Units, judgments: JudgmentTable, scores: CandidateScores
) -> dict[str, Any]:
    """Return the results of metrics under ``all`` and, if there are several, by pair kind; {} without any results.

    Args:
        votes: the included judgments in the order of arrival.
        judgments: all judgments.
    """
    if not scores.by_metric or not len(votes):
        return {}
    decisions = _decided_units(study, units)
    if KINDS[study.protocol].compares_pairs:
        return _evaluate_on_pairs(votes, units, scores, decisions)
    return {"all": _evaluate_on_captions(study, votes, units, judgments, scores, decisions)}


def _evaluate_on_captions(
    study: Study,
    votes: VotesInOrder,
    units: Units,
    judgments: JudgmentTable,
    scores: CandidateScores,
    decisions: dict[int, float],
) -> dict[str, Any]:
    # Keep the order of the scores, as an evaluation does, so that equal numbers have equal intervals.
    unit_index = places_in(units.pk, scores.row_ids)  # -1 for units without judgments
    means = [
        (vote_count, np.where(unit_index >= 0, mean[unit_index], np.nan))
        for vote_count, mean in means_so_far(votes, decisions)
    ]
    clusters = clusters_of_captions(
        judgments,
        scores.row_ids,
        scores.images,
        ratings=(),  # needed only if several units judge a caption; here each caption is one unit
        adjudicated_units=loaders.decisions_of(study),
        anonymous=votes.anonymous,
    )
    weights = None
    if weight_by_unit := loaders.weights_of_units(study):  # {} unless the filter's rejects are judged, too
        weights = np.array([weight_by_unit.get(pk, 1.0) for pk in scores.row_ids.tolist()])
    return correlation_so_far(means, scores.by_metric, clusters, weights)


def _evaluate_on_pairs(
    votes: VotesInOrder, units: Units, scores: CandidateScores, decisions: dict[int, float]
) -> dict[str, Any]:
    pair_count = len(scores.row_ids)
    pair_index = places_in(scores.row_ids, units.pair)  # of each unit; all pairs of the study have scores
    winners = list(winners_so_far(votes, pair_index, scores.images, decisions))
    kind_of_pair = np.full(pair_count, -1, dtype=np.int64)  # -1 for pairs without judged units
    kind_of_pair[pair_index] = units.kind
    codes = np.unique(kind_of_pair[kind_of_pair >= 0]).tolist()
    code_by_kind = {units.kinds[code]: code for code in codes if units.kinds[code]}
    names = pair_kinds(code_by_kind)
    is_of_kind = {name: kind_of_pair == code_by_kind[name] for name in names} if len(names) > 1 else {}
    is_of_kind["all"] = np.ones(pair_count, dtype=np.bool_)
    return accuracy_so_far(winners, scores.by_metric, is_of_kind)


def _decided_units(study: Study, units: Units) -> dict[int, float]:
    """Return the adjudicated values by the unit's index in ``units``."""
    decisions = loaders.decisions_of(study)
    codes = places_in(units.pk, np.fromiter(decisions, dtype=np.int64, count=len(decisions))).tolist()
    values = [decision.value for decision in decisions.values()]
    return {code: value for code, value in zip(codes, values, strict=True) if code >= 0}
