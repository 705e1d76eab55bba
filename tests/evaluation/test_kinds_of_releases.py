"""Releases of each kind, which follow from their rows, and of registered plans, with what became of them."""

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch
from zipfile import ZipFile

import pytest
from django.core.management import call_command

from annotation.models import Judgment
from annotation.rehearsal import Crowd, rehearse
from common.amounts import as_json
from evaluation.data.releases.rows import Settings
from evaluation.data.releases.storage import Terms
from evaluation.reports.releases.comparing import compare_releases
from evaluation.reports.releases.making import release_study
from evaluation.reports.releases.verification import describe_differences, verify_bundle
from evaluation.reports.storage import build_report
from evaluation.results.aggregation import aggregate_study
from evaluation.results.meta_evaluation import evaluate_study
from judgments.access.roles import note_event
from judgments.kinds import KINDS
from judgments.models import Caption, Output, Study, System
from judgments.studies.studies import mark_closed
from tests.annotation.casting import make_study as make_scene_study
from tests.annotation.scenes import make_scenes
from tests.evaluation.reporting import contents, rewrite, rolled_back
from tests.evaluation.test_registration import registered
from tests.evaluation.test_scales import better_and_worse
from tests.plots import undrawn
from tests.studies import make_dataset, make_study
from tests.templating import make_template_study

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


def released(study: Study, path: Path, version: str = "1.0") -> Path:
    release_study(study=study, terms=Terms(version, "CC0-1.0"), output=path, salt=b"not a secret here")
    return path


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


def rewritten(path: Path, name: str, value: Any, *, without: tuple[str, ...] = ()) -> None:
    """The bundle with another content of one file and without some, whose hashes fit again."""

    def change(files: dict[str, bytes]) -> None:
        files[name] = json.dumps(value, ensure_ascii=False, indent=1).encode() + b"\n"
        for gone in without:
            del files[gone]

    rewrite(path, change, hashed=True)


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


