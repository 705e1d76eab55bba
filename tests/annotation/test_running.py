"""Change a running study: pause, resume, extend, expire; by every door."""

from collections.abc import Callable
from copy import deepcopy
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db.models import F
from django.urls import reverse
from django.utils import timezone

from annotation.crowds.opening import close_study
from annotation.errors import StudyPaused
from annotation.models import Assignment
from annotation.work.claims import claim_assignment
from annotation.work.leases import reserve_next, retake_assignment
from annotation.work.operations import (
    expire_assignments,
    expire_slots,
    extend_leases,
    extend_study,
    pause_study,
    reopen_units,
    resume_study,
)
from annotation.work.submissions import submit_and_claim
from common.errors import ObjectNotFound, WrongState
from evaluation.data.integrity import check_integrity
from judgments.access.roles import give_role
from judgments.models import HIT, Study, StudyEvent
from tests.annotation import casting
from tests.annotation.leasing import answers_of, finish_all, hand_in, take
from tests.annotation.voting import always_first, work
from tests.doors import DOORS, Call, by_http, without_field
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
    assert not submission.missing_positions
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
    with pytest.raises(ObjectNotFound):
        extend_study(study=study, workers=2, hits=[second.key, "nowhere"], why="pilot")
    assert HIT.objects.get(pk=second.pk).extra == 0


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
    with pytest.raises(WrongState, match="has exceeded its time"):
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
    with pytest.raises(ObjectNotFound):
        reopen_units(study=study, units=["nowhere"], votes=2, why="tied")


@pytest.fixture
def lead() -> User:
    return User.objects.create_superuser("lead")


@pytest.fixture(scope="module")
def claimed(module_db: None) -> Study:
    made = make_study("pairwise", name="A claimed study")
    assert claim_assignment(study=made, worker=make_worker(made)[0]) is not None
    return made


@pytest.fixture
def study(claimed: Study) -> Study:
    """Open, with a HIT held by somebody."""
    return deepcopy(claimed)


def late(study: Study) -> None:
    Assignment.objects.filter(study=study).update(expires_at=timezone.now() - timedelta(minutes=1))


def pausing(study: Study) -> Call:
    return Call("pause", "pause", "pause_study", {})


def resuming(study: Study) -> Call:
    pause_study(study=study, why="lunch")
    return Call("resume", "resume", "resume_study", {})


def adding(study: Study) -> Call:
    return Call("add-workers", "extend", "extend_study", {"workers": 2})


def adding_to_some(study: Study) -> Call:
    keys = list(study.hits.values_list("key", flat=True)[:2])
    return Call("add-workers", "extend", "extend_study", {"workers": 2, "hits": keys})


def giving_time(study: Study) -> Call:
    return Call("more-time", "extend", "extend_study", {"minutes": 30})


def taking_back(study: Study) -> Call:
    late(study)
    return Call("take-back", "expire", "", {})


def taking_slots(study: Study) -> Call:
    return Call("expire-slots", "expire", "", {"hits": [study.hits.get(position=1).key]})


def reopening(study: Study) -> Call:
    key = study.units.filter(control=False)[0].key
    return Call("reopen-units", "reopen", "reopen_units", {"votes": 2, "units": [key]})


def held(study: Study) -> int:
    return Assignment.objects.filter(study=study, state=Assignment.State.ACCEPTED).count()


# operation: how it is called, the word of its log entry, and what is so afterwards
CASES: dict[str, tuple[Callable[[Study], Call], str, Callable[[Study], bool]]] = {
    "pause": (pausing, "paused", lambda study: study.paused_at is not None),
    "resume": (resuming, "resumed", lambda study: study.paused_at is None),
    "workers": (adding, "extended", lambda study: not study.hits.exclude(extra=2).exists()),
    "some HITs": (adding_to_some, "extended", lambda study: study.hits.filter(extra=2).count() == 2),
    "time": (
        giving_time,
        "leases-extended",
        lambda study: study.assignments.filter(
            expires_at__gt=F("accepted_at") + timedelta(minutes=30)
        ).exists(),
    ),
    "leases": (taking_back, "expired", lambda study: held(study) == 0),
    "slots": (taking_slots, "slots-expired", lambda study: study.hits.get(position=1).open_slots == 0),
    "votes": (reopening, "units-reopened", lambda study: study.hits.filter(extra=2).count() == 1),
}  # fmt: skip


PAIRS = [
    (case, door)
    for case in CASES
    for door in DOORS
    if door != "command" or case not in ("leases", "slots")  # no command does these
]


@pytest.mark.parametrize(("case", "door"), PAIRS)
def test_it_is_done_and_the_log_says_who_and_why(case: str, door: str, study: Study, lead: User) -> None:
    make, what, is_so = CASES[case]
    call = make(study)
    answer = DOORS[door](study, with_reason(call), lead)
    assert answer.done, answer.sentence
    assert bool(answer.sentence) == (door != "http")
    assert is_so(fresh(study))
    entry = study.events.filter(what=what).first()
    assert entry is not None
    assert (entry.why, entry.by) == (WHY, None if door == "command" else lead)


def with_reason(call: Call, **values: Any) -> Call:
    return Call(call.page, call.http, call.command, {**call.values, "why": WHY, **values})


