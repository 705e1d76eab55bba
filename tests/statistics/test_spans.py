"""Agreement on spans of text: printed values of alpha-U, a slow obvious form, and F1 over characters."""

import math
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest

from quorum.statistics.agreement import span_alpha, span_f1
from quorum.statistics.inputs import BadShape, BadValue

Spans = list[tuple[int, int]]
# Krippendorff (2004), section 5: two observers of a continuum of 300, which begins at 150; categories c and k.
# The unrounded values are those of DKPro Statistics' test (TestAlphaUnitizedAgreement).
OF_C: list[Spans] = [[(75, 145), (220, 250)], [(70, 150), (205, 225), (250, 270)]]
OF_K: list[Spans] = [[(30, 90), (150, 200)], [(30, 90), (150, 200)]]
TWO: dict[str, Any] = {"texts": [0, 0], "raters": ["i", "j"], "lengths": [300, 300]}


def test_alpha_u_is_that_of_krippendorff_s_example() -> None:
    assert span_alpha(**TWO, spans=OF_C).value == pytest.approx(0.7285, abs=0.0001)
    assert span_alpha(**TWO, spans=OF_K).value == 1
    both = [c + k for c, k in zip(OF_C, OF_K, strict=True)]
    names = [["c"] * len(c) + ["k"] * len(k) for c, k in zip(OF_C, OF_K, strict=True)]
    joint = span_alpha(**TWO, spans=both, labels=names)
    assert joint.value == pytest.approx(1 - 0.0144 / (0.0532 + 0.0490), abs=0.0005)
    assert (joint.spans, joint.judgments, joint.texts) == (9, 2, 1)


def drawn(rng: np.random.Generator, length: int) -> Spans:
    """Spans of a text, some next to each other, some over each other."""
    starts = rng.integers(0, length - 1, size=int(rng.integers(0, 4))).tolist()
    return [(start, int(rng.integers(start + 1, min(start + 6, length) + 1))) for start in starts]


def joined(spans: Spans) -> Spans:
    """The same in order: overlapping spans are one, neighbours are two."""
    found: Spans = []
    for start, end in sorted(spans):
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def gaps(spans: Spans, length: int) -> Spans:
    edges = [0, *(edge for span in spans for edge in span), length]
    return [(one, two) for one, two in zip(edges[::2], edges[1::2], strict=True) if one < two]


def difference(one: tuple[int, int, bool], other: tuple[int, int, bool]) -> float:
    """Krippendorff (1995), equation 5, of a span (True) or gap (False) and another."""
    apart = one[1] <= other[0] or other[1] <= one[0]
    if one[2] and other[2]:
        return 0 if apart else (one[0] - other[0]) ** 2 + (one[1] - other[1]) ** 2
    for span, gap in ((one, other), (other, one)):
        if span[2] and not gap[2] and gap[0] <= span[0] and span[1] <= gap[1]:
            return (span[1] - span[0]) ** 2
    return 0


def slow_alpha(texts: dict[int, tuple[int, list[Spans]]]) -> float:
    """alpha-U by its definition: every two raters, and every span at every place where it meets another."""
    sections = {
        text: [
            [(*span, True) for span in joined(own)] + [(*gap, False) for gap in gaps(joined(own), length)]
            for own in given
        ]
        for text, (length, given) in texts.items()
        if len(given) > 1
    }
    observed = sum(
        difference(one, other) / (len(given) - 1)
        for given in sections.values()
        for mine, theirs in permutations(given, 2)
        for one in mine
        for other in theirs
    )
    positions = sum(texts[text][0] * len(given) for text, given in sections.items())
    everything = [section for given in sections.values() for own in given for section in own]
    expected = 0.0
    for one, other in combinations(everything, 2):
        if not one[2] and not other[2]:
            continue
        size = one[1] - one[0]
        for start in range(other[0] - size, other[1] + 1):
            expected += 2 * difference((start, start + size, one[2]), other)
    within = sum((end - start) * (end - start - 1) for start, end, marked in everything if marked)
    return 1 - (observed / positions) / (expected / (positions * (positions - 1) - within))


def slow_f1(texts: dict[int, tuple[int, list[Spans]]]) -> float:
    shared = marked = 0
    for _, given in texts.values():
        characters = [{at for start, end in own for at in range(start, end)} for own in given]
        for one, other in combinations(characters, 2):
            shared, marked = shared + 2 * len(one & other), marked + len(one) + len(other)
    return shared / marked


def columns(texts: dict[int, tuple[int, list[Spans]]]) -> tuple[Any, ...]:
    rows = [
        (text, rater, length, own)
        for text, (length, given) in texts.items()
        for rater, own in enumerate(given)
    ]
    return tuple(list(column) for column in zip(*rows, strict=True))


