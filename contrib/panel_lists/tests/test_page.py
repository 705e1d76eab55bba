"""The upload of a panel's list on the page Panel, and the page of its comparison."""

import html
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from annotation.crowds.opening import close_study
from annotation.models import CrowdSession
from contrib.panel_lists.tests.lists import HEADER, line
from judgments.jobs.claims import run_job
from judgments.models import Job, Study, StudyEvent
from tests.annotation.crowds.panels import (
    ADA,
    BOB,
    completed,
    do_page,
    done,
    panel_study,
    session,
    start,
)
from tests.doors import signed_in
from tests.judgments.desk import do, page, words

pytestmark = pytest.mark.django_db

QUIZ = {
    "questions": [{"text": "May you guess?", "options": ["yes", "no"], "answer": 2}],
    "ask": 1,
    "attempts": 1,
}

ONE_PLACE: dict[str, Any] = {"judgments_per_unit": 1, "units_per_hit": 20}


def upload(study: Study, client: Client, text: str, **fields: str) -> Any:
    file = SimpleUploadedFile("export.csv", text.encode(), "text/csv")
    return client.post(do(study, "reconcile"), {"page": "panel", "list": file} | fields)


def hidden(response: Any, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]+)"', response.content.decode())
    assert found is not None, words(response)
    return found[1]


def test_an_uploaded_list_is_shown_and_changes_nothing_until_it_is_confirmed(designer: Client) -> None:
    study = panel_study()
    done(study, ADA, BOB)
    listed = "\n".join((HEADER, line(ADA, "APPROVED"), line(BOB, "AWAITING REVIEW", completed(study))))
    before = list(CrowdSession.objects.values())
    shown = upload(study, designer, listed)
    said = words(shown)
    assert "To be paid 1" in said
    assert "Paid 1" in said
    assert "If you confirm, the session becomes approved here." in said
    assert list(CrowdSession.objects.values()) == before
    sealed = hidden(shown, "sealed")
    paid = designer.post(do(study, "payment-list"), {"sealed": sealed})
    assert paid["Content-Type"].startswith("text/csv")
    assert (
        paid.content.decode().splitlines()[1].startswith(f"{BOB['PROLIFIC_PID']},{BOB['SESSION_ID']},0.50,")
    )
    assert list(CrowdSession.objects.values()) == before
    answer = designer.post(do(study, "book-list"), {"sealed": sealed, "page": "panel"}, follow=True)
    assert "Sessions recorded as approved: 1; as rejected: 0; as ended: 0." in words(answer)
    answer = designer.post(do(study, "book-list"), {"sealed": sealed, "page": "panel"}, follow=True)
    assert "Nothing was changed" in words(answer)
    approved = {"sealed": sealed, "page": "panel", "approve": "1"}
    assert "Sessions recorded as approved: 1;" in words(
        designer.post(do(study, "book-list"), approved, follow=True)
    )
    assert set(CrowdSession.objects.values_list("status", flat=True)) == {"approved"}
    assert StudyEvent.objects.filter(what="reconciled").latest("pk").by is not None


def test_columns_that_are_not_found_are_chosen_from_a_list(designer: Client) -> None:
    study = panel_study(preset="plain")
    client, _ = start(study, {"id": "ada"})
    do_page(study, client)
    asked = upload(study, designer, "mail,result\nada,paid\n")
    assert asked.status_code == 400
    assert "The columns of the list are: mail, result" in words(asked)
    chosen = {"text": hidden(asked, "text"), "column-worker": "mail", "column-status": "result"}
    shown = designer.post(do(study, "reconcile"), chosen)
    assert "Paid 1" in words(shown)


def read_by_job(designer: Client, asked: Any) -> Any:
    """What the page of the job leads to that reads a large list."""
    job = Job.objects.latest("pk")
    assert asked["Location"] == f"/admin/judgments/job/{job.pk}/change/"
    assert run_job(job.pk)
    return designer.get(asked["Location"], follow=True)


