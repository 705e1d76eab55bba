"""Plans and rehearsals over HTTP."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from annotation.models import Assignment
from contrib.rehearsals.copies import rehearsals_of
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
