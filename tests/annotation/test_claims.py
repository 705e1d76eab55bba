"""Claims of HITs, and their leases; many at once."""

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.db.models import F
from django.test import Client
from django.utils import timezone

from annotation.crowds.opening import close_study
from annotation.errors import AlreadyEnded, NoMoreTime, SlotTaken, TooLate, WorkPaused
from annotation.models import Assignment, Participation
from annotation.work.claims import claim_assignment
from annotation.work.leases import extend_lease, reserve_next, retake_assignment
from annotation.work.slots.candidates import Claim
from annotation.work.slots.release import expire_overdue, return_assignment
from annotation.work.submissions import save_answers, submit_and_claim, submit_assignment
from judgments.models import HIT, Study
from judgments.studies.studies import mark_closed, mark_open
from tests.annotation.leasing import (
    answers_of,
    claimed,
    finish_all,
    hand_in,
    holding,
    let_it_end,
    slots_add_up,
    take,
)
from tests.crowd import AUDIT, Person, Server, all_at_once
from tests.installations import Installation
from tests.studies import make_study, make_worker, with_worker

pytestmark = pytest.mark.django_db


def test_a_worker_who_comes_back_after_expiry_gets_work_again() -> None:
    study, worker, lost = holding(make_study("pairwise"))
    let_it_end(lost)
    assert lost.hit_id in finish_all(study, worker)


def test_a_returned_hit_comes_back_to_its_worker_when_nothing_else_is_left() -> None:
    study = make_study("pairwise", judgments_per_unit=4)
    for number in range(4):
        worker, _ = make_worker(study, f"w-{number}")
        returned = take(study, worker)
        return_assignment(assignment=returned)
        order = finish_all(study, worker)
        assert len(order) == study.hits.count()
        assert order[-1] == returned.hit_id


