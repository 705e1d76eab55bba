"""Examples that compile the statistics' kernels (`evaluation.compiled`)."""

import numpy as np

from evaluation.statistics.aggregation.bradley_terry import encode_comparisons
from evaluation.statistics.aggregation.dawid_skene import dawid_skene
from evaluation.statistics.agreement import Alpha, Gwet, agreement, agreement_by_pair, agreement_by_unit
from evaluation.statistics.correlation import correlation
from evaluation.statistics.meta.tie_calibration import pairwise_accuracy
from evaluation.statistics.significance import bootstrap_interval, randomization_test

_FIRST, _SECOND = np.array([3.0, 1.0, 2.0, 2.0]), np.array([2.0, 1.0, 3.0, 1.0])
_ANSWERS = np.array([_FIRST, _SECOND])  # of two raters


def compile_kernels() -> None:
    for table in (
        _ANSWERS,
        np.asfortranarray(_ANSWERS),
    ):  # a kernel is compiled for each order of an array's cells
        agreement(table, Gwet(), resamples=2)
    for coefficient in (Alpha("interval"), Gwet()):
        for clusters in ("naive", "both"):
            agreement(_ANSWERS, coefficient, clusters=clusters, resamples=2)
    agreement_by_pair(_ANSWERS)
    agreement_by_unit(_ANSWERS)
    units, raters = np.meshgrid(np.arange(_FIRST.size), np.arange(2))
    dawid_skene(units.ravel(), raters.ravel(), _ANSWERS.ravel(), max_iterations=2)
    encode_comparisons(["a", "b"], ["b", "a"], [1, 2])
    correlation(_FIRST, _SECOND, "kendall-tau-b", resamples=2)
    correlation(_FIRST, _SECOND, "kendall-tau-b", clusters={"item": [0, 0, 1, 1]})
    pairwise_accuracy(_FIRST, _SECOND, resamples=2)
    bootstrap_interval(_FIRST, resamples=2)
    for statistic in ("mean", "median"):
        randomization_test(_FIRST, _SECOND, statistic, reassignments=2)
