"""Rank the disagreements of metrics with people, by the scores and the consensus that are stored for a study.

Rankings of small studies are computed at once and cached; those of large studies are computed by a job.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from typing import Any

import numpy as np
from django.db.models import Exists, OuterRef
from django.utils.translation import gettext as _

from common.errors import ObjectNotFound
from contrib.error_analysis.ranking import DisagreementRanking, rank_captions, rank_pairs
from evaluation.models import Analysis, Consensus, MetricScore
from judgments.cached_figures import cached_figures, has_many_rows, required_figures
from judgments.figures import FiguresDefinition, add_figures
from judgments.kinds import KINDS
from judgments.models import Study

CACHED_RANKINGS = 64


@dataclass(frozen=True, slots=True, eq=False)
class RankedDisagreements:
    """The disagreements of a metric with people in a study, largest first.

    Attributes:
        pks: (k,) row ids of the pairs or units.
        kinds: (k,) kinds of the pairs; "" for units.
    """

    pks: np.ndarray
    kinds: tuple[str, ...]
    ranking: DisagreementRanking

    def of_kind(self, kind: str) -> list[int]:
        """Return the positions of the disagreements about pairs of a kind; of all for ""."""
        return [position for position, row_kind in enumerate(self.kinds) if not kind or row_kind == kind]


def newest_evaluation(study: Study) -> Analysis | None:
    """Return the newest comparison of metrics with people whose scores are stored."""
    has_scores = Exists(MetricScore.objects.filter(analysis=OuterRef("pk")))
    return Analysis.objects.newest_first(study, Analysis.Kind.META_EVALUATION).filter(has_scores).first()


def find_disagreements(
    study: Study, analysis: Analysis, metric: str, *, wait: bool = True
) -> RankedDisagreements:
    """Return the ranked disagreements of a metric with people.

    Args:
        wait: whether to rank at once, whatever the size. Without it, as for pages, a job ranks large studies.

    Raises:
        ObjectNotFound: the analysis lacks the metric.
        FiguresPending: the job is running.
    """
    if metric not in analysis.result["metrics"]:
        known_metrics = ", ".join(analysis.result["metrics"])
        raise ObjectNotFound(
            _("Metric %(metric)r was not computed for study %(slug)r; expected one of %(known)s.")
            % {"metric": metric, "slug": study.slug, "known": known_metrics}
        )
    data_version = _data_version(study, analysis)
    if wait or not _is_large(study):
        return _rank_by_metric(
            study.pk, KINDS[study.protocol].compares_pairs, analysis.pk, metric, data_version
        )
    return _read_job_ranking(study.pk, metric, data_version)


def _data_version(study: Study, analysis: Analysis) -> tuple[Any, ...]:
    """Return a value that changes when the stored scores or people's consensus change."""
    aggregations = Analysis.objects.newest_first(study, Analysis.Kind.AGGREGATION)
    return analysis.pk, analysis.created_at, aggregations.values_list("created_at", flat=True).first()


def _is_large(study: Study) -> bool:
    return has_many_rows((study.pairs if KINDS[study.protocol].compares_pairs else study.units).all())


@lru_cache(maxsize=CACHED_RANKINGS)
def _read_job_ranking(study: int, metric: str, data_version: tuple[Any, ...]) -> RankedDisagreements:
    """Return the ranking that a job computed, cached by the arguments. Raise FiguresPending while the job runs."""
    encoded_rankings = required_figures(cached_figures(Study.objects.get(pk=study), DISAGREEMENTS))
    return _decode_ranking(encoded_rankings[metric])


def _rank_by_all_metrics(study: Study) -> dict[str, str]:
    """Return the encoded ranking of each metric of the newest evaluation. This runs in a job."""
    analysis = newest_evaluation(study)
    if analysis is None:
        return {}
    compares_pairs = KINDS[study.protocol].compares_pairs
    scores = MetricScore.objects.filter(analysis=analysis).order_by("pk")
    rank = _rank_stored_pairs if compares_pairs else _rank_stored_captions
    return {
        metric: _encode_ranking(rank(study.pk, scores.filter(metric=metric)))
        for metric in analysis.result["metrics"]
    }


def _encode_ranking(disagreements: RankedDisagreements) -> str:
    """Return a ranking as text, without loss of precision. The text is parsed much faster than lists of numbers."""
    kinds, code = np.unique(np.array(disagreements.kinds, dtype=np.str_), return_inverse=True)
    ranking, file = disagreements.ranking, BytesIO()
    np.savez_compressed(
        file,
        pks=disagreements.pks,
        kinds=kinds,
        code=code.astype(np.int16),
        rows=ranking.rows,
        metric=ranking.metric,
        people=ranking.people,
        size=ranking.size,
        compared=ranking.compared,
    )
    return b64encode(file.getvalue()).decode()


