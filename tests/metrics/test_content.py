"""Content selection as Wang and Gaizauskas measure it: which boxes a description names, beside what people name."""

import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorum.metrics.content import CALLS, ContentScore, content_selection, content_upper_bound
from quorum.metrics.signatures import call_of_measure
from quorum.numeric.signatures import BadSignature
from tests.metrics import plain_annotation as plainly
from tests.refusals import assert_names

# WG15 figure 2: seven descriptions of a picture; boxes 0 dress, 2 woman, 3 car, 5 boot.
WOMAN_AND_CAR = [[2, 0, 5, 3], [2, 3], [2, 5, 3], [2, 3], [2, 3], [2, 5, 3], [2, 5, 0, 3]]
BOXES = st.sets(st.integers(0, 5), max_size=4)
IMAGE = st.lists(BOXES, max_size=5)
TASK = st.lists(st.tuples(BOXES, IMAGE), min_size=1, max_size=6)
EXACT: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-12}


def figures(score: ContentScore) -> list[Any]:
    return [score.precision, score.recall, score.f1]


def test_the_picture_of_the_paper_rewards_what_all_people_name() -> None:
    both = content_selection([[2, 3]], [WOMAN_AND_CAR])
    assert both.precision.mean == 1.0
    assert both.recall.mean == pytest.approx(16 / 21, rel=1e-15)  # (3 of 1, 2 of 2/3, 2 of 1/2) / 7
    assert both.f1.mean == pytest.approx(32 / 37, rel=1e-15)
    woman_and_dress = content_selection([[2, 0]], [WOMAN_AND_CAR])
    assert woman_and_dress.precision.mean == pytest.approx(9 / 14, rel=1e-15)  # seven women and two dresses
    assert woman_and_dress.f1.mean < both.f1.mean


def test_people_agree_on_the_picture_of_the_paper_as_counted_by_hand() -> None:
    # Of the 42 ordered pairs of descriptions, summed by the sizes 4, 2, 3: |A & B| / |A|.
    two = 6 * 1.0  # a description of woman and car is covered by each of the six others
    three = (3 * 2 + 1 * 3 + 2 * 3) / 3  # three of two boxes, another of three, two of four
    four = (3 * 2 + 2 * 3 + 4) / 4
    found = content_upper_bound([WOMAN_AND_CAR])
    assert found.precision.mean == pytest.approx((3 * two + 2 * three + 2 * four) / 42, rel=1e-14)
    assert found.recall.mean == pytest.approx(found.precision.mean, rel=1e-14)
    assert found.f1.mean < found.precision.mean


@settings(max_examples=30)
@given(TASK)
def test_figures_follow_from_the_equations(task: list[tuple[set[int], list[set[int]]]]) -> None:
    selections, descriptions = [pair[0] for pair in task], [pair[1] for pair in task]
    found = content_selection(selections, descriptions)
    expected = [plainly.selection(selected, gold) for selected, gold in task]
    bound = content_upper_bound(descriptions)
    expected_bound = [plainly.upper_bound(gold) for gold in descriptions]
    for score, wanted in ((found, expected), (bound, expected_bound)):
        for figure, column in zip(figures(score), zip(*wanted, strict=True), strict=True):
            np.testing.assert_allclose(figure.images, column, **EXACT)
            np.testing.assert_allclose([figure.mean, figure.sd], plainly.mean_and_sd(column), **EXACT)
            assert figure.undefined == sum(map(math.isnan, column))
            assert np.all((figure.images >= 0) & (figure.images <= 1) | np.isnan(figure.images))


def test_unanimous_people_reach_one_exactly() -> None:
    same = [[4, 1, 9, 7, 3, 2, 8]] * 6
    assert [figure.mean for figure in figures(content_upper_bound([same]))] == [1.0, 1.0, 1.0]
    assert [figure.mean for figure in figures(content_selection([same[0]], [same]))] == [1.0, 1.0, 1.0]


def test_a_selection_without_a_hit_scores_zero_and_not_nothing() -> None:
    # WG15 figure 5 prints F=0.00 for such sentences.
    found = content_selection([[1]], [[[0], [2]]])
    assert [figure.mean for figure in figures(found)] == [0.0, 0.0, 0.0]
    assert found.reason == ""


def test_a_box_named_twice_counts_once() -> None:
    twice = content_selection([[0, 0, 1]], [[[0, 0], [1, 2, 2]]])
    once = content_selection([[0, 1]], [[[0], [1, 2]]])
    assert [figure.mean for figure in figures(twice)] == [figure.mean for figure in figures(once)]


