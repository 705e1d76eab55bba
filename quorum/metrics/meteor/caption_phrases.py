"""The phrases of the captions that have a paraphrase in the captions, as compiled kernels read them.

METEOR's table has millions of paraphrases. Few of them can match in a set of captions, so the others are dropped.
"""

from typing import NamedTuple

import numpy as np

from quorum.metrics.meteor.tables import Paraphrases
from quorum.metrics.text.tokens import TokenizedTexts
from quorum.metrics.text.tries import Trie, child, empty_trie, trie_bits
from quorum.numeric.arrays import Flags, Ints, Numbers, joined_ranges, starts_of
from quorum.numeric.compiling import compiled


class CaptionPhrases(NamedTuple):
    """Numbered phrases of the captions that have, or are, a paraphrase of another phrase of the captions.

    `trie` holds the phrases as lists of words, in a hash table of 2 ** `bits` rows (`trie_bits`). phrase_of_node: the
    phrase that ends at each node of the trie, or -1. lengths: the number of words of each phrase. The paraphrases of
    phrase p are `targets[target_starts[p]:target_starts[p + 1]]`. In the other direction, p is a paraphrase of the
    phrases `sources[source_starts[p]:source_starts[p + 1]]`. pair_positions: for each entry of `sources`, the position
    of the same pair of phrases in `targets`.
    """

    trie: Trie
    bits: int
    phrase_of_node: Numbers
    lengths: Numbers
    target_starts: Ints
    targets: Numbers
    source_starts: Ints
    sources: Numbers
    pair_positions: Ints


def no_phrases() -> CaptionPhrases:
    """Return an empty table of phrases, for alignments without the paraphrase stage."""
    no_numbers, starts = np.zeros(0, dtype=np.int32), np.zeros(1, dtype=np.int64)
    trie, bits, phrase_of_node = _build_trie(no_numbers, starts[:0])
    return CaptionPhrases(
        trie,
        bits,
        phrase_of_node,
        lengths=no_numbers,
        target_starts=starts,
        targets=no_numbers,
        source_starts=starts,
        sources=no_numbers,
        pair_positions=starts[:0],
    )


def phrases_in(texts: TokenizedTexts, table: Paraphrases) -> CaptionPhrases:
    """Return the pairs of the paraphrase table of which both phrases occur in the captions.

    A pair is a source phrase and a target phrase, which is a paraphrase of the source. First, pairs with a word that
    does not occur in the captions are dropped. Then one pass over the captions marks the phrases that occur as a whole.
    """
    number_by_word = {word: number for number, word in enumerate(texts.vocabulary)}
    # The number of each of the table's words in the captions, or -1.
    numbers = np.array([number_by_word.get(word, -1) for word in table.vocabulary], dtype=np.int32)
    sources, targets, table_phrases = _pairs_of_known_words(table, numbers >= 0)
    lengths = table.starts[table_phrases + 1] - table.starts[table_phrases]
    tokens = numbers[table.tokens[joined_ranges(table.starts[table_phrases], lengths)]]
    # Keep pairs of phrases that occur in the captions as a whole.
    trie, bits, phrase_of_node = _build_trie(tokens, lengths)
    occurs = _find_occurring(texts.tokens, texts.starts, trie, bits, phrase_of_node, lengths.size)
    pairs = np.flatnonzero(occurs[sources] & occurs[targets])
    sources, targets, kept_phrases = _renumber_phrases(sources[pairs], targets[pairs], lengths.size)
    # Build the trie again, of the phrases that are kept.
    first_words = np.cumsum(lengths) - lengths
    tokens = tokens[joined_ranges(first_words[kept_phrases], lengths[kept_phrases])]
    lengths = lengths[kept_phrases]
    trie, bits, phrase_of_node = _build_trie(tokens, lengths)
    order_by_target = np.argsort(targets, kind="stable")
    return CaptionPhrases(
        trie,
        bits,
        phrase_of_node,
        lengths=lengths.astype(np.int32),
        target_starts=starts_of(np.bincount(sources, minlength=lengths.size)),
        targets=targets.astype(np.int32),
        source_starts=starts_of(np.bincount(targets, minlength=lengths.size)),
        sources=sources[order_by_target].astype(np.int32),
        pair_positions=order_by_target,
    )


