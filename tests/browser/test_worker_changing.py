"""Answers taken back, left for later, commented on, and corrected after they were submitted."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.working import NewPage, join, stored, submitted
from tests.installations import Installation


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
    page.get_by_label("Use single keys").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("1")
    expect(page.locator("[data-step]:visible input:checked")).to_have_count(0)


def test_who_does_not_want_it_goes_on_by_enter_and_the_choice_is_remembered(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "triplet", person)
    page.get_by_label("An answer goes on by itself").uncheck()
    page.keyboard.press("1")
    expect(page.locator("[data-count]")).to_have_text("1 of 4")
    page.reload()
    expect(page.get_by_label("An answer goes on by itself")).not_to_be_checked()


def test_what_is_left_for_later_comes_back_before_the_end(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "triplet", person)
    page.keyboard.press("s")
    expect(page.locator("[data-count]")).to_have_text("2 of 4 · 1 for later")
    page.get_by_role("button", name="Later").click()
    expect(page.locator("[data-count]")).to_have_text("3 of 4 · 2 for later")
    page.keyboard.press("1")
    page.keyboard.press("1")
    expect(page.locator("[data-count]")).to_have_text("1 of 4 · 1 for later")
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
