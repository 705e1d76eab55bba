"""What was found by looking at a worker's pages, as a person meets it in a browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, Route, expect

from judgments.kinds import KINDS
from tests.browser import working
from tests.browser.axe import problems
from tests.browser.working import PHONE, NewPage, count_of, here, join
from tests.installations import Installation

LOADED = (
    "() => [...document.querySelectorAll('[data-work] img')].every((one) => one.complete && one.naturalWidth)"
)


# every kind whose page has pictures, and a translation of a text beside its picture
PICTURED = [*(name for name in working.KINDS if KINDS[name].page.shows_picture), "segments"]
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


def test_a_picture_without_a_connection_says_so_and_comes_back(
    new_page: NewPage, site: Installation, person: str
) -> None:
    page = new_page(viewport={"width": 1280, "height": 800})

    def cut(route: Route) -> None:
        route.abort("internetdisconnected")

    page.route("**/pictures/**", cut)
    join(page, site, "graded", person)
    expect(here(page).get_by_text("No connection.")).to_be_visible()
    expect(here(page).get_by_text("The picture cannot be loaded.")).to_be_hidden()
    page.unroute("**/pictures/**", cut)
    here(page).get_by_role("button", name="Try again").click()
    expect(here(page).locator("[data-zoom] img")).to_be_visible()
    expect(here(page).get_by_text("No connection.")).to_be_hidden()


def test_an_arabic_page_runs_from_right_to_left_and_its_slider_stands_nowhere(
    new_page: NewPage, site: Installation, person: str
) -> None:
    page = new_page(**PHONE, locale="ar")
    page.goto(f"{site.url}/s/slider/")
    page.locator("#name").fill(person)
    page.locator("form.fields .primary").first.click()
    page.wait_for_url("**/start/")
    page.goto(f"{site.url}/s/slider/work/")
    count_of(page)
    assert page.evaluate("document.documentElement.dir") == "rtl"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert problems(page) == []
    slide = here(page).locator("[data-slide]")
    expect(slide).to_have_class("jsonly open")
    expect(slide).to_have_attribute("aria-valuetext", "لا إجابة بعد")
    forward, back = page.locator("[data-next]").bounding_box(), page.locator("[data-back]").bounding_box()
    assert forward is not None
    assert back is not None
    assert forward["x"] < back["x"]
    page.keyboard.press("ArrowLeft")  # onward, as the page runs
    expect(here(page).locator("[data-number]")).to_have_value("51")


def test_half_of_an_answer_outlasts_a_reload(new_page: NewPage, site: Installation, person: str) -> None:
    page = new_page(viewport={"width": 1280, "height": 800})
    join(page, site, "sure", person)
    page.keyboard.press("b")
    page.evaluate("location.reload()")
    count_of(page)
    expect(here(page).locator("input[value='2'][name^=u]")).to_be_checked()
    expect(page.locator("[data-count]")).to_have_text("1 of 4")
    here(page).locator("[name^=v]").first.check()
    page.keyboard.press("Enter")
    expect(page.locator("[data-count]")).to_have_text("2 of 4")
    page.reload()
    count_of(page)
    expect(page.locator("#u1 input:checked")).to_have_count(2)


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


def test_an_answer_is_shown_by_a_page_that_was_made_before_the_server_had_it(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "graded", person)
    address = page.url
    early = page.request.get(address)
    held: list[Route] = []
    page.route(address, lambda route: held.append(route))
    with page.expect_response("**/save/"):
        page.keyboard.press("3")
        page.evaluate("() => { location.reload(); }")
    page.wait_for_timeout(200)  # the page that is left reads the reply
    held[0].fulfill(response=early)
    count_of(page)
    expect(page.locator("#u1 input[value='3']")).to_be_checked()
