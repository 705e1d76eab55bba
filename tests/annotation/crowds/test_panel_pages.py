"""The panel's page of a study in the admin: what is copied from it, lists, and who may use it."""

import html
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from annotation.crowds.panel.backend import code_for
from annotation.crowds.publishing import close_study
from annotation.models import CrowdSession, RawId
from judgments.design.panels import OUTCOMES
from judgments.jobs import run_job
from judgments.models import Job, Study, StudyEvent
from judgments.studies.studies import design_of
from tests.annotation.casting import make_dataset, make_study
from tests.annotation.crowds.panel_files import HEADER, completed, done, line
from tests.annotation.crowds.panels import ADA, BOB, do_page, panel_study, session, start
from tests.doors import signed_in
from tests.judgments.desk import do, page, words

pytestmark = pytest.mark.django_db


def upload(study: Study, client: Client, text: str, **fields: str) -> Any:
    file = SimpleUploadedFile("export.csv", text.encode(), "text/csv")
    return client.post(do(study, "reconcile"), {"page": "panel", "list": file} | fields)


def hidden(response: Any, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]+)"', response.content.decode())
    assert found is not None, words(response)
    return found[1]


def test_the_page_has_the_link_and_a_code_for_each_outcome(designer: Client) -> None:
    study = panel_study()
    response = designer.get(page(study, "panel"))
    text = html.unescape(response.content.decode())
    link = (
        "http://testserver/s/shapes-by-triplet/panel/?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}"
        "&SESSION_ID={{%SESSION_ID%}}"
    )
    assert link in text
    for outcome in OUTCOMES:
        code = code_for(study, design_of(study), outcome)
        assert f"https://app.prolific.com/submissions/complete?cc={code}" in text


def test_who_lacks_the_panel_s_own_address_is_told_where_it_belongs(designer: Client) -> None:
    study = panel_study(preset="sona")
    assert "panel.addresses.completed" in words(designer.get(page(study, "panel")))
    address = "https://uni.sona-systems.com/webstudy_credit.aspx?experiment_id=9&credit_token=t&survey_code={worker}"
    told = panel_study(
        preset="sona", slug="told", dataset="more", panel={"addresses": {"completed": address}}
    )
    shown = html.unescape(designer.get(page(told, "panel")).content.decode())
    assert "panel.addresses.completed" not in shown
    assert address.replace("{worker}", "WORKER") in shown
    assert "panel/?survey_code=%SURVEY_CODE%" in shown


def test_studies_without_a_panel_have_no_such_tab(designer: Client) -> None:
    local = make_study(make_dataset(pictures=False))
    assert page(local, "panel") not in designer.get(page(local, "workers")).content.decode()
    study = panel_study(dataset="more", slug="more")
    assert page(study, "panel") in designer.get(page(study, "workers")).content.decode()


def test_an_uploaded_list_is_shown_and_changes_nothing_until_it_is_confirmed(designer: Client) -> None:
    study = panel_study()
    done(study, ADA, BOB)
    listed = "\n".join((HEADER, line(ADA, "APPROVED"), line(BOB, "AWAITING REVIEW", completed(study))))
    before = list(CrowdSession.objects.values())
    shown = upload(study, designer, listed)
    said = words(shown)
    assert "To pay 1" in said
    assert "Paid 1" in said
    assert "Confirming makes it approved here." in said
    assert list(CrowdSession.objects.values()) == before
    sealed = hidden(shown, "sealed")
    paid = designer.post(do(study, "payment-list"), {"sealed": sealed})
    assert paid["Content-Type"].startswith("text/csv")
    assert (
        paid.content.decode().splitlines()[1].startswith(f"{BOB['PROLIFIC_PID']},{BOB['SESSION_ID']},0.50,")
    )
    assert list(CrowdSession.objects.values()) == before
    answer = designer.post(do(study, "book-list"), {"sealed": sealed, "page": "panel"}, follow=True)
    assert "Booked: 1 approved, 0 rejected, 0 ended." in words(answer)
    answer = designer.post(do(study, "book-list"), {"sealed": sealed, "page": "panel"}, follow=True)
    assert "Nothing was changed" in words(answer)
    approved = {"sealed": sealed, "page": "panel", "approve": "1"}
    assert "Booked: 1 approved" in words(designer.post(do(study, "book-list"), approved, follow=True))
    assert set(CrowdSession.objects.values_list("status", flat=True)) == {"approved"}
    assert StudyEvent.objects.filter(what="reconciled").latest("pk").by is not None


