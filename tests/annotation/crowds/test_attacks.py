"""What would pay twice, lose money, stop everything or take over people at a crowd: each a way that was open once."""

import re
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import F
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from annotation.crowds.base import CrowdPublication, CrowdRefusal, RetryLater
from annotation.crowds.extra_slots import MAX_EXTRA_SLOTS
from annotation.crowds.mturk.backend import MTurkBackend
from annotation.crowds.opening import begin_closing, begin_opening, close_study, open_study
from annotation.crowds.outbox.delivery import carry_out_calls
from annotation.crowds.outbox.messages import ask_to_send_text
from annotation.crowds.outbox.resolution import retry_call
from annotation.crowds.publishing import ask_to_extend
from annotation.crowds.raw_ids import forget_raw_ids
from annotation.crowds.reported_work import exclude_unknown_work
from annotation.crowds.sessions import receive_worker
from annotation.crowds.sync.decisions import approve_due_work
from annotation.errors import ArrivalRefused, SlotTaken
from annotation.models import Assignment, CrowdCall, CrowdSession, Publication, RawId
from annotation.money.payments import decide_session, pay_bonus, pay_top_ups
from annotation.money.wages import pay_of_sessions
from common.errors import WrongState
from evaluation.data.integrity import check_integrity
from evaluation.data.judgment_sets.loaders import load_judgments
from evaluation.data.judgment_sets.study_signatures import hash_of_judgments
from judgments.models import HIT, Study
from judgments.studies.studies import mark_closed, mark_open
from tests.annotation.casting import make_study
from tests.annotation.crowds.panels import ADA, do_page, panel_study, session, start
from tests.annotation.crowds.turking import (
    CROWD,
    Crowd,
    Work,
    books,
    emulated,
    kinds_of,
    make_turk_study,
    one_hit,
    same_money,
    settings_for,
    sync,
    up,
)
from tests.fakes.mturk import Fault, MTurkEmulator
from tests.judgments.desk import do, page, words

CREATE = frozenset({"CreateHITWithHITType"})


def opened(**crowd: Any) -> Study:
    study = make_turk_study(crowd=crowd)
    open_study(study=study)
    return study


def two_studies() -> tuple[Study, Study]:
    one = make_turk_study(slug="one")
    two = make_study(
        one.dataset, opened=False, slug="two", question="Which?", crowd=CROWD | {"reward_cents": 50}
    )
    open_study(study=one)
    open_study(study=two)
    return one, two


def test_an_assignment_of_one_study_moves_no_money_of_another(turk: MTurkEmulator) -> None:
    one, two = two_studies()
    kept = books(one)
    there = up(two)[0]
    taken = Crowd(turk, two).turker("eve").accept(there.external_id)
    Crowd(turk, one).arrive(up(one)[0], taken.assignment_id, "eve").answer()
    Crowd(turk, two).turker("eve").submit(taken.assignment_id, {"receipt": "x"})
    assert kinds_of(sync(two)) == ["no-answers"]
    sync(one)
    session, page = CrowdSession.objects.get(), Assignment.objects.get()
    assert (session.study, session.publication, session.status) == (two, there, "submitted")
    assert (page.study, page.state, page.session) == (one, "apart", None)
    decide_session(session=session, approve=True)
    sync(two)
    sync(one)
    assert books(one) == kept
    assert books(two)[1] == 60
    assert check_integrity().problems == []


def test_answers_to_another_hit_are_no_answers_to_the_one_that_was_accepted(turk: MTurkEmulator) -> None:
    study = opened()
    wanted, other = up(study)[:2]
    taken = Crowd(turk, study).turker("eve").accept(wanted.external_id)
    Crowd(turk, study).arrive(other, taken.assignment_id, "eve").answer()
    Crowd(turk, study).turker("eve").submit(taken.assignment_id, {"receipt": "x"})
    assert kinds_of(sync(study)) == ["no-answers"]
    assert CrowdSession.objects.get().publication == wanted
    assert Assignment.objects.get().state == "apart"


def test_an_assignment_opens_one_hit(turk: MTurkEmulator) -> None:
    wanted, other = up(opened())[:2]
    receive_worker(publication=wanted, worker_id="AEVE", assignment_id="X1")
    with pytest.raises(ArrivalRefused, match="assignment"):
        receive_worker(publication=other, worker_id="AEVE", assignment_id="X1")
    assert CrowdSession.objects.get().publication == wanted


