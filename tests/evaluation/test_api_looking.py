"""Next batches, known items, presets and reports over HTTP."""

import pytest
from django.contrib.auth.models import User

from evaluation.results.aggregation import aggregate_study
from judgments.design.reading.presets import PRESETS
from judgments.jobs.claims import run_job
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
