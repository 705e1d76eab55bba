"""Personal data by page, HTTP and command, for participants and for researchers; and the checklist for a board."""

from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from annotation.launch.ethics import build_checklist
from annotation.models import Assignment, Case, Erasure, ErasureRequest, Worker
from annotation.quality.flags import pause_worker
from annotation.work.claims import claim_assignment
from judgments.access.roles import give_role
from judgments.models import Study, StudyEvent
from tests.annotation.casting import Person, joined
from tests.doors import key_of
from tests.judgments.desk import do, page, words
from tests.studies import make_study

pytestmark = pytest.mark.django_db


def study_of(offered: str = "on-request", **values: Any) -> Study:
    return make_study(
        "pairwise", sampling={"pairs": {"MM": 4}}, erasure={"offered": offered}, consent="Agree.", **values
    )


@pytest.fixture
def study() -> Study:
    return study_of()


@pytest.fixture
def ada(study: Study) -> Person:
    return joined(study, "Ada Lovelace", consent=True)


def account(study: Study, role: str) -> User:
    user = User.objects.create_user(f"the-{role}", password="pw", is_staff=True)
    give_role(study=study, user=user, role=role)
    return user


def test_a_participant_asks_and_an_owner_erases(study: Study, ada: Person, designer: Client) -> None:
    claim_assignment(study=study, worker=ada.worker)
    assert f"/s/{study.slug}/leave/" in ada.client.get("/me/").content.decode()
    shown = ada.client.get(f"/s/{study.slug}/leave/").content.decode()
    assert "What is removed" in shown
    assert ada.client.post(f"/s/{study.slug}/leave/", {}).status_code == 400
    ada.client.post(f"/s/{study.slug}/leave/", {"sure": "1"})
    ada.client.post(f"/s/{study.slug}/leave/", {"sure": "1"})
    assert "You asked to be erased on" in ada.client.get(f"/s/{study.slug}/leave/").content.decode()
    assert ErasureRequest.objects.get().worker == ada.worker
    assert not Assignment.objects.filter(state="accepted").exists()
    assert StudyEvent.objects.filter(study=study, what="erasure-asked").count() == 1
    assert "Ada Lovelace" in words(designer.get(page(study, "privacy")))
    seen = words(designer.get(page(study, "privacy"), {"worker": "Ada Lovelace"}))
    assert "Goes for good" in seen
    wrong = {"worker": "Ada Lovelace", "confirm": "ada", "way": "identity", "page": "privacy"}
    assert "typed again is another one" in words(designer.post(do(study, "erase-person"), wrong, follow=True))
    done = designer.post(do(study, "erase-person"), wrong | {"confirm": "Ada Lovelace"})
    assert "Receipt, shown this once" in words(done)
    assert Erasure.objects.get().content["asked_at"]
    assert not ErasureRequest.objects.exists()
    assert ada.client.get("/me/").context.get("worker") is None
    again = designer.get(page(study, "privacy"), {"worker": "Ada Lovelace"})
    assert "erased already" in words(again)


def test_a_declined_request_is_answered_and_work_goes_on(study: Study, ada: Person, designer: Client) -> None:
    ada.client.post(f"/s/{study.slug}/leave/", {"sure": "1"})
    sent = {"worker": "Ada Lovelace", "why": "Write to us first, please.", "page": "privacy"}
    designer.post(do(study, "decline-erasure"), sent)
    assert "Write to us first" in ada.client.get(f"/s/{study.slug}/leave/").content.decode()
    assert claim_assignment(study=study, worker=ada.worker) is not None


def test_a_declined_request_ends_no_other_pause(study: Study, ada: Person, designer: Client) -> None:
    Case.objects.create(study=study, worker=ada.worker, rule="too-fast", action="pause")
    pause_worker(study=study, worker=ada.worker)
    ada.client.post(f"/s/{study.slug}/leave/", {"sure": "1"})
    designer.post(do(study, "decline-erasure"), {"worker": "Ada Lovelace", "why": "No.", "page": "privacy"})
    assert ErasureRequest.objects.get().state == "declined"
    assert ada.worker.participations.get().standing == "paused"


