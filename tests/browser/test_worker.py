"""A person in a real browser: by mouse, by keyboard, without scripts, without a connection."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # has no stubs
from playwright.sync_api import Browser, Page, Route, expect

from tests.installations import Installation, until

KINDS = ("triplet", "pairwise", "relevance", "graded")


def join(page: Page, site: Installation, slug: str, name: str) -> None:
    """From the study's link to the first page of work."""
    page.goto(f"{site.url}/s/{slug}/")
    page.get_by_label("Your name here").first.fill(name)
    page.get_by_role("button", name="Join the study").click()
    page.get_by_role("link", name="Start").click()
    count_of(page)


def stored(site: Installation, name: str) -> list[dict[str, Any]]:
    """The judgments of a person, in order."""
    code = (
        "import json; from annotation.models import Judgment; print(json.dumps(list(Judgment.objects"
        f".filter(assignment__worker__name={name!r}).order_by('pk').values('value', 'seconds', 'presented'))))"
    )
    rows: list[dict[str, Any]] = json.loads(site.python(code))
    return rows


def count_of(page: Page) -> int:
    """How many steps the page of work has, once it is there and its scripts ran: earlier keys would be lost."""
    page.locator("[data-step]").first.wait_for(state="attached")
    page.wait_for_load_state()
    return page.locator("[data-step]").count()


def test_a_person_finishes_a_page_of_triplets_by_mouse(page: Page, site: Installation) -> None:
    page.goto(site.url)
    page.get_by_role("link", name="With consent").click()
    page.get_by_label("Your name here").first.fill("mouse")
    page.get_by_label("I have read the text above").check()
    page.get_by_role("button", name="Join the study").click()
    expect(page.get_by_role("heading", name="Keep this to come back")).to_be_visible()
    page.get_by_role("link", name="Start").click()
    steps = count_of(page)
    assert steps == 20
    for number in range(1, steps + 1):
        expect(page.locator("[data-count]")).to_have_text(f"{number} of {steps}")
        expect(page.locator("[data-step]:visible")).to_have_count(1)
        page.locator("[data-step]:visible .choice").nth(number % 2).click()
        page.get_by_role("button", name="Submit" if number == steps else "Next").click()
    expect(page.get_by_text("Your page of work is submitted.")).to_be_visible()
    expect(page.locator("[data-count]")).to_have_text(re.compile("^1 of"))
    judgments = stored(site, "mouse")
    assert len(judgments) == 20
    assert all(0 < one["seconds"] < 60 for one in judgments)
    # what was shown first and chosen, or shown second and chosen, is the unit's order
    assert {(one["presented"], one["value"]) for one in judgments} <= {
        (side, value) for side in ("first-left", "second-left") for value in (1, 2)
    }


def test_a_person_finishes_a_page_of_triplets_by_keyboard_alone(page: Page, site: Installation) -> None:
    page.goto(f"{site.url}/s/triplet/")
    field = page.get_by_label("Your name here").first
    for _ in range(10):
        page.keyboard.press("Tab")
        if field.evaluate("field => field === document.activeElement"):
            break
    page.keyboard.press("Control+A")
    page.keyboard.type("keys")
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
    page.keyboard.press("Enter")
    expect(page.locator("[data-count]")).to_have_text("2 of 4")
    page.keyboard.press("Backspace")
    expect(page.locator("[data-count]")).to_have_text("1 of 4")
    expect(page.locator("[data-step]:visible input").nth(1)).to_be_checked()
    for _ in range(4):
        page.keyboard.press("1")
        page.keyboard.press("Enter")
    expect(page.get_by_text("Your page of work is submitted.")).to_be_visible()
    judgments = stored(site, "keys")
    assert len(judgments) == 4
    assert all(one["value"] == (1 if one["presented"] == "first-left" else 2) for one in judgments)


def test_a_person_finishes_a_page_of_relevance_by_mouse(page: Page, site: Installation) -> None:
    join(page, site, "relevance", "relevance-mouse")
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
    expect(page.get_by_text("Your page of work is submitted.")).to_be_visible()
    values = [one["value"] for one in stored(site, "relevance-mouse")]
    assert values == [1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]


