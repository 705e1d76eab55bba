"""Rank where a metric and people disagree, and read what both say of one pair or caption."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from typing import Any

import numpy as np
import scipy  # its parts load when they are first used
from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext as _

from annotation.models import Judgment
from common.errors import NotThere
from common.texts import one_text
from evaluation.data.judgment_sets import loaders
from evaluation.models import Analysis, Consensus, MetricScore
from judgments.cached_figures import cached_figures, has_many_rows, required_figures
from judgments.figures import Figures, add_figures
from judgments.kinds import KINDS
from judgments.models import CandidatePair, Caption, Study, Unit
from quorum.numeric.arrays import Floats, Ints

CACHED_RANKINGS = 64


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """A metric's disagreements with people, largest first.

    Attributes:
        rows: (k,) int64, indices of the input rows.
        metric, people: (k,) float64 in [0, 1]: confidence (pairs), or rank of the caption.
        size: (k,) float64 in [0, 1].
        compared: number of rows with both.
    """

    rows: Ints
    metric: Floats
    people: Floats
    size: Floats
    compared: int


def quantiles(values: Floats) -> Floats:
    """Return (n,) shares of smaller values, plus half of the equal ones."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    below = np.cumsum(counts) - counts / 2
    return np.asarray(below[places] / max(values.size, 1))


def certainty(wins: Floats, losses: Floats) -> Floats:
    """Return (n,) confidences in [0, 1] that most people give the leading answer.

    |2p - 1| for the posterior probability p, from a uniform prior, that the share of wins exceeds one half.
    """
    return np.asarray(np.abs(1.0 - 2.0 * scipy.special.betainc(wins + 1.0, losses + 1.0, 0.5)))


def rank_pairs(first: Floats, second: Floats, winner: Ints, wins: Floats, losses: Floats) -> Ranking:
    """Rank candidate pairs on whose winner the metric and people differ.

    The size is the quantile of the metric's margin times people's ``certainty``.

    Args:
        first, second: (n,) the metric's scores.
        winner: (n,) 1 or 2 by people; 0 without consensus.
        wins, losses: (n,) votes; both 0 for a winner published without votes, which counts as one vote.
    """
    known = winner > 0
    margin = np.abs(first - second)
    metric = np.zeros(first.size)
    metric[known] = quantiles(margin[known])
    silent = known & (wins + losses == 0)
    people = certainty(wins + (silent & (winner == 1)), losses + (silent & (winner == 2)))
    opposed = known & (margin > 0) & ((first > second) != (winner == 1))
    return _ranking(opposed, metric, people, metric * people, int(known.sum()))


def rank_captions(scores: Floats, people: Floats) -> Ranking:
    """Rank captions by distance of the metric's rank from people's; (n,) each, nan for missing."""
    known = ~np.isnan(people)
    metric, human = np.zeros(scores.size), np.zeros(scores.size)
    metric[known], human[known] = quantiles(scores[known]), quantiles(people[known])
    distance = np.abs(metric - human)
    return _ranking(known & (distance > 0), metric, human, distance, int(known.sum()))


def _ranking(included: np.ndarray, metric: Floats, people: Floats, size: Floats, compared: int) -> Ranking:
    rows = np.flatnonzero(included)
    rows = rows[np.argsort(-size[rows], kind="stable")]
    return Ranking(rows, metric[rows], people[rows], size[rows], compared)


@dataclass(frozen=True, slots=True)
class MetricDisagreement:
    judged: Any  # a pair or a unit
    consensus: Consensus | None
    metric: float
    people: float
    size: float
    scores: dict[str, tuple[float, float | None]]


@dataclass(frozen=True, slots=True, eq=False)
class RankedDisagreements:
    pks: np.ndarray
    kinds: tuple[str, ...]
    ranking: Ranking

    def of_kind(self, kind: str) -> list[int]:
        return [position for position, row_kind in enumerate(self.kinds) if not kind or row_kind == kind]


