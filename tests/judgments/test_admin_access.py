"""What the designer's pages cost, and who may see them and act on them."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from annotation.work.claims import claim_assignment
from judgments.jobs.queues import enqueue
from judgments.models import Study, Unit
from tests.judgments.desk import ADD, do, page, words
from tests.studies import hand_in, make_study, make_worker

pytestmark = pytest.mark.django_db


def answered_study(**values: Any) -> Study:
    """An opened study with one worker's HIT handed in and another's held."""
    study = make_study(**values)
    hand_in(study, "w-1")
    worker, _ = make_worker(study, "w-2")
    assert claim_assignment(study=study, worker=worker) is not None
    return study


class TestCost:
    def test_the_form_of_a_draft_and_the_datasets_page_cost_few_queries(
        self, designer: Client, django_assert_max_num_queries: Callable[..., Any]
    ) -> None:
        study = make_study(opened=False)
        for address, most in (
            (page(study, "change"), 12),
            (page(study, "hits"), 12),
            (reverse("admin:judgments_study_add"), 14),
            (
                reverse("admin:judgments_study_add") + ADD,
                19,
            ),  # the dataset is read once, to cut the preset to it
            (reverse("admin:judgments_dataset_change", args=[study.dataset_id]), 12),
        ):
            with django_assert_max_num_queries(most):
                assert designer.get(address).status_code == 200

    def test_the_first_page_costs_at_most_twelve_queries(
        self, designer: Client, django_assert_max_num_queries: Callable[..., Any]
    ) -> None:
        hand_in(make_study())
        for number in range(3):
            make_study(opened=False, slug=f"study-{number}")
        with django_assert_max_num_queries(12):
            shown = words(designer.get(reverse("admin:index")))
        assert "1 open" in shown
        assert "3 draft" in shown

    def test_the_first_page_is_silent_about_work_that_nobody_asked_for(self, designer: Client) -> None:
        make_study()
        enqueue(kind="board", args={"study": Study.objects.get().slug})
        assert "Figures of the board" not in words(designer.get(reverse("admin:index")))


def test_lists_say_which_studies_are_simulated(designer: Client) -> None:
    study = answered_study()
    for name in ("judgments_unit", "judgments_hit", "annotation_assignment", "annotation_judgment"):
        assert "simulated" not in rows_of(designer, name)
    Study.objects.filter(pk=study.pk).update(simulated=True)
    for name in ("judgments_unit", "judgments_hit", "annotation_assignment", "annotation_judgment"):
        assert "simulated" in rows_of(designer, name)
    assert "simulated" in words(designer.get(reverse("admin:index")))


def rows_of(designer: Client, name: str) -> str:
    """The table of a list, without the filters beside it."""
    shown = designer.get(reverse(f"admin:{name}_changelist")).content.decode()
    return shown.split('id="result_list"')[1].split("</table>")[0]


class TestRights:
    """tests/test_strangers.py tries every address as a stranger, test_query_budgets.py to change every row."""

    def test_who_may_only_look_sees_no_step_that_changes_and_can_take_none(self, client: Client) -> None:
        study = make_study()
        reader = User.objects.create_user("reader", is_staff=True)
        reader.user_permissions.add(Permission.objects.get(codename="view_study"))
        client.force_login(reader)
        shown = words(client.get(page(study, "workers")))
        assert "Close" not in shown
        assert "Rehearse" not in shown
        assert client.post(do(study, "close")).status_code == 403
        assert client.get(reverse("admin:judgments_study_add")).status_code == 403
        study.refresh_from_db()
        assert study.state == "open"

    def test_a_step_needs_a_post(self, designer: Client) -> None:
        study = make_study()
        assert designer.get(do(study, "close")).status_code == 405
        assert designer.post(do(study, "explode")).status_code == 404

    def test_no_page_of_a_worker_shows_what_is_stored_of_their_secrets(self, designer: Client) -> None:
        worker, _ = make_worker(make_study())
        shown = designer.get(reverse("admin:annotation_worker_change", args=[worker.pk])).content.decode()
        assert worker.token_hash not in shown
        assert worker.resume_hash not in shown

    def test_hostile_names_and_captions_are_escaped(self, designer: Client) -> None:
        study = make_study(name="<script>alert(1)</script>")
        Study.objects.filter(pk=study.pk).update(state="generated")
        caption = Unit.objects.filter(study=study, control=True)[0].first
        assert caption is not None
        type(caption).objects.filter(pk=caption.pk).update(text="<img src=x onerror=alert(1)>")
        for name in ("change", "hits", "controls", "workers", "results"):
            shown = designer.get(page(study, name)).content.decode()
            assert "<script>alert" not in shown
            assert "<img src=x" not in shown


def test_who_is_not_signed_in_finds_the_page_to_sign_in(client: Client) -> None:
    shown = client.get(reverse("admin:index"), follow=True)
    assert shown.status_code == 200
    assert "Password" in words(shown)
