"""What stands at the side of every page of the admin."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse

GROUPS: list[tuple[str, list[tuple[str, str, str]]]] = [
    (
        "Studies",
        [
            ("Studies", "science", "judgments.study"),
            ("Datasets", "photo_library", "judgments.dataset"),
            ("Jobs", "pending_actions", "judgments.job"),
        ],
    ),
    (
        "Answers",
        [
            ("Workers", "groups", "annotation.worker"),
            ("Assignments", "assignment_ind", "annotation.assignment"),
            ("Judgments", "ballot", "annotation.judgment"),
            ("Problem reports", "report", "annotation.problemreport"),
        ],
    ),
    (
        "What is asked",
        [
            ("Images", "image", "judgments.item"),
            ("Captions", "short_text", "judgments.caption"),
            ("Systems", "memory", "judgments.system"),
            ("Units", "compare", "judgments.unit"),
            ("HITs", "view_agenda", "judgments.hit"),
        ],
    ),
    (
        "Installation",
        [("Accounts", "manage_accounts", "auth.user"), ("Groups", "badge", "auth.group")],
    ),
]


def style_sheet(request: HttpRequest) -> str:
    """The designer's own styles, under their hashed name."""
    return static("css/board.css")


def favicon(request: HttpRequest) -> str:
    """The same sign as on the workers' pages."""
    return static("favicon.svg")


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    """The groups with what this person may look at."""
    groups = []
    for title, entries in GROUPS:
        items = [
            {"title": label, "icon": icon, "link": reverse(f"admin:{model.replace('.', '_')}_changelist")}
            for label, icon, model in entries
            if _may_view(request, model)
        ]
        if items:
            groups.append({"title": title, "separator": True, "items": items})
    return groups


def _may_view(request: HttpRequest, model: str) -> bool:
    app, name = model.split(".")
    return request.user.has_perm(f"{app}.view_{name}") or request.user.has_perm(f"{app}.change_{name}")