def test_at_once_a_participant_gets_a_receipt(ada: Person) -> None:
    study = study_of("at-once", name="Another", slug="another")
    eve = joined(study, "Eve", consent=True)
    done = eve.client.post(f"/s/{study.slug}/leave/", {"sure": "1"})
    assert "Your receipt" in done.content.decode()
    assert not Worker.objects.filter(name="Eve").exists()
    headers = {"Authorization": f"Token {ada.token}"}
    asked = Client().post("/api/studies/a-pairwise-study/leave/", headers=headers)
    assert asked.json() == {"state": "waiting"}


def test_only_an_owner_erases_over_http_and_twice_says_already(study: Study, ada: Person) -> None:
    keys = {role: key_of(account(study, role)) for role in ("designer", "owner")}
    address = f"/api/studies/{study.slug}/erase-person/"
    body = {"worker": "Ada Lovelace", "confirm": "Ada Lovelace", "way": "all"}

    def post(role: str) -> Any:
        return Client().post(address, body, content_type="application/json", headers=keys[role])

    owner = keys["owner"]
    seen = Client().get(f"{address}preview/?worker=Ada%20Lovelace", headers=owner).json()
    assert {"what": "part in the study", "count": 1} in seen["kept"]
    assert post("designer").status_code == 403
    first, second = post("owner").json(), post("owner").json()
    assert (first["already"], second["already"], second["receipt"]) == (False, True, "")
    assert first["digest"] == second["digest"] == Erasure.objects.get().digest
    listed = Client().get("/api/erasures/", headers=owner).json()["results"]
    assert [one["digest"] for one in listed] == [first["digest"]]


def test_the_consent_text_is_changed_by_page_and_command(study: Study, ada: Person, designer: Client) -> None:
    sent = {"consent": "Agree to more.", "why": "more", "page": "privacy"}
    assert "has version 2" in words(designer.post(do(study, "change-consent"), sent, follow=True))
    with pytest.raises(CommandError, match="LANGUAGE=FILE"):
        call_command("change_consent", study.slug, __file__, "--why", "w", "--translation", "de")
    call_command("change_consent", study.slug, __file__, "--why", "w", stdout=(out := StringIO()))
    assert "version 3" in out.getvalue()


def test_the_checklist_says_what_the_design_says_and_what_is_missing(designer: Client) -> None:
    study = study_of(
        crowd={"reward_cents": 50, "currency": "EUR"},
        seconds_per_unit=30,
        units_per_hit=4,
        contact="board@example.org",
        ethics={"board": "IRB 7 of Example, no. 12", "minimum_age": 18},
        retention={"identities_days": 90},
        workers={"countries": ["DE"]},
    )
    lines = {
        line.key or line.question: line.answer for section in build_checklist(study) for line in section.lines
    }
    assert lines["ethics.board"] == "IRB 7 of Example, no. 12"
    assert lines["ethics.risks"] == ""
    assert lines["ethics.minimum_age"] == "18 years."
    assert lines["retention.identities_days"].startswith("90 days")
    # four items of 30 seconds, one of them a check question, for 50 cents: 50 * 3600 / 120
    assert "0.50 EUR" in lines["What they are paid"]
    assert "15.00 EUR an hour" in lines["What they are paid"]
    assert "Germany" in lines["What is required of them"]
    call_command("ethics", study.slug, stdout=(out := StringIO()))
    assert (
        "**Risks, and what is done about them** (CR (b)(2), ARR A2)\n\n**To be filled in by you.**"
        in out.getvalue()
    )
    shown = words(designer.get(page(study, "ethics")))
    assert "IRB 7 of Example" in shown
    assert designer.get(page(study, "ethics-file") + "?format=html").content.startswith(b"<!doctype html>")
    missing = sum(1 for answer in lines.values() if not answer)
    assert f"{missing} lines are to be filled in by you." in shown
