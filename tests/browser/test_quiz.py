"""The quiz and the worker's own page in a real browser: by keyboard alone, by touch, without scripts, in two tabs."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import problems_in_both_looks, small_targets
from tests.browser.working import NewPage
from tests.installations import Installation

STUDIES = """
from judgments.models import Dataset
from tests.annotation.casting import make_study

dataset = Dataset.objects.get(name="shapes")
asked = [
    {"text": f"Question {n}?", "options": [f"right {n}", f"wrong {n}", f"worse {n}"], "answer": 1, "why": "It is."}
    for n in range(3)
]
make_study(
    dataset, "graded", name="Taught", slug="taught", judgments_per_unit=100, quiz={"questions": asked, "attempts": 5},
    examples=[{"scene": "A brown dog that jumps over a low fence.", "shown": ["A dog sleeps."], "answer": "2"}] * 4,
    workers={"countries": ["DE"]}, crowd={"reward_cents": 20},
)
make_study(
    dataset, "pairwise", name="Tried", slug="tried", judgments_per_unit=100, controls={"per_hit": 0},
    quiz={"questions": asked, "items": 1, "explain": "at-the-end", "attempts": 2},
    examples=[{"image": "secret-file-00.jpg", "shown": ["A red one.", "A blue one."], "answer": "B"}],
)
"""


@pytest.fixture(scope="module")
def quizzed(site: Installation) -> Installation:
    """The browser tests' installation with two studies more that have a quiz."""
    site.python(STUDIES)
    return site


def join(page: Page, site: Installation, slug: str, name: str) -> None:
    """From the study's link to the page before the work."""
    page.goto(f"{site.url}/s/{slug}/")
    page.get_by_label("Your name on this site").first.fill(name)
    if page.get_by_label("Where you live").count():
        page.get_by_label("Where you live").select_option(label="Germany")
    page.get_by_role("button", name="Join the study").click()
    page.get_by_role("heading", name="Before you start").wait_for()


def begin(page: Page, site: Installation, slug: str, name: str) -> None:
    """To the first question."""
    join(page, site, slug, name)
    page.get_by_role("link", name="Go on to the test").click()
    page.get_by_role("button", name="Start the test").click()
    page.locator("[data-quiz]").wait_for()


def place_of(page: Page, word: str) -> int:
    """The number of the option that starts with ``word``, from 1."""
    options = page.locator("form[data-quiz] .option .said")
    options.filter(has_text=word).first.wait_for()
    texts = options.all_inner_texts()
    return next(number for number, text in enumerate(texts, start=1) if text.startswith(word))


def answers(site: Installation, name: str) -> str:
    """The person's answers in their latest attempt, as stored."""
    query = f"QuizAttempt.objects.filter(worker__name={name!r}).latest('number').answers"
    return site.python(f"from annotation.models import QuizAttempt; print({query})")


def test_a_person_passes_by_keyboard_alone(page: Page, quizzed: Installation, person: str) -> None:
    join(page, quizzed, "taught", person)
    page.get_by_role("link", name="Go on to the test").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Start the test").focus()
    page.keyboard.press("Enter")
    for number in range(3):
        expect(page.get_by_text(f"Test: {number + 1} of 3")).to_be_visible()
        page.wait_for_load_state()
        page.keyboard.press(str(place_of(page, "right")))
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="That is right")).to_be_visible()
        page.wait_for_load_state()
        page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="You passed the test")).to_be_visible()
    page.get_by_role("link", name="Start the work").focus()
    page.keyboard.press("Enter")
    expect(page.locator("[data-step]").first).to_be_attached()


@pytest.mark.long
def test_in_two_tabs_the_first_answer_stays_and_both_go_on(
    page: Page, quizzed: Installation, person: str
) -> None:
    begin(page, quizzed, "tried", person)
    other = page.context.new_page()
    other.goto(page.url)
    first = page.locator("[name=step]").input_value()
    for tab, label in ((page, 0), (other, 1)):
        tab.locator("form[data-quiz] :is(.option, .choice)").nth(label).click()
        tab.locator("form[data-quiz] .primary").click()
        expect(tab.get_by_text("Test: 2 of 4")).to_be_visible()
    assert answers(quizzed, person) == str({first: {"value": 1}})


@pytest.mark.long
def test_a_closed_tab_loses_nothing_and_a_picture_is_enlarged(
    page: Page, quizzed: Installation, person: str
) -> None:
    begin(page, quizzed, "tried", person)
    enlarged = 0
    for number in range(1, 5):
        if number == 2:
            context = page.context
            page.close()
            page = context.new_page()
            page.goto(f"{quizzed.url}/s/tried/work/")
        expect(page.get_by_text(f"Test: {number} of 4")).to_be_visible()
        page.wait_for_load_state()
        for picture in page.locator("[data-zoom]").all():
            picture.click()
            expect(page.locator("dialog.zoom")).to_be_visible()
            page.keyboard.press("Escape")
            enlarged += 1
        page.locator("form[data-quiz] :is(.option, .choice)").first.click()
        page.locator("form[data-quiz] .primary").click()
        page.get_by_text(f"Test: {number} of 4").wait_for(state="detached")
    assert enlarged == 1


def walk(page: Page, site: Installation, name: str) -> Iterator[str]:
    """Every page of the way, one after another."""
    page.goto(f"{site.url}/me/")
    yield "stranger"
    page.goto(f"{site.url}/s/taught/")
    yield "join"
    begin(page, site, "taught", name)
    page.goto(f"{site.url}/s/taught/start/")
    yield "start"
    page.goto(f"{site.url}/s/taught/quiz/")
    yield "question"
    page.locator(".option").nth(place_of(page, "wrong") - 1).click()
    page.get_by_role("button", name="Check").click()
    page.get_by_role("heading", name="That is not right").wait_for()
    yield "explanation"
    page.goto(f"{site.url}/s/taught/quiz/")
    for _ in range(2):
        page.locator(".option").nth(place_of(page, "wrong") - 1).click()
        page.get_by_role("button", name="Check").click()
        page.locator("[data-on]").click()
    page.get_by_role("heading", name="You did not pass the test").wait_for()
    yield "result"
    page.goto(f"{site.url}/s/tried/")
    page.get_by_role("button", name="Join the study").click()
    page.get_by_role("link", name="Go on to the test").click()
    yield "before the quiz"
    page.goto(f"{site.url}/me/")
    yield "me"


@pytest.mark.long
def test_axe_finds_nothing_and_everything_fits_and_can_be_pressed(
    new_page: NewPage, quizzed: Installation, person: str
) -> None:
    page = new_page(has_touch=True)
    found = {
        name: [*problems_in_both_looks(page), *small_targets(page)] for name in walk(page, quizzed, person)
    }
    assert {name: wrong for name, wrong in found.items() if wrong} == {}
