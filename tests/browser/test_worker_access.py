"""Everybody can work: what axe finds, sentences that run from right to left, a phone and touch, no motion."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import problems_in_both_looks
from tests.browser.working import KINDS, PHONE, NewPage, count_of, join, stored, submitted
from tests.installations import Installation

# a page of triplets is left to expire below; the others are looked at with what they open, by their own tests
ELSEWHERE = ("triplet", "keywords", "grounding")


class Looks:
    """What axe finds on each page that was looked at, of any impact."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.found: dict[str, list[str]] = {}

    def at(self, name: str) -> None:
        self.found[name] = problems_in_both_looks(self.page)

    @property
    def problems(self) -> dict[str, list[str]]:
        return {name: found for name, found in self.found.items() if found}


def enter(page: Page, site: Installation, slug: str) -> None:
    page.goto(f"{site.url}/s/{slug}/")
    page.get_by_role("button", name="Join the study").click()
    page.get_by_role("link", name="Start").click()
    count_of(page)


def test_axe_finds_nothing_on_any_of_the_worker_s_pages(
    new_page: NewPage, site: Installation, person: str
) -> None:
    page = new_page(reduced_motion="reduce")
    looks = Looks(page)
    page.goto(site.url)
    looks.at("home")
    page.goto(f"{site.url}/s/consent/")
    page.locator("summary").click()
    looks.at("join")
    page.get_by_label("Your name here").first.fill(person)
    page.get_by_label("I have read the text above").check()
    page.get_by_role("button", name="Join the study").click()
    looks.at("start")
    page.get_by_role("link", name="Start").click()
    count_of(page)
    page.keyboard.press("Enter")
    looks.at("triplet, asked for an answer")
    page.keyboard.press("1")
    page.keyboard.press("s")
    page.keyboard.press("u")
    page.get_by_text("Comment", exact=True).locator("visible=true").click()
    expect(page.locator("[data-state]")).to_have_text("Saved")
    looks.at("triplet, chosen")
    page.get_by_role("button", name="Instructions").click()
    looks.at("instructions")
    page.get_by_role("button", name="Close").locator("visible=true").click()
    page.evaluate("document.getElementById('keys').showPopover()")
    looks.at("keys")
    page.keyboard.press("Escape")
    page.evaluate("document.querySelectorAll('[data-note]').forEach((note) => { note.hidden = false; })")
    looks.at("every note")
    page.reload()
    page.get_by_role("button", name="Report a problem").click()
    looks.at("report")
    page.get_by_role("link", name="Back to the work").click()
    page.get_by_role("button", name="Return this page of work").click()
    looks.at("return")
    page.get_by_role("button", name="Return it").click()
    looks.at("returned")
    page.goto(f"{site.url}/s/consent/done/")
    looks.at("stopped")
    page.goto(f"{site.url}/s/nowhere/")
    looks.at("404")
    for address in ("api/docs/", "api/docs/worker/", "challenges/"):
        page.goto(f"{site.url}/{address}")
        looks.at(address)
    assert looks.problems == {}


def test_axe_finds_nothing_on_a_page_of_any_kind(page: Page, site: Installation) -> None:
    looks = Looks(page)
    for protocol in (one for one in KINDS if one not in ELSEWHERE):
        enter(page, site, protocol)
        page.keyboard.press("1")
        looks.at(protocol)
    page.set_viewport_size({"width": 1280, "height": 844})  # a phone has no such button
    page.locator("[data-step]:visible [data-zoom]").click()
    expect(page.locator("dialog.zoom")).to_be_visible()
    looks.at("a picture enlarged")
    enter(page, site, "short")
    for _ in range(count_of(page)):
        page.keyboard.press("1")
    page.keyboard.press("Enter")
    submitted(page)
    looks.at("the next page")
    page.keyboard.press("u")
    expect(page.get_by_text("You can still change your answers")).to_be_visible()
    looks.at("changing")
    page.goto(f"{site.url}/s/short/done/")
    looks.at("done")
    page.goto(f"{site.url}/s/triplet/")
    page.get_by_role("button", name="Join the study").click()
    page.goto(f"{site.url}/s/triplet/work/")
    page.keyboard.press("1")
    expect(page.locator("[data-state]")).to_have_text("Saved")
    site.python(
        "from annotation.models import Assignment; from django.utils import timezone; "
        "Assignment.objects.filter(state='accepted', study__slug='triplet').update(expires_at=timezone.now())"
    )
    page.reload()
    expect(page.get_by_role("heading", name="The time for your page of work is over")).to_be_visible()
    looks.at("expired")
    assert looks.problems == {}


def test_a_sentence_from_right_to_left_stays_within_itself(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "arabic", person)
    sentence = page.locator("[data-step]:visible .said").first
    assert sentence.evaluate("one => getComputedStyle(one).direction") == "rtl"
    assert sentence.evaluate("one => getComputedStyle(one).unicodeBidi") in ("isolate", "plaintext")
    assert sentence.get_attribute("lang") == "ar"
    # the label and the key beside it stay where they are for everybody
    card = page.locator("[data-step]:visible .choice").first
    label, key = card.locator(".label").bounding_box(), card.locator("kbd").bounding_box()
    assert label is not None
    assert key is not None
    assert label["x"] < key["x"]


@pytest.mark.parametrize("protocol", ["triplet", "relevance"])
def test_a_page_is_finished_by_touch_on_a_phone(
    new_page: NewPage, site: Installation, protocol: str, person: str
) -> None:
    page = new_page(**PHONE)
    join(page, site, protocol, person)
    expect(page.locator("kbd").locator("visible=true")).to_have_count(0)
    steps = count_of(page)
    for number in range(1, steps + 1):
        expect(page.locator("[data-count]")).to_contain_text(f"{number} of {steps}")
        page.locator("[data-step]:visible").locator(".choice, .option").first.tap()
        if protocol == "relevance" and number < steps:
            page.get_by_role("button", name="Next").tap()
    page.get_by_role("button", name="Submit").tap()
    submitted(page)
    assert len(stored(site, person)) == steps * (4 if protocol == "relevance" else 1)


def test_the_focus_can_be_seen_and_nothing_moves_for_whoever_asks_for_no_motion(
    new_page: NewPage, site: Installation, person: str
) -> None:
    page = new_page(reduced_motion="reduce")
    join(page, site, "triplet", person)
    moving = page.evaluate(
        "[...document.querySelectorAll('*')].filter((one) => "
        "getComputedStyle(one).transitionDuration !== '0s' || getComputedStyle(one).animationName !== 'none').length"
    )
    assert moving == 0
    page.keyboard.press("1")
    assert page.evaluate("document.activeElement.closest('[data-step]').classList.contains('now')")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    outline = (
        page.locator("[data-step]:visible .choice")
        .nth(1)
        .evaluate(
            "one => [getComputedStyle(one).outlineStyle, parseFloat(getComputedStyle(one).outlineWidth)]"
        )
    )
    assert outline[0] == "solid"
    assert outline[1] >= 2
