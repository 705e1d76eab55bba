"""A source text beside what is judged, as people read it."""

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.browser import axe
from tests.browser.working import join
from tests.installations import Installation, until

PHONE: ViewportSize = {"width": 390, "height": 844}


@pytest.mark.long
@pytest.mark.parametrize("slug", ["segments", pytest.param("summaries", marks=pytest.mark.long)])
def test_a_page_with_a_source_text_can_be_read_by_everybody(
    page: Page, site: Installation, person: str, slug: str
) -> None:
    join(page, site, slug, person)
    assert axe.problems(page) == []
    page.set_viewport_size(PHONE)
    assert axe.problems(page) == []
    page.emulate_media(color_scheme="dark")
    assert axe.problems(page) == []
    wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wider == 0


def test_keys_scroll_a_long_text_and_answer_nothing(page: Page, site: Installation, person: str) -> None:
    join(page, site, "summaries", person)
    text = page.get_by_role("region", name="Source text").locator("visible=true")
    text.focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    until(lambda: text.evaluate("region => region.scrollTop") > 0, what="the text scrolls")
    answer = page.get_by_label("Your answer").locator("visible=true")
    expect(answer).to_have_value("")
    page.keyboard.press("7")
    expect(answer).to_have_value("70")


def test_a_segment_runs_as_its_language_does(page: Page, site: Installation, person: str) -> None:
    join(page, site, "segments", person)
    text = page.get_by_role("region", name="Source text").locator("visible=true")
    expect(text).to_have_attribute("lang", "ar")
    expect(text).to_have_css("direction", "rtl")
