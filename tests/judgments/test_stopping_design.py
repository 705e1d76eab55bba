"""What a design that stops early comes to, before anybody is asked."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from judgments.design.reading.checking import make_design
from judgments.design.study_design import StudyDesign
from judgments.kinds import KINDS
from judgments.models import Dataset, OutcomeBounds, Study
from judgments.studies.designs import design_of
from judgments.studies.generation.batches import build_batch
from judgments.studies.generation.lines import batch_lines
from judgments.studies.generation.plans import plan_study
from judgments.studies.stopping import expected_share, full_depth_hits, outcome_bounds
from judgments.studies.studies import create_study
from tests.studies import make_dataset, make_study


def design(protocol: str = "triplet", **stopping: Any) -> StudyDesign:
    values = {"name": "Short", "dataset": "animals", "protocol": protocol, "seed": 5}
    return make_design(values | {"stopping": {"rule": "settled"} | stopping})


def test_the_share_at_full_depth_is_drawn_with_the_seed_and_never_empty() -> None:
    drawn = full_depth_hits(design(full_depth=0.1), 200)
    assert len(drawn) == 20
    assert drawn == full_depth_hits(design(full_depth=0.1), 200)
    assert len(full_depth_hits(design(full_depth=0.1), 3)) == 1
    assert full_depth_hits(design(full_depth=0.0), 200) == frozenset()
    assert full_depth_hits(design(full_depth=1.0), 7) == frozenset(range(7))


@pytest.mark.parametrize(
    ("protocol", "references", "stopping", "expected"),
    [
        ("triplet", 48, {"full_depth": 0.0}, 0.449),  # docs/stopping.md: .45 at an accuracy of .8
        ("pairwise", 1, {"full_depth": 0.0}, (2 + 2 * 0.8 * 0.2) / 3),
        ("relevance", 1, {"full_depth": 0.0}, (2 + 2 * 0.8 * 0.2) / 3),
        ("pairwise", 1, {"full_depth": 0.5}, 0.5 + 0.5 * (2 + 2 * 0.8 * 0.2) / 3),
        ("pairwise", 1, {"rule": "none"}, 1.0),
    ],
)
def test_a_plan_expects_the_share_that_closed_forms_give(
    protocol: str, references: int, stopping: dict[str, Any], expected: float
) -> None:
    assert expected_share(design(protocol, **stopping), units_per_pair=references) == pytest.approx(
        expected, abs=0.005
    )


def test_a_lead_is_the_last_word_under_the_margin_rule_alone() -> None:
    votes = [1, 1, 1, 2]
    for rule, expected in (("settled", (-1, 1)), ("margin", (1, 1))):
        stopping = design(rule=rule, minimum=2, margin=2).stopping
        assert outcome_bounds(KINDS["pairwise"], stopping, votes, 3) == expected
        assert outcome_bounds(KINDS["pairwise"], stopping, [1], 3) == (-1, 1)


def test_a_mean_is_never_settled() -> None:
    assert KINDS["graded"].aggregation.outcome_range([4, 4, 4], 1) == (-1, 1)


@pytest.mark.django_db
def test_stopping_changes_nothing_of_what_is_generated() -> None:
    make_dataset()
    plain = make_design({"name": "x", "dataset": "animals", "protocol": "triplet", "seed": 4})
    stopping = plain.model_copy(update={"stopping": design().stopping})
    dataset = Dataset.objects.get()
    assert list(batch_lines(build_batch(plain, dataset), plain)) == list(
        batch_lines(build_batch(stopping, dataset), stopping)
    )


@pytest.mark.django_db
def test_each_judged_unit_has_bounds_and_those_of_drawn_hits_run_to_full_depth() -> None:
    study = make_study(controls={"per_hit": 1}, stopping={"rule": "settled", "full_depth": 0.5})
    units = study.units.filter(control=False)
    assert OutcomeBounds.objects.count() == units.count()
    full = set(
        OutcomeBounds.objects.filter(full_depth=True).values_list("unit__places__hit__position", flat=True)
    )
    assert full == full_depth_hits(design_of(study), study.hits.count())
    shared = OutcomeBounds.objects.filter(full_depth=False, unit__places__hit__position__in=full)
    assert not shared.exists()


@pytest.mark.django_db
def test_plan_and_hits_page_say_what_is_expected(client: Client) -> None:
    client.force_login(User.objects.create_superuser("designer"))
    made = make_study("pairwise", stopping={"rule": "settled", "full_depth": 0.0})
    draft = create_study(design=design_of(made).model_copy(update={"slug": "draft"}))
    assert plan_study(design_of(draft), draft.dataset).asked == pytest.approx(2.32 / 3)

    def page(study: Study, name: str) -> str:
        return client.get(reverse(f"admin:judgments_study_{name}", args=[study.pk])).content.decode()

    assert "about 77\N{NO-BREAK SPACE}% of the judgments on items are needed" in page(draft, "plan")
    assert "about 77\N{NO-BREAK SPACE}% of the judgments on items are needed" in page(made, "hits")
    assert "Stop when the remaining votes cannot change the outcome" in page(draft, "change")
    graded = create_study(design=make_design({"name": "G", "dataset": "animals", "protocol": "graded"}))
    assert "Early stopping" not in page(graded, "change")
    assert "are asked for" not in page(graded, "plan")
