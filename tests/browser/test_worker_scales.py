"""A person judges by best-worst and by slider in a real browser: keyboard alone, mouse, phone, without scripts."""

import json
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import problems
from tests.browser.working import PHONE, NewPage, count_of, here, join, submitted
from tests.installations import Installation


@pytest.fixture
def phone(new_page: NewPage) -> Page:
    """A window of a phone's size that is touched."""
    return new_page(**PHONE)


@pytest.fixture
def plain(new_page: NewPage) -> Page:
    """A browser without scripts."""
    return new_page(java_script_enabled=False)


def answers_of(site: Installation, name: str) -> list[Any]:
    """What is stored of a person, as they saw it, in the order of the page."""
    code = (
        "import json; from annotation.models import Assignment; print(json.dumps(["
        "[one.answers[key].get('answer', one.answers[key].get('value')) for key in sorted(one.answers, key=int)]"
        f" for one in Assignment.objects.filter(worker__name={name!r}, state='submitted').order_by('pk')]))"
    )
    rows: list[list[Any]] = json.loads(site.python(code))
    return [answer for row in rows for answer in row]


def test_two_keys_judge_a_list(page: Page, site: Installation, person: str) -> None:
    join(page, site, "best-worst", person)
    page.keyboard.press("2")
    expect(here(page).locator(".best input").nth(1)).to_be_checked()
    expect(page.locator("[data-count]")).to_have_text("1 of 4")
    page.keyboard.press("4")
    expect(page.locator("[data-count]")).to_have_text("2 of 4")
    page.keyboard.press("Shift+1")
    page.keyboard.press("3")
    expect(page.locator("[data-count]")).to_have_text("3 of 4")
    for first, second in (("1", "2"), ("4", "1")):
        page.keyboard.press(first)
        page.keyboard.press(second)
    expect(page.locator("[data-state]")).to_have_text("Saved")
    page.keyboard.press("Enter")
    submitted(page)
    assert answers_of(site, person) == [
        {"best": 2, "worst": 4}, {"best": 3, "worst": 1}, {"best": 1, "worst": 2}, {"best": 4, "worst": 1},
    ]  # fmt: skip


def test_one_caption_is_never_best_and_worst(page: Page, site: Installation, person: str) -> None:
    join(page, site, "best-worst", person)
    here(page).locator(".best").nth(0).click()
    here(page).locator(".worst").nth(0).click()
    expect(here(page).locator(".best input:checked")).to_have_count(0)
    page.keyboard.press("Enter")
    expect(page.get_by_text("To go on, choose the best caption and the worst caption.")).to_be_visible()
    page.keyboard.press("2")
    expect(page.locator("[data-count]")).to_have_text("2 of 4")
    page.keyboard.press("u")
    expect(page.locator("[data-count]")).to_have_text("1 of 4")
    expect(here(page).locator("input:checked")).to_have_count(2)


def test_arrow_keys_walk_through_the_buttons_without_going_on(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "best-worst", person)
    here(page).locator(".worst input").nth(3).focus()
    page.keyboard.press("Space")
    here(page).locator(".best input").nth(0).focus()
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    expect(here(page).locator(".best input").nth(1)).to_be_checked()
    expect(page.locator("[data-count]")).to_have_text("1 of 4")
    sentences = here(page).locator("[data-option] .said").all_inner_texts()
    for sentence in sentences:
        expect(page.get_by_role("radio", name=f"Best {sentence}")).not_to_have_count(0)
    assert len(sentences) == 4


def test_a_half_chosen_list_survives_a_reload(page: Page, site: Installation, person: str) -> None:
    join(page, site, "best-worst", person)
    page.keyboard.press("3")
    page.reload()
    expect(here(page).locator(".best input").nth(2)).to_be_checked()
    page.keyboard.press("1")
    expect(page.locator("[data-count]")).to_have_text("2 of 4")
    expect(page.locator("[data-state]")).to_have_text("Saved")
    page.reload()
    expect(page.locator("#u1 input:checked")).to_have_count(2)


def test_lists_are_judged_by_touch_with_nothing_out_of_reach(
    phone: Page, site: Installation, person: str
) -> None:
    join(phone, site, "best-worst", person)
    for label in here(phone).locator(".pick label").all():
        box = label.bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) >= 44
    assert phone.evaluate("document.documentElement.scrollWidth") == 390
    for number in range(4):
        here(phone).locator(".best").nth(number % 2).tap()
        here(phone).locator(".worst").nth(3).tap()
    phone.get_by_role("button", name="Submit").tap()
    submitted(phone)
    assert [one["worst"] for one in answers_of(site, person)] == [4] * 4


def test_lists_are_judged_without_scripts(plain: Page, site: Installation, person: str) -> None:
    join(plain, site, "best-worst", person)
    for number in range(1, 4):
        plain.locator(f"#u{number} .best").nth(1).click()
        plain.locator(f"#u{number} .worst").nth(2).click()
    plain.locator("#u4 .best").nth(0).click()
    plain.locator("#u4 .worst").nth(0).click()
    plain.get_by_role("button", name="Submit").click()
    expect(plain.get_by_text("Your answers are saved, but they are not submitted yet.")).to_be_visible()
    expect(plain.locator("#u2 input:checked")).to_have_count(2)
    plain.locator("#u4 .best").nth(3).click()
    plain.locator("#u4 .worst").nth(1).click()
    plain.get_by_role("button", name="Submit").click()
    submitted(plain)
    assert answers_of(site, person) == [{"best": 2, "worst": 3}] * 3 + [{"best": 4, "worst": 2}]


