"""A study's work in Mechanical Turk's frame, in a real browser: another site frames the page, no cookie is ours."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import FrameLocator, Page, expect

from tests.browser.axe import problems_in_both_looks
from tests.browser.framing import FramedSite, framed_site
from tests.browser.working import NewPage
from tests.installations import Installations

SENT = "successfully submitted"


@pytest.fixture(scope="module")
def turk(installations: Installations) -> Iterator[FramedSite]:
    """A running installation, and the emulator whose pages frame its own."""
    with framed_site(installations) as site:
        yield site


@pytest.fixture
def worker(person: str) -> str:
    """An id as Mechanical Turk gives them, of nobody else."""
    return "A" + re.sub(r"[^A-Z0-9]", "", person.upper())


def answer_by_keys(page: Page, frame: FrameLocator, slug: str = "triplet", *, pause: int = 0) -> int:
    """The page of work from its first question to its last, by the keyboard, ``pause`` milliseconds before each answer;
    how many steps it had."""
    steps = frame.locator("[data-step]")
    expect(frame.locator("[data-step].now")).to_be_visible()
    count = steps.count()
    frame.locator("[data-step].now h2").focus()
    for number in range(1, count + 1):
        expect(frame.locator("[data-count]")).to_have_text(re.compile(f"{number} of {count}"))
        page.wait_for_timeout(pause)
        page.keyboard.press("1")
        if slug != "triplet":
            page.keyboard.press("Enter")
    return count


def hand_in_in_vain(page: Page, frame: FrameLocator) -> None:
    """All is answered, and the form to Mechanical Turk gets lost on its way."""
    page.route("**/mturk/externalSubmit", lambda route: route.abort(), times=1)
    answer_by_keys(page, frame)
    with page.expect_event("requestfailed", lambda request: request.url.endswith("/mturk/externalSubmit")):
        page.keyboard.press("Enter")
    # The browser's own page about it has to be there before Back can leave it.
    expect(frame.get_by_role("heading", name="One last step")).to_have_count(0)


def test_from_the_preview_to_the_handed_in_hit_by_keys(page: Page, turk: FramedSite, worker: str) -> None:
    frame = turk.preview(page, "triplet", worker)
    expect(frame.get_by_text("Accept the HIT to begin.")).to_be_visible()
    expect(frame.get_by_role("button")).to_have_count(0)
    expect(frame.get_by_alt_text("The picture of this example")).to_be_visible()
    frame = turk.begin(page, worker)
    count = answer_by_keys(page, frame)
    expect(frame.get_by_text("All answered")).to_be_visible()
    page.keyboard.press("Enter")
    expect(frame.get_by_text(SENT)).to_be_visible()
    assert turk.turns("triplet", worker) == ["Submitted"]
    [session] = turk.sessions(worker)
    assert session.status == "submitted"
    [work] = session.pages
    assert (work.state, len(work.seconds)) == ("submitted", count)
    assert all(0 < seconds < 60 for seconds in work.seconds)
    assert not [one for one in page.context.cookies() if one.get("domain") == "localhost"]
    turk.installation.manage("sync_crowd", "triplet")
    [session] = turk.sessions(worker)
    assert (session.status, session.confirmed) == ("submitted", True)
    turk.approve(worker)
    assert turk.turns("triplet", worker) == ["Approved"]
    assert [one.pages[0].state for one in turk.sessions(worker)] == ["approved"]


def test_without_scripts_the_last_step_is_a_button(turk: FramedSite, new_page: NewPage, worker: str) -> None:
    page = new_page(java_script_enabled=False)
    frame = turk.accept(page, "pairwise", worker)
    expect(frame.get_by_role("button", name="Save for later")).to_be_visible()
    for number in range(frame.locator("[data-step]").count()):
        frame.locator("[data-step]").nth(number).locator("input[type=radio]").first.check()
    frame.get_by_role("button", name="Save for later").click()
    expect(frame.get_by_text("Saved. You can go on now or later.")).to_be_visible()
    frame.get_by_role("button", name="Submit").last.click()
    expect(frame.get_by_role("heading", name="One last step")).to_be_visible()
    assert turk.turns("pairwise", worker) == ["Working"]
    assert [one.status for one in turk.sessions(worker)] == ["submitted"]
    frame.get_by_role("button", name="Submit the HIT").click()
    expect(frame.get_by_text(SENT)).to_be_visible()
    assert turk.turns("pairwise", worker) == ["Submitted"]


@pytest.mark.long
def test_a_reload_brings_the_draft_back_and_a_second_tab_shows_it_too(
    page: Page, turk: FramedSite, worker: str
) -> None:
    frame = turk.begin(page, worker)
    frame.locator("[data-step].now .choice").nth(1).click()
    expect(frame.locator("[data-state]")).to_have_text("Saved")
    page.reload()
    expect(frame.locator("[data-step]").first.locator("input:checked")).to_have_value("2")
    expect(frame.locator("[data-count]")).to_have_text(re.compile("^2 of"))
    second = page.context.new_page()
    second.goto(page.url)
    twin = second.frame_locator("iframe[name=hit]")
    expect(twin.locator("[data-step]").first.locator("input:checked")).to_have_value("2")
    assert len(turk.sessions(worker)) == 1


@pytest.mark.long
def test_a_post_that_was_lost_is_sent_again_when_the_hit_is_opened_again(
    page: Page, turk: FramedSite, worker: str
) -> None:
    hand_in_in_vain(page, turk.begin(page, worker))
    assert turk.turns("triplet", worker) == ["Working"]
    frame = turk.accept(page, "triplet", worker)
    expect(frame.get_by_text(SENT)).to_be_visible()
    assert turk.turns("triplet", worker) == ["Submitted"]
    assert [len(one.pages) for one in turk.sessions(worker)] == [1]


@pytest.mark.long
def test_back_from_an_error_finds_the_last_step_with_its_button(
    page: Page, turk: FramedSite, worker: str
) -> None:
    frame = turk.begin(page, worker)
    hand_in_in_vain(page, frame)
    page.evaluate("history.back()")
    expect(frame.get_by_role("heading", name="One last step")).to_be_visible()
    frame.get_by_role("button", name="Submit the HIT").click()
    expect(frame.get_by_text(SENT)).to_be_visible()
    page.evaluate("history.back()")  # doubled: Mechanical Turk refuses, and nothing is counted twice
    frame.get_by_role("button", name="Submit the HIT").click()
    expect(frame.get_by_text("was submitted, returned or abandoned before")).to_be_visible()
    assert turk.turns("triplet", worker) == ["Submitted"]
    assert [len(work.seconds) for one in turk.sessions(worker) for work in one.pages] == [4]


@pytest.mark.long
def test_consent_is_asked_in_the_frame(page: Page, turk: FramedSite, worker: str) -> None:
    frame = turk.preview(page, "consent", worker)
    expect(frame.get_by_text("You will be asked to agree")).to_be_visible()
    frame = turk.accept(page, "consent", worker)
    assert turk.sessions(worker) == []
    assert problems_in(page, frame) == []
    frame.get_by_label("I have read the text above").check()
    frame.get_by_role("button", name="Start").click()
    answer_by_keys(page, frame)
    page.keyboard.press("Enter")
    expect(frame.get_by_text(SENT)).to_be_visible()


def test_the_quiz_stands_in_the_frame_before_the_work(page: Page, turk: FramedSite, worker: str) -> None:
    frame = turk.accept(page, "quiz", worker)
    frame.get_by_role("button", name="Start the test").click()
    expect(frame.get_by_text("Test: 1 of 1")).to_be_visible()
    frame.locator(".choice").first.click()
    frame.get_by_role("button", name=re.compile("Check")).click()
    expect(frame.get_by_role("heading", name=re.compile("^That is"))).to_be_visible()
    [session] = turk.sessions(worker)
    assert (session.status, session.pages) == ("working", [])


@pytest.mark.long
def test_returned_there_and_taken_by_somebody_else_the_old_page_is_fenced(
    page: Page, turk: FramedSite, worker: str, new_page: NewPage
) -> None:
    frame = turk.accept(page, "relevance", worker)
    expect(frame.locator("[data-step].now")).to_be_visible()
    turn = page.url.rsplit("/", 1)[1]
    turk.emulator.site.give_back(turn, worker)
    other = worker + "B"
    second = new_page()
    fresh = turk.accept(second, "relevance", other)
    expect(fresh.locator("[data-step].now")).to_be_visible()
    assert second.url.rsplit("/", 1)[1] == turn
    frame.locator("[data-step].now input").first.check()
    expect(frame.get_by_text("This HIT is no longer open.")).to_be_visible()
    assert [one.status for one in turk.sessions(worker)] == ["returned"]


def test_a_self_contained_page_posts_to_mechanical_turk_and_a_sync_brings_its_answers(
    page: Page, turk: FramedSite, worker: str
) -> None:
    frame = turk.preview(page, "html", worker)
    expect(frame.get_by_text("Accept the HIT to answer.")).to_be_visible()
    frame = turk.accept(page, "html", worker)
    steps = frame.locator("[data-step]")
    expect(steps.first).to_be_visible()
    count = steps.count()
    for number in range(count):
        steps.nth(number).locator("input[type=radio]").nth(1).check()
    frame.get_by_role("button", name="Submit").click()
    expect(frame.get_by_text(SENT)).to_be_visible()
    assert turk.turns("html", worker) == ["Submitted"]
    assert turk.sessions(worker) == []  # nothing came to us so far
    turk.installation.manage("sync_crowd", "html")
    [session] = turk.sessions(worker)
    assert (session.status, session.confirmed) == ("submitted", True)
    assert [(work.state, len(work.seconds)) for work in session.pages] == [("submitted", count)]


@pytest.mark.long
def test_every_page_in_the_frame_fits_and_can_be_read_by_everybody(
    page: Page, turk: FramedSite, worker: str
) -> None:
    frame = turk.preview(page, "triplet", worker)
    expect(frame.get_by_text("Accept the HIT to begin.")).to_be_visible()
    assert problems_in(page, frame) == []
    frame = turk.begin(page, worker)
    assert problems_in(page, frame) == []
    hand_in_in_vain(page, frame)
    page.evaluate("history.back()")
    expect(frame.get_by_role("heading", name="One last step")).to_be_visible()
    assert problems_in(page, frame) == []


def problems_in(page: Page, frame: FrameLocator) -> list[str]:
    """What axe finds on our page in the frame, and whether it is wider than the frame."""
    found = problems_in_both_looks(page, within="iframe[name=hit]")
    wider = frame.locator("html").evaluate("page => page.scrollWidth - page.clientWidth")  # on the phone
    return [*found, *(["wider than its frame"] if wider > 0 else [])]
