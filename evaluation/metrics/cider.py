"""CIDEr and CIDEr-D with their variants (V15 eq. 1-5 and App. VIII)."""

from dataclasses import dataclass

import numpy as np

from evaluation.metrics.comparison import Comparison, Floats, View
from evaluation.metrics.corpus import Entries


@dataclass(frozen=True)
class Weighted:
    """The tf-idf vectors of one n-gram order.

    `value` (entries,) float64: the weight of each entry; `norm` (members,) float64: the vectors' lengths.
    """

    entries: Entries
    value: Floats
    norm: Floats


def _idf(comparison: Comparison, view: View, order: int, *, unseen: str, idf: bool) -> Floats:
    """(distinct n-grams,) float64: log(documents / document frequency), or 1 without `idf`.

    An n-gram of no document: `dropped` gives it no weight, as equation 1 leaves it undefined; `logn` gives
    it log(documents), as the code of the MS COCO evaluation does.
    """
    frequencies = comparison.document_frequencies(view, order)
    seen = frequencies > 0
    weight = np.ones(frequencies.size)
    if idf:
        weight = np.log(comparison.documents) - np.log(np.maximum(frequencies, 1))
    return np.where(seen, weight, 0.0) if unseen == "dropped" else weight


def _weighted(comparison: Comparison, view: View, order: int, *, unseen: str, idf: bool) -> Weighted:
    entries = comparison.entries(view, order)
    weight = _idf(comparison, view, order, unseen=unseen, idf=idf)
    value = entries.count * weight[entries.gram]
    members = comparison.candidate_of.size
    norm = np.sqrt(np.bincount(entries.member, weights=value * value, minlength=members))
    return Weighted(entries, value, norm)


def _unit(weighted: Weighted) -> Floats:
    """(entries,) float64: the vectors divided by their lengths; a vector of length 0 stays 0."""
    norm = weighted.norm[weighted.entries.member]
    return np.divide(weighted.value, norm, out=np.zeros_like(weighted.value), where=norm > 0)


def _mean_of_cosines(comparison: Comparison, weighted: Weighted) -> Floats:
    """(n,) float64: equation 2. The cosine is linear in the reference, so references are summed first."""
    entries = weighted.entries
    unit = _unit(weighted)
    candidate = comparison.candidate_of[entries.member]
    is_candidate = candidate >= 0
    if unit.size == 0:
        return np.zeros(comparison.size)
    consensus = np.add.reduceat(np.where(is_candidate, 0.0, unit), entries.segments)
    shared = unit[is_candidate] * consensus[entries.segment[is_candidate]]
    sums = np.bincount(candidate[is_candidate], weights=shared, minlength=comparison.size)
    return np.asarray(sums / comparison.reference_counts)


def _pair_sums(comparison: Comparison, weighted: Weighted, *, clipped: bool) -> Floats:
    """(pairs,) float64: for every candidate and each of its references in turn, their product over lengths.

    With `clipped` a candidate's weight counts only up to the reference's (the minimum of equation 4).
    """
    member = weighted.entries.member
    norm = np.where(weighted.norm > 0, weighted.norm, 1.0)
    sums = np.zeros(comparison.pair_references.size)
    for ours, theirs, pair in comparison.shared(weighted.entries):
        mine, other = weighted.value[ours], weighted.value[theirs]
        product = (np.minimum(mine, other) if clipped else mine) * other
        product /= norm[member[ours]] * norm[member[theirs]]
        sums += np.bincount(pair, weights=product, minlength=sums.size)
    return sums


def _max_of_cosines(comparison: Comparison, weighted: Weighted) -> Floats:
    """(n,) float64: App. VIII's variant of equation 2, the best reference instead of the mean."""
    sums = _pair_sums(comparison, weighted, clipped=False)
    return np.maximum.reduceat(sums, comparison.pair_starts)


@dataclass(frozen=True)
class Variant:
    """Which CIDEr: the highest n-gram order and the ablations of App. VIII.

    `over` is `mean` or `max` over the references. `weights` is `uniform` (1/n) or `exp` (proportional to e^k
    for order k). `unseen` says what becomes of n-grams that no document holds, `dropped` or `logn`.
    """

    n: int = 4
    over: str = "mean"
    weights: str = "uniform"
    unseen: str = "dropped"
    idf: bool = True


def cider_scores(comparison: Comparison, view: View, variant: Variant) -> Floats:
    """(candidates,) float64: CIDEr (V15 eq. 1-3), between 0 and 1."""
    combine = {"mean": _mean_of_cosines, "max": _max_of_cosines}[variant.over]
    total = np.zeros(comparison.size)
    for order, share in enumerate(order_weights(variant.n, variant.weights), start=1):
        weighted = _weighted(comparison, view, order, unseen=variant.unseen, idf=variant.idf)
        total += share * combine(comparison, weighted)
    return total


def order_weights(n: int, weights: str) -> Floats:
    """(n,) float64, sum 1: how much each n-gram order counts."""
    raw = np.exp(np.arange(n, dtype=np.float64)) if weights == "exp" else np.ones(n)
    return np.asarray(raw / raw.sum())


def cider_d_scores(comparison: Comparison, view: View, *, n: int = 4, sigma: float = 6.0) -> Floats:
    """(candidates,) float64: CIDEr-D (V15 eq. 4-5), between 0 and 10, as the MS COCO evaluation computes it.

    Term frequencies are raw counts, n-grams of no document weigh log(documents), and the length of a
    caption is the number of its bigrams.
    """
    counts = comparison.reference_counts
    bigrams = np.maximum(comparison.words(view).lengths - 1, 0)
    difference = np.repeat(bigrams[comparison.candidates], counts) - bigrams[comparison.pair_references]
    likeness = np.exp(-(difference**2) / (2 * sigma**2))
    total = np.zeros(likeness.size)
    for order in range(1, n + 1):
        weighted = _weighted(comparison, view, order, unseen="logn", idf=True)
        total += _pair_sums(comparison, weighted, clipped=True)
    sums = np.add.reduceat(total * likeness, comparison.pair_starts)
    return np.asarray(10 * sums / (n * counts))
