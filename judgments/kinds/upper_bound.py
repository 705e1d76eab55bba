"""Score captions by metrics against the other captions of their image (WG16 §4 and §5).

The mean of these scores is the human upper bound of a metric. The mean score of captions of other images is the lower
bound, or floor. WG16 is Wang and Gaizauskas 2016, V15 is Vedantam et al. 2015.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from django.utils.translation import gettext_noop

from judgments.kinds.caption_rules import count_words
from judgments.kinds.consensus import nan_as_none
from quorum.statistics.significance import ScoreSummary, bootstrap_interval, summary_of_scores

METRICS = ("cider-d", "bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-l")
RESAMPLES = 1000

# the name of the row, among rank correlations, that has the correlations with the lengths of texts
WORD_COUNT_ROW = gettext_noop("number of words")
FLOOR = "other-image"  # the name of the lower bound in results
NO_TWO_CAPTIONS = "No item has two captions, so none can be compared with the others."


@dataclass(frozen=True, slots=True)
class UpperBound(ScoreSummary):
    """Human performance by one metric.

    Attributes:
        floor, floor_low, floor_high: the mean score of captions of other images (WG16 §5), and its interval.
    """

    metric: str
    floor: float
    floor_low: float
    floor_high: float
    signature: str

    def as_json(self) -> dict[str, Any]:
        fields = asdict(self)
        del fields["metric"]
        return {
            name: nan_as_none(value) if isinstance(value, float) else value for name, value in fields.items()
        }


@dataclass(frozen=True, slots=True)
class LeaveOneOutScores:
    """The upper bounds of all metrics.

    Attributes:
        images: the number of images with at least two captions.
        captions: the number of scored captions.
        left_out: the number of images that have a single caption.
    """

    bounds: tuple[UpperBound, ...]
    images: int
    captions: int
    left_out: int
    seed: int
    warnings: tuple[str, ...] = ()
    rank_correlations: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {
            "metrics": {bound.metric: bound.as_json() for bound in self.bounds},
            "images": self.images,
            "captions": self.captions,
            "left_out": self.left_out,
            "resamples": RESAMPLES,
            "seed": self.seed,
            "reason": "" if self.bounds else NO_TWO_CAPTIONS,
            "warnings": list(self.warnings),
            "orders": dict(self.rank_correlations),
        }


def rank_correlations(scores: Mapping[str, Any], texts: Sequence[str], sizes: Any) -> dict[str, Any]:
    """Return the correlations of metrics and text length within items, by Spearman's rho (V15 appendices II and IV).

    Args:
        scores: (n,) scores of the texts, item by item, by the name of the metric.
        texts: (n,) texts in the same order.
        sizes: (items,) number of texts of each item.

    Returns:
        ``names``: the names of the rows of ``rho``.
        ``rho``: (metrics + 1, metrics) means over items, with intervals over items. The last row has the correlation
            of each metric with the number of words.
    """
    from quorum.statistics.meta.grouped import mean_within

    starts = np.concatenate(([0], np.cumsum(sizes)))
    columns = {**scores, WORD_COUNT_ROW: np.array([float(count_words(text)) for text in texts])}
    rows = [
        [mean_within(row, score, starts).as_json() for score in scores.values()] for row in columns.values()
    ]
    return {"names": list(columns), "rho": rows}


def leave_one_out_scores(
    captions: Sequence[Sequence[str]], *, metrics: Iterable[str] = METRICS, seed: int = 0
) -> LeaveOneOutScores:
    """Score each caption against the other captions of its image (WG16 §4).

    As a floor, score random captions of other images against the same captions (§5). BLEU is a mean over sentences.
    CIDEr-D computes document frequencies from all captions, including the scored caption.

    Args:
        captions: the captions of each image.
    """
    # imported lazily, so that web processes start without the compiler
    from quorum.metrics.held_out import draw_from_other_images, hold_out, score_held_out

    groups = [texts for texts in captions if len(texts) > 1]
    if not groups:
        # each image has at most one caption, so the captions are as many as the images that are left out
        return LeaveOneOutScores(bounds=(), images=0, captions=0, left_out=sum(map(len, captions)), seed=seed)
    held_out = hold_out([texts for texts in captions if texts])  # counts single captions, but scores none
    replacements = {}
    if len(groups) > 1:
        replacements[FLOOR] = draw_from_other_images(held_out, np.random.default_rng(seed))
    result = score_held_out(held_out, metrics, replacements=replacements)
    floors, signatures = result.replacement_scores.get(FLOOR, {}), result.signatures
    sizes = held_out.counts
    bounds = tuple(
        _upper_bound(scores, floors.get(name), sizes, metric=name, signature=signatures[name], seed=seed)
        for name, scores in result.caption_scores.items()
    )
    return LeaveOneOutScores(
        bounds=bounds,
        images=len(groups),
        captions=len(held_out.texts),
        left_out=held_out.single_caption_images,
        seed=seed,
        warnings=result.warnings,
        rank_correlations=rank_correlations(result.caption_scores, held_out.texts, sizes),
    )


def _upper_bound(
    scores: npt.NDArray[np.float64],
    floor_scores: npt.NDArray[np.float64] | None,
    sizes: npt.NDArray[np.int64],
    *,
    metric: str,
    signature: str,
    seed: int,
) -> UpperBound:
    """Summarise a metric's scores of captions.

    Args:
        scores: (n,) scores of the captions, image by image.
        floor_scores: (n,) scores of captions of other images, in their place; None if there is a single image.
        sizes: (images,) number of captions of each image.
    """
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    means = np.add.reduceat(scores, starts) / sizes  # of each image
    floors, interval = np.full(1, math.nan), None
    if floor_scores is not None:
        floors = np.add.reduceat(floor_scores, starts) / sizes
        interval = bootstrap_interval(floors, resamples=RESAMPLES, seed=seed)
    return UpperBound(
        **asdict(summary_of_scores(scores, means, resamples=RESAMPLES, seed=seed)),
        metric=metric,
        floor=float(floors.mean()),
        floor_low=math.nan if interval is None else interval.low,
        floor_high=math.nan if interval is None else interval.high,
        signature=signature,
    )
