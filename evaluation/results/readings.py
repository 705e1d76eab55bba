"""Optional readings of a meta-evaluation: other pairs, references, grades and thresholds.

They supplement the usual figures.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from evaluation.errors import EvaluationError
from evaluation.numeric.arrays import Flags, Floats, Ints
from evaluation.presentation.content import as_json, json_float
from evaluation.statistics.correlation import correlation
from evaluation.statistics.inference import ClusterColumns, Inference
from evaluation.statistics.inputs import ROUNDING
from evaluation.statistics.meta import (
    PeoplesWinners,
    ReferenceCurve,
    kinds_of,
    metric_winners,
    pair_credits,
    pairwise_accuracy,
    soft_accuracy_of_comparisons,
)
from evaluation.statistics.meta.grouped import CALIBRATE

DRAWS = 10  # random subsets of references of each size
SINGLE_COEFFICIENTS = {"kendall_tau_b": "kendall-tau-b", "kendall_tau_c": "kendall-tau-c"}
FEWEST_RESAMPLES, MOST_RESAMPLES, GRADES_DRAWN = 50, 1000, 2_000_000
ESTIMATE = ("value", "low", "high", "n")
OF_PAIRS, OF_CAPTIONS = (
    ("all_pairs", "references", "ties"),
    ("tau_c", "single_grades", "own_kept", "without_own", "people_at_least", "metric_at_least"),
)


@dataclass(frozen=True, slots=True)
class Readings:
    """The requested readings.

    Attributes of pairs:
        all_pairs: accuracy over all pairs; a pair without a consensus is half right.
        references: sizes of random subsets of references to score against.
        ties: accuracy where a metric's tie is right if people see no difference, and soft pairwise accuracy.

    Attributes of captions:
        tau_c: Kendall's tau-c with people's share or mean.
        single_grades: correlation with every single judgment instead of the mean.
        own_kept: keep references equal to the caption.
        without_own: leave out captions equal to a reference.
        people_at_least, metric_at_least: thresholds of kappa, instead of the usual ones.
    """

    all_pairs: bool = False
    references: Sequence[int] = ()
    ties: bool = False
    tau_c: bool = False
    single_grades: bool = False
    own_kept: bool = False
    without_own: bool = False
    people_at_least: Sequence[float] = ()
    metric_at_least: Sequence[float] = ()

    def settings(self) -> dict[str, Any]:
        readings = {name: getattr(self, name) for name in (*OF_PAIRS, *OF_CAPTIONS)}
        return {
            name.replace("_", "-"): "yes" if value is True else ",".join(map(str, value))
            for name, value in readings.items()
            if value
        }

    def check(self, *, compares_pairs: bool) -> None:
        """Raise EvaluationError for a reading that the protocol lacks, or two that exclude each other."""
        for name in OF_CAPTIONS if compares_pairs else OF_PAIRS:
            if getattr(self, name):
                expected, has = ("captions", "pairs") if compares_pairs else ("pairs", "captions")
                raise EvaluationError(
                    f"{name} is a reading of judged {expected}; this study judges {has}: leave {name} out."
                )
        if self.own_kept and self.without_own:
            raise EvaluationError(
                "own_kept keeps references equal to the caption, and without_own leaves such captions out; expected "
                "one of them."
            )


def accuracy_over_all(
    scores: Floats, people: PeoplesWinners, kinds: Sequence[str] | None
) -> dict[str, dict[str, Any]]:
    """Return accuracy over all pairs by kind from (N, 2) scores; a pair without a consensus is half right."""
    named = metric_winners(scores[:, 0], scores[:, 1])

    def credit(pairs: Ints, winners: Floats) -> Floats:
        return pair_credits(named[pairs], winners, undecided="half")[0]

    everywhere = np.arange(len(named))
    accuracies = {}
    for kind, of_kind in kinds_of(kinds, len(named)).items():
        n = int(of_kind.sum())
        estimate = people.share(credit, of_kind, undecided=True) if n else Inference()
        value = float(credit(everywhere, people.winners)[of_kind].mean()) if n else math.nan
        accuracies[kind] = {"value": json_float(value), **as_json(estimate, "low", "high"), "n": n}
        accuracies[kind]["reason"] = estimate.reason
    return accuracies


def accuracy_with_ties(
    scores: Floats, people: PeoplesWinners, judged: Flags, systems: Sequence[tuple[str, str]], seed: int
) -> dict[str, Any]:
    """Compare (N, 2) scores with people's winners of the pairs that were judged; a metric's tie gets a tie right.

    Return accuracy with the gap of a metric's tie at zero (``plain``), and at the best one on these pairs
    (``calibrated``, Deutsch et al. 2023); and ``soft`` pairwise accuracy of systems, which are those of judged pairs.
    """
    outcomes, judged_scores = people.winners[judged], scores[judged]
    sides = np.stack([outcomes == 1, outcomes == 2], axis=1).astype(np.float64)
    groups = np.repeat(np.arange(len(outcomes)), 2)
    accuracies: dict[str, Any] = {}
    for name, epsilon in (("plain", 0.0), ("calibrated", CALIBRATE)):
        accuracy = pairwise_accuracy(
            judged_scores.ravel(), sides.ravel(), groups, epsilon=epsilon, resamples=0, seed=seed
        )
        named = metric_outcomes(scores, accuracy.epsilon)
        estimate = people.share(partial(_is_right, named), judged, undecided=True)
        accuracies[name] = {
            "value": json_float(accuracy.value),
            **as_json(estimate, "low", "high"),
            "n": accuracy.pairs,
            **as_json(accuracy, "epsilon", "tied_both", "tied_metric", "tied_people", "signature"),
            "reason": accuracy.reason or estimate.reason,
        }
    first, second = zip(*systems, strict=True)
    soft = soft_accuracy_of_comparisons(
        first,
        second,
        judged_scores[:, 0] - judged_scores[:, 1],
        (outcomes == 1) - 1.0 * (outcomes == 2),
        seed=seed,
    )
    accuracies["soft"] = {
        **as_json(soft, "value", "pairwise", "pairs", "comparisons", "reason", "signature"),
        "low": None,
        "high": None,
        "n": soft.pairs,
    }
    return accuracies


def _is_right(named: Ints, pairs: Ints, winners: Floats) -> Floats:
    return (named[pairs] == winners).astype(np.float64)


def metric_outcomes(scores: Floats, epsilon: float) -> Ints:
    """Return (N,) 1 or 2 for the better of (N, 2) scores, 0 if they differ by up to ``epsilon``."""
    gap = scores[:, 0] - scores[:, 1]
    slack = ROUNDING * float(np.abs(scores).max(initial=0.0))
    return np.where(np.abs(gap) <= epsilon + slack, 0, np.where(gap > 0, 1, 2)).astype(np.int64)


def curves_as_json(curves: Mapping[str, ReferenceCurve]) -> dict[str, list[dict[str, Any]]]:
    names = ("references", "draws", "value", "low", "high")
    return {
        kind: [
            as_json(dict(zip(names, row, strict=True)) | {"n": curve.n})
            for row in zip(*(getattr(curve, name).tolist() for name in names), strict=True)
        ]
        for kind, curve in curves.items()
    }


def tau_c_with_interval(metric: Floats, people: Floats, clusters: ClusterColumns) -> dict[str, Any]:
    return dict(as_json(correlation(metric, people, "kendall-tau-c", clusters=clusters), *ESTIMATE, "reason"))


def correlate_single_grades(
    metric: Floats, grades: Floats, of: Ints, clusters: ClusterColumns, seed: int
) -> dict[str, Any]:
    """Correlate (N,) scores with (J,) judgments of the captions ``of`` (J,); ``clusters`` are those of judgments."""
    resamples = int(np.clip(GRADES_DRAWN // len(grades), FEWEST_RESAMPLES, MOST_RESAMPLES))
    return {
        key: as_json(
            correlation(metric[of], grades, name, resamples=resamples, seed=seed, clusters=clusters),
            *ESTIMATE,
            "reason",
        )
        for key, name in SINGLE_COEFFICIENTS.items()
    }
