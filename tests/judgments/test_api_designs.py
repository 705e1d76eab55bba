"""Designs and reviews over HTTP."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from judgments.models import Study, StudyEvent
from judgments.studies.designs import design_of
from tests.doors import key_of
from tests.studies import make_study, make_worker

pytestmark = pytest.mark.django_db


@pytest.fixture
def designer() -> dict[str, str]:
    return key_of(User.objects.create_superuser("designer"), "studies:write", "workers:write")


def call(method: str, path: str, body: Any, headers: dict[str, str]) -> Any:
    return getattr(Client(), method)(
        f"/api/studies/{path}/", data=json.dumps(body), content_type="application/json", headers=headers
    )


def test_some_keys_of_a_draft_are_changed(designer: dict[str, str]) -> None:
    study = make_study(opened=False)
    changed = call("patch", f"{study.slug}/design", {"seed": 9, "sampling": {"references": 3}}, designer)
    assert changed.status_code == 200
    design = design_of(Study.objects.get())
    assert (design.seed, design.sampling.references, design.units_per_hit) == (9, 3, 5)
    assert changed.json() == Client().get(f"/api/studies/{study.slug}/design/", headers=designer).json()
    assert (
        call("patch", f"{study.slug}/design", {"units_per_hit": None}, designer).json()["units_per_hit"] != 5
    )
    event = StudyEvent.objects.filter(what="design-changed").first()
    assert event is not None
    assert event.by == User.objects.get(username="designer")


def test_a_design_changed_by_somebody_else_meanwhile_is_kept(designer: dict[str, str]) -> None:
    study = make_study(opened=False)
    path = f"{study.slug}/design"
    tag = Client().get(f"/api/studies/{path}/", headers=designer)["ETag"]
    first = call("patch", path, {"seed": 9}, designer | {"If-Match": tag})
    late = call("patch", path, {"seed": 10}, designer | {"If-Match": tag})
    assert (first.status_code, late.status_code) == (200, 412)
    assert late["Content-Type"] == "application/problem+json"
    assert design_of(Study.objects.get()).seed == 9
    assert call("patch", path, {"seed": 11}, designer | {"If-Match": first["ETag"]}).status_code == 200


def test_a_whole_design_is_put_as_json_or_toml(designer: dict[str, str]) -> None:
    study = make_study(opened=False)
    design = Client().get(f"/api/studies/{study.slug}/design/", headers=designer).json()
    assert call("put", f"{study.slug}/design", design | {"seed": 8}, designer).json()["seed"] == 8
    text = f'name = "{study.name}"\nslug = "{study.slug}"\ndataset = "animals"\nprotocol = "graded"'
    response = Client().put(
        f"/api/studies/{study.slug}/design/", text, content_type="application/toml", headers=designer
    )
    assert response.json()["protocol"] == "graded"


def test_a_frozen_or_senseless_design_is_refused(designer: dict[str, str]) -> None:
    study = make_study()
    assert call("patch", f"{study.slug}/design", {"seed": 9}, designer).status_code == 409
    draft = make_study("graded", opened=False)
    assert call("patch", f"{draft.slug}/design", {"seed": "x"}, designer).status_code == 400
    assert call("patch", f"{draft.slug}/design", {"slug": study.slug}, designer).status_code == 409
    assert design_of(draft) == design_of(Study.objects.get(pk=draft.pk))


def test_the_numbers_of_a_design_are_what_generating_draws(designer: dict[str, str]) -> None:
    study = make_study()
    numbers = Client().get(f"/api/studies/{study.slug}/numbers/", headers=designer).json()
    assert numbers["hits"] == study.hits.count()
    assert numbers["units"] + numbers["controls"] == study.units.filter(filtered=False).count()


def finished(study: Study) -> str:
    _, headers = make_worker(study, "w-0007")
    shown: Any = Client().post(f"/api/studies/{study.slug}/assignments/", headers=headers)
    answers = [{"position": unit["position"], "value": 1} for unit in shown.json()["units"]]
    Client().post(
        f"/api/assignments/{shown.json()['id']}/submit/",
        data=json.dumps({"answers": answers}),
        content_type="application/json",
        headers=headers,
    )
    return str(shown.json()["id"])


def test_reviews_answer_with_what_they_changed(designer: dict[str, str]) -> None:
    study = make_study()
    work = finished(study)
    for changed in (1, 0):
        answer = call("post", f"{study.slug}/approve", {"assignments": [work]}, designer)
        assert answer.json() == {"changed": changed}
    body = {"worker": "w-0007", "why": "Clicked through."}
    made = call("post", f"{study.slug}/exclude", body, designer).json()
    assert (made["worker"], made["made_by"], made["lifted_at"]) == ("w-0007", "designer", None)
    for listed in ([made["id"]], []):
        found = Client().get("/api/exclusions/?lifted=false", headers=designer).json()["results"]
        assert [row["id"] for row in found] == listed
        if listed:
            assert call("post", f"{study.slug}/readmit", body, designer).json()["lifted_by"] == "designer"
