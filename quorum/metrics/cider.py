"""CIDEr and CIDEr-D with their variants (V15 eq. 1-5 and App. VIII).

N-grams are numbered over all texts, one order after the other. If the first or the last n - 1 words of an n-gram occur
only once, the n-gram occurs only once too. It is marked SINGLE_OCCURRENCE and never looked up.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from quorum.metrics.comparison import Comparison, Task, View, parts_of_task, task_of_groups
from quorum.metrics.text.tokens import TokenizedTexts
from quorum.numeric.arrays import Flags, Floats, Ints, Numbers, starts_of
from quorum.numeric.compiling import compiled
from quorum.numeric.packing import declare
from quorum.numeric.parallel import Serial, map_parts

SINGLE_OCCURRENCE = -1  # an n-gram that occurs only once
TOKENS_PER_TURN = 1 << 22  # number of tokens whose n-grams are numbered at once
FREQUENCIES = -1  # stands for the part of the work that counts documents
MAX_INSERTION_SORT = 24  # n-grams up to which insertion sorts faster than numpy


@dataclass(frozen=True)
class Variant:
    """A variant of CIDEr (V15 App. VIII).

    n: highest order. over: `mean` or `max` of the references. weights: `uniform` (1/n) or `exp` (proportional
    to e^k for order k). unseen: n-grams that occur in no document are `dropped`, or have the idf log N (`logn`).
    clipped: whether to compute CIDEr-D, which clips the candidate's weights and multiplies by a Gaussian, of standard
    deviation `sigma`, of the difference in length.
    """

    n: int = 4
    over: str = "mean"
    weights: str = "uniform"
    unseen: str = "dropped"
    idf: bool = True
    clipped: bool = False
    sigma: float = 6.0
    scale: float = 1.0


@declare
class Grams(NamedTuple):
    """The n-grams of one order in all texts.

    numbers: (tokens,) number of the n-gram that begins at each token, or SINGLE_OCCURRENCE.
    frequencies: (distinct,) number of documents with each n-gram.
    weights: (documents + 1,) idf weight by document frequency.
    """

    order: int
    numbers: Numbers
    frequencies: Numbers
    weights: Floats


class Vectors(NamedTuple):
    """Buffers for tf-idf vectors.

    Vector v has the n-grams `grams[bounds[v]:bounds[v + 1]]`, ascending, with their `values`. Its length `norms[v]`
    includes the SINGLE_OCCURRENCE n-grams.
    """

    grams: Numbers
    values: Floats
    bounds: Ints
    norms: Floats


@declare
class Similarity(NamedTuple):
    """How texts are compared. `clipped` and `sigma` are those of `Variant`; `best_reference` takes the maximum."""

    clipped: bool
    sigma: float
    best_reference: bool


def cider_scores(comparison: Comparison, view: View, variant: Variant) -> Floats:
    """Return (n,) scores from 0 to `variant.scale`. Term frequencies are raw counts, as in the MS COCO evaluation."""
    task = comparison.task(view)
    scores = np.zeros(comparison.size)
    similarity = Similarity(variant.clipped, variant.sigma, variant.over == "max")
    for grams, weight in _orders(comparison, view, variant):
        shared = task, grams, comparison.weights, similarity, weight
        for candidates, values in map_parts(_scores_of_groups, shared, parts_of_task(task), threads=True):
            scores[candidates] += values
    return variant.scale * scores


@declare
def _scores_of_groups(shared: tuple[Any, ...], groups: tuple[int, int]) -> tuple[Ints, Floats]:
    task, grams, documents, rule, weight = shared
    part = task_of_groups(task, *groups)
    return part.candidates, _add_scores(part, grams, documents[slice(*groups)], rule, weight)


def _orders(comparison: Comparison, view: View, variant: Variant) -> Iterator[tuple[Grams, float]]:
    tokens = comparison.tokens(view)
    numbers = tokens.tokens
    repeated = _find_repeated(numbers, len(tokens.vocabulary))
    idf_weights = _weights_by_frequency(comparison.documents, variant)
    weights = (
        np.exp(np.arange(variant.n, dtype=np.float64)) if variant.weights == "exp" else np.ones(variant.n)
    )
    for order, weight in enumerate((weights / weights.sum()).tolist(), start=1):
        frequencies, longer_numbers, longer_repeated = _count_order(
            comparison, tokens, numbers, repeated, order, variant.n
        )
        yield Grams(order, numbers, frequencies, idf_weights), weight
        numbers, repeated = longer_numbers, longer_repeated


def _weights_by_frequency(documents: int, variant: Variant) -> Floats:
    frequencies = np.arange(documents + 1)
    weights = np.ones(documents + 1)
    if variant.idf:
        weights = np.log(documents) - np.log(np.maximum(frequencies, 1))
    if variant.unseen == "dropped":
        weights[0] = 0.0
    return weights


def _count_order(
    comparison: Comparison, tokens: TokenizedTexts, grams: Numbers, repeated: Flags, order: int, last: int
) -> tuple[Numbers, Numbers, Flags]:
    """Return the document frequencies of an order, and the numbers and repetition flags of the next order's n-grams.

    For the order `last`, return the numbers and flags of the order itself.

    N-grams are numbered in turns of about TOKENS_PER_TURN tokens, so that the hash table of a turn stays small. Turns
    and frequencies are parts of the work, which are done at the same time.
    """
    turn_count = 1
    while turn_count * TOKENS_PER_TURN < grams.size:
        turn_count *= 2
    map_all = map_parts if turn_count > 1 else Serial().map
    splits: list[Split] = []
    if order < last:
        shared = grams, tokens.tokens, tokens.starts, repeated, order + 1, turn_count
        # List the positions of the n-grams of each turn. N-grams of the highest order are not extended.
        splits = list(map_all(_split_texts, shared, _ranges_of_texts(tokens.starts), threads=True))
    turns = [np.concatenate(arrays) for arrays in zip(*(split.positions for split in splits), strict=True)]
    # Count the documents, and number the n-grams of each turn from 0 on.
    shared_by_turns = grams, tokens, comparison.group_starts, comparison.weights, repeated, order, turns
    frequencies, *numbered_turns = map_all(
        _count_part, shared_by_turns, [FREQUENCIES, *range(len(turns))], threads=True
    )
    if not splits:
        return frequencies, grams, repeated
    # Add the count of n-grams of earlier turns to the numbers, and write them at their positions.
    numbers = [numbers for numbers, _ in numbered_turns]
    sizes = starts_of([repeats.size for _, repeats in numbered_turns])
    longer_of_texts = map_all(_numbers_of_texts, (splits, numbers, sizes), range(len(splits)), threads=True)
    numbers_of_longer, end = np.empty(grams.size, dtype=np.int32), 0
    for part in longer_of_texts:  # copied while other threads compute the next
        numbers_of_longer[end : end + part.size] = part
        end += part.size
    return frequencies, numbers_of_longer, np.concatenate([repeats for _, repeats in numbered_turns])


def _ranges_of_texts(starts: Ints) -> list[tuple[int, int]]:
    """Return ranges of texts with about TOKENS_PER_TURN tokens each, as pairs (first, end)."""
    inner = np.searchsorted(starts, np.arange(TOKENS_PER_TURN, starts[-1], TOKENS_PER_TURN))
    return list(pairwise(np.unique([0, *inner, starts.size - 1]).tolist()))


@declare
class Split(NamedTuple):
    """Positions of n-grams that may be repeated, one array per turn, in a range of texts.

    The range has `tokens` tokens, and begins at the token `first`.
    """

    positions: list[Numbers]
    first: int
    tokens: int


@declare
def _split_texts(shared: tuple[Any, ...], texts: tuple[int, int]) -> Split:
    grams, tokens, starts, repeated, order, turn_count = shared
    positions, counts = _split_turns(grams, tokens, starts, repeated, order, turn_count, *texts)
    first, end = (int(starts[text]) for text in texts)
    return Split(np.split(positions, np.cumsum(counts)[:-1]), first, end - first)


@declare
def _numbers_of_texts(shared: tuple[Any, ...], index: int) -> Numbers:
    splits, numbers, sizes = shared
    split = splits[index]
    longer = np.full(split.tokens, SINGLE_OCCURRENCE, dtype=np.int32)
    for turn, positions in enumerate(split.positions):
        first_number = sum(earlier.positions[turn].size for earlier in splits[:index])
        _write_numbers(longer, positions, split.first, numbers[turn][first_number:], sizes[turn])
    return longer


@declare
def _count_part(shared: tuple[Any, ...], part: int) -> Numbers | tuple[Numbers, Flags]:
    grams, tokens, groups, weights, repeated, order, turns = shared
    if part == FREQUENCIES:
        return _document_frequencies(grams, tokens.starts, groups, weights, repeated.size, order)
    return _number_turn(grams, tokens.tokens, turns[part], order + 1)


@compiled
def _find_repeated(numbers: Numbers, size: int) -> Flags:
    """Return (size,) flags that say whether each number occurs more than once."""
    occurs, repeated = np.zeros(size, dtype=np.bool_), np.zeros(size, dtype=np.bool_)
    for number in numbers:
        repeated[number] |= occurs[number]
        occurs[number] = True
    return repeated


@compiled
def _split_turns(
    grams: Numbers,
    tokens: Numbers,
    starts: Ints,
    repeated: Flags,
    order: int,
    turn_count: int,
    first: int,
    end: int,
) -> tuple[Numbers, Ints]:
    """Return the positions of n-grams that may be repeated, sorted by turn, and how many there are in each turn.

    The turn of an n-gram is a hash of it, so that equal n-grams have the same turn. An n-gram of `order` words consists
    of the shorter n-gram that begins at its first word, and of its last word.
    """
    counts = np.zeros(turn_count, dtype=np.int64)
    turns = np.full(starts[end] - starts[first], -1, dtype=np.int16)
    for text in range(first, end):
        for position in range(starts[text], starts[text + 1] - order + 1):
            shorter, next_shorter = grams[position], grams[position + 1]
            if (
                shorter != SINGLE_OCCURRENCE
                and next_shorter != SINGLE_OCCURRENCE
                and repeated[shorter]
                and repeated[next_shorter]
            ):
                turn = ((np.int64(shorter) * 31 + tokens[position + order - 1]) >> 6) & (turn_count - 1)
                turns[position - starts[first]] = turn
                counts[turn] += 1
    positions = np.empty(counts.sum(), dtype=np.int32)
    nexts = np.cumsum(counts) - counts
    for index in range(turns.size):
        turn = turns[index]
        if turn >= 0:
            positions[nexts[turn]] = starts[first] + index
            nexts[turn] += 1
    return positions, counts


@compiled
def _write_numbers(longer: Numbers, positions: Numbers, first: int, numbers: Numbers, smaller: int) -> None:
    """Write the n-gram numbers of a turn into `longer`.

    They are increased by `smaller`, the count of numbers of earlier turns.
    """
    for index in range(positions.size):
        longer[positions[index] - first] = numbers[index] + smaller


@compiled
def _number_turn(grams: Numbers, tokens: Numbers, positions: Numbers, order: int) -> tuple[Numbers, Flags]:
    """Return the number of the n-gram at each position, and whether each number is repeated.

    A row of the hash table is (number of the n-gram without its last word, last word, number of the n-gram).
    """
    numbers = np.empty(positions.size, dtype=np.int32)
    repeats = np.zeros(1 << 11, dtype=np.bool_)
    table = np.full((1 << 12, 3), -1, dtype=np.int32)
    known_count = 0
    for index in range(positions.size):
        shorter, word = grams[positions[index]], tokens[positions[index] + order - 1]
        slot = _slot(table, shorter, word)
        if table[slot, 2] < 0:
            if 2 * known_count >= table.shape[0]:
                table = _doubled_table(table)
                slot = _slot(table, shorter, word)
            if known_count == repeats.size:
                repeats = np.concatenate((repeats, np.zeros(known_count, dtype=np.bool_)))
            table[slot, 0] = shorter
            table[slot, 1] = word
            table[slot, 2] = known_count
            known_count += 1
        else:
            repeats[table[slot, 2]] = True
        numbers[index] = table[slot, 2]
    return numbers, repeats[:known_count].copy()


@compiled
def _slot(table: Numbers, shorter: int, word: int) -> int:
    """Return the slot of an n-gram in the hash table, or the free slot to store it in."""
    mask = table.shape[0] - 1
    # Both factors and both numbers are below 2 ** 31, so that nothing overflows.
    mixed = np.int64(shorter) * 1540483477 + np.int64(word) * 739982445
    slot = (mixed ^ (mixed >> 17)) & mask
    while table[slot, 2] >= 0 and (table[slot, 0] != shorter or table[slot, 1] != word):
        slot = (slot + 1) & mask
    return slot


@compiled
def _doubled_table(table: Numbers) -> Numbers:
    larger = np.full((2 * table.shape[0], 3), -1, dtype=np.int32)
    for row in range(table.shape[0]):
        if table[row, 2] >= 0:
            larger[_slot(larger, table[row, 0], table[row, 1])] = table[row]
    return larger


@compiled
def _document_frequencies(
    grams: Numbers, starts: Ints, groups: Ints, weights: Ints, distinct: int, order: int
) -> Numbers:
    """Return (distinct,) document frequencies, where group g stands for weights[g] documents."""
    frequencies = np.zeros(distinct, dtype=np.int32)
    last_group = np.full(distinct, -1, dtype=np.int32)
    for group in range(weights.size):
        if weights[group] == 0:
            continue
        for text in range(groups[group], groups[group + 1]):
            for position in range(starts[text], starts[text + 1] - order + 1):
                gram = grams[position]
                if gram != SINGLE_OCCURRENCE and last_group[gram] != group:
                    last_group[gram] = group
                    frequencies[gram] += weights[group]
    return frequencies


@compiled
def _allocate_vectors(task: Task) -> Vectors:
    """Return buffers for the references of any group, or for any candidate."""
    longest, most_references = 1, 1
    for group in range(task.references.size - 1):
        first, last = task.references[group], task.references[group + 1]
        longest = max(longest, task.starts[last] - task.starts[first])
        most_references = max(most_references, last - first)
    for text in task.candidates:
        longest = max(longest, task.starts[text + 1] - task.starts[text])
    return Vectors(
        np.empty(longest, dtype=np.int32),
        np.empty(longest),
        np.zeros(most_references + 1, dtype=np.int64),
        np.zeros(most_references),
    )


@compiled
def _write_vectors(grams: Grams, starts: Ints, first: int, last: int, alone: float, vectors: Vectors) -> None:
    """Write the vectors of the texts first to last - 1. `alone` is the weight of a SINGLE_OCCURRENCE n-gram."""
    order, numbers, frequencies, weights = grams
    sorted_grams, values, bounds, norms = vectors
    for text in range(first, last):
        begin = bounds[text - first]
        squares = 0.0
        size = 0
        # List the n-grams that are repeated somewhere.
        for position in range(starts[text], starts[text + 1] - order + 1):
            gram = numbers[position]
            if gram == SINGLE_OCCURRENCE:
                squares += alone * alone
            else:
                sorted_grams[begin + size] = gram
                size += 1
        # Sort them.
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
            values[stop] = count * weights[frequencies[gram]]
            squares += values[stop] * values[stop]
            stop += 1
        bounds[text - first + 1] = stop
        norms[text - first] = np.sqrt(squares)


@compiled
def _multiply_weights(
    candidate: Vectors, references: Vectors, clipped: bool, products: Floats, sums: Floats
) -> None:
    """Set sums[r] to the product of the vectors of candidate and reference r, and products[r] to its terms."""
    grams, values, size = candidate.grams, candidate.values, candidate.bounds[1]
    reference_grams, reference_values, bounds = references.grams, references.values, references.bounds
    for reference in range(sums.size):
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
                products[reference, index] = value * reference_values[reference_index]
                product += value * reference_values[reference_index]
                index += 1
                reference_index += 1
        sums[reference] = product


@compiled
def _similarity(
    product: float, norms: float, starts: Ints, candidate: int, reference: int, rule: Similarity
) -> float:
    if norms == 0:
        return 0.0
    similarity = product / norms
    if rule.clipped:
        similarity *= _length_factor(starts, candidate, reference, rule.sigma)
    return similarity


@compiled
def _length_factor(starts: Ints, candidate: int, reference: int, sigma: float) -> float:
    """Return CIDEr-D's penalty for a difference in the number of bigrams (V15 eq. 5)."""
    candidate_length = max(starts[candidate + 1] - starts[candidate] - 1, 0)
    reference_length = max(starts[reference + 1] - starts[reference] - 1, 0)
    difference = candidate_length - reference_length
    return np.exp(-(difference * difference) / (2 * sigma * sigma))


