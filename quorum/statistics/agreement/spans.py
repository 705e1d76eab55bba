"""Agreement of raters on marked spans of texts.

Offsets count characters (Unicode code points) from 0. A span (start, end) has the characters from start to end - 1.
Overlapping spans of one rater are joined into one. With labels (severities, categories), spans are compared label by
label, and the sums are pooled.

Alpha-U is Krippendorff's alpha for unitizing (1995, Sociological Methodology 25, equations 4 to 8; 2004). A gap is a
stretch of the text between two spans of a rater, or before the first or after the last one. The difference of two
overlapping spans is the squared distance of their starts plus the squared distance of their ends. The difference of a
span from a gap of another rater in which it lies is its squared length. Krippendorff defines alpha-U for one text. For
several texts, observed differences are summed over texts, with equal weights of raters, and expected differences are
those of all spans and gaps at random places in all texts.

The F1 of two raters is 2 |A and B| / (|A| + |B|), where sizes are numbers of marked characters, summed over all pairs
of raters of all texts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.crossed import CONFIDENCE
from quorum.statistics.inference import Inference, Options, signed
from quorum.statistics.inputs import BadShape, BadValue, check_positive_int, encode
from quorum.statistics.resampling import Seed

NO_COMMON_TEXT = "no text was judged by two participants"
NO_SPANS = "no participant marked a span in a text that two participants judged"
ONE_ITEM = "only one item has judgments, so there is no interval"
NO_EXPECTED_DISAGREEMENT = "the expected disagreement is zero, so the coefficient is undefined"
Spans = Sequence[tuple[int, int]]  # a start and an end each


@dataclass(frozen=True, slots=True)
class SpanAgreement(Inference):
    """The agreement of marked spans, with an interval from resampled items.

    value: alpha-U, or F1. texts, items, raters, judgments: numbers of those compared; texts with a single rater are
    left out. spans: number of spans, where overlapping spans count as one. undefined_resamples: number of resamples
    without any span.
    """

    value: float
    texts: int
    items: int
    raters: int
    judgments: int
    spans: int


class _LabelSpans(NamedTuple):
    """The S spans with one label, sorted by judgment and start: (S,) judgments, starts and ends."""

    judgment: Ints
    start: Ints
    end: Ints


@dataclass(frozen=True, slots=True)
class _MarkedTexts:
    """J judgments of T texts in I items. A judgment is the spans that one rater marked in one text.

    text, rater: (J,) codes. length: (J,) number of characters of the text. item: (T,) codes.
    """

    text: Ints
    rater: Ints
    length: Ints
    item: Ints
    spans_by_label: tuple[_LabelSpans, ...]

    @property
    def rater_counts(self) -> Ints:
        """The (T,) numbers of raters of the texts."""
        return np.bincount(self.text, minlength=len(self.item)).astype(np.int64)


@signed("span-alpha-u", data=("labels", "items"))  # signatures leave out what is named in `data`
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
    """Return Krippendorff's alpha-U of J judgments, with its bootstrap interval over items.

    Args:
        texts, raters: (J,) names of the text that was judged, and of the rater who judged it.
        lengths: (J,) number of characters of the text.
        spans: (J,) lists of marked spans as (start, end).
        labels: (J,) lists with one label for each span; by default all spans have the same label.
        items: (J,) item of the text, such as its document, resampled as a whole; by default, the text itself.
    """
    marks = _read_marked_texts(texts, raters, lengths, spans, labels, items)
    other_raters = marks.rater_counts - 1
    terms = [_label_disagreement(marks, other_raters, label_spans) for label_spans in marks.spans_by_label]
    text_lengths = np.bincount(marks.text, weights=marks.length, minlength=len(marks.item))

    def value(weights: Floats) -> float:
        total_weight = float(weights @ text_lengths)
        observed = sum(float(weights @ term.observed_sums) for term in terms) / total_weight
        expected = sum(term.expected(weights, total_weight) for term in terms)
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
    marks = _read_marked_texts(texts, raters, lengths, spans, labels, items)
    other_raters = marks.rater_counts - 1
    shared_sums, marked_sums = np.zeros(len(marks.item)), np.zeros(len(marks.item))
    for label_spans in marks.spans_by_label:
        judgment, start, end = label_spans
        text = marks.text[judgment]
        span, other_span = _overlapping_pairs(marks, label_spans)
        overlap = np.minimum(end[span], end[other_span]) - np.maximum(start[span], start[other_span])
        np.add.at(shared_sums, text[span], overlap)  # each pair of raters counts twice, once in each order
        np.add.at(marked_sums, text, (end - start) * other_raters[text])

    def value(weights: Floats) -> float:
        total_weight = float(weights @ marked_sums)
        return float(weights @ shared_sums) / total_weight if total_weight else math.nan

    return _result(marks, value, Options.from_sampling(confidence=confidence, resamples=resamples, seed=seed))


@dataclass(frozen=True, slots=True)
class _LabelDisagreement:
    """What is needed for the observed and expected differences of one label, which has S spans and G gaps in T texts.

    observed_sums: (T,) sums, over the raters of a text, of a rater's mean difference from the others. text, size:
    (S,) text and length of each span. gap_text, gap_length: (G,) text and length of each gap, the longest first.
    fitting_gaps: (S,) number of gaps that are at least as long as the span, and so can contain it.
    """

    observed_sums: Floats
    text: Ints
    size: Floats
    gap_text: Ints
    gap_length: Floats
    fitting_gaps: Ints

    def expected(self, weights: Floats, total_length: float) -> float:
        """Return the label's expected difference.

        `weights` (T,) say how often each text counts, and `total_length` is their weighted number of characters.
        """
        weight, gap_weight = weights[self.text], weights[self.gap_text]
        size = self.size
        # For each span, sums over the gaps that can contain it: their number, and their lengths plus 1. A gap of length
        # g has g + 1 - size places for the span.
        gap_sums = np.concatenate([[0.0], np.cumsum(gap_weight)])[self.fitting_gaps]
        place_sums = np.concatenate([[0.0], np.cumsum(gap_weight * (self.gap_length + 1))])[self.fitting_gaps]
        # The terms of Krippendorff's equation: the differences of spans from others, which may be shifted by less than
        # their length l (the squares of these shifts sum to (2 l^3 - 3 l^2 + l) / 3), the differences of spans from
        # gaps that contain them, and the number of pairs of places.
        with_spans = (weight.sum() - 1) / 3 * (weight @ (2 * size**3 - 3 * size**2 + size))
        with_gaps = weight @ (size**2 * (place_sums - gap_sums * size))
        pairs = total_length * (total_length - 1) - weight @ (size * (size - 1))
        return float(2 * (with_spans + with_gaps) / pairs) if weight.any() else 0.0


def _label_disagreement(
    marks: _MarkedTexts, other_raters: Ints, label_spans: _LabelSpans
) -> _LabelDisagreement:
    """Return the differences for the spans of a label. `other_raters` (T,) is each text's number of raters minus 1."""
    judgment, start, end = label_spans
    text, size = marks.text[judgment], (end - start).astype(np.float64)
    span, other_span = _overlapping_pairs(marks, label_spans)
    observed = np.zeros(len(marks.item))
    np.add.at(
        observed, text[span], (start[span] - start[other_span]) ** 2 + (end[span] - end[other_span]) ** 2
    )
    # The number of raters who have a gap around each span: all other raters but those with an overlapping span. Count
    # their difference twice, once in each order, as overlaps are counted.
    span_and_overlapping_judgment = np.unique(np.stack([span, judgment[other_span]]), axis=1)
    gap_raters = other_raters[text] - np.bincount(span_and_overlapping_judgment[0], minlength=len(size))
    np.add.at(observed, text, 2 * size**2 * gap_raters)
    observed /= other_raters
    gap_text, gap_length = _gaps(marks, label_spans)
    order = np.argsort(-gap_length, kind="stable")
    gap_text, gap_length = gap_text[order], gap_length[order]
    fitting_gaps = np.searchsorted(-gap_length, -size, side="right")
    return _LabelDisagreement(observed, text, size, gap_text, gap_length.astype(np.float64), fitting_gaps)


