"""The end of a page of work, and what a page costs, in a browser."""

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.working import NewPage, count_of, fetched, join, open_cold, stored, submitted
from tests.installations import Installation


@pytest.mark.long
def test_a_person_finishes_a_page_of_triplets_by_mouse(page: Page, site: Installation, person: str) -> None:
    page.goto(site.url)
    page.get_by_role("link", name="With consent").click()
    page.get_by_label("Your name on this site").first.fill(person)
    page.get_by_label("I have read the text above").check()
    page.get_by_role("button", name="Join the study").click()
    expect(page.get_by_role("heading", name="Keep this code to come back later")).to_be_visible()
    page.get_by_role("link", name="Start").click()
    steps = count_of(page)
    assert steps == 20
    for number in range(1, steps + 1):
        expect(page.locator("[data-count]")).to_have_text(f"{number} of {steps}")
        expect(page.locator("[data-step]:visible")).to_have_count(1)
        page.locator("[data-step]:visible .choice").nth(number % 2).click()  # and it goes on by itself
    page.get_by_role("button", name="Submit").click()
    submitted(page)
    expect(page.locator("[data-count]")).to_have_text(re.compile("^1 of"))
    judgments = stored(site, person)
    assert len(judgments) == 20
    assert all(0 < one["seconds"] < 60 for one in judgments)
    # what was shown first and chosen, or shown second and chosen, is the unit's order
    assert {(one["presented"], one["value"]) for one in judgments} <= {
        (side, value) for side in ("first-left", "second-left") for value in (1, 2)
    }


def test_a_person_finishes_a_page_of_triplets_by_keyboard_alone(
    page: Page, site: Installation, person: str
) -> None:
    page.goto(f"{site.url}/s/triplet/")
    field = page.get_by_label("Your name on this site").first
    for _ in range(10):
        page.keyboard.press("Tab")
        if field.evaluate("field => field === document.activeElement"):
            break
    page.keyboard.press("Control+A")
    page.keyboard.type(person)
    page.keyboard.press("Enter")
    start = page.get_by_role("link", name="Start")
    expect(start).to_be_visible()
    for _ in range(10):
        page.keyboard.press("Tab")
        if start.evaluate("link => link === document.activeElement"):
            break
    page.keyboard.press("Enter")
    expect(page.locator("[data-count]")).to_have_text("1 of 4")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Choose B or C to go on.")).to_be_visible()
    page.keyboard.press("2")
    expect(page.locator("[data-count]")).to_have_text("2 of 4")
    page.keyboard.press("Backspace")
    expect(page.locator("[data-count]")).to_have_text("1 of 4")
    expect(page.locator("[data-step]:visible input").nth(1)).to_be_checked()
    for _ in range(4):
        page.keyboard.press("1")
    expect(page.locator("[data-state]")).to_have_text("All answered")
    page.keyboard.press("Enter")
    submitted(page)
    judgments = stored(site, person)
    assert len(judgments) == 4
    assert all(one["value"] == (1 if one["presented"] == "first-left" else 2) for one in judgments)


def test_a_person_finishes_a_page_of_relevance_by_mouse(page: Page, site: Installation, person: str) -> None:
    join(page, site, "relevance", person)
    expect(page.locator("[data-count]")).to_have_text("Picture 1 of 3")
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("Tick the captions that describe the picture")).to_be_visible()
    page.locator(".option:visible").nth(0).click()
    page.locator(".option:visible").nth(2).click()
    page.get_by_role("button", name="Next").click()
    page.get_by_text("None of them").locator("visible=true").click()
    page.locator(".option:visible").nth(1).click()
    expect(page.locator("[data-step]:visible [data-none]")).not_to_be_checked()
    page.get_by_role("button", name="Next").click()
    page.locator(".option:visible").nth(0).click()
    page.get_by_text("None of them").locator("visible=true").click()
    expect(page.locator(".option:visible :checked")).to_have_count(1)
    page.get_by_role("button", name="Submit").click()
    submitted(page)
    values = [one["value"] for one in stored(site, person)]
    assert values == [1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]


@pytest.mark.long
def test_a_person_finishes_a_page_of_relevance_by_keyboard(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "relevance", person)
    for keys in ("14", "n", "2"):
        for key in keys:
            page.keyboard.press(key)
        page.keyboard.press("Enter")
    submitted(page)
    values = [one["value"] for one in stored(site, person)]
    assert values == [1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0]


