"""BLEU-1..4 as the MS COCO caption evaluation computes it (Papineni et al. 2002; V15 eq. 6-8).

The evaluation multiplies (correct + 1e-15) / (guessed + 1e-9) over the orders. Without the constants a third of the
candidate pairs of PASCAL-50S tie at 0. The brevity penalty uses the reference length closest to the candidate's.

`smoothing="nist"` is the smoothing of WG16: the k-th precision without a match becomes 1 / (2^k guessed), as in NIST's
mteval-v13a (Chen, Cherry 2014, technique 3). An order without n-grams counts as one guess. `length="mean"` uses the
mean length of the references, which agrees with the figures that V15 report for BLEU-4 on stems
(contrib/packs/README.md).

The module also has the unigram overlap of H13 §4.1.1 and §4.3.2, and the Bleu-pre counts of its filter:

    Bleu(i, s) = sum_w min(c_s(w), max_r c_r(w)) / sum_w c_s(w)
    Rouge(i, s) = sum_r sum_w min(c_s(w), c_r(w)) / sum_r sum_w c_r(w)

Neither has a brevity penalty. Bleu-pre is Bleu after stop words are removed and the other words, if longer than three
letters, are stemmed as in ROUGE-1.5.5 (Lin 2004). `order="stem-first"` stems first, which agrees with the filter
figures that H13 report.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from quorum.metrics.comparison import (
    MAX_TOKENS,
    Comparison,
    Lists,
    Task,
    View,
    check_lists,
    check_texts,
    parts_of_task,
    task_of_groups,
)
from quorum.metrics.inputs import InvalidInput, UnknownName
from quorum.metrics.text.changes import CHANGES, STEM_THEN_STOP, STOP_THEN_STEM, change_words
from quorum.metrics.text.tokenizers import TOKENIZERS
from quorum.metrics.text.tokens import TokenizedTexts, encode_texts
from quorum.metrics.text.tries import child, empty_trie, trie_bits
from quorum.numeric.arrays import Floats, Ints, Numbers, ratio, starts_of
from quorum.numeric.compiling import compiled
from quorum.numeric.packing import declare
from quorum.numeric.parallel import map_parts

# The evaluation of MS COCO adds these numbers to numerators and denominators.
TINY = 1e-15
SMALL = 1e-9
ORDERS = 4  # n-grams of one to four words
SMOOTHINGS = ("coco", "nist")
CLOSEST, MEAN = "closest", "mean"
LENGTHS = (CLOSEST, MEAN)


@dataclass(frozen=True)
class BleuStatistics:
    """Counts for n candidates, from which BLEU is computed.

    correct: (n, 4) int64, clipped matches by order. guessed: (n, 4) int64, n-grams of the candidate by order. length,
    reference_length: (n,) numbers of words.
    """

    correct: Ints
    guessed: Ints
    length: Ints
    reference_length: Ints | Floats


def bleu_statistics(comparison: Comparison, view: View, length: str = CLOSEST) -> BleuStatistics:
    """Return the counts. The reference length is that of the closest reference, or the mean (`length` of LENGTHS)."""
    statistics = comparison.cached_result(("bleu", view), lambda: _count_ngrams(comparison, view))
    if length == CLOSEST:
        return statistics
    return replace(statistics, reference_length=_mean_lengths(comparison, view))


def _count_ngrams(comparison: Comparison, view: View) -> BleuStatistics:
    task = comparison.task(view)
    length = comparison.tokens(view).lengths[: comparison.size]
    guessed = np.maximum(length[:, None] - np.arange(ORDERS), 0)
    return BleuStatistics(clipped_matches(task, ORDERS), guessed, length, _closest_lengths(task))


def clipped_matches(task: Task, orders: int) -> Ints:
    """Return (n, orders) int64 counts of matched n-grams.

    An n-gram counts at most as often as it occurs in any single reference.
    """
    max_words = MAX_TOKENS // orders
    most_words = int(np.diff(task.starts[task.references]).max())
    if most_words > max_words:
        raise InvalidInput(f"a list of references holds {most_words:,} words, expected at most {max_words:,}")
    correct = np.empty((task.candidates.size, orders), dtype=np.int64)
    for candidates, matches in map_parts(
        _matches_of_groups, (task, orders), parts_of_task(task), threads=True
    ):
        correct[candidates] = matches
    return correct


@declare
def _matches_of_groups(shared: tuple[Task, int], groups: tuple[int, int]) -> tuple[Ints, Ints]:
    task, orders = shared
    part = task_of_groups(task, *groups)
    return part.candidates, _clipped_matches(part, orders)


@compiled
def _clipped_matches(task: Task, orders: int) -> Ints:
    """Return `clipped_matches` of a task, in the order of `task.candidates`.

    A trie holds the n-grams of a group. Each node stores the largest count of its n-gram in any one reference, and a
    running count.
    """
    tokens, starts, references, candidates, candidate_starts = task
    correct = np.zeros((candidates.size, orders), dtype=np.int64)
    most_words = 0
    for group in range(references.size - 1):
        most_words = max(most_words, starts[references[group + 1]] - starts[references[group]])
    trie = empty_trie(most_words * orders)
    largest_counts = np.zeros(most_words * orders + 1, dtype=np.int64)
    counts = np.zeros(most_words * orders + 1, dtype=np.int64)
    counted_text = np.zeros(most_words * orders + 1, dtype=np.int64)
    for group in range(references.size - 1):
        if candidate_starts[group] == candidate_starts[group + 1]:
            continue
        first_text, end_text = references[group], references[group + 1]
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
def _closest_lengths(task: Task) -> Ints:
    """Return (n,) the length of the reference closest to the candidate's length; of two, the shorter one."""
    _, starts, references, candidates, candidate_starts = task
    closest = np.zeros(candidates.size, dtype=np.int64)
    for group in range(references.size - 1):
        for index in range(candidate_starts[group], candidate_starts[group + 1]):
            candidate = candidates[index]
            length = starts[candidate + 1] - starts[candidate]
            closest_length = np.int64(-1)
            for text in range(references[group], references[group + 1]):
                reference_length = starts[text + 1] - starts[text]
                nearer = abs(reference_length - length) - abs(closest_length - length)
                if closest_length < 0 or nearer < 0 or (nearer == 0 and reference_length < closest_length):
                    closest_length = reference_length
            closest[candidate] = closest_length
    return closest


