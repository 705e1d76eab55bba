"""The board in a real browser: what somebody else hands in shows up without loading the page again."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import LOOKS, problems
from tests.browser.researching import LOOSE, RUNS_OVER, sign_in
from tests.installations import Installation, Installations

CAST = """
from django.contrib.auth.models import User
from tests.annotation.casting import make_dataset, make_study
from tests.annotation.voting import always_first, joined, work
from contrib.dashboard.snapshot import compute_snapshot, store_snapshot
from evaluation.results.aggregation import aggregate_study
from evaluation.results.metrics.storage import evaluate_study

study = make_study(make_dataset(images=12), "pairwise", slug="animals", name="Animals", judgments_per_unit=5)
for number in range(3):
    work(study, joined(study, f"w-{number}"), always_first)
aggregate_study(study=study)
evaluate_study(study=study, metrics=["bleu-1", "rouge-l"])
store_snapshot(compute_snapshot(study=study))
User.objects.create_superuser("designer", password="a-long-phrase-1")
print(study.pk)
"""
LATE = """
from judgments.models import Study
from tests.annotation.voting import always_first, joined, work

work(Study.objects.get(slug="animals"), joined(Study.objects.get(slug="animals"), "late"), always_first, most=1)
"""


@pytest.fixture(scope="module")
def office(installations: Installations) -> Iterator[tuple[Installation, str]]:
    """An installation with a study that people work in, and the address of its board."""
    with installations.fresh("sqlite") as installation:
        pk = installation.python(CAST).split()[-1]
        installation.start_server()
        yield installation, f"{installation.url}/admin/judgments/study/{pk}/board/"


@pytest.mark.long
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


@pytest.mark.long
def test_it_breaks_no_rule_of_access(page: Page, office: tuple[Installation, str]) -> None:
    """Wide and light as on a phone in the dark."""
    installation, address = office
    sign_in(page, installation)
    for width, scheme in LOOKS:
        page.goto(address)
        page.set_viewport_size({"width": width, "height": 844})
        page.evaluate("scheme => localStorage.setItem('adminTheme', JSON.stringify(scheme))", scheme)
        page.goto(address)
        assert problems(page, within=".q-page") == [], width
        assert page.evaluate(RUNS_OVER) == [], width
        for wide in (
            (768, 1280, 1920) if width == LOOKS[0][0] else ()
        ):  # on a phone they scroll in their cards
            page.set_viewport_size({"width": wide, "height": 844})
            assert page.evaluate(LOOSE) == [], wide
