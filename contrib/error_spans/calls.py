"""The URL of marked errors below /api/."""

from django.urls import path

from contrib.error_spans.views import ErrorSpansView

urlpatterns = [path("studies/<str:slug>/error-spans/", ErrorSpansView.as_view(), name="error-spans")]