def test_many_leases_that_end_together_cost_whoever_comes_next_no_more_than_one(
    django_assert_max_num_queries: Callable[[int], Any], standing_clock: None
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


def test_a_closed_study_offers_nothing_but_takes_what_is_held() -> None:
    study, worker, held = holding(make_study("pairwise"))
    mark_closed(study=study)
    claim = claimed(study, worker)
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
    study, worker = with_worker(make_study())
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
        with pytest.raises(TooLate, match="got your place"):
            save_answers(assignment=held[0], answers=answers_of(held[0]))
        hand_in(mine)
        assert len(finish_all(study, real)) == len(held) - 1

    def test_who_answered_other_pages_has_longer_to_read(self) -> None:
        study, held = self.full()
        hand_in(held[0])
        held[1].worker = held[0].worker
        held[1].save(update_fields=["worker"])
        for one in held[2:]:
            save_answers(assignment=one, answers=answers_of(one)[:1])
        real, _ = make_worker(study, "real")
        Assignment.objects.update(accepted_at=F("accepted_at") - timedelta(minutes=2))
        assert claim_assignment(study=study, worker=real) is None
        Assignment.objects.update(accepted_at=F("accepted_at") - timedelta(minutes=4))
        assert take(study, real).hit == held[1].hit

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


def reserved_after(held: Assignment) -> Claim:
    reserved = reserve_next(assignment=held)
    assert reserved is not None
    return reserved


def test_what_is_fetched_ahead_holds_a_slot_and_is_the_same_when_asked_again() -> None:
    study, _, held = holding(make_study("pairwise"))
    first, again = reserve_next(assignment=held), reserve_next(assignment=held)
    assert first is not None
    assert again is not None
    assert first.assignment == again.assignment
    assert first.assignment.hit_id != held.hit_id
    assert first.assignment.state == "reserved"
    assert slots_add_up(study)


def test_nothing_is_saved_on_what_was_fetched_ahead() -> None:
    _, _, held = holding(make_study("pairwise"))
    ahead = reserved_after(held)
    with pytest.raises(AlreadyEnded, match="current"):
        save_answers(assignment=ahead.assignment, answers=answers_of(ahead.assignment)[:1])


def test_submitting_brings_exactly_what_was_fetched_ahead_with_a_whole_lease() -> None:
    study, _, held = holding(make_study("pairwise", crowd={"lease_minutes": 60}))
    reserved = reserved_after(held)
    _, claim = submit_and_claim(assignment=held, answers=answers_of(held))
    assert claim is not None
    assert claim.assignment == reserved.assignment
    claim.assignment.refresh_from_db()
    assert claim.assignment.state == "accepted"
    assert claim.assignment.expires_at is not None
    assert claim.assignment.expires_at - timezone.now() > timedelta(minutes=59)
    assert [place.unit.pk for place in claim.page_units] == [place.unit.pk for place in reserved.page_units]
    assert slots_add_up(study)


def test_what_was_fetched_ahead_is_given_once_the_held_hit_is_handed_in() -> None:
    study, worker, held = holding(make_study("pairwise"))
    reserve_next(assignment=held)
    assert take(study, worker) == held
    reserved = reserved_after(held)
    hand_in(held)
    assert take(study, worker) == reserved.assignment


def test_nothing_is_fetched_ahead_of_work_that_is_over() -> None:
    study, worker, held = holding(make_study("pairwise"))
    return_assignment(assignment=held)
    assert reserve_next(assignment=held) is None
    late = take(study, worker)
    let_it_end(late)
    assert reserve_next(assignment=late) is None


def test_a_slot_fetched_ahead_goes_to_another_once_its_time_is_over() -> None:
    study, _, held = holding(make_study("pairwise", judgments_per_unit=1))
    reserved = reserved_after(held)
    let_it_end(reserved.assignment)
    other, _ = make_worker(study, "other")
    assert reserved.assignment.hit_id in finish_all(study, other)
    reserved.assignment.refresh_from_db()
    assert reserved.assignment.state == "expired"
    assert slots_add_up(study)


def test_what_was_fetched_ahead_and_lost_is_made_up_for_when_submitting() -> None:
    study, _, held = holding(make_study("pairwise"))
    reserved = reserved_after(held)
    return_assignment(assignment=reserved.assignment)
    _, claim = submit_and_claim(assignment=held, answers=answers_of(held))
    assert claim is not None
    assert claim.assignment != reserved.assignment
    assert slots_add_up(study)


def test_closing_a_study_frees_what_was_only_fetched_ahead() -> None:
    study, _, held = holding(make_study("pairwise"))
    reserved = reserved_after(held)
    close_study(study=study)
    reserved.assignment.refresh_from_db()
    assert reserved.assignment.state == "expired"
    _, claim = submit_and_claim(assignment=held, answers=answers_of(held))
    assert claim is None, "who holds a HIT may finish it, and gets no more"
    assert slots_add_up(study)


def test_a_worker_cannot_have_two_hits_fetched_ahead() -> None:
    study, worker, held = holding(make_study("pairwise"))
    reserved = reserved_after(held)
    other = study.hits.exclude(pk__in=[held.hit_id, reserved.assignment.hit_id]).first()
    with pytest.raises(IntegrityError), transaction.atomic():
        Assignment.objects.create(study=study, hit=other, worker=worker, state="reserved", slot=9)


def test_a_lease_is_made_longer_as_often_as_the_study_allows() -> None:
    *_, held = holding(make_study(crowd={"lease_minutes": 60, "extensions": 2}))
    for left in (1, 0):
        save_answers(assignment=held, answers=[answers_of(held)[left]])
        soon = timezone.now() + timedelta(minutes=3)
        Assignment.objects.filter(pk=held.pk).update(expires_at=soon)
        lease = extend_lease(assignment=held)
        assert lease.extensions_left == left
        assert lease.expires_at > soon + timedelta(minutes=55)
    Assignment.objects.filter(pk=held.pk).update(expires_at=timezone.now() + timedelta(minutes=3))
    with pytest.raises(NoMoreTime, match="answers"):
        extend_lease(assignment=held)


def test_asking_twice_at_once_for_more_time_costs_one_extension() -> None:
    *_, held = holding(make_study(crowd={"lease_minutes": 60, "extensions": 1}))
    save_answers(assignment=held, answers=answers_of(held)[:1])
    Assignment.objects.filter(pk=held.pk).update(expires_at=timezone.now() + timedelta(minutes=3))
    assert extend_lease(assignment=held) == extend_lease(assignment=held)


def test_more_time_for_work_that_was_only_just_taken_is_no_trouble_and_costs_no_extension() -> None:
    *_, held = holding(make_study(crowd={"lease_minutes": 1, "extensions": 1}))
    assert extend_lease(assignment=held).extensions_left == 1


def test_a_study_without_extensions_gives_none() -> None:
    *_, held = holding(make_study(crowd={"lease_minutes": 1, "extensions": 0}))
    with pytest.raises(NoMoreTime, match="answers"):
        extend_lease(assignment=held)


def test_no_time_is_added_to_work_that_is_over() -> None:
    *_, held = holding(make_study())
    let_it_end(held)
    with pytest.raises(TooLate, match="kept"):
        extend_lease(assignment=held)
    return_assignment(assignment=held)
    with pytest.raises(AlreadyEnded):
        extend_lease(assignment=held)


def test_work_whose_time_is_over_is_taken_up_where_it_was_left_as_long_as_nobody_wanted_its_slot() -> None:
    study, _, held = holding(make_study())
    save_answers(assignment=held, answers=[{"position": 1, "value": 2}])
    let_it_end(held)
    again = retake_assignment(assignment=held)
    assert again == held
    assert again.answers["1"]["value"] == 2
    submit_assignment(assignment=again, answers=answers_of(again)[1:])
    assert slots_add_up(study)


def test_work_whose_slot_was_freed_is_taken_up_in_a_new_row_with_its_answers_order_and_sides() -> None:
    study, _, held = holding(make_study("pairwise"))
    save_answers(assignment=held, answers=[{"position": 1, "value": 2}])
    let_it_end(held)
    expire_overdue(study=study)
    again = retake_assignment(assignment=held)
    assert again.pk != held.pk
    assert (again.order, again.flips, again.answers["1"]["value"]) == (held.order, held.flips, 2)
    assert retake_assignment(assignment=held) == again, "asked twice, it is taken once"
    assert slots_add_up(study)


def test_work_that_somebody_else_took_meanwhile_cannot_be_taken_up_again() -> None:
    study, _, held = holding(make_study("pairwise", judgments_per_unit=1))
    save_answers(assignment=held, answers=[{"position": 1, "value": 2}])
    let_it_end(held)
    other, _ = make_worker(study, "other")
    finish_all(study, other)
    with pytest.raises(SlotTaken, match="else"):
        retake_assignment(assignment=held)
    held.refresh_from_db()
    assert held.answers["1"]["value"] == 2
    assert slots_add_up(study)


def test_who_took_another_page_meanwhile_finishes_that_one_first() -> None:
    study, worker, lost = holding(make_study("pairwise"))
    let_it_end(lost)
    other = take(study, worker)
    assert other.hit_id != lost.hit_id
    with pytest.raises(SlotTaken, match="have another page"):
        retake_assignment(assignment=lost)


def test_nothing_is_taken_up_again_in_a_closed_study() -> None:
    study, _, held = holding(make_study())
    let_it_end(held)
    close_study(study=study)
    with pytest.raises(SlotTaken, match="accepts"):
        retake_assignment(assignment=held)


def test_who_is_paused_takes_nothing_up_again_and_is_not_given_what_was_fetched_ahead() -> None:
    study, worker, held = holding(make_study("pairwise"))
    assert reserve_next(assignment=held) is not None
    Participation.objects.filter(worker=worker).update(standing="paused")
    let_it_end(held)
    with pytest.raises(WorkPaused):
        retake_assignment(assignment=held)
    with pytest.raises(WorkPaused):
        claim_assignment(study=study, worker=worker)


def test_submitted_or_returned_work_is_not_taken_up_again() -> None:
    study, worker, held = holding(make_study("pairwise"))
    hand_in(held)
    with pytest.raises(AlreadyEnded):
        retake_assignment(assignment=held)
    back = take(study, worker)
    return_assignment(assignment=back)
    with pytest.raises(AlreadyEnded):
        retake_assignment(assignment=back)


WORKERS, HITS, WANTED = 30, 16, 3
MAKE_STUDY = f"""
from tests.studies import make_study
study = make_study(
    "triplet", units_per_hit=3, judgments_per_unit={WANTED}, controls={{"per_hit": 0}},
    sampling={{"pairs": {{"HC": 12, "HI": 12}}, "references": 2}},
)
print(study.slug, study.hits.count())
"""

Crowd = Callable[..., Person]


@pytest.fixture
def person_at() -> Iterator[Crowd]:
    """Makes people whose connections are closed at the end."""
    with ExitStack() as stack:

        def make(server: Server, study: str, name: str, *, twice: bool = False) -> Person:
            person = Person(server, study, name, twice=twice)
            stack.callback(person.hang_up)
            return person

        yield make


def open_study(installation: Installation) -> str:
    slug, hits = installation.python(MAKE_STUDY).splitlines()[-1].split()
    assert int(hits) == HITS
    return slug


def audit(installation: Installation) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(installation.python(AUDIT).splitlines()[-1])
    return found


def holds_every_promise(found: dict[str, Any]) -> None:
    """Exactly k per HIT, nobody twice on one, every unit judged once and by the right person."""
    assert found["per_hit"] == [WANTED] * HITS
    assert found["worker_twice_on_a_hit"] == 0
    assert found["incomplete"] == 0
    assert found["judgments_of_others"] == 0
    assert found["judgments"] == WANTED * HITS * 3
    assert found["wrong"] == 0
    assert found["open_slots"] == 0
    assert found["held"] == 0


def test_thirty_workers_who_send_everything_twice_fill_every_hit_exactly(
    live_server_on: Callable[[str], Installation], database: str, person_at: Crowd
) -> None:
    installation = live_server_on(database)
    server, slug = Server(installation.url), open_study(installation)
    people = [person_at(server, slug, f"w-{number:04d}", twice=True) for number in range(WORKERS)]

    def take_part(person: Person) -> Callable[[], None]:
        def act() -> None:
            person.join()
            person.work()

        return act

    all_at_once([take_part(person) for person in people])
    found = audit(installation)
    holds_every_promise(found)
    assert found["submitted"] == sorted(one for person in people for one in person.acknowledged)
    statuses = sum((person.statuses for person in people), Counter())
    assert {status for status in statuses if status >= 400} == set()


@pytest.mark.long
def test_one_worker_in_ten_windows_holds_one_hit(
    live_server_on: Callable[[str], Installation], database: str, person_at: Crowd
) -> None:
    installation = live_server_on(database)
    server, slug = Server(installation.url), open_study(installation)
    first = person_at(server, slug, "w-0001")
    first.join()
    windows = [person_at(server, slug, "w-0001") for _ in range(10)]
    for window in windows:
        for own, line in zip(first._lines, window._lines, strict=True):
            line.token = own.token
    replies: list[tuple[int, Any]] = []

    def ask(window: Person) -> None:
        replies.append(window.accept())

    all_at_once([partial(ask, window) for window in windows])
    assert sorted(status for status, _ in replies) == [200] * 9 + [201]
    assert len({json.dumps(shown, sort_keys=True) for _, shown in replies}) == 1
    assert audit(installation)["open_slots"] == WANTED * HITS - 1


@pytest.mark.long
def test_a_killed_server_loses_no_acknowledged_answer_and_gives_held_hits_back(
    live_server_on: Callable[[str], Installation], database: str, person_at: Crowd
) -> None:
    installation = live_server_on(database)
    server, slug = Server(installation.url), open_study(installation)
    people = [person_at(server, slug, f"w-{number:04d}") for number in range(8)]
    idle = person_at(server, slug, "w-idle")
    for person in [*people, idle]:
        person.join()
    _, held = idle.accept()
    halfway = threading.Semaphore(0)

    def kill_halfway() -> None:
        for _ in range(HITS * WANTED // 2):
            halfway.acquire()
        installation.stop()
        server.url = installation.start_server()

    def take_part(person: Person) -> Callable[[], None]:
        return lambda: person.work(halfway.release)

    all_at_once([kill_halfway, *(take_part(person) for person in people)])
    status, again = idle.accept()
    assert (status, again) == (200, held)
    idle.submit(held)
    for person in [*people, idle]:
        person.work()
    found = audit(installation)
    holds_every_promise(found)
    acknowledged = [one for person in [*people, idle] for one in person.acknowledged]
    assert set(acknowledged) == set(found["submitted"])
    assert len(acknowledged) == len(set(acknowledged))
    assert not [status for person in people for status in person.statuses if status >= 500]


def test_a_refusal_of_the_database_that_stays_is_not_told_as_no_work_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = make_study("pairwise")
    worker = make_worker(study)[0]

    def refuse(_candidate: object) -> None:
        raise IntegrityError("CHECK constraint failed: submitted_after_accepted")

    monkeypatch.setattr("annotation.work.claims.commit_claim", refuse)
    with pytest.raises(IntegrityError, match="submitted_after_accepted"):
        claim_assignment(study=study, worker=worker)
