"""Complete the values of a design from its preset and its kind.

Values are a study file as nested dicts, such as ``{"preset": "our-slider", "sampling": {"split": "test"}}``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext

from common.errors import DesignError, did_you_mean
from judgments.design.panel_links import SIGNATURE_PARAMETER, quorum_makes_links
from judgments.design.reading.presets import PRESETS, Preset
from judgments.design.reading.problems import quoted_value
from judgments.design.requirements import REQUIREMENT_PRESETS
from judgments.design.tables.controls import Controls, usual_least
from judgments.design.tables.sampling import CROSSED
from judgments.kinds import KINDS

# A design that Quorum wrote has all of these tables. A study file that a person wrote hardly ever has all of them.
COMPLETE_TABLES = {
    "access", "controls", "crowd", "filter", "keywords", "panel", "quiz", "sampling", "stopping", "template",
    "workers",
}  # fmt: skip


def slugify_name(name: str) -> str:
    """Return a slug for a study's name: its ASCII letters and digits in lower case, with hyphens for all else."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:80] or "study"


def complete_values(values: dict[str, Any], saved_presets: Mapping[str, Preset]) -> dict[str, Any]:
    """Return the values with those of their preset, and with the defaults of their kind.

    Raises:
        DesignError: the preset is unknown, or for another protocol.
    """
    preset_name = values.get("preset", "")
    presets = {**saved_presets, **PRESETS}
    is_complete = values.keys() >= COMPLETE_TABLES
    if is_complete:
        values = with_pairs_from(values)
        # a design that Quorum wrote leaves `least` out if it is 1, whatever its preset says
        values = _merge_files({"controls": {"least": 1}}, values)
    if not isinstance(preset_name, str) or (preset_name and not is_complete and preset_name not in presets):
        raise DesignError(
            gettext("preset is %(preset_name)s; expected one of %(listed)s.")
            % {"preset_name": quoted_value(preset_name), "listed": ", ".join(presets)}
            + did_you_mean(preset_name, presets),
            field="preset",
        )
    # a complete design has the values of its saved preset, which may have been deleted since
    preset = (PRESETS if is_complete else presets).get(preset_name)
    design_values = dict(values)
    if preset is not None:
        _check_protocol_of_preset(values, preset_name, preset)
        design_values = _merge_files(preset.values, values)
    kind = KINDS.get(str(design_values.get("protocol", "")))
    if kind is not None:
        design_values = _merge_files(kind.defaults_for(design_values), design_values)
        if "question" not in values:
            design_values["question"] = kind.question_for(design_values)
    design_values = _with_requirements(design_values)
    if not is_complete:
        design_values = _with_usual_least(design_values, preset)
    if not is_complete and quorum_makes_links(design_values):  # it then signs them by default
        design_values["panel"] = {"signature": SIGNATURE_PARAMETER} | design_values.get("panel", {})
    if isinstance(design_values.get("name"), str):
        design_values.setdefault("slug", slugify_name(design_values["name"]))
    return design_values


def _check_protocol_of_preset(values: dict[str, Any], preset_name: str, preset: Preset) -> None:
    """Raise DesignError if the values name another protocol than that of their preset."""
    preset_protocol = preset.values["protocol"]
    protocol = values.get("protocol", preset_protocol)
    if protocol != preset_protocol:
        raise DesignError(
            gettext(
                "preset %(preset_name)r is for protocol %(preset)r, but the file has protocol %(stated)s."
            )
            % {"preset_name": preset_name, "preset": preset_protocol, "stated": quoted_value(protocol)},
            field="protocol",
        )


def _with_usual_least(values: dict[str, Any], preset: Preset | None) -> dict[str, Any]:
    """Return the values with a default for ``controls.least`` that suits the threshold of control items.

    A paper that states a preset's threshold excludes workers without a minimum of answers, so no default is set.
    """
    controls = values.get("controls", {})
    published_controls: dict[str, Any] = {}
    if preset is not None and "controls.threshold" not in preset.ours:  # the paper states it
        published_controls = preset.values.get("controls", {})
    if not isinstance(controls, dict) or "threshold" in published_controls:
        return values
    threshold = controls.get("threshold", Controls().threshold)
    is_valid = type(threshold) in (float, int) and 0 <= threshold <= 1  # true is an int, but not a share
    return values | {"controls": {"least": usual_least(threshold) if is_valid else 1} | controls}


def with_pairs_from(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values with ``sampling.pairs_from``.

    Designs from before version 0.6 have no such key. They judged each text for each image.
    """
    kind, sampling = KINDS.get(str(values.get("protocol"))), values["sampling"]
    if kind is None or not kind.judges_one_caption:
        return values
    if not isinstance(sampling, dict) or "pairs_from" in sampling:
        return values
    return values | {"sampling": sampling | {"pairs_from": CROSSED}}


def _with_requirements(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values with requirements from the predefined set that they name, where they have none."""
    workers = values.get("workers")
    preset_name = workers.get("requirements") if isinstance(workers, dict) else None
    preset = REQUIREMENT_PRESETS.get(preset_name) if isinstance(preset_name, str) else None
    if not isinstance(workers, dict) or preset is None:
        return values
    preset_values = {key: value for key, value in preset.values.items() if not workers.get(key)}
    return values | {"workers": workers | preset_values}


def _merge_files(base: dict[str, Any], overrides: dict[str, Any]) -> dict[str, Any]:
    """Return a study file with the keys of both, in which values of ``overrides`` take precedence.

    Tables are merged key by key, except ``sampling.pairs`` and ``chosen``. These are replaced as a whole, so that a
    kind of pairs or an item that ``overrides`` leaves out is not in the result.
    """
    values = dict(base)
    for key, value in overrides.items():
        base_value = base.get(key)
        is_merged = key not in ("pairs", "chosen")
        if is_merged and isinstance(base_value, dict) and isinstance(value, dict):
            values[key] = _merge_files(base_value, value)
        else:
            values[key] = value
    return values
