"""Running a study by its pages, over HTTP and by commands: each operation does and says the same at each door."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import F
from django.utils import timezone

from annotation.models import Assignment
from annotation.work.claims import claim_assignment
from annotation.work.extending import pause_study
from judgments.access.roles import give_role
from judgments.models import Study
from tests.doors import DOORS, Call, by_http
from tests.studies import make_study, make_worker

pytestmark = pytest.mark.django_db
WHY = "a caption is broken"


@pytest.fixture
def lead() -> User:
    return User.objects.create_superuser("lead")


@pytest.fixture
def study() -> Study:
    """Open, with a HIT held by somebody."""
    made = make_study("pairwise")
    assert claim_assignment(study=made, worker=make_worker(made)[0]) is not None
    return made


def fresh(study: Study) -> Study:
    return Study.objects.get(pk=study.pk)


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
        assert len({answer.sentence for answer in answers.values()}) == 1, mistake
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


def test_null_is_the_same_as_leaving_an_optional_parameter_out(study: Study, lead: User) -> None:
    call = Call("", "extend", "", {"why": WHY, "workers": 1, "minutes": None, "hits": None})
    assert by_http(study, call, lead).done
    assert not study.hits.exclude(extra=1).exists()


def test_a_form_that_is_about_some_hits_is_not_taken_for_one_about_all(study: Study, lead: User) -> None:
    answer = DOORS["page"](study, Call("expire-slots", "", "", {"why": WHY, "hits": " "}), lead)
    assert answer.sentence.startswith("hits: ")
