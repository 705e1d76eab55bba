"""The URLs of ethics boards below /api/."""

from django.urls import path

from contrib.ethics.ready_texts import fill_in_ready_texts
from contrib.ethics.views import EthicsView
from judgments.api.operations import operation_path

urlpatterns = [
    operation_path(fill_in_ready_texts),
    path("studies/<str:slug>/ethics/", EthicsView.as_view(), name="ethics"),
]
