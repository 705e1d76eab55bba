"""Cohen's kappa for two raters, plain or weighted.

With n_ij of n units labelled i by the first and j by the second rater,

    kappa = 1 - n sum_ij d(i, j) n_ij  /  sum_ij d(i, j) n_i. n_.j

where n_i. and n_.j are the numbers of labels i of the first and j of the second rater, and d(i, j) is 1 if i and j
differ or, with weights, |i - j| ("linear") or (i - j)^2 ("quadratic") of the labels' positions (Cohen 1960, 1968;
Hodosh et al. 2013, Tables 8 to 10).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from quorum.numeric.arrays import Ints
from quorum.statistics.agreement.coefficient import AgreementData, AgreementResult, agreement
from quorum.statistics.agreement.cohen_cells import KappaOfCells, label_distances
from quorum.statistics.agreement.influences import Influences
from quorum.statistics.crossed import NAIVE
from quorum.statistics.inference import Sampling, signed
from quorum.statistics.inputs import BadOption, encode_both, encode_with, list_of_values, same_length

WEIGHTS = (None, "linear", "quadratic")
NO_ANSWERS = "there are no answers to compare"
ONE_LABEL = "all answers of both participants have the same label"


def cohen_kappa(
    first: Iterable[Any],
    second: Iterable[Any],
    weights: str | None = None,
    *,
    labels: Sequence[Any] | NDArray[Any] | None = None,
) -> float:
    """Return Cohen's kappa of two raters' (N,) labels without missing answers.

    `weights` is None, "linear" or "quadratic". By default `labels` are those that occur, ascending, so an unused
    point of the scale does not count. If labels are texts, weights need the `labels` in order.
    """
    return CohenKappa(weights, labels).read((first, second)).value()


@signed("cohen-kappa")
def kappa_interval(
    first: Iterable[Any],
    second: Iterable[Any],
    weights: str | None = None,
    *,
    labels: Sequence[Any] | NDArray[Any] | None = None,
    **options: Unpack[Sampling],
) -> AgreementResult:
    """Return `cohen_kappa` with its interval; columns of `clusters` have one entry for each unit."""
    coefficient = CohenKappa(weights, labels)
    options.setdefault("clusters", NAIVE)  # two raters do not show how other raters would differ
    return agreement((first, second), coefficient, **options)


@dataclass(frozen=True, slots=True)
class CohenKappa:
    """Cohen's kappa with one of WEIGHTS. The data are two raters' (N,) labels of the same units."""

    weights: str | None = None
    labels: Sequence[Any] | NDArray[Any] | None = None
    name: ClassVar[str] = "cohen-kappa"

    @property
    def level(self) -> str:
        return self.weights or "nominal"

    def _encode_labels(self, data: tuple[Iterable[Any], Iterable[Any]]) -> tuple[Ints, Ints, int]:
        """Return both raters' (N,) codes of labels, and the number of labels."""
        if self.labels is None:
            labels, first, second = encode_both(*data, "first", "second")
            check_order(self.weights, labels, "numbers, or their order in labels")
            return first, second, len(labels)
        first = encode_with(list_of_values(data[0], "first"), self.labels, "first")
        second = encode_with(list_of_values(data[1], "second"), self.labels, "second")
        same_length(first=first, second=second)
        return first, second, len(self.labels)

    def read(self, data: tuple[Iterable[Any], Iterable[Any]]) -> AgreementData:
        check_weights(self.weights)
        first, second, label_count = self._encode_labels(data)
        cells = KappaOfCells(first, second, label_count, self.weights)
        return AgreementData(
            statistic=cells,
            frequency=cells.frequency,
            width=2 * cells.label_count,  # for how often each rater gave each label
            units=cells.n,
            pairable=cells.n,
            raters=2,
            judgments=2 * cells.n,
            reason=ONE_LABEL if cells.n else NO_ANSWERS,  # given if kappa is undefined
        )

    def influences(self, data: tuple[Iterable[Any], Iterable[Any]]) -> Influences | None:
        """Return the effect of each unit on kappa, or None if kappa is not defined.

        With n units and d(i, j) as above, let observed = sum_ij d(i, j) n_ij, and expected = sum_ij d(i, j) n_i. n_.j.
        A unit with the labels i and j changes observed by d(i, j), and expected by sum_l d(i, l) n_.l + sum_k d(k, j)
        n_k., which are `first_effects` and `second_effects`.
        """
        from quorum.statistics.kernels import distances

        first, second, label_count = self._encode_labels(data)
        if not len(first):
            return None
        distance_kind = {"linear": distances.ABSOLUTE, "quadratic": distances.SQUARED}.get(
            self.level, distances.DIFFERENT
        )
        positions = np.arange(float(label_count))
        # The distances of units, and for each label the sum of its distances from the other rater's labels.
        unit_distances = label_distances(first, second, self.weights)
        first_effects, second_effects = np.empty((2, label_count))
        counts = [np.bincount(codes, minlength=label_count).astype(np.float64) for codes in (first, second)]
        distances.fill_value_distances(distance_kind, positions, counts[1], first_effects)
        distances.fill_value_distances(distance_kind, positions, counts[0], second_effects)
        n, observed, expected = len(first), float(unit_distances.sum()), float(counts[0] @ first_effects)
        if not expected > 0:
            return None
        effects = (-observed - n * unit_distances) / expected
        effects += n * observed / expected**2 * (first_effects[first] + second_effects[second])
        return Influences(
            values=effects - effects.mean(),
            is_counted=np.ones(n, dtype=np.bool_),  # every unit counts
            items=np.arange(n),
            raters=None,
            judges=2.0,
            chance_of_difference=1 - float(counts[0] @ counts[1]) / n**2,
        )


def check_weights(weights: str | None) -> None:
    if weights not in WEIGHTS:
        raise BadOption(f"weights is {weights!r}, expected None, linear or quadratic")


def check_order(weights: str | None, labels: NDArray[Any], expected: str) -> None:
    """Raise BadOption if distances count and the labels are texts, whose order is only alphabetical."""
    if weights is not None and len(labels) and labels.dtype.kind not in "biuf":
        raise BadOption(f"weights is {weights!r} and answers are text, expected {expected}")
