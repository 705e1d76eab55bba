"""Load a report's inputs from a study. ``evaluation.reports.releases.findings`` loads them from a release."""

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
from evaluation.results.metrics.study_texts import judged_pairs, value_of_unit
from evaluation.results.metrics.tables import generalises_to_raters
from evaluation.results.metrics.texts import PairMaterial
from evaluation.results.standings import (
    Outputs,
    Standings,
    measure_of,
    outputs_of_answers,
    standings_of_pairs,
)
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
    result: Mapping[str, Any]
    settings: Mapping[str, Any]
    signature: str


@dataclass(frozen=True)
class ReportInputs:
    """The inputs of a report's sections.

    Attributes:
        evaluation: the comparison of metrics with the consensus, or None, with the reason in ``no_evaluation_reason``.
        scores: by metric, (N, 2) scores of pairs or (N, 1) of captions.
        pks: (N,) row ids of the scored pairs or units; None if a scored caption is not a unit.
        people: (N,) consensus on each scored caption, nan without judgments; None for pairs.
        captions: image and id of each scored caption; empty for pairs.
        full_depth: the units to which agreement is limited; None for all.
        names: worker's name by row id.
        systems: systems of both captions, by pair key.
        images: image by pair row id.
        unit_images: (U,) codes of the documents or images of the consensus's units; None for an older release.
        unit_weights: weights of audited units, if metrics were compared with people with weights.
        documents: the first image of each image's document, by image; {} if no document has several images.
        proposals: systems' ranked lists; None if units are not single captions.
        pair_material: a function that returns pairs with references, and the documents for document frequencies.
        wording: version of the wording of sentences, lower for an older release.
        is_live: whether pairs were drawn depending on earlier answers, as in an arena.
        is_chosen: whether items were sampled by their usefulness.
        is_clustered: whether intervals and tests cluster by image and worker; false for an older release.
        raters_known: whether intervals of metrics also cluster by worker; false for an older release.
        is_credited: whether units score the systems that a file credits; false for an older release.
    """

    kind: Kind
    seed: int
    table: JudgmentTable
    consensus: StudyConsensus
    aggregation: AnalysisResult
    evaluation: AnalysisResult | None
    no_evaluation_reason: str
    scores: Mapping[str, Floats] = field(default_factory=dict)
    pks: Sequence[int] | None = None
    people: Floats | None = None
    captions: Sequence[tuple[Hashable, str]] = ()
    unit_weights: Mapping[int, float] = field(default_factory=dict)
    full_depth: Collection[int] | None = None
    names: Mapping[int, str] = field(default_factory=dict)
    systems: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    images: Mapping[int, Hashable] = field(default_factory=dict)
    unit_images: Ints | None = None
    documents: Mapping[Any, Hashable] = field(default_factory=dict)
    proposals: Proposals | None = None
    pair_material: Callable[[], PairMaterial | None] = lambda: None
    wording: int = WORDING_VERSION
    is_clustered: bool = True
    raters_known: bool = True
    is_credited: bool = True
    is_live: bool = False
    is_chosen: bool = False

    def clusters_of(self, pks: Iterable[int]) -> ClusterColumns:
        """Return the clusters of pairs by item, without people. They are "naive" if ``is_clustered`` is false."""
        images = [self.images[pk] for pk in pks]
        return {ITEM: [self.documents.get(image, image) for image in images]} if self.is_clustered else NAIVE

    def people_clusters_of(self, pks: Sequence[int]) -> ClusterColumns:
        """Return the clusters of pairs by item and people. They are "naive" if ``is_clustered`` is false."""
        columns = self.clusters_of(pks)
        if not isinstance(columns, Mapping):
            return columns
        numbers, anonymous = np.array(pks, dtype=np.int64), not self.raters_known
        return clusters_of_pairs(self.table, self.consensus, numbers, columns[ITEM], anonymous=anonymous)

    @cached_property
    def judgment_clusters(self) -> dict[str, Ints]:
        """The (N,) columns of clusters of the judgments that count.

        For an older release, they are units and workers.
        """
        table = self.table
        unit, worker = table.unit[table.is_counted], table.worker[table.is_counted]
        units, anonymous = self.consensus.units, not self.raters_known
        clusters = judgment_clusters(units, self.unit_images, unit, worker, anonymous=anonymous)
        return clusters or {ITEM: unit, RATER: worker}

    @cached_property
    def winners(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """People's (N,) winners of the scored pairs: 1, 2, or 0 for none."""
        consensus = self.consensus.of_pair
        return np.array([consensus[pk].value or 0 for pk in self.pks or ()], dtype=np.int64)

    @cached_property
    def people_winners(self) -> PeoplesWinners:
        """People's winners of the scored pairs, with their clusters."""
        return PeoplesWinners.from_winners(self.winners, clusters=self.people_clusters_of(self.pks or ()))

    @property
    def weights(self) -> Floats:
        """The (N,) weights of the scored captions."""
        weights = self.unit_weights
        return np.array(
            [weights.get(pk, 1.0) for pk in self.pks or range(len(self.captions))], dtype=np.float64
        )

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
                anonymous=not self.raters_known,
                clustered=self.is_clustered,
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
            anonymous=not self.raters_known,
            scale_ends=self.kind.relevance.ends,
        )

    @property
    def new_raters(self) -> bool:
        """Whether the intervals of metrics generalise to other people."""
        if self.kind.compares_pairs:
            return self.people_winners.deletions is not None
        return self.evaluation is not None and generalises_to_raters(self.evaluation.result)

    @cached_property
    def kinds(self) -> np.ndarray[Any, np.dtype[np.str_]]:
        """The (N,) kinds of the scored pairs, "" if unknown."""
        kind_by_pair = {pair.pk: pair.kind for pair in self.consensus.pairs}
        return np.array([kind_by_pair[pk] for pk in self.pks or ()], dtype=np.str_)

    @property
    def tokenizer(self) -> str:
        return str(self.evaluation.settings["tok"]) if self.evaluation else DEFAULT_TOKENIZER

    @property
    def metrics(self) -> list[str]:
        return list(self.evaluation.result["metrics"]) if self.evaluation else []


