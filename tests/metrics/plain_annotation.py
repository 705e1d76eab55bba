"""Content selection and keywords written down plainly from their definitions, one image at a time, for comparison."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from statistics import fmean, pstdev

Sets = Sequence[set[int]]
Figures = tuple[float, float, float]
UNDEFINED = (math.nan, math.nan, math.nan)


def harmonic(precision: float, recall: float) -> float:
    total = precision + recall
    return 2 * precision * recall / total if total else total


def selection(selected: set[int], descriptions: Sets) -> Figures:
    """WG15 equations 1 to 3."""
    naming = [boxes for boxes in descriptions if boxes]
    precision = recall = math.nan
    if selected and descriptions:
        parts = [Fraction(len(boxes & selected), len(selected)) for boxes in descriptions]
        precision = float(sum(parts) / len(descriptions))
    if naming:
        recall = float(sum(Fraction(len(boxes & selected), len(boxes)) for boxes in naming) / len(naming))
    return precision, recall, harmonic(precision, recall)


def upper_bound(descriptions: Sets) -> Figures:
    """The mean of every description against the others, of those where all three figures are defined."""
    held_out = [
        selection(boxes, [*descriptions[:place], *descriptions[place + 1 :]])
        for place, boxes in enumerate(descriptions)
    ]
    defined = [figures for figures in held_out if not any(map(math.isnan, figures))]
    if not defined:
        return UNDEFINED
    precision, recall, f1 = (fmean(column) for column in zip(*defined, strict=True))
    return precision, recall, f1


def mean_and_sd(values: Sequence[float]) -> tuple[float, float]:
    defined = [value for value in values if not math.isnan(value)]
    return (fmean(defined), pstdev(defined)) if defined else (math.nan, math.nan)


def walk(
    labels: Sequence[str], first: Mapping[str, int], following: Mapping[tuple[str, str], int]
) -> list[int]:
    """The greedy walk of the bigram prior, the lower box number first among equals."""
    chosen: list[int] = []
    while True:
        left = [box for box in range(len(labels)) if box not in chosen]
        weights = {
            box: following.get((labels[chosen[-1]], labels[box]), 0) if chosen else first.get(labels[box], 0)
            for box in left
        }
        best = max(left, key=lambda box: (weights[box], -box), default=None)
        if best is None or not weights[best]:
            return chosen
        chosen.append(best)


def credit(guesses: Sequence[str], tags: Mapping[str, int]) -> float:
    """sum over the guesses of |a in R_j| / |R_j|."""
    everything = list(Counter(tags).elements())
    if not everything:
        return math.nan
    return float(sum(Fraction(everything.count(guess), len(everything)) for guess in guesses))


def mode(tags: Mapping[str, int]) -> str | None:
    ranked = Counter(tags).most_common(2)
    return ranked[0][0] if len(ranked) == 1 or (ranked and ranked[0][1] > ranked[1][1]) else None


def divergence(sentence: Sequence[str], document: Sequence[str], smoothing: float) -> float:
    """KL(P_D || P_S) with P_S smoothed over the words of the document."""
    words = set(document)
    ours, theirs = Counter(sentence), Counter(document)
    total = 0.0
    for word in words:
        p = theirs[word] / len(document)
        q = (ours[word] + smoothing) / (len(sentence) + smoothing * len(words))
        total += p * math.log(p / q)
    return total
