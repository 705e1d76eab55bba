"""Consensus, agreement and workers of a study: computed from its rows, stored, and told as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone

from evaluation import loaders
from evaluation.aggregation import (
    NO_ONE,
    RESAMPLES,
    PairConsensus,
    measure_agreement,
    pair_consensus,
    system_tallies,
    unit_consensus,
    worker_table,
)
from evaluation.models import Analysis, Consensus
from evaluation.provenance import signature
from evaluation.records import JudgmentTable, PairRow, UnitRow
from judgments.kinds import KINDS, Figures
from judgments.kinds import Consensus as UnitConsensus
from judgments.models import Study
from judgments.services.generation import Progress, no_progress
from judgments.services.studies import design_of
from judgments.stopping import stopping_in_words, stops_early

ROWS_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class StudyConsensus:
    """The consensus of a study's units and pairs, and the hash of the judgments behind it.

    Attributes:
        units, pairs: in their order; no control items.
        of_unit: unit row id -> consensus; units without used judgments are missing.
        of_pair: pair row id -> winner.
    """

    units: list[UnitRow]
    pairs: list[PairRow]
    of_unit: Mapping[int, UnitConsensus]
    of_pair: Mapping[int, PairConsensus]
    data_hash: str


@dataclass(frozen=True, slots=True)
class Aggregation:
    """Everything ``aggregate`` computes. ``settings`` and ``signature`` say how.

    Attributes:
        contents: unit row id -> what an open kind shows of it.
        figures: what the kind says beyond consensus and agreement.
    """

    study: Study
    consensus: StudyConsensus
    contents: Mapping[int, Mapping[str, Any]]
    figures: Figures
    agreement: dict[str, Any]
    workers: list[dict[str, Any]]
    counts: dict[str, int]
    systems: list[dict[str, Any]]
    settings: dict[str, Any]
    signature: str

    def as_json(self) -> dict[str, Any]:
        """What `aggregate --output` writes: units, pairs, agreement, workers (docs/evaluation.md)."""
        found = self.consensus
        keys = {pair.pk: pair.key for pair in found.pairs}
        return {
            "units": [self._unit_dict(unit, keys) for unit in found.units],
            "pairs": [_pair_dict(pair, found.of_pair[pair.pk]) for pair in found.pairs],
            "agreement": self.agreement,
            "workers": self.workers,
            **({"figures": dict(self.figures.study)} if self.figures.study else {}),
        }

    def _unit_dict(self, unit: UnitRow, pair_keys: Mapping[int, str]) -> dict[str, Any]:
        kind = KINDS[self.study.protocol]
        one = self.consensus.of_unit.get(unit.pk, NO_ONE)
        answer: dict[str, Any] = {}
        if kind.is_open:
            said = one.answer
            answer["answer"] = None if said is None else kind.exported(said, content=self.contents[unit.pk])
        return {
            "unit": unit.key,
            "protocol": self.study.protocol,
            "kind": unit.kind or None,
            "pair": pair_keys[unit.pair] if unit.pair is not None else None,
            **_consensus_dict(one),
            **answer,
            **self.figures.units.get(unit.pk, {}),
        }


def _decided(one: UnitConsensus) -> bool:
    return one.value is not None or (one.answer is not None and not one.tie)


def _consensus_dict(one: UnitConsensus) -> dict[str, Any]:
    return {
        "n": one.n,
        "value": one.value,
        "share": one.share,
        "margin": one.margin,
        "tie": one.tie,
    }


def _pair_dict(pair: PairRow, found: PairConsensus) -> dict[str, Any]:
    return {
        "pair": pair.key,
        "kind": pair.kind or None,
        "first": pair.first,
        "second": pair.second,
        "value": found.value,
        "wins": found.wins,
        "losses": found.losses,
        "ties": found.ties,
        "tie": found.tie,
    }


def consensus_of(study: Study, table: JudgmentTable) -> StudyConsensus:
    """What the judgments in ``table`` say of the study's units and pairs; nothing is stored."""
    units, pairs = loaders.unit_rows(study), loaders.pair_rows(study)
    of_unit = unit_consensus(KINDS[study.protocol], table)
    return StudyConsensus(units, pairs, of_unit, pair_consensus(units, pairs, of_unit), table.data_hash)