def _mean_lengths(comparison: Comparison, view: View) -> Floats:
    lengths = comparison.tokens(view).lengths[comparison.size :]
    sums = np.add.reduceat(lengths, comparison.group_starts[:-1] - comparison.size)
    return np.asarray((sums / np.diff(comparison.group_starts))[comparison.group_of])


def bleu_scores(statistics: BleuStatistics, smoothing: str = "coco") -> Floats:
    """Return the (n, 4) scores BLEU-1 to BLEU-4."""
    if smoothing == "nist":
        ratios = _nist_precisions(statistics)
    else:
        ratios = (statistics.correct + TINY) / (statistics.guessed + SMALL)
    means = np.cumprod(ratios, axis=1) ** (1.0 / np.arange(1, ORDERS + 1))
    return np.asarray(means * _brevity_penalty(statistics, smoothing)[:, None])


def _nist_precisions(statistics: BleuStatistics) -> Floats:
    """Return the (n, 4) precisions by order, with NIST's smoothing; all 0 for a candidate without a matching word."""
    guessed = np.maximum(statistics.guessed, 1)
    has_no_match = statistics.correct == 0
    # The k-th order without a match counts 1 / 2^k matches.
    halvings = np.exp2(np.cumsum(has_no_match, axis=1))
    ratios = np.where(has_no_match, 1 / halvings, statistics.correct) / guessed
    return np.where(has_no_match[:, :1], 0.0, ratios)


