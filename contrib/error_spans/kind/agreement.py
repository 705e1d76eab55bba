"""The agreement of people on marked errors, and the frequency of errors."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from contrib.error_spans.kind.answers import CATEGORY, END, SEVERITY, START, spans_with_place
from contrib.error_spans.kind.mqm import MQM, Mqm, score_of
from judgments.drawing.documents import first_of_documents
from judgments.kinds.base import CaptionScore, IncludedJudgment, KindResults, Results
from judgments.kinds.consensus import nan_as_none
from quorum.statistics.aggregation import standardised_mean
from quorum.statistics.agreement import SpanAgreement, span_alpha, span_f1

RESAMPLES = 1000  # of documents or items, for intervals of agreement


class SpanResults(Results):
    def __init__(self, mqm: Mqm = MQM) -> None:
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


def figures_of_spans(judged: Sequence[IncludedJudgment], weights: Mqm, *, seed: int) -> KindResults:
    """Return the study's results about ``spans``, and the mean MQM and standardised score of each unit.

    Resampling is by document or, without documents, by item.
    """
    if not judged:
        return KindResults()
    texts = [judgment.unit.pk for judgment in judged]
    workers = [judgment.worker for judgment in judged]
    lengths = [len(judgment.unit.first.text) for judgment in judged]
    marked = [spans_with_place(judgment.answer["spans"]) for judgment in judged]
    spans = [[(span[START], span[END]) for span in marks] for marks in marked]
    items = {judgment.unit.item.name: _document_of(judgment.unit) for judgment in judged}
    documents = first_of_documents(items.items())
    clusters = [documents.get(name, name) for name in (judgment.unit.item.name for judgment in judged)]
    severities = [[span[SEVERITY] for span in marks] for marks in marked]
    options: dict[str, Any] = {"items": clusters, "resamples": RESAMPLES, "seed": seed}
    data = (texts, workers, lengths, spans)
    all_spans = [span for judgment in judged for span in judgment.answer["spans"]]
    mqm: defaultdict[int, list[float]] = defaultdict(list)
    for judgment in judged:
        mqm[judgment.unit.pk].append(weights.score(judgment.answer["spans"]))
    scores = [score_of(judgment.answer, weights) for judgment in judged]
    standardised = standardised_mean(texts, workers, scores)
    rows = zip(standardised.units.tolist(), standardised.z.tolist(), strict=True)
    z = {unit: nan_as_none(value) for unit, value in rows}
    return KindResults(
        units={unit: {"mqm": sum(marks) / len(marks), "z": z[unit]} for unit, marks in mqm.items()},
        study={
            "spans": {
                "f1": _as_dict(span_f1(*data, **options)),
                "f1_same_severity": _as_dict(span_f1(*data, labels=severities, **options)),
                "alpha_u": _as_dict(span_alpha(*data, **options)),
                "alpha_u_same_severity": _as_dict(span_alpha(*data, labels=severities, **options)),
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


def _document_of(unit: Any) -> str:
    """Return the unit's document.

    Older releases have no document names; then return the name of its run of segments.
    """
    run = unit.content.get("document")
    document: str = unit.item.document or (run["name"].rpartition("#")[0] if run else "")
    return document


def _as_dict(agreement: SpanAgreement) -> dict[str, Any]:
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
