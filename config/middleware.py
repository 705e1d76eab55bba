"""What differs between the admin's pages and those of workers: the policy for scripts, the language, and whose name
the log writes down; and addresses that no row can have."""

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
from config.api.framework import nothing_here


class AdminPolicyMiddleware:
    """Adds settings.ADMIN_POLICY_CHANGES to the Content-Security-Policy below the admin's address alone."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """The response, marked for django-csp, which writes the header."""
        response = self.get_response(request)
        if request.path.startswith(reverse("admin:index")) and not hasattr(response, "_csp_update"):
            response._csp_update = settings.ADMIN_POLICY_CHANGES  # type: ignore[attr-defined]  # django-csp's own mark
        return response


class ActingMiddleware:
    """Lets the log name who asked, for whatever a request of a signed-in person does."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """The response."""
        with acting_as(lambda: request.user if isinstance(request.user, User) else None):
            return self.get_response(request)


class UnchangedMiddleware:
    """Below /api/: what is read carries an ETag, and who has it already gets a 304 without a body."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        self.unchanged = ConditionalGetMiddleware(get_response)

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """The response, or that nothing changed."""
        response = self.get_response(request)
        if not request.path.startswith("/api/") or response.status_code != 200:
            return response
        return self.unchanged.process_response(request, response)


class StorableAddressMiddleware:
    """No row is named with U+0000, and PostgreSQL refuses to look for one: there is nothing at such an address. What
    the API's filters are asked for, and what a crowd's link says of a worker, is refused where it is read."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """The response, or a 404."""
        in_path = "\x00" in request.path
        if in_path and request.path.startswith("/api/"):
            return nothing_here(request)
        asked = "%00" in request.META.get("QUERY_STRING", "")
        if in_path or (asked and not request.path.startswith(("/api/", "/s/"))):
            raise Http404
        return self.get_response(request)


class WorkerLanguageMiddleware:
    """Workers' pages in the language a worker chose, or the browser's; admin and API stay English, as they are
    written."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """The response, with its language named."""
        if request.path.startswith((reverse("admin:index"), "/api/", settings.STATIC_URL)):
            return self.get_response(request)
        language = translation.get_language_from_request(request)
        with translation.override(language):
            response = self.get_response(request)
        response.headers.setdefault("Content-Language", language)
        patch_vary_headers(response, ("Accept-Language", "Cookie"))
        return response