@dataclass(frozen=True, slots=True)
class Vote:
    worker: str
    value: float | None
    used: bool


@dataclass(frozen=True, slots=True)
class Inspection:
    """A pair or caption with people's answers; ``references`` are those used by metrics."""

    key: str
    kind: str
    item: Any
    captions: tuple[Caption, ...]
    references: tuple[str, ...]
    consensus: Consensus | None
    votes: tuple[tuple[Unit, tuple[Vote, ...]], ...]


def newest_evaluation(study: Study) -> Analysis | None:
    scored = Exists(MetricScore.objects.filter(analysis=OuterRef("pk")))
    return Analysis.objects.newest_first(study, Analysis.What.META_EVALUATION).filter(scored).first()


def find_disagreements(
    study: Study, analysis: Analysis, metric: str, *, wait: bool = True
) -> RankedDisagreements:
    """Return the ranked disagreements of a metric with people.

    Args:
        wait: rank now whatever the size; for pages a job ranks large studies.

    Raises:
        NotThere: the analysis lacks the metric. FiguresPending: the job is running.
    """
    if metric not in analysis.result["metrics"]:
        known = ", ".join(analysis.result["metrics"])
        raise NotThere(
            _("Metric %(metric)r was not computed for study %(slug)r; computed are %(known)s.")
            % {"metric": metric, "slug": study.slug, "known": known}
        )
    stamp = _cache_key(study, analysis)
    if wait or not _is_large(study):
        return _rank_by_metric(study.pk, KINDS[study.protocol].compares_pairs, analysis.pk, metric, stamp)
    return _ranking_of_job(study.pk, metric, stamp)


def _cache_key(study: Study, analysis: Analysis) -> tuple[Any, ...]:
    aggregated = Analysis.objects.newest_first(study, Analysis.What.AGGREGATION)
    return analysis.pk, analysis.created_at, aggregated.values_list("created_at", flat=True).first()


def _is_large(study: Study) -> bool:
    return has_many_rows((study.pairs if KINDS[study.protocol].compares_pairs else study.units).all())


@lru_cache(maxsize=CACHED_RANKINGS)
def _ranking_of_job(study: int, metric: str, stamp: tuple[Any, ...]) -> RankedDisagreements:
    """Return a job's ranking. Raise FiguresPending."""
    return _decode_ranking(
        required_figures(cached_figures(Study.objects.get(pk=study), DISAGREEMENTS))[metric]
    )


def _rank_by_all_metrics(study: Study) -> dict[str, str]:
    analysis = newest_evaluation(study)
    if analysis is None:
        return {}
    pairs = KINDS[study.protocol].compares_pairs
    scored = MetricScore.objects.filter(analysis=analysis).order_by("pk")
    rank = _rank_stored_pairs if pairs else _rank_stored_captions
    return {
        metric: _encode_ranking(rank(study.pk, scored.filter(metric=metric)))
        for metric in analysis.result["metrics"]
    }


def _encode_ranking(ranked: RankedDisagreements) -> str:
    """Encode a ranking losslessly as text that parses much faster than lists of numbers."""
    kinds, code = np.unique(np.array(ranked.kinds, dtype=np.str_), return_inverse=True)
    ranking, file = ranked.ranking, BytesIO()
    np.savez_compressed(
        file, pks=ranked.pks, kinds=kinds, code=code.astype(np.int16), rows=ranking.rows, metric=ranking.metric,
        people=ranking.people, size=ranking.size, compared=ranking.compared,
    )  # fmt: skip
    return b64encode(file.getvalue()).decode()


def _decode_ranking(text: str) -> RankedDisagreements:
    with np.load(BytesIO(b64decode(text)), allow_pickle=False) as arrays:
        kinds = arrays["kinds"].tolist()
        return RankedDisagreements(
            arrays["pks"],
            tuple(kinds[code] for code in arrays["code"].tolist()),
            Ranking(
                arrays["rows"], arrays["metric"], arrays["people"], arrays["size"], int(arrays["compared"])
            ),
        )


