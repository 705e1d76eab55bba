"""Datasets, candidates and judgments that come by upload."""

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from judgments.datasets import uploads
from judgments.jobs.claims import run_job
from judgments.models import Dataset, Job, Output, Study
from tests.annotation.casting import picture_bytes
from tests.judgments.desk import page, words
from tests.studies import make_dataset

pytestmark = pytest.mark.django_db


def upload(name: str, text: str | bytes) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, text.encode() if isinstance(text, str) else text)


CSV = "image,caption\na.jpg,A dog runs .\na.jpg,A brown dog .\nb.jpg,A cat sleeps .\n"


def packed(**files: str | bytes) -> bytes:
    """A zip; double underscores in a name are slashes."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/").replace("_dot_", "."), content)
    return stream.getvalue()


class TestUploading:
    def look(self, designer: Client, *files: SimpleUploadedFile) -> Any:
        """What the page says about the files."""
        return designer.post(reverse("admin:judgments_dataset_add"), {"files": list(files)})

    def confirm(self, designer: Client, page: Any, **values: Any) -> Any:
        """The form below it, as it stands but for ``values``."""
        form = page.context["form"]
        sent = {name: form[name].value() for name in form.fields if form[name].value()}
        return designer.post(
            reverse("admin:judgments_dataset_add"), sent | {"upload": page.context["upload"]} | values
        )

    def send(self, designer: Client, *files: SimpleUploadedFile, **values: Any) -> Any:
        page = self.look(designer, *(files or [upload("captions.csv", CSV)]))
        return self.confirm(designer, page, **({"name": "mine"} | values))

    def test_an_uploaded_dataset_is_imported_by_a_job_that_tells_what_came_of_it(
        self, designer: Client
    ) -> None:
        response = self.send(designer)
        job = Job.objects.get()
        assert response.headers["Location"] == reverse("admin:judgments_job_change", args=[job.pk])
        assert run_job(job.pk)
        dataset = Dataset.objects.get(name="mine")
        assert dataset.captions.count() == 3
        shown = words(designer.get(response.headers["Location"]))
        assert "done" in shown
        assert "Design a study with this dataset" in shown
        assert "images 2 captions 3" in shown
        assert "True" not in shown

    def test_captions_pictures_and_systems_come_in_one_upload(
        self, designer: Client, settings: Any, tmp_path: Path
    ) -> None:
        settings.DATA_DIR, settings.MEDIA_ROOT = tmp_path, tmp_path / "media"
        photos = packed(**{"my photos__a_dot_jpg": picture_bytes(), "my photos__b_dot_jpg": picture_bytes()})
        parrot = '{"image": "a.jpg", "caption": "A dog ."}\n'
        page = self.look(
            designer, upload("zoo.csv", CSV), upload("photos.zip", photos), upload("parrot.jsonl", parrot)
        )
        shown = words(page)
        assert "zoo.csv CSV · 3 captions of 2 images" in shown
        assert "A brown dog ." in shown  # of the first rows
        assert "parrot.jsonl JSON lines · 1 caption of 1 image" in shown
        assert "2 pictures; 2 match images" in shown
        assert not Dataset.objects.exists()
        assert not Job.objects.exists()
        self.confirm(designer, page)
        assert run_job(Job.objects.get().pk)
        dataset = Dataset.objects.get(name="zoo")
        assert [system.name for system in dataset.systems.all()] == ["parrot"]
        assert not dataset.items.filter(picture="").exists()
        scaling = Job.objects.get(kind="scale_pictures")
        assert scaling.created_by == Job.objects.get(kind="import_dataset").created_by
        assert run_job(scaling.pk)
        assert {item.scaled["width"] for item in dataset.items.all()} == {320}

    @pytest.mark.parametrize(
        "table",
        [
            "image,caption,system\na.jpg,A dog runs .,\na.jpg,A dog .,one\na.jpg,A cat .,two\n",
            "image;reference 1;one;two\na.jpg;A dog runs .;A dog .;A cat .\n",
        ],
        ids=["a column names the system", "a column for each system"],
    )
    def test_a_spreadsheet_with_several_systems_is_taken_apart(self, designer: Client, table: str) -> None:
        self.send(designer, upload("sheet.csv", table))
        assert run_job(Job.objects.get().pk)
        dataset = Dataset.objects.get()
        assert dataset.captions.get(role="reference").text == "A dog runs ."
        assert {one.system.name: one.caption.text for one in Output.objects.select_related("system", "caption")} == {
            "one": "A dog .", "two": "A cat .",
        }  # fmt: skip

    def test_a_dataset_that_is_uploaded_again_has_as_many_systems_as_before(self, designer: Client) -> None:
        table = "image,caption,system\na.jpg,A dog runs .,\na.jpg,A dog .,one\na.jpg,A cat .,two\n"
        for created in (True, False):
            self.confirm(designer, self.look(designer, upload("sheet.csv", table)), name="mine")
            job = Job.objects.latest("pk")
            assert run_job(job.pk)
            job.refresh_from_db()
            assert job.result is not None
            assert (job.result["created"], job.result["counts"]["systems"]) == (created, 2)

    @pytest.mark.parametrize(
        "table",
        [
            "image,caption,system\na.jpg,A dog runs .,\nb.jpg,A hen .,\na.jpg,A dog .,one\nb.jpg,,one\n",
            "image;reference 1;one;notes\na.jpg;A dog runs .;A dog .;\nb.jpg;A hen .;;\n",
        ],
        ids=["a column names the system", "a column for each system"],
    )
    def test_an_empty_cell_of_a_system_is_an_empty_output(self, designer: Client, table: str) -> None:
        page = self.look(designer, upload("sheet.csv", table))
        assert "(empty)" in words(page)
        self.confirm(designer, page, name="mine")
        assert run_job(Job.objects.get().pk)
        outputs = Output.objects.values_list("system__name", "item__name", "caption__text")
        assert sorted(outputs) == [("one", "a.jpg", "A dog ."), ("one", "b.jpg", "")]

    def test_a_column_of_source_texts_may_be_empty_beside_columns_of_systems(self, designer: Client) -> None:
        self.send(designer, upload("sheet.csv", "image,text,one,two\na.jpg,,A dog .,A cat .\n"))
        assert run_job(Job.objects.get().pk)
        outputs = Output.objects.values_list("system__name", "item__name", "caption__text")
        assert sorted(outputs) == [("one", "a.jpg", "A dog ."), ("two", "a.jpg", "A cat .")]

    @pytest.mark.parametrize(
        ("language", "said"),
        [
            ("en", ("Columns not used: one, two.", "rename the column “caption” to “reference”")),
            (
                "de",
                ("Spalten nicht verwendet: one, two.", "nennen Sie die Spalte „caption“ in „reference“ um"),
            ),
        ],
    )
    def test_columns_that_nothing_reads_are_named_before_anything_is_stored(
        self, designer: Client, settings: Any, language: str, said: tuple[str, ...]
    ) -> None:
        table = "image,caption,one,two\na.jpg,A dog runs .,A dog .,A cat .\n"
        designer.cookies[settings.LANGUAGE_COOKIE_NAME] = language
        shown = words(self.look(designer, upload("sheet.csv", table)))
        assert all(one in shown for one in said)

    @pytest.mark.parametrize(
        ("header", "chosen"),
        [
            ("image;reference captions;reference captions 2;one", {}),
            ("image;first;second;one", {"role-0": "people", "role-1": "people"}),
        ],
        ids=["said by the header", "chosen on the page"],
    )
    def test_several_columns_are_captions_by_people(
        self, designer: Client, header: str, chosen: dict[str, str]
    ) -> None:
        table = f"{header}\na.jpg;Ein Hund läuft .;Ein Hund .;Etwas Grünes\n"
        stored = self.send(designer, upload("sheet.csv", table), **chosen)
        assert run_job(Job.objects.get().pk)
        dataset = Dataset.objects.get()
        assert {one.text for one in dataset.captions.filter(role="reference")} == {
            "Ein Hund läuft .",
            "Ein Hund .",
        }
        assert [system.name for system in dataset.systems.all()] == ["one"]
        assert "systems 1" in words(designer.get(stored.headers["Location"]))

    @pytest.mark.parametrize(
        ("name", "content", "said"),
        [
            ("sheet.ods", b"PK\x03\x04", "sheet.ods is a spreadsheet. Save it as CSV"),
            ("sheet.csv", b"image,,\na.jpg,A dog .,A cat .\n", "expected a name for each column"),
        ],
        ids=["a file of LibreOffice", "columns without a name"],
    )
    def test_a_spreadsheet_that_cannot_be_read_says_how_to_save_it(
        self, designer: Client, name: str, content: bytes, said: str
    ) -> None:
        assert said in words(self.look(designer, upload(name, content)))

    def test_the_encoding_is_found_out_shown_and_can_be_chosen(self, designer: Client) -> None:
        text = "image,caption\na.jpg,Ein Mädchen läuft.\nb.jpg,Łódź\n"
        page = self.look(
            designer, upload("captions.csv", "image,caption\na.jpg,Ein Mädchen.\n".encode("cp1252"))
        )
        assert "CSV · 1 caption of 1 image · Windows-1252, Western Europe" in words(page)
        assert "Ein Mädchen." in words(page)
        page = self.look(designer, upload("captions.csv", text.encode("cp1250")))
        assert "£ódŸ" in words(page)
        again = self.confirm(designer, page, _again="1", encoding="windows-1250", name="mine")
        assert "CSV · 2 captions of 2 images · Windows-1250, Central Europe" in words(again)
        assert "Łódź" in words(again)
        assert not Job.objects.exists()
        self.confirm(designer, again)
        assert run_job(Job.objects.get().pk)
        assert Dataset.objects.get(name="mine").captions.filter(text="Łódź").exists()

    def test_one_stray_byte_leaves_a_file_utf_8_and_is_named_with_its_line(self, designer: Client) -> None:
        text = "image,caption\na.jpg,Un café.\nb.jpg,Une forêt.\nc.jpg,X\n".encode().replace(b"X", b"\xe9")
        page = words(self.look(designer, upload("captions.csv", text)))
        assert "line 4" in page
        assert "cafÃ©" not in page

    def test_the_rows_shown_hold_a_letter_that_tells_the_encoding(self, designer: Client) -> None:
        text = CSV + "b.jpg,A cat on a roof .\nb.jpg,A café .\n"
        assert "A café ." in words(self.look(designer, upload("captions.csv", text)))

    def test_an_encoding_chosen_at_the_import_is_shown_before_anything_is_stored(
        self, designer: Client
    ) -> None:
        page = self.look(designer, upload("c.csv", "image,caption\na.jpg,Łódź\n".encode("cp1250")))
        again = self.confirm(designer, page, encoding="windows-1250", name="mine")
        assert "Łódź" in words(again)
        assert "Nothing is imported yet" in words(again)
        assert not Job.objects.exists()
        self.confirm(designer, again)
        assert Job.objects.get().args["parts"][0]["encoding"] == "windows-1250"

    def test_looking_again_keeps_what_was_chosen(self, designer: Client) -> None:
        page = self.look(designer, upload("c.csv", CSV))
        chosen = {"role-0": "system", "system-0": "parrot"}
        again = self.confirm(designer, page, _again="1", encoding="utf-8", **chosen)
        assert {name: again.context["form"][name].value() for name in chosen} == chosen
        add = reverse("admin:judgments_dataset_add")
        page = designer.post(add, {"files": [upload("c.csv", CSV)], "format": "jsonl"})
        again = self.confirm(designer, page, _again="1", encoding="utf-8")
        assert [part.format for part in again.context["understood"].parts] == ["jsonl"]

    def test_looking_again_at_files_that_were_discarded_asks_for_them(self, designer: Client) -> None:
        page = self.look(designer, upload("c.csv", CSV))
        uploads.discard_upload(page.context["upload"])
        answer = self.confirm(designer, page, _again="1")
        assert answer.headers["Location"] == reverse("admin:judgments_dataset_add")
        assert "Please upload the files again" in words(designer.get(answer.headers["Location"]))

    def test_enter_in_a_field_means_import(self, designer: Client) -> None:
        shown = self.look(designer, upload("c.csv", CSV)).content.decode()
        form = shown[shown.index("q-understood") :]
        assert form.index(">Import<") < form.index('name="_again"')

    def test_captions_of_a_system_alone_bring_their_images(self, designer: Client) -> None:
        page = self.look(designer, upload("parrot.csv", CSV.replace("a.jpg,A brown dog .\n", "")))
        self.confirm(designer, page, **{"role-0": "system", "system-0": "parrot", "name": "mine"})
        assert run_job(Job.objects.get().pk), Job.objects.get().error
        dataset = Dataset.objects.get(name="mine")
        assert dataset.items.count() == 2
        assert not dataset.captions.filter(role="reference").exists()
        assert Output.objects.filter(system__name="parrot").count() == 2

    def test_pictures_that_lack_are_named_before_anything_is_stored(self, designer: Client) -> None:
        page = self.look(designer, upload("zoo.csv", CSV), upload("a.jpg", picture_bytes()))
        assert "1 image has no picture: b.jpg" in words(page)
        refused = self.confirm(designer, page)
        assert "no picture" in words(refused)
        assert not Job.objects.exists()
        self.confirm(designer, refused, without_pictures="on")
        assert run_job(Job.objects.get().pk)
        assert Dataset.objects.get().items.filter(picture="").count() == 2

    def test_pictures_that_are_spelled_otherwise_are_matched_and_the_page_says_so(
        self, designer: Client
    ) -> None:
        page = self.look(
            designer,
            upload("zoo.csv", CSV),
            upload("A.JPG", picture_bytes()),
            upload("b.jpeg", picture_bytes()),
        )
        assert page.context["understood"].respelled == 2
        assert "a.jpg → A.JPG" in words(page)
        self.confirm(designer, page)
        assert run_job(Job.objects.get().pk), Job.objects.get().error
        dataset = Dataset.objects.get()
        assert not dataset.items.filter(picture="").exists()
        assert "A.JPG for a.jpg: 2" in " ".join(dataset.notes["sentences"])

    def test_a_picture_that_two_files_may_be_is_refused_by_its_name(self, designer: Client) -> None:
        page = self.look(
            designer,
            upload("zoo.csv", CSV),
            upload("A.JPG", picture_bytes()),
            upload("A.jpeg", picture_bytes()),
            upload("b.jpg", picture_bytes()),
        )
        assert (page.context["understood"].found, page.context["understood"].lacking) == (1, 1)
        assert "A.JPG, A.jpeg" in words(page)

    def test_a_table_that_is_none_is_said_with_its_line(self, designer: Client) -> None:
        page = self.look(designer, upload("zoo.csv", 'image,caption\na.jpg,"A dog .\n'))
        assert "zoo.csv, line 2: found a quotation mark that is never closed" in words(page)

    def test_an_upload_of_somebody_else_is_not_imported(self, designer: Client) -> None:
        page = self.look(designer, upload("zoo.csv", CSV))
        designer.logout()
        designer.force_login(User.objects.create_superuser("other"))
        answer = self.confirm(designer, page)
        assert answer.headers["Location"] == reverse("admin:judgments_dataset_add")
        assert not Job.objects.exists()

    def test_a_name_with_a_blank_in_it_is_told_what_a_name_may_hold(self, designer: Client) -> None:
        shown = words(self.send(designer, name="my photos"))
        assert "Use only letters from a to z, digits, hyphens and underscores" in shown
        assert "slug" not in shown

    def test_a_new_study_from_a_datasets_page_is_about_that_dataset(self, designer: Client) -> None:
        make_dataset(name="other")
        dataset = make_dataset()
        address = reverse("admin:judgments_study_add") + f"?dataset={dataset.name}"
        about = designer.get(reverse("admin:judgments_dataset_change", args=[dataset.pk]))
        assert address in about.content.decode()
        assert f"&amp;dataset={dataset.name}" in designer.get(address).content.decode()
        form = designer.get(f"{address}&preset=vedantam-2015-triplet").content.decode()
        assert f'<option value="{dataset.name}" selected>' in form

    def test_a_zip_of_a_folder_is_unpacked(self, designer: Client) -> None:
        self.send(designer, upload("set.zip", packed(**{"my set__captions_dot_csv": CSV})))
        assert run_job(Job.objects.get().pk)
        assert Dataset.objects.get().items.count() == 2

    def test_uploaded_pictures_are_shown_to_staff_and_to_nobody_else(
        self, designer: Client, settings: Any, tmp_path: Path
    ) -> None:
        settings.DATA_DIR, settings.MEDIA_ROOT = tmp_path, tmp_path / "media"
        photos = packed(**{f"photos__{name}_dot_jpg": picture_bytes() for name in "ab"})
        self.send(designer, upload("captions.csv", CSV), upload("photos.zip", photos))
        assert run_job(Job.objects.get().pk)
        dataset = Dataset.objects.get()
        shown = designer.get(reverse("admin:judgments_dataset_change", args=[dataset.pk])).content.decode()
        for item in dataset.items.all():
            address = reverse("annotation:preview-picture", args=[item.pk])
            assert f'src="{address}"' in shown
            assert b"".join(designer.get(address)) == picture_bytes()
            assert Client().get(address).status_code in (302, 403, 404)
        assert not any((tmp_path / "uploads").iterdir())

    def test_an_error_in_the_file_names_line_and_column_and_not_the_servers_folders(
        self, designer: Client, settings: Any
    ) -> None:
        self.send(designer, upload("captions.csv", CSV + "c.jpg,\n"))
        job = Job.objects.get()
        run_job(job.pk)
        job.refresh_from_db()
        assert job.state == "failed"
        assert job.error.startswith("captions.csv, line 5")
        assert str(settings.DATA_DIR) not in job.error
        assert job.error in words(designer.get(reverse("admin:judgments_job_change", args=[job.pk])))

    def test_an_unsafe_zip_is_refused_beside_the_field(self, designer: Client) -> None:
        response = self.look(designer, upload("set.zip", packed(**{"..__..__captions_dot_csv": CSV})))
        assert "has a path outside the folder of the archive" in words(response)
        assert not Job.objects.exists()

    def test_candidates_of_a_system_are_uploaded_on_the_datasets_page(self, designer: Client) -> None:
        self.send(designer)
        run_job(Job.objects.get().pk)
        dataset = Dataset.objects.get()
        designer.post(
            reverse("admin:judgments_dataset_candidates", args=[dataset.pk]),
            {
                "system": "parrot",
                "format": "csv",
                "files": [upload("c.csv", "image,caption\na.jpg,A dog .\n")],
            },
        )
        assert run_job(Job.objects.get(kind="import_candidates").pk)
        shown = words(designer.get(reverse("admin:judgments_dataset_change", args=[dataset.pk])))
        assert "parrot" in shown

    def test_judgments_collected_elsewhere_become_a_study(self, designer: Client) -> None:
        dataset = make_dataset()
        caption = dataset.captions.get(key="000.jpg#0")
        rows = "".join(
            f"u1,relevance,000.jpg,{caption.key},{caption.text},w-{number},{number % 2}\n"
            for number in range(3)
        )
        designer.post(
            reverse("admin:judgments_dataset_judgments", args=[dataset.pk]),
            {
                "study": "elsewhere", "format": "csv", "protocol": "",
                "files": [upload("j.csv", "unit,protocol,image,first,first_text,worker,value\n" + rows)],
            },
        )  # fmt: skip
        assert run_job(Job.objects.get().pk)
        study = Study.objects.get(slug="elsewhere")
        assert study.source == "imported"
        shown = words(designer.get(page(study, "results")))
        assert "imported" in shown
        assert "Launch" not in shown
