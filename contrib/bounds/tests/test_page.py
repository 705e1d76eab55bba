"""The page of a dataset's bounds: it starts the job, shows its figures, and keeps others out."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from judgments.jobs.claims import run_job
from judgments.models import Dataset, Job
from tests.doors import signed_in
from tests.evaluation.reporting import IMAGES, words
from tests.evaluation.studies import make_dataset

pytestmark = pytest.mark.django_db


def test_bounds_of_a_dataset_are_computed_and_shown_on_a_page(designer: Client) -> None:
    dataset, other = (
        make_dataset("pets", IMAGES),
        make_dataset("toys", {"t.jpg": ["A red ball .", "A ball ."]}),
    )
    page = reverse("admin:judgments_dataset_bounds", args=[dataset.pk])
    assert page in designer.get(reverse("admin:judgments_dataset_change", args=[dataset.pk])).content.decode()
    assert "No results for this dataset yet" in words(designer.get(page))
    second = list(IMAGES)[1]
    asked = {
        "metrics": "bleu-1, rouge-l",
        "tokenizer": "space",
        "others": other.name,
        "captions": "",
        "item": second,
    }
    assert designer.post(page, asked).status_code == 302
    again = designer.post(page, asked)
    assert again.status_code == 400
    assert "already running" in words(again)
    job = Job.objects.get(kind="leave_one_out")
    assert job.args == {
        "dataset": "pets",
        "metrics": ["bleu-1", "rouge-l"],
        "tokenizer": "space",
        "others": ["toys"],
        "item": second,
    }
    assert run_job(job.pk)
    job.refresh_from_db()
    assert job.result is not None
    shown = words(designer.get(page))
    assert "Captions: 6; items: 2" in shown
    assert "another dataset’s caption" in shown
    assert f"{job.result['metrics']['rouge-l']['upper']['macro']:.2f}".lstrip("0") in shown
    assert "How metrics rank the captions of an item" in shown
    assert f"The captions of {second}, ranked by each metric" in shown
    assert all(caption in shown for caption in IMAGES[second])
    wrong = designer.post(page, {"metrics": "bleu-9"})
    assert wrong.status_code == 400
    assert "bleu-9" in words(wrong)
    assert Job.objects.filter(kind="leave_one_out").count() == 1

    Dataset.objects.filter(pk=dataset.pk).update(sharing="members")
    stranger = signed_in(User.objects.create_user("stranger", is_staff=True))
    assert stranger.get(page).status_code in (403, 404)
    assert Client().get(page).status_code == 302
