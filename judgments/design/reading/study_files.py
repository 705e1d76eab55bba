"""Read and write study files."""

from __future__ import annotations

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
    text: str, *, source: str = "study file", saved_presets: Mapping[str, Preset] = NO_PRESETS
) -> StudyDesign:
    """Return the design of TOML text.

    Raises:
        DesignError: the text is not TOML, or not a valid design.
    """
    return make_design(toml_values(text, source=source), saved_presets=saved_presets)


def toml_values(text: str, *, source: str = "study file") -> dict[str, Any]:
    """Return the values of TOML text. Raise DesignError, which names ``source``, if the text is not TOML."""
    try:
        values = tomllib.loads(text)
        # error messages quote values; raise here if a number is too long, or a table too deep, to be quoted
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
