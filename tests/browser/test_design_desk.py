"""A study designed at one desk in a real browser: by mouse and by keyboard, wide and on a phone, with scripts and
without."""

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.axe import SERIOUS, problems
from tests.browser.researching import sign_in
from tests.browser.working import NewPage
from tests.installations import Installation, Installations

CAST = """
from django.contrib.auth.models import User
from judgments.design.reading.checking import make_design
from judgments.studies.studies import create_study
from tests.annotation.casting import make_dataset

make_dataset(images=12)
User.objects.create_superuser("designer", password="a-long-phrase-1")
"""


@pytest.fixture(scope="module")
def office(installations: Installations) -> Iterator[Installation]:
    """An installation with a dataset, a designer and no study."""
    with installations.fresh("sqlite") as installation:
        installation.python(CAST)
        installation.start_server()
        yield installation


def begin(page: Page, office: Installation, *, preset: str = "vedantam-2015-triplet") -> None:
    """Signed in, at the desk of a new study."""
    sign_in(page, office)
    page.goto(f"{office.url}/admin/judgments/study/add/")
    page.locator(f'a.q-chip[href*="preset={preset}&"]').click()
    expect(page.get_by_role("heading", name="Preview")).to_be_visible()


def small(page: Page) -> None:
    """Twelve triplets."""
    for kind in ("Two people", "Different items", "Two systems"):
        page.get_by_label(kind).fill("2")
    page.get_by_label("Person and system").fill("0")
    advanced(page, "Data")
    page.get_by_label("References for each pair").fill("2")


def advanced(page: Page, step: str) -> None:
    """Unfold a step's further settings."""
    page.get_by_role("region", name=step).get_by_text("Advanced").click()


def unfold_file(page: Page) -> None:
    page.locator("#toml-pane > summary").click()


def designs(office: Installation) -> dict[str, dict[str, object]]:
    rows = "dict(Study.objects.values_list('slug', 'design'))"
    code = f"import json; from judgments.models import Study; print(json.dumps({rows}))"
    found: dict[str, dict[str, object]] = json.loads(office.python(code))
    return found


@pytest.mark.long
def test_what_is_typed_before_the_script_is_there_is_counted_too(page: Page, office: Installation) -> None:
    held: list[Route] = []
    page.route("**/js/design*.js", lambda route: held.append(route))
    sign_in(page, office)
    preset = "?preset=vedantam-2015-triplet&dataset=animals"
    page.goto(f"{office.url}/admin/judgments/study/add/{preset}", wait_until="commit")
    small(page)
    held[0].continue_()
    expect(page.locator("[data-numbers]").get_by_text("Items", exact=True).locator("..")).to_contain_text(
        "12"
    )


@pytest.mark.long
def test_numbers_preview_and_file_follow_the_form_and_nothing_is_saved_before_it_is_asked_for(
    page: Page, office: Installation
) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    begin(page, office)
    small(page)
    numbers, shown = page.locator("[data-numbers]"), page.frame_locator("[data-preview]")
    expect(numbers.get_by_text("Items", exact=True).locator("..")).to_contain_text("12")
    page.locator("#id_question").fill("Which is *nearer* to A?")
    expect(shown.locator("legend em").first).to_have_text("nearer")
    expect(page.get_by_label("The same design as TOML")).to_have_value(
        re.compile(r"Which is \*nearer\* to A")
    )
    lost: list[Route] = []

    def lose_one(route: Route) -> None:
        if route.request.method == "POST" and not lost:
            lost.append(route)
            route.abort()
        else:
            route.continue_()

    page.route("**/study/add/**", lose_one)
    page.get_by_label("Participants for each item").fill("5")
    expect(numbers.get_by_text("Judgments", exact=True).locator("..")).to_contain_text("70")
    assert lost
    page.unroute("**/study/add/**")
    page.get_by_text("Wide", exact=True).click()
    frame = page.locator(".q-frame").bounding_box()
    window = page.locator("[data-preview]").bounding_box()
    assert frame is not None
    assert window is not None
    assert window["width"] == pytest.approx(frame["width"], abs=3)
    assert page.evaluate("document.querySelector('[data-preview]').offsetWidth") == 1100
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert problems(page, within=".q-page", impacts=SERIOUS) == []
    assert "followed" not in designs(office)
    page.get_by_label("Name", exact=True).fill("Followed")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("The design of “")).to_be_visible()
    assert designs(office)["followed"]["judgments_per_unit"] == 5


def test_what_is_wrong_is_said_beside_its_field_while_it_is_typed_and_in_the_list_above(
    page: Page, office: Installation
) -> None:
    begin(page, office)
    small(page)
    page.get_by_label("Check questions on each page").fill("50")
    field = page.locator('[data-field="controls-per_hit"]')
    expect(field.locator(".q-error")).to_contain_text("page of work is 20")
    expect(page.locator('[data-index="s-quality"]')).to_have_class("q-wrong")
    page.get_by_label("Name", exact=True).fill("")
    page.get_by_role("button", name="Update").click()
    expect(page.locator('[data-field="name"] .q-error')).to_be_visible()
    page.locator("#problems").get_by_role("link", name="Check questions on each page").click()
    page.keyboard.type("1")
    page.get_by_label("Check questions on each page").fill("1")
    expect(field.locator(".q-error")).to_have_count(0)
    # what the money forbids comes with the numbers
    page.get_by_label("Participants come from").select_option("mturk")
    page.get_by_label("Pay for a page of work", exact=True).fill("0.10")
    expect(page.locator('[data-field="crowd-budget_cents"] .q-error')).to_contain_text("short")


