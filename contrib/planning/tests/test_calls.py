"""Plans and rehearsals over HTTP."""

from typing import Any

import pytest
from django.contrib.auth.models import User

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
