"""Compute and store a study's consensus, agreement, and figures of workers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import transaction
from django.utils.translation import gettext as _

from common.amounts import as_json
from common.rows.loads import many_objects
from evaluation.data.judgment_sets import blocks, loaders
from evaluation.data.judgment_sets.material_digest import digest_of_material
from evaluation.data.judgment_sets.records import JudgmentTable, PairRow, UnitRow
from evaluation.data.judgment_sets.signatures import AS_IMPORTED
from evaluation.data.judgment_sets.study_signatures import signature_of_study
from evaluation.data.ranked_lists import newest_output_id, proposals_of
from evaluation.models import Analysis
from evaluation.results.agreement import RESAMPLES, measure_agreement
from evaluation.results.consensus.clusters import CLUSTER_OPTIONS
from evaluation.results.consensus.counts import (
    count_judgments,
    system_tallies,
    unused_answers,
    worker_figures,
)
from evaluation.results.consensus.outcomes import ADJUDICATED
from evaluation.results.consensus.storage import store_consensus
from evaluation.results.consensus.study import (
    CONSENSUS_FIELDS,
    EMPTY_CONSENSUS,
    PairConsensus,
    StudyConsensus,
    consensus_of,
)
from evaluation.results.outputs import outputs_of_answers
from evaluation.results.rankings.filter_audit import audit_filter
from evaluation.results.rankings.measures import NO_RANKINGS, judged_outputs, judged_systems, rankings_of
from evaluation.results.systems import SystemsVerdict, verdict_of_systems
from evaluation.results.worker_models import ModelInput, fit_dawid_skene, fit_worker_model, without_units
from judgments.access.study_log import note_event
from judgments.design.numbers import display_number, plain_number
from judgments.design.scale import Scale
from judgments.kinds import KINDS, IncludedJudgment, Kind, KindResults
from judgments.models import Study, SystemContent
from judgments.studies.designs import design_of, kind_of, stops_early
from judgments.studies.generation.progress import Progress, no_progress
from judgments.studies.stopping import describe_stopping
from quorum.numeric.arrays import Floats
from quorum.numeric.signatures import signature
from quorum.statistics.aggregation import standardised_mean
from quorum.statistics.crossed import NAIVE

# Keys of the file that only some studies have.
OPTIONAL_KEYS = (
    "scale", "figures", "systems", "systems_verdict", "rankings", "system_orders", "filter_audit", "clusters",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class StudyAggregation:
    """A study's consensus, agreement and figures of workers, with the settings and the signature.

    Attributes:
        contents: content of units, by row id, with which an open kind writes answers to the file.
        figures: further figures of units and of the study that the kind computes.
        model: Dawid and Skene's model with every unit; empty if answers are not categories.
        other_models: other requested models by name, with every unit.
        audited_units: row ids of the units that the design's filter rejected, and that were judged to audit it.
        result: the result as it is stored, without the consensus. Its ``outputs`` is the row id of the last system
            output that was used; None for pairs.
        judgments: signature of the judgments.
    """

    study: Study
    consensus: StudyConsensus
    contents: Mapping[int, Mapping[str, Any]]
    figures: KindResults
    model: dict[str, Any]
    other_models: Mapping[str, dict[str, Any]]
    audited_units: Set[int]
    result: dict[str, Any]
    settings: dict[str, Any]
    signature: str
    judgments: str

    def as_json(self, *, with_units: bool = True) -> dict[str, Any]:
        """Return the content of the file that `aggregate --output` writes (docs/evaluation.md). Units are optional."""
        consensus, result = self.consensus, self.result
        pair_keys = {pair.pk: pair.key for pair in consensus.pairs}
        adjudicated_pairs = consensus.adjudicated_pairs()
        pairs = []
        for pair in consensus.pairs:
            row = _pair_as_json(pair, consensus.of_pair[pair.pk])
            if pair.pk in adjudicated_pairs:
                row["source"] = ADJUDICATED
            pairs.append(row)
        file_content = {
            "units": [self._unit_as_json(unit, pair_keys) for unit in consensus.units] if with_units else [],
            "pairs": pairs,
            "agreement": result["agreement"],
            "workers": result["workers"],
            **{name: result[name] for name in OPTIONAL_KEYS if result.get(name)},
            "signature": self.judgments,
        }
        if self.model:
            file_content["dawid_skene"] = _model_as_json(self.model, with_units)
        if self.other_models:
            file_content["models"] = {
                name: _model_as_json(model, with_units) for name, model in self.other_models.items()
            }
        return file_content

    def _unit_as_json(self, unit: UnitRow, pair_keys: Mapping[int, str]) -> dict[str, Any]:
        kind = KINDS[self.study.protocol]
        outcome = self.consensus.of_unit.get(unit.pk, EMPTY_CONSENSUS)
        row: dict[str, Any] = {
            "unit": unit.key,
            "protocol": self.study.protocol,
            "kind": unit.kind or None,
            "pair": pair_keys[unit.pair] if unit.pair is not None else None,
            **{name: getattr(outcome, name) for name in CONSENSUS_FIELDS},
        }
        decision = self.consensus.decisions.get(unit.pk)
        if decision is not None:
            adjudication = as_json(decision, "by", "at", "reason", "votes")
            row |= {"source": ADJUDICATED, "adjudicated": adjudication}
        if kind.is_open:
            content = self.contents.get(unit.pk, {})
            row["answer"] = None
            if outcome.answer is not None:
                row["answer"] = kind.exchange.to_file(outcome.answer, content=content)
        row |= self.figures.units.get(unit.pk, {})
        if unit.pk in self.audited_units:
            row |= {"audited": True, "weight": self.result["filter_audit"]["weight"]}
        return row


def _model_as_json(model: Mapping[str, Any], with_units: bool) -> Any:
    return as_json(model if with_units else without_units(model))


def _pair_as_json(pair: PairRow, outcome: PairConsensus) -> dict[str, Any]:
    return {
        "pair": pair.key,
        "kind": pair.kind or None,
        "first": pair.first,
        "second": pair.second,
        **{name: getattr(outcome, name) for name in ("value", "wins", "losses", "ties", "tie")},
    }


def _scale_as_json(scale: Scale) -> dict[str, float]:
    """Return a study's own scale as JSON.

    A mean above ``describes_above``, the middle of the scale, counts as "the text describes the item".
    """
    steps = {name: getattr(scale, name) for name in ("low", "high", "step")}
    return {**steps, "describes_above": plain_number(scale.middle)}


def scale_sentence(result: Mapping[str, Any]) -> str:
    """Return two sentences on the scale of the answers and the middle of the scale; "" for the kind's usual scale."""
    if "scale" not in result:
        return ""
    stored_scale = result["scale"]
    scale = Scale(**{name: stored_scale[name] for name in ("low", "high", "step")})
    return _(
        "Answers are on the scale %(scale)s. “describes” is the share of outputs with a mean answer in the upper "
        "half of the scale, above %(middle)s."
    ) % {"scale": scale.in_words, "middle": display_number(stored_scale["describes_above"])}


