"""Partial agreement: how much two different answers still agree (Cohen 1968; Gwet 2014, *Handbook of
Inter-Rater Reliability*).

With d(k, l) the distance of two categories and D that of the lowest and the highest, the weight is
w(k, l) = 1 - d(k, l) / D, from 1 for equal answers to 0 for the two ends of the scale.

| weights | distance of k and l |
|---|---|
| identity | 1 where they differ (D = 1) |
| linear, quadratic, radical | difference, its square, its square root |
| ratio | ((k - l) / (k + l))^2 |
| ordinal | pairs of positions from k to l: s (s + 1) / 2 where they lie s steps apart |

Numbers count as they are, text by its position in the categories given; ordinal weights always take
positions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.statistics.errors import BadOption, BadValue
from evaluation.statistics.ratings import exact_positions
from evaluation.statistics.tables import Floats, encode, encode_with

WEIGHTS = ("identity", "linear", "quadratic", "ordinal", "radical", "ratio")


@dataclass(frozen=True, slots=True)
class Scale:
    """Categories as positions: those of the labels that occur (V,) and of the whole scale (Q,).

    kind is the distance's number in `agreement_kernels`; longest is D, and 1 where there is no distance.
    """

    kind: int
    occurring: Floats
    positions: Floats
    longest: float

    def total_weight(self) -> float:
        """Sum of w(k, l) over all ordered pairs of categories."""
        from evaluation.statistics.agreement_kernels import all_distances

        size = len(self.positions)
        return size**2 - float(all_distances(self.kind, self.positions, np.ones(size))) / self.longest


def scale_of(labels: NDArray[Any], weights: str, categories: Sequence[Any] | None) -> Scale:
    """The scale of the labels that occur (V,), or of the given categories, which must hold them all.

    Categories that are text stand in the order given, numbers in their own. Raises BadOption, BadValue.
    """
    from evaluation.statistics import agreement_kernels as kernels

    if weights not in WEIGHTS:
        raise BadOption(f"weights is {weights!r}, expected one of {', '.join(WEIGHTS)}")
    scale = labels
    if categories is not None:
        scale, codes = encode(categories, "categories")
        if len(scale) != len(codes):
            raise BadOption(f"categories names a value twice: {list(categories)}, expected distinct values")
    numbers = scale.dtype.kind in "biuf"
    if not numbers and categories is None and weights != "identity" and len(labels):
        raise BadOption(f"weights is {weights!r} and answers are text, expected their order in categories")
    order = scale.tolist() if numbers or categories is None else list(categories)
    places = encode_with(labels, order, "the data") if len(labels) else np.empty(0, dtype=np.int64)
    positions = exact_positions(scale) if numbers and weights != "ordinal" else np.arange(float(len(order)))
    kind = {
        "identity": kernels.DIFFERENT,
        "linear": kernels.ABSOLUTE,
        "quadratic": kernels.SQUARED,
        "ordinal": kernels.STEPS,
        "radical": kernels.ROOT,
        "ratio": kernels.RATIO,
    }[weights]
    if weights == "ratio" and len(positions) and positions[0] < 0:
        raise BadValue(f"the scale holds {order[0]}, expected no negative number where weights are ratios")
    longest = float(kernels.distance(kind, positions[0], positions[-1])) if len(positions) > 1 else 1.0
    return Scale(kind, positions[places], positions, longest)
