"""Consensus, reports and exports over HTTP."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from evaluation.results.aggregation import aggregate_study
from judgments.jobs.claims import run_job
from judgments.models import Job, Study
from tests.doors import get, key_of
from tests.evaluation.studies import StudyOf, make_dataset

pytestmark = pytest.mark.django_db


@pytest.fixture
def designer() -> dict[str, str]:
    """The headers of a staff member who may look at studies: results and exports ask for nothing more."""
    user = User.objects.create_user("designer", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename="view_study"))
    return key_of(user)


@pytest.fixture
def study() -> Study:
    """Four captions, each with the grades 1, 2 and 3."""
    made = StudyOf(make_dataset("toy", {"a.jpg": ["a dog runs"]}), "graded")
    hit = made.hit("h", [made.unit(f"u{number}", "a.jpg", first=f"a dog {number}") for number in range(4)])
    for number in range(3):
        made.answer(hit, f"w-{number}", [1 + number] * 4)
    return made.study


def send(method: str, path: str, body: Any, headers: dict[str, str]) -> Any:
    extra = {} if body is None else {"data": json.dumps(body), "content_type": "application/json"}
    return getattr(Client(), method)(path, headers=headers, **extra)


def test_the_consensus_of_every_unit_is_listed(study: Study, designer: dict[str, str]) -> None:
    assert get(f"/api/consensus/?study={study.slug}", designer)["results"] == []
    aggregate_study(study=study)
    rows = get(f"/api/consensus/?study={study.slug}&of=units&page_size=1000", designer)["results"]
    assert len(rows) == study.units.count()
    assert {(row["n"], row["value"]) for row in rows} == {(3, 2.0)}
    one = get(f"/api/consensus/?unit={rows[0]['unit']}", designer)["results"]
    assert one == [rows[0]]
    assert one[0]["votes"] == {"1": 1, "2": 1, "3": 1, "4": 0}
    assert get("/api/consensus/?of=pairs", designer)["results"] == []


def test_a_report_holds_its_result_and_a_list_only_how_it_was_made(
    study: Study, designer: dict[str, str], django_assert_max_num_queries: Any
) -> None:
    aggregate_study(study=study)
    with django_assert_max_num_queries(6):  # two of them are the account's permissions
        rows = get(f"/api/reports/?study={study.slug}&what=aggregation", designer)["results"]
    assert len(rows) == 1
    assert "result" not in rows[0]
    report = get(f"/api/reports/{rows[0]['id']}/", designer)
    assert report["result"]["agreement"]
    assert report["signature"]
    assert len(report["data_hash"]) == 64


def test_an_export_is_asked_for_followed_and_downloaded(
    study: Study, designer: dict[str, str], settings: Any, tmp_path: Path
) -> None:
    settings.EXPORT_ROOT = tmp_path
    asked = send("post", "/api/exports/", {"study": study.slug, "format": "jsonl"}, designer)
    assert asked.status_code == 202
    place = asked["Location"]
    assert get(place, designer)["state"] == "queued"
    too_early = Client().get(f"{place}download/", headers=designer)
    assert too_early.status_code == 404
    assert too_early["Content-Type"] == "application/problem+json"

    assert run_job(Job.objects.get().pk)
    assert get(place, designer)["state"] == "done"
    file = Client().get(f"{place}download/", headers=designer)
    content = file.getvalue()
    assert file["Content-Disposition"].startswith("attachment")
    lines = [json.loads(line) for line in content.splitlines()]
    assert len(lines) == 3 * study.units.count()
    manifest = json.loads(Client().get(f"{place}download/?manifest=True", headers=designer).getvalue())
    assert manifest["sha256"] == hashlib.sha256(content).hexdigest()
    assert [row["args"]["format"] for row in get("/api/exports/?format=jsonl", designer)["results"]] == [
        "jsonl"
    ]
    assert get("/api/exports/?format=csv", designer)["results"] == []


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"study": "none", "format": "jsonl"}, 404, "none"),
        ({"study": "the study", "format": ["jsonl"]}, 400, "format"),
        ({"format": "jsonl"}, 400, "study"),
        ({"study": 7, "format": "jsonl"}, 400, "study"),
        ({"study": "the study", "format": "qrels", "task": {"a": 1}}, 400, "task"),
        ([], 400, "object"),
    ],
)
def test_an_export_that_makes_no_sense_is_refused_by_name(
    body: Any, status: int, words: str, study: Study, designer: dict[str, str]
) -> None:
    if isinstance(body, dict) and body.get("study") == "the study":
        body = body | {"study": study.slug}
    response = send("post", "/api/exports/", body, designer)
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/problem+json"
    assert words in json.dumps(response.json())
    assert not Job.objects.exists()


def test_other_jobs_are_no_exports(designer: dict[str, str]) -> None:
    job = Job.objects.create(kind="generate_hits", args={"study": "x"})
    assert Client().get(f"/api/exports/{job.pk}/", headers=designer).status_code == 404
    assert Client().get(f"/api/exports/{job.pk}/download/", headers=designer).status_code == 404