def _brevity_penalty(statistics: BleuStatistics, smoothing: str) -> Floats:
    length, reference = statistics.length.astype(np.float64), statistics.reference_length
    if smoothing == "nist":
        ratio = np.divide(length, reference, out=np.ones(length.size), where=reference > length)
    else:
        ratio = (length + TINY) / (reference + SMALL)
    factor = np.exp(1 - 1 / np.minimum(np.where(ratio > 0, ratio, 1.0), 1))
    return np.where(ratio > 0, factor, 0.0)


def sum_statistics(statistics: BleuStatistics) -> BleuStatistics:
    """Return the counts summed over all candidates, as one row."""
    return BleuStatistics(
        statistics.correct.sum(axis=0, keepdims=True),
        statistics.guessed.sum(axis=0, keepdims=True),
        statistics.length.sum(keepdims=True),
        statistics.reference_length.sum(keepdims=True),
    )


FILTERS = (STOP_THEN_STEM, STEM_THEN_STOP)  # orders of the two steps before Bleu-pre


def h13_bleu_scores(comparison: Comparison, view: View) -> Floats:
    """Return (n,) clipped unigram precisions, without brevity penalty (H13 §4.1.1)."""
    hits = clipped_matches(comparison.task(view), 1)[:, 0]
    total = comparison.tokens(view).lengths[: comparison.size]
    return ratio(hits, total, otherwise=0.0)


def h13_rouge_scores(comparison: Comparison, view: View) -> Floats:
    """Return (n,) unigram recalls, whose hits and totals are summed over the references (H13 §4.1.1)."""
    tokens = comparison.tokens(view)
    hits = _summed_matches(comparison.task(view), len(tokens.vocabulary))
    group_totals = np.diff(tokens.starts[comparison.group_starts])
    total = group_totals[comparison.group_of]
    return ratio(hits, total, otherwise=0.0)


@compiled
def _summed_matches(task: Task, vocabulary: int) -> Ints:
    """Return (n,) numbers of words that a candidate shares with each of its references, summed over the references."""
    tokens, starts, references, candidates, candidate_starts = task
    hits = np.zeros(candidates.size, dtype=np.int64)
    counts_left = np.zeros(vocabulary, dtype=np.int64)
    for group in range(references.size - 1):
        for text in range(references[group], references[group + 1]):
            for index in range(candidate_starts[group], candidate_starts[group + 1]):
                candidate = candidates[index]
                for position in range(starts[text], starts[text + 1]):
                    counts_left[tokens[position]] += 1
                for position in range(starts[candidate], starts[candidate + 1]):
                    if counts_left[tokens[position]] > 0:
                        counts_left[tokens[position]] -= 1
                        hits[candidate] += 1
                for position in range(starts[text], starts[text + 1]):
                    counts_left[tokens[position]] = 0
    return hits


def bleu_pre_matrix(
    captions: Sequence[str], references: Sequence[Sequence[str]], order: str = STOP_THEN_STEM
) -> tuple[Ints, Ints]:
    """Return `hits` (images, captions) and `totals` (captions,), the int64 counts behind Bleu-pre (H13 §4.3.2).

    `order` is one of FILTERS, or another key of `text.changes.CHANGES`.
    Bleu-pre(i, s) = hits[i, s] / totals[s], 0 if totals[s] is 0. Thousands of pairs are exactly 1/4 or 1/3, so
    compare the integers: `(4 * hits >= totals) & (totals > 0)`.
    """
    tokens, groups, image_of = _prepare_words(captions, references, order)
    hits = _hits_of_all_pairs(tokens.tokens, tokens.starts, groups, len(captions), len(tokens.vocabulary))
    # The matrix may be large: do not copy it where each image is a group of its own.
    return hits if len(hits) == image_of.size else hits[image_of], tokens.lengths[: len(captions)]


