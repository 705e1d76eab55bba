"""The paraphrase table, reduced to the phrases of the captions.

Phrases whose words all occur go into a trie, one walk over the captions marks those that occur, and a smaller
trie keeps these with their paraphrases in the order of the table.
"""

from typing import NamedTuple

import numpy as np

from evaluation.arrays import Flags, Ints
from evaluation.compiled import compiled
from evaluation.metrics.meteor.tables import Paraphrases
from evaluation.metrics.text.tries import Table, child, empty_trie, trie_bits
from evaluation.metrics.text.words import Numbers, Words, ranges, starts_of


class Phrases(NamedTuple):
    """The phrases of the captions that have paraphrases there.

    phrase_of_node: the phrase that ends at a node of `trie`, or -1. Phrase p may be replaced by
    `targets[target_starts[p]:target_starts[p + 1]]`, and stands for `sources[source_starts[p]:source_starts[p
    + 1]]`, whose positions in `targets` are `places`.
    """

    trie: Table
    bits: int
    phrase_of_node: Numbers
    lengths: Numbers
    target_starts: Ints
    targets: Numbers
    source_starts: Ints
    sources: Numbers
    places: Ints


def no_phrases() -> Phrases:
    nothing, starts = np.zeros(0, dtype=np.int32), np.zeros(1, dtype=np.int64)
    root = np.full(1, -1, dtype=np.int32)
    return Phrases(
        empty_trie(1),
        trie_bits(1),
        root,
        nothing,
        starts,
        nothing,
        starts,
        nothing,
        np.zeros(0, dtype=np.int64),
    )


def phrases_in(words: Words, table: Paraphrases) -> Phrases:
    number_of = {word: number for number, word in enumerate(words.vocabulary)}
    new = np.array([number_of.get(word, -1) for word in table.vocabulary], dtype=np.int32)
    # A phrase counts when its words occur, a pair when both of its phrases do.
    known = new >= 0
    sources = np.flatnonzero(_with_known_words(np.arange(table.target_starts.size - 1), table, known))
    counts = table.target_starts[sources + 1] - table.target_starts[sources]
    right = table.targets[ranges(table.target_starts[sources], counts)].astype(np.int64)
    used = np.zeros(table.starts.size - 1, dtype=np.bool_)
    used[right] = True
    targets = np.flatnonzero(used)
    used[targets] = _with_known_words(targets, table, known)
    left, right, kept = _renumbered(np.repeat(sources, counts)[used[right]], right[used[right]], used.size)
    sizes = table.starts[kept + 1] - table.starts[kept]
    flat = new[table.words[ranges(table.starts[kept], sizes)]]
    trie, bits, phrase_of_node = _trie(flat, sizes)
    seen = _occurring(words.words, words.starts, trie, bits, phrase_of_node, sizes.size)
    pairs = np.flatnonzero(seen[left] & seen[right])
    left, right, again = _renumbered(left[pairs], right[pairs], sizes.size)
    begins = np.cumsum(sizes) - sizes
    flat = flat[ranges(begins[again], sizes[again])]
    sizes = sizes[again]
    trie, bits, phrase_of_node = _trie(flat, sizes)
    by_target = np.argsort(right, kind="stable")
    return Phrases(
        trie,
        bits,
        phrase_of_node,
        sizes.astype(np.int32),
        starts_of(np.bincount(left, minlength=sizes.size)),
        right.astype(np.int32),
        starts_of(np.bincount(right, minlength=sizes.size)),
        left[by_target].astype(np.int32),
        by_target,
    )


def _with_known_words(phrases: Ints, table: Paraphrases, known: Flags) -> Flags:
    """Return which phrases have known words only."""
    sizes = table.starts[phrases + 1] - table.starts[phrases]
    words = known[table.words[ranges(table.starts[phrases], sizes)]]
    return np.asarray(np.bitwise_and.reduceat(words, np.cumsum(sizes) - sizes))


def _renumbered(left: Ints, right: Ints, size: int) -> tuple[Ints, Ints, Ints]:
    """Return both sides, numbers below `size`, renumbered without gaps, and the old numbers."""
    used = np.zeros(size, dtype=np.bool_)
    used[left] = used[right] = True
    new = np.cumsum(used) - 1
    return new[left], new[right], np.flatnonzero(used)


@compiled
def _trie(words: Numbers, lengths: Ints) -> tuple[Table, int, Numbers]:
    """Return a trie of phrases, and the phrase that ends at each node."""
    most = words.size + 1
    bits = trie_bits(most)
    trie = empty_trie(most)
    phrase_of_node = np.full(most, -1, dtype=np.int32)
    nodes = 1
    at = 0
    for phrase in range(lengths.size):
        node = 0
        for _ in range(lengths[phrase]):
            node = child(trie, bits, 0, node, words[at], nodes)
            if node == nodes:
                nodes += 1
            at += 1
        phrase_of_node[node] = phrase
    return trie, bits, phrase_of_node[:nodes]


@compiled
def _occurring(
    words: Numbers, starts: Ints, trie: Table, bits: int, phrase_of_node: Numbers, phrases: int
) -> Flags:
    """Return (phrases,) bool: which phrases occur in a text."""
    seen = np.zeros(phrases, dtype=np.bool_)
    for text in range(starts.size - 1):
        for begin in range(starts[text], starts[text + 1]):
            node = 0
            for at in range(begin, starts[text + 1]):
                node = child(trie, bits, 0, node, words[at], -1)
                if node < 0:
                    break
                if phrase_of_node[node] >= 0:
                    seen[phrase_of_node[node]] = True
    return seen
