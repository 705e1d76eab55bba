"""Score the texts of pairs and captions by metrics, of which some are computed and others imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from evaluation.data.imported_scores import NO_SCORES, ImportedScores
from evaluation.errors import EvaluationError, as_sentence
from evaluation.results.metrics.texts import CaptionTexts, PairTexts, References
from quorum.numeric.arrays import Floats

if TYPE_CHECKING:
    from quorum.metrics import Scores


def score_texts(
    candidates: Sequence[str],
    references: Sequence[References],
    documents: Sequence[References],
    *,
    metrics: Sequence[str],
    tokenizer: str,
    imported: Mapping[str, tuple[Floats, str]] | None = None,
) -> Scores:
    """Return the scores of ``candidates``, with document frequencies in ``documents``.

    ``imported`` has, by name of a metric computed elsewhere, the scores of the candidates and their signature.

    Raises:
        EvaluationError: a metric or tokenizer is unknown or unavailable.
    """
    # Import late, because the metrics load a compiler that most pages do not need.
    from quorum.metrics import MetricsError, score
    from quorum.metrics.registry import VERSION, MetricScore, Scores

    # A MetricScore has the score of all candidates, the scores of the single ones (`images`), and the signature.
    metric_scores: dict[str, MetricScore] = {
        name: MetricScore(float(np.mean(scores)), scores.copy(), imported_signature)
        for name, (scores, imported_signature) in (imported or {}).items()
    }
    names_to_compute = [name for name in metrics if name not in metric_scores]
    if metric_scores and not names_to_compute:
        return Scores({name: metric_scores[name] for name in metrics}, tokenizer, VERSION)
    try:
        result = score(candidates, references, names_to_compute, tokenizer, document_corpus=documents)
    except MetricsError as error:
        raise EvaluationError(as_sentence(error)) from None
    if not metric_scores:
        return result
    metric_scores |= result.scores
    return replace(result, scores={name: metric_scores[name] for name in metrics})


def score_pairs(
    pairs: Sequence[PairTexts],
    documents: Sequence[References],
    *,
    metrics: Sequence[str],
    tokenizer: str,
    imported: ImportedScores = NO_SCORES,
) -> tuple[Scores, dict[str, Floats]]:
    """Score both candidates of each pair. Return the scores, and the same scores as (N, 2) float64 by metric."""
    # Texts and scores are in one column: the first texts of all pairs, then the second ones.
    texts_of_pairs = [(pair.image, pair.first, pair.second) for pair in pairs]
    systems = [pair.systems for pair in pairs]
    imported_scores = {
        name: (imported.of_pairs(name, texts_of_pairs, systems).T.ravel(), imported.signature(name))
        for name in metrics
        if name in imported.names
    }
    texts = [pair.first for pair in pairs] + [pair.second for pair in pairs]
    references = [pair.references for pair in pairs] * 2
    result = score_texts(
        texts, references, documents, metrics=metrics, tokenizer=tokenizer, imported=imported_scores
    )
    return result, {name: metric.images.reshape(2, -1).T for name, metric in result.scores.items()}


def score_captions(
    captions: Sequence[CaptionTexts],
    documents: Sequence[References],
    *,
    metrics: Sequence[str],
    tokenizer: str,
    imported: ImportedScores = NO_SCORES,
) -> Scores:
    texts_of_captions = [(caption.item, caption.text) for caption in captions]
    systems = [caption.systems for caption in captions]
    return score_texts(
        [caption.text for caption in captions],
        [caption.references for caption in captions],
        documents,
        metrics=metrics,
        tokenizer=tokenizer,
        imported={
            name: (imported.of_captions(name, texts_of_captions, systems), imported.signature(name))
            for name in metrics
            if name in imported.names
        },
    )
