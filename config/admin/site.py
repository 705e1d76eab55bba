"""Load the pages of all apps into the admin when URLs are loaded, so that commands start without them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib import admin

from config.admin.names import OWN_APPS, translate_names

site = admin.site
site.empty_value_display = "–"


def _load_pages() -> None:
    """Load the admin pages of accounts, of the platform and of active features, but of no other app.

    The admin pages of two-factor devices would show secrets to other administrators, and the REST framework's tokens
    are unused.
    """
    import_module("django.contrib.auth.admin")
    own_apps: list[Any] = [apps.get_app_config(label) for label in OWN_APPS]
    for app in (*own_apps, *settings.FEATURES.values()):
        for page in app.pages:
            import_module(page)


_load_pages()
translate_names()
