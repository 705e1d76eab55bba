"""The inputs of a report's sections: the judgments, the consensus and the analyses of a study or of a release.

``evaluation.reports.loading`` loads them from a study. ``evaluation.reports.releases.inputs`` computes them from the
rows of a release.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from evaluation.data.judgment_sets.records import JudgmentTable
from evaluation.data.ranked_lists import Proposals
from evaluation.models import DEFAULT_TOKENIZER
from evaluation.presentation.rendering import WORDING_VERSION
from evaluation.results.agreement import judgment_clusters
from evaluation.results.consensus.clusters import clusters_of_pairs
from evaluation.results.consensus.study import StudyConsensus
from evaluation.results.metrics.tables import generalises_to_raters
from evaluation.results.metrics.texts import PairMaterial
from evaluation.results.outputs import Outputs, outputs_of_answers
from evaluation.results.standings import Standings, measure_of, standings_of_pairs
from judgments.kinds import Kind
from quorum.numeric.arrays import Floats, Ints
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
    """The method by which a report is computed and worded. The defaults are for new reports; old releases have others.

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
    """The inputs of a report's sections: a study's data and analyses. Properties are computed from them.

    For a release, row ids are the numbers of its rows, and images are named instead of numbered.

    Attributes:
        table: all judgments of the study.
        aggregation: the analysis with the counts, the consensus and the agreement.
        evaluation: the evaluation of metrics, or None, with the reason in ``no_evaluation_reason``.
        unit_weights: by row id, weights of audited units, which a filter had rejected, if the evaluation has weights.
        full_depth_units: row ids of the units to which agreement is limited, because early stopping did not end
            them; None for all.
        names: worker's name by row id.
        systems: systems of both captions, by pair key.
        images: image by pair row id.
        unit_images: (U,) codes of the documents or images of the consensus's units; None for an older release.
        documents: the first image of each image's document, by image; {} without documents, or with a single one.
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
        scored_ids = self.evaluation.scored_ids if self.evaluation else None
        return () if scored_ids is None else scored_ids

    @property
    def weights(self) -> Floats:
        """The (N,) weights of the scored captions. Captions that are not units are never weighted, and have 1."""
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
        """People's comparison of systems, or None if answers neither compare two systems nor rate single captions."""
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
        if self.proposals is None or self.kind.relevance is None or self.outputs is None:
            return None
        return self.outputs.standings(measure_of(self.kind.relevance))

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
