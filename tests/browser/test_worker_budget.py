"""What a page of work weighs, how often it asks the server, and that nothing on it moves."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.working import NewPage, count_of, fetched, join, open_cold
from tests.installations import Installation

SHIFTS = """() => new Promise((told) => {
  let sum = 0;
  new PerformanceObserver((list) => { for (const one of list.getEntries()) sum += one.value; })
    .observe({ type: "layout-shift", buffered: true });
  setTimeout(() => told(sum), 100);
})"""


@pytest.mark.parametrize(
    "study",
    [
        "consent",
        "whole",
        "pairwise",
        "graded",
        "slider",
        "best-worst",
        "caption",
        "keywords",
        "grounding",
        "template",
    ],
)
def test_a_page_opened_cold_is_light_and_asks_nobody_else(
    new_page: NewPage, site: Installation, study: str, person: str
) -> None:
    cold = new_page(fresh=True)
    urls, size = open_cold(cold, site, study, person)
    # where a page of work has two units, the next one is fetched as soon as this one stands
    own = [url for url in urls if "/pictures/" not in url and not url.endswith("/ahead/")]
    assert len(own) <= 6, own
    assert {urlsplit(url).netloc for url in urls} == {urlsplit(site.url).netloc}
    pictures = cold.evaluate(
        "performance.getEntriesByType('resource').filter((one) => one.initiatorType === 'img')"
        ".reduce((sum, one) => sum + one.encodedBodySize + 300, 0)"
    )
    assert size - pictures <= 60_000, size


def test_a_whole_page_costs_saves_one_look_ahead_and_one_submission(
    new_page: NewPage, site: Installation, person: str
) -> None:
    cold = new_page(fresh=True)
    open_cold(cold, site, "consent", person)
    cold.keyboard.press("1")
    expect(cold.locator("[data-state]")).to_have_text("Saved")

    def go_on() -> None:
        cold.keyboard.press("Backspace")
        cold.keyboard.press("Enter")
        expect(cold.locator("[data-count]")).to_have_text("2 of 20")

    asked = [url for url in fetched(cold, go_on)[0] if not url.endswith("/save/")]
    assert asked == []  # between two units

    def finish() -> None:
        with cold.expect_response("**/ahead/") as ahead:
            for _ in range(19):
                cold.keyboard.press("1")
        ahead.value.finished()
        cold.keyboard.press("Enter")
        expect(cold.get_by_text("Your page of work is submitted.")).to_be_visible()

    kinds = [urlsplit(url).path.rstrip("/").rsplit("/", 1)[1] for url in fetched(cold, finish)[0]]
    assert sorted(kind for kind in kinds if kind != "save") == ["ahead", "submit"]
    assert kinds.count("save") <= 2


@pytest.mark.parametrize(
    ("protocol", "size"),
    [
        ("triplet", (1280, 800)),
        ("pairwise", (390, 844)),
        ("relevance", (390, 844)),
        ("relevance", (1280, 800)),
        ("graded", (390, 844)),
    ],
)
def test_nothing_moves_when_pictures_come_and_answers_are_given(
    new_page: NewPage, site: Installation, protocol: str, size: tuple[int, int], person: str
) -> None:
    page = new_page(fresh=True, viewport={"width": size[0], "height": size[1]})
    join(page, site, protocol, person)
    page.wait_for_load_state("networkidle")
    assert page.evaluate(SHIFTS) == pytest.approx(0, abs=0.001)
    switch = page.get_by_label("An answer goes on by itself")
    if switch.count():
        switch.uncheck()
    page.evaluate("scrollTo(0, 0)")
    where = "() => [...document.querySelectorAll('.now label, .now img, .tail.fixed button')]" + (
        ".filter((one) => one.checkVisibility()).map((one) => JSON.stringify(one.getBoundingClientRect()))"
    )
    before = page.evaluate(where)
    page.keyboard.press("1")
    expect(page.locator("[data-state]")).to_have_text("Saved")
    assert page.evaluate(where) == before


def test_the_picture_of_the_next_unit_is_there_before_it_is_asked_for(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "graded", person)
    count_of(page)
    page.wait_for_load_state("networkidle")
    loaded = (
        "[...document.querySelectorAll('[data-step] img')].map((one) => one.complete && one.naturalWidth > 0)"
    )
    assert page.evaluate(loaded)[:2] == [True, True]
