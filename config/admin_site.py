"""The admin with the pages of all apps.

They import most of Quorum, so they are loaded with the addresses, and commands start without them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.db.models import Model
from django.utils.functional import Promise
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext_lazy
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice
from rest_framework.authtoken.models import TokenProxy

OWN_APPS = ("judgments", "annotation", "evaluation")
NAMES = ("verbose_name", "verbose_name_plural")


def _translate_names() -> None:
    """Let staff read names of models, fields and columns, and words of choices, in their language.

    They are declared in English; ``scripts/messages.py`` collects them.
    """
    for holder, name, text in declared_names():
        setattr(holder, name, gettext_lazy(text))
    for field in fields_with_choices():
        field.choices = [  # a lazy label may have a context
            (value, label if isinstance(label, Promise) else gettext_lazy(str(label)))
            for value, label in field.flatchoices
        ]


def declared_names() -> Iterator[tuple[Any, str, str]]:
    """Yield (object, attribute, English text) of the names of apps, models, fields, and columns of lists."""
    for label in OWN_APPS:
        yield apps.get_app_config(label), "verbose_name", str(apps.get_app_config(label).verbose_name)
    for model in _own_models():
        yield from ((model._meta, name, str(getattr(model._meta, name))) for name in NAMES)
        for field in model._meta.concrete_fields:
            yield field, "verbose_name", str(field.verbose_name)
            if field.help_text:
                yield field, "help_text", str(field.help_text)
    for model_admin in admin.site._registry.values():
        for column in (*model_admin.list_display, *model_admin.readonly_fields):
            display = getattr(type(model_admin), column, None) if isinstance(column, str) else column
            if text := getattr(display, "short_description", ""):
                yield display, "short_description", str(text)


def fields_with_choices() -> list[Any]:
    models = (model for label in OWN_APPS for model in apps.get_app_config(label).get_models())
    return [field for model in models for field in model._meta.concrete_fields if field.choices]


def _own_models() -> list[type[Model]]:
    return [model for model in admin.site._registry if model._meta.app_label in OWN_APPS]


site = admin.site
autodiscover_modules("admin", "admin.pages", register_to=site)
# Devices' pages show secrets to other administrators; the framework's tokens are stored as they are and open nothing.
site.unregister([StaticDevice, TOTPDevice, TokenProxy])
_translate_names()
