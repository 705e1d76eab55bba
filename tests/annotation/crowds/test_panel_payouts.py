"""The bonuses that a panel pays by a list, pay for pages of sessions that ended early, and ids that are deleted."""

import io

import pytest
from django.core.management import CommandError, call_command

from annotation.crowds.opening import close_study
from annotation.crowds.outbox.delivery import carry_out_calls
from annotation.crowds.panel.payouts import (
    as_csv,
    last_bonus_list,
    make_bonus_list,
    pay_pages,
    unlisted_bonuses,
    unpaid_pages,
)
from annotation.crowds.raw_ids import forget_raw_ids
from annotation.models import Assignment, CrowdSession, RawId, Worker
from annotation.money.payments import decide_session, pay_bonus
from annotation.privacy.erasing import erase_person
from annotation.privacy.people import cannot_be_erased_now
from annotation.privacy.retention import known_people
from annotation.quality.reviews import approve_assignments, approve_without_objection
from common.errors import WrongState
from judgments.models import Study, StudyEvent
from tests.annotation.crowds.panels import (
    ADA,
    BOB,
    at_work,
    budget_agrees,
    do_page,
    done,
    panel_study,
    session,
    start,
)
from tests.refusals import refuses


@pytest.mark.django_db
def test_pages_of_a_session_under_way_wait_for_its_end() -> None:
    study = panel_study(hits=2)
    client, _ = start(study, ADA)
    do_page(study, client)
    assert approve_without_objection(study=study) == 0
    first = Assignment.objects.get(state="submitted")
    assert approve_assignments(study=study, assignments=[first.pk]) == 0
    assert Assignment.objects.get(pk=first.pk).state == "submitted"
    do_page(study, client)
    assert approve_without_objection(study=study) == 2
    assert session(study).booked == "spent"
    budget_agrees(study)


@pytest.mark.django_db
def test_pages_of_a_session_that_was_left_are_judged_alone_and_paid_by_a_bonus_once() -> None:
    study = panel_study(hits=2, reward=50)
    client, _ = start(study, ADA)
    do_page(study, client)
    client.post(f"/s/{study.slug}/panel/end/", {"confirm": "1"})
    assert approve_without_objection(study=study) == 1
    assert session(study).booked == ""
    (one,) = unpaid_pages(study)
    assert (one.page_count, one.cents) == (1, 50)
    assert pay_pages(study=study, why="For the pages.") == 1
    carry_out_calls(study=study)
    assert study.budgets.get().spent_cents == 50
    budget_agrees(study)
    with pytest.raises(WrongState, match="sessions"):
        pay_pages(study=study, why="For the pages.")
    assert make_bonus_list(study=study) == (1, [(ADA["SESSION_ID"], "0.50")])


def study_with_bonus() -> tuple[Study, CrowdSession, CrowdSession]:
    """Return a study with Ada's and Bob's sessions, both approved, and a bonus of 120 cents for Ada."""
    study = panel_study()
    done(study, ADA, BOB)
    ada, bob = CrowdSession.objects.order_by("pk")
    for one in (ada, bob):
        decide_session(session=one, approve=True)
    pay_bonus(session=ada, cents=120, why="Well done.")
    carry_out_calls(study=study)
    return study, ada, bob


@pytest.mark.django_db
def test_each_bonus_is_in_one_list_which_can_be_had_again() -> None:
    study, _one, two = study_with_bonus()
    first = make_bonus_list(study=study)
    assert first == (1, [(ADA["SESSION_ID"], "1.20")])
    with pytest.raises(WrongState, match="every bonus is already"):
        make_bonus_list(study=study)
    pay_bonus(session=two, cents=5, why="Well done.")
    carry_out_calls(study=study)
    assert make_bonus_list(study=study) == (2, [(BOB["SESSION_ID"], "0.05")])
    assert make_bonus_list(study=study, number=1) == first
    with refuses(WrongState, "is no bonus list", "7"):
        make_bonus_list(study=study, number=7)
    budget_agrees(study)


@pytest.mark.django_db
def test_an_erased_person_s_bonus_stays_in_its_list_and_blocks_nobody_else_s() -> None:
    study, ada, bob = study_with_bonus()
    with pytest.raises(WrongState, match="panel yet"):
        erase_person(study=study, worker=ada.worker)
    assert known_people(study).filter(cannot_be_erased_now(study)).get() == ada.worker
    make_bonus_list(study=study)
    erase_person(study=study, worker=ada.worker)
    assert (last_bonus_list(study), unlisted_bonuses(study).count()) == (1, 0)
    with pytest.raises(WrongState, match="the raw id"):
        make_bonus_list(study=study, number=1)
    pay_bonus(session=bob, cents=5, why="Well done.")
    carry_out_calls(study=study)
    assert make_bonus_list(study=study) == (2, [(BOB["SESSION_ID"], "0.05")])
    budget_agrees(study)


@pytest.mark.django_db
def test_bonuses_of_people_whose_id_is_gone_are_left_out_of_a_list() -> None:
    study = panel_study()
    done(study, ADA, BOB)
    for one in CrowdSession.objects.order_by("pk"):
        decide_session(session=one, approve=True)
        pay_bonus(session=one, cents=5, why="Well done.")
    carry_out_calls(study=study)
    RawId.objects.filter(worker=CrowdSession.objects.earliest("pk").worker).delete()
    assert make_bonus_list(study=study) == (1, [(BOB["SESSION_ID"], "0.05")])
    assert (last_bonus_list(study), unlisted_bonuses(study).count()) == (1, 1)
    assert StudyEvent.objects.get(what="bonus-list").words.endswith(
        "without 1 of people whose id was deleted."
    )
    with pytest.raises(WrongState, match="the raw id"):
        make_bonus_list(study=study)


@pytest.mark.django_db
def test_raw_ids_are_deleted_for_a_closed_study_alone_and_only_of_its_own_people() -> None:
    study, other = panel_study(), panel_study(dataset="more", name="More", slug="more")
    done(study, ADA, BOB)
    at_work(other, {**BOB, "SESSION_ID": "elsewhere"})
    with pytest.raises(WrongState, match="close it first"):
        forget_raw_ids(study=study)
    close_study(study=study)
    forget_raw_ids(study=study)
    left = set(RawId.objects.values_list("value", flat=True))
    assert left == {BOB["PROLIFIC_PID"], "elsewhere"}
    assert Worker.objects.count() == 2
    assert StudyEvent.objects.filter(what="forget-ids").count() == 1


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


@pytest.mark.django_db
def test_forget_ids_warns_first_and_deletes_when_told_to() -> None:
    study = panel_study()
    done(study, ADA)
    close_study(study=study)
    with pytest.raises(CommandError, match="say --yes"):
        run("forget_ids", study.slug)
    assert RawId.objects.count() == 2
    said = run("forget_ids", study.slug, "--yes")
    assert "1 sessions wait for their approval" in said
    assert "2 raw ids were deleted." in said
    assert not RawId.objects.exists()


def test_lists_to_download_run_no_formula() -> None:
    assert as_csv([["=1+1", "a,b", "@x", "a\r=1+1"]]) == '\'=1+1,"a,b",\'@x,"a\r=1+1"\n'
