"""The id of a request, and its line in the access log."""

from __future__ import annotations

import functools
import logging
import re
import time
import uuid
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.admindocs.utils import replace_metacharacters, replace_named_groups
from django.http import HttpRequest, HttpResponse
from django.utils.functional import LazyObject, empty

from common.audit import log_field_scope
from config.observing.logs import CONTEXT_ATTRIBUTE
from config.observing.metrics import DURATIONS, REQUESTS

ID_HEADER = "X-Request-ID"
USABLE_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")  # ids of a proxy that match are kept; others are replaced
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
access_log = logging.getLogger("quorum.access")


class Middleware:
    """A base class of middleware."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response


class RequestMiddleware(Middleware):
    """Give each request an id, and count it. The id is in the request's log lines and in its response."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        proxy_id = request.headers.get(ID_HEADER, "")
        request_id = proxy_id if USABLE_ID.fullmatch(proxy_id) else uuid.uuid4().hex
        started_at = time.perf_counter()
        with log_field_scope(request=request_id) as log_fields:
            setattr(request, CONTEXT_ATTRIBUTE, log_fields)  # for log lines after the end of this scope
            response = self.get_response(request)
            seconds = time.perf_counter() - started_at
            account_id = _loaded_account_id(request)
            if account_id is not None:
                log_fields["account"] = account_id
            method = request.method if request.method in METHODS else "other"
            path = pattern_of(request)
            REQUESTS.labels(method, path, str(response.status_code)).inc()
            DURATIONS.labels(method, path).observe(seconds)
            if settings.ACCESS_LOG:
                ms = round(seconds * 1000)
                fields = {"method": method, "path": path, "status": response.status_code, "ms": ms}
                access_log.info("%s %s %s in %s ms", method, path, response.status_code, ms, extra=fields)
        response.headers[ID_HEADER] = request_id
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


def _loaded_account_id(request: HttpRequest) -> int | None:
    """Return the id of the account if the view has loaded it; None otherwise. Make no query."""
    user = _loaded_user(request)
    is_account = getattr(getattr(user, "_meta", None), "label", "") == settings.AUTH_USER_MODEL
    return int(user.pk) if is_account else None  # there may be no account, or a worker's token


def _loaded_user(request: HttpRequest) -> Any:
    """Return the request's user without loading it. It is lazy until something reads one of its attributes."""
    user = vars(request).get("user")
    if not isinstance(user, LazyObject):
        return user
    loaded_user = vars(user).get("_wrapped", empty)
    return None if loaded_user is empty else loaded_user
