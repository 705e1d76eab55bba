"""The sidebar and styles of the admin."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse

from judgments.access.roles import may_view

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
        "Evaluation server",
        [
            ("Challenges", "trophy", "evaluation.challenge"),
            ("Submissions", "upload_file", "evaluation.submission"),
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
        [
            ("Accounts", "manage_accounts", "auth.user"),
            ("Groups", "badge", "auth.group"),
            ("API tokens", "key", "judgments.apitoken"),
            ("Money", "payments", "annotation.spendinglimit"),
        ],
    ),
]
FOR_ALL_STAFF = ("judgments.apitoken",)  # personal to each account


def style_sheet(request: HttpRequest) -> str:
    return static("css/board.css")


def zone_script(request: HttpRequest) -> str:
    return static("js/zone.js")


def favicon(request: HttpRequest) -> str:
    return static("favicon.svg")


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
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
    if model in FOR_ALL_STAFF:
        return True
    found = apps.get_model(model)
    adds_studies = model == "judgments.study" and request.user.has_perm("judgments.add_study")
    return adds_studies or may_view(request.user, found)
