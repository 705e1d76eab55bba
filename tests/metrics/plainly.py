"""BLEU, ROUGE-L and CIDEr written down plainly from their definitions, one caption at a time, for comparison."""

import math
from collections import Counter
from collections.abc import Sequence

Grams = Counter[tuple[str, ...]]


def grams(words: Sequence[str], order: int) -> Grams:
    return Counter(tuple(words[i : i + order]) for i in range(len(words) - order + 1))


def bleu(candidate: str, references: Sequence[str], n: int) -> float:
    words, others = candidate.split(), [reference.split() for reference in references]
    product = 1.0
    for order in range(1, n + 1):
        ours = grams(words, order)
        most = Counter[tuple[str, ...]]()
        for other in others:
            most |= grams(other, order)
        product *= (sum((ours & most).values()) + 1e-15) / (max(len(words) - order + 1, 0) + 1e-9)
    closest = min((abs(len(other) - len(words)), len(other)) for other in others)[1]
    ratio = (len(words) + 1e-15) / (closest + 1e-9)
    return product ** (1 / n) * (math.exp(1 - 1 / ratio) if ratio < 1 else 1.0)


def rouge_l(candidate: str, references: Sequence[str]) -> float:
    words = candidate.split()
    precision = recall = 0.0
    for reference in references:
        other = reference.split()
        row = [0] * (len(other) + 1)
        for word in words:
            previous = row[:]
            for j, theirs in enumerate(other):
                row[j + 1] = previous[j] + 1 if word == theirs else max(previous[j + 1], row[j])
        precision = max(precision, row[-1] / max(len(words), 1))
        recall = max(recall, row[-1] / max(len(other), 1))
    bottom = recall + 1.44 * precision
    return 2.44 * precision * recall / bottom if bottom else 0.0


def _vector(
    words: Sequence[str], order: int, idf: dict[tuple[str, ...], float], unseen: float
) -> dict[tuple[str, ...], float]:
    return {gram: count * idf.get(gram, unseen) for gram, count in grams(words, order).items()}


def cider(
    candidate: str,
    references: Sequence[str],
    documents: Sequence[Sequence[str]],
    *,
    logn: bool = False,
    clipped: bool = False,
) -> float:
    """Equations 1-3, or with `clipped` equations 4-5 as the MS COCO evaluation reads them."""
    total = 0.0
    words = candidate.split()
    for order in range(1, 5):
        df: Grams = Counter()
        for document in documents:
            df.update(set().union(*(grams(text.split(), order) for text in document)))
        idf = {gram: math.log(len(documents) / count) for gram, count in df.items()}
        unseen = math.log(len(documents)) if logn or clipped else 0.0
        ours = _vector(words, order, idf, unseen)
        for reference in references:
            other = reference.split()
            theirs = _vector(other, order, idf, unseen)
            lengths = math.hypot(*ours.values()) * math.hypot(*theirs.values())
            if not lengths:
                continue
            if clipped:
                product = sum(
                    min(ours[gram], theirs[gram]) * theirs[gram] for gram in ours.keys() & theirs.keys()
                )
                gap = max(len(words) - 1, 0) - max(len(other) - 1, 0)
                product *= 10 * math.exp(-(gap**2) / 72)
            else:
                product = sum(ours[gram] * theirs[gram] for gram in ours.keys() & theirs.keys())
            total += product / lengths / len(references)
    return total / 4