def people_of_units(consensus: StudyConsensus, pks: Sequence[int]) -> Floats:
    """Return the (N,) consensus values of units, which are shares of votes if defined, and nan without consensus."""
    return np.array([value_of_unit(consensus, pk) for pk in pks], dtype=np.float64)


def load_inputs(
    study: Study, *, metrics: Sequence[str] = (), tokenizer: str = "", progress: Progress = no_progress
) -> ReportInputs:
    """Return a report's inputs. Raise EvaluationError if a metric or tokenizer is unknown."""
    kind = kind_of(study)
    progress(0.02, "reading judgments")
    table = loaders.load_judgments(study)
    consensus = consensus_of(study, table)
    progress(0.15, "consensus and agreement")
    aggregation = _aggregation_result(study, consensus)
    progress(0.3, "metrics against people")
    evaluation_inputs, why_not = evaluation_of(study, consensus, metrics, tokenizer)
    compares_pairs, pairs = kind.compares_pairs, CandidatePair.objects.filter(study=study)
    inputs = ReportInputs(
        kind=kind,
        seed=design_of(study).seed,
        table=table,
        consensus=consensus,
        aggregation=aggregation,
        evaluation=None,
        no_evaluation_reason=why_not,
        full_depth=loaders.full_depth_units(study),
        names={worker.pk: worker.name for worker in loaders.worker_rows(study)},
        raters_known=not loaders.is_anonymous(study),
        systems=loaders.systems_of_pairs(study) if compares_pairs else {},
        images=dict(pairs.values_list("pk", "item_id")) if compares_pairs else {},
        unit_images=loaders.clusters_of_units(study, consensus.units),
        documents=loaders.documents_of(study) if compares_pairs else {},
        proposals=None if compares_pairs or kind.is_open else proposals_of(study),
        pair_material=lambda: judged_pairs(study, consensus, loaders.load_references(study)),
        is_live=draws_at_claim(study),
        is_chosen=design_of(study).chosen is not None,
    )
    if evaluation_inputs is None:
        return inputs
    weights = loaders.weights_of_units(study) if "audited" in evaluation_inputs.evaluation.settings else {}
    evaluation_fields = {name: getattr(evaluation_inputs, name) for name in EvaluationInputs.__slots__}
    return replace(inputs, unit_weights=weights, **evaluation_fields)