def test_a_person_finishes_a_page_of_relevance_by_keyboard(page: Page, site: Installation) -> None:
    join(page, site, "relevance", "relevance-keys")
    for keys in ("14", "n", "2"):
        for key in keys:
            page.keyboard.press(key)
        page.keyboard.press("Enter")
    expect(page.get_by_text("Your page of work is submitted.")).to_be_visible()
    values = [one["value"] for one in stored(site, "relevance-keys")]
    assert values == [1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0]


def test_the_picture_is_enlarged_by_key_and_by_click_and_put_back(page: Page, site: Installation) -> None:
    join(page, site, "graded", "zoom")
    page.keyboard.press("z")
    expect(page.locator("dialog.zoom img")).to_be_visible()
    page.keyboard.press("3")  # no answer while the picture covers the question
    page.keyboard.press("Escape")
    expect(page.locator("dialog.zoom")).to_have_count(0)
    expect(page.locator("input:checked")).to_have_count(0)
    page.locator("[data-step]:visible [data-zoom]").click()
    page.locator("dialog.zoom").click()
    expect(page.locator("dialog.zoom")).to_have_count(0)


def test_a_page_of_triplets_is_finished_with_scripts_switched_off(
    browser: Browser, site: Installation
) -> None:
    context = browser.new_context(java_script_enabled=False, viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto(f"{site.url}/s/triplet/")
    page.get_by_label("Your name here").first.fill("plain")
    page.get_by_role("button", name="Join the study").click()
    page.get_by_role("link", name="Start").click()
    cards = page.locator(".choice")
    assert cards.count() == 8
    page.locator("#u1 .choice").first.click()
    page.keyboard.press("Enter")  # must not press some other button of the form
    expect(page.get_by_text("Not submitted yet. Your answers are saved.")).to_be_visible()
    expect(page.locator("#u1 input").first).to_be_checked()
    page.locator("#u2 .choice").nth(1).click()
    page.locator("#u2").get_by_role("button", name="Report a problem").click()
    page.get_by_label("Something else").check()
    page.get_by_role("button", name="Send the report").click()
    expect(page.locator("#u2 input").nth(1)).to_be_checked()
    for number in (3, 4):
        page.locator(f"#u{number} .choice").first.click()
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_text("Your page of work is submitted.")).to_be_visible()
    context.close()
    assert len(stored(site, "plain")) == 4


def test_answers_outlast_a_lost_connection_and_a_reload(page: Page, site: Installation) -> None:
    join(page, site, "triplet", "offline")

    def cut(route: Route) -> None:
        route.abort("internetdisconnected")

    page.route("**/save/", cut)
    page.keyboard.press("2")
    expect(page.locator("[data-state]")).to_have_text(
        "Not saved: no connection; your answers are kept in this browser"
    )
    page.reload()
    expect(page.locator("[data-step]:visible input").nth(1)).to_be_checked()
    expect(page.locator("[data-state]")).to_contain_text("Not saved")
    page.unroute("**/save/", cut)
    expect(page.locator("[data-state]")).to_have_text("Saved", timeout=15_000)
    page.evaluate("localStorage.clear()")
    page.reload()
    expect(page.locator("[data-count]")).to_have_text("2 of 4")
    page.get_by_role("button", name="Back").click()
    expect(page.locator("[data-step]:visible input").nth(1)).to_be_checked()


def test_answers_given_just_before_leaving_the_page_are_saved(page: Page, site: Installation) -> None:
    join(page, site, "triplet", "leaver")
    page.keyboard.press("1")
    expect(page.locator("[data-state]")).to_have_text("Saved")
    page.keyboard.press("Enter")
    page.keyboard.press("2")  # so soon after the first that it waits for its turn
    page.goto(site.url)
    page.evaluate("localStorage.clear()")
    query = "len(Assignment.objects.get(worker__name='leaver').answers)"
    until(
        lambda: site.python(f"from annotation.models import Assignment; print({query})") == "2",
        seconds=10,
        what="the second answer on the server",
    )


def test_submitting_without_a_connection_keeps_the_page(page: Page, site: Installation) -> None:
    join(page, site, "triplet", "submits-offline")
    page.context.set_offline(True)
    for number in range(4):
        page.locator("[data-step]:visible .choice").nth(number % 2).click()
        page.keyboard.press("Enter")
    expect(page.locator("[data-state]")).to_contain_text("No connection")
    page.context.set_offline(False)
    page.keyboard.press("Enter")
    expect(page.get_by_text("Your page of work is submitted.")).to_be_visible()
    assert len(stored(site, "submits-offline")) == 4


