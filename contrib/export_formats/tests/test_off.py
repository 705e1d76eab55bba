"""Files in formats for other programs, in an installation that leaves these formats out."""

import json
from collections.abc import Iterator

import pytest

from tests.installations import Installation, Installations

USED = """
from django.contrib.auth.models import User
from judgments.jobs.claims import run_job
from judgments.jobs.queues import enqueue
from judgments.models import StudyRole
from tests.evaluation.each_format import study_for

study = study_for("demographics").study
reader = User.objects.create_user("rita", is_staff=True)
StudyRole.objects.create(study=study, user=reader, role="reviewer")
for format in ("qrels", "demographics"):
    assert run_job(enqueue(kind="export", args={"study": study.slug, "format": format}).pk)
enqueue(kind="export", args={"study": study.slug, "format": "reliability"})
"""
VISIT = """
import json
from pathlib import Path
from tempfile import mkdtemp
import django
django.setup()
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from annotation.crowds.raw_ids import forget_raw_ids
from evaluation.data.export.operations import ExportRequest
from judgments.jobs.claims import run_job
from judgments.models import Job, Study

study = Study.objects.get()
jobs = {job.args["format"]: job.pk for job in Job.objects.filter(kind="export")}
rosa, rita = Client(), Client()
rosa.force_login(User.objects.create_superuser("rosa", password="a long enough password"))
rita.force_login(User.objects.get(username="rita"))
page = f"/admin/judgments/study/{study.pk}"


def downloads(browser):
    return [browser.get(f"{page}/download/?job={jobs[name]}").status_code for name in ("qrels", "demographics")]


run_job(jobs["reliability"])
answer = {
    "page": rosa.get(f"{page}/exports/").content.decode(),
    "shown to rita": rita.get(f"{page}/exports/").content.decode(),
    "parameters": list(ExportRequest().fields),
    "formats": list(ExportRequest().fields["format"].choices),
    "downloads": [downloads(rosa), downloads(rita)],
    "job": Job.objects.get(pk=jobs["reliability"]).error,
}
call_command("export_judgments", study.slug, format="jsonl", output=Path(mkdtemp(), "judgments.jsonl"))
call_command("check_integrity")
study.state = "closed"
study.save()
forget_raw_ids(study=study)
answer["files"] = sorted(path.name.partition(".")[2] for path in Path(settings.EXPORT_ROOT).iterdir())
answer["deleted"] = study.delete()[0] > 0
print(json.dumps(answer))
"""


@pytest.fixture
def installation(installations: Installations) -> Iterator[Installation]:
    with installations.fresh("sqlite", after=USED) as installation:
        yield installation


@pytest.mark.long
def test_files_that_were_written_stay_and_personal_ones_are_withheld_and_deleted(
    installation: Installation,
) -> None:
    installation.turn_off("export_formats")
    answer = installation.reply_of(VISIT)
    assert "Format of Flickr8k" not in answer["page"]
    assert "demographics" not in answer["shown to rita"]
    assert answer["parameters"] == ["format"]
    assert answer["formats"] == ["captions", "csv", "jsonl", "mtme", "parquet", "spans"]
    assert answer["downloads"] == [[200, 200], [200, 403]]
    assert "There is no export format 'reliability'" in answer["job"]
    assert answer["files"] == ["qrels.txt", "qrels.txt.manifest.json"]
    assert answer["deleted"]
    done = installation.run_new("manage.py", "export_judgments", "--help")
    assert "qrels" not in done.stdout


FRESH = """
import json
import django
django.setup()
from contrib.export_formats import open_answers, reliability
from evaluation.data.export.formats import FORMATS

print(json.dumps([type(file_format.encoding()).__module__ for file_format in FORMATS.values()]))
"""


@pytest.mark.long
def test_a_process_may_load_an_encoding_before_the_list_of_formats(installation: Installation) -> None:
    modules = json.loads(installation.run_new("-c", FRESH).stdout)
    assert "contrib.export_formats.reliability" in modules
