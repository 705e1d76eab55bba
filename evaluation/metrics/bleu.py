"""BLEU-1..4 as the MS COCO caption evaluation computes it (Papineni et al. 2002; V15 eq. 6-8).

The evaluation multiplies (correct + 1e-15) / (guessed + 1e-9) over the orders. Without the two constants
a third of the candidate pairs of PASCAL-50S tie at 0, so they belong to the definition. The brevity
penalty takes the reference length closest to the candidate's, the shorter of two equally close ones.
"""

from dataclasses import dataclass

import numpy as np

from evaluation.metrics.comparison import Comparison, Floats, View
from evaluation.metrics.corpus import Ints

TINY = 1e-15
SMALL = 1e-9
ORDERS = 4


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
    words = comparison.words(view)
    length = words.lengths[comparison.candidates]
    guessed = np.maximum(length[:, None] - np.arange(ORDERS), 0)
    correct = np.empty((comparison.size, ORDERS), dtype=np.int64)
    for order in range(1, ORDERS + 1):
        correct[:, order - 1] = comparison.clipped_matches(comparison.entries(view, order))
    return BleuStatistics(correct, guessed, length, _closest_lengths(comparison, words.lengths, length))


def _closest_lengths(comparison: Comparison, lengths: Ints, length: Ints) -> Ints:
    """(n,) int64: the reference length closest to each candidate's, the shorter one of two."""
    theirs = lengths[comparison.pair_references]
    # One number orders by distance first and then by length.
    span = int(lengths.max(initial=0)) + 1
    rank = np.abs(theirs - np.repeat(length, comparison.reference_counts)) * span + theirs
    return np.minimum.reduceat(rank, comparison.pair_starts) % span


def bleu_scores(statistics: BleuStatistics) -> Floats:
    """(n, 4) float64: BLEU-1..4 of every candidate."""
    ratios = (statistics.correct + TINY) / (statistics.guessed + SMALL)
    means = np.cumprod(ratios, axis=1) ** (1.0 / np.arange(1, ORDERS + 1))
    brevity = (statistics.length + TINY) / (statistics.reference_length + SMALL)
    penalty = np.where(brevity < 1, np.exp(1 - 1 / np.minimum(brevity, 1)), 1.0)
    return np.asarray(means * penalty[:, None])


def pooled(statistics: BleuStatistics) -> BleuStatistics:
    """The statistics of the whole corpus as those of one caption."""
    return BleuStatistics(
        statistics.correct.sum(axis=0, keepdims=True),
        statistics.guessed.sum(axis=0, keepdims=True),
        statistics.length.sum(keepdims=True),
        statistics.reference_length.sum(keepdims=True),
    )