def _audit_filter_of(study: Study, consensus: StudyConsensus) -> tuple[dict[str, Any], Set[int]]:
    """Return the audit of the filter, and the row ids of the audited units. Both are empty if there was no audit."""
    relevance, notes = kind_of(study).relevance, study.notes
    if not notes.get("audited") or relevance is None:
        return {}, frozenset()
    passed_units, audited_units = loaders.passed_and_audited_units(study)
    audit = audit_filter(
        relevance,
        consensus.of_unit,
        passed_units=passed_units,
        audited_units=audited_units,
        pair_count=notes["candidate_pairs"],
        passed_pair_count=notes["passed_filter"],
    )
    return audit, audited_units


def _systems_of(
    study: Study, kind: Kind, table: JudgmentTable, consensus: StudyConsensus, audit: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], dict[str, Any], SystemsVerdict | None]:
    """Return figures and rankings of systems, and the verdict. Proposals are the entries of systems' ranked lists."""
    relevance = kind.relevance
    if relevance is None:
        systems_of_pairs = loaders.systems_of_pairs(study)
        verdict = verdict_of_systems(study, table, consensus, systems_of_pairs=systems_of_pairs)
        return system_tallies(consensus, systems_of_pairs), NO_RANKINGS, verdict
    proposals, anonymous = proposals_of(study), loaders.is_anonymous(study)
    outputs = outputs_of_answers(
        proposals, table, consensus.decisions, anonymous=anonymous, scale_ends=relevance.ends
    )
    rankings = rankings_of(relevance, proposals, judged_outputs(kind, proposals, table, consensus), audit)
    standardised_outputs = None
    if kind.results is not None:  # such as a slider's: also use answers standardised by worker
        standardised_outputs = outputs_of_answers(
            proposals, table, consensus.decisions, anonymous=anonymous, answers=_standardised_answers(table)
        )
    systems = [] if outputs is None else judged_systems(relevance, outputs, standardised_outputs)
    return systems, rankings, verdict_of_systems(study, table, consensus, outputs)


