"""Other tabs, and answers changed after the submission, in a browser."""

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
        expect(tab.get_by_text("is also open in another tab")).to_be_visible()
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


@pytest.mark.long
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
    expect(page.get_by_text("This browser is no longer signed in.")).to_be_visible()
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


@pytest.mark.long
def test_a_killed_server_costs_no_answer(page: Page, fragile: Installation, person: str) -> None:
    join(page, fragile, "triplet", person)
    page.keyboard.press("2")
    expect(page.locator("[data-state]")).to_have_text("Saved")
    fragile.stop()  # by SIGKILL
    page.keyboard.press("1")
    expect(page.locator("[data-state]")).to_contain_text("Your answers are kept in this browser")
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


def answer_all(page: Page, key: str = "1", steps: int = 4) -> None:
    for _ in range(steps):
        page.keyboard.press(key)
    expect(page.locator("[data-state]")).to_have_text("All answered")


def test_keys_answer_take_back_choose_and_can_be_switched_off(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "triplet", person)
    count = page.locator("[data-count]")
    page.keyboard.press("1")
    page.keyboard.press("u")
    page.keyboard.press("1")  # the same answer again goes on too
    expect(count).to_have_text("2 of 4")
    page.keyboard.press("1")
    expect(count).to_have_text("3 of 4")
    page.keyboard.press("u")
    expect(count).to_have_text("2 of 4")
    expect(page.locator("[data-step]:visible input").first).to_be_checked()
    page.keyboard.press("u")
    expect(count).to_have_text("1 of 4")
    page.keyboard.press("2")
    expect(count).to_have_text("3 of 4")

    page.locator("[data-step]:visible input").first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("[data-step]:visible input").nth(1)).to_be_checked()
    page.wait_for_timeout(100)
    expect(count).to_have_text("3 of 4")
    page.keyboard.press("Enter")
    expect(count).to_have_text("4 of 4")

    page.keyboard.press("?")
    page.get_by_label("Use single-key shortcuts").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("1")
    expect(page.locator("[data-step]:visible input:checked")).to_have_count(0)


def test_who_does_not_want_it_goes_on_by_enter_and_the_choice_is_remembered(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "triplet", person)
    page.get_by_label("Go to the next question automatically").uncheck()
    page.keyboard.press("1")
    expect(page.locator("[data-count]")).to_have_text("1 of 4")
    page.reload()
    expect(page.get_by_label("Go to the next question automatically")).not_to_be_checked()


def test_what_is_left_for_later_comes_back_before_the_end(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "triplet", person)
    page.keyboard.press("s")
    expect(page.locator("[data-count]")).to_have_text("2 of 4 · 1 to answer later")
    page.get_by_role("button", name="Later").click()
    expect(page.locator("[data-count]")).to_have_text("3 of 4 · 2 to answer later")
    page.keyboard.press("1")
    page.keyboard.press("1")
    expect(page.locator("[data-count]")).to_have_text("1 of 4 · 1 to answer later")
    page.keyboard.press("1")
    expect(page.locator("[data-count]")).to_have_text("2 of 4")
    page.keyboard.press("1")
    page.get_by_role("button", name="Submit").click()
    submitted(page)
    assert len(stored(site, person)) == 4


def test_a_comment_is_kept_with_its_answer(page: Page, site: Installation, person: str) -> None:
    join(page, site, "triplet", person)
    page.get_by_text("Comment", exact=True).locator("visible=true").click()
    expect(page.get_by_label("Comment on this item").locator("visible=true")).to_be_focused()
    page.keyboard.type("Both are odd.")
    page.reload()
    expect(page.get_by_label("Comment on this item").locator("visible=true")).to_have_value("Both are odd.")
    page.locator("[data-step]:visible .choice").first.click()
    expect(page.locator("[data-count]")).to_have_text("2 of 4")
    answer_all(page, steps=3)
    page.keyboard.press("Enter")
    submitted(page)
    assert sorted(one["comment"] for one in stored(site, person, "comment")) == ["", "", "", "Both are odd."]


def test_a_submitted_page_is_corrected_beside_what_was_submitted(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "triplet", person)
    answer_all(page)
    page.keyboard.press("Enter")
    submitted(page)
    page.keyboard.press("u")
    expect(page.get_by_text("You can still change your answers")).to_be_visible()
    expect(page.locator("[data-count]")).to_have_text("4 of 4")
    page.keyboard.press("2")
    page.get_by_role("button", name="Save the changes").click()
    expect(page.get_by_text("Your answers are changed")).to_be_visible()
    rows = stored(site, person, "pk", "value", "replaces")
    assert len(rows) == 5
    replaced = next(one for one in rows if one["pk"] == rows[-1]["replaces"])
    assert rows[-1]["value"] == 3 - replaced["value"]


def test_corrections_need_no_script(new_page: NewPage, site: Installation, person: str) -> None:
    page = new_page(java_script_enabled=False)
    join(page, site, "triplet", person)
    for number in range(1, 5):
        page.locator(f"#u{number} .choice").first.click()
    page.get_by_role("button", name="Submit").click()
    page.get_by_role("link", name="Change my last page").click()
    page.locator("#u3 .choice").nth(1).click()
    page.get_by_role("button", name="Save the changes").click()
    expect(page.get_by_text("Your answers are changed")).to_be_visible()
    assert sum(one["replaces"] is not None for one in stored(site, person, "replaces")) == 1


def test_the_next_page_stands_there_without_loading_and_is_worked_on_like_the_first(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "triplet", person)
    page.evaluate("window.before = 'still the same document'")
    for _ in range(2):
        with page.expect_response("**/ahead/") as fetched:
            answer_all(page)
        fetched.value.finished()
        page.keyboard.press("Enter")
        submitted(page)
        expect(page.locator("[data-count]")).to_have_text("1 of 4")
    assert page.evaluate("window.before") == "still the same document"
    assert page.evaluate("document.activeElement.tagName") == "H2"
    assert len(stored(site, person)) == 8
