"""Marking errors in a browser."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.axe import problems
from tests.browser.working import PHONE, NewPage, answers, here, join, submitted
from tests.installations import Installation, Installations

STUDIES = """
from tests.annotation.casting import make_study
from tests.annotation.sourcing import make_texts

text = "Der Rat will die Brücke reparieren lassen."
shown = {"judged": "translation", "source": {"show": True, "language": "de"}, "judgments_per_unit": 100}
alone = {"units_per_hit": 3, "controls": {"per_hit": 0}}
make_study(make_texts("sentences", text=text), "spans", slug="spans", **shown, **alone)
beside = {"units_per_hit": 6, "controls": {"per_hit": 2}, "spans": {"contrastive": True}}
make_study(make_texts("sides", text=text), "spans", slug="contrastive", **shown, **beside)
"""


@pytest.fixture(scope="module")
def site(installations: Installations) -> Iterator[Installation]:
    with installations.fresh("sqlite", after=STUDIES) as installation:
        installation.start_server()
        yield installation


def test_errors_are_marked_by_mouse_keys_finger_and_in_a_plain_form(
    page: Page, new_page: NewPage, site: Installation, person: str
) -> None:
    join(page, site, "spans", person)
    text = here(page).locator("[data-text]")
    words = text.locator("[data-word]")
    whole = text.inner_text()
    first, second = words.nth(0).inner_text(), words.nth(1).inner_text()
    # by mouse: drag over two words, then a button; nothing is answered before the slider is touched
    start, end = words.nth(0).bounding_box(), words.nth(1).bounding_box()
    assert start is not None
    assert end is not None
    page.mouse.move(start["x"] + 1, start["y"] + start["height"] / 2)
    page.mouse.down()
    page.mouse.move(end["x"] + end["width"] - 1, end["y"] + end["height"] / 2, steps=5)
    page.mouse.up()
    expect(here(page).get_by_role("status")).to_contain_text(f"“{first} {second}” is selected.")
    here(page).get_by_role("button", name="Major").click()
    expect(here(page).get_by_role("status")).to_have_text(f"“{first} {second}”: Major")
    page.keyboard.press("Enter")
    expect(
        page.get_by_text("Move the slider, or type a number from 0 to 100, to go on.").first
    ).to_be_visible()
    # by keys: the third and the fourth word, a mark that is taken away, something missing, 70
    text.focus()
    for key in (
        "Home",
        "ArrowRight",
        "ArrowRight",
        "Shift+ArrowRight",
        "m",
        "ArrowRight",
        "j",
        "Delete",
        "x",
        "7",
    ):
        page.keyboard.press(key)
    assert not problems(page)
    # what is marked outlives a report, which posts the page
    marks = here(page).locator("[data-chosen] li")
    expect(marks).to_have_count(3)
    page.get_by_role("button", name="Report a problem").click()
    page.get_by_label("Something else").check()
    page.get_by_role("button", name="Send the report").click()
    expect(marks).to_have_count(3)
    page.evaluate("localStorage.clear()")
    page.goto(page.url.partition("#")[0])
    expect(page.locator("#u1 [data-chosen] li")).to_have_count(3)
    expect(page.locator("#u1 [data-number]")).to_have_value("70")
    # by finger on a phone: from word to word, then the button
    phone = new_page(storage_state=page.context.storage_state(), **PHONE)
    phone.goto(page.url)
    expect(here(phone).locator("[data-text]")).to_be_visible()
    tapped = here(phone).locator("[data-word]")
    tapped.nth(1).tap()
    tapped.nth(3).tap()
    here(phone).get_by_role("button", name="Minor").tap()
    here(phone).locator("[data-number]").fill("55")
    width = phone.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert width == 0
    phone.locator("[data-next]:visible, [data-submit]:visible").first.tap()
    expect(phone.locator("[data-state]")).to_have_text("Saved")
    # without scripts: the last text as a form
    plain = new_page(storage_state=page.context.storage_state(), java_script_enabled=False)
    plain.goto(page.url)
    plain.locator("#u3 select").nth(0).select_option("minor")
    plain.locator("#u3 [data-number]").fill("90")
    plain.get_by_role("button", name="Submit").last.click()
    submitted(plain)
    by_mouse, by_finger, in_a_form = answers(site, person)
    at = [len(" ".join(whole.split()[:count])) for count in range(5)]
    assert by_mouse == {
        "spans": [
            {"start": 0, "end": at[2], "severity": "major"},
            {"start": at[2] + 1, "end": at[4], "severity": "minor"},
            {"start": None, "end": None, "severity": "minor"},
        ],
        "score": 70,
    }
    assert len(by_finger["spans"]) == 1
    assert by_finger["score"] == 55
    assert in_a_form["spans"][0]["start"] == 0
    assert in_a_form["score"] == 90


@pytest.mark.long
def test_two_texts_side_by_side_by_mouse_keys_finger_and_in_a_plain_form(
    page: Page, new_page: NewPage, site: Installation, person: str
) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    join(page, site, "contrastive", person)
    sides = here(page).locator("[data-place]")
    expect(sides).to_have_count(2)
    first, second = sides.nth(0), sides.nth(1)
    active = re.compile("active")
    expect(first).to_have_class(active)
    left, right = first.bounding_box(), second.bounding_box()
    assert left is not None
    assert right is not None
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] < right["x"]
    # by mouse on the second text, which becomes the active one
    second.locator("[data-word]").nth(1).click()
    expect(second).to_have_class(active)
    expect(first).not_to_have_class(active)
    second.get_by_role("button", name="Major").click()
    assert not problems(page)
    # keys go to the active text; its letter turns to the other
    for key in ("x", "3", "a", "Home", "j", "8"):
        page.keyboard.press(key)
    expect(first).to_have_class(active)
    expect(first.locator("[data-chosen] li")).to_have_count(1)
    expect(second.locator("[data-chosen] li")).to_have_count(2)
    expect(first.locator("[data-number]")).to_have_value("80")
    expect(second.locator("[data-number]")).to_have_value("30")
    # both are restored, and stay after going on and coming back
    expect(page.locator("[data-state]")).to_have_text("Saved")
    page.keyboard.press("Enter")
    expect(page.locator("[data-count]")).to_have_text("2 of 3")
    # a mark without a score is kept in this browser, the other side's answer by the server
    sides = here(page).locator("[data-place]")
    page.keyboard.press("b")
    page.keyboard.press("5")
    page.keyboard.press("a")
    page.keyboard.press("Home")
    page.keyboard.press("m")
    expect(page.locator("[data-state]")).to_have_text("Saved")
    page.reload()
    expect(page.locator("[data-count]")).to_have_text("2 of 3")
    expect(sides.nth(0).locator("[data-chosen] li")).to_have_count(1)
    expect(sides.nth(0).locator("[data-number]")).to_have_value("")
    expect(sides.nth(1).locator("[data-number]")).to_have_value("50")
    page.get_by_role("button", name="Back").click()
    expect(page.locator("#u1 [data-place='1'] [data-number]")).to_have_value("80")
    expect(page.locator("#u1 [data-place='2'] [data-chosen] li")).to_have_count(2)
    # who goes on too early is told of the open side, which becomes active
    page.locator("[data-next]").click()
    sides.nth(1).locator("[data-text]").focus()
    page.keyboard.press("Enter")
    expect(sides.nth(0)).to_have_class(active)
    expect(page.locator("[data-count]")).to_have_text("2 of 3")
    page.get_by_role("button", name="Next").click()
    expect(page.locator("[data-state]")).to_have_text(
        "Translation A: Move the slider, or type a number from 0 to 100, to go on."
    )
    # by finger on a phone: one below the other
    phone = new_page(storage_state=page.context.storage_state(), **PHONE)
    phone.goto(page.url.partition("#")[0])
    sides = here(phone).locator("[data-place]")
    expect(sides.nth(1).locator("[data-number]")).to_have_value("50")
    above, below = sides.nth(0).bounding_box(), sides.nth(1).bounding_box()
    assert above is not None
    assert below is not None
    assert above["y"] + above["height"] < below["y"]
    sides.nth(0).locator("[data-word]").nth(0).tap()
    sides.nth(0).get_by_role("button", name="Major").tap()
    sides.nth(0).locator("[data-number]").fill("40")
    width = phone.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert width == 0
    assert not problems(phone)
    phone.locator("[data-next]:visible").tap()
    expect(phone.locator("[data-count]")).to_have_text("3 of 3")
    expect(phone.locator("[data-state]")).to_have_text("Saved")
    # without scripts: the last two texts as a form
    plain = new_page(storage_state=page.context.storage_state(), java_script_enabled=False)
    plain.goto(page.url.partition("#")[0])
    plain.locator("#side5 select").nth(0).select_option("minor")
    plain.locator("#side5 [data-number]").fill("90")
    plain.locator("#side6 [data-number]").fill("20")
    plain.get_by_role("button", name="Submit").last.click()
    submitted(plain)
    found = answers(site, person)
    assert [answer["score"] for answer in found] == [80, 30, 40, 50, 90, 20]
    assert [len(answer["spans"]) for answer in found] == [1, 2, 1, 0, 1, 0]
    assert [span["severity"] for span in found[1]["spans"]] == ["major", "minor"]


def test_on_a_phone_the_slider_that_a_sentence_names_comes_into_view(
    new_page: NewPage, site: Installation, person: str
) -> None:
    page = new_page(viewport={"width": 390, "height": 600}, has_touch=True, is_mobile=True)
    join(page, site, "spans", person)
    slider = here(page).locator("[data-slide]")
    expect(slider).not_to_be_in_viewport()
    page.get_by_role("button", name="Next").dispatch_event(
        "click"
    )  # a tap of the test's would scroll the page
    expect(page.locator("[data-state]")).to_contain_text("Move the slider")
    expect(slider).to_be_in_viewport(ratio=1)
    bar = page.locator(".tail.fixed").bounding_box()
    box = slider.bounding_box()
    assert bar is not None
    assert box is not None
    assert box["y"] + box["height"] <= bar["y"]  # the bar does not cover it


def test_an_empty_text_says_so_and_what_is_missing_can_be_marked(
    page: Page, site: Installation, person: str
) -> None:
    def emptied(route: Route) -> None:
        reply = route.fetch()
        body = re.sub(r'("caption": {"text": )"[^"]*"', r'\1""', reply.text())
        route.fulfill(response=reply, body=re.sub(r'"words": \[\[.*?\]\]', '"words": []', body))

    join(page, site, "spans", person)  # units are cached, so that the browser's copy is emptied
    page.route(f"{site.url}/s/spans/**", emptied)
    page.reload()
    step = here(page)
    expect(step.locator("[data-text]")).to_have_text("(empty)")
    step.get_by_role("button", name="Something is missing").click()
    step.get_by_role("button", name="Major").click()
    expect(step.locator("[data-chosen] li")).to_have_count(1)
    assert not problems(page)
