"""Compute the bounds of metrics on a dataset: the scores of people's captions and of unrelated texts.

The method is that of Wang and Gaizauskas 2016 (WG16). Upper bounds are scores of each caption against the other
captions of its image (section 4). For lower bounds (section 5), the caption is replaced by:

    other-image      a caption of another image (random intra-dataset)
    other-dataset    a caption of another dataset, which is drawn first (random inter-dataset)
    corpus           a sentence from a corpus; WG16 take Brown (random Brown)
    words-10         ten words, drawn by frequency in the dataset (gibberish dataset)
    words-mean       as many words as its captions have on average
    corpus-words-10, corpus-words-mean   the same with the words of the corpus (gibberish Brown)

There are also rank correlations between metrics, and the captions of one item ranked by each metric (Vedantam et al.
2015, appendices II and IV).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np

from common.amounts import as_json, json_float
from contrib.bounds.corpora import read_corpus
from contrib.bounds.parameters import WG16_METRICS, WG16_TOKENIZER
from evaluation.errors import EvaluationError, as_sentence
from judgments.kinds.upper_bound import rank_correlations
from judgments.models import Caption, Dataset
from judgments.studies.studies import find_dataset
from quorum.metrics.held_out import (
    HeldOutCaptions,
    draw_from_other_images,
    draw_from_other_sources,
    draw_gibberish,
    hold_out,
    mean_length,
    score_held_out,
)
from quorum.metrics.inputs import MetricsError, MissingTables
from quorum.metrics.registry import metric_named
from quorum.numeric.arrays import Floats
from quorum.statistics.correlation import kendall_tau_b
from quorum.statistics.significance import ScoreSummary, deviation_of, summary_of_scores

GIBBERISH_WORDS = 10  # number of words in the shorter random texts
RESAMPLES = 1000  # of images, for intervals of means


@dataclass(frozen=True, slots=True)
class Bound(ScoreSummary):
    """A summary of the scores of n captions by one metric.

    Attributes:
        micro, macro: mean over captions, and mean over images of the means of their captions.
        low, high: interval of ``macro``.
        image_deviation, image_median, image_least, image_most: standard deviation, median, minimum and maximum of
            the images' mean scores.
        within: mean over images of the standard deviation of the scores of an image's captions.
        within_deviation: standard deviation over images of these standard deviations.
    """

    image_deviation: float
    image_median: float
    image_least: float
    image_most: float
    within: float
    within_deviation: float
    n: int


@dataclass(frozen=True, slots=True)
class Bounds:
    """Upper and lower bounds by metric, and tau-b between metrics.

    Attributes:
        upper: the scores of people's captions, by metric.
        lower: the scores of the texts that replace them, by replacement and metric.
        image_taus, caption_taus: (M, M) tau-b between M metrics, of images' mean scores and of captions' scores.
        orders: correlations between the orders in which metrics rank an image's captions (``rank_correlations``).
        item: name of the item whose captions are ranked.
        ranked: each caption of ``item`` with its scores by metric, the best by the first metric first.
        images, captions: numbers of the images with several captions, and of their captions.
        left_out: number of images with a single caption, which are not used.
        mean_length: mean number of words of a caption, rounded.
    """

    upper: Mapping[str, Bound]
    lower: Mapping[str, Mapping[str, Bound]]
    image_taus: Floats
    caption_taus: Floats
    orders: Mapping[str, Any]
    item: str
    ranked: Sequence[tuple[str, Mapping[str, float]]]
    signatures: Mapping[str, str]
    tokenizer: str
    images: int
    captions: int
    left_out: int
    mean_length: int
    seed: int
    warnings: tuple[str, ...]

    def ranks(self, scores: Mapping[str, float]) -> dict[str, int]:
        """Return the rank of a ranked caption by each metric, from its scores. Equal scores have the same rank."""
        return {
            name: 1 + sum(other_scores[name] > score for _, other_scores in self.ranked)
            for name, score in scores.items()
        }

    def as_json(self) -> dict[str, Any]:
        names = list(self.upper)
        return {
            "metrics": {
                name: {
                    "upper": _bound_as_json(self.upper[name]),
                    "lower": {
                        replacement: _bound_as_json(bounds[name])
                        for replacement, bounds in self.lower.items()
                    },
                    "signature": self.signatures[name],
                }
                for name in names
            },
            "kendall_tau_b": {
                "metrics": names,
                "images": as_json(self.image_taus),
                "captions": as_json(self.caption_taus),
            },
            "orders": self.orders,
            "item": self.item,
            "ranked": [
                {"caption": text, "scores": as_json(dict(scores)), "ranks": self.ranks(scores)}
                for text, scores in self.ranked
            ],
            **as_json(self, "tokenizer", "images", "captions", "left_out", "mean_length"),
            "resamples": RESAMPLES,
            **as_json(self, "seed", "warnings"),
        }


def leave_one_out_bounds(
    *,
    dataset: Dataset,
    metrics: Collection[str] = (),
    tokenizer: str = WG16_TOKENIZER,
    split: str = "",
    item: str = "",
    others: Collection[str] = (),
    captions: int | None = None,
    seed: int = 0,
    corpus: Path | None = None,
    progress: Callable[[float, str], object] = lambda share, message: None,
) -> Bounds:
    """Score each caption against the other captions of its image, and replacements of it against the same captions.

    Args:
        metrics: names of metrics; by default those of WG16, without METEOR if its tables are missing.
        item: name of the item whose captions are ranked; by default the first with several captions.
        others: names of other datasets, whose captions are replacements.
        captions: number of captions of each item that are replaced; None for all.
        corpus: a text file, or a folder of text files, whose sentences and words are replacements, too.

    Raises:
        EvaluationError: there are too few captions, or a metric cannot be computed.
    """
    captions_by_item = captions_by_image(dataset, split)
    item = item or next((name for name, texts in captions_by_item.items() if len(texts) > 1), "")
    if item and len(captions_by_item.get(item, ())) < 2:
        raise EvaluationError(f"Item {item!r} has no two reference captions to rank, expected one that has.")
    bounds = compute_bounds(
        list(captions_by_item.values()),
        ranked_image=list(captions_by_item).index(item) if item else 0,
        metrics=metrics or computable_metrics(WG16_METRICS),
        tokenizer=tokenizer,
        others={name: _read_other_captions(name, dataset) for name in others},
        corpus=read_corpus(corpus, tokenizer) if corpus is not None else (),
        max_replaced=captions,
        seed=seed,
        progress=progress,
    )
    return replace(bounds, item=item)


def captions_by_image(dataset: Dataset, split: str = "") -> dict[str, list[str]]:
    """Return the references by image name, of a split or of all images. Raise EvaluationError if there are none."""
    captions: defaultdict[str, list[str]] = defaultdict(list)
    rows = Caption.objects.filter(dataset=dataset, role=Caption.Role.REFERENCE, item__isnull=False)
    if split:
        rows = rows.filter(item__split=split)
    for item, text in rows.order_by("item__position", "position").values_list("item__name", "text"):
        captions[item].append(text)
    if not captions:
        where = f" in split {split!r}" if split else ""
        raise EvaluationError(f"Dataset {dataset.name!r} has no reference captions{where}.")
    return captions


def _read_other_captions(name: str, dataset: Dataset) -> Sequence[str]:
    if name == dataset.name:
        raise EvaluationError(f"Dataset {name!r} is the one that is looked at; expected the names of others.")
    return list(chain.from_iterable(captions_by_image(find_dataset(name)).values()))


def computable_metrics(metrics: Iterable[str]) -> list[str]:
    """Return the metrics that can be computed here: all but METEOR if its synonyms and paraphrases are missing."""
    computable_names = []
    for name in metrics:
        metric = metric_named(name)
        try:
            metric.check(metric.settings({}))
        except MissingTables:
            continue
        computable_names.append(name)
    return computable_names


def compute_bounds(
    captions: Sequence[Sequence[str]],
    *,
    metrics: Iterable[str] = WG16_METRICS,
    tokenizer: str = WG16_TOKENIZER,
    others: Mapping[str, Sequence[str]] | None = None,
    corpus: Sequence[str] = (),
    max_replaced: int | None = None,
    ranked_image: int = 0,
    seed: int = 0,
    progress: Callable[[float, str], object] = lambda share, message: None,
) -> Bounds:
    """Return the bounds of a dataset, and rank the captions of one image.

    Lower bounds by ``others`` or ``corpus`` are left out if these are empty.

    Args:
        captions: the captions of each image. The upper bound leaves out each caption in turn.
        others: the captions of other datasets, by name.
        corpus: sentences of a corpus.
        max_replaced: number of captions of each image that are replaced for lower bounds; None for all.
        ranked_image: index of the image whose captions are ranked.

    Raises:
        EvaluationError: no image has two captions, or a metric cannot be computed.
    """
    images_with_captions = [texts for texts in captions if texts]
    if not any(len(texts) > 1 for texts in images_with_captions):
        raise EvaluationError("No item has two captions, so no caption can be compared with the others.")
    generator = np.random.default_rng(seed)
    try:
        # Hold out each caption that has others of its image: `folds.texts`, with the positions of their images.
        folds = hold_out(images_with_captions)
        lower_folds = folds
        if max_replaced is not None:
            lower_folds = hold_out(images_with_captions, max_per_image=max_replaced, generator=generator)
        mean_words = mean_length(list(chain.from_iterable(folds.images)), tokenizer)
        replacements = _draw_replacements(lower_folds, others or {}, corpus, mean_words, tokenizer, generator)
        scores = _score_folds(folds, lower_folds, replacements, list(metrics), tokenizer, progress)
    except MetricsError as error:
        raise EvaluationError(as_sentence(error)) from error
    # Find the ranked image among those with several captions, since the others are not held out.
    ranked_position = sum(len(texts) > 1 for texts in captions[:ranked_image])
    return Bounds(
        upper={name: _estimate_bound(column, folds, seed) for name, column in scores.upper.items()},
        lower={
            replacement: {
                name: _estimate_bound(column, lower_folds, seed) for name, column in scores_by_metric.items()
            }
            for replacement, scores_by_metric in scores.lower.items()
        },
        image_taus=tau_matrix([_image_means(column, folds) for column in scores.upper.values()]),
        caption_taus=tau_matrix(list(scores.upper.values())),
        orders=rank_correlations(scores.upper, folds.texts, folds.counts),
        item="",
        ranked=_rank_captions(folds, ranked_position, scores.upper),
        signatures=scores.signatures,
        tokenizer=tokenizer,
        images=len(folds.images),
        captions=len(folds.texts),
        left_out=folds.single_caption_images,
        mean_length=mean_words,
        seed=seed,
        warnings=scores.warnings,
    )


@dataclass(frozen=True, slots=True)
class _FoldScores:
    """Scores by metric of held-out captions (``upper``), and by replacement and metric of the texts (``lower``)."""

    upper: dict[str, Floats]
    lower: dict[str, dict[str, Floats]]
    signatures: dict[str, str]
    warnings: tuple[str, ...]


def _score_folds(
    folds: HeldOutCaptions,
    lower_folds: HeldOutCaptions,
    replacements: Mapping[str, list[str]],
    metrics: Sequence[str],
    tokenizer: str,
    progress: Callable[[float, str], object],
) -> _FoldScores:
    """Score the captions of ``folds``, and the replacements of the captions of ``lower_folds``."""
    upper: dict[str, Floats] = {}
    lower: dict[str, dict[str, Floats]] = {replacement: {} for replacement in replacements}
    signatures: dict[str, str] = {}
    warnings: dict[str, None] = {}  # an ordered set
    all_are_replaced = lower_folds is folds  # then captions and replacements are scored at once
    # Compute one metric at a time, because metrics share little, and a dataset may be large.
    for index, metric in enumerate(metrics):
        progress(index / len(metrics), f"scoring by {metric}")
        upper_scores = lower_scores = score_held_out(
            folds, [metric], tokenizer, replacements=replacements if all_are_replaced else {}
        )
        upper |= upper_scores.caption_scores
        signatures |= upper_scores.signatures
        warnings |= dict.fromkeys(upper_scores.warnings)
        if replacements and not all_are_replaced:
            lower_scores = score_held_out(lower_folds, [metric], tokenizer, replacements=replacements)
        for replacement, scores_by_metric in lower_scores.replacement_scores.items():
            lower[replacement] |= scores_by_metric
    return _FoldScores(upper, lower, signatures, tuple(warnings))


def _rank_captions(
    folds: HeldOutCaptions, image: int, scores_by_metric: Mapping[str, Floats]
) -> list[tuple[str, dict[str, float]]]:
    rows = np.flatnonzero(folds.image_of == image)
    first_scores = next(iter(scores_by_metric.values()))
    rows = rows[np.argsort(-first_scores[rows], kind="stable")]
    return [
        (folds.texts[row], {name: float(scores[row]) for name, scores in scores_by_metric.items()})
        for row in rows.tolist()
    ]


def tau_matrix(columns: Sequence[Floats]) -> Floats:
    """Return the (M, M) tau-b between each two of M columns of scores; nan if a column is constant."""
    taus = np.eye(len(columns))
    for first, second in combinations(range(len(columns)), 2):
        taus[first, second] = taus[second, first] = kendall_tau_b(columns[first], columns[second])
    return taus


def _draw_replacements(
    folds: HeldOutCaptions,
    other_captions: Mapping[str, Sequence[str]],
    corpus: Sequence[str],
    mean_words: int,
    tokenizer: str,
    generator: np.random.Generator,
) -> dict[str, list[str]]:
    """Return a text for each held-out caption, by replacement. The module's docstring lists the replacements."""
    captions = list(chain.from_iterable(folds.images))
    replacements: dict[str, list[str]] = {}
    if len(folds.images) > 1:
        replacements["other-image"] = draw_from_other_images(folds, generator)
    if other_captions:
        replacements["other-dataset"] = draw_from_other_sources(
            folds, [other_captions[name] for name in sorted(other_captions)], generator
        )
    if corpus:
        replacements["corpus"] = draw_from_other_sources(folds, [corpus], generator)
    for words_name, texts in (("words", captions), ("corpus-words", corpus)):
        if texts:
            for length_name, word_count in ((GIBBERISH_WORDS, GIBBERISH_WORDS), ("mean", mean_words)):
                replacements[f"{words_name}-{length_name}"] = draw_gibberish(
                    folds, texts, word_count, generator, tokenizer
                )
    return replacements


def _image_means(scores: Floats, folds: HeldOutCaptions) -> Floats:
    sums = np.bincount(folds.image_of, weights=scores).astype(np.float64)
    return np.asarray(sums / folds.counts)


def _estimate_bound(scores: Floats, folds: HeldOutCaptions, seed: int) -> Bound:
    """Summarise the scores of the held-out captions, in the order of ``folds.texts``."""
    means, counts = _image_means(scores, folds), folds.counts
    squares = np.bincount(folds.image_of, weights=(scores - means[folds.image_of]) ** 2)
    has_several = counts > 1
    deviations = np.sqrt(squares[has_several] / (counts[has_several] - 1))
    return Bound(
        **asdict(summary_of_scores(scores, means, resamples=RESAMPLES, seed=seed)),
        image_deviation=deviation_of(means),
        image_median=float(np.median(means)),
        image_least=float(means.min()),
        image_most=float(means.max()),
        within=float(deviations.mean()) if deviations.size else math.nan,
        within_deviation=deviation_of(deviations),
        n=scores.size,
    )


def _bound_as_json(bound: Bound) -> dict[str, Any]:
    return {name: json_float(value) for name, value in asdict(bound).items()}
