"""Read the boxes of an image: ``[{"id": "b1", "label": "dog", "x": 0.1, "y": 0.2, "width": 0.5, "height": 0.4}]``."""

from __future__ import annotations

from dataclasses import replace

from common.incoming import quote_value
from judgments.importers.records.json_records import json_cell
from judgments.importers.records.record import Record, RowReader
from judgments.importers.records.rows import BoxRow
from judgments.importers.records.values import read_number

MAX_BOXES = 100
SIZE_COLUMNS = ("image_width", "image_height")
KEYS = ("id", "label", "x", "y", "width", "height")
CLIPPED_SHARE = 0.005  # largest share of a side by which boxes may exceed the picture; they are then clipped
DECIMALS = 6  # of fractions of a side
_BOX_READER = RowReader(BoxRow)


def read_boxes(record: Record) -> tuple[BoxRow, ...] | None:
    """Return a record's boxes in fractions of the picture's sides, from the upper left corner; None without boxes.

    In the file, boxes are in pixels if the record has the columns `image_width` and `image_height`, and otherwise in
    such fractions. Raise ImportProblem for an invalid box.
    """
    if record.get("boxes") is None:
        return None
    expected = 'a list of {"id", "label", "x", "y", "width", "height"}'
    entries = json_cell(record, "boxes")
    if not isinstance(entries, list):
        raise record.problem("boxes", quote_value(entries), expected)
    if len(entries) > MAX_BOXES:
        raise record.problem("boxes", f"{len(entries):,} boxes", f"at most {MAX_BOXES}")
    size = _read_size(record)
    boxes: dict[str, BoxRow] = {}
    for index, entry in enumerate(entries):
        location = f"boxes[{index}]"
        if not isinstance(entry, dict):
            raise record.problem(location, quote_value(entry), expected)
        box = _read_box(Record(record.file, record.line, entry, path=location), size)
        if box.id in boxes:
            raise record.problem(
                f"{location}.id", f"{quote_value(box.id)} a second time", "every id once an image"
            )
        boxes[box.id] = box
    return tuple(boxes.values())


def _read_size(record: Record) -> tuple[float, float] | None:
    """Return the width and height of the picture in pixels; None if the record has neither."""
    width, height = (_read_side(record, name) for name in SIZE_COLUMNS)
    if (width is None) != (height is None):
        missing_column = SIZE_COLUMNS[1 if height is None else 0]
        raise record.problem(missing_column, "nothing", "both sides of the picture, or none")
    return None if width is None or height is None else (width, height)


def _read_side(record: Record, name: str) -> float | None:
    if record.get(name) is None:
        return None
    side = record.read(name, lambda value: read_number(value, record.textual))
    if side <= 0:
        raise record.problem(name, quote_value(side), "the picture's size in pixels")
    return side


def _read_box(record: Record, size: tuple[float, float] | None) -> BoxRow:
    for name in KEYS:
        if name not in record.values:
            raise record.problem(name, "no such key", "it in every box")
    for name in record.values:
        if name not in KEYS:
            raise record.problem(None, f"the unknown key {quote_value(name)}", f"one of {', '.join(KEYS)}")
    box = _BOX_READER.read(record)
    picture_width, picture_height = size or (None, None)
    x, width = _read_extent(record, ("x", "width"), box.x, box.width, picture_width)
    y, height = _read_extent(record, ("y", "height"), box.y, box.height, picture_height)
    return replace(box, x=x, y=y, width=width, height=height)


def _read_extent(
    record: Record, names: tuple[str, str], start: float, length: float, pixels: float | None
) -> tuple[float, float]:
    """Return the start and the length of a box along one side of the picture, as fractions of this side.

    ``names`` are the keys of both, for errors, and ``pixels`` is the side's length if the box is in pixels.
    """
    side = pixels or 1.0
    if length <= 0:
        raise record.problem(names[1], quote_value(length), "more than 0")
    if start < -CLIPPED_SHARE * side or start + length > (1 + CLIPPED_SHARE) * side:
        expected = (
            f"pixels from 0 to {side:g}"
            if pixels
            else "shares of the picture's side from 0 to 1 (boxes in pixels need columns image_width and image_height)"
        )
        raise record.problem(names[0], f"{start:g} to {start + length:g}", expected)
    clipped_start, clipped_end = max(0.0, start / side), min(1.0, (start + length) / side)
    return round(clipped_start, DECIMALS), round(clipped_end - clipped_start, DECIMALS)
