"""Unigram overlap as H13 §4.1.1 and §4.3.2 define it, and the Bleu-pre matrix behind its filter.

Bleu(i, s) = sum_w min(c_s(w), max_r c_r(w)) / sum_w c_s(w), Rouge(i, s) = sum_r sum_w min(c_s(w), c_r(w)) /
sum_r sum_w c_r(w), neither with a brevity penalty. Bleu-pre is Bleu after the stemming and stop-word
removal of the ROUGE-1.5.5 script (Lin 2004): stop words are dropped first, then words of more than three
letters are stemmed. `order="stem-first"` stems before it drops, which fits H13's printed filter figures.
"""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from evaluation.metrics.changes import STEM_FIRST, STOP_FIRST, changed
from evaluation.metrics.comparison import Comparison, Floats, View
from evaluation.metrics.corpus import Entries, Groups, Ints, TextTable, check_texts, encode
from evaluation.metrics.errors import InvalidInput, UnknownName
from evaluation.metrics.text import TOKENIZERS

ORDERS = (STOP_FIRST, STEM_FIRST)


def h13_bleu_scores(comparison: Comparison, view: View) -> Floats:
    """(n,) float64: Bleu(i, s); 0 for a caption without words."""
    hits = comparison.clipped_matches(comparison.entries(view, 1))
    total = comparison.words(view).lengths[comparison.candidates]
    return np.divide(hits, total, out=np.zeros(comparison.size), where=total > 0)


def h13_rouge_scores(comparison: Comparison, view: View) -> Floats:
    """(n,) float64: Rouge(i, s); 0 where no reference holds a word."""
    entries = comparison.entries(view, 1)
    lengths = comparison.words(view).lengths
    total = np.add.reduceat(lengths[comparison.pair_references], comparison.pair_starts)
    hits = np.zeros(comparison.pair_references.size)
    for ours, theirs, pair in comparison.shared(entries):
        matched = np.minimum(entries.count[ours], entries.count[theirs])
        hits += np.bincount(pair, weights=matched, minlength=hits.size)
    sums = np.add.reduceat(hits, comparison.pair_starts)
    return np.divide(sums, total, out=np.zeros(comparison.size), where=total > 0)


def bleu_pre_matrix(
    captions: Sequence[str], references: Sequence[Sequence[str]], order: str = STOP_FIRST
) -> tuple[Ints, Ints]:
    """Bleu-pre of every image and caption, as counts (H13 §4.3.2).

    `captions` are m texts, `references` the lists of references of n images. Returns `hits` (n, m) int64,
    the clipped matches of caption s against image i, and `totals` (m,) int64, the content words of each
    caption: Bleu-pre(i, s) = hits[i, s] / totals[s], and 0 where totals[s] is 0. Thousands of pairs hit 1/4
    and 1/3 exactly, so compare integers: `4 * hits >= totals` keeps the pairs at 1/4 and above (equality is
    kept), and `totals > 0` must be asked for besides, as a caption without content words matches nothing.

    Raises InvalidInput for texts that are none, UnknownName for an unknown `order`.
    """
    if order not in ORDERS:
        raise UnknownName("order", order, ORDERS)
    check_texts(captions, "captions")
    if len(references) == 0:
        raise InvalidInput("references is empty, expected a list of references for each image")
    table = TextTable()
    numbered = table.add(captions)
    groups = table.add_lists(references, "references")
    words = changed(encode(table.texts, TOKENIZERS["rouge"]), order)
    ours = Entries.of(words, 1, numbered, np.arange(numbered.size + 1))
    theirs = Entries.of(words, 1, groups.texts, groups.starts)
    if ours.count.size == 0 or theirs.count.size == 0:
        hits = np.zeros((groups.count, numbered.size), dtype=np.int64)
    else:
        hits = _clipped_products(ours, theirs, groups, numbered.size, len(words.vocabulary))
    return hits[groups.of], words.lengths[numbered]


def _clipped_products(ours: Entries, theirs: Entries, groups: Groups, captions: int, vocabulary: int) -> Ints:
    """(groups, captions) int64: sums of the smaller of a caption's and a group's count of each word."""
    group = np.repeat(np.arange(groups.count), groups.sizes)[theirs.member[theirs.segments]]
    word = theirs.gram[theirs.segments]
    allowed = np.maximum.reduceat(theirs.count, theirs.segments)
    in_group = _marks(group, word, (groups.count, vocabulary))
    in_caption = _marks(ours.member, ours.gram, (captions, vocabulary))
    hits = (in_group @ in_caption.T).toarray()
    # The product of 0/1 marks counts every shared word once; words that both repeat are few and added here.
    by_word = np.argsort(word, kind="stable")
    bounds = np.searchsorted(word[by_word], np.arange(vocabulary + 1))
    for entry in np.flatnonzero(ours.count > 1):
        repeated = by_word[bounds[ours.gram[entry]] : bounds[ours.gram[entry] + 1]]
        more = np.minimum(allowed[repeated], ours.count[entry]) - 1
        hits[group[repeated], ours.member[entry]] += more
    return hits


def _marks(row: Ints, column: Ints, shape: tuple[int, int]) -> sparse.csr_array:
    """A 0/1 matrix with a 1 at each place."""
    return sparse.csr_array((np.ones(row.size, dtype=np.int64), (row, column)), shape=shape)
