"""The first look at a large study: its pages say that they are being counted, and fill in when a job is done."""

import pytest
from django.test import Client
from django.utils import timezone

from annotation import snapshots
from evaluation.results.aggregation import aggregate_study
from evaluation.results.metrics.storage import evaluate_study
from judgments.jobs.claims import run_job
from judgments.models import Job
from judgments.studies import hits_page
from tests.evaluation.test_study_page import pairwise
from tests.judgments.desk import page, words
from tests.marks import long_except

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture(autouse=True)
def _large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any study counts as large."""
    monkeypatch.setattr(snapshots, "MANY_ASSIGNMENTS", 1)
    monkeypatch.setattr(hits_page, "MIN_CACHED_ROWS", 1)


def work_off() -> None:
    for pk in Job.objects.filter(state="queued").values_list("pk", flat=True):
        assert run_job(pk)


@pytest.mark.parametrize("name", long_except(["hits", "controls", "crowd", "results"], "hits", "results"))
def test_a_page_says_that_it_is_being_counted_and_then_shows_what_it_always_shows(
    name: str, designer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = pairwise()
    aggregate_study(study=made.study)
    evaluate_study(study=made.study, metrics=["bleu-1"])
    address = page(made.study, name)
    with monkeypatch.context() as small:
        for where, what in ((snapshots, "MANY_ASSIGNMENTS"), (hits_page, "MIN_CACHED_ROWS")):
            small.setattr(where, what, 10_000)
        usual = words(designer.get(address))
    first = designer.get(address)
    assert first.status_code == 200
    assert "results are being computed for the first time" in words(first)
    assert f'hx-get="{address}"' in first.content.decode()
    waiting = designer.get(address, headers=HTMX)
    assert (waiting.status_code, waiting.content) == (204, b"")
    assert Job.objects.filter(kind="figures").count() == 1
    work_off()
    assert words(designer.get(address, headers=HTMX)) == usual
    assert words(designer.get(address)) == usual


def test_work_is_shown_at_once_while_it_is_counted(designer: Client) -> None:
    made = pairwise()
    shown = designer.get(page(made.study, "work"))
    assert shown.context["work"]
    assert "counted" not in words(shown)
    work_off()
    assert designer.get(page(made.study, "work")).status_code == 200


def test_where_counting_fails_the_page_says_why_and_asks_no_more(designer: Client) -> None:
    made = pairwise()
    designer.get(page(made.study, "results"))
    Job.objects.filter(kind="figures").update(
        state="failed", error="The disk is full.", finished_at=timezone.now()
    )
    address = page(made.study, "results")
    shown = designer.get(address, headers=HTMX)
    assert shown.status_code == 200
    assert "The disk is full." in words(shown)
    assert f'hx-get="{address}"' not in shown.content.decode()
    assert not Job.objects.filter(state="queued").exists()
