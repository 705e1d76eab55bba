"""Personal data by page, HTTP and command, the checklist for a board, and consent texts that change."""

from importlib import import_module
from io import StringIO
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from annotation.models import Assignment, Case, ConsentVersion, Erasure, ErasureRequest, Participation, Worker
from annotation.privacy.consent import change_consent, consent_version, versions_in_use
from annotation.quality.exclusions import pause_worker
from annotation.work.claims import claim_assignment
from annotation.work.submissions import submit_assignment
from common.errors import DesignError, WrongState
from evaluation.data.integrity import check_integrity
from evaluation.reports.releases.making import _datasheet_facts as facts_of
from judgments.access.roles import give_role
from judgments.models import Study, StudyEvent
from judgments.studies.designs import design_of
from tests.annotation.casting import Person, joined
from tests.annotation.leasing import claimed
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
    assert "Data that are removed" in shown
    assert ada.client.post(f"/s/{study.slug}/leave/", {}).status_code == 400
    ada.client.post(f"/s/{study.slug}/leave/", {"sure": "1"})
    ada.client.post(f"/s/{study.slug}/leave/", {"sure": "1"})
    assert "you asked us to erase your data" in ada.client.get(f"/s/{study.slug}/leave/").content.decode()
    assert ErasureRequest.objects.get().worker == ada.worker
    assert not Assignment.objects.filter(state="accepted").exists()
    assert StudyEvent.objects.filter(study=study, what="erasure-asked").count() == 1
    assert "Ada Lovelace" in words(designer.get(page(study, "privacy")))
    seen = words(designer.get(page(study, "privacy"), {"worker": "Ada Lovelace"}))
    assert "Deleted permanently" in seen
    wrong = {"worker": "Ada Lovelace", "confirm": "ada", "way": "identity", "page": "privacy"}
    assert "that you typed are different" in words(
        designer.post(do(study, "erase-person"), wrong, follow=True)
    )
    done = designer.post(do(study, "erase-person"), wrong | {"confirm": "Ada Lovelace"})
    assert "Receipt, shown only once" in words(done)
    assert Erasure.objects.get().content["asked_at"]
    assert not ErasureRequest.objects.exists()
    assert ada.client.get("/me/").context.get("worker") is None
    again = designer.get(page(study, "privacy"), {"worker": "Ada Lovelace"})
    assert "already erased" in words(again)


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
    assert {"what": "participation in the study", "count": 1} in seen["kept"]
    assert post("designer").status_code == 403
    first, second = post("owner").json(), post("owner").json()
    assert (first["already"], second["already"], second["receipt"]) == (False, True, "")
    assert first["digest"] == second["digest"] == Erasure.objects.get().digest
    listed = Client().get("/api/erasures/", headers=owner).json()["results"]
    assert [one["digest"] for one in listed] == [first["digest"]]


def test_the_consent_text_is_changed_by_page_and_command(study: Study, ada: Person, designer: Client) -> None:
    sent = {"consent": "Agree to more.", "why": "more", "page": "privacy"}
    assert "is now version 2" in words(designer.post(do(study, "change-consent"), sent, follow=True))
    with pytest.raises(CommandError, match="LANGUAGE=FILE"):
        call_command("change_consent", study.slug, __file__, "--why", "w", "--translation", "de")
    call_command("change_consent", study.slug, __file__, "--why", "w", stdout=(out := StringIO()))
    assert "version 3" in out.getvalue()


OLD, NEW = "We keep answers.", "We keep answers, and publish them."


@pytest.fixture
def consented_study() -> Study:
    return make_study("pairwise", consent=OLD, judgments_per_unit=4, sampling={"pairs": {"MM": 6}})


@pytest.fixture
def agreed(consented_study: Study) -> Person:
    return joined(consented_study, "ada", consent=True)


def hand_in(assignment: Assignment, places: Any) -> None:
    answers = [{"position": place.position, "value": 1} for place in places]
    submit_assignment(assignment=assignment, answers=answers)


