"""A sync with Prolific: what people and researchers did there is recorded or reported."""

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.db.models import F
from django.utils import timezone
from pytest_django import Settings

from annotation.crowds.opening import close_study, open_study
from annotation.crowds.sync.run import sync_with_crowd
from annotation.models import CrowdCall, CrowdSession, Publication, RawId
from annotation.money.payments import decide_session
from annotation.privacy.erasing import erase_person
from contrib.prolific.tests.emulator import Fault, Faults, ProlificEmulator
from contrib.prolific.tests.panel import REWARD, Panel, panel_study, point_at
from evaluation.data.integrity import check_integrity
from tests.annotation.crowds.panels import do_page, start

PRICE = REWARD + 50
PLACES = 8
pytestmark = pytest.mark.django_db


@pytest.fixture
def panel(settings: Settings) -> Iterator[Panel]:
    """A study that is open at the emulator."""
    with ProlificEmulator(faults=Faults(retry_after=0)) as prolific:
        point_at(prolific, settings)
        settings.PROLIFIC_FEE_PERCENT = Decimal("33.3")
        study = panel_study(approve_after_hours=0)
        open_study(study=study)
        yield Panel(study, prolific)


def sync_and_list_kinds(panel: Panel) -> list[str]:
    """Return the kinds of the discrepancies that a sync reports."""
    return [one.kind for one in sync_with_crowd(study=panel.study, wait=lambda seconds: None).discrepancies]


def test_what_was_approved_or_rejected_there_is_booked_here(panel: Panel) -> None:
    good, bad = panel.finish("aa1"), panel.finish("aa2")
    world = panel.prolific.world
    world.approve(world.submissions[panel.came["aa1"]])
    world.reject(world.submissions[panel.came["aa2"]], "NO_DATA", "Nothing came.")
    assert sync_and_list_kinds(panel) == []
    good.refresh_from_db()
    bad.refresh_from_db()
    assert (good.status, bad.status) == ("approved", "rejected")
    assert good.confirmed
    assert panel.books() == ((PLACES - 2) * PRICE, PRICE)
    assert sync_and_list_kinds(panel) == []
    assert panel.books() == ((PLACES - 2) * PRICE, PRICE)


def test_who_gave_up_there_has_given_up_here(panel: Panel) -> None:
    returned, late = panel.arrive("aa1"), panel.arrive("aa2")
    panel.prolific.world.give_back(panel.came["aa1"])
    panel.prolific.world.advance(days=2)
    assert sync_and_list_kinds(panel) == []
    returned.refresh_from_db()
    late.refresh_from_db()
    assert (returned.status, late.status) == ("returned", "timed-out")
    assert panel.books() == (PLACES * PRICE, 0)  # their places are for others


def test_who_went_back_with_a_code_they_did_not_earn_is_not_paid(panel: Panel, settings: Settings) -> None:
    session = panel.arrive("aa1")
    panel.prolific.come_back(panel.came["aa1"], panel.code())
    type(panel.study).objects.filter(pk=panel.study.pk).update(
        design={**panel.study.design, "crowd": {**panel.study.design["crowd"], "approve_after_hours": 1}}
    )
    panel.study.refresh_from_db()
    panel.prolific.world.advance(days=3)
    CrowdSession.objects.update(
        submitted_at=timezone.now() - timedelta(days=3), arrived_at=F("arrived_at") - timedelta(days=3)
    )
    sync_with_crowd(study=panel.study, wait=lambda seconds: None)
    session.refresh_from_db()
    assert session.status == "working"
    assert not CrowdCall.objects.filter(kind="approve").exists()
    assert panel.prolific.world.spent_cents == 0


def test_who_has_a_place_and_has_not_come_yet_comes_in_by_the_entry(panel: Panel) -> None:
    submission, address = panel.prolific.enter(panel.publication.external_id, "5ed1ada00000000000000001")
    assert sync_and_list_kinds(panel) == []
    assert not CrowdSession.objects.exists()
    client, _ = start(panel.study, dict(parse_qsl(urlsplit(address).query)))
    do_page(panel.study, client)
    panel.prolific.come_back(submission, panel.code())
    assert sync_and_list_kinds(panel) == []
    session = CrowdSession.objects.get(study=panel.study)
    assert (session.status, session.confirmed) == ("submitted", True)
    decide_session(session=session, approve=True)
    assert sync_and_list_kinds(panel) == []
    assert panel.prolific.world.submissions[submission].status == "APPROVED"


