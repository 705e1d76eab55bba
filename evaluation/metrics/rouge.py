"""ROUGE-L as the MS COCO caption evaluation computes it (Lin 2004; V15 eq. 12-14), beta = 1.2."""

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.comparison import Comparison, Floats, View
from evaluation.metrics.corpus import Ints, Words, ranges

WORD_BITS = 64
BLOCK = 4096


def rouge_l_scores(comparison: Comparison, view: View, beta: float = 1.2) -> Floats:
    """(n,) float64: ROUGE-L of every candidate.

    Precision and recall are each the best over the references, then combined. A caption without words
    counts as one empty word, so that it matches another such caption and nothing else.
    """
    words = _with_empty_word(comparison.words(view))
    candidate = np.repeat(comparison.candidates, comparison.reference_counts)
    reference = comparison.pair_references
    common = lcs_lengths(words, candidate, reference)
    precision = np.maximum.reduceat(common / words.lengths[candidate], comparison.pair_starts)
    recall = np.maximum.reduceat(common / words.lengths[reference], comparison.pair_starts)
    weighted = recall + beta**2 * precision
    return np.divide(
        (1 + beta**2) * precision * recall, weighted, out=np.zeros_like(weighted), where=weighted > 0
    )


def _with_empty_word(words: Words) -> Words:
    """The same texts, those without words now holding one word of their own."""
    lengths = np.maximum(words.lengths, 1)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    numbers = np.full(starts[-1], len(words.vocabulary), dtype=np.int64)
    numbers[ranges(starts[:-1], words.lengths)] = words.words
    return Words(numbers, starts, [*words.vocabulary, ""])


def lcs_lengths(words: Words, first: Ints, second: Ints) -> Ints:
    """(pairs,) int64: the length of the longest common subsequence of the texts `first` and `second`."""
    lengths = words.lengths
    swap = lengths[first] > lengths[second]
    short, long = np.where(swap, second, first), np.where(swap, first, second)
    common = np.empty(first.size, dtype=np.int64)
    fits = lengths[short] <= WORD_BITS
    for pair in np.flatnonzero(~fits):
        common[pair] = _lcs_of_long(_text(words, short[pair]), _text(words, long[pair]))
    # Pairs of like lengths go together, so that little is padded.
    order = np.flatnonzero(fits)
    order = order[np.lexsort((lengths[short[order]], lengths[long[order]]))]
    for begin in range(0, order.size, BLOCK):
        block = order[begin : begin + BLOCK]
        common[block] = _lcs_of_block(words, short[block], long[block])
    return common


def _text(words: Words, text: np.int64) -> list[int]:
    numbers: list[int] = words.words[words.starts[text] : words.starts[text + 1]].tolist()
    return numbers


def _padded(words: Words, texts: Ints, filler: int) -> NDArray[np.int64]:
    """(longest, texts) int64: one text a column, filled up with `filler`."""
    lengths = words.lengths[texts]
    table = np.full((int(lengths.max(initial=1)), texts.size), filler, dtype=np.int64)
    rows = ranges(np.zeros(texts.size, dtype=np.int64), lengths)
    columns = np.repeat(np.arange(texts.size), lengths)
    table[rows, columns] = words.words[ranges(words.starts[texts], lengths)]
    return table


def _lcs_of_block(words: Words, short: Ints, long: Ints) -> Ints:
    """Bit-parallel LCS (Hyyrö 2004), one 64-bit vector a pair: bit i is the word i of the short text."""
    pattern = _padded(words, short, -1)
    text = _padded(words, long, -2)
    state: NDArray[np.uint64] = np.full(short.size, ~np.uint64(0), dtype=np.uint64)
    bits = np.uint64(1) << np.arange(pattern.shape[0], dtype=np.uint64)
    for row in text:
        matches: NDArray[np.uint64] = np.zeros(short.size, dtype=np.uint64)
        for bit, column in zip(bits, pattern, strict=True):
            matches |= np.where(column == row, bit, np.uint64(0))
        shared = state & matches
        state = np.bitwise_or(state + shared, state - shared)
    return np.bitwise_count(~state).astype(np.int64)


def _lcs_of_long(short: list[int], long: list[int]) -> int:
    """The same with Python's integers of any length; what the texts begin or end with alike is set aside."""
    ahead = _common_prefix(short, long)
    short, long = short[ahead:][::-1], long[ahead:][::-1]
    behind = _common_prefix(short, long)
    short, long = short[behind:], long[behind:]
    places: dict[int, int] = {}
    for place, word in enumerate(short):
        places[word] = places.get(word, 0) | 1 << place
    full = (1 << len(short)) - 1
    state = full
    for word in long:
        shared = state & places.get(word, 0)
        state = (state + shared | state - shared) & full
    return ahead + behind + len(short) - state.bit_count()


def _common_prefix(short: list[int], long: list[int]) -> int:
    return next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