def test_who_comes_back_agrees_again_and_loses_nothing(consented_study: Study, agreed: Person) -> None:
    claim = claimed(consented_study, agreed.worker)
    before = claim.assignment.expires_at
    made = change_consent(study=consented_study, text=NEW, why="we want to publish")
    assert made is not None
    assert made.number == 2
    # the page that they hold goes on as before, with its lease, under the text of then
    shown = agreed.client.get(f"/s/{consented_study.slug}/work/")
    assert shown.status_code == 200
    claim.assignment.refresh_from_db()
    assert claim.assignment.expires_at == before
    hand_in(claim.assignment, claim.page_units)
    # the next one does not begin before they agree
    asked = agreed.client.get(f"/s/{consented_study.slug}/work/")
    assert asked.headers["Location"] == f"/s/{consented_study.slug}/consent/"
    page = agreed.client.get(asked.headers["Location"])
    assert NEW in page.content.decode()
    refused = agreed.client.post(f"/s/{consented_study.slug}/consent/", {})
    assert refused.status_code == 400
    agreed.client.post(f"/s/{consented_study.slug}/consent/", {"consent": "1"})
    assert agreed.client.get(f"/s/{consented_study.slug}/work/").status_code == 200
    old, new = Assignment.objects.filter(worker=agreed.worker).order_by("accepted_at")
    versions = {
        one.version.number: (one.people_count, one.page_count) for one in versions_in_use(consented_study)
    }
    assert versions == {1: (0, 1), 2: (1, 1)}
    assert old.consent_version != new.consent_version == made.version
    assert facts_of(consented_study)["consents"][1] == (2, made.version, 1)
    assert check_integrity().problems == []


def test_a_client_reads_the_text_and_agrees(consented_study: Study, agreed: Person) -> None:
    change_consent(study=consented_study, text=NEW, why="w")
    headers = {"Authorization": f"Token {agreed.token}"}
    refused = Client().post(f"/api/studies/{consented_study.slug}/assignments/", headers=headers)
    assert refused.status_code == 403
    address = refused.json()["consent"]
    read = Client().get(address, headers=headers).json()
    assert (read["text"], read["agreed"]) == (NEW, False)
    wrong = Client().post(address, {"version": "0" * 16}, content_type="application/json", headers=headers)
    assert wrong.status_code == 409
    answer = Client().post(
        address, {"version": read["version"]}, content_type="application/json", headers=headers
    )
    assert answer.json()["agreed"] is True
    assert (
        Client().post(f"/api/studies/{consented_study.slug}/assignments/", headers=headers).status_code == 201
    )


def test_the_same_text_is_no_version_and_a_wrong_one_changes_nothing(
    consented_study: Study, agreed: Person
) -> None:
    assert change_consent(study=consented_study, text=OLD, why="w") is None
    with pytest.raises(DesignError, match="empty"):
        change_consent(study=consented_study, text="  ", why="w")
    with pytest.raises(DesignError, match="not a language"):
        change_consent(study=consented_study, text=NEW, translations={"xx": "?"}, why="w")
    with pytest.raises(WrongState, match="no generated pages"):
        change_consent(study=make_study("triplet", opened=False), text=NEW, why="w")
    assert [one.version.text for one in versions_in_use(consented_study)] == [OLD]
    assert design_of(consented_study).consent == OLD


def test_a_changed_translation_is_a_version_too(consented_study: Study, agreed: Person) -> None:
    made = change_consent(
        study=consented_study, text=OLD, translations={"de": "Wir behalten Antworten."}, why="w"
    )
    assert made is not None
    consented_study.refresh_from_db()
    assert design_of(consented_study).translations["de"].consent == "Wir behalten Antworten."
    # without its translation a new text is shown as it is, not as the old one in German
    change_consent(study=consented_study, text=NEW, why="w")
    consented_study.refresh_from_db()
    assert consent_version(design_of(consented_study)) not in (
        made.version,
        agreed.participation.consent_version,
    )
    assert (
        not design_of(consented_study).translations.get("de")
        or not design_of(consented_study).translations["de"].consent
    )


def test_the_migration_makes_what_people_agreed_to_version_1(consented_study: Study, agreed: Person) -> None:
    legacy = agreed.participation.consent_version
    consented_study.design |= {"translations": {"de": {"consent": "Deutsch"}}}
    consented_study.save()
    ConsentVersion.objects.filter(study=consented_study)._raw_delete("default")
    import_module("annotation.migrations.0018_privacy").number_the_texts(apps, None)
    only = ConsentVersion.objects.get(study=consented_study)
    assert (only.number, only.version) == (1, consent_version(design_of(consented_study)))
    assert only.version != legacy
    assert Participation.objects.get(worker=agreed.worker).consent_version == only.version
    assert claim_assignment(study=consented_study, worker=agreed.worker) is not None
