"""Metrics against people's scores of captions: the interval is for other people, too, whichever door shows it."""

from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation.models import Worker
from evaluation.data.judgment_sets import loaders
from evaluation.data.releases.terms import ReleaseTerms
from evaluation.reports.releases.making import release_study
from evaluation.reports.releases.verification import verify_bundle
from evaluation.results.consensus.study import consensus_of
from evaluation.results.metrics.storage import evaluate_study
from evaluation.results.metrics.study_texts import caption_clusters, judged_captions
from judgments.models import Study
from tests.evaluation.reporting import written
from tests.evaluation.test_scales import better_and_worse, rehearsed
from tests.marks import long_except

pytestmark = pytest.mark.django_db
METRICS = ["bleu-1", "rouge-l"]


@pytest.fixture(scope="module")
def animals(module_db: None) -> None:
    better_and_worse()


@pytest.fixture
def graded(animals: None) -> Study:
    study = rehearsed("graded", "graded", accuracy=0.6, judgments_per_unit=6, controls={"per_hit": 0})
    Study.objects.filter(pk=study.pk).update(state=Study.State.CLOSED)
    study.refresh_from_db()
    return study


@pytest.mark.parametrize(
    "protocol",
    long_except(["relevance", "graded", "slider", "best-worst", "spans"], "relevance", "best-worst", "spans"),
)
def test_without_a_person_captions_have_the_scores_of_the_others(animals: None, protocol: str) -> None:
    study = rehearsed(protocol, protocol, accuracy=0.6, judgments_per_unit=6, controls={"per_hit": 0})
    references = loaders.load_references(study)
    table = loaders.load_judgments(study)
    captions, _ = judged_captions(study, consensus_of(study, table), table, references)
    left = caption_clusters(study, table, consensus_of(study, table), captions)["rater"]
    workers = np.unique(table.worker[table.is_counted])
    assert left.rater_count == len(workers) == 8
    compared = 0
    for code, worker in enumerate(workers.tolist()):
        others = replace(table, used=table.used & (table.worker != worker))
        scores, _ = judged_captions(study, consensus_of(study, others), others, references)
        score_of = {(caption.item, caption.text): caption.people for caption in scores}
        mine = left.rater == code
        for row, value in zip(left.row[mine].tolist(), left.value[mine].tolist(), strict=True):
            score = score_of.get((captions[row].item, captions[row].text))
            assert score == pytest.approx(value) if score is not None else np.isnan(value)
            compared += score is not None
    assert compared > 100


def cell(result: Any) -> dict[str, Any]:
    tau = result["metrics"]["rouge-l"]["kendall_tau_b"]
    return {name: tau[name] for name in ("value", "low", "high")}


@pytest.mark.long
@pytest.mark.usefixtures("undrawn")
def test_results_report_and_release_have_one_interval(graded: Study, tmp_path: Path) -> None:
    result = evaluate_study(study=graded, metrics=METRICS)
    assert result["metrics"]["rouge-l"]["kendall_tau_b"]["clusters"] == {"item": 6, "rater": 8}
    report = written(graded, tmp_path / "report")["index.html"].decode()
    assert "95 % intervals by item and by worker" in report
    assert "by item and by person, whose part is what changes without them" in report
    bundle = tmp_path / "graded.zip"
    release_study(
        study=graded, terms=ReleaseTerms("1.0", "CC0-1.0"), output=bundle, salt=b"not a secret here"
    )
    assert verify_bundle(bundle).differences == ()


@pytest.mark.long
@pytest.mark.usefixtures("undrawn")
def test_every_door_says_that_intervals_are_for_people_who_are_no_persons_alone(
    graded: Study, tmp_path: Path, admin_client: Client
) -> None:
    alone = "Intervals and tests generalise to other items, but not to other participants."
    Worker.objects.filter(assignments__study=graded).update(anonymous=True, study=graded)
    printed = StringIO()
    call_command("evaluate", graded.slug, "--metrics", ",".join(METRICS), stdout=printed)
    assert alone in printed.getvalue()
    assert alone in written(graded, tmp_path / "report")["index.html"].decode()
    shown = admin_client.get(reverse("admin:judgments_study_results", args=[graded.pk]))
    assert alone in shown.content.decode()


def test_people_who_are_no_persons_are_no_raters(graded: Study) -> None:
    by_person = cell(evaluate_study(study=graded, metrics=METRICS))
    Worker.objects.filter(assignments__study=graded).update(anonymous=True, study=graded)
    result = evaluate_study(study=graded, metrics=METRICS)
    assert result["metrics"]["rouge-l"]["kendall_tau_b"]["clusters"] == {"item": 6}
    assert cell(result)["value"] == by_person["value"]
    assert cell(result)["low"] != by_person["low"]
