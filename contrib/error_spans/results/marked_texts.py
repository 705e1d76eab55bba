"""Show the texts of two systems side by side, with the errors that most people marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from contrib.error_spans.kind.answers import SEVERITY
from contrib.error_spans.results.segments import Segment
from evaluation.models import Consensus
from judgments.models import Caption, Item, Study


class Piece(NamedTuple):
    """A part of a text, with its consensus severity, or "" if it is not marked."""

    text: str
    severity: str


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A system's text with the errors of its consensus.

    Attributes:
        pieces: the text, divided where marks begin and end.
        missing_severity: the severity of the error that a part of the source is missing from the text; "" without one.
    """

    score: float | None
    pieces: tuple[Piece, ...]
    missing_severity: str


@dataclass(frozen=True, slots=True)
class MarkedRow:
    """An item with the texts of both systems."""

    item: str
    source: str
    reference: str
    texts: tuple[MarkedText, MarkedText]


def marked_rows(study: Study, segment_pairs: Sequence[tuple[Segment, Segment]]) -> list[MarkedRow]:
    """Return the marked texts of both systems' segments of an item, for pairs of which both have a consensus."""
    items = Item.objects.in_bulk([segment.item for segment, _ in segment_pairs])
    # By descending position, so that the first reference of an item replaces its others in the dictionary.
    references = dict(
        Caption.objects.filter(item__in=items, role=Caption.Role.REFERENCE)
        .order_by("-position")
        .values_list("item_id", "text")
    )
    units = {segment.unit for pair in segment_pairs for segment in pair}
    rows = Consensus.objects.filter(study=study, unit__in=units).select_related("unit__first")
    consensus = {row.unit_id: row for row in rows}
    return [
        MarkedRow(
            item=items[first.item].name,
            source=items[first.item].text,
            reference=references.get(first.item, ""),
            texts=(_mark_text(consensus[first.unit]), _mark_text(consensus[second.unit])),
        )
        for first, second in segment_pairs
        if first.unit in consensus and second.unit in consensus
    ]


def _mark_text(consensus: Consensus) -> MarkedText:
    """Divide the text of a consensus into marked and unmarked pieces."""
    assert consensus.unit is not None
    assert consensus.unit.first is not None  # a unit with marks has a text
    text = consensus.unit.first.text
    spans = consensus.answer["spans"] if consensus.answer else []
    severities = [""] * len(text)  # of each character
    for span in spans:
        if span["start"] is not None:
            severities[span["start"] : span["end"]] = [span[SEVERITY]] * (span["end"] - span["start"])
    pieces, start = [], 0
    for severity, run in groupby(severities[: len(text)]):  # longer if a span ends after the text
        end = start + len(list(run))
        pieces.append(Piece(text[start:end], severity))
        start = end
    missing_severity = next((span[SEVERITY] for span in spans if span["start"] is None), "")
    return MarkedText(consensus.value, tuple(pieces), missing_severity)
