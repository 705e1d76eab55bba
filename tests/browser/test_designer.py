"""A designer in a real browser: from signing in to the link that workers get, with a real background worker."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.axe import problems, problems_in_both_looks
from tests.browser.researching import sign_in
from tests.browser.working import NewPage
from tests.installations import Installation, Installations

CAST = """
from django.contrib.auth.models import User
from tests.annotation.casting import make_dataset, make_study

make_study(make_dataset(images=12), slug="animals", name="Animals")
User.objects.create_superuser("designer", password="a-long-phrase-1")
"""


@pytest.fixture(scope="module")
def office(installations: Installations) -> Iterator[Installation]:
    """An installation with a dataset, an opened study, a designer, a server and a background worker."""
    with installations.fresh("sqlite") as installation:
        installation.python(CAST)
        installation.start_server()
        installation.start_worker()
        yield installation


def test_a_designer_creates_previews_generates_and_opens_a_study(
    page: Page, new_page: NewPage, office: Installation
) -> None:
    sign_in(page, office)
    page.goto(f"{office.url}/admin/")
    page.get_by_role("link", name="New study").click()
    page.get_by_role("link", name="Triplets: which sentence is more similar to A?").click()

    page.get_by_label("Name", exact=True).fill("Zebras and others")
    for kind in ("Two people", "Another image", "Two systems"):
        page.get_by_label(kind).fill("2")
    page.get_by_label("Person and system").fill("0")
    page.get_by_role("region", name="Data").get_by_text("Advanced").click()
    page.get_by_label("References for each pair").fill("2")
    page.get_by_label("Check questions on each page").fill("9")
    page.get_by_label("Items on a page of work").fill("5")
    page.get_by_role("button", name="Save and launch").click()
    expect(page.locator("#id_controls-per_hit_error")).to_contain_text("which leaves no place in a HIT of 5")
    page.get_by_label("Check questions on each page").fill("1")
    page.get_by_role("button", name="Save and launch").click()

    plan = page.locator(".q-facts")
    expect(plan.get_by_text("Pages of work", exact=True).locator("..")).to_contain_text("3")
    expect(plan.get_by_text("Judgments").locator("..")).to_contain_text("45")

    page.get_by_text("More", exact=True).click()
    with page.expect_popup() as popup:
        page.get_by_role("link", name="Preview").click()
    question = "Which of the two sentences, B or C, is more similar to A?"
    expect(popup.value.get_by_role("group", name=question).first).to_be_visible()
    expect(popup.value.get_by_text("nothing here is stored")).to_be_visible()
    popup.value.close()

    page.get_by_role("button", name="Generate pages of work").click()
    open_it = page.get_by_role("button", name="Open to participants")
    expect(open_it).to_be_visible()  # the page follows the job and shows what came of it

    pages = page.get_by_role("navigation", name="Pages of this study")
    pages.get_by_role("link", name="Design", exact=True).click()
    pages.get_by_role("link", name="Check questions", exact=True).click()
    expect(page.locator(".q-control")).to_have_count(3)
    page.get_by_role("button", name="Withdraw:").first.click()
    expect(page.get_by_text("One control item was withdrawn")).to_be_visible()
    expect(page.locator(".q-struck")).to_have_count(1)

    pages.get_by_role("link", name="Launch", exact=True).click()
    open_it.click()
    expect(page.get_by_text(f"{office.url}/s/zebras-and-others/", exact=True)).to_be_visible()
    expect(page.get_by_text("Send this link to your participants")).to_be_visible()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy the link").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == f"{office.url}/s/zebras-and-others/"

    worker = new_page()
    worker.goto(f"{office.url}/s/zebras-and-others/")
    expect(worker.get_by_role("heading", name="Zebras and others")).to_be_visible()


def test_a_rehearsed_copy_shows_its_results_and_hands_out_its_data(page: Page, office: Installation) -> None:
    sign_in(page, office)
    page.goto(f"{office.url}/admin/judgments/study/")
    page.get_by_role("link", name="Animals").first.click()
    pages = page.get_by_role("navigation", name="Pages of this study")
    page.goto(page.url.replace("/board/", "/rehearsal/"))  # no tab, since the study was opened already
    page.get_by_role("button", name="Rehearse").click()
    expect(page.locator(".q-state")).to_have_text("closed")
    pages.get_by_role("link", name="Findings").click()
    expect(page.get_by_text("these answers come from the rehearsal crowd")).to_be_visible()

    page.get_by_role("button", name="Compute now").first.click()
    expect(page.get_by_role("heading", name="Which metric agrees with people?")).to_be_visible()
    expect(page.get_by_role("heading", name="Do people agree?")).to_be_visible()
    expect(page.get_by_text("simulated", exact=True)).to_have_count(1)

    pages.get_by_role("link", name="Share").click()
    page.get_by_role("button", name="jsonl").click()
    written = page.get_by_role("link", name=".jsonl")
    expect(written).to_be_visible()
    with page.expect_download() as download:
        written.click()
    first = download.value.path().read_text(encoding="utf-8").splitlines()[0]
    assert '"simulated": true' in first or '"simulated":true' in first


def test_the_end_of_a_job_does_not_call_back_who_has_followed_a_link(
    page: Page, office: Installation
) -> None:
    sign_in(page, office)
    page.goto(f"{office.url}/admin/judgments/study/1/results/")
    asked: list[Route] = []
    page.route("**/progress/", lambda route: asked.append(route))
    page.evaluate(
        """() => {
          const job = document.createElement("div");
          job.setAttribute("hx-get", "/admin/judgments/job/1/progress/");
          job.setAttribute("hx-trigger", "load");
          document.querySelector("main").append(job);
          htmx.process(job);
        }"""
    )
    opened: list[Route] = []
    page.route("**/study/1/log/", lambda route: opened.append(route))
    page.evaluate("() => { location.href = '/admin/judgments/study/1/log/' }")
    while not (asked and opened):
        page.wait_for_timeout(20)
    with page.expect_response("**/progress/"):
        asked[0].fulfill(headers={"HX-Refresh": "true"}, body="<p>done</p>")
    page.wait_for_timeout(200)  # a reload would start here
    opened[0].continue_()
    page.wait_for_url("**/study/1/log/")
    expect(page.get_by_role("link", name="Log", exact=True)).to_have_attribute("aria-current", "page")


def test_the_pages_of_a_study_work_by_keyboard_on_a_phone_and_without_scripts(
    new_page: NewPage, office: Installation
) -> None:
    page = new_page(java_script_enabled=False, viewport={"width": 390, "height": 844})
    sign_in(page, office)
    page.goto(f"{office.url}/admin/judgments/study/1/hits/")
    pages = page.get_by_role("navigation", name="Pages of this study")
    groups = pages.get_by_role("list").first.get_by_role("link")
    expect(groups).to_have_text(["Design", "Launch", "Live", "Findings", "Share"])
    tops = {round(one.bounding_box()["y"]) for one in groups.all()}  # type: ignore[index]
    assert len(tops) == 1, "the groups stand in one row"
    pages.get_by_role("link", name="Share").press("Enter")
    pages.get_by_role("link", name="Log").press("Enter")
    expect(pages.get_by_role("link", name="Log")).to_have_attribute("aria-current", "page")
    expect(pages.get_by_role("link", name="Share")).to_have_attribute("aria-current", "true")

    close = page.get_by_role("button", name="Close", exact=True)
    expect(close).to_be_hidden()
    page.get_by_text("More", exact=True).press("Enter")
    expect(close).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_menu_of_steps_closes_by_escape_and_by_a_click_elsewhere(
    page: Page, office: Installation
) -> None:
    sign_in(page, office)
    page.goto(f"{office.url}/admin/judgments/study/1/hits/")
    page.wait_for_load_state()
    more, close = page.get_by_text("More", exact=True), page.get_by_role("button", name="Close", exact=True)
    more.click()
    expect(close).to_be_visible()
    page.keyboard.press("Escape")
    expect(close).to_be_hidden()
    expect(more).to_be_focused()
    more.press("Enter")
    expect(close).to_be_visible()
    page.get_by_role("heading", name="Animals", level=2).click()
    expect(close).to_be_hidden()


PAGES = (
    "judgments/study/", "judgments/study/add/", "judgments/study/add/?preset=vedantam-2015-triplet",
    "judgments/study/add/?preset=hodosh-2013-relevance", "judgments/study/from-file/", "judgments/study/1/change/",
    "judgments/study/1/results/", "judgments/study/1/planning/",
    "judgments/study/1/report/",
    "judgments/apitoken/add/", "auth/user/1/change/", "auth/group/add/", "second-factor/",
    "judgments/dataset/1/change/", "judgments/dataset/add/",
    "judgments/dataset/1/candidates/", "judgments/dataset/1/judgments/", "judgments/item/", "judgments/item/1/change/",
)  # fmt: skip


# whole pages, with the sidebar, and whatever axe finds
OF_A_STUDY = (
    "launch", "hits", "controls", "workers", "crowd", "work", "review", "rules", "exports", "people", "log",
    "webhooks", "reuse", "choosing", "compare", "ethics", "judges", "known", "metrics", "privacy", "ranking",
    "rehearsal", "soft-labels",
)  # fmt: skip


def test_axe_finds_nothing_on_the_first_page_and_those_of_a_study(page: Page, office: Installation) -> None:
    sign_in(page, office)
    page.goto(f"{office.url}/admin/")
    page.get_by_role("button", name="Tables").press("Enter")
    expect(page.locator("#nav-sidebar-apps").get_by_role("link", name="Judgments")).to_be_visible()
    expect(page.get_by_role("button", name="Tables")).to_have_attribute("aria-expanded", "true")
    assert problems_in_both_looks(page) == []
    for name in OF_A_STUDY:
        shown = page.goto(f"{office.url}/admin/judgments/study/1/{name}/")
        assert shown is not None
        assert shown.status == 200, name
        assert problems_in_both_looks(page) == [], name


SMALL = ((640, 400), (320, 640))  # a window of 1280 x 800 at 200 %, and the narrowest phone


def test_axe_finds_nothing_on_the_designers_pages_and_lists_at_200_percent_and_on_a_phone(
    page: Page, office: Installation
) -> None:
    sign_in(page, office)
    for path in PAGES:
        page.goto(f"{office.url}/admin/{path}")
        for width, height in SMALL:
            page.set_viewport_size({"width": width, "height": height})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert problems(page) == [], path
    page.set_viewport_size({"width": 800, "height": 800})
    page.goto(f"{office.url}/admin/judgments/dataset/1/change/")
    title = page.locator(".q-title").bounding_box()
    assert title is not None
    assert title["width"] > 140  # the buttons beside it leave it room
