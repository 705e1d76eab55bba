"""The app of the installation: system checks and translated names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from django.apps import AppConfig, apps
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

if TYPE_CHECKING:
    from django.db.models import Model

OWN_APPS = ("judgments", "annotation", "evaluation")
NAMES = ("verbose_name", "verbose_name_plural")


class ConfigConfig(AppConfig):
    name = "config"
    verbose_name = "Installation"

    def ready(self) -> None:
        from django.contrib import admin
        from django.contrib.auth.signals import user_logged_in
        from django_otp.plugins.otp_static.models import StaticDevice
        from django_otp.plugins.otp_totp.models import TOTPDevice

        from config import checks  # noqa: F401 - registers them
        from config.second_factor.devices import note_login

        _translate_names()
        admin.site.unregister([StaticDevice, TOTPDevice])  # their pages show secrets to other administrators
        user_logged_in.connect(note_login)


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
    from django.contrib import admin

    for model_admin in admin.site._registry.values():
        for column in (*model_admin.list_display, *model_admin.readonly_fields):
            found = getattr(type(model_admin), column, None) if isinstance(column, str) else column
            if text := getattr(found, "short_description", ""):
                yield found, "short_description", str(text)


def fields_with_choices() -> list[Any]:
    models = (model for label in OWN_APPS for model in apps.get_app_config(label).get_models())
    return [field for model in models for field in model._meta.concrete_fields if field.choices]


def _own_models() -> list[type[Model]]:
    from django.contrib import admin

    return [model for model in admin.site._registry if model._meta.app_label in OWN_APPS]
