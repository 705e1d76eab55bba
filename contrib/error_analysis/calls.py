"""The URLs of error analysis below /api/."""

from django.urls import path

from contrib.error_analysis.api import DisagreementsView, InspectionView

STUDY = "studies/<str:slug>"

urlpatterns = [
    path(f"{STUDY}/disagreements/", DisagreementsView.as_view(), name="disagreements"),
    path(f"{STUDY}/disagreements/<str:key>/", InspectionView.as_view(), name="closer"),
]
