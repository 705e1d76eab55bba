"""What is found in a study, in a real browser: no rule of access is broken, and pages of large studies fill in."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import LOOKS, SERIOUS, problems
from tests.browser.researching import LOOSE, RUNS_OVER, sign_in
from tests.installations import Installation, Installations

CAST = """
from django.contrib.auth.models import User
from tests.annotation.casting import make_dataset, make_study
from tests.annotation.voting import always_first, joined, work
from evaluation.reports.storage import (report_for_download, store_report)
from evaluation.results.aggregation import aggregate_study
from evaluation.results.metrics.storage import evaluate_study

study = make_study(make_dataset(images=12), "pairwise", slug="animals", name="Animals", judgments_per_unit=5)
for number in range(3):
    work(study, joined(study, f"w-{number}"), always_first)
aggregate_study(study=study)
evaluate_study(study=study, metrics=["bleu-1", "rouge-l"])
report, file = report_for_download(study=study, job_id=1)
store_report(study=study, report=report, file=file)
User.objects.create_superuser("designer", password="a-long-phrase-1")
print(study.pk)
"""
MANY_ASSIGNMENTS = """
from datetime import timedelta
from django.contrib.auth.models import User
from django.utils import timezone
from annotation.snapshots import MANY_ASSIGNMENTS
from annotation.models import Assignment, Worker
from tests.annotation.casting import make_dataset, make_study

study = make_study(make_dataset(pictures=False), "pairwise", slug="much", name="Much work")
people = Worker.objects.bulk_create(Worker(name=f"w-{number:05}") for number in range(100))
now = timezone.now()
Assignment.objects.bulk_create(
    # HITs are left empty, as for imported work: their seats would not hold so many
    Assignment(study=study, worker=people[number % 100], state="submitted", accepted_at=now - timedelta(minutes=2),
               submitted_at=now)
    for number in range(MANY_ASSIGNMENTS)
)
User.objects.create_superuser("designer", password="a-long-phrase-1")
print(study.pk)
"""
COUNT = """
from judgments.jobs.claims import run_job
from judgments.models import Job

assert [run_job(pk) for pk in Job.objects.filter(kind="figures", state="queued").values_list("pk", flat=True)] == [True]
"""


@pytest.fixture(scope="module")
def office(installations: Installations) -> Iterator[tuple[Installation, str]]:
    """An installation with a study that people work in, and the address of its results."""
    with installations.fresh("sqlite") as installation:
        pk = installation.python(CAST).split()[-1]
        installation.start_server()
        yield installation, f"{installation.url}/admin/judgments/study/{pk}/results/"


@pytest.mark.long
def test_what_is_found_breaks_no_rule_of_access(page: Page, office: tuple[Installation, str]) -> None:
    """Wide and light as on a phone in the dark."""
    installation, address = office
    sign_in(page, installation)
    page.goto(address)  # a page of the site's own, since a blank one has no storage
    for width, scheme in LOOKS:
        page.set_viewport_size({"width": width, "height": 844})
        page.evaluate("scheme => localStorage.setItem('adminTheme', JSON.stringify(scheme))", scheme)
        for name in ("results", "report", "closer", "disputes", "releases"):
            page.goto(address.replace("/results/", f"/{name}/"))
            assert problems(page, within=".q-page") == [], (name, width)
            if name == "report" and width > 1000:  # four screens; print has what is folded, too
                assert page.evaluate("document.documentElement.scrollHeight") <= 4 * 900
                folded = page.locator(".r-fold .r-table").first
                expect(folded).to_be_hidden()
                page.emulate_media(media="print")
                expect(folded).to_be_visible()
                page.emulate_media(media="screen")
            assert page.evaluate(RUNS_OVER) == [], (name, width)
            for wide in (
                (768, 1280, 1920) if width == LOOKS[0][0] else ()
            ):  # on a phone they scroll in their cards
                page.set_viewport_size({"width": wide, "height": 844})
                assert page.evaluate(LOOSE) == [], (name, wide)
            page.set_viewport_size({"width": width, "height": 844})


@pytest.mark.long
def test_a_page_of_a_large_study_fills_in_without_a_reload(page: Page, installations: Installations) -> None:
    with installations.fresh("sqlite") as installation:
        pk = installation.python(MANY_ASSIGNMENTS).split()[-1]
        installation.start_server()
        sign_in(page, installation)
        page.goto(f"{installation.url}/admin/judgments/study/{pk}/results/")
        waiting = page.get_by_role("heading", name="Computing the results")
        expect(waiting).to_be_visible()
        assert problems(page, within=".q-page", impacts=SERIOUS) == []
        page.evaluate("window.stayed = true")
        menu = page.locator("summary", has_text="More")
        menu.focus()
        installation.python(COUNT)
        expect(page.get_by_role("heading", name="Nothing has been computed yet")).to_be_visible()
        expect(waiting).to_have_count(0)
        assert page.evaluate("window.stayed") is True
        expect(menu).to_be_focused()
