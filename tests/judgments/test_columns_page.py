"""What the columns of an upload are is asked on a page; problems of its rows are put right in place."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from judgments.jobs.claims import run_job
from judgments.models import Caption, Dataset, Item, Job, Output
from tests.judgments.results.test_layouts import HEADER, TABLE, table_in

pytestmark = pytest.mark.django_db
RATED = "filename,source,output,hypothesis,Annotator,Rating\na.jpg,Ein Hund,A dog,A cat,ann,3\nb.jpg,x,A cat,y,ben,44\n"


@pytest.fixture
def dataset() -> Dataset:
    row = Dataset.objects.create(name="toy", source_format="jsonl", sharing="installation")
    Item.objects.bulk_create(
        Item(dataset=row, name=name, position=at) for at, name in enumerate(("a.jpg", "b.jpg"))
    )
    return row


def send(
    designer: Client, dataset: Dataset, what: str, content: str | bytes, name: str = "f.csv", **values: str
) -> Any:
    file = SimpleUploadedFile(name, content.encode() if isinstance(content, str) else content)
    return designer.post(
        reverse(f"admin:judgments_dataset_{what}", args=[dataset.pk]),
        {"format": "csv", "files": [file], **values},
    )


def job_of(response: Any) -> Job:
    job = Job.objects.order_by("-pk")[0]
    assert response.headers["Location"] == reverse("admin:judgments_job_change", args=[job.pk])
    run_job(job.pk)
    return Job.objects.get(pk=job.pk)


def test_a_workbook_waits_for_its_columns_until_a_job_has_read_it(
    designer: Client, dataset: Dataset, tmp_path: Any
) -> None:
    content = table_in("xlsx", tmp_path, [["a.jpg", *TABLE[0][1:]], ["b.jpg", *TABLE[1][1:]]]).read_bytes()
    job = job_of(send(designer, dataset, "candidates", content, "s.xlsx", format="xlsx", system="GPT-4"))
    assert job.state == Job.State.FAILED
    address = reverse("admin:judgments_dataset_columns", args=[job.args["upload"]])
    page = designer.get(address)
    assert [column["name"] for column in page.context["table"]["columns"]] == HEADER
    assert (
        job_of(designer.post(address, {"column-0": "image", "column-1": "caption"})).state == Job.State.DONE
    )
    assert {output.caption.text for output in Output.objects.filter(system__name="GPT-4")} == {
        "A pier.",
        "A dog.",
    }


def test_a_table_that_is_too_large_for_a_request_is_left_to_its_job(
    designer: Client, dataset: Dataset
) -> None:
    rows = "".join(f"a.jpg,the text of rank {rank},{rank}\n" for rank in range(1, 3001))
    job = job_of(send(designer, dataset, "candidates", f"image,caption,rank\n{rows}", system="m"))
    assert job.state == Job.State.DONE
    assert Output.objects.count() == 3000


def test_a_table_whose_first_lines_are_not_utf_8_is_refused_by_its_job(
    designer: Client, dataset: Dataset
) -> None:
    content = "image,caption\na.jpg,Ein Käfer\n".encode("cp1252")
    job = job_of(send(designer, dataset, "candidates", content, system="m"))
    assert job.state == Job.State.FAILED
    assert "--encoding windows-1252 reads this" in job.error


def test_a_dataset_s_columns_are_chosen_where_the_upload_is_understood(designer: Client) -> None:
    add = reverse("admin:judgments_dataset_add")
    page = designer.post(add, {"files": [SimpleUploadedFile("mine.csv", RATED.encode())]})
    (prefix, name, table) = page.context["tables"][0]
    assert (prefix, name) == ("0-", "mine.csv")
    assert [column["chosen"] for column in table["columns"][:3]] == ["image", "text", "caption"]
    upload = page.context["upload"]
    chosen = {"column-0-0": "image", "column-0-1": "text", "column-0-3": "caption"}
    form = {"upload": upload, "name": "mine", "role-0": "people", **chosen}
    page = designer.post(add, form)  # nobody has seen the rows by these columns yet
    assert not Job.objects.exists()
    assert page.context["understood"].parts[0].rows == (("a.jpg", "A cat"), ("b.jpg", "y"))
    assert job_of(designer.post(add, form)).state == Job.State.DONE
    assert set(Caption.objects.values_list("text", flat=True)) == {"A cat", "y"}
    assert list(Item.objects.values_list("text", flat=True)) == ["Ein Hund", "x"]
    page = designer.post(add, {"files": [SimpleUploadedFile("next.csv", RATED.encode())]})
    assert page.context["tables"][0][2]["columns"][3]["chosen"] == "caption"


def test_a_dataset_s_header_its_part_and_words_for_nothing_are_chosen_there_too(designer: Client) -> None:
    add = reverse("admin:judgments_dataset_add")
    text = "Captions of 2026\nimage,caption,language\na.jpg,A dog,en\na.jpg,Ein Hund,de\nNA,A cow,en\n"
    page = designer.post(add, {"files": [SimpleUploadedFile("mine.csv", text.encode())]})
    assert [number for number, _ in page.context["tables"][0][2]["lines"]] == [1, 2, 3, 4, 5]
    table = page.context["tables"][0][2]
    assert table["header_row"] == 2  # below the title
    form = {"upload": page.context["upload"], "name": "mine", "role-0": "people", "0-header_row": "1"}
    page = designer.post(add, form | {"_again": "1"})
    assert page.context["problems"]  # the title is no header
    form["0-header_row"] = "2"
    page = designer.post(add, form | {"_again": "1"})
    table = page.context["tables"][0][2]
    assert [(column["name"], column["chosen"]) for column in table["columns"][:2]] == [
        ("image", "image"), ("caption", "caption"),
    ]  # fmt: skip
    form |= {"column-0-0": "image", "column-0-1": "caption"}
    refused = designer.post(add, form | {"0-where": "language"})
    assert "pairs such as language=de" in refused.content.decode()
    form |= {"0-where": "language=en", "0-missing": "NA, none"}
    page = designer.post(add, form)  # nobody has seen these rows yet
    assert page.context["understood"].parts[0].rows == (("a.jpg", "A dog"), ("", "A cow"))
    assert page.context["tables"][0][2]["where"] == "language=en"
    job = job_of(designer.post(add, form))
    assert "line 5, image" in job.error
    done = job_of(
        designer.post(
            reverse("admin:judgments_dataset_columns", args=[job.args["upload"]]), {"fix-0": "b.jpg"}
        )
    )
    assert done.state == Job.State.DONE
    assert list(Caption.objects.order_by("pk").values_list("item__name", "text")) == [
        ("a.jpg", "A dog"), ("b.jpg", "A cow"),
    ]  # fmt: skip


def test_the_page_shows_the_column_that_is_read_as_the_caption(designer: Client) -> None:
    text = "file,caption,language\na.jpg,A dog,en\n"
    page = designer.post(
        reverse("admin:judgments_dataset_add"), {"files": [SimpleUploadedFile("mine.csv", text.encode())]}
    )
    assert [column["chosen"] for column in page.context["tables"][0][2]["columns"]] == [
        "image",
        "caption",
        "",
    ]
    assert page.context["understood"].parts[0].rows == (("a.jpg", "A dog"),)


def test_problems_of_a_dataset_are_put_right_in_place_too(designer: Client) -> None:
    add = reverse("admin:judgments_dataset_add")
    text = "image,caption,split\na.jpg,A dog,too long a split name\nb.jpg,A cat,test\nc.jpg,,test\n"
    page = designer.post(add, {"files": [SimpleUploadedFile("mine.csv", text.encode())]})
    job = job_of(designer.post(add, {"upload": page.context["upload"], "name": "mine", "role-0": "people"}))
    assert "line 2, split" in job.error
    assert "line 4, caption" in job.error
    address = reverse("admin:judgments_dataset_columns", args=[job.args["upload"]])
    assert len(designer.get(address).context["problems"]) == 2
    assert job_of(designer.post(address, {"fix-0": "dev", "fix-1": "A hen"})).state == Job.State.DONE
    assert set(Caption.objects.values_list("text", flat=True)) == {"A dog", "A cat", "A hen"}


def test_a_column_that_names_systems_makes_systems_of_them(designer: Client) -> None:
    add = reverse("admin:judgments_dataset_add")
    text = "file,output,Model\na.jpg,A dog,\na.jpg,A cat,GPT-4\n"
    page = designer.post(add, {"files": [SimpleUploadedFile("mine.csv", text.encode())]})
    assert [(part.role, part.system) for part in page.context["understood"].parts] == [
        ("people", ""), ("system", "GPT-4"),
    ]  # fmt: skip
    form = page.context["form"]
    sent = {name: form[name].value() for name in form.fields if form[name].value()}
    chosen = {"column-0-0": "image", "column-0-1": "caption", "column-0-2": "system"}
    assert (
        job_of(designer.post(add, sent | {"upload": page.context["upload"]} | chosen)).state == Job.State.DONE
    )
    assert Output.objects.get(system__name="GPT-4").caption.text == "A cat"


@pytest.mark.parametrize("name", ["x", "0" * 32, "..", "00000001" + "g" * 24])
def test_an_upload_that_is_not_there_is_not_asked_about(designer: Client, name: str) -> None:
    if name != "..":
        assert designer.get(reverse("admin:judgments_dataset_columns", args=[name])).status_code == 302
