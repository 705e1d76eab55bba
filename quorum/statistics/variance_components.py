"""Components of the variance of answers: between items, between raters, and the residual.

They predict the standard error of the mean answer in a study of another size.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Floats
from quorum.statistics.crossed import ITEM, RATER, Clusters
from quorum.statistics.inference import Result, signed
from quorum.statistics.inputs import score_vector

NOT_CROSSED = (
    "no item has several participants, or no participant several items, so variances cannot be separated"
)
SAME_ANSWER = "all answers are the same"


@dataclass(frozen=True, slots=True)
class VarianceComponents(Result):
    """Variances of answers between items, between raters, and of the residual.

    mean: the mean answer. standard_error: the standard error of the mean. item, rater: the variances between items, and
    between raters. residual: the remaining variance, since single answers are noisy, and since raters differ more on
    some items than on others. items, raters, judgments: numbers of items, raters and answers.
    """

    mean: float
    item: float
    rater: float
    residual: float
    standard_error: float
    items: int
    raters: int
    judgments: int

    def shares(self) -> tuple[float, float, float]:
        """Return the shares of items, raters and the residual in the variance of a single answer."""
        total = self.item + self.rater + self.residual
        return self.item / total, self.rater / total, self.residual / total

    def error_in_study(self, *, items: float, raters: float, judgments: float) -> float:
        """Return the standard error of the mean answer in a study with so many items, raters and judgments.

        All items have the same number of judgments, and so have all raters.
        """
        return math.sqrt(self.item / items + self.rater / raters + self.residual / judgments)


def components_of_clusters(value: Floats, clusters: Clusters) -> VarianceComponents:
    """Return the variance components of (N,) values, clustered by item and by rater. The result has no signature."""
    variances = np.full(3, math.nan)
    standard_error = math.nan
    # The note of the clusters says that they have one item or one rater. Then the variances cannot be separated either.
    reason = clusters.reason or clusters.note
    # A cell is an item with a rater. If there are as many cells as items, each item has a single rater, and conversely.
    if not reason and clusters.cell_count in clusters.counts.values():
        reason = NOT_CROSSED
    if not reason and np.all(value == value[0]):
        reason = SAME_ANSWER
    if not reason:
        variances = clusters.components(value)
        standard_error = math.sqrt(clusters.spread((value - value.mean()) / len(value)).variance)
    return VarianceComponents(
        mean=float(value.mean()) if len(value) else math.nan,
        item=float(variances[0]),
        rater=float(variances[1]),
        residual=float(variances[2]),
        standard_error=standard_error,
        items=clusters.counts[ITEM],
        raters=clusters.counts[RATER],
        judgments=len(value),
        reason=reason,
        clusters=clusters.counts,
    )


@signed("variance-components")
def variance_components(values: ArrayLike, items: Iterable[Any], raters: Iterable[Any]) -> VarianceComponents:
    """Return the variance components of (N,) values by item and rater, by the method of moments.

    A component whose estimate is negative is zero.
    """
    value = score_vector(values, "values")
    return components_of_clusters(value, Clusters.from_columns({ITEM: items, RATER: raters}, len(value)))