def test_a_slider_is_set_by_keyboard_alone(page: Page, site: Installation, person: str) -> None:
    join(page, site, "tellers-slider", person)
    for keys in (["7"], ["3", "ArrowRight", "ArrowRight"], ["End", "PageDown"], ["Home"]):
        for key in keys:
            page.keyboard.press(key)
        page.keyboard.press("Enter")
    submitted(page)
    assert answers_of(site, person) == [70, 32, 90, 0]


def test_digits_at_once_spell_a_number(page: Page, site: Installation, person: str) -> None:
    join(page, site, "tellers-slider", person)
    page.clock.set_fixed_time(0)
    for keys in ("75", "100", "1000"):
        page.keyboard.type(keys)
        page.keyboard.press("Enter")
    page.keyboard.press("3")
    page.clock.set_fixed_time(2_000)
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    submitted(page)
    assert answers_of(site, person) == [75, 100, 0, 40]


def test_a_slider_says_nothing_until_it_is_set_by_mouse_or_by_typing(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "tellers-slider", person)
    slide = here(page).get_by_role("slider")
    expect(slide).to_have_attribute("aria-valuetext", "not answered yet")
    expect(here(page).get_by_label("Your answer")).to_have_value("")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Move the slider, or type a number from 0 to 100, to go on.")).to_be_visible()
    expect(page.locator("[data-count]")).to_have_text("1 of 4")
    # the middle, where it stands, is an answer once somebody presses there
    slide.click()
    expect(here(page).get_by_label("Your answer")).to_have_value("50")
    box = slide.bounding_box()
    assert box is not None
    slide.click(position={"x": box["width"] * 0.25, "y": box["height"] / 2})
    value = int(here(page).get_by_label("Your answer").input_value())
    assert 20 <= value <= 30
    page.get_by_role("button", name="Next").click()
    field = here(page).get_by_label("Your answer")
    field.fill("101")
    page.get_by_role("button", name="Next").click()
    expect(page.locator("[data-count]")).to_have_text("2 of 4")
    field.fill("100")
    expect(here(page).get_by_role("slider")).to_have_attribute("aria-valuetext", "100")
    page.get_by_role("button", name="Next").click()
    expect(page.locator("[data-count]")).to_have_text("3 of 4")
    expect(page.locator("[data-state]")).to_have_text("Saved")
    page.reload()
    expect(page.locator("#u2 [data-number]")).to_have_value("100")
    expect(page.locator("#u3 [data-number]")).to_have_value("")


def test_a_slider_is_set_by_touch(phone: Page, site: Installation, person: str) -> None:
    join(phone, site, "tellers-slider", person)
    for number in range(4):
        slide = here(phone).get_by_role("slider")
        box = slide.bounding_box()
        assert box is not None
        assert box["height"] >= 44
        slide.tap(position={"x": box["width"] * (number + 0.5) / 4, "y": box["height"] / 2})
        phone.get_by_role("button", name="Submit" if number == 3 else "Next").tap()
    submitted(phone)
    values = answers_of(site, person)
    assert values == sorted(values)
    assert values[0] < 25 < 75 < values[-1]


def test_a_slider_without_scripts_is_a_field_for_a_number(
    plain: Page, site: Installation, person: str
) -> None:
    join(plain, site, "tellers-slider", person)
    expect(plain.locator("[data-slide]").first).to_be_hidden()
    for number, value in ((1, "0"), (2, "64"), (3, "100")):
        plain.locator(f"#u{number}").get_by_label("Your answer").fill(value)
    plain.get_by_role("button", name="Submit").click()
    expect(plain.get_by_text("Your answers are saved, but they are not submitted yet.")).to_be_visible()
    expect(plain.locator("#u1 [data-number]")).to_have_value("0")
    plain.locator("#u4").get_by_label("Your answer").fill("1")
    plain.get_by_role("button", name="Submit").click()
    submitted(plain)
    assert answers_of(site, person) == [0, 64, 100, 1]


def test_one_key_names_the_best_of_several(page: Page, site: Installation, person: str) -> None:
    join(page, site, "best-of", person)
    expect(here(page).locator("legend")).to_contain_text("Which caption describes the image best?")
    for key in ("2", "1", "3"):
        page.keyboard.press(key)
    expect(page.locator("[data-state]")).to_have_text("Saved")
    page.keyboard.press("Enter")
    submitted(page)
    assert answers_of(site, person) == [{"best": 2}, {"best": 1}, {"best": 3}]


def test_a_finger_names_the_best_of_several(phone: Page, site: Installation, person: str) -> None:
    join(phone, site, "best-of", person)
    for place in (3, 2, 1):
        here(phone).locator(f"label.option:nth-of-type({place})").tap()
    phone.get_by_role("button", name="Submit").tap()
    submitted(phone)
    assert answers_of(site, person) == [{"best": 3}, {"best": 2}, {"best": 1}]


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
