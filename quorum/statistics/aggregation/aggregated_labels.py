"""The fields that the results of vote counting and of worker models have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.inference import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregatedLabels(Result):
    """Aggregated answers: one label for each of U units.

    units, labels: (U,) and (L,) names, ascending. winner: (U,) positions in `labels`, or -1 if no label wins.
    """

    units: NDArray[Any]
    labels: NDArray[Any]
    winner: Ints

    def values(self) -> list[Any]:
        """Return the winning label of each unit; None if no label wins."""
        names = self.labels.tolist()
        return [names[index] if index >= 0 else None for index in self.winner.tolist()]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerModel(AggregatedLabels):
    """Aggregated answers by a model of W workers.

    workers: (W,) names, ascending. posterior: (U, L) probabilities of the labels. judgments: (W,) number of each
    worker's judgments. iterations, converged: how the fit ended (see `quorum.statistics`).
    """

    workers: NDArray[Any]
    posterior: Floats
    judgments: Ints
    iterations: int = 0
    converged: bool = True
