"""How a panel's session ends and what becomes of the money; the pages of a panel's study."""

import html
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db.models import F
from django.test import Client

from annotation.crowds.opening import close_study, open_study
from annotation.crowds.panel.endings import time_out_sessions
from annotation.crowds.panel.sessions import completion_code_for
from annotation.crowds.sync.run import sync_with_crowd
from annotation.models import Assignment, CrowdSession, LedgerEntry, QuizAttempt, RawId
from annotation.money.payments import decide_session
from annotation.quality.exclusions import exclude_worker, pause_worker
from judgments.design.panels import OUTCOMES
from judgments.models import HIT
from judgments.studies.designs import design_of
from tests.annotation.casting import make_dataset, make_study
from tests.annotation.crowds.panels import (
    ADA,
    BOB,
    EVE,
    budget_agrees,
    do_page,
    done,
    entry,
    pages,
    panel_study,
    publication,
    session,
    start,
)
from tests.doors import signed_in
from tests.judgments.desk import do, page, words

pytestmark = pytest.mark.django_db

QUIZ = {
    "questions": [{"text": "May you guess?", "options": ["yes", "no"], "answer": 2}],
    "ask": 1,
    "attempts": 1,
}

ONE_PLACE: dict[str, Any] = {"judgments_per_unit": 1, "units_per_hit": 20}


def later(**past: Any) -> None:
    """Let time go by: what was held or came is so much older."""
    gone = timedelta(**past)
    Assignment.objects.update(expires_at=F("expires_at") - gone, accepted_at=F("accepted_at") - gone)
    CrowdSession.objects.update(arrived_at=F("arrived_at") - gone)


def test_every_outcome_has_a_code_of_its_own_which_stays_the_same() -> None:
    study = panel_study(panel={"codes": {"full": "NOROOM"}})
    codes = [completion_code_for(study, design_of(study), outcome) for outcome in OUTCOMES]
    assert len(set(codes)) == 5
    assert codes[-1] == "NOROOM"
    assert codes == [completion_code_for(study, design_of(study), outcome) for outcome in OUTCOMES]
    other = panel_study(dataset="more", slug="more")
    assert completion_code_for(other, design_of(other), "completed") != codes[0]


def test_an_address_of_the_design_is_filled_with_the_panel_s_own_ids() -> None:
    back = "https://uni.sona-systems.com/webstudy_credit.aspx?experiment_id=9&credit_token=t&survey_code={worker}"
    study = panel_study(preset="sona", panel={"addresses": {"completed": back}})
    client, _ = start(study, {"survey_code": "s+77@uni"})
    page = do_page(study, client).content.decode()
    assert "experiment_id=9&amp;credit_token=t&amp;survey_code=s%2B77%40uni" in page
    assert "way-back" in page


def test_once_the_raw_ids_are_deleted_the_code_is_shown_where_the_address_needs_one() -> None:
    study = panel_study(preset="sona", panel={"addresses": {"completed": "https://uni.example/?c={worker}"}})
    client, _ = start(study, {"survey_code": "77"})
    do_page(study, client)
    RawId.objects.all().delete()
    page = client.get(f"/s/{study.slug}/panel/end/").content.decode()
    assert "uni.example" not in page
    assert session(study).code in page


@pytest.mark.parametrize("preset", ["plain", "connect", "sona"])
def test_where_the_design_has_no_address_the_code_is_shown_to_copy(preset: str) -> None:
    study = panel_study(preset=preset)
    ids = {
        "plain": {"id": "ada"},
        "connect": {"participantId": "AD1", "assignmentId": "as1", "projectId": "p"},
        "sona": {"survey_code": "77"},
    }[preset]
    client, _ = start(study, ids)
    page = do_page(study, client).content.decode()
    assert "Your code" in page
    assert session(study).code in page
    assert "data-way-back" not in page
    assert entry(study, ids).status_code == 200


def test_a_panel_that_wants_codes_gets_no_address() -> None:
    study = panel_study(panel={"finish": "code"})
    client, _ = start(study, ADA)
    page = do_page(study, client).content.decode()
    assert "app.prolific.com" not in page
    assert session(study).code in page


