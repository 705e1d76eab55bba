"""A consent text that changes: who agreed to what, who is asked again, and what is held is not lost."""

from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.test import Client

from annotation.models import Assignment, ConsentVersion, Participation
from annotation.privacy.consent import change_consent, consent_version, versions_of
from annotation.work.claims import claim_assignment
from annotation.work.submissions import submit_assignment
from common.errors import DesignError, WrongState
from evaluation.data.integrity import check_integrity
from evaluation.reports.releases.making import _facts as facts_of
from judgments.models import Study
from judgments.studies.studies import design_of
from tests.annotation.casting import Person, joined
from tests.annotation.leasing import claimed
from tests.studies import make_study

pytestmark = pytest.mark.django_db
OLD, NEW = "We keep answers.", "We keep answers, and publish them."


@pytest.fixture
def study() -> Study:
    return make_study("pairwise", consent=OLD, judgments_per_unit=4, sampling={"pairs": {"MM": 6}})


@pytest.fixture
def ada(study: Study) -> Person:
    return joined(study, "ada", consent=True)


def hand_in(assignment: Assignment, places: Any) -> None:
    answers = [{"position": place.position, "value": 1} for place in places]
    submit_assignment(assignment=assignment, answers=answers)


def test_who_comes_back_agrees_again_and_loses_nothing(study: Study, ada: Person) -> None:
    claim = claimed(study, ada.worker)
    before = claim.assignment.expires_at
    made = change_consent(study=study, text=NEW, why="we want to publish")
    assert made is not None
    assert made.number == 2
    # the page that they hold goes on as before, with its lease, under the text of then
    shown = ada.client.get(f"/s/{study.slug}/work/")
    assert shown.status_code == 200
    claim.assignment.refresh_from_db()
    assert claim.assignment.expires_at == before
    hand_in(claim.assignment, claim.page_units)
    # the next one does not begin before they agree
    asked = ada.client.get(f"/s/{study.slug}/work/")
    assert asked.headers["Location"] == f"/s/{study.slug}/consent/"
    page = ada.client.get(asked.headers["Location"])
    assert NEW in page.content.decode()
    refused = ada.client.post(f"/s/{study.slug}/consent/", {})
    assert refused.status_code == 400
    ada.client.post(f"/s/{study.slug}/consent/", {"consent": "1"})
    assert ada.client.get(f"/s/{study.slug}/work/").status_code == 200
    old, new = Assignment.objects.filter(worker=ada.worker).order_by("accepted_at")
    versions = {one.version.number: (one.people, one.pages) for one in versions_of(study)}
    assert versions == {1: (0, 1), 2: (1, 1)}
    assert old.consent_version != new.consent_version == made.version
    assert facts_of(study)["consents"][1] == (2, made.version, 1)
    assert check_integrity().problems == []


def test_a_client_reads_the_text_and_agrees(study: Study, ada: Person) -> None:
    change_consent(study=study, text=NEW, why="w")
    headers = {"Authorization": f"Token {ada.token}"}
    refused = Client().post(f"/api/studies/{study.slug}/assignments/", headers=headers)
    assert refused.status_code == 403
    address = refused.json()["consent"]
    read = Client().get(address, headers=headers).json()
    assert (read["text"], read["agreed"]) == (NEW, False)
    wrong = Client().post(address, {"version": "0" * 16}, content_type="application/json", headers=headers)
    assert wrong.status_code == 409
    agreed = Client().post(
        address, {"version": read["version"]}, content_type="application/json", headers=headers
    )
    assert agreed.json()["agreed"] is True
    assert Client().post(f"/api/studies/{study.slug}/assignments/", headers=headers).status_code == 201


def test_the_same_text_is_no_version_and_a_wrong_one_changes_nothing(study: Study, ada: Person) -> None:
    assert change_consent(study=study, text=OLD, why="w") is None
    with pytest.raises(DesignError, match="empty"):
        change_consent(study=study, text="  ", why="w")
    with pytest.raises(DesignError, match="no language"):
        change_consent(study=study, text=NEW, translations={"xx": "?"}, why="w")
    with pytest.raises(WrongState, match="drawn"):
        change_consent(study=make_study("triplet", opened=False), text=NEW, why="w")
    assert [one.version.text for one in versions_of(study)] == [OLD]
    assert design_of(study).consent == OLD


def test_a_changed_translation_is_a_version_too(study: Study, ada: Person) -> None:
    made = change_consent(study=study, text=OLD, translations={"de": "Wir behalten Antworten."}, why="w")
    assert made is not None
    study.refresh_from_db()
    assert design_of(study).translations["de"].consent == "Wir behalten Antworten."
    # without its translation a new text is shown as it is, not as the old one in German
    change_consent(study=study, text=NEW, why="w")
    study.refresh_from_db()
    assert consent_version(design_of(study)) not in (made.version, ada.participation.consent_version)
    assert not design_of(study).translations.get("de") or not design_of(study).translations["de"].consent


def test_the_migration_makes_what_people_agreed_to_version_1(study: Study, ada: Person) -> None:
    legacy = ada.participation.consent_version
    study.design |= {"translations": {"de": {"consent": "Deutsch"}}}
    study.save()
    ConsentVersion.objects.filter(study=study)._raw_delete("default")
    import_module("annotation.migrations.0018_privacy").number_the_texts(apps, None)
    only = ConsentVersion.objects.get(study=study)
    assert (only.number, only.version) == (1, consent_version(design_of(study)))
    assert only.version != legacy
    assert Participation.objects.get(worker=ada.worker).consent_version == only.version
    assert claim_assignment(study=study, worker=ada.worker) is not None