def test_work_that_the_crowd_names_late_is_not_given_up_unlooked_at(db: None) -> None:
    with emulated(lag_seconds=300) as turk, settings_for(turk, CROWD_GRACE_SECONDS=600):
        study = opened()
        publication = up(study)[0]
        Crowd(turk, study).do(publication, "ada")
        work = Crowd(turk, study).do(publication, "ben")
        sync(study)
        facts = Publication.objects.get(pk=publication.pk).seen
        turk.clock.advance(seconds=400)
        old = timezone.now() - timedelta(seconds=700)
        Assignment.objects.update(submitted_at=old, accepted_at=old)
        Publication.objects.filter(pk=publication.pk).update(seen=_facts(study, publication))
        sync(study)
        session, page = work.refreshed()
        assert (session.confirmed, page.state) == (True, "submitted"), facts


def _facts(study: Study, publication: Publication) -> dict[str, Any]:
    """As the crowd tells them now, as if it had told them before it named the work."""
    shown = MTurkBackend().fetch_publications(study, known=[publication])
    return dict(next(one for one in shown if one.external_id == publication.external_id).facts)


def test_work_that_was_set_apart_can_be_approved_once_it_is_known(turk: MTurkEmulator) -> None:
    study = opened(approve_after_hours=1)
    work = Crowd(turk, study).accept(up(study)[0], "ada")
    work.answer()
    first = decide_session(session=work.refreshed()[0], approve=True)
    assert exclude_unknown_work(session=work.session) == 1
    work.post()
    sync(study)
    session, page = work.refreshed()
    assert (session.status, page.state) == ("submitted", "submitted")
    CrowdSession.objects.update(submitted_at=timezone.now() - timedelta(hours=2))
    assert approve_due_work(study=study) == 1
    sync(study)
    session, page = work.refreshed()
    assert (session.status, page.state) == ("approved", "approved")
    assert first is not None
    first.refresh_from_db()
    assert first.state == "dropped"
    same_money(study, turk)


def test_more_time_asked_for_twice_at_once_keeps_the_money_once(turk: MTurkEmulator) -> None:
    study = opened()
    Crowd(turk, study).do(up(study)[0], "ada")
    for publication in up(study):
        Publication.objects.filter(pk=publication.pk).update(expires_at=timezone.now())
    turk.clock.advance(days=8)
    sync(study)
    publication = Publication.objects.filter(sessions__isnull=False).get()
    assert (publication.state, publication.held_slots) == ("expired", 1)
    until = timezone.now() + timedelta(days=10)
    ask_to_extend(publication=publication, until=until)
    ask_to_extend(publication=publication, until=until + timedelta(hours=1))
    assert kinds_of(sync(study)) == []
    publication.refresh_from_db()
    assert (publication.state, publication.held_slots) == ("published", 2)
    same_money(study, turk)


