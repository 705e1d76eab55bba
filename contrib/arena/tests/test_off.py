"""A study that asks for an arena while the feature is off."""

from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from annotation.errors import NotAdmitted
from annotation.models import Assignment
from annotation.privacy.erasing import erase_person
from annotation.work.claims import claim_assignment
from annotation.work.submissions import submit_and_claim
from common.errors import FeatureIsOff
from contrib.arena.tests.arenas import arena
from evaluation.data.integrity import check_integrity
from judgments.design.editing.fitting import fit_to_dataset
from judgments.design.editing.form.values import starting_values
from judgments.models import Study, SystemPair
from judgments.studies.generation.hits import generate_hits
from judgments.studies.studies import delete_study, mark_open
from tests.annotation.casting import joined
from tests.annotation.leasing import answers_of, claimed
from tests.evaluation.reporting import exported
from tests.judgments.desk import page

pytestmark = pytest.mark.django_db
SENTENCE = "Turn on “arena”"


def test_pages_that_people_hold_are_handed_in_and_no_other_is_drawn(
    settings: Settings, tmp_path: Path, admin_client: Client
) -> None:
    study = arena(controls={"per_hit": 0})
    person, other = joined(study, "ada"), joined(study, "bob")
    held = claimed(study, person.worker)
    settings.FEATURES = {name: one for name, one in settings.FEATURES.items() if name != "arena"}
    submission, following = submit_and_claim(assignment=held.assignment, answers=answers_of(held.assignment))
    assert submission.assignment.state == Assignment.State.SUBMITTED
    assert following is None
    with pytest.raises(NotAdmitted):
        claim_assignment(study=study, worker=other.worker)
    refused = other.client.get(f"/s/{study.slug}/work/")
    assert refused.status_code == 403
    assert "open for answers" in refused.content.decode()
    assert "CONTRIB_APPS" not in refused.content.decode()
    assert not Assignment.objects.filter(worker=other.worker).exists()
    counted = SystemPair.objects.filter(study=study).values_list("wins", "ties", "losses")
    assert sum(map(sum, counted)) == 5
    assert check_integrity().problems == []
    assert all(row["chance"] for row in exported(study, tmp_path / "rows.jsonl"))
    for name in ("change", "results"):
        assert admin_client.get(page(study, name)).status_code == 200
    erase_person(study=study, worker=person.worker)
    assert check_integrity().problems == []


def test_none_is_opened_or_proposed_and_one_that_is_there_can_be_deleted(settings: Settings) -> None:
    study = arena(opened=False)
    generate_hits(study=study)
    settings.FEATURES = {name: one for name, one in settings.FEATURES.items() if name != "arena"}
    with pytest.raises(FeatureIsOff, match=SENTENCE):
        mark_open(study=study)
    start = starting_values(preset="vedantam-2015-pairwise") | {"purpose": "ranking"}
    proposed, *_ = fit_to_dataset(start, study.dataset, maker=None)
    assert not proposed.get("arena", {}).get("pages")
    assert proposed["sampling"]["pairs"]["MM"]
    delete_study(study=study)
    assert not Study.objects.filter(slug=study.slug).exists()
