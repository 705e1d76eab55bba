"""The page of a dataset in an installation that leaves bounds out."""

import pytest

from tests.installations import Installations

USED = """
from judgments.jobs.queues import enqueue
from judgments.jobs.claims import run_job
from tests.evaluation.studies import make_dataset

dataset = make_dataset("toy", {"a.jpg": ["a dog runs", "the dog runs"], "b.jpg": ["a cat", "one cat sleeps"]})
run_job(enqueue(kind="leave_one_out", args={"dataset": "toy", "metrics": ["rouge-l"]}).pk)
"""
VISIT = """
import json
import django
django.setup()
from django.contrib.auth.models import User
from django.test import Client
from judgments.models import Dataset, Job

job = Job.objects.get(kind="leave_one_out")
browser = Client()
browser.force_login(User.objects.create_superuser("rosa", password="a long enough password"))
page = f"/admin/judgments/dataset/{Dataset.objects.get().pk}"
answer = {
    "state": job.state,
    "linked": "Human performance" in browser.get(f"{page}/change/").content.decode(),
    "page": browser.get(f"{page}/bounds/", follow=True).status_code,
    "job": browser.get(f"/admin/judgments/job/{job.pk}/change/").status_code,
    "call": browser.post("/api/datasets/toy/bounds/").status_code,
}
print(json.dumps(answer))
"""


@pytest.mark.long
def test_a_dataset_has_no_link_to_bounds_and_their_jobs_stay(installations: Installations) -> None:
    with installations.fresh("sqlite", after=USED) as installation:
        installation.turn_off("bounds")
        answer = installation.reply_of(VISIT)
    assert answer == {"state": "done", "linked": False, "page": 404, "job": 200, "call": 404}
