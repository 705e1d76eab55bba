"""Aggregation, evaluation and export as background jobs."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from common.errors import ObjectNotFound
from evaluation.data.export.downloads import exported_file
from evaluation.models import Analysis
from judgments.jobs.claims import run_job
from judgments.jobs.queues import enqueue
from judgments.models import Job
from tests.evaluation.studies import StudyOf, make_dataset

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> StudyOf:
    made = StudyOf(make_dataset("toy", {"a.jpg": ["a dog runs", "a dog"]}), "pairwise")
    hit = made.hit("h1", [made.unit("u1", pair=made.pair("p1", "a.jpg", "a dog", "a cat"))])
    for name in ("alma", "bela", "clara"):
        made.answer(hit, name, [1], presented=["first-left"])
    return made


def done(kind: str, **args: object) -> Job:
    job = enqueue(kind=kind, args=args)
    assert run_job(job.pk)
    job.refresh_from_db()
    return job


def result_of(job: Job) -> dict[str, Any]:
    assert job.result is not None
    return dict(job.result)


def test_a_job_says_what_it_stored(study: StudyOf) -> None:
    aggregated = result_of(done("aggregate", study="toy-pairwise"))
    assert aggregated["judgments"] == 3
    assert Analysis.objects.get(pk=aggregated["analysis"]).result["counts"]["units"] == 1
    evaluated = result_of(done("evaluate", study="toy-pairwise", metrics=["bleu-1"], tokenizer="v15"))
    found = Analysis.objects.get(pk=evaluated["analysis"])
    assert found.what == "meta-evaluation"
    assert found.result["metrics"]["bleu-1"]["accuracy"]["HM"]["value"] == 1


def test_a_format_that_does_not_fit_fails_the_job_with_its_sentence(study: StudyOf) -> None:
    job = enqueue(kind="export", args={"study": "toy-pairwise", "format": "qrels"})
    run_job(job.pk)
    job.refresh_from_db()
    assert job.state == "failed"
    assert job.error.startswith("Format qrels does not fit study 'toy-pairwise'")


def test_a_file_outlasts_its_format_and_lies_in_the_export_folder(study: StudyOf) -> None:
    job = done("export", study="toy-pairwise", format="csv")
    job.args["format"] = "mturk"  # written by an earlier version
    assert exported_file(job=job, by=User()).path.is_file()
    job.result = result_of(job) | {"file": "../../secret_key"}
    with pytest.raises(ObjectNotFound):
        exported_file(job=job, by=User())


def test_a_file_that_is_gone_or_was_never_made_is_not_there(study: StudyOf) -> None:
    job = done("export", study="toy-pairwise", format="csv")
    exported_file(job=job, by=User()).path.unlink()
    with pytest.raises(ObjectNotFound, match="no longer exists"):
        exported_file(job=job, by=User())
    with pytest.raises(ObjectNotFound, match="not a finished export"):
        exported_file(job=done("aggregate", study="toy-pairwise"), by=User())
