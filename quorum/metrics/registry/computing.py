"""Functions that compute a metric's scores from a `Comparison`, for the declarations in `built_in`."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from quorum.metrics import bleu, cider, rouge
from quorum.metrics.comparison import Comparison, View
from quorum.metrics.meteor import scoring as meteor
from quorum.metrics.meteor.relations import STAGE_CHOICES
from quorum.metrics.meteor.tables import find_tables
from quorum.metrics.registry.declaration import Compute, ComputedScores, Settings
from quorum.numeric.arrays import Floats


def mean_over_images(scores: Floats) -> ComputedScores:
    return ComputedScores(float(np.mean(scores)), scores)


def compute_bleu(order: int) -> Compute:
    def compute(comparison: Comparison, view: View, settings: Settings) -> ComputedScores:
        smoothing, length = str(settings["smoothing"]), str(settings["length"])
        statistics = bleu.bleu_statistics(comparison, view, length)
        corpus = bleu.bleu_scores(bleu.sum_statistics(statistics), smoothing)[0, order - 1]
        images = comparison.cached_result(
            ("bleu scores", view, smoothing, length), lambda: bleu.bleu_scores(statistics, smoothing)
        )
        return ComputedScores(float(corpus), images[:, order - 1].copy())

    return compute


def compute_overlap_of_words(scores: Callable[[Comparison, View], Floats]) -> Compute:
    return lambda comparison, view, settings: mean_over_images(scores(comparison, view))


def compute_rouge_l(comparison: Comparison, view: View, settings: Settings) -> ComputedScores:
    return mean_over_images(rouge.rouge_l_scores(comparison, view, float(settings["beta"])))


def compute_rouge_grams(window: int, spared: int = -1) -> Compute:
    def compute(comparison: Comparison, view: View, settings: Settings) -> ComputedScores:
        overlap = rouge.gram_overlap(comparison, view, window=window, spared=spared)
        return _rouge155(comparison, overlap, view, settings)

    return compute


def compute_rouge_lcs(comparison: Comparison, view: View, settings: Settings) -> ComputedScores:
    return _rouge155(comparison, rouge.lcs_overlap(comparison, view), view, settings)


def compute_rouge_w(comparison: Comparison, view: View, settings: Settings) -> ComputedScores:
    overlap = rouge.weighted_lcs_overlap(comparison, view, float(settings["weight"]))
    return _rouge155(comparison, overlap, view, settings)


def _rouge155(
    comparison: Comparison, overlap: rouge.Overlap, view: View, settings: Settings
) -> ComputedScores:
    options = {name: str(settings[name]) for name in ("measure", "jackknife", "corpus")}
    rule, alpha = str(settings["multi"]), float(settings["alpha"])
    scores = rouge.rouge155_scores(comparison, overlap, view, reference_rule=rule, alpha=alpha, **options)
    return ComputedScores(*scores)


def compute_cider(variant: cider.Variant) -> Compute:
    def compute(comparison: Comparison, view: View, settings: Settings) -> ComputedScores:
        variant_fields: dict[str, Any] = {
            name: settings[name] for name in ("n", "sigma", "scale") if name in settings
        }
        return mean_over_images(cider.cider_scores(comparison, view, replace(variant, **variant_fields)))

    return compute


def compute_meteor(comparison: Comparison, view: View, settings: Settings) -> ComputedScores:
    stages = meteor.stages_named(str(settings["stages"]))
    tables = find_tables()
    statistics = meteor.meteor_statistics(comparison, view, tables, stages)
    corpus = meteor.meteor_scores(meteor.pooled_statistics(statistics))[0]
    signature_fields = {"stages": STAGE_CHOICES[stages - 1], "data": tables.digest}
    return ComputedScores(float(corpus), meteor.meteor_scores(statistics), signature_fields)


def check_meteor(settings: Settings) -> None:
    meteor.stages_named(str(settings["stages"]))
