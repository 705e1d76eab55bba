"""Taking HITs: each goes to as many different workers as it asks for, and slots come back."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.db.models import F
from django.test import Client
from django.utils import timezone

from annotation.crowds.publishing import close_study
from annotation.errors import AlreadyEnded, TooLate
from annotation.models import Assignment
from annotation.work.claims import claim_assignment, expire_overdue, return_assignment
from annotation.work.leases import reserve_next
from annotation.work.submissions import save_answers
from common.errors import NotThere
from judgments.models import HIT, Study
from judgments.studies.studies import mark_closed, mark_open
from tests.annotation.leasing import answers_of, finish_all, hand_in, let_it_end, slots_add_up, take
from tests.studies import make_study, make_worker

pytestmark = pytest.mark.django_db


def test_a_worker_gets_every_hit_once_and_then_nothing() -> None:
    study = make_study("pairwise")
    worker, _ = make_worker(study)
    assert Counter(finish_all(study, worker)) == Counter(study.hits.values_list("pk", flat=True))


def test_each_hit_goes_to_three_different_workers_and_no_fourth() -> None:
    study = make_study("pairwise")
    for number in range(4):
        worker, _ = make_worker(study, f"w-{number}")
        assert len(finish_all(study, worker)) == (study.hits.count() if number < 3 else 0)
    for hit in study.hits.all():
        assert hit.open_slots == 0
        assert hit.assignments.values("worker").distinct().count() == 3


def test_a_slot_whose_lease_ended_goes_to_another() -> None:
    study = make_study("pairwise", judgments_per_unit=1)
    hits = study.hits.count()
    gone, _ = make_worker(study, "gone")
    assignment = take(study, gone)
    let_it_end(assignment)
    taken = finish_all(study, make_worker(study, "worker")[0])
    assert len(taken) == hits
    assert assignment.hit_id in taken
    assignment.refresh_from_db()
    assert assignment.state == "expired"


def test_a_worker_who_comes_back_after_expiry_gets_work_again() -> None:
    study = make_study("pairwise")
    worker, _ = make_worker(study)
    lost = take(study, worker)
    let_it_end(lost)
    assert lost.hit_id in finish_all(study, worker)


def test_returning_gives_the_slot_back_once() -> None:
    study = make_study()
    worker, _ = make_worker(study)
    assignment = take(study, worker)
    assert assignment.hit is not None
    return_assignment(assignment=assignment)
    return_assignment(assignment=assignment)
    assignment.hit.refresh_from_db()
    assert assignment.hit.open_slots == assignment.hit.required


def test_a_returned_hit_comes_back_to_its_worker_when_nothing_else_is_left() -> None:
    study = make_study("pairwise", judgments_per_unit=4)
    for number in range(4):
        worker, _ = make_worker(study, f"w-{number}")
        returned = take(study, worker)
        return_assignment(assignment=returned)
        order = finish_all(study, worker)
        assert len(order) == study.hits.count()
        assert order[-1] == returned.hit_id


def test_submitted_work_cannot_be_returned() -> None:
    study = make_study()
    worker, _ = make_worker(study)
    assignment = take(study, worker)
    hand_in(assignment)
    with pytest.raises(AlreadyEnded, match="were submitted and stay"):
        return_assignment(assignment=assignment)


def test_expiry_leaves_what_is_within_its_lease() -> None:
    study = make_study()
    worker, _ = make_worker(study)
    assignment = take(study, worker)
    assert expire_overdue(study=study) == 0
    assignment.refresh_from_db()
    assert assignment.state == "accepted"


def test_many_leases_that_end_together_cost_whoever_comes_next_no_more_than_one(
    django_assert_max_num_queries: Callable[[int], Any],
) -> None:
    study = make_study("pairwise")
    slots = 3 * study.hits.count()
    for number in range(slots):
        take(study, make_worker(study, f"w-{number}")[0])
    late, _ = make_worker(study, "late")
    past = timezone.now() - timedelta(hours=2)
    Assignment.objects.update(accepted_at=past, expires_at=past + timedelta(hours=1))
    with django_assert_max_num_queries(16):
        take(study, late)
    assert Assignment.objects.filter(study=study, state="expired").count() == slots
    for hit in study.hits.all():
        assert hit.open_slots == 3 - hit.assignments.filter(state="accepted").count()


def test_a_stranger_to_the_study_gets_nothing() -> None:
    study, other = make_study(), make_study(name="Another study")
    stranger, _ = make_worker(other, "stranger")
    with pytest.raises(NotThere):
        claim_assignment(study=study, worker=stranger)


def test_a_closed_study_offers_nothing_but_takes_what_is_held() -> None:
    study = make_study("pairwise")
    worker, _ = make_worker(study)
    held = take(study, worker)
    mark_closed(study=study)
    claim = claim_assignment(study=study, worker=worker)
    assert claim is not None
    assert claim.assignment == held
    hand_in(held)
    assert claim_assignment(study=study, worker=worker) is None
    mark_open(study=study)
    assert claim_assignment(study=study, worker=worker) is not None


def test_closing_ends_the_leases_that_are_over_and_no_others() -> None:
    study = make_study("pairwise")
    (late, _), (held, _) = make_worker(study, "late"), make_worker(study, "in time")
    over, running = take(study, late), take(study, held)
    past = timezone.now() - timedelta(hours=2)
    Assignment.objects.filter(pk=over.pk).update(accepted_at=past, expires_at=past + timedelta(hours=1))
    close_study(study=study)
    over.refresh_from_db()
    running.refresh_from_db()
    assert (over.state, running.state) == ("expired", "accepted")


def test_the_two_sides_of_an_assignment_differ_by_at_most_one() -> None:
    study = make_study("pairwise")
    for number in range(3):
        worker, _ = make_worker(study, f"w-{number}")
        flips = take(study, worker).flips
        assert abs(2 * sum(flips) - len(flips)) <= 1


def test_the_database_itself_refuses_a_second_worker_on_a_slot() -> None:
    study = make_study()
    worker, _ = make_worker(study)
    other, _ = make_worker(study, "other")
    held = take(study, worker)
    with pytest.raises(IntegrityError, match=r"slot|UNIQUE"), transaction.atomic():
        Assignment.objects.create(study=study, hit=held.hit, worker=other, slot=held.slot)


def test_the_database_itself_refuses_more_slots_than_wanted() -> None:
    study = make_study()
    hit = study.hits.first()
    assert hit is not None
    with pytest.raises(IntegrityError), transaction.atomic():
        HIT.objects.filter(pk=hit.pk).update(open_slots=hit.required + 1)


@pytest.mark.parametrize("hits_done", [0, 12])
def test_taking_a_hit_costs_the_same_queries_whatever_was_done_before(
    hits_done: int, django_assert_max_num_queries: Callable[[int], Any]
) -> None:
    study = make_study("graded", units_per_hit=2, judgments_per_unit=2, sampling={"pairs_from": "crossed"})
    worker, _ = make_worker(study)
    for _ in range(min(hits_done, study.hits.count() - 1)):
        hand_in(take(study, worker))
    with django_assert_max_num_queries(11):
        take(study, worker)


class TestPlacesOfPeopleWhoAnsweredNothing:
    """A study of few places that somebody takes with made-up names."""

    def full(self, **values: Any) -> tuple[Study, list[Assignment]]:
        study = make_study("pairwise", judgments_per_unit=1, **values)
        return study, [take(study, make_worker(study, f"s-{n}")[0]) for n in range(study.hits.count())]

    def test_the_next_who_comes_gets_the_oldest(self) -> None:
        study, held = self.full()
        real, _ = make_worker(study, "real")
        assert claim_assignment(study=study, worker=real) is None  # they came only now, and may be reading
        Assignment.objects.update(accepted_at=F("accepted_at") - timedelta(minutes=2))
        mine = take(study, real)
        assert mine.hit == held[0].hit
        assert slots_add_up(study)
        with pytest.raises(TooLate, match="somebody else needed the place"):
            save_answers(assignment=held[0], answers=answers_of(held[0]))
        hand_in(mine)
        assert claim_assignment(study=study, worker=real) is None  # who answered lets newcomers read
        Assignment.objects.update(accepted_at=F("accepted_at") - timedelta(minutes=6))
        assert len(finish_all(study, real)) == len(held) - 1

    def test_nobody_loses_a_place_that_nobody_can_take(self) -> None:
        study, held = self.full()
        Assignment.objects.update(accepted_at=F("accepted_at") - timedelta(minutes=6))
        late = make_worker(study, "late")[0]
        close_study(study=study)
        study.refresh_from_db()
        assert claim_assignment(study=study, worker=late) is None
        assert Assignment.objects.filter(state=Assignment.State.ACCEPTED).count() == len(held)

    def test_who_answered_keeps_theirs(self) -> None:
        study, held = self.full()
        for one in held[:-1]:
            save_answers(assignment=one, answers=answers_of(one)[:1])
        hand_in(held[-1])
        assert claim_assignment(study=study, worker=make_worker(study, "real")[0]) is None
        assert slots_add_up(study)

    def test_a_page_that_is_fetched_ahead_takes_nobody_s_place(self) -> None:
        _, held = self.full()
        save_answers(assignment=held[0], answers=answers_of(held[0])[:1])
        Assignment.objects.update(accepted_at=F("accepted_at") - timedelta(minutes=6))
        assert reserve_next(assignment=held[0]) is None


def test_an_address_that_took_every_place_keeps_nobody_out(client: Client) -> None:
    study = make_study("pairwise", judgments_per_unit=2)
    join, accept = f"/api/studies/{study.slug}/join/", f"/api/studies/{study.slug}/assignments/"

    def comes(name: str) -> int:
        token = client.post(join, {"worker": name}, content_type="application/json").json()["token"]
        return client.post(accept, headers={"Authorization": f"Token {token}"}).status_code

    places = 2 * study.hits.count()
    assert {comes(f"made-up-{n}") for n in range(places)} == {201}
    assert not study.hits.filter(open_slots__gt=0).exists()
    Assignment.objects.update(accepted_at=F("accepted_at") - timedelta(minutes=2))
    assert comes("real") == 201
    assert comes("next") == 201
    real = Assignment.objects.get(worker__name="real")
    assert real.state == Assignment.State.ACCEPTED  # who comes later ends older ones
