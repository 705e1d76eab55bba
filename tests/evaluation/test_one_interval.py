"""One number has one value, interval and p: at commands, pages, calls, reports and releases of one study."""

import csv
import json
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from contrib.judgment_imports.importing import import_judgments
from evaluation.data.releases.bundle import BundleReader
from evaluation.data.releases.terms import ReleaseTerms
from evaluation.models import Analysis
from evaluation.reports.loading import load_inputs
from evaluation.reports.releases.making import release_study
from evaluation.reports.releases.verification import read_bundle, verify_bundle, verify_study
from evaluation.results.aggregation import compute_aggregation
from evaluation.results.standings import Standings
from judgments.importers import ColumnMapping
from judgments.models import Item, Output, Study, System
from tests.evaluation.studies import StudyOf, candidate, make_dataset
from tests.evaluation.test_scales import better_and_worse, rehearsed
from tests.marks import long_except

pytestmark = pytest.mark.django_db
Row = tuple[float | None, ...]
Doors = dict[str, dict[str, Row]]  # of each door, systems with value, low, high, n and p
ENDS = ("value", "low", "high", "n")


@pytest.fixture(scope="module")
def animals(module_db: None) -> None:
    better_and_worse()


def figures(rows: Any, share: str = "", p: Mapping[str, float | None] | None = None) -> dict[str, Row]:
    """System -> value, low, high, n, and p where a door has it."""
    of_system = {}
    for row in rows:
        of_row = row[share] if share else row
        of_system[row["system"]] = tuple(of_row[name] for name in ENDS)
        if p is not None:
            of_system[row["system"]] += (p.get(row["system"]),)
    return of_system


def of_standings(standings: Standings | None) -> dict[str, Row]:
    assert standings is not None
    rows = [{"system": name, **figure} for name, figure in standings.figures.items()]
    return figures(rows, p=standings.compare().compared)


def of_strengths(told: Mapping[str, Any], share: str, n: str) -> dict[str, Row]:
    names = (share, f"{share}_low", f"{share}_high", n, "p")
    return {row["system"]: tuple(row[name] for name in names) for row in told["systems"]}


def commanded(name: str, study: Study, folder: Path, *options: str) -> dict[str, Any]:
    path = folder / f"{name}.json"
    call_command(name, study.slug, *options, "--output", path, stdout=StringIO())
    told: dict[str, Any] = json.loads(path.read_text())
    return told


def doors_of(study: Study, folder: Path, client: Client) -> tuple[Doors, dict[str, Any]]:
    """Return what the doors of every kind say, and the verdict of the command."""
    told = commanded("aggregate", study, folder)
    verdict = told["systems_verdict"]
    stored = Analysis.objects.newest(study, Analysis.Kind.AGGREGATION)
    assert stored is not None
    of_page = stored.result["systems_verdict"]
    called = client.get(f"/api/studies/{study.slug}/agreement/").json()["result"]["systems_verdict"]
    doors = {
        door: figures(said["systems"], p=said["compared"])
        for door, said in (("command", verdict), ("page", of_page), ("call", called))
    }
    assert verify_study(study=study).differences == ()
    first = verdict["systems"][0]
    assert [verdict[name] for name in ENDS[:3]] == [first[name] for name in ENDS[:3]]
    assert verdict["scope"] == ("items and people" if verdict["raters"] else "these people")
    return doors, verdict


def released(study: Study, folder: Path) -> Standings | None:
    """Return what a release's rows say, after it verifies."""
    path = folder / "release.zip"
    release_study(study=study, terms=ReleaseTerms("1.0", "CC0-1.0"), output=path, salt=b"not a secret here")
    assert verify_bundle(path).differences == ()
    reader = BundleReader(path)
    try:
        return read_bundle(reader).findings.inputs.standings
    finally:
        reader.close()


