"""Labelled boxes over an image: a column of JSON, in shares of the picture's sides or in pixels.

Quorum keeps shares (0 to 1 of the picture's width and height, the corner at the upper left), so that a box fits the
picture at whatever size it is shown. Pixels need the picture's size in the columns `image_width` and `image_height`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from judgments.importers.fields import SHORT_NAME_LIMIT, Fields, check_name, shown
from judgments.importers.records import BoxRow

MOST_BOXES = 100
SIDES = ("x", "y", "width", "height")
SIZE = ("image_width", "image_height")
KEYS = ("id", "label", *SIDES)
BEYOND = 0.005  # share of a side by which drawn boxes stick out of the picture; it is cut off
DECIMALS = 6


def boxes_of(fields: Fields, column: str = "boxes") -> tuple[BoxRow, ...] | None:
    """The boxes of a record, or None where it names none. Raises ImportProblem with the box and what is wrong."""
    value = fields.raw(column)
    if value is None:
        return None
    if fields.textual and isinstance(value, str):
        value = _json(fields, column, value)
    expected = 'a list of {"id", "label", "x", "y", "width", "height"}'
    if not isinstance(value, list):
        raise fields.problem(column, shown(value), expected)
    if len(value) > MOST_BOXES:
        raise fields.problem(column, f"{len(value):,} boxes", f"at most {MOST_BOXES}")
    size = _size(fields)
    found: dict[str, BoxRow] = {}
    for place, entry in enumerate(value):
        where = f"{column}[{place}]"
        if not isinstance(entry, dict):
            raise fields.problem(where, shown(entry), expected)
        box = _box(fields, where, entry, size)
        if box.id in found:
            raise fields.problem(f"{where}.id", f"{shown(box.id)} a second time", "every id once an image")
        found[box.id] = box
    return tuple(found.values())


def _json(fields: Fields, column: str, text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise fields.problem(column, shown(text), "a JSON list of boxes") from None


def _size(fields: Fields) -> tuple[float, float] | None:
    """The picture's size in pixels where the record says it."""
    sides = [fields.number(name) for name in SIZE]
    for name, side in zip(SIZE, sides, strict=True):
        if side is not None and side <= 0:
            raise fields.problem(name, shown(side), "the picture's size in pixels")
    width, height = sides
    if (width is None) != (height is None):
        raise fields.problem(
            SIZE[1 if height is None else 0], "nothing", "both sides of the picture, or none"
        )
    return None if width is None or height is None else (width, height)


def _box(fields: Fields, where: str, entry: Mapping[str, object], size: tuple[float, float] | None) -> BoxRow:
    for name in KEYS:
        if name not in entry:
            raise fields.problem(f"{where}.{name}", "no such key", "it in every box")
    for name in entry:
        if name not in KEYS:
            raise fields.problem(where, f"the unknown key {shown(name)}", f"one of {', '.join(KEYS)}")
    x, y, width, height = (_number(fields, f"{where}.{name}", entry[name]) for name in SIDES)
    whole = size or (1.0, 1.0)
    for name, start, length, side in (("x", x, width, whole[0]), ("y", y, height, whole[1])):
        if length <= 0:
            name = "width" if name == "x" else "height"
            raise fields.problem(f"{where}.{name}", shown(length), "more than 0")
        if start < -BEYOND * side or start + length > (1 + BEYOND) * side:
            raise fields.problem(f"{where}.{name}", f"{start:g} to {start + length:g}", _inside(side, size))
    left, top = max(0.0, x / whole[0]), max(0.0, y / whole[1])
    right, bottom = min(1.0, (x + width) / whole[0]), min(1.0, (y + height) / whole[1])
    return BoxRow(
        id=_name(fields, f"{where}.id", entry["id"]),
        label=_name(fields, f"{where}.label", entry["label"]),
        x=round(left, DECIMALS),
        y=round(top, DECIMALS),
        width=round(right - left, DECIMALS),
        height=round(bottom - top, DECIMALS),
    )


def _inside(side: float, size: tuple[float, float] | None) -> str:
    if size is not None:
        return f"pixels from 0 to {side:g}"
    return (
        "shares of the picture's side from 0 to 1 (boxes in pixels need columns image_width and image_height)"
    )


def _number(fields: Fields, where: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < math.inf:
        raise fields.problem(where, shown(value), "a number")
    return float(value)


def _name(fields: Fields, where: str, value: object) -> str:
    if type(value) is int:
        value = str(value)
    if not isinstance(value, str):
        raise fields.problem(where, shown(value), "a name")
    return check_name(value, fields.file, fields.line, fields.where(where), limit=SHORT_NAME_LIMIT)
