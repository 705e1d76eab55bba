"""Guess which columns of a file correspond to Quorum's columns, by the names that other platforms use."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from functools import cache

from judgments.importers.mapped.mapping import LAYOUT_FOLDER
from judgments.importers.textio import read_whole


def guess_columns(names: Iterable[str], columns: Iterable[str]) -> dict[str, str]:
    """Return the file's column that probably corresponds to each of Quorum's columns, by Quorum's column.

    Each of ``names``, the file's columns, is used only once.
    """
    # by the last part of a path in lower case, without blanks and marks; of equal parts, the first column
    unused_names = {
        re.sub(r"[^a-z0-9]", "", name.rpartition(".")[2].lower()): name for name in reversed(list(names))
    }
    synonyms = _read_synonyms()
    guesses: dict[str, str] = {}
    # first those that the file has under Quorum's names
    for column in sorted(columns, key=lambda column: column.replace("_", "") not in unused_names):
        for synonym in (column.replace("_", ""), *synonyms.get(column, ())):
            if synonym in unused_names and column not in guesses:
                guesses[column] = unused_names.pop(synonym)
    return guesses


@cache
def _read_synonyms() -> dict[str, list[str]]:
    """Return the names that other platforms have for Quorum's columns, by column, in lower case without blanks."""
    names: dict[str, list[str]] = tomllib.loads(read_whole(LAYOUT_FOLDER / "names.toml"))
    return names
