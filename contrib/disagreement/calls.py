"""The URLs of disagreement below /api/."""

from django.urls import include, path
from rest_framework.routers import SimpleRouter

from contrib.disagreement.api import PredictionResource, SoftLabelsView
from contrib.disagreement.predictions import import_predictions
from judgments.api.operations import operation_path

router = SimpleRouter()
router.register("predictions", PredictionResource, "predictions")

urlpatterns = [
    operation_path(import_predictions),
    path("studies/<str:slug>/soft-labels/", SoftLabelsView.as_view(), name="soft-labels"),
    path("", include(router.urls)),
]
