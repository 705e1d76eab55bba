"""Rules, control items, cases, adjudications, invitations, quizzes and written captions over HTTP."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import User
from django.test import Client

from annotation.models import Adjudication, CrowdCall, Invitation
from evaluation.follow_up.adoption import adopt_captions
from judgments.models import Study, Unit
from tests.annotation.quizzing import quizzed, take
from tests.annotation.voting import always_first, joined
from tests.annotation.voting import work as votes
from tests.annotation.watched import with_a_pause
from tests.annotation.writing import written_study
from tests.doors import call, key_of, of_role
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
        ({"adjudicator": "the-viewer"}, 409, "'the-viewer' may not adjudicate"),
        ({"units": ["none"]}, 404, "has no unit 'none'"),
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
        study=study, place="sandbox", kind="block", key="k", payload={"worker_id": "A1SECRET"}, why="spam"
    )
    (row,) = call("get", f"crowd-calls/?study={study.slug}&state=waiting", designer).json()["results"]
    assert (row["kind"], row["why"], row["unsure"]) == ("block", "spam", False)
    assert "A1SECRET" not in json.dumps(row)
    key = key_of(User.objects.create_superuser("else"), "studies:read")
    assert "money:read" in call("get", "crowd-calls/", key).json()["detail"]
