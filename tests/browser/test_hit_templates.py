"""A HIT template in a real browser: filled in by mouse and by keys, restored, refused, on a phone, without scripts."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import problems_in_both_looks
from tests.browser.working import answers, count_of, here, join, submitted
from tests.installations import Installation


def filled(site: Installation, name: str) -> list[dict[str, Any]]:
    """What a person filled in, without the name of the form."""
    return [{name: value for name, value in row.items() if name != "source"} for row in answers(site, name)]


def at(page: Page, number: int) -> None:
    expect(page.locator("[data-count]")).to_have_text(f"{number} of 3")


def test_a_form_is_filled_in_by_mouse_and_keeps_every_step_apart(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "template", person)
    for number in (1, 2, 3):
        at(page, number)
        here(page).get_by_label("Gut").check()
        here(page).get_by_label("Unfein").check()
        here(page).get_by_label("Alter").fill(str(40 + number))
        here(page).get_by_label("Ort").select_option("Bonn")
        here(page).get_by_label("Grund").fill(f"Grund {number}")
        page.locator("[data-next]:visible, [data-submit]:visible").first.click()
    submitted(page)
    found = filled(site, person)
    assert sorted(one["age"] for one in found) == [41, 42, 43]
    assert {json.dumps(one | {"age": 0, "why": ""}, sort_keys=True) for one in found} == {
        json.dumps({"tone": "pos", "flags": ["rude"], "age": 0, "place": "Bonn", "why": ""}, sort_keys=True)
    }


def test_a_form_is_filled_in_by_keys_alone(page: Page, site: Installation, person: str) -> None:
    join(page, site, "template", person)
    at(page, 1)
    page.keyboard.press("Enter")
    expect(page.locator("[data-state]")).to_have_text("Fill in the form to go on.")
    for number in (1, 2, 3):
        at(page, number)
        page.keyboard.press("2")
        expect(here(page).get_by_label("Schlecht")).to_be_checked()
        page.keyboard.press("Enter")
    submitted(page)
    assert [one["tone"] for one in filled(site, person)] == ["neg"] * 3


def test_a_field_that_is_wrong_is_told_by_its_name(page: Page, site: Installation, person: str) -> None:
    join(page, site, "template", person)
    here(page).get_by_label("Gut").check()
    here(page).get_by_label("Alter").fill("200")
    page.get_by_role("button", name="Next").click()
    expect(page.locator("[data-state]")).to_contain_text("Alter:")
    at(page, 1)
    here(page).get_by_label("Alter").fill("20")
    page.get_by_role("button", name="Next").click()
    at(page, 2)


def test_what_was_filled_in_outlasts_a_reload_here_and_at_the_server(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "template", person)
    here(page).get_by_label("Grund").fill("Halb fertig")  # no answer yet: the tone is missing
    page.reload()
    count_of(page)
    expect(here(page).get_by_label("Grund")).to_have_value("Halb fertig")
    here(page).get_by_label("Schlecht").check()
    expect(page.locator("[data-state]")).to_have_text("Saved")
    page.evaluate("localStorage.clear()")
    page.reload()
    count_of(page)
    page.get_by_role("button", name="Back").click()
    at(page, 1)
    expect(here(page).get_by_label("Schlecht")).to_be_checked()
    expect(here(page).get_by_label("Grund")).to_have_value("Halb fertig")


@pytest.mark.long
def test_a_form_s_slider_stands_nowhere_before_an_answer(page: Page, site: Installation, person: str) -> None:
    join(page, site, "warmth", person)
    for number in (1, 2, 3):
        at(page, number)
        slide = here(page).locator("[type=range]")
        expect(slide).to_have_class(re.compile(r"\bopen\b"))
        expect(here(page).locator("output")).to_have_text("")
        unanswered = slide.screenshot()
        page.keyboard.press("Enter")
        expect(page.locator("[data-state]")).to_have_text("Fill in the form to go on.")
        slide.press("ArrowRight")
        expect(slide).not_to_have_class(re.compile(r"\bopen\b"))
        expect(here(page).locator("output")).to_have_text("6")
        slide.blur()
        assert slide.screenshot() != unanswered  # now there is a thumb
        page.locator("[data-next]:visible, [data-submit]:visible").first.click()
    submitted(page)
    assert filled(site, person) == [{"warmth": 6}] * 3


def test_the_page_of_a_form_fits_its_screen_and_a_screen_reader(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "template", person)
    expect(page.get_by_role("button", name="Next")).to_be_in_viewport(ratio=1)
    here(page).get_by_text("Wie entscheiden?").click()
    expect(here(page).get_by_text("Lies den Text.")).to_be_visible()
    assert problems_in_both_looks(page) == []
    targets = here(page).locator(
        "label:has(input[type=radio], input[type=checkbox]), .filled input[type=text], .filled input[type=number], "
        ".filled select, .filled textarea, .filled summary"
    )
    sizes = [size for one in targets.all() if (size := one.bounding_box())]
    assert len(sizes) >= 7
    assert [one for one in sizes if min(one["width"], one["height"]) < 44] == []
