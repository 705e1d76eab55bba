"""Read and write study files."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any

import tomli_w
from django.utils.translation import gettext

from common.errors import DesignError
from judgments.design.reading.checking import make_design
from judgments.design.reading.presets import NO_PRESETS, Preset
from judgments.design.study_design import StudyDesign


def read_toml(
    text: str, *, source: str = "study file", saved: Mapping[str, Preset] = NO_PRESETS
) -> StudyDesign:
    """Return the design of TOML text.

    Raises:
        DesignError: it is not TOML, or not a design.
    """
    return make_design(toml_values(text, source=source), saved=saved)


def toml_values(text: str, *, source: str = "study file") -> dict[str, Any]:
    try:
        values = tomllib.loads(text)
        # sentences quote values: here a number too long to be written fails, and too deep a table
        repr(values)
    except (ValueError, RecursionError) as error:
        raise DesignError(
            gettext("%(source)s is not TOML: %(error)s.") % {"source": source, "error": error}
        ) from None
    return values


def write_toml(design: StudyDesign) -> str:
    return dump_toml(design.model_dump(mode="json"))


def dump_toml(values: Mapping[str, Any]) -> str:
    return tomli_w.dumps(values, multiline_strings=True)


def line_of(text: str, key: str) -> int:
    """Return the line, from 1, of a dotted key or of the nearest table around it; 0 if there is none."""
    lines: dict[str, int] = {}
    table, inside = "", False
    for number, line in enumerate(text.splitlines(), start=1):
        if not inside and (header := re.match(r"\s*\[\[?\s*([\w.-]+)\s*\]", line)):
            table = header[1]
            lines.setdefault(table, number)
        elif not inside and (setting := re.match(r"\s*([\w.-]+)\s*=", line)):
            lines.setdefault(f"{table}.{setting[1]}" if table else setting[1], number)
        inside ^= line.count('"""') % 2 == 1
    # rows of a table are numbered in the key of a problem, and have no number in the file
    key = ".".join(part for part in key.split(".") if not part.isdecimal())
    while key and key not in lines:
        key = key.rpartition(".")[0]
    return lines.get(key, 0)
