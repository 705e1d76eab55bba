"""Complete the values of a design from its preset and its kind."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext

from common.errors import DesignError, did_you_mean
from judgments.design.panel_links import SIGNATURE, makes_own_links
from judgments.design.reading.presets import PRESETS, Preset
from judgments.design.reading.problems import quoted_value
from judgments.design.requirements import REQUIREMENT_PRESETS
from judgments.design.tables.controls import Controls, usual_least
from judgments.design.tables.sampling import CROSSED
from judgments.kinds import KINDS

# A design that Quorum wrote has all keys of these tables. A study file by a person hardly ever has all of them.
COMPLETE_TABLES = {
    "access", "controls", "crowd", "filter", "keywords", "panel", "quiz", "sampling", "stopping", "template",
    "workers",
}  # fmt: skip


def slugify_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:80] or "study"


def complete_values(values: dict[str, Any], saved: Mapping[str, Preset]) -> dict[str, Any]:
    preset_name = values.get("preset", "")
    preset: dict[str, Any] = {}
    presets = {**saved, **PRESETS}
    complete = values.keys() >= COMPLETE_TABLES
    if complete:
        values = with_pairs_from(values)
        values = _merge_files({"controls": {"least": 1}}, values)
    if not isinstance(preset_name, str) or (preset_name and not complete and preset_name not in presets):
        raise DesignError(
            gettext("preset is %(preset_name)s; expected one of %(listed)s.")
            % {"preset_name": quoted_value(preset_name), "listed": ", ".join(presets)}
            + did_you_mean(preset_name, presets),
            field="preset",
        )
    if preset_name in (PRESETS if complete else presets):
        preset = presets[preset_name].values
        protocol = values.get("protocol", preset["protocol"])
        if protocol != preset["protocol"]:
            raise DesignError(
                gettext(
                    "preset %(preset_name)r is for protocol %(preset)r, but the file has protocol %(stated)s."
                )
                % {
                    "preset_name": preset_name,
                    "preset": preset["protocol"],
                    "stated": quoted_value(protocol),
                },
                field="protocol",
            )
    merged = _merge_files(preset, values)
    kind = KINDS.get(str(merged.get("protocol", "")))
    if kind is not None:
        merged = _merge_files(kind.defaults_for(merged), merged)
        if "question" not in values:
            merged["question"] = kind.question_for(merged)
    merged = _with_requirements(merged)
    if not complete:
        merged = _with_usual_least(merged, presets.get(preset_name))
    if not complete and makes_own_links(merged):
        merged["panel"] = {"signature": SIGNATURE} | merged.get("panel", {})
    if isinstance(merged.get("name"), str):
        merged.setdefault("slug", slugify_name(merged["name"]))
    return merged


def _with_usual_least(values: dict[str, Any], preset: Preset | None) -> dict[str, Any]:
    """Set the default of ``controls.least``, unless the paper states the control rule without a minimum."""
    controls = values.get("controls", {})
    published = preset and "controls.threshold" not in preset.ours and preset.values.get("controls", {})
    if not isinstance(controls, dict) or (published and "threshold" in published):
        return values
    threshold = controls.get("threshold", Controls().threshold)
    valid = type(threshold) in (float, int) and 0 <= threshold <= 1  # true is an int, but not a share
    return values | {"controls": {"least": usual_least(threshold) if valid else 1} | controls}


def with_pairs_from(values: dict[str, Any]) -> dict[str, Any]:
    """Complete a design from before 0.6, which had no ``sampling.pairs_from`` and crossed texts and images."""
    kind, sampling = KINDS.get(str(values.get("protocol"))), values["sampling"]
    if (
        kind is None
        or not kind.judges_one_caption
        or not isinstance(sampling, dict)
        or "pairs_from" in sampling
    ):
        return values
    return values | {"sampling": sampling | {"pairs_from": CROSSED}}


def _with_requirements(values: dict[str, Any]) -> dict[str, Any]:
    workers = values.get("workers")
    named = workers.get("requirements") if isinstance(workers, dict) else None
    preset = REQUIREMENT_PRESETS.get(named) if isinstance(named, str) else None
    if not isinstance(workers, dict) or preset is None:
        return values
    filled = {key: value for key, value in preset.values.items() if not workers.get(key)}
    return values | {"workers": workers | filled}


def _merge_files(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Merge two study files, table by table; ``sampling.pairs`` and ``chosen`` are replaced as a whole."""
    merged = dict(below)
    for key, value in above.items():
        under = below.get(key)
        merged[key] = (
            _merge_files(under, value)
            if isinstance(under, dict) and isinstance(value, dict) and key not in ("pairs", "chosen")
            else value
        )
    return merged
