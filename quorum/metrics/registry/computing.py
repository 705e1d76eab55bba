"""Functions of the type `Compute` for the metrics that `built_in` declares.

They read the options of a metric, call its module, and return a corpus score with the scores of the candidates.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from quorum.metrics import bleu, cider, rouge
from quorum.metrics.comparison import ReferenceComparison, Tokenization
from quorum.metrics.meteor import scoring as meteor
from quorum.metrics.meteor.relations import STAGE_CHOICES
from quorum.metrics.meteor.tables import load_tables
from quorum.metrics.registry.declaration import Compute, ComputedScores, MetricSettings
from quorum.numeric.arrays import Floats


def mean_over_images(scores: Floats) -> ComputedScores:
    return ComputedScores(float(np.mean(scores)), scores)


def compute_bleu(order: int) -> Compute:
    """Return a function that computes BLEU up to n-grams of this order."""

    def compute(
        comparison: ReferenceComparison, tokenization: Tokenization, settings: MetricSettings
    ) -> ComputedScores:
        smoothing, length = str(settings["smoothing"]), str(settings["length"])
        statistics = bleu.bleu_statistics(comparison, tokenization, length)
        corpus = bleu.bleu_scores(bleu.sum_statistics(statistics), smoothing)[0, order - 1]
        image_scores = comparison.cached_result(
            ("bleu scores", tokenization, smoothing, length), lambda: bleu.bleu_scores(statistics, smoothing)
        )
        return ComputedScores(float(corpus), image_scores[:, order - 1].copy())

    return compute


def compute_word_overlap(score_candidates: Callable[[ReferenceComparison, Tokenization], Floats]) -> Compute:
    """Return a function that computes a metric without options, whose scores `score_candidates` returns."""

    def compute(
        comparison: ReferenceComparison, tokenization: Tokenization, settings: MetricSettings
    ) -> ComputedScores:
        return mean_over_images(score_candidates(comparison, tokenization))

    return compute


def compute_rouge_l(
    comparison: ReferenceComparison, tokenization: Tokenization, settings: MetricSettings
) -> ComputedScores:
    return mean_over_images(rouge.rouge_l_scores(comparison, tokenization, float(settings["beta"])))


def compute_rouge_grams(window: int, skipped_last: int = -1) -> Compute:  # -1: no single words
    """Return a function for ROUGE of pairs of words up to `window` apart, and words except the last `skipped_last`."""

    def compute(
        comparison: ReferenceComparison, tokenization: Tokenization, settings: MetricSettings
    ) -> ComputedScores:
        overlap = rouge.gram_overlap(comparison, tokenization, window=window, skipped_last=skipped_last)
        return _score_overlap(comparison, overlap, tokenization, settings)

    return compute


def compute_rouge_lcs(
    comparison: ReferenceComparison, tokenization: Tokenization, settings: MetricSettings
) -> ComputedScores:
    return _score_overlap(comparison, rouge.lcs_overlap(comparison, tokenization), tokenization, settings)


def compute_rouge_w(
    comparison: ReferenceComparison, tokenization: Tokenization, settings: MetricSettings
) -> ComputedScores:
    overlap = rouge.weighted_lcs_overlap(comparison, tokenization, float(settings["weight"]))
    return _score_overlap(comparison, overlap, tokenization, settings)


def _score_overlap(
    comparison: ReferenceComparison,
    overlap: rouge.Overlap,
    tokenization: Tokenization,
    settings: MetricSettings,
) -> ComputedScores:
    corpus_score, image_scores = rouge.rouge155_scores(
        comparison,
        overlap,
        tokenization,
        measure=str(settings["measure"]),
        reference_rule=str(settings["multi"]),
        jackknife=str(settings["jackknife"]),
        corpus=str(settings["corpus"]),
        alpha=float(settings["alpha"]),
    )
    return ComputedScores(corpus_score, image_scores)


def compute_cider(variant: cider.CiderVariant) -> Compute:
    """Return a function that computes a variant of CIDEr, with the options that the metric declares."""

    def compute(
        comparison: ReferenceComparison, tokenization: Tokenization, settings: MetricSettings
    ) -> ComputedScores:
        variant_fields: dict[str, Any] = {
            name: settings[name] for name in ("n", "sigma", "scale") if name in settings
        }
        return mean_over_images(
            cider.cider_scores(comparison, tokenization, replace(variant, **variant_fields))
        )

    return compute


def compute_meteor(
    comparison: ReferenceComparison, tokenization: Tokenization, settings: MetricSettings
) -> ComputedScores:
    stage_count = meteor.count_stages(str(settings["stages"]))
    tables = load_tables()
    statistics = meteor.meteor_statistics(comparison, tokenization, tables, stage_count)
    corpus = meteor.meteor_scores(meteor.pooled_statistics(statistics))[0]
    signature_fields = {"stages": STAGE_CHOICES[stage_count - 1], "data": tables.digest}
    return ComputedScores(float(corpus), meteor.meteor_scores(statistics), signature_fields)


def check_meteor(settings: MetricSettings) -> None:
    """Raise MissingTables if a stage needs a table that is not installed."""
    meteor.count_stages(str(settings["stages"]))
