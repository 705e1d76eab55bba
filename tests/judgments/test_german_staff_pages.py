"""The staff's pages in German: no English left on them, and English where it is stored or sent."""

import re

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import path, reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from config import urls
from config.observing.error_views import server_error
from judgments.importers.notes import QUIRK_NOTES, ImportNotes
from judgments.models import Dataset, Job, Study
from tests.annotation.foreign_pages import english_on
from tests.studies import make_study

pytestmark = pytest.mark.django_db
OF_A_STUDY = ("change", "hits", "plan", "people", "log", "reuse", "delete")


@pytest.fixture
def german() -> Client:
    """An administrator whose browser asks for German."""
    client = Client(headers={"accept-language": "de"})
    client.force_login(User.objects.create_superuser("jutta"))
    return client


def seen(client: Client, address: str, **data: object) -> str:
    response = client.post(address, data, follow=True) if data else client.get(address)
    assert response.status_code == 200, address
    html = response.content.decode()
    assert english_on(html, staff=True) == [], address
    assert re.findall(r'(?:value|min|max|step)="-?\d+,\d+"', html) == [], address
    return html


def address(page: str, study: Study) -> str:
    return reverse(f"admin:judgments_study_{page}", args=[study.pk])


def test_the_way_to_a_study_is_german(german: Client) -> None:
    seen(german, "/admin/")
    add = reverse("admin:judgments_study_add")
    seen(german, add)
    study = make_study(opened=False)
    assert "Ihre Studien" in seen(german, "/admin/")
    seen(german, add)
    for protocol in ("triplet", "relevance", "template"):
        seen(german, f"{add}?protocol={protocol}&dataset=animals")
    seen(german, f"{add}?preset=vedantam-2015-triplet&dataset=animals")
    seen(german, reverse("admin:judgments_study_from_file"), text="")
    seen(german, reverse("admin:judgments_study_start_bring-template"), name="")
    for page in OF_A_STUDY:
        seen(german, address(page, study))


def test_what_was_done_is_said_in_german_and_stored_in_english(german: Client) -> None:
    study = make_study(opened=False)
    do = {"page": "people"}
    step = reverse("admin:judgments_study_do", args=[study.pk, "give-role"])
    assert "kein Konto von Mitarbeitenden" in seen(german, step, username="nobody", role="viewer", **do)
    assert "hat jetzt die Rolle" in seen(german, step, username="jutta", role="viewer", **do)
    log = seen(german, address("log", study))
    assert "jutta is viewer now." in log
    copy = reverse("admin:judgments_study_do", args=[study.pk, "duplicate"])
    assert "wurde mit demselben Design angelegt" in seen(german, copy, name="Kopie", slug="kopie")
    dataset = Dataset.objects.get()
    share = reverse("admin:judgments_dataset_do", args=[dataset.pk, "share"])
    assert "ist offen für: nur seine Mitglieder" in seen(german, share, sharing="members")
    kept = LogEntry.objects.values_list("change_message", flat=True)[0]
    assert kept == "Dataset animals can now be read by only its members."
    assert german.get(address("study-file", study)).content.decode().startswith('name = "A triplet study"')
    calls = Client(headers={"accept-language": "de"})
    calls.force_login(User.objects.get())
    refused = calls.post(f"/api/studies/{study.slug}/pause/", {}, content_type="application/json").json()
    assert refused["detail"] == "why: Enter a reason. It will be shown in the study's log."


def test_datasets_tokens_jobs_and_tables_are_german(german: Client) -> None:
    study = make_study(opened=False)
    for page in ("change", "candidates", "rankings", "judgments"):
        seen(german, reverse(f"admin:judgments_dataset_{page}", args=[study.dataset_id]))
    upload = reverse("admin:judgments_dataset_add")
    table = SimpleUploadedFile("bilder.csv", b"image,caption\na.jpg,Ein Hund rennt.\na.jpg,Ein Tier.\n")
    seen(german, upload)
    assert "Hochgeladenes prüfen" in seen(german, upload, files=table)
    token = reverse("admin:judgments_apitoken_add")
    seen(german, token)
    seen(german, token, name="Heft", scopes="studies:read", good_for="30")
    german.post(reverse("admin:judgments_study_do", args=[study.pk, "generate"]), {"page": "hits"})
    seen(german, reverse("admin:judgments_job_change", args=[Job.objects.get().pk]))
    for model in admin.site._registry:
        if model._meta.app_label == "judgments" and model._meta.model_name not in ("caption", "studyevent"):
            seen(german, reverse(f"admin:judgments_{model._meta.model_name}_changelist"))
    for page in ("/admin/second-factor/", "/admin/password_change/", "/admin/auth/user/"):
        seen(german, page)


def broken(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("broken")


urlpatterns = [path("admin/broken/", broken), *urls.urlpatterns]
handler500 = urls.handler500


def test_a_failure_of_a_staff_page_is_said_in_the_admins_frame_without_a_query(
    german: Client, settings: Settings, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    settings.ROOT_URLCONF = __name__
    german.raise_request_exception = False
    response = german.get("/admin/broken/")
    assert response.status_code == 500
    html = response.content.decode()
    assert english_on(html, staff=True) == []
    assert "Der Server konnte diese Seite nicht anzeigen" in html
    assert 'href="/admin/"' in html
    assert "css/board" in html
    assert "Ihre Arbeitsseite" not in html
    with django_assert_num_queries(0):
        assert server_error(RequestFactory().get("/admin/broken/")).status_code == 500


def test_the_notes_of_an_import_are_german_with_their_numbers_and_names(german: Client) -> None:
    notes = ImportNotes()
    for quirk in QUIRK_NOTES:
        notes.count(quirk, 1234, detail="spalte")
    stored = [
        *notes.sentences(),
        "nearest: Column “score: new” is not used.",
        "Pictures were added to the dataset.",
    ]
    job = Job.objects.create(
        kind="import_dataset", state=Job.State.DONE, result={"notes": stored}, finished_at=timezone.now()
    )
    Dataset.objects.create(name="shapes", source_format="csv", notes={"sentences": stored})
    for page in (reverse("admin:judgments_job_change", args=[job.pk]), dataset_page("shapes")):
        text = seen(german, page)
        assert "nearest: Die Spalte „score: new“ wird nicht verwendet." in text
        assert "Items ohne Texte, ausgelassen: 1\N{NARROW NO-BREAK SPACE}234." in text
        assert not any(sentence in text for sentence in stored)


def dataset_page(name: str) -> str:
    return reverse("admin:judgments_dataset_change", args=[Dataset.objects.get(name=name).pk])
