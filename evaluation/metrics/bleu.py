"""BLEU-1..4 as the MS COCO caption evaluation computes it (Papineni et al. 2002; V15 eq. 6-8).

The evaluation multiplies (correct + 1e-15) / (guessed + 1e-9) over the orders; without the constants a third of the
candidate pairs of PASCAL-50S tie at 0. The brevity penalty takes the closest reference length.

`smoothing="nist"` is WG16's: the k-th precision without a match becomes 1 / (2^k guessed), as in NIST's mteval-v13a
(Chen, Cherry 2014, technique 3); an order without n-grams counts as one guess. `length="mean"` takes the mean length
of the references, which fits the figures that V15 print for BLEU-4 on stems (docs/replication.md).
"""

from dataclasses import dataclass, replace

import numpy as np

from evaluation.metrics.comparison import MOST_TOKENS, Comparison, Task, View, groups_of, parts_of
from evaluation.metrics.errors import InvalidInput
from evaluation.metrics.text.tokens import child, empty_trie, trie_bits
from evaluation.numeric.arrays import Floats, Ints
from evaluation.numeric.compiled import compiled
from evaluation.numeric.parallel import map_parts

TINY = 1e-15
SMALL = 1e-9
ORDERS = 4
SMOOTHINGS = ("coco", "nist")
CLOSEST, MEAN = "closest", "mean"
LENGTHS = (CLOSEST, MEAN)


@dataclass(frozen=True)
class BleuStatistics:
    """The counts behind BLEU; `correct`, `guessed` (n, 4) int64: clipped matches and n-grams, by order."""

    correct: Ints
    guessed: Ints
    length: Ints
    reference_length: Ints | Floats


def bleu_statistics(comparison: Comparison, view: View, length: str = CLOSEST) -> BleuStatistics:
    statistics = comparison.once(("bleu", view), lambda: _count(comparison, view))
    if length == CLOSEST:
        return statistics
    return replace(statistics, reference_length=_mean_lengths(comparison, view))


def _count(comparison: Comparison, view: View) -> BleuStatistics:
    task = comparison.task(view)
    length = comparison.tokens(view).lengths[: comparison.size]
    guessed = np.maximum(length[:, None] - np.arange(ORDERS), 0)
    return BleuStatistics(clipped_matches(task, ORDERS), guessed, length, _closest_lengths(task))


def clipped_matches(task: Task, orders: int) -> Ints:
    """Return (n, orders) int64: n-grams, each up to the most of one reference."""
    most = MOST_TOKENS // orders
    longest = int(np.diff(task.starts[task.references]).max())
    if longest > most:
        raise InvalidInput(f"a list of references holds {longest:,} words, expected at most {most:,}")
    correct = np.empty((task.candidates.size, orders), dtype=np.int64)
    for candidates, matches in map_parts(_matches_of_groups, (task, orders), parts_of(task), threads=True):
        correct[candidates] = matches
    return correct


def _matches_of_groups(shared: tuple[Task, int], groups: tuple[int, int]) -> tuple[Ints, Ints]:
    task, orders = shared
    part = groups_of(task, *groups)
    return part.candidates, _clipped_matches(part, orders)


@compiled
def _clipped_matches(task: Task, orders: int) -> Ints:
    """Return (candidates of the task, orders).

    A trie holds each group's n-grams; nodes hold the most of a reference and a running count.
    """
    tokens, starts, references, candidates, candidate_starts = task
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
        # Count each reference's n-grams; a node keeps the most of one reference.
        nodes = 1
        for text in range(first, last):
            end = starts[text + 1]
            for at in range(starts[text], end):
                node = 0
                for end_of_ngram in range(at, min(at + orders, end)):
                    node = child(trie, bits, group, node, tokens[end_of_ngram], nodes)
                    if node == nodes:
                        nodes += 1
                        most[node] = 0
                        counted_for[node] = -1
                    if counted_for[node] != text:
                        counted_for[node] = text
                        count[node] = 0
                    count[node] += 1
                    most[node] = max(most[node], count[node])
        # Count each candidate's n-grams, as long as a reference has as many.
        for index in range(candidate_starts[group], candidate_starts[group + 1]):
            text = candidates[index]
            end = starts[text + 1]
            for at in range(starts[text], end):
                node = 0
                for order in range(min(orders, end - at)):
                    node = child(trie, bits, group, node, tokens[at + order], -1)
                    if node < 0:
                        break
                    if counted_for[node] != text:
                        counted_for[node] = text
                        count[node] = 0
                    count[node] += 1
                    if count[node] <= most[node]:
                        correct[index, order] += 1
    return correct


@compiled
def _closest_lengths(task: Task) -> Ints:
    _, starts, references, candidates, candidate_starts = task
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


def _mean_lengths(comparison: Comparison, view: View) -> Floats:
    lengths = comparison.tokens(view).lengths[comparison.size :]
    sums = np.add.reduceat(lengths, comparison.group_starts[:-1] - comparison.size)
    return np.asarray((sums / np.diff(comparison.group_starts))[comparison.group_of])


def bleu_scores(statistics: BleuStatistics, smoothing: str = "coco") -> Floats:
    """Return (n, 4): BLEU-1..4."""
    if smoothing == "nist":
        ratios = _nist_precisions(statistics)
    else:
        ratios = (statistics.correct + TINY) / (statistics.guessed + SMALL)
    means = np.cumprod(ratios, axis=1) ** (1.0 / np.arange(1, ORDERS + 1))
    return np.asarray(means * _brevity_penalty(statistics, smoothing)[:, None])


def _nist_precisions(statistics: BleuStatistics) -> Floats:
    """Return (n, 4); all 0 if not one word matches."""
    guessed = np.maximum(statistics.guessed, 1)
    empty = statistics.correct == 0
    halvings = np.exp2(np.cumsum(empty, axis=1))
    ratios = np.where(empty, 1 / halvings, statistics.correct) / guessed
    return np.where(empty[:, :1], 0.0, ratios)


def _brevity_penalty(statistics: BleuStatistics, smoothing: str) -> Floats:
    length, reference = statistics.length.astype(np.float64), statistics.reference_length
    if smoothing == "nist":
        ratio = np.divide(length, reference, out=np.ones(length.size), where=reference > length)
    else:
        ratio = (length + TINY) / (reference + SMALL)
    factor = np.exp(1 - 1 / np.minimum(np.where(ratio > 0, ratio, 1.0), 1))
    return np.where(ratio > 0, factor, 0.0)


def pooled(statistics: BleuStatistics) -> BleuStatistics:
    """Return the corpus as one caption."""
    return BleuStatistics(
        statistics.correct.sum(axis=0, keepdims=True),
        statistics.guessed.sum(axis=0, keepdims=True),
        statistics.length.sum(keepdims=True),
        statistics.reference_length.sum(keepdims=True),
    )
