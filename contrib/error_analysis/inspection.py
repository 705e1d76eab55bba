"""Read a single candidate pair or judged caption with people's answers and the scores of all metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext as _

from annotation.models import Judgment
from common.errors import ObjectNotFound
from common.texts import one_text
from contrib.error_analysis.disagreements import ScoresByMetric
from evaluation.data.judgment_sets import loaders
from evaluation.models import Analysis, Consensus, MetricScore
from judgments.kinds import KINDS
from judgments.models import CandidatePair, Caption, Study, Unit


@dataclass(frozen=True, slots=True)
class Vote:
    """A worker's answer. ``value`` is None if it is no number, and ``used`` says whether results use it."""

    worker: str
    value: float | None
    used: bool


@dataclass(frozen=True, slots=True)
class Inspection:
    """A pair or caption with people's answers.

    Attributes:
        key: id of the candidate pair or of the unit.
        kind: kind of the pair, such as HC; "" without kinds.
        references: the references that metrics use.
        votes: each unit with the answers to it.
    """

    key: str
    kind: str
    item: Any
    captions: tuple[Caption, ...]
    references: tuple[str, ...]
    consensus: Consensus | None
    votes: tuple[tuple[Unit, tuple[Vote, ...]], ...]


def read_inspection(study: Study, key: str) -> Inspection:
    """Return a candidate pair, or a caption, by the id of the pair or unit. Raise ObjectNotFound if it is unknown."""
    if KINDS[study.protocol].compares_pairs:
        return _inspect_pair(study, key)
    return _inspect_caption(study, key)


def _inspect_pair(study: Study, key: str) -> Inspection:
    pair = (
        CandidatePair.objects.filter(study=study, key=key)
        .select_related("item", "first", "second", "first_system", "second_system", "consensus")
        .first()
    )
    if pair is None:
        raise ObjectNotFound(
            _("Study %(slug)r has no candidate pair %(key)r.") % {"slug": study.slug, "key": key}
        )
    units = list(pair.units.filter(control=False).select_related("reference").order_by("position"))
    texts = dict(_references_of(pair.item_id))
    texts_of_pair = tuple(texts[name] for name in pair.references if name in texts)
    return Inspection(
        key=key,
        kind=pair.kind,
        item=pair.item,
        captions=(pair.first, pair.second),
        references=texts_of_pair or tuple(texts.values()),  # all of the image if the pair names none
        consensus=Consensus.objects.filter(pair=pair).first(),
        votes=_read_votes(study, units),
    )


def _inspect_caption(study: Study, key: str) -> Inspection:
    unit = Unit.objects.filter(study=study, key=key, control=False).select_related("item", "first").first()
    if unit is None or unit.first is None:
        raise ObjectNotFound(
            _("Study %(slug)r has no judged text %(key)r.") % {"slug": study.slug, "key": key}
        )
    # As in the evaluation, leave out a reference that equals the caption.
    references = tuple(
        text for _, text in _references_of(unit.item_id) if one_text(text) != one_text(unit.first.text)
    )
    return Inspection(
        key=key,
        kind=unit.kind,
        item=unit.item,
        captions=(unit.first,),
        references=references,
        consensus=Consensus.objects.filter(unit=unit).first(),
        votes=_read_votes(study, [unit]),
    )


def _references_of(item: int) -> list[tuple[str, str]]:
    """Return the id and the text of each reference of an image, in order."""
    rows = Caption.objects.filter(item=item, role=Caption.Role.REFERENCE).order_by("position", "pk")
    return list(rows.values_list("key", "text"))


def _read_votes(study: Study, units: Sequence[Unit]) -> tuple[tuple[Unit, tuple[Vote, ...]], ...]:
    """Return each unit with the answers to it, sorted by worker."""
    workers_below_pass_mark = loaders.workers_below_pass_mark(study)
    rows = Judgment.objects.current().filter(unit__in=units)
    columns = ("unit_id", "assignment__worker__name", "assignment__worker_id", "value", "set_aside")
    votes_by_unit: dict[int, list[Vote]] = {}
    for unit, name, worker, value, set_aside in rows.values_list(*columns):
        vote = Vote(name, value, not set_aside and worker not in workers_below_pass_mark)
        votes_by_unit.setdefault(unit, []).append(vote)
    return tuple(
        (unit, tuple(sorted(votes_by_unit.get(unit.pk, []), key=lambda vote: vote.worker))) for unit in units
    )


def all_metric_scores(analysis: Analysis, inspection: Inspection) -> ScoresByMetric:
    """Return both scores of the pair, or the caption's score and None, by all metrics of an analysis, as stored."""
    rows = MetricScore.objects.filter(analysis=analysis).filter(
        Q(pair__key=inspection.key, pair__study=analysis.study_id)
        | Q(unit__key=inspection.key, unit__study=analysis.study_id)
    )
    return {score.metric: (score.first, score.second) for score in rows.order_by("pk")}
