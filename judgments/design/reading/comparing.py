"""Compare two designs."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from judgments.design.reading.study_files import dump_toml
from judgments.design.study_design import StudyDesign


@dataclass(frozen=True, slots=True)
class DesignDifference:
    """A key and its value in each of two designs, as in a study file; "" if a design lacks the key."""

    key: str
    first_value: str
    second_value: str


@dataclass(frozen=True, slots=True)
class DesignComparison:
    """The differences of two designs.

    Attributes:
        tables: the differences by table, such as "crowd"; by "" those of keys outside tables.
        diff_lines: the lines of a unified diff of the two study files.
    """

    tables: dict[str, list[DesignDifference]]
    diff_lines: list[str]

    @property
    def difference_count(self) -> int:
        return sum(map(len, self.tables.values()))


def compare_designs(
    first_design: StudyDesign | dict[str, Any],
    second_design: StudyDesign | dict[str, Any],
    *,
    names: tuple[str, str] = ("this", "that"),
) -> DesignComparison:
    """Compare two designs, or two study files as nested dicts. The head of the unified diff has their ``names``."""
    first_file, second_file = _values_of(first_design), _values_of(second_design)
    tables: dict[str, list[DesignDifference]] = {}
    first_values, second_values = dict(_dotted_items(first_file)), dict(_dotted_items(second_file))
    for key in _keys_in_file_order(first_values, second_values):
        if key in first_values and key in second_values and first_values[key] == second_values[key]:
            continue
        table, _, _ = key.rpartition(".")
        difference = DesignDifference(
            key=key,
            first_value=_toml_value(first_values[key]) if key in first_values else "",
            second_value=_toml_value(second_values[key]) if key in second_values else "",
        )
        tables.setdefault(table, []).append(difference)
    diff_lines = difflib.unified_diff(
        dump_toml(first_file).splitlines(), dump_toml(second_file).splitlines(), *names, lineterm="", n=2
    )
    return DesignComparison(tables=tables, diff_lines=list(diff_lines))


def changed_keys(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Return the dotted keys whose values differ between two study files."""
    differences = chain.from_iterable(compare_designs(before, after).tables.values())
    return [difference.key for difference in differences]


def _values_of(design: StudyDesign | dict[str, Any]) -> dict[str, Any]:
    return design.model_dump(mode="json") if isinstance(design, StudyDesign) else design


def _dotted_items(values: dict[str, Any], table: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the dotted key and the value of each setting. Empty tables are left out."""
    for key, value in values.items():
        dotted_key = f"{table}.{key}" if table else key
        if isinstance(value, dict) and value:
            yield from _dotted_items(value, dotted_key)
        elif value != {}:
            yield dotted_key, value


def _keys_in_file_order(first_values: dict[str, Any], second_values: dict[str, Any]) -> list[str]:
    """Return the dotted keys of both designs: top-level keys first, then tables in the order of the design."""
    keys = list(dict.fromkeys([*first_values, *second_values]))
    top_level_keys = list(StudyDesign.model_fields)

    def position_of_table(key: str) -> int:
        table, _, inner_key = key.partition(".")
        return top_level_keys.index(table) + 1 if inner_key and table in top_level_keys else 0

    return sorted(keys, key=position_of_table)


def _without_empty_values(table: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if value not in ("", [], {}, None)}


def _toml_value(value: Any) -> str:
    """Return a value as in a study file, but lines of text without quotes, and tables in a list without empty keys."""
    if isinstance(value, str):
        return value if "\n" in value else json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        rows = [entry for entry in value if isinstance(entry, dict)]
        if rows:
            return "\n\n".join(dump_toml(_without_empty_values(row)).strip() for row in rows)
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value)