def test_a_stopped_submission_can_be_tried_again(page: Page, site: Installation) -> None:
    page.clock.install()
    join(page, site, "triplet", "stopped")
    page.route("**/submit/", lambda route: route.fulfill(status=204))  # the browser stays where it is
    for _ in range(4):
        page.keyboard.press("1")
        page.keyboard.press("Enter")
    expect(page.locator("[data-state]")).to_have_text("Submitting")
    page.unroute("**/submit/")
    page.clock.run_for(11_000)
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_text("Your page of work is submitted.")).to_be_visible()


def test_a_phone_shows_the_time_once_little_is_left(browser: Browser, site: Installation) -> None:
    context = browser.new_context(viewport={"width": 320, "height": 640}, has_touch=True, is_mobile=True)
    page = context.new_page()
    join(page, site, "triplet", "hurry")
    left = page.locator("[data-left-words]")
    expect(left).to_be_hidden()
    site.python(
        "from datetime import timedelta; from django.utils import timezone; "
        "from annotation.models import Assignment; Assignment.objects.filter(worker__name='hurry')"
        ".update(expires_at=timezone.now() + timedelta(seconds=50))"
    )
    page.reload()
    expect(left).to_have_text("less than a minute left")
    expect(left).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    context.close()


def test_a_picture_that_cannot_be_loaded_says_so_and_can_be_reported(page: Page, site: Installation) -> None:
    page.route("**/pictures/**", lambda route: route.fulfill(status=404))
    join(page, site, "pairwise", "no-picture")
    expect(page.get_by_text("The picture cannot be loaded.").locator("visible=true")).to_be_visible()
    page.get_by_role("button", name="Report a problem").click()
    page.get_by_label("The picture cannot be seen").check()
    page.get_by_role("button", name="Send the report").click()
    expect(page.get_by_text("The problem is reported")).to_be_visible()
    query = "ProblemReport.objects.get(what='picture').assignment.worker"
    assert site.python(f"from annotation.models import ProblemReport; print({query})") == "no-picture"


def test_a_page_of_work_is_returned_after_asking(page: Page, site: Installation) -> None:
    join(page, site, "triplet", "return")
    page.get_by_role("button", name="Return this page of work").click()
    page.get_by_role("link", name="Keep it and go on").click()
    page.get_by_role("button", name="Return this page of work").click()
    page.get_by_role("button", name="Return it").click()
    expect(page.get_by_role("heading", name="The page of work is returned")).to_be_visible()
    page.get_by_role("link", name="Take another page").click()
    expect(page.locator("[data-count]")).to_have_text("1 of 4")


def test_the_last_page_thanks_and_hands_over_the_completion_code(page: Page, site: Installation) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    join(page, site, "short", "finisher")
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


def fetched(page: Page, action: Any) -> tuple[list[str], int]:
    """Addresses that came over the network during ``action`` (not from the browser's cache), and their bytes."""
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    sent: dict[str, list[str]] = {}
    size: list[int] = []

    def going(event: dict[str, Any]) -> None:
        if not event["request"]["url"].startswith("data:"):
            sent.setdefault(event["requestId"], []).append(event["request"]["url"])

    def cached(event: dict[str, Any]) -> None:
        sent.pop(event["requestId"], None)

    def answered(event: dict[str, Any]) -> None:
        if event["response"].get("fromDiskCache"):
            sent.pop(event["requestId"], None)

    session.on("Network.requestWillBeSent", going)
    session.on("Network.requestServedFromCache", cached)
    session.on("Network.responseReceived", answered)
    session.on("Network.loadingFinished", lambda event: size.append(int(event["encodedDataLength"])))
    action()
    session.detach()
    return [url for urls in sent.values() for url in urls], sum(size)


