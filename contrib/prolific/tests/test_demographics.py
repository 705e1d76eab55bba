"""Demographics from Prolific: they are fetched, exported, and deleted with the ids."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from pytest_django import Settings

from annotation.crowds.opening import close_study, open_study
from annotation.crowds.raw_ids import forget_raw_ids
from annotation.models import CrowdSession, Demographics
from common.errors import DesignError, WrongState
from contrib.prolific.demographics import fetch_demographics
from contrib.prolific.tests.emulator import Fault, ProlificEmulator
from contrib.prolific.tests.panel import LOST, Panel, panel_study
from evaluation.data.export.downloads import export_for_download
from evaluation.data.export.exporting import export_judgments
from evaluation.errors import ExportError
from judgments.jobs.claims import run_job
from judgments.jobs.queues import enqueue
from judgments.models import Job, Study, StudyRole
from tests.annotation.crowds.panels import do_page, start
from tests.doors import key_of, signed_in
from tests.judgments.desk import do, page, words
from tests.marks import long_except
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


def enqueue_export(study: Study, name: str) -> Job:
    return enqueue(kind="export", args={"study": study.slug, "format": name})


@pytest.fixture
def described(prolific: ProlificEmulator) -> Panel:
    """A study in which two people submitted work and a third only arrived."""
    study = panel_study(demographics=["age", "country", "nationality"])
    open_study(study=study)
    panel = Panel(study, prolific)
    traits = {"age": 31, "sex": "Female", "current-country-of-residence": "Germany"}
    prolific.world.people |= {"aa1": traits, "aa2": {}, "aa3": traits}
    for name in ("aa1", "aa2", "aa3"):
        submission, _address = prolific.enter(panel.publication.external_id, name)
        ids = {"PROLIFIC_PID": name, "STUDY_ID": panel.publication.external_id, "SESSION_ID": submission}
        browser, _answer = start(study, ids)
        panel.came[name] = submission
        if name != "aa3":
            do_page(study, browser)
    return panel


def test_what_the_design_names_is_fetched_and_exported(described: Panel, tmp_path: Path) -> None:
    study = described.study
    call_command("fetch_demographics", study.slug)
    call_command("fetch_demographics", study.slug)
    first, second = CrowdSession.objects.order_by("pk")[:2]
    found = {one.worker_id: one.answers for one in Demographics.objects.all()}
    assert found == {first.worker_id: {"age": "31", "country": "Germany"}, second.worker_id: {}}
    export_judgments(study=study, format="demographics", output=tmp_path / "people.csv")
    lines = (tmp_path / "people.csv").read_text().splitlines()
    assert lines == [
        "worker,age,country,nationality",
        f"{first.worker.name},31,Germany,",
        f"{second.worker.name},,,",
    ]
    assert "aa1" not in json.dumps(lines)


def test_the_page_fetches_them(described: Panel, designer: Client) -> None:
    shown = designer.post(do(described.study, "fetch-demographics"), {"page": "crowd"}, follow=True)
    assert "Prolific sent the demographics of 2 participants." in words(shown)


def test_the_file_is_for_those_who_may_change_the_study(described: Panel, designer: Client) -> None:
    study = described.study
    fetch_demographics(study=study)
    owner = User.objects.create_user("olga", is_staff=True)
    reviewer = User.objects.create_user("rita", is_staff=True)
    StudyRole.objects.create(study=study, user=owner, role="designer")
    StudyRole.objects.create(study=study, user=reviewer, role="reviewer")
    body = {"study": study.slug, "format": "demographics"}
    asked, refused = (
        Client(headers=key_of(user)).post("/api/exports/", body, content_type="application/json")
        for user in (owner, reviewer)
    )
    assert (asked.status_code, refused.status_code) == (202, 403)
    job = asked.json()["id"]
    assert run_job(job)
    for address in (f"/api/exports/{job}/download/", f"/api/exports/{job}/download/?manifest=true"):
        given, kept = (Client(headers=key_of(user)).get(address) for user in (owner, reviewer))
        given.close()
        assert (given.status_code, kept.status_code) == (200, 403)
    browser = signed_in(reviewer)
    assert browser.get(f"{page(study, 'download')}?job={job}").status_code == 403
    assert "demographics" not in browser.get(page(study, "exports")).content.decode()
    assert "demographics" in designer.get(page(study, "exports")).content.decode()


def test_they_are_forgotten_with_the_ids(
    described: Panel, django_capture_on_commit_callbacks: Any, settings: Settings, tmp_path: Path
) -> None:
    study = described.study
    settings.EXPORT_ROOT = tmp_path
    fetch_demographics(study=study)
    for name in ("demographics", "csv"):
        export_for_download(study=study, format=name, job_id=enqueue_export(study, name).pk)
    close_study(study=study)
    with django_capture_on_commit_callbacks(execute=True):
        forget_raw_ids(study=study)
    assert not Demographics.objects.exists()
    assert {path.name.partition(".")[2] for path in tmp_path.iterdir()} == {"csv", "csv.manifest.json"}
    assert fetch_demographics(study=study) == 0  # Prolific would name them still
    assert not Demographics.objects.exists()


@pytest.mark.parametrize("fault", long_except(LOST, Fault.DROP_BEFORE, Fault.CUT_SHORT))
def test_without_an_answer_nothing_changes(described: Panel, fault: Fault) -> None:
    fetch_demographics(study=described.study)
    described.prolific.faults.plan("export demographics", fault)
    with pytest.raises(WrongState, match="Nothing was fetched"):
        fetch_demographics(study=described.study)
    assert Demographics.objects.get(answers__age="31")


def test_who_is_missing_in_the_answer_stays_as_before(described: Panel) -> None:
    fetch_demographics(study=described.study)
    described.prolific.world.submissions.pop(described.came["aa2"])
    described.prolific.world.people["aa1"] = {"age": 32}
    assert fetch_demographics(study=described.study) == 1
    assert [one.answers for one in Demographics.objects.order_by("worker__crowd_sessions__pk")] == [
        {"age": "32"},
        {},
    ]


def test_a_design_that_names_none_fetches_and_exports_none(panel: Panel, tmp_path: Path) -> None:
    with pytest.raises(WrongState, match=r"names no crowd\.demographics"):
        fetch_demographics(study=panel.study)
    with pytest.raises(ExportError, match="demographics"):
        export_judgments(study=panel.study, format="demographics", output=tmp_path / "people.csv")
    with refuses(DesignError, field="crowd.demographics"):
        panel_study(slug="paper", panel={"api": False}, demographics=["age"])
