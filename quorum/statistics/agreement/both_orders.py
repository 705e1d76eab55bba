"""Agreement on choices between two texts, where each unit counts in both orders of its texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy  # its submodules load at first use
from numpy.typing import NDArray

from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.agreement.coefficient import ClusteredCoefficient, ReadData
from quorum.statistics.agreement.influences import Influences
from quorum.statistics.agreement.patterns import patterns_of
from quorum.statistics.agreement.ratings import Data, Ratings, ratings_of

Exchange = Callable[[Floats], Floats]


def in_both_orders(data: Data, exchange: Exchange) -> Ratings:
    """Return the judgments, followed by copies in which the two texts of each unit are exchanged.

    The copies count as judgments of other units.
    """
    ratings = ratings_of(data, numeric=True)
    labels, unit, code = _columns_of_orders(ratings, exchange)
    units, rater = np.tile(ratings.units, 2), np.tile(ratings.rater, 2)
    return Ratings(units, ratings.raters, labels, unit, rater, code)


@dataclass(frozen=True, slots=True)
class BothOrders:
    """A coefficient of choices between the two texts of a unit, where each unit counts in both orders of its texts.

    Which text is called the first is arbitrary, but it changes the expected disagreement. With both orders, both
    labels are equally frequent, and exchanging the texts of a unit changes nothing. Without ties, and with equally
    many judgments of every unit, Fleiss' kappa of both orders is the coefficient of agreement of paired
    comparisons, 1 - 2 D_o (Kendall and Babington Smith 1940). `exchange` maps (V,) answers to the answers that mean
    the same in the other order.
    """

    coefficient: ClusteredCoefficient
    exchange: Exchange

    @property
    def name(self) -> str:
        return self.coefficient.name

    @property
    def level(self) -> str:
        return self.coefficient.level

    def sample(self, data: Data) -> ReadData:
        patterns = patterns_of(data, numeric=True)
        labels, *orders = _labels_of_orders(patterns.labels, self.exchange)
        row, column = patterns.counts.nonzero()
        size = len(patterns.frequency), len(labels)
        tables = [
            scipy.sparse.csr_array((patterns.counts.data, (row, places[column])), shape=size)
            for places in orders
        ]
        counts = scipy.sparse.csr_array(scipy.sparse.vstack(tables))
        counts.sort_indices()
        sample = self.coefficient.sample(
            replace(patterns, labels=labels, counts=counts, frequency=np.tile(patterns.frequency, 2))
        )
        # A resample draws a unit in both orders.
        return replace(
            sample,
            of_units=lambda weights: sample.of_units(np.tile(weights, 2)),
            frequency=sample.frequency[: len(sample.frequency) // 2],
            pairable=sample.pairable // 2,
        )

    def influences(self, data: Data) -> Influences | None:
        ratings = ratings_of(data, numeric=True)
        # Influences do not depend on the names of units and raters, so pass broadcast zeros, which take no memory.
        nobody, units = (np.broadcast_to(np.int64(0), 2 * len(of)) for of in (ratings.code, ratings.units))
        labels, unit, code = _columns_of_orders(ratings, self.exchange)
        influences = self.coefficient.influences(Ratings(units, ratings.raters, labels, unit, nobody, code))
        if influences is None:
            return None
        n, counts = len(influences.values) // 2, influences.counts[: len(ratings.code)]
        values = influences.values[:n] + influences.values[n:]
        return replace(
            influences, values=values, counts=counts, items=ratings.unit[counts], raters=ratings.rater[counts]
        )


def _labels_of_orders(labels: NDArray[Any], exchange: Exchange) -> tuple[Floats, Ints, Ints]:
    """Return the (L,) labels of both orders, and two columns of (V,) positions in them.

    The first column has the positions of the given labels, the second the positions of their counterparts in the other
    order.
    """
    values = labels.astype(np.float64)
    every, places = np.unique(np.stack([values, exchange(values)]), return_inverse=True)
    first, second = places.reshape(2, -1)
    return every, first, second


def _columns_of_orders(ratings: Ratings, exchange: Exchange) -> tuple[Floats, Ints, Ints]:
    """Return the labels, and (2 N,) units and codes: first N rows in the given order, then N in the other order."""
    n = len(ratings.code)
    labels, *orders = _labels_of_orders(ratings.labels, exchange)
    unit, code = np.empty((2, 2 * n), dtype=np.int64)
    unit[:n], unit[n:] = ratings.unit, ratings.unit
    unit[n:] += len(ratings.units)
    for start, places in zip((0, n), orders, strict=True):
        np.take(places, ratings.code, out=code[start : start + n])
    return labels, unit, code
