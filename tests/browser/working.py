"""A person who works in a browser: the way to the first page of work, and what came of it."""

import json
import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.installations import Installation

TOKEN = re.compile('name="csrfmiddlewaretoken" value="(\\w+)"')
NewPage = Callable[..., Page]  # the fixture `new_page`
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
# the studies of the shared installation that stand for the kinds: their slugs are the protocols
KINDS = (
    "triplet",
    "pairwise",
    "relevance",
    "graded",
    "slider",
    "best-worst",
    "caption",
    "keywords",
    "grounding",
)


def enrol(page: Page, site: Installation, slug: str, name: str) -> None:
    """Join a study as its form does, without looking at it: tests of joining, of axe and of whole walks do."""
    address, request = f"{site.url}/s/{slug}/", page.context.request
    token = TOKEN.search(request.get(address).text())
    assert token is not None
    joined = request.post(address, form={"csrfmiddlewaretoken": token[1], "name": name, "consent": "1"})
    assert joined.url == f"{address}start/", joined.text()


def join(page: Page, site: Installation, slug: str, name: str) -> None:
    """Join a study and open the first page of work."""
    enrol(page, site, slug, name)
    page.goto(f"{site.url}/s/{slug}/work/")
    count_of(page)


def stored(site: Installation, name: str, *fields: str) -> list[dict[str, Any]]:
    """These fields of a person's judgments, in order, with those that later ones replace."""
    chosen = fields or ("value", "seconds", "presented")
    code = (
        "import json; from annotation.models import Judgment; print(json.dumps(list(Judgment.objects"
        f".filter(assignment__worker__name={name!r}).order_by('pk').values{chosen!r})))"
    )
    rows: list[dict[str, Any]] = json.loads(site.python(code))
    return rows


def answers(site: Installation, name: str) -> list[Any]:
    """A person's answers, in order."""
    return [row["answer"] for row in stored(site, name, "answer")]


def submitted(page: Page) -> None:
    """Wait until the page of work is handed in."""
    expect(page.get_by_text("Your page of work is submitted.")).to_be_visible()


def here(page: Page) -> Locator:
    """The step that is shown."""
    return page.locator("[data-step]:visible")


def count_of(page: Page) -> int:
    """How many steps the page of work has, once it is there and its scripts ran: earlier keys would be lost."""
    page.locator("[data-step]").first.wait_for(state="attached")
    page.wait_for_load_state()
    return page.locator("[data-step]").count()


def fetched(page: Page, action: Any) -> tuple[list[str], int]:
    """Addresses that came over the network during ``action`` (not from the browser's cache), and their bytes."""
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    sent: dict[str, list[str]] = {}
    size: list[int] = []

    def going(event: dict[str, Any]) -> None:
        if not event["request"]["url"].startswith("data:"):
            sent.setdefault(event["requestId"], []).append(event["request"]["url"])

    def cached(event: dict[str, Any]) -> None:
        sent.pop(event["requestId"], None)

    def answered(event: dict[str, Any]) -> None:
        if event["response"].get("fromDiskCache"):
            sent.pop(event["requestId"], None)

    session.on("Network.requestWillBeSent", going)
    session.on("Network.requestServedFromCache", cached)
    session.on("Network.responseReceived", answered)
    session.on("Network.loadingFinished", lambda event: size.append(int(event["encodedDataLength"])))
    action()
    session.detach()
    return [url for urls in sent.values() for url in urls], sum(size)


def open_cold(page: Page, site: Installation, slug: str, name: str) -> tuple[list[str], int]:
    """Open a person's first page of work in a fresh browser; what came over the network."""
    enrol(page, site, slug, name)
    return fetched(page, lambda: page.goto(f"{site.url}/s/{slug}/work/", wait_until="networkidle"))