def _overlapping_pairs(marks: _MarkedTexts, label_spans: _LabelSpans) -> tuple[Ints, Ints]:
    """Return all pairs of spans by different raters that share a character, as two columns of positions of spans.

    Every pair is returned in both orders.
    """
    judgment, start, end = label_spans
    text = marks.text[judgment]
    # Pair each span with all spans of its text, which follow each other if spans are sorted by text.
    order = np.argsort(text, kind="stable")
    first_of_text = np.searchsorted(text[order], text, side="left")
    span_counts = np.searchsorted(text[order], text, side="right") - first_of_text
    span = np.repeat(np.arange(len(text)), span_counts)
    # For each pair, the number of the other span within its text.
    offsets = np.arange(len(span)) - np.repeat(np.cumsum(span_counts) - span_counts, span_counts)
    other_span = order[np.repeat(first_of_text, span_counts) + offsets]
    do_overlap = (
        (judgment[span] != judgment[other_span])
        & (start[span] < end[other_span])
        & (start[other_span] < end[span])
    )
    return span[do_overlap], other_span[do_overlap]


def _gaps(marks: _MarkedTexts, label_spans: _LabelSpans) -> tuple[Ints, Ints]:
    """Return the (G,) texts and lengths of the gaps before, between and after the spans of each judgment."""
    # Add the end of the text as a last span without characters, so that every gap is before a span.
    judgments = np.concatenate([label_spans.judgment, np.arange(len(marks.text))])
    starts = np.concatenate([label_spans.start, marks.length])
    ends = np.concatenate([label_spans.end, marks.length])
    order = np.lexsort((starts, judgments))
    judgments, starts, ends = judgments[order], starts[order], ends[order]
    # A gap starts at the end of the span before, or at 0 before the first span of a judgment.
    gap_starts = np.concatenate([[0], ends[:-1]])
    gap_starts[np.concatenate([[True], judgments[1:] != judgments[:-1]])] = 0
    length = starts - gap_starts
    return marks.text[judgments][length > 0], length[length > 0]


