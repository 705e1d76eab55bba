"""The addresses below /api/."""

from __future__ import annotations

from django.urls import path, re_path

from annotation.api import work
from annotation.api.assignments import AssignmentView
from config.api import nothing_here

app_name = "api"

urlpatterns = [
    path("studies/<str:slug>/join/", work.JoinView.as_view(), name="join"),
    path("studies/<str:slug>/assignments/", work.AcceptView.as_view(), name="accept"),
    path("assignments/<str:id>/submit/", work.SubmitView.as_view(), name="submit"),
    path("assignments/<str:id>/return/", work.ReturnView.as_view(), name="return"),
    path("assignments/<str:id>/report/", work.ReportView.as_view(), name="report"),
    path("assignments/<str:id>/", AssignmentView.as_view(), name="assignment"),
    re_path(r"^(?P<rest>.*)$", nothing_here),
]
