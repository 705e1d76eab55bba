"""The URL of the import of scores below /api/."""

from django.urls import path

from contrib.score_imports.views import DatasetScoresView

urlpatterns = [path("datasets/<str:name>/scores/", DatasetScoresView.as_view(), name="dataset-scores")]
