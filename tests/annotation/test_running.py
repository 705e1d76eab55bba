"""Pausing, resuming, extending, expiring and re-opening: who still gets work, and what the log says."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from annotation.crowds.publishing import close_study
from annotation.errors import StudyPaused
from annotation.models import Assignment
from annotation.work.claims import claim_assignment
from annotation.work.extending import (
    expire_assignments,
    expire_slots,
    extend_leases,
    extend_study,
    pause_study,
    reopen_units,
    resume_study,
)
from annotation.work.leases import reserve_next, retake_assignment
from annotation.work.submissions import submit_and_claim
from common.errors import NotThere, WrongState
from evaluation.integrity import check_integrity
from judgments.models import HIT, Study, StudyEvent
from tests.annotation import casting
from tests.annotation.leasing import answers_of, finish_all, hand_in, take
from tests.annotation.voting import always_first, work
from tests.studies import make_study, make_worker

pytestmark = pytest.mark.django_db
WHY = "a caption is broken"


def newest(study: Study) -> StudyEvent:
    found = study.events.first()
    assert found is not None
    return found


def fresh(study: Study) -> Study:
    return Study.objects.get(pk=study.pk)


def test_a_paused_study_hands_out_nothing_and_who_holds_a_hit_goes_on() -> None:
    study = make_study("pairwise")
    holder, other = make_worker(study)[0], make_worker(study, "w-2")[0]
    held = take(study, holder)
    pause_study(study=study, why=WHY)
    with pytest.raises(StudyPaused):
        claim_assignment(study=fresh(study), worker=other)
    assert take(fresh(study), holder) == held
    hand_in(held)
    held.refresh_from_db()
    assert held.state == Assignment.State.SUBMITTED
    with pytest.raises(StudyPaused):
        claim_assignment(study=fresh(study), worker=holder)


def test_a_claim_that_began_before_the_pause_gets_nothing_after_it() -> None:
    study = make_study("pairwise")
    worker = make_worker(study)[0]
    before = fresh(study)  # as a request that is under way knows it
    pause_study(study=study, why=WHY)
    assert claim_assignment(study=before, worker=worker) is None
    assert not Assignment.objects.filter(study=study).exists()


def test_what_was_fetched_ahead_goes_back_and_the_next_page_is_not_handed_out_with_a_submission() -> None:
    study = make_study("pairwise")
    worker = make_worker(study)[0]
    held = take(study, worker)
    assert reserve_next(assignment=held) is not None
    pause_study(study=study, why=WHY)
    assert not Assignment.objects.filter(study=study, state=Assignment.State.RESERVED).exists()
    held = Assignment.objects.get(pk=held.pk)
    submission, claim = submit_and_claim(assignment=held, answers=answers_of(held))
    assert not submission.missing
    assert claim is None


def test_a_lease_that_was_given_back_is_not_taken_up_again_during_a_pause() -> None:
    study = make_study("pairwise")
    worker = make_worker(study)[0]
    held = take(study, worker)
    expire_assignments(study=study, assignments=[held.pk], why=WHY)
    pause_study(study=study, why=WHY)
    with pytest.raises(StudyPaused):
        retake_assignment(assignment=Assignment.objects.get(pk=held.pk))
    resume_study(study=study, why="mended")
    assert retake_assignment(assignment=Assignment.objects.get(pk=held.pk)).state == Assignment.State.ACCEPTED


def test_resuming_hands_out_work_again_and_the_log_says_who_and_why() -> None:
    study = make_study("pairwise")
    lead = User.objects.create_user("lead")
    pause_study(study=study, why=WHY, by=lead)
    paused = newest(study)
    assert (paused.what, paused.why, paused.by) == ("paused", WHY, lead)
    pause_study(study=study, why="again", by=lead)
    assert newest(study) == paused  # nothing was changed, so nothing is said
    resume_study(study=study, why="mended", by=lead)
    assert (newest(study).what, newest(study).why) == ("resumed", "mended")
    assert take(fresh(study), make_worker(study)[0])


def test_only_an_open_study_is_paused_and_a_reason_is_asked_for() -> None:
    study = make_study("pairwise")
    with pytest.raises(WrongState, match="reason is missing"):
        pause_study(study=study, why="  ")
    close_study(study=study)
    for step in (pause_study, resume_study):
        with pytest.raises(WrongState, match="is closed"):
            step(study=study, why=WHY)


def test_closing_ends_a_pause() -> None:
    study = make_study("pairwise")
    pause_study(study=study, why=WHY)
    close_study(study=study)
    assert fresh(study).paused_at is None


def test_a_worker_is_told_of_the_pause_on_a_page_and_by_the_api() -> None:
    study = casting.make_study(casting.make_dataset(pictures=False), "pairwise")
    ada = casting.joined(study)
    pause_study(study=study, why=WHY)
    shown = ada.client.get(reverse("annotation:work", args=[study.slug]))
    assert shown.status_code == 403
    assert "This study is paused" in shown.content.decode()
    assert "Try again" in shown.content.decode()
    asked = ada.client.post(
        f"/api/studies/{study.slug}/assignments/", headers={"Authorization": f"Token {ada.token}"}
    )
    assert asked.status_code == 403
    assert asked.json()["title"] == "This study is paused"


def test_more_workers_than_the_design_says_judge_every_hit_and_the_books_are_right() -> None:
    study = make_study("pairwise")
    for number in range(3):
        finish_all(study, make_worker(study, f"w-{number}")[0])
    late = make_worker(study, "late")[0]
    assert claim_assignment(study=study, worker=late) is None
    assert extend_study(study=study, workers=1, why="one vote more") == study.hits.count()
    assert len(finish_all(study, late)) == study.hits.count()
    assert set(study.hits.values_list("required", "extra", "open_slots")) == {(4, 1, 0)}
    assert check_integrity().problems == []
    assert (newest(study).what, newest(study).details["workers"]) == ("extended", 1)


def test_only_the_named_hits_are_extended_and_an_unknown_one_changes_nothing() -> None:
    study = make_study("pairwise")
    first, second = study.hits.all()[:2]
    extend_study(study=study, workers=2, hits=[first.key], why="pilot")
    assert HIT.objects.get(pk=first.pk).extra == 2
    with pytest.raises(NotThere):
        extend_study(study=study, workers=2, hits=[second.key, "nowhere"], why="pilot")
    assert HIT.objects.get(pk=second.pk).extra == 0


def test_a_number_of_workers_out_of_bounds_is_refused() -> None:
    study = make_study("pairwise")
    for workers in (0, -1, 101):
        with pytest.raises(WrongState, match="1 to 100"):
            extend_study(study=study, workers=workers, why="pilot")


def test_a_study_that_stops_early_asks_for_what_the_added_vote_can_still_change() -> None:
    study = make_study("pairwise", stopping={"rule": "settled", "full_depth": 0}, controls={"per_hit": 0})
    for number in range(3):
        work(study, make_worker(study, f"w-{number}")[0], always_first)
    assert set(study.hits.values_list("open_slots", "spared")) == {(0, 1)}  # two of three agreed
    extend_study(study=study, workers=1, why="pilot")
    # of four votes two can still be tied
    assert set(study.hits.values_list("open_slots", "spared")) == {(2, 0)}
    assert check_integrity().problems == []
    work(study, make_worker(study, "late")[0], always_first)
    assert set(study.hits.values_list("open_slots", "spared", "extra")) == {(0, 1, 1)}
    assert check_integrity().problems == []


def test_everybody_who_holds_a_hit_gets_more_time() -> None:
    study = make_study("pairwise")
    held = take(study, make_worker(study)[0])
    assert extend_leases(study=study, minutes=30, why="the server was slow") == 1
    until = Assignment.objects.get(pk=held.pk).expires_at
    assert until is not None
    assert held.expires_at is not None
    assert until - held.expires_at == timedelta(minutes=30)


def test_leases_that_are_over_are_taken_back_and_others_stay() -> None:
    study = make_study("pairwise")
    late, fine = (take(study, make_worker(study, name)[0]) for name in ("late", "fine"))
    Assignment.objects.filter(pk=late.pk).update(expires_at=timezone.now() - timedelta(minutes=1))
    assert expire_assignments(study=study, why="tidying") == 1
    assert Assignment.objects.get(pk=late.pk).state == Assignment.State.EXPIRED
    assert Assignment.objects.get(pk=fine.pk).state == Assignment.State.ACCEPTED
    with pytest.raises(WrongState, match="no lease is over"):
        expire_assignments(study=study, why="tidying")
    assert check_integrity().problems == []


def test_a_hit_whose_slots_expired_goes_to_nobody_new_and_comes_back_when_it_is_given_back() -> None:
    study = make_study("pairwise")
    hit = study.hits.get(position=0)
    assert expire_slots(study=study, hits=[hit.key], why="its picture is gone") == 3
    worker = make_worker(study)[0]
    assert len(finish_all(study, worker)) == study.hits.count() - 1
    assert check_integrity().problems == []


def test_units_are_opened_again_by_the_hits_that_hold_them() -> None:
    study = make_study("pairwise")
    unit = study.units.filter(control=False)[0]
    other = study.units.filter(control=False).exclude(hits__in=unit.hits.all())[0]
    assert reopen_units(study=study, units=[unit.key], votes=2, why="tied") == 1
    assert unit.hits.get().extra == 2
    assert other.hits.get().extra == 0
    assert newest(study).what == "units-reopened"
    with pytest.raises(NotThere):
        reopen_units(study=study, units=["nowhere"], votes=2, why="tied")
