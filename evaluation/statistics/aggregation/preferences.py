"""Answers to "which of two is better": a side, how strongly, how surely, or no side.

One whole number holds an answer. Its last digit is the side: 1 the first, 2 the second, 0 no difference, 3 neither.
10 more says that the side is much better, and 100, 200 or 300 more how sure the person is. Without strength and
confidence, answers are 1 and 2, as in Vedantam et al. 2015.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from evaluation.arrays import Floats, Ints
from evaluation.statistics.inputs import BadValue

FIRST, SECOND, NO_DIFFERENCE, NEITHER = 1, 2, 0, 3
MUCH = 10
SURE = 100
CONFIDENCES = (1, 2, 3)


def sides_of(answers: ArrayLike) -> Ints:
    """Return (N,) the sides of (N,) answers: 1, 2, 0 for no difference, or 3 for neither.

    BadValue: an answer is not one of those above.
    """
    given = np.asarray(answers, dtype=np.float64)
    whole = np.nan_to_num(given, nan=-1.0).astype(np.int64)
    side, strength, confidence = whole % 10, whole // MUCH % 10, whole // SURE
    sided = (side == FIRST) | (side == SECOND)
    right = (given == whole) & (whole >= 0) & (side <= NEITHER) & (confidence <= max(CONFIDENCES))
    right &= (strength == 0) | ((strength == 1) & sided)
    if not right.all():
        where = int(np.flatnonzero(~right)[0])
        raise BadValue(f"answer {where} is {given[where]:g}, expected a side, and 10 more for much")
    return side


def preferences_of(answers: ArrayLike) -> Floats:
    """Return (N,) 2 or 1 for the first, much or slightly, 0, -1 or -2 for the second; nan for neither."""
    side = sides_of(answers)
    much = np.asarray(answers, dtype=np.int64) // MUCH % 10
    sign = np.array([0.0, 1.0, -1.0, np.nan])[side]
    return sign * (1 + much)


def confidences_of(answers: ArrayLike) -> Floats:
    """Return (N,) 1 for a guess to 3 for certain; nan where it was not said."""
    sides_of(answers)
    said = np.asarray(answers, dtype=np.int64) // SURE
    return np.where(said > 0, said, np.nan)
