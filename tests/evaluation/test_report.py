"""Reports: the figures and files of a study, the same bytes for the same judgments, and its page."""

import csv
import errno
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from evaluation.data.judgment_sets.records import UnitRow
from evaluation.errors import ExportError
from evaluation.models import Analysis
from evaluation.presentation.content import Column, Estimate, Table
from evaluation.presentation.rendering import render_report, render_table
from evaluation.reports import storage
from evaluation.reports.loading import load_inputs
from evaluation.reports.sections.captions import letters_of
from evaluation.reports.sections.people import halves_of_votes, one_against_mean
from evaluation.reports.storage import build_report, write_folder
from evaluation.results.meta_evaluation import evaluate_study
from evaluation.results.rankings import corrected_success
from evaluation.statistics.ranking import judge_rankings
from judgments.models import Item, Output, Study, System
from tests.evaluation.reporting import IMAGES, PETS, graded, pairwise, rolled_back, written
from tests.evaluation.studies import StudyOf, candidate, make_dataset
from tests.plots import cut_fonts_again

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def drawn(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, bytes]:
    """The files of a report, drawn once for all tests here; the study behind them is gone again."""
    with rolled_back(django_db_blocker):
        return written(pairwise().study, tmp_path_factory.mktemp("drawn") / "report")


def test_the_same_judgments_give_the_same_bytes(drawn: dict[str, bytes], tmp_path: Path) -> None:
    cut_fonts_again()
    assert written(pairwise().study, tmp_path / "again") == drawn


