"""Releases of each kind, which follow from their rows."""

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch
from zipfile import ZipFile

import pytest

from common.amounts import as_json
from contrib.hit_templates.tests.templating import make_template_study
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from evaluation.data.releases.settings import ReleaseSettings
from evaluation.data.releases.terms import ReleaseTerms
from evaluation.reports.releases.making import release_study
from evaluation.reports.releases.verification import describe_differences, verify_bundle
from evaluation.reports.storage import build_report
from evaluation.results.metrics.storage import evaluate_study
from judgments.kinds import KINDS
from judgments.models import Caption, Output, Study, System
from judgments.studies.studies import mark_closed
from tests.annotation.casting import make_study as make_scene_study
from tests.annotation.scenes import make_scenes
from tests.evaluation.reporting import contents, released, rewritten
from tests.evaluation.test_scales import better_and_worse
from tests.plots import undrawn
from tests.studies import make_dataset, make_study

pytestmark = pytest.mark.django_db


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


@pytest.mark.long
@pytest.mark.parametrize("protocol", [*KINDS])
def test_the_release_of_a_kind_has_the_whole_report_and_verifies(protocol: str, tmp_path: Path) -> None:
    study = drafted(protocol, tmp_path)
    rehearse(study=study, crowd=RehearsalCrowd(workers=5, spammers=0.0, seed=5, drop_outs=0.0))
    study.refresh_from_db()
    mark_closed(study=study)
    if not KINDS[protocol].comparison.refusal:
        evaluate_study(study=study, metrics=METRICS)  # fewer than by default, for smaller matrices
    path = tmp_path / "release.zip"
    with undrawn("pdf", "png"):  # of a figure's files, the SVG is looked at
        made, _ = release_study(
            study=study, terms=ReleaseTerms("1.0", "CC0-1.0"), output=path, salt=b"not a secret here"
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


@pytest.mark.long
def test_a_release_of_captions_from_before_they_were_ranked_verifies(tmp_path: Path) -> None:
    study = drafted("caption", tmp_path)
    rehearse(study=study, crowd=RehearsalCrowd(workers=5, spammers=0.0, seed=5, drop_outs=0.0))
    study.refresh_from_db()
    mark_closed(study=study)
    with patch(
        "evaluation.reports.releases.making.ReleaseSettings",
        lambda **values: ReleaseSettings(**values | {"wording": 0}),
    ):
        bundle = released(study, tmp_path / "a.zip")
    report = json.loads(contents(bundle)["report/report.json"])
    (section,) = [one for one in report["sections"] if one["name"] == "leave-one-out"]
    section["tables"] = [one for one in section["tables"] if one["name"] != "rank-correlations"]
    (section,) = [one for one in report["sections"] if one["name"] == "agreement"]
    section["empty"] = (
        "Agreement is not measured: sentences have no parts that two people would have to agree on; leave_one_out "
        "holds each caption against the others of its image (WG16 §4)."
    )
    rewritten(bundle, "report/report.json", report, without=("report/tables/rank-correlations.csv",))
    assert verify_bundle(bundle).differences == ()