def test_a_page_of_twenty_is_light_and_the_next_unit_needs_no_request(page: Page, site: Installation) -> None:
    page.goto(f"{site.url}/s/consent/")
    page.get_by_label("Your name here").first.fill("light")
    page.get_by_label("I have read the text above").check()
    page.get_by_role("button", name="Join the study").click()
    cookies = page.context.cookies()
    context = page.context.browser.new_context(viewport={"width": 1280, "height": 800})  # type: ignore[union-attr]
    context.add_cookies(cookies)  # type: ignore[arg-type]  # what cookies() gives is what add_cookies() takes
    cold = context.new_page()
    urls, size = fetched(cold, lambda: cold.goto(f"{site.url}/s/consent/work/", wait_until="networkidle"))
    assert len(urls) <= 6, urls
    assert size <= 100_000

    def go_on() -> None:
        cold.keyboard.press("Enter")
        expect(cold.locator("[data-count]")).to_have_text("2 of 20")

    cold.keyboard.press("1")
    expect(cold.locator("[data-state]")).to_have_text("Saved")
    assert fetched(cold, go_on)[0] == []

    def finish() -> None:
        for _ in range(19):
            cold.keyboard.press("1")
            cold.keyboard.press("Enter")
        expect(cold.get_by_text("Your page of work is submitted.")).to_be_visible()
        cold.wait_for_load_state("networkidle")

    following = [url for url in fetched(cold, finish)[0] if not url.endswith("/save/")]
    assert len(following) <= 2, following
    context.close()


@pytest.mark.parametrize("protocol", KINDS)
@pytest.mark.parametrize("size", [(1280, 800), (390, 844)], ids=["wide", "phone"])
def test_nothing_is_cut_off_and_the_way_on_is_in_view(
    browser: Browser, site: Installation, protocol: str, size: tuple[int, int]
) -> None:
    width, height = size
    context = browser.new_context(viewport={"width": width, "height": height}, has_touch=width < 700)
    page = context.new_page()
    join(page, site, protocol, f"fits-{protocol}-{width}")
    expect(page.get_by_role("button", name="Next")).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    small = page.evaluate(
        """[...document.querySelectorAll("button, a, label.option, label.choice, summary")]
        .filter((one) => one.checkVisibility() && !one.matches(".sr, .skip, p a, .note a"))
        .map((one) => [one.textContent.trim(), one.getBoundingClientRect()])
        .filter(([, box]) => box.height < 44 || box.width < 44).map(([words, box]) => [words, box.width, box.height])"""
    )
    assert small == []
    context.close()


def test_a_long_name_of_a_study_pushes_nothing_off_a_phone_s_screen(
    browser: Browser, site: Installation
) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    join(page, site, "long-name", "long-name")
    expect(page.get_by_role("button", name="Instructions")).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_any_page(browser: Browser, site: Installation, scheme: Any) -> None:
    context = browser.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 800})
    page = context.new_page()
    found: dict[str, list[str]] = {}

    def look(name: str) -> None:
        results = Axe().run(page)
        found[name] = [
            f"{one['id']}: {[node['html'] for node in one['nodes']][:3]}"
            for one in results.response["violations"]
            if one["impact"] in ("serious", "critical")
        ]

    page.goto(site.url)
    look("home")
    page.goto(f"{site.url}/s/consent/")
    page.locator("summary").click()
    look("join")
    page.get_by_label("Your name here").first.fill(f"axe-{scheme}")
    page.get_by_role("button", name="Join the study").click()
    page.get_by_label("I have read the text above").check()
    page.get_by_role("button", name="Join the study").click()
    look("start")
    page.get_by_role("link", name="Start").click()
    page.keyboard.press("Enter")
    look("triplet")
    page.keyboard.press("1")
    expect(page.locator("[data-state]")).to_have_text("Saved")
    look("triplet, chosen")
    page.get_by_role("button", name="Instructions").click()
    look("instructions")
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Report a problem").click()
    look("report")
    page.get_by_role("link", name="Back to the work").click()
    page.get_by_role("button", name="Return this page of work").click()
    look("return")
    for protocol in ("pairwise", "relevance", "graded"):
        page.goto(f"{site.url}/s/{protocol}/")
        page.get_by_role("button", name="Join the study").click()
        page.get_by_role("link", name="Start").click()
        page.keyboard.press("1")
        look(protocol)
    page.goto(f"{site.url}/s/short/")
    page.get_by_role("button", name="Join the study").click()
    page.goto(f"{site.url}/s/short/work/")
    for _ in range(count_of(page)):
        page.keyboard.press("1")
        page.keyboard.press("Enter")
    expect(page.get_by_text("Your page of work is submitted.")).to_be_visible()
    page.goto(f"{site.url}/s/short/done/")
    look("done")
    page.goto(f"{site.url}/s/nowhere/")
    look("404")
    context.close()
    assert {name: problems for name, problems in found.items() if problems} == {}
