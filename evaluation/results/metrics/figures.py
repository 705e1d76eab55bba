"""Compute the usual figures of each metric: accuracy over pairs, or correlation with people over captions.

V15 is Vedantam et al. 2015, H13 Hodosh et al. 2013. The figures are dictionaries as they are stored as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from common.amounts import as_json
from evaluation.data.imported_scores import NO_SCORES, ImportedScores
from evaluation.errors import as_sentence
from evaluation.results.metrics.scoring import score_captions, score_pairs
from evaluation.results.metrics.texts import (
    CaptionTexts,
    PairTexts,
    References,
    kinds_or_none,
    weights_of_captions,
)
from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.numeric.signatures import parse
from quorum.statistics.agreement import kappa_grid, weighted_kappa
from quorum.statistics.correlation import correlation
from quorum.statistics.crossed import NAIVE, ClusterColumns
from quorum.statistics.meta import (
    GroupedCorrelationResult,
    PeoplesWinners,
    grouped_correlation,
    metric_winners,
)

RESAMPLES = 1000
# The bootstrap of a rank correlation takes time in proportion to observations times resamples. Large studies have
# narrow intervals, so they need fewer resamples.
MIN_RESAMPLES = 200
OBSERVATIONS_DRAWN = 10_000_000  # observations drawn in all resamples together
# Thresholds of a metric's scores for kappa, as quantiles, because each metric has its own scale.
METRIC_QUANTILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
ACCURACY_FIELDS = (
    "value", "low", "high", "n", "correct", "metric_ties", "no_consensus", "value_ties_half", "value_all_pairs",
    "confidence", "interval",
)  # fmt: skip
COEFFICIENT_FIELDS = ("value", "low", "high", "n", "p", "confidence", "resamples", "seed", "reason")
# Coefficients by the key of the result: the name that `correlation` takes.
COEFFICIENTS = {"kendall_tau_b": "kendall-tau-b", "spearman": "spearman", "pearson": "pearson"}


@dataclass(frozen=True, slots=True)
class MetricResults:
    """The figures, signatures and scores of all metrics.

    Attributes:
        metrics: figures by metric, as JSON.
        signatures: signature of the scores, by metric.
        pks: (N,) int64 row ids of the scored pairs or units; None if captions are not units.
        scores: by metric, (N, 2) scores of both texts of pairs, or (N, 1) scores of captions.
        notes: warnings of the computation, as sentences.
        people: (N,) consensus on each scored caption; None for pairs.
        captions: the row id of the image, and the caption's id, of each scored caption; empty for pairs.
    """

    metrics: dict[str, dict[str, Any]]
    signatures: dict[str, str]
    pks: Ints | None
    scores: Mapping[str, Floats]
    notes: tuple[str, ...]
    people: Floats | None = None
    captions: tuple[tuple[int, str], ...] = ()


def evaluate_on_pairs(
    pairs: Sequence[PairTexts],
    documents: Sequence[References],
    *,
    metrics: Sequence[str],
    tokenizer: str,
    people: PeoplesWinners,
    imported: ImportedScores = NO_SCORES,
) -> MetricResults:
    """Compute each metric's accuracy by pair kind (V15 §3).

    A metric's tie is wrong, and an undecided pair is left out; both are counted. ``value_ties_half`` counts a
    metric's tie as half right. ``value_all_pairs`` counts any winner that is named for an undecided pair as half
    right.
    """
    scoring, scores = score_pairs(pairs, documents, metrics=metrics, tokenizer=tokenizer, imported=imported)
    kinds = [pair.kind for pair in pairs]
    return MetricResults(
        metrics={name: accuracy_of_pairs(pair_scores, people, kinds) for name, pair_scores in scores.items()},
        signatures={name: result.signature for name, result in scoring.scores.items()},
        pks=np.array([pair.pk for pair in pairs], dtype=np.int64),
        scores=scores,
        notes=tuple(map(as_sentence, scoring.warnings)),
    )


def accuracy_of_pairs(scores: Floats, people: PeoplesWinners, kinds: Sequence[str]) -> dict[str, Any]:
    """Return accuracy by pair kind as JSON, from (N, 2) scores.

    Without clusters, pairs are regarded as independent (Wilson's interval).
    """
    fields = (*ACCURACY_FIELDS, "clusters", "reason") if people.has_clusters else ACCURACY_FIELDS
    accuracies = people.accuracy(metric_winners(scores[:, 0], scores[:, 1]), kinds_or_none(kinds))
    return {"accuracy": {kind: as_json(accuracy, *fields) for kind, accuracy in accuracies.items()}}


def preference_for_longer(
    texts: Sequence[tuple[str, str]], people: PeoplesWinners, kinds: Mapping[str, Flags]
) -> dict[str, dict[str, Any]]:
    """Return how often people's winner is the text with more words, by pair kind (V15, appendix III).

    ``liked`` is over pairs of texts with different numbers of words. ``rule`` is the accuracy of naming the longer
    text. If both have equally many words, the rule has a tie, which is wrong.
    """
    first_lengths = np.array([len(first.split()) for first, _ in texts], dtype=np.float64)
    second_lengths = np.array([len(second.split()) for _, second in texts], dtype=np.float64)
    longer_sides = metric_winners(first_lengths, second_lengths)  # 0 if both texts are equally long
    fields = ("value", "low", "high", "n")
    preferences = {}
    for kind, is_of_kind in kinds.items():
        liked_share = people.accuracy_of(longer_sides, is_of_kind & (longer_sides != 0))
        rule_accuracy = people.accuracy_of(longer_sides, is_of_kind)
        preferences[kind] = {"liked": as_json(liked_share, *fields), "rule": as_json(rule_accuracy, *fields)}
    return preferences


def evaluate_on_captions(
    captions: Sequence[CaptionTexts],
    documents: Sequence[References],
    *,
    metrics: Sequence[str],
    tokenizer: str,
    cuts: Sequence[float],
    per_image: bool,
    seed: int,
    clusters: ClusterColumns,
    imported: ImportedScores = NO_SCORES,
) -> MetricResults:
    """Correlate each metric with people over image-caption pairs, with kappa at thresholds.

    References equal to the caption must have been removed; H13 §4.1.1 reports how much BLEU gains from them.

    Args:
        cuts: thresholds of people's scores for kappa; if empty, kappa is not computed.
        per_image: whether to add coefficients within images, averaged over images.
        clusters: see ``correlation_of_captions``.
    """
    scoring = score_captions(captions, documents, metrics=metrics, tokenizer=tokenizer, imported=imported)
    people = np.array([caption.people for caption in captions], dtype=np.float64)
    images = [caption.item for caption in captions]
    texts = [caption.key for caption in captions]
    units = [caption.unit for caption in captions]
    weights = weights_of_captions(captions)
    figures, scores, signatures = {}, {}, {}
    for name, result in scoring.scores.items():
        signatures[name] = result.signature
        if name not in imported.names:
            # The scored caption was not among its own references.
            signatures[name] = str(parse(result.signature).with_field("own", "dropped"))
        figures[name] = correlation_of_captions(
            result.images,  # a score for each caption
            people,
            images,
            texts,
            cuts=cuts,
            per_image=per_image,
            seed=seed,
            clusters=clusters,
            weights=weights,
        )
        scores[name] = result.images[:, np.newaxis]
    return MetricResults(
        metrics=figures,
        signatures=signatures,
        pks=None if None in units else np.array(units, dtype=np.int64),
        scores=scores,
        notes=tuple(map(as_sentence, scoring.warnings)),
        people=people,
        captions=tuple(zip(images, texts, strict=True)),
    )


def correlation_of_captions(
    metric: Floats,
    people: Floats,
    images: Sequence[Any],
    texts: Sequence[str],
    *,
    cuts: Sequence[float],
    per_image: bool,
    seed: int,
    clusters: ClusterColumns,
    weights: Floats | None = None,
) -> dict[str, Any]:
    """Return the correlations of a metric with people, as JSON.

    Args:
        metric, people: (N,) scores of captions.
        images, texts: row ids of the captions' images, and ids of the captions.
        cuts, per_image: see ``evaluate_on_captions``.
        clusters: a result of ``clusters_of_captions``, or "naive", which regards captions as independent.
        weights: (N,) how many captions each caption stands for. In tau, a pair of captions has the product of both
            weights.
    """
    resamples = resample_count_for(len(people), drawn=OBSERVATIONS_DRAWN, fewest=MIN_RESAMPLES)
    fields = COEFFICIENT_FIELDS if clusters == NAIVE else (*COEFFICIENT_FIELDS, "clusters")
    options: dict[str, Any] = {"weights": weights, "resamples": resamples, "seed": seed, "clusters": clusters}
    figures: dict[str, Any] = {
        key: as_json(correlation(metric, people, coefficient, **options), *fields)
        for key, coefficient in COEFFICIENTS.items()
    }
    figures["kappa"] = kappa_at_cuts(metric, people, cuts, seed, clusters, weights=weights)
    if per_image:
        figures["per_image"] = {
            key: _grouped_correlation_as_json(
                grouped_correlation(metric, people, images, texts, coefficient, **options)
            )
            for key, coefficient in COEFFICIENTS.items()
        }
    return figures


def resample_count_for(n: int, *, drawn: int, fewest: int) -> int:
    """Return the number of resamples of ``n`` observations that together draw about ``drawn`` observations.

    The number is at least ``fewest`` and at most RESAMPLES.
    """
    return int(np.clip(drawn // n, fewest, RESAMPLES))


def kappa_at_cuts(
    metric: Floats,
    people: Floats,
    cuts: Sequence[float],
    seed: int,
    clusters: ClusterColumns,
    at_least: Sequence[float] = (),
    weights: Floats | None = None,
) -> list[dict[str, Any]]:
    """Return kappa for every threshold of the metric's scores and every threshold of people's scores.

    Args:
        metric, people: (N,) scores.
        cuts: thresholds of people's scores.
        at_least: thresholds of the metric's scores; if empty, they are the METRIC_QUANTILES.
    """
    if not cuts:
        return []
    metric_cuts = sorted(at_least) or np.unique(np.quantile(metric, METRIC_QUANTILES)).tolist()
    if weights is not None:
        return [
            {
                "metric_at_least": metric_cut,
                "people_at_least": people_cut,
                **as_json(weighted_kappa(metric, people, metric_cut, people_cut, weights, clusters)),
                "n": len(metric),
            }
            for metric_cut, people_cut in product(metric_cuts, cuts)
        ]
    grid = kappa_grid(metric, people, metric_cuts, cuts, resamples=RESAMPLES, seed=seed, clusters=clusters)
    return [
        {
            "metric_at_least": cell.first_at_least,
            "people_at_least": cell.second_at_least,
            **as_json(cell.kappa),
            "n": cell.n,
        }
        for cell in grid.cells
    ]


def _grouped_correlation_as_json(result: GroupedCorrelationResult) -> dict[str, Any]:
    return {
        **as_json(result, "value", "low", "high", "n"),
        "images": result.groups - result.undefined_groups,
        "images_undefined": result.undefined_groups,
        **as_json(result, "confidence", "resamples", "seed", "reason"),
    }
