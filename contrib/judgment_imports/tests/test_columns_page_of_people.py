"""The page of columns asks what the command's options say: people in columns, criteria, titles, words for nothing."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotation.models import Judgment
from judgments.jobs.claims import run_job
from judgments.models import Dataset, Item, Job, Study
from tests.judgments.desk import page, words

pytestmark = pytest.mark.django_db
CRITERIA = "image,cap,sys,rater,fluency,adequacy\nA.jpg,one,s1,w1,4,2\nA.jpg,one,s1,w2,3,2\n"
ROWS = "image,cap,rater,about,stars\nA.jpg,one,w1,fluency,4\nA.jpg,one,w1,adequacy,2\n"
RATED = {"column-0": "image", "column-1": "first_text"}


@pytest.fixture
def dataset() -> Dataset:
    row = Dataset.objects.create(name="toy", source_format="jsonl", sharing="installation")
    Item.objects.bulk_create(
        Item(dataset=row, name=name, position=at) for at, name in enumerate(("A.jpg", "B.jpg"))
    )
    return row


def uploaded(designer: Client, dataset: Dataset, *contents: str, protocol: str = "graded") -> Any:
    files = [SimpleUploadedFile(f"p{at}.csv", content.encode()) for at, content in enumerate(contents, 1)]
    return designer.post(
        reverse("admin:judgments_dataset_judgments", args=[dataset.pk]),
        {"format": "csv", "files": files, "study": "brought", "protocol": protocol},
    )


def imported(designer: Client, dataset: Dataset, content: str, posted: dict[str, str], **how: str) -> Job:
    address = uploaded(designer, dataset, content, **how).headers["Location"]
    return done(designer.post(address, posted))


def done(response: Any) -> Job:
    assert response.status_code == 302, words(response)
    job = Job.objects.order_by("-pk")[0]
    run_job(job.pk)
    return Job.objects.get(pk=job.pk)


def answers(study: str = "brought") -> dict[tuple[str, str], Any]:
    rows = Judgment.objects.filter(assignment__study__slug=study)
    keys = rows.values_list("unit__item__name", "assignment__worker__name", "value")
    return {(item, worker): value for item, worker, value in keys}


@pytest.mark.parametrize(
    ("content", "posted", "expected"),
    [
        pytest.param(
            "image,cap,Ada,Ben\nA.jpg,one,3,4\nB.jpg,two,1,\n",
            RATED | {"column-2": "people", "column-3": "people"},
            {("A.jpg", "Ada"): 3, ("A.jpg", "Ben"): 4, ("B.jpg", "Ada"): 1},
            id="people in columns",
        ),
        pytest.param(
            "image,cap,stars\nA.jpg,one,3\nA.jpg,one,4\nB.jpg,two,1\n",
            RATED | {"column-2": "value", "workers": "anonymous"},
            {("A.jpg", "anon-1"): 3, ("A.jpg", "anon-2"): 4, ("B.jpg", "anon-1"): 1},
            id="nobody",
        ),
        pytest.param(
            "image,cap,rater,stars,kind,invalidated\nA.jpg,one,w1,3,news,true\nB.jpg,two,w1,2,sport,false\n",
            RATED | {"column-2": "worker", "column-3": "value"},
            {("A.jpg", "w1"): 3, ("B.jpg", "w1"): 2},
            id="our names not used",
        ),
        pytest.param(
            "image,cap,rater,stars,lang\na.JPG,one,w1,3,en\nB,two,w1,None,en\nA.jpg,x,w1,9,de\n",
            RATED
            | {
                "column-2": "worker", "column-3": "value", "missing": "None", "match_names": "true",
                "where": "lang=en",
            },
            {("A.jpg", "w1"): 3},
            id="words for nothing and names",
        ),
    ],
)  # fmt: skip
def test_the_page_takes_tables_as_people_have_them(
    designer: Client,
    dataset: Dataset,
    content: str,
    posted: dict[str, str],
    expected: dict[tuple[str, str], int],
) -> None:
    job = imported(designer, dataset, content, posted)
    assert job.state == Job.State.DONE, job.error
    assert answers() == expected
    assert not Judgment.objects.filter(assignment__state="invalidated").exists()


def test_ties_give_the_option_on_the_page_too(designer: Client, dataset: Dataset) -> None:
    table = "image,x,y,rater,best\nA.jpg,p,q,w1,1\nA.jpg,p,q,w2,0\n"
    posted = {
        "column-0": "image", "column-1": "first_text", "column-2": "second_text", "column-3": "worker",
        "column-4": "value",
    }  # fmt: skip
    job = imported(designer, dataset, table, posted, protocol="pairwise")
    assert job.state == Job.State.DONE, job.error
    assert Study.objects.get().design["answers"]["no_difference"] is True


@pytest.mark.parametrize(
    ("content", "posted"),
    [
        pytest.param(
            CRITERIA,
            {"column-2": "system", "column-3": "worker", "column-4": "value", "column-5": "value"},
            id="columns",
        ),
        pytest.param(ROWS, {"column-2": "worker", "column-4": "value", "criterion": "about"}, id="rows"),
    ],
)
def test_criteria_become_studies_that_the_job_leads_to(
    designer: Client, dataset: Dataset, content: str, posted: dict[str, str]
) -> None:
    job = imported(designer, dataset, content, RATED | posted)
    assert job.state == Job.State.DONE, job.error
    assert answers("brought-fluency")["A.jpg", "w1"] == 4
    assert answers("brought-adequacy")["A.jpg", "w1"] == 2
    assert (job.result or {})["study"] == "brought-fluency"
    shown = words(designer.get(reverse("admin:judgments_job_change", args=[job.pk])))
    assert "for each of them: brought-fluency, brought-adequacy" in shown
    fluency, adequacy = (Study.objects.get(slug=f"brought-{name}") for name in ("fluency", "adequacy"))
    shown = designer.get(page(fluency, "hits")).content.decode()
    assert f'<a href="{page(adequacy, "results")}"><code>brought-adequacy</code></a>' in shown
    told = designer.get(f"/api/studies/{fluency.slug}/").json()
    assert told["notes"]["criteria"] == {"fluency": fluency.slug, "adequacy": adequacy.slug}


def test_each_file_may_be_a_person_s(designer: Client, dataset: Dataset) -> None:
    address = uploaded(
        designer, dataset, "image,cap,stars\nA.jpg,one,3\n", "image,cap,stars\nA.jpg,one,4\n"
    ).headers["Location"]
    assert "Each file contains the answers of one participant" in words(designer.get(address))
    job = done(designer.post(address, RATED | {"column-2": "value", "each_file": "on"}))
    assert job.state == Job.State.DONE, job.error
    assert answers() == {("A.jpg", "p1"): 3, ("A.jpg", "p2"): 4}


def test_the_line_of_the_header_is_chosen_among_the_first(designer: Client, dataset: Dataset) -> None:
    table = "Ratings of May,,,\n,,,\nimage,cap,rater,stars\nA.jpg,one,w1,3\n"
    address = uploaded(designer, dataset, table).headers["Location"]
    page = designer.get(address)
    assert "Ratings of May" in words(page)
    assert [number for number, _ in page.context["table"]["lines"]] == [1, 3, 4]
    again = designer.post(address, {"header_row": "3", "_again": "1"})
    assert again.headers["Location"] == address
    page = designer.get(address)
    assert [column["name"] for column in page.context["table"]["columns"]] == [
        "image", "cap", "rater", "stars"
    ]  # fmt: skip
    posted = RATED | {"column-2": "worker", "column-3": "value", "header_row": "3"}
    job = done(designer.post(address, posted))
    assert job.state == Job.State.DONE, job.error
    assert answers() == {("A.jpg", "w1"): 3}