def _score_selections(
    study: Study, kind: Kind, judgments: Sequence[IncludedJudgment], seed: int
) -> tuple[dict[str, Any], SystemsVerdict | None]:
    """Return the scores of the boxes or keywords that systems name, and the verdict on systems."""
    if not (kind.system_content and judgments):
        return {}, None
    # Import late, because the machine code of the metrics would take memory in every web process.
    from evaluation.results.system_content.scoring import score_selections

    selections = SystemContent.objects.of_study(study, kind.system_content)
    return score_selections(
        kind,
        judgments,
        selections.values_list("system__name", "item_id", "names").iterator(),
        loaders.documents_of(study),
        anonymous=loaders.is_anonymous(study),
        seed=seed,
    )


def _standardised_answers(table: JudgmentTable) -> Floats:
    """Return the (N,) answers standardised by worker. Answers that do not count are nan."""
    # Each answer is a unit of its own, so the unit's mean z-score is that of the answer.
    is_counted, scores = table.is_counted, np.full(len(table), np.nan)
    rows = np.arange(int(is_counted.sum()))
    scores[is_counted] = standardised_mean(rows, table.worker[is_counted], table.value[is_counted]).z
    return scores


def compute_aggregation(
    *,
    study: Study,
    method: Collection[str] = (),
    clusters: str = CLUSTER_OPTIONS[0],
    progress: Progress = no_progress,
) -> StudyAggregation:
    """Compute consensus, agreement and workers' figures, without storing them.

    If ``clusters`` is "naive", intervals regard judgments as independent. ``method`` names further ``WORKER_MODELS``.
    """
    import pyarrow as pa  # imported late, because most web processes never need its 40 MB

    kind, design = kind_of(study), design_of(study)
    progress(0.05, "reading judgments")
    digest = digest_of_material(study, from_blocks=True)  # before judgments are loaded, to save memory
    study_units = loaders.study_units(study)
    table = loaders.load_judgments(study, units=study_units)
    judged_units = study_units.judged_units  # a copy, without control items
    del study_units  # to free memory
    pa.default_memory_pool().release_unused()
    judgments = loaders.included_judgments(study, table) if kind.results else []
    progress(0.35, "measuring agreement")  # before the consensus is computed, to save memory
    workers = loaders.worker_rows(study)
    agreement = measure_agreement(
        kind,
        table,
        judged_units,
        workers,
        judgments,
        seed=design.seed,
        full_depth=loaders.full_depth_units(study),  # units that early stopping leaves alone
        images=None if clusters == NAIVE else loaders.clusters_of_units(study, judged_units),  # or documents
    )
    progress(0.5, "finding the consensus")
    consensus = consensus_of(study, table, judged_units)
    # the last argument says why single workers cannot be assessed, or is ""
    model_input = ModelInput(kind, table, workers, consensus, agreement["per_worker"]["reason"])
    model = fit_dawid_skene(model_input)
    other_models = {}
    for model_name in method:
        progress(0.55, f"fitting {model_name}")
        other_models[model_name] = fit_worker_model(model_name, model_input)
    audit, audited_units = _audit_filter_of(study, consensus)
    figures = KindResults()
    if judgments and kind.results:
        figures = kind.results.figures(judgments, seed=design.seed)
    systems, rankings, verdict = _systems_of(study, kind, table, consensus, audit)
    selection_scores, selection_verdict = _score_selections(study, kind, judgments, design.seed)
    settings = _aggregation_settings(study, kind, clusters)
    times = loaders.work_times(study, loaders.workers_without_times(table, workers))  # of whole pages
    result = {
        "agreement": agreement,
        "workers": worker_figures(table, workers, table.records, times),
        "counts": count_judgments(table, consensus, len(workers)),
        "unused": unused_answers(study, table),
        "systems": systems,
        "systems_verdict": selection_verdict or verdict,
        **rankings,
        "outputs": newest_output_id(study) if kind.judges_one_caption or kind.system_content else None,
    }
    if design.scale and kind.scale:  # the design has a scale of its own
        result["scale"] = _scale_as_json(kind.scale)
    result["figures"] = dict(figures.study)
    if selection_scores:
        result["figures"]["system_content"] = selection_scores
    if clusters == NAIVE:
        result["clusters"] = NAIVE
    if model:
        result["dawid_skene"] = without_units(model)
    if other_models:
        result["models"] = {name: without_units(fit) for name, fit in other_models.items()}
    if audit:
        result["filter_audit"] = audit
    return StudyAggregation(
        study=study,
        consensus=consensus,
        contents={judgment.unit.pk: judgment.unit.content for judgment in judgments},
        figures=figures,
        model=model,
        other_models=other_models,
        audited_units=audited_units,
        result=result,
        settings=settings,
        signature=signature("aggregation", settings),
        judgments=str(signature_of_study(study, table=table, material_digest=digest)),
    )


