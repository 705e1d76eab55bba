"""Automatic metrics against what people said: texts and arrays in, JSON-ready figures out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evaluation.errors import EvaluationError
from evaluation.provenance import plain
from evaluation.records import Floats, Ints
from evaluation.signatures import parse
from evaluation.statistics.aggregation import GRADE_THRESHOLDS
from evaluation.statistics.agreement import kappa_grid
from evaluation.statistics.correlation import CorrelationResult, correlation
from evaluation.statistics.meta import AccuracyResult, pair_accuracy

if TYPE_CHECKING:
    from evaluation.metrics import Scores

DEFAULT_METRICS = ("bleu-1", "bleu-4", "rouge-l", "cider", "cider-d")
DEFAULT_TOKENIZER = "ptb"
RESAMPLES = 1000
# Bootstrapping a rank correlation costs its observations times its resamples; large studies, whose intervals are
# narrow anyway, take fewer.
FEWEST_RESAMPLES, OBSERVATIONS_DRAWN = 200, 10_000_000
# Where a metric is cut for kappa: these shares of its scores lie below. Every metric has a scale of its own.
METRIC_QUANTILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
SHARE_THRESHOLDS = (0.33, 0.66, 1.0)
UNKNOWN_KIND = "unknown"

References = Sequence[str]


@dataclass(frozen=True, slots=True)
class PairTexts:
    """A candidate pair as a metric sees it; ``winner`` is 1, 2, or 0 where people named none."""

    pk: int
    kind: str
    first: str
    second: str
    references: References
    winner: int


@dataclass(frozen=True, slots=True)
class CaptionTexts:
    """A judged caption of an image; ``people`` is the share of yes or the mean grade."""

    pk: int
    text: str
    references: References
    people: float


@dataclass(frozen=True, slots=True)
class Judged:
    """Figures of each metric, and the scores behind them.

    Attributes:
        metrics: metric -> figures as JSON.
        signatures: metric -> its signature.
        pks: (N,) int64 row ids of the pairs or units that were scored.
        scores: metric -> (N, 2) or (N, 1) float64.
        notes: sentences a reader must know.
    """

    metrics: dict[str, dict[str, Any]]
    signatures: dict[str, str]
    pks: Ints
    scores: Mapping[str, Floats]
    notes: tuple[str, ...]


def score_texts(
    candidates: Sequence[str],
    references: Sequence[References],
    documents: Sequence[References],
    *,
    metrics: Sequence[str],
    tokenizer: str,
) -> Scores:
    """The metrics' scores of ``candidates``, document frequency counted over ``documents``.

    Raises:
        EvaluationError: an unknown metric or tokenizer, or one that is not available.
    """
    # Here and not above: the metrics bring a compiler along, which pages of workers never need.
    from evaluation.metrics import MetricsError, score

    try:
        return score(candidates, references, metrics, tokenizer, document_corpus=documents)
    except MetricsError as error:
        raise EvaluationError(_sentence(str(error))) from None


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def judge_pairs(
    pairs: Sequence[PairTexts], documents: Sequence[References], *, metrics: Sequence[str], tokenizer: str
) -> Judged:
    """Accuracy of each metric by pair kind (V15 §3), with Wilson intervals.

    A metric's tie is wrong and a pair without a consensus is left out; both are counted, and the other readings
    stand beside: ``value_ties_half`` and ``value_all_pairs`` (a pair without a consensus is won by lot).
    """
    count = len(pairs)
    scored = score_texts(
        [pair.first for pair in pairs] + [pair.second for pair in pairs],
        [pair.references for pair in pairs] * 2,
        documents,
        metrics=metrics,
        tokenizer=tokenizer,
    )
    kinds = [pair.kind or UNKNOWN_KIND for pair in pairs] if any(pair.kind for pair in pairs) else None
    winners = np.array([pair.winner for pair in pairs], dtype=np.float64)
    figures, scores = {}, {}
    for name, result in scored.scores.items():
        first, second = result.images[:count], result.images[count:]
        found = pair_accuracy(first, second, winners, kinds)
        figures[name] = {"accuracy": {kind: _accuracy(one) for kind, one in found.items()}}
        scores[name] = np.stack([first, second], axis=1)
    return Judged(
        metrics=figures,
        signatures={name: result.signature for name, result in scored.scores.items()},
        pks=np.array([pair.pk for pair in pairs], dtype=np.int64),
        scores=scores,
        notes=tuple(_sentence(warning) for warning in scored.warnings),
    )


def _accuracy(result: AccuracyResult) -> dict[str, Any]:
    return {
        "value": plain(result.value),
        "low": plain(result.low),
        "high": plain(result.high),
        "n": result.n,
        "correct": result.correct,
        "metric_ties": result.metric_ties,
        "no_consensus": result.no_consensus,
        "value_ties_half": plain(result.value_ties_half),
        "value_all_pairs": plain(result.value_all_pairs),
        "confidence": result.confidence,
        "interval": result.interval,
    }


def judge_captions(
    captions: Sequence[CaptionTexts],
    documents: Sequence[References],
    *,
    metrics: Sequence[str],
    tokenizer: str,
    graded: bool,
    seed: int,
) -> Judged:
    """Correlation of each metric with people over image-caption pairs, and kappa on a grid of thresholds.

    Where a caption is word for word one of the image's references, that reference is left out for it: H13 §4.1.1
    reports how much BLEU gains from the original caption among the references.
    """
    scored = score_texts(
        [caption.text for caption in captions],
        [caption.references for caption in captions],
        documents,
        metrics=metrics,
        tokenizer=tokenizer,
    )
    people = np.array([caption.people for caption in captions], dtype=np.float64)
    people_cuts = GRADE_THRESHOLDS if graded else SHARE_THRESHOLDS
    resamples = int(np.clip(OBSERVATIONS_DRAWN // len(captions), FEWEST_RESAMPLES, RESAMPLES))
    figures, scores = {}, {}
    for name, result in scored.scores.items():
        cuts = np.unique(np.quantile(result.images, METRIC_QUANTILES)).tolist()
        grid = kappa_grid(result.images, people, cuts, people_cuts, resamples=RESAMPLES, seed=seed)
        figures[name] = {
            key: _coefficient(correlation(result.images, people, coefficient, resamples=resamples, seed=seed))
            for key, coefficient in (("kendall_tau_b", "kendall-tau-b"), ("spearman", "spearman"))
        } | {
            "kappa": [
                {
                    "metric_at_least": cell.first_at_least,
                    "people_at_least": cell.second_at_least,
                    "value": plain(cell.kappa.value),
                    "low": plain(cell.kappa.low),
                    "high": plain(cell.kappa.high),
                    "n": cell.n,
                }
                for cell in grid.cells
            ]
        }
        scores[name] = result.images[:, np.newaxis]
    return Judged(
        metrics=figures,
        signatures={
            name: str(parse(result.signature).with_field("own", "dropped"))
            for name, result in scored.scores.items()
        },
        pks=np.array([caption.pk for caption in captions], dtype=np.int64),
        scores=scores,
        notes=tuple(_sentence(warning) for warning in scored.warnings),
    )


def _coefficient(result: CorrelationResult) -> dict[str, Any]:
    return {
        "value": plain(result.value),
        "low": plain(result.low),
        "high": plain(result.high),
        "n": result.n,
        "p": plain(result.p),
        "confidence": result.confidence,
        "resamples": result.resamples,
        "seed": result.seed,
        "reason": result.reason,
    }
