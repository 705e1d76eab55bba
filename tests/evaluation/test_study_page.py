"""The results page of a study: what a designer reads there, and when it says that figures are old."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import ProblemReport
from evaluation.results.aggregation import aggregate_study
from evaluation.results.meta_evaluation import evaluate_study
from judgments.jobs import run_job
from judgments.models import Dataset, Job, Study
from tests.evaluation.studies import StudyOf, make_dataset

pytestmark = pytest.mark.django_db

IMAGES = {
    "a.jpg": ["A dog runs over the grass .", "A brown dog is running .", "The dog runs ."],
    "b.jpg": ["A cat sleeps on a chair .", "A sleeping cat .", "The cat is on a chair ."],
}


def address(study: Study) -> str:
    return reverse("admin:judgments_study_results", args=[study.pk])


def do(study: Study, step: str) -> str:
    return reverse("admin:judgments_study_do", args=[study.pk, step])


def words(response: Any) -> str:
    text = re.sub(r"<(script|style|svg).*?</\1>|<[^>]+>", " ", response.content.decode(), flags=re.S)
    return re.sub(r"\s+", " ", html.unescape(text))


def pairwise(*, simulated: bool = False) -> StudyOf:
    """Two pairs judged by three people each, and a control item that w-3 gets wrong.

    Pair one: 1, 1 and (set aside) 2; pair two: 2, 2 and (set aside) 1. The first candidate of each pair is word for
    word a reference, so every metric names it: right on pair one, wrong on pair two.
    """
    made = StudyOf(make_dataset("pets", IMAGES), "pairwise", controls={"per_hit": 1, "threshold": 0.7})
    one = made.pair("p1", "a.jpg", "A brown dog is running .", "Blue cars ahead", kind="HM")
    two = made.pair("p2", "b.jpg", "A sleeping cat .", "Green hills far away", kind="HM")
    units = [made.unit("u1", pair=one), made.unit("u2", pair=two)]
    control = made.unit("c1", "a.jpg", first="A dog runs", control=True, expected=1)
    hit = made.hit("h1", [*units, control])
    sides = ["first-left", "first-left", "first-left"]
    for name, values in (("w-1", [1, 2, 1]), ("w-2", [1, 2, 1]), ("w-3", [2, 1, 2])):
        made.answer(hit, name, values, simulated=simulated, presented=sides, seconds=[2.0, 4.0, 9.0])
    Study.objects.filter(pk=made.study.pk).update(simulated=simulated)
    made.study.refresh_from_db()
    return made


def test_before_anything_is_computed_the_page_says_what_to_do(designer: Client) -> None:
    shown = words(designer.get(address(pairwise().study)))
    assert "Nothing is computed yet" in shown
    assert "Judgments 9 of 9" in shown
    assert "HITs complete 1 of 1" in shown


def test_a_study_without_judgments_has_nothing_to_compute(designer: Client) -> None:
    study = StudyOf(make_dataset("pets", IMAGES), "graded").study
    refused = designer.post(do(study, "compute"), follow=True)
    assert "has no judgments yet" in words(refused)
    assert not Job.objects.exists()


def test_computing_is_two_jobs_whose_results_the_page_shows(designer: Client) -> None:
    study = pairwise().study
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
    assert "n = 2 units" in shown
    assert "Units with a consensus 2 of 2" in shown
    assert "Pairs with a winner 2 of 2" in shown
    assert "Control items 67 % right 2 of 3 answers" in shown


def test_metrics_are_held_against_people_with_interval_and_n(designer: Client) -> None:
    study = pairwise().study
    aggregate_study(study=study)
    evaluate_study(study=study, metrics=["bleu-1"])
    response = designer.get(address(study))
    [row] = response.context["metrics_table"]["rows"]
    assert row["name"] == "bleu-1"
    # one of two pairs right: Wilson's 95 % interval is 9 to 91 %
    assert row["cells"][-1] == {"value": "50 %", "range": "9 to 91 %", "n": 2}
    assert "chance is 50 %" in words(response)
    assert "bleu-1|" in words(response)


def test_a_worker_below_the_threshold_is_shown_as_set_aside_with_the_reason(designer: Client) -> None:
    study = pairwise().study
    aggregate_study(study=study)
    shown = words(designer.get(address(study)))
    assert "w-3 2 0 of 1 – 4.0 33 % excluded: below .70 on control items" in shown
    assert re.search(r"w-1 2 1 of 1 \d+ % 4\.0 67 %", shown)


def test_every_figure_stands_with_a_sentence(designer: Client) -> None:
    study = pairwise().study
    aggregate_study(study=study)
    evaluate_study(study=study, metrics=["bleu-1", "rouge-l"])
    response = designer.get(address(study))
    assert response.content.decode().count("<svg") == 4
    assert {name for name, (figure, sentence) in response.context["figures"].items() if figure and sentence} == {
        "progress", "agreement", "workers", "metrics"
    }  # fmt: skip


def test_results_older_than_the_data_say_so(designer: Client) -> None:
    made = pairwise()
    aggregate_study(study=made.study)
    evaluate_study(study=made.study, metrics=["bleu-1"])
    assert "older than the data" not in words(designer.get(address(made.study)))
    hit = made.hit("h2", [made.unit("c2", "b.jpg", first="A cat", control=True, expected=1)])
    made.answer(hit, "w-1", [1])
    shown = words(designer.get(address(made.study)))
    assert "older than the data" in shown
    assert "from 9 judgments, and there are 10 now" in shown
    assert "before the newest data" in shown
    aggregate_study(study=made.study)
    shown = words(designer.get(address(made.study)))
    assert "older than the data" not in shown
    assert "before the newest data" in shown  # the metrics still are


def test_simulated_answers_are_called_that_on_the_page_and_in_each_figure(designer: Client) -> None:
    study = pairwise(simulated=True).study
    aggregate_study(study=study)
    evaluate_study(study=study, metrics=["bleu-1"])
    response = designer.get(address(study))
    assert "these answers come from the rehearsal crowd, not from people" in words(response)
    for figure, _ in response.context["figures"].values():
        assert "simulated" in figure.lower()


def test_graded_studies_show_how_metrics_order_captions(designer: Client) -> None:
    made = StudyOf(make_dataset("pets", IMAGES), "graded")
    texts = ["A dog runs .", "A brown dog .", "Cars .", "The dog is on the grass ."]
    units = [made.unit(f"u{number}", "a.jpg", first=text) for number, text in enumerate(texts)]
    hit = made.hit("h1", units)
    for name, values in (("w-1", [4, 3, 1, 4]), ("w-2", [4, 3, 1, 3]), ("w-3", [4, 4, 1, 3])):
        made.answer(hit, name, values)
    aggregate_study(study=made.study)
    evaluate_study(study=made.study, metrics=["bleu-1"])
    response = designer.get(address(made.study))
    assert response.context["metrics_table"]["columns"] == ["Kendall's tau-b", "Spearman's rho", "best kappa"]
    assert "alpha, interval" in words(response)
    assert "Left side" not in words(response)


def test_published_totals_have_no_table_of_workers(designer: Client) -> None:
    made = StudyOf(make_dataset("pets", IMAGES), "relevance", imported=True)
    hit = made.hit("h1", [made.unit(f"u{number}", "a.jpg", first=f"A dog {number}") for number in range(3)])
    for name in ("anon-1", "anon-2", "anon-3"):
        made.answer(hit, name, [1, 0, 1], anonymous=True)
    aggregate_study(study=made.study)
    shown = words(designer.get(address(made.study)))
    assert "anonymous places in published totals" in shown
    assert "anon-1" not in shown
    assert "Compute now" in shown


def test_reports_and_held_hits_are_listed(designer: Client) -> None:
    made = pairwise()
    assignment = made.study.assignments.all()[0]
    ProblemReport.objects.create(
        assignment=assignment, unit=made.study.units.all()[0], what="picture", comment="all <b>grey</b>"
    )
    response = designer.get(address(made.study))
    assert "The picture cannot be seen" in words(response)
    assert "all &lt;b&gt;grey&lt;/b&gt;" in response.content.decode()
    assert "Nobody holds a HIT at the moment" in words(response)


class TestTakingTheDataHome:
    def exported(self, designer: Client, study: Study, format: str) -> Job:
        designer.post(do(study, "export"), {"format": format, "page": "results"})
        job = Job.objects.get(kind="export")
        assert run_job(job.pk)
        return Job.objects.get(pk=job.pk)

    def test_an_export_is_written_by_a_job_and_downloaded_with_its_manifest(
        self, designer: Client, settings: Any, tmp_path: Any
    ) -> None:
        settings.EXPORT_ROOT = tmp_path
        study = pairwise().study
        job = self.exported(designer, study, "jsonl")
        shown = designer.get(address(study))
        download = f"{reverse('admin:judgments_study_download', args=[study.pk])}?job={job.pk}"
        assert download in shown.content.decode()
        file = designer.get(download)
        assert file.headers["Content-Disposition"].startswith("attachment;")
        assert len(b"".join(file).splitlines()) == 9
        manifest = designer.get(f"{download}&manifest=1")
        assert b'"sha256"' in b"".join(manifest)

    def test_a_format_that_cannot_hold_the_study_is_not_offered_and_refused(self, designer: Client) -> None:
        study = pairwise().study
        offered = [one.name for one in designer.get(address(study)).context["formats"]]
        assert "jsonl" in offered
        assert "flickr8k" not in offered
        refused = designer.post(do(study, "export"), {"format": "flickr8k"}, follow=True)
        assert "Format flickr8k does not fit" in words(refused)
        assert not Job.objects.exists()

    def test_the_file_of_another_study_is_not_handed_out(
        self, designer: Client, settings: Any, tmp_path: Any
    ) -> None:
        settings.EXPORT_ROOT = tmp_path
        study = pairwise().study
        job = self.exported(designer, study, "csv")
        other = StudyOf(Dataset.objects.get(name="pets"), "graded").study
        foreign = reverse("admin:judgments_study_download", args=[other.pk])
        assert designer.get(f"{foreign}?job={job.pk}").status_code == 404
        assert designer.get(f"{foreign}?job=nonsense").status_code == 404
