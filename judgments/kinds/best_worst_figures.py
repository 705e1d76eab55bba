"""From best-worst answers to scores of captions. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from evaluation.statistics.aggregation import (
    BestWorstResult,
    best_worst_scores,
    bradley_terry_of_comparisons,
    implied_comparisons,
    split_half_reliability,
)
from evaluation.statistics.results import as_json
from judgments.kinds.base import Judged

PRIOR = (
    0.5  # wins each way that Bradley-Terry starts from: strengths stay finite where a caption won every time
)


@dataclass(frozen=True, slots=True)
class ShownCaption:
    """A caption of an image: row id and name of the image, id and text of the caption."""

    item: int
    image: str
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Answers:
    """N answers as columns.

    Attributes:
        captions: all that were shown, those of an image together.
        units: the unit of each answer.
        shown: places in ``captions`` of what each answer was about.
        best, worst: places in ``captions``.
    """

    captions: list[ShownCaption]
    units: list[str]
    shown: list[list[int]]
    best: list[int]
    worst: list[int]


def read_answers(judged: Sequence[Judged]) -> Answers:
    """Canonical answers on units with their options."""
    places: dict[tuple[int, str], int] = {}
    captions: list[ShownCaption] = []
    units = {one.unit.pk: one.unit for one in judged}
    for unit in sorted(units.values(), key=lambda unit: (unit.item.position, unit.item_id, unit.position)):
        for option in unit.content["options"]:
            if (unit.item_id, option["key"]) not in places:
                places[unit.item_id, option["key"]] = len(captions)
                captions.append(ShownCaption(unit.item_id, unit.item.name, option["key"], option["text"]))
    shown = [
        [places[one.unit.item_id, option["key"]] for option in one.unit.content["options"]] for one in judged
    ]
    return Answers(
        captions=captions,
        units=[one.unit.key for one in judged],
        shown=shown,
        best=[row[one.given["best"] - 1] for row, one in zip(shown, judged, strict=True)],
        worst=[row[one.given["worst"] - 1] for row, one in zip(shown, judged, strict=True)],
    )


def counted(answers: Answers) -> BestWorstResult:
    """Scores, one for each of ``answers.captions`` in their order."""
    return best_worst_scores(answers.shown, answers.best, answers.worst)


def figures_of(answers: Answers, *, seed: int) -> dict[str, Any]:
    """``captions``: counts, score and Bradley-Terry strength of each; ``split_half``: how reliable scores are."""
    scores = counted(answers)
    strengths = _strengths(answers)
    reliability = split_half_reliability(answers.units, answers.shown, answers.best, answers.worst, seed=seed)
    columns = (
        scores.shown.tolist(),
        scores.best.tolist(),
        scores.worst.tolist(),
        scores.score.tolist(),
        strengths,
    )
    return {
        "captions": [
            {
                "image": caption.image,
                "caption": caption.key,
                "text": caption.text,
                "shown": shown,
                "best": best,
                "worst": worst,
                "score": score,
                "strength": strength,
            }
            for caption, shown, best, worst, score, strength in zip(answers.captions, *columns, strict=True)
        ],
        "split_half": as_json(
            reliability,
            "spearman",
            "spearman_deviation",
            "pearson",
            "pearson_deviation",
            "splits",
            "answers",
            "seed",
            "reason",
            "signature",
        ),
        "strength": {"model": "bradley-terry", "prior": PRIOR, "within": "image"},
    }


def _strengths(answers: Answers) -> list[float | None]:
    """Log-strengths of each image's captions over the comparisons that its answers imply, with mean 0 an image.

    Without intervals: the comparisons that one answer implies hang together, and the model's own interval would
    take them for separate ones.
    """
    winners, losers = implied_comparisons(answers.shown, answers.best, answers.worst)
    items = [answers.captions[winner].item for winner in winners]
    found: list[float | None] = [None] * len(answers.captions)
    order = sorted(range(len(winners)), key=items.__getitem__)
    for _, group in groupby(order, key=items.__getitem__):
        rows = list(group)
        fit = bradley_terry_of_comparisons(
            [winners[row] for row in rows], [losers[row] for row in rows], np.ones(len(rows)), prior=PRIOR
        )
        for place, strength in zip(fit.items.tolist(), fit.log_strength.tolist(), strict=True):
            found[place] = _or_none(strength)
    return found


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value
