"""An adjudicator in a real browser: by keyboard alone, on a phone, and as axe sees the pages."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.axe import problems
from tests.installations import Installation, Installations

CAST = """
from django.contrib.auth.models import Permission, User
from contrib.adjudication.decisions import send_to_adjudicator
from judgments.models import Unit
from tests.annotation.casting import make_dataset, make_study

study = make_study(make_dataset(images=12), "pairwise", slug="shapes", name="Shapes")
rita = User.objects.create_user("rita", password="a-long-phrase-1", is_staff=True)
rita.user_permissions.add(Permission.objects.get(codename="change_adjudication"))
units = Unit.objects.filter(study=study, control=False).values_list("pk", flat=True)
send_to_adjudicator(study=study, units=list(units), adjudicator=rita)
"""
DECIDED = (
    "import json; from annotation.models import Adjudication as A; "
    "print(json.dumps(list(A.objects.filter(state='decided').order_by('pk').values_list('reason', flat=True))))"
)


@pytest.fixture(scope="module")
def court(installations: Installations) -> Iterator[Installation]:
    """An installation with units that wait for rita."""
    with installations.fresh("sqlite") as installation:
        installation.python(CAST)
        installation.start_server()
        yield installation


def sign_in(page: Page, court: Installation) -> None:
    page.goto(f"{court.url}/adjudicate/")
    page.get_by_label("Username").fill("rita")
    page.get_by_label("Password").fill("a-long-phrase-1")
    page.get_by_role("button", name="Log in").click()


@pytest.mark.long
def test_units_are_decided_by_keyboard_alone(page: Page, court: Installation) -> None:
    sign_in(page, court)
    page.get_by_role("link", name="Begin").press("Enter")
    page.wait_for_url("**/adjudicate/*/")
    page.wait_for_load_state()  # keys before the script is there would be lost
    first = page.url
    page.keyboard.press("2")
    expect(page.get_by_role("radio").nth(1)).to_be_checked()
    page.get_by_label("Reason").focus()
    page.keyboard.type("12 o'clock")  # figures in a text choose nothing
    expect(page.get_by_role("radio").nth(1)).to_be_checked()
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: url != first)
    assert court.python(DECIDED) == '["12 o\'clock"]'


@pytest.mark.parametrize("scheme", ["dark", pytest.param("light", marks=pytest.mark.long)])
def test_axe_finds_nothing_and_nothing_runs_over_a_phone(
    browser: Browser, court: Installation, scheme: Any
) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    sign_in(page, court)
    found = problems(page)
    page.get_by_role("link", name="Begin").click()
    found += problems(page)
    assert found == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()
