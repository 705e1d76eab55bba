"""Compute the number of new items and people that would decide comparisons of systems and metrics."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, TypedDict

import scipy  # its submodules load at first use
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from common.amounts import thousands
from quorum.statistics.crossed import MIN_CLUSTERS, Contrast, Spread
from quorum.statistics.significance import LEVEL

POWER = 0.8  # probability with which a true difference is to be found
MAX_SIZE_FACTOR = 20  # largest proposed size, as a multiple of the study's size
SAME_PEOPLE_FACTOR = 1.25  # do not ask for more people if it saves less than this factor of items
MAX_FACTOR = 1e6  # largest multiple that is tried
VARIANCE_QUANTILES = (0.1, 0.3, 0.5, 0.7, 0.9)  # quantiles of the distribution of a variance


class LargerStudy(TypedDict):
    """The size of a study of new items that would decide the open comparisons with the power POWER.

    This assumes that the true differences are as large as the observed ones.

    Attributes:
        more: number of new items.
        more_raters: number of additional people; 0 if the same people suffice, or if people are not counted. Both are
            None if more than MAX_SIZE_FACTOR times as many are needed, or if only one person judged.
        more_of_same: if ``more_raters`` is above 0, the number of new items if only the same people judge; None if no
            number is enough.
    """

    more: int | None
    more_raters: int | None
    more_of_same: int | None


NO_LARGER_STUDY = LargerStudy(more=None, more_raters=None, more_of_same=None)


def larger_study(contrasts: Sequence[Contrast], items: int, raters: int | None) -> LargerStudy:
    """Return the size of a study that would find each contrast significant with the power POWER.

    The power is that of the t test with this study's variance by items and raters, scaled to the larger numbers
    (Brennan 2001), and averaged over the uncertainty of the variance.
    """
    if raters is not None and raters < MIN_CLUSTERS:
        return NO_LARGER_STUDY
    level = LEVEL / max(len(contrasts), 1)  # the strictest level of Holm's correction, for every contrast

    def decides_all(item_factor: float, rater_factor: float) -> bool:
        return all(
            _expected_power(contrast, item_factor, rater_factor, level) >= POWER for contrast in contrasts
        )

    def is_enough_with_more_people(factor: float) -> bool:
        return decides_all(factor, factor)

    def is_enough_with_same_people(factor: float) -> bool:
        return decides_all(factor, 1.0)

    factor = smallest_factor(is_enough_with_more_people, MAX_SIZE_FACTOR)
    if factor is None:
        return NO_LARGER_STUDY
    factor_of_same = smallest_factor(is_enough_with_same_people, MAX_FACTOR)
    max_factor_of_same = min(SAME_PEOPLE_FACTOR * factor, MAX_SIZE_FACTOR)
    # If raters are not counted, their number changes nothing, and both factors are equal.
    if raters is None or (factor_of_same is not None and factor_of_same <= max_factor_of_same):
        return LargerStudy(
            more=math.ceil(items * (factor_of_same or factor)), more_raters=0, more_of_same=None
        )
    return LargerStudy(
        more=math.ceil(items * factor),
        more_raters=math.ceil(raters * factor) - raters,
        more_of_same=None if factor_of_same is None else math.ceil(items * factor_of_same),
    )


def _expected_power(contrast: Contrast, item_factor: float, rater_factor: float, level: float) -> float:
    """Return the mean power of a larger study over the plausible variances. Factors multiply items and raters."""
    powers = [
        spread.of_larger_study(item_factor, rater_factor).power(contrast.difference, level)
        for spread in _plausible_spreads(contrast.spread)
    ]
    return sum(powers) / len(powers)


def _plausible_spreads(spread: Spread) -> list[Spread]:
    """Return equally likely true spreads, from the chi-squared distributions of both parts of the variance."""
    # The observed variance between raters includes `within`, the noise of their answers, which `by_raters` leaves out.
    item_variance, rater_variance = spread.variance - spread.by_raters, spread.by_raters + spread.within
    items_df = max(spread.effective_items, MIN_CLUSTERS) - 1
    raters_df = max(spread.raters, MIN_CLUSTERS) - 1
    plausible_spreads = []
    for item_scale, rater_scale in product(_variance_scales(items_df), _variance_scales(raters_df)):
        by_raters = max(rater_variance * rater_scale - spread.within, 0.0)
        variance = item_variance * item_scale + by_raters
        plausible_spreads.append(replace(spread, variance=variance, by_raters=by_raters))
    return plausible_spreads


def _variance_scales(df: float) -> list[float]:
    """Return VARIANCE_QUANTILES of the ratio of the true variance to an estimate with these degrees of freedom."""
    if not math.isfinite(df):  # inf: no variance is over these clusters, such as unknown raters
        return [1.0]
    # `chdtri` returns the value that a chi-squared variable exceeds with these probabilities.
    scales: list[float] = (df / scipy.special.chdtri(df, VARIANCE_QUANTILES)).tolist()
    return scales


def smallest_factor(is_enough: Callable[[float], bool], max_factor: float) -> float | None:
    """Return the smallest factor, from 1, of a study's size for which `is_enough` is true.

    Return None if it is above `max_factor`. The factor is at most about 0.1 % too large.
    """
    if not is_enough(max_factor):
        return None
    if is_enough(1.0):
        return 1.0
    low, high = 0.0, math.log(max_factor)  # search on a logarithmic scale
    while high - low > 1e-3:
        middle = (low + high) / 2
        if is_enough(math.exp(middle)):
            high = middle
        else:
            low = middle
    return math.exp(high)


def larger_study_sentence(verdict: Mapping[str, Any]) -> str:
    """Return sentences, in the reader's language, on how large a study must be to find a winner; "" if it has one."""
    # ``verdict`` is a ``SystemsVerdict``, or a ``Verdict`` on metrics. Those of earlier versions have no ``more``.
    if "more" not in verdict or verdict["settled"] or len(verdict["leaders"]) < 2:
        return ""
    if verdict.get("raters") == 1:
        return _(
            "Only one participant answered, so it is unknown how many more items and participants are needed to find "
            "a winner."
        )
    if verdict["p"] is None:
        if "items" not in verdict:  # a verdict on metrics, not on systems
            return ""
        return _(
            "The differences cannot be tested, so it is unknown how many items are needed to find a winner."
        )
    if verdict["more"] is None:
        return _(
            "The difference that was found is very small. Even %(times)d times as many items and "
            "participants might be too few to find a winner."
        ) % {"times": MAX_SIZE_FACTOR}
    new_items = ngettext("%(n)s new item", "%(n)s new items", verdict["more"]) % {
        "n": thousands(verdict["more"])
    }
    if not (people_count := verdict.get("more_raters")):
        return _(
            "If the true difference is as large as the one found, a study with %(items)s would find a winner with "
            "a probability of 80 %%."
        ) % {"items": new_items}
    more_people = ngettext("%(n)s more participant", "%(n)s more participants", people_count) % {
        "n": thousands(people_count)
    }
    placeholders = {"items": new_items, "people": more_people, "raters": thousands(verdict["raters"])}
    sentence = _(
        "If the true difference is as large as the one found, a study with %(items)s and %(people)s would find a "
        "winner with a probability of 80 %%."
    )
    if verdict["more_of_same"] is None:
        alternative = _("With the same %(raters)s participants, no number of items is enough.")
    else:
        alternative = _("With the same %(raters)s participants, the study needs %(same)s items.")
        placeholders["same"] = thousands(verdict["more_of_same"])
    return f"{sentence} {alternative}" % placeholders
