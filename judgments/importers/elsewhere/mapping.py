"""Which column of a result file is what, as a TOML file: for mappings that are too long for a command line."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from judgments.importers.errors import ImportProblem
from judgments.importers.fields import shown
from judgments.importers.mturk.judgments import ResultColumns, parse_zone
from judgments.importers.textio import read_whole

KEYS = ("columns", "values", "zone")


def read_mapping(path: Path, worker_name: Callable[[str], str]) -> ResultColumns:
    """``[columns]``, ``[values]`` and ``zone`` of a file.

    Raises:
        ImportProblem: it is no TOML, or says something else.
    """
    try:
        found = tomllib.loads(read_whole(path))
    except tomllib.TOMLDecodeError as error:
        raise ImportProblem(
            path, None, None, f"no TOML ({error})", "[columns] with a line a column"
        ) from None
    for name in found:
        if name not in KEYS:
            raise ImportProblem(path, None, name, "this unknown key", f"one of {', '.join(KEYS)}")
    zone = found.get("zone")
    if zone is not None and not isinstance(zone, str):
        raise ImportProblem(path, None, "zone", shown(zone), "one such as America/Los_Angeles")
    return ResultColumns(
        columns=_texts(path, "columns", found.get("columns", {})),
        values=_texts(path, "values", found.get("values", {})),
        zone=parse_zone(zone, path) if zone else None,
        worker_name=worker_name,
    )


def _texts(path: Path, name: str, found: Any) -> dict[str, str]:
    if not isinstance(found, dict):
        raise ImportProblem(path, None, name, shown(found), "a table")
    for key, value in found.items():
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise ImportProblem(path, None, f"{name}.{key}", shown(value), "a text or a whole number")
    return {str(key): str(value) for key, value in found.items()}
