"""Make the values from which the form of a design starts, and read and set values by dotted keys.

Values are a study file as nested dicts, such as ``{"protocol": "graded", "crowd": {"backend": "local"}}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext

from common.errors import DesignError
from judgments.design.reading.checking import make_design
from judgments.design.reading.presets import NO_PRESETS, Preset
from judgments.design.reading.study_files import toml_values
from judgments.design.reading.toml_lines import line_of

NAME_KEYS = ("name", "slug", "dataset")  # keys that may be empty in a new design


def starting_values(
    *, preset: str = "", protocol: str = "", saved_presets: Mapping[str, Preset] = NO_PRESETS
) -> dict[str, Any]:
    """Return the complete values of a new design by a preset or else by a protocol. The names are empty."""
    values = {"preset": preset} if preset else {"protocol": protocol}
    design = make_design(dict.fromkeys(NAME_KEYS, "new") | values, saved_presets=saved_presets)
    return design.model_dump(mode="json") | dict.fromkeys(NAME_KEYS, "")


def values_from_toml(text: str, *, saved_presets: Mapping[str, Preset] = NO_PRESETS) -> dict[str, Any]:
    """Return a complete design from a study file that may lack name, slug and dataset.

    Raises:
        DesignError: the file is invalid; the message starts with the line number.
    """
    values = toml_values(text, source="This")  # the subject of the error message "This is not TOML: ..."
    open_keys = [key for key in NAME_KEYS if not values.get(key)]
    try:
        design = make_design(values | dict.fromkeys(open_keys, "new"), saved_presets=saved_presets)
    except DesignError as error:
        line = line_of(text, error.field)
        message = gettext("Line %(line)d: %(error)s") % {"line": line, "error": error} if line else str(error)
        raise DesignError(message, field=error.field) from None
    return design.model_dump(mode="json") | dict.fromkeys(open_keys, "")


def put_value(values: dict[str, Any], key: str, answer: Any) -> None:
    """Set the value at a dotted key. Remove it if ``answer`` is None, or an empty slug, which then gets its default."""
    *tables, last_name = key.split(".")
    for table in tables:
        values = values.setdefault(table, {})
    if answer is None or (answer == "" and last_name == "slug"):
        values.pop(last_name, None)
    else:
        values[last_name] = answer


def value_at(values: dict[str, Any], key: str) -> Any:
    """Return the value at a dotted key; None if there is none."""
    value: Any = values
    for name in key.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value
