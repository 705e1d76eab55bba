"""The sidebar and styles of the admin."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse

from judgments.access.roles import may_view
from judgments.admin.front_page import own_studies

Entry = tuple[str, str, str]  # title, icon, model
PLACES: list[tuple[str, list[Entry]]] = [
    ("", [("Datasets", "photo_library", "judgments.dataset")]),
    ("Evaluation server", [("Challenges", "trophy", "evaluation.challenge")]),
    (
        "Installation",
        [
            ("Accounts", "manage_accounts", "auth.user"),
            ("Groups", "badge", "auth.group"),
            ("API tokens", "key", "judgments.apitoken"),
            ("Money", "payments", "annotation.spendinglimit"),
        ],
    ),
]
TABLES: list[Entry] = [
    ("All studies", "science", "judgments.study"),
    ("Jobs", "pending_actions", "judgments.job"),
    ("Participants (workers)", "groups", "annotation.worker"),
    ("Assignments", "assignment_ind", "annotation.assignment"),
    ("Judgments", "ballot", "annotation.judgment"),
    ("Problem reports", "report", "annotation.problemreport"),
    ("Submissions", "upload_file", "evaluation.submission"),
    ("Images", "image", "judgments.item"),
    ("Captions", "short_text", "judgments.caption"),
    ("Systems", "memory", "judgments.system"),
    ("Items (units)", "compare", "judgments.unit"),
    ("Pages of work (HITs)", "view_agenda", "judgments.hit"),
]
FOR_ALL_STAFF = ("judgments.apitoken",)  # personal to each account


def front_page(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Show the studies, and below them the tables that the sidebar folds."""
    return own_studies(request, context) | {"tables": tables(request)}


def style_sheet(request: HttpRequest) -> str:
    return static("css/board.css")


def zone_script(request: HttpRequest) -> str:
    return static("js/zone.js")


def script(request: HttpRequest) -> str:
    return static("js/sidebar.js")


def favicon(request: HttpRequest) -> str:
    return static("favicon.svg")


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the studies and what they need; the tables behind them are folded."""
    studies = reverse("admin:judgments_study_changelist")
    first = {
        "title": "Your studies",
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
            groups.append({"title": title, "separator": bool(title), "items": items})
    found = tables(request)
    if found:
        for item in found:  # the pages of a study lie below the address of their table
            item["active"] = request.path == item["link"]
        groups.append({"title": "Tables", "separator": True, "collapsible": True, "items": found})
    return groups


def tables(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the tables of the admin that the person may look through."""
    return _visible(request, TABLES)


def _visible(request: HttpRequest, entries: list[Entry]) -> list[dict[str, Any]]:
    return [
        {"title": label, "icon": icon, "link": reverse(f"admin:{model.replace('.', '_')}_changelist")}
        for label, icon, model in entries
        if _may_view(request, model)
    ]


def _may_view(request: HttpRequest, model: str) -> bool:
    if model in FOR_ALL_STAFF:
        return True
    found = apps.get_model(model)
    adds_studies = model == "judgments.study" and request.user.has_perm("judgments.add_study")
    return adds_studies or may_view(request.user, found)
