"""BLEU-1..4 as the MS COCO caption evaluation computes it (Papineni et al. 2002; V15 eq. 6-8).

The evaluation multiplies (correct + 1e-15) / (guessed + 1e-9) over the orders. Without the two constants
a third of the candidate pairs of PASCAL-50S tie at 0, so they belong to the definition. The brevity
penalty takes the reference length closest to the candidate's, the shorter of two equally close ones.

With `smoothing="nist"` it is WG16's: the k-th precision without a match becomes 1 / (2^k guessed), as NIST's
mteval-v13a does it (Chen and Cherry 2014, technique 3), and an order of which the candidate has no n-gram
counts as one guess.
"""

from dataclasses import dataclass

import numpy as np

from evaluation.compiled import compiled
from evaluation.metrics.comparison import MOST_WORDS, Comparison, Floats, Ints, Task, View
from evaluation.metrics.corpus import Numbers
from evaluation.metrics.errors import InvalidInput
from evaluation.metrics.tries import child, empty_trie, trie_bits

TINY = 1e-15
SMALL = 1e-9
ORDERS = 4
SMOOTHINGS = ("coco", "nist")


@dataclass(frozen=True)
class BleuStatistics:
    """What BLEU is computed from, summed over captions for a corpus figure.

    `correct` and `guessed` (n, 4) int64: clipped matches and n-grams of the candidate, by order; `length`
    and `reference_length` (n,) int64.
    """

    correct: Ints
    guessed: Ints
    length: Ints
    reference_length: Ints


def bleu_statistics(comparison: Comparison, view: View) -> BleuStatistics:
    """Count matches, guesses and lengths of every candidate."""
    return comparison.once(("bleu", view), lambda: _count(comparison, view))


def _count(comparison: Comparison, view: View) -> BleuStatistics:
    task = comparison.task(view)
    length = comparison.words(view).lengths[: comparison.size]
    guessed = np.maximum(length[:, None] - np.arange(ORDERS), 0)
    closest = _closest_lengths(task.starts, task.references, task.candidates, task.candidate_starts)
    return BleuStatistics(clipped_matches(task, ORDERS), guessed, length, closest)


def clipped_matches(task: Task, orders: int) -> Ints:
    """(n, orders) int64: n-grams of each candidate, each counted up to the most that one reference holds.

    Raises InvalidInput where the references of one candidate hold more n-grams than 32 bits number.
    """
    most = MOST_WORDS // orders
    longest = int(np.diff(task.starts[task.references]).max())
    if longest > most:
        raise InvalidInput(f"a list of references holds {longest:,} words, expected at most {most:,}")
    return _clipped_matches(
        task.words, task.starts, task.references, task.candidates, task.candidate_starts, orders
    )


@compiled
def _clipped_matches(
    words: Numbers,
    starts: Ints,
    references: Ints,
    candidates: Ints,
    candidate_starts: Ints,
    orders: int,
) -> Ints:
    """A trie of each group's n-grams; its nodes hold the most that a reference has and a running count."""
    correct = np.zeros((candidates.size, orders), dtype=np.int64)
    longest = 0
    for group in range(references.size - 1):
        longest = max(longest, starts[references[group + 1]] - starts[references[group]])
    trie = empty_trie(longest * orders)
    most = np.zeros(longest * orders + 1, dtype=np.int64)
    count = np.zeros(longest * orders + 1, dtype=np.int64)
    counted_for = np.zeros(longest * orders + 1, dtype=np.int64)
    for group in range(references.size - 1):
        if candidate_starts[group] == candidate_starts[group + 1]:
            continue
        first, last = references[group], references[group + 1]
        bits = trie_bits((starts[last] - starts[first]) * orders)
        nodes = 1
        for text in range(first, last):
            end = starts[text + 1]
            for at in range(starts[text], end):
                node = 0
                for place in range(at, min(at + orders, end)):
                    node = child(trie, bits, group, node, words[place], nodes)
                    if node == nodes:
                        nodes += 1
                        most[node] = 0
                        counted_for[node] = -1
                    if counted_for[node] != text:
                        counted_for[node] = text
                        count[node] = 0
                    count[node] += 1
                    most[node] = max(most[node], count[node])
        for index in range(candidate_starts[group], candidate_starts[group + 1]):
            text = candidates[index]
            end = starts[text + 1]
            for at in range(starts[text], end):
                node = 0
                for order in range(min(orders, end - at)):
                    node = child(trie, bits, group, node, words[at + order], -1)
                    if node < 0:
                        break
                    if counted_for[node] != text:
                        counted_for[node] = text
                        count[node] = 0
                    count[node] += 1
                    if count[node] <= most[node]:
                        correct[text, order] += 1
    return correct


@compiled
def _closest_lengths(starts: Ints, references: Ints, candidates: Ints, candidate_starts: Ints) -> Ints:
    """(n,) int64: the reference length closest to each candidate's, the shorter one of two."""
    closest = np.zeros(candidates.size, dtype=np.int64)
    for group in range(references.size - 1):
        for index in range(candidate_starts[group], candidate_starts[group + 1]):
            candidate = candidates[index]
            length = starts[candidate + 1] - starts[candidate]
            best = np.int64(-1)
            for text in range(references[group], references[group + 1]):
                other = starts[text + 1] - starts[text]
                nearer = abs(other - length) - abs(best - length)
                if best < 0 or nearer < 0 or (nearer == 0 and other < best):
                    best = other
            closest[candidate] = best
    return closest


def bleu_scores(statistics: BleuStatistics, smoothing: str = "coco") -> Floats:
    """(n, 4) float64: BLEU-1..4 of every candidate."""
    if smoothing == "nist":
        ratios = _nist_precisions(statistics)
        length, reference = statistics.length.astype(np.float64), statistics.reference_length
        brevity = np.divide(length, reference, out=np.ones(length.size), where=reference > length)
        penalty = np.exp(1 - 1 / np.where(brevity > 0, brevity, 1.0))
    else:
        ratios = (statistics.correct + TINY) / (statistics.guessed + SMALL)
        brevity = (statistics.length + TINY) / (statistics.reference_length + SMALL)
        penalty = np.where(brevity < 1, np.exp(1 - 1 / np.minimum(brevity, 1)), 1.0)
    means = np.cumprod(ratios, axis=1) ** (1.0 / np.arange(1, ORDERS + 1))
    return np.asarray(means * penalty[:, None])


def _nist_precisions(statistics: BleuStatistics) -> Floats:
    """(n, 4) float64; all 0 where not one word matches, as then nothing is left to smooth."""
    guessed = np.maximum(statistics.guessed, 1)
    empty = statistics.correct == 0
    halvings = np.exp2(np.cumsum(empty, axis=1))
    ratios = np.where(empty, 1 / halvings, statistics.correct) / guessed
    return np.where(empty[:, :1], 0.0, ratios)


def pooled(statistics: BleuStatistics) -> BleuStatistics:
    """The statistics of the whole corpus as those of one caption."""
    return BleuStatistics(
        statistics.correct.sum(axis=0, keepdims=True),
        statistics.guessed.sum(axis=0, keepdims=True),
        statistics.length.sum(keepdims=True),
        statistics.reference_length.sum(keepdims=True),
    )