def assert_equal(doors: Doors) -> None:
    (_, expected), *others = doors.items()
    assert len(expected) >= 2
    for door, found in others:
        assert set(found) == set(expected), door
        for system, row in found.items():
            assert row == pytest.approx(expected[system][: len(row)], nan_ok=True), (door, system)


@pytest.mark.long
@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("protocol", "share"), [("pairwise", ""), ("triplet", ""), ("graded", "mean"), ("relevance", "yes")]
)
def test_systems_have_one_interval_and_p_at_every_door(
    animals: None, protocol: str, share: str, tmp_path: Path, admin_client: Client
) -> None:
    study = rehearsed(protocol, f"one-{protocol}", accuracy=0.8, controls={"per_hit": 0})
    Study.objects.filter(pk=study.pk).update(simulated=False, state=Study.State.CLOSED)
    study.refresh_from_db()
    doors, _ = doors_of(study, tmp_path, admin_client)
    doors["report"] = of_standings(load_inputs(study).standings)
    doors["release"] = of_standings(released(study, tmp_path))
    if share:
        doors["table"] = figures(compute_aggregation(study=study).result["systems"], share)
    else:
        command = commanded("strengths", study, tmp_path)
        assert command["scope"] == "items and people"
        doors["strengths"] = of_strengths(command, "won", "pairs")
        called = admin_client.get(f"/api/studies/{study.slug}/strengths/").json()
        doors["strengths by call"] = of_strengths(called, "won", "pairs")
    assert_equal(doors)


def test_the_best_of_several_has_one_interval_and_p(
    animals: None, tmp_path: Path, admin_client: Client
) -> None:
    study = rehearsed("best-worst", "one-best", accuracy=0.8, controls={"per_hit": 0})
    doors, _ = doors_of(study, tmp_path, admin_client)
    doors["strengths"] = of_strengths(commanded("strengths", study, tmp_path), "best", "shown")
    called = admin_client.get(f"/api/studies/{study.slug}/strengths/").json()
    doors["strengths by call"] = of_strengths(called, "best", "shown")
    assert_equal(doors)


def test_marked_errors_have_one_interval_and_p(animals: None, tmp_path: Path, admin_client: Client) -> None:
    study = rehearsed("spans", "one-spans", accuracy=0.8, controls={"per_hit": 0})
    doors, verdict = doors_of(study, tmp_path, admin_client)
    best, other = verdict["systems"][0]["system"], verdict["systems"][1]["system"]
    command = commanded("error_spans", study, tmp_path, "--compare", best, other)
    called = admin_client.get(f"/api/studies/{study.slug}/error-spans/?first={best}&second={other}").json()
    page = admin_client.get(reverse("admin:judgments_study_errors", args=[study.pk]))
    for door, told in (("errors", command), ("errors by call", called)):
        rows = [row | {"value": row["score"], "n": row["segments"]} for row in told["systems"]]
        doors[door] = figures(rows)
        assert told["scope"] == verdict["scope"] == "items and people"
    doors["page of errors"] = {
        row.system: (row.score, row.low, row.high, row.segments) for row in page.context["scores"]
    }
    assert_equal(doors)
    assert called["comparison"] == pytest.approx(command["comparison"])


def test_of_two_systems_with_marked_errors_the_comparison_has_the_p_of_the_verdict(tmp_path: Path) -> None:
    study = spans_of_two(documents=4)
    told = commanded("aggregate", study, tmp_path)["systems_verdict"]
    pair = commanded("error_spans", study, tmp_path, "--compare", "good", "poor")["comparison"]
    assert pair["p"] == pytest.approx(told["p"])
    assert told["compared"] == {"poor": pytest.approx(told["p"])}


