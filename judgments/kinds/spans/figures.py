"""Agreement on spans, and frequencies of errors."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from evaluation.statistics.aggregation import standardised_mean
from evaluation.statistics.agreement import SpanAgreement, span_alpha, span_f1
from judgments.kinds.base import IncludedJudgment, KindResults, or_none
from judgments.kinds.spans.answers import CATEGORY, END, MQM, SEVERITY, START, placed, value_of

RESAMPLES = 1000


def figures_of(judged: Sequence[IncludedJudgment], *, seed: int) -> KindResults:
    """Return the study's ``spans``, and each unit's mean MQM and standardised score.

    Documents, else items, are resampled together.
    """
    if not judged:
        return KindResults()
    texts = [one.unit.pk for one in judged]
    workers = [one.worker for one in judged]
    lengths = [len(one.unit.first.text) for one in judged]
    marked = [placed(one.given["spans"]) for one in judged]
    spans = [[(span[START], span[END]) for span in own] for own in marked]
    clusters = [_cluster(one.unit) for one in judged]
    severities = [[span[SEVERITY] for span in own] for own in marked]
    columns: dict[str, Any] = {"items": clusters, "resamples": RESAMPLES, "seed": seed}
    data = (texts, workers, lengths, spans)
    every = [span for one in judged for span in one.given["spans"]]
    mqm: defaultdict[int, list[float]] = defaultdict(list)
    for one in judged:
        mqm[one.unit.pk].append(MQM.score(one.given["spans"]))
    standard = standardised_mean(texts, workers, [value_of(one.given) for one in judged])
    rows = zip(standard.units.tolist(), standard.z.tolist(), strict=True)
    z = {unit: or_none(value) for unit, value in rows}
    return KindResults(
        units={unit: {"mqm": sum(own) / len(own), "z": z[unit]} for unit, own in mqm.items()},
        study={
            "spans": {
                "f1": _as_dict(span_f1(*data, **columns)),
                "f1_same_severity": _as_dict(span_f1(*data, labels=severities, **columns)),
                "alpha_u": _as_dict(span_alpha(*data, **columns)),
                "alpha_u_same_severity": _as_dict(span_alpha(*data, labels=severities, **columns)),
                "judgments": len(judged),
                "spans": len(every),
                "without": sum(not one.given["spans"] for one in judged),
                "missing": sum(span[START] is None for span in every),
                "severities": dict(sorted(Counter(span[SEVERITY] for span in every).items())),
                "categories": dict(
                    sorted(Counter(span[CATEGORY] for span in every if CATEGORY in span).items())
                ),
                "workers_without_z": standard.left_out,
            }
        },
    )


def _cluster(unit: Any) -> str:
    document = unit.content.get("document")
    return f"document {document['name'].rpartition('#')[0]}" if document else f"item {unit.item.name}"


def _as_dict(found: SpanAgreement) -> dict[str, Any]:
    return {
        "value": or_none(found.value),
        "low": or_none(found.low),
        "high": or_none(found.high),
        "n": found.texts,
        "clusters": found.items,
        "judgments": found.judgments,
        "confidence": found.confidence,
        "resamples": found.resamples,
        "seed": found.seed,
        "reason": found.reason,
        "signature": found.signature,
    }
