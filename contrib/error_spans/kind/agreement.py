"""Compute how far people agree on marked errors, how frequent errors are, and the scores of texts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from contrib.error_spans.kind.answers import CATEGORY, END, SEVERITY, START, spans_with_offsets
from contrib.error_spans.kind.mqm import MQM, MqmScheme, score_of
from judgments.drawing.documents import first_of_documents
from judgments.kinds.base import CaptionScore, IncludedJudgment, KindResults, Results
from judgments.kinds.consensus import nan_as_none
from quorum.statistics.aggregation import standardised_mean
from quorum.statistics.agreement import SpanAgreement, span_alpha, span_f1

RESAMPLES = 1000  # of documents or items, for intervals of agreement


class SpanResults(Results):
    """The results of studies in which people mark errors. ``mqm`` has the weights of the errors."""

    def __init__(self, mqm: MqmScheme = MQM) -> None:
        self.mqm = mqm

    def figures(self, judgments: Sequence[IncludedJudgment], *, seed: int) -> KindResults:
        return figures_of_spans(judgments, self.mqm, seed=seed)

    def caption_scores(self, judgments: Sequence[IncludedJudgment]) -> list[CaptionScore]:
        """Return the mean score of each text, by item and credited systems."""
        # The workers and their scores of each text, which several units can show.
        ratings: defaultdict[tuple[int, str, str, tuple[Any, ...]], list[tuple[int, float]]] = defaultdict(
            list
        )
        for judgment in judgments:
            unit = judgment.unit
            shown_text = (unit.item_id, unit.first.key, unit.first.text, tuple(unit.systems))
            ratings[shown_text].append((judgment.worker, score_of(judgment.answer, self.mqm)))
        caption_scores = []
        for (item, key, text, systems), text_ratings in ratings.items():
            mean = float(np.mean([score for _, score in text_ratings]))
            caption_scores.append(CaptionScore(item, key, text, mean, tuple(text_ratings), systems))
        return caption_scores


def figures_of_spans(judgments: Sequence[IncludedJudgment], mqm: MqmScheme, *, seed: int) -> KindResults:
    """Return the study's results about ``spans``, and the mean MQM and standardised score of each unit.

    Scores that people give are standardised, or MQM scores if they give none (``score_of``). In the study's results,
    ``without`` is the number of judgments that mark no error, and ``missing`` the number of marks for missing parts.
    """
    if not judgments:
        return KindResults()
    unit_ids = [judgment.unit.pk for judgment in judgments]
    workers = [judgment.worker for judgment in judgments]
    all_spans = [span for judgment in judgments for span in judgment.answer["spans"]]
    mqm_scores: defaultdict[int, list[float]] = defaultdict(list)
    for judgment in judgments:
        mqm_scores[judgment.unit.pk].append(mqm.score(judgment.answer["spans"]))
    standardised_scores = standardised_mean(
        unit_ids, workers, [score_of(judgment.answer, mqm) for judgment in judgments]
    )
    z_by_unit = dict(zip(standardised_scores.units.tolist(), standardised_scores.z.tolist(), strict=True))
    return KindResults(
        units={
            unit: {"mqm": sum(scores) / len(scores), "z": nan_as_none(z_by_unit[unit])}
            for unit, scores in mqm_scores.items()
        },
        study={
            "spans": {
                **_agreement_on_spans(judgments, unit_ids, workers, seed),
                "judgments": len(judgments),
                "spans": len(all_spans),
                "without": sum(not judgment.answer["spans"] for judgment in judgments),
                "missing": sum(span[START] is None for span in all_spans),
                "severities": _sorted_counts(span[SEVERITY] for span in all_spans),
                "categories": _sorted_counts(span[CATEGORY] for span in all_spans if CATEGORY in span),
                "workers_without_z": standardised_scores.left_out,
            }
        },
    )


def _agreement_on_spans(
    judgments: Sequence[IncludedJudgment], unit_ids: Sequence[int], workers: Sequence[int], seed: int
) -> dict[str, Any]:
    """Return F1 and unitized alpha of the spans, and both again if only spans of the same severity can agree.

    Resampling is by document or, without documents, by item.
    """
    spans_of_judgments = [spans_with_offsets(judgment.answer["spans"]) for judgment in judgments]
    arguments: dict[str, Any] = {
        "texts": unit_ids,
        "raters": workers,
        "lengths": [len(judgment.unit.first.text) for judgment in judgments],
        "spans": [[(span[START], span[END]) for span in spans] for spans in spans_of_judgments],
        "items": _clusters_of(judgments),  # what is resampled
        "resamples": RESAMPLES,
        "seed": seed,
    }
    severities = [[span[SEVERITY] for span in spans] for spans in spans_of_judgments]
    return {
        "f1": _as_dict(span_f1(**arguments)),
        "f1_same_severity": _as_dict(span_f1(**arguments, labels=severities)),
        "alpha_u": _as_dict(span_alpha(**arguments)),
        "alpha_u_same_severity": _as_dict(span_alpha(**arguments, labels=severities)),
    }


def _sorted_counts(names: Iterable[str]) -> dict[str, int]:
    """Return how often each name occurs, sorted by name."""
    return dict(sorted(Counter(names).items()))


def _clusters_of(judgments: Sequence[IncludedJudgment]) -> list[str]:
    """Return the cluster of each judgment: the first item of the text's document or, without documents, its item."""
    documents = {judgment.unit.item.name: _document_of(judgment.unit) for judgment in judgments}
    first_items = first_of_documents(documents.items())
    names = [judgment.unit.item.name for judgment in judgments]
    return [first_items.get(name, name) for name in names]


def _document_of(unit: Any) -> str:
    """Return the name of the document to which the unit's text belongs, or "".

    It is a field of the item. A bundle that was made before items had this field has it in the content of units, in the
    form "document#version".
    """
    content = unit.content.get("document")
    document: str = unit.item.document or (content["name"].rpartition("#")[0] if content else "")
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