def _rankings_version(study: Study) -> object:
    analysis = newest_evaluation(study)
    return [str(part) for part in _cache_key(study, analysis)] if analysis else None


DISAGREEMENTS: Figures[dict[str, str]] = add_figures(
    Figures(
        "disagreements",
        _rank_by_all_metrics,
        rows=len,
        version=_rankings_version,
        exact=True,
        beyond_a_page=_is_large,
    )
)


@lru_cache(maxsize=CACHED_RANKINGS)
def _rank_by_metric(
    study: int, pairs: bool, analysis: int, metric: str, stamp: tuple[Any, ...]
) -> RankedDisagreements:
    """Rank and cache; ``stamp`` invalidates older entries."""
    rows = MetricScore.objects.filter(analysis=analysis, metric=metric).order_by("pk")
    return _rank_stored_pairs(study, rows) if pairs else _rank_stored_captions(study, rows)


def _rank_stored_pairs(study: int, rows: Any) -> RankedDisagreements:
    table = list(rows.values_list("pair_id", "pair__kind", "first", "second"))
    consensus = Consensus.objects.filter(study=study)
    of_pair = {
        pk: (value or 0, votes.get("wins", 0), votes.get("losses", 0))
        for pk, value, votes in consensus.filter(pair__isnull=False).values_list("pair_id", "value", "votes")
    }
    # A one-unit pair shows its voters; others show the units that each candidate won.
    alone = consensus.filter(unit__pair__consensus__n=1).values_list("unit__pair_id", "votes")
    for pk, votes in alone:
        of_pair[pk] = (of_pair[pk][0], votes.get("1", 0), votes.get("2", 0))
    people = np.array([of_pair.get(pk, (0, 0, 0)) for pk, *_ in table], dtype=np.float64).reshape(-1, 3)
    scores = np.array([row[2:] for row in table], dtype=np.float64).reshape(-1, 2)
    ranking = rank_pairs(
        scores[:, 0], scores[:, 1], people[:, 0].astype(np.int64), people[:, 1], people[:, 2]
    )
    return _ranked_rows(table, ranking)


def _rank_stored_captions(study: int, rows: Any) -> RankedDisagreements:
    table = list(rows.values_list("unit_id", "unit__kind", "first"))
    decided = Consensus.objects.filter(study=study, unit__isnull=False)
    answers = decided.values_list("unit_id", "share", "value")
    people = {pk: value if share is None else share for pk, share, value in answers}
    known = [people.get(pk) for pk, *_ in table]
    ranking = rank_captions(
        np.array([row[2] for row in table], dtype=np.float64),
        np.array([np.nan if answer is None else answer for answer in known], dtype=np.float64),
    )
    return _ranked_rows(table, ranking)


def _ranked_rows(table: Sequence[tuple[Any, ...]], ranking: Ranking) -> RankedDisagreements:
    pks = np.array([row[0] for row in table], dtype=np.int64)
    return RankedDisagreements(
        pks[ranking.rows], tuple(table[row][1] for row in ranking.rows.tolist()), ranking
    )