def test_a_manifest_names_the_files_and_their_hashes(drawn: dict[str, bytes]) -> None:
    first = dict(drawn)
    manifest = json.loads(first.pop("manifest.json"))
    assert manifest["files"].keys() == first.keys()
    for name, content in first.items():
        assert manifest["files"][name] == {
            "bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
    texts = {f"{name}.{form}" for name in ("report", "methods") for form in ("md", "tex")}
    assert {"index.html", "references.bib", "report.json", *texts} < first.keys()
    for form in ("svg", "pdf", "png", "csv"):
        assert f"figures/accuracy.{form}" in first
    for form in ("html", "csv", "tex", "md"):
        assert f"tables/accuracy.{form}" in first
    assert b"<script" not in first["index.html"]
    # a page has the signature once, a file on its own travels with it
    assert (b"|pairs:" in first["figures/accuracy.svg"]) > (b"|pairs:" in first["figures/accuracy.page.svg"])
    assert first["index.html"].count(b"|pairs:") == 1
    assert first["figures/accuracy.pdf"].startswith(b"%PDF")
    assert b"CreationDate" not in first["figures/accuracy.pdf"]


def test_a_report_says_what_evaluate_says() -> None:
    study = pairwise().study
    found = evaluate_study(study=study, metrics=["bleu-1", "rouge-l"], tokenizer="space")
    report = build_report(study)
    (table,) = (table for table in report.tables if table.name == "accuracy")
    rows = list(csv.DictReader(render_table(table, "csv").splitlines()))
    for row in rows[:2]:
        cell = found["metrics"][row["metric"]]["accuracy"]["HM"]
        assert float(row["HM"]) == cell["value"] == 0.5
        assert [float(row["HM low"]), float(row["HM high"])] == pytest.approx([cell["low"], cell["high"]])
    assert [row["metric"] for row in rows] == ["bleu-1", "rouge-l"]
    (table,) = (table for table in report.tables if table.name == "halves")
    reached = {row["who"]: row["HM"] for row in csv.DictReader(render_table(table, "csv").splitlines())}
    assert float(reached["half of the people"]) == float(reached["most an answer can reach"]) == 1.0
    assert float(reached["bleu-1"]) == found["halves"]["HM"]["metrics"]["bleu-1"]["value"] == 0.5
    assert report.settings["meta-evaluation"]["tok"] == "space"
    assert not Analysis.objects.filter(what=Analysis.What.REPORT).exists()


def test_the_curve_of_references_ends_in_the_accuracy_with_all_of_them() -> None:
    images = {name: [f"a {thing} number {place}" for place in range(6)] for name, thing in PETS.items()}
    made = StudyOf(make_dataset("pets", images), "pairwise")
    one = made.pair("p1", "a.jpg", "a dog number 3", "blue cars", kind="HM")
    two = made.pair("p2", "b.jpg", "green hills", "a cat number 2", kind="HM")
    made.answer(made.hit("h1", [made.unit("u1", pair=one), made.unit("u2", pair=two)]), "w-1", [1, 1])
    report = build_report(made.study, metrics=["rouge-l"])
    tables = {table.name: table for table in report.tables}
    curve = {row[2]: row[3] for row in tables["references"].rows}
    assert list(curve) == [1, 2, 3, 5, 6]
    assert curve[6] == tables["accuracy"].rows[0][1]
    assert isinstance(curve[6], Estimate)
    assert curve[6].value == 0.5


def test_graded_studies_get_correlations_and_threshold_grids() -> None:
    report = build_report(graded().study, metrics=["bleu-1", "rouge-l"])
    plots = {plot.name for plot in report.plots}
    matrices = {f"metric-correlation-{end}" for end in ("r", "rho", "tau-b")}
    assert {"agreement", "worker-pairs", "correlation", "kappa"} | matrices <= plots
    (kappa,) = [table for table in report.tables if table.name == "kappa"]
    assert {row[0] for row in kappa.rows} == {"bleu-1", "rouge-l", "one judge"}
    assert {"kendall1945", "cohen1960", "papineni2002", "lin2004"} <= set(report.citations)


def test_metrics_that_order_captions_alike_share_a_letter() -> None:
    """Williams' test cannot tell a metric from itself on another scale; against noise it can."""
    made = StudyOf(make_dataset("pets", IMAGES), "graded")
    texts = ["A dog runs on grass now", "A dog runs", "A dog", "Cars", "Blue cars ahead", "Dog on grass"]
    texts.append("The dog runs on")
    units = [made.unit(f"u{number}", "a.jpg", first=text) for number, text in enumerate(texts)]
    made.answer(made.hit("h1", units), "w-1", [4, 3, 3, 1, 1, 3, 4])
    tables = {table.name: table for table in build_report(made.study, metrics=["bleu-1", "rouge-l"]).tables}
    rows = {row[0]: row for row in tables["clusters"].rows}
    inputs = load_inputs(made.study, metrics=["bleu-1", "rouge-l"])
    assert inputs.people is not None
    for name, row in rows.items():
        assert row[1] == pytest.approx(np.corrcoef(inputs.scores[str(name)][:, 0], inputs.people)[0, 1])
    ((one, two, p, adjusted),) = tables["williams"].rows
    assert {one, two} == {"bleu-1", "rouge-l"}
    assert p == adjusted
    assert isinstance(p, float)
    assert (rows["bleu-1"][2] == rows["rouge-l"][2]) == (p > 0.05)


def proposing(made: StudyOf, system: str, proposals: dict[str, list[str]]) -> None:
    """A system that proposes texts for images, in order."""
    row = System.objects.create(dataset=made.dataset, name=system)
    for image, texts in proposals.items():
        item = Item.objects.get(dataset=made.dataset, name=image)
        for rank, text in enumerate(texts, start=1):
            caption = candidate(made.dataset, text)
            Output.objects.create(system=row, item=item, caption=caption, rank=rank)


def test_systems_are_told_apart_by_the_grades_of_their_first_captions() -> None:
    """H13 table 1 by hand: means 4, 3 2/3 and 1 against 1, 1 and 1."""
    images = {f"{number}.jpg": ["a dog"] for number in range(3)}
    made = StudyOf(make_dataset("pets", images), "graded")
    proposing(made, "good", {f"{number}.jpg": [f"good {number}"] for number in range(3)})
    proposing(made, "poor", {f"{number}.jpg": [f"poor {number}", f"good {number}"] for number in range(3)})
    units = [
        made.unit(f"{name}-{number}", f"{number}.jpg", first=f"{name} {number}")
        for name in ("good", "poor")
        for number in range(3)
    ]
    hit = made.hit("h1", units)
    for name, values in (("w-1", [4, 4, 1]), ("w-2", [4, 4, 1]), ("w-3", [4, 3, 1])):
        made.answer(hit, name, [*values, 1, 1, 1])
    tables = {table.name: table for table in build_report(made.study, metrics=["bleu-1"]).tables}
    good, poor = tables["grades"].rows
    assert (good[0], poor[0]) == ("good", "poor")
    shares = [cell.value for cell in good[1:8] if isinstance(cell, Estimate)]
    assert shares == pytest.approx([1 / 3, 2 / 3, 2 / 3, 2 / 3, 2 / 3, 2 / 3, 2 / 3])
    assert good[8] == pytest.approx((4 + 11 / 3 + 1) / 3)
    assert [cell.value for cell in poor[1:8] if isinstance(cell, Estimate)] == [0.0] * 7
    tests = {row[0]: row[3] for row in tables["grade-tests"].rows}
    assert tests["≥ 4"] == 1.0  # one discordant image
    assert tests["≥ 3.66"] == 0.5  # two: 2 / 2^2
    (rankings,) = [row for row in tables["rankings"].rows if row[0] == "poor"]
    # a relevant caption second, where there is one at all
    assert [cell.value for cell in rankings[1:3] if isinstance(cell, Estimate)] == [0.0, 1.0]


def test_what_the_filter_left_out_counts_with_the_audited_share() -> None:
    """A sure hit, then one and two captions that nobody judged: 1, q and 1 - (1 - q)^2 by hand."""
    judged = judge_rankings([["a"], ["x"], ["x", "y"]], [{"a": 1.0}, {"b": 1.0}, {"c": 0.0}])
    audit = {"share": 0.25, "low": 0.0, "high": 0.5}
    at_one, at_two = corrected_success(judged, 1, audit), corrected_success(judged, 2, audit)
    assert at_one.value == pytest.approx((1 + 0.25 + 0.25) / 3)
    assert at_two.value == pytest.approx((1 + 0.25 + 1 - 0.75**2) / 3)
    assert (at_two.low, at_two.high) == (pytest.approx(1 / 3), pytest.approx((1 + 0.5 + 0.75) / 3))


def test_the_papers_behind_the_protocols_are_cited_as_they_call_themselves(shared: Path) -> None:
    names = {
        "hodosh2013": "hodosh-2013", "vedantam2015": "vedantam-2015", "wang2015": "wang-gaizauskas-2015",
        "wang2016": "wang-gaizauskas-2016", "mason2012": "mason-charniak-2012",
    }  # fmt: skip
    for key, name in names.items():
        text = (shared / "papers" / f"{name}.txt").read_text(encoding="utf-8")
        head = re.sub(r"[^a-z0-9]+", " ", text[:6000].lower())
        fields = storage.fields_of(key)
        assert re.sub(r"[^a-z0-9]+", " ", fields["title"].lower()).strip() in head, key
        for author in fields["author"].split(" and "):
            assert author.split(",")[0].lower() in head, author
        if "pages" in fields and key in ("hodosh2013", "wang2015", "mason2012"):  # printed in the paper
            assert fields["pages"].replace("--", " ") in head, key


def test_a_study_without_judgments_says_so_and_draws_nothing(tmp_path: Path) -> None:
    study = StudyOf(make_dataset("pets", IMAGES), "graded").study
    report = build_report(study)
    assert report.plots == []
    assert [section.empty for section in report.sections if section.name == "metrics"] == [
        f"Study {study.slug!r} has no judged caption with references to hold a metric against."
    ]
    assert "Nobody has judged anything yet" in written(study, tmp_path / "report")["index.html"].decode()


def test_words_mean_themselves_in_every_form() -> None:
    name = '<b>$x_1$ & 50% | `a` \\input{x} {"~^#'
    columns = (Column("system"), Column("won", "share"))
    table = Table("t", name, columns, ((name, Estimate(0.5)), ("=1+1", None)))
    assert "<b>" not in render_table(table, "html")
    assert r"\$x\_1\$ \& 50\% \textbar{} `a` \textbackslash{}input\{x\}" in render_table(table, "tex")
    row = render_table(table, "md").splitlines()[2]
    assert len(re.findall(r"(?<!\\)\|", row)) == 3
    assert next(csv.reader([render_table(table, "csv").splitlines()[2]]))[0] == "'=1+1"


def test_latex_is_balanced_and_holds_no_letter_that_its_fonts_lack() -> None:
    study = pairwise().study
    Study.objects.filter(pk=study.pk).update(name="狗 & 50 % {of} the_dogs")
    study.refresh_from_db()
    text = render_report(build_report(study), "tex")
    assert re.findall(r"\\begin\{(\w+)\}", text).count("table") == re.findall(r"\\end\{(\w+)\}", text).count(
        "table"
    )
    bare = text.replace(r"\\", "").replace(r"\{", "").replace(r"\}", "")
    assert bare.count("{") == bare.count("}")
    assert re.findall(r"[^\x00-\u017f]", text) == []
    assert re.findall(r"(?<!\\)%(?!$)", bare, flags=re.M) == []


def test_every_work_that_can_be_cited_has_an_entry() -> None:
    named = {key for keys in (*storage.METRICS.values(), *storage.SOURCES.values()) for key in keys}
    assert named | set(storage.PRESETS.values()) <= storage.ENTRIES.keys()
    assert storage.sources_of_metric("bleu-h13|x:1") == ("hodosh2013", "papineni2002")
    assert storage.cite_in_text("mcnemar1947") == "McNemar, 1947"
    assert storage.cite_in_text("vedantam2015") == "Vedantam et al., 2015"
    assert storage.bibtex(["holm1979", "cohen1960"]).index("cohen1960") == len("@article{")


def test_letters_are_shared_by_what_cannot_be_told_apart() -> None:
    """a differs from c alone: Piepho's smallest example gives a, ab, b."""
    differs = np.zeros((3, 3), dtype=bool)
    differs[0, 2] = differs[2, 0] = True
    assert letters_of(differs) == ["a", "ab", "b"]
    assert letters_of(np.zeros((2, 2), dtype=bool)) == ["a", "a"]
    assert letters_of(~np.eye(3, dtype=bool)) == ["a", "b", "c"]
    # Piepho's (2004) third example: eight treatments, five differences
    differs = np.zeros((8, 8), dtype=bool)
    for one, two in ((1, 7), (1, 8), (2, 4), (2, 5), (3, 5)):
        differs[one - 1, two - 1] = differs[two - 1, one - 1] = True
    found = letters_of(differs)
    for one in range(8):
        for two in range(8):
            if one != two:
                assert bool(set(found[one]) & set(found[two])) != differs[one, two]


def test_people_reach_one_where_all_agree_and_chance_where_halves_are_opposite() -> None:
    units = [UnitRow(pk, str(pk), "HC", pk) for pk in range(10)]
    unit = np.repeat(np.arange(10), 2)
    agreed = halves_of_votes(unit, np.ones(20), units, seed=1)
    assert (agreed["all"].value, agreed["HC"].n) == (1.0, 10)
    opposed = halves_of_votes(unit, np.tile([1.0, 2.0], 10), units, seed=1)
    assert opposed["all"].value == 0.0
    alone = halves_of_votes(np.arange(10), np.ones(10), units, seed=1)
    assert alone["all"].value is None
    same = one_against_mean(
        np.repeat(np.arange(4), 2), np.repeat([1.0, 2.0, 3.0, 4.0], 2), seed=1, resamples=100
    )
    assert same.value == pytest.approx(1.0)


@pytest.mark.parametrize("held", ["file", "folder of something else", "no folder to stand in"])
def test_a_place_that_is_no_report_is_left_alone(tmp_path: Path, held: str) -> None:
    place = tmp_path / "place"
    if held == "file":
        place.write_text("mine")
    elif held == "folder of something else":
        place.mkdir()
        (place / "thesis.tex").write_text("mine")
    else:
        place = place / "below"
    with pytest.raises(CommandError, match=str(place.parent if "no folder" in held else place)):
        call_command("report", pairwise().study.slug, "--output", str(place))
    assert [path.read_text() for path in tmp_path.rglob("*") if path.is_file()] == ["mine"] * (
        "no folder" not in held
    )


def test_a_report_is_replaced_whole(tmp_path: Path) -> None:
    study = StudyOf(make_dataset("pets", IMAGES), "graded").study  # without judgments nothing is drawn
    written(study, tmp_path / "report")
    (tmp_path / "report" / "left-over.txt").write_text("of an earlier version")
    assert "left-over.txt" not in written(study, tmp_path / "report")
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_a_report_that_cannot_be_replaced_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "report"
    write_folder(folder, [("manifest.json", b"{}")], mark="manifest.json")
    rename = Path.rename

    def no_second_rename(self: Path, target: Path) -> Path:
        if self.suffix == ".part":
            raise OSError(errno.ENOSPC, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", no_second_rename)
    with pytest.raises(ExportError, match="No space left"):
        write_folder(folder, [("manifest.json", b"{} ")], mark="manifest.json")
    assert (folder / "manifest.json").read_bytes() == b"{}"
    assert [path.name for path in tmp_path.iterdir()] == ["report"]