def test_an_extension_by_another_runner_is_not_taken_back_by_an_old_view(
    turk: MTurkEmulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = opened()
    publication = up(study)[0]
    turk.clock.advance(days=8)
    listed = MTurkBackend.fetch_publications

    def overtaken(self: MTurkBackend, of: Study, *, known: Any) -> list[CrowdPublication]:
        """The list is read, and then another process has the extension carried out."""
        found = list(listed(self, of, known=known))
        ask_to_extend(publication=publication, until=timezone.now() + timedelta(days=10))
        carry_out_calls(study=study, wait=lambda seconds: None)
        return found

    with monkeypatch.context() as patched:
        patched.setattr(MTurkBackend, "fetch_publications", overtaken)
        sync(study)
    publication.refresh_from_db()
    assert (publication.state, publication.held_slots) == ("published", 2)
    same_money(study, turk)


def test_what_was_not_put_up_before_closing_stays_down(turk: MTurkEmulator) -> None:
    study = make_turk_study()
    begin_opening(study=study)
    begin_closing(study=study)
    assert sync(study).discrepancies == []
    assert turk.dump()["hits"] == []
    assert books(study) == (0, 0)
    open_study(study=study)  # another day
    assert len(turk.dump()["hits"]) == len(up(study)) > 0
    same_money(study, turk)


def test_what_may_have_been_put_up_before_closing_is_found_and_taken_down(turk: MTurkEmulator) -> None:
    study = make_turk_study()
    begin_opening(study=study)
    with turk.faults.during(Fault("drop_after", CREATE)):
        carry_out_calls(study=study, wait=lambda seconds: None)
    assert len(turk.dump()["hits"]) > 0
    assert up(study) == []
    close_study(study=study)
    for _ in range(2):
        sync(study)
    assert {one["status"] for one in turk.dump()["hits"]} == {"Disposed"}
    assert books(study) == (0, 0)
    same_money(study, turk)


def approved_work(study: Study, turk: MTurkEmulator) -> CrowdSession:
    work = Crowd(turk, study).do(up(study)[0], "ada")
    sync(study)
    decide_session(session=work.refreshed()[0], approve=True)
    sync(study)
    return work.refreshed()[0]


def test_a_slow_runner_that_was_refused_does_not_hide_what_a_faster_one_began(
    turk: MTurkEmulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says that nothing was done only after another runner took the call over, paid, and lost the answer; and the
    service forgets in a day what was asked of it."""
    study = opened()
    pay_bonus(session=approved_work(study, turk), cents=30, why="Thanks.")
    carry_out, turns = MTurkBackend.carry_out, []

    def slow(self: MTurkBackend, asked: CrowdCall) -> dict[str, Any]:
        turns.append(asked)
        if len(turns) == 1:
            with suppress(KeyboardInterrupt):
                carry_out_calls(study=study, wait=lambda seconds: None)
            turk.clock.advance(hours=25)
            day = timedelta(hours=25)
            CrowdCall.objects.update(
                first_started_at=F("first_started_at") - day, started_at=F("started_at") - day
            )
            raise RetryLater("Throttled.", had_no_effect=True)
        answer = carry_out(self, asked)
        if len(turns) == 2:
            raise KeyboardInterrupt
        return answer

    monkeypatch.setattr(MTurkBackend, "carry_out", slow)
    carry_out_calls(study=study, wait=lambda seconds: None)
    assert len(turk.dump()["bonuses"]) == 1
    same_money(study, turk)


def test_what_one_runner_parked_and_another_had_done_is_done(
    turk: MTurkEmulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = opened()
    session = approved_work(study, turk)
    before = books(study)
    bonus = pay_bonus(session=session, cents=30, why="Thanks.")
    carry_out, turns = MTurkBackend.carry_out, []

    def slow(self: MTurkBackend, asked: CrowdCall) -> dict[str, Any]:
        turns.append(asked)
        if len(turns) == 2:
            raise CrowdRefusal("Not now.")
        answer = carry_out(self, asked)
        carry_out_calls(study=study, wait=lambda seconds: None)
        return answer

    monkeypatch.setattr(MTurkBackend, "carry_out", slow)
    carry_out_calls(study=study, wait=lambda seconds: None)
    bonus.refresh_from_db()
    assert bonus.state == "done"
    assert books(study) == (before[0], before[1] + 36)
    same_money(study, turk)


def test_a_bonus_of_which_nobody_knows_is_not_paid_a_second_time_as_a_top_up(turk: MTurkEmulator) -> None:
    study = opened(floor_cents_per_hour=36_000)
    approved_work(study, turk)
    Assignment.objects.update(accepted_at=F("submitted_at") - timedelta(minutes=5))
    (call,), _ = pay_top_ups(study=study, why="To the floor.")
    assert study.events.get(what="top-up").why == "To the floor."
    CrowdCall.objects.filter(pk=call.pk).update(state="parked", problem="Nobody can tell.")
    assert [pay.top_up_cents for pay in pay_of_sessions(study)] == [0]
    with pytest.raises(WrongState, match="below"):
        pay_top_ups(study=study, why="To the floor.")
    retry_call(call=CrowdCall.objects.get(pk=call.pk))
    sync(study)
    assert len(turk.dump()["bonuses"]) == 1
    same_money(study, turk)


@pytest.fixture
def study(db: None) -> Study:
    """At the sandbox by our rows alone; nothing is asked of it."""
    made = make_turk_study(controls={"per_hit": 0})  # a wrong answer to one would set somebody aside
    made.platform = "mturk-sandbox"
    made.save(update_fields=["platform"])
    return mark_open(study=made)


def arrived(study: Study, name: str = "eve") -> Work:
    hit = HIT.objects.filter(study=study)[0]
    publication = Publication.objects.create(
        study=study, platform=study.platform, hit=hit, token="t", external_id="H1", state="published", places=2,
        reward_cents=10, fee_cents=2,
    )  # fmt: skip
    nobody: Any = None  # the service is not asked
    return Crowd(nobody, study).arrive(publication, "MADEUP", name)


def test_answers_count_once_the_crowd_names_their_work(study: Study) -> None:
    """Whoever knows a HIT's id can open its page with an assignment and a worker of their own making."""
    work = arrived(study)
    work.answer()
    table, before = load_judgments(study), hash_of_judgments(study)
    assert table.data_hash == before
    assert len(table.used) == 4
    assert not table.used.any()
    CrowdSession.objects.update(confirmed=True)
    table = load_judgments(study)
    assert table.used.all()
    assert table.data_hash == hash_of_judgments(study) != before


@pytest.mark.parametrize("problem", [CrowdRefusal, RetryLater])
def test_a_refusal_that_names_somebody_is_kept_without_their_id(
    study: Study, problem: type[Exception], monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.CROWD_BACKOFF_SECONDS = 0.0
    work = arrived(study)
    ask_to_send_text(study=study, workers=[work.session.worker], subject="Hello", text="You there")

    def refuse(self: MTurkBackend, call: CrowdCall) -> dict[str, Any]:
        raise problem("Worker AEVE (id=AEVE/1) cannot be written to; AEVEN is another one.")

    monkeypatch.setattr(MTurkBackend, "carry_out", refuse)
    carry_out_calls(study=study, wait=lambda seconds: None)
    said = CrowdCall.objects.get().problem
    assert "cannot be written to; AEVEN is another one." in said
    assert "AEVE " not in said
    assert "=AEVE/" not in said


def test_ids_that_people_wrote_into_reasons_messages_and_forms_are_forgotten_too(study: Study) -> None:
    work = arrived(study)
    (call,) = ask_to_send_text(
        study=study, workers=[work.session.worker], subject="Hello AEVE", text="Dear AEVE, 7 cents for AEVE!"
    )
    CrowdCall.objects.update(answer={"list": 1, "of": ["AEVE"]}, why="AEVE asked")
    CrowdSession.objects.update(receipt="<FreeText>AEVE</FreeText>")
    assert RawId.objects.count() == 1
    mark_closed(study=study)
    assert forget_raw_ids(study=study) == 1
    call.refresh_from_db()
    assert call.payload == {"subject": "Hello …", "text": "Dear …, 7 cents for …!"}
    assert (call.answer, call.why) == ({"list": 1, "of": ["…"]}, "… asked")
    assert CrowdSession.objects.get().receipt == "<FreeText>…</FreeText>"


def test_a_panel_may_give_a_person_the_same_submission_id_in_two_studies(db: None) -> None:
    one = panel_study()
    two = panel_study(slug="another", dataset="more-shapes")
    for study in (one, two):
        _, answer = start(study, ADA)
        assert answer.status_code == 303
    first, second = CrowdSession.objects.order_by("pk")
    assert first.worker == second.worker
    assert first.external_id != second.external_id


def test_two_windows_pay_one_bonus(db: None, client: Client) -> None:
    client.force_login(User.objects.create_superuser("designer"))
    study = panel_study()
    browser, _ = start(study, ADA)
    do_page(study, browser)
    decide_session(session=session(study), approve=True)
    shown = re.search(r'name="seen" value="([0-9]+)"', client.get(page(study, "crowd")).content.decode())
    assert shown is not None
    form = {"page": "crowd", "worker": session(study).worker.name, "amount": "0.30", "why": "Thanks."}

    def press(seen: str) -> str:
        return words(client.post(do(study, "bonus"), form | {"seen": seen}, follow=True))

    assert "is being paid" in press(shown[1])
    assert "after you loaded" in press(shown[1])
    assert "after you loaded" in press("")
    assert CrowdCall.objects.filter(kind="bonus").count() == 1
    assert "is being paid" in press(str(CrowdCall.objects.get(kind="bonus").pk))


def test_made_up_assignments_turn_nobody_away_who_accepted(turk: MTurkEmulator) -> None:
    study = one_hit(people=2)
    open_study(study=study)
    publication = up(study)[0]
    crowd = Crowd(turk, study)
    for number in range(2):
        crowd.arrive(publication, f"MADEUP{number}", f"eve{number}")
    with pytest.raises(SlotTaken, match="assignment"):
        crowd.arrive(publication, "MADEUP9", "eve9")
    for name in ("ada", "ben"):
        crowd.do(publication, name)
    assert not kinds_of(sync(study))
    assert CrowdSession.objects.filter(confirmed=True).count() == 2
    close_study(study=study)
    turk.clock.advance(days=8)
    sync(study)
    assert sorted(Assignment.objects.values_list("state", flat=True)) == ["expired"] * 2 + ["submitted"] * 2
    hit = HIT.objects.get()
    assert (hit.required, hit.open_slots) == (2, 0)


def test_an_assignment_that_was_accepted_gives_one_slot(turk: MTurkEmulator) -> None:
    study = one_hit(people=2)
    open_study(study=study)
    publication = up(study)[0]
    crowd = Crowd(turk, study)
    taken = crowd.turker("eve").accept(publication.external_id).assignment_id
    for number in range(30):
        crowd.arrive(publication, taken, f"eve{number}")
    assert Assignment.objects.filter(state="accepted").count() == 1


def test_while_the_crowd_does_not_answer_a_few_more_are_let_in(turk: MTurkEmulator) -> None:
    study = one_hit(people=1)
    open_study(study=study)
    publication = up(study)[0]
    crowd = Crowd(turk, study)
    with turk.faults.during(Fault("drop_before")):
        for number in range(MAX_EXTRA_SLOTS + 1):
            crowd.arrive(publication, f"UNKNOWN{number}", f"w{number}")
        with pytest.raises(SlotTaken):
            crowd.arrive(publication, "UNKNOWN", "last")
    crowd.do(publication, "ada")
