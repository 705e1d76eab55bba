"""Codes of answers to the question which of two texts is better.

An answer is a whole number. Its last digit is the side: 1 the first, 2 the second, 0 no difference, 3 neither. 10 is
added for "much better", and 100, 200 or 300 for the person's confidence. Without degree and confidence, answers are 1
and 2, as in Vedantam et al. 2015.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.inputs import BadValue

FIRST, SECOND, NO_DIFFERENCE, NEITHER = 1, 2, 0, 3
MUCH = 10
SURE = 100
CONFIDENCES = (1, 2, 3)


def sides_of(answers: ArrayLike) -> Ints:
    """Return (N,) sides: 1, 2, 0 for no difference, or 3 for neither. Raise BadValue for any other answer."""
    answer = np.asarray(answers, dtype=np.float64)
    whole = np.nan_to_num(answer, nan=-1.0).astype(np.int64)
    side, strength, confidence = whole % 10, whole // MUCH % 10, whole // SURE
    sided = (side == FIRST) | (side == SECOND)
    right = (answer == whole) & (whole >= 0) & (side <= NEITHER) & (confidence <= max(CONFIDENCES))
    right &= (strength == 0) | ((strength == 1) & sided)
    if not right.all():
        where = int(np.flatnonzero(~right)[0])
        raise BadValue(f"answer {where} is {answer[where]:g}, expected a side, and 10 more for much")
    return side


def other_side(answers: Floats) -> Floats:
    """Return the (N,) answers that mean the same if the two texts are exchanged."""
    side = sides_of(answers)
    return np.asarray(answers + np.array([0, 1, -1, 0])[side], dtype=np.float64)


def preferences_of(answers: ArrayLike) -> Floats:
    """Return (N,) preferences, positive for the first: 2 (much), 1 (slightly), 0, -1 or -2.

    They are nan for "neither".
    """
    side = sides_of(answers)
    much = np.asarray(answers, dtype=np.int64) // MUCH % 10
    sign = np.array([0.0, 1.0, -1.0, np.nan])[side]
    return sign * (1 + much)


def confidences_of(answers: ArrayLike) -> Floats:
    """Return (N,) confidences from 1 (a guess) to 3 (certain); nan if the answer has none."""
    sides_of(answers)
    confidence = np.asarray(answers, dtype=np.int64) // SURE
    return np.where(confidence > 0, confidence, np.nan)
