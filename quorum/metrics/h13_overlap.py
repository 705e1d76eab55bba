"""Unigram overlap of a caption with references (Hodosh et al. 2013, H13, §4.1.1), and its Bleu-pre filter (§4.3.2).

    Bleu(i, s) = sum_w min(c_s(w), max_r c_r(w)) / sum_w c_s(w)
    Rouge(i, s) = sum_r sum_w min(c_s(w), c_r(w)) / sum_r sum_w c_r(w)

Here c_s(w) is the count of word w in caption s, and c_r(w) in reference r of image i. Neither score has a brevity
penalty.

Bleu-pre is Bleu after stop words are removed and the other words, if longer than three letters, are stemmed as in
ROUGE-1.5.5 (Lin 2004). `order="stem-first"` stems first, which agrees with the filter figures that H13 report.
"""

from collections.abc import Sequence

import numpy as np

from quorum.metrics.bleu import clipped_matches
from quorum.metrics.comparison import DistinctLists, ReferenceComparison, TextGroups, Tokenization
from quorum.metrics.inputs import UnknownName, check_lists, check_texts
from quorum.metrics.text.changes import CHANGES, STEM_THEN_STOP, STOP_THEN_STEM, change_words
from quorum.metrics.text.tokenizers import TOKENIZERS
from quorum.metrics.text.tokens import TokenizedTexts, encode_texts
from quorum.numeric.arrays import Floats, Ints, Numbers, ratio, starts_of
from quorum.numeric.compiling import compiled

STEP_ORDERS = (STOP_THEN_STEM, STEM_THEN_STOP)  # orders of the two steps before Bleu-pre


def h13_bleu_scores(comparison: ReferenceComparison, tokenization: Tokenization) -> Floats:
    """Return (n,) clipped unigram precisions, without brevity penalty (H13 §4.1.1)."""
    hits = clipped_matches(comparison.text_groups(tokenization), 1)[:, 0]
    lengths = comparison.tokens(tokenization).lengths[: comparison.candidate_count]
    return ratio(hits, lengths, otherwise=0.0)


def h13_rouge_scores(comparison: ReferenceComparison, tokenization: Tokenization) -> Floats:
    """Return (n,) unigram recalls, whose hits and totals are summed over the references (H13 §4.1.1)."""
    tokens = comparison.tokens(tokenization)
    hits = _summed_matches(comparison.text_groups(tokenization), len(tokens.vocabulary))
    words_by_group = np.diff(tokens.starts[comparison.group_starts])
    return ratio(hits, words_by_group[comparison.group_of], otherwise=0.0)


@compiled
def _summed_matches(groups: TextGroups, vocabulary_size: int) -> Ints:
    """Return (n,) numbers of words that a candidate shares with each of its references, summed over the references."""
    tokens, starts, reference_starts, candidates, candidate_starts = groups
    hits = np.zeros(candidates.size, dtype=np.int64)
    unmatched_counts = np.zeros(vocabulary_size, dtype=np.int64)
    for group in range(reference_starts.size - 1):
        for text in range(reference_starts[group], reference_starts[group + 1]):
            for index in range(candidate_starts[group], candidate_starts[group + 1]):
                candidate = candidates[index]
                for position in range(starts[text], starts[text + 1]):
                    unmatched_counts[tokens[position]] += 1
                for position in range(starts[candidate], starts[candidate + 1]):
                    if unmatched_counts[tokens[position]] > 0:
                        unmatched_counts[tokens[position]] -= 1
                        hits[candidate] += 1
                for position in range(starts[text], starts[text + 1]):
                    unmatched_counts[tokens[position]] = 0
    return hits


def bleu_pre_matrix(
    captions: Sequence[str], references: Sequence[Sequence[str]], order: str = STOP_THEN_STEM
) -> tuple[Ints, Ints]:
    """Return `hits` (images, captions) and `totals` (captions,), the int64 counts behind Bleu-pre (H13 §4.3.2).

    `order` is one of STEP_ORDERS, or another key of `text.changes.CHANGES`. `references` has a list for each image.

    Bleu-pre(i, s) = hits[i, s] / totals[s], 0 if totals[s] is 0. Thousands of pairs are exactly 1/4 or 1/3, so
    a filter of pairs from 1/4 on compares the integers: `(4 * hits >= totals) & (totals > 0)`.
    """
    tokens, list_starts, list_of_image = _prepare_words(captions, references, order)
    hits = _hits_of_all_pairs(
        tokens.tokens, tokens.starts, list_starts, len(captions), len(tokens.vocabulary)
    )
    # The matrix may be large: do not copy it where each image has a list of its own.
    hits_by_image = hits if len(hits) == list_of_image.size else hits[list_of_image]
    return hits_by_image, tokens.lengths[: len(captions)]


