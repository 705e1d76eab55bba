"""Lists of many rows: they count no further than anybody leafs, and say so; filters know their values."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from judgments.admin.base import BoundedPaginator
from judgments.models import HIT
from judgments.remembered import MANY_ROWS
from tests.judgments.desk import page, words
from tests.studies import make_study

pytestmark = pytest.mark.django_db


def test_a_list_leafs_no_further_than_its_bound_and_says_that_there_is_more(
    designer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = make_study()
    hits = HIT.objects.filter(study=study).count()
    address = reverse("admin:judgments_hit_changelist")
    assert "There are more rows" not in words(designer.get(address))
    monkeypatch.setattr(BoundedPaginator, "most", hits - 1)
    shown = words(designer.get(address))
    assert f"There are more rows than these {hits - 1}: filters and the search lead to the others." in shown
    assert designer.get(address).context["cl"].result_count == hits - 1


def test_a_list_of_units_is_narrowed_by_their_kind(designer: Client) -> None:
    study = make_study()
    address = reverse("admin:judgments_unit_changelist")
    kinds = set(study.units.exclude(kind="").values_list("kind", flat=True))
    assert kinds
    for kind in ("HC", "HI", "HM", "MM"):
        found = designer.get(address, {"kind": kind}).context["cl"].result_count
        assert found == study.units.filter(kind=kind).count()
    assert designer.get(address, {"kind": "XX"}).context["cl"].result_count == 0


def test_the_plan_of_a_draft_of_a_large_dataset_is_counted_in_the_background(
    designer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    from judgments.admin import study_hits
    from judgments.jobs import run_job
    from judgments.models import Job

    assert MANY_ROWS > 1
    monkeypatch.setattr(study_hits, "MANY_ROWS", 1)
    study = make_study(opened=False)
    assert "Counting on a real draw" in words(designer.get(page(study, "plan")))
    (job,) = Job.objects.filter(kind="figures")
    assert run_job(job.pk)
    shown = words(designer.get(page(study, "plan")))
    assert "Counting" not in shown
    assert "Workers' time" in shown.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
