"""Pages and lists with little on them: they say what they are for, what comes next, and numbers as people read them."""

import re

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.crowds.opening import open_study
from annotation.models import Judgment
from evaluation.models import Consensus
from evaluation.results.aggregation import aggregate_study
from evaluation.results.metrics.storage import evaluate_study
from judgments.admin.base import QuorumAdmin
from judgments.admin.columns import format_short
from judgments.models import Job, Study, StudyEvent
from judgments.studies.generation.hits import generate_hits
from tests.evaluation.reporting import graded, pairwise, words
from tests.evaluation.studies import StudyOf, make_dataset
from tests.judgments.desk import page
from tests.studies import make_dataset as make_animals
from tests.studies import make_study

pytestmark = pytest.mark.django_db


def main_part(html: str) -> str:
    """Without the navigation at the side."""
    return html.split('id="content"', 1)[-1]


def test_a_draft_promises_no_figures_and_calls_nothing_imported(designer: Client) -> None:
    make_animals()
    study = make_study(opened=False)
    shown = words(designer.get(page(study, "results")))
    assert "not generated yet" in shown
    assert "imported" not in shown
    assert "Compute with other metrics" not in shown


def test_judgments_can_be_taken_home_before_anything_is_computed(designer: Client) -> None:
    study = pairwise().study
    assert "Export the judgments" in words(designer.get(page(study, "exports")))
    assert "Compute with other metrics" in words(designer.get(page(study, "results")))


def test_imported_judgments_without_hits_are_called_imported(designer: Client) -> None:
    made = StudyOf(make_dataset("pets", {"a.jpg": ["A dog ."]}), "graded", imported=True)
    shown = words(designer.get(page(made.study, "results")))
    assert "none, as the judgments were imported" in shown


def test_a_frozen_design_shows_texts_as_workers_read_them(designer: Client) -> None:
    study = make_study(question="Which is *closer*?", instructions="Choose **one**.\n\n- <b>No</b> rule.\n")
    shown = designer.get(page(study, "change")).content.decode()
    read = shown.split("<summary><h3>Study file", 1)[0]
    assert "Which is <em>closer</em>?" in read
    assert "Choose <strong>one</strong>." in read
    assert "**one**" not in read
    assert re.search(r"<li>\s*(<b>)?No", read) is not None
    assert page(study, "reuse") in main_part(read)


def test_a_design_with_tags_in_it_runs_nothing_on_the_page(designer: Client) -> None:
    study = make_study(name="<script>alert(1)</script>", instructions="<script>alert(2)</script> Look.")
    shown = designer.get(page(study, "change")).content.decode()
    assert "<script>alert" not in shown


@pytest.mark.parametrize("state", ["draft", "open"])
def test_a_study_without_a_quiz_says_how_to_have_one(designer: Client, state: str) -> None:
    study = make_study(opened=state == "open")
    Study.objects.filter(pk=study.pk).update(state=state)
    shown = main_part(designer.get(page(study, "quiz")).content.decode())
    wanted = page(study, "change") + "#id_quiz-preset" if state == "draft" else page(study, "reuse")
    assert f'href="{wanted}"' in shown
    if state == "draft":  # there is such a place
        assert 'id="id_quiz-preset"' in designer.get(page(study, "change")).content.decode()


def test_an_answered_copy_says_so_though_other_work_failed(designer: Client) -> None:
    made = pairwise()
    Study.objects.filter(pk=made.study.pk).update(simulated=True, state="closed")
    about = {"study": made.study.slug}
    ended = timezone.now()
    Job.objects.create(kind="release", args=about, state="failed", error="No space left.", finished_at=ended)
    assert "The rehearsal has finished" in words(designer.get(page(made.study, "rehearsal")))
    Job.objects.create(kind="rehearse", args=about)
    assert "when the rehearsal has finished" in words(designer.get(page(made.study, "rehearsal")))


@pytest.mark.parametrize(
    ("value", "said"),
    [(None, "–"), (2.0, "2"), (2 / 3, "0.6667"), (0.25, "0.25"), (-0.00004, "0"), (12345.6789, "12345.6789")],
)
def test_numbers_in_lists_are_no_longer_than_they_need_to_be(value: float | None, said: str) -> None:
    assert format_short(value) == said


def test_lists_of_consensus_and_scores_are_short(designer: Client) -> None:
    made = graded()
    aggregate_study(study=made.study)
    evaluate_study(study=made.study, metrics=["bleu-1"])
    assert Consensus.objects.filter(study=made.study).exists()
    for name in ("consensus", "metricscore"):
        shown = main_part(designer.get(reverse(f"admin:evaluation_{name}_changelist")).content.decode())
        assert re.search(r"\d\.\d", shown) is not None
        assert re.search(r"\d\.\d{5,}", shown) is None


def test_a_judgment_shows_its_value_or_its_answer(designer: Client) -> None:
    made = graded()
    judgment = Judgment.objects.filter(assignment__study=made.study)[0]
    address = reverse("admin:annotation_judgment_change", args=[judgment.pk])
    shown = words(designer.get(address))
    assert "Answer Describes the image without any errors" in shown
    assert "null" not in shown


def test_empty_lists_say_where_their_rows_come_from(designer: Client) -> None:
    for model, one in admin.site._registry.items():
        if not isinstance(one, QuorumAdmin) or not one.empty_list_text:
            continue
        page = designer.get(reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"))
        shown = words(page)
        button = re.search(
            r'class="q-nothing".*?class="q-button[^>]*href="([^"]+)"', page.content.decode(), re.S
        )
        assert button, model
        assert designer.get(button[1]).status_code == 200, model
        assert "Nothing here yet." in shown, model
        assert one.empty_list_text in shown, model
        assert "Create a new item" not in shown, model


def test_a_search_that_finds_nothing_leads_back_to_all(designer: Client) -> None:
    make_animals()
    shown = designer.get(reverse("admin:judgments_item_changelist") + "?q=unicorn").content.decode()
    assert "No results for this search and these filters." in shown
    assert '<a class="q-button" href="?">Show all</a>' in shown


def test_the_log_says_opened_in_plain_words() -> None:
    study = make_study(opened=False)
    generate_hits(study=study)
    open_study(study=study)
    said = StudyEvent.objects.get(study=study, what="opened").words
    assert said.startswith("Opened. Participants join at ")
