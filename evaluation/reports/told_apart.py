"""Tables of many comparisons: ranks, and letters that are shared by what cannot be told apart. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from evaluation.provenance import plain
from evaluation.records import Floats
from evaluation.reports.content import Table, plain_table
from evaluation.reports.letters import letters
from evaluation.statistics.meta import clusters_of_p_values


def paired_p(names: Sequence[str], test: Callable[[str, str], float]) -> Floats:
    """(K, K) two-sided p of every two of K things; nan on the diagonal and where a test has no p."""
    p = np.full((len(names), len(names)), np.nan)
    for one in range(len(names)):
        for two in range(one):
            p[one, two] = p[two, one] = test(names[one], names[two])
    return p


def told_apart(
    names: Sequence[str],
    groups: Mapping[str, tuple[Sequence[float], Floats]],
    *,
    heads: tuple[str, str, str],
    value: tuple[str, str],
    tables: tuple[tuple[str, str], tuple[str, str]],
    note: str,
) -> list[Table]:
    """A table of ranks and letters, and one of the tests behind it; none where fewer than two things are compared.

    Args:
        groups: group -> (K,) values and (K, K) p of its tests, which Holm's correction is over.
        heads: what a group, a thing, and the other thing of a test are called; without a group's name there is no
            column for it.
        value: head of the values' column, and how it is shown.
        tables: name and title of the two.
    """
    if len(names) < 2 or not groups:
        return []
    rows: list[tuple[Any, ...]] = []
    tests: list[tuple[Any, ...]] = []
    for group, (values, p) in groups.items():
        found = clusters_of_p_values(values, p, names, correction="holm")
        differs = found.adjusted_p <= found.level
        for place, (name, letter) in enumerate(zip(found.names, letters(differs), strict=True)):
            low, high = int(found.rank_low[place]), int(found.rank_high[place])
            band = str(low) if low == high else f"{low} to {high}"
            rows.append((group, name, float(found.values[place]), letter, band))
        tests += [
            (
                group,
                found.names[one],
                found.names[two],
                plain(found.p[one, two]),
                plain(found.adjusted_p[one, two]),
            )
            for one in range(len(names))
            for two in range(one + 1, len(names))
        ]
    columns = [(heads[0], "text"), (heads[1], "text"), value, ("letters", "text"), ("rank", "text")]
    columns_of_tests = [
        (heads[0], "text"),
        (heads[1], "text"),
        (heads[2], "text"),
        ("p", "p"),
        ("p, Holm", "p"),
    ]
    if not heads[0]:
        rows, tests = [row[1:] for row in rows], [row[1:] for row in tests]
        del columns[0], columns_of_tests[0]
    return [
        plain_table(*tables[0], columns, rows, note),
        plain_table(*tables[1], columns_of_tests, tests, "Two-sided p."),
    ]
