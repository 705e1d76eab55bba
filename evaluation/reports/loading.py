"""Load a report's inputs from a study. ``evaluation.reports.releases.inputs`` computes them from a release."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from evaluation.data.imported_scores import imported_hashes
from evaluation.data.judgment_sets import loaders
from evaluation.data.judgment_sets.records import JudgmentTable
from evaluation.data.ranked_lists import Proposals, newest_output, proposals_of
from evaluation.errors import EvaluationError
from evaluation.models import DEFAULT_METRICS, DEFAULT_TOKENIZER, Analysis, MetricScore
from evaluation.presentation.rendering import WORDING_VERSION
from evaluation.results.aggregation import compute_aggregation
from evaluation.results.agreement import judgment_clusters
from evaluation.results.consensus.clusters import clusters_of_pairs
from evaluation.results.consensus.study import StudyConsensus, consensus_of
from evaluation.results.metrics.evaluation import compute_evaluation
from evaluation.results.metrics.study_texts import judged_pairs, values_of_units
from evaluation.results.metrics.tables import generalises_to_raters
from evaluation.results.metrics.texts import PairMaterial
from evaluation.results.outputs import Outputs, outputs_of_answers
from evaluation.results.standings import Standings, measure_of, standings_of_pairs
from judgments.kinds import KINDS, Kind
from judgments.models import CandidatePair, Study
from judgments.studies.designs import design_of, draws_at_claim, kind_of
from judgments.studies.generation.progress import Progress, no_progress
from quorum.numeric.arrays import Floats, Ints
from quorum.numeric.signatures import quorum_version
from quorum.statistics.crossed import ITEM, NAIVE, RATER, ClusterColumns
from quorum.statistics.meta import PeoplesWinners


@dataclass(frozen=True, slots=True)
class AnalysisResult:
    """The result of an analysis, with the settings and the signature under which it is stored."""

    result: Mapping[str, Any]
    settings: Mapping[str, Any]
    signature: str


@dataclass(frozen=True, slots=True)
class EvaluationResult(AnalysisResult):
    """The evaluation of metrics against people's consensus, with the scores that it compares.

    Attributes:
        scores: by metric, (N, 2) scores of pairs or (N, 1) of captions.
        scored_ids: (N,) row ids of the scored pairs or units; None if a scored caption is not a unit.
        people: (N,) consensus on each scored caption, nan without judgments; None for pairs.
        captions: image and id of each scored caption; empty for pairs.
    """

    scores: Mapping[str, Floats]
    scored_ids: Sequence[int] | None
    people: Floats | None = None
    captions: Sequence[tuple[Hashable, str]] = ()


@dataclass(frozen=True, slots=True)
class ReportMethod:
    """How a report is computed and worded. The defaults are those of new reports; older releases keep their method.

    Attributes:
        wording: version of the wording of sentences.
        is_clustered: whether intervals and tests cluster by image and worker.
        is_credited: whether units score the systems that a file credits, rather than those that wrote the caption.
    """

    wording: int = WORDING_VERSION
    is_clustered: bool = True
    is_credited: bool = True


@dataclass(frozen=True)
class ReportInputs:
    """The inputs of a report's sections: a study's data and analyses. What follows from them is a property.

    For a release, row ids are the numbers of its rows, and images are named instead of numbered.

    Attributes:
        table: all judgments of the study.
        evaluation: the evaluation of metrics, or None, with the reason in ``no_evaluation_reason``.
        unit_weights: weights of audited units, by row id, if the evaluation weights units.
        full_depth_units: row ids of the units to which agreement is limited, because early stopping did not end
            them; None for all.
        names: worker's name by row id.
        systems: systems of both captions, by pair key.
        images: image by pair row id.
        unit_images: (U,) codes of the documents or images of the consensus's units; None for an older release.
        documents: the first image of each image's document, by image; {} if no document has several images.
        proposals: systems' ranked lists; None if units are not single captions.
        pair_material: a function that returns pairs with references, and the documents for document frequencies.
        are_raters_known: whether names of workers tell people apart, so that intervals of metrics can cluster by
            worker; false for published totals, and for an older release, which has no such intervals.
        draws_at_claim: whether pairs are drawn when a page of work is claimed, depending on earlier answers, as in
            an arena.
        samples_useful_items: whether the design samples items with probabilities by their usefulness
            (contrib/choosing).
    """

    kind: Kind
    seed: int
    table: JudgmentTable
    consensus: StudyConsensus
    aggregation: AnalysisResult
    evaluation: EvaluationResult | None
    no_evaluation_reason: str
    unit_weights: Mapping[int, float] = field(default_factory=dict)
    full_depth_units: Collection[int] | None = None
    names: Mapping[int, str] = field(default_factory=dict)
    systems: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    images: Mapping[int, Hashable] = field(default_factory=dict)
    unit_images: Ints | None = None
    documents: Mapping[Any, Hashable] = field(default_factory=dict)
    proposals: Proposals | None = None
    pair_material: Callable[[], PairMaterial | None] = lambda: None
    method: ReportMethod = ReportMethod()
    are_raters_known: bool = True
    draws_at_claim: bool = False
    samples_useful_items: bool = False

    def item_clusters_of(self, pair_ids: Iterable[int]) -> ClusterColumns:
        """Return the clusters of pairs by item alone; NAIVE if the report does not cluster."""
        images = [self.images[pair_id] for pair_id in pair_ids]
        clusters = {ITEM: [self.documents.get(image, image) for image in images]}
        return clusters if self.method.is_clustered else NAIVE

    def clusters_of(self, pair_ids: Sequence[int]) -> ClusterColumns:
        """Return the clusters of pairs by item and people; NAIVE if the report does not cluster."""
        clusters = self.item_clusters_of(pair_ids)
        if isinstance(clusters, str):  # NAIVE
            return clusters
        pairs, anonymous = np.array(pair_ids, dtype=np.int64), not self.are_raters_known
        return clusters_of_pairs(self.table, self.consensus, pairs, clusters[ITEM], anonymous=anonymous)

    @cached_property
    def judgment_clusters(self) -> dict[str, Ints]:
        """The clusters of the N judgments that count, as (N,) columns: items and workers.

        For an older release, units stand for the items.
        """
        table = self.table
        unit, worker = table.unit[table.is_counted], table.worker[table.is_counted]
        units, anonymous = self.consensus.units, not self.are_raters_known
        clusters = judgment_clusters(units, self.unit_images, unit, worker, anonymous=anonymous)
        return clusters or {ITEM: unit, RATER: worker}

    @property
    def scores(self) -> Mapping[str, Floats]:
        return self.evaluation.scores if self.evaluation else {}

    @property
    def scored_ids(self) -> Sequence[int]:
        """The (N,) row ids of the scored pairs or units; () without any, and if a scored caption is not a unit."""
        return (self.evaluation and self.evaluation.scored_ids) or ()

    @property
    def weights(self) -> Floats:
        """The (N,) weights of the scored captions."""
        captions = self.evaluation.captions if self.evaluation else ()
        ids = self.scored_ids or range(len(captions))
        return np.array([self.unit_weights.get(unit_id, 1.0) for unit_id in ids], dtype=np.float64)

    @cached_property
    def winners(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """People's (N,) winners of the scored pairs: 1, 2, or 0 for none."""
        consensus = self.consensus.of_pair
        return np.array([consensus[pair_id].value or 0 for pair_id in self.scored_ids], dtype=np.int64)

    @cached_property
    def people_winners(self) -> PeoplesWinners:
        """People's winners of the scored pairs, with their clusters."""
        return PeoplesWinners.from_winners(self.winners, clusters=self.clusters_of(self.scored_ids))

    @cached_property
    def standings(self) -> Standings | None:
        """People's comparison of systems, or None if no answers compare two systems."""
        if self.kind.compares_pairs:
            return standings_of_pairs(
                self.table,
                self.consensus,
                self.systems,
                self.images,
                self.documents,
                anonymous=not self.are_raters_known,
                clustered=self.method.is_clustered,
            )
        if self.proposals is None or self.kind.relevance is None:
            return None
        return None if self.outputs is None else self.outputs.standings(measure_of(self.kind.relevance))

    @cached_property
    def outputs(self) -> Outputs | None:
        """The systems' outputs with people's scores; None if no output was judged."""
        assert self.proposals is not None
        assert self.kind.relevance is not None
        return outputs_of_answers(
            self.proposals,
            self.table,
            self.consensus.decisions,
            anonymous=not self.are_raters_known,
            scale_ends=self.kind.relevance.ends,
        )

    @property
    def covers_new_raters(self) -> bool:
        """Whether the intervals of metrics cover other people, too, because they cluster by worker."""
        if self.kind.compares_pairs:
            return self.people_winners.deletions is not None  # what changes without each worker
        return self.evaluation is not None and generalises_to_raters(self.evaluation.result)

    @cached_property
    def kinds(self) -> np.ndarray[Any, np.dtype[np.str_]]:
        """The (N,) kinds of the scored pairs, "" if unknown."""
        kind_by_pair = {pair.pk: pair.kind for pair in self.consensus.pairs}
        return np.array([kind_by_pair[pair_id] for pair_id in self.scored_ids], dtype=np.str_)

    @property
    def tokenizer(self) -> str:
        return str(self.evaluation.settings["tok"]) if self.evaluation else DEFAULT_TOKENIZER

    @property
    def metrics(self) -> list[str]:
        return list(self.evaluation.result["metrics"]) if self.evaluation else []


