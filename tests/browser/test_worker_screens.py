"""A person's pages on screens of any size, and as a screen reader meets them."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # has no stubs
from playwright.sync_api import Browser, expect

from tests.browser.working import count_of, join
from tests.installations import Installation

KINDS = ("triplet", "pairwise", "relevance", "graded")


def test_a_phone_shows_the_time_once_little_is_left(browser: Browser, site: Installation) -> None:
    context = browser.new_context(viewport={"width": 320, "height": 640}, has_touch=True, is_mobile=True)
    page = context.new_page()
    join(page, site, "triplet", "hurry")
    left = page.locator("[data-left-words]")
    expect(left).to_be_hidden()
    site.python(
        "from datetime import timedelta; from django.utils import timezone; "
        "from annotation.models import Assignment; Assignment.objects.filter(worker__name='hurry')"
        ".update(expires_at=timezone.now() + timedelta(seconds=50))"
    )
    page.reload()
    expect(left).to_have_text("less than a minute left")
    expect(left).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    context.close()


@pytest.mark.parametrize("protocol", KINDS)
@pytest.mark.parametrize("size", [(1280, 800), (390, 844)], ids=["wide", "phone"])
def test_nothing_is_cut_off_and_the_way_on_is_in_view(
    browser: Browser, site: Installation, protocol: str, size: tuple[int, int]
) -> None:
    width, height = size
    context = browser.new_context(viewport={"width": width, "height": height}, has_touch=width < 700)
    page = context.new_page()
    join(page, site, protocol, f"fits-{protocol}-{width}")
    expect(page.get_by_role("button", name="Next")).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    small = page.evaluate(
        """[...document.querySelectorAll("button, a, label.option, label.choice, summary")]
        .filter((one) => one.checkVisibility() && !one.matches(".sr, .skip, p a, .note a"))
        .map((one) => [one.textContent.trim(), one.getBoundingClientRect()])
        .filter(([, box]) => box.height < 44 || box.width < 44).map(([words, box]) => [words, box.width, box.height])"""
    )
    assert small == []
    context.close()


def test_a_long_name_of_a_study_pushes_nothing_off_a_phone_s_screen(
    browser: Browser, site: Installation
) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    join(page, site, "long-name", "long-name")
    expect(page.get_by_role("button", name="Instructions")).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_any_page(browser: Browser, site: Installation, scheme: Any) -> None:
    context = browser.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 800})
    page = context.new_page()
    found: dict[str, list[str]] = {}

    def look(name: str) -> None:
        results = Axe().run(page)
        found[name] = [
            f"{one['id']}: {[node['html'] for node in one['nodes']][:3]}"
            for one in results.response["violations"]
            if one["impact"] in ("serious", "critical")
        ]

    page.goto(site.url)
    look("home")
    page.goto(f"{site.url}/s/consent/")
    page.locator("summary").click()
    look("join")
    page.get_by_label("Your name here").first.fill(f"axe-{scheme}")
    page.get_by_role("button", name="Join the study").click()
    page.get_by_label("I have read the text above").check()
    page.get_by_role("button", name="Join the study").click()
    look("start")
    page.get_by_role("link", name="Start").click()
    page.keyboard.press("Enter")
    look("triplet")
    page.keyboard.press("1")
    expect(page.locator("[data-state]")).to_have_text("Saved")
    look("triplet, chosen")
    page.get_by_role("button", name="Instructions").click()
    look("instructions")
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Report a problem").click()
    look("report")
    page.get_by_role("link", name="Back to the work").click()
    page.get_by_role("button", name="Return this page of work").click()
    look("return")
    for protocol in ("pairwise", "relevance", "graded"):
        page.goto(f"{site.url}/s/{protocol}/")
        page.get_by_role("button", name="Join the study").click()
        page.get_by_role("link", name="Start").click()
        page.keyboard.press("1")
        look(protocol)
    page.goto(f"{site.url}/s/short/")
    page.get_by_role("button", name="Join the study").click()
    page.goto(f"{site.url}/s/short/work/")
    for _ in range(count_of(page)):
        page.keyboard.press("1")
        page.keyboard.press("Enter")
    expect(page.get_by_text("Your page of work is submitted.")).to_be_visible()
    page.goto(f"{site.url}/s/short/done/")
    look("done")
    page.goto(f"{site.url}/s/nowhere/")
    look("404")
    context.close()
    assert {name: problems for name, problems in found.items() if problems} == {}
