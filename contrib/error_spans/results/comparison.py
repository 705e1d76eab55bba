"""Compare two systems by marked errors: their scores, and their texts side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from common.amounts import json_float
from contrib.error_spans.kind.answers import SEVERITY
from contrib.error_spans.results.segments import Segment, Segments, outputs_of
from evaluation.errors import EvaluationError
from evaluation.models import Consensus
from judgments.models import Caption, Item, Study
from quorum.statistics.crossed import CONFIDENCE, NO_SPREAD


@dataclass(frozen=True, slots=True)
class SystemsComparison:
    """The mean difference of two systems' scores, first minus second, over the segments that both systems have."""

    first: str
    second: str
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    better: int
    worse: int
    segments: int
    reason: str


@dataclass(frozen=True, slots=True)
class Side:
    """A text in pieces. Each piece has its consensus severity, or "" if it is not marked."""

    score: float | None
    pieces: tuple[tuple[str, str], ...]
    missing: str


@dataclass(frozen=True, slots=True)
class MarkedRow:
    item: str
    source: str
    reference: str
    sides: tuple[Side, Side]


def compare_systems(segments: Segments, first: str, second: str) -> SystemsComparison:
    """Compare two systems on the segments that both have. Raise EvaluationError if one has no judged text."""
    for name in (first, second):
        if name not in segments:
            raise EvaluationError(
                f"System {name!r} has no judged text in the study; there are {', '.join(segments) or 'none'}."
            )
    both = shared_segments(segments, first, second)
    differences = [segment.score - other.score for segment, other in both]
    outputs = outputs_of({first: segments[first], second: segments[second]})
    mean, spread, p = math.nan, NO_SPREAD, math.nan
    if outputs is not None:
        mean, spread, _ = outputs.contrast({0: 1.0, 1: -1.0})
        p = outputs.compare(0, 1).p
    half = spread.half_width(CONFIDENCE)
    return SystemsComparison(
        first=first,
        second=second,
        difference=json_float(mean),
        low=json_float(mean - half),
        high=json_float(mean + half),
        p=json_float(p),
        better=sum(difference > 0 for difference in differences),
        worse=sum(difference < 0 for difference in differences),
        segments=len(both),
        reason="" if both else "no item has a judged text of both",
    )


def shared_segments(segments: Segments, first: str, second: str) -> list[tuple[Segment, Segment]]:
    """Return the two systems' segments of each item that both have, largest difference first."""
    others = {segment.item: segment for segment in segments[second]}
    both = [(segment, others[segment.item]) for segment in segments[first] if segment.item in others]
    return sorted(both, key=lambda pair: -abs(pair[0].score - pair[1].score))


def marked_rows(study: Study, shown: Sequence[tuple[Segment, Segment]]) -> list[MarkedRow]:
    """Return shared segments with their marked texts, for those in which both texts have a consensus."""
    items = Item.objects.in_bulk([segment.item for segment, _ in shown])
    references = dict(
        Caption.objects.filter(item__in=items, role=Caption.Role.REFERENCE)
        .order_by("-position")
        .values_list("item_id", "text")
    )
    units = {segment.unit for both in shown for segment in both}
    rows = Consensus.objects.filter(study=study, unit__in=units).select_related("unit__first")
    consensus = {row.unit_id: row for row in rows}
    return [
        MarkedRow(
            item=items[first.item].name,
            source=items[first.item].text,
            reference=references.get(first.item, ""),
            sides=(_marked_side(consensus[first.unit]), _marked_side(consensus[second.unit])),
        )
        for first, second in shown
        if first.unit in consensus and second.unit in consensus
    ]


def _marked_side(consensus: Consensus) -> Side:
    assert consensus.unit is not None
    assert consensus.unit.first is not None  # a unit with marks has a text
    text = consensus.unit.first.text
    spans = consensus.answer["spans"] if consensus.answer else []
    severity = [""] * len(text)
    for span in spans:
        if span["start"] is not None:
            severity[span["start"] : span["end"]] = [span[SEVERITY]] * (span["end"] - span["start"])
    edges = [at for at in range(len(text)) if at == 0 or severity[at] != severity[at - 1]]
    pieces = tuple(
        (text[start:end], severity[start]) for start, end in zip(edges, [*edges[1:], len(text)], strict=True)
    )
    missing = next((span[SEVERITY] for span in spans if span["start"] is None), "")
    return Side(consensus.value, pieces, missing)