def _aggregation_settings(study: Study, kind: Kind, clusters: str) -> dict[str, Any]:
    """Return the settings of an aggregation, which are stored with it and are part of its signature."""
    design = design_of(study)
    settings = {
        "protocol": study.protocol,
        "controls": AS_IMPORTED if study.source == Study.Source.IMPORTED else design.controls.threshold,
        "pair-ties": "set-aside",
        "alpha": kind.aggregation.level,
        "resamples": RESAMPLES,
        "seed": design.seed,
    }
    if clusters == NAIVE:
        settings["clusters"] = NAIVE
    if stops_early(study):
        settings["stopping"] = describe_stopping(design)
    return settings


@transaction.atomic
def store_aggregation(aggregation: StudyAggregation) -> Analysis:
    """Update the stored consensus, and store the other results as an analysis."""
    study, consensus = aggregation.study, aggregation.consensus
    analysis = Analysis.objects.replace(
        study=study,
        what=Analysis.Kind.AGGREGATION,
        signature=aggregation.signature,
        data_hash=consensus.data_hash,
        settings=aggregation.settings,
        judgments=aggregation.judgments,
        result=aggregation.result,
    )
    store_consensus(study, consensus, aggregation.figures)
    judgment_count = aggregation.result["counts"]["judgments"]
    sentence = f"Consensus and agreement were computed from {judgment_count:,} judgments."
    note_event(study=study, what="computed", sentence=sentence, signature=aggregation.signature)
    return analysis


def run_aggregation(
    *,
    study: Study,
    method: Collection[str] = (),
    clusters: str = CLUSTER_OPTIONS[0],
    progress: Progress = no_progress,
) -> StudyAggregation:
    """Compute and store consensus, agreement and workers' figures (docs/evaluation.md).

    ``method`` names further models of workers to fit. The consensus does not depend on them.
    """
    with many_objects():
        blocks.extend_blocks(study)  # so that the analysis reads most rows from stored columns
        aggregation = compute_aggregation(study=study, method=method, clusters=clusters, progress=progress)
        progress(0.7, "storing the consensus")
        store_aggregation(aggregation)
    progress(1.0, "done")
    return aggregation


def aggregate_study(*, study: Study, progress: Progress = no_progress) -> dict[str, Any]:
    """Call ``run_aggregation``, and return the content of the file that `aggregate --output` writes."""
    return run_aggregation(study=study, progress=progress).as_json()
