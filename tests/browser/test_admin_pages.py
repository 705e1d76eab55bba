"""Every page of the admin, wide and on a phone, light and dark: axe finds nothing, nothing runs over the window.

No icon's word is read aloud, and a term of the field explains itself.
"""

import re
from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import problems
from tests.browser.researching import RUNS_OVER, make_researcher, sign_in
from tests.installations import Installation, Installations

CAST = """
from django.contrib.auth.models import User
from evaluation.results.aggregation import aggregate_study
from evaluation.results.metrics.storage import evaluate_study
from judgments.access.tokens import create_token
from tests.annotation.casting import make_dataset, make_study
from tests.evaluation.test_study_page import pairwise
from tests.strangers import addresses

User.objects.filter(username="rosa").update(is_superuser=True)
study = pairwise().study
aggregate_study(study=study)
evaluate_study(study=study, metrics=["bleu-1", "rouge-l"])
make_study(make_dataset("live", images=12), "relevance", slug="live", images_per_hit=3, captions_per_image=6)
create_token(user=User.objects.get(username="rosa"), name="laptop", scopes=["judgments:read"])
print("\\n".join(one for one in addresses(study) if one.startswith("/admin/") and "/do/" not in one))
"""
LOOKS: list[tuple[int, Literal["light", "dark"]]] = [
    (1440, "light"), (1440, "dark"), (390, "light"), (390, "dark"),
]  # fmt: skip
# Icons are words of a font; what is read aloud of a control must not begin with one.
SAID_ICONS = """() => [...document.querySelectorAll(".material-symbols-outlined:not([aria-hidden=true])")]
    .filter((icon) => icon.checkVisibility() && !icon.closest("[aria-hidden=true], [aria-label]"))
    .map((icon) => icon.parentElement.outerHTML.slice(0, 120))"""


@pytest.fixture(scope="module")
def office(installations: Installations) -> Iterator[tuple[Installation, list[str]]]:
    with installations.fresh("sqlite") as installation:
        make_researcher(installation, "rosa")
        addresses = installation.python(CAST).split()
        installation.start_server()
        yield installation, [one for one in addresses if one.startswith("/admin/")]


@pytest.mark.long
def test_every_page_can_be_read_by_everybody(page: Page, office: tuple[Installation, list[str]]) -> None:
    installation, addresses = office
    sign_in(page, installation, "rosa")
    found, seen = [], 0
    for address in addresses:
        # The pages of work of this cast cannot be drawn in a frame, and decisions on money are only posted.
        if re.search("logout|-file/|/download/|jsi18n|autocomplete|progress|/hit/|limit/requests/", address):
            continue
        answer = page.goto(f"{installation.url}{address}")
        if answer is None or "text/html" not in answer.headers.get("content-type", ""):
            continue
        if not page.locator("#nav-sidebar-apps").count():  # a fragment, or no page of the admin's
            continue
        seen += 1
        for width, scheme in LOOKS:
            page.set_viewport_size({"width": width, "height": 844})
            page.emulate_media(color_scheme=scheme)
            wrong = [*problems(page), *page.evaluate(SAID_ICONS), *page.evaluate(RUNS_OVER)]
            found += [f"{address} {width} {scheme}: {one}" for one in wrong]
    assert seen > 100
    assert found == [], "\n".join(found)


@pytest.mark.long
def test_a_term_explains_itself_by_the_keyboard(page: Page, office: tuple[Installation, list[str]]) -> None:
    installation, addresses = office
    sign_in(page, installation, "rosa")
    [results] = [one for one in addresses if one.endswith("/results/")]
    page.goto(f"{installation.url}{results}")
    terms = page.locator(".q-term", has_text=re.compile("consensus", re.I))
    expect(terms).to_have_count(1)
    meaning = page.locator(".q-meaning:popover-open")
    expect(meaning).to_have_count(0)
    terms.focus()
    page.keyboard.press("Enter")
    expect(meaning).to_be_in_viewport(ratio=1)
    page.keyboard.press("Escape")
    expect(meaning).to_have_count(0)
    page.keyboard.press("Enter")
    meaning.get_by_role("link").click()
    expect(page.get_by_role("article")).to_contain_text("consensus")