def test_who_was_paid_there_without_having_come_is_booked_under_a_pseudonym(panel: Panel) -> None:
    submission, _ = panel.prolific.enter(panel.publication.external_id, "aa9")
    panel.prolific.come_back(submission, None)
    panel.prolific.world.approve(panel.prolific.world.submissions[submission])
    sync_and_list_kinds(panel)
    session = CrowdSession.objects.get(study=panel.study)
    assert session.status == "approved"
    assert "aa9" not in session.worker.name + session.external_id
    assert panel.books() == ((PLACES - 1) * PRICE, PRICE) == panel.books_there()


def test_after_the_end_what_nobody_took_is_free_again(panel: Panel, settings: Settings) -> None:
    settings.CROWD_GRACE_SECONDS = 0
    panel.finish("aa1")
    close_study(study=panel.study)
    assert sync_and_list_kinds(panel) == []
    assert panel.books() == (PRICE, 0)
    world = panel.prolific.world
    world.approve(world.submissions[panel.came["aa1"]])
    assert sync_and_list_kinds(panel) == []
    assert panel.books() == (0, PRICE) == panel.books_there()
    assert panel.publication.state == Publication.State.FINISHED


def test_places_that_somebody_added_there_are_told(panel: Panel) -> None:
    panel.prolific.world.studies[panel.publication.external_id].fields["total_available_places"] = 20
    assert sync_and_list_kinds(panel) == ["places"]


def test_a_study_whose_publishing_was_lost_is_adopted(settings: Settings) -> None:
    with ProlificEmulator(faults=Faults(retry_after=0)) as prolific:
        point_at(prolific, settings)
        settings.PROLIFIC_FEE_PERCENT = Decimal("33.3")
        prolific.faults.plan("transition study", Fault.DROP_AFTER)
        prolific.faults.plan("list studies", None, *[Fault.DROP_BEFORE] * 5)
        study = panel_study()
        open_study(study=study)
        panel = Panel(study, prolific)
        assert panel.publication.external_id == ""
        CrowdCall.objects.update(next_at=timezone.now() + timedelta(days=1))
        assert sync_and_list_kinds(panel) == []
        assert panel.publication.external_id in prolific.world.studies
        assert panel.books() == (PLACES * PRICE, 0) == panel.books_there()


def test_where_prolific_does_not_answer_nothing_changes(panel: Panel) -> None:
    panel.finish("aa1")
    before = panel.books()
    panel.prolific.faults.plan("list submissions", Fault.DROP_BEFORE)
    assert "not-looked-at" in sync_and_list_kinds(panel)
    assert panel.books() == before
    assert sync_and_list_kinds(panel) == []


def test_who_was_erased_is_neither_back_nor_paid_twice_by_a_comparison(panel: Panel) -> None:
    paid, waits = panel.finish("aa1"), panel.arrive("aa2")
    world = panel.prolific.world
    world.approve(world.submissions[panel.came["aa1"]])
    assert sync_and_list_kinds(panel) == []
    for session in (paid, waits):
        erase_person(study=panel.study, worker=session.worker)
    panel.prolific.come_back(panel.came["aa2"], panel.code())  # after the erasure, with a code that they had
    world.approve(world.submissions[panel.came["aa2"]])
    for _again in range(2):
        sync_and_list_kinds(panel)
        assert panel.books() == ((PLACES - 2) * PRICE, 2 * PRICE) == panel.books_there()
    assert not RawId.objects.exists()
    assert {one.worker.name[:5] for one in CrowdSession.objects.select_related("worker")} == {"paid-"}
    assert set(CrowdSession.objects.values_list("status", "receipt")) == {("approved", "")}
    assert check_integrity().problems == []
