"""Compare two metrics by their agreement with the people of a study, and test the difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from contrib.comparing.metric_figures import (
    compare_on_captions,
    compare_on_pairs,
    correlate_over_systems,
    distinct_metrics,
)
from evaluation.data.imported_scores import ImportedScores, check_imported, load_imported
from evaluation.data.judgment_sets import loaders
from evaluation.data.judgment_sets.records import JudgmentTable
from evaluation.errors import EvaluationError
from evaluation.models import DEFAULT_TOKENIZER, ScoreKeys
from evaluation.results.consensus.study import StudyConsensus, consensus_of
from evaluation.results.metrics.evaluation import compared_kind
from evaluation.results.metrics.scoring import score_captions, score_pairs
from evaluation.results.metrics.study_texts import (
    caption_clusters,
    judged_captions,
    judged_pairs,
    pair_clusters,
)
from evaluation.results.metrics.texts import CaptionTexts, kinds_with_unknown, weights_of_captions
from evaluation.results.verdict import scope_fields
from judgments.models import Output, Study
from judgments.models.credits import credited_systems
from judgments.studies.generation.progress import Progress, no_progress
from quorum.numeric.arrays import Floats
from quorum.statistics.crossed import columns_and_deletions

MIN_SYSTEMS = 3  # with two systems, a correlation is always 1 or -1


def compare_metrics(
    *,
    study: Study,
    first: str,
    second: str,
    tokenizer: str = DEFAULT_TOKENIZER,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Compare two metrics by a study's consensus, without storing the result.

    The result has the difference of the metrics' agreement with people, clustered by item and rater, with a test. For
    pairs, the agreement is the accuracy by kind of pair. For captions, it is correlations; the result then also has the
    agreement over systems.

    Raises:
        EvaluationError: a metric is unknown or lacks scores, or the study has nothing to compare with.
    """
    kind = compared_kind(study)
    names = distinct_metrics(first, second)
    check_imported(study.dataset, names)
    imported_scores = load_imported(study.dataset, names)
    progress(0.05, "reading judgments")
    table = loaders.load_judgments(study)
    judgments = _StudyJudgments(study, table, consensus_of(study, table), loaders.load_references(study))
    progress(0.3, "scoring captions")
    if kind.compares_pairs:
        comparison = _compare_pairs(judgments, names, tokenizer, imported_scores)
    else:
        comparison = _compare_captions(judgments, names, tokenizer, imported_scores, progress)
    return {
        "metrics": names,
        "tokenizer": tokenizer,
        "data_hash": judgments.consensus.data_hash,
        **comparison,
    }


@dataclass(frozen=True, slots=True)
class _StudyJudgments:
    """The judgments of a study, their consensus, and the references of its images."""

    study: Study
    table: JudgmentTable
    consensus: StudyConsensus
    references: loaders.ReferenceSet


def _compare_pairs(
    judgments: _StudyJudgments, names: Sequence[str], tokenizer: str, imported_scores: ImportedScores
) -> dict[str, Any]:
    """Return the part of the result of ``compare_metrics`` that is about pairs."""
    material = judged_pairs(judgments.study, judgments.consensus, judgments.references)
    pairs = material.pairs
    metric_results, scores_by_metric = score_pairs(
        pairs, material.documents, metrics=names, tokenizer=tokenizer, imported=imported_scores
    )
    clusters = pair_clusters(judgments.study, judgments.table, judgments.consensus, pairs)
    # The changes if a rater is left out. None, if raters are unknown; the result is then about these raters only.
    _, deletions = columns_and_deletions(clusters)
    return {
        "what": "pairs",
        **scope_fields(deletions),
        "signatures": {name: metric.signature for name, metric in metric_results.scores.items()},
        "rows": compare_on_pairs(
            [scores_by_metric[name] for name in names],  # (N, 2)
            np.array([pair.winner for pair in pairs], dtype=np.float64),
            kinds_with_unknown(pair.kind for pair in pairs),
            clusters,
        ),
    }


