"""How well people describe images, by the metrics that machines are held against (WG16 §4 and §5).

Every caption of an image is a candidate once, and the image's other captions are its references: the score that a
person reaches, the upper bound for a machine. The lower bound is what a caption of another image gets in its place.
Pure; texts in, plain figures out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluation.statistics.significance import bootstrap_interval

METRICS = ("cider-d", "bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-l")
RESAMPLES = 1000
TOO_FEW = "No image has two captions, so none can be held against the others."


@dataclass(frozen=True, slots=True)
class UpperBound:
    """What people reach by one metric.

    Attributes:
        micro: mean over all captions.
        macro: mean over images of the mean over their captions; ``low`` and ``high`` are its bootstrap interval over
            images (nan with one image).
        deviation: standard deviation over captions (n - 1).
        median, least, most: over captions.
        floor: the same as ``macro`` for captions of other images in their place (WG16 §5, random intra-dataset), with
            its interval ``floor_low`` and ``floor_high``; nan with one image.
        signature: of the metric.
    """

    metric: str
    micro: float
    macro: float
    low: float
    high: float
    deviation: float
    median: float
    least: float
    most: float
    floor: float
    floor_low: float
    floor_high: float
    signature: str

    def as_json(self) -> dict[str, Any]:
        """The figures by name; an undefined one is null."""
        numbers = (
            "micro", "macro", "low", "high", "deviation", "median", "least", "most", "floor", "floor_low", "floor_high",
        )  # fmt: skip
        return {**{name: _number(getattr(self, name)) for name in numbers}, "signature": self.signature}


@dataclass(frozen=True, slots=True)
class LeaveOneOut:
    """``bounds`` by metric, empty where no image has two captions; ``left_out`` images have only one.

    ``warnings`` say in words where figures mean little.
    """

    bounds: tuple[UpperBound, ...]
    images: int
    captions: int
    left_out: int
    resamples: int
    seed: int
    warnings: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """For files: {"metrics": {name: figures}, "images", "captions", ...}."""
        return {
            "metrics": {bound.metric: bound.as_json() for bound in self.bounds},
            "images": self.images,
            "captions": self.captions,
            "left_out": self.left_out,
            "resamples": self.resamples,
            "seed": self.seed,
            "reason": "" if self.bounds else TOO_FEW,
            "warnings": list(self.warnings),
        }


def leave_one_out(
    captions: Sequence[Sequence[str]],
    *,
    metrics: Iterable[str] = METRICS,
    tokenizer: str = "ptb",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> LeaveOneOut:
    """Each caption of each image against the image's others (WG16 §4), and a random caption of another image against
    the same others (§5), drawn with ``seed``.

    Sentence scores throughout, so that the mean of BLEU is a mean of sentences' BLEU. CIDEr-D counts documents over
    the images with all of their captions, the one that is left out included: an n-gram that it alone holds has one
    document, not none.

    Args:
        captions: the captions of each image.
        metrics: names as ``evaluation.metrics.score`` takes them.

    Raises:
        UnknownName: no such metric or tokenizer.
    """
    several = [list(texts) for texts in captions if len(texts) > 1]
    left_out = sum(len(texts) == 1 for texts in captions)
    if not several:
        return LeaveOneOut((), 0, 0, left_out, resamples, seed)
    candidates = [text for texts in several for text in texts]
    references = [texts[:index] + texts[index + 1 :] for texts in several for index in range(len(texts))]
    sizes = np.array([len(texts) for texts in several])
    from evaluation.metrics import score  # where it is needed: web processes start without the compiler

    found = score(candidates, references, metrics, tokenizer, document_corpus=several)
    wrong: dict[str, npt.NDArray[np.float64]] = {}
    if len(several) > 1:
        others, against = _of_other_images(several, seed)
        made = score(others, against, metrics, tokenizer, document_corpus=several)
        wrong = {name: one.images for name, one in made.scores.items()}
    bounds = tuple(
        _upper_bound(name, one.images, wrong.get(name), sizes, one.signature, resamples, seed)
        for name, one in found.scores.items()
    )
    return LeaveOneOut(
        bounds, len(several), len(candidates), left_out, resamples, seed, warnings=found.warnings
    )


def _of_other_images(several: Sequence[Sequence[str]], seed: int) -> tuple[list[str], list[list[str]]]:
    """For every caption that is left out, one of another image, and the image's others that it is held against.

    Captions are taken by the order of their texts within an image, so that the order in which people wrote them
    changes nothing.
    """
    ordered = [sorted(texts) for texts in several]
    pool = [text for texts in ordered for text in texts]
    generator = np.random.default_rng(seed)
    others: list[str] = []
    against: list[list[str]] = []
    start = 0
    for texts in ordered:
        drawn = generator.integers(0, len(pool) - len(texts), size=len(texts)).tolist()
        others += [pool[place if place < start else place + len(texts)] for place in drawn]
        against += [texts[:index] + texts[index + 1 :] for index in range(len(texts))]
        start += len(texts)
    return others, against


def _upper_bound(
    metric: str,
    scores: npt.NDArray[np.float64],
    wrong: npt.NDArray[np.float64] | None,
    sizes: npt.NDArray[np.int64],
    signature: str,
    resamples: int,
    seed: int,
) -> UpperBound:
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    means = np.add.reduceat(scores, starts) / sizes
    interval = bootstrap_interval(means, resamples=resamples, seed=seed)
    floors = np.full(1, math.nan) if wrong is None else np.add.reduceat(wrong, starts) / sizes
    floor = None if wrong is None else bootstrap_interval(floors, resamples=resamples, seed=seed)
    return UpperBound(
        metric=metric,
        micro=float(scores.mean()),
        macro=float(means.mean()),
        low=interval.low,
        high=interval.high,
        deviation=float(scores.std(ddof=1)),
        median=float(np.median(scores)),
        least=float(scores.min()),
        most=float(scores.max()),
        floor=float(floors.mean()),
        floor_low=math.nan if floor is None else floor.low,
        floor_high=math.nan if floor is None else floor.high,
        signature=signature,
    )


def _number(value: float) -> float | None:
    """For JSON, which has no nan."""
    return None if math.isnan(value) else value