def test_a_large_list_is_read_by_a_job_and_its_ids_do_not_stay(
    designer: Client, tmp_path: Path, settings: Any
) -> None:
    settings.DATA_DIR = tmp_path
    study = panel_study()
    done(study, ADA)
    others = [line({"PROLIFIC_PID": f"p{n}", "SESSION_ID": f"s{n}"}, "RETURNED") for n in range(3_000)]
    shown = read_by_job(
        designer, upload(study, designer, "\n".join((HEADER, line(ADA, "APPROVED"), *others)))
    )
    assert "In the panel's list 3,001" in words(shown)
    assert "Paid 1" in words(shown)
    assert ADA["PROLIFIC_PID"] not in str(list(Job.objects.values()))
    assert not [path for path in tmp_path.rglob("uploads/**/*") if path.is_file()]
    booked = {"sealed": hidden(shown, "sealed"), "page": "panel"}
    assert "Sessions recorded as approved: 1;" in words(
        designer.post(do(study, "book-list"), booked, follow=True)
    )
    address = f"{page(study, 'panel-list')}?job={Job.objects.get().pk}"
    assert "please upload it again" in words(designer.get(address))
    other = signed_in(User.objects.create_superuser("other"))
    assert other.get(address).status_code == 404


def test_columns_of_a_large_list_are_chosen_too(designer: Client, tmp_path: Path, settings: Any) -> None:
    settings.DATA_DIR = tmp_path
    study = panel_study(preset="plain")
    client, _ = start(study, {"id": "ada"})
    do_page(study, client)
    others = "".join(f"somebody-else-{n},paid\n" for n in range(4_000))
    asked = read_by_job(designer, upload(study, designer, f"mail,result\nada,paid\n{others}"))
    assert "The columns of the list are: mail, result" in words(asked)
    chosen = {"job": hidden(asked, "job"), "column-worker": "mail", "column-status": "result"}
    assert "Paid 1" in words(read_by_job(designer, designer.post(do(study, "reconcile"), chosen)))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "choose the panel's list (a CSV file) first"),
        ({"text": "made-up"}, "choose the panel's list (a CSV file) first"),
    ],
)
def test_no_list_is_said_on_the_page(designer: Client, fields: dict[str, str], said: str) -> None:
    study = panel_study()
    assert said in words(designer.post(do(study, "reconcile"), {"page": "panel"} | fields, follow=True))


def test_a_list_that_is_no_text_and_a_made_up_confirmation_change_nothing(designer: Client) -> None:
    study, other = panel_study(), panel_study(dataset="more", slug="more")
    done(study, ADA)
    file = SimpleUploadedFile("export.csv", b"\xff\xfe\x00", "text/csv")
    answer = designer.post(do(study, "reconcile"), {"page": "panel", "list": file}, follow=True)
    assert "is not UTF-8" in words(answer)
    sealed = hidden(upload(study, designer, "\n".join((HEADER, line(ADA, "APPROVED")))), "sealed")
    for of, value in ((study, "x"), (study, ""), (other, sealed)):
        said = words(designer.post(do(of, "book-list"), {"sealed": value, "page": "panel"}, follow=True))
        assert "Nothing was changed" in said
    assert session(study).status == "submitted"


def test_what_a_list_holds_is_shown_as_text(designer: Client) -> None:
    study = panel_study()
    evil = "<script>alert(1)</script>"
    shown = upload(study, designer, f"{HEADER}\n{evil},{evil},{evil},,,,{evil},\n").content.decode()
    assert evil not in shown
    assert html.escape(evil)[:20] in shown


def test_who_may_only_look_sees_the_list_and_changes_nothing() -> None:
    study = panel_study()
    done(study, ADA)
    close_study(study=study)
    reader = User.objects.create_user("reader", is_staff=True)
    reader.user_permissions.add(Permission.objects.get(codename="view_study"))
    client = signed_in(reader)
    shown = upload(study, client, "\n".join((HEADER, line(ADA, "APPROVED"))))
    assert shown.status_code == 200
    assert "Record" not in shown.content.decode()
    assert client.post(do(study, "book-list"), {"sealed": ""}).status_code == 403
    assert session(study).status == "submitted"
