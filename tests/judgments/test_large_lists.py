"""Lists of many rows: they count no further than anybody leafs, and say so; filters know their values."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from judgments import cached_figures
from judgments.admin.base import BoundedPaginator
from judgments.admin.filters import NewestRowsFilter, NewestValuesFilter
from judgments.models import HIT
from tests.judgments.desk import page, words
from tests.studies import make_dataset, make_study

pytestmark = pytest.mark.django_db


def test_a_list_leafs_no_further_than_its_bound_and_says_that_there_is_more(
    designer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = make_study()
    hits = HIT.objects.filter(study=study).count()
    address = reverse("admin:judgments_hit_changelist")
    assert "Not all rows are shown" not in words(designer.get(address))
    monkeypatch.setattr(BoundedPaginator, "max_count", hits - 1)
    shown = words(designer.get(address))
    assert f"Not all rows are shown (only {hits - 1}); use filters or search to find others." in shown
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
    from judgments.jobs.claims import run_job
    from judgments.models import Job

    assert cached_figures.MIN_CACHED_ROWS > 1
    monkeypatch.setattr(cached_figures, "MIN_CACHED_ROWS", 1)
    study = make_study(opened=False)
    assert "Computing…" in words(designer.get(page(study, "plan")))
    (job,) = Job.objects.filter(kind="figures")
    assert run_job(job.pk)
    shown = words(designer.get(page(study, "plan")))
    assert "Counting" not in shown
    assert "Participants' time" in shown.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")


def test_a_filter_offers_the_newest_rows_and_the_chosen_one_and_says_so(
    designer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    oldest, older, _ = (make_dataset(name=name) for name in ("oldest", "older", "newest"))
    address = reverse("admin:judgments_caption_changelist")
    assert "the newest" not in words(designer.get(address))
    monkeypatch.setattr(NewestRowsFilter, "max_count", 2)

    def offered(**asked: str) -> tuple[str, list[str]]:
        found = designer.get(address, asked).context["cl"]
        one = next(spec for spec in found.filter_specs if isinstance(spec, NewestRowsFilter))
        return str(one.title), [str(name) for _, name in one.lookup_choices]

    assert offered() == ("dataset (only the newest 2)", ["newest", "older"])
    assert offered(dataset__id__exact=str(oldest.pk)) == (
        "dataset (only the newest 2)",
        ["newest", "older", "oldest"],
    )
    assert offered(dataset__id__exact=str(older.pk)) == ("dataset (only the newest 2)", ["newest", "older"])
    found = designer.get(address, {"dataset__id__exact": oldest.pk}).context["cl"]
    assert found.result_count == oldest.captions.count() > 0


def test_a_filter_by_a_value_looks_at_the_newest_rows_and_says_so(
    designer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = make_dataset()
    first, *_, last = dataset.items.order_by("pk")
    dataset.items.filter(pk=first.pk).update(split="early")
    dataset.items.filter(pk=last.pk).update(split="late")
    address = reverse("admin:judgments_item_changelist")

    def offered(**asked: str) -> tuple[str, list[str]]:
        found = designer.get(address, asked).context["cl"]
        one = next(spec for spec in found.filter_specs if isinstance(spec, NewestValuesFilter))
        return str(one.title), list(one.lookup_choices)

    title, values = offered()
    assert title == "split"
    assert {"early", "late"} <= set(values)
    monkeypatch.setattr(NewestValuesFilter, "rows_searched", 1)
    assert offered() == ("split (only the newest 1)", ["late"])
    assert offered(split="early") == ("split (only the newest 1)", ["late", "early"])
    assert designer.get(address, {"split": "early"}).context["cl"].result_count == 1


def test_a_role_is_given_by_name_where_there_are_too_many_accounts_to_choose_from(
    designer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    from judgments.access import views

    study = make_study()
    for name in ("ada", "ben", "cleo"):
        User.objects.create_user(name, is_staff=True)
    User.objects.create_user("worker-like", is_staff=False)
    assert "choose an adjudicator" in words(designer.get(page(study, "people")))
    monkeypatch.setattr(views, "MAX_CHOICES", 1)
    monkeypatch.setattr(views, "PAGE_SIZE", 1)
    shown = designer.get(page(study, "people"))
    assert "choose an adjudicator" not in words(shown)
    assert len(shown.context["accounts"]) == 1
    step = reverse("admin:judgments_study_do", args=[study.pk, "give-role"])
    for name in ("ben", "cleo"):
        designer.post(step, {"page": "people", "username": name, "role": "viewer"})
    assert set(study.roles.values_list("user__username", flat=True)) >= {"ben", "cleo"}
    answer = designer.post(step, {"page": "people", "username": "worker-like", "role": "viewer"}, follow=True)
    assert "named 'worker-like'" in words(answer)
    assert not study.roles.filter(user__username="worker-like").exists()
    assert designer.get(page(study, "people")).context["page"].paginator.num_pages >= 2
