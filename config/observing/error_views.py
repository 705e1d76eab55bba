"""The responses to unknown addresses, malformed requests and errors of the server, on pages and below /api/."""

from __future__ import annotations

import sys

from django.contrib import admin
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse, HttpResponseNotFound, HttpResponseServerError
from django.template import loader
from django.urls import reverse
from django.utils.translation import gettext
from django.views.defaults import bad_request as default_bad_request
from django.views.defaults import page_not_found
from django.views.defaults import server_error as default_server_error

from common.downloads import problem_page
from config.observing.outage_state import mark_outage, note_outage


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return the page (404) for an unknown address: for staff a page of the admin, below the admin's addresses."""
    if request.path.startswith(reverse("admin:index")) and getattr(request.user, "is_staff", False):
        context = admin.site.each_context(request) | {"title": gettext("Not found")}
        return HttpResponseNotFound(loader.render_to_string("admin/404.html", context, request))
    return page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """Return the response to an unforeseen error (500 or 503): below /api/ a problem document, elsewhere a page."""
    if response := _outage_response(request, sys.exception()):
        return response
    if request.path.startswith("/api/"):
        return problem_page(500, "The server could not do this; the failure was written to its log.")
    if request.path.startswith(reverse("admin:index")):
        return HttpResponseServerError(_staff_page(request))
    return default_server_error(request)


def _staff_page(request: HttpRequest) -> str:
    """Return the admin's error page for an anonymous visitor, since reading the account may fail again."""
    anonymous_request = HttpRequest()
    anonymous_request.META = request.META
    anonymous_request.path = request.path
    anonymous_request.user = AnonymousUser()
    return loader.render_to_string("admin/500.html", admin.site.each_context(anonymous_request))


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return a response with status 400, or 503 in an outage. Django also calls this if it cannot store a session."""
    if response := _outage_response(request, exception):
        return response
    if request.path.startswith("/api/"):
        return problem_page(400, "The request is malformed.")
    return default_bad_request(request, exception)


def _outage_response(request: HttpRequest, error: BaseException | None) -> HttpResponse | None:
    """Return a response, marked to get status 503 in ``OutageMiddleware``, if an outage caused the error; else None."""
    if error is None or not note_outage(error):
        return None
    if request.path.startswith("/api/"):
        return mark_outage(
            problem_page(503, "The server can store nothing right now; try again in a moment.")
        )
    return mark_outage(HttpResponse(loader.get_template("503.html").render()))
