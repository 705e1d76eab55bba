"""The same work in two tabs, after a reload or a crash, and in a browser that is not known any more."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.working import NewPage, count_of, here, join, stored, submitted
from tests.installations import Installation, Installations


def test_two_tabs_show_the_same_answers_and_the_last_one_counts(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "triplet", person)
    other = page.context.new_page()
    other.goto(page.url)
    count_of(other)
    for tab in (page, other):
        expect(tab.get_by_text("is open in another tab too")).to_be_visible()
    page.bring_to_front()
    page.keyboard.press("1")
    expect(other.locator("#u1 input").first).to_be_checked()
    expect(other.locator("[data-state]")).to_have_text("Answered in another tab")
    other.bring_to_front()
    other.keyboard.press("2")
    expect(page.locator("#u1 input").nth(1)).to_be_checked()
    other.get_by_role("button", name="Close").locator("visible=true").click()
    for _ in range(3):
        other.keyboard.press("2")
    other.keyboard.press("Enter")
    expect(other.get_by_text("Your page of work is submitted.")).to_be_visible()
    expect(page.get_by_text("This page of work was submitted in another tab.")).to_be_visible()
    other.close()
    page.get_by_role("link", name="Go on").click()
    expect(page.locator("[data-count]")).to_have_text("1 of 4")
    assert len(stored(site, person)) == 4


def test_half_of_an_answer_gives_way_to_the_whole_one_of_another_tab(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "sure", person)
    page.keyboard.press("b")
    other = page.context.new_page()
    other.goto(page.url)
    count_of(other)
    other.keyboard.press("a")
    other.locator("#u1 [name^=v]").first.check()
    expect(other.locator("[data-state]")).to_have_text("Saved")
    expect(page.locator("#u1 input[value='1'][name^=u]")).to_be_checked()
    page.bring_to_front()
    page.locator("#u2 [name^=u]").first.evaluate("one => one.click()")  # what is kept is written again
    page.reload()
    count_of(page)
    expect(page.locator("#u2 input:checked")).to_have_count(1)
    expect(page.locator("#u1 input[value='1'][name^=u]")).to_be_checked()


def test_half_of_an_answer_gives_way_to_the_whole_one_of_another_device(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "sure", person)
    page.keyboard.press("b")
    kept = page.evaluate("Object.entries(localStorage).find(([key]) => /^quorum:[0-9a-f]{16}/.test(key))")
    page.keyboard.press("a")
    page.locator("#u1 [name^=v]").first.check()
    expect(page.locator("[data-state]")).to_have_text("Saved")
    page.evaluate(
        "([key, text]) => localStorage.setItem(key, text)", kept
    )  # as if that was answered elsewhere
    page.evaluate("location.reload()")
    count_of(page)
    expect(page.locator("#u1 input:checked")).to_have_count(2)
    expect(page.locator("#u1 input[value='1'][name^=u]")).to_be_checked()


def test_unsent_answers_of_one_study_outlast_work_on_another(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "triplet", person)
    page.route("**/s/triplet/work/*/save/", lambda route: route.abort("internetdisconnected"))
    page.keyboard.press("2")
    expect(page.locator("[data-state]")).to_contain_text("kept in this browser")
    page.goto(f"{site.url}/s/graded/")
    page.get_by_role("button", name="Join the study").click()
    page.get_by_role("link", name="Start").click()
    count_of(page)
    page.keyboard.press("3")
    expect(page.locator("[data-state]")).to_have_text("Saved")
    page.goto(f"{site.url}/s/triplet/work/")
    expect(page.locator("#u1 input").nth(1)).to_be_checked()


def test_a_browser_that_is_not_known_any_more_keeps_its_answers_until_it_is(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "triplet", person)
    cookies = page.context.cookies()
    page.context.clear_cookies(name="quorum_worker")
    page.keyboard.press("2")
    expect(page.get_by_text("This browser is not known here any more.")).to_be_visible()
    page.context.add_cookies(
        [{"name": one["name"], "value": one["value"], "url": site.url} for one in cookies]
    )
    page.goto(f"{site.url}/s/triplet/work/")
    expect(page.locator("#u1 input").nth(1)).to_be_checked()
    expect(page.locator("[data-state]")).to_have_text("Saved")


@pytest.fixture
def fragile(installations: Installations) -> Iterator[Installation]:
    """An installation of its own, to be killed."""
    with installations.fresh("sqlite") as installation:
        installation.python(
            "from tests.annotation.casting import make_dataset, make_study; "
            "make_study(make_dataset(images=12), 'triplet', slug='triplet', judgments_per_unit=9)"
        )
        installation.start_server(workers=1)
        yield installation


def test_a_killed_server_costs_no_answer(page: Page, fragile: Installation, person: str) -> None:
    join(page, fragile, "triplet", person)
    page.keyboard.press("2")
    expect(page.locator("[data-state]")).to_have_text("Saved")
    fragile.stop()  # by SIGKILL
    page.keyboard.press("1")
    expect(page.locator("[data-state]")).to_contain_text("your answers are kept in this browser")
    page.keyboard.press("2")
    fragile.start_server(workers=1, port=urlsplit(fragile.url).port or 0)
    expect(page.locator("[data-state]")).to_have_text("Saved")
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    submitted(page)
    seen = [
        3 - one["value"] if one["presented"] == "second-left" else one["value"]
        for one in stored(fragile, person)
    ]
    assert seen == [2, 1, 2, 1]


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
