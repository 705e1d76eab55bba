"""Quorum with a page that computes without end, for gunicorn."""

from django.http import HttpRequest, HttpResponse
from django.urls import path

from config.urls import urlpatterns
from config.wsgi import application as application


def compute(request: HttpRequest) -> HttpResponse:
    while True:
        pass


urlpatterns.insert(0, path("compute/", compute))
