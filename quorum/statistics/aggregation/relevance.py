"""The relevance of captions by their judges' votes (Hodosh et al. 2013, H13, section 4.3.2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.statistics.aggregation.weights import MAX_DENOMINATOR, count_vector
from quorum.statistics.inference import Result, signed
from quorum.statistics.inputs import (
    BadOption,
    BadValue,
    encode,
    finite_column,
    list_of_values,
    refuse_values,
    same_length,
)

# H13 section 4.3.2: a caption is relevant when two of three judges say yes.
TWO_THIRDS = (2, 3)


@dataclass(frozen=True, slots=True)
class RelevanceResult(Result):
    """Votes on (U,) units.

    yes, n: numbers of yes votes and of all votes. share: yes / n. relevant: whether the share is at least the fraction
    `at_least`, a numerator and a denominator.
    """

    units: NDArray[Any]
    yes: Ints
    n: Ints
    share: Floats
    relevant: Flags
    at_least: tuple[int, int]


@signed("relevance-vote")
def relevance_vote(
    units: Iterable[Any], values: Iterable[Any], *, at_least_share: tuple[int, int] = TWO_THIRDS
) -> RelevanceResult:
    """Return each unit's share of yes votes, and whether it is relevant (H13 section 4.3.2). A value of 1 is a yes."""
    names, unit_codes = encode(units, "units")
    answers = finite_column(values, "values")
    same_length(units=unit_codes, values=answers)
    refuse_values(answers, (answers != 0) & (answers != 1), "values", "0 or 1")
    n = np.bincount(unit_codes, minlength=len(names))
    yes = np.bincount(unit_codes[answers == 1], minlength=len(names))
    return RelevanceResult(names, yes, n, yes / n, is_relevant(yes, n, at_least_share), at_least_share)


def is_relevant(yes: ArrayLike, n: ArrayLike, at_least_share: tuple[int, int] = TWO_THIRDS) -> Flags:
    """Return (U,) flags that say whether yes / n is at least a share such as (2, 3).

    The comparison is exact, in whole numbers.
    """
    share = list_of_values(at_least_share, "the share")
    if not all(isinstance(number, (int, np.integer)) for number in share) or len(share) != 2:
        raise BadOption(f"the share is {at_least_share!r}, expected two whole numbers such as (2, 3)")
    numerator, denominator = share
    if not (0 <= numerator <= denominator <= MAX_DENOMINATOR and denominator > 0):
        raise BadOption(
            f"the share is {numerator} of {denominator}, expected 0 <= top <= bottom, "
            f"and bottom {MAX_DENOMINATOR} at most"
        )
    votes, totals = count_vector(yes, "yes"), count_vector(n, "n")
    same_length(yes=votes, n=totals)
    if np.any(votes > totals):
        unit = int(np.flatnonzero(votes > totals)[0])
        raise BadValue(f"unit {unit} has {votes[unit]} yes of {totals[unit]}, expected at most all")
    return (votes * denominator >= totals * numerator) & (totals > 0)
