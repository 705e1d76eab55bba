"""Agreement within a study, of a study with a file, and the model of workers beside the consensus."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from evaluation.data.export.exporting import export_judgments
from evaluation.models import Analysis
from evaluation.reports.releases.verification import verify_study
from evaluation.results.aggregation import aggregate_study
from judgments.models import Dataset, Study
from tests.evaluation.reporting import words
from tests.evaluation.studies import StudyOf, make_dataset
from tests.judgments.desk import page

pytestmark = pytest.mark.django_db

IMAGES = {"a.jpg": ["A dog runs ."], "b.jpg": ["A cat sleeps ."]}
TEXTS = ("a dog", "a cat", "a house", "a tree")


def captions(dataset: Dataset, slug: str, protocol: str, answers: dict[str, list[int]], **more: Any) -> Study:
    """A caption of a.jpg a unit; one worker for each place in the answers."""
    made = StudyOf(dataset, protocol, name=slug.title(), slug=slug, controls={"per_hit": 0}, **more)
    units = [made.unit(f"{slug}-{text}", "a.jpg", first=text) for text in answers]
    people = len(next(iter(answers.values())))
    hit = made.hit("h1", units, required=people)
    for place in range(people):
        made.answer(hit, f"{slug}-{place}", [given[place] for given in answers.values()])
    return made.study


def crowd_of(dataset: Dataset) -> Study:
    """Relevance of four captions: yes, yes, no, no."""
    votes = dict(zip(TEXTS, ([1, 1, 1], [1, 1, 0], [0, 0, 1], [0, 0, 0]), strict=True))
    return captions(dataset, "crowd", "relevance", votes)


@pytest.fixture(scope="module")
def dataset(module_db: None) -> Dataset:
    return make_dataset("pets", IMAGES)


@pytest.fixture(scope="module")
def crowd(dataset: Dataset) -> Study:
    return crowd_of(dataset)


def test_a_study_is_compared_with_its_own_export_unit_by_unit(crowd: Study, tmp_path: Path) -> None:
    file = tmp_path / "crowd.jsonl"
    export_judgments(study=crowd, format="jsonl", output=file)
    printed = StringIO()
    call_command("agreement", "study:crowd", second=file, resamples=20, stdout=printed, stderr=StringIO())
    found = json.loads(printed.getvalue())
    assert found["units"]["by_id"] == 4
    assert found["consensus"]["same"] == 4
    assert found["correlation"]["pearson"]["value"] == pytest.approx(1.0)
    assert found["first"]["alpha"] == found["second"]["alpha"]


def test_agreement_of_a_study_has_the_other_coefficients_beside_alpha(designer: Client, crowd: Study) -> None:
    found = aggregate_study(study=crowd)["agreement"]["coefficients"]
    # six of twelve votes are yes; units agree fully, 1/3, 1/3, fully
    assert found["percent"]["value"] == pytest.approx(2 / 3)
    assert found["fleiss"]["value"] == pytest.approx(1 / 3)
    assert found["gwet"]["value"] == pytest.approx(1 / 3)
    shown = words(designer.get(page(crowd, "results")))
    assert "Fleiss’ kappa" in shown
    assert "Gwet’s AC has identity weights" in shown


def test_results_that_were_stored_before_there_were_coefficients_still_hold(crowd: Study) -> None:
    aggregate_study(study=crowd)
    stored = Analysis.objects.get(study=crowd)
    del stored.result["agreement"]["coefficients"]
    stored.save()
    assert verify_study(study=crowd).count == 0
    stored.result["agreement"]["alpha"]["value"] += 0.1
    stored.save()
    assert verify_study(study=crowd).count == 1


def test_the_model_of_workers_stands_beside_the_consensus_and_never_replaces_it(
    designer: Client, dataset: Dataset
) -> None:
    # Two workers agree on everything; three answer by no rule and outvote them on the last caption.
    good = [1, 0] * 20
    careless = [[1, 1, 0, 0] * 10, [0, 1, 1, 0] * 10, [1, 1, 1, 0, 0, 0, 1, 0] * 5]
    answers = {
        f"caption {place:02}": [good[place], good[place], *(one[place] for one in careless)]
        for place in range(40)
    }
    answers["outvoted"] = [0, 0, 1, 1, 1]
    answers["outvoted more"] = [1, 1, 0, 0, 0]
    study = captions(dataset, "mixed", "relevance", answers)
    result = aggregate_study(study=study)
    model = result["dawid_skene"]
    consensus = {row["unit"]: row["value"] for row in result["units"]}
    said = {row["unit"]: row for row in model["units"]}
    assert (consensus["mixed-outvoted more"], said["mixed-outvoted more"]["value"]) == (0, 1)
    assert said["mixed-outvoted more"]["probability"] > 0.9
    differing = [unit for unit, value in consensus.items() if value != said[unit]["value"]]
    assert model["differ"] == len(differing)
    accuracy = {row["worker"]: row["accuracy"] for row in model["workers"]}
    assert min(accuracy["mixed-0"], accuracy["mixed-1"]) > 0.9 > 0.75 > accuracy["mixed-2"]
    assert model["converged"]
    shown = words(designer.get(page(study, "results")))
    assert "Does the consensus depend on how the answers are combined?" in shown
    assert "a.jpg outvoted more no no 3, yes 2 yes" in shown


def test_nothing_is_modelled_of_raters_who_are_places_in_totals(dataset: Dataset) -> None:
    made = StudyOf(dataset, "relevance", slug="totals", imported=True)
    hit = made.hit("h1", [made.unit("u1", "a.jpg", first="a dog")])
    for place in (1, 2):
        made.answer(hit, f"anon-{place}", [1], anonymous=True)
    model = aggregate_study(study=made.study)["dawid_skene"]
    assert set(model) == {"reason"}
    assert model["reason"]
