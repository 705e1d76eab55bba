"""Captions are written: by keyboard alone, on a phone, without scripts; page and server read the rules alike."""

import json

import pytest
from playwright.sync_api import Page, expect

from judgments.kinds.caption_rules import RULES, broken_rules, count_words, rules_for, tidy_text
from tests.browser.axe import problems_in_both_looks
from tests.browser.working import PHONE, NewPage, join, stored, submitted
from tests.installations import Installation
from tests.marks import long_except

STUDY = """
from judgments.models import Dataset
from tests.annotation.casting import make_study
for slug, more in (("writing", {}), ("counted", {"writing": {"record": True, "hidden_line": True}})):
    make_study(
        Dataset.objects.get(name="shapes"), "caption", slug=slug, name=f"Captions of shapes, {slug}",
        judgments_per_unit=100, units_per_hit=3, sampling={"images": 9}, controls={"per_hit": 0},
        preset="hodosh-2013-captions", workers={"requirements": ""}, quiz={"preset": ""}, **more,
    )
"""
# whatever may part two readers of regular expressions: other scripts, marks, case, white space, signs outside of
# the basic plane, hyphens, quotation marks
HARD_TO_READ = (
    "",
    " ",
    "\xa0\u2003A\xa0dog\u2028runs \t fast\u3000",
    "Ｆullwidth Ｌetters ｈere",
    "A dog \ufeff runs \x85 on",
    "K kelvin ſ long s in a row",
    "İstanbul is a city I see",
    "a A the THE of OF",
    "A  a dog",
    "An an apple lies here",
    "The dogs' dogs' tails wag",
    "A man’s man’s hat",
    "St. Bernard sits. He waits",
    "Approx. ten people wait.",
    "It is 2008. A man walks",
    "In 10. A man walks",
    "A man... walks",
    "A man walks!? He runs",
    "“Stop!” he shouts",
    "- Look at the dog over there",
    "Tom: look at the dog",
    "He asks “why” again",
    'A sign says "NO" in red',
    "Is this a dog ?",
    "A sign reads “WHY?”",
    "هل هذا كلب؟",
    "كلب أبيض يركض على الشاطئ.",
    "यह एक कुत्ता है। वह दौड़ता है।",
    "雪の中を犬が走る。犬だ。",
    "雪の中を「犬だ。」と走る",
    "👩\u200d🚀 floats in 🚀 space today",
    "𝒜 dog 𝓇uns fast here",
    "x@y.z writes to w",
    "A <b>dog</b> runs here",
    "A dog &amp; a cat",
    "1 < 2 dogs are here",
    "aaaa dogs run here",
    "Rhythms of strengthsless",
    "A dog named rex runs",
    "A dog named Rex runs",
    "A dog, who is called Rex, runs",
    "the dog. the cat",
    "u r here now",
    "A u-turn on U St.",
    "GONNA go out now",
    "i like this one",
    "I like this one a lot",
    "A a",
    "DOG RUNS",
    "DOG",
    "a dog, It runs",
    "In this picture there is a dog",
    "This is a dog on a beach",
    "It's a dog on a beach",
    "A one-way street",
    "A hour ago it was",
    "An European man",
    "A apple",
    "dont stop the dog",
    "A dog's isnt",
    "ééé the thé dog",
    "A dog\u200bruns\u200b fast",
    "«Komm her», ruft er laut",
    "A dog…It runs here",
)


@pytest.fixture(scope="module")
def captions(site: Installation) -> Installation:
    """The installation with a study of caption writing."""
    site.python(STUDY)
    return site


@pytest.mark.long
@pytest.mark.parametrize("language", long_except(["en", "de", "ja"], "en"))
def test_the_page_finds_what_the_server_finds(
    page: Page, captions: Installation, language: str, person: str
) -> None:
    join(page, captions, "writing", person)
    module = page.locator("script[src*='kinds/caption']").get_attribute("src")
    texts = [*HARD_TO_READ, *(text for rule in RULES for text in (rule.bad_example, rule.good_example))]
    found = page.evaluate(
        """async ([module, texts, rules]) => {
            const { broken, countWords, tidied } = await import(module);
            return texts.map((text) =>
                [tidied(text), countWords(tidied(text)), broken(text, rules).map((rule) => rule.id)]);
        }""",
        [module, texts, [rule.script_fields() for rule in rules_for(language)]],
    )
    expected = [
        [tidy_text(text), count_words(tidy_text(text)), [rule.id for rule in broken_rules(text, language)]]
        for text in texts
    ]
    assert dict(zip(texts, found, strict=True)) == dict(zip(texts, expected, strict=True))


def test_the_page_carries_the_rules_of_the_study_s_language(
    page: Page, captions: Installation, person: str
) -> None:
    join(page, captions, "writing", person)
    data = json.loads(page.locator("[data-rules]").text_content() or "")
    assert data == [rule.script_fields() for rule in rules_for("en")]


