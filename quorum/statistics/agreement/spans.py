"""Agreement of raters on marked spans of texts.

Offsets count characters (Unicode code points) from 0, and a span is [start, end). Overlapping spans of one rater are
joined into one. With labels (severities, categories), spans are compared label by label, and the sums are pooled.

Alpha-U is Krippendorff's alpha for unitizing (1995, Sociological Methodology 25, equations 4 to 8; 2004). The
difference of two overlapping spans is the squared distance of their starts plus the squared distance of their ends.
The difference of a span inside another rater's gap is its squared length. Krippendorff defines alpha-U for one text.
For several texts, observed differences are summed over texts, with equal weights of raters, and expected differences
are those of all spans at random places in all texts.

The F1 of two raters is 2 |A and B| / (|A| + |B|), where sizes are numbers of marked characters, summed over all pairs
of raters of all texts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.crossed import CONFIDENCE
from quorum.statistics.inference import Inference, Options, signed
from quorum.statistics.inputs import BadShape, BadValue, check_positive_int, encode
from quorum.statistics.resampling import Seed

NO_COMMON_TEXT = "no text was judged by two participants"
NOTHING = "no participant marked a span in a text that two participants judged"
ONE_ITEM = "only one item has judgments, so there is no interval"
NO_EXPECTED_DISAGREEMENT = "the expected disagreement is zero, so the coefficient is undefined"
Spans = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class SpanAgreement(Inference):
    """The agreement of marked spans, with an interval from resampled items.

    texts, items, raters, judgments: numbers of those compared; texts with a single rater are left out. spans: number of
    spans, where overlapping spans count as one. undefined_resamples: number of resamples without any span.
    """

    value: float
    texts: int
    items: int
    raters: int
    judgments: int
    spans: int


@dataclass(frozen=True, slots=True)
class _Marks:
    """J judgments of T texts in I items.

    text, rater: (J,) codes. length: (J,) number of characters of the text. item: (T,) codes. labels: for each
    label, (S,) judgments, starts and ends of its S spans, sorted by judgment and start.
    """

    text: Ints
    rater: Ints
    length: Ints
    item: Ints
    labels: tuple[tuple[Ints, Ints, Ints], ...]

    @property
    def readers(self) -> Ints:
        return np.bincount(self.text, minlength=len(self.item)).astype(np.int64)


@signed("span-alpha-u", data=("labels", "items"))
def span_alpha(
    texts: Iterable[Any],
    raters: Iterable[Any],
    lengths: Sequence[int],
    spans: Sequence[Spans],
    *,
    labels: Sequence[Sequence[Any]] | None = None,
    items: Iterable[Any] | None = None,
    confidence: float = CONFIDENCE,
    resamples: int = 1000,
    seed: Seed = 0,
) -> SpanAgreement:
    """Return Krippendorff's alpha-U of J judgments, and its bootstrap interval over items.

    Args:
        texts: (J,) text that was judged.
        raters: (J,) rater who judged it.
        lengths: (J,) number of characters of the text.
        spans: (J,) lists of (start, end).
        labels: (J,) lists with one label for each span; by default all spans have the same label.
        items: (J,) item of the text, such as its document, resampled as a whole; by default, the text itself.
    """
    marks = _read_marks(texts, raters, lengths, spans, labels, items)
    others = marks.readers - 1
    parts = [_part_of_alpha(marks, others, *of_label) for of_label in marks.labels]
    positions = np.bincount(marks.text, weights=marks.length, minlength=len(marks.item))

    def value(weights: Floats) -> float:
        total_weight = float(weights @ positions)
        observed = sum(float(weights @ part.observed_sums) for part in parts) / total_weight
        expected = sum(part.expected(weights, total_weight) for part in parts)
        return 1 - observed / expected if expected > 0 else math.nan

    return _result(marks, value, Options.from_sampling(confidence=confidence, resamples=resamples, seed=seed))


@signed("span-f1", data=("labels", "items"))
def span_f1(
    texts: Iterable[Any],
    raters: Iterable[Any],
    lengths: Sequence[int],
    spans: Sequence[Spans],
    *,
    labels: Sequence[Sequence[Any]] | None = None,
    items: Iterable[Any] | None = None,
    confidence: float = CONFIDENCE,
    resamples: int = 1000,
    seed: Seed = 0,
) -> SpanAgreement:
    """Return the F1 of marked characters over all pairs of raters of a text. Arguments are those of `span_alpha`."""
    marks = _read_marks(texts, raters, lengths, spans, labels, items)
    others = marks.readers - 1
    shared, marked = np.zeros(len(marks.item)), np.zeros(len(marks.item))
    for judgment, start, end in marks.labels:
        text = marks.text[judgment]
        span, other_span = _meetings(marks, judgment, start, end)
        both = np.minimum(end[span], end[other_span]) - np.maximum(start[span], start[other_span])
        np.add.at(shared, text[span], both)  # each pair of raters counts twice, once in each order
        np.add.at(marked, text, (end - start) * others[text])

    def value(weights: Floats) -> float:
        total_weight = float(weights @ marked)
        return float(weights @ shared) / total_weight if total_weight else math.nan

    return _result(marks, value, Options.from_sampling(confidence=confidence, resamples=resamples, seed=seed))


@dataclass(frozen=True, slots=True)
class _PartOfAlpha:
    """One label's part of alpha-U, for S spans and G gaps in T texts.

    observed_sums: (T,) sum of the differences between any two raters, with equal weights of raters. text, size: (S,)
    text and length of each span. gap_text, gap: (G,) text and length of each gap, the longest first. room: (S,)
    number of gaps that are at least as long as the span.
    """

    observed_sums: Floats
    text: Ints
    size: Floats
    gap_text: Ints
    gap: Floats
    room: Ints

    def expected(self, weights: Floats, positions: float) -> float:
        weight, around = weights[self.text], weights[self.gap_text]
        size = self.size
        gaps = np.concatenate([[0.0], np.cumsum(around)])[self.room]
        places = np.concatenate([[0.0], np.cumsum(around * (self.gap + 1))])[self.room]
        with_spans = (weight.sum() - 1) / 3 * (weight @ (2 * size**3 - 3 * size**2 + size))
        with_gaps = weight @ (size**2 * (places - gaps * size))
        pairs = positions * (positions - 1) - weight @ (size * (size - 1))
        return float(2 * (with_spans + with_gaps) / pairs) if weight.any() else 0.0


def _part_of_alpha(marks: _Marks, others: Ints, judgment: Ints, start: Ints, end: Ints) -> _PartOfAlpha:
    text, size = marks.text[judgment], (end - start).astype(np.float64)
    span, other_span = _meetings(marks, judgment, start, end)
    observed = np.zeros(len(marks.item))
    np.add.at(
        observed, text[span], (start[span] - start[other_span]) ** 2 + (end[span] - end[other_span]) ** 2
    )
    met = np.unique(np.stack([span, judgment[other_span]]), axis=1)[0]
    alone = others[text] - np.bincount(met, minlength=len(size))  # raters who have a gap around the span
    np.add.at(observed, text, 2 * size**2 * alone)  # count twice, once in each order, as overlaps are counted
    observed /= others
    gap_text, gap = _gaps(marks, judgment, start, end)
    order = np.argsort(-gap, kind="stable")
    room = np.searchsorted(-gap[order], -size, side="right")
    return _PartOfAlpha(observed, text, size, gap_text[order], gap[order].astype(np.float64), room)


def _meetings(marks: _Marks, judgment: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Return all pairs of spans by different raters that share a character, as two columns of positions.

    The positions are those of the (S,) spans. Every pair is returned in both orders.
    """
    text = marks.text[judgment]
    order = np.argsort(text, kind="stable")
    first = np.searchsorted(text[order], text, side="left")
    number = np.searchsorted(text[order], text, side="right") - first
    span = np.repeat(np.arange(len(text)), number)
    within = np.arange(len(span)) - np.repeat(np.cumsum(number) - number, number)
    other_span = order[np.repeat(first, number) + within]
    met = (
        (judgment[span] != judgment[other_span])
        & (start[span] < end[other_span])
        & (start[other_span] < end[span])
    )
    return span[met], other_span[met]


