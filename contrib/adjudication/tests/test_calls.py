"""Disputed units are sent, decided and withdrawn over HTTP and on pages, by those who may."""

import pytest
from django.contrib.auth.models import User

from annotation.models import Adjudication
from contrib.adjudication.decisions import send_to_adjudicator
from judgments.access.roles import give_role
from judgments.models import Study, Unit
from tests.annotation.voting import always_first, joined, work
from tests.annotation.watched import make_watched
from tests.doors import DOORS, Call, by_page, call, key_of, of_role
from tests.studies import make_study

pytestmark = pytest.mark.django_db
TWO = ["page", "http"]


@pytest.fixture
def lead() -> User:
    return User.objects.create_superuser("lead")


@pytest.fixture
def designer(lead: User) -> dict[str, str]:
    return key_of(lead)


@pytest.fixture
def disputed() -> Study:
    made = make_study("pairwise", judgments_per_unit=2, controls={"per_hit": 0})
    for name in ("ada", "bea"):
        work(made, joined(made, name), always_first)
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
        body = {"study": disputed.slug, "units": [unit], "adjudicator": "lead"} | change
        answer = call("post", "adjudications/", designer, body)
        assert (answer.status_code, said in answer.json()["detail"]) == (status, True), answer.json()
    assert not Adjudication.objects.exists()


def withdrawing(study: Study, lead: User) -> Call:
    unit = Unit.objects.filter(study=study, control=False)[0].pk
    (sent,) = send_to_adjudicator(study=study, units=[unit], adjudicator=lead)
    return Call("withdraw", f"/adjudications/{sent.pk}/withdraw/", "", {}, {"adjudication": sent.pk})


@pytest.mark.parametrize("door", TWO)
def test_a_unit_is_withdrawn_and_the_log_says_who(door: str, disputed: Study, lead: User) -> None:
    answer = DOORS[door](disputed, withdrawing(disputed, lead), lead)
    assert answer.done, answer.sentence
    assert Adjudication.objects.get().state == "withdrawn"
    assert disputed.events.filter(what="adjudication-withdrawn").latest("pk").by == lead


def test_who_may_not_withdraw_a_unit_does_nothing(disputed: Study, lead: User) -> None:
    stranger = User.objects.create_user("stranger", is_staff=True)
    viewer = User.objects.create_user("viewer", is_staff=True)
    give_role(study=disputed, user=viewer, role="viewer")
    withdraw = withdrawing(disputed, lead)
    for door in TWO:
        assert DOORS[door](disputed, withdraw, stranger).status in (403, 404)
        assert DOORS[door](disputed, withdraw, viewer).status == 403
    assert Adjudication.objects.get().state == "waiting"


def test_a_unit_of_another_study_is_out_of_reach(disputed: Study, lead: User) -> None:
    assert not by_page(make_watched("Another"), withdrawing(disputed, lead), lead).done
    assert Adjudication.objects.get().state == "waiting"
