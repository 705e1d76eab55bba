"""The time a worker has: fetched ahead, made longer, taken up again."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from annotation.crowds.publishing import close_study
from annotation.errors import AlreadyEnded, NoMoreTime, SlotTaken, TooLate, WorkPaused
from annotation.models import Assignment, Participation
from annotation.work.claims import claim_assignment, expire_overdue, return_assignment
from annotation.work.leases import extend_lease, reserve_next, retake_assignment
from annotation.work.submissions import save_answers, submit_and_claim, submit_assignment
from tests.annotation.leasing import answers_of, finish_all, hand_in, let_it_end, slots_add_up, take
from tests.studies import make_study, make_worker

pytestmark = pytest.mark.django_db


def test_what_is_fetched_ahead_holds_a_slot_and_is_the_same_when_asked_again() -> None:
    study = make_study("pairwise")
    worker, _ = make_worker(study)
    held = take(study, worker)
    first, again = reserve_next(assignment=held), reserve_next(assignment=held)
    assert first is not None
    assert again is not None
    assert first.assignment == again.assignment
    assert first.assignment.hit_id != held.hit_id
    assert first.assignment.state == "reserved"
    assert slots_add_up(study)


def test_submitting_brings_exactly_what_was_fetched_ahead_with_a_whole_lease() -> None:
    study = make_study("pairwise", crowd={"lease_minutes": 60})
    worker, _ = make_worker(study)
    held = take(study, worker)
    reserved = reserve_next(assignment=held)
    assert reserved is not None
    _, claim = submit_and_claim(assignment=held, answers=answers_of(held))
    assert claim is not None
    assert claim.assignment == reserved.assignment
    claim.assignment.refresh_from_db()
    assert claim.assignment.state == "accepted"
    assert claim.assignment.expires_at is not None
    assert claim.assignment.expires_at - timezone.now() > timedelta(minutes=59)
    assert [place.unit.pk for place in claim.places] == [place.unit.pk for place in reserved.places]
    assert slots_add_up(study)


def test_a_page_loaded_anew_takes_what_was_fetched_ahead_too() -> None:
    study = make_study("pairwise")
    worker, _ = make_worker(study)
    held = take(study, worker)
    reserved = reserve_next(assignment=held)
    assert reserved is not None
    hand_in(held)
    assert take(study, worker) == reserved.assignment


def test_who_holds_a_hit_and_has_another_fetched_ahead_is_given_the_one_they_hold() -> None:
    study = make_study("pairwise")
    worker, _ = make_worker(study)
    held = take(study, worker)
    reserve_next(assignment=held)
    assert take(study, worker) == held


def test_nothing_is_fetched_ahead_of_work_that_is_over() -> None:
    study = make_study("pairwise")
    worker, _ = make_worker(study)
    held = take(study, worker)
    return_assignment(assignment=held)
    assert reserve_next(assignment=held) is None
    late = take(study, worker)
    let_it_end(late)
    assert reserve_next(assignment=late) is None


def test_a_slot_fetched_ahead_goes_to_another_once_its_time_is_over() -> None:
    study = make_study("pairwise", judgments_per_unit=1)
    worker, _ = make_worker(study)
    held = take(study, worker)
    reserved = reserve_next(assignment=held)
    assert reserved is not None
    let_it_end(reserved.assignment)
    other, _ = make_worker(study, "other")
    assert reserved.assignment.hit_id in finish_all(study, other)
    reserved.assignment.refresh_from_db()
    assert reserved.assignment.state == "expired"
    assert slots_add_up(study)


def test_what_was_fetched_ahead_and_lost_is_made_up_for_when_submitting() -> None:
    study = make_study("pairwise")
    worker, _ = make_worker(study)
    held = take(study, worker)
    reserved = reserve_next(assignment=held)
    assert reserved is not None
    return_assignment(assignment=reserved.assignment)
    _, claim = submit_and_claim(assignment=held, answers=answers_of(held))
    assert claim is not None
    assert claim.assignment != reserved.assignment
    assert slots_add_up(study)


def test_closing_a_study_frees_what_was_only_fetched_ahead() -> None:
    study = make_study("pairwise")
    worker, _ = make_worker(study)
    held = take(study, worker)
    reserved = reserve_next(assignment=held)
    assert reserved is not None
    close_study(study=study)
    reserved.assignment.refresh_from_db()
    assert reserved.assignment.state == "expired"
    _, claim = submit_and_claim(assignment=held, answers=answers_of(held))
    assert claim is None, "who holds a HIT may finish it, and gets no more"
    assert slots_add_up(study)


def test_a_worker_cannot_have_two_hits_fetched_ahead() -> None:
    study = make_study("pairwise")
    worker, _ = make_worker(study)
    held = take(study, worker)
    reserved = reserve_next(assignment=held)
    assert reserved is not None
    other = study.hits.exclude(pk__in=[held.hit_id, reserved.assignment.hit_id]).first()
    with pytest.raises(IntegrityError), transaction.atomic():
        Assignment.objects.create(study=study, hit=other, worker=worker, state="reserved", slot=9)


def test_a_lease_is_made_longer_as_often_as_the_study_allows() -> None:
    study = make_study(crowd={"lease_minutes": 60, "extensions": 2})
    worker, _ = make_worker(study)
    held = take(study, worker)
    for left in (1, 0):
        soon = timezone.now() + timedelta(minutes=3)
        Assignment.objects.filter(pk=held.pk).update(expires_at=soon)
        lease = extend_lease(assignment=held)
        assert lease.extensions_left == left
        assert lease.expires_at > soon + timedelta(minutes=55)
    Assignment.objects.filter(pk=held.pk).update(expires_at=timezone.now() + timedelta(minutes=3))
    with pytest.raises(NoMoreTime, match="Your answers are saved"):
        extend_lease(assignment=held)


def test_asking_twice_at_once_for_more_time_costs_one_extension() -> None:
    study = make_study(crowd={"lease_minutes": 60, "extensions": 1})
    worker, _ = make_worker(study)
    held = take(study, worker)
    Assignment.objects.filter(pk=held.pk).update(expires_at=timezone.now() + timedelta(minutes=3))
    assert extend_lease(assignment=held) == extend_lease(assignment=held)


def test_more_time_for_work_that_was_only_just_taken_is_no_trouble_and_costs_no_extension() -> None:
    study = make_study(crowd={"lease_minutes": 1, "extensions": 1})
    worker, _ = make_worker(study)
    held = take(study, worker)
    assert extend_lease(assignment=held).extensions_left == 1


def test_a_study_without_extensions_gives_none() -> None:
    study = make_study(crowd={"lease_minutes": 1, "extensions": 0})
    worker, _ = make_worker(study)
    held = take(study, worker)
    with pytest.raises(NoMoreTime, match="Your answers are saved"):
        extend_lease(assignment=held)


def test_no_time_is_added_to_work_that_is_over() -> None:
    study = make_study()
    worker, _ = make_worker(study)
    held = take(study, worker)
    let_it_end(held)
    with pytest.raises(TooLate, match="kept"):
        extend_lease(assignment=held)
    return_assignment(assignment=held)
    with pytest.raises(AlreadyEnded):
        extend_lease(assignment=held)


def test_work_whose_time_is_over_is_taken_up_where_it_was_left_as_long_as_nobody_wanted_its_slot() -> None:
    study = make_study()
    worker, _ = make_worker(study)
    held = take(study, worker)
    save_answers(assignment=held, answers=[{"position": 1, "value": 2}])
    let_it_end(held)
    again = retake_assignment(assignment=held)
    assert again == held
    assert again.answers["1"]["value"] == 2
    submit_assignment(assignment=again, answers=answers_of(again)[1:])
    assert slots_add_up(study)


def test_work_whose_slot_was_freed_is_taken_up_in_a_new_row_with_its_answers_order_and_sides() -> None:
    study = make_study("pairwise")
    worker, _ = make_worker(study)
    held = take(study, worker)
    save_answers(assignment=held, answers=[{"position": 1, "value": 2}])
    let_it_end(held)
    expire_overdue(study=study)
    again = retake_assignment(assignment=held)
    assert again.pk != held.pk
    assert (again.order, again.flips, again.answers["1"]["value"]) == (held.order, held.flips, 2)
    assert retake_assignment(assignment=held) == again, "asked twice, it is taken once"
    assert slots_add_up(study)


def test_work_that_somebody_else_took_meanwhile_cannot_be_taken_up_again() -> None:
    study = make_study("pairwise", judgments_per_unit=1)
    worker, _ = make_worker(study)
    held = take(study, worker)
    save_answers(assignment=held, answers=[{"position": 1, "value": 2}])
    let_it_end(held)
    other, _ = make_worker(study, "other")
    finish_all(study, other)
    with pytest.raises(SlotTaken, match="Your answers are kept, but somebody else"):
        retake_assignment(assignment=held)
    held.refresh_from_db()
    assert held.answers["1"]["value"] == 2
    assert slots_add_up(study)


def test_who_took_another_page_meanwhile_finishes_that_one_first() -> None:
    study = make_study("pairwise")
    worker, _ = make_worker(study)
    lost = take(study, worker)
    let_it_end(lost)
    other = take(study, worker)
    assert other.hit_id != lost.hit_id
    with pytest.raises(SlotTaken, match="hold another page"):
        retake_assignment(assignment=lost)


def test_nothing_is_taken_up_again_in_a_closed_study() -> None:
    study = make_study()
    worker, _ = make_worker(study)
    held = take(study, worker)
    let_it_end(held)
    close_study(study=study)
    with pytest.raises(SlotTaken, match="takes no more work"):
        retake_assignment(assignment=held)


def test_who_is_paused_takes_nothing_up_again_and_is_not_given_what_was_fetched_ahead() -> None:
    study = make_study("pairwise")
    worker, _ = make_worker(study)
    held = take(study, worker)
    assert reserve_next(assignment=held) is not None
    Participation.objects.filter(worker=worker).update(standing="paused")
    let_it_end(held)
    with pytest.raises(WorkPaused):
        retake_assignment(assignment=held)
    with pytest.raises(WorkPaused):
        claim_assignment(study=study, worker=worker)


def test_submitted_or_returned_work_is_not_taken_up_again() -> None:
    study = make_study("pairwise")
    worker, _ = make_worker(study)
    held = take(study, worker)
    hand_in(held)
    with pytest.raises(AlreadyEnded):
        retake_assignment(assignment=held)
    back = take(study, worker)
    return_assignment(assignment=back)
    with pytest.raises(AlreadyEnded):
        retake_assignment(assignment=back)
