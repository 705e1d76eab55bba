"""Every sentence of results, dashboard and report is true of every study that chance draws."""

from pathlib import Path

import pytest
from django.test import Client

from benchmarks.claims import check_study
from evaluation.results.aggregation import aggregate_study
from judgments.jobs.claims import run_job
from judgments.models import Job
from tests.evaluation.studies import StudyOf, make_dataset
from tests.judgments.desk import do, page, words

pytestmark = pytest.mark.django_db


@pytest.mark.long
@pytest.mark.parametrize("tens", range(4))
def test_what_is_said_of_small_studies_follows_from_their_rows(
    tens: int, designer: Client, tmp_path: Path
) -> None:
    """`python -m benchmarks.sentences` draws 200."""
    wrong = []
    for seed in range(10 * tens, 10 * tens + 10):
        wrong += check_study(seed, designer, tmp_path)[1]
    assert wrong == []


def test_what_more_answers_would_bring_is_not_said_where_all_items_have_one_mean(designer: Client) -> None:
    """Two people grade two items 1 and 4, and 4 and 1."""
    made = StudyOf(make_dataset("pets", {"a.jpg": ["a dog"], "b.jpg": ["a cat"]}), "graded")
    hit = made.hit("h", [made.unit("u1", "a.jpg", first="a dog"), made.unit("u2", "b.jpg", first="a cat")])
    made.answer(hit, "ada", [1, 4])
    made.answer(hit, "ben", [4, 1])
    aggregate_study(study=made.study)
    shown = words(designer.get(page(made.study, "results")))
    assert "0 % between items, 0 % between participants, and 100 % residual" in shown
    assert (
        "All items have the same mean answer. These answers therefore cannot show whether more items" in shown
    )
    assert "standard error of" not in shown


@pytest.mark.parametrize("protocol", ["pairwise", "graded"])
def test_where_metrics_cannot_be_computed_nothing_has_failed(protocol: str, designer: Client) -> None:
    made = StudyOf(make_dataset("bare", {"a.jpg": []}), protocol)
    unit = (
        {"pair": made.pair("p", "a.jpg", "a dog", "a cat")} if protocol == "pairwise" else {"first": "a dog"}
    )
    hit = made.hit("h", [made.unit("u", "a.jpg", **unit)])
    made.answer(hit, "ada", [1])
    designer.post(do(made.study, "compute"), {"page": "results"})
    jobs = list(Job.objects.filter(kind__in=["aggregate", "evaluate"]))
    assert [run_job(job.pk) for job in jobs] == [True, True]
    assert set(Job.objects.values_list("state", flat=True)) == {Job.State.DONE}
    shown = words(designer.get(page(made.study, "results")))
    assert "failed" not in shown
    assert "Add references to dataset 'bare', then compute again." in shown