def test_who_fails_the_quiz_goes_back_screened_out() -> None:
    study = panel_study(quiz=QUIZ)
    client, _ = start(study, ADA)
    client.post(f"/s/{study.slug}/quiz/start/")
    shown = QuizAttempt.objects.get().items[0]["order"]
    client.post(f"/s/{study.slug}/quiz/1/answer/", {"step": "1", "u1": str(shown.index(0) + 1)})
    result = client.get(f"/s/{study.slug}/quiz/").content.decode()
    assert "You did not pass the test" in result
    assert f'href="/s/{study.slug}/work/"' in result
    page = client.get(f"/s/{study.slug}/work/", follow=True).content.decode()
    assert "There is no work for you in this study" in page
    found = session(study)
    assert found.status == "screened-out"
    assert f"cc={completion_code_for(study, design_of(study), 'screened-out')}" in page
    assert "test" in found.feedback
    # another submission of theirs leads to the same end
    again, response = start(study, ADA | {"SESSION_ID": "second"})
    assert "There is no work for you" in again.get(response["Location"]).content.decode()


@pytest.mark.parametrize("stop", [pause_worker, exclude_worker])
def test_whom_a_rule_stops_goes_back_screened_out(stop: Any) -> None:
    study = panel_study(hits=2)
    client, _ = start(study, ADA)
    do_page(study, client)
    Assignment.objects.filter(state="accepted").update(state="returned")  # nothing half done
    more = {"rule": "too-fast", "why": "Too fast.", "evidence": {}} if stop is exclude_worker else {}
    stop(study=study, worker=session(study).worker, **more)
    page = client.get(f"/s/{study.slug}/work/", follow=True).content.decode()
    assert "There is no work for you in this study" in page
    assert session(study).status == "screened-out"
    assert client.get(f"/s/{study.slug}/done/", follow=True).content.decode().count("There is no work") == 1


def test_stopping_is_asked_about_and_then_gives_the_place_back() -> None:
    study = panel_study(hits=2)
    client, _ = start(study, ADA)
    do_page(study, client)
    asked = client.get(f"/s/{study.slug}/done/", follow=True).content.decode()
    assert "You submitted 1 of 2 pages of work." in asked
    assert session(study).status == "working"
    page = client.post(f"/s/{study.slug}/panel/end/", {"confirm": "1"}, follow=True).content.decode()
    assert "You stopped" in page
    assert f"cc={completion_code_for(study, design_of(study), 'returned')}" in page
    assert session(study).status == "returned"
    assert (pages(study, "submitted"), pages(study, "returned")) == (1, 1)
    client.post(f"/s/{study.slug}/panel/end/", {"confirm": "1"})
    assert session(study).status == "returned"


def test_a_page_given_back_alone_leaves_the_session_under_way() -> None:
    study = panel_study()
    client, _ = start(study, ADA)
    client.get(f"/s/{study.slug}/work/")
    held = Assignment.objects.get()
    client.post(f"/s/{study.slug}/work/{held.pk}/return/", {"confirm": "1"})
    assert session(study).status == "working"
    do_page(study, client)
    assert session(study).status == "submitted"


def test_who_comes_when_all_places_are_taken_is_told_so_and_recorded() -> None:
    study = panel_study(**ONE_PLACE)
    assert publication(study).places == 1
    ada, _ = start(study, ADA)
    do_page(study, ada)
    client, response = start(study, BOB)
    page = client.get(response["Location"]).content.decode()
    assert "All places are taken" in page
    assert f"cc={completion_code_for(study, design_of(study), 'full')}" in page
    assert session(study, status="full").worker.name != session(study, status="submitted").worker.name
    assert "All places are taken" in entry(study, BOB).content.decode()


