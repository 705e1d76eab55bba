"""The codes of answers to pairs."""

import pytest

from quorum.statistics.aggregation.pair_answers import (
    ALL_ANSWERS,
    is_same_side,
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
