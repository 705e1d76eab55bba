"""Read the pairs or units at some positions of a ranking of disagreements, with metrics' scores and the consensus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from contrib.error_analysis.stored_rankings import RankedDisagreements
from evaluation.models import Analysis, Consensus, MetricScore
from judgments.kinds import KINDS
from judgments.models import CandidatePair, Study, Unit

# The scores of both texts of a pair, by metric. The second is None if a single text is judged.
ScoresByMetric = dict[str, tuple[float, float | None]]


@dataclass(frozen=True, slots=True)
class MetricDisagreement:
    """A pair or a unit on which a metric and people disagree.

    Attributes:
        row: the candidate pair, or the unit.
        consensus: people's consensus on it.
        metric, people: how certain each is (pairs), or the share of captions that it ranks lower (captions); 0 to 1.
        size: the size of the disagreement, by which the list is sorted.
    """

    row: Any
    consensus: Consensus | None
    metric: float
    people: float
    size: float
    scores: ScoresByMetric


def disagreements_at(
    study: Study, analysis: Analysis, stored_ranking: RankedDisagreements, positions: Sequence[int]
) -> list[MetricDisagreement]:
    """Return the disagreements at these positions of a ranking. Rows that were deleted meanwhile are left out."""
    compares_pairs = KINDS[study.protocol].compares_pairs
    pks = [int(stored_ranking.pks[position]) for position in positions]
    if compares_pairs:
        judged_rows: Any = CandidatePair.objects.filter(pk__in=pks).select_related("item", "first", "second")
        consensus_rows = Consensus.objects.filter(pair__in=pks)
        score_rows = MetricScore.objects.filter(analysis=analysis, pair__in=pks)
    else:
        judged_rows = Unit.objects.filter(pk__in=pks).select_related("item", "first")
        consensus_rows = Consensus.objects.filter(unit__in=pks)
        score_rows = MetricScore.objects.filter(analysis=analysis, unit__in=pks)
    rows_by_pk = {row.pk: row for row in judged_rows}
    consensus = {row.pair_id if compares_pairs else row.unit_id: row for row in consensus_rows}
    scores: dict[int, ScoresByMetric] = {}
    for score in score_rows.order_by("pk"):
        pk = score.pair_id if compares_pairs else score.unit_id
        scores.setdefault(pk or 0, {})[score.metric] = (score.first, score.second)  # `pk` is never None here
    ranking = stored_ranking.ranking
    return [
        MetricDisagreement(
            row=rows_by_pk[pk],
            consensus=consensus.get(pk),
            metric=float(ranking.metric[position]),
            people=float(ranking.people[position]),
            size=float(ranking.size[position]),
            scores=scores.get(pk, {}),
        )
        for position, pk in zip(positions, pks, strict=True)
        if pk in rows_by_pk
    ]