def test_who_answered_nothing_for_minutes_makes_room_for_the_next_and_is_told_so() -> None:
    study = panel_study(**ONE_PLACE)
    ada, _ = start(study, ADA)
    ada.get(f"/s/{study.slug}/work/")
    _, response = start(study, BOB)
    assert response.status_code == 409
    assert "5 minutes" in response.content.decode()
    assert CrowdSession.objects.count() == 1
    later(minutes=6)
    bob, _ = start(study, BOB)
    do_page(study, bob)
    assert "Your time is over" in ada.get(f"/s/{study.slug}/work/", follow=True).content.decode()
    assert {one.status for one in CrowdSession.objects.all()} == {"timed-out", "submitted"}


@pytest.mark.parametrize("known", ["answered", "named"])
def test_who_answered_or_is_in_the_panel_s_list_keeps_the_place(known: str) -> None:
    study = panel_study(**ONE_PLACE)
    ada, _ = start(study, ADA)
    ada.get(f"/s/{study.slug}/work/")
    if known == "answered":
        held = Assignment.objects.get()
        ada.post(f"/s/{study.slug}/work/{held.pk}/save/", {"u1": "1"})
    else:
        CrowdSession.objects.update(confirmed=True)
    later(minutes=6)
    start(study, BOB)
    assert sorted(CrowdSession.objects.values_list("status", flat=True)) == ["full", "working"]


def test_a_closed_study_sends_new_people_back_without_recording_them() -> None:
    study = panel_study()
    start(study, ADA)
    close_study(study=study)
    page = entry(study, BOB)
    assert "All places are taken" in page.content.decode()
    assert (CrowdSession.objects.count(), len(page.cookies)) == (1, 0)


def test_where_the_last_pages_are_taken_who_did_some_is_done_and_who_did_none_finds_it_full() -> None:
    study = panel_study(hits=2)
    ada, _ = start(study, ADA)
    bob, _ = start(study, BOB)
    do_page(study, ada)
    Assignment.objects.filter(state="accepted").update(state="returned")
    HIT.objects.filter(study=study).update(open_slots=0)
    assert "All your answers are stored." in ada.get(f"/s/{study.slug}/work/", follow=True).content.decode()
    assert "All places are taken" in bob.get(f"/s/{study.slug}/work/", follow=True).content.decode()
    assert set(CrowdSession.objects.values_list("status", flat=True)) == {"submitted", "full"}


def test_a_lease_that_ended_can_be_taken_up_again_while_nobody_needs_the_place() -> None:
    study = panel_study()
    client, _ = start(study, ADA)
    client.get(f"/s/{study.slug}/work/")
    held = Assignment.objects.get()
    client.post(f"/s/{study.slug}/work/{held.pk}/save/", {"u1": "1"})
    later(hours=3)
    page = client.get(f"/s/{study.slug}/work/").content.decode()
    assert "Take this page again" in page
    client.post(f"/s/{study.slug}/work/{held.pk}/retake/")
    do_page(study, client)
    assert session(study).status == "submitted"


def test_a_page_taken_up_again_after_somebody_had_its_seat_stays_in_the_session() -> None:
    study = panel_study()
    client, _ = start(study, ADA)
    client.get(f"/s/{study.slug}/work/")
    held = Assignment.objects.get()
    client.post(f"/s/{study.slug}/work/{held.pk}/save/", {"u1": "1"})
    later(hours=3)
    Assignment.objects.update(state="expired")
    study.hits.filter(assignments=held).update(open_slots=2)
    client.post(f"/s/{study.slug}/work/{held.pk}/retake/")
    assert Assignment.objects.get(state="accepted").session == session(study)


def test_whose_time_is_over_loses_the_place_to_the_next_and_is_told_so() -> None:
    study = panel_study(**ONE_PLACE)
    ada, _ = start(study, ADA)
    ada.get(f"/s/{study.slug}/work/")
    held = Assignment.objects.get()
    ada.post(f"/s/{study.slug}/work/{held.pk}/save/", {"u1": "1"})
    later(hours=3)
    bob, _ = start(study, BOB)
    do_page(study, bob)
    page = ada.get(f"/s/{study.slug}/work/", follow=True).content.decode()
    assert "Your time is over" in page
    assert f"cc={completion_code_for(study, design_of(study), 'timed-out')}" in page
    late = ada.post(f"/s/{study.slug}/work/{held.pk}/retake/")
    assert late.status_code == 409
    assert "you have already finished or stopped your work" in late.content.decode()
    assert {one.status for one in CrowdSession.objects.all()} == {"timed-out", "submitted"}
    assert "Your time is over" in entry(study, ADA).content.decode()


