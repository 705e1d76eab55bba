"""CIDEr and CIDEr-D with their variants (Vedantam et al. 2015, V15, eq. 1-5 and App. VIII).

`text.ngrams` numbers the n-grams and counts documents. Kernels then compare the tf-idf vectors of a candidate and of
its references, for one order of n-grams after the other. A group is a list of references with their candidates.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from quorum.metrics.comparison import (
    ReferenceComparison,
    TextGroups,
    Tokenization,
    select_groups,
    split_groups,
)
from quorum.metrics.text.ngrams import SINGLE_OCCURRENCE, Documents, count_ngrams
from quorum.numeric.arrays import Floats, Ints, Numbers
from quorum.numeric.compiling import compiled
from quorum.numeric.packing import declare
from quorum.numeric.parallel import map_parts

MAX_INSERTION_SORT = 24  # n-grams up to which insertion sorts faster than numpy


@dataclass(frozen=True)
class CiderVariant:
    """A variant of CIDEr (V15 App. VIII).

    Attributes:
        n: the highest order of n-grams.
        over: `mean` or `max` of the references.
        order_weights: `uniform` (1/n), or `exp` (proportional to e^k for order k).
        unseen: n-grams that occur in no document are `dropped`, or have the idf log N (`logn`).
        uses_idf: whether rare n-grams weigh more than common ones.
        clipped: whether to compute CIDEr-D, which clips the candidate's weights and multiplies by a Gaussian of the
            difference in length.
        sigma: the standard deviation of this Gaussian.
        scale: the highest score.
    """

    n: int = 4
    over: str = "mean"
    order_weights: str = "uniform"
    unseen: str = "dropped"
    uses_idf: bool = True
    clipped: bool = False
    sigma: float = 6.0
    scale: float = 1.0


@declare  # for `map_parts`, which may send it to other processes
class WeightedNgrams(NamedTuple):
    """The n-grams of one order in all texts, and their weights.

    order, numbers, frequencies: as in `CountedNgrams`. idf_weights: (documents + 1,) idf weight of an n-gram by the
    number of documents that contain it.
    """

    order: int
    numbers: Numbers
    frequencies: Numbers
    idf_weights: Floats


class TfIdfVectors(NamedTuple):
    """The sparse tf-idf vectors of several texts.

    Vector v has the n-grams `grams[bounds[v]:bounds[v + 1]]`, ascending, with their tf-idf weights in `values`. N-grams
    that occur only once in all texts (SINGLE_OCCURRENCE) match nothing; only the Euclidean length `norms[v]` has them.
    """

    grams: Numbers
    values: Floats
    bounds: Ints
    norms: Floats


@declare
class SimilarityRule(NamedTuple):
    """How texts are compared.

    clipped, sigma: as in `CiderVariant`. takes_best: whether the score is the maximum over the references instead of
    the mean.
    """

    clipped: bool
    sigma: float
    takes_best: bool


def cider_scores(
    comparison: ReferenceComparison, tokenization: Tokenization, variant: CiderVariant
) -> Floats:
    """Return (n,) scores from 0 to `variant.scale`. Term frequencies are raw counts, as in the MS COCO evaluation."""
    groups = comparison.text_groups(tokenization)
    documents = Documents(comparison.group_starts, comparison.document_counts)
    rule = SimilarityRule(variant.clipped, variant.sigma, variant.over == "max")
    idf_weights = _idf_weights(comparison.document_count, variant)
    ngrams_by_order = count_ngrams(comparison.tokens(tokenization), documents, variant.n)
    scores = np.zeros(comparison.candidate_count)
    for counted_ngrams, order_weight in zip(ngrams_by_order, _order_weights(variant), strict=True):
        ngrams = WeightedNgrams(*counted_ngrams, idf_weights)
        shared = groups, ngrams, comparison.document_counts, rule, order_weight
        for candidates, values in map_parts(_scores_of_groups, shared, split_groups(groups), threads=True):
            scores[candidates] += values
    return variant.scale * scores


@declare
def _scores_of_groups(shared: tuple[Any, ...], group_range: tuple[int, int]) -> tuple[Ints, Floats]:
    """Return the candidates of a range of groups, and what an order of n-grams contributes to their scores."""
    groups, ngrams, document_counts, rule, order_weight = shared
    part = select_groups(groups, *group_range)
    scores = _order_scores(part, ngrams, document_counts[slice(*group_range)], rule, order_weight)
    return part.candidates, scores


def _order_weights(variant: CiderVariant) -> list[float]:
    """Return the weights of the orders 1 to n, which sum to 1."""
    is_exponential = variant.order_weights == "exp"
    weights = np.exp(np.arange(variant.n, dtype=np.float64)) if is_exponential else np.ones(variant.n)
    return [float(weight) for weight in weights / weights.sum()]


def _idf_weights(document_count: int, variant: CiderVariant) -> Floats:
    """Return the (documents + 1,) weights of n-grams by the number of documents that contain them."""
    frequencies = np.arange(document_count + 1)
    weights = np.ones(document_count + 1)
    if variant.uses_idf:
        weights = np.log(document_count) - np.log(np.maximum(frequencies, 1))
    if variant.unseen == "dropped":
        weights[0] = 0.0
    return weights


@compiled
def _allocate_vectors(groups: TextGroups) -> TfIdfVectors:
    """Return buffers for the references of any group, or for any candidate."""
    max_tokens, max_references = 1, 1
    for group in range(groups.reference_starts.size - 1):
        first, end = groups.reference_starts[group], groups.reference_starts[group + 1]
        max_tokens = max(max_tokens, groups.starts[end] - groups.starts[first])
        max_references = max(max_references, end - first)
    for text in groups.candidates:
        max_tokens = max(max_tokens, groups.starts[text + 1] - groups.starts[text])
    return TfIdfVectors(
        np.empty(max_tokens, dtype=np.int32),
        np.empty(max_tokens),
        np.zeros(max_references + 1, dtype=np.int64),
        np.zeros(max_references),
    )


@compiled
def _write_vectors(
    ngrams: WeightedNgrams, starts: Ints, first: int, end: int, single_weight: float, vectors: TfIdfVectors
) -> None:
    """Write the vectors of the texts first to end - 1. `single_weight` is the weight of a SINGLE_OCCURRENCE n-gram."""
    order, numbers, frequencies, idf_weights = ngrams
    sorted_grams, values, bounds, norms = vectors
    for text in range(first, end):
        begin = bounds[text - first]
        squares = 0.0
        size = 0
        for position in range(starts[text], starts[text + 1] - order + 1):
            gram = numbers[position]
            if gram == SINGLE_OCCURRENCE:
                squares += single_weight * single_weight
            else:
                sorted_grams[begin + size] = gram
                size += 1
        if size > MAX_INSERTION_SORT:
            sorted_grams[begin : begin + size] = np.sort(sorted_grams[begin : begin + size])
        else:
            for next_unsorted in range(begin + 1, begin + size):
                gram = sorted_grams[next_unsorted]
                position = next_unsorted
                while position > begin and sorted_grams[position - 1] > gram:
                    sorted_grams[position] = sorted_grams[position - 1]
                    position -= 1
                sorted_grams[position] = gram
        # Merge equal n-grams, and weight their counts.
        stop = begin
        position = begin
        while position < begin + size:
            gram = sorted_grams[position]
            count = 0
            while position < begin + size and sorted_grams[position] == gram:
                position += 1
                count += 1
            sorted_grams[stop] = gram
            values[stop] = count * idf_weights[frequencies[gram]]
            squares += values[stop] * values[stop]
            stop += 1
        bounds[text - first + 1] = stop
        norms[text - first] = np.sqrt(squares)


@compiled
def _multiply_vectors(
    candidate: TfIdfVectors, references: TfIdfVectors, clipped: bool, products: Floats
) -> None:
    """Set products[r] to the dot product of the vectors of the candidate and of reference r."""
    grams, values, size = candidate.grams, candidate.values, candidate.bounds[1]
    reference_grams, reference_values, bounds = references.grams, references.values, references.bounds
    for reference in range(products.size):
        product = 0.0
        index, reference_index, end = 0, bounds[reference], bounds[reference + 1]
        while index < size and reference_index < end:
            if grams[index] < reference_grams[reference_index]:
                index += 1
            elif grams[index] > reference_grams[reference_index]:
                reference_index += 1
            else:
                value = values[index]
                if clipped:
                    value = min(value, reference_values[reference_index])
                product += value * reference_values[reference_index]
                index += 1
                reference_index += 1
        products[reference] = product


@compiled
def _similarity(
    product: float, norm_product: float, starts: Ints, candidate: int, reference: int, rule: SimilarityRule
) -> float:
    """Return the cosine `product` / `norm_product` of two texts, given by their positions, times CIDEr-D's factor."""
    if norm_product == 0:
        return 0.0
    similarity = product / norm_product
    if rule.clipped:
        similarity *= _length_factor(starts, candidate, reference, rule.sigma)
    return similarity