def spans_of_two(*, documents: int, protocol: str = "spans") -> Study:
    """Twelve items of so many documents, each judged by three people who differ by document."""
    names = [f"s{number}" for number in range(12)]
    dataset = make_dataset("talks", {name: [f"a person's {name}"] for name in names})
    spans = protocol == "spans"
    design: dict[str, Any] = {"judged": "translation", "language": "de"} if spans else {}
    made = StudyOf(dataset, protocol, **design)
    for number, name in enumerate(names):
        Item.objects.filter(dataset=dataset, name=name).update(
            # As long as an article of a HIT template's input.
            fields=[["talk", f"talk {number % documents}\n" + "It goes on. " * 30]] if documents else []
        )
    units = [
        made.unit(f"{system}-{name}", name, first=f"{system} {name}")
        for system in ("good", "poor")
        for name in names
    ]
    for system in ("good", "poor"):
        gives(made, system, names)
    hit = made.hit("h1", units)
    for rater in range(3):
        answers: list[dict[str, Any]] = [
            {"spans": [], "score": 60 + 10 * (place < 12) + 5 * (place % 4) + (place * 7 + rater * 3) % 5}
            for place in range(24)
        ]
        grades = [1 + answer["score"] % 4 for answer in answers]
        made.answer(hit, f"w{rater}", answers if spans else grades)
    return made.study


def test_segments_of_a_talk_are_one_cluster(tmp_path: Path) -> None:
    """Scores differ by talk, so that twelve segments of four talks say less than twelve talks."""
    widths = {}
    for documents in (4, 12, 1):
        study = spans_of_two(documents=documents)
        first = commanded("aggregate", study, tmp_path)["systems_verdict"]["systems"][0]
        widths[documents] = first["high"] - first["low"]
        Study.objects.all().delete()
        study.dataset.delete()
    assert widths[4] > 1.5 * widths[12]
    assert widths[1] == pytest.approx(widths[12])  # a single talk says nothing of others


@pytest.mark.usefixtures("undrawn")
def test_a_release_of_talks_has_the_interval_of_the_study(tmp_path: Path, admin_client: Client) -> None:
    names = [f"s{number}" for number in range(8)]
    made = StudyOf(make_dataset("talks", {name: [f"a person's {name}"] for name in names}), "graded")
    for number, name in enumerate(names):
        Item.objects.filter(name=name).update(fields=[["document", f"talk {number % 3}"]])
    for system in ("good", "poor"):
        gives(made, system, names)
    units = [
        made.unit(f"{system}-{name}", name, first=f"{system} {name}")
        for system in ("good", "poor")
        for name in names
    ]
    hit = made.hit("h1", units)
    for rater in range(3):
        values = [1 + (place < 8) + (place % 8 % 3 + rater * place) % 3 for place in range(16)]
        made.answer(hit, f"w{rater}", values)
    doors, _ = doors_of(made.study, tmp_path, admin_client)
    doors["release"] = of_standings(released(made.study, tmp_path))
    assert_equal(doors)
    rows = [
        json.loads(line) for line in BundleReader(tmp_path / "release.zip").text("units.jsonl").splitlines()
    ]
    assert {row["document"] for row in rows} == {"talk 0", "talk 1", "talk 2"}


def gives(made: StudyOf, name: str, items: list[str]) -> None:
    system = System.objects.create(dataset=made.dataset, name=name)
    for item in Item.objects.filter(dataset=made.dataset, name__in=items):
        text = candidate(made.dataset, f"{name} {item.name}")
        Output.objects.create(system=system, item=item, caption=text)


CASES: dict[str, tuple[str, str, dict[str, str]]] = {
    "four-raters": (
        "graded", "mean",
        {"image": "image", "first_text": "cap", "system": "sys", "worker": "rater", "value": "stars"},
    ),
    "three-votes": (
        "pairwise", "",
        {"image": "image", "first_text": "x", "second_text": "y", "system": "a", "second_system": "b",
         "worker": "rater", "value": "best"},
    ),
}  # fmt: skip
CASES["eleven-votes"] = CASES["three-votes"]


