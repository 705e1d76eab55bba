"""A trie of n-grams in a hash table, which compiled loops read and write.

Several tries may use one table, one after the other. Each has a number (its owner), and its rows count as free for the
next, so that the table need not be cleared.
"""

import numpy as np
from numpy.typing import NDArray

from quorum.numeric.compiling import compiled

Trie = NDArray[np.int32]


@compiled
def trie_bits(nodes: int) -> int:
    """Return the binary logarithm of the size of a hash table that is at most half full with these nodes."""
    bits = 4
    while (1 << bits) < 2 * nodes:
        bits += 1
    return bits


@compiled
def empty_trie(nodes: int) -> Trie:
    """Return a hash table for tries of up to so many nodes, in which node 0 is the root.

    A row is (owner, node, word, child).
    """
    return np.full((1 << trie_bits(nodes), 4), -1, dtype=np.int32)


@compiled
def child(trie: Trie, bits: int, owner: int, node: int, word: int, new_node: int) -> int:
    """Return the child of a node by a word, in the trie of an owner. `bits` are the `trie_bits` of that trie.

    If there is none, return `new_node`, and store it as the child unless it is -1.
    """
    mask = (1 << bits) - 1
    # Any large odd factors mix the bits. Factors and numbers are below 2 ** 31, so that nothing overflows.
    hash_value = np.int64(node) * 1540483477 + np.int64(word) * 739982445
    slot = (hash_value ^ (hash_value >> 17)) & mask
    while trie[slot, 0] == owner:
        if trie[slot, 1] == node and trie[slot, 2] == word:
            return int(trie[slot, 3])
        slot = (slot + 1) & mask
    if new_node >= 0:
        trie[slot, 0] = owner
        trie[slot, 1] = node
        trie[slot, 2] = word
        trie[slot, 3] = new_node
    return new_node