def bleu_pre_pairs(
    captions: Sequence[str],
    references: Sequence[Sequence[str]],
    pairs: Sequence[Ints],
    order: str = STOP_THEN_STEM,
) -> tuple[Ints, Ints]:
    """Return `bleu_pre_matrix` for some pairs only: pairs[i] has the positions of the captions to compare with image i.

    `hits` is (N,), ordered by image.
    """
    tokens, groups, image_of = _prepare_words(captions, references, order)
    starts, positions = starts_of(list(map(len, pairs))), np.concatenate(pairs).astype(np.int64)
    vocabulary = len(tokens.vocabulary)
    hits = _hits_of_pairs(tokens.tokens, tokens.starts, groups, image_of, starts, positions, vocabulary)
    return hits, tokens.lengths[: len(captions)]


def _prepare_words(
    captions: Sequence[str], references: Sequence[Sequence[str]], order: str
) -> tuple[TokenizedTexts, Ints, Ints]:
    """Return the changed words of the captions and references, the bounds of the lists, and each image's list number.

    The words of the captions come first. A list object that several images share has one number.
    """
    if order not in CHANGES:
        raise UnknownName("order", order, CHANGES)
    check_texts(captions, "captions")
    check_lists(references, "references")
    lists = Lists()
    image_of = lists.add(references, "references")
    tokens = change_words(encode_texts([*captions, *lists.texts], TOKENIZERS["rouge"]), order)
    return tokens, lists.starts + len(captions), image_of


@compiled
def _set_largest_counts(
    tokens: Numbers, starts: Ints, first: int, last: int, counts: Ints, largest_counts: Ints
) -> None:
    """Set largest_counts[word] to the largest count of each word in any one of the texts first to last - 1."""
    for text in range(first, last):
        for position in range(starts[text], starts[text + 1]):
            counts[tokens[position]] += 1
            largest_counts[tokens[position]] = max(largest_counts[tokens[position]], counts[tokens[position]])
        for position in range(starts[text], starts[text + 1]):
            counts[tokens[position]] = 0


@compiled
def _count_matches(tokens: Numbers, first: int, last: int, counts: Ints, largest_counts: Ints) -> int:
    """Return the number of words in tokens[first:last], counting word w at most largest_counts[w] times.

    `counts` must be zero, and is zero again afterwards.
    """
    hits = 0
    for position in range(first, last):
        if counts[tokens[position]] < largest_counts[tokens[position]]:
            counts[tokens[position]] += 1
            hits += 1
    for position in range(first, last):
        counts[tokens[position]] = 0
    return hits


@compiled
def _hits_of_all_pairs(tokens: Numbers, starts: Ints, groups: Ints, captions: int, vocabulary: int) -> Ints:
    hits = np.zeros((groups.size - 1, captions), dtype=np.int64)
    largest_counts = np.zeros(vocabulary, dtype=np.int64)
    counts = np.zeros(vocabulary, dtype=np.int64)
    for group in range(groups.size - 1):
        _set_largest_counts(tokens, starts, groups[group], groups[group + 1], counts, largest_counts)
        for caption in range(captions):
            first, last = starts[caption], starts[caption + 1]
            hits[group, caption] = _count_matches(tokens, first, last, counts, largest_counts)
        largest_counts[tokens[starts[groups[group]] : starts[groups[group + 1]]]] = 0
    return hits


@compiled
def _hits_of_pairs(
    tokens: Numbers, starts: Ints, groups: Ints, group_of: Ints, pairs: Ints, captions: Ints, vocabulary: int
) -> Ints:
    hits = np.zeros(captions.size, dtype=np.int64)
    largest_counts = np.zeros(vocabulary, dtype=np.int64)
    counts = np.zeros(vocabulary, dtype=np.int64)
    for image in range(group_of.size):
        group = group_of[image]
        _set_largest_counts(tokens, starts, groups[group], groups[group + 1], counts, largest_counts)
        for pair in range(pairs[image], pairs[image + 1]):
            caption = captions[pair]
            hits[pair] = _count_matches(tokens, starts[caption], starts[caption + 1], counts, largest_counts)
        largest_counts[tokens[starts[groups[group]] : starts[groups[group + 1]]]] = 0
    return hits