def test_nobody_who_holds_a_page_or_came_just_now_is_timed_out() -> None:
    study = panel_study(hits=2)
    ada, _ = start(study, ADA)
    start(study, BOB)
    eve, _ = start(study, EVE)
    ada.get(f"/s/{study.slug}/work/")
    do_page(study, eve)
    later(minutes=45)
    assert time_out_sessions(study=study, minutes=60) == 0
    later(minutes=20)
    assert time_out_sessions(study=study, minutes=60) == 3
    assert time_out_sessions(study=study, minutes=60) == 0
    assert (pages(study, "submitted"), pages(study, "accepted")) == (1, 0)


def test_approving_spends_rejecting_frees_and_closing_frees_what_nobody_took() -> None:
    study = panel_study(reward=50)
    places = publication(study).places
    assert places > 3
    for ids in (ADA, BOB, EVE):
        client, _ = start(study, ids)
        do_page(study, client)
    one, two, three = CrowdSession.objects.order_by("pk")
    decide_session(session=one, approve=True)
    decide_session(session=two, approve=False, why="Answered without looking.")
    budget_agrees(study)
    budget = study.budgets.get()
    assert (budget.spent_cents, budget.reserved_cents) == (65, (places - 2) * 65)
    close_study(study=study)
    budget.refresh_from_db()
    assert (budget.spent_cents, budget.reserved_cents) == (65, 65)  # one waits for its decision
    decide_session(session=three, approve=True)
    budget.refresh_from_db()
    assert (budget.spent_cents, budget.reserved_cents) == (130, 0)
    assert Assignment.objects.filter(session=three).get().state == "approved"
    budget_agrees(study)


def test_a_place_given_back_keeps_its_money_for_the_next_person_and_frees_it_once_closed() -> None:
    study = panel_study()
    client, _ = start(study, ADA)
    bob, _ = start(study, BOB)
    bob.get(f"/s/{study.slug}/work/")
    before = study.budgets.get().reserved_cents
    client.post(f"/s/{study.slug}/panel/end/", {"confirm": "1"})
    assert study.budgets.get().reserved_cents == before
    close_study(study=study)
    assert study.budgets.get().reserved_cents == 65  # Bob's
    bob.post(f"/s/{study.slug}/panel/end/", {"confirm": "1"})
    assert study.budgets.get().reserved_cents == 0
    assert publication(study).state == "finished"
    budget_agrees(study)
    entries = LedgerEntry.objects.count()
    close_study(study=study)
    assert LedgerEntry.objects.count() == entries


def test_comparing_ends_the_sessions_of_a_closed_study_that_nobody_comes_back_to() -> None:
    study = panel_study()
    ada, _ = start(study, ADA)
    ada.get(f"/s/{study.slug}/work/")
    later(hours=3)
    sync_with_crowd(study=study)
    assert session(study).status == "working"  # the place is there for her until somebody needs it
    close_study(study=study)
    study.refresh_from_db()
    said = sync_with_crowd(study=study)
    assert session(study).status == "timed-out"
    assert (said.reserved_cents, said.discrepancies) == (0, [])
    assert publication(study).state == "finished"
    budget_agrees(study)


def test_a_study_opened_again_is_put_up_again_for_what_is_left() -> None:
    study = panel_study()
    places = publication(study).places
    client, _ = start(study, ADA)
    do_page(study, client)
    close_study(study=study)
    open_study(study=study)
    again = study.publications.get(state="published")
    assert (again.number, again.places, again.held_slots) == (2, places - 1, places - 1)
    bob, _ = start(study, BOB)
    do_page(study, bob)
    assert session(study, publication=again).status == "submitted"
    assert "All your answers are stored." in entry(study, ADA).content.decode()
    budget_agrees(study)


