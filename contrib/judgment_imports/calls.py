"""The URL of the import of judgments below /api/."""

from django.urls import path

from contrib.judgment_imports.views import DatasetJudgmentsView

urlpatterns = [
    path("datasets/<str:name>/judgments/", DatasetJudgmentsView.as_view(), name="dataset-judgments")
]
