"""The sidebar of the admin, its front page, styles and languages. The setting UNFOLD names the functions."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

from django.apps import apps
from django.conf import settings
from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import get_language_info, gettext
from django.utils.translation import gettext_lazy as _

from config.features import Entry
from judgments.access.visible_rows import may_view
from judgments.studies.home_page import own_studies

# the sections of the sidebar: the heading, and the entries of lists of models (title, icon, model)
SECTIONS: list[tuple[str | Promise, Iterable[Entry]]] = [
    ("", [(_("Datasets"), "photo_library", "judgments.dataset")]),
    *chain.from_iterable(feature.menu for feature in settings.FEATURES.values()),
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
    (_("Participants"), "groups", "annotation.worker"),
    (_("Assignments"), "assignment_ind", "annotation.assignment"),
    (_("Judgments"), "ballot", "annotation.judgment"),
    (_("Problem reports"), "report", "annotation.problemreport"),
    *chain.from_iterable(feature.tables for feature in settings.FEATURES.values()),
    (_("Images"), "image", "judgments.item"),
    (_("Captions"), "short_text", "judgments.caption"),
    (_("Systems"), "memory", "judgments.system"),
    (_("Items"), "compare", "judgments.unit"),
    (_("Pages of work"), "view_agenda", "judgments.hit"),
]
FOR_ALL_STAFF = ("judgments.apitoken",)  # models of which every staff account may have rows


def front_page(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Return the template variables of the admin's front page."""
    return {**own_studies(request, context), "tables": tables(request)}


def style_sheet(request: HttpRequest) -> str:
    return static("css/board.css")


def script(request: HttpRequest) -> str:
    return static("js/admin.js")


def terms_script(request: HttpRequest) -> str:
    return static("js/terms.js")


def favicon(request: HttpRequest) -> str:
    return static("favicon.svg")


def languages(request: HttpRequest) -> list[dict[str, Any]]:
    return [dict(get_language_info(code)) for code in settings.STAFF_LANGUAGES]


def language_address(request: HttpRequest) -> str:
    return reverse("language")


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the sections of entries that the account may open, and as the last section the tables.

    An example of a section is ``{"title": "Installation", "separator": True, "items": [{"title": "Accounts", "icon":
    "manage_accounts", "link": "/admin/auth/user/"}]}``.
    """
    studies_address = reverse("admin:judgments_study_changelist")
    own_studies_entry = {
        "title": gettext("Your studies"),
        "icon": "science",
        "link": reverse("admin:index"),
        "active": request.path == reverse("admin:index") or request.path.startswith(studies_address),
    }
    groups = []
    for title, entries in SECTIONS:
        items = _visible_entries(request, entries)
        if not title:
            items = [own_studies_entry, *items]
        if items:
            groups.append({"title": str(title), "separator": bool(title), "items": items})
    table_entries = tables(request)
    if table_entries:
        for item in table_entries:  # not by the prefix: addresses of studies' pages begin with the table's
            item["active"] = request.path == item["link"]
        groups.append(
            {"title": gettext("Tables"), "separator": True, "collapsible": True, "items": table_entries}
        )
    return groups


def tables(request: HttpRequest) -> list[dict[str, Any]]:
    return _visible_entries(request, TABLES)


def _visible_entries(request: HttpRequest, entries: Iterable[Entry]) -> list[dict[str, Any]]:
    return [
        {"title": str(label), "icon": icon, "link": reverse(f"admin:{model.replace('.', '_')}_changelist")}
        for label, icon, model in entries
        if _may_view(request, model)
    ]


def _may_view(request: HttpRequest, model: str) -> bool:
    if model in FOR_ALL_STAFF:
        return True
    model_class = apps.get_model(model)
    may_add_studies = model == "judgments.study" and request.user.has_perm("judgments.add_study")
    return may_add_studies or may_view(request.user, model_class)
