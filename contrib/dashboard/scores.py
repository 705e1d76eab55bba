"""Score the candidates of a study once, and store the scores with the study's snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any

import numpy as np

from contrib.dashboard.models import BoardSnapshot
from evaluation.data.imported_scores import load_imported
from evaluation.data.judgment_sets import loaders
from evaluation.errors import EvaluationError
from evaluation.models import DEFAULT_METRICS, DEFAULT_TOKENIZER, Analysis, ImportedMetric
from evaluation.results.metrics.scoring import score_captions, score_pairs
from evaluation.results.metrics.study_texts import CaptionConsensus, caption_texts, pair_texts
from judgments.kinds import KINDS
from judgments.models import Study
from quorum.numeric.arrays import Floats

ROW_COLUMNS = ("of", "images")  # arrays of row ids in stored scores


def candidate_scores(study: Study) -> dict[str, Any]:
    """Return the scores of a study's candidates.

    The metrics are those of the newest evaluation, so that the page "Results" shows the same. ``asked`` identifies
    them, so that a later change of metrics is detected.

    Returns:
        ``metrics``: the scores by metric, (P, 2) of P pairs or (U,) of U units; ``of``: row ids of the pairs or
            units; ``images``: their images; ``reason``: why there are no scores.
    """
    kind = KINDS[study.protocol]
    metrics, tokenizer, *_imported = requested_metrics = _requested_metrics(study)
    if kind.comparison.refusal:
        scores = _as_scores([], {}, kind.comparison.refusal)
    elif not kind.compares_pairs and kind.results:
        scores = _as_scores([], {}, "The page Results compares them with the scores of texts.")
    else:
        try:
            scores = (_pair_scores if kind.compares_pairs else _caption_scores)(study, metrics, tokenizer)
        except EvaluationError as error:
            scores = _as_scores([], {}, str(error))
    return scores | {"asked": requested_metrics}


def _requested_metrics(study: Study) -> list[Any]:
    """Return the metrics' names, the tokenizer, and the row ids of imported metrics (each import has a new id)."""
    evaluations = Analysis.objects.newest_first(study, Analysis.Kind.META_EVALUATION)
    settings = evaluations.values_list("settings", flat=True).first()
    metrics, tokenizer = (
        (settings["metrics"], settings["tok"]) if settings else (list(DEFAULT_METRICS), DEFAULT_TOKENIZER)
    )
    imported = ImportedMetric.objects.filter(dataset=study.dataset_id, name__in=metrics).order_by("pk")
    return [metrics, tokenizer, *imported.values_list("pk", flat=True)]


def _pair_scores(study: Study, metrics: list[str], tokenizer: str) -> dict[str, Any]:
    material = pair_texts(study, loaders.load_references(study))
    imported = load_imported(study.dataset, metrics)
    _, scores = score_pairs(
        material.pairs, material.documents, metrics=metrics, tokenizer=tokenizer, imported=imported
    )
    return _as_scores([(pair.pk, pair.image) for pair in material.pairs], scores)


def _caption_scores(study: Study, metrics: list[str], tokenizer: str) -> dict[str, Any]:
    references = loaders.load_references(study)
    imported = load_imported(study.dataset, metrics)
    rows = loaders.caption_units(study)
    has_scores = imported.has_scores([(item, text) for _unit, item, _key, text in rows])
    scored_captions = [CaptionConsensus(*row, 0.0) for row in compress(rows, has_scores.tolist())]
    captions, _ = caption_texts(study, scored_captions, references)
    documents = references.documents()
    scored = score_captions(captions, documents, metrics=metrics, tokenizer=tokenizer, imported=imported)
    scores = {name: result.images for name, result in scored.scores.items()}
    return _as_scores([(caption.unit, caption.item) for caption in captions], scores)


def _as_scores(
    rows: Sequence[tuple[Any, Any]], scores: Mapping[str, Floats], reason: str = ""
) -> dict[str, Any]:
    """Return the dict in which scores are stored.

    Args:
        rows: the row id and the image of each scored pair or unit.
    """
    ids, images = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    return {"of": ids, "images": images, "metrics": scores, "reason": reason}


def stored_scores(study: Study) -> dict[str, Any] | None:
    """Return the scores stored with the last snapshot; None if the metrics have changed since."""
    stored = BoardSnapshot.objects.filter(study=study).values_list("scores", flat=True).first()
    if not stored or "images" not in stored or stored.get("asked") != _requested_metrics(study):
        return None
    metrics = {name: np.array(values, dtype=np.float64) for name, values in stored["metrics"].items()}
    rows = {name: np.array(stored[name], dtype=np.int64) for name in ROW_COLUMNS}
    return stored | rows | {"metrics": metrics}


def scores_to_store(scores: dict[str, Any]) -> dict[str, Any]:
    """Return the scores with lists in place of arrays, as `stored_scores` reads them."""
    metrics = {name: array.tolist() for name, array in scores["metrics"].items()}
    return scores | {name: scores[name].tolist() for name in ROW_COLUMNS} | {"metrics": metrics}