def test_the_picture_is_enlarged_by_key_and_by_click_and_put_back(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "graded", person)
    page.keyboard.press("z")
    expect(page.locator("dialog.zoom img")).to_be_visible()
    page.keyboard.press("3")  # no answer while the picture covers the question
    page.keyboard.press("Escape")
    expect(page.locator("dialog.zoom")).to_have_count(0)
    expect(page.locator("[data-step] input:checked")).to_have_count(0)
    page.locator("[data-step]:visible [data-zoom]").click()
    page.locator("dialog.zoom").click()
    expect(page.locator("dialog.zoom")).to_have_count(0)


PHOTOS = """
from django.core.files.base import ContentFile
from judgments.jobs.queues import enqueue
from judgments.jobs.claims import run_job
from tests.annotation.casting import make_dataset, make_study, picture_bytes

dataset = make_dataset("photos", images=14, pictures=False)
for item in dataset.items.all():
    item.picture.save("photo.jpg", ContentFile(picture_bytes("teal", (1200, 800))))
run_job(enqueue(kind="scale_pictures", args={"dataset": "photos"}).pk)
make_study(dataset, "graded", slug="photos", units_per_hit=20)  # one page of work, whoever comes first
"""


@pytest.mark.long
def test_pictures_are_scaled_for_a_phone_two_ahead_and_the_original_is_enlarged(
    new_page: NewPage, site: Installation, person: str
) -> None:
    site.python(PHOTOS)
    page = new_page(fresh=True, viewport={"width": 390, "height": 844}, device_scale_factor=2)
    urls, _ = open_cold(page, site, "photos", person)
    assert [url.partition("?")[2] for url in urls if "/pictures/" in url] == ["width=720"] * 3
    with page.expect_response(lambda reply: reply.url.endswith("/4/?width=720")):
        page.keyboard.press("1")
    page.keyboard.press("z")
    expect(page.locator("dialog.zoom img")).to_have_js_property("naturalWidth", 1200)


def test_a_page_of_triplets_is_finished_with_scripts_switched_off(
    new_page: NewPage, site: Installation, person: str
) -> None:
    page = new_page(java_script_enabled=False)
    join(page, site, "triplet", person)
    cards = page.locator(".choice")
    assert cards.count() == 8
    page.locator("#u1 .choice").first.click()
    page.keyboard.press("Enter")  # must not press some other button of the form
    expect(page.get_by_text("Your answers are saved, but they are not submitted yet.")).to_be_visible()
    expect(page.locator("#u1 input").first).to_be_checked()
    page.locator("#u2 .choice").nth(1).click()
    page.locator("#u2").get_by_role("button", name="Report a problem").click()
    page.get_by_label("Something else").check()
    page.get_by_role("button", name="Send the report").click()
    expect(page.locator("#u2 input").nth(1)).to_be_checked()
    for number in (3, 4):
        page.locator(f"#u{number} .choice").first.click()
    page.get_by_role("button", name="Submit").click()
    submitted(page)
    assert len(stored(site, person)) == 4


def test_a_page_of_work_is_returned_after_asking(page: Page, site: Installation, person: str) -> None:
    join(page, site, "triplet", person)
    page.get_by_role("button", name="Return this page of work").click()
    page.get_by_role("link", name="Keep the page and go on").click()
    page.get_by_role("button", name="Return this page of work").click()
    page.get_by_role("button", name="Return the page").click()
    expect(page.get_by_role("heading", name="You returned the page of work")).to_be_visible()
    page.get_by_role("link", name="Take another page").click()
    expect(page.locator("[data-count]")).to_have_text("1 of 4")


def test_the_last_page_thanks_and_hands_over_the_completion_code(
    page: Page, site: Installation, person: str
) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    join(page, site, "short", person)
    while page.url.endswith("/work/"):
        before = page.locator("[data-work]").get_attribute("data-assignment")
        for _ in range(count_of(page)):
            page.keyboard.press("1")
        page.keyboard.press("Enter")
        page.wait_for_function(
            "before => document.querySelector('[data-work]')?.dataset.assignment !== before", arg=before
        )
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    code = page.locator("#completion").inner_text()
    assert page.evaluate("navigator.clipboard.readText()") == code
    assert re.fullmatch("[A-Z2-9]{8}", code)