def _compare_captions(
    judgments: _StudyJudgments,
    names: Sequence[str],
    tokenizer: str,
    imported_scores: ImportedScores,
    progress: Progress,
) -> dict[str, Any]:
    """Return the part of the result of ``compare_metrics`` that is about captions.

    If a metric only scores whole systems, the metrics are compared only over systems.
    """
    study, references = judgments.study, judgments.references
    captions, _counts = judged_captions(study, judgments.consensus, judgments.table, references)
    # Imported metrics that have a score of each system, and none of single captions.
    system_metrics = [
        name for name in names if set(imported_scores.columns.get(name, ())) == {ScoreKeys.Subject.SYSTEMS}
    ]
    signatures = {name: imported_scores.signature(name) for name in system_metrics}
    caption_scores: dict[str, Floats] = {}  # by metric
    if len(system_metrics) < len(names):
        scored_captions = score_captions(
            captions,
            references.documents(),
            metrics=[name for name in names if name not in system_metrics],
            tokenizer=tokenizer,
            imported=imported_scores,
        )
        signatures |= {name: metric.signature for name, metric in scored_captions.scores.items()}
        caption_scores = {name: metric.images for name, metric in scored_captions.scores.items()}  # (N,)
    people_scores = np.array([caption.people for caption in captions], dtype=np.float64)
    clusters = caption_clusters(study, judgments.table, judgments.consensus, captions)
    _, deletions = columns_and_deletions(clusters)
    rows: list[dict[str, Any]] = []
    if not system_metrics:
        progress(0.6, "comparing")
        rows = compare_on_captions(
            [caption_scores[name] for name in names], people_scores, clusters, weights_of_captions(captions)
        )
    return {
        "what": "captions",
        **scope_fields(deletions),
        "signatures": {name: signatures[name] for name in names},
        "rows": rows,
        "systems": _compare_on_systems(
            study, names, caption_scores, people_scores, captions, imported_scores
        ),
        "notes": [_note_system_metrics(system_metrics)] if system_metrics else [],
    }


def _compare_on_systems(
    study: Study,
    names: Sequence[str],
    caption_scores: Mapping[str, Floats],
    people_scores: Floats,
    captions: Sequence[CaptionTexts],
    imported_scores: ImportedScores,
) -> dict[str, Any] | None:
    """Return the agreement of the metrics with people over systems; None if too few systems gave the judged captions.

    Args:
        caption_scores: the scores of the captions by metric, without metrics that only score whole systems.

    Raises:
        EvaluationError: a metric has no score of a system.
    """
    systems_by_caption: dict[tuple[int, str], list[int]] = {}
    outputs = Output.objects.of_study(study).annotations()  # without results of image search
    for system, item, key in outputs.values_list("system_id", "item_id", "caption__key"):
        systems_by_caption.setdefault((item, key), []).append(system)
    # A caption counts for each system that gave it or, if an imported file credits systems, for those (`systems`).
    systems: list[int] = []
    caption_indices: list[int] = []
    for index, caption in enumerate(captions):
        output_systems = systems_by_caption.get((caption.item, caption.key), ())
        for system in dict.fromkeys(credited_systems(caption.systems, output_systems)):
            systems.append(system)
            caption_indices.append(index)
    if len(set(systems)) < MIN_SYSTEMS:
        return None
    rows = np.array(caption_indices, dtype=np.int64)
    scores: list[Floats] = []
    for name in names:
        if name in caption_scores:
            scores.append(caption_scores[name][rows])
        else:
            column = imported_scores.columns[name][ScoreKeys.Subject.SYSTEMS]
            score_by_system = dict(zip(column.keys["system"].tolist(), column.scores.tolist(), strict=True))
            scores.append(np.array([score_by_system.get(system, np.nan) for system in systems]))
    if np.isnan(np.concatenate(scores)).any():
        raise EvaluationError(
            f"A metric of {', '.join(names)} has no score of a system that was judged; expected one of each."
        )
    items = [captions[index].item for index in caption_indices]
    scores_only_systems = [name not in caption_scores for name in names]
    return correlate_over_systems(scores, people_scores[rows], systems, items, scores_only_systems)


def _note_system_metrics(names: Sequence[str]) -> str:
    return (
        f"{', '.join(names)}: has scores of systems alone, so nothing can be said caption by caption; only the figures "
        "over systems compare it."
    )