def load_inputs(
    study: Study, *, metrics: Sequence[str] = (), tokenizer: str = "", progress: Progress = no_progress
) -> ReportInputs:
    """Return a report's inputs. Raise EvaluationError if a metric or tokenizer is unknown.

    Args:
        metrics: names of the metrics to evaluate; by default those of the newest evaluation of the same judgments.
        tokenizer: as ``metrics``.
    """
    kind = kind_of(study)
    progress(0.02, "reading judgments")
    table = loaders.load_judgments(study)
    consensus = consensus_of(study, table)
    progress(0.15, "consensus and agreement")
    aggregation = _aggregation_result(study, consensus)
    progress(0.3, "metrics against people")
    evaluation, why_not = load_evaluation(study, consensus, metrics, tokenizer)
    is_weighted = evaluation is not None and "audited" in evaluation.settings
    compares_pairs, pairs = kind.compares_pairs, CandidatePair.objects.filter(study=study)
    return ReportInputs(
        kind=kind,
        seed=design_of(study).seed,
        table=table,
        consensus=consensus,
        aggregation=aggregation,
        evaluation=evaluation,
        no_evaluation_reason=why_not,
        unit_weights=loaders.weights_of_units(study) if is_weighted else {},
        full_depth_units=loaders.full_depth_units(study),
        names={worker.pk: worker.name for worker in loaders.worker_rows(study)},
        systems=loaders.systems_of_pairs(study) if compares_pairs else {},
        images=dict(pairs.values_list("pk", "item_id")) if compares_pairs else {},
        unit_images=loaders.clusters_of_units(study, consensus.units),
        documents=loaders.documents_of(study) if compares_pairs else {},
        proposals=None if compares_pairs or kind.is_open else proposals_of(study),
        pair_material=lambda: judged_pairs(study, consensus, loaders.load_references(study)),
        draws_at_claim=draws_at_claim(study),
        samples_useful_items=design_of(study).chosen is not None,
        are_raters_known=not loaders.is_anonymous(study),
    )