def _gaps(marks: _Marks, judgment: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints]:
    owner = np.concatenate([judgment, np.arange(len(marks.text))])
    from_ = np.concatenate([start, marks.length])
    to = np.concatenate([end, marks.length])
    order = np.lexsort((from_, owner))
    owner, from_, to = owner[order], from_[order], to[order]
    before = np.concatenate([[0], to[:-1]])
    before[np.concatenate([[True], owner[1:] != owner[:-1]])] = 0
    length = from_ - before
    return marks.text[owner][length > 0], length[length > 0]


def _result(marks: _Marks, value: Callable[[Floats], float], options: Options) -> SpanAgreement:
    check_positive_int(options.resamples, "resamples")
    size, spans = len(marks.item), sum(len(start) for _, start, _ in marks.labels)
    items = int(marks.item.max(initial=-1)) + 1
    figure = math.nan
    reason = NO_COMMON_TEXT if not size else "" if spans else NOTHING
    if not reason:
        figure = value(np.ones(size))
        reason = NO_EXPECTED_DISAGREEMENT if math.isnan(figure) else ONE_ITEM if items == 1 else ""
    inference = options.undefined_inference(reason)
    if not reason:
        drawn_items = options.generator.integers(items, size=(options.resamples, items))
        draws = [
            value(np.bincount(resample, minlength=items)[marks.item].astype(np.float64))
            for resample in drawn_items
        ]
        inference = options.interval_of_draws(np.array(draws))
    return SpanAgreement(
        value=figure,
        texts=size,
        items=items,
        raters=len(np.unique(marks.rater)),
        judgments=len(marks.text),
        spans=spans,
        **inference.shared(),
    )


