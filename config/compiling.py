"""Call metrics, statistics and functions of features on examples, to compile their kernels (loops, by numba).

`python -m config.compiling` compiles all kernels before their first use (`quorum.numeric.compiling`). After
`quorum run`, a job compiles them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from django.conf import settings

from common.features import of_features
from config.features import all_features
from quorum.metrics.content import content_selection
from quorum.metrics.content_baselines import BigramPrior, bigram_ranks
from quorum.metrics.h13_overlap import bleu_pre_matrix, bleu_pre_pairs
from quorum.metrics.meteor.relations import STAGE_CHOICES
from quorum.metrics.meteor.scoring import count_available_stages
from quorum.metrics.registry import METRICS, Scores, score
from quorum.statistics.aggregation.bradley_terry.comparisons import encode_comparisons
from quorum.statistics.aggregation.worker_models.dawid_skene import dawid_skene
from quorum.statistics.agreement import Alpha, Gwet, agreement, agreement_by_pair
from quorum.statistics.correlation import correlation
from quorum.statistics.meta.pairwise import pairwise_accuracy
from quorum.statistics.significance import bootstrap_interval, randomization_test
from quorum.statistics.sorting import MIN_COMPILED_LENGTH, order_of

if TYPE_CHECKING:
    from judgments.jobs.runs import JobRun

_CANDIDATES = ["a dog runs over the grass", "two cats sleep"]
_REFERENCES = [["a dog is running on grass", "the dog runs"], ["two cats sleeping", "cats asleep on a bed"]]
_LABELS = [["dog", "grass"], ["cat", "bed"]]
_FIRST, _SECOND = np.array([3.0, 1.0, 2.0, 2.0]), np.array([2.0, 1.0, 3.0, 1.0])
_ANSWERS = np.array([_FIRST, _SECOND])  # answers of two raters


def compile_kernels(progress: Callable[[float, str], None] = lambda share, message: None) -> None:
    progress(0.0, "statistics")
    compile_statistics()
    for compile_feature_kernels in of_features("kernels"):
        compile_feature_kernels()
    for index, name in enumerate(METRICS):
        # statistics take about a fifth of the time
        progress(0.2 + 0.8 * index / len(METRICS), f"metric {name}")
        compile_metrics([name])


def compile_in_background(run: JobRun) -> None:
    """Compile all kernels, as the handler of a job."""
    compile_kernels(run.progress)
    with run.commit():  # marks the job as done
        pass


def compile_metrics(names: Sequence[str] = tuple(METRICS)) -> Scores:
    """Score two captions by the named metrics, and call the kernels that no metric calls. Return the scores."""
    content_selection([[0, 1], [0]], [[[0], [0, 1]], [[1]]])
    bigram_ranks(_LABELS, BigramPrior.fit(_LABELS))
    bleu_pre_matrix(_CANDIDATES, _REFERENCES)
    bleu_pre_pairs(_CANDIDATES, _REFERENCES, [np.array([0]), np.array([1])])
    stages = STAGE_CHOICES[count_available_stages() - 1]  # all stages for which METEOR's tables are installed
    names_with_stages = [f"{name}|stages:{stages}" if name == "meteor" else name for name in names]
    return score(_CANDIDATES, _REFERENCES, metrics=names_with_stages)


def compile_statistics() -> None:
    """Call the statistics that have kernels, on two raters of four units and with few resamples."""
    for table in (_ANSWERS, np.asfortranarray(_ANSWERS)):  # a kernel is compiled for each memory layout
        agreement(table, Gwet(), resamples=2)
    for coefficient in (Alpha("interval"), Gwet()):
        for clusters in ("naive", "both"):
            agreement(_ANSWERS, coefficient, clusters=clusters, resamples=2)
    agreement_by_pair(_ANSWERS)
    order_of(np.arange(MIN_COMPILED_LENGTH))
    units, raters = np.meshgrid(np.arange(_FIRST.size), np.arange(2))
    dawid_skene(units.ravel(), raters.ravel(), _ANSWERS.ravel(), max_iterations=2)
    encode_comparisons(["a", "b"], ["b", "a"], [1, 2])
    correlation(_FIRST, _SECOND, "kendall-tau-b", resamples=2)
    correlation(_FIRST, _SECOND, "kendall-tau-b", clusters={"item": [0, 0, 1, 1]})
    pairwise_accuracy(_FIRST, _SECOND, resamples=2)
    bootstrap_interval(_FIRST, resamples=2)
    for statistic in ("mean", "median"):
        randomization_test(_FIRST, _SECOND, statistic, reassignments=2)


if __name__ == "__main__":  # pragma: no cover
    settings.configure(FEATURES=all_features())
    compile_kernels()
