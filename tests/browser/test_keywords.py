"""Keywords in a real browser: typed, clicked, ticked, by keys alone, on a phone, without scripts."""

from playwright.sync_api import Page, expect

from quorum.phrases import normalise_phrase, vocabulary
from tests.browser.axe import problems_in_both_looks
from tests.browser.working import answers, count_of, here, join, submitted
from tests.installations import Installation

NASTY = [
    "A tank, two Tanks!",
    "“Bush’s” U.S. visit – 1,000 people (well-known) a/b-c’s",
    "cafe\u0301 İstanbul ΟΔΥΣΣΕΥΣ Straße",
    "नमस्ते दुनिया । مرحبا، بالعالم",
    "no\u00a0break\u2003space\ttab\nline don't rock-’n’-roll 's -- ‘’",
    "e\u0301tude\u2010like naïve\u2011ness 3.5% #tag @home x² ½ 漢字 👍 👍🏽ok",
    "",
]


def test_keywords_by_mouse_are_words_of_the_text_and_ticked_phrases(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "keywords", person)
    for _ in range(2):
        step = here(page)
        step.locator(".word", has_text="well-known").click()
        step.locator(".word", has_text="dog").click()
        step.locator(".word", has_text="farm").first.click()
        step.get_by_role("button", name="Remove “farm”").click()
        step.get_by_label("red barn").check()
        expect(step.get_by_role("listitem").filter(has_text="dog")).to_be_visible()
        page.locator("[data-next]:visible, [data-submit]:visible").first.click()
    submitted(page)
    assert answers(site, person) == [["well-known", "dog", "red barn"]] * 2


def test_keywords_by_keyboard_alone_with_completion(page: Page, site: Installation, person: str) -> None:
    join(page, site, "keywords", person)
    page.keyboard.press("Enter")
    expect(page.get_by_text("Add at least one word")).to_be_visible()
    for _ in range(2):
        field = here(page).get_by_role("combobox")
        expect(field).to_be_focused()  # nothing to reach for: the first key is the first letter
        page.keyboard.type("visi")
        expect(here(page).get_by_role("option", name="visitors")).to_be_visible()
        page.keyboard.press("Enter")  # the only word that begins like this
        page.keyboard.type("o")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.keyboard.type("Barn,")
        page.keyboard.type("sunday")
        page.keyboard.press("Enter")
        page.keyboard.press("Backspace")  # on an empty field it takes the last one back
        expect(field).to_have_value("")
        page.keyboard.press("Enter")  # and Enter goes on, from the last one by submitting
    submitted(page)
    assert answers(site, person) == [["visitors", "on", "Barn"]] * 2


def test_a_word_that_is_not_in_the_text_is_told_beside_the_field_while_typing(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "keywords", person)
    field = here(page).get_by_role("combobox")
    field.fill("cow")
    told = here(page).get_by_text("No word of the text begins like this.")
    expect(told).to_be_visible()
    below = told.bounding_box(), field.bounding_box()
    assert below[0] is not None
    assert below[1] is not None
    assert 0 <= below[0]["y"] - (below[1]["y"] + below[1]["height"]) < 20
    field.press("Enter")
    expect(here(page).get_by_text("“cow” does not occur in the text.")).to_be_visible()
    expect(field).to_have_attribute("aria-invalid", "true")
    field.fill("barn drew")
    field.press("Enter")
    expect(here(page).get_by_text("“barn drew” is not among the phrases below.")).to_be_visible()
    page.get_by_role("button", name="Next").click()
    expect(page.locator("[data-state]")).to_contain_text("is not among the phrases below")
    here(page).get_by_label("No word of the text fits").check()
    page.get_by_role("button", name="Next").click()
    expect(page.locator("[data-count]")).to_have_text("2 of 2")


def test_half_a_word_and_chosen_words_outlast_a_reload(page: Page, site: Installation, person: str) -> None:
    join(page, site, "keywords", person)
    here(page).get_by_role("combobox").fill("vis")
    page.reload()
    count_of(page)
    expect(here(page).get_by_role("combobox")).to_have_value("vis")
    here(page).get_by_role("combobox").press("Enter")
    expect(page.locator("[data-state]")).to_have_text("Saved")
    page.evaluate("localStorage.clear()")
    page.reload()
    count_of(page)
    page.get_by_role("button", name="Back").click()
    expect(here(page).get_by_role("button", name="Remove “visitors”")).to_be_visible()


def test_the_page_of_keywords_fits_its_screen_and_a_screen_reader(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "keywords", person)
    expect(page.get_by_role("button", name="Next")).to_be_in_viewport(ratio=1)
    here(page).locator(".word", has_text="dog").first.click()
    here(page).get_by_label("farm show").check()
    here(page).get_by_role("combobox").fill("o")
    assert problems_in_both_looks(page) == []
    targets = here(page).locator(
        "button:visible, label.option:visible, input[type=text]:visible, .offers li:visible"
    )
    sizes = [size for one in targets.all() if (size := one.bounding_box())]
    assert [one for one in sizes if min(one["width"], one["height"]) < 44] == []


def test_the_script_and_the_server_tell_words_apart_alike(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "keywords", person)
    module = page.locator("script[src*='keywords']").get_attribute("src")
    found = page.evaluate(
        """async ([module, texts]) => {
          const { phraseOf, vocabularyOf } = await import(module);
          return texts.map((text) => [phraseOf(text), [...vocabularyOf(text)]]);
        }""",
        [module, NASTY],
    )
    assert found == [[normalise_phrase(text), list(vocabulary(text))] for text in NASTY]
