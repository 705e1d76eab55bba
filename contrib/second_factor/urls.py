"""The URL of the second factor's page."""

from django.urls import path

from contrib.second_factor.views import second_factor

urlpatterns = [path("admin/second-factor/", second_factor, name="second-factor")]
