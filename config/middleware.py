"""Middleware of this installation."""

from collections.abc import Callable

from django.conf import settings
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.http import ConditionalGetMiddleware
from django.urls import reverse
from django.utils import translation
from django.utils.cache import patch_vary_headers

from common.audit import acting_as
from common.rate_limits import visiting_from
from config.api.framework import unknown_address


class AdminPolicyMiddleware:
    """Adds settings.ADMIN_POLICY_CHANGES to the Content-Security-Policy of the admin."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.path.startswith(reverse("admin:index")) and not hasattr(response, "_csp_update"):
            response._csp_update = settings.ADMIN_POLICY_CHANGES  # type: ignore[attr-defined]  # django-csp's own mark
        return response


class ActingMiddleware:
    """Sets the acting account and the door that it came by."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        door = "api" if request.path.startswith("/api/") else "page"
        with acting_as(
            lambda: request.user if isinstance(request.user, User) else None,
            door=door,
            call=f"{request.method} {request.path}",
        ):
            return self.get_response(request)


class AddressMiddleware:
    """Sets the visitor's address for limits: the one that the outermost of our proxies saw."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        address = request.META.get("REMOTE_ADDR", "")
        if settings.PROXIES:
            # what is further left came with the visitor's own header
            passed = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")[-settings.PROXIES :]
            address = passed[0].strip() or address
        with visiting_from(address):
            return self.get_response(request)


class UnchangedMiddleware:
    """Adds ETags below /api/, and answers unchanged content with a 304."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        self.unchanged = ConditionalGetMiddleware(get_response)

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if not request.path.startswith("/api/") or response.status_code != 200:
            return response
        return self.unchanged.process_response(request, response)


class StorableAddressMiddleware:
    """Answers addresses with U+0000 by a 404: no row has it, and PostgreSQL refuses to search for it.

    Filters of the API and links of crowds check their values where they are read.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        in_path = "\x00" in request.path
        if in_path and request.path.startswith("/api/"):
            return unknown_address(request)
        asked = "%00" in request.META.get("QUERY_STRING", "")
        if in_path or (asked and not request.path.startswith(("/api/", "/s/"))):
            raise Http404
        return self.get_response(request)


class WorkerLanguageMiddleware:
    """Uses the language that a worker or browser prefers; admin and API are English."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path.startswith((reverse("admin:index"), "/api/", settings.STATIC_URL)):
            return self.get_response(request)
        language = translation.get_language_from_request(request)
        with translation.override(language):
            response = self.get_response(request)
        response.headers.setdefault("Content-Language", language)
        patch_vary_headers(response, ("Accept-Language", "Cookie"))
        return response
