"""Letters for a table of many comparisons: what shares a letter cannot be told apart (Piepho 2004). Pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def letters(differs: NDArray[np.bool_]) -> list[str]:
    """The letters of K things in their order, from a symmetric (K, K) table of which of them differ.

    Insert-and-absorb: one column with everything; for each two that differ, every column that holds both is split
    into one without the first and one without the second, and what another column contains is dropped. Past 52
    columns, letters are numbered.
    """
    count = len(differs)
    columns: list[frozenset[int]] = [frozenset(range(count))]
    for one in range(count):
        for two in range(one + 1, count):
            if not differs[one, two]:
                continue
            split = [
                part
                for column in columns
                for part in ((column - {one}, column - {two}) if {one, two} <= column else (column,))
            ]
            unique = list(dict.fromkeys(split))
            columns = [part for part in unique if not any(part < other for other in unique)]
    ordered = sorted((column for column in columns if column), key=sorted)
    names = [ALPHABET[place] if place < len(ALPHABET) else f"({place + 1})" for place in range(len(ordered))]
    return [
        "".join(name for name, column in zip(names, ordered, strict=True) if thing in column)
        for thing in range(count)
    ]
