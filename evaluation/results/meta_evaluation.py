"""Compare automatic metrics with people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evaluation.errors import EvaluationError
from evaluation.judgment_sets.records import Floats, Ints
from evaluation.provenance import as_json
from evaluation.signatures import parse
from evaluation.statistics.agreement import kappa_grid
from evaluation.statistics.correlation import correlation
from evaluation.statistics.meta import GroupedCorrelationResult, grouped_correlation, pair_accuracy

if TYPE_CHECKING:
    from evaluation.metrics import Scores

DEFAULT_METRICS = ("bleu-1", "bleu-4", "rouge-l", "cider", "cider-d")
DEFAULT_TOKENIZER = "ptb"
RESAMPLES = 1000
# A rank correlation's bootstrap costs observations times resamples; large studies, with narrow intervals,
# take fewer.
FEWEST_RESAMPLES, OBSERVATIONS_DRAWN = 200, 10_000_000
# Quantiles at which metrics are cut for kappa, as each metric has its own scale.
METRIC_QUANTILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
ACCURACY = (
    "value", "low", "high", "n", "correct", "metric_ties", "no_consensus", "value_ties_half", "value_all_pairs",
    "confidence", "interval",
)  # fmt: skip
COEFFICIENT = ("value", "low", "high", "n", "p", "confidence", "resamples", "seed", "reason")
COEFFICIENTS = {"kendall_tau_b": "kendall-tau-b", "spearman": "spearman"}
UNKNOWN_KIND = "unknown"

References = Sequence[str]


@dataclass(frozen=True, slots=True)
class PairTexts:
    """A candidate pair for metrics; ``winner`` is 1, 2, or 0 for none."""

    pk: int
    kind: str
    first: str
    second: str
    references: References
    winner: int


@dataclass(frozen=True, slots=True)
class CaptionTexts:
    """A judged caption of an image; ``people`` is the share of yes, the mean grade, or a score.

    ``unit`` is None if several units judged it.
    """

    unit: int | None
    item: int
    key: str
    text: str
    references: References
    people: float


@dataclass(frozen=True, slots=True)
class Judged:
    """Results of each metric, and the scores behind them.

    Attributes:
        metrics: metric -> results as JSON.
        signatures: metric -> its signature.
        pks: (N,) int64 row ids of scored pairs or units; None where captions are no units.
        scores: metric -> (N, 2) or (N, 1) float64.
        notes: warnings in sentences.
        people: (N,) consensus of each scored caption; None for pairs.
        captions: row id of the image and id of each scored caption; empty for pairs.
    """

    metrics: dict[str, dict[str, Any]]
    signatures: dict[str, str]
    pks: Ints | None
    scores: Mapping[str, Floats]
    notes: tuple[str, ...]
    people: Floats | None = None
    captions: tuple[tuple[int, str], ...] = ()


def score_texts(
    candidates: Sequence[str],
    references: Sequence[References],
    documents: Sequence[References],
    *,
    metrics: Sequence[str],
    tokenizer: str,
) -> Scores:
    """Score ``candidates``, with document frequency over ``documents``.

    Raises:
        EvaluationError: an unknown or unavailable metric or tokenizer.
    """
    # Imported lazily: the metrics load a compiler that workers' pages never need.
    from evaluation.metrics import MetricsError, score

    try:
        return score(candidates, references, metrics, tokenizer, document_corpus=documents)
    except MetricsError as error:
        raise EvaluationError(_sentence(str(error))) from None


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def with_references(
    pairs: Iterable[tuple[int, str, Any, str, str, Sequence[str]]],
    of_image: Mapping[Any, Sequence[tuple[str, str]]],
) -> tuple[list[PairTexts], list[References], int] | None:
    """Return pairs with references but no winner, documents, and references per document (0: all).

    None if an image has no references.

    Args:
        pairs: number, kind, image, both texts, and reference ids of each.
        of_image: image -> its ordered (id, text) references.
    """
    found, leading = [], set()
    for pk, kind, image, first, second, keys in pairs:
        rows = of_image.get(image, [])
        texts = dict(rows)
        own = [texts[key] for key in keys if key in texts] or [text for _, text in rows]
        if not own:
            return None
        leading.add(len(own) if [key for key, _ in rows[: len(keys)]] == list(keys) else 0)
        found.append(PairTexts(pk, kind, first, second, tuple(own), 0))
    used = leading.pop() if len(leading) == 1 else 0
    documents: list[References] = [[text for _, text in rows[: used or None]] for rows in of_image.values()]
    return found, documents, used


PAIR_KINDS = ("HC", "HI", "HM", "MM")  # V15 §4


def pair_kinds(names: Iterable[str]) -> list[str]:
    """Return the pair kinds in the papers' order, then others by name, without "all"."""
    found = set(names) - {"all"}
    return [kind for kind in PAIR_KINDS if kind in found] + sorted(found.difference(PAIR_KINDS))


