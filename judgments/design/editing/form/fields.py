"""The field of the form for each key of a study file, by the type and limits of the design's field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args, get_origin

from django import forms
from django.utils.translation import gettext
from pydantic.fields import FieldInfo
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from common.amounts import AmountField
from judgments.design.editing.form.sections import extra_of, model_of
from judgments.design.editing.rows import RowsField, row_columns_of
from judgments.design.editing.translations import TranslationsField

CENTS_SUFFIX = ", in cents"  # the end of the titles of fields with amounts of money


class AllOrNumberField(forms.CharField):
    """A whole number of at least 1, or "all"."""

    def to_python(self, value: Any) -> Any:
        text = str(super().to_python(value)).strip().lower()
        if text in ("", "all"):
            return "all" if text else ""
        if not text.isascii() or not text.isdigit() or int(text) < 1:
            raise forms.ValidationError(
                gettext("Found %(value)r; expected 'all' or a whole number of at least 1.") % {"value": value}
            )
        return int(text)


class TextareaField(forms.CharField):
    """An optional text of several lines."""

    def __init__(self, *, rows: int, **options: Any) -> None:
        widget = UnfoldAdminTextareaWidget(attrs={"rows": rows, "spellcheck": "false"})
        super().__init__(required=False, widget=widget, **options)


class LinesField(TextareaField):
    """A list of texts, one per line. Empty lines are left out."""

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, (list, tuple)) else value

    def to_python(self, value: Any) -> Any:
        return [line.strip() for line in str(super().to_python(value)).splitlines() if line.strip()]


class PointsField(LinesField):
    """Labels for points of a scale, one per line, such as ``1 = bad``."""

    def prepare_value(self, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        return "\n".join(f"{point} = {label}" for point, label in value.items())

    def to_python(self, value: Any) -> Any:
        labels = {}
        for number, line in enumerate(super().to_python(value), start=1):
            point, equals, text = (part.strip() for part in line.partition("="))
            if not (point and equals and text):
                raise forms.ValidationError(
                    gettext("Line %(number)d is %(line)r; expected a number, = and a label, such as 1 = bad.")
                    % {"number": number, "line": line}
                )
            labels[point] = text
        return labels


class PairsField(LinesField):
    """A list of pairs, one per line, separated by a tab."""

    def prepare_value(self, value: Any) -> Any:
        if not isinstance(value, (list, tuple)):
            return value
        return "\n".join("\t".join(pair) for pair in value)

    def to_python(self, value: Any) -> Any:
        pairs = [[cell.strip() for cell in line.split("\t")] for line in super().to_python(value)]
        for number, pair in enumerate(pairs, start=1):
            if len(pair) != 2 or not all(pair):
                raise forms.ValidationError(
                    gettext("Line %(number)d (cells: %(cells)d): expected an item, a tab and a text.")
                    % {"number": number, "cells": len(pair)}
                )
        return pairs


def is_money(key: str) -> bool:
    """Return whether the value of a study-file key is an amount of money, in cents."""
    return "_cents" in key


def html_name(key: str) -> str:
    """Return the name of the form field for a study-file key, such as ``crowd-backend``."""
    return key.replace(".", "-")


def form_field(key: str, field: FieldInfo, datasets: list[str]) -> forms.Field:
    """Return the form's field for a key, by the type and limits of the design's field."""
    extra, limits, annotation = extra_of(field), _limits_of(field), field.annotation
    options: dict[str, Any] = {
        "label": gettext(field.title or ""),
        "help_text": gettext(field.description or ""),
    }
    bounds: dict[str, Any] = {"min_value": limits.get("ge"), "max_value": limits.get("le")}
    if key == "translations":
        return TranslationsField(**options)
    if key == "dataset":
        choices = [("", gettext("Choose a dataset")), *((name, name) for name in datasets)]
        return forms.ChoiceField(choices=choices, widget=UnfoldAdminSelectWidget, **options)
    if labels := extra.get("words"):  # labels by value; the value "" makes the field optional
        choices = [(value, gettext(label)) for value, label in labels.items()]
        if get_origin(annotation) is tuple:
            required, checkboxes = bool(field.default), UnfoldAdminCheckboxSelectMultipleWidget
            return forms.MultipleChoiceField(required=required, choices=choices, widget=checkboxes, **options)
        widget: Any = UnfoldAdminRadioSelectWidget if extra.get("radio") else UnfoldAdminSelectWidget
        return forms.ChoiceField(required=all(labels), choices=choices, widget=widget, **options)
    if (field_of_list := list_field(field, **options)) is not None:
        return field_of_list
    if annotation is bool:
        return forms.BooleanField(required=False, widget=UnfoldBooleanWidget, **options)
    if is_money(key):  # the study file has cents, but the form shows units of the currency
        label = gettext((field.title or "").removesuffix(CENTS_SUFFIX))
        return AmountField(label, options["help_text"], required=True, most_cents=limits.get("le"))
    if annotation is int:
        required = not key.startswith("sampling.pairs.")  # an empty number of pairs is not in the mapping
        return forms.IntegerField(
            required=required, widget=UnfoldAdminIntegerFieldWidget, **bounds, **options
        )
    if key == "scale.labels":
        return PointsField(rows=extra["rows"], **options)
    if annotation is float:
        widget = UnfoldAdminIntegerFieldWidget(attrs={"step": "any"})
        required = not key.startswith("scale.")  # an empty scale is that of the protocol
        return forms.FloatField(required=required, widget=widget, **bounds, **options)
    if Literal["all"] in get_args(annotation):
        return AllOrNumberField(widget=UnfoldAdminTextInputWidget, **options)
    widget = UnfoldAdminTextInputWidget
    if "rows" in extra:
        widget = UnfoldAdminTextareaWidget(attrs={"rows": extra["rows"]})
    if key.startswith(("panel.codes.", "panel.addresses.")):
        options["empty_value"] = None  # an empty field removes the key from the mapping
    return forms.CharField(
        required=key == "name", max_length=limits.get("max_length"), widget=widget, **options
    )


def list_field(field: FieldInfo, **options: Any) -> forms.Field | None:
    """Return the form's field for a list, by the type of its members; None if the design's field is no list."""
    if get_origin(field.annotation) is not tuple:
        return None
    rows = extra_of(field).get("rows", 1)
    member = get_args(field.annotation)[0]
    if get_origin(member) is Annotated:
        member = get_args(member)[0]
    if get_origin(member) is tuple:
        return PairsField(rows=rows, **options)
    if (model := model_of(field)) is not None:
        return RowsField(row_columns_of(model), **options)
    return LinesField(rows=rows, **options)


def _limits_of(field: FieldInfo) -> dict[str, Any]:
    """Return the limits of a design's field by name, such as ``{"ge": 1, "le": 100}``."""
    limits = {}
    for rule in field.metadata:
        for name in ("ge", "le", "max_length"):
            if hasattr(rule, name):
                limits[name] = getattr(rule, name)
    return limits