def _pairs_of_known_words(table: Paraphrases, is_known: Flags) -> tuple[Ints, Ints, Ints]:
    """Return the pairs of the table all of whose words are known, as their sources and their targets.

    `is_known` has a flag for each word of the table's vocabulary. The phrases are renumbered; also return the table's
    number of each.
    """
    # Test the sources, which are the table's first phrases, before the targets, of which there are many more.
    known_sources = np.flatnonzero(
        _have_known_words(np.arange(table.target_starts.size - 1), table, is_known)
    )
    target_counts = table.target_starts[known_sources + 1] - table.target_starts[known_sources]
    sources = np.repeat(known_sources, target_counts)
    targets = table.targets[joined_ranges(table.target_starts[known_sources], target_counts)].astype(np.int64)
    # Test each distinct target once.
    is_target = np.zeros(table.starts.size - 1, dtype=np.bool_)
    is_target[targets] = True
    distinct_targets = np.flatnonzero(is_target)
    is_known_target = np.zeros(is_target.size, dtype=np.bool_)
    is_known_target[distinct_targets] = _have_known_words(distinct_targets, table, is_known)
    is_known_pair = is_known_target[targets]
    return _renumber_phrases(sources[is_known_pair], targets[is_known_pair], is_known_target.size)


def _have_known_words(phrases: Ints, table: Paraphrases, is_known: Flags) -> Flags:
    """Return the (phrases,) flags that say whether all words of a phrase are known.

    `phrases` are numbers of phrases, and `is_known` has a flag for each word of the table's vocabulary.
    """
    lengths = table.starts[phrases + 1] - table.starts[phrases]  # at least 1, as `reduceat` requires
    is_known_word = is_known[table.tokens[joined_ranges(table.starts[phrases], lengths)]]
    return np.asarray(np.bitwise_and.reduceat(is_known_word, np.cumsum(lengths) - lengths))


def _renumber_phrases(sources: Ints, targets: Ints, phrase_count: int) -> tuple[Ints, Ints, Ints]:
    """Renumber the phrases of pairs without gaps, from numbers below `phrase_count`.

    Return the new sources and targets of the pairs, and the old number of each phrase.
    """
    is_used = np.zeros(phrase_count, dtype=np.bool_)
    is_used[sources] = is_used[targets] = True
    new_numbers = np.cumsum(is_used) - 1
    return new_numbers[sources], new_numbers[targets], np.flatnonzero(is_used)


@compiled
def _build_trie(tokens: Numbers, lengths: Ints) -> tuple[Trie, int, Numbers]:
    """Return a trie of phrases, its `trie_bits`, and the phrase that ends at each node, or -1.

    `tokens` has the words of all phrases, one after another; `lengths` has the number of words of each phrase.
    """
    max_nodes = tokens.size + 1
    bits = trie_bits(max_nodes)
    trie = empty_trie(max_nodes)
    phrase_of_node = np.full(max_nodes, -1, dtype=np.int32)
    nodes = 1
    position = 0
    for phrase in range(lengths.size):
        node = 0
        for _ in range(lengths[phrase]):
            # A new node, with the number `nodes`, if there is none yet. The table holds only one trie, that of owner 0.
            node = child(trie, bits, 0, node, tokens[position], nodes)
            if node == nodes:
                nodes += 1
            position += 1
        phrase_of_node[node] = phrase
    return trie, bits, phrase_of_node[:nodes]


@compiled
def _find_occurring(
    tokens: Numbers, starts: Ints, trie: Trie, bits: int, phrase_of_node: Numbers, phrase_count: int
) -> Flags:
    """Return the (phrases,) flags that say whether a phrase of the trie occurs in the texts.

    `tokens` and `starts` are those of the texts (`TokenizedTexts`). The other arguments are as in `CaptionPhrases`.
    """
    occurs = np.zeros(phrase_count, dtype=np.bool_)
    for text in range(starts.size - 1):
        for first_word in range(starts[text], starts[text + 1]):
            node = 0
            for position in range(first_word, starts[text + 1]):
                node = child(trie, bits, 0, node, tokens[position], -1)
                if node < 0:  # no phrase goes on with this word
                    break
                if phrase_of_node[node] >= 0:
                    occurs[phrase_of_node[node]] = True
    return occurs
