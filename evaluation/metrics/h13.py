"""Unigram overlap of H13 §4.1.1 and §4.3.2, and the Bleu-pre counts of its filter.

Bleu(i, s) = sum_w min(c_s(w), max_r c_r(w)) / sum_w c_s(w), Rouge(i, s) = sum_r sum_w min(c_s(w), c_r(w)) /
sum_r sum_w c_r(w), without brevity penalty. Bleu-pre is Bleu after the stop-word removal and stemming (of words of
more than three letters) of ROUGE-1.5.5 (Lin 2004). `order="stem-first"` stems first, which fits H13's printed filter
figures.
"""

from collections.abc import Sequence

import numpy as np

from evaluation.metrics.bleu import clipped_matches
from evaluation.metrics.comparison import Comparison, Lists, Task, View, check_lists, check_texts
from evaluation.metrics.errors import UnknownName
from evaluation.metrics.text.tokens import (
    CHANGES,
    STEM_FIRST,
    STOP_FIRST,
    TOKENIZERS,
    Numbers,
    TokenizedTexts,
    changed,
    encode,
)
from evaluation.numeric.arrays import Floats, Ints, ratio, starts_of
from evaluation.numeric.compiled import compiled

ORDERS = (STOP_FIRST, STEM_FIRST)


def h13_bleu_scores(comparison: Comparison, view: View) -> Floats:
    hits = clipped_matches(comparison.task(view), 1)[:, 0]
    total = comparison.tokens(view).lengths[: comparison.size]
    return ratio(hits, total, otherwise=0.0)


def h13_rouge_scores(comparison: Comparison, view: View) -> Floats:
    tokens = comparison.tokens(view)
    hits = _summed_matches(comparison.task(view), len(tokens.vocabulary))
    group_totals = np.diff(tokens.starts[comparison.group_starts])
    total = group_totals[comparison.group_of]
    return ratio(hits, total, otherwise=0.0)


@compiled
def _summed_matches(task: Task, vocabulary: int) -> Ints:
    tokens, starts, references, candidates, candidate_starts = task
    hits = np.zeros(candidates.size, dtype=np.int64)
    left = np.zeros(vocabulary, dtype=np.int64)
    for group in range(references.size - 1):
        for text in range(references[group], references[group + 1]):
            for index in range(candidate_starts[group], candidate_starts[group + 1]):
                candidate = candidates[index]
                for position in range(starts[text], starts[text + 1]):
                    left[tokens[position]] += 1
                for position in range(starts[candidate], starts[candidate + 1]):
                    if left[tokens[position]] > 0:
                        left[tokens[position]] -= 1
                        hits[candidate] += 1
                for position in range(starts[text], starts[text + 1]):
                    left[tokens[position]] = 0
    return hits


def bleu_pre_matrix(
    captions: Sequence[str], references: Sequence[Sequence[str]], order: str = STOP_FIRST
) -> tuple[Ints, Ints]:
    """Return Bleu-pre of every image and caption (H13 §4.3.2): int64 `hits` (images, captions), `totals` (captions,).

    `order` is one of ORDERS, or another of `tokens.CHANGES`.
    Bleu-pre(i, s) = hits[i, s] / totals[s], 0 if totals[s] is 0. Thousands of pairs hit 1/4 and 1/3 exactly, so compare
    integers: `(4 * hits >= totals) & (totals > 0)`.
    """
    tokens, groups, image_of = _prepared(captions, references, order)
    hits = _hits(tokens.tokens, tokens.starts, groups, len(captions), len(tokens.vocabulary))
    # Where no list came twice, the groups are the images already, and the matrix may be large.
    return hits if len(hits) == image_of.size else hits[image_of], tokens.lengths[: len(captions)]


def bleu_pre_pairs(
    captions: Sequence[str],
    references: Sequence[Sequence[str]],
    pairs: Sequence[Ints],
    order: str = STOP_FIRST,
) -> tuple[Ints, Ints]:
    """Return `bleu_pre_matrix` of some pairs alone: `pairs` are, for each image, positions in `captions`.

    `hits` (N,) follows the pairs image by image.
    """
    tokens, groups, image_of = _prepared(captions, references, order)
    starts, listed = starts_of(list(map(len, pairs))), np.concatenate(pairs).astype(np.int64)
    hits = _pair_hits(tokens.tokens, tokens.starts, groups, image_of, starts, listed, len(tokens.vocabulary))
    return hits, tokens.lengths[: len(captions)]


def _prepared(
    captions: Sequence[str], references: Sequence[Sequence[str]], order: str
) -> tuple[TokenizedTexts, Ints, Ints]:
    """Return the content words of captions and distinct lists, the lists' bounds, and each image's list."""
    if order not in CHANGES:
        raise UnknownName("order", order, CHANGES)
    check_texts(captions, "captions")
    check_lists(references, "references")
    lists = Lists()
    image_of = lists.add(references, "references")
    tokens = changed(encode([*captions, *lists.texts], TOKENIZERS["rouge"]), order)
    return tokens, lists.starts + len(captions), image_of


@compiled
def _note_most(tokens: Numbers, starts: Ints, first: int, last: int, count: Ints, most: Ints) -> None:
    """Set `most` of each word to the most that one of the texts from `first` to before `last` has of it."""
    for text in range(first, last):
        for position in range(starts[text], starts[text + 1]):
            count[tokens[position]] += 1
            most[tokens[position]] = max(most[tokens[position]], count[tokens[position]])
        for position in range(starts[text], starts[text + 1]):
            count[tokens[position]] = 0


@compiled
def _matches(tokens: Numbers, first: int, last: int, count: Ints, most: Ints) -> int:
    """Count the words from `first` to before `last`, each up to its `most`; `count` stays zero."""
    hits = 0
    for position in range(first, last):
        if count[tokens[position]] < most[tokens[position]]:
            count[tokens[position]] += 1
            hits += 1
    for position in range(first, last):
        count[tokens[position]] = 0
    return hits


@compiled
def _hits(tokens: Numbers, starts: Ints, groups: Ints, captions: int, vocabulary: int) -> Ints:
    hits = np.zeros((groups.size - 1, captions), dtype=np.int64)
    most = np.zeros(vocabulary, dtype=np.int64)
    count = np.zeros(vocabulary, dtype=np.int64)
    for group in range(groups.size - 1):
        _note_most(tokens, starts, groups[group], groups[group + 1], count, most)
        for caption in range(captions):
            hits[group, caption] = _matches(tokens, starts[caption], starts[caption + 1], count, most)
        most[tokens[starts[groups[group]] : starts[groups[group + 1]]]] = 0
    return hits


@compiled
def _pair_hits(
    tokens: Numbers, starts: Ints, groups: Ints, group_of: Ints, pairs: Ints, captions: Ints, vocabulary: int
) -> Ints:
    hits = np.zeros(captions.size, dtype=np.int64)
    most = np.zeros(vocabulary, dtype=np.int64)
    count = np.zeros(vocabulary, dtype=np.int64)
    for image in range(group_of.size):
        group = group_of[image]
        _note_most(tokens, starts, groups[group], groups[group + 1], count, most)
        for pair in range(pairs[image], pairs[image + 1]):
            caption = captions[pair]
            hits[pair] = _matches(tokens, starts[caption], starts[caption + 1], count, most)
        most[tokens[starts[groups[group]] : starts[groups[group + 1]]]] = 0
    return hits
