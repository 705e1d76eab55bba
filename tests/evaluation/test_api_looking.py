"""Plans, rehearsals, known items and reports over HTTP."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from annotation.models import Assignment
from annotation.rehearsal import rehearsals_of
from evaluation.models import Analysis
from evaluation.results.aggregation import aggregate_study
from judgments.design.reading import PRESETS
from judgments.jobs import run_job
from judgments.models import Job, SavedPreset, Study
from tests.annotation import casting
from tests.annotation.voting import always_first, joined, work
from tests.doors import call, key_of, of_role
from tests.studies import make_study

pytestmark = pytest.mark.django_db
METRICS = ["bleu-1", "rouge-l"]


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


@pytest.fixture(scope="module")
def watched(module_db: None) -> Study:
    made = casting.make_study(casting.make_dataset(pictures=False), "pairwise", judgments_per_unit=3)
    for name in ("ada", "bea"):
        work(made, joined(made, name), always_first)
    return made


def test_a_next_batch_is_a_draft_and_a_token_of_some_studies_makes_none(
    watched: Study, designer: dict[str, str], person: User
) -> None:
    keys, studies = list(watched.pairs.values_list("key", flat=True)[:2]), Study.objects.count()
    path = f"studies/{watched.slug}/next-batch/"
    some = key_of(person, studies=[watched])
    assert call("post", path, some, {"chosen": keys}).status_code == 403
    for wrong, status in (([], 400), (["none"], 404), ([1], 400), ("p1", 400)):
        assert call("post", path, designer, {"chosen": wrong}).status_code == status
    assert Study.objects.count() == studies
    made = call("post", path, designer, {"chosen": keys, "why": "unsure"})
    assert made.status_code == 201
    assert made.json()["design"]["sampling"]["only"] == sorted(keys)
    assert made.json()["state"] == "draft"


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
        ({"assumptions": {"wim_rate": 1}}, 400, "wim_rate is not known"),
        ({"assumptions": {"win_rate": 7}}, 400, "win_rate is 7"),
        ({"assumptions": []}, 400, "assumptions: "),
        ({"first": "a"}, 400, "second: "),
        ({"first": "a", "second": "b"}, 400, "pilot: "),
        ({"pilot": "none"}, 404, "no study 'none'"),
        ({"study": "none"}, 404, "no study 'none'"),
        ({"study": "a-graded-study"}, 409, "compares no pairs"),
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


def test_settled_units_become_known_items_of_a_draft(watched: Study, designer: dict[str, str]) -> None:
    work(watched, joined(watched, "cleo"), always_first)
    aggregate_study(study=watched)
    draft = casting.make_study(watched.dataset, "pairwise", opened=False, slug="draft", name="Draft")
    Study.objects.filter(pk=draft.pk).update(state="draft")
    path = f"studies/{draft.slug}/known-items/"
    rows = call("get", path, designer).json()["results"]
    assert {row["study"] for row in rows} == {watched.slug}
    fit = [row["id"] for row in rows if row["expected"] is not None]
    assert fit
    assert call("post", path, designer, {"chosen": fit[:1]}).json() == {"added": 1}
    assert call("post", path, designer, {"chosen": [10**9]}).status_code == 409
    for wrong in ([], ["1"], [True], [0]):
        assert call("post", path, designer, {"chosen": wrong}).status_code == 400
    stranger = of_role(draft, "owner")
    assert call("get", path, stranger).json()["results"] == []
    assert call("post", path, stranger, {"chosen": fit}).status_code == 409


def test_a_draft_has_no_report(designer: dict[str, str]) -> None:
    draft = make_study(opened=False)
    assert call("post", f"studies/{draft.slug}/report/", designer, {}).status_code == 409
    assert not Job.objects.exists()


def test_a_preset_is_saved_renamed_and_deleted(designer: dict[str, str]) -> None:
    study = make_study(opened=False)
    body = {"study": study.slug, "slug": "ours", "title": "Ours"}
    made = call("post", "saved-presets/", designer, body)
    assert made.status_code == 201
    assert "dataset" not in made.json()["values"]
    assert call("post", "saved-presets/", designer, body).status_code == 409
    shipped = next(iter(PRESETS))
    assert call("post", "saved-presets/", designer, body | {"slug": shipped}).status_code == 409
    changed = call("patch", "saved-presets/ours/", designer, {"title": "Ours, shorter"})
    assert changed.json()["title"] == "Ours, shorter"
    other = key_of(User.objects.create_user("olga", is_staff=True))
    assert call("delete", "saved-presets/ours/", other).status_code in (403, 404)
    assert call("delete", "saved-presets/ours/", designer).status_code == 204
    assert not SavedPreset.objects.exists()
