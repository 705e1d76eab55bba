"""Codes of answers to the question which of two texts is better.

An answer is a whole number. Its last digit is the side: 1 the first, 2 the second, 0 no difference, 3 neither. 10 is
added for "much better", and 100, 200 or 300 for the person's confidence. So 212 means that the second text is much
better, with confidence 2. Without degree and confidence, answers are 1 and 2, as in Vedantam et al. 2015.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.inputs import BadValue

FIRST, SECOND, NO_DIFFERENCE, NEITHER = 1, 2, 0, 3
SIDE_NAMES: dict[float, str] = {
    FIRST: "first",
    SECOND: "second",
    NO_DIFFERENCE: "no difference",
    NEITHER: "neither",
}
MUCH = 10  # is added for "much better"
SURE = 100  # is added once for each degree of confidence
CONFIDENCES = (1, 2, 3)
# Every side, or degree of a side, with every confidence or none.
ALL_ANSWERS = tuple(
    SURE * confidence + side
    for confidence in (0, *CONFIDENCES)
    for side in (FIRST, SECOND, NO_DIFFERENCE, NEITHER, MUCH + FIRST, MUCH + SECOND)
)


def side_of(answer: int) -> int:
    return answer % MUCH


def sides_of(answers: ArrayLike) -> Ints:
    """Return (N,) sides: 1, 2, 0 for no difference, or 3 for neither. Raise BadValue for any other answer."""
    numbers = np.asarray(answers, dtype=np.float64)
    codes = np.nan_to_num(numbers, nan=-1.0).astype(np.int64)
    # The digits of an answer, from the last.
    side, much, confidence = codes % 10, codes // MUCH % 10, codes // SURE
    names_side = (side == FIRST) | (side == SECOND)
    is_valid = (numbers == codes) & (codes >= 0) & (side <= NEITHER) & (confidence <= max(CONFIDENCES))
    is_valid &= (much == 0) | ((much == 1) & names_side)
    if not is_valid.all():
        index = int(np.flatnonzero(~is_valid)[0])
        raise BadValue(f"answer {index} is {numbers[index]:g}, expected a side, and 10 more for much")
    return side


def other_side(answers: Floats) -> Floats:
    """Return the (N,) answers that mean the same if the two texts are exchanged."""
    side = sides_of(answers)
    change_by_side = np.array([0, 1, -1, 0])  # exchanges the digits 1 and 2
    return np.asarray(answers + change_by_side[side], dtype=np.float64)


def preferences_of(answers: ArrayLike) -> Floats:
    """Return (N,) preferences, positive for the first: 2 (much), 1 (slightly), 0, -1 or -2; nan for "neither"."""
    side = sides_of(answers)
    much = np.asarray(answers, dtype=np.int64) // MUCH % 10
    sign = np.array([0.0, 1.0, -1.0, np.nan])[side]
    return sign * (1 + much)


def confidences_of(answers: ArrayLike) -> Floats:
    """Return (N,) confidences from 1 (a guess) to 3 (certain); nan if the answer has none."""
    sides_of(answers)  # raises BadValue for what is no answer
    confidence = np.asarray(answers, dtype=np.int64) // SURE
    return np.where(confidence > 0, confidence, np.nan)


def is_same_side(answer: Any, expected: Any) -> bool:
    """Return whether two answers choose the same side; False if one is no whole number, such as a text in a file."""
    return isinstance(expected, int) and isinstance(answer, int) and side_of(answer) == side_of(expected)
