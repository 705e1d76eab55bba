"""Tables of multiple comparisons: ranks, and letters shared by what does not differ (Piepho 2004). Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from string import ascii_letters
from typing import Any

import numpy as np

from evaluation.judgment_sets.records import Flags, Floats
from evaluation.provenance import plain
from evaluation.report.content import Table
from evaluation.report.wording import table
from evaluation.statistics.meta import clusters_of_p_values


def paired_p(names: Sequence[str], test: Callable[[str, str], float]) -> Floats:
    """Return the (K, K) two-sided p of all pairs; nan on the diagonal and where undefined."""
    p = np.full((len(names), len(names)), np.nan)
    for one in range(len(names)):
        for two in range(one):
            p[one, two] = p[two, one] = test(names[one], names[two])
    return p


def cluster_tables(
    names: Sequence[str],
    groups: Mapping[str, tuple[Sequence[float], Floats]],
    *,
    heads: tuple[str, str],
    value: tuple[str, str],
    words: tuple[str, str],
    name: str = "clusters",
    **for_note: Any,
) -> list[Table]:
    """Return a table of ranks and letters, and one of its tests; [] for fewer than two.

    Args:
        groups: group -> (K,) values and (K, K) p, Holm-adjusted together.
        heads: headings of group and item; no group column without a heading.
        value: heading and format of the values.
        words: of the two tables.
        name: of the first table.
    """
    if len(names) < 2 or not groups:
        return []
    rows: list[tuple[Any, ...]] = []
    tests: list[tuple[Any, ...]] = []
    for group, (values, p) in groups.items():
        found = clusters_of_p_values(values, p, names, correction="holm")
        start = (group,) if heads[0] else ()
        letters = letters_of(found.adjusted_p <= found.level)
        for place, (thing, letter) in enumerate(zip(found.names, letters, strict=True)):
            low, high = int(found.rank_low[place]), int(found.rank_high[place])
            rank = str(low) if low == high else f"{low} to {high}"
            rows.append((*start, thing, float(found.values[place]), letter, rank))
        for one, two in zip(*np.triu_indices(len(names), 1), strict=True):
            p_of_two = plain(found.p[one, two]), plain(found.adjusted_p[one, two])
            tests.append((*start, found.names[one], found.names[two], *p_of_two))
    columns = [(head, "text") for head in heads if head]
    return [
        table(
            words[0], rows, [*columns, value, ("letters", "text"), ("rank", "text")], name=name, **for_note
        ),
        table(words[1], tests, [*columns, ("against", "text"), ("p", "p"), ("p, Holm", "p")]),
    ]


def letters_of(differs: Flags) -> list[str]:
    """Return the letters of K ordered items from a symmetric (K, K) table of differences.

    Insert-and-absorb: start with one column of everything; for each differing pair, split every column
    with both into two without one of them, and drop contained columns. Past 52 columns, letters are
    numbered.
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
    names = [
        ascii_letters[place] if place < len(ascii_letters) else f"({place + 1})"
        for place in range(len(ordered))
    ]
    return [
        "".join(name for name, column in zip(names, ordered, strict=True) if thing in column)
        for thing in range(count)
    ]
