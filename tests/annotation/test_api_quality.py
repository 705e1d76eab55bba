"""Quality over HTTP and on pages: detectors, control items, flags, exclusions, reviews and adjudications."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from annotation.models import (
    Adjudication,
    Assignment,
    Case,
    CrowdCall,
    Exclusion,
    Invitation,
    Judgment,
    QualityRule,
    Worker,
)
from annotation.quality.flags import exclude_worker
from annotation.quality.operations import send_units
from annotation.quality.reviews import (
    decide_adjudication,
    own_adjudication,
    send_to_adjudicator,
    waiting_adjudications,
    withdraw_adjudication,
)
from common.errors import ObjectNotFound, WrongState
from contrib.quiz.tests.quizzing import quizzed, take
from evaluation.data.adoption import adopt_captions
from judgments.access.roles import give_role
from judgments.models import Study, Unit
from tests.annotation.voting import always_first, joined, work
from tests.annotation.voting import work as votes
from tests.annotation.watched import make_watched, with_a_pause
from tests.annotation.writing import written_study
from tests.doors import DOORS, Call, by_page, call, key_of, of_role, signed_in
from tests.studies import make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def designer() -> dict[str, str]:
    return key_of(User.objects.create_superuser("designer"))


@pytest.fixture
def study() -> Study:
    return with_a_pause()


def test_a_rule_is_listed_and_tried(study: Study, designer: dict[str, str]) -> None:
    (row,) = call("get", f"rules/?study={study.slug}", designer).json()["results"]
    assert (row["rule"], row["action"], row["enabled"]) == ("side-bias", "pause", True)
    found = call("get", f"studies/{study.slug}/replay/?rule=side-bias&least=15", designer).json()
    assert [one["worker"] for one in found["found"]] == ["spam"]
    assert found["settings"]["least"] == 15


def test_numbers_without_an_end_are_no_settings(study: Study, designer: dict[str, str]) -> None:
    answer = Client().put(
        f"/api/studies/{study.slug}/rules/side-bias/",
        data='{"action": "flag", "settings": {"tolerance": 1e999}}',
        content_type="application/json",
        headers=designer,
    )
    assert answer.status_code == 400
    for query in ("rule=side-bias&tolerance=inf", "rule=side-bias&least=x", "rule=no", "rule=side-bias&z=1"):
        assert call("get", f"studies/{study.slug}/replay/?{query}", designer).status_code == 400


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


@pytest.fixture
def disputed() -> Study:
    made = make_study("pairwise", judgments_per_unit=2, controls={"per_hit": 0})
    for name in ("ada", "bea"):
        votes(made, joined(made, name), always_first)
    return made


def test_a_unit_is_sent_seen_blind_decided_and_taken_back(disputed: Study, designer: dict[str, str]) -> None:
    rita = of_role(disputed, "reviewer")
    unit = Unit.objects.filter(study=disputed, control=False)[0]
    body = {"study": disputed.slug, "units": [unit.key], "adjudicator": "the-reviewer"}
    (sent,) = call("post", "adjudications/", designer, body).json()
    assert sent["votes"]
    assert call("post", "adjudications/", designer, body).json() == []  # it waits there already
    path = f"adjudications/{sent['id']}"
    assert call("get", f"{path}/", rita).json()["votes"] is None
    task = call("get", f"{path}/task/", rita).json()
    assert set(task) == {"position", "protocol", "question", "image", "b", "c"}
    assert call("get", f"{path}/task/", designer).status_code == 404  # somebody else's
    assert call("post", f"{path}/decide/", designer, {"value": 1}).status_code == 404
    assert call("post", f"{path}/decide/", rita, {"value": 7}).status_code == 400
    done = call("post", f"{path}/decide/", rita, {"value": 1, "reason": "B is a dog"}).json()
    assert (done["state"], done["reason"]) == ("decided", "B is a dog")
    assert done["votes"]
    assert unit.first is not None
    assert unit.second is not None
    right = unit.first if done["value"] == 1 else unit.second
    assert right.text == task["b"]["text"]
    assert call("post", f"{path}/decide/", rita, {"value": 1}).status_code == 200
    assert call("post", f"{path}/decide/", rita, {"value": 2}).status_code == 409
    assert call("post", f"{path}/withdraw/", designer).json()["state"] == "withdrawn"


def test_what_cannot_be_sent_is_said_and_nothing_is_sent(disputed: Study, designer: dict[str, str]) -> None:
    of_role(disputed, "viewer")
    unit = Unit.objects.filter(study=disputed, control=False)[0].key
    for change, status, said in (
        ({"adjudicator": "the-viewer"}, 409, "'the-viewer' is not allowed to adjudicate"),
        ({"units": ["none"]}, 404, "has no item 'none'"),
        ({"units": []}, 400, "units: "),
        ({"study": "none"}, 404, "no study 'none'"),
    ):
        body = {"study": disputed.slug, "units": [unit], "adjudicator": "designer"} | change
        answer = call("post", "adjudications/", designer, body)
        assert (answer.status_code, said in answer.json()["detail"]) == (status, True), answer.json()
    assert not Adjudication.objects.exists()


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


def withdrawing(study: Study) -> Call:
    unit = Unit.objects.filter(study=study, control=False)[0].pk
    lead = User.objects.get(username="lead")
    (sent,) = send_to_adjudicator(study=study, units=[unit], adjudicator=lead)
    return Call("withdraw", f"/adjudications/{sent.pk}/withdraw/", "", {}, {"adjudication": sent.pk})


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
    "withdraw": (
        withdrawing,
        "adjudication-withdrawn",
        lambda study: Adjudication.objects.get().state == "withdrawn",
    ),
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
    for make in (confirming, dismissing, withdrawing):
        call = make(study)
        assert not by_page(other, call, lead).done
    assert Case.objects.get().state == "open"
    assert not Exclusion.objects.exists()


def person(name: str, *, staff: bool = True, may: bool = True) -> User:
    user = User.objects.create_user(name, password="x", is_staff=staff)
    if may:
        user.user_permissions.add(Permission.objects.get(codename="change_adjudication"))
    return user


def in_turn(unit: Unit, worker: Worker) -> int:
    return 1 if unit.control or worker.name == "ada" else 2


@pytest.fixture
def split_study() -> Study:
    """Pairs that two workers disagree on throughout."""
    made = make_study("pairwise", judgments_per_unit=2, controls={"per_hit": 0})
    for name in ("ada", "bea"):
        work(made, joined(made, name), in_turn)
    return made


def sent(split_study: Study, to: User, count: int = 1) -> list[Adjudication]:
    units = Unit.objects.filter(study=split_study, control=False).values_list("pk", flat=True)[:count]
    return send_to_adjudicator(study=split_study, units=list(units), adjudicator=to)


def address(one: Adjudication) -> str:
    return reverse("annotation:adjudication", args=[one.pk])


def test_a_unit_is_shown_blind_and_decided_with_its_provenance(split_study: Study) -> None:
    rita = person("rita")
    one, other = sent(split_study, rita, 2)
    page = signed_in(rita).get(address(one))
    text = page.content.decode()
    assert one.unit.first is not None
    assert one.unit.first.text in text
    assert "2 items left" in text
    for hidden in ("ada", "bea", "1 for “1”", one.unit.key):
        assert hidden not in text
    answer = signed_in(rita).post(address(one), {"u1": "1", "reason": "C names the wrong animal"})
    assert (answer.status_code, answer.headers["Location"]) == (303, address(other))
    one.refresh_from_db()
    # what stood first on the page is the unit's second candidate where the sides were changed
    assert one.value == (2 if one.side else 1)
    assert (one.state, one.reason, one.votes) == ("decided", "C names the wrong animal", {"1": 1, "2": 1})
    assert one.decided_at is not None
    assert Judgment.objects.filter(unit=one.unit).count() == 2


def test_sides_are_drawn_for_the_unit_and_person_and_differ_between_units(split_study: Study) -> None:
    drawn = [one.side for one in sent(split_study, person("rita"), 12)]
    assert set(drawn) == {True, False}


def test_what_cannot_be_decided_is_refused_and_the_last_decision_leads_back_to_the_list(
    split_study: Study,
) -> None:
    rita = person("rita")
    (one,) = sent(split_study, rita)
    for form in ({"reason": "hard to say"}, {"u1": "7", "reason": "hard to say"}):
        answer = signed_in(rita).post(address(one), form)
        assert answer.status_code == 400
        assert "Nothing was decided" in answer.content.decode()
        assert "hard to say" in answer.content.decode()
    assert waiting_adjudications(rita).count() == 1
    answer = signed_in(rita).post(address(one), {"u1": "1", "reason": "hard\x00 to say"})
    assert answer.status_code == 400
    assert "characters that cannot be stored" in answer.content.decode()
    assert waiting_adjudications(rita).count() == 1
    answer = signed_in(rita).post(address(one), {"u1": "2"}, follow=True)
    assert "There are no more items for you to decide" in answer.content.decode()
    assert "You have decided 1 item so far" in answer.content.decode()


def test_deciding_twice_is_harmless_and_otherwise_refused(split_study: Study) -> None:
    rita = person("rita")
    (one,) = sent(split_study, rita)
    decide_adjudication(adjudication=one, answer=1)
    when = one.decided_at
    decide_adjudication(adjudication=one, answer=1)
    assert one.decided_at == when
    with pytest.raises(WrongState, match="this item was already decided"):
        decide_adjudication(adjudication=one, answer=2)
    answer = signed_in(rita).post(address(one), {"u1": "2"}, follow=True)
    assert "already decided" in answer.content.decode()
    assert "This item is already decided" in signed_in(rita).get(address(one), follow=True).content.decode()


def test_strangers_see_nothing(split_study: Study) -> None:
    (one,) = sent(split_study, person("rita"))
    other, nobody = person("otto"), person("nick", may=False)
    assert signed_in(other).get(address(one)).status_code == 404
    assert signed_in(other).post(address(one), {"u1": "1"}).status_code == 404
    assert signed_in(nobody).get(address(one)).status_code == 403
    assert signed_in(nobody).get(reverse("annotation:adjudicate")).status_code == 403
    guest = person("guest", staff=False)
    for client in (Client(), signed_in(guest)):
        for to in (address(one), reverse("annotation:adjudicate")):
            answer = client.get(to)
            assert answer.status_code == 302
            assert "/admin/login/" in answer.headers["Location"]
    assert waiting_adjudications(person("rita-2")).count() == 0
    one.refresh_from_db()
    assert one.state == "waiting"


def test_a_unit_goes_to_one_person_at_a_time(split_study: Study) -> None:
    rita, otto = person("rita"), person("otto")
    (one,) = sent(split_study, rita)
    assert sent(split_study, otto) == []
    with pytest.raises(IntegrityError), transaction.atomic():
        Adjudication.objects.create(study=split_study, unit=one.unit, adjudicator=otto)
    withdraw_adjudication(study=split_study, pk=one.pk, by=rita)
    (again,) = sent(split_study, otto)
    assert again.unit == one.unit
    with pytest.raises(ObjectNotFound):
        own_adjudication(user=rita, pk=one.pk)
    with pytest.raises(WrongState, match="was withdrawn"):
        decide_adjudication(adjudication=one, answer=1)


def test_withdrawing_keeps_what_was_decided_and_by_whom_it_was_taken_back(split_study: Study) -> None:
    rita = person("rita")
    (one,) = sent(split_study, rita)
    decide_adjudication(adjudication=one, answer=1)
    first = withdraw_adjudication(study=split_study, pk=one.pk, by=rita)
    second = withdraw_adjudication(study=split_study, pk=one.pk)
    assert (second.state, second.withdrawn_by, second.withdrawn_at) == ("withdrawn", rita, first.withdrawn_at)
    assert second.value is not None
    with pytest.raises(ObjectNotFound):
        withdraw_adjudication(study=make_study("pairwise", name="Another"), pk=one.pk)


def test_what_cannot_be_sent_is_refused_by_name(split_study: Study) -> None:
    rita = person("rita")
    elsewhere = make_study("pairwise", name="Another")
    control = Unit.objects.filter(study=elsewhere, control=True).values_list("pk", flat=True)[:1]
    for units in ([], list(control), [0]):
        with pytest.raises(WrongState, match="or more items"):
            send_to_adjudicator(study=elsewhere, units=units, adjudicator=rita)
    keys = list(Unit.objects.filter(study=split_study).values_list("key", flat=True)[:1])
    for user in (person("nick", may=False), person("guest", staff=False)):
        with pytest.raises(WrongState, match="not allowed to adjudicate"):
            send_units.run(split_study, {"units": keys, "adjudicator": user.username}, by=rita)


@pytest.mark.parametrize(
    ("protocol", "form", "value"),
    [
        ("triplet", {"u1": "1"}, None),
        ("relevance", {"u1": "1"}, 1),
        ("relevance", {"none1": "1"}, 0),
        ("graded", {"u1": "3"}, 3),
    ],
)
def test_each_kind_is_decided_on_its_own_page(protocol: str, form: dict[str, Any], value: int | None) -> None:
    split_study, rita = make_study(protocol, controls={"per_hit": 0}), person("rita")
    (one,) = sent(split_study, rita)
    assert signed_in(rita).get(address(one)).status_code == 200
    assert signed_in(rita).post(address(one), form).status_code == 303
    one.refresh_from_db()
    assert one.value == (value if value is not None else 2 if one.side else 1)


def test_a_group_says_either_a_caption_or_none() -> None:
    split_study, rita = make_study("relevance", controls={"per_hit": 0}), person("rita")
    (one,) = sent(split_study, rita)
    for form in ({}, {"u1": "1", "none1": "1"}):
        assert signed_in(rita).post(address(one), form).status_code == 400
