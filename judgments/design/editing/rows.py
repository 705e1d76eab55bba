"""Form fields for lists of tables, such as quiz questions, examples, detectors and quotas.

Each table is a row of inputs, and a dict such as ``{"rule": "too-fast", "settings": {"least": 20}}``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from django import forms
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from pydantic import BaseModel
from pydantic.fields import FieldInfo

MAX_ROWS = 60  # more rows must be edited in the study file, since a row has several fields
BLANK_NUMBER = "__row__"  # number of the row that the button "Add" copies
DETECTORS: dict[str, str] = {}  # titles of detectors by name; the app `annotation` adds them
SETTING_PATTERN = re.compile(r"([A-Za-z_]+)\s*=\s*(\S.*)")
# labels of the columns whose keys have no title
COLUMN_LABELS = {
    "by": "Trait",
    "expected": "Right answer",
    "first": "First text",
    "image": "Item",
    "reference": "Sentence A",
    "rule": "Detector",
    "scene": "Description in words",
    "second": "Second text",
    "shown": "Texts shown, one per line",
    "options": "Options, one per line",
    "settings": "Settings, such as least = 20",
    "why": "Reason",
}
InputType = Literal["text", "paragraphs", "lines", "whole", "whole-or-text", "settings", "choice"]
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RowColumn:
    """A column of the rows: an input with a label. ``input_type`` says which input it is, and how its text is read."""

    key: str
    label: str
    help: str
    input_type: InputType
    is_needed: bool
    choices: tuple[tuple[str, str], ...] = ()

    @property
    def short_label(self) -> str:
        """The translated label up to its first comma, without hints such as "one per line"."""
        return gettext(self.label).partition(",")[0]

    @property
    def marks_use(self) -> bool:
        """Whether a filled cell shows that the row is not blank. A choice with a default is filled in every row."""
        return self.input_type != "choice" or self.is_needed

    def text_of(self, value: Any) -> str:
        """Return the text of the input for a stored value. ``read`` is the inverse."""
        if isinstance(value, Mapping):
            return ", ".join(f"{name} = {setting}" for name, setting in value.items())
        if isinstance(value, list | tuple):
            return "\n".join(map(str, value))
        return "" if value is None else str(value)

    def display_text(self, value: Any) -> str:
        """Return the value as a person reads it, with the label of a choice."""
        text = self.text_of(value)
        label = dict(self.choices).get(text)
        return gettext(label) if label else text

    def read(self, text: str, where: str) -> Any:
        """Return the value of a cell by its text. Raise ValidationError if it is invalid.

        ``where`` is the place of the cell for the message, such as "Row 3".
        """
        if self.input_type == "lines":
            return [line.strip() for line in text.splitlines() if line.strip()]
        if self.input_type == "settings":
            return _read_settings(text, where)
        if self.input_type == "paragraphs":
            return text.replace("\r\n", "\n")
        whole_number = re.fullmatch(r"-?\d{1,12}", text)
        if self.input_type == "whole" and not whole_number:
            raise forms.ValidationError(
                gettext("%(where)s: found %(text)r, expected a whole number.")
                % {"where": f"{where}, {gettext(self.label)}", "text": text}
            )
        return int(text) if whole_number and self.input_type in ("whole", "whole-or-text") else text


def row_columns_of(model: type[BaseModel]) -> list[RowColumn]:
    return [_make_column(key, field) for key, field in model.model_fields.items()]


def _make_column(key: str, field: FieldInfo) -> RowColumn:
    input_type: InputType = "text"
    choices: list[tuple[str, str]] = []
    annotation = field.annotation
    schema_extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    if key == "rule" and DETECTORS:
        input_type, choices = "choice", list(DETECTORS.items())
    elif get_origin(annotation) is Literal:
        input_type, choices = "choice", [(choice, choice) for choice in get_args(annotation)]
    elif get_origin(annotation) is tuple:
        input_type = "lines"
    elif "rows" in schema_extra:  # the height of a text area
        input_type = "paragraphs"
    elif get_origin(annotation) is dict:
        input_type = "settings"
    elif annotation is int:
        input_type = "whole"
    elif int in get_args(annotation):
        input_type = "whole-or-text"
    is_needed = field.is_required()
    if is_needed and choices:
        choices.insert(0, ("", "Choose"))
    label = field.title or COLUMN_LABELS.get(key, key.capitalize())
    return RowColumn(key, label, field.description or "", input_type, is_needed, tuple(choices))


def _read_settings(text: str, place: str) -> dict[str, Any]:
    """Parse settings such as ``least = 20``, separated by commas or line breaks. Convert numbers."""
    settings: dict[str, Any] = {}
    for entry in re.split(r"[,\n]", text):
        if not entry.strip():
            continue
        match = SETTING_PATTERN.fullmatch(entry.strip())
        if match is None:
            raise forms.ValidationError(
                gettext("%(where)s: found %(text)r, expected a name, = and a value.")
                % {"where": f"{place}, {gettext('Settings')}", "text": entry.strip()}
            )
        name, value = match.groups()
        try:
            settings[name] = int(value) if re.fullmatch(r"-?\d+", value) else float(value)
        except ValueError:
            settings[name] = value
    return settings


def describe_rows(columns: list[RowColumn], rows: list[Row]) -> str:
    """Return each row as one line, with the labels and texts of its filled cells."""
    lines = []
    for row in rows:
        cells = []
        for column in columns:
            text = column.display_text(row.get(column.key)).replace("\n", " / ")
            if text:
                cells.append(f"{column.short_label}: {text}")
        lines.append(" · ".join(cells))
    return "\n".join(lines)


class InputRows(forms.Widget):
    """A widget with several inputs, which have labels of their own."""

    use_fieldset = True

    def id_for_label(self, id_: str | None) -> str:
        return ""

    def value_omitted_from_data(self, data: Any, files: Any, name: str) -> bool:
        return False


class RowsWidget(InputRows):
    """Rows of inputs named ``<field>-<number>-<key>``, with buttons to add and remove rows.

    Attributes:
        hidden_keys: keys that the protocol does not use. The column of such a key is shown only if a row has a value.
    """

    hidden_keys: frozenset[str] = frozenset()

    def __init__(self, columns: list[RowColumn]) -> None:
        super().__init__()
        self.columns = columns

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[dict[str, str]]:
        rows: dict[int, dict[str, str]] = {}
        for key in data:
            match = re.fullmatch(rf"{re.escape(name)}-(\d{{1,6}})-([a-z_]+)", key)
            if match:
                number, column_key = match.groups()
                rows.setdefault(int(number), {})[column_key] = str(data.get(key))
        marking_keys = [column.key for column in self.columns if column.marks_use]
        rows_in_order = [rows[number] for number in sorted(rows)]
        return [row for row in rows_in_order if any(row.get(key, "").strip() for key in marking_keys)]

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        rows = list(value or [])
        shown_columns = [
            column
            for column in self.columns
            if column.key not in self.hidden_keys or any(row.get(column.key) for row in rows)
        ]
        context = {
            "name": name,
            "id": (attrs or {}).get("id", f"id_{name}"),
            "unshown_row_count": len(rows) if len(rows) > MAX_ROWS else 0,  # all or none are shown
            "rows": [_row_context(name, shown_columns, str(number), row) for number, row in enumerate(rows)],
            "blank_row": _row_context(name, shown_columns, BLANK_NUMBER, {}),
            # an empty row at the end, for browsers without scripts
            "next_row": _row_context(name, shown_columns, str(len(rows)), {}),
        }
        return render_to_string("judgments/parts/rows.html", context)


def _row_context(name: str, columns: list[RowColumn], number: str, row: Row) -> dict[str, Any]:
    cells = [
        {
            "column": column,
            "name": f"{name}-{number}-{column.key}",
            "text": column.text_of(row.get(column.key)),
        }
        for column in columns
    ]
    return {"title": "" if number == BLANK_NUMBER else int(number) + 1, "cells": cells}


class RowsField(forms.Field):
    """A list of tables, edited as rows of inputs (``RowsWidget``)."""

    widget: RowsWidget

    def __init__(self, columns: list[RowColumn], **options: Any) -> None:
        self.columns = columns
        super().__init__(required=False, widget=RowsWidget(columns), **options)

    def to_python(self, value: Any) -> list[dict[str, Any]]:
        rows = []
        for number, row in enumerate(value or [], start=1):
            typed_row: dict[str, Any] = {}
            for column in self.columns:
                text = column.text_of(row.get(column.key)).strip()
                if text:
                    typed_row[column.key] = column.read(text, gettext("Row %(number)d") % {"number": number})
                elif column.is_needed:
                    raise forms.ValidationError(
                        gettext("Row %(number)d: “%(column)s” is empty, but every row needs it.")
                        % {"number": number, "column": column.short_label}
                    )
            rows.append(typed_row)
        return rows

    def as_posted(self, name: str, rows: list[Row]) -> dict[str, str]:
        """Return the data that a browser would post for these rows."""
        form_data: dict[str, str] = {}
        for number, row in enumerate(rows):
            for column in self.columns:
                form_data[f"{name}-{number}-{column.key}"] = column.text_of(row.get(column.key))
        return form_data
