"""Linking words to boxes in a browser."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import problems_in_both_looks
from tests.browser.working import PHONE, NewPage, answers, count_of, here, join, submitted
from tests.installations import Installation

# in both captions of tests/annotation/scenes.py: word 1 for the dog, word 5 for the barn
EXPECTED = [{"word": 1, "box": "1"}, {"word": 5, "box": "0"}]


def word(page: Page, index: int) -> Locator:
    return here(page).locator(f'[data-word="{index}"]')


def box(page: Page, name: str) -> Locator:
    found: Locator = here(page).get_by_role("button", name=name)
    return found


def test_words_are_linked_by_mouse_through_the_list_and_on_the_picture(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "grounding", person)
    box(page, "2 dog").click()
    expect(here(page).get_by_role("status")).to_have_text("Choose a word first.")
    for _ in range(2):
        word(page, 1).click()
        box(page, "3 oak tree").click()
        box(page, "2 dog").click()  # one word, one box: the later one
        expect(here(page).get_by_role("status")).to_contain_text("stands for box 2 dog.")
        word(page, 5).click()
        barn = here(page).locator('svg g[data-box="0"] rect')
        size = barn.bounding_box()
        assert size is not None
        barn.click(position={"x": size["width"] / 2, "y": size["height"] * 0.8})
        expect(here(page).get_by_role("status")).to_contain_text("stands for box 1 barn.")
        word(page, 0).click()
        box(page, "1 barn").click()
        box(page, "1 barn").click()  # the same once more takes the link away
        page.locator("[data-next]:visible, [data-submit]:visible").first.click()
    submitted(page)
    assert answers(site, person) == [EXPECTED] * 2


def test_words_are_linked_by_keyboard_alone_with_a_key_for_each_box(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "grounding", person)
    page.keyboard.press("Enter")
    expect(page.get_by_text("Link at least one word to a box")).to_be_visible()
    for _ in range(2):
        for key in (
            "Home",
            "ArrowRight",
            "2",
            "ArrowRight",
            "ArrowRight",
            "3",
            "ArrowLeft",
            "0",
            "ArrowRight",
            "1",
        ):
            page.keyboard.press(key)
        said = word(page, 5).locator("bdi").inner_text()
        expect(word(page, 5)).to_have_attribute("aria-label", f"{said}, box 1 barn")
        page.keyboard.press("Enter")
    submitted(page)
    assert answers(site, person) == [EXPECTED] * 2


def test_a_caption_that_names_no_box_is_an_answer_by_one_key(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "grounding", person)
    for _ in range(2):
        page.keyboard.press("1")
        page.keyboard.press("n")
        expect(here(page).get_by_label("No word stands for a box")).to_be_checked()
        expect(word(page, 0).locator("b")).to_have_text("")
        page.keyboard.press("Enter")
    submitted(page)
    assert answers(site, person) == [[], []]


@pytest.mark.long
def test_links_are_made_by_touch_on_a_phone_and_outlast_a_reload(
    new_page: NewPage, site: Installation, person: str
) -> None:
    page = new_page(**PHONE)
    join(page, site, "grounding", person)
    word(page, 1).tap()
    box(page, "2 dog").tap()
    expect(page.locator("[data-state]")).to_have_text("Saved")
    page.evaluate("localStorage.clear()")
    page.reload()
    count_of(page)
    page.get_by_role("button", name="Back").tap()
    expect(word(page, 1).locator("b")).to_have_text("2")
    word(page, 5).tap()
    here(page).locator('svg.sign[data-box="0"]').tap()
    page.get_by_role("button", name="Next").tap()
    word(page, 1).tap()
    box(page, "2 dog").tap()
    word(page, 5).tap()
    box(page, "1 barn").tap()
    page.get_by_role("button", name="Submit").tap()
    submitted(page)
    assert answers(site, person) == [EXPECTED] * 2


@pytest.mark.long
def test_the_page_of_links_fits_its_screen_and_a_screen_reader(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "grounding", person)
    expect(page.get_by_role("button", name="Next")).to_be_in_viewport(ratio=1)
    before = word(page, 1).bounding_box()
    word(page, 1).click()
    box(page, "2 dog").click()
    assert word(page, 1).bounding_box() == before  # nothing moves when an answer is given
    assert problems_in_both_looks(page) == []
    targets = here(page).locator("button:visible, label.option:visible, [role=option]:visible")
    sizes = [size for one in targets.all() if (size := one.bounding_box())]
    assert [one for one in sizes if min(one["width"], one["height"]) < 44] == []


def test_boxes_lie_on_the_picture_and_their_signs_do_not_cover_each_other(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "grounding", person)
    picture = here(page).locator("[data-over] img")
    expect(picture).to_be_visible()
    page.wait_for_function(
        "() => [...document.images].filter((one) => one.checkVisibility()).every((one) => one.naturalWidth)"
    )
    frame = picture.bounding_box()
    edge = (
        here(page)
        .locator('svg g[data-box="0"] rect')
        .evaluate(
            "one => { const at = one.getBoundingClientRect(); return [at.x, at.y, at.width, at.height]; }"
        )
    )
    assert frame is not None
    shares = [
        (edge[0] - frame["x"]) / frame["width"], (edge[1] - frame["y"]) / frame["height"],
        edge[2] / frame["width"], edge[3] / frame["height"],
    ]  # fmt: skip
    assert shares == pytest.approx([0.05, 0.2, 0.4, 0.6], abs=0.02)
    signs = [one.bounding_box() for one in here(page).locator("svg.sign rect").all()]
    assert len(signs) == 3
    for place, one in enumerate(signs):
        for other in signs[:place]:
            assert one is not None
            assert other is not None
            apart = max(abs(one["x"] - other["x"]) - one["width"], abs(one["y"] - other["y"]) - one["height"])
            assert apart >= 0
