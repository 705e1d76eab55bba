"""The codes of answers to pairs, and how probable they are to a simulated person."""

from math import exp

import pytest

from quorum.statistics.aggregation.pair_answers import (
    ALL_ANSWERS,
    answer_probabilities,
    is_same_side,
    side_probabilities,
    sides_of,
)


def test_every_answer_is_a_side_with_or_without_strength_and_confidence() -> None:
    assert len(set(ALL_ANSWERS)) == 6 * 4
    assert set(sides_of(ALL_ANSWERS).tolist()) == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("answer", "expected", "same"),
    [
        (1, 1, True),
        (311, 1, True),
        (2, 1, False),
        (0, 0, True),
        (200, 3, False),
        (1, "1", False),
        (None, 1, False),
    ],
)
def test_answers_are_the_same_if_their_sides_are(answer: object, expected: object, same: bool) -> None:
    assert is_same_side(answer, expected) is same


def test_a_side_is_as_probable_as_its_quality_says() -> None:
    assert side_probabilities([0.0, 0.0]) == [0.5, 0.5]
    assert side_probabilities([2.0, 0.0])[0] == pytest.approx(1 / (1 + exp(-2)))
    assert sum(side_probabilities([3.0, 1.5])) == pytest.approx(1)


def test_answers_follow_davidsons_model() -> None:
    # first, no difference, second: exp(d / 2), nu and exp(-d / 2), with nu = 0.4
    weights = [exp(0.5), 0.4, exp(-0.5)]
    assert answer_probabilities([1, 0, 2], [1.0, 0.0]) == pytest.approx(
        [weight / sum(weights) for weight in weights]
    )
    much, little, neither, none = answer_probabilities([11, 1, 3, 0], [1.0, 0.0])
    assert (much / little, none / neither) == (pytest.approx(exp(0.5)), pytest.approx(4))
    assert answer_probabilities([101, 201, 301], [5.0, 0.0]) == pytest.approx([1 / 3] * 3)
