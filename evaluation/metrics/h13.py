"""Unigram overlap as H13 §4.1.1 and §4.3.2 define it, and the Bleu-pre matrix behind its filter.

Bleu(i, s) = sum_w min(c_s(w), max_r c_r(w)) / sum_w c_s(w), Rouge(i, s) = sum_r sum_w min(c_s(w), c_r(w)) /
sum_r sum_w c_r(w), neither with a brevity penalty. Bleu-pre is Bleu after the stemming and stop-word
removal of the ROUGE-1.5.5 script (Lin 2004): stop words are dropped first, then words of more than three
letters are stemmed. `order="stem-first"` stems before it drops, which fits H13's printed filter figures.
"""

from collections.abc import Sequence

import numpy as np

from evaluation.compiled import compiled
from evaluation.metrics.bleu import clipped_matches
from evaluation.metrics.changes import STEM_FIRST, STOP_FIRST, changed
from evaluation.metrics.comparison import Comparison, Lists, View, check_lists, check_texts
from evaluation.metrics.corpus import Floats, Ints, Numbers, Pieces
from evaluation.metrics.errors import UnknownName
from evaluation.metrics.text import TOKENIZERS

ORDERS = (STOP_FIRST, STEM_FIRST)


def h13_bleu_scores(comparison: Comparison, view: View) -> Floats:
    """(n,) float64: Bleu(i, s); 0 for a caption without words."""
    hits = clipped_matches(comparison.task(view), 1)[:, 0]
    total = comparison.words(view).lengths[: comparison.size]
    return np.divide(hits, total, out=np.zeros(comparison.size), where=total > 0)


def h13_rouge_scores(comparison: Comparison, view: View) -> Floats:
    """(n,) float64: Rouge(i, s); 0 where no reference holds a word."""
    task = comparison.task(view)
    words = comparison.words(view)
    hits = _summed_matches(
        task.words,
        task.starts,
        task.references,
        task.candidates,
        task.candidate_starts,
        len(words.vocabulary),
    )
    group_totals = np.diff(words.starts[comparison.group_starts])
    total = group_totals[comparison.group_of]
    return np.divide(hits, total, out=np.zeros(comparison.size), where=total > 0)


@compiled
def _summed_matches(
    words: Numbers,
    starts: Ints,
    references: Ints,
    candidates: Ints,
    candidate_starts: Ints,
    vocabulary: int,
) -> Ints:
    """(n,) int64: words of each candidate, counted up to what a reference holds, summed over references."""
    hits = np.zeros(candidates.size, dtype=np.int64)
    left = np.zeros(vocabulary, dtype=np.int64)
    for group in range(references.size - 1):
        for text in range(references[group], references[group + 1]):
            for index in range(candidate_starts[group], candidate_starts[group + 1]):
                candidate = candidates[index]
                for at in range(starts[text], starts[text + 1]):
                    left[words[at]] += 1
                for at in range(starts[candidate], starts[candidate + 1]):
                    if left[words[at]] > 0:
                        left[words[at]] -= 1
                        hits[candidate] += 1
                for at in range(starts[text], starts[text + 1]):
                    left[words[at]] = 0
    return hits


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
    check_lists(references, "references")
    lists = Lists()
    image_of = lists.add(references, "references")
    words = changed(Pieces([*captions, *lists.texts]).words(TOKENIZERS["rouge"]), order)
    groups = lists.starts + len(captions)
    hits = _hits(words.words, words.starts, groups, len(captions), len(words.vocabulary))
    # Where no list came twice, the groups are the images already, and the matrix may be large.
    return hits if len(hits) == image_of.size else hits[image_of], words.lengths[: len(captions)]


@compiled
def _hits(words: Numbers, starts: Ints, groups: Ints, captions: int, vocabulary: int) -> Ints:
    """(groups, captions) int64: words of a caption, each counted up to the most that one text of a group has."""
    hits = np.zeros((groups.size - 1, captions), dtype=np.int64)
    most = np.zeros(vocabulary, dtype=np.int64)
    count = np.zeros(vocabulary, dtype=np.int64)
    for group in range(groups.size - 1):
        for text in range(groups[group], groups[group + 1]):
            for at in range(starts[text], starts[text + 1]):
                count[words[at]] += 1
                most[words[at]] = max(most[words[at]], count[words[at]])
            for at in range(starts[text], starts[text + 1]):
                count[words[at]] = 0
        for caption in range(captions):
            for at in range(starts[caption], starts[caption + 1]):
                if count[words[at]] < most[words[at]]:
                    count[words[at]] += 1
                    hits[group, caption] += 1
            for at in range(starts[caption], starts[caption + 1]):
                count[words[at]] = 0
        for at in range(starts[groups[group]], starts[groups[group + 1]]):
            most[words[at]] = 0
    return hits