def _read_marks(
    texts: Iterable[Any],
    raters: Iterable[Any],
    lengths: Sequence[int],
    spans: Sequence[Spans],
    labels: Sequence[Sequence[Any]] | None,
    items: Iterable[Any] | None,
) -> _Marks:
    _, text = encode(texts, "texts")
    _, rater = encode(raters, "raters")
    item = text if items is None else encode(items, "items")[1]
    length = np.array(lengths, dtype=np.int64)
    columns: dict[str, Sequence[Any] | Ints] = {
        "raters": rater,
        "lengths": length,
        "spans": spans,
        "items": item,
    }
    if labels is not None:
        columns["labels"] = labels
    for name, column in columns.items():
        if len(column) != len(text):
            raise BadShape(f"{name} has {len(column)} entries, expected {len(text)}, one a judgment")
    for name, column in (("lengths", length), ("items", item)):
        first = np.unique(text, return_index=True)[1]
        if len(text) and (column[first][text] != column).any():
            raise BadValue(f"{name} differs between judgments of one text, expected one a text")
    if len(np.unique(np.stack([text, rater]), axis=1)[0]) != len(text):
        raise BadValue("a rater has two judgments of one text, expected one")
    compared = np.flatnonzero(np.bincount(text)[text] > 1) if len(text) else text
    by_label: dict[Any, list[tuple[int, int, int]]] = {}
    for number, row in enumerate(compared.tolist()):
        span_labels = [None] * len(spans[row]) if labels is None else labels[row]
        if len(span_labels) != len(spans[row]):
            raise BadShape(
                f"labels of judgment {row} are {len(span_labels)}, expected {len(spans[row])}, one a span"
            )
        for name in dict.fromkeys(span_labels):
            named = [span for span, label in zip(spans[row], span_labels, strict=True) if label == name]
            joined = joined_spans(named, int(length[row]))
            by_label.setdefault(name, []).extend((number, *span) for span in joined)
    tables = [np.array(rows, dtype=np.int64).T for rows in by_label.values()]
    known_texts, own_text = np.unique(text[compared], return_inverse=True)
    first = np.unique(text, return_index=True)[1]
    return _Marks(
        text=own_text.astype(np.int64),
        rater=rater[compared],
        length=length[compared],
        item=np.unique(item[first][known_texts], return_inverse=True)[1].astype(np.int64),
        labels=tuple((judgment, start, end) for judgment, start, end in tables),
    )


def joined_spans(spans: Iterable[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    """Return the spans in order, with overlapping spans joined. Spans that only touch stay separate.

    Raise BadValue if a span does not lie within the text.
    """
    joined_intervals: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if not 0 <= start < end <= length:
            raise BadValue(f"the span {start} to {end} is none of a text of {length} characters")
        if joined_intervals and start < joined_intervals[-1][1]:
            joined_intervals[-1] = joined_intervals[-1][0], max(end, joined_intervals[-1][1])
        else:
            joined_intervals.append((start, end))
    return joined_intervals
