"""What a report is made from: a study's judgments, its consensus, and the results that are stored or computed again.

A stored analysis is taken where its data hash is that of the judgments as they stand; else it is computed anew, and
nothing is stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from evaluation import loaders
from evaluation.errors import EvaluationError
from evaluation.meta_evaluation import DEFAULT_METRICS, DEFAULT_TOKENIZER, PairTexts, References
from evaluation.models import Analysis, MetricScore
from evaluation.provenance import quorum_version
from evaluation.records import Floats, JudgmentTable
from evaluation.services.aggregation import StudyConsensus, compute_aggregation, consensus_of
from evaluation.services.meta_evaluation import compute_evaluation, pair_texts
from judgments.design import StudyDesign
from judgments.kinds import KINDS, Kind
from judgments.models import Study
from judgments.services.generation import Progress, no_progress
from judgments.services.studies import design_of

ROWS_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class Computed:
    """An analysis: its figures, its settings, and its signature."""

    result: Mapping[str, Any]
    settings: Mapping[str, Any]
    signature: str


@dataclass(frozen=True)
class Gathered:
    """A study with everything its report needs.

    Attributes:
        evaluation: metrics against the consensus; None where ``why_not`` says why.
        scores: metric -> (N, 2) of pairs or (N, 1) of captions; ``pks``: their (N,) row ids, None where a scored
            caption is no unit.
    """

    study: Study
    kind: Kind
    design: StudyDesign
    table: JudgmentTable
    consensus: StudyConsensus
    aggregation: Computed
    evaluation: Computed | None
    why_not: str
    scores: Mapping[str, Floats] = field(default_factory=dict)
    pks: Sequence[int] | None = None

    @cached_property
    def winners(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """(N,) whom people name of each scored pair: 1, 2, or 0."""
        found = self.consensus.of_pair
        return np.array([found[pk].value or 0 for pk in self.pks or ()], dtype=np.int64)

    @cached_property
    def kinds(self) -> np.ndarray[Any, np.dtype[np.str_]]:
        """(N,) the kind of each scored pair; "" where unknown."""
        of = {pair.pk: pair.kind for pair in self.consensus.pairs}
        return np.array([of[pk] for pk in self.pks or ()], dtype=np.str_)

    @cached_property
    def material(self) -> tuple[list[PairTexts], list[References]]:
        """The pairs with their references, and the documents of document frequency."""
        pairs, documents, _ = pair_texts(self.study, self.consensus, loaders.load_references(self.study))
        return pairs, documents

    @property
    def tokenizer(self) -> str:
        """How texts were cut into words."""
        return str(self.evaluation.settings["tok"]) if self.evaluation else DEFAULT_TOKENIZER

    @property
    def metrics(self) -> list[str]:
        """The metrics that were held against people."""
        return list(self.evaluation.result["metrics"]) if self.evaluation else []


def gather(
    study: Study,
    *,
    metrics: Sequence[str] = (),
    tokenizer: str = "",
    progress: Progress = no_progress,
) -> Gathered:
    """Read and compute what a report of ``study`` needs.

    Args:
        metrics, tokenizer: empty: those of the newest evaluation of these judgments, else the defaults.

    Raises:
        EvaluationError: a metric or tokenizer that is asked for and does not exist.
    """
    kind = KINDS[study.protocol]
    progress(0.02, "reading judgments")
    table = loaders.load_judgments(study)
    consensus = consensus_of(study, table)
    progress(0.15, "consensus and agreement")
    aggregation = _aggregation(study, consensus)
    progress(0.3, "metrics against people")
    evaluation: Computed | None = None
    scores: dict[str, Floats] = {}
    pks: list[int] | None = None
    why_not = kind.instead_of_evaluate
    if not why_not:
        try:
            evaluation, scores, pks = _evaluation(study, consensus, metrics, tokenizer)
        except EvaluationError as error:
            if metrics or tokenizer:
                raise
            why_not = str(error)
    return Gathered(
        study=study,
        kind=kind,
        design=design_of(study),
        table=table,
        consensus=consensus,
        aggregation=aggregation,
        evaluation=evaluation,
        why_not=why_not,
        scores=scores,
        pks=pks,
    )


def _stored(study: Study, what: str, data_hash: str) -> list[Analysis]:
    """Analyses of these very judgments by this version, newest first."""
    found = Analysis.objects.filter(study=study, what=what, data_hash=data_hash)
    ending = f"|v:{quorum_version()}"
    return list(found.filter(signature__endswith=ending).order_by("-created_at", "-pk"))


def _aggregation(study: Study, consensus: StudyConsensus) -> Computed:
    for one in _stored(study, Analysis.What.AGGREGATION, consensus.data_hash)[:1]:
        return Computed(one.result, one.settings, one.signature)
    made = compute_aggregation(study=study)
    result = {
        "agreement": made.agreement,
        "workers": made.workers,
        "counts": made.counts,
        "systems": made.systems,
        "figures": dict(made.figures.study),
        **({"filter_audit": made.audit} if made.audit else {}),
    }
    return Computed(result, made.settings, made.signature)


def _evaluation(
    study: Study, consensus: StudyConsensus, metrics: Sequence[str], tokenizer: str
) -> tuple[Computed, dict[str, Floats], list[int] | None]:
    stored = _stored(study, Analysis.What.META_EVALUATION, consensus.data_hash)
    for one in stored:
        asked = not metrics or list(metrics) == one.settings["metrics"]
        if asked and (not tokenizer or tokenizer == one.settings["tok"]):
            scores, pks = _stored_scores(one)
            if set(scores) == set(one.result["metrics"]):
                return Computed(one.result, one.settings, one.signature), scores, pks
    made = compute_evaluation(
        study=study,
        metrics=list(metrics) or (stored[0].settings["metrics"] if stored else DEFAULT_METRICS),
        tokenizer=tokenizer or (stored[0].settings["tok"] if stored else DEFAULT_TOKENIZER),
    )
    rows = None if made.judged.pks is None else made.judged.pks.tolist()
    return Computed(made.result, made.settings, made.signature), dict(made.judged.scores), rows


def _stored_scores(analysis: Analysis) -> tuple[dict[str, Floats], list[int]]:
    """Metric -> scores in the order of the rows, which is that of the study's pairs or units."""
    rows = MetricScore.objects.filter(analysis=analysis).order_by("pk")
    found: dict[str, list[tuple[float, ...]]] = {}
    order: dict[str, list[int]] = {}
    for metric, pair, unit, first, second in rows.values_list(
        "metric", "pair_id", "unit_id", "first", "second"
    ).iterator(ROWS_AT_ONCE):
        found.setdefault(metric, []).append((first,) if second is None else (first, second))
        order.setdefault(metric, []).append(unit if pair is None else pair)
    # in the analysis' own order of metrics
    scores = {
        name: np.array(found[name], dtype=np.float64) for name in analysis.result["metrics"] if name in found
    }
    return scores, next(iter(order.values()), [])
