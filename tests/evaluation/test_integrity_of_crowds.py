"""Rows of paid work that nobody but a person with the database in hand could have broken."""

from collections.abc import Callable

import pytest
from django.db.models.query import QuerySet

from annotation.crowds.outbox.delivery import carry_out_calls
from annotation.models import (
    Assignment,
    Budget,
    CrowdCall,
    CrowdSession,
    LedgerEntry,
    Publication,
    RawId,
    Worker,
)
from annotation.money.payments import decide_session, pay_bonus
from evaluation.data.integrity import check_integrity
from judgments.models import Study
from tests.annotation.crowds.panels import ADA, BOB, do_page, panel_study, start

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def study(module_db: None) -> Study:
    """One person is paid with a bonus, one is rejected."""
    study = panel_study()
    for ids in (ADA, BOB):
        client, _ = start(study, ids)
        do_page(study, client)
    ada, bob = CrowdSession.objects.order_by("pk")
    decide_session(session=ada, approve=True)
    pay_bonus(session=ada, cents=7, why="Thanks.")
    decide_session(session=bob, approve=False, why="All first.")
    carry_out_calls(study=study)
    return study


def entries() -> QuerySet[LedgerEntry]:
    """Past what the model refuses."""
    return QuerySet(LedgerEntry)


def other_study(study: Study) -> Study:
    return Study.objects.create(
        name="Other", slug="other", dataset=study.dataset, protocol=study.protocol, design=study.design
    )


def rejected(study: Study) -> QuerySet[CrowdSession]:
    return CrowdSession.objects.filter(status="rejected")


def paid(study: Study) -> QuerySet[CrowdSession]:
    return CrowdSession.objects.filter(booked="spent")


BROKEN: list[tuple[Callable[[Study], object], str]] = [
    (lambda study: Budget.objects.update(spent_cents=1), "its ledger"),
    (lambda study: Budget.objects.update(reserved_cents=1), "are kept by held slots and calls"),
    (lambda study: entries().filter(what="reward").update(spent_cents=1), "is in the ledger 0 times"),
    (lambda study: entries().filter(what="bonus").delete(), "but is in the ledger 0 times"),
    (
        lambda study: Publication.objects.update(platform="prolific"),
        "keeps money, and the study has no budget",
    ),
    (lambda study: rejected(study).update(booked=""), "is rejected, and its booking says 'nothing'"),
    (lambda study: paid(study).update(booked=""), "is approved, and its booking says 'nothing'"),
    (lambda study: paid(study).update(booked="", status="submitted"), "pays a session that is not approved"),
    (
        lambda study: CrowdCall.objects.filter(kind="bonus").update(state="waiting"),
        "pays a bonus that was not",
    ),
    (lambda study: Publication.objects.update(state="finished"), "is finished, and holds"),
    (
        lambda study: CrowdCall.objects.update(state="dropped", reserved_cents=5),
        "was dropped, and keeps money",
    ),
    (lambda study: Publication.objects.update(platform="prolific"), "is of another place"),
    (
        lambda study: Worker.objects.filter(source="crowd").update(platform="prolific"),
        "has a publication or worker",
    ),
    (
        lambda study: CrowdSession.objects.update(study=other_study(study)),
        "has a publication or worker of another",
    ),
    (lambda study: CrowdCall.objects.update(study=other_study(study)), "or about a publication or session"),
    (
        lambda study: Budget.objects.update(study=other_study(study)),
        "is about a publication of another study",
    ),
    (
        lambda study: Assignment.objects.update(session=CrowdSession.objects.order_by("pk")[0]),
        "belongs to a session of another study or worker",
    ),
    (
        lambda study: RawId.objects.filter(session__isnull=False).update(
            worker=Worker.objects.create(name="x", source="crowd", platform="external")
        ),
        "names another worker than its session",
    ),
]


def test_a_study_that_was_paid_for_is_sound(study: Study) -> None:
    assert check_integrity().problems == []


@pytest.mark.parametrize(("damage", "said"), BROKEN)
def test_damage_is_found_and_named(study: Study, damage: Callable[[Study], object], said: str) -> None:
    damage(study)
    problems = check_integrity().problems
    assert any(said in problem for problem in problems), problems
