"""Write a batch as canonical JSON lines, which are equal byte for byte for the same dataset, design and seed.

A line is an object with a ``type`` ("pair", "hit", "pool" or "quiz") and sorted keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from judgments.design.study_design import StudyDesign
from judgments.drawing.material import Batch, Text, UnitSpec


def batch_lines(batch: Batch, design: StudyDesign) -> Iterator[str]:
    """Yield the lines of a batch: its pairs, HITs with units, an arena's pool, and quiz items."""
    for pair in batch.pairs:
        yield _json_line(
            {
                "type": "pair",
                "pair": pair.key,
                "kind": pair.kind,
                "image": pair.image,
                "first": pair.first.key,
                "second": pair.second.key,
                "first_text": pair.first.text,
                "second_text": pair.second.text,
                "first_system": pair.first_system,
                "second_system": pair.second_system,
                "references": list(pair.references),
            }
        )
    for position, hit in enumerate(batch.hits, start=1):
        yield _json_line(
            {
                "type": "hit",
                "hit": hit.key,
                "position": position,
                "required": design.judgments_per_unit,
                "units": _unit_dicts(design, hit.units),
            }
        )
    if batch.pool:
        yield _json_line({"type": "pool", "units": _unit_dicts(design, batch.pool)})
    for group in batch.quiz:
        yield _json_line({"type": "quiz", "units": _unit_dicts(design, group.units)})


def _unit_dicts(design: StudyDesign, units: Sequence[UnitSpec]) -> list[dict[str, Any]]:
    return [_unit_dict(design, position, unit) for position, unit in enumerate(units, start=1)]


def _unit_dict(design: StudyDesign, position: int, unit: UnitSpec) -> dict[str, Any]:
    """Return a unit as JSON, with keys as in ``UnitSpec``. Rare keys are left out if they have their usual value."""

    def key_and_text(name: str, text: Text | None) -> dict[str, str | None]:
        return {name: text.key if text else None, f"{name}_text": text.text if text else None}

    return {
        "unit": unit.key,
        "position": position,
        "protocol": design.protocol,
        "image": unit.image,
        **key_and_text("reference", unit.reference),
        **key_and_text("first", unit.first),
        **key_and_text("second", unit.second),
        "kind": unit.kind or None,
        "pair": unit.pair or None,
        "control": unit.control,
        "expected": unit.expected,
        "filtered": unit.filtered,
        **({"audited": True} if unit.audited else {}),
        **({"content": dict(unit.content)} if unit.content else {}),
        **({"control_kind": unit.control_kind} if unit.control_kind not in ("", "reference") else {}),
    }


def _json_line(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
