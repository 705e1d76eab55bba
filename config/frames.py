"""Pages of Quorum that a crowd's site shows in a frame. No other site may frame them.

Framed pages have no cookie; instead, their path begins with a ticket, which identifies the worker
(``annotation.crowds.mturk.frames``). With a ticket, only the pages for working in one study are available.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from csp.constants import SELF
from csp.decorators import csp_replace
from django.conf import settings
from django.contrib.messages.storage.base import BaseStorage, Message
from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.messages.storage.fallback import FallbackStorage
from django.contrib.messages.storage.session import SessionStorage
from django.core import signing
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase, HttpResponseRedirectBase
from django.shortcuts import render
from django.utils import translation

from annotation.crowds.mturk.frames import addresses_under, all_sites, prefix_of, read_ticket, sites_of
from annotation.views.visitors import FRAME_KEY, frame_of, mark_as_framed
from common.audit import log_about
from config.observing.requests import Middleware

TICKET = re.compile(r"/f/([^/]+)(/.*)")
# names of URLs that are available with a ticket
FRAMED_PAGES = {
    "annotation:example-picture", "annotation:finish", "annotation:picture", "annotation:report", "annotation:return",
    "annotation:save", "annotation:start", "annotation:submit", "annotation:work",
    *(page for feature in settings.FEATURES.values() for page in feature.framed_pages),
}  # fmt: skip
MESSAGE_SALT = "config.middleware.said"  # salt for signing messages in an address
MESSAGE_SECONDS = 3600  # seconds for which a signed message is shown


def framed_policy(sites: tuple[str, ...]) -> dict[str, list[str]]:
    """Return the directives of a policy that lets the sites frame a page and receive its forms."""
    return {"frame-ancestors": list(sites), "form-action": [SELF, *sites]}


class FramedPagesMiddleware(Middleware):
    """Remove the ticket from the address of a request, and authenticate the worker to whom it belongs.

    Since the ticket is secret and browsers do not send it automatically, forms need no CSRF token, and no cookie is
    set. In the list of middleware, this class must come before the middleware that sets cookies or X-Frame-Options, and
    after the middleware that writes the content security policy.
    """

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        match = TICKET.fullmatch(request.path_info)
        if match is None:
            return self.get_response(request)
        ticket, path = match.groups()
        frame = read_ticket(ticket)
        if frame is None:
            return csp_replace(framed_policy(all_sites()))(_refuse_ticket)(request)
        request.path_info = path
        request.META[FRAME_KEY] = frame
        vars(request)["csrf_processing_done"] = True  # set by Django's own CSRF middleware after its check
        log_about(worker=frame.session.worker_id, study=frame.session.study.slug)
        with addresses_under(prefix_of(ticket)):
            policy = framed_policy(sites_of(frame.session.platform))
            response = csp_replace(policy)(self.get_response)(request)
        return _without_secrets(response)

    def process_view(
        self, request: HttpRequest, view: Callable[..., HttpResponse], args: list[Any], kwargs: dict[str, Any]
    ) -> None:
        """Refuse pages with a ticket that are not in ``FRAMED_PAGES``, or that belong to another study."""
        frame = frame_of(request)
        if frame is None:
            return
        match = request.resolver_match
        is_available = match is not None and match.view_name in FRAMED_PAGES
        # the address of a picture has no slug, but an assignment's id, which the view checks
        if not is_available or kwargs.get("slug", frame.session.study.slug) != frame.session.study.slug:
            raise Http404("This page is not part of the work.")


def _refuse_ticket(request: HttpRequest) -> HttpResponse:
    """Return the page (404) for a ticket that is forged or no longer valid."""
    mark_as_framed(request)  # so that no link of the page leaves the frame
    # The language middleware comes later in the list, so the language is not set yet.
    with translation.override(translation.get_language_from_request(request)):
        response = render(request, "annotation/framed/no_ticket.html", status=404)
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


def _without_secrets(response: HttpResponseBase) -> HttpResponseBase:
    """Return the response without cookies and X-Frame-Options, and keep the secret address out of Referer headers."""
    response.cookies.clear()
    del response.headers["X-Frame-Options"]
    response.headers.setdefault("Referrer-Policy", "no-referrer")
    return response


class FramedMessages(BaseStorage):
    """A message storage that puts signed messages into the next framed page's address, since there is no cookie."""

    def _get(self, *args: Any, **kwargs: Any) -> tuple[list[Message], bool]:
        if frame_of(self.request) is None:
            return [], False  # the next storage of ``PageMessages`` may have messages
        try:
            stored_messages = signing.loads(
                self.request.GET.get("said", ""), salt=MESSAGE_SALT, max_age=MESSAGE_SECONDS
            )
        except signing.BadSignature:
            stored_messages = []
        return [Message(level, text) for level, text in stored_messages], True

    def _store(
        self, messages: list[Message], response: HttpResponseBase, *args: Any, **kwargs: Any
    ) -> list[Message]:
        if frame_of(self.request) is None:
            return messages
        if messages and isinstance(response, HttpResponseRedirectBase):
            levels_and_texts = [[message.level, str(message.message)] for message in messages]
            signed_messages = signing.dumps(levels_and_texts, salt=MESSAGE_SALT)
            address, hash_mark, fragment = response.headers["Location"].partition("#")
            separator = "&" if "?" in address else "?"
            response.headers["Location"] = f"{address}{separator}said={signed_messages}{hash_mark}{fragment}"
        return []


class PageMessages(FallbackStorage):
    """A message storage that uses cookies or, in a frame, the address."""

    storage_classes = (FramedMessages, CookieStorage, SessionStorage)
