"""A person's pages on screens of any size, and as a screen reader meets them."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from judgments import kinds
from tests.browser.axe import problems, small_targets
from tests.browser.working import KINDS, PHONE, NewPage, here, join
from tests.installations import Installation

WIDTH = "one => one.getBoundingClientRect().width"
OVER = "document.documentElement.scrollWidth - innerWidth"  # pixels by which a page is wider than its window


def test_a_phone_shows_the_time_once_little_is_left(
    new_page: NewPage, site: Installation, person: str
) -> None:
    page = new_page(viewport={"width": 320, "height": 640}, has_touch=True, is_mobile=True, locale="de-DE")
    join(page, site, "long-name", person)
    left, count, name = (page.locator(one) for one in ("[data-left-words]", "[data-count]", ".bar h1"))
    expect(left).to_be_hidden()
    room = name.evaluate(WIDTH)
    site.python(
        "from datetime import timedelta; from django.utils import timezone; "
        f"from annotation.models import Assignment; Assignment.objects.filter(worker__name={person!r})"
        ".update(expires_at=timezone.now() + timedelta(seconds=50))"
    )
    page.reload()
    expect(left).to_have_text("weniger als eine Minute übrig")
    expect(left).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    # it takes no room from the name of the study, and how far it is stays on one line
    assert name.evaluate(WIDTH) == room
    assert count.evaluate("one => one.getClientRects()[0].height") < 30


@pytest.mark.parametrize("protocol", KINDS)
def test_nothing_is_cut_off_and_the_way_on_is_in_view_in_german_too(
    new_page: NewPage, site: Installation, protocol: str, person: str
) -> None:
    page = new_page(viewport={"width": 390, "height": 844}, has_touch=True)
    join(page, site, protocol, person)
    nothing_is_cut_off(page)
    page.goto(f"{page.url}?language=de")
    page.wait_for_load_state()
    assert page.evaluate(OVER) <= 0
    expect(page.locator("[data-next]").locator("visible=true")).to_be_in_viewport(ratio=1)
    page.get_by_role("button", name="Anleitung").click()
    expect(page.locator("#instructions")).to_be_visible()
    assert page.locator("#instructions q").first.evaluate("one => getComputedStyle(one).quotes") == '"„" "“"'
    assert page.evaluate(OVER) <= 0
    if protocol == "slider":  # the words of the others are in the same places
        assert problems(page) == []
    page.goto(f"{site.url}/s/{protocol}/start/?language=de")
    expect(page.get_by_role("link", name="Beginnen")).to_be_visible()
    assert page.evaluate(OVER) <= 0


@pytest.mark.parametrize("protocol", ["triplet", "grounding"])
def test_nothing_is_cut_off_on_a_wide_screen(
    new_page: NewPage, site: Installation, protocol: str, person: str
) -> None:
    page = new_page(viewport={"width": 1280, "height": 800})
    join(page, site, protocol, person)
    nothing_is_cut_off(page)


def nothing_is_cut_off(page: Page) -> None:
    for name in ("Next", "Later", "Report a problem"):
        expect(page.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
    first = page.locator("[data-step]:visible").locator("input, textarea").filter(visible=True).first
    expect(first).to_be_in_viewport()
    assert page.evaluate(OVER) <= 0
    assert small_targets(page) == []


COVERED = """() => {
    const bar = document.querySelector(".tail.fixed").getBoundingClientRect();
    return [...document.querySelectorAll("[data-step] .option")]
        .filter((one) => one.checkVisibility() && one.getBoundingClientRect().bottom > bar.top)
        .map((one) => one.textContent);
}"""


@pytest.mark.parametrize("language", ["en", "fr"])
def test_the_four_grades_stand_above_the_buttons_of_a_small_phone(
    new_page: NewPage, site: Installation, person: str, language: str
) -> None:
    page = new_page(viewport={"width": 360, "height": 640}, has_touch=True, is_mobile=True)
    join(page, site, "graded", person)
    page.goto(f"{page.url}?language={language}")
    expect(page.locator(".option").filter(visible=True)).to_have_count(4)
    assert page.evaluate(COVERED) == []
    bar = page.locator(".tail.fixed")
    height = bar.evaluate("bar => bar.offsetHeight")
    page.locator(".option").filter(visible=True).first.click()
    expect(page.locator("[data-state][data-tone=saved]")).to_be_visible()
    assert bar.evaluate("bar => bar.offsetHeight") == height  # nothing moves when an answer was saved
    assert page.evaluate(COVERED) == []


@pytest.mark.parametrize("protocol", ["best-worst", "grounding", "slider"])
def test_a_phone_held_sideways_shows_what_is_asked_beside_the_picture(
    new_page: NewPage, site: Installation, protocol: str, person: str
) -> None:
    page = new_page(viewport={"width": 740, "height": 360}, has_touch=True, is_mobile=True)
    join(page, site, protocol, person)
    assert page.evaluate(OVER) <= 0
    first = "[data-tokens]" if protocol == "grounding" else "[data-slide], .option"
    expect(page.locator(first).filter(visible=True).first).to_be_in_viewport(ratio=1)


def test_choosing_the_worst_breaks_no_caption_anew(
    new_page: NewPage, site: Installation, person: str
) -> None:
    page = new_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    join(page, site, "best-worst", person)
    page.goto(f"{page.url}?language=de")
    places = (
        "() => [...document.querySelectorAll('.now .said')].map(one => one.getBoundingClientRect().width)"
    )
    before = page.evaluate(places)
    here(page).locator(".worst").first.tap()
    expect(here(page).locator(".worst input").first).to_be_checked()
    assert page.evaluate(places) == before


def test_a_long_name_of_a_study_pushes_nothing_off_a_phone_s_screen(
    new_page: NewPage, site: Installation, person: str
) -> None:
    page = new_page(viewport={"width": 390, "height": 844}, has_touch=True)
    join(page, site, "long-name", person)
    expect(page.get_by_role("button", name="Instructions")).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


LOADED = (
    "() => [...document.querySelectorAll('[data-work] img')].every((one) => one.complete && one.naturalWidth)"
)
# every kind whose page has pictures, and a translation of a text beside its picture
PICTURED = [*(name for name in KINDS if kinds.KINDS[name].page.shows_picture), "segments"]
LOW = ((640, 400), (740, 360))  # a window of 1280 x 800 at 200 %, and a phone held sideways


@pytest.mark.parametrize("protocol", PICTURED)
def test_a_picture_is_large_enough_in_a_low_window_and_a_letter_answers(
    new_page: NewPage, site: Installation, protocol: str, person: str
) -> None:
    page = new_page(viewport={"width": 640, "height": 400})
    join(page, site, protocol, person)
    page.wait_for_function(LOADED)  # before, a picture with boxes has no size
    for width, height in LOW:
        page.set_viewport_size({"width": width, "height": height})
        for picture in here(page).locator("img").filter(visible=True).all():
            box = picture.bounding_box()
            assert box is not None
            assert box["height"] >= 200, (width, box)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.locator(".tail.fixed").evaluate("one => getComputedStyle(one).position") == "static"
    assert here(page).locator("img").filter(visible=True).count()
    if protocol == "pairwise":
        expect(here(page).locator(".label").first).to_have_text("Description A")
        page.keyboard.press("b")
        expect(page.locator("[data-step] input[value='2']:checked")).to_have_count(1)


def test_what_is_asked_besides_comes_out_from_below_the_bar(
    new_page: NewPage, site: Installation, person: str
) -> None:
    page = new_page(**PHONE)
    join(page, site, "sure", person)
    page.keyboard.press("b")
    last = here(page).locator(".sure label").last.bounding_box()
    bar = page.locator(".tail.fixed").bounding_box()
    assert last is not None
    assert bar is not None
    assert last["y"] + last["height"] <= bar["y"]


def test_what_is_asked_besides_moves_nothing_where_it_is_in_view(
    new_page: NewPage, site: Installation, person: str
) -> None:
    page = new_page(viewport={"width": 1280, "height": 800})
    join(page, site, "sure", person)
    page.keyboard.press("b")
    expect(here(page).locator("input[value='2'][name^=u]")).to_be_checked()
    assert page.evaluate("scrollY") == 0
    page.keyboard.press("9")
    expect(page.locator("[data-count]")).to_have_text("2 of 4")
    page.keyboard.press("Enter")
    complaint = page.get_by_text("Choose an answer, and how sure you are, to go on.").locator("visible=true")
    expect(complaint).to_be_visible()
    page.keyboard.press("u")  # where everything is answered, nothing is complained of
    expect(page.locator("[data-count]")).to_have_text("1 of 4")
    expect(complaint).to_have_count(0)
