"""Imported judgments in an installation that leaves their import out."""

from collections.abc import Iterator

import pytest

from tests.installations import Installation, Installations

USED = """
from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from judgments.jobs.claims import run_job
from judgments.models import Job
from tests.evaluation.studies import make_dataset

settings.ALLOWED_HOSTS = ["testserver"]
browser = Client()
browser.force_login(User.objects.create_superuser("rosa", password="a long enough password"))
dataset = make_dataset("toy", {"a.jpg": ["a dog"]})
image = dataset.items.first().name
table = "unit,worker,value,protocol,image,first_text\\n{unit},ann,{value},graded,{image},A dog\\n"
for study, value in (("right", 3), ("wrong", 44)):
    content = table.format(unit=study, value=value, image=image).encode()
    browser.post(
        f"/admin/judgments/dataset/{dataset.pk}/judgments/",
        {"study": study, "format": "csv", "files": SimpleUploadedFile("f.csv", content)},
    )
    run_job(Job.objects.latest("pk").pk)
"""
VISIT = """
import json
import django
django.setup()
from django.contrib.auth.models import User
from django.test import Client
from judgments.models import Job, Study

study = Study.objects.get(slug="right")
failed = Job.objects.latest("pk")
browser = Client()
browser.force_login(User.objects.get(username="rosa"))
dataset = f"/admin/judgments/dataset/{study.dataset_id}/"
answer = {
    "failed": failed.state,
    "dataset": browser.get(f"{dataset}change/").content.decode(),
    "form": browser.get(f"{dataset}judgments/", follow=True).status_code,
    "columns": browser.get(f"/admin/judgments/dataset/columns/{failed.args['upload']}/").status_code,
    "results": browser.get(f"/admin/judgments/study/{study.pk}/results/").status_code,
    "job": browser.get(f"/admin/judgments/job/{failed.pk}/change/").status_code,
    "call": browser.post(f"/api/datasets/{study.dataset.name}/judgments/").status_code,
}
print(json.dumps(answer))
"""


@pytest.fixture
def installation(installations: Installations) -> Iterator[Installation]:
    with installations.fresh("sqlite", after=USED) as installation:
        installation.turn_off("judgment_imports")
        yield installation


@pytest.mark.long
def test_imported_studies_stay_and_nothing_more_can_be_imported(installation: Installation) -> None:
    answer = installation.reply_of(VISIT)
    page = answer.pop("dataset")
    assert "/candidates/" in page
    assert "/judgments/" not in page.replace("/admin/judgments/", "")
    assert answer == {
        "failed": "failed",
        "form": 404,
        "columns": 302,
        "results": 200,
        "job": 200,
        "call": 404,
    }
