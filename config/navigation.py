"""The sidebar and styles of the admin."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.conf import settings
from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse
from django.utils.translation import get_language_info, gettext
from django.utils.translation import gettext_noop as _

from judgments.access.roles import may_view
from judgments.studies.page import own_studies

Entry = tuple[str, str, str]  # title, icon, model
PLACES: list[tuple[str, list[Entry]]] = [
    ("", [(_("Datasets"), "photo_library", "judgments.dataset")]),
    (_("Evaluation server"), [(_("Challenges"), "trophy", "evaluation.challenge")]),
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
    (_("Submissions"), "upload_file", "evaluation.submission"),
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
            groups.append({"title": title and gettext(title), "separator": bool(title), "items": items})
    found = tables(request)
    if found:
        for item in found:  # the pages of a study lie below the address of their table
            item["active"] = request.path == item["link"]
        groups.append({"title": gettext("Tables"), "separator": True, "collapsible": True, "items": found})
    return groups


def tables(request: HttpRequest) -> list[dict[str, Any]]:
    return _visible(request, TABLES)


def _visible(request: HttpRequest, entries: list[Entry]) -> list[dict[str, Any]]:
    return [
        {
            "title": gettext(label),
            "icon": icon,
            "link": reverse(f"admin:{model.replace('.', '_')}_changelist"),
        }
        for label, icon, model in entries
        if _may_view(request, model)
    ]


def _may_view(request: HttpRequest, model: str) -> bool:
    if model in FOR_ALL_STAFF:
        return True
    found = apps.get_model(model)
    adds_studies = model == "judgments.study" and request.user.has_perm("judgments.add_study")
    return adds_studies or may_view(request.user, found)
