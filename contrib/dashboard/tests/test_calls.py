"""The dashboard over HTTP."""

import pytest
from django.contrib.auth.models import User

from judgments.jobs.claims import run_job
from judgments.models import Job, Study
from tests.annotation import casting
from tests.annotation.voting import always_first, joined, work
from tests.doors import call, key_of
from tests.studies import make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def designer() -> dict[str, str]:
    return key_of(User.objects.create_superuser("designer"))


@pytest.fixture(scope="module")
def watched(module_db: None) -> Study:
    made = casting.make_study(casting.make_dataset(pictures=False), "pairwise", judgments_per_unit=3)
    for name in ("ada", "bea"):
        work(made, joined(made, name), always_first)
    return made


def test_the_board_has_counters_at_once_and_figures_once_they_are_made(
    watched: Study, designer: dict[str, str]
) -> None:
    path = f"studies/{watched.slug}/board/"
    first = call("get", path, designer).json()
    assert (first["snapshot"], first["judgments"] > 0, first["made_at"]) == (None, True, None)
    assert run_job(Job.objects.get(kind="board").pk)
    answer = call("get", path, designer)
    told = answer.json()
    assert told["judgments"] == first["judgments"]
    assert told["wanted"] > told["judgments"]
    assert "drawings" not in told["snapshot"]
    assert {row["worker"] for row in told["snapshot"]["workers"]} == {"ada", "bea"}
    same = call("get", path, designer | {"If-None-Match": answer["ETag"]})
    assert (same.status_code, same.content) == (304, b"")
    work(watched, joined(watched, "cleo"), always_first)
    assert call("get", path, designer | {"If-None-Match": answer["ETag"]}).status_code == 200


def test_a_study_that_was_never_open_has_no_board(designer: dict[str, str]) -> None:
    study = make_study(opened=False)
    answer = call("get", f"studies/{study.slug}/board/", designer)
    assert answer.status_code == 404
    assert "never open to participants" in answer.json()["detail"]