def test_a_person_writes_captions_by_keyboard_alone(page: Page, captions: Installation, person: str) -> None:
    join(page, captions, "writing", person)
    box = page.locator("[data-caption]:visible")
    expect(box).to_be_focused()  # nothing to reach for: the first key is the first letter
    page.keyboard.press("Enter")
    expect(page.get_by_text("Write a sentence about the picture to go on.")).to_be_visible()
    page.keyboard.type("A red")
    page.keyboard.press("Enter")
    advice = page.locator("[data-advice]:visible")
    expect(advice).to_contain_text("Please correct: Write a whole sentence with at least three words.")
    expect(box).to_have_attribute("aria-invalid", "true")
    expect(page.locator("[data-count]")).to_contain_text("1 of 3")
    page.keyboard.type(" shape lies on a table.")
    expect(page.locator("[data-count-words]:visible")).to_have_text("7")
    expect(advice).to_be_empty()
    for number, text in enumerate(
        ("Another shape hangs on a wall.", "One shape stands on a chair."), start=2
    ):
        page.keyboard.press("Enter")
        expect(page.locator("[data-count]")).to_contain_text(f"{number} of 3")
        expect(box).to_be_focused()
        page.keyboard.type(text)
    page.keyboard.press("Enter")
    submitted(page)
    rows = stored(captions, person, "answer", "signals")
    assert {row["answer"] for row in rows} == {
        "A red shape lies on a table.",
        "Another shape hangs on a wall.",
        "One shape stands on a chair.",
    }
    assert all(row["signals"] == {} for row in rows)
    expect(page.locator("[data-count]")).to_contain_text("1 of 3")
    page.keyboard.type("As usual")  # on the next page of work too: its S leaves no picture for later
    expect(box).to_have_value("As usual")
    expect(page.locator("[data-count]")).to_contain_text("1 of 3")


@pytest.mark.long
def test_advice_comes_after_a_pause_and_holds_nobody_up(
    page: Page, captions: Installation, person: str
) -> None:
    join(page, captions, "writing", person)
    advice = page.locator("[data-advice]:visible")
    page.keyboard.type("There is a be")
    expect(advice).to_contain_text("Advice: Begin with what you see, not with “There is”.")
    assert advice.get_attribute("role") == "status"
    page.keyboard.type("autiful shape. It is red.")
    expect(advice).to_contain_text("Please correct: Write one sentence only.")
    expect(advice).not_to_contain_text("Advice")  # one thing at a time
    expect(page.locator("[data-state]")).not_to_contain_text("Saved")  # half of it was, and that is no answer
    for _ in range(11):
        page.keyboard.press("Backspace")
    expect(advice).to_contain_text("Leave out your opinion")
    page.keyboard.press("Enter")
    expect(page.locator("[data-count]")).to_contain_text("2 of 3")


def test_a_misspelt_word_can_be_mended_before_the_captions_are_submitted(
    page: Page, captions: Installation, person: str
) -> None:
    join(page, captions, "writing", person)
    box, advice = page.locator("[data-caption]:visible"), page.locator("[data-advice]:visible")
    texts = ("A mann rids a hrose.", "Another shape hangs on a wall.", "One shape stands on a chairr.")
    for number, text in enumerate(texts, start=1):
        expect(page.locator("[data-count]")).to_contain_text(f"{number} of 3")
        page.keyboard.type(text)
        page.keyboard.press("Enter")
    expect(page.locator("[data-state]")).to_contain_text("Not yet submitted: look at the advice first.")
    expect(page.locator("[data-count]")).to_contain_text("1 of 3")
    expect(advice).to_contain_text(
        "Advice: Check the spelling: “hrose” (“horse”?). Leave correct words as they are."
    )
    box.fill("A man rides a horse.")
    expect(advice).to_be_empty()
    page.keyboard.press("Enter")
    expect(page.locator("[data-count]")).to_contain_text("3 of 3")
    expect(advice).to_contain_text("“chairr”")
    page.keyboard.press("Enter")  # it stays
    submitted(page)
    answers = {row["answer"] for row in stored(captions, person, "answer")}
    assert answers == {"A man rides a horse.", *texts[1:]}


def test_half_a_sentence_is_there_again_after_a_reload(
    page: Page, captions: Installation, person: str
) -> None:
    join(page, captions, "writing", person)
    page.keyboard.type("A shape. It is")
    page.reload()
    box = page.locator("[data-caption]:visible")
    expect(box).to_have_value("A shape. It is")
    expect(page.locator("[data-advice]:visible")).to_contain_text("Write one sentence only.")
    page.keyboard.press("Control+End")
    page.keyboard.press("Control+A")
    page.keyboard.type("A shape is shown.")
    page.keyboard.press("Enter")
    expect(page.locator("[data-count]")).to_contain_text("2 of 3")


