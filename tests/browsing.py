"""Browser pages that tests take turns in.

A page of a context of its own needs a process, and that takes longer than all a person does on a page of work.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, CDPSession, ConsoleMessage, Page, Request

WIDE: dict[str, Any] = {"viewport": {"width": 1280, "height": 900}, "locale": "en-GB"}
FAILED = "/between-two-tests"
ENDED = {"net::ERR_ABORTED", "net::ERR_INTERNET_DISCONNECTED"}
PATIENCE = 120_000  # milliseconds, as a machine may be busy; what is there sooner is waited for no longer


@dataclass
class Tab:
    """A page of a context of its own, and what scripts and the content policy complained of in it."""

    page: Page
    fields: dict[str, Any]
    session: CDPSession
    fresh: bool
    complaints: list[str] = field(default_factory=list)


class Tabs:
    """Gives pages out by how their context was made, and takes them back as if nobody had used them."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self._free: dict[str, list[Tab]] = defaultdict(list)

    def take(self, fields: dict[str, Any], *, fresh: bool) -> Tab:
        """A page whose browser holds neither cookies nor stored values; a ``fresh`` one nothing in its cache either."""
        free = self._free[repr(fields)]
        if free and not fresh:
            return free.pop()
        context = self.browser.new_context(**fields)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        tab = Tab(page, fields, page.context.new_cdp_session(page), fresh)

        def heard(message: ConsoleMessage) -> None:
            if "Content Security Policy" in message.text:
                tab.complaints.append(message.text)

        def failed(request: Request) -> None:
            # an address that is left ends its requests, and some tests take the connection away
            if request.resource_type == "script" and request.failure not in ENDED:
                tab.complaints.append(f"{request.url}: {request.failure}")

        page.on("pageerror", lambda error: tab.complaints.append(str(error)))
        page.on("console", heard)
        page.on("requestfailed", failed)
        return tab

    def give_back(self, tab: Tab) -> list[str]:
        """Forget what a test left in the browser; what the page complained of."""
        page, context = tab.page, tab.page.context
        origins = {_origin(frame.url) for frame in page.frames}
        if tab.fresh or page.is_closed() or not page.url.startswith("http"):
            context.close()
            return tab.complaints
        for other in context.pages:
            if other is not page:
                other.close()
        context.set_offline(False)
        context.unroute_all()
        page.unroute_all()
        # A page of the same site stays in the process, where an empty one would begin another.
        page.route(f"**{FAILED}", lambda route: route.fulfill(body="", content_type="text/html"))
        page.goto(_origin(page.url) + FAILED)
        page.evaluate("sessionStorage.clear()")
        page.unroute_all()
        context.clear_cookies()
        context.clear_permissions()
        for origin in origins:
            tab.session.send(
                "Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "local_storage"}
            )
        page.mouse.move(0, 0)
        page.set_viewport_size(tab.fields["viewport"])
        page.emulate_media(
            color_scheme=tab.fields.get("color_scheme", "light"),
            reduced_motion=tab.fields.get("reduced_motion", "no-preference"),
        )
        self._free[repr(tab.fields)].append(tab)
        complaints, tab.complaints = tab.complaints, []
        return complaints


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
