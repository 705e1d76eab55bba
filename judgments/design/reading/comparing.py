"""Compare two designs."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from dataclasses import dataclass
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
    """The differences by table ("" for top-level keys), and a unified diff of the study files."""

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
    """Compare two designs, or two study files as nested dicts.

    Args:
        names: the names of the two study files in the head of the unified diff.
    """
    first, second = _values_of(first_design), _values_of(second_design)
    tables: dict[str, list[DesignDifference]] = {}
    first_values, second_values = dict(_dotted_items(first)), dict(_dotted_items(second))
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
        dump_toml(first).splitlines(), dump_toml(second).splitlines(), *names, lineterm="", n=2
    )
    return DesignComparison(tables=tables, diff_lines=list(diff_lines))


def changed_keys(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Return the dotted keys whose values differ between two study files."""
    return [difference.key for rows in compare_designs(before, after).tables.values() for difference in rows]


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
    keys = [*first_values, *(key for key in second_values if key not in first_values)]
    top_level = [*StudyDesign.model_fields]

    def position(key: str) -> tuple[int, int]:
        root, _, inner = key.partition(".")
        return top_level.index(root) + 1 if inner and root in top_level else 0, keys.index(key)

    return sorted(keys, key=position)


def _toml_value(value: Any) -> str:
    """Return a value as a study file writes it. Rows of tables have no empty cells."""
    if isinstance(value, str):
        return value if "\n" in value else json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        rows = [cell for cell in value if isinstance(cell, dict)]
        if rows:
            filled_rows = [
                {key: cell for key, cell in row.items() if cell not in ("", [], {}, None)} for row in rows
            ]
            return "\n\n".join(dump_toml(row).strip() for row in filled_rows)
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value)
