"""ROUGE-L as the MS COCO caption evaluation computes it (Lin 2004; V15 eq. 12-14), beta = 1.2."""

import numpy as np
from numpy.typing import NDArray

from evaluation.compiled import compiled
from evaluation.metrics.comparison import Comparison, Floats, Ints, View

# Bits of a 64-bit number that hold words, so that a sum of two such numbers never overflows.
LIMB = 62
FULL = (1 << LIMB) - 1


def rouge_l_scores(comparison: Comparison, view: View, beta: float = 1.2) -> Floats:
    """(n,) float64: ROUGE-L of every candidate, (1 + beta^2) P R / (R + beta^2 P).

    Precision and recall are each the best over the references, then combined. A caption without words
    counts as one empty word, so that it matches another such caption and nothing else.
    """
    task = comparison.task(view)
    vocabulary = len(comparison.words(view).vocabulary)
    precision, recall = _precision_and_recall(
        task.words, task.starts, task.references, task.candidates, task.candidate_starts, vocabulary
    )
    weighted = recall + beta**2 * precision
    return np.divide(
        (1 + beta**2) * precision * recall, weighted, out=np.zeros_like(weighted), where=weighted > 0
    )


@compiled
def _precision_and_recall(
    words: NDArray[np.int32],
    starts: Ints,
    references: Ints,
    candidates: Ints,
    candidate_starts: Ints,
    vocabulary: int,
) -> tuple[Floats, Floats]:
    """(n,) each: the best share of the candidate's words, and of a reference's, that lie in their LCS."""
    precision = np.zeros(candidates.size)
    recall = np.zeros(candidates.size)
    longest = 1
    for text in range(candidates.size):
        longest = max(longest, starts[text + 1] - starts[text])
    limbs = (longest + LIMB - 1) // LIMB
    # Row r of `places` marks where the r-th distinct word of the candidate stands in it.
    places = np.zeros((longest, limbs), dtype=np.int64)
    row_of_word = np.full(vocabulary, -1, dtype=np.int32)
    state = np.zeros(limbs, dtype=np.int64)
    for group in range(references.size - 1):
        for index in range(candidate_starts[group], candidate_starts[group + 1]):
            candidate = candidates[index]
            begin, length = starts[candidate], starts[candidate + 1] - starts[candidate]
            used = (length + LIMB - 1) // LIMB
            rows = 0
            for place in range(length):
                word = words[begin + place]
                if row_of_word[word] < 0:
                    row_of_word[word] = rows
                    places[rows, :used] = 0
                    rows += 1
                places[row_of_word[word], place // LIMB] |= np.int64(1) << (place % LIMB)
            for text in range(references[group], references[group + 1]):
                other = starts[text + 1] - starts[text]
                if length == 0 or other == 0:
                    common = 1 if length == other else 0
                else:
                    common = _lcs(words[starts[text] : starts[text + 1]], row_of_word, places, state, used)
                precision[candidate] = max(precision[candidate], common / max(length, 1))
                recall[candidate] = max(recall[candidate], common / max(other, 1))
            for place in range(length):
                row_of_word[words[begin + place]] = -1
    return precision, recall


@compiled
def _lcs(
    text: NDArray[np.int32], row_of_word: NDArray[np.int32], places: NDArray[np.int64], state: Ints, used: int
) -> int:
    """Length of the longest common subsequence, bit-parallel (Hyyrö 2004): a 0 in `state` is a word in common."""
    for limb in range(used):
        state[limb] = FULL
    for word in text:
        row = row_of_word[word]
        if row < 0:
            continue
        carry = np.int64(0)
        for limb in range(used):
            shared = state[limb] & places[row, limb]
            total = state[limb] + shared + carry
            carry = total >> LIMB
            state[limb] = (total | (state[limb] - shared)) & FULL
    common = 0
    for limb in range(used):
        zeros = ~state[limb] & FULL
        while zeros:
            zeros &= zeros - 1
            common += 1
    return common