def compute_aggregation(*, study: Study, progress: Progress = no_progress) -> Aggregation:
    """Consensus, agreement and workers of ``study``; nothing is stored."""
    kind, design = KINDS[study.protocol], design_of(study)
    progress(0.05, "reading judgments")
    table = loaders.load_judgments(study)
    progress(0.35, "finding the consensus")
    consensus = consensus_of(study, table)
    judged = loaders.judged_answers(study, table) if kind.has_figures else []
    progress(0.5, "measuring agreement")
    workers = loaders.worker_rows(study)
    agreement = measure_agreement(
        kind,
        table,
        consensus.units,
        workers,
        judged,
        seed=design.seed,
        full_depth=loaders.full_depth_units(study),
    )
    settings = {
        "protocol": study.protocol,
        "controls": "as-imported" if study.source == Study.Source.IMPORTED else design.controls.threshold,
        "pair-ties": "set-aside",
        "alpha": kind.level,
        "resamples": RESAMPLES,
        "seed": design.seed,
        **({"stopping": stopping_in_words(design)} if stops_early(study) else {}),
    }
    return Aggregation(
        study=study,
        consensus=consensus,
        contents={one.unit.pk: one.unit.content for one in judged},
        figures=kind.figures(judged, seed=design.seed) if judged else Figures(),
        agreement=agreement,
        workers=worker_table(table, workers, loaders.control_records_of(study), loaders.work_times(study)),
        counts={
            "judgments": len(table),
            "control_judgments": int(table.control.sum()),
            "unused_judgments": int((~table.used & ~table.control).sum()),
            "counted_judgments": int(table.counted.sum()),
            "units": len(consensus.units),
            "units_with_consensus": sum(_decided(one) for one in consensus.of_unit.values()),
            "unit_ties": sum(one.tie for one in consensus.of_unit.values()),
            "pairs": len(consensus.pairs),
            "pairs_with_consensus": sum(one.value is not None for one in consensus.of_pair.values()),
            "pair_ties": sum(one.tie for one in consensus.of_pair.values()),
            "published_winners": sum(one.published for one in consensus.of_pair.values()),
            "workers": len(workers),
        },
        systems=system_tallies(
            [_pair_dict(pair, consensus.of_pair[pair.pk]) for pair in consensus.pairs],
            loaders.systems_of_pairs(study),
        ),
        settings=settings,
        signature=signature("aggregation", settings),
    )


@transaction.atomic
def store_aggregation(aggregation: Aggregation) -> Analysis:
    """Replace the stored consensus of the study, and keep agreement and workers as an analysis.

    The same procedure on the same judgments replaces its earlier row: repeating changes nothing but the time.
    """
    study, found = aggregation.study, aggregation.consensus
    Study.objects.select_for_update().get(pk=study.pk)  # two at once would both insert
    Consensus.objects.filter(study=study).delete()
    Consensus.objects.bulk_create(_consensus_rows(study, found, aggregation.figures), batch_size=ROWS_AT_ONCE)
    analysis, _ = Analysis.objects.update_or_create(
        study=study,
        what=Analysis.What.AGGREGATION,
        signature=aggregation.signature,
        data_hash=found.data_hash,
        defaults={
            "settings": aggregation.settings,
            "result": {
                "agreement": aggregation.agreement,
                "workers": aggregation.workers,
                "counts": aggregation.counts,
                "systems": aggregation.systems,
                "figures": dict(aggregation.figures.study),
            },
            "created_at": timezone.now(),
        },
    )
    return analysis


def _consensus_rows(study: Study, found: StudyConsensus, figures: Figures) -> Iterator[Consensus]:
    for unit in found.units:
        one = found.of_unit.get(unit.pk)
        if one is not None:
            yield Consensus(
                study=study,
                unit_id=unit.pk,
                n=one.n,
                value=one.value,
                answer=figures.units.get(unit.pk) if one.answer is None else one.answer,
                share=one.share,
                margin=one.margin,
                tie=one.tie,
                votes=dict(one.votes),
            )
    for pair in found.pairs:
        two = found.of_pair[pair.pk]
        n = two.wins + two.losses + two.ties
        if n or two.published:
            yield Consensus(
                study=study,
                pair_id=pair.pk,
                source=Consensus.Source.PUBLISHED if two.published else Consensus.Source.JUDGMENTS,
                n=n,
                value=two.value,
                share=max(two.wins, two.losses) / n if n else None,
                margin=abs(two.wins - two.losses) / n if n else None,
                tie=two.tie,
                votes={"wins": two.wins, "losses": two.losses, "ties": two.ties} if n else {},
            )


def aggregate_study(*, study: Study, progress: Progress = no_progress) -> dict[str, Any]:
    """Compute and store consensus, agreement and worker quality of ``study``.

    Returns:
        ``{"units", "pairs", "agreement", "workers"}`` as docs/evaluation.md describes them.
    """
    aggregation = compute_aggregation(study=study, progress=progress)
    progress(0.7, "storing the consensus")
    store_aggregation(aggregation)
    progress(1.0, "done")
    return aggregation.as_json()
