"""A HIT template in a real browser: filled in by mouse and by keys, restored, refused, on a phone, without scripts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.axe import problems
from tests.browser.working import count_of, join
from tests.installations import Installation


def answers(site: Installation, name: str) -> list[Any]:
    code = (
        "import json; from annotation.models import Judgment; print(json.dumps(list(Judgment.objects.current()"
        f".filter(assignment__worker__name={name!r}).order_by('unit__position').values_list('answer', flat=True))))"
    )
    rows: list[Any] = json.loads(site.python(code))
    return [{name: value for name, value in row.items() if name != "source"} for row in rows]


def here(page: Page) -> Any:
    return page.locator("[data-step]:visible")


def submitted(page: Page) -> None:
    expect(page.get_by_text("Your page of work is submitted.")).to_be_visible()


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
    found = answers(site, person)
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
    assert [one["tone"] for one in answers(site, person)] == ["neg"] * 3


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


def test_a_form_works_with_scripts_switched_off(browser: Browser, site: Installation, person: str) -> None:
    context = browser.new_context(java_script_enabled=False, viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto(f"{site.url}/s/template/")
    page.get_by_label("Your name here").first.fill(person)
    page.get_by_role("button", name="Join the study").click()
    page.get_by_role("link", name="Start").click()
    for number in range(3):
        page.get_by_label("Gut").nth(number).check()
    page.get_by_label("Ironie").nth(1).check()
    page.get_by_role("button", name="Submit").last.click()
    submitted(page)
    context.close()
    found = answers(site, person)
    assert [one["tone"] for one in found] == ["pos"] * 3
    assert sorted(one["flags"] for one in found) == [[], [], ["irony"]]


@pytest.mark.parametrize(
    ("size", "scheme"), [((1280, 800), "light"), ((390, 844), "dark")], ids=["wide", "phone"]
)
def test_the_page_of_a_form_fits_its_screen_and_a_screen_reader(
    browser: Browser, site: Installation, size: tuple[int, int], scheme: Any, person: str
) -> None:
    width, height = size
    context = browser.new_context(
        viewport={"width": width, "height": height},
        has_touch=width < 700,
        is_mobile=width < 700,
        color_scheme=scheme,
    )
    page = context.new_page()
    join(page, site, "template", person)
    expect(page.get_by_role("button", name="Next")).to_be_in_viewport(ratio=1)
    here(page).get_by_text("Wie entscheiden?").click()
    expect(here(page).get_by_text("Lies den Text.")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert problems(page) == []
    targets = here(page).locator(
        "label:has(input[type=radio], input[type=checkbox]), .filled input[type=text], .filled input[type=number], "
        ".filled select, .filled textarea, .filled summary"
    )
    sizes = [size for one in targets.all() if (size := one.bounding_box())]
    assert len(sizes) >= 7
    assert [one for one in sizes if min(one["width"], one["height"]) < 44] == []
    context.close()
