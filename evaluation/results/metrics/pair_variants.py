"""Variants of a metric's accuracy on pairs, computed on request in addition to the usual accuracy.

They are accuracy over all pairs, accuracy with ties, and accuracy with fewer references. A stored result has them under
the key ``readings``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from common.amounts import as_json, json_float
from evaluation.errors import EvaluationError
from evaluation.presentation.content import rows_as_json
from evaluation.results.metrics.figures import MetricResults
from evaluation.results.metrics.options import EvaluationOptions
from evaluation.results.metrics.scoring import score_pairs
from evaluation.results.metrics.texts import PairTexts, References, kinds_or_none
from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.statistics.crossed import ClusterColumns
from quorum.statistics.inference import Inference
from quorum.statistics.inputs import ROUNDING
from quorum.statistics.meta import (
    PeoplesWinners,
    ReferenceCurve,
    accuracy_by_references,
    kinds_of,
    metric_winners,
    pair_credits,
    pairwise_accuracy,
    random_subsets,
    soft_accuracy_of_comparisons,
)
from quorum.statistics.meta.pairwise import CALIBRATED_EPSILON

DRAWS = 10  # random subsets of references for each size


def accuracy_over_all(
    scores: Floats, people: PeoplesWinners, kinds: Sequence[str] | None
) -> dict[str, dict[str, Any]]:
    """Return accuracy over all pairs, by pair kind, from (N, 2) scores of a metric.

    On a pair on which people have no consensus, a metric counts as half right, whatever it answers, even if it ties.
    """
    named_winners = metric_winners(scores[:, 0], scores[:, 1])

    def credit(pairs: Ints, peoples_winners: Floats) -> Floats:
        return pair_credits(named_winners[pairs], peoples_winners, undecided="half")[0]  # all pairs count

    all_pairs = np.arange(len(scores))
    accuracies = {}
    for kind, is_of_kind in kinds_of(kinds, len(scores)).items():
        n = int(is_of_kind.sum())
        # `share` calls `credit` with people's winners, and with the winners without single participants.
        interval = people.share(credit, is_of_kind, include_undecided=True) if n else Inference()
        value = float(credit(all_pairs, people.winners)[is_of_kind].mean()) if n else math.nan
        accuracies[kind] = {"value": json_float(value), **as_json(interval, "low", "high"), "n": n}
        accuracies[kind]["reason"] = interval.reason
    return accuracies


def accuracy_with_ties(
    scores: Floats, people: PeoplesWinners, is_judged: Flags, systems: Sequence[tuple[str, str]], seed: int
) -> dict[str, Any]:
    """Return a metric's three accuracies on the judged pairs. A metric's tie is right if people tie the pair, too.

    The result has these keys:

        plain: equal scores are ties.
        calibrated: scores are ties if their gap is up to the value that is best on these pairs (Deutsch et al. 2023).
        soft: the soft pairwise accuracy of systems (Thompson et al. 2024). It has no interval, so ``low`` and ``high``
            are None, and ``n`` is the number of pairs of systems.

    Args:
        scores: (N, 2) scores of both texts of all pairs.
        is_judged: (N,) flags of the pairs that people judged.
        systems: systems of both texts of the judged pairs.
    """
    winners, judged_scores = people.winners[is_judged], scores[is_judged]
    # People's scores of both texts: 1 for the winner, 0 for the loser, and 0 for both if they tie.
    people_scores = np.stack([winners == 1, winners == 2], axis=1).astype(np.float64)
    pair_of_text = np.repeat(np.arange(len(winners)), 2)
    accuracies: dict[str, Any] = {}
    for name, epsilon in (("plain", 0.0), ("calibrated", CALIBRATED_EPSILON)):
        accuracy = pairwise_accuracy(
            judged_scores.ravel(),
            people_scores.ravel(),
            pair_of_text,
            epsilon=epsilon,
            resamples=0,
            seed=seed,
        )
        interval = _interval_of_right_outcomes(metric_outcomes(scores, accuracy.epsilon), people, is_judged)
        accuracies[name] = {
            "value": json_float(accuracy.value),
            **as_json(interval, "low", "high"),
            "n": accuracy.pairs,
            **as_json(accuracy, "epsilon", "tied_both", "tied_metric", "tied_people", "signature"),
            "reason": accuracy.reason or interval.reason,
        }
    first_systems, second_systems = zip(*systems, strict=True)
    metric_margins = judged_scores[:, 0] - judged_scores[:, 1]
    people_margins = people_scores[:, 0] - people_scores[:, 1]
    soft_accuracy = soft_accuracy_of_comparisons(
        first_systems, second_systems, metric_margins, people_margins, seed=seed
    )
    accuracies["soft"] = {
        **as_json(soft_accuracy, "value", "pairwise", "pairs", "comparisons", "reason", "signature"),
        "low": None,
        "high": None,
        "n": soft_accuracy.pairs,
    }
    return accuracies


def _interval_of_right_outcomes(outcomes: Ints, people: PeoplesWinners, is_judged: Flags) -> Inference:
    """Return the interval of the share of judged pairs for which a metric's outcome is people's winner or tie."""

    def credit(pairs: Ints, peoples_winners: Floats) -> Floats:
        return (outcomes[pairs] == peoples_winners).astype(np.float64)

    return people.share(credit, is_judged, include_undecided=True)


def metric_outcomes(scores: Floats, epsilon: float) -> Ints:
    """Return (N,) outcomes of (N, 2) scores: the winner, 1 or 2, or 0 if scores differ by at most ``epsilon``."""
    gap = scores[:, 0] - scores[:, 1]
    # An error of rounding must not make a gap of epsilon larger than epsilon.
    slack = ROUNDING * float(np.abs(scores).max(initial=0.0))
    return np.select([np.abs(gap) <= epsilon + slack, gap > 0], [0, 1], default=2).astype(np.int64)


def curves_as_json(curves: Mapping[str, ReferenceCurve]) -> dict[str, list[dict[str, Any]]]:
    """Return accuracy by number of references as JSON, by pair kind, with a row for each number of references."""
    rows_by_kind: dict[str, list[dict[str, Any]]] = {}
    for kind, curve in curves.items():
        rows = rows_as_json(
            references=curve.references.tolist(),
            draws=curve.draws.tolist(),
            value=curve.value.tolist(),
            low=curve.low.tolist(),
            high=curve.high.tolist(),
        )
        rows_by_kind[kind] = [row | {"n": curve.n} for row in rows]
    return rows_by_kind


def compute_pair_variants(
    options: EvaluationOptions,
    pairs: Sequence[PairTexts],
    documents: Sequence[References],
    metric_results: MetricResults,
    *,
    metrics: Sequence[str],
    tokenizer: str,
    seed: int,
    people: PeoplesWinners,
    clusters: ClusterColumns,
) -> dict[str, Any]:
    """Return the requested variants of accuracy, by option and metric.

    ``metrics`` lack imported ones, which have no scores with fewer references. ``documents`` give document frequencies.
    """
    kinds = kinds_or_none([pair.kind for pair in pairs])
    variants: dict[str, Any] = {}
    if options.all_pairs:
        variants["all_pairs"] = {
            name: accuracy_over_all(scores, people, kinds) for name, scores in metric_results.scores.items()
        }
    if options.ties:
        is_judged = np.array([bool(pair.winner or pair.is_tied) for pair in pairs])
        systems = [pair.systems for pair in pairs if pair.winner or pair.is_tied]
        variants["ties"] = {
            name: accuracy_with_ties(scores, people, is_judged, systems, seed)
            for name, scores in metric_results.scores.items()
        }
    if options.references and metrics:
        scores_by_metric = scores_by_random_subsets(
            pairs, documents, options.references, DRAWS, metrics=metrics, tokenizer=tokenizer, seed=seed
        )
        variants["references"] = {
            name: curves_as_json(
                accuracy_by_references(scores_by_size, people.winners, kinds, clusters=clusters)
            )
            for name, scores_by_size in scores_by_metric.items()
        }
    return variants


def scores_by_random_subsets(
    pairs: Sequence[PairTexts],
    documents: Sequence[References],
    sizes: Iterable[int],
    draws: int,
    *,
    metrics: Sequence[str],
    tokenizer: str,
    seed: int | np.random.Generator,
) -> dict[str, dict[int, tuple[Floats, Floats]]]:
    """Return (D, N) scores of both texts of N pairs under D random subsets of references, by metric and subset size.

    Each pair has its own random subsets, because pairs may have different numbers of references (decision 0012). If
    ``seed`` is a number, each size starts a new generator; if it is a generator, all sizes share it. D is ``draws``; it
    is 1 for the largest size, at which the pair with the fewest references has only one subset.

    Raises:
        EvaluationError: a pair has fewer references than a size.
    """
    max_references = min(len(pair.references) for pair in pairs)
    scores: dict[str, dict[int, tuple[Floats, Floats]]] = {name: {} for name in metrics}
    for size in sorted(set(sizes)):
        if size > max_references:
            raise EvaluationError(
                f"references: {size} is too many; a pair has {max_references}, expected at most {max_references}."
            )
        generator = np.random.default_rng(seed)
        draw_count = draws if size < max_references else 1
        subsets_by_pair = [
            random_subsets(len(pair.references), size, draw_count, seed=generator) for pair in pairs
        ]
        scores_by_draw = []
        for draw in range(draw_count):
            pairs_of_draw = [
                _with_subset(pair, subsets, draw)
                for pair, subsets in zip(pairs, subsets_by_pair, strict=True)
            ]
            _, scores_of_draw = score_pairs(pairs_of_draw, documents, metrics=metrics, tokenizer=tokenizer)
            scores_by_draw.append(scores_of_draw)
        for name in metrics:
            # From D times (N, 2) scores to the (D, N) scores of the first and of the second texts.
            first, second = np.stack([draw_scores[name] for draw_scores in scores_by_draw]).transpose(2, 0, 1)
            scores[name][size] = first, second
    return scores


def _with_subset(pair: PairTexts, subsets: Ints, draw: int) -> PairTexts:
    """Return the pair with the references of one of its random subsets, which are positions in its references.

    A pair with a single subset, which has all its references, uses it in each draw.
    """
    subset = subsets[min(draw, len(subsets) - 1)]
    return replace(pair, references=[pair.references[index] for index in subset])
