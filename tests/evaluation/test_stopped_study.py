"""A study that stopped early: what its results say of it."""

import pytest
from django.test import Client

from annotation.models import Judgment
from evaluation.data.progress import study_progress
from evaluation.results.aggregation import aggregate_study, compute_aggregation
from evaluation.results.metrics.storage import evaluate_study
from judgments.models import HIT, OutcomeBounds, Study
from tests.annotation.voting import always_first, joined, work
from tests.judgments.desk import page
from tests.studies import make_study

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def study(module_db: None) -> Study:
    """Everybody agrees: two of three votes are enough but for one HIT of four at full depth."""
    made = make_study(
        "pairwise", controls={"per_hit": 1}, stopping={"rule": "settled", "full_depth": 0.25}, units_per_hit=4
    )
    for name in ("ada", "bea", "cy"):
        work(made, joined(made, name), always_first)
    return made


def test_progress_counts_what_is_wanted_and_what_is_spared(study: Study) -> None:
    progress = study_progress(study)
    full = OutcomeBounds.objects.filter(full_depth=True).count()
    units = OutcomeBounds.objects.count()
    assert progress["judgments"] == progress["wanted"] == Judgment.objects.count()
    assert progress["hits_done"] == progress["hits"] == HIT.objects.count()
    stopping = progress["stopping"]
    assert (stopping["done"], stopping["units"], stopping["full"]) == (units, units, 3 * units)
    assert stopping["spared"] == units - full
    assert (stopping["copies"], stopping["copies_spared"]) == (
        3 * HIT.objects.count(),
        HIT.objects.count() - 1,
    )
    assert stopping["expected"] == pytest.approx(0.75 * (1 - 2.32 / 3))


def test_the_signature_carries_the_rule_and_without_one_nothing_is_said(study: Study) -> None:
    assert "|stopping:settled,full-depth-0.25|" in compute_aggregation(study=study).signature
    plain = make_study("pairwise", name="Plain")
    assert "stopping" not in compute_aggregation(study=plain).signature
    assert study_progress(plain)["stopping"] is None


def test_the_results_say_what_was_spared_and_what_agreement_rests_on(study: Study, designer: Client) -> None:
    aggregate_study(study=study)
    evaluate_study(study=study, metrics=["bleu-1"])
    shown = designer.get(page(study, "results")).content.decode()
    spared = OutcomeBounds.objects.filter(full_depth=False).count()
    assert (
        f"Judgments that early stopping has saved: {spared} of {3 * OutcomeBounds.objects.count()} (" in shown
    )
    assert "agreement is computed from items sampled to get all judgments" in shown


def test_n_is_reported_for_each_unit(study: Study) -> None:
    found = aggregate_study(study=study)["units"]
    full = set(OutcomeBounds.objects.filter(full_depth=True).values_list("unit__key", flat=True))
    assert {unit["unit"]: unit["n"] for unit in found} == {
        unit["unit"]: 3 if unit["unit"] in full else 2 for unit in found
    }
