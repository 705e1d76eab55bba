"""The platform's middleware, such as for the acting account, rate limits, the language and the time zone."""

from __future__ import annotations

import re
from collections.abc import Callable
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import MiddlewareNotUsed
from django.db import connection
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from django.http.response import HttpResponseBase
from django.middleware.http import ConditionalGetMiddleware
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.cache import patch_vary_headers

from common.audit import acting_as
from common.downloads import problem_page
from common.incoming import within_request
from common.rate_limits import TooManyAttempts, count_use, visiting_from
from common.sqlite.queue import Queue
from config.api.framework import unknown_address
from config.observing.requests import Middleware
from config.observing.visitors import visitor_address

LARGE_BODY = 100_000  # bytes of a large body; the answers on a page of work are far smaller
WORKERS_PATHS = re.compile(r"/s/|/api/(assignments/|studies/[^/]+/(assignments|join)/)")
QUEUE_SECONDS = 10.0  # longest time that a request waits for its turn


def _body_size(request: HttpRequest) -> int | None:
    """Return the number of bytes of the body that the request declares; None if it is not a number."""
    size = request.META.get("CONTENT_LENGTH") or "0"
    return int(size) if size.isdecimal() else None


class AdminPolicyMiddleware(Middleware):
    """Add settings.ADMIN_POLICY_CHANGES to the Content-Security-Policy of the admin, unless a view has changed it."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.path.startswith(reverse("admin:index")) and not hasattr(response, "_csp_update"):
            response._csp_update = settings.ADMIN_POLICY_CHANGES  # type: ignore[attr-defined]  # of django-csp
        return response


class TimeZoneMiddleware(Middleware):
    """Show times in the admin in the reader's time zone, which js/admin.js sets as a cookie, or else in UTC."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        zone_name = request.COOKIES.get("zone", "")
        if not zone_name or not request.path.startswith(reverse("admin:index")):
            return self.get_response(request)
        try:
            zone = ZoneInfo(zone_name)
        except (ValueError, OSError, ZoneInfoNotFoundError):  # a cookie may contain anything
            return self.get_response(request)
        with timezone.override(zone):
            return self.get_response(request)


class ActingAccountMiddleware(Middleware):
    """Record who acts during a request, and whether by a page or the API, for ``common.audit``."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        origin = "api" if request.path.startswith("/api/") else "page"
        with acting_as(
            lambda: request.user if isinstance(request.user, User) else None,
            origin=origin,
            origin_detail=f"{request.method} {request.path}",
        ):
            return self.get_response(request)


class VisitorMiddleware(Middleware):
    """Record the address and the browser of the visitor, by which ``common.rate_limits`` counts."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # every browser that has received a form has this cookie
        browser = request.COOKIES.get(settings.CSRF_COOKIE_NAME, "")
        with visiting_from(visitor_address(request), browser):
            return self.get_response(request)


class RateLimitMiddleware(Middleware):
    """Refuse API calls and large bodies that exceed the visitor's limits, before reading them.

    Also limit the number of bytes that a request may read from files.
    """

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        is_api_call = request.path.startswith("/api/")
        size = _body_size(request)
        try:
            if is_api_call:
                count_use("api")
            if size is not None and size >= LARGE_BODY:
                count_use("upload")
        except TooManyAttempts as error:
            if is_api_call:
                response: HttpResponse = problem_page(429, str(error))
            else:
                response = render(request, "429.html", {"message": str(error)}, status=429)
            response.headers["Retry-After"] = str(error.wait)
            return response
        with within_request():
            return self.get_response(request)


class WriteQueueMiddleware:
    """Run workers' writing requests one after the other, if the database is SQLite.

    SQLite lets only one transaction write at a time, and Python lets only one thread compute. Threads that alternate at
    every statement need a third more processor time for the same work. The body of a request is read before the request
    waits for its turn, since it may arrive slowly.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        if connection.vendor != "sqlite":
            raise MiddlewareNotUsed
        self.get_response = get_response
        self.queue = Queue()

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        size = _body_size(request)
        is_small = size is not None and size < LARGE_BODY
        if request.method != "POST" or not is_small or not WORKERS_PATHS.match(request.path):
            return self.get_response(request)
        try:
            request.body  # noqa: B018  # reads the body
        except UnreadablePostError:
            # The client closed the connection. Nobody reads the response, and a view could not read the whole body.
            return HttpResponse(status=400)
        turn = self.queue.wait(QUEUE_SECONDS)
        try:
            return self.get_response(request)
        finally:
            if turn is not None:  # None after QUEUE_SECONDS: the request ran without a turn
                turn.end()


class ETagMiddleware:
    """Add ETags to API responses, and respond with 304 if the content is unchanged."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        self.conditional_get = ConditionalGetMiddleware(get_response)

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if not request.path.startswith("/api/") or response.status_code != 200:
            return response
        return self.conditional_get.process_response(request, response)


class StorableAddressMiddleware(Middleware):
    """Respond with 404 to addresses with U+0000. No row contains this character, and PostgreSQL refuses to search it.

    Filters of the API and the views of links from crowds check their values themselves.
    """

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        path_has_zero = "\x00" in request.path
        if path_has_zero and request.path.startswith("/api/"):
            return unknown_address(request)
        query_has_zero = "%00" in request.META.get("QUERY_STRING", "")
        if path_has_zero or (query_has_zero and not request.path.startswith(("/api/", "/s/"))):
            raise Http404
        return self.get_response(request)


class LanguageMiddleware(Middleware):
    """Use the language of ``?language=``, else the language chosen before, else that of the browser.

    A language in the address is stored in a cookie, but not before people whom a panel sends begin to work, since their
    first page stores nothing. The admin is in one of STAFF_LANGUAGES, or else in English. The API is in English.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path.startswith(("/api/", settings.STATIC_URL)):
            return self.get_response(request)
        is_staff_page = request.path.startswith(reverse("admin:index"))
        languages = settings.STAFF_LANGUAGES if is_staff_page else dict(settings.LANGUAGES)
        language_in_address = "" if is_staff_page else request.GET.get("language", "")
        if language_in_address in languages:
            language = language_in_address
        else:
            language = translation.get_language_from_request(request)
            if language not in languages:
                language = settings.LANGUAGE_CODE
        with translation.override(language):
            response = self.get_response(request)
        only_arrives = request.path.endswith("/panel/") and request.method != "POST"  # has not begun to work
        if language == language_in_address and not only_arrives:
            response.set_cookie(
                settings.LANGUAGE_COOKIE_NAME,
                language,
                max_age=settings.LANGUAGE_COOKIE_AGE,
                samesite="Lax",
                secure=settings.LANGUAGE_COOKIE_SECURE,
            )
        if not is_staff_page or response.headers.get("Content-Type", "").startswith("text/html"):
            response.headers.setdefault("Content-Language", language)  # files for staff are English
        patch_vary_headers(response, ("Accept-Language", "Cookie"))
        return response
