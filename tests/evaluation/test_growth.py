"""Services that walk a study's rows do twice the work for twice the judgments, not four times."""

from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pytest

from benchmarks.filling import fill_study
from contrib.judgment_imports.importing import import_judgments
from evaluation.data.export.exporting import export_judgments
from evaluation.data.releases.terms import ReleaseTerms
from evaluation.reports.releases.making import release_study
from evaluation.results.aggregation import aggregate_study
from evaluation.results.metrics.storage import evaluate_study
from judgments.design.reading.checking import make_design
from judgments.models import Study
from judgments.studies.generation.hits import generate_hits
from judgments.studies.studies import create_study
from tests.growth import check_linear, growth, work_of
from tests.plots import undrawn


class Service(Protocol):
    """One call for a study; files go into the folder."""

    def __call__(self, study: Study, folder: Path) -> Any: ...


def aggregate(study: Study, folder: Path) -> None:
    aggregate_study(study=study)


def evaluate(study: Study, folder: Path) -> None:
    evaluate_study(study=study, metrics=["bleu-1", "rouge-l"])


def export(study: Study, folder: Path) -> None:
    for name in ("jsonl", "parquet", "reliability"):
        export_judgments(study=study, format=name, output=folder / f"{study.slug}.{name}")


def import_again(study: Study, folder: Path) -> None:
    path = folder / f"{study.slug}.again.jsonl"
    export_judgments(study=study, format="jsonl", output=path)
    import_judgments(format="jsonl", path=path, dataset=study.dataset.name, study=f"{study.slug}-again")


def generate(study: Study, folder: Path) -> None:
    """Generate another study of the dataset, whose images grow with the judgments."""
    values = {
        "protocol": "graded",
        "sampling": {"pairs_from": "outputs"},
        "controls": {"per_hit": 1, "split": "test"},
    }
    name = f"{study.slug}-graded"
    design = make_design({"name": name, "slug": name, "dataset": study.dataset.name, **values})
    generate_hits(study=create_study(design=design))


def release(study: Study, folder: Path) -> None:
    """With the report of the study, which is most of it."""
    terms = ReleaseTerms(version="1.0", licence="CC-BY-4.0")
    with undrawn():
        release_study(study=study, terms=terms, output=folder / f"{study.slug}.zip", salt=b"a salt")


def study_of(judgments: int) -> Study:
    """A study whose workers all count, so that twice the judgments are twice the counted ones."""
    study = fill_study(judgments=judgments, slug=f"of-{judgments}", seed=judgments)
    study.design["controls"]["threshold"] = 0.0
    study.state = Study.State.CLOSED
    study.save(update_fields=["design", "state"])
    return study


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("service", "smallest"),
    [
        (aggregate, 600),
        (evaluate, 600),
        (export, 120),
        (import_again, 600),
        (generate, 6_000),
        (release, 60),
    ],
)
def test_a_service_does_twice_the_work_for_twice_the_judgments(
    service: Service, smallest: int, tmp_path: Path
) -> None:
    service(study_of(100), tmp_path)  # fills caches that all sizes share

    studies = [study_of(smallest * times) for times in (1, 2, 4)]
    works = [work_of(partial(service, study, tmp_path)) for study in studies]

    check_linear(works)


def test_growth_tells_lines_from_curves() -> None:
    sizes = (10, 20, 40)

    assert growth([1_000 + 3 * n for n in sizes]) == 2
    assert growth([1_000 + n * n for n in sizes]) == 4
    assert growth([7, 7, 7]) == 0
