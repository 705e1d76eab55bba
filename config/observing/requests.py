"""The id of a request, its line in the access log, and the visitor's address."""

from __future__ import annotations

import functools
import logging
import re
import time
import uuid
from collections.abc import Callable

from django.conf import settings
from django.contrib.admindocs.utils import replace_metacharacters, replace_named_groups
from django.http import HttpRequest, HttpResponse
from django.utils.functional import LazyObject, empty

from common.audit import add_log_fields
from config.observing.figures import DURATIONS, REQUESTS
from config.observing.logs import CONTEXT_ATTRIBUTE

HEADER = "X-Request-ID"
USABLE_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")  # ids of a proxy that match are kept; others are replaced
ADDRESS_WITH_PORT = re.compile(r"\[([^\]]+)\](?::\d+)?|([\d.]+):\d+")  # addresses of some proxies
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
access = logging.getLogger("quorum.access")


class Middleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response


class RequestMiddleware(Middleware):
    """Give each request an id, and count it. The id is in the request's log lines and in its response."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        sent = request.headers.get(HEADER, "")
        name = sent if USABLE_ID.fullmatch(sent) else uuid.uuid4().hex
        began = time.perf_counter()
        with add_log_fields(request=name) as known:
            setattr(request, CONTEXT_ATTRIBUTE, known)
            response = self.get_response(request)
            seconds = time.perf_counter() - began
            account = _account(request)
            if account is not None:
                known["account"] = account
            method, path = request.method if request.method in METHODS else "other", pattern_of(request)
            REQUESTS.labels(method, path, str(response.status_code)).inc()
            DURATIONS.labels(method, path).observe(seconds)
            if settings.ACCESS_LOG:
                ms, status = round(seconds * 1000), response.status_code
                fields = {"method": method, "path": path, "status": status, "ms": ms}
                access.info("%s %s %s in %s ms", method, path, status, ms, extra=fields)
        response.headers[HEADER] = name
        return response


def pattern_of(request: HttpRequest) -> str:
    """Return the URL pattern of a request, such as `/s/<slug:slug>/work/`. It contains no secrets."""
    match = request.resolver_match
    if match is None:
        return f"{settings.STATIC_URL}…" if request.path.startswith(settings.STATIC_URL) else "unknown"
    return _simplify_route(match.route)


@functools.cache  # there are only as many entries as URL patterns
def _simplify_route(route: str) -> str:
    return "/" + replace_metacharacters(replace_named_groups(route))


def _account(request: HttpRequest) -> int | None:
    """Return the id of the account if the view has loaded it; None otherwise. Make no query."""
    user = vars(request).get("user")
    if isinstance(user, LazyObject):
        user = None if vars(user).get("_wrapped") is empty else vars(user)["_wrapped"]
    if user is None or getattr(getattr(user, "_meta", None), "label", "") != settings.AUTH_USER_MODEL:
        return None  # there is no account, or a worker's token
    return int(user.pk)


def visitor_address(request: HttpRequest) -> str:
    """Return the address from which the outermost of the installation's proxies was called."""
    address: str = request.META.get("REMOTE_ADDR", "")
    if settings.PROXIES:
        # entries further to the left were in the visitor's own header
        passed = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")[-settings.PROXIES :]
        forwarded = passed[0].strip() or address
        with_port = ADDRESS_WITH_PORT.fullmatch(forwarded)
        address = with_port[1] or with_port[2] if with_port else forwarded
    return address