def load_evaluation(
    study: Study, consensus: StudyConsensus, metrics: Sequence[str] = (), tokenizer: str = ""
) -> tuple[EvaluationResult | None, str]:
    """Return the evaluation of metrics, or None, and the reason if it is None.

    A stored evaluation is used if it fits. Else the metrics are evaluated, and the result is not stored.
    """
    why_not = KINDS[study.protocol].comparison.refusal
    if why_not:
        return None, why_not
    try:
        return _evaluation_result(study, consensus, metrics, tokenizer), ""
    except EvaluationError as error:
        if metrics or tokenizer:
            raise
        return None, str(error)


def _stored_analyses(study: Study, what: str, data_hash: str) -> list[Analysis]:
    """Return the analyses of the present judgments by this version of Quorum, newest first.

    Analyses whose intervals do not cluster are left out. They are the only ones with the setting "clusters".
    """
    analyses = Analysis.objects.newest_first(study, what).filter(data_hash=data_hash)
    analyses = analyses.filter(signature__endswith=f"|v:{quorum_version()}")
    return [analysis for analysis in analyses if "clusters" not in analysis.settings]


def _aggregation_result(study: Study, consensus: StudyConsensus) -> AnalysisResult:
    """Return the stored aggregation, or a new one if judgments or outputs of systems have changed."""
    analyses = _stored_analyses(study, Analysis.Kind.AGGREGATION, consensus.data_hash)
    newest = next((analysis for analysis in analyses[:1] if "outputs" in analysis.result), None)
    # The stored id of the last output is None for a kind whose aggregation reads no outputs.
    if newest is not None and (newest.result["outputs"] or 0) == newest_output(study):
        return AnalysisResult(newest.result, newest.settings, newest.signature)
    computed = compute_aggregation(study=study)
    return AnalysisResult(computed.result, computed.settings, computed.signature)


