"""Translate the names of models, fields and columns, and the labels of choices, for staff pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.apps import AppConfig, apps
from django.conf import settings
from django.contrib import admin
from django.db.models import Model
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

OWN_APPS = ("judgments", "annotation", "evaluation")
NAME_ATTRIBUTES = ("verbose_name", "verbose_name_plural")


def translate_names() -> None:
    """Replace names of models, fields and columns, and labels of choices, by lazy translations.

    They are declared as English texts without gettext. ``scripts/messages.py`` collects them.
    """
    for named_object, attribute, text in declared_names():
        setattr(named_object, attribute, _(text))
    for field in fields_with_choices():
        field.choices = [  # a lazy label may have a message context
            (value, label if isinstance(label, Promise) else _(str(label)))
            for value, label in field.flatchoices
        ]


def declared_names() -> Iterator[tuple[Any, str, str]]:
    """Yield (object, attribute, English text) for names of apps, models, fields, and columns of lists."""
    for app in _own_apps():
        yield app, "verbose_name", str(app.verbose_name)
    for model in _own_models():
        for attribute in NAME_ATTRIBUTES:
            yield model._meta, attribute, str(getattr(model._meta, attribute))
        for field in model._meta.concrete_fields:
            yield field, "verbose_name", str(field.verbose_name)
            if field.help_text:
                yield field, "help_text", str(field.help_text)
    for model_admin in admin.site._registry.values():
        for column in (*model_admin.list_display, *model_admin.readonly_fields):
            # a column is a function, or the name of a method or (without ``display``) of a model's field
            display = getattr(type(model_admin), column, None) if isinstance(column, str) else column
            if text := getattr(display, "short_description", ""):
                yield display, "short_description", str(text)


def fields_with_choices() -> list[Any]:
    """Return the fields with choices of all models of ``_own_apps``."""
    fields: list[Any] = []
    for app in _own_apps():
        for model in app.get_models():
            fields.extend(field for field in model._meta.concrete_fields if field.choices)
    return fields


def _own_apps() -> list[AppConfig]:
    """Return the apps of the platform and of active features that have models."""
    own_apps = (apps.get_app_config(label) for label in (*OWN_APPS, *settings.FEATURES))
    return [app for app in own_apps if app.models_module]


def _own_models() -> list[type[Model]]:
    """Return the models of ``_own_apps`` that the admin shows."""
    return [model for model in admin.site._registry if model._meta.app_config in _own_apps()]