def test_a_bundle_from_before_there_were_outcomes_verifies(made_once: bytes, tmp_path: Path) -> None:
    with patch(
        "evaluation.reports.releases.making.Settings", lambda **values: Settings(**values | {"wording": 0})
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
    assert compare_releases(bundle, tmp_path / "b.zip")["hypotheses"] == []


def test_a_plan_that_was_taken_out_is_missed(bundle: Path) -> None:
    outcomes = json.loads(contents(bundle)["outcomes.json"])
    rewritten(bundle, "outcomes.json", outcomes, without=("registration.json",))
    said = "manifest.json names a registered plan, and registration.json is missing."
    assert said in verify_bundle(bundle).differences


@pytest.mark.usefixtures("undrawn")
def test_two_releases_tell_another_verdict_and_new_deviations(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study, before = make_registered(), bundle
    half = [f"u{number}" for number in range(4)]
    Judgment._base_manager.filter(unit__key__in=half).update(set_aside=True)
    note_event(study=study, what="resumed", sentence="Resumed.")
    after = released(study, tmp_path / "b.zip", "1.1")
    found = compare_releases(before, after)
    assert found["plan"] is True
    (changed,) = found["hypotheses"]
    verdicts = (changed["text"], changed["before"], changed["after"])
    assert verdicts == ("BLEU follows people.", "supported", "undecided")
    assert "p = .125" in changed["words"]
    assert [words.partition(": ")[2] for words in found["deviations"]["added"]] == ["resumed."]
    assert found["deviations"]["removed"] == []
    same = compare_releases(before, before)
    assert (same["hypotheses"], same["deviations"]) == ([], {"added": [], "removed": []})
    call_command("compare_releases", str(before), str(after))
    out = capsys.readouterr().out
    assert "BLEU follows people. supported to undecided" in out
    assert "more done otherwise than registered" in out


METRICS = ["bleu-1", "rouge-l", "cider"]
FEW: dict[str, Any] = {"sampling": {"images": 2}, "controls": {"per_hit": 1, "threshold": 0.0}}
PAIRS: dict[str, Any] = {"controls": {"per_hit": 1, "threshold": 0.0}}

# protocol -> sections that its report has beside those of every study
OWN = {
    "triplet": {"metrics", "tournament", "between-metrics"},
    "pairwise": {"metrics", "references", "tournament", "between-metrics"},
    "relevance": {"metrics", "thresholds", "rankings", "between-metrics"},
    "graded": {"metrics", "thresholds", "grades", "rankings", "between-metrics"},
    "slider": {"metrics", "thresholds", "grades", "between-metrics"},
    "best-worst": {"metrics", "captions", "between-metrics"},
    "caption": {"metrics", "leave-one-out"},
    "keywords": {"metrics", "keywords"},
    "grounding": {"metrics", "content"},
    "template": {"metrics", "questions"},
    "spans": {"metrics", "between-metrics", "spans"},
}

# what does not rest on the order of people's names, as random halves of them do
STEADY = {
    "collection", "agreement", "compared", "ties", "kappa", "grades", "rankings", "tournament",
    "tournament-by-metrics", "references", "metric-correlation", "captions", "leave-one-out", "keywords",
    "content", "questions", "spans", "span-errors", "answers", "numbers", "texts",
}  # fmt: skip


def ranking(system: str) -> None:
    """A system that ranks captions of other systems for each image."""
    made = make_dataset(systems=3)
    ranks = System.objects.create(dataset=made, name=system)
    captions = list(Caption.objects.filter(dataset=made, role="candidate").order_by("key"))
    for item in made.items.order_by("position"):
        for rank, caption in enumerate(captions[:6], start=1):
            Output.objects.create(system=ranks, item=item, caption=caption, rank=rank)


def drafted(protocol: str, folder: Path) -> Study:
    """A small open study of the kind; a kind that is named nowhere here gets one with its defaults."""
    if protocol == "template":
        return make_template_study(folder)
    if protocol in ("keywords", "grounding"):
        study = make_scene_study(
            make_scenes(images=4), protocol, judgments_per_unit=3, controls={"per_hit": 0}, units_per_hit=2
        )
        return Study.objects.get(pk=study.pk)
    if protocol in ("slider", "best-worst"):
        better_and_worse(systems=4)
        return make_study(protocol, **FEW)
    if protocol in ("relevance", "graded"):
        ranking("ranker")
        return make_study(protocol, **FEW)
    if protocol == "caption":
        return make_study(protocol, controls={"per_hit": 0})
    if KINDS[protocol].compares_pairs:
        make_dataset(references=8)  # HC pairs hold two of them out, and the curve takes five
        return make_study(protocol, **PAIRS)
    return make_study(protocol)


@pytest.mark.parametrize("protocol", [*KINDS])
def test_the_release_of_a_kind_has_the_whole_report_and_verifies(protocol: str, tmp_path: Path) -> None:
    study = drafted(protocol, tmp_path)
    rehearse(study=study, crowd=Crowd(workers=5, spammers=0.0, seed=5, drop_outs=0.0))
    study.refresh_from_db()
    mark_closed(study=study)
    if not KINDS[protocol].comparison.refusal:
        evaluate_study(study=study, metrics=METRICS)  # fewer than by default, for smaller matrices
    path = tmp_path / "release.zip"
    with undrawn("pdf", "png"):  # of a figure's files, the SVG is looked at
        made, _ = release_study(
            study=study, terms=Terms("1.0", "CC0-1.0"), output=path, salt=b"not a secret here"
        )
    found = verify_bundle(path)
    assert found.differences == ()
    with ZipFile(path) as bundle:
        names = set(bundle.namelist())
        told = json.loads(bundle.read("report/report.json"))
        figures = [one["name"] for section in told["sections"] for one in section["figures"]]
        svgs = [bundle.read(f"report/figures/{name}.svg").decode() for name in figures]
    assert told["signature"] == made.signature
    tables = {table["name"] for section in told["sections"] for table in section["tables"]}
    methods = " ".join(told["methods"])
    assert ("The best is compared with each other one" in methods) == ("compared" in tables)
    assert ("how often they were the best of those shown" in methods) == ("captions-best" in tables)
    sections = {one["name"] for one in told["sections"]}
    assert sections == {"collection", "agreement", "workers", *OWN.get(protocol, sections)}
    assert all(f"{protocol}|" in svg for svg in svgs)  # the signature at their foot begins with it
    # Which system made which text of a span study stands in no bundle, nor does the verdict on systems.
    live = ("systems-by-errors", "verdict")
    ours = [one for one in build_report(study).sections if one.name not in live]
    assert [one["name"] for one in told["sections"]] == [one.name for one in ours]
    compared = 0
    for theirs, own in zip(told["sections"], as_json(ours), strict=True):
        for part in ("tables", "figures"):
            assert [one["name"] for one in theirs[part]] == [one["name"] for one in own[part]]
            for one, two in zip(theirs[part], own[part], strict=True):
                assert f"report/{part}/{one['name']}.csv" in names
                if one["name"] in STEADY:
                    assert describe_differences(one["rows"], two["rows"], one["name"]) == []
                    compared += 1
    assert compared > 1


def test_a_release_of_captions_from_before_they_were_ranked_verifies(tmp_path: Path) -> None:
    study = drafted("caption", tmp_path)
    rehearse(study=study, crowd=Crowd(workers=5, spammers=0.0, seed=5, drop_outs=0.0))
    study.refresh_from_db()
    mark_closed(study=study)
    with patch(
        "evaluation.reports.releases.making.Settings", lambda **values: Settings(**values | {"wording": 0})
    ):
        bundle = released(study, tmp_path / "a.zip")
    report = json.loads(contents(bundle)["report/report.json"])
    (section,) = [one for one in report["sections"] if one["name"] == "leave-one-out"]
    section["tables"] = [one for one in section["tables"] if one["name"] != "rank-correlations"]
    rewritten(bundle, "report/report.json", report, without=("report/tables/rank-correlations.csv",))
    assert verify_bundle(bundle).differences == ()
