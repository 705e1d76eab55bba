"""CIDEr and CIDEr-D with their variants (V15 eq. 1-5 and App. VIII).

The n-grams of one order are numbered over all texts, order after order. An n-gram whose first or
last n - 1 words stand nowhere else cannot stand anywhere else either: it is marked and never looked up, which
leaves little to number among the long n-grams.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.compiled import compiled
from evaluation.metrics.comparison import Comparison, Floats, Ints, View
from evaluation.metrics.corpus import Flags

Grams = NDArray[np.int32]

ALONE = -1  # an n-gram that stands in one place only
ROUND = 1 << 22  # tokens numbered in one round
MEAN, MAX, CLIPPED = 0, 1, 2


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


def order_weights(n: int, weights: str) -> Floats:
    """(n,) float64, sum 1: how much each n-gram order counts."""
    raw = np.exp(np.arange(n, dtype=np.float64)) if weights == "exp" else np.ones(n)
    return np.asarray(raw / raw.sum())


def cider_scores(comparison: Comparison, view: View, variant: Variant) -> Floats:
    """(n,) float64: CIDEr (V15 eq. 1-3), between 0 and 1."""
    combine = {"mean": MEAN, "max": MAX}[variant.over]
    return _scores(comparison, view, variant, combine, np.inf)


def cider_d_scores(
    comparison: Comparison, view: View, *, n: int = 4, sigma: float = 6.0, scale: float = 10.0
) -> Floats:
    """(n,) float64: CIDEr-D (V15 eq. 4-5), between 0 and `scale`, as the MS COCO evaluation computes it.

    Term frequencies are raw counts, n-grams of no document weigh log(documents), and the length of a
    caption is the number of its bigrams.
    """
    return scale * _scores(comparison, view, Variant(n=n, unseen="logn"), CLIPPED, sigma)


def _scores(comparison: Comparison, view: View, variant: Variant, combine: int, sigma: float) -> Floats:
    task = comparison.task(view)
    words = comparison.words(view)
    grams = words.words
    repeated = np.bincount(grams, minlength=len(words.vocabulary)) > 1
    weights = _weights_by_frequency(comparison.documents, variant)
    scores = np.zeros(comparison.size)
    for order, share in enumerate(order_weights(variant.n, variant.weights), start=1):
        if order > 1:
            grams, repeated = _number_longer(grams, words.words, words.starts, repeated, order, ROUND)
        frequencies = _document_frequencies(
            grams, words.starts, task.references, comparison.weights, repeated.size, order
        )
        _add_scores(
            grams,
            task.starts,
            task.references,
            task.candidates,
            task.candidate_starts,
            frequencies,
            comparison.weights,
            weights,
            order,
            combine,
            sigma,
            float(share),
            scores,
        )
    return scores


def _weights_by_frequency(documents: int, variant: Variant) -> Floats:
    """(documents + 1,) float64: log(documents / frequency), or 1 without idf; for frequency 0 see `Variant`."""
    frequencies = np.arange(documents + 1)
    weights = np.ones(documents + 1)
    if variant.idf:
        weights = np.log(documents) - np.log(np.maximum(frequencies, 1))
    if variant.unseen == "dropped":
        weights[0] = 0.0
    return weights


@compiled
def _number_longer(
    grams: Grams, words: Grams, starts: Ints, repeated: Flags, order: int, round_size: int
) -> tuple[Grams, Flags]:
    """The numbers of the n-grams of an order, from those of the n-grams one word shorter.

    Returns the number of the n-gram that begins at each token (undefined where none does), and which numbers
    occur more than once. Many n-grams are numbered in several rounds of about `round_size` tokens, each with a
    table small enough to be fast.
    """
    longer = np.empty(grams.size, dtype=np.int32)
    repeats = np.zeros(1 << 11, dtype=np.bool_)
    known = 0
    rounds = 1
    while rounds * round_size < grams.size:
        rounds *= 2
    for turn in range(rounds):
        table = np.full((1 << 12, 3), -1, dtype=np.int32)
        before = known
        for text in range(starts.size - 1):
            for at in range(starts[text], starts[text + 1] - order + 1):
                shorter, word = grams[at], words[at + order - 1]
                if ((np.int64(shorter) * 31 + word) >> 6) & (rounds - 1) != turn:
                    continue
                rest = grams[at + 1]
                if shorter == ALONE or rest == ALONE or not repeated[shorter] or not repeated[rest]:
                    longer[at] = ALONE
                    continue
                slot = _slot(table, shorter, word)
                if table[slot, 2] < 0:
                    if 2 * (known - before) >= table.shape[0]:
                        table = _doubled(table)
                        slot = _slot(table, shorter, word)
                    if known == repeats.size:
                        repeats = np.concatenate((repeats, np.zeros(known, dtype=np.bool_)))
                    table[slot, 0] = shorter
                    table[slot, 1] = word
                    table[slot, 2] = known
                    known += 1
                else:
                    repeats[table[slot, 2]] = True
                longer[at] = table[slot, 2]
    return longer, repeats[:known]


@compiled
def _slot(table: Grams, shorter: int, word: int) -> int:
    """Where an n-gram stands in the table, or would."""
    mask = table.shape[0] - 1
    # Both factors and both numbers are below 2 ** 31: nothing overflows.
    mixed = np.int64(shorter) * 1540483477 + np.int64(word) * 739982445
    slot = (mixed ^ (mixed >> 17)) & mask
    while table[slot, 2] >= 0 and (table[slot, 0] != shorter or table[slot, 1] != word):
        slot = (slot + 1) & mask
    return slot


@compiled
def _doubled(table: Grams) -> Grams:
    larger = np.full((2 * table.shape[0], 3), -1, dtype=np.int32)
    for row in range(table.shape[0]):
        if table[row, 2] >= 0:
            larger[_slot(larger, table[row, 0], table[row, 1])] = table[row]
    return larger


@compiled
def _document_frequencies(
    grams: Grams, starts: Ints, references: Ints, weights: Ints, distinct: int, order: int
) -> Grams:
    """(distinct,) int32: in how many documents each n-gram occurs."""
    frequencies = np.zeros(distinct, dtype=np.int32)
    seen_in = np.full(distinct, -1, dtype=np.int32)
    for group in range(weights.size):
        if weights[group] == 0:
            continue
        for text in range(references[group], references[group + 1]):
            for at in range(starts[text], starts[text + 1] - order + 1):
                gram = grams[at]
                if gram != ALONE and seen_in[gram] != group:
                    seen_in[gram] = group
                    frequencies[gram] += weights[group]
    return frequencies


@compiled
def _vector(
    grams: Grams,
    begin: int,
    end: int,
    frequencies: Grams,
    weights: Floats,
    alone: float,
    found: Grams,
    values: Floats,
    at: int,
) -> tuple[int, float]:
    """The tf-idf vector of a text, sorted by n-gram: writes from `at` on, returns where it ends and its length.

    N-grams that stand nowhere else, of weight `alone`, only make it longer.
    """
    squares = 0.0
    size = 0
    for place in range(begin, end):
        gram = grams[place]
        if gram == ALONE:
            squares += alone * alone
        else:
            found[at + size] = gram
            size += 1
    if size > 24:
        found[at : at + size] = np.sort(found[at : at + size])
    else:
        for here in range(at + 1, at + size):
            gram = found[here]
            place = here
            while place > at and found[place - 1] > gram:
                found[place] = found[place - 1]
                place -= 1
            found[place] = gram
    stop = at
    place = at
    while place < at + size:
        gram = found[place]
        count = 0
        while place < at + size and found[place] == gram:
            place += 1
            count += 1
        found[stop] = gram
        values[stop] = count * weights[frequencies[gram]]
        squares += values[stop] * values[stop]
        stop += 1
    return stop, np.sqrt(squares)


@compiled
def _add_scores(
    grams: Grams,
    starts: Ints,
    references: Ints,
    candidates: Ints,
    candidate_starts: Ints,
    frequencies: Grams,
    documents_of: Ints,
    weights: Floats,
    order: int,
    combine: int,
    sigma: float,
    share: float,
    scores: Floats,
) -> None:
    """Add an order's part to the scores of all candidates.

    `frequencies` says how many documents hold each n-gram and `weights` what that makes it weigh. One that stands
    in one place only is held by as many documents as its group is (`documents_of`), and by none in a candidate.
    """
    most, many = 1, 1
    for group in range(references.size - 1):
        first, last = references[group], references[group + 1]
        most, many = max(most, starts[last] - starts[first]), max(many, last - first)
    theirs = np.empty(most, dtype=np.int32)
    their_values = np.empty(most)
    bounds = np.zeros(many + 1, dtype=np.int64)
    norms = np.zeros(many)
    longest = 1
    for text in range(scores.size):
        longest = max(longest, starts[text + 1] - starts[text])
    ours = np.empty(longest, dtype=np.int32)
    our_values = np.empty(longest)
    for group in range(references.size - 1):
        if candidate_starts[group] == candidate_starts[group + 1]:
            continue
        first, last = references[group], references[group + 1]
        for text in range(first, last):
            end = max(starts[text], starts[text + 1] - order + 1)
            bounds[text - first + 1], norms[text - first] = _vector(
                grams,
                starts[text],
                end,
                frequencies,
                weights,
                weights[documents_of[group]],
                theirs,
                their_values,
                bounds[text - first],
            )
        for index in range(candidate_starts[group], candidate_starts[group + 1]):
            text = candidates[index]
            length = starts[text + 1] - starts[text]
            end = max(starts[text], starts[text + 1] - order + 1)
            size, norm = _vector(
                grams, starts[text], end, frequencies, weights, weights[0], ours, our_values, 0
            )
            if norm == 0:
                continue
            total = 0.0
            for other in range(last - first):
                if norms[other] == 0:
                    continue
                product = 0.0
                mine, their = 0, bounds[other]
                while mine < size and their < bounds[other + 1]:
                    if ours[mine] < theirs[their]:
                        mine += 1
                    elif ours[mine] > theirs[their]:
                        their += 1
                    else:
                        value = our_values[mine]
                        if combine == CLIPPED:
                            value = min(value, their_values[their])
                        product += value * their_values[their]
                        mine += 1
                        their += 1
                product /= norm * norms[other]
                if combine == CLIPPED:
                    bigrams = max(starts[first + other + 1] - starts[first + other] - 1, 0)
                    difference = max(length - 1, 0) - bigrams
                    product *= np.exp(-(difference * difference) / (2 * sigma * sigma))
                if combine == MAX:
                    total = max(total, product)
                else:
                    total += product
            if combine != MAX:
                total /= last - first
            scores[text] += share * total
