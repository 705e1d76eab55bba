"""Split a row that holds several judgments: in numbered columns, in a list, or in columns of one person each.

In sources of columns, ``{n}`` stands for the number or the key of a judgment. With the sources ``value = "r{n}"`` and
``worker = "{n}"``, for example, the row ``{"file": "a.jpg", "r1": 4, "r2": 5}`` holds two judgments, with the keys "1"
and "2".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from common.incoming.json_documents import load_json
from judgments.importers import foreign
from judgments.importers.mapped.mapping import NUMBER_PLACEHOLDER, ColumnMapping

MAX_CACHED_HEADERS = 1_000  # cached headers of a file's records


class RowJudgment(NamedTuple):
    """A judgment in a row: the key that replaces ``{n}``, which is "" if there is no ``{n}``, and the row's values."""

    key: str
    values: dict[str, Any]


class RowSplitter:
    """Finds the judgments in the rows of a file. ``sources`` are those of each of Quorum's columns."""

    def __init__(self, mapping: ColumnMapping, sources: Mapping[str, tuple[str, ...]]) -> None:
        self._people = mapping.people
        named_sources = [
            (name, source)
            for name, names in sources.items()
            for source in names
            if NUMBER_PLACEHOLDER in source
        ]
        # if the source of the worker is only the number, it does not show which numbers there are
        self._numbered_sources = [
            source for name, source in named_sources if (name, source) != ("worker", NUMBER_PLACEHOLDER)
        ]
        # The source of a list of answers, if this list alone shows that a row has several judgments: the sources are
        # value = "votes" and worker = "{n}", for example, or workers are anonymous.
        self._list_source = ""
        if not self._numbered_sources and ("worker" in dict(named_sources) or mapping.workers == "anonymous"):
            self._list_source = sources.get("value", ("",))[0]
        self._keys_by_header: dict[tuple[str, ...], list[str]] = {}  # by source and column names

    def judgments_of(self, values: dict[str, Any]) -> Iterable[RowJudgment]:
        """Return the judgments in a row. Without ``{n}``, columns of people or a list, the row is one judgment."""
        if self._people:
            return [RowJudgment(person, values) for person in self._people]  # "{n}" is a person's column
        if self._numbered_sources:
            return self._numbered_judgments(values)
        if self._list_source:
            answers = foreign.look_up(values, self._list_source)
            if isinstance(answers, str) and answers.lstrip().startswith("["):
                with suppress(ValueError):
                    answers = load_json(answers)
            if isinstance(answers, list):
                return [
                    RowJudgment(str(index), {**values, self._list_source: answer})
                    for index, answer in enumerate(answers)
                ]
        return [RowJudgment("", values)]

    def _numbered_judgments(self, values: dict[str, Any]) -> list[RowJudgment]:
        keys: dict[str, None] = {}  # in the order of the row
        for source in self._numbered_sources:
            keys |= dict.fromkeys(self._find_keys(source, values))
        # A key may have dots, which a path would split. So members get columns of their own, such as "votes.a".
        ending = f".{NUMBER_PLACEHOLDER}"
        paths = {name.removesuffix(ending) for name in self._numbered_sources if name.endswith(ending)}
        member_values: dict[str, Any] = {}
        for path in paths:
            for key, member in foreign.members_of(foreign.look_up(values, path)):
                member_values[f"{path}.{key}"] = member
        return [RowJudgment(key, values | member_values) for key in sorted(keys, key=_numeric_order)]

    def _find_keys(self, source: str, values: Mapping[str, Any]) -> list[str]:
        """Return the values of ``{n}`` in a source: numbers in column names, or keys of an object or list.

        For example, they are 1 and 2 for the source ``r{n}`` and the columns r1 and r2, and "a" and "b" for the source
        ``votes.{n}`` and the object ``{"votes": {"a": 1, "b": 0}}``.
        """
        names = (source, *values)
        if names not in self._keys_by_header:
            if len(self._keys_by_header) >= MAX_CACHED_HEADERS:
                self._keys_by_header.clear()
            pattern = re.compile(r"(\d+)".join(map(re.escape, source.split(NUMBER_PLACEHOLDER))))
            matches = (pattern.fullmatch(name) for name in values)
            self._keys_by_header[names] = [match.group(1) for match in matches if match]
        if keys := self._keys_by_header[names]:
            return keys
        # no column has the number, so it is in a part of a path: in "data.r{n}.score", after the start "r" of a key
        text_before, _, text_after = source.partition(NUMBER_PLACEHOLDER)
        path, _, start = text_before.rpartition(".")
        end = text_after.partition(".")[0]
        container = foreign.look_up(values, path) if path else None
        key_pattern = r"\d+" if start or end else ".*"
        pattern = re.compile(f"{re.escape(start)}({key_pattern}){re.escape(end)}", re.DOTALL)
        matches = (pattern.fullmatch(key) for key, _ in foreign.members_of(container))
        return [match.group(1) for match in matches if match]


def _numeric_order(key: str) -> tuple[int, str]:
    """Return a sort key that leaves names in their order, before numbers."""
    return (int(key), key) if key.isdecimal() else (0, "")