def test_columns_that_are_not_found_are_chosen_from_a_list(designer: Client) -> None:
    study = panel_study(preset="plain")
    client, _ = start(study, {"id": "ada"})
    do_page(study, client)
    asked = upload(study, designer, "mail,result\nada,paid\n")
    assert asked.status_code == 400
    assert "Which column of the list holds the person's id? It has mail, result." in words(asked)
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
    assert "Booked: 1 approved" in words(designer.post(do(study, "book-list"), booked, follow=True))
    address = f"{page(study, 'panel')}?job={Job.objects.get().pk}"
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
    assert "Which column of the list holds the person's id? It has mail, result." in words(asked)
    chosen = {"job": hidden(asked, "job"), "column-worker": "mail", "column-status": "result"}
    assert "Paid 1" in words(read_by_job(designer, designer.post(do(study, "reconcile"), chosen)))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "choose the panel's list first"),
        ({"text": "made-up"}, "choose the panel's list first"),
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


def test_pages_of_who_stopped_early_are_paid_by_a_bonus_list(designer: Client) -> None:
    study = panel_study(hits=2)
    client, _ = start(study, ADA)
    do_page(study, client)
    client.post(f"/s/{study.slug}/panel/end/", {"confirm": "1"})
    assert "Pay for the pages: 0.50" in words(designer.get(page(study, "panel")))
    designer.post(do(study, "pay-pages"), {"page": "panel", "why": "For the page."})
    made = designer.post(do(study, "bonus-list"), {"page": "panel"})
    assert made.content.decode() == f"{ADA['SESSION_ID']},0.50\n"
    again = designer.post(do(study, "bonus-list"), {"page": "panel"}, follow=True)
    assert "Nothing was listed" in words(again)
    assert designer.post(do(study, "bonus-list"), {"number": "1"}).content == made.content


def test_raw_ids_are_deleted_once_the_name_was_typed(designer: Client) -> None:
    study = panel_study()
    done(study, ADA)
    assert "can be deleted once the study is closed" in words(designer.get(page(study, "panel")))
    close_study(study=study)
    assert "wait s" not in words(designer.get(page(study, "panel")))
    refused = designer.post(do(study, "forget-ids"), {"page": "panel", "typed": "yes"}, follow=True)
    assert f"type {study.slug}" in words(refused)
    assert RawId.objects.count() == 2
    done_ = designer.post(do(study, "forget-ids"), {"page": "panel", "typed": study.slug}, follow=True)
    assert "2 raw ids are deleted." in words(done_)
    assert not RawId.objects.exists()


STEPS = ("reconcile", "payment-list", "book-list", "bonus-list", "pay-pages", "forget-ids")


def test_who_may_only_look_sees_the_list_and_changes_nothing() -> None:
    study = panel_study()
    done(study, ADA)
    close_study(study=study)
    reader = User.objects.create_user("reader", is_staff=True)
    reader.user_permissions.add(Permission.objects.get(codename="view_study"))
    client = signed_in(reader)
    shown = upload(study, client, "\n".join((HEADER, line(ADA, "APPROVED"))))
    assert shown.status_code == 200
    assert "Book it" not in shown.content.decode()
    for step in ("book-list", "bonus-list", "pay-pages", "forget-ids"):
        assert client.post(do(study, step), {"sealed": "", "typed": study.slug}).status_code == 403
    assert "Delete the ids" not in words(client.get(page(study, "panel")))
    assert session(study).status == "submitted"
