"""Agreement on choices between two texts, where each unit counts in both orders of its texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy  # its submodules load at first use
from numpy.typing import NDArray

from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.agreement.coefficient import AgreementData, PatternCoefficient
from quorum.statistics.agreement.influences import PatternInfluences
from quorum.statistics.agreement.patterns import PatternedRatings, UnitPatterns, patterns_of
from quorum.statistics.agreement.ratings import Data, Ratings, ratings_of

# A function that maps (V,) answers to the answers that mean the same if the two texts are exchanged, such as 1 to 2.
Exchange = Callable[[Floats], Floats]


def in_both_orders(data: Data, exchange: Exchange) -> Ratings:
    """Return the judgments, followed by copies in which the two texts of each unit are exchanged.

    The copies count as judgments of other units. This is for statistics of single judgments, such as the agreement of
    each two raters. `BothOrdersCoefficient` computes a coefficient from patterns of answers, without copies of
    judgments, and so that resamples draw both orders of a unit together.
    """
    ratings = ratings_of(data, numeric=True)
    labels, first, second = _labels_of_orders(ratings.labels, exchange)
    unit = np.concatenate([ratings.unit, ratings.unit + len(ratings.units)])
    code = np.concatenate([first[ratings.code], second[ratings.code]])
    return Ratings(np.tile(ratings.units, 2), ratings.raters, labels, unit, np.tile(ratings.rater, 2), code)


@dataclass(frozen=True, slots=True)
class BothOrdersCoefficient:
    """A coefficient of choices between the two texts of a unit, where each unit counts in both orders of its texts.

    Which text is called the first is arbitrary, but it changes the expected disagreement. With both orders, both
    labels are equally frequent, and exchanging the texts of a unit changes nothing. Without ties, and with equally
    many judgments of every unit, Fleiss' kappa of both orders is the coefficient of agreement of paired comparisons,
    1 - 2 D_o, with the observed disagreement D_o (Kendall and Babington Smith 1940).
    """

    coefficient: PatternCoefficient
    exchange: Exchange

    @property
    def name(self) -> str:
        return self.coefficient.name

    @property
    def level(self) -> str:
        return self.coefficient.level

    def read(self, data: Data | PatternedRatings) -> AgreementData:
        patterns = patterns_of(data, numeric=True)
        both_orders, _ = self._both_orders(patterns)
        data_of_orders, data_once = self.coefficient.read(both_orders), self.coefficient.read(patterns)
        # The coefficient reads each unit twice, from both halves of the (2P,) patterns. Count each once, so that a
        # resample draws both of its orders together, with the same weight.
        return replace(
            data_once,
            statistic=lambda weights: data_of_orders.statistic(np.tile(weights, 2)),
            width=data_of_orders.width,
            reason=data_of_orders.reason,
            note=data_of_orders.note,
        )

    def pattern_influences(self, patterns: UnitPatterns) -> PatternInfluences | None:
        both_orders, label_positions = self._both_orders(patterns)
        influences = self.coefficient.pattern_influences(both_orders)
        if influences is None:
            return None
        # A judgment's influence is the sum of its influences in both orders. In `both_orders.counts`, the first `count`
        # rows are the patterns in the given order, the others the same patterns in the other order. `values_at` finds
        # the cells by these rows and by the columns of the labels in each order.
        count, (pattern, label) = len(patterns.frequency), patterns.cells()
        first_positions, second_positions = label_positions
        influences_in_given_order = both_orders.values_at(
            influences.values, np.arange(count), pattern, first_positions, label
        )
        influences_in_other_order = both_orders.values_at(
            influences.values, np.arange(count, 2 * count), pattern, second_positions, label
        )
        return replace(
            influences,
            values=influences_in_given_order + influences_in_other_order,
            is_counted=influences.is_counted[:count],
        )

    def _both_orders(self, patterns: UnitPatterns) -> tuple[UnitPatterns, list[Ints]]:
        """Return the patterns in the given order, then in the other order, and the positions of labels in both."""
        labels, *label_positions = _labels_of_orders(patterns.labels, self.exchange)
        row, column = patterns.cells()
        size = len(patterns.frequency), len(labels)
        tables = [
            scipy.sparse.csr_array((patterns.counts.data, (row, positions[column])), shape=size)
            for positions in label_positions
        ]
        counts = scipy.sparse.csr_array(scipy.sparse.vstack(tables))
        counts.sort_indices()
        frequency = np.tile(patterns.frequency, 2)
        return replace(patterns, labels=labels, counts=counts, frequency=frequency), label_positions


def _labels_of_orders(labels: NDArray[Any], exchange: Exchange) -> tuple[Floats, Ints, Ints]:
    """Return the (L,) labels that occur in either order, and where each given label is among them.

    The first (V,) positions are those of the given labels, the second those of the labels that they become if the texts
    are exchanged.
    """
    values = labels.astype(np.float64)
    all_labels, positions = np.unique(np.stack([values, exchange(values)]), return_inverse=True)
    first, second = positions.reshape(2, -1)
    return all_labels, first, second
