"""The admin with the pages of all apps, its sidebar and its styles.

The pages import most of Quorum, so they are loaded with the addresses, and commands start without them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

from django.apps import AppConfig, apps
from django.conf import settings
from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.module_loading import module_has_submodule
from django.utils.translation import get_language_info, gettext
from django.utils.translation import gettext_lazy as _

from config.features import Entry
from judgments.access.roles import may_view
from judgments.studies.page import own_studies

OWN_APPS = ("judgments", "annotation", "evaluation")
NAMES = ("verbose_name", "verbose_name_plural")


def _translate_names() -> None:
    """Let staff read names of models, fields and columns, and words of choices, in their language.

    They are declared in English; ``scripts/messages.py`` collects them.
    """
    for holder, name, text in declared_names():
        setattr(holder, name, _(text))
    for field in fields_with_choices():
        field.choices = [  # a lazy label may have a context
            (value, label if isinstance(label, Promise) else _(str(label)))
            for value, label in field.flatchoices
        ]


def declared_names() -> Iterator[tuple[Any, str, str]]:
    """Yield (object, attribute, English text) of the names of apps, models, fields, and columns of lists."""
    for app in _own_apps():
        yield app, "verbose_name", str(app.verbose_name)
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
    models = (model for app in _own_apps() for model in app.get_models())
    return [field for model in models for field in model._meta.concrete_fields if field.choices]


def _own_apps() -> list[AppConfig]:
    """Return the apps of the platform, and those of features that are on, if they have models."""
    own = (apps.get_app_config(label) for label in (*OWN_APPS, *settings.FEATURES))
    return [app for app in own if app.models_module]


def _own_models() -> list[type[Model]]:
    return [model for model in admin.site._registry if model._meta.app_config in _own_apps()]


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


site = admin.site
_load_pages()
_translate_names()


PLACES: list[tuple[str | Promise, Iterable[Entry]]] = [
    ("", [(_("Datasets"), "photo_library", "judgments.dataset")]),
    *(place for feature in settings.FEATURES.values() for place in feature.menu),
    (
        _("Installation"),
        [
            (_("Accounts"), "manage_accounts", "auth.user"),
            (_("Groups"), "badge", "auth.group"),
            (_("API tokens"), "key", "judgments.apitoken"),
            (_("Money"), "payments", "annotation.spendinglimit"),
        ],
    ),
]
TABLES: list[Entry] = [
    (_("All studies"), "science", "judgments.study"),
    (_("Jobs"), "pending_actions", "judgments.job"),
    (_("Participants (workers)"), "groups", "annotation.worker"),
    (_("Assignments"), "assignment_ind", "annotation.assignment"),
    (_("Judgments"), "ballot", "annotation.judgment"),
    (_("Problem reports"), "report", "annotation.problemreport"),
    *(entry for feature in settings.FEATURES.values() for entry in feature.tables),
    (_("Images"), "image", "judgments.item"),
    (_("Captions"), "short_text", "judgments.caption"),
    (_("Systems"), "memory", "judgments.system"),
    (_("Items (units)"), "compare", "judgments.unit"),
    (_("Pages of work (HITs)"), "view_agenda", "judgments.hit"),
]
FOR_ALL_STAFF = ("judgments.apitoken",)  # personal to each account


def front_page(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    return own_studies(request, context) | {"tables": tables(request)}


def style_sheet(request: HttpRequest) -> str:
    return static("css/board.css")


def script(request: HttpRequest) -> str:
    return static("js/admin.js")


def favicon(request: HttpRequest) -> str:
    return static("favicon.svg")


def languages(request: HttpRequest) -> list[dict[str, Any]]:
    return [dict(get_language_info(code)) for code in settings.STAFF_LANGUAGES]


def language_address(request: HttpRequest) -> str:
    return reverse("language")


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    studies = reverse("admin:judgments_study_changelist")
    first = {
        "title": gettext("Your studies"),
        "icon": "science",
        "link": reverse("admin:index"),
        "active": request.path == reverse("admin:index") or request.path.startswith(studies),
    }
    groups = []
    for title, entries in PLACES:
        items = _visible(request, entries)
        if not title:
            items = [first, *items]
        if items:
            groups.append({"title": str(title), "separator": bool(title), "items": items})
    entries_of_tables = tables(request)
    if entries_of_tables:
        for item in entries_of_tables:  # the pages of a study lie below the address of their table
            item["active"] = request.path == item["link"]
        groups.append(
            {"title": gettext("Tables"), "separator": True, "collapsible": True, "items": entries_of_tables}
        )
    return groups


def tables(request: HttpRequest) -> list[dict[str, Any]]:
    return _visible(request, TABLES)


def _visible(request: HttpRequest, entries: Iterable[Entry]) -> list[dict[str, Any]]:
    return [
        {
            "title": str(label),
            "icon": icon,
            "link": reverse(f"admin:{model.replace('.', '_')}_changelist"),
        }
        for label, icon, model in entries
        if _may_view(request, model)
    ]


def _may_view(request: HttpRequest, model: str) -> bool:
    if model in FOR_ALL_STAFF:
        return True
    model_class = apps.get_model(model)
    adds_studies = model == "judgments.study" and request.user.has_perm("judgments.add_study")
    return adds_studies or may_view(request.user, model_class)