def _evaluation_result(
    study: Study, consensus: StudyConsensus, metrics: Sequence[str], tokenizer: str
) -> EvaluationResult:
    stored = _stored_analyses(study, Analysis.Kind.META_EVALUATION, consensus.data_hash)
    for analysis in stored:
        settings = analysis.settings
        if metrics and list(metrics) != settings["metrics"]:
            continue
        if tokenizer and tokenizer != settings["tok"]:
            continue
        # Imported scores may have been replaced in the meantime.
        if settings.get("imported", "") != imported_hashes(study.dataset, settings["metrics"]):
            continue
        scores, scored_ids = _stored_scores(analysis)
        if set(scores) != set(analysis.result["metrics"]):
            continue
        evaluation = EvaluationResult(analysis.result, settings, analysis.signature, scores, scored_ids)
        if KINDS[study.protocol].compares_pairs:
            return evaluation
        caption_by_unit = {unit_id: (item, key) for unit_id, item, key, _ in loaders.caption_units(study)}
        captions = [caption_by_unit[unit_id] for unit_id in scored_ids]
        return replace(evaluation, people=values_of_units(consensus, scored_ids), captions=captions)
    defaults: Mapping[str, Any] = (
        stored[0].settings if stored else {"metrics": DEFAULT_METRICS, "tok": DEFAULT_TOKENIZER}
    )
    computed = compute_evaluation(
        study=study, metrics=list(metrics) or defaults["metrics"], tokenizer=tokenizer or defaults["tok"]
    )
    metric_results = computed.metric_results
    pks = metric_results.pks
    return EvaluationResult(
        computed.result,
        computed.settings,
        computed.signature,
        scores=metric_results.scores,
        scored_ids=None if pks is None else pks.tolist(),
        people=metric_results.people,
        captions=metric_results.captions,
    )


def _stored_scores(analysis: Analysis) -> tuple[dict[str, Floats], list[int]]:
    """Return the stored scores, (N, 2) or (N, 1) by metric, and the row ids of the scored pairs or units."""
    rows = MetricScore.objects.filter(analysis=analysis).order_by("pk")
    values: dict[str, list[tuple[float, ...]]] = {}
    row_ids: dict[str, list[int]] = {}
    for metric, pair, unit, first, second in rows.values_list(
        "metric", "pair_id", "unit_id", "first", "second"
    ).iterator(loaders.ROWS_PER_BATCH):
        values.setdefault(metric, []).append((first,) if second is None else (first, second))
        row_ids.setdefault(metric, []).append(unit if pair is None else pair)
    # Keep the order of the metrics in the analysis.
    scores = {
        name: np.array(values[name], dtype=np.float64)
        for name in analysis.result["metrics"]
        if name in values
    }
    return scores, next(iter(row_ids.values()), [])  # the row ids are the same for all metrics