def imported(shared: Path, case: str) -> Study:
    protocol, _, columns = CASES[case]
    file = shared / "cases" / f"{case}.csv"
    with file.open(newline="") as rows:
        images = {row["image"]: [f"{row['image']} by a person"] for row in csv.DictReader(rows)}
    make_dataset("cases", images)
    mapping = ColumnMapping(columns={name: (source,) for name, source in columns.items()})
    import_judgments(format="csv", path=file, dataset="cases", study=case, protocol=protocol, mapping=mapping)
    return Study.objects.get(slug=case)


@pytest.mark.parametrize("case", CASES)
def test_imported_cases_say_the_same_at_every_door(
    shared: Path, tmp_path: Path, admin_client: Client, case: str
) -> None:
    study = imported(shared, case)
    doors, verdict = doors_of(study, tmp_path, admin_client)
    doors["report"] = of_standings(load_inputs(study).standings)
    share = CASES[case][1]
    if share:
        doors["table"] = figures(compute_aggregation(study=study).result["systems"], share)
    else:
        doors["strengths"] = of_strengths(commanded("strengths", study, tmp_path), "won", "pairs")
    assert_equal(doors)
    assert verdict["scope"] == "items and people"
    if case == "four-raters":
        assert not verdict["settled"]
        assert verdict["sentence"].startswith("No winner yet. ")
        assert "winner is" not in verdict["sentence"]
    else:
        assert verdict["settled"]
        assert verdict["sentence"].startswith("The winner is sa")
        assert verdict["low"] >= (0.75 if case == "eleven-votes" else 0.6)


@pytest.mark.parametrize("protocol", long_except(["triplet", "graded"], "graded"))
def test_agreement_of_the_exported_file_is_that_of_the_study(
    animals: None, tmp_path: Path, protocol: str
) -> None:
    study = rehearsed(protocol, f"exported-{protocol}", accuracy=0.8, controls={"per_hit": 0})
    expected = commanded("aggregate", study, tmp_path)["agreement"]
    file, output = tmp_path / "judgments.jsonl", tmp_path / "agreement.json"
    call_command(
        "export_judgments", study.slug, "--format", "jsonl", "--output", str(file), stdout=StringIO()
    )
    call_command(
        "agreement", str(file), "--coefficient", "percent,gwet", "--output", str(output), stdout=StringIO()
    )
    found = json.loads(output.read_text())
    for name, study_s in {"alpha": expected["alpha"], **expected["coefficients"]}.items():
        if name == "fleiss":
            continue
        of_file = found["alpha"] if name == "alpha" else found["coefficients"][name]
        ends = [[figure[end] for end in ("value", "low", "high")] for figure in (of_file, study_s)]
        assert ends[0] == pytest.approx(ends[1]), name


@pytest.mark.parametrize("protocol", long_except(["spans", "graded"], "spans"))
def test_agreement_of_an_exported_file_is_by_document_too(tmp_path: Path, protocol: str) -> None:
    study = spans_of_two(documents=4, protocol=protocol)
    expected = commanded("aggregate", study, tmp_path)["agreement"]["alpha"]
    assert expected["clusters"] == {"item": 4, "rater": 3}
    for suffix in ("jsonl", "csv"):
        file, output = tmp_path / f"judgments.{suffix}", tmp_path / "agreement.json"
        call_command(
            "export_judgments", study.slug, "--format", suffix, "--output", str(file), stdout=StringIO()
        )
        call_command("agreement", str(file), "--output", str(output), stdout=StringIO())
        found = json.loads(output.read_text())["alpha"]
        assert found == pytest.approx({end: expected[end] for end in ("value", "low", "high")})
    if protocol == "graded":
        compared = tmp_path / "compared.json"
        call_command("agreement", f"study:{study.slug}", second=file, output=compared, stdout=StringIO())
        for source in ("first", "second"):
            alpha = json.loads(compared.read_text())[source]["alpha"]
            assert (alpha["low"], alpha["high"]) == pytest.approx((expected["low"], expected["high"]))
