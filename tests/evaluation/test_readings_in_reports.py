"""Readings in reports, and naive intervals, which are said and stay out of reports."""

from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from evaluation.models import Analysis
from evaluation.reports.storage import build_report
from evaluation.results.aggregation import aggregate_study
from evaluation.results.meta_evaluation import evaluate_study
from judgments.models import Study
from tests.evaluation.reporting import address, graded, pairwise, words

pytestmark = pytest.mark.django_db


def tables_of(study: Study) -> dict[str, Any]:
    return {table.name: table for section in build_report(study).sections for table in section.tables}


def newest(study: Study, what: str) -> Analysis:
    found = Analysis.objects.newest_first(study, what).first()
    assert found is not None
    return found


def test_readings_and_naive_intervals_of_pairs(designer: Client, capsys: pytest.CaptureFixture[str]) -> None:
    study = pairwise().study
    usual = evaluate_study(study=study, metrics=["bleu-1", "rouge-l"], all_pairs=True, references=[1])
    agreement = aggregate_study(study=study)["agreement"]
    call_command("aggregate", study.slug, clusters="naive")
    call_command("evaluate", study.slug, metrics="bleu-1,rouge-l", clusters="naive", all_pairs=True)
    said = capsys.readouterr().out
    assert "Intervals of agreement are naive" in said
    assert "Intervals and tests are naive" in said
    naive = newest(study, Analysis.What.META_EVALUATION)
    assert naive.settings["clusters"] == naive.result["clusters"] == "naive"
    cells = [one["metrics"]["bleu-1"]["accuracy"]["all"] for one in (usual, naive.result)]
    assert cells[0]["value"] == cells[1]["value"]
    assert ("clusters" in cells[0], "clusters" in cells[1]) == (True, False)
    assert [one["verdict"]["all"]["by"] for one in (usual, naive.result)] == [
        "difference-by-image-and-rater-holm", "mcnemar-holm",
    ]  # fmt: skip
    assert agreement["alpha"]["clusters"]
    assert "clusters" not in newest(study, Analysis.What.AGGREGATION).result["agreement"]["alpha"]
    assert "Someone asked for naive intervals" in words(designer.get(address(study, "results")))
    with pytest.raises(CommandError, match="clusters"):
        call_command("aggregate", study.slug, clusters="by-moon")

    tables = tables_of(study)  # of the usual evaluation, though the naive one is newer
    found = usual["readings"]
    assert tables["readings-all-pairs"].rows[0][-1].value == found["all_pairs"]["bleu-1"]["all"]["value"]
    kind, metric, references, cell, _ = tables["readings-references"].rows[1]
    assert (kind, metric, references) == ("all", "bleu-1", 1)
    assert cell.value == found["references"]["bleu-1"]["all"][0]["value"]


def test_readings_and_naive_intervals_of_captions() -> None:
    study = graded().study
    asked: dict[str, Any] = {"tau_c": True, "single_grades": True, "own_kept": True, "people_at_least": [3.0]}
    usual = evaluate_study(study=study, metrics=["bleu-1"], **asked)
    naive = evaluate_study(study=study, metrics=["bleu-1"], clusters="naive", **asked)
    one, two = (found["metrics"]["bleu-1"]["kendall_tau_b"] for found in (usual, naive))
    assert one["value"] == two["value"]
    assert ("clusters" in one, "clusters" in two) == (True, False)
    tables = tables_of(study)
    found = usual["readings"]
    shown = {(row[1], row[2]): row[3].value for row in tables["readings-coefficients"].rows}
    assert shown == {
        ("means, or shares, of people", "tau-c"): found["tau_c"]["bleu-1"]["value"],
        ("every single judgment", "tau-b"): found["single_grades"]["bleu-1"]["kendall_tau_b"]["value"],
        ("every single judgment", "tau-c"): found["single_grades"]["bleu-1"]["kendall_tau_c"]["value"],
        ("references that are equal to the caption kept", "tau-b"): found["own_kept"]["bleu-1"][
            "kendall_tau_b"
        ]["value"],
        ("references that are equal to the caption kept", "rho"): found["own_kept"]["bleu-1"]["spearman"][
            "value"
        ],
    }
    assert {row[2] for row in tables["readings-thresholds"].rows} == {3.0}