@pytest.mark.parametrize("seed", range(6))
def test_many_texts_and_raters_give_what_the_definitions_give(seed: int) -> None:
    rng = np.random.default_rng(seed)
    texts = {
        text: (length, [drawn(rng, length) for _ in range(int(rng.integers(1, 4)))])
        for text, length in enumerate(rng.integers(5, 25, size=7).tolist())
    }
    assert span_alpha(*columns(texts)).value == pytest.approx(slow_alpha(texts), rel=1e-12)
    assert span_f1(*columns(texts)).value == pytest.approx(slow_f1(texts), rel=1e-12)


def test_random_marks_agree_by_chance_alone() -> None:
    rng = np.random.default_rng(1)
    texts = {
        text: (60, [[(at, at + 5)] for at in rng.integers(0, 55, size=2).tolist()]) for text in range(600)
    }
    found = span_alpha(*columns(texts))
    # five characters have 56 places in 60, where the formula counts 60: chance lies below 0 by as much
    assert found.value == pytest.approx(1 - 60 / 56, abs=0.02)
    assert found.low < 1 - 60 / 56 < found.high


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """Two raters find the same five characters with a chance of 0.8 each, else others: F1 is 0.64 in truth."""
    held = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        texts = {
            text: (
                40,
                [
                    [(0, 5) if rng.random() < 0.8 else (10 + 10 * rater, 15 + 10 * rater)]
                    for rater in range(2)
                ],
            )
            for text in range(80)
        }
        found = span_f1(*columns(texts), resamples=200, seed=seed)
        held += found.low <= 0.64 <= found.high
    assert 89 <= held <= 99


def test_items_that_belong_together_widen_the_interval() -> None:
    texts = {text: (20, [[(0, 5)], [(0, 5)] if text // 20 % 2 else [(9, 12)]]) for text in range(200)}
    alone = span_f1(*columns(texts))
    documents = [text // 20 for text in columns(texts)[0]]
    together = span_f1(*columns(texts), items=documents)
    assert alone.value == together.value
    assert together.high - together.low > 2 * (alone.high - alone.low)
    assert (alone.items, together.items) == (200, 10)


def test_labels_are_compared_by_themselves() -> None:
    spans = [[(0, 4), (6, 9)], [(0, 4), (6, 9)]]
    same = [["minor", "major"], ["minor", "major"]]
    other = [["minor", "major"], ["minor", "minor"]]
    assert span_f1([0, 0], [1, 2], [10, 10], spans, labels=same).value == 1
    assert span_f1([0, 0], [1, 2], [10, 10], spans, labels=other).value == pytest.approx(8 / 14)
    assert span_f1([0, 0], [1, 2], [10, 10], spans).value == 1


def test_what_says_nothing_says_why() -> None:
    nobody = span_f1([0, 1], [1, 1], [9, 9], [[(0, 2)], []])
    assert math.isnan(nobody.value)
    assert "two participants" in nobody.reason
    empty = span_alpha([0, 0], [1, 2], [9, 9], [[], []])
    assert math.isnan(empty.value)
    assert "no participant marked" in empty.reason
    single = span_f1([0, 0], [1, 2], [9, 9], [[(0, 2)], [(0, 2)]])
    assert (single.value, math.isnan(single.low)) == (1, True)
    assert "only one item" in single.reason
    # a span of the whole text has one place, where it meets itself alone
    whole = span_alpha([0, 0], [1, 2], [1, 1], [[(0, 1)], [(0, 1)]])
    assert math.isnan(whole.value)
    assert "expected disagreement is zero" in whole.reason
    some = span_f1([0, 0, 1, 1], [1, 2] * 2, [9] * 4, [[(0, 2)], [(0, 2)], [], []])
    assert some.undefined_resamples > 0
    assert (some.low, some.high) == (1, 1)
    assert math.isnan(span_f1([], [], [], []).value)


def test_bad_columns_are_refused_by_name() -> None:
    good: dict[str, Any] = {"texts": [0, 0], "raters": [1, 2], "lengths": [9, 9], "spans": [[(0, 2)], []]}
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"lengths": [9]}, r"lengths.*\b1\b.*\b2\b"),
        ({"labels": [["a"]]}, r"labels.*\b1\b.*\b2\b"),
        ({"labels": [["a", "b"], []]}, r"labels of judgment.*\b0\b.*\b2\b.*\b1\b"),
    ]
    for change, said in wrong:
        with pytest.raises(BadShape, match=said):
            span_f1(**(good | change))
    for change, said in (
        ({"lengths": [9, 8]}, "lengths"),
        ({"items": [1, 2]}, "items"),
        ({"raters": [1, 1]}, "two judgments"),
        ({"spans": [[(0, 10)], []]}, r"span.*\b0\b.*\b10\b.*\b9\b"),
        ({"spans": [[(3, 3)], []]}, "span 3 to 3"),
    ):
        with pytest.raises(BadValue, match=said):
            span_alpha(**(good | change))
