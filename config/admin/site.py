"""The admin with the pages of all apps, which are loaded with the addresses; commands start without them."""

from __future__ import annotations

from importlib import import_module

from django.apps import apps
from django.conf import settings
from django.contrib import admin
from django.utils.module_loading import module_has_submodule

from config.admin.names import OWN_APPS, translate_names

site = admin.site


def _load_pages() -> None:
    """Load the lists and pages of accounts, of the platform and of features that are on, and of no other app.

    Pages of devices show secrets to other administrators; tokens of the REST framework open nothing.
    """
    for label in ("auth", *OWN_APPS):
        app = apps.get_app_config(label)
        lists = import_module(f"{app.name}.admin")
        if module_has_submodule(lists, "pages"):
            import_module(f"{app.name}.admin.pages")
    for feature in settings.FEATURES.values():
        for page in feature.pages:
            import_module(page)


_load_pages()
translate_names()
