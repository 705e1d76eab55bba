"""Releases of registered studies, with what became of their plans."""

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from django.core.management import call_command

from annotation.models import Judgment
from contrib.comparing.releases import compare_bundles
from contrib.registration.tests.test_registration import registered
from evaluation.data.releases.settings import ReleaseSettings
from evaluation.reports.releases.verification import verify_bundle
from evaluation.reports.storage import build_report
from evaluation.results.aggregation import aggregate_study
from evaluation.results.metrics.storage import evaluate_study
from judgments.access.study_log import note_event
from judgments.models import Study
from tests.evaluation.reporting import contents, released, rewritten, rolled_back

pytestmark = pytest.mark.django_db


def make_registered() -> Study:
    """Eight pairs on which people follow BLEU and not ROUGE, as the plan claims; closed, and paused in between."""
    made = registered(8).study
    aggregate_study(study=made)
    evaluate_study(study=made, metrics=["bleu-1", "rouge-l"])
    note_event(study=made, what="paused", sentence="Paused, as ada@mail.example asked.")
    Study.objects.filter(pk=made.pk).update(state=Study.State.CLOSED)
    made.refresh_from_db()
    return made


@pytest.fixture(scope="module")
def made_once(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> bytes:
    """A bundle, drawn once for all tests here."""
    with rolled_back(django_db_blocker):
        return released(make_registered(), tmp_path_factory.mktemp("made_once") / "a.zip").read_bytes()


@pytest.fixture
def bundle(made_once: bytes, tmp_path: Path) -> Path:
    """A copy of the bundle, to be changed."""
    path = tmp_path / "a.zip"
    path.write_bytes(made_once)
    return path


@pytest.mark.usefixtures("undrawn")
def test_a_release_tells_what_became_of_the_plan_and_verifies(bundle: Path) -> None:
    assert verify_bundle(bundle).differences == ()
    files = contents(bundle)
    told = json.loads(files["outcomes.json"])
    first, second = told["hypotheses"]
    assert (first["verdict"], first["first_only"], first["second_only"]) == ("supported", 8, 0)
    assert first["p"] == first["adjusted"] == pytest.approx(2 / 2**8)
    assert first["share"] == 1.0
    assert 0.6 < first["low"] < 1.0
    assert "p = .008" in first["words"]
    assert (second["verdict"], second["p"], second["low"]) == ("for people to judge", None, None)
    assert [one["what"] for one in told["deviations"]] == ["paused"]
    assert told["deviations"][0]["words"].endswith(": paused.")
    assert not any(b"ada@mail.example" in data for data in files.values())
    sections = json.loads(files["report/report.json"])["sections"]
    assert sections[-1]["name"] == "registration"
    assert sections[-1]["tables"][0]["rows"][0][2] == "supported"
    assert "report/tables/hypotheses.csv" in files
    ours = build_report(make_registered()).sections[-1].tables[0]
    assert [list(row) for row in ours.rows] == sections[-1]["tables"][0]["rows"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda told: told["hypotheses"][0].update(verdict="undecided"), "hypotheses[0].verdict"),
        (lambda told: told["hypotheses"][0].update(p=0.5), "hypotheses[0].p"),
        (lambda told: told["hypotheses"].pop(), "hypotheses: stated 1 entries"),
        (lambda told: told["deviations"].append({"what": "paused", "words": "x"}), ".rows: stated 1 entries"),
    ],
)
def test_another_outcome_than_the_rows_give_is_found(bundle: Path, change: Any, said: str) -> None:
    told = json.loads(contents(bundle)["outcomes.json"])
    change(told)
    rewritten(bundle, "outcomes.json", told)
    differences = verify_bundle(bundle).differences
    assert any(said in line for line in differences), differences


def test_another_plan_than_the_one_that_was_hashed_is_found(bundle: Path) -> None:
    plan = json.loads(contents(bundle)["registration.json"])
    plan["plan"]["level"] = 0.5
    rewritten(bundle, "registration.json", plan)
    assert any("do not have the SHA-256" in line for line in verify_bundle(bundle).differences)
    plan["sha256"] = "0" * 64
    rewritten(bundle, "registration.json", plan)
    assert any("names the SHA-256" in line for line in verify_bundle(bundle).differences)


@pytest.mark.long
@pytest.mark.usefixtures("undrawn")
def test_a_bundle_from_before_there_were_outcomes_verifies(made_once: bytes, tmp_path: Path) -> None:
    with patch(
        "evaluation.reports.releases.making.ReleaseSettings",
        lambda **values: ReleaseSettings(**values | {"wording": 0}),
    ):
        bundle = released(make_registered(), tmp_path / "a.zip")
    report = json.loads(contents(bundle)["report/report.json"])
    (gone,) = [one for one in report["sections"] if one["name"] == "registration"]
    tables = [f"report/tables/{one['name']}.csv" for one in gone["tables"]]
    assert "report/tables/hypotheses.csv" in tables
    report["sections"].remove(gone)
    rewritten(bundle, "report/report.json", report, without=("outcomes.json", *tables))
    assert verify_bundle(bundle).differences == ()
    (tmp_path / "b.zip").write_bytes(made_once)
    assert compare_bundles(bundle, tmp_path / "b.zip")["hypotheses"] == []


def test_a_plan_that_was_taken_out_is_missed(bundle: Path) -> None:
    outcomes = json.loads(contents(bundle)["outcomes.json"])
    rewritten(bundle, "outcomes.json", outcomes, without=("registration.json",))
    said = "manifest.json names a registered plan, and registration.json is missing."
    assert said in verify_bundle(bundle).differences


@pytest.mark.long
@pytest.mark.usefixtures("undrawn")
def test_two_releases_tell_another_verdict_and_new_deviations(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study, before = make_registered(), bundle
    half = [f"u{number}" for number in range(4)]
    Judgment._base_manager.filter(unit__key__in=half).update(set_aside=True)
    note_event(study=study, what="resumed", sentence="Resumed.")
    after = released(study, tmp_path / "b.zip", "1.1")
    found = compare_bundles(before, after)
    assert found["plan"] is True
    (changed,) = found["hypotheses"]
    verdicts = (changed["text"], changed["before"], changed["after"])
    assert verdicts == ("BLEU follows people.", "supported", "undecided")
    assert "p = .125" in changed["words"]
    assert [words.partition(": ")[2] for words in found["deviations"]["added"]] == ["resumed."]
    assert found["deviations"]["removed"] == []
    same = compare_bundles(before, before)
    assert (same["hypotheses"], same["deviations"]) == ([], {"added": [], "removed": []})
    call_command("compare_releases", str(before), str(after))
    out = capsys.readouterr().out
    assert "BLEU follows people. supported to undecided" in out
    assert "more done otherwise than registered" in out
