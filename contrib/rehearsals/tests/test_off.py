"""A study that was rehearsed in an installation that leaves rehearsals out."""

from collections.abc import Iterator

import pytest

from contrib.rehearsals.apps import RehearsalsConfig
from tests.installations import Installation, Installations

REHEARSE = RehearsalsConfig.jobs["rehearse"]

USED = """
from contrib.rehearsals.copies import copy_for_rehearsal
from judgments.jobs.claims import run_job
from judgments.models import Job
from tests.studies import make_study

study = make_study("pairwise", opened=False, slug="planned")
copy_for_rehearsal(study=study)
copy = copy_for_rehearsal(study=study)
assert run_job(Job.objects.create(kind="rehearse", args={"study": copy.slug, "workers": 4}).pk)
Job.objects.create(kind="rehearse", args={"study": "planned-rehearsal-1"})
"""
VISIT = """
import io, json
from pathlib import Path
from tempfile import mkdtemp
import django
django.setup()
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from judgments.models import Job, Study

rosa = User.objects.create_superuser("rosa", password="a long enough password")
browser = Client()
browser.force_login(rosa)
job = Job.objects.filter(kind="rehearse", state="done").get()
study, draft, copy = (Study.objects.get(slug=f"planned{end}") for end in ("", "-rehearsal-1", "-rehearsal-2"))


def page(study, name):
    return browser.get(f"/admin/judgments/study/{study.pk}/{name}/").content.decode()


file = io.StringIO()
call_command("export_study", "planned", stdout=file)
answer = {
    "home": browser.get("/admin/").content.decode(),
    "design": page(study, "change"),
    "launch": page(study, "launch"),
    "results": page(copy, "results"),
    "file": file.getvalue(),
    "jobs": browser.get("/admin/judgments/job/").content.decode(),
    "job": browser.get(f"/admin/judgments/job/{job.pk}/change/").content.decode(),
    "addresses": [
        browser.get(f"/admin/judgments/study/{copy.pk}/rehearsal/").status_code,
        browser.get("/api/rehearsals/").status_code,
        browser.post(f"/admin/judgments/study/{study.pk}/do/rehearse/").status_code,
    ],
    "draft": f"/admin/judgments/study/{draft.pk}/change/",
}
call_command("export_judgments", copy.slug, format="jsonl", output=Path(mkdtemp(), "judgments.jsonl"))
call_command("check_integrity")
answer["deleted"] = [study.delete()[0] > 0, draft.delete()[0] > 0]
print(json.dumps(answer))
"""


@pytest.fixture
def installation(installations: Installations) -> Iterator[Installation]:
    with installations.fresh("sqlite", after=USED) as installation:
        installation.turn_off("rehearsals")
        yield installation


@pytest.mark.long
def test_a_study_that_was_rehearsed_goes_on_without_rehearsals(installation: Installation) -> None:
    answer = installation.reply_of(VISIT)
    assert answer["draft"] in answer["home"]
    assert "Save and launch" in answer["design"]
    for shown in (answer["home"], answer["design"], answer["launch"], answer["results"]):
        for words in ("/rehearsal/", "Save and rehearse", "See the rehearsal"):
            assert words not in shown
    assert "Rehearsal" not in answer["launch"]
    assert 'protocol = "pairwise"' in answer["file"]
    assert f">{REHEARSE.title}</a>" in answer["jobs"]
    assert str(REHEARSE.result_labels["recovered"]) in answer["job"]
    assert answer["addresses"] == [302, 404, 404]  # the admin leads unknown addresses of a study to its form
    assert answer["deleted"] == [True, True]
