"""The board in a real browser: what somebody else hands in shows up without loading the page again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import SERIOUS, problems
from tests.installations import Installation, Installations

CAST = """
from django.contrib.auth.models import User
from tests.annotation.casting import make_dataset, make_study
from tests.annotation.voting import always_first, joined, work
from evaluation.services.board import compute_board, store_board

study = make_study(make_dataset(images=12), "pairwise", slug="animals", name="Animals", judgments_per_unit=5)
for number in range(3):
    work(study, joined(study, f"w-{number}"), always_first)
store_board(compute_board(study=study))
User.objects.create_superuser("designer", password="a-long-phrase-1")
print(study.pk)
"""
LATE = """
from judgments.models import Study
from tests.annotation.voting import always_first, joined, work

work(Study.objects.get(slug="animals"), joined(Study.objects.get(slug="animals"), "late"), always_first, most=1)
"""


@pytest.fixture
def office(installations: Installations) -> Iterator[tuple[Installation, str]]:
    """An installation with a study that people work in, and the address of its board."""
    with installations.fresh("sqlite") as installation:
        pk = installation.python(CAST).split()[-1]
        installation.start_server()
        yield installation, f"{installation.url}/admin/judgments/study/{pk}/board/"


def sign_in(page: Page, office: Installation) -> None:
    page.goto(f"{office.url}/admin/")
    page.get_by_label("Username").fill("designer")
    page.get_by_label("Password").fill("a-long-phrase-1")
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("link", name="All studies").wait_for()


def test_a_judgment_from_another_browser_shows_up_without_a_reload(
    page: Page, office: tuple[Installation, str]
) -> None:
    installation, address = office
    sign_in(page, installation)
    page.goto(address)
    count = page.locator("[data-judgments]")
    before = int(count.get_attribute("data-judgments") or 0)
    page.evaluate("window.stayed = true")
    page.locator("summary", has_text="Pause").click()
    reason = page.locator("#why-pause")
    reason.fill("a caption")
    installation.python(LATE)
    expect(count).not_to_have_attribute("data-judgments", str(before))
    assert page.evaluate("window.stayed") is True
    expect(reason).to_have_value("a caption")
    expect(reason).to_be_focused()
    expect(page.get_by_role("status").filter(has_text="Judgments")).to_have_count(1)


def test_the_board_breaks_no_rule_of_access(page: Page, office: tuple[Installation, str]) -> None:
    installation, address = office
    sign_in(page, installation)
    page.goto(address)
    expect(page.get_by_role("heading", name="Which metric agrees with people?")).to_be_visible()
    assert problems(page, within=".q-page", impacts=SERIOUS) == []
