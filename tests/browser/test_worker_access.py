"""Pages of work for assistive technology and on small screens, in a browser."""

import pytest
from playwright.sync_api import Page, expect

from judgments import kinds
from tests.browser.axe import problems, problems_in_both_looks, small_targets
from tests.browser.working import KINDS, PHONE, NewPage, count_of, here, join, stored, submitted
from tests.installations import Installation
from tests.marks import long_except

# a page of triplets is left to expire below; the others are looked at with what they open, by their own tests
ELSEWHERE = ("triplet", "keywords", "grounding")


class Looks:
    """What axe finds on each page that was looked at, of any impact."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.found: dict[str, list[str]] = {}

    def at(self, name: str) -> None:
        self.found[name] = problems_in_both_looks(self.page)

    @property
    def problems(self) -> dict[str, list[str]]:
        return {name: found for name, found in self.found.items() if found}


def enter(page: Page, site: Installation, slug: str) -> None:
    page.goto(f"{site.url}/s/{slug}/")
    page.get_by_role("button", name="Join the study").click()
    page.get_by_role("link", name="Start").click()
    count_of(page)


@pytest.mark.long
def test_axe_finds_nothing_on_any_of_the_worker_s_pages(
    new_page: NewPage, site: Installation, person: str
) -> None:
    page = new_page(reduced_motion="reduce")
    looks = Looks(page)
    page.goto(site.url)
    looks.at("home")
    page.goto(f"{site.url}/s/consent/")
    page.locator("summary").click()
    looks.at("join")
    page.get_by_label("Your name on this site").first.fill(person)
    page.get_by_label("I have read the text above").check()
    page.get_by_role("button", name="Join the study").click()
    looks.at("start")
    page.get_by_role("link", name="Start").click()
    count_of(page)
    page.keyboard.press("Enter")
    looks.at("triplet, asked for an answer")
    page.keyboard.press("1")
    page.keyboard.press("s")
    page.keyboard.press("u")
    page.get_by_text("Comment", exact=True).locator("visible=true").click()
    expect(page.locator("[data-state]")).to_have_text("Saved")
    looks.at("triplet, chosen")
    page.get_by_role("button", name="Instructions").click()
    looks.at("instructions")
    page.get_by_role("button", name="Close").locator("visible=true").click()
    page.evaluate("document.getElementById('keys').showPopover()")
    looks.at("keys")
    page.keyboard.press("Escape")
    page.evaluate("document.querySelectorAll('[data-note]').forEach((note) => { note.hidden = false; })")
    looks.at("every note")
    page.reload()
    page.get_by_role("button", name="Report a problem").click()
    looks.at("report")
    page.get_by_role("link", name="Back to the work").click()
    page.get_by_role("button", name="Return this page of work").click()
    looks.at("return")
    page.get_by_role("button", name="Return the page").click()
    looks.at("returned")
    page.goto(f"{site.url}/s/consent/done/")
    looks.at("stopped")
    page.goto(f"{site.url}/s/nowhere/")
    looks.at("404")
    for address in ("api/docs/", "api/docs/worker/", "challenges/"):
        page.goto(f"{site.url}/{address}")
        looks.at(address)
    assert looks.problems == {}


@pytest.mark.long
def test_axe_finds_nothing_on_a_page_of_any_kind(page: Page, site: Installation) -> None:
    looks = Looks(page)
    for protocol in (one for one in KINDS if one not in ELSEWHERE):
        enter(page, site, protocol)
        page.keyboard.press("1")
        looks.at(protocol)
    page.set_viewport_size({"width": 1280, "height": 844})  # a phone has no such button
    page.locator("[data-step]:visible [data-zoom]").click()
    expect(page.locator("dialog.zoom")).to_be_visible()
    looks.at("a picture enlarged")
    enter(page, site, "short")
    for _ in range(count_of(page)):
        page.keyboard.press("1")
    page.keyboard.press("Enter")
    submitted(page)
    looks.at("the next page")
    page.keyboard.press("u")
    expect(page.get_by_text("You can still change your answers")).to_be_visible()
    looks.at("changing")
    page.goto(f"{site.url}/s/short/done/")
    looks.at("done")
    page.goto(f"{site.url}/s/triplet/")
    page.get_by_role("button", name="Join the study").click()
    page.goto(f"{site.url}/s/triplet/work/")
    page.keyboard.press("1")
    expect(page.locator("[data-state]")).to_have_text("Saved")
    site.python(
        "from annotation.models import Assignment; from django.utils import timezone; "
        "Assignment.objects.filter(state='accepted', study__slug='triplet').update(expires_at=timezone.now())"
    )
    page.reload()
    expect(page.get_by_role("heading", name="The time for your page of work is over")).to_be_visible()
    looks.at("expired")
    assert looks.problems == {}


def test_a_sentence_from_right_to_left_stays_within_itself(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "arabic", person)
    sentence = page.locator("[data-step]:visible .said").first
    assert sentence.evaluate("one => getComputedStyle(one).direction") == "rtl"
    assert sentence.evaluate("one => getComputedStyle(one).unicodeBidi") in ("isolate", "plaintext")
    assert sentence.get_attribute("lang") == "ar"
    # the label and the key beside it stay where they are for everybody
    card = page.locator("[data-step]:visible .choice").first
    label, key = card.locator(".label").bounding_box(), card.locator("kbd").bounding_box()
    assert label is not None
    assert key is not None
    assert label["x"] < key["x"]


@pytest.mark.parametrize("protocol", ["triplet", "relevance"])
def test_a_page_is_finished_by_touch_on_a_phone(
    new_page: NewPage, site: Installation, protocol: str, person: str
) -> None:
    page = new_page(**PHONE)
    join(page, site, protocol, person)
    expect(page.locator("kbd").locator("visible=true")).to_have_count(0)
    steps = count_of(page)
    for number in range(1, steps + 1):
        expect(page.locator("[data-count]")).to_contain_text(f"{number} of {steps}")
        page.locator("[data-step]:visible").locator(".choice, .option").first.tap()
        if protocol == "relevance" and number < steps:
            page.get_by_role("button", name="Next").tap()
    page.get_by_role("button", name="Submit").tap()
    submitted(page)
    assert len(stored(site, person)) == steps * (4 if protocol == "relevance" else 1)


def test_the_focus_can_be_seen_and_nothing_moves_for_whoever_asks_for_no_motion(
    new_page: NewPage, site: Installation, person: str
) -> None:
    page = new_page(reduced_motion="reduce")
    join(page, site, "triplet", person)
    moving = page.evaluate(
        "[...document.querySelectorAll('*')].filter((one) => "
        "getComputedStyle(one).transitionDuration !== '0s' || getComputedStyle(one).animationName !== 'none').length"
    )
    assert moving == 0
    page.keyboard.press("1")
    assert page.evaluate("document.activeElement.closest('[data-step]').classList.contains('now')")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    outline = (
        page.locator("[data-step]:visible .choice")
        .nth(1)
        .evaluate(
            "one => [getComputedStyle(one).outlineStyle, parseFloat(getComputedStyle(one).outlineWidth)]"
        )
    )
    assert outline[0] == "solid"
    assert outline[1] >= 2


WIDTH = "one => one.getBoundingClientRect().width"
OVER = "document.documentElement.scrollWidth - innerWidth"  # pixels by which a page is wider than its window


def test_a_phone_shows_the_time_once_little_is_left(
    new_page: NewPage, site: Installation, person: str
) -> None:
    page = new_page(viewport={"width": 320, "height": 640}, has_touch=True, is_mobile=True, locale="de-DE")
    join(page, site, "long-name", person)
    left, count, name = (page.locator(one) for one in ("[data-left-words]", "[data-count]", ".bar h1"))
    expect(left).to_be_hidden()
    room = name.evaluate(WIDTH)
    site.python(
        "from datetime import timedelta; from django.utils import timezone; "
        f"from annotation.models import Assignment; Assignment.objects.filter(worker__name={person!r})"
        ".update(expires_at=timezone.now() + timedelta(seconds=50))"
    )
    page.reload()
    expect(left).to_have_text("weniger als eine Minute übrig")
    expect(left).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    # it takes no room from the name of the study, and how far it is stays on one line
    assert name.evaluate(WIDTH) == room
    assert count.evaluate("one => one.getClientRects()[0].height") < 30


@pytest.mark.parametrize("protocol", long_except(KINDS, "slider", "triplet"))
def test_nothing_is_cut_off_and_the_way_on_is_in_view_in_german_too(
    new_page: NewPage, site: Installation, protocol: str, person: str
) -> None:
    page = new_page(viewport={"width": 390, "height": 844}, has_touch=True)
    join(page, site, protocol, person)
    nothing_is_cut_off(page)
    page.goto(f"{page.url}?language=de")
    page.wait_for_load_state()
    assert page.evaluate(OVER) <= 0
    expect(page.locator("[data-next]").locator("visible=true")).to_be_in_viewport(ratio=1)
    page.get_by_role("button", name="Anleitung").click()
    expect(page.locator("#instructions")).to_be_visible()
    assert page.locator("#instructions q").first.evaluate("one => getComputedStyle(one).quotes") == '"„" "“"'
    assert page.evaluate(OVER) <= 0
    if protocol == "slider":  # the words of the others are in the same places
        assert problems(page) == []
    page.goto(f"{site.url}/s/{protocol}/start/?language=de")
    expect(page.get_by_role("link", name="Beginnen")).to_be_visible()
    assert page.evaluate(OVER) <= 0


@pytest.mark.parametrize("protocol", ["triplet", "grounding"])
def test_nothing_is_cut_off_on_a_wide_screen(
    new_page: NewPage, site: Installation, protocol: str, person: str
) -> None:
    page = new_page(viewport={"width": 1280, "height": 800})
    join(page, site, protocol, person)
    nothing_is_cut_off(page)


def nothing_is_cut_off(page: Page) -> None:
    for name in ("Next", "Later", "Report a problem"):
        expect(page.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
    first = page.locator("[data-step]:visible").locator("input, textarea").filter(visible=True).first
    expect(first).to_be_in_viewport()
    assert page.evaluate(OVER) <= 0
    assert small_targets(page) == []


COVERED = """() => {
    const bar = document.querySelector(".tail.fixed").getBoundingClientRect();
    return [...document.querySelectorAll("[data-step] .option")]
        .filter((one) => one.checkVisibility() && one.getBoundingClientRect().bottom > bar.top)
        .map((one) => one.textContent);
}"""


@pytest.mark.parametrize("language", ["en", "fr"])
def test_the_four_grades_stand_above_the_buttons_of_a_small_phone(
    new_page: NewPage, site: Installation, person: str, language: str
) -> None:
    page = new_page(viewport={"width": 360, "height": 640}, has_touch=True, is_mobile=True)
    join(page, site, "graded", person)
    page.goto(f"{page.url}?language={language}")
    expect(page.locator(".option").filter(visible=True)).to_have_count(4)
    assert page.evaluate(COVERED) == []
    bar = page.locator(".tail.fixed")
    height = bar.evaluate("bar => bar.offsetHeight")
    page.locator(".option").filter(visible=True).first.click()
    expect(page.locator("[data-state][data-tone=saved]")).to_be_visible()
    assert bar.evaluate("bar => bar.offsetHeight") == height  # nothing moves when an answer was saved
    assert page.evaluate(COVERED) == []


@pytest.mark.parametrize("protocol", ["best-worst", "grounding", "slider"])
def test_a_phone_held_sideways_shows_what_is_asked_beside_the_picture(
    new_page: NewPage, site: Installation, protocol: str, person: str
) -> None:
    page = new_page(viewport={"width": 740, "height": 360}, has_touch=True, is_mobile=True)
    join(page, site, protocol, person)
    assert page.evaluate(OVER) <= 0
    first = "[data-tokens]" if protocol == "grounding" else "[data-slide], .option"
    expect(page.locator(first).filter(visible=True).first).to_be_in_viewport(ratio=1)


def test_choosing_the_worst_breaks_no_caption_anew(
    new_page: NewPage, site: Installation, person: str
) -> None:
    page = new_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    join(page, site, "best-worst", person)
    page.goto(f"{page.url}?language=de")
    places = (
        "() => [...document.querySelectorAll('.now .said')].map(one => one.getBoundingClientRect().width)"
    )
    before = page.evaluate(places)
    here(page).locator(".worst").first.tap()
    expect(here(page).locator(".worst input").first).to_be_checked()
    assert page.evaluate(places) == before


def test_a_long_name_of_a_study_pushes_nothing_off_a_phone_s_screen(
    new_page: NewPage, site: Installation, person: str
) -> None:
    page = new_page(viewport={"width": 390, "height": 844}, has_touch=True)
    join(page, site, "long-name", person)
    expect(page.get_by_role("button", name="Instructions")).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


LOADED = (
    "() => [...document.querySelectorAll('[data-work] img')].filter((one) => one.checkVisibility()).every("
    "(one) => one.complete && one.naturalWidth)"
)
# every kind whose page has pictures, and a translation of a text beside its picture
PICTURED = [*(name for name in KINDS if kinds.KINDS[name].page.shows_picture), "segments"]
LOW = ((640, 400), (740, 360))  # a window of 1280 x 800 at 200 %, and a phone held sideways


@pytest.mark.parametrize("protocol", long_except(PICTURED, "triplet", "segments"))
def test_a_picture_is_large_enough_in_a_low_window_and_a_letter_answers(
    new_page: NewPage, site: Installation, protocol: str, person: str
) -> None:
    page = new_page(viewport={"width": 640, "height": 400})
    join(page, site, protocol, person)
    page.wait_for_function(LOADED)  # before, a picture with boxes has no size
    for width, height in LOW:
        page.set_viewport_size({"width": width, "height": height})
        for picture in here(page).locator("img").filter(visible=True).all():
            box = picture.bounding_box()
            assert box is not None
            assert box["height"] >= 200, (width, box)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.locator(".tail.fixed").evaluate("one => getComputedStyle(one).position") == "static"
    assert here(page).locator("img").filter(visible=True).count()
    if protocol == "pairwise":
        expect(here(page).locator(".label").first).to_have_text("Description A")
        page.keyboard.press("b")
        expect(page.locator("[data-step] input[value='2']:checked")).to_have_count(1)


def test_what_is_asked_besides_comes_out_from_below_the_bar(
    new_page: NewPage, site: Installation, person: str
) -> None:
    page = new_page(**PHONE)
    join(page, site, "sure", person)
    page.keyboard.press("b")
    last = here(page).locator(".sure label").last.bounding_box()
    bar = page.locator(".tail.fixed").bounding_box()
    assert last is not None
    assert bar is not None
    assert last["y"] + last["height"] <= bar["y"]


def test_what_is_asked_besides_moves_nothing_where_it_is_in_view(
    new_page: NewPage, site: Installation, person: str
) -> None:
    page = new_page(viewport={"width": 1280, "height": 800})
    join(page, site, "sure", person)
    page.keyboard.press("b")
    expect(here(page).locator("input[value='2'][name^=u]")).to_be_checked()
    assert page.evaluate("scrollY") == 0
    page.keyboard.press("9")
    expect(page.locator("[data-count]")).to_have_text("2 of 4")
    page.keyboard.press("Enter")
    complaint = page.get_by_text("To go on, choose an answer and say how sure you are.").locator(
        "visible=true"
    )
    expect(complaint).to_be_visible()
    page.keyboard.press("u")  # where everything is answered, nothing is complained of
    expect(page.locator("[data-count]")).to_have_text("1 of 4")
    expect(complaint).to_have_count(0)
