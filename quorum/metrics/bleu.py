"""BLEU-1 to BLEU-4 as the MS COCO caption evaluation computes it.

Papineni et al. 2002; Vedantam et al. 2015 (V15) eq. 6-8. The evaluation multiplies (correct + 1e-15) / (guessed +
1e-9) over the orders. Without the constants a third of the candidate pairs of PASCAL-50S tie at 0. The brevity penalty
uses the reference length closest to the candidate's.

`smoothing="nist"` is the smoothing of Wang and Gaizauskas 2016 (WG16): the k-th precision without a match becomes 1 /
(2^k guessed), as in NIST's mteval-v13a (Chen, Cherry 2014, technique 3). An order without n-grams counts as one guess.
`length="mean"` uses the mean length of the references, which agrees with the figures that V15 report for BLEU-4 on
stems (contrib/packs/README.md).
"""

from dataclasses import dataclass, replace

import numpy as np

from quorum.metrics.comparison import (
    MAX_TOKENS,
    ReferenceComparison,
    TextGroups,
    Tokenization,
    select_groups,
    split_groups,
)
from quorum.metrics.inputs import InvalidInput
from quorum.metrics.text.tries import child, empty_trie, trie_bits
from quorum.numeric.arrays import Floats, Ints
from quorum.numeric.compiling import compiled
from quorum.numeric.packing import declare
from quorum.numeric.parallel import map_parts

ADDED_TO_NUMERATOR = 1e-15
ADDED_TO_DENOMINATOR = 1e-9
ORDERS = 4  # n-grams of one to four words
SMOOTHINGS = ("coco", "nist")
CLOSEST, MEAN = "closest", "mean"
LENGTHS = (CLOSEST, MEAN)


@dataclass(frozen=True)
class BleuStatistics:
    """Counts for n candidates, from which BLEU is computed.

    correct: (n, 4) int64, clipped matches by order. guessed: (n, 4) int64, n-grams of the candidate by order. lengths:
    (n,) words of the candidate. reference_lengths: (n,) words of the closest reference, or the mean of the references.
    """

    correct: Ints
    guessed: Ints
    lengths: Ints
    reference_lengths: Ints | Floats


def bleu_statistics(
    comparison: ReferenceComparison, tokenization: Tokenization, length: str = CLOSEST
) -> BleuStatistics:
    """Return the counts of all candidates. `length` is one of LENGTHS, and says which reference length is meant."""
    statistics = comparison.cached_result(
        ("bleu", tokenization), lambda: _count_ngrams(comparison, tokenization)
    )
    if length == CLOSEST:
        return statistics
    return replace(statistics, reference_lengths=_mean_lengths(comparison, tokenization))


def _count_ngrams(comparison: ReferenceComparison, tokenization: Tokenization) -> BleuStatistics:
    groups = comparison.text_groups(tokenization)
    lengths = comparison.tokens(tokenization).lengths[: comparison.candidate_count]
    guessed = np.maximum(lengths[:, None] - np.arange(ORDERS), 0)
    return BleuStatistics(clipped_matches(groups, ORDERS), guessed, lengths, _closest_lengths(groups))


def clipped_matches(groups: TextGroups, orders: int) -> Ints:
    """Return (n, orders) int64 counts of matched n-grams, of one word to `orders` words.

    An n-gram counts at most as often as it occurs in any single reference.
    """
    max_words = MAX_TOKENS // orders
    word_count = int(np.diff(groups.starts[groups.reference_starts]).max())
    if word_count > max_words:
        raise InvalidInput(f"a list of references holds {word_count:,} words, expected at most {max_words:,}")
    correct = np.empty((groups.candidates.size, orders), dtype=np.int64)
    for candidates, matches in map_parts(
        _matches_of_groups, (groups, orders), split_groups(groups), threads=True
    ):
        correct[candidates] = matches
    return correct


@declare
def _matches_of_groups(shared: tuple[TextGroups, int], group_range: tuple[int, int]) -> tuple[Ints, Ints]:
    """Return the candidates of a range of groups, and their clipped matches."""
    groups, orders = shared
    part = select_groups(groups, *group_range)
    return part.candidates, _clipped_matches(part, orders)


