"""The URLs of comparing below /api/."""

from django.urls import path

from contrib.comparing.operations import start_metric_comparison
from contrib.comparing.views import ComparisonView
from judgments.api.operations import operation_path

urlpatterns = [
    operation_path(start_metric_comparison),
    path("studies/<str:slug>/comparison/", ComparisonView.as_view(), name="comparison"),
]
