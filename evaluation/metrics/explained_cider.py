"""CIDEr and CIDEr-D taken apart: a sum over orders, references and n-grams (V15 eq. 1-5)."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import exp, log, sqrt

from evaluation.metrics.cider import order_weights
from evaluation.metrics.documents import Documents
from evaluation.metrics.explanation import (
    Beside,
    Explanation,
    Factor,
    Gram,
    Part,
    grams_of,
    holders,
    tokens_of,
)
from evaluation.metrics.registry import CIDER_VARIANTS, Metric, Settings


def explain_cider(
    metric: Metric, settings: Settings, ours: list[str], theirs: list[list[str]], documents: Documents
) -> Explanation:
    """Each n-gram's product of weights, over the lengths of both vectors, summed over the references."""
    clipped = metric.name == "cider-d"
    variant = replace(CIDER_VARIANTS[metric.name], n=int(settings["n"]))
    scale = float(settings["scale"]) if clipped else 1.0
    sigma = float(settings["sigma"]) if clipped else 0.0
    counted = [[grams_of(text, order) for text in (ours, *theirs)] for order in range(1, variant.n + 1)]
    frequencies = documents.frequencies(gram for texts in counted for one in texts for gram in one)

    def weight(gram: Gram) -> float:
        held = frequencies[gram]
        if not held and variant.unseen == "dropped":
            return 0.0
        return log(documents.size) - log(max(held, 1)) if variant.idf else 1.0

    gaussian = [1.0] * len(theirs)
    if clipped:
        gaussian = [exp(-((_bigrams(ours) - _bigrams(one)) ** 2) / (2 * sigma * sigma)) for one in theirs]
    parts: list[Part] = []
    factors: list[Factor] = []
    beside = [0.0] * len(theirs)
    shares = order_weights(variant.n, variant.weights).tolist()
    for order, (share, (mine, *others)) in enumerate(zip(shares, counted, strict=True), start=1):
        norm = _norm(mine, weight)
        adds: dict[Gram, list[float]] = {gram: [0.0] * len(theirs) for gram in mine}
        for number, other in enumerate(others):
            below = norm * _norm(other, weight)
            for gram in mine.keys() & other.keys() if below else ():
                value, their_value = mine[gram] * weight(gram), other[gram] * weight(gram)
                if clipped:
                    value = min(value, their_value)
                adds[gram][number] = scale * share * gaussian[number] * value * their_value / below
        counts_for = [1 / len(theirs)] * len(theirs)
        if variant.over == "max":
            sums = [sum(one[number] for one in adds.values()) for number in range(len(theirs))]
            best = sums.index(max(sums))
            counts_for = [float(number == best) for number in range(len(theirs))]
        total = 0.0
        for gram, count in mine.items():
            by_reference = [add * part for add, part in zip(adds[gram], counts_for, strict=True)]
            beside = [sum(pair) for pair in zip(beside, by_reference, strict=True)]
            total += sum(by_reference)
            parts.append(
                Part(
                    " ".join(gram),
                    order,
                    count,
                    sum(min(count, other[gram]) for other in others) / len(others),
                    holders(gram, others),
                    sum(by_reference),
                    idf=weight(gram),
                    note="" if frequencies[gram] else _unseen(variant.unseen),
                )
            )
        factors.append(
            Factor(
                f"order {order}", total, f"what n-grams of {order} {'word' if order == 1 else 'words'} add"
            )
        )
    if clipped:
        mean = sum(gaussian) / len(gaussian)
        said = "mean factor for captions longer or shorter than a reference; 1 where as long"
        factors.append(Factor("length factor", mean, said))
    warnings: tuple[str, ...] = ()
    if documents.size == 1 and variant.idf:
        warnings = ("the document corpus holds one document, so that every n-gram in it weighs 0",)
    how = (
        "the reference of the greatest sum counts, order by order"
        if variant.over == "max"
        else "the mean over references"
    )
    return Explanation(
        metric=metric.name,
        tokenizer=documents.view.tokenizer.name,
        settings=dict(settings),
        score=sum(part.contribution for part in parts),
        parts=tuple(parts),
        factors=tuple(factors),
        references=tuple(
            Beside(" ".join(one), len(one), add) for one, add in zip(theirs, beside, strict=True)
        ),
        tokens=tokens_of(ours, parts),
        words=f"Rare n-grams that the references share weigh most; {how}. Document frequencies are counted over "
        f"{documents.size:,} images.",
        warnings=warnings,
    )


def _norm(grams: Counter[Gram], weight: Callable[[Gram], float]) -> float:
    """The length of a text's vector."""
    return sqrt(sum((count * weight(gram)) ** 2 for gram, count in grams.items()))


def _unseen(what: str) -> str:
    return "in no document: dropped" if what == "dropped" else "in no document: weighs the most"


def _bigrams(words: Sequence[str]) -> int:
    return max(len(words) - 1, 0)
