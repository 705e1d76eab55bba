"""The URL of the dashboard below /api/."""

from django.urls import path

from contrib.dashboard.api import BoardView

urlpatterns = [path("studies/<str:slug>/board/", BoardView.as_view(), name="board")]