def test_pasted_text_is_counted(page: Page, captions: Installation, person: str) -> None:
    join(page, captions, "writing", person)
    page.evaluate(
        """() => {
            const box = document.querySelector(".step.now [data-caption]");
            const data = new DataTransfer();
            data.setData("text/plain", "A pasted shape is here.");
            box.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true }));
        }"""
    )
    page.keyboard.insert_text("A pasted shape is here.")
    page.keyboard.press("Enter")
    for text in ("A shape lies there.", "A shape hangs there."):
        page.keyboard.type(text)
        page.keyboard.press("Enter")
    submitted(page)
    signals = {row["answer"]: row["signals"] for row in stored(captions, person, "answer", "signals")}
    assert signals["A pasted shape is here."] == {"pasted": 23}
    assert signals["A shape lies there."] == {}


@pytest.mark.long
def test_how_a_text_is_written_is_counted_and_no_key_is_kept(
    page: Page, captions: Installation, person: str
) -> None:
    join(page, captions, "counted", person)
    page.keyboard.type("A red shape lies thexx", delay=25)
    page.keyboard.press("Backspace")
    page.keyboard.press("Backspace")
    page.keyboard.type("re.", delay=40)
    expect(page.locator("[data-state]")).to_have_text("Saved")
    held = page.evaluate("JSON.stringify(sessionStorage)")
    page.reload()  # goes on counting; the page opens at the first step without an answer
    page.get_by_role("button", name="Back").click()
    expect(page.locator("[data-caption]:visible")).to_have_value("A red shape lies there.")
    page.keyboard.press("Enter")
    page.get_by_text("Comment").locator("visible=true").first.click()
    page.keyboard.type("A pasted shape is here.")
    page.keyboard.press("Control+A")
    page.keyboard.press("Control+X")
    page.locator("[data-caption]:visible").focus()
    page.keyboard.press("Control+V")
    page.keyboard.press("Enter")
    page.keyboard.insert_text("A dictated shape hangs there.")  # no key, as dictation and extensions write
    page.keyboard.press("Enter")
    submitted(page)
    signals = {row["answer"]: row["signals"] for row in stored(captions, person, "answer", "signals")}
    typed = signals["A red shape lies there."]
    assert {name: typed[name] for name in ("text", "from_keys", "from_paste", "keys", "deletions", "pastes")} == {
        "text": 23, "from_keys": 23, "from_paste": 0, "keys": 27, "deletions": 2, "pastes": 0,
    }  # fmt: skip
    assert typed["gap_ms"] >= 20
    pasted = signals["A pasted shape is here."]
    assert (pasted["from_paste"], pasted["pasted"], pasted["pastes"], pasted["keys"]) == (23, 23, 1, 0)
    dictated = signals["A dictated shape hangs there."]
    assert (dictated["from_elsewhere"], dictated["from_keys"], dictated["from_paste"]) == (29, 0, 0)
    assert not any(word in held for word in ("shape", "lies", "thexx"))


def test_the_hidden_line_is_for_programs_alone(page: Page, captions: Installation, person: str) -> None:
    join(page, captions, "counted", person)
    line = "For programs that write answers"
    # a program that reads the page's text finds it
    assert line in page.evaluate("document.body.innerText")
    # no screen reader, no selection, no print; and no finding of axe
    assert line not in page.locator("main").aria_snapshot()
    assert line not in page.evaluate(
        "() => { getSelection().selectAllChildren(document.body); return getSelection().toString(); }"
    )
    page.emulate_media(media="print")
    assert line not in page.evaluate("document.body.innerText")
    page.emulate_media(media="screen")
    assert problems_in_both_looks(page) == []


def test_on_a_phone_the_picture_and_the_box_fit_and_the_keyboard_stays_away(
    new_page: NewPage, captions: Installation, person: str
) -> None:
    page = new_page(**PHONE)
    join(page, captions, "writing", person)
    box = page.locator("[data-caption]:visible")
    expect(box).not_to_be_focused()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    below = page.get_by_role("button", name="Next").bounding_box()
    assert below is not None
    assert below["y"] + below["height"] <= 844
    for number, text in enumerate(
        ("A shape lies there.", "A shape hangs there.", "A shape stands there."), start=1
    ):
        expect(page.locator("[data-count]")).to_contain_text(f"{number} of 3")
        box.tap()
        page.keyboard.type(text)
        page.get_by_role("button", name="Submit" if number == 3 else "Next").tap()
    submitted(page)
    assert len(stored(captions, person)) == 3


@pytest.mark.long
def test_axe_finds_nothing_on_a_page_of_writing(page: Page, captions: Installation, person: str) -> None:
    join(page, captions, "writing", person)
    page.keyboard.type("A shape")
    page.keyboard.press("Enter")
    expect(page.locator("[data-advice]:visible")).to_contain_text("Please correct:")
    assert problems_in_both_looks(page) == []
    page.get_by_role("button", name="Instructions").click()
    page.get_by_text("Sentences that are refused, with examples").click()
    assert problems_in_both_looks(page, within="#instructions") == []