def _decode_ranking(text: str) -> RankedDisagreements:
    with np.load(BytesIO(b64decode(text)), allow_pickle=False) as arrays:
        kinds = arrays["kinds"].tolist()
        return RankedDisagreements(
            arrays["pks"],
            tuple(kinds[code] for code in arrays["code"].tolist()),
            DisagreementRanking(
                arrays["rows"], arrays["metric"], arrays["people"], arrays["size"], int(arrays["compared"])
            ),
        )


def _rankings_version(study: Study) -> object:
    analysis = newest_evaluation(study)
    return [str(part) for part in _data_version(study, analysis)] if analysis else None


DISAGREEMENTS: FiguresDefinition[dict[str, str]] = add_figures(
    FiguresDefinition(
        "disagreements",
        _rank_by_all_metrics,
        rows=len,  # of no effect, since only jobs compute these figures
        version=_rankings_version,
        never_expires=True,
        always_needs_job=_is_large,
    )
)


@lru_cache(maxsize=CACHED_RANKINGS)
def _rank_by_metric(
    study: int, compares_pairs: bool, analysis: int, metric: str, data_version: tuple[Any, ...]
) -> RankedDisagreements:
    """Rank the disagreements of a metric with people.

    The result is cached for these arguments. ``data_version`` changes with the data.
    """
    rows = MetricScore.objects.filter(analysis=analysis, metric=metric).order_by("pk")
    return _rank_stored_pairs(study, rows) if compares_pairs else _rank_stored_captions(study, rows)


def _rank_stored_pairs(study: int, metric_scores: Any) -> RankedDisagreements:
    """Rank the pairs of a study by the stored scores of a metric and people's consensus."""
    scored_pairs = list(metric_scores.values_list("pair_id", "pair__kind", "first", "second"))
    pks, kinds, first_scores, second_scores = zip(*scored_pairs, strict=True) if scored_pairs else ((),) * 4
    consensus = Consensus.objects.filter(study=study)
    # the winner, and the votes for the first and the second candidate
    people_by_pair = {
        pk: (value or 0, votes.get("wins", 0), votes.get("losses", 0))
        for pk, value, votes in consensus.filter(pair__isnull=False).values_list("pair_id", "value", "votes")
    }
    # For a pair with one unit, take people's votes, by answer (1, 2), instead of the units that each candidate won.
    single_units = consensus.filter(unit__pair__consensus__n=1).values_list("unit__pair_id", "votes")
    for pk, votes in single_units:
        people_by_pair[pk] = (people_by_pair[pk][0], votes.get("1", 0), votes.get("2", 0))
    answers = [people_by_pair.get(pk, (0, 0, 0)) for pk in pks]
    winner, wins, losses = np.array(answers, dtype=np.float64).reshape(-1, 3).T
    ranking = rank_pairs(
        np.array(first_scores, dtype=np.float64),
        np.array(second_scores, dtype=np.float64),
        winner.astype(np.int64),
        wins,
        losses,
    )
    return _ranked_rows(pks, kinds, ranking)


def _rank_stored_captions(study: int, metric_scores: Any) -> RankedDisagreements:
    """Rank the captions of a study by the stored scores of a metric and people's consensus."""
    scored_units = list(metric_scores.values_list("unit_id", "unit__kind", "first"))
    pks, kinds, scores = zip(*scored_units, strict=True) if scored_units else ((),) * 3
    consensus = Consensus.objects.filter(study=study, unit__isnull=False)
    answers = consensus.values_list("unit_id", "share", "value")
    # The share of yes or, for grades and scores, the mean.
    people_by_unit = {pk: value if share is None else share for pk, share, value in answers}
    people_scores = np.array([people_by_unit.get(pk) for pk in pks], dtype=np.float64)  # None becomes nan
    ranking = rank_captions(np.array(scores, dtype=np.float64), people_scores)
    return _ranked_rows(pks, kinds, ranking)


def _ranked_rows(
    pks: Sequence[int], kinds: Sequence[str], ranking: DisagreementRanking
) -> RankedDisagreements:
    """Return a ranking with the row ids and the kinds of the ranked rows.

    Args:
        pks, kinds: those of all rows that were compared.
    """
    ranked_pks = np.array(pks, dtype=np.int64)[ranking.rows]
    return RankedDisagreements(ranked_pks, tuple(kinds[row] for row in ranking.rows.tolist()), ranking)
