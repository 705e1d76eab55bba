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


@pytest.mark.long
def test_axe_finds_nothing_on_the_first_page_and_those_of_a_study(page: Page, office: Installation) -> None:
    page.set_viewport_size({"width": 1400, "height": 900})  # some releases of Unfold fold the menu up to 1280
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


@pytest.mark.long
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
