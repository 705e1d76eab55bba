"""The URL of a replay below /api/."""

from django.urls import path

from contrib.replays.api import ReplayView

urlpatterns = [path("studies/<str:slug>/replay/", ReplayView.as_view(), name="replay")]
