"""The page Releases: bundles made by a job, also by a second worker, taken home and verified."""

import hashlib
import html
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from evaluation.data.releases.storage import prepare_release_path
from evaluation.models import Release
from judgments.access.roles import give_role
from judgments.jobs.claims import run_job
from judgments.models import Job, Study, StudyEvent
from tests.evaluation.studies import three_pairs
from tests.installations import Installation

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("undrawn")]
TERMS = {"version": "1.0", "licence": "CC-BY-4.0", "texts": "true", "page": "releases"}


@pytest.fixture
def study(settings: Settings, tmp_path: Path) -> Study:
    """Three pairs judged by two people, closed; exports lie in a folder of the test's own."""
    settings.EXPORT_ROOT = tmp_path / "exports"
    return three_pairs("<i>dog</i>", [1, 2, 2]).study


def page(study: Study, name: str = "releases") -> str:
    return reverse(f"admin:judgments_study_{name}", args=[study.pk])


def do(client: Client, study: Study, step: str, **sent: str) -> Any:
    address = reverse("admin:judgments_study_do", args=[study.pk, step])
    return client.post(address, {"page": "releases"} | sent, follow=True)


def work(kind: str) -> Job:
    """Do the job of this kind that waits."""
    job = Job.objects.get(kind=kind, state=Job.State.QUEUED)
    run_job(job.pk)
    job.refresh_from_db()
    return job


def words(answer: Any) -> str:
    return html.unescape(answer.content.decode())


def a_release(study: Study, version: str) -> None:
    """A release whose file is somewhere else."""
    Release.objects.create(study=study, version=version, title="Toy", licence="CC0-1.0", size=1)


def test_a_release_is_made_taken_home_and_verified(
    designer: Client, study: Study, settings: Settings
) -> None:
    assert "There are no releases yet" in words(designer.get(page(study)))
    do(designer, study, "release", **TERMS, title="Dogs & cats", citation="Us (2026)")
    assert work("release").state == Job.State.DONE
    release = Release.objects.get()
    assert (release.version, release.title, release.licence) == ("1.0", "Dogs & cats", "CC-BY-4.0")
    assert release.made_by is not None
    assert release.made_by.username == "designer"
    assert StudyEvent.objects.get(what="released").by == release.made_by
    answer = designer.get(page(study))
    assert release.sha256 in words(answer)
    assert 'value="1.1"' in words(answer)  # offered next
    file = designer.get(page(study, "release-file") + "?version=1.0")
    assert 'filename="toy-pairwise-release-1.0.zip"' in file["Content-Disposition"].replace(
        study.slug, "toy-pairwise"
    )
    assert hashlib.sha256(file.getvalue()).hexdigest() == release.sha256
    assert designer.get(page(study, "release-file") + "?version=2.0").status_code == 404
    do(designer, study, "verify-release", version="1.0")
    work("verify_release")
    assert "Values that agree with the judgments in the release:" in words(designer.get(page(study)))
    path = Path(settings.EXPORT_ROOT) / release.file
    data = bytearray(path.read_bytes())
    data[data.index(b"judgments.jsonl") + 60] ^= 1
    path.write_bytes(data)
    do(designer, study, "verify-release", version="1.0")
    work("verify_release")
    verified = words(designer.get(page(study)))
    assert "Verification failed" in verified
    assert "judgments.jsonl" in verified
    path.unlink()
    assert "stored on this server" in words(designer.get(page(study)))
    assert designer.get(page(study, "release-file") + "?version=1.0").status_code == 404
    assert "is not stored on this server" in words(do(designer, study, "verify-release", version="1.0"))


def test_a_study_that_is_open_is_not_released(designer: Client, study: Study) -> None:
    Study.objects.filter(pk=study.pk).update(state=Study.State.OPEN)
    assert "is not closed" in words(do(designer, study, "release", **TERMS))
    assert "only when it is closed" in words(designer.get(page(study)))
    assert not Job.objects.exists()


def test_a_version_that_was_taken_meanwhile_leaves_no_file(
    designer: Client, study: Study, settings: Settings
) -> None:
    do(designer, study, "release", **TERMS)
    a_release(study, "1.0")
    job = work("release")
    assert job.state == Job.State.FAILED
    assert "already has a release 1.0" in job.error
    assert list(Path(settings.EXPORT_ROOT).iterdir()) == []
    assert Release.objects.count() == 1