def disagreements_at(
    study: Study, analysis: Analysis, ranked: RankedDisagreements, positions: Sequence[int]
) -> list[MetricDisagreement]:
    pairs = KINDS[study.protocol].compares_pairs
    pks = [int(ranked.pks[position]) for position in positions]
    if pairs:
        judged: Any = CandidatePair.objects.filter(pk__in=pks).select_related("item", "first", "second")
        decided = Consensus.objects.filter(pair__in=pks)
        scored = MetricScore.objects.filter(analysis=analysis, pair__in=pks)
    else:
        judged = Unit.objects.filter(pk__in=pks).select_related("item", "first")
        decided = Consensus.objects.filter(unit__in=pks)
        scored = MetricScore.objects.filter(analysis=analysis, unit__in=pks)
    by_pk = {row.pk: row for row in judged}
    consensus = {row.pair_id if pairs else row.unit_id: row for row in decided}
    scores: dict[int, dict[str, tuple[float, float | None]]] = {}
    for score in scored.order_by("pk"):
        pk = score.pair_id if pairs else score.unit_id
        scores.setdefault(pk or 0, {})[score.metric] = (score.first, score.second)
    ranking = ranked.ranking
    return [
        MetricDisagreement(
            judged=by_pk[pk],
            consensus=consensus.get(pk),
            metric=float(ranking.metric[position]),
            people=float(ranking.people[position]),
            size=float(ranking.size[position]),
            scores=scores.get(pk, {}),
        )
        for position, pk in zip(positions, pks, strict=True)
        if pk in by_pk
    ]


def find_inspection(study: Study, key: str) -> Inspection:
    """Return a candidate pair or image-caption unit by id. Raise NotThere."""
    kind = KINDS[study.protocol]
    if kind.compares_pairs:
        pair = (
            CandidatePair.objects.filter(study=study, key=key)
            .select_related("item", "first", "second", "first_system", "second_system", "consensus")
            .first()
        )
        if pair is None:
            raise NotThere(
                _("Study %(slug)r has no candidate pair %(key)r.") % {"slug": study.slug, "key": key}
            )
        units = list(pair.units.filter(control=False).select_related("reference").order_by("position"))
        texts = dict(_references_of(pair.item_id))
        references = tuple(texts[ref] for ref in pair.references if ref in texts) or tuple(texts.values())
        consensus = Consensus.objects.filter(pair=pair).first()
        return Inspection(
            key, pair.kind, pair.item, (pair.first, pair.second), references, consensus, _votes(study, units)
        )
    unit = Unit.objects.filter(study=study, key=key, control=False).select_related("item", "first").first()
    if unit is None or unit.first is None:
        raise NotThere(_("Study %(slug)r has no judged text %(key)r.") % {"slug": study.slug, "key": key})
    # As in the evaluation, exclude a reference equal to the caption.
    references = tuple(
        text for _, text in _references_of(unit.item_id) if one_text(text) != one_text(unit.first.text)
    )
    consensus = Consensus.objects.filter(unit=unit).first()
    return Inspection(key, unit.kind, unit.item, (unit.first,), references, consensus, _votes(study, [unit]))


def _references_of(item: int) -> list[tuple[str, str]]:
    rows = Caption.objects.filter(item=item, role=Caption.Role.REFERENCE).order_by("position", "pk")
    return list(rows.values_list("key", "text"))


def _votes(study: Study, units: Sequence[Unit]) -> tuple[tuple[Unit, tuple[Vote, ...]], ...]:
    unused = loaders.excluded_workers(study)
    rows = Judgment.objects.current().filter(unit__in=units)
    names = ("unit_id", "assignment__worker__name", "assignment__worker_id", "value", "set_aside")
    by_unit: dict[int, list[Vote]] = {}
    for unit, name, worker, value, set_aside in rows.values_list(*names):
        vote = Vote(name, value, not set_aside and worker not in unused)
        by_unit.setdefault(unit, []).append(vote)
    return tuple(
        (unit, tuple(sorted(by_unit.get(unit.pk, []), key=lambda vote: vote.worker))) for unit in units
    )


def other_scores(analysis: Analysis, inspection: Inspection) -> dict[str, tuple[float, float | None]]:
    rows = MetricScore.objects.filter(analysis=analysis).filter(
        Q(pair__key=inspection.key, pair__study=analysis.study_id)
        | Q(unit__key=inspection.key, unit__study=analysis.study_id)
    )
    return {score.metric: (score.first, score.second) for score in rows.order_by("pk")}