def test_figures_are_averaged_over_images_with_their_deviation() -> None:
    found = content_selection([[0], [0, 1]], [[[0]], [[0]]])
    assert (found.precision.mean, found.precision.sd) == (0.75, 0.25)
    assert (found.recall.mean, found.recall.sd) == (1.0, 0.0)
    assert found.f1.images.tolist() == [1.0, 2 / 3]
    assert (found.images, found.descriptions) == (2, 2)


def test_an_empty_selection_has_recall_alone_and_says_so() -> None:
    found = content_selection([[], [0]], [[[0]], [[0]]])
    assert np.isnan(found.precision.images).tolist() == [True, False]
    assert found.recall.images.tolist() == [0.0, 1.0]
    assert (found.precision.mean, found.recall.mean, found.f1.mean) == (1.0, 0.5, 1.0)
    assert (found.f1.undefined, found.empty_selections) == (1, 1)
    assert_names(found.reason, "no box: 1")


def test_an_empty_selection_may_be_counted_as_zero() -> None:
    found = content_selection([[], [0], []], [[[0]], [[0]], []], empty="zero")
    np.testing.assert_array_equal(found.f1.images, [0.0, 1.0, math.nan])
    np.testing.assert_array_equal(found.precision.images, [0.0, 1.0, math.nan])
    assert found.f1.mean == 0.5
    assert found.signature == "content-selection|empty:zero|v:1.0"


def test_an_image_without_gold_is_undefined_and_counted() -> None:
    found = content_selection([[0], [0], [0]], [[], [[]], [[0]]])
    np.testing.assert_array_equal(found.precision.images, [math.nan, 0.0, 1.0])
    np.testing.assert_array_equal(found.recall.images, [math.nan, math.nan, 1.0])
    np.testing.assert_array_equal(found.f1.images, [math.nan, math.nan, 1.0])
    assert_names(found.reason, "gold", "2")
    assert found.empty_descriptions == 1


def test_a_gold_description_of_nothing_lowers_precision_and_leaves_recall_alone() -> None:
    found = content_selection([[0]], [[[0], []]])
    assert (found.precision.mean, found.recall.mean) == (0.5, 1.0)


def test_people_cannot_be_held_against_themselves() -> None:
    found = content_upper_bound([[[0, 1]], [[0], []], [[0], [0]], []])
    np.testing.assert_array_equal(found.f1.images, [math.nan, math.nan, 1.0, math.nan])
    assert found.f1.mean == 1.0
    assert_names(found.reason, "descriptions", "3")


def test_where_nothing_is_defined_means_are_nan_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for found in (content_selection([[]], [[]]), content_upper_bound([[[0]]])):
            assert all(math.isnan(figure.mean) and math.isnan(figure.sd) for figure in figures(found))
            assert found.reason


def test_ten_thousand_boxes_and_many_descriptions_are_counted() -> None:
    many = range(10_000)
    found = content_selection([many], [[many, range(0, 10_000, 2), np.array([0, 2**31 - 1])]])
    assert found.precision.mean == pytest.approx((1 + 0.5 + 1e-4) / 3, rel=1e-12)
    assert found.recall.mean == pytest.approx((1 + 1 + 0.5) / 3, rel=1e-12)


def test_selections_may_be_any_collection_of_whole_numbers() -> None:
    gold = [[(0, 1), {2}, np.array([0], dtype=np.uint8)]]
    expected = content_selection([[0, 2]], [[[0, 1], [2], [0]]])
    for selected in ({0, 2}, frozenset({0, 2}), (2, 0), np.array([0, 2]), {0: "dog", 2: "cat"}.keys()):
        assert content_selection([selected], gold).f1.mean == expected.f1.mean


def test_signatures_lead_back_to_the_call() -> None:
    found = content_selection([[], [0]], [[[0]], [[0]]], empty="zero")
    again = call_of_measure(found.signature, CALLS)([[], [0]], [[[0]], [[0]]])
    assert (again.signature, again.f1.mean) == (found.signature, found.f1.mean)
    bound = content_upper_bound([WOMAN_AND_CAR])
    assert call_of_measure(bound.signature, CALLS)([WOMAN_AND_CAR]).f1.mean == bound.f1.mean


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("content-selection|empty:zero|v:0.9", "made by version 0.9"),
        ("content|v:1.0", "nothing known here"),
        ("content-selection|full:zero|v:1.0", "full.*content-selection"),
        ("content-selection", "is no signature"),
    ],
)
def test_other_signatures_are_refused_in_a_sentence(text: str, says: str) -> None:
    with pytest.raises(BadSignature, match=says):
        call_of_measure(text, CALLS)


def test_the_arrays_of_a_result_cannot_be_changed() -> None:
    found = content_selection([[0]], [[[0]]])
    with pytest.raises(ValueError, match="read-only"):
        found.f1.images[0] = 1
