"""Load the pages of all apps into the admin when URLs are loaded, so that commands start without them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from config.admin.names import OWN_APPS, translate_names

site = admin.site
site.empty_value_display = "–"
_list_apps = site.get_app_list


def _lazy_app_list(request: HttpRequest, app_label: str | None = None) -> SimpleLazyObject:
    """Return the list of apps, which is built when a page shows it.

    Every page has the list in its context and hardly any shows it. Building it takes milliseconds.
    """
    return SimpleLazyObject(lambda: _list_apps(request, app_label))


site.get_app_list = _lazy_app_list  # type: ignore


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
