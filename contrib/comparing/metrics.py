"""Compare two metrics by their agreement with the people of a study, and test the difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from contrib.comparing.metric_figures import (
    check_two_metrics,
    compare_on_captions,
    compare_on_pairs,
    correlate_over_systems,
)
from evaluation.data.imported_scores import ImportedScores, check_imported, load_imported
from evaluation.data.judgment_sets import loaders
from evaluation.errors import EvaluationError
from evaluation.models import DEFAULT_TOKENIZER, ScoreKeys
from evaluation.results.consensus.study import consensus_of
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

    For pairs, the result has the accuracy by kind and its difference, clustered by item and rater, with a test. For
    captions, it has correlations and their difference, clustered by item and rater, with a test, and the agreement
    over systems.

    Raises:
        EvaluationError: a metric is unknown or lacks scores, or the study has nothing to compare with.
    """
    kind = compared_kind(study)
    names = check_two_metrics(first, second)
    check_imported(study.dataset, names)
    imported = load_imported(study.dataset, names)
    progress(0.05, "reading judgments")
    table = loaders.load_judgments(study)
    consensus = consensus_of(study, table)
    references = loaders.load_references(study)
    progress(0.3, "scoring captions")
    result: dict[str, Any] = {"metrics": names, "tokenizer": tokenizer, "data_hash": consensus.data_hash}
    if kind.compares_pairs:
        material = judged_pairs(study, consensus, references)
        pairs = material.pairs
        scored_pairs, scores = score_pairs(
            pairs, material.documents, metrics=names, tokenizer=tokenizer, imported=imported
        )
        clusters = pair_clusters(study, table, consensus, pairs)
        return result | {
            "what": "pairs",
            **scope_fields(columns_and_deletions(clusters)[1]),
            "signatures": {name: metric.signature for name, metric in scored_pairs.scores.items()},
            "rows": compare_on_pairs(
                [scores[name] for name in names],
                np.array([pair.winner for pair in pairs], dtype=np.float64),
                kinds_with_unknown(pair.kind for pair in pairs),
                clusters,
            ),
        }
    captions, _counts = judged_captions(study, consensus, table, references)
    # imported metrics that have a score of each system, and none of single captions
    system_metrics = [
        name for name in names if set(imported.columns.get(name, ())) == {ScoreKeys.Subject.SYSTEMS}
    ]
    rows: list[dict[str, Any]] = []
    signatures = {name: imported.signature(name) for name in system_metrics}
    caption_scores: dict[str, Floats] = {}  # by metric
    if len(system_metrics) < len(names):
        scored_captions = score_captions(
            captions,
            references.documents(),
            metrics=[name for name in names if name not in system_metrics],
            tokenizer=tokenizer,
            imported=imported,
        )
        signatures |= {name: metric.signature for name, metric in scored_captions.scores.items()}
        caption_scores = {name: metric.images for name, metric in scored_captions.scores.items()}
    people_scores = np.array([caption.people for caption in captions], dtype=np.float64)
    clusters = caption_clusters(study, table, consensus, captions)
    if not system_metrics:
        progress(0.6, "comparing")
        rows = compare_on_captions(
            [caption_scores[name] for name in names], people_scores, clusters, weights_of_captions(captions)
        )
    return result | {
        "what": "captions",
        **scope_fields(columns_and_deletions(clusters)[1]),
        "signatures": {name: signatures[name] for name in names},
        "rows": rows,
        "systems": _compare_on_systems(study, names, caption_scores, people_scores, captions, imported),
        "notes": [_note_system_metrics(system_metrics)] if system_metrics else [],
    }


def _compare_on_systems(
    study: Study,
    names: Sequence[str],
    caption_scores: Mapping[str, Floats],
    people_scores: Floats,
    captions: Sequence[CaptionTexts],
    imported: ImportedScores,
) -> dict[str, Any] | None:
    """Return the agreement over systems; None if too few systems gave the judged captions.

    Args:
        names: the two metrics.
        caption_scores: the scores of the captions by metric, without metrics that only score whole systems.
        people_scores: people's scores of the captions.

    Raises:
        EvaluationError: a metric has no score of a system.
    """
    systems_by_caption: dict[tuple[int, str], list[int]] = {}
    for system, item, key in (
        Output.objects.of_study(study).annotations().values_list("system_id", "item_id", "caption__key")
    ):
        systems_by_caption.setdefault((item, key), []).append(system)
    credits = [
        (system, row)
        for row, caption in enumerate(captions)
        for system in dict.fromkeys(
            credited_systems(caption.systems, systems_by_caption.get((caption.item, caption.key), ()))
        )
    ]
    systems = [system for system, _row in credits]
    if len(set(systems)) < MIN_SYSTEMS:
        return None
    rows = np.array([row for _system, row in credits], dtype=np.int64)
    scores: list[Floats] = []
    for name in names:
        if name not in caption_scores:
            system_scores = imported.columns[name][ScoreKeys.Subject.SYSTEMS]
            score_of_system = dict(
                zip(system_scores.keys["system"].tolist(), system_scores.scores.tolist(), strict=True)
            )
            scores.append(np.array([score_of_system.get(system, np.nan) for system in systems]))
        else:
            scores.append(caption_scores[name][rows])
    if np.isnan(np.concatenate(scores)).any():
        raise EvaluationError(
            f"A metric of {', '.join(names)} has no score of a system that was judged; expected one of each."
        )
    items = [captions[row].item for row in rows.tolist()]
    scores_only_systems = [name not in caption_scores for name in names]
    return correlate_over_systems(scores, people_scores[rows], systems, items, scores_only_systems)


def _note_system_metrics(names: Sequence[str]) -> str:
    return (
        f"{', '.join(names)}: has scores of systems alone, so nothing can be said caption by caption; only the figures "
        "over systems compare it."
    )
