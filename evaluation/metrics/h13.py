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
from evaluation.metrics.corpus import Entries, Groups, Ints, Stream, TextTable, check_texts, encode
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
    images = table.add_lists(references, "references")
    texts = table.add_lists([[caption] for caption in captions], "captions")
    groups = table.groups
    words = changed(encode(table.texts, TOKENIZERS["rouge"]), order)
    rows, row_of = np.unique(images, return_inverse=True)
    columns, column_of = np.unique(texts, return_inverse=True)
    hits = _clipped_products(Stream(words, groups.texts, groups.starts).entries(1), groups, rows, columns)
    totals = words.lengths[groups.texts[groups.starts[texts]]]
    return hits[np.ix_(row_of, column_of)], totals


def _clipped_products(entries: Entries, groups: Groups, rows: Ints, columns: Ints) -> Ints:
    """(rows, columns) int64: sums over words of the smaller count, for two lists of groups.

    A group's count of a word is the most that one of its texts has.
    """
    group = np.repeat(np.arange(groups.count), groups.sizes)[entries.member[entries.segments]]
    word = entries.gram[entries.segments]
    count = np.maximum.reduceat(entries.count, entries.segments) if word.size else word
    shape = (groups.count, max(entries.distinct, 1))
    marks = sparse.csr_array((np.ones(word.size, dtype=np.int64), (group, word)), shape=shape)
    hits: Ints = (marks[rows] @ marks[columns].T).toarray()
    # The product of 0/1 marks counts every shared word once; words that both repeat are few and added here.
    row, column = _places(rows, groups.count), _places(columns, groups.count)
    bounds = np.searchsorted(word, np.arange(entries.distinct + 1))
    for segment in np.flatnonzero((count > 1) & (column[group] >= 0)):
        same = np.arange(bounds[word[segment]], bounds[word[segment] + 1])
        same = same[row[group[same]] >= 0]
        hits[row[group[same]], column[group[segment]]] += np.minimum(count[same], count[segment]) - 1
    return hits


def _places(chosen: Ints, count: int) -> Ints:
    """(count,) int64: where each number stands among the chosen ones, -1 where it does not."""
    places = np.full(count, -1, dtype=np.int64)
    places[chosen] = np.arange(chosen.size)
    return places