SHIFTS = """() => new Promise((told) => {
  let sum = 0;
  new PerformanceObserver((list) => { for (const one of list.getEntries()) sum += one.value; })
    .observe({ type: "layout-shift", buffered: true });
  setTimeout(() => told(sum), 100);
})"""


@pytest.mark.parametrize(
    "study",
    [
        "consent",
        "template",
        *(
            pytest.param(kind, marks=pytest.mark.long)
            for kind in (
                "whole",
                "pairwise",
                "graded",
                "slider",
                "best-worst",
                "caption",
                "keywords",
                "grounding",
            )
        ),
    ],
)
def test_a_page_opened_cold_is_light_and_asks_nobody_else(
    new_page: NewPage, site: Installation, study: str, person: str
) -> None:
    cold = new_page(fresh=True)
    urls, size = open_cold(cold, site, study, person)
    # where a page of work has two units, the next one is fetched as soon as this one stands
    own = [url for url in urls if "/pictures/" not in url and not url.endswith("/ahead/")]
    assert len(own) <= 6, own
    assert {urlsplit(url).netloc for url in urls} == {urlsplit(site.url).netloc}
    pictures = cold.evaluate(
        "performance.getEntriesByType('resource').filter((one) => one.initiatorType === 'img')"
        ".reduce((sum, one) => sum + one.encodedBodySize + 300, 0)"
    )
    assert size - pictures <= 60_000, size


def test_a_whole_page_costs_saves_one_look_ahead_and_one_submission(
    new_page: NewPage, site: Installation, person: str
) -> None:
    cold = new_page(fresh=True)
    open_cold(cold, site, "consent", person)
    cold.keyboard.press("1")
    expect(cold.locator("[data-state]")).to_have_text("Saved")

    def go_on() -> None:
        cold.keyboard.press("Backspace")
        cold.keyboard.press("Enter")
        expect(cold.locator("[data-count]")).to_have_text("2 of 20")

    asked = [url for url in fetched(cold, go_on)[0] if not url.endswith("/save/")]
    assert asked == []  # between two units

    def finish() -> None:
        with cold.expect_response("**/ahead/") as ahead:
            for _ in range(19):
                cold.keyboard.press("1")
        ahead.value.finished()
        cold.keyboard.press("Enter")
        expect(cold.get_by_text("Your page of work is submitted.")).to_be_visible()

    kinds = [urlsplit(url).path.rstrip("/").rsplit("/", 1)[1] for url in fetched(cold, finish)[0]]
    assert sorted(kind for kind in kinds if kind != "save") == ["ahead", "submit"]
    assert kinds.count("save") <= 2


@pytest.mark.parametrize(
    ("protocol", "size"),
    [
        ("triplet", (1280, 800)),
        ("relevance", (390, 844)),
        pytest.param("pairwise", (390, 844), marks=pytest.mark.long),
        pytest.param("relevance", (1280, 800), marks=pytest.mark.long),
        pytest.param("graded", (390, 844), marks=pytest.mark.long),
    ],
)
def test_nothing_moves_when_pictures_come_and_answers_are_given(
    new_page: NewPage, site: Installation, protocol: str, size: tuple[int, int], person: str
) -> None:
    page = new_page(fresh=True, viewport={"width": size[0], "height": size[1]})
    join(page, site, protocol, person)
    page.wait_for_load_state("networkidle")
    assert page.evaluate(SHIFTS) == pytest.approx(0, abs=0.001)
    switch = page.get_by_label("Go to the next question automatically")
    if switch.count():
        switch.uncheck()
    page.evaluate("scrollTo(0, 0)")
    where = "() => [...document.querySelectorAll('.now label, .now img, .tail.fixed button')]" + (
        ".filter((one) => one.checkVisibility()).map((one) => JSON.stringify(one.getBoundingClientRect()))"
    )
    before = page.evaluate(where)
    page.keyboard.press("1")
    expect(page.locator("[data-state]")).to_have_text("Saved")
    assert page.evaluate(where) == before


def test_the_picture_of_the_next_unit_is_there_before_it_is_asked_for(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "graded", person)
    count_of(page)
    page.wait_for_load_state("networkidle")
    loaded = (
        "[...document.querySelectorAll('[data-step] img')].map((one) => one.complete && one.naturalWidth > 0)"
    )
    assert page.evaluate(loaded)[:2] == [True, True]