def score_pairs(
    pairs: Sequence[PairTexts], documents: Sequence[References], *, metrics: Sequence[str], tokenizer: str
) -> tuple[Scores, dict[str, Floats]]:
    """Score both candidates of each pair; return also metric -> (N, 2) float64."""
    scored = score_texts(
        [pair.first for pair in pairs] + [pair.second for pair in pairs],
        [pair.references for pair in pairs] * 2,
        documents,
        metrics=metrics,
        tokenizer=tokenizer,
    )
    return scored, {name: one.images.reshape(2, -1).T for name, one in scored.scores.items()}


def judge_pairs(
    pairs: Sequence[PairTexts], documents: Sequence[References], *, metrics: Sequence[str], tokenizer: str
) -> Judged:
    """Compute each metric's accuracy by pair kind (V15 §3), with Wilson intervals.

    A metric's tie is wrong and an undecided pair is excluded; both are counted. ``value_ties_half`` and
    ``value_all_pairs`` (an undecided pair is won at random) are alternatives.
    """
    scored, scores = score_pairs(pairs, documents, metrics=metrics, tokenizer=tokenizer)
    winners, kinds = [pair.winner for pair in pairs], [pair.kind for pair in pairs]
    return Judged(
        metrics={name: accuracy_of_pairs(both, winners, kinds) for name, both in scores.items()},
        signatures={name: result.signature for name, result in scored.scores.items()},
        pks=np.array([pair.pk for pair in pairs], dtype=np.int64),
        scores=scores,
        notes=tuple(_sentence(warning) for warning in scored.warnings),
    )


def accuracy_of_pairs(scores: Floats, winners: Sequence[int], kinds: Sequence[str]) -> dict[str, Any]:
    """Compute a metric's accuracy by pair kind from (N, 2) scores; ``winners`` is 0 without consensus."""
    names = [kind or UNKNOWN_KIND for kind in kinds] if any(kinds) else None
    found = pair_accuracy(scores[:, 0], scores[:, 1], np.array(winners, dtype=np.float64), names)
    return {"accuracy": {kind: as_json(one, *ACCURACY) for kind, one in found.items()}}


def judge_captions(
    captions: Sequence[CaptionTexts],
    documents: Sequence[References],
    *,
    metrics: Sequence[str],
    tokenizer: str,
    cuts: Sequence[float],
    per_image: bool,
    seed: int,
) -> Judged:
    """Correlate each metric with people over image-caption pairs, with kappa at thresholds.

    A reference equal to the caption is excluded for it: H13 §4.1.1 reports how much BLEU gains from the
    original caption among the references.

    Args:
        cuts: thresholds of people's scores; without any there is no kappa.
        per_image: add coefficients within each image, averaged over images.
    """
    scored = score_texts(
        [caption.text for caption in captions],
        [caption.references for caption in captions],
        documents,
        metrics=metrics,
        tokenizer=tokenizer,
    )
    people = np.array([caption.people for caption in captions], dtype=np.float64)
    images = [caption.item for caption in captions]
    texts = [caption.key for caption in captions]
    units = [caption.unit for caption in captions]
    figures, scores = {}, {}
    for name, result in scored.scores.items():
        figures[name] = correlation_of_captions(
            result.images, people, images, texts, cuts=cuts, per_image=per_image, seed=seed
        )
        scores[name] = result.images[:, np.newaxis]
    return Judged(
        metrics=figures,
        signatures={
            name: str(parse(result.signature).with_field("own", "dropped"))
            for name, result in scored.scores.items()
        },
        pks=None if None in units else np.array(units, dtype=np.int64),
        scores=scores,
        notes=tuple(_sentence(warning) for warning in scored.warnings),
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
) -> dict[str, Any]:
    """Compute a metric's coefficients and kappas with people's scores of the same captions."""
    resamples = int(np.clip(OBSERVATIONS_DRAWN // len(people), FEWEST_RESAMPLES, RESAMPLES))
    figures: dict[str, Any] = {
        key: as_json(correlation(metric, people, coefficient, resamples=resamples, seed=seed), *COEFFICIENT)
        for key, coefficient in COEFFICIENTS.items()
    } | {"kappa": _kappa(metric, people, cuts, seed)}
    if per_image:
        figures["per_image"] = {
            key: _grouped(
                grouped_correlation(
                    metric, people, images, texts, coefficient, resamples=resamples, seed=seed
                )
            )
            for key, coefficient in COEFFICIENTS.items()
        }
    return figures


def _kappa(metric: Floats, people: Floats, cuts: Sequence[float], seed: int) -> list[dict[str, Any]]:
    if not cuts:
        return []
    quantiles = np.unique(np.quantile(metric, METRIC_QUANTILES)).tolist()
    grid = kappa_grid(metric, people, quantiles, cuts, resamples=RESAMPLES, seed=seed)
    return [
        {
            "metric_at_least": cell.first_at_least,
            "people_at_least": cell.second_at_least,
            **as_json(cell.kappa),
            "n": cell.n,
        }
        for cell in grid.cells
    ]


def _grouped(result: GroupedCorrelationResult) -> dict[str, Any]:
    """Return the mean coefficient within images; the interval resamples images."""
    return {
        **as_json(result, "value", "low", "high", "n"),
        "images": result.groups - result.undefined_groups,
        "images_undefined": result.undefined_groups,
        **as_json(result, "confidence", "resamples", "seed", "reason"),
    }