@pytest.mark.long
def test_a_study_file_fills_the_form_and_a_refused_one_says_where(page: Page, office: Installation) -> None:
    begin(page, office)
    unfold_file(page)
    file = page.get_by_label("The same design as TOML")
    file.fill('name = "From the file"\ndataset = "shapes"\nprotocol = "graded"\nunits_per_hti = 3\n')
    page.get_by_role("button", name="Apply to the form").click()
    expect(page.locator("#toml-problem")).to_contain_text("Line 4: units_per_hti is not a key")
    file.fill('name = "From the file"\ndataset = "shapes"\nprotocol = "graded"\nunits_per_hit = 3\n')
    page.get_by_role("button", name="Apply to the form").click()
    expect(page.get_by_label("Name", exact=True)).to_have_value("From the file")
    expect(page.get_by_label("Items on a page of work")).to_have_value("3")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("The design of “")).to_be_visible()
    assert designs(office)["from-the-file"]["protocol"] == "graded"


@pytest.mark.long
def test_rows_are_added_and_removed_and_the_study_file_follows_both_ways(
    page: Page, office: Installation
) -> None:
    begin(page, office, preset="hodosh-2013-graded")
    advanced(page, "Quality")
    questions = page.get_by_role("group", name="Your own questions")
    for text in ("May you guess?", "To be removed"):
        questions.get_by_role("button", name="Add a row").click()
        row = questions.locator("[data-row]").last
        row.get_by_label("Text", exact=True).fill(text)
        row.get_by_label("Options").fill("yes\nno")
        row.get_by_label("Answer", exact=True).fill("2")
    questions.get_by_role("button", name="Remove").last.click()
    unfold_file(page)
    file = page.get_by_label("The same design as TOML")
    expect(file).to_have_value(re.compile("May you guess"))
    expect(file).not_to_have_value(re.compile("To be removed"))
    file.fill(file.input_value().replace("May you guess?", "Is guessing fine?"))
    page.get_by_role("button", name="Apply to the form").click()
    expect(questions.get_by_label("Text", exact=True)).to_have_value("Is guessing fine?")


@pytest.mark.long
def test_by_keyboard_alone(page: Page, office: Installation) -> None:
    begin(page, office, preset="hodosh-2013-graded")
    page.get_by_label("Name", exact=True).focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("By keyboard")
    page.locator("#id_question").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("How **well**?")
    expect(page.frame_locator("[data-preview]").locator("legend strong").first).to_have_text("well")
    page.get_by_role("radio", name="Phone").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("radio", name="Wide")).to_be_checked()
    page.get_by_role("button", name="Save and rehearse").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Simulated participants now answer the copy")).to_be_visible()
    assert "by-keyboard" in designs(office)


@pytest.mark.long
def test_without_scripts_look_again_shows_the_same(new_page: NewPage, office: Installation) -> None:
    page = new_page(java_script_enabled=False, viewport={"width": 1280, "height": 900})
    begin(page, office)
    small(page)
    page.get_by_label("Check questions on each page").fill("50")
    page.get_by_role("button", name="Update").click()
    expect(page.locator('[data-field="controls-per_hit"]')).to_contain_text("page of work is 20")
    expect(page.locator("#problems")).to_contain_text("Check questions on each page")
    page.get_by_label("Check questions on each page").fill("1")
    page.get_by_label("Name", exact=True).fill("Without scripts")
    page.get_by_role("button", name="Update").click()
    items = page.locator("[data-numbers]").get_by_text("Items", exact=True).first
    expect(items.locator("..")).to_contain_text("12")
    expect(page.frame_locator("[data-preview]").locator("legend").first).to_be_visible()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("The design of “")).to_be_visible()
    assert "without-scripts" in designs(office)


@pytest.mark.long
def test_a_design_is_kept_as_a_preset_copied_and_compared(page: Page, office: Installation) -> None:
    begin(page, office, preset="hodosh-2013-graded")
    page.get_by_label("Name", exact=True).fill("To be kept")
    page.get_by_label("Items on a page of work").fill("7")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("link", name="Share", exact=True).click()
    page.get_by_role("link", name="Use again").click()
    page.get_by_label("Title").fill("Seven at a time")
    page.get_by_role("button", name="Save as a preset").click()
    expect(page.get_by_text("offered for new studies")).to_be_visible()
    page.get_by_role("button", name="Compare").click()
    row = page.locator("tr", has_text="units_per_hit")
    expect(row.locator("del")).to_have_text("7")
    expect(row.locator("ins")).to_have_text("50")
    assert problems(page, within=".q-page", impacts=SERIOUS) == []
    page.go_back()
    page.get_by_label("Name", exact=True).fill("A copy")
    page.get_by_label("Short name").first.fill("a-copy")
    page.get_by_role("button", name="Duplicate").click()
    expect(page.get_by_text("was created with the same design")).to_be_visible()
    page.goto(f"{office.url}/admin/judgments/study/add/")
    expect(page.get_by_role("link", name="Seven at a time")).to_be_visible()
    assert designs(office)["a-copy"]["units_per_hit"] == 7
