"""What people do and the clocks bring, on both sides of Mechanical Turk, brought together."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import call_command
from django.utils import timezone

from annotation.crowds import backend_of
from annotation.crowds.mturk.backend import annotation_of
from annotation.crowds.mturk.client import client_of as turk_client
from annotation.crowds.publishing import close_study, open_study
from annotation.crowds.sync import note_hint, sync_what_is_due
from annotation.errors import SlotTaken
from annotation.models import Assignment, Case, CrowdCall, CrowdSession, Judgment, Publication
from annotation.money.ledger import set_budget
from annotation.work.submissions import save_answers
from evaluation.data.integrity import check_integrity
from judgments.models import HIT, Job
from tests.annotation.crowds.turking import (
    Crowd,
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
from tests.fakes.mturk import MTurkEmulator, Refused

PLACE = "mturk-sandbox"


@pytest.fixture
def turk(db: None) -> Iterator[MTurkEmulator]:
    with emulated() as emulator:
        yield emulator
    assert check_integrity().problems == []


def test_answers_that_never_reached_the_crowd_are_kept_apart_and_their_seat_is_free(
    turk: MTurkEmulator,
) -> None:
    study = one_hit(crowd={"lease_minutes": 30})
    open_study(study=study)
    crowd = Crowd(turk, study)
    late = crowd.accept(up(study)[0], "ada")
    turk.clock.advance(minutes=31)
    late.answer()  # our server still takes them
    with pytest.raises(Refused):
        late.post()
    assert kinds_of(sync(study)) == ["unnamed"]  # the HIT goes on; fresh work may not be known yet
    turk.clock.advance(days=8)
    assert kinds_of(sync(study)) == ["apart"]
    session, assignment = late.refreshed()
    assert (session.status, session.booked, assignment.state) == ("unknown", "", "apart")
    hit = HIT.objects.get()
    assert (hit.required, hit.open_slots) == (2, 2)
    assert not Judgment.objects.current().exists()
    assert Judgment.objects.count() == 2
    assert books(study) == (0, 0)
    same_money(study, turk)


def test_an_id_that_goes_from_one_worker_to_the_next_pays_the_next_alone(turk: MTurkEmulator) -> None:
    study = one_hit(people=1, crowd={"lease_minutes": 30})
    open_study(study=study)
    crowd = Crowd(turk, study)
    first = crowd.accept(up(study)[0], "ada")
    first.give_back()
    second = crowd.accept(up(study)[0], "ben")
    assert first.assignment_id == second.assignment_id
    with pytest.raises(Exception, match="you returned this page"):
        first.answer()
    second.answer()
    second.post()
    assert sync(study).discrepancies == []
    assert [one.refreshed()[0].status for one in (first, second)] == ["returned", "submitted"]
    assert HIT.objects.get().required == 1
    same_money(study, turk)


def test_late_answers_under_an_id_that_went_on_are_kept_apart_at_once(turk: MTurkEmulator) -> None:
    study = one_hit(people=1, crowd={"lease_minutes": 30})
    open_study(study=study)
    crowd = Crowd(turk, study)
    first = crowd.accept(up(study)[0], "ada")
    turk.clock.advance(minutes=31)
    first.answer()
    second = crowd.accept(up(study)[0], "ben")
    assert first.assignment_id == second.assignment_id
    second.answer()
    second.post()
    assert kinds_of(sync(study)) == ["apart"]
    assert [one.refreshed()[1].state for one in (first, second)] == ["apart", "submitted"]
    assert HIT.objects.get().required == 1
    assert second.refreshed()[1].slot == 0
    same_money(study, turk)


def test_answers_after_the_hit_expired_count_while_their_own_time_lasts(turk: MTurkEmulator) -> None:
    study = one_hit(crowd={"lifetime_hours": 1, "lease_minutes": 300})
    open_study(study=study)
    work = Crowd(turk, study).accept(up(study)[0], "ada")
    turk.clock.advance(hours=2)
    assert sync(study).discrepancies == []
    assert books(study) == (24, 0)
    work.answer()
    work.post()
    assert sync(study).discrepancies == []
    assert work.refreshed()[1].state == "submitted"
    assert books(study) == (12, 0)  # the other place is given back, this one not
    same_money(study, turk)


def test_answers_that_were_saved_in_full_are_submitted_for_who_handed_in_there(turk: MTurkEmulator) -> None:
    study = one_hit()
    open_study(study=study)
    crowd = Crowd(turk, study)
    saved, overdue = (crowd.accept(up(study)[0], name) for name in ("ada", "ben"))
    for work in (saved, overdue):
        work.save()
        work.post()
    Assignment.objects.filter(pk=overdue.assignment.pk).update(expires_at=timezone.now())
    assert sync(study).discrepancies == []
    assert [one.refreshed()[1].state for one in (saved, overdue)] == ["submitted", "submitted"]
    assert Judgment.objects.count() == 4
    assert sync(study, thorough=True).discrepancies == []


def test_work_without_answers_is_named_and_left_to_a_person(turk: MTurkEmulator) -> None:
    study = one_hit(crowd={"approve_after_hours": 1})
    open_study(study=study)
    crowd = Crowd(turk, study)
    half = crowd.accept(up(study)[0], "ada")
    save_answers(assignment=half.assignment, answers=half.answers()[:1])
    half.post()
    stranger = turk.turker("ASTRANGER")
    stranger.work(up(study)[0].external_id, {"answer": "made up"})
    turk.clock.advance(hours=2)
    CrowdSession.objects.update(submitted_at=timezone.now() - timedelta(hours=2))
    synced = sync(study)
    assert kinds_of(synced) == ["no-answers", "no-answers"]
    assert "Some of its answers were never saved here." in synced.discrepancies[0].words
    assert "Nothing was ever answered here" in synced.discrepancies[1].words
    assert not CrowdCall.objects.filter(kind="approve").exists()
    assert books(study) == (24, 0)


def test_the_crowds_clock_pays_whom_nobody_looked_at(turk: MTurkEmulator) -> None:
    study = one_hit()
    open_study(study=study)
    work = Crowd(turk, study).do(up(study)[0], "ada")
    sync(study)
    turk.clock.advance(days=31)
    assert sync(study).discrepancies == []
    session, assignment = work.refreshed()
    assert (session.status, session.booked, assignment.state) == ("approved", "spent", "approved")
    assert books(study) == (0, 12)
    same_money(study, turk)
    assert Publication.objects.get().state == "finished"


def test_what_nothing_speaks_against_is_approved_after_the_studys_delay(turk: MTurkEmulator) -> None:
    study = make_turk_study(crowd={"approve_after_hours": 48}, controls={"per_hit": 0})
    open_study(study=study)
    works = Crowd(turk, study).do_all("ada", "ben")
    sync(study)
    assert not CrowdCall.objects.filter(kind="approve").exists()
    long_ago = timezone.now() - timedelta(hours=49)
    CrowdSession.objects.update(submitted_at=long_ago)
    Case.objects.create(study=study, worker=works[1].session.worker, rule="fast", evidence={})
    sync(study)
    states = {one.name: one.refreshed()[1].state for one in works}
    assert states == {"ada": "approved", "ben": "submitted"}
    same_money(study, turk)
    sync(study)
    assert CrowdCall.objects.filter(kind="approve").count() == len(works) // 2


def test_the_crowd_pays_later_by_itself_than_we_would(turk: MTurkEmulator) -> None:
    study = one_hit(crowd={"approve_after_hours": 48})
    open_study(study=study)
    (hit_type,) = turk.world.hit_types.values()
    assert hit_type.auto_approval == (48 + 7 * 24) * 3600


def test_fresh_work_that_the_crowd_does_not_know_yet_is_waited_for(db: None) -> None:
    with emulated(lag_seconds=300) as turk:
        study = one_hit(people=1)
        open_study(study=study)
        work = Crowd(turk, study).do(up(study)[0], "ada")
        assert kinds_of(sync(study)) == ["unnamed"]
        turk.clock.advance(minutes=6)
        assert kinds_of(sync(study)) == []
        assert work.refreshed()[0].confirmed
        same_money(study, turk)


def test_what_was_set_apart_comes_back_when_the_crowd_names_it_after_all(turk: MTurkEmulator) -> None:
    study = one_hit()
    open_study(study=study)
    work = Crowd(turk, study).do(up(study)[0], "ada")
    Assignment.objects.filter(pk=work.assignment.pk).update(state="apart")
    HIT.objects.update(open_slots=2)
    CrowdSession.objects.update(status="unknown")
    assert sync(study).discrepancies == []
    assert work.refreshed()[1].state == "submitted"
    assert HIT.objects.get().open_slots == 1


def test_all_pages_of_assignments_are_read(turk: MTurkEmulator) -> None:
    study = one_hit(people=203)  # a page there has a hundred
    open_study(study=study)
    assert books(study) == (203 * 14, 0)  # 40 % from ten places on
    publication = up(study)[0]
    for number in range(203):
        turk.turker(f"A{number:03d}").work(publication.external_id, {"receipt": "x"})
    assert len({one.worker for one in backend_of(study).fetch_work(publication)}) == 203
    assert len(turk.calls("ListAssignmentsForHIT")) == 3


def test_who_hands_in_while_the_study_is_closed_is_paid(turk: MTurkEmulator) -> None:
    study = one_hit()
    open_study(study=study)
    crowd = Crowd(turk, study)
    saved, late = (crowd.accept(up(study)[0], name) for name in ("ada", "ben"))
    saved.save()
    saved.post()
    close_study(study=study)
    late.answer()
    late.post()
    assert sync(study).discrepancies == []
    assert {one.refreshed()[1].state for one in (saved, late)} == {"submitted"}
    turk.clock.advance(days=31)
    sync(study)
    assert books(study) == (0, 2 * 12)
    same_money(study, turk)


def test_a_hit_of_another_copy_of_the_database_and_one_that_is_gone_are_named(turk: MTurkEmulator) -> None:
    study = make_turk_study()
    open_study(study=study)
    publications = up(study)
    gone, foreign = publications[0], publications[1]
    with turk.world.lock:
        del turk.world.hits[gone.external_id]
        put_up = turk.world.hits.pop(foreign.external_id)
        put_up.hit_id, put_up.annotation = "3ANOTHER", annotation_of("publish-unknown", study)
        turk.world.hits["3ANOTHER"] = put_up
    assert kinds_of(sync(study)) == ["only-here", "only-here", "only-there"]


def test_a_different_reward_there_is_named(turk: MTurkEmulator) -> None:
    study = one_hit()
    open_study(study=study)
    Publication.objects.update(reward_cents=9, fee_cents=3)
    assert kinds_of(sync(study)) == ["money"]


def test_money_that_was_paid_there_beyond_the_budget_is_named_until_it_is_raised(turk: MTurkEmulator) -> None:
    study = one_hit(people=1, crowd={"budget_cents": 12})
    open_study(study=study)
    work = Crowd(turk, study).do(up(study)[0], "ada")
    client = turk_client(PLACE)
    client.reject(work.assignment_id, feedback="Empty.")
    sync(study)
    set_budget(study=study, platform=PLACE, cents=5)
    client.approve(work.assignment_id, override=True)
    assert kinds_of(sync(study, thorough=True)) == ["money"]
    set_budget(study=study, platform=PLACE, cents=12)
    assert kinds_of(sync(study, thorough=True)) == []
    same_money(study, turk)


def test_a_sync_that_finds_nothing_new_asks_for_the_list_alone(turk: MTurkEmulator) -> None:
    study = make_turk_study()
    open_study(study=study)
    sync(study)
    before = len(turk.calls())
    sync(study)
    assert len(turk.calls()) == before + 1
    Crowd(turk, study).do(up(study)[0], "ada")
    before = len(turk.calls())
    sync(study)
    assert len(turk.calls()) == before + 2


def test_notifications_are_a_hint_however_often_and_in_whatever_order_they_come(turk: MTurkEmulator) -> None:
    queue = turk.queues.create("events")
    with settings_for(turk, MTURK_SQS_QUEUE=queue):
        study = one_hit()
        open_study(study=study)
        sync(study)
        works = Crowd(turk, study).do_all("ada", "ben")
        assert sync(study).discrepancies == []
        assert {one.refreshed()[0].status for one in works} == {"submitted"}
        assert Publication.objects.get().hinted_at is not None
        assert sync(study).assignments == {"submitted": 2}


def test_a_hint_starts_one_job_and_no_more_for_a_minute(turk: MTurkEmulator) -> None:
    study = one_hit()
    open_study(study=study)
    external_id = up(study)[0].external_id
    assert note_hint(platform=PLACE, external_id=external_id)
    assert note_hint(platform=PLACE, external_id=external_id)
    assert not note_hint(platform="mturk-live", external_id=external_id)
    assert not note_hint(platform=PLACE, external_id="3MADEUP")
    assert Job.objects.filter(kind="sync_crowd").count() == 1


def test_open_studies_are_compared_in_their_turn(turk: MTurkEmulator) -> None:
    study = one_hit()
    assert sync_what_is_due() == []
    open_study(study=study)
    assert sync_what_is_due() == [study.slug]
    assert sync_what_is_due() == []
    Job.objects.update(
        state="done", finished_at=timezone.now(), created_at=timezone.now() - timedelta(hours=1)
    )
    assert sync_what_is_due() == [study.slug]


def test_the_command_writes_the_report(
    turk: MTurkEmulator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = one_hit()
    open_study(study=study)
    Crowd(turk, study).do(up(study)[0], "ada")
    call_command("sync_crowd", study.slug, "--output", str(tmp_path / "report.json"))
    assert json.loads((tmp_path / "report.json").read_text()) == {
        "hits": 1,
        "assignments": {"submitted": 1},
        "budget_cents": 100_000,
        "reserved_cents": 24,
        "spent_cents": 0,
        "discrepancies": [],
    }
    assert capsys.readouterr().out.strip() == "1 HITs at the crowd; assignments: 1 submitted."


def test_made_up_arrivals_take_few_seats_and_leave_no_trace_in_the_books(turk: MTurkEmulator) -> None:
    study = one_hit()
    open_study(study=study)
    crowd = Crowd(turk, study)
    for number in range(2):
        crowd.arrive(up(study)[0], f"MADEUP{number}", f"w{number}").answer()
    with pytest.raises(SlotTaken):
        crowd.arrive(up(study)[0], "MADEUP2", "w2")
    turk.clock.advance(days=8)
    assert set(kinds_of(sync(study))) == {"apart"}
    assert (HIT.objects.get().required, HIT.objects.get().open_slots) == (2, 2)
    assert books(study) == (0, 0)
    same_money(study, turk)
