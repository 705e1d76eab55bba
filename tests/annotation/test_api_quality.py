"""Quality over HTTP and on pages: detectors, control items, flags, exclusions and reviews."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from annotation.models import Assignment, Case, CrowdCall, Exclusion, Invitation, Participation, QualityRule
from annotation.quality.exclusions import exclude_worker
from contrib.adoption.adopting import adopt_captions
from contrib.quiz.tests.quizzing import quizzed, take
from judgments.access.roles import give_role
from judgments.models import Study, Unit
from tests.annotation.watched import make_watched, with_a_pause
from tests.annotation.writing import written_study
from tests.doors import DOORS, Call, by_page, call, key_of
from tests.studies import hand_in, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def designer() -> dict[str, str]:
    return key_of(User.objects.create_superuser("designer"))


@pytest.fixture
def study() -> Study:
    return with_a_pause()


def test_a_rule_is_listed(study: Study, designer: dict[str, str]) -> None:
    (row,) = call("get", f"rules/?study={study.slug}", designer).json()["results"]
    assert (row["rule"], row["action"], row["enabled"]) == ("side-bias", "pause", True)


def test_numbers_without_an_end_are_no_settings(study: Study, designer: dict[str, str]) -> None:
    answer = Client().put(
        f"/api/studies/{study.slug}/rules/side-bias/",
        data='{"action": "flag", "settings": {"tolerance": 1e999}}',
        content_type="application/json",
        headers=designer,
    )
    assert answer.status_code == 400


def test_control_items_come_with_how_workers_fared(study: Study, designer: dict[str, str]) -> None:
    rows = call("get", f"studies/{study.slug}/control-items/?page_size=1000", designer).json()["results"]
    assert {row["unit"] for row in rows} == set(
        Unit.objects.filter(study=study, control=True).values_list("key", flat=True)
    )
    told = call("get", f"studies/{study.slug}/controls/", designer).json()
    (kind,) = told["by_kind"]
    assert (kind["seen"], kind["right"] < kind["seen"]) == (4, True)  # two workers, two pages each
    assert any(row["seen"] for row in rows)
    assert all(row["right"] <= row["seen"] and row["expected"] is not None for row in rows)
    page = call("get", f"studies/{study.slug}/control-items/?page_size=1", designer).json()
    assert page["results"][0]["position"] == min(row["position"] for row in rows)
    assert page["next"]


def test_who_is_paused_stands_in_the_participations(study: Study, designer: dict[str, str]) -> None:
    rows = call("get", f"participations/?study={study.slug}&standing=paused", designer).json()["results"]
    assert [row["worker"] for row in rows] == ["spam"]
    assert "completion_code" not in rows[0]


def test_invitations_are_made_and_listed(designer: dict[str, str]) -> None:
    study = make_study(access={"join": "invited"})
    made = call("post", "invitations/", designer, {"study": study.slug, "count": 3, "note": "lab"})
    assert made.status_code == 201
    assert {one["code"] for one in made.json()} == set(Invitation.objects.values_list("code", flat=True))
    rows = call("get", f"invitations/?study={study.slug}&used=false", designer).json()["results"]
    assert [row["note"] for row in rows] == ["lab"] * 3
    for count in (0, 501, "3", True):
        answer = call("post", "invitations/", designer, {"study": study.slug, "count": count})
        assert answer.status_code == 400
    assert Invitation.objects.count() == 3
    everybody = make_study("graded")
    assert call("post", "invitations/", designer, {"study": everybody.slug, "count": 1}).status_code == 409


def test_attempts_at_a_quiz_are_listed(designer: dict[str, str]) -> None:
    study = quizzed()
    from tests.annotation.casting import joined as person_of

    take(study, person_of(study, "ada"), wrong=0)
    (row,) = call("get", f"quiz-attempts/?study={study.slug}&passed=true", designer).json()["results"]
    assert (row["worker"], row["number"], row["passed"]) == ("ada", 1, True)
    assert len(row["items"]) == row["right"]


def test_written_captions_name_their_writers(designer: dict[str, str]) -> None:
    study = written_study("ada", "bea")
    assert call("get", "written-captions/", designer).json()["results"] == []
    Study.objects.filter(pk=study.pk).update(state="closed")
    adopt_captions(study=study)
    rows = call("get", f"written-captions/?study={study.slug}&worker=ada", designer).json()["results"]
    assert rows
    assert {row["study"] for row in rows} == {study.slug}
    assert all(row["text"] for row in rows)


def test_what_was_asked_of_a_crowd_is_listed_without_its_names_of_people(
    study: Study, designer: dict[str, str]
) -> None:
    CrowdCall.objects.create(
        study=study, platform="sandbox", kind="block", key="k", payload={"worker_id": "A1SECRET"}, why="spam"
    )
    (row,) = call("get", f"crowd-calls/?study={study.slug}&state=waiting", designer).json()["results"]
    assert (row["kind"], row["why"], row["unsure"]) == ("block", "spam", False)
    assert "A1SECRET" not in json.dumps(row)
    key = key_of(User.objects.create_superuser("else"), "studies:read")
    assert "money:read" in call("get", "crowd-calls/", key).json()["detail"]


TWO = ["page", "http"]


@pytest.fixture
def lead() -> User:
    return User.objects.create_superuser("lead")


def pages_of(study: Study, name: str) -> list[str]:
    rows = Assignment.objects.filter(study=study, worker__name=name, submitted_at__isnull=False)
    return [str(pk) for pk in rows.values_list("pk", flat=True)]


def setting(study: Study) -> Call:
    values = {"action": "flag", "enabled": False, "settings": {"least": 35, "tolerance": 0.25}}
    return Call("save-rule", f"PUT /studies/{study.slug}/rules/side-bias/", "", values, {"rule": "side-bias"})


def confirming(study: Study) -> Call:
    case = Case.objects.get(study=study).pk
    return Call("confirm-case", f"/cases/{case}/confirm/", "", {"why": "Clicks."}, {"case": case})


def dismissing(study: Study) -> Call:
    case = Case.objects.get(study=study).pk
    return Call("dismiss-case", f"/cases/{case}/dismiss/", "", {"why": "Checked."}, {"case": case})


def excluding(study: Study) -> Call:
    return Call("exclude-worker", "exclude", "", {"worker": "ada", "why": "Asked for it."})


def readmitting(study: Study) -> Call:
    worker = Assignment.objects.filter(study=study, worker__name="ada")[0].worker
    exclude_worker(study=study, worker=worker, why="An error.")
    return Call("lift-exclusion", "readmit", "", {"worker": "ada", "why": "She wrote to us."})


def approving(study: Study) -> Call:
    return Call("approve", "approve", "", {"assignments": pages_of(study, "ada")})


def rejecting(study: Study) -> Call:
    return Call("reject", "reject", "", {"assignments": pages_of(study, "spam"), "reason": "Empty."})


def rejecting_for_what_was_found(study: Study) -> Call:
    return Call("reject", "reject", "", {"assignments": pages_of(study, "spam"), "found": True})


def rule_is_set(study: Study) -> bool:
    row = QualityRule.objects.get(study=study)
    return (row.action, row.enabled, row.settings) == ("flag", False, {"least": 35, "tolerance": 0.25})


def states(study: Study, name: str) -> set[str]:
    return set(study.assignments.filter(pk__in=pages_of(study, name)).values_list("state", flat=True))


# operation: how it is called, the word of its log entry, and what is so afterwards
CASES: dict[str, tuple[Callable[[Study], Call], str, Callable[[Study], bool]]] = {
    "rule": (setting, "rule-changed", rule_is_set),
    "confirm": (confirming, "case-confirmed", lambda study: Case.objects.get().state == "confirmed"),
    "dismiss": (dismissing, "case-dismissed", lambda study: Case.objects.get().state == "dismissed"),
    "exclude": (excluding, "excluded", lambda study: states(study, "ada") == {"invalidated"}),
    "readmit": (readmitting, "re-admitted", lambda study: states(study, "ada") == {"submitted"}),
    "approve": (approving, "approved", lambda study: states(study, "ada") == {"approved"}),
    "reject": (rejecting, "rejected", lambda study: states(study, "spam") == {"rejected"}),
    "found": (rejecting_for_what_was_found, "rejected", lambda study: states(study, "spam") == {"rejected"}),
}  # fmt: skip


@pytest.mark.parametrize("door", TWO)
@pytest.mark.parametrize("case", CASES)
def test_it_is_done_and_the_log_says_who(case: str, door: str, study: Study, lead: User) -> None:
    make, what, is_so = CASES[case]
    answer = DOORS[door](study, make(study), lead)
    assert answer.done, answer.sentence
    assert is_so(study)
    entry = study.events.filter(what=what).latest("pk")
    assert entry.by == lead


# a mistake, and the parameter that is to blame
MISTAKES: dict[str, tuple[Callable[[Study], Call], dict[str, Any], str]] = {
    "no reason": (confirming, {"why": " "}, "why"),
    "a long reason": (dismissing, {"why": "x" * 501}, "why"),
    "nobody": (excluding, {"worker": ""}, "worker"),
    "nothing chosen": (approving, {"assignments": []}, "assignments"),
    "no page of work": (approving, {"assignments": ["x"]}, "assignments"),
    "no reason for the worker": (rejecting, {"reason": " "}, "reason"),
    "another action": (setting, {"action": "shout"}, "action"),
    "no number": (setting, {"settings": {"least": "many"}}, "settings"),
    "no end": (setting, {"settings": {"least": 10**13}}, "settings"),
}


def test_a_mistake_gets_the_same_sentence(study: Study, lead: User) -> None:
    before = study.events.count()
    for mistake, (make, wrong, blamed) in MISTAKES.items():
        call = make(study)
        call.values.update(wrong)
        answers = {door: DOORS[door](study, call, lead) for door in TWO}
        assert not any(answer.done for answer in answers.values()), mistake
        assert answers["http"].status == 400, mistake
        assert answers["http"].sentence == answers["page"].sentence, mistake
        assert answers["http"].sentence.startswith(f"{blamed}: "), mistake
    assert study.events.count() == before


# what the service refuses, and the HTTP status
REFUSED: dict[str, tuple[Callable[[Study], Call], dict[str, Any], int]] = {
    "nobody of this name": (excluding, {"worker": "eve"}, 404),
    "never excluded": (lambda study: Call("lift-exclusion", "readmit", "", {"worker": "ada", "why": "x"}), {}, 404),
    "nothing against them": (rejecting_for_what_was_found, {"assignments": "ada"}, 409),
    "another setting": (setting, {"settings": {"lesat": 3}}, 409),
    "a setting out of its bounds": (setting, {"settings": {"alpha": 0.9}}, 409),
}  # fmt: skip


def test_what_is_not_possible_gets_the_same_sentence(study: Study, lead: User) -> None:
    before = study.events.count()
    for refused, (make, wrong, status) in REFUSED.items():
        call = make(study)
        call.values.update(wrong)
        if call.values.get("assignments") == "ada":
            call.values["assignments"] = pages_of(study, "ada")
        answers = {door: DOORS[door](study, call, lead) for door in TWO}
        assert not any(answer.done for answer in answers.values()), refused
        assert answers["http"].status == status, refused
        assert answers["http"].sentence == answers["page"].sentence, refused
    assert study.events.count() == before


def test_one_wrong_page_among_the_chosen_changes_nothing(study: Study, lead: User) -> None:
    for door in TWO:
        one, other = pages_of(study, "ada")
        DOORS[door](study, Call("approve", "approve", "", {"assignments": [one]}), lead)
        both = Call("reject", "reject", "", {"assignments": [one, other], "reason": "Late."})
        answer = DOORS[door](study, both, lead)
        assert not answer.done
        assert answer.status in (0, 409)
        assert states(study, "ada") == {"approved", "submitted"}


def test_who_may_not_do_it_does_nothing(study: Study, lead: User) -> None:
    stranger = User.objects.create_user("stranger", is_staff=True)
    viewer = User.objects.create_user("viewer", is_staff=True)
    give_role(study=study, user=viewer, role="viewer")
    for case, (make, _what, _is_so) in CASES.items():
        call = make(study)
        before = study.events.count()
        for door in TWO:
            assert DOORS[door](study, call, stranger).status in (403, 404), case
            assert DOORS[door](study, call, viewer).status == 403, case
        assert study.events.count() == before, case


def test_a_row_of_another_study_is_out_of_reach(study: Study, lead: User) -> None:
    other = make_watched("Another")
    for make in (confirming, dismissing):
        call = make(study)
        assert not by_page(other, call, lead).done
    assert Case.objects.get().state == "open"
    assert not Exclusion.objects.exists()


def test_a_participant_of_two_of_an_accounts_studies_is_listed_once() -> None:
    first, second = make_study("pairwise"), make_study("triplet")
    worker = hand_in(first, "Ada").worker
    Participation.objects.create(study=second, worker=worker)
    viewer = User.objects.create_user("viewer", is_staff=True)
    for study in (first, second):
        give_role(study=study, user=viewer, role="viewer")
    rows = call("get", "workers/", key_of(viewer)).json()["results"]
    assert [row["name"] for row in rows] == ["Ada"]
