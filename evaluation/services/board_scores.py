"""Metrics' scores of what a study judges: they do not change while people judge, so a board asks for them once."""

from __future__ import annotations

from typing import Any

import numpy as np

from evaluation import loaders
from evaluation.errors import EvaluationError
from evaluation.meta_evaluation import DEFAULT_METRICS, DEFAULT_TOKENIZER, score_texts
from evaluation.services.meta_evaluation import Said, caption_texts, texts_of_pairs
from judgments.kinds import KINDS
from judgments.models import Study


def candidate_scores(study: Study) -> dict[str, Any]:
    """JSON: ``of`` the row ids of pairs or units in order, ``metrics``: metric -> their scores (two of a pair), and
    ``reason`` why there are none."""
    kind = KINDS[study.protocol]
    if kind.instead_of_evaluate:
        return {"of": [], "metrics": {}, "reason": kind.instead_of_evaluate}
    if not kind.compares_pairs and kind.has_figures:
        return {
            "of": [],
            "metrics": {},
            "reason": "The page Results holds them against the scores of captions.",
        }
    try:
        return _of_pairs(study) if kind.compares_pairs else _of_captions(study)
    except EvaluationError as error:
        return {"of": [], "metrics": {}, "reason": str(error)}


def _of_pairs(study: Study) -> dict[str, Any]:
    pairs, documents, _ = texts_of_pairs(study, loaders.load_references(study))
    texts = [pair.first for pair in pairs] + [pair.second for pair in pairs]
    scored = score_texts(
        texts,
        [pair.references for pair in pairs] * 2,
        documents,
        metrics=DEFAULT_METRICS,
        tokenizer=DEFAULT_TOKENIZER,
    )
    count = len(pairs)
    metrics = {
        name: np.stack([result.images[:count], result.images[count:]], axis=1).tolist()
        for name, result in scored.scores.items()
    }
    return {"of": [pair.pk for pair in pairs], "metrics": metrics, "reason": ""}


def _of_captions(study: Study) -> dict[str, Any]:
    references = loaders.load_references(study)
    said = [Said(pk, item, key, text, 0.0) for pk, item, key, text in loaders.caption_units(study)]
    captions, _ = caption_texts(study, said, references)
    documents = [[text for _, text in rows] for rows in references.of_item.values()]
    scored = score_texts(
        [one.text for one in captions],
        [one.references for one in captions],
        documents,
        metrics=DEFAULT_METRICS,
        tokenizer=DEFAULT_TOKENIZER,
    )
    return {
        "of": [one.unit for one in captions],
        "metrics": {name: result.images.tolist() for name, result in scored.scores.items()},
        "reason": "",
    }