@compiled
def _clipped_matches(groups: TextGroups, orders: int) -> Ints:
    """Return `clipped_matches` of groups, in the order of `groups.candidates`.

    A group has references, and the candidates compared with them. A trie holds the n-grams of its references. For
    each node there is the largest count of its n-gram in any one reference, the count in the text that is read
    (`counts`), and the text to which this count belongs (`counted_text`).
    """
    tokens, starts, reference_starts, candidates, candidate_starts = groups
    correct = np.zeros((candidates.size, orders), dtype=np.int64)
    max_words = 0
    for group in range(reference_starts.size - 1):
        max_words = max(max_words, starts[reference_starts[group + 1]] - starts[reference_starts[group]])
    # `child(..., token, new)` returns the node of an n-gram with one more word: if there is none yet, a node with the
    # number `new`, or -1 if `new` is -1. Nodes of earlier groups do not count.
    trie = empty_trie(max_words * orders)
    largest_counts = np.zeros(max_words * orders + 1, dtype=np.int64)
    counts = np.zeros(max_words * orders + 1, dtype=np.int64)
    counted_text = np.zeros(max_words * orders + 1, dtype=np.int64)
    for group in range(reference_starts.size - 1):
        if candidate_starts[group] == candidate_starts[group + 1]:  # only a document of CIDEr's corpus
            continue
        first_text, end_text = reference_starts[group], reference_starts[group + 1]
        bits = trie_bits((starts[end_text] - starts[first_text]) * orders)
        # Count each reference's n-grams; a node keeps the largest count in one reference.
        nodes = 1
        for text in range(first_text, end_text):
            end = starts[text + 1]
            for first_word in range(starts[text], end):
                node = 0
                for end_of_ngram in range(first_word, min(first_word + orders, end)):
                    node = child(trie, bits, group, node, tokens[end_of_ngram], nodes)
                    if node == nodes:
                        nodes += 1
                        largest_counts[node] = 0
                        counted_text[node] = -1
                    if counted_text[node] != text:
                        counted_text[node] = text
                        counts[node] = 0
                    counts[node] += 1
                    largest_counts[node] = max(largest_counts[node], counts[node])
        # Count each candidate's n-grams, each at most as often as it occurs in any one reference.
        for index in range(candidate_starts[group], candidate_starts[group + 1]):
            text = candidates[index]
            end = starts[text + 1]
            for first_word in range(starts[text], end):
                node = 0
                for order in range(min(orders, end - first_word)):
                    node = child(trie, bits, group, node, tokens[first_word + order], -1)
                    if node < 0:
                        break
                    if counted_text[node] != text:
                        counted_text[node] = text
                        counts[node] = 0
                    counts[node] += 1
                    if counts[node] <= largest_counts[node]:
                        correct[index, order] += 1
    return correct


@compiled
def _closest_lengths(groups: TextGroups) -> Ints:
    """Return the (n,) lengths of the references closest to the candidate's length; of two, the shorter one."""
    _, starts, reference_starts, candidates, candidate_starts = groups
    closest_lengths = np.zeros(candidates.size, dtype=np.int64)
    for group in range(reference_starts.size - 1):
        for index in range(candidate_starts[group], candidate_starts[group + 1]):
            candidate = candidates[index]
            length = starts[candidate + 1] - starts[candidate]
            closest_length = np.int64(-1)
            for text in range(reference_starts[group], reference_starts[group + 1]):
                reference_length = starts[text + 1] - starts[text]
                excess = abs(reference_length - length) - abs(closest_length - length)
                if closest_length < 0 or excess < 0 or (excess == 0 and reference_length < closest_length):
                    closest_length = reference_length
            closest_lengths[candidate] = closest_length
    return closest_lengths


def _mean_lengths(comparison: ReferenceComparison, tokenization: Tokenization) -> Floats:
    lengths = comparison.tokens(tokenization).lengths[comparison.candidate_count :]
    first_references = comparison.group_starts[:-1] - comparison.candidate_count  # of each group
    sums = np.add.reduceat(lengths, first_references)
    return np.asarray((sums / np.diff(comparison.group_starts))[comparison.group_of])


def bleu_scores(statistics: BleuStatistics, smoothing: str = "coco") -> Floats:
    """Return the (n, 4) scores BLEU-1 to BLEU-4 of the candidates. `smoothing` is one of SMOOTHINGS."""
    if smoothing == "nist":
        ratios = _nist_precisions(statistics)
    else:
        ratios = (statistics.correct + ADDED_TO_NUMERATOR) / (statistics.guessed + ADDED_TO_DENOMINATOR)
    means = np.cumprod(ratios, axis=1) ** (1.0 / np.arange(1, ORDERS + 1))
    return np.asarray(means * _brevity_penalties(statistics, smoothing)[:, None])


def _nist_precisions(statistics: BleuStatistics) -> Floats:
    """Return the (n, 4) precisions by order, with NIST's smoothing; all 0 for a candidate without a matching word."""
    guessed = np.maximum(statistics.guessed, 1)
    has_no_match = statistics.correct == 0
    # The k-th order without a match counts 1 / 2^k matches.
    halvings = np.exp2(np.cumsum(has_no_match, axis=1))
    ratios = np.where(has_no_match, 1 / halvings, statistics.correct) / guessed
    return np.where(has_no_match[:, :1], 0.0, ratios)


def _brevity_penalties(statistics: BleuStatistics, smoothing: str) -> Floats:
    """Return the (n,) factors by which precisions of short candidates are multiplied."""
    lengths, reference_lengths = statistics.lengths.astype(np.float64), statistics.reference_lengths
    if smoothing == "nist":
        is_shorter = reference_lengths > lengths
        ratios = np.divide(lengths, reference_lengths, out=np.ones(lengths.size), where=is_shorter)
    else:
        ratios = (lengths + ADDED_TO_NUMERATOR) / (reference_lengths + ADDED_TO_DENOMINATOR)
    factors = np.exp(1 - 1 / np.minimum(np.where(ratios > 0, ratios, 1.0), 1))
    return np.where(ratios > 0, factors, 0.0)


def sum_statistics(statistics: BleuStatistics) -> BleuStatistics:
    """Return the counts summed over all candidates, as one row."""
    return BleuStatistics(
        statistics.correct.sum(axis=0, keepdims=True),
        statistics.guessed.sum(axis=0, keepdims=True),
        statistics.lengths.sum(keepdims=True),
        statistics.reference_lengths.sum(keepdims=True),
    )
