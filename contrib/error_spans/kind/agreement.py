"""The results of the kind: how far people agree on marked errors, how frequent errors are, and scores of texts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from contrib.error_spans.kind.answers import CATEGORY, END, SEVERITY, START, spans_with_place
from contrib.error_spans.kind.mqm import MQM, MqmScheme, score_of
from judgments.drawing.documents import first_of_documents
from judgments.kinds.base import CaptionScore, IncludedJudgment, KindResults, Results
from judgments.kinds.consensus import nan_as_none
from quorum.statistics.aggregation import standardised_mean
from quorum.statistics.agreement import SpanAgreement, span_alpha, span_f1

RESAMPLES = 1000  # of documents or items, for intervals of agreement


class SpanResults(Results):
    """The results of marked errors."""

    def __init__(self, mqm: MqmScheme = MQM) -> None:
        self.mqm = mqm

    def figures(self, judged: Sequence[IncludedJudgment], *, seed: int) -> KindResults:
        return figures_of_spans(judged, self.mqm, seed=seed)

    def caption_scores(self, judged: Sequence[IncludedJudgment]) -> list[CaptionScore]:
        """Return the mean score of each text, by item and credited systems."""
        ratings: defaultdict[tuple[int, str, str, tuple[Any, ...]], list[tuple[int, float]]] = defaultdict(
            list
        )
        for judgment in judged:
            unit = judgment.unit
            text_key = (unit.item_id, unit.first.key, unit.first.text, tuple(unit.systems))
            ratings[text_key].append((judgment.worker, score_of(judgment.answer, self.mqm)))
        return [
            CaptionScore(item, key, text, float(np.mean([value for _, value in rows])), tuple(rows), systems)
            for (item, key, text, systems), rows in ratings.items()
        ]


def figures_of_spans(judged: Sequence[IncludedJudgment], mqm: MqmScheme, *, seed: int) -> KindResults:
    """Return the study's results about ``spans``, and the mean MQM and standardised score of each unit.

    Resampling is by document or, without documents, by item. In the results, ``without`` is the number of judgments
    that mark no error, and ``missing`` the number of marks for missing parts.
    """
    if not judged:
        return KindResults()
    unit_ids = [judgment.unit.pk for judgment in judged]
    workers = [judgment.worker for judgment in judged]
    spans_of_judgments = [spans_with_place(judgment.answer["spans"]) for judgment in judged]
    measured: dict[str, Any] = {
        "texts": unit_ids,
        "raters": workers,
        "lengths": [len(judgment.unit.first.text) for judgment in judged],
        "spans": [[(span[START], span[END]) for span in spans] for spans in spans_of_judgments],
        "items": _clusters_of(judged),
        "resamples": RESAMPLES,
        "seed": seed,
    }
    severities = [[span[SEVERITY] for span in spans] for spans in spans_of_judgments]
    all_spans = [span for judgment in judged for span in judgment.answer["spans"]]
    mqm_scores: defaultdict[int, list[float]] = defaultdict(list)
    for judgment in judged:
        mqm_scores[judgment.unit.pk].append(mqm.score(judgment.answer["spans"]))
    standardised = standardised_mean(
        unit_ids, workers, [score_of(judgment.answer, mqm) for judgment in judged]
    )
    z_rows = zip(standardised.units.tolist(), standardised.z.tolist(), strict=True)
    z_scores = {unit: nan_as_none(value) for unit, value in z_rows}
    return KindResults(
        units={
            unit: {"mqm": sum(scores) / len(scores), "z": z_scores[unit]}
            for unit, scores in mqm_scores.items()
        },
        study={
            "spans": {
                "f1": _as_dict(span_f1(**measured)),
                "f1_same_severity": _as_dict(span_f1(**measured, labels=severities)),
                "alpha_u": _as_dict(span_alpha(**measured)),
                "alpha_u_same_severity": _as_dict(span_alpha(**measured, labels=severities)),
                "judgments": len(judged),
                "spans": len(all_spans),
                "without": sum(not judgment.answer["spans"] for judgment in judged),
                "missing": sum(span[START] is None for span in all_spans),
                "severities": dict(sorted(Counter(span[SEVERITY] for span in all_spans).items())),
                "categories": dict(
                    sorted(Counter(span[CATEGORY] for span in all_spans if CATEGORY in span).items())
                ),
                "workers_without_z": standardised.left_out,
            }
        },
    )


def _clusters_of(judged: Sequence[IncludedJudgment]) -> list[str]:
    """Return for each judgment the first item of its text's document or, without documents, the text's item."""
    documents = {judgment.unit.item.name: _document_of(judgment.unit) for judgment in judged}
    first_items = first_of_documents(documents.items())
    names = [judgment.unit.item.name for judgment in judged]
    return [first_items.get(name, name) for name in names]


def _document_of(unit: Any) -> str:
    """Return the name of the unit's document, or "".

    It is read from the item or, in releases without names of documents, from the unit's place ("document#version").
    """
    place = unit.content.get("document")
    document: str = unit.item.document or (place["name"].rpartition("#")[0] if place else "")
    return document


def _as_dict(agreement: SpanAgreement) -> dict[str, Any]:
    """Return an agreement as the study's results store it."""
    return {
        "value": nan_as_none(agreement.value),
        "low": nan_as_none(agreement.low),
        "high": nan_as_none(agreement.high),
        "n": agreement.texts,
        "clusters": agreement.items,
        "judgments": agreement.judgments,
        "confidence": agreement.confidence,
        "resamples": agreement.resamples,
        "seed": agreement.seed,
        "reason": agreement.reason,
        "signature": agreement.signature,
    }