@compiled
def _length_factor(starts: Ints, candidate: int, reference: int, sigma: float) -> float:
    """Return CIDEr-D's penalty for a difference in length (V15 eq. 5), counted in bigrams as in the COCO evaluation."""
    candidate_length = max(starts[candidate + 1] - starts[candidate] - 1, 0)
    reference_length = max(starts[reference + 1] - starts[reference] - 1, 0)
    difference = candidate_length - reference_length
    return np.exp(-(difference * difference) / (2 * sigma * sigma))


@compiled
def _order_scores(
    groups: TextGroups,
    ngrams: WeightedNgrams,
    document_counts: Ints,
    rule: SimilarityRule,
    order_weight: float,
) -> Floats:
    """Return the contribution of one order of n-grams to the scores, in the order of `groups.candidates`."""
    scores = np.zeros(groups.candidates.size)
    candidate, references = _allocate_vectors(groups), _allocate_vectors(groups)
    products = np.empty(references.norms.size)
    starts, candidate_norm, reference_norms = groups.starts, candidate.norms, references.norms
    for group in range(groups.reference_starts.size - 1):
        if groups.candidate_starts[group] == groups.candidate_starts[group + 1]:  # no candidates
            continue
        first, end = groups.reference_starts[group], groups.reference_starts[group + 1]
        # An n-gram that only these references have is in as many documents as the group stands for.
        single_weight = ngrams.idf_weights[document_counts[group]]
        _write_vectors(ngrams, starts, first, end, single_weight, references)
        reference_count = end - first
        for index in range(groups.candidate_starts[group], groups.candidate_starts[group + 1]):
            text = groups.candidates[index]
            # An n-gram that only this candidate has is in no document.
            _write_vectors(ngrams, starts, text, text + 1, ngrams.idf_weights[0], candidate)
            if candidate_norm[0] == 0:
                continue
            _multiply_vectors(candidate, references, rule.clipped, products[:reference_count])
            score = 0.0
            for reference in range(reference_count):
                norm_product = candidate_norm[0] * reference_norms[reference]
                similarity = _similarity(
                    products[reference], norm_product, starts, text, first + reference, rule
                )
                if rule.takes_best:
                    score = max(score, similarity)
                else:
                    score += similarity
            if not rule.takes_best:
                score /= reference_count
            scores[index] = order_weight * score
    return scores