@compiled
def _add_scores(task: Task, grams: Grams, documents: Ints, rule: Similarity, weight: float) -> Floats:
    """Return the contribution of one order of n-grams to the scores, in the order of `task.candidates`.

    documents: (groups,) numbers of documents. weight: the weight of the order.
    """
    scores = np.zeros(task.candidates.size)
    candidate, references = _allocate_vectors(task), _allocate_vectors(task)
    sums = np.empty(references.norms.size)
    products = np.empty((sums.size, candidate.grams.size))
    starts, candidate_norm, reference_norms = task.starts, candidate.norms, references.norms
    for group in range(task.references.size - 1):
        if task.candidate_starts[group] == task.candidate_starts[group + 1]:
            continue
        first, last = task.references[group], task.references[group + 1]
        # An n-gram that only these references have is in as many documents as the group stands for.
        _write_vectors(grams, starts, first, last, grams.weights[documents[group]], references)
        count = last - first
        for index in range(task.candidate_starts[group], task.candidate_starts[group + 1]):
            text = task.candidates[index]
            _write_vectors(grams, starts, text, text + 1, grams.weights[0], candidate)
            if candidate_norm[0] == 0:
                continue
            _multiply_weights(candidate, references, rule.clipped, products, sums[:count])
            total = 0.0
            for reference in range(count):
                norms = candidate_norm[0] * reference_norms[reference]
                similarity = _similarity(sums[reference], norms, starts, text, first + reference, rule)
                if rule.best_reference:
                    total = max(total, similarity)
                else:
                    total += similarity
            if not rule.best_reference:
                total /= count
            scores[index] = weight * total
    return scores
