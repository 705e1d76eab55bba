"""Results of keywords and links beyond consensus and alpha."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np

from evaluation.metrics.content import content_selection, content_upper_bound
from evaluation.statistics.significance import bootstrap_interval
from judgments.kinds.base import or_none

RESAMPLES = 1000
DRAWS = 20
NO_TWO = "No unit has two judgments, so nobody can be held against anybody."


def f1(first: Collection[str], second: Collection[str]) -> float:
    """Return 2 |A & B| / (|A| + |B|); 1 for two empty sets."""
    sizes = len(first) + len(second)
    return 2 * len(set(first) & set(second)) / sizes if sizes else 1.0


def pairwise_f1(answers: Mapping[int, Sequence[Collection[str]]], *, seed: int) -> dict[str, Any]:
    """Return the mean F1 over pairs of answers of a unit, then over units, with a bootstrap over units.

    ``floor`` compares each unit's answers with the next unit's.

    Args:
        answers: unit -> the keywords of each worker.
    """
    means = []
    pairs = 0
    for given in answers.values():
        values = [f1(one, other) for one, other in combinations(given, 2)]
        pairs += len(values)
        if values:
            means.append(sum(values) / len(values))
    found = bootstrap_interval(means, resamples=RESAMPLES, seed=seed)
    return {
        "value": or_none(found.value),
        "low": or_none(found.low),
        "high": or_none(found.high),
        "floor": _between_units(answers),
        "n": len(means),
        "pairs_of_answers": pairs,
        "confidence": found.confidence,
        "resamples": RESAMPLES,
        "seed": seed,
        "reason": "" if means else NO_TWO,
    }


def _between_units(answers: Mapping[int, Sequence[Collection[str]]]) -> float | None:
    if len(answers) < 2:
        return None
    units = sorted(answers)
    means = [
        float(np.mean([f1(*both) for both in product(answers[one], answers[other])]))
        for one, other in zip(units, units[1:] + units[:1], strict=True)
    ]
    return float(np.mean(means))


def content_figures(
    named: Mapping[str, Sequence[Collection[int]]], boxes: Mapping[str, int], *, seed: int
) -> dict[str, Any]:
    """Compare each description's boxes with those of its image's others (WG15 §5).

    ``boxes_named`` is the mean per description (WG15: 2.89). ``floor`` draws as many random boxes (WG15 §4).

    Args:
        named: image -> the box numbers of each description.
        boxes: image -> its number of boxes.
    """
    bound = content_upper_bound(list(named.values()))
    descriptions = [own for of_image in named.values() for own in of_image]
    floor = _at_random(named, boxes, seed)
    return {
        "upper_bound": {
            name: {
                "value": or_none(figure.mean),
                "deviation": or_none(figure.sd),
                "n": bound.images - figure.undefined,
                "floor": floor[name],
            }
            for name, figure in (("precision", bound.precision), ("recall", bound.recall), ("f1", bound.f1))
        },
        "boxes_named": sum(map(len, descriptions)) / len(descriptions) if descriptions else None,
        "descriptions": len(descriptions),
        "images": bound.images,
        "reason": bound.reason,
        "signature": str(bound.signature),
    }


def _at_random(
    named: Mapping[str, Sequence[Collection[int]]], boxes: Mapping[str, int], seed: int
) -> dict[str, float | None]:
    """Average over the images with two descriptions that name a box."""
    generator = np.random.default_rng(seed)
    selections: list[list[int]] = []
    gold: list[Sequence[Collection[int]]] = []
    image_of: list[int] = []
    held = [name for name, own in named.items() if sum(map(bool, own)) > 1]  # those of the upper bound
    for image, name in enumerate(sorted(held)):
        for size in sorted(len(own) for own in named[name] if own):
            for _ in range(DRAWS):
                selections.append(generator.permutation(boxes[name])[:size].tolist())
                gold.append(named[name])
                image_of.append(image)
    if not selections:
        return {"precision": None, "recall": None, "f1": None}
    found = content_selection(selections, gold)
    groups = np.array(image_of)
    means: dict[str, float | None] = {}
    for name, figure in (("precision", found.precision), ("recall", found.recall), ("f1", found.f1)):
        own = np.bincount(groups, weights=figure.images) / np.maximum(np.bincount(groups), 1)
        means[name] = float(own[np.unique(groups)].mean())
    return means
