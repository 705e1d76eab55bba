"""What the columns of uploaded judgments are is asked on a page; problems of their rows are put right in place."""

import csv
import io
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from annotation.models import Judgment
from judgments.models import Dataset, Item, Job, Study
from tests.judgments.desk import words
from tests.judgments.test_columns_page import RATED, job_of, send

pytestmark = pytest.mark.django_db
GUESSED = {"column-0": "image", "column-2": "first_text", "column-4": "worker", "column-5": "value"}


@pytest.fixture
def dataset() -> Dataset:
    row = Dataset.objects.create(name="toy", source_format="jsonl", sharing="installation")
    Item.objects.bulk_create(
        Item(dataset=row, name=name, position=at) for at, name in enumerate(("a.jpg", "b.jpg"))
    )
    return row


def judgments(designer: Client, dataset: Dataset, content: str = RATED, **values: str) -> Any:
    return send(
        designer, dataset, "judgments", content, **{"study": "brought", "protocol": "graded"} | values
    )


def test_columns_are_guessed_shown_with_the_first_rows_and_put_right_in_place(
    designer: Client, dataset: Dataset
) -> None:
    address = judgments(designer, dataset).headers["Location"]
    page = designer.get(address)
    shown = words(page)
    assert "Ein Hund" in shown
    assert not Job.objects.exists()
    chosen = {column["name"]: column["chosen"] for column in page.context["table"]["columns"]}
    assert chosen == {
        "filename": "image", "source": "", "output": "first_text", "hypothesis": "", "Annotator": "worker",
        "Rating": "value",
    }  # fmt: skip
    job = job_of(designer.post(address, GUESSED))
    assert job.state == Job.State.FAILED
    assert "f.csv, line 3, Rating (value): found 44 (as one of 44 answers" in job.error
    assert not Judgment.objects.exists()
    job_page = designer.get(reverse("admin:judgments_job_change", args=[job.pk]))
    assert address in job_page.content.decode()
    page = designer.get(address)
    assert 'name="fix-0" value="44"' in page.content.decode()
    assert job_of(designer.post(address, GUESSED | {"fix-0": "4"})).state == Job.State.DONE
    assert set(Judgment.objects.values_list("value", flat=True)) == {3, 4}
    # the choice is offered for the next file of the dataset
    other = RATED.replace("Rating", "Stars").replace("Annotator", "Rating")
    again = judgments(designer, dataset, other, study="more").headers["Location"]
    assert {c["name"]: c["chosen"] for c in designer.get(again).context["table"]["columns"]}["Stars"] == ""
    again = judgments(designer, dataset, study="most").headers["Location"]
    assert designer.get(again).context["table"]["columns"][5] == {"name": "Rating", "chosen": "value"}


def test_right_rows_come_in_and_the_others_are_offered_as_a_file_when_asked(
    designer: Client, dataset: Dataset
) -> None:
    address = judgments(designer, dataset).headers["Location"]
    job = job_of(designer.post(address, GUESSED | {"column-3": "system", "good_rows": "on"}))
    assert list(Judgment.objects.values_list("value", flat=True)) == [3]
    download = reverse("admin:judgments_job_bad_rows", args=[job.pk])
    assert download in designer.get(reverse("admin:judgments_job_change", args=[job.pk])).content.decode()
    sent: Any = designer.get(download)
    (row,) = csv.DictReader(io.StringIO(b"".join(sent.streaming_content).decode()))
    assert (row["line"], row["value"], row["system"]) == ("3", "44", "y")
    designer.force_login(User.objects.create_superuser("other"))
    assert designer.get(download).status_code == 404
    assert designer.get(address).status_code == 302


def test_words_and_layouts_are_taken_on_the_page(designer: Client, dataset: Dataset) -> None:
    text = (
        "HITId,AssignmentId,WorkerId,Input.image,Input.text,Answer.fits\n"
        "H,A,W,a.jpg,A dog,yes\nH,B,V,a.jpg,A dog,no\n"
    )
    address = judgments(designer, dataset, text, format="mturk", protocol="relevance").headers["Location"]
    names = [column["name"] for column in designer.get(address).context["table"]["columns"]]
    chosen = {"Input.image": "image", "Input.text": "first_text", "Answer.fits": "value"}
    sent = {f"column-{names.index(name)}": ours for name, ours in chosen.items()}
    assert designer.post(address, sent | {"words": "yes"}).status_code == 200
    assert job_of(designer.post(address, sent | {"words": "yes=1, no=0"})).state == Job.State.DONE
    assert set(Judgment.objects.values_list("value", flat=True)) == {0, 1}
    assert Study.objects.get().hits.count() == 1