@dataclass(frozen=True, slots=True)
class EvaluationInputs:
    """The fields of ``ReportInputs`` on the comparison of metrics with people."""

    evaluation: AnalysisResult
    scores: dict[str, Floats]
    pks: list[int] | None
    people: Floats | None
    captions: tuple[tuple[int, str], ...]


def evaluation_of(
    study: Study, consensus: StudyConsensus, metrics: Sequence[str] = (), tokenizer: str = ""
) -> tuple[EvaluationInputs | None, str]:
    """Return the comparison of metrics with the consensus, or None, and the reason if it is None.

    A stored comparison is used if possible.
    """
    why_not = KINDS[study.protocol].comparison.refusal
    if why_not:
        return None, why_not
    try:
        return _evaluation_inputs(study, consensus, metrics, tokenizer), ""
    except EvaluationError as error:
        if metrics or tokenizer:
            raise
        return None, str(error)


def _stored_analyses(study: Study, what: str, data_hash: str) -> list[Analysis]:
    """Return analyses of the present judgments by this version, without naive ones, newest first."""
    analyses = Analysis.objects.newest_first(study, what).filter(data_hash=data_hash)
    analyses = analyses.filter(signature__endswith=f"|v:{quorum_version()}")
    return [analysis for analysis in analyses if "clusters" not in analysis.settings]


def _aggregation_result(study: Study, consensus: StudyConsensus) -> AnalysisResult:
    """Return the stored aggregation, or a new one if judgments or outputs of systems have changed."""
    newest = newest_output(study)
    for analysis in _stored_analyses(study, Analysis.Kind.AGGREGATION, consensus.data_hash)[:1]:
        if "outputs" not in analysis.result or (analysis.result["outputs"] or 0) != newest:
            break
        return AnalysisResult(analysis.result, analysis.settings, analysis.signature)
    computed = compute_aggregation(study=study)
    return AnalysisResult(computed.result, computed.settings, computed.signature)


def _evaluation_inputs(
    study: Study, consensus: StudyConsensus, metrics: Sequence[str], tokenizer: str
) -> EvaluationInputs:
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
        scores, pks = _stored_scores(analysis)
        if set(scores) != set(analysis.result["metrics"]):
            continue
        evaluation = AnalysisResult(analysis.result, settings, analysis.signature)
        if KINDS[study.protocol].compares_pairs:
            return EvaluationInputs(evaluation, scores, pks, None, ())
        caption_by_unit = {pk: (item, key) for pk, item, key, _ in loaders.caption_units(study)}
        captions = tuple(caption_by_unit[pk] for pk in pks)
        return EvaluationInputs(evaluation, scores, pks, people_of_units(consensus, pks), captions)
    defaults: Mapping[str, Any] = (
        stored[0].settings if stored else {"metrics": DEFAULT_METRICS, "tok": DEFAULT_TOKENIZER}
    )
    computed = compute_evaluation(
        study=study, metrics=list(metrics) or defaults["metrics"], tokenizer=tokenizer or defaults["tok"]
    )
    return EvaluationInputs(
        AnalysisResult(computed.result, computed.settings, computed.signature),
        dict(computed.metric_results.scores),
        None if computed.metric_results.pks is None else computed.metric_results.pks.tolist(),
        computed.metric_results.people,
        computed.metric_results.captions,
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
    return scores, next(iter(row_ids.values()), [])