def test_a_study_that_pays_nothing_needs_no_budget() -> None:
    study = panel_study(reward=0, budget=0, crowd={"fee_percent": 0.0})
    page = entry(study, ADA).content.decode()
    assert "<dt>Pay" not in page
    client, _ = start(study, ADA)
    do_page(study, client)
    decide_session(session=session(study), approve=True)
    close_study(study=study)
    assert study.budgets.get().spent_cents == 0


def test_the_page_has_the_link_and_a_code_for_each_outcome(designer: Client) -> None:
    study = panel_study()
    response = designer.get(page(study, "panel"))
    text = html.unescape(response.content.decode())
    link = (
        "http://testserver/s/shapes-by-triplet/panel/?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}"
        "&SESSION_ID={{%SESSION_ID%}}"
    )
    assert link in text
    for outcome in OUTCOMES:
        code = completion_code_for(study, design_of(study), outcome)
        assert f"https://app.prolific.com/submissions/complete?cc={code}" in text


def test_who_lacks_the_panel_s_own_address_is_told_where_it_belongs(designer: Client) -> None:
    study = panel_study(preset="sona")
    assert "“Redirect URL: finished”" in words(designer.get(page(study, "panel")))
    address = "https://uni.sona-systems.com/webstudy_credit.aspx?experiment_id=9&credit_token=t&survey_code={worker}"
    told = panel_study(
        preset="sona", slug="told", dataset="more", panel={"addresses": {"completed": address}}
    )
    shown = html.unescape(designer.get(page(told, "panel")).content.decode())
    assert "“Redirect URL: finished”" not in shown
    assert address.replace("{worker}", "WORKER") in shown
    assert "panel/?survey_code=%SURVEY_CODE%" in shown


def test_studies_without_a_panel_have_no_such_tab(designer: Client) -> None:
    local = make_study(make_dataset(pictures=False))
    assert page(local, "panel") not in designer.get(page(local, "workers")).content.decode()
    study = panel_study(dataset="more", slug="more")
    assert page(study, "panel") in designer.get(page(study, "workers")).content.decode()


def test_pages_of_who_stopped_early_are_paid_by_a_bonus_list(designer: Client) -> None:
    study = panel_study(hits=2)
    client, _ = start(study, ADA)
    do_page(study, client)
    client.post(f"/s/{study.slug}/panel/end/", {"confirm": "1"})
    assert "Pay for these pages: 0.50" in words(designer.get(page(study, "panel")))
    designer.post(do(study, "pay-pages"), {"page": "panel", "why": "For the page."})
    made = designer.post(do(study, "bonus-list"), {"page": "panel"})
    assert made.content.decode() == f"{ADA['SESSION_ID']},0.50\n"
    again = designer.post(do(study, "bonus-list"), {"page": "panel"}, follow=True)
    assert "No list was created" in words(again)
    assert designer.post(do(study, "bonus-list"), {"number": "1"}).content == made.content


def test_raw_ids_are_deleted_once_the_name_was_typed(designer: Client) -> None:
    study = panel_study()
    done(study, ADA)
    assert "can delete the ids once the study is closed" in words(designer.get(page(study, "panel")))
    close_study(study=study)
    assert "wait s" not in words(designer.get(page(study, "panel")))
    refused = designer.post(do(study, "forget-ids"), {"page": "panel", "typed": "yes"}, follow=True)
    assert f"type {study.slug}" in words(refused)
    assert RawId.objects.count() == 2
    done_ = designer.post(do(study, "forget-ids"), {"page": "panel", "typed": study.slug}, follow=True)
    assert "2 raw ids are deleted." in words(done_)
    assert not RawId.objects.exists()


def test_who_may_only_look_pays_and_deletes_nothing() -> None:
    study = panel_study()
    done(study, ADA)
    close_study(study=study)
    reader = User.objects.create_user("reader", is_staff=True)
    reader.user_permissions.add(Permission.objects.get(codename="view_study"))
    client = signed_in(reader)
    for step in ("bonus-list", "pay-pages", "forget-ids"):
        assert client.post(do(study, step), {"typed": study.slug}).status_code == 403
    assert "Delete the ids" not in words(client.get(page(study, "panel")))
    assert session(study).status == "submitted"
