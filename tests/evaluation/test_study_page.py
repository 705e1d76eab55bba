"""The results page of a study: what a designer reads there, and when it says that figures are old."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import ProblemReport, Worker
from annotation.quality.exclusions import exclude_worker
from evaluation.models import Analysis
from evaluation.results.aggregation import aggregate_study
from evaluation.results.metrics.storage import evaluate_study
from judgments.jobs.claims import run_job
from judgments.models import Job, Study
from tests.evaluation.reporting import words
from tests.evaluation.studies import StudyOf, pets_judged
from tests.judgments.desk import do, page

pytestmark = pytest.mark.django_db

IMAGES = {
    "a.jpg": ["A dog runs over the grass .", "A brown dog is running .", "The dog runs ."],
    "b.jpg": ["A cat sleeps on a chair .", "A sleeping cat .", "The cat is on a chair ."],
}


def pairwise() -> StudyOf:
    """Two pairs judged by three people each, and a control item that w-3 gets wrong.

    Pair one: 1, 1 and (set aside) 2; pair two: 2, 2 and (set aside) 1. The first candidate of each pair is word for
    word a reference, so every metric names it: right on pair one, wrong on pair two.
    """
    return pets_judged(IMAGES, [2, 1, 2])


@pytest.fixture(scope="module")
def made(module_db: None) -> StudyOf:
    """Judged, aggregated, and evaluated by two metrics."""
    found = pairwise()
    aggregate_study(study=found.study)
    evaluate_study(study=found.study, metrics=["bleu-1", "rouge-l"])
    return found


@pytest.fixture
def study(made: StudyOf) -> Study:
    return Study.objects.get(pk=made.study.pk)


def address(study: Study) -> str:
    return page(study, "results")


def test_before_anything_is_computed_the_page_says_what_to_do(study: Study, designer: Client) -> None:
    Analysis.objects.all().delete()
    shown = words(designer.get(address(study)))
    assert "Nothing has been computed yet" in shown
    assert "Judgments 9 of 9" in shown
    assert "Pages of work complete 1 of 1" in shown


def test_a_study_without_judgments_has_nothing_to_compute(study: Study, designer: Client) -> None:
    empty = StudyOf(study.dataset, "graded").study
    refused = designer.post(do(empty, "compute"), follow=True)
    assert "has no judgments yet" in words(refused)
    assert not Job.objects.exists()


def test_computing_is_two_jobs_whose_results_the_page_shows(study: Study, designer: Client) -> None:
    Analysis.objects.all().delete()
    designer.post(do(study, "compute"))
    for job in Job.objects.order_by("pk"):
        assert run_job(job.pk)
    assert list(Job.objects.order_by("pk").values_list("kind", "state")) == [
        ("aggregate", "done"),
        ("evaluate", "done"),
    ]
    shown = words(designer.get(address(study)))
    # both used workers agree on both units: alpha is 1 where the two units' answers differ
    assert "Agreement 1.00 alpha, nominal" in shown
    assert "; items: 2" in shown
    assert "Items with a consensus 2 of 2" in shown
    assert "Pairs with a winner 2 of 2" in shown
    assert "Check questions 67 % right right answers: 2 of 3" in shown


def test_metrics_are_held_against_people_with_interval_and_n(study: Study, designer: Client) -> None:
    response = designer.get(address(study))
    shown = words(response)
    # one of two pairs right: wider than Wilson's 95 % interval of independent pairs, 9 to 91 %
    stored = Analysis.objects.get(study=study, what="meta-evaluation").result["metrics"]["bleu-1"]
    low, high = (round(100 * stored["accuracy"]["all"][end]) for end in ("low", "high"))
    assert low < 9 < 91 < high
    assert re.search(rf"bleu-1( 50 \[{low}, {high}\], n = 2)+ ", shown)
    assert "rouge-l 50" in shown
    assert "Chance is 50 %" in shown
    assert "bleu-1|" in words(response)


def test_links_lead_to_further_pages_in_the_order_of_their_tabs(study: Study, designer: Client) -> None:
    links = designer.get(address(study)).context["page_links"]
    assert [link["label"] for link in links] == [
        "Where metrics and people disagree",
        "Comparison of two metrics, imported scores",
        "Ranking of the systems",
        "How much people disagree",
        "Disputed items",
        "Report: figures, tables, methods",
    ]
    assert links[1]["url"] == page(study, "metrics")


def test_a_worker_below_the_threshold_is_shown_as_set_aside_with_the_reason(
    study: Study, designer: Client
) -> None:
    shown = words(designer.get(address(study)))
    assert "w-3 2 0 of 1 – 4.0 33 % not used: below the pass mark of 70 %" in shown
    assert re.search(r"w-1 2 1 of 1 \d+ % 4\.0 67 %", shown)


def test_results_say_how_many_answers_are_not_used_and_lead_to_the_people(
    study: Study, designer: Client
) -> None:
    begun = (
        "Answers that are not used: 2 of 6 (33 %). The reason: 1 participant answered too few check questions "
        "right (2)."
    )
    assert begun in words(designer.get(address(study)))
    exclude_worker(study=study, worker=Worker.objects.get(name="w-2"), why="careless")
    aggregate_study(study=study)
    said = (
        "Answers that are not used: 4 of 6 (67 %). The reason: 1 participant answered too few check "
        "questions right (2), and 1 participant was excluded (2)."
    )
    shown = designer.get(address(study))
    assert said in words(shown)
    for link in (f"{address(study)}#people", page(study, "review")):
        assert f'href="{link}"' in shown.content.decode()


def test_every_figure_stands_with_a_sentence(study: Study, designer: Client) -> None:
    response = designer.get(address(study))
    assert response.content.decode().count("<svg") == 4
    assert {name for name, plot in response.context["figures"].items() if plot.markup and plot.sentence} == {
        "progress", "agreement", "workers", "metrics"
    }  # fmt: skip


def test_results_older_than_the_data_say_so(made: StudyOf, study: Study, designer: Client) -> None:
    assert "out of date" not in words(designer.get(address(study)))
    hit = made.hit("h2", [made.unit("c2", "b.jpg", first="A cat", control=True, expected=1)])
    made.answer(hit, "w-1", [1])
    shown = words(designer.get(address(study)))
    assert "out of date" in shown
    assert "Judgments then: 9; now: 10." in shown
    assert "before the newest data" in shown
    aggregate_study(study=study)
    shown = words(designer.get(address(study)))
    assert "out of date" not in shown
    assert "before the newest data" in shown  # the metrics still are


def test_simulated_answers_are_called_that_once_on_a_page(study: Study, designer: Client) -> None:
    Study.objects.filter(pk=study.pk).update(simulated=True)
    shown = words(designer.get(address(study)))
    assert "These answers come from the rehearsal crowd, not from people" in shown
    assert shown.lower().count("simulated") == 1


def fields(response: Any) -> set[str]:
    return set(re.findall(r'name="([a-z_]+)"', response.content.decode()))


def test_further_readings_are_asked_for_on_the_page_and_shown_beside_the_usual_figures(
    study: Study, designer: Client
) -> None:
    before = designer.get(address(study))
    assert {"all_pairs", "references"} <= fields(before)
    assert "tau_c" not in fields(before)
    done = designer.post(
        reverse("admin:judgments_study_do", args=[study.pk, "compute"]),
        {"page": "results", "metrics": "bleu-1", "tokenizer": "ptb", "all_pairs": "on", "references": "1, 2"},
    )
    assert done.status_code == 302
    args = Job.objects.get(kind="evaluate").args
    assert (args["all_pairs"], args["references"], args["metrics"]) == (True, [1, 2], ["bleu-1"])
    evaluate_study(study=study, metrics=["bleu-1"], all_pairs=True, references=[1])
    shown = words(designer.get(address(study)))
    assert "Accuracy over all pairs" in shown
    assert "Accuracy with fewer references" in shown
    assert re.search(r"all bleu-1 1 \d+ ", shown)


def test_graded_studies_show_how_metrics_order_captions(study: Study, designer: Client) -> None:
    made = StudyOf(study.dataset, "graded")
    texts = ["A dog runs .", "A brown dog .", "Cars .", "The dog is on the grass ."]
    made.judge_texts(texts, {"w-1": [4, 3, 1, 4], "w-2": [4, 3, 1, 3], "w-3": [4, 4, 1, 3]})
    aggregate_study(study=made.study)
    evaluate_study(study=made.study, metrics=["bleu-1"], tau_c=True, single_grades=True)
    response = designer.get(address(made.study))
    shown = words(response)
    assert "Metric Tau-b Rho r Highest kappa Thresholds of metric / people n bleu-1" in shown
    assert "bleu-1 means, or shares, of people tau-c" in shown
    assert "bleu-1 every single judgment tau-b" in shown
    assert {"tau_c", "own_kept", "metric_at_least"} <= fields(response)
    assert "all_pairs" not in fields(response)
    assert "alpha, interval" in words(response)
    assert "Left side" not in words(response)


def test_published_totals_have_no_table_of_workers(study: Study, designer: Client) -> None:
    made = StudyOf(study.dataset, "relevance", imported=True)
    hit = made.hit("h1", [made.unit(f"u{number}", "a.jpg", first=f"A dog {number}") for number in range(3)])
    for name in ("anon-1", "anon-2", "anon-3"):
        made.answer(hit, name, [1, 0, 1], anonymous=True)
    aggregate_study(study=made.study)
    shown = words(designer.get(address(made.study)))
    assert "anonymous places" in shown
    assert "anon-1" not in shown
    assert "Compute now" in shown


def test_reports_and_held_hits_are_listed(study: Study, designer: Client) -> None:
    assignment, unit = study.assignments.all()[0], study.units.all()[0]
    ProblemReport.objects.create(assignment=assignment, unit=unit, what="picture", comment="all <b>grey</b>")
    response = designer.get(address(study))
    assert "The picture cannot be seen" in words(response)
    assert "all &lt;b&gt;grey&lt;/b&gt;" in response.content.decode()
    assert "No page of work is in progress" in words(response)


def test_an_export_is_written_by_a_job_and_downloaded_with_its_manifest(
    study: Study, designer: Client, settings: Any, tmp_path: Path
) -> None:
    settings.EXPORT_ROOT = tmp_path
    designer.post(do(study, "export"), {"format": "jsonl", "page": "exports"})
    job = Job.objects.get(kind="export")
    assert run_job(job.pk)
    download = f"{page(study, 'download')}?job={job.pk}"
    assert download in designer.get(page(study, "exports")).content.decode()
    file = designer.get(download)
    assert file.headers["Content-Disposition"].startswith("attachment;")
    assert len(b"".join(file).splitlines()) == 9
    manifest = designer.get(f"{download}&manifest=1")
    assert b'"sha256"' in b"".join(manifest)
    foreign = page(StudyOf(study.dataset, "graded").study, "download")
    assert designer.get(f"{foreign}?job={job.pk}").status_code == 404
    assert designer.get(f"{foreign}?job=nonsense").status_code == 404


def test_a_format_that_cannot_hold_the_study_is_not_offered_and_refused(
    study: Study, designer: Client
) -> None:
    offered = [name for name, *_ in designer.get(page(study, "exports")).context["formats"]]
    assert "jsonl" in offered
    assert ">JSON lines for programs</button>" in designer.get(page(study, "exports")).content.decode()
    assert "flickr8k" not in offered
    refused = designer.post(do(study, "export"), {"format": "flickr8k"}, follow=True)
    assert "Format flickr8k" in words(refused)
    assert not Job.objects.exists()