# a mistake, and the parameter that is to blame
MISTAKES: dict[str, tuple[Callable[[Study], Call], dict[str, Any], str]] = {
    "no reason": (pausing, {"why": " "}, "why"),
    "a long reason": (pausing, {"why": "x" * 501}, "why"),
    "no worker": (adding, {"workers": 0}, "workers"),
    "too many workers": (adding, {"workers": 101}, "workers"),
    "no number": (adding, {"workers": "many"}, "workers"),
    "too many minutes": (giving_time, {"minutes": 10_081}, "minutes"),
    "no vote": (reopening, {"votes": 0}, "votes"),
}


def test_a_mistake_gets_the_same_sentence_at_each_door(study: Study, lead: User) -> None:
    before = study.events.count()
    for mistake, (make, wrong, blamed) in MISTAKES.items():
        call = with_reason(make(study), **wrong)
        answers = {name: door(study, call, lead) for name, door in DOORS.items()}
        assert not any(answer.done for answer in answers.values()), mistake
        assert answers["http"].status == 400, mistake
        assert len({without_field(answer.sentence) for answer in answers.values()}) == 1, mistake
        assert answers["http"].sentence.startswith(f"{blamed}: "), mistake
    assert study.events.count() == before


@pytest.mark.parametrize("case", CASES)
def test_a_state_that_does_not_allow_it_gets_the_same_sentence_at_each_door(
    case: str, study: Study, lead: User
) -> None:
    call = with_reason(CASES[case][0](study))
    Study.objects.filter(pk=study.pk).update(state=Study.State.GENERATED, paused_at=None)
    Assignment.objects.filter(study=study).delete()
    study.hits.update(open_slots=0)
    doors = [name for name in DOORS if (case, name) in PAIRS]
    answers = {name: DOORS[name](study, call, lead) for name in doors}
    assert not any(answer.done for answer in answers.values())
    assert answers["http"].status == 409
    assert len({answer.sentence for answer in answers.values()}) == 1


def test_who_may_not_change_the_study_does_nothing(study: Study) -> None:
    stranger = User.objects.create_user("stranger", is_staff=True)
    viewer = User.objects.create_user("viewer", is_staff=True)
    give_role(study=study, user=viewer, role="viewer")
    for case, (make, _what, _is_so) in CASES.items():
        call = with_reason(make(study))
        before = study.events.count()
        for door, unknown in (("page", 404), ("http", 403)):
            statuses = [DOORS[door](study, call, user).status for user in (stranger, viewer)]
            assert statuses == [unknown, 403], (case, door)
        assert study.events.count() == before, case


WRONG_BODIES: list[tuple[str, dict[str, Any]]] = [
    ("extend", {"workers": "1"}),
    ("extend", {"workers": True}),
    ("extend", {"workers": 1.0}),
    ("extend", {"workers": 1, "hits": [1]}),
    ("extend", {"workers": 1, "hits": "a"}),
    ("extend", {"workers": 1, "minutes": 1}),
    ("extend", {}),
    ("extend", {"minutes": 1, "hits": ["a"]}),
    ("extend", {"hours": 1, "hits": ["a"]}),
    ("expire", {"assignments": [str(uuid4())], "hits": ["a"]}),
    ("expire", {"assignments": ["x"]}),
    ("expire", {"assignments": [1]}),
    ("reopen", {"votes": 1}),
    ("reopen", {"votes": 1, "units": []}),
    ("reopen", {"votes": 1, "units": ["a"], "need": "tied"}),
    ("reopen", {"votes": 1, "need": "cold"}),
    ("pause", {"why": 1}),
]


def test_a_body_with_a_value_of_another_type_changes_nothing(study: Study, lead: User) -> None:
    before = study.events.count()
    for http, values in WRONG_BODIES:
        answer = by_http(study, Call("", http, "", {"why": WHY, **values}), lead)
        assert answer.status == 400, values
    assert study.events.count() == before


def test_pages_that_more_time_would_ignore_are_refused_with_a_sentence(study: Study, lead: User) -> None:
    keys = list(study.hits.values_list("key", flat=True)[:1])
    held_by_somebody = [str(assignment.pk) for assignment in study.assignments.all()]
    combinations: list[tuple[str, dict[str, Any], str]] = [
        ("extend", {"minutes": 30, "hits": keys}, "hits and minutes"),
        ("extend", {"hours": 5, "hits": keys}, "hits and hours"),
        ("expire", {"assignments": held_by_somebody, "hits": keys}, "assignments and hits"),
    ]
    for http, values, names in combinations:
        answer = by_http(study, Call("", http, "", {"why": WHY, **values}), lead)
        assert answer.status == 400
        assert f"{names} cannot be given together; leave one of them out." in answer.sentence
    assert held(study) == 1


def test_null_is_the_same_as_leaving_an_optional_parameter_out(study: Study, lead: User) -> None:
    call = Call("", "extend", "", {"why": WHY, "workers": 1, "minutes": None, "hits": None})
    assert by_http(study, call, lead).done
    assert not study.hits.exclude(extra=1).exists()


def test_a_form_that_is_about_some_hits_is_not_taken_for_one_about_all(study: Study, lead: User) -> None:
    answer = DOORS["page"](study, Call("expire-slots", "", "", {"why": WHY, "hits": " "}), lead)
    assert answer.sentence.startswith("hits: ")
