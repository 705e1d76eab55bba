"""Form fields for the values of a study file that are neither a text nor a number."""

from __future__ import annotations

import tomllib
from typing import Any

import tomli_w
from django import forms
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminTextareaWidget


class AllOrNumberField(forms.CharField):
    """``all`` or a whole number from 1 on."""

    def to_python(self, value: Any) -> Any:
        """The word, or the number.

        Raises:
            ValidationError: neither.
        """
        text = str(super().to_python(value)).strip().lower()
        if text in ("", "all"):
            return "all" if text else ""
        if not text.isascii() or not text.isdigit() or int(text) < 1:
            raise forms.ValidationError(f"This is {value!r}; expected 'all' or a whole number from 1 on.")
        return int(text)


class LinesField(forms.CharField):
    """A list of texts, one a line; empty lines are left out."""

    def __init__(self, *, rows: int, **options: Any) -> None:
        """``rows``: height of the field."""
        widget = UnfoldAdminTextareaWidget(attrs={"rows": rows, "spellcheck": "false"})
        super().__init__(required=False, widget=widget, **options)

    def prepare_value(self, value: Any) -> Any:
        """The list as lines."""
        return "\n".join(value) if isinstance(value, (list, tuple)) else value

    def to_python(self, value: Any) -> Any:
        """The lines as a list."""
        return [line.strip() for line in str(super().to_python(value)).splitlines() if line.strip()]


class PairsField(LinesField):
    """A list of pairs of texts, one pair a line with a tab between."""

    def prepare_value(self, value: Any) -> Any:
        """The pairs as lines."""
        if not isinstance(value, (list, tuple)):
            return value
        return "\n".join("\t".join(pair) for pair in value)

    def to_python(self, value: Any) -> Any:
        """The lines as a list of pairs.

        Raises:
            ValidationError: a line has not two texts.
        """
        pairs = [[cell.strip() for cell in line.split("\t")] for line in super().to_python(value)]
        for number, pair in enumerate(pairs, start=1):
            if len(pair) != 2 or not all(pair):
                raise forms.ValidationError(
                    f"Line {number} has {len(pair)} cells; expected an image, a tab and a caption."
                )
        return pairs


class RowsField(forms.CharField):
    """A list of tables, typed as in a study file."""

    def __init__(self, name: str, *, rows: int, **options: Any) -> None:
        """``name``: what stands in the double brackets; ``rows``: height of the field."""
        self.table = name
        widget = UnfoldAdminTextareaWidget(attrs={"rows": rows, "spellcheck": "false"})
        super().__init__(required=False, widget=widget, **options)

    def prepare_value(self, value: Any) -> Any:
        """The tables as TOML."""
        if not isinstance(value, (list, tuple)):
            return value
        tables = [{key: one for key, one in row.items() if one not in ("", [], {}, None)} for row in value]
        return tomli_w.dumps({self.table: tables}, multiline_strings=True).strip() if tables else ""

    def to_python(self, value: Any) -> Any:
        """The tables.

        Raises:
            ValidationError: not TOML, or something else than these tables.
        """
        text = str(super().to_python(value))
        try:
            found = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise forms.ValidationError(f"This is not TOML: {error}.") from None
        rows = found.pop(self.table, [])
        if found or not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise forms.ValidationError(f"Expected tables that begin with [[{self.table}]] and nothing else.")
        return rows


class SeveralField(forms.MultipleChoiceField):
    """Some of a few words."""

    def __init__(self, **options: Any) -> None:
        """As of a field of several choices."""
        super().__init__(widget=UnfoldAdminCheckboxSelectMultipleWidget, **options)
