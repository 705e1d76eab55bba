"""Encoded answers, and means of equally good solutions, for models of workers with unknown true labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its submodules load at first use
from numpy.typing import NDArray

from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.statistics.aggregation.aggregated_labels import WorkerModel
from quorum.statistics.aggregation.worker_models.climbing import Optimum
from quorum.statistics.inputs import BadOption, check_cells, encode, encode_on_scale, same_length

SINGLE_JUDGMENTS = "no item has two judgments, so the accuracy of participants cannot be estimated"
ONE_WORKER = "only one participant answered, so the accuracy of this participant cannot be estimated"
SEVERAL_SOLUTIONS = "several solutions fit the answers equally well; the results are means of these solutions"
# Two probabilities that differ by more belong to different solutions; nearer to 0 or 1, they have reached the limit.
_CHANCE_MARGIN = 1e-3
# Digits kept of means over solutions, fewer than each solution has.
_DIGITS = 6
# Numbers that differ by less are equal; labels whose probabilities differ by less are equally likely.
_EQUAL_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class WorkerAnswers:
    """N judgments as codes.

    units, workers, labels: (U,), (W,) and (L,) names, ascending. unit, worker, value: (N,) positions in these arrays.
    """

    units: NDArray[Any]
    workers: NDArray[Any]
    labels: NDArray[Any]
    unit: Ints
    worker: Ints
    value: Ints

    @classmethod
    def from_columns(
        cls,
        units: Iterable[Any],
        workers: Iterable[Any],
        values: Iterable[Any],
        labels: Sequence[Any] | None,
    ) -> WorkerAnswers:
        unit_names, unit = encode(units, "units")
        worker_names, worker = encode(workers, "workers")
        scale, value = encode_on_scale(values, labels)
        same_length(units=unit, workers=worker, values=value)
        if not len(unit):
            raise BadOption("there are no judgments, expected one or more")
        if len(scale) < 2:
            raise BadOption("there is one label, expected two or more (labels names the scale)")
        for names, row_noun in ((unit_names, "units"), (worker_names, "workers")):
            check_cells(len(names), row_noun, len(scale), len(names) * len(scale))
        return cls(unit_names, worker_names, scale, unit, worker, value)

    @property
    def shape(self) -> tuple[int, int, int]:
        """The numbers U, W and L of units, workers and labels."""
        return len(self.units), len(self.workers), len(self.labels)

    @property
    def note(self) -> str:
        return note_of(len(self.workers), int(np.bincount(self.unit).max()))

    def result_fields(self, posterior: Floats, optimum: Optimum, *, is_mean: bool) -> dict[str, Any]:
        """Return the fields of a `ClimbedModel`, with a note if they are means of several solutions (`is_mean`)."""
        notes = [self.note, SEVERAL_SOLUTIONS if is_mean else ""]
        return {
            "units": self.units,
            "workers": self.workers,
            "labels": self.labels,
            "posterior": posterior,
            "winner": winners(posterior),
            "judgments": np.bincount(self.worker, minlength=len(self.workers)),
            "note": "; ".join(filter(None, notes)),
            "objective": optimum.objective,
            "gradient": optimum.gradient,
            "iterations": optimum.iterations,
            "converged": optimum.converged,
            "starts_at_optimum": optimum.starts_at_optimum,
        }

    def sum_by_worker(self, weights: Floats) -> Floats:
        """Return the (W, L) sums of the judgments' (N,) weights, by worker and given label."""
        _, workers, width = self.shape
        sums = np.bincount(self.worker * width + self.value, weights=weights, minlength=workers * width)
        return np.asarray(sums, dtype=np.float64).reshape(workers, width)

    def posterior(self, evidence: Floats) -> tuple[Floats, Floats]:
        """Return (U, L) posterior probabilities of the true labels, and (U,) logarithms of their normalising sums.

        All labels are equally likely a priori. `evidence`: (N,) log(P(answer | it is the true label) / P(answer | it
        is not)).
        """
        units, _, width = self.shape
        cells = np.bincount(self.unit * width + self.value, weights=evidence, minlength=units * width)
        joint = cells.reshape(units, width)
        total = scipy.special.logsumexp(joint, axis=1)
        return np.exp(joint - total[:, np.newaxis]), total


@dataclass(frozen=True, slots=True, kw_only=True)
class ClimbedModel(WorkerModel):
    """A model that `find_optimum` has fitted. `aggregation` documents the fields."""

    objective: float
    gradient: float
    starts_at_optimum: int


def note_of(worker_count: int, max_judgments: int) -> str:
    """Return why the accuracy of workers cannot be estimated, or "". `max_judgments` is the most that a unit has."""
    if worker_count == 1:
        return ONE_WORKER
    return SINGLE_JUDGMENTS if max_judgments == 1 else ""


def average_equal_solutions(
    solution: Sequence[Floats], early_solution: Sequence[Floats]
) -> tuple[Sequence[Floats], bool]:
    """Return the arrays of a solution, averaged if there are several equally good ones, and whether there are several.

    `solution` has the (U, L) posterior, a (W,) probability of each worker, and other arrays. `early_solution` has the
    same arrays a few steps after a symmetric start. If two numbers of an array are equal there, the answers do not
    distinguish them. If they nevertheless differ in `solution`, exchanging them gives another solution that is as good.
    Then the mean of such numbers is the mean over these solutions.
    """
    posterior, probability, *_ = solution
    early_posterior, early_probability, *_ = early_solution
    # Near 0 and 1, probabilities may be equal because they reached the limit, although the answers distinguish them.
    is_inner = (early_probability > _CHANCE_MARGIN) & (early_probability < 1 - _CHANCE_MARGIN)
    is_early_tie = winners(early_posterior) < 0
    labels_differ = _values_differ(posterior, early_posterior, is_early_tie)
    if not (labels_differ or _values_differ(probability, early_probability, is_inner)):
        return solution, False
    means = [
        _mean_of_equals(values, numbers) for values, numbers in zip(solution, early_solution, strict=True)
    ]
    return [mean.round(_DIGITS) for mean in means], True


def _values_differ(values: Floats, early_values: Floats, mask: Flags) -> bool:
    """Return whether some `values` in the mask differ from other values whose `early_values` are equal."""
    if not mask.any():
        return False
    return bool((np.abs(_mean_of_equals(values, early_values) - values)[mask] > _CHANCE_MARGIN).any())


def _mean_of_equals(values: Floats, early_values: Floats) -> Floats:
    """Return `values`, each replaced by the mean over all positions with equal `early_values`."""
    # Number the groups of equal numbers in ascending order.
    order = np.argsort(early_values, axis=None)
    sorted_numbers = early_values.ravel()[order]
    group = np.empty(len(order), dtype=np.int64)
    group[order] = np.cumsum(np.diff(sorted_numbers, prepend=sorted_numbers[:1]) > _EQUAL_TOLERANCE)
    means = np.bincount(group, weights=values.ravel()) / np.bincount(group)
    return np.asarray(means[group].reshape(values.shape), dtype=np.float64)


def winners(posterior: Floats) -> Ints:
    """Return the (U,) positions of the most probable labels; -1 if several labels are equally probable."""
    highest_probability = posterior.max(axis=1, keepdims=True)
    is_tied = (posterior >= highest_probability - _EQUAL_TOLERANCE).sum(axis=1) > 1
    return np.where(is_tied, -1, posterior.argmax(axis=1))