def bleu_pre_pairs(
    captions: Sequence[str],
    references: Sequence[Sequence[str]],
    pairs: Sequence[Ints],
    order: str = STOP_THEN_STEM,
) -> tuple[Ints, Ints]:
    """Return `bleu_pre_matrix` for some pairs only: pairs[i] has the positions of the captions to compare with image i.

    `hits` is (N,), ordered by image.
    """
    tokens, list_starts, list_of_image = _prepare_words(captions, references, order)
    hits = _hits_of_pairs(
        tokens.tokens,
        tokens.starts,
        list_starts,
        list_of_image,
        pair_starts=starts_of(list(map(len, pairs))),
        pair_captions=np.concatenate(pairs).astype(np.int64),
        vocabulary_size=len(tokens.vocabulary),
    )
    return hits, tokens.lengths[: len(captions)]


def _prepare_words(
    captions: Sequence[str], references: Sequence[Sequence[str]], order: str
) -> tuple[TokenizedTexts, Ints, Ints]:
    """Return the changed words of the captions and references, the bounds of the lists, and each image's list number.

    The words of the captions come first. A list object that several images share has one number (`DistinctLists`).
    """
    if order not in CHANGES:
        raise UnknownName("order", order, CHANGES)
    check_texts(captions, "captions")
    check_lists(references, "references")
    lists = DistinctLists()
    list_of_image = lists.add(references, "references")
    tokens = change_words(encode_texts([*captions, *lists.texts], TOKENIZERS["rouge"]), order)
    return tokens, lists.starts + len(captions), list_of_image


@compiled
def _set_largest_counts(
    tokens: Numbers, starts: Ints, first: int, end: int, counts: Ints, largest_counts: Ints
) -> None:
    """Set largest_counts[word] to the largest count of each word in any one of the texts first to end - 1.

    `counts` and `largest_counts` must be zero. `counts` is zero again afterwards.
    """
    for text in range(first, end):
        for position in range(starts[text], starts[text + 1]):
            counts[tokens[position]] += 1
            largest_counts[tokens[position]] = max(largest_counts[tokens[position]], counts[tokens[position]])
        for position in range(starts[text], starts[text + 1]):
            counts[tokens[position]] = 0


@compiled
def _count_matches(tokens: Numbers, first: int, end: int, counts: Ints, largest_counts: Ints) -> int:
    """Return the number of words in tokens[first:end], counting word w at most largest_counts[w] times.

    `counts` must be zero, and is zero again afterwards.
    """
    hits = 0
    for position in range(first, end):
        if counts[tokens[position]] < largest_counts[tokens[position]]:
            counts[tokens[position]] += 1
            hits += 1
    for position in range(first, end):
        counts[tokens[position]] = 0
    return hits


@compiled
def _hits_of_all_pairs(
    tokens: Numbers, starts: Ints, list_starts: Ints, caption_count: int, vocabulary_size: int
) -> Ints:
    """Return the (lists, captions) numbers of words that each caption shares with each list of references."""
    hits = np.zeros((list_starts.size - 1, caption_count), dtype=np.int64)
    largest_counts = np.zeros(vocabulary_size, dtype=np.int64)
    counts = np.zeros(vocabulary_size, dtype=np.int64)
    for number in range(list_starts.size - 1):
        first_text, end_text = list_starts[number], list_starts[number + 1]
        _set_largest_counts(tokens, starts, first_text, end_text, counts, largest_counts)
        for caption in range(caption_count):
            first, end = starts[caption], starts[caption + 1]
            hits[number, caption] = _count_matches(tokens, first, end, counts, largest_counts)
        largest_counts[tokens[starts[first_text] : starts[end_text]]] = 0
    return hits


@compiled
def _hits_of_pairs(
    tokens: Numbers,
    starts: Ints,
    list_starts: Ints,
    list_of_image: Ints,
    pair_starts: Ints,
    pair_captions: Ints,
    vocabulary_size: int,
) -> Ints:
    """Return the (pairs,) numbers of words that each pair's caption shares with the list of its image.

    Image i has the pairs `pair_starts[i]` to `pair_starts[i + 1] - 1`.
    """
    hits = np.zeros(pair_captions.size, dtype=np.int64)
    largest_counts = np.zeros(vocabulary_size, dtype=np.int64)
    counts = np.zeros(vocabulary_size, dtype=np.int64)
    for image in range(list_of_image.size):
        first_text, end_text = list_starts[list_of_image[image]], list_starts[list_of_image[image] + 1]
        _set_largest_counts(tokens, starts, first_text, end_text, counts, largest_counts)
        for pair in range(pair_starts[image], pair_starts[image + 1]):
            first, end = starts[pair_captions[pair]], starts[pair_captions[pair] + 1]
            hits[pair] = _count_matches(tokens, first, end, counts, largest_counts)
        largest_counts[tokens[starts[first_text] : starts[end_text]]] = 0
    return hits
