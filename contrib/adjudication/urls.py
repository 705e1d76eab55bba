"""The URLs of an adjudicator's pages."""

from django.urls import path

from contrib.adjudication import views

app_name = "adjudication"

urlpatterns = [
    path("adjudicate/", views.list_waiting, name="waiting"),
    path("adjudicate/<int:pk>/", views.decide_unit, name="decide"),
]
