"""Plans and rehearsals over HTTP."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from annotation.models import Assignment
from contrib.planning.rehearsals.copies import rehearsals_of
from evaluation.models import Analysis
from judgments.jobs.claims import run_job
from judgments.models import Job
from tests.doors import call, key_of, of_role
from tests.studies import make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def person() -> User:
    return User.objects.create_superuser("designer")


@pytest.fixture
def designer(person: User) -> dict[str, str]:
    return key_of(person)


def done(kind: str) -> Job:
    job = Job.objects.filter(kind=kind).latest("pk")
    assert run_job(job.pk)
    job.refresh_from_db()
    return job


FEW: dict[str, Any] = {
    "pairs": [11, 203],
    "references": [1],
    "votes": [1],
    "win_rate": 0.9,
    "right": 1.0,
    "simulations": 50,
}


def test_a_plan_of_no_study_is_asked_for_and_read(designer: dict[str, str]) -> None:
    asked = call("post", "plans/", designer, {"assumptions": FEW | {"reward_cents": 5}})
    assert (asked.status_code, asked.json()["study"]) == (202, None)
    path = asked["Location"].partition("/api/")[2]
    assert call("get", path, designer).json()["result"] is None
    done("plan_power")
    told = call("get", path, designer).json()
    assert (told["state"], told["assumptions"]["win_rate"]) == ("done", 0.9)
    assert told["result"]["best"]["pairs"] in (11, 203)
    (head,) = call("get", "plans/", designer).json()["results"]
    assert "result" not in head
    assert not Analysis.objects.filter(what="plan").exists()


def test_a_plan_of_a_draft_goes_into_its_design(designer: dict[str, str]) -> None:
    draft = make_study(opened=False)
    body = {"study": draft.slug, "assumptions": FEW | {"pairs": [203]}}
    assert call("post", "plans/", designer, body).status_code == 202
    assert call("post", "plans/", designer, body).status_code == 409  # under way
    done("plan_power")
    (row,) = call("get", f"plans/?study={draft.slug}", designer).json()["results"]
    assert call("get", f"plans/{row['id']}/", designer).json()["result"]["best"]["pairs"] == 203
    changed = call("post", f"studies/{draft.slug}/use-plan/", designer).json()
    assert sum(changed["design"]["sampling"]["pairs"].values()) == 203


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"assumptions": {"wim_rate": 1}}, 400, "wim_rate is not an assumption"),
        ({"assumptions": {"win_rate": 7}}, 400, "win_rate is 7"),
        ({"assumptions": []}, 400, "assumptions: "),
        ({"first": "a"}, 400, "second: "),
        ({"first": "a", "second": "b"}, 400, "pilot: "),
        ({"pilot": "none"}, 404, "no study 'none'"),
        ({"study": "none"}, 404, "no study 'none'"),
        ({"study": "a-graded-study"}, 409, "does not compare pairs"),
    ],
)
def test_a_plan_that_cannot_be_simulated_is_refused_at_once(
    designer: dict[str, str], body: Any, status: int, said: str
) -> None:
    make_study("graded", opened=False)
    answer = call("post", "plans/", designer, body)
    assert (answer.status_code, said in answer.json()["detail"]) == (status, True), answer.json()
    assert not Job.objects.exists()


def test_who_may_begin_no_study_plans_none_and_sees_no_pilot(designer: dict[str, str]) -> None:
    study = make_study(opened=False)
    reviewer = of_role(study, "reviewer")
    assert call("post", "plans/", reviewer, {"assumptions": FEW}).status_code == 403
    assert call("post", "plans/", reviewer, {"study": study.slug}).status_code == 403
    hidden = make_study("pairwise", opened=False)
    owner = of_role(study, "owner")
    answer = call("post", "plans/", owner, {"study": study.slug, "pilot": hidden.slug})
    assert answer.status_code == 404
    call("post", "plans/", designer, {"assumptions": FEW})
    assert call("get", "plans/", owner).json()["results"] == []


CROWD: dict[str, Any] = {"workers": 6, "spammers": 0.0, "accuracy": 1.0, "drop_outs": 0.0, "seed": 4}


@pytest.mark.long
def test_a_rehearsal_is_asked_for_read_and_deleted(designer: dict[str, str]) -> None:
    study = make_study("pairwise", opened=False)
    asked = call("post", "rehearsals/", designer, {"study": study.slug, **CROWD})
    assert asked.status_code == 202
    path = asked["Location"].partition("/api/")[2]
    assert call("get", path, designer).json()["result"] is None
    assert call("delete", path, designer).status_code == 409  # under way
    done("rehearse")
    told = call("get", path, designer).json()
    assert (told["of"], told["slug"]) == (study.slug, asked.json()["args"]["study"])
    assert told["crowd"]["workers"] == 6
    assert told["result"]["recovered"]["value"] > 0.7
    (row,) = call("get", f"rehearsals/?of={study.slug}", designer).json()["results"]
    assert row["of"] == study.slug
    assert call("delete", path, designer).status_code == 204
    assert not rehearsals_of(study).exists()
    assert not Assignment.objects.filter(simulated=True).exists()


@pytest.mark.parametrize(
    "change", [{"workers": 0}, {"workers": 2.5}, {"spammers": 2}, {"seed": -1}, {"speed": True}, {"rules": 1}]
)
def test_a_crowd_that_is_none_copies_nothing(designer: dict[str, str], change: dict[str, Any]) -> None:
    study = make_study("pairwise", opened=False)
    assert call("post", "rehearsals/", designer, {"study": study.slug} | change).status_code == 400
    assert not rehearsals_of(study).exists()


def test_who_owns_the_study_alone_copies_nothing_without_leave_to_add_studies(
    designer: dict[str, str],
) -> None:
    study = make_study("pairwise", opened=False)
    owner = of_role(study, "owner")
    assert call("post", "rehearsals/", owner, {"study": study.slug}).status_code == 403
    call("post", "rehearsals/", designer, {"study": study.slug})
    assert call("get", "rehearsals/", owner).json()["results"] == []