def test_what_earlier_runs_left_is_removed(study: Study, settings: Settings) -> None:
    first = prepare_release_path(study=study, version="1.0", job_id=7, run="0123abcd")
    part = first.with_name(f".{first.name}.0123abcd.part")
    for left in (first, part):
        left.write_bytes(b"half")
    assert prepare_release_path(study=study, version="1.0", job_id=7, run="4567cdef") != first
    assert list(Path(settings.EXPORT_ROOT).iterdir()) == []


def test_a_release_is_made_listed_and_fetched_by_the_interface(designer: Client, study: Study) -> None:
    asked = {"study": study.slug, "licence": "cc-by-4.0", "texts": False}
    answer = designer.post("/api/releases/", asked, content_type="application/json")
    assert answer.status_code == 202, answer.content
    again = designer.post("/api/releases/", asked, content_type="application/json")
    assert again.status_code == 409
    assert work("release").state == Job.State.DONE
    (row,) = designer.get("/api/releases/", {"study": study.slug}).json()["results"]
    assert (row["version"], row["licence"], row["texts"], row["kept"]) == ("1.0", "CC-BY-4.0", False, True)
    file = designer.get(f"/api/releases/{row['id']}/download/")
    assert hashlib.sha256(file.getvalue()).hexdigest() == row["sha256"]
    listed = designer.get(f"/api/releases/{row['id']}/files/").json()["files"]
    names = {one["name"]: one["url"] for one in listed}
    assert {"judgments.jsonl", "report/index.html", "SHA256SUMS"} <= names.keys()
    sums = designer.get(names["SHA256SUMS"]).content.decode()
    for name in ("judgments.jsonl", "report/tables/agreement.csv"):
        assert f"{hashlib.sha256(designer.get(names[name]).content).hexdigest()}  {name}\n" in sums
    asked |= {"version": "1.0"}
    assert designer.post("/api/releases/", asked, content_type="application/json").status_code == 409


def test_roles_open_releases_of_their_study_alone(client: Client, study: Study) -> None:
    person = User.objects.create_user("person", is_staff=True)
    client.force_login(person)
    assert client.get("/api/releases/").status_code == 403
    give_role(study=study, user=person, role="designer", by=None)
    asked = {"study": study.slug, "licence": "CC0-1.0"}
    assert client.post("/api/releases/", asked, content_type="application/json").status_code == 403
    assert not Job.objects.exists()


KILLED = """
import json, os
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db import connections
from django.utils import timezone

from evaluation.models import Release
from evaluation.reports.releases.verification import verify_bundle
from evaluation.data.releases.storage import release_file
from judgments.jobs.runs import JobRun
from judgments.jobs.queues import enqueue
from judgments.jobs.claims import run_job
from judgments.jobs.sweep import requeue_lost_jobs
from judgments.models import Job
from tests.evaluation.studies import StudyOf, make_dataset

made = StudyOf(make_dataset("toy", {"a.jpg": ["a dog"]}), "pairwise", controls={"per_hit": 0})
hit = made.hit("h", [made.unit("u", pair=made.pair("p", "a.jpg", "a", "b"))])
made.answer(hit, "ada", [1])
terms = {"version": "1.0", "licence": "CC0-1.0", "texts": True, "comments": False, "title": "", "citation": ""}
job = enqueue(kind="release", args={"study": made.study.slug, **terms})
folder = Path(settings.EXPORT_ROOT)
connections.close_all()
child = os.fork()
if child == 0:
    def killed(run, share, words=""):
        if share >= 0.6:
            os.kill(os.getpid(), 9)
    JobRun.progress = killed
    run_job(job.pk)
    os._exit(0)
ended = os.waitpid(child, 0)[1]
bundles = lambda: len(list(folder.glob("*.zip")))
told = {"ended": ended, "bundles": bundles(), "releases": Release.objects.count()}
long_ago = timezone.now() - timedelta(seconds=settings.JOB_STALE_SECONDS + 1)
Job.objects.update(heartbeat=long_ago)
requeue_lost_jobs()
told |= {"requeued": Job.objects.get().state == "queued"}
run_job(job.pk)
told |= {"state": Job.objects.get().state, "then": bundles()}
told |= {"left": [path.name for path in folder.glob(".*")]}
told |= {"differences": verify_bundle(release_file(Release.objects.get())).count}
print("TOLD", json.dumps(told))
"""


@pytest.mark.long
def test_a_killed_worker_leaves_no_release(installation_on: Callable[[str], Installation]) -> None:
    out = installation_on("sqlite").python(KILLED)
    assert json.loads(out.partition("TOLD ")[2]) == {
        "ended": 9, "bundles": 0, "releases": 0, "requeued": True, "state": "done", "then": 1, "left": [],
        "differences": 0,
    }  # fmt: skip