def _result(marks: _MarkedTexts, value: Callable[[Floats], float], options: Options) -> SpanAgreement:
    """Return a coefficient of all texts, with its bootstrap interval over items.

    `value` computes the coefficient from (T,) weights, which say how often each text counts.
    """
    check_positive_int(options.resamples, "resamples")
    text_count = len(marks.item)
    span_count = sum(len(label_spans.start) for label_spans in marks.spans_by_label)
    item_count = int(marks.item.max(initial=-1)) + 1
    coefficient, reason = math.nan, ""
    if not text_count:
        reason = NO_COMMON_TEXT
    elif not span_count:
        reason = NO_SPANS
    else:
        coefficient = value(np.ones(text_count))
        if math.isnan(coefficient):
            reason = NO_EXPECTED_DISAGREEMENT
        elif item_count == 1:
            reason = ONE_ITEM
    inference = options.undefined_inference(reason)
    if not reason:
        drawn_items = options.generator.integers(item_count, size=(options.resamples, item_count))
        draws = [
            value(np.bincount(resample, minlength=item_count)[marks.item].astype(np.float64))
            for resample in drawn_items
        ]
        inference = options.interval_of_draws(np.array(draws))
    return SpanAgreement(
        value=coefficient,
        texts=text_count,
        items=item_count,
        raters=len(np.unique(marks.rater)),
        judgments=len(marks.text),
        spans=span_count,
        **inference.fields_by_name(),
    )


def _read_marked_texts(
    texts: Iterable[Any],
    raters: Iterable[Any],
    lengths: Sequence[int],
    spans: Sequence[Spans],
    labels: Sequence[Sequence[Any]] | None,
    items: Iterable[Any] | None,
) -> _MarkedTexts:
    """Check the arguments of `span_alpha`, and return the texts with two judgments or more, with joined spans."""
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
        first_rows = np.unique(text, return_index=True)[1]
        if len(text) and (column[first_rows][text] != column).any():
            raise BadValue(f"{name} differs between judgments of one text, expected one a text")
    if len(np.unique(np.stack([text, rater]), axis=1)[0]) != len(text):
        raise BadValue("a rater has two judgments of one text, expected one")
    # Keep only texts with two judgments or more, and number their judgments anew.
    compared_rows = np.flatnonzero(np.bincount(text)[text] > 1) if len(text) else text
    spans_by_label: dict[Any, list[tuple[int, int, int]]] = {}  # judgment, start and end of each span
    for judgment, row in enumerate(compared_rows.tolist()):
        span_labels = [None] * len(spans[row]) if labels is None else labels[row]
        if len(span_labels) != len(spans[row]):
            raise BadShape(
                f"labels of judgment {row} are {len(span_labels)}, expected {len(spans[row])}, one a span"
            )
        for name in dict.fromkeys(span_labels):
            label_spans = [span for span, label in zip(spans[row], span_labels, strict=True) if label == name]
            joined_label_spans = joined_spans(label_spans, int(length[row]))
            spans_by_label.setdefault(name, []).extend((judgment, *span) for span in joined_label_spans)
    compared_texts, compared_text = np.unique(text[compared_rows], return_inverse=True)
    # The item of a text is that of its first judgment. Number the items of the compared texts anew.
    first_rows = np.unique(text, return_index=True)[1]
    return _MarkedTexts(
        text=compared_text.astype(np.int64),
        rater=rater[compared_rows],
        length=length[compared_rows],
        item=np.unique(item[first_rows][compared_texts], return_inverse=True)[1].astype(np.int64),
        spans_by_label=tuple(
            _LabelSpans(*np.array(rows, dtype=np.int64).T) for rows in spans_by_label.values()
        ),
    )


def joined_spans(spans: Iterable[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    """Return the spans in order, with overlapping spans joined. Spans that only touch stay separate.

    Raise BadValue if a span does not lie within the text.
    """
    separate_spans: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if not 0 <= start < end <= length:
            raise BadValue(f"the span {start} to {end} is none of a text of {length} characters")
        if separate_spans and start < separate_spans[-1][1]:
            separate_spans[-1] = separate_spans[-1][0], max(end, separate_spans[-1][1])
        else:
            separate_spans.append((start, end))
    return separate_spans
