"""A person who works in a browser: the way to the first page of work, and what came of it."""

from __future__ import annotations

import json
from typing import Any

from playwright.sync_api import Page

from tests.installations import Installation


def join(page: Page, site: Installation, slug: str, name: str) -> None:
    """From the study's link to the first page of work."""
    page.goto(f"{site.url}/s/{slug}/")
    page.get_by_label("Your name here").first.fill(name)
    page.get_by_role("button", name="Join the study").click()
    page.get_by_role("link", name="Start").click()
    count_of(page)


def stored(site: Installation, name: str) -> list[dict[str, Any]]:
    """The judgments of a person, in order."""
    code = (
        "import json; from annotation.models import Judgment; print(json.dumps(list(Judgment.objects"
        f".filter(assignment__worker__name={name!r}).order_by('pk').values('value', 'seconds', 'presented'))))"
    )
    rows: list[dict[str, Any]] = json.loads(site.python(code))
    return rows


def count_of(page: Page) -> int:
    """How many steps the page of work has, once it is there and its scripts ran: earlier keys would be lost."""
    page.locator("[data-step]").first.wait_for(state="attached")
    page.wait_for_load_state()
    return page.locator("[data-step]").count()
