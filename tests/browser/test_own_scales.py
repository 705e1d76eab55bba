"""People answer on scales of a study's own in a real browser: keyboard, mouse, phone, without scripts."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import problems
from tests.browser.test_worker_scales import answers_of, phone, plain
from tests.browser.working import here, join, submitted
from tests.installations import Installation
from tests.marks import long_except

__all__ = ["phone", "plain"]
SCALES = ("likert", "better", "tens", "halves", "tenths")


def press(page: Page, keys: tuple[str, ...]) -> None:
    for key in keys:
        page.keyboard.press(key)
    expect(page.locator("[data-state]")).to_have_text("Saved")
    page.keyboard.press("Enter")
    submitted(page)


@pytest.mark.parametrize(
    ("slug", "keys", "answers"),
    [
        pytest.param("likert", ("7", "1", "4"), [7, 1, 4], id="seven-points"),
        pytest.param("better", ("1", "7", "4"), [-3, 3, 0], id="minus-three-to-three"),
        pytest.param("tens", ("0", "x", "5"), [0, 10, 5], id="nought-to-ten"),
        pytest.param("halves", ("2", "9", "1"), [1.5, 5, 1], id="halves"),
    ],
)
def test_each_point_has_a_key(
    page: Page, site: Installation, person: str, slug: str, keys: tuple[str, ...], answers: list[Any]
) -> None:
    join(page, site, slug, person)
    press(page, keys)
    assert answers_of(site, person) == answers


def test_a_slider_moves_by_its_own_steps(page: Page, site: Installation, person: str) -> None:
    join(page, site, "tenths", person)
    slide, field = here(page).get_by_role("slider"), here(page).get_by_label("Your answer")
    for key, value in (("3", "0.3"), ("ArrowRight", "0.4"), ("End", "1"), ("PageDown", "0.9")):
        page.keyboard.press(key)
        expect(field).to_have_value(value)
        expect(slide).to_have_attribute("aria-valuetext", value)
    page.keyboard.press("Enter")
    here(page).get_by_label("Your answer").fill("0.55")
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("Move the slider, or type a number from 0 to 1, to go on.")).to_be_visible()
    here(page).get_by_label("Your answer").fill("0.7")
    page.get_by_role("button", name="Next").click()
    press(page, ("Home",))
    assert answers_of(site, person) == [0.9, 0.7, 0]


def test_a_point_between_whole_numbers_survives_a_reload(page: Page, site: Installation, person: str) -> None:
    join(page, site, "halves", person)
    page.keyboard.press("4")
    expect(page.locator("[data-state]")).to_have_text("Saved")
    page.reload()
    expect(page.locator("#u1 input[value='2.5']")).to_be_checked()


@pytest.mark.parametrize("slug", long_except(SCALES, "likert", "tenths"))
def test_every_point_is_in_reach_of_a_finger(phone: Page, site: Installation, person: str, slug: str) -> None:
    join(phone, site, slug, person)
    assert phone.evaluate("document.documentElement.scrollWidth") == 390
    assert problems(phone) == []
    for label in here(phone).locator("label.option").all():
        box = label.bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) >= 44
    if slug != "tenths":
        for number in range(1, 4):
            phone.locator(f"#u{number} label.option").nth(number).tap()
            expect(phone.locator(f"#u{number} input").nth(number)).to_be_checked()
            expect(phone.locator("[data-count]")).to_have_text(f"{min(number + 1, 3)} of 3")
        phone.get_by_role("button", name="Submit").tap()
        submitted(phone)


@pytest.mark.parametrize("slug", ["likert", "tenths"])
def test_a_scale_without_scripts_is_a_plain_form(
    plain: Page, site: Installation, person: str, slug: str
) -> None:
    join(plain, site, slug, person)
    for number in range(1, 4):
        if slug == "likert":
            plain.locator(f"#u{number} input").nth(number).check()
        else:
            plain.locator(f"#u{number}").get_by_label("Your answer").fill(f"0.{number}")
    plain.get_by_role("button", name="Submit").click()
    submitted(plain)
    assert answers_of(site, person) == ([2, 3, 4] if slug == "likert" else [0.1, 0.2, 0.3])
