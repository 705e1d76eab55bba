"""A trie of n-grams in one small hash table that is never cleared.

Node 0 is the root; the node of an n-gram is the child of the node of all its words but the last. A row of the
table is (owner, node, word, child): rows of other owners count as free, so that the next group of captions
starts with an empty trie at no cost.
"""

import numpy as np
from numpy.typing import NDArray

from evaluation.compiled import compiled

Table = NDArray[np.int32]


@compiled
def trie_bits(nodes: int) -> int:
    """The size of the table, as a power of two, that keeps a trie of so many nodes at most half full."""
    bits = 4
    while (1 << bits) < 2 * nodes:
        bits += 1
    return bits


@compiled
def empty_trie(nodes: int) -> Table:
    """A table for tries of up to so many nodes."""
    return np.full((1 << trie_bits(nodes), 4), -1, dtype=np.int32)


@compiled
def child(trie: Table, bits: int, owner: int, node: int, word: int, new: int) -> int:
    """The child of a node by a word: the known one, else `new`, which is then stored, or -1 where that is -1."""
    mask = (1 << bits) - 1
    # Both factors and both numbers are below 2 ** 31: nothing overflows.
    mixed = np.int64(node) * 1540483477 + np.int64(word) * 739982445
    slot = (mixed ^ (mixed >> 17)) & mask
    while trie[slot, 0] == owner:
        if trie[slot, 1] == node and trie[slot, 2] == word:
            return int(trie[slot, 3])
        slot = (slot + 1) & mask
    if new >= 0:
        trie[slot, 0] = owner
        trie[slot, 1] = node
        trie[slot, 2] = word
        trie[slot, 3] = new
    return new
