"""The URL of bounds below /api/."""

from django.urls import path

from contrib.bounds.views import DatasetBoundsView

urlpatterns = [path("datasets/<str:name>/bounds/", DatasetBoundsView.as_view(), name="dataset-bounds")]
