"""Reports: figures and files, floors and ceilings worked out by hand, readings, the page and each of its files."""

import csv
import errno
import hashlib
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from common.amounts import p_in_text, p_value
from config.observing.logs import without_secrets
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from evaluation.data.judgment_sets.records import UnitRow
from evaluation.errors import ExportError
from evaluation.models import Analysis
from evaluation.presentation.content import Column, DotPlot, Estimate, Heatmap, LinePlot, Plot, Report, Table
from evaluation.presentation.rendering import render_report, render_table
from evaluation.reports import methods
from evaluation.reports.files import write_folder
from evaluation.reports.loading import load_inputs
from evaluation.reports.methods import BIBLIOGRAPHY, bibtex, bibtex_fields_of
from evaluation.reports.sections.ceilings import (
    agreement_of_halves,
    judge_vs_rest_correlation,
    judge_vs_rest_kappa,
)
from evaluation.reports.storage import build_report
from evaluation.reports.views import figure_environment
from evaluation.results.aggregation import aggregate_study
from evaluation.results.metrics.storage import evaluate_study
from evaluation.results.rankings.measures import corrected_success
from judgments.access.roles import give_role
from judgments.access.tokens import create_token
from judgments.models import Item, Job, Output, Study, StudyEvent, System
from quorum.statistics.correlation import correlation
from quorum.statistics.ranking import judge_rankings
from tests.annotation.casting import make_study as make_text_study
from tests.annotation.sourcing import make_texts
from tests.evaluation.reporting import (
    IMAGES,
    PETS,
    address,
    graded,
    make_report,
    pairwise,
    rolled_back,
    run_report_job,
    words,
    written,
)
from tests.evaluation.studies import StudyOf, candidate, make_dataset
from tests.plots import cut_fonts_again, undrawn

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
    page = first["index.html"].decode()
    # it opens with the verdict and its figure; what is folded has links to its files as well
    assert (
        page.index('<section id="metrics">')
        < page.index('id="report-accuracy-title"')
        < page.index("<details>")
    )
    assert page.index("<details>") < page.index('<section id="collection">')
    for name in re.findall(r'href="([^#"]+)"', page):
        assert name in first
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
    assert not Analysis.objects.filter(what=Analysis.Kind.REPORT).exists()


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


def test_the_best_metric_is_compared_with_the_other_as_evaluate_does() -> None:
    made = StudyOf(make_dataset("pets", IMAGES), "graded")
    texts = ["A dog runs on grass now", "A dog runs", "A dog", "Cars", "Blue cars ahead", "Dog on grass"]
    texts.append("The dog runs on")
    units = [made.unit(f"u{number}", "a.jpg", first=text) for number, text in enumerate(texts)]
    made.answer(made.hit("h1", units), "w-1", [4, 3, 3, 1, 1, 3, 4])
    evaluated = evaluate_study(study=made.study, metrics=["bleu-1", "rouge-l"])
    tables = {table.name: table for table in build_report(made.study, metrics=["bleu-1", "rouge-l"]).tables}
    best, other = tables["compared"].rows
    assert best[2] is None
    assert other[2] == evaluated["verdict"]["all"]["compared"][other[0]]
    for name, estimate, _ in (best, other):
        assert isinstance(estimate, Estimate)
        assert estimate.value == evaluated["metrics"][str(name)]["kendall_tau_b"]["value"]


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
        fields = methods.bibtex_fields_of(key)
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
        f"Study {study.slug!r} has no judged text with references to compare a metric with."
    ]
    assert "There is no judgment that counts" in written(study, tmp_path / "report")["index.html"].decode()


def test_a_report_gives_the_reasons_of_the_results() -> None:
    study = StudyOf(make_dataset("pets", IMAGES), "graded").study
    assert aggregate_study(study=study)["agreement"]["alpha"]["reason"] == "no item has two judgments"
    [said] = [section.empty for section in build_report(study).sections if section.name == "agreement"]
    assert said == "Agreement is not measured: no item has two judgments."


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
    papers = set[str]().union(*methods.PAPERS_BY_METRIC.values(), *methods.PAPERS_BY_FORMAT.values())
    assert papers | set(methods.PAPER_BY_PRESET.values()) <= methods.BIBLIOGRAPHY.keys()
    assert methods.sources_of_metric("bleu-h13|x:1") == ("hodosh2013", "papineni2002")
    assert methods.cite_in_text("mcnemar1947") == "McNemar, 1947"
    assert methods.cite_in_text("vedantam2015") == "Vedantam et al., 2015"
    assert methods.bibtex(["holm1979", "cohen1960"]).index("cohen1960") == len("@article{")


def test_people_reach_one_where_all_agree_and_chance_where_halves_are_opposite() -> None:
    units = [UnitRow(pk, str(pk), "HC", pk) for pk in range(10)]
    unit = np.repeat(np.arange(10), 2)
    agreed = agreement_of_halves(unit, np.ones(20), units, seed=1)
    assert (agreed["all"].value, agreed["HC"].n) == (1.0, 10)
    opposed = agreement_of_halves(unit, np.tile([1.0, 2.0], 10), units, seed=1)
    assert opposed["all"].value == 0.0
    alone = agreement_of_halves(np.arange(10), np.ones(10), units, seed=1)
    assert alone["all"].value is None
    by = {"item": np.repeat(np.arange(4), 2), "rater": np.tile([0, 1], 4)}
    same = judge_vs_rest_correlation(by["item"], np.repeat([1.0, 2.0, 3.0, 4.0], 2), by)
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
    write_folder(folder, [("manifest.json", b"{}")], marker="manifest.json")
    rename = Path.rename

    def no_second_rename(self: Path, target: Path) -> Path:
        if self.suffix == ".part":
            raise OSError(errno.ENOSPC, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", no_second_rename)
    with pytest.raises(ExportError, match="No space left"):
        write_folder(folder, [("manifest.json", b"{} ")], marker="manifest.json")
    assert (folder / "manifest.json").read_bytes() == b"{}"
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


@pytest.fixture(scope="module")
def of_grades(django_db_setup: None, django_db_blocker: Any) -> Report:
    with rolled_back(django_db_blocker):
        return build_report(graded().study, metrics=["bleu-1", "rouge-l"])


@pytest.fixture(scope="module")
def of_pairs(django_db_setup: None, django_db_blocker: Any) -> Report:
    with rolled_back(django_db_blocker):
        return build_report(pairwise().study, metrics=["bleu-1", "rouge-l"])


def plots(report: Report) -> dict[str, Plot]:
    return {plot.name: plot for plot in report.plots}


def levels(plot: Plot) -> set[str]:
    """What the floors and ceilings of a figure are called."""
    drawing: Any = plot.drawing
    found = {level.label for panel in drawing.panels for level in getattr(panel, "levels", ())}
    found |= {bound.label for panel in drawing.panels for bound in getattr(panel, "bounds", ())}
    return found


@pytest.mark.parametrize(
    ("p", "table", "sentence"),
    [
        (0.0, "<\u00a0.001", "p <\u00a0.001"),
        (0.0009, "<\u00a0.001", "p <\u00a0.001"),
        (0.001, ".001", "p = .001"),
        (0.0128, ".013", "p = .013"),
        (0.05, ".050", "p = .050"),
        (0.99, ".990", "p = .990"),
        (0.9996, ">\u00a0.999", "p >\u00a0.999"),
        (1.0, ">\u00a0.999", "p >\u00a0.999"),
        (float("nan"), "–", "p = –"),
    ],
)
def test_a_p_is_printed_as_journals_do(p: float, table: str, sentence: str) -> None:
    assert p_value(p) == table
    assert p_in_text(p) == sentence


def test_tables_print_a_p_alike_and_their_data_has_every_digit() -> None:
    columns = (Column("what"), Column("p", "p"))
    table = Table("t", "T", columns, (("a", 1.0), ("b", 1.5e-7), ("c", 0.0128)))
    assert "&gt;\u00a0.999" in render_table(table, "html")
    assert r"\textgreater{}~.999" in render_table(table, "tex")
    assert r"\textless{}~.001" in render_table(table, "tex")
    assert r"\< .001" in render_table(table, "md")
    assert render_table(table, "csv").splitlines()[1:] == ["a,1.0", "b,1.5e-07", "c,0.0128"]


def test_one_judge_s_coefficients_against_the_others_by_hand() -> None:
    """Two judges a unit: each is held against the other, so that both orders count."""
    by = {"item": np.repeat(np.arange(4), 2), "rater": np.tile([0, 1], 4)}
    value = np.array([1.0, 2.0, 2.0, 2.0, 3.0, 4.0, 4.0, 3.0])
    others = value.reshape(4, 2)[:, ::-1].ravel()
    r = judge_vs_rest_correlation(by["item"], value, by, coefficient="pearson").value
    assert r == pytest.approx(np.corrcoef(value, others)[0, 1])


@pytest.mark.parametrize("name", ["pearson", "spearman", "kendall-tau-b"])
def test_one_judge_s_interval_is_over_items_and_workers(name: str) -> None:
    """Each of five items has three units."""
    generator = np.random.default_rng(5)
    unit, worker = np.repeat(np.arange(15), 20), np.tile(np.arange(20), 15)
    grade = generator.integers(1, 5, size=(15, 1)) + generator.integers(-1, 2, size=(15, 20)) * np.float64(1)
    others = (grade.sum(axis=1, keepdims=True) - grade) / 19
    by = {"item": unit // 3, "rater": worker}
    estimate = judge_vs_rest_correlation(unit, grade.ravel(), by, coefficient=name)
    same = correlation(grade.ravel(), others.ravel(), name, resamples=0, clusters=by)
    assert (estimate.value, estimate.low, estimate.high) == (same.value, same.low, same.high)
    narrow = correlation(grade.ravel(), others.ravel(), name, seed=1)
    assert same.high - same.low > 1.5 * (narrow.high - narrow.low)
    assert estimate == judge_vs_rest_correlation(1000 - unit * 7, grade.ravel(), by, coefficient=name)


@pytest.mark.parametrize("anonymous", [False, True])
def test_one_judge_is_held_against_others_by_item_and_by_worker_who_is_known(anonymous: bool) -> None:
    """Two items, the first of which has two captions."""
    made = StudyOf(make_dataset("pets", {"a.jpg": [], "b.jpg": []}), "graded", imported=anonymous)
    items = ["a.jpg", "a.jpg", "b.jpg"]
    hit = made.hit("h", [made.unit(f"u{n}", item, first=f"text {n}") for n, item in enumerate(items)])
    for name in ("ada", "ben"):
        made.answer(hit, name, [1, 2, 4], anonymous=anonymous)
    clusters = load_inputs(made.study).judgment_clusters
    sizes = {name: sorted(Counter(column.tolist()).values()) for name, column in clusters.items()}
    assert sizes == ({"item": [2, 4]} if anonymous else {"item": [2, 4], "rater": [3, 3]})


def test_one_judge_s_kappa_at_a_cut_by_hand() -> None:
    """Three judges, two units. At 3: unit one has 4, 4, 1, whose others' means are 2.5, 2.5 and 4; unit two 1, 1, 1.
    The judge says yes on 2 of 6, the others on 1, never both: po = 3/6, pe = (2*1 + 4*5)/36 = 22/36."""
    by = {"item": np.repeat([7, 9], 3), "rater": np.tile([0, 1, 2], 2)}
    value = np.array([4.0, 4.0, 1.0, 1.0, 1.0, 1.0])
    found = judge_vs_rest_kappa(by["item"], value, by, [3.0, 5.0])
    assert found[3.0].value == pytest.approx((3 / 6 - 22 / 36) / (1 - 22 / 36))
    assert found[3.0].n == 6
    assert found[5.0] == Estimate(None)  # nobody says yes
    alone = {"item": np.arange(3), "rater": np.arange(3)}
    assert judge_vs_rest_kappa(alone["item"], np.array([1.0, 2.0, 3.0]), alone, [2.0]) == {}


def test_people_who_agree_reach_a_kappa_of_one_with_its_interval() -> None:
    by = {"item": np.repeat(np.arange(10), 2), "rater": np.tile([0, 1], 10)}
    found = judge_vs_rest_kappa(by["item"], np.repeat([1.0, 4.0] * 5, 2), by, [3.0])[3.0]
    assert (found.value, found.high) == (1.0, 1.0)
    assert found.low is not None
    assert 0 < found.low < 1


def test_every_figure_of_grades_has_its_floor_and_ceiling(of_grades: Report) -> None:
    found = plots(of_grades)
    assert levels(found["agreement"]) == {"chance", "reliable from .80", "full agreement"}
    assert levels(found["correlation"]) == {"chance", "one judge"}
    assert levels(found["kappa"]) == {"chance", "full agreement"}
    kappa = found["kappa"].drawing
    assert isinstance(kappa, Heatmap)
    for panel in kappa.panels:
        assert (panel.rows[-1], panel.separate_rows) == ("one judge", 1)
        assert any(value is not None for value in panel.values[-1])
    for end in ("r", "rho", "tau-b"):
        matrix = found[f"metric-correlation-{end}"]
        assert levels(matrix) == {"unrelated", "one judge"}
        assert "One judge against the mean of the others reaches" in matrix.sentence
        assert isinstance(matrix.drawing, Heatmap)
        (panel,) = matrix.drawing.panels
        assert panel.rows == ("bleu-1", "rouge-l", "people")
        assert [row[0] for row in matrix.data.rows] == [*panel.rows]
        assert [tuple(row[1:]) for row in matrix.data.rows] == [*panel.values]


def test_the_matrices_hold_each_their_own_coefficient(of_grades: Report) -> None:
    (table,) = [table for table in of_grades.tables if table.name == "metric-correlation"]
    (tau, rho, r) = next(row[2:5] for row in table.rows if row[:2] == ("bleu-1", "rouge-l"))
    for end, value in (("tau-b", tau), ("rho", rho), ("r", r)):
        drawing = plots(of_grades)[f"metric-correlation-{end}"].drawing
        assert isinstance(drawing, Heatmap)
        assert drawing.panels[0].values[0][1] == drawing.panels[0].values[1][0] == value


def test_where_people_score_no_captions_the_figure_says_why_it_has_no_ceiling(of_pairs: Report) -> None:
    matrix = plots(of_pairs)["metric-correlation-r"]
    assert levels(matrix) == {"unrelated"}
    assert "No ceiling is drawn: people choose between texts" in matrix.sentence


def test_a_single_vote_a_unit_leaves_the_correlation_without_a_ceiling() -> None:
    made = StudyOf(make_dataset("pets", IMAGES), "graded")
    texts = ["A dog runs on grass", "Blue cars", "A dog", "The dog runs"]
    made.judge_texts(texts, {"w-1": [4, 1, 3, 4]})
    found = plots(build_report(made.study, metrics=["bleu-1", "rouge-l"]))
    assert levels(found["correlation"]) == {"chance"}
    for name in ("correlation", "kappa", "metric-correlation-rho"):
        assert (
            "No ceiling is drawn: what one judge reaches against the mean of the others is undefined"
            in found[name].sentence
        )


def test_grades_of_systems_stand_between_a_random_and_the_best_judged_caption() -> None:
    """One image, captions graded 4, 2 and 1, of which the system puts the second best first."""
    made = StudyOf(make_dataset("pets", {"a.jpg": ["a dog"]}), "graded")
    row = System.objects.create(dataset=made.dataset, name="second")
    Output.objects.create(
        system=row, item=made.dataset.items.get(), caption=candidate(made.dataset, "two"), rank=1
    )
    units = [made.unit(f"u-{text}", "a.jpg", first=text) for text in ("one", "two", "three")]
    made.answer(made.hit("h1", units), "w-1", [4, 2, 1])
    plot = plots(build_report(made.study, metrics=["bleu-1"]))["grades"]
    assert isinstance(plot.drawing, LinePlot)
    floor, ceiling = plot.drawing.panels[0].bounds
    assert (floor.x[0], floor.x[-1]) == (4.0, 2.0)
    assert (floor.y[0], floor.y[-1]) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert set(ceiling.y) == {1.0}
    assert [row[0] for row in plot.data.rows] == ["second", "random judged one", "best judged one"]
    assert "Floor: a text drawn at random" in plot.sentence


def test_captions_of_people_are_the_ceiling_of_a_tournament() -> None:
    made = StudyOf(make_dataset("pets", IMAGES), "pairwise")
    machine = System.objects.create(dataset=made.dataset, name="machine")
    pair = made.pair("p1", "a.jpg", "A dog .", "Cars", kind="HM")
    pair.second_system = machine
    pair.save()
    hit = made.hit("h1", [made.unit("u1", pair=pair)])
    made.answer(hit, "w-1", [1])
    plot = plots(build_report(made.study, metrics=["bleu-1"]))["tournament"]
    assert levels(plot) == {"even", "human captions"}
    assert "Ceiling: texts that people wrote." in plot.sentence
    pair.first_system = System.objects.create(dataset=made.dataset, name="other machine")
    pair.save()
    plot = plots(build_report(made.study, metrics=["bleu-1"]))["tournament"]
    assert levels(plot) == {"even"}
    assert "No ceiling is drawn: no texts that people wrote took part." in plot.sentence


def test_control_items_are_drawn_with_what_guessing_gets(of_pairs: Report) -> None:
    found = plots(of_pairs)
    assert levels(found["workers"]) == {"rule", "guessing", "all together"}
    assert "Guessing would get 50 %." in found["workers"].sentence
    assert isinstance(found["workers"].drawing, DotPlot)


@pytest.mark.parametrize(
    ("protocol", "expected", "guessing"),
    [
        ("slider", ("51-100", "0-50"), "50 %"),  # 50 and 51 of 101
        ("slider", ("70-100", "0-30"), "31 %"),
        ("slider", ("70-100", "11-11"), "26 %"),  # 31 and, ten to each side, 21 of 101
        ("graded", ("3-4", "1-1"), "38 %"),  # a half and a quarter
        ("relevance", (1, 0), "50 %"),
    ],
)
def test_guessing_is_right_as_often_as_the_studys_own_control_items_let_it(
    protocol: str, expected: tuple[Any, ...], guessing: str
) -> None:
    made = StudyOf(make_dataset("pets", IMAGES), protocol)
    controls = [
        made.unit(f"c{number}", "a.jpg", first=f"dog {number}", control=True, expected=one)
        for number, one in enumerate(expected)
    ]
    unit = made.unit("u", "a.jpg", first="a cat")
    made.answer(made.hit("h", [unit, *controls]), "w-1", [1, 1, 1])
    found = plots(build_report(made.study, metrics=["bleu-1"]))["workers"]
    assert f"Guessing would get {guessing}." in found.sentence


def test_guessing_repeats_an_answer_as_often_as_the_first_one_lets_it() -> None:
    """Three of four grades are next to a first one of 3, or the same."""
    made = StudyOf(make_dataset("pets", IMAGES), "graded")
    unit = made.unit("u", "a.jpg", first="a cat")
    again = made.unit(
        "c", "a.jpg", first="a cat", control=True, control_kind="repeated", content={"repeats": "u"}
    )
    made.answer(made.hit("h", [unit, again]), "w-1", [3, 3])
    found = plots(build_report(made.study, metrics=["bleu-1"]))["workers"]
    assert "Guessing would get 75 %." in found.sentence


# BibTeX's standard styles ask for these; what they lack they warn of
WANTED = {
    "article": {"author", "title", "journal", "year", "volume", "pages"},
    "inproceedings": {"author", "title", "booktitle", "year", "pages"},
    "techreport": {"author", "title", "institution", "year"},
    "book": {"author", "title", "publisher", "year"},
    "misc": {"author", "title", "year", "howpublished"},
}


@pytest.mark.parametrize("key", [*BIBLIOGRAPHY])
def test_a_bibliography_entry_has_its_fields_and_keeps_its_capitals(key: str) -> None:
    kind, fields = BIBLIOGRAPHY[key].partition("{")[0].removeprefix("@"), bibtex_fields_of(key)
    assert WANTED[kind] <= set(fields)
    assert len(fields) == len(BIBLIOGRAPHY[key].splitlines()) - 2
    for value in fields.values():
        assert value.count("{") == value.count("}")
        assert value.isascii()  # old programs know no UTF-8
    assert re.fullmatch(r"(1[89]|20)\d\d", fields["year"])
    assert re.fullmatch(r"10\.\d{4,}/\S+", fields.get("doi", "10.1000/none"))
    assert re.fullmatch(r"\d+--\d+", fields.get("pages", "1--2"))
    # a style that writes titles small keeps what stands in braces: words with capitals inside, and letters alone
    bare = re.sub(r"\{[^}]*\}", "", fields["title"])
    assert not re.findall(r"\b\w+[A-Z]\w*|\b[B-Z]\b", bare)
    assert bibtex([key]) == BIBLIOGRAPHY[key]


@pytest.mark.usefixtures("undrawn")
def test_the_page_shows_the_report_and_gives_its_files_to_who_may_see_the_study(
    designer: Client, settings: Any, tmp_path: Path
) -> None:
    settings.EXPORT_ROOT = tmp_path
    study = pairwise().study
    assert "No report yet" in words(designer.get(address(study)))
    make_report(designer, study)
    shown = designer.get(address(study))
    assert "Krippendorff's alpha" in words(shown)
    assert "have been added or changed" not in words(shown)
    assert b'id="report-accuracy-title"' in shown.content
    assert r"\includegraphics[width=\linewidth]{figures/accuracy.pdf}" in words(shown)
    archive = designer.get(address(study, "report-file"))
    assert archive["Content-Type"] == "application/zip"
    archive.close()  # it is sent as it is read
    picture = designer.get(address(study, "report-file"), {"name": "figures/accuracy.pdf"})
    assert picture.content.startswith(b"%PDF")
    assert picture["Content-Disposition"] == 'attachment; filename="accuracy.pdf"'
    for name in ("../db.sqlite3", "/etc/passwd", "figures/none.svg"):
        assert designer.get(address(study, "report-file"), {"name": name}).status_code == 404
    stranger, anybody = Client(), Client()
    stranger.force_login(User.objects.create_user("stranger", is_staff=True))
    for name in ("report", "report-file"):
        assert stranger.get(address(study, name)).status_code in (403, 404)
        assert anybody.get(address(study, name)).status_code == 302
    step = reverse("admin:judgments_study_do", args=[study.pk, "make-report"])
    assert stranger.post(step).status_code in (403, 404)
    assert Job.objects.filter(kind="report").count() == 1
    Path(next(tmp_path.glob("*.zip"))).unlink()
    assert "no longer exist" in words(designer.get(address(study)))


@pytest.mark.parametrize("protocol", ["pairwise", pytest.param("graded", marks=pytest.mark.long)])
def test_a_study_of_texts_says_nowhere_that_it_judges_images(
    protocol: str, designer: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = make_text_study(make_texts(images=8), protocol, judged="summary", controls={"per_hit": 0})
    rehearse(study=study, crowd=RehearsalCrowd(workers=4, spammers=0.0, seed=5, drop_outs=0.0))
    for command in ("aggregate", "evaluate"):
        call_command(command, study.slug)
    with undrawn("pdf", "png"):
        files = written(study, tmp_path / "report")
    page = designer.get(address(study, "results")).content.decode()
    said = {"commands": capsys.readouterr().out, "results": page.partition('<main class="q-page">')[2]}
    said |= {name: files[name].decode() for name in files if not name.endswith((".pdf", ".png", ".bib"))}
    assert "by item and by worker" in said["index.html"]
    assert "Agreement" in said["results"]
    assert "Agreement" in said["commands"]
    for name, text in said.items():
        visible = re.sub(r"(?s)<(style|script).*?</\1>|<[^>]+>|\b\d+-images\b", " ", text)
        assert re.findall(r"(?i).*\b(?:image|picture)s?\b.*", visible) == [], name


@pytest.mark.usefixtures("undrawn")
def test_a_link_shows_the_report_without_an_account_until_it_is_taken_back(
    designer: Client, settings: Any, tmp_path: Path
) -> None:
    settings.EXPORT_ROOT = tmp_path
    settings.LIMITS = settings.LIMITS | {"token": "4/hour"}
    study = pairwise().study
    call = f"/api/studies/{study.slug}/share-report/"
    assert designer.post(call, {}, content_type="application/json").status_code == 409  # no report yet
    make_report(designer, study)
    do = reverse("admin:judgments_study_do", args=[study.pk, "share-report"])
    viewer, reader = Client(), Client()
    viewer.force_login(User.objects.create_user("viewer", is_staff=True))
    give_role(study=study, user=User.objects.get(username="viewer"), role="viewer")
    assert viewer.post(do).status_code == 403
    assert "Create a read-only link" not in words(viewer.get(address(study)))
    first = designer.post(call, {}, content_type="application/json").json()["address"]
    designer.post(do, {"page": "report"})
    (link,) = re.findall(r"http://testserver/shared/\S+", words(designer.get(address(study))))
    assert reader.get(first).status_code == 404  # a new one ends it
    page = reader.get(link)
    assert page.status_code == 200
    assert "Metrics against people" in words(page)
    assert not page.cookies
    assert page["Content-Disposition"] == "inline"
    assert page["X-Robots-Tag"] == "noindex, nofollow"
    assert page["Referrer-Policy"] == "no-referrer"
    assert "no-store" in page["Cache-Control"]
    assert "sandbox allow-downloads" in page["Content-Security-Policy"]
    assert "script-src" not in page["Content-Security-Policy"]
    assert reader.get(f"{link}figures/accuracy.pdf").content.startswith(b"%PDF")
    assert reader.get(f"{link}../../db.sqlite3").status_code == 404
    assert reader.post(link).status_code == 405
    call_command("share_report", study.slug, "--take-back")
    assert reader.get(link).status_code == 404
    events = StudyEvent.objects.filter(study=study, what__startswith="report-link").order_by("pk")
    assert [(event.what, event.by and event.by.username) for event in events] == [
        ("report-link-made", "designer"),
        ("report-link-made", "designer"),
        ("report-link-taken-back", None),
    ]
    assert link.split("/")[-2] not in str(events.values())
    assert (
        without_secrets(f"GET {link} in 3 ms")
        == f"GET {link.removesuffix(link.split('/')[-2] + '/')}…/ in 3 ms"
    )
    for _ in range(4):
        answer = reader.get(f"{link}x")
    assert answer.status_code == 429


@pytest.mark.usefixtures("undrawn")
@pytest.mark.usefixtures("undrawn")
def test_the_page_says_when_judgments_came_in_since_and_costs_the_same_for_any_number(
    designer: Client, settings: Any, tmp_path: Path, django_assert_max_num_queries: Any
) -> None:
    settings.EXPORT_ROOT = tmp_path
    made = graded()
    make_report(designer, made.study)
    with django_assert_max_num_queries(25):
        designer.get(address(made.study))
    hit = made.hit("h2", [made.unit("u5", "a.jpg", first="A dog")])
    made.answer(hit, "w-1", [3])
    assert "have been added or changed since" in words(designer.get(address(made.study)))


@pytest.mark.long
def test_the_numbers_and_every_file_of_a_report_are_fetched_with_a_token(
    designer: Client, settings: Any, tmp_path: Path
) -> None:
    settings.EXPORT_ROOT = tmp_path
    study = pairwise().study
    _, secret = create_token(
        user=User.objects.get(username="designer"), name="program", scopes=["reports:read", "reports:write"]
    )
    program, headers = Client(), {"Authorization": f"Token {secret}"}
    draft = StudyOf(study.dataset, "graded", name="Draft").study
    Study.objects.filter(pk=draft.pk).update(state=Study.State.DRAFT)
    asked = [
        program.post(f"/api/studies/{one.slug}/report/", content_type="application/json", headers=headers)
        for one in (draft, study, study)
    ]
    assert [answer.status_code for answer in asked] == [409, 202, 409]  # no draft, and no second at once
    run_report_job()
    (head,) = program.get("/api/reports/", {"what": "report"}, headers=headers).json()["results"]
    found = program.get(f"/api/reports/{head['id']}/", headers=headers).json()["result"]
    (section,) = [one for one in found["sections"] if one["name"] == "metrics"]
    assert section["tables"][0]["columns"][:5] == ["metric", "HM", "HM low", "HM high", "HM n"]
    listed = program.get(f"/api/reports/{head['id']}/files/", headers=headers).json()["files"]
    names = {one["name"]: one for one in listed}
    assert {"index.html", "figures/accuracy.pdf", "tables/accuracy.csv", "manifest.json"} <= names.keys()
    for one in listed:
        answer = program.get(one["url"], headers=headers)
        assert answer.status_code == 200, one["name"]
        assert len(answer.content) == one["bytes"]
        assert answer["Content-Type"] == one["content_type"]
        assert answer["Content-Disposition"].startswith("attachment")
    one = names["figures/accuracy.pdf"]
    first = program.get(one["url"], headers=headers)
    again = {"Range": "bytes=10-", "If-Range": first["ETag"], **headers}
    rest = program.get(one["url"], headers=again)
    assert (rest.status_code, rest.content) == (206, first.content[10:])
    assert rest["Content-Range"] == f"bytes 10-{one['bytes'] - 1}/{one['bytes']}"
    assert program.get(one["url"], headers={**headers, "If-None-Match": first["ETag"]}).status_code == 304
    other = names["tables/accuracy.csv"]["url"]
    assert program.get(other, headers=again).status_code == 200  # another file: whole
    behind = program.get(one["url"], headers={**headers, "Range": f"bytes={one['bytes']}-"})
    assert behind.status_code == 416
    whole = program.get(f"/api/reports/{head['id']}/download/", headers=headers)
    assert whole.getvalue().startswith(b"PK")
    for name in ("none.txt", "../db.sqlite3", "figures/"):
        assert program.get(f"/api/reports/{head['id']}/files/{name}/", headers=headers).status_code == 404, (
            name
        )
    evaluate_study(study=study, metrics=["bleu-1"])
    (analysis,) = program.get("/api/reports/", {"what": "meta-evaluation"}, headers=headers).json()["results"]
    refused = program.get(f"/api/reports/{analysis['id']}/files/", headers=headers)
    assert refused.status_code == 404
    assert "is not a report" in refused.json()["detail"]
    _, narrow = create_token(
        user=User.objects.get(username="designer"), name="other", scopes=["exports:read"]
    )
    closed = program.get(f"/api/reports/{head['id']}/files/", headers={"Authorization": f"Token {narrow}"})
    assert closed.status_code == 403


def tables_of(study: Study) -> dict[str, Any]:
    return {table.name: table for section in build_report(study).sections for table in section.tables}


def newest(study: Study, what: str) -> Analysis:
    found = Analysis.objects.newest(study, what)
    assert found is not None
    return found


def test_readings_and_naive_intervals_of_pairs(designer: Client, capsys: pytest.CaptureFixture[str]) -> None:
    study = pairwise().study
    usual = evaluate_study(study=study, metrics=["bleu-1", "rouge-l"], all_pairs=True, references=[1])
    agreement = aggregate_study(study=study)["agreement"]
    call_command("aggregate", study.slug, clusters="naive")
    call_command("evaluate", study.slug, metrics="bleu-1,rouge-l", clusters="naive", all_pairs=True)
    said = capsys.readouterr().out
    assert "Intervals of agreement are naive" in said
    assert "Intervals and tests are naive" in said
    naive = newest(study, Analysis.Kind.META_EVALUATION)
    assert naive.settings["clusters"] == naive.result["clusters"] == "naive"
    cells = [one["metrics"]["bleu-1"]["accuracy"]["all"] for one in (usual, naive.result)]
    assert cells[0]["value"] == cells[1]["value"]
    assert ("clusters" in cells[0], "clusters" in cells[1]) == (True, False)
    assert [one["verdict"]["all"]["by"] for one in (usual, naive.result)] == [
        "difference-by-item-and-rater-holm", "mcnemar-holm",
    ]  # fmt: skip
    assert agreement["alpha"]["clusters"]
    assert "clusters" not in newest(study, Analysis.Kind.AGGREGATION).result["agreement"]["alpha"]
    assert "These intervals are naive" in words(designer.get(address(study, "results")))
    with pytest.raises(CommandError, match="clusters"):
        call_command("aggregate", study.slug, clusters="by-moon")

    tables = tables_of(study)  # of the usual evaluation, though the naive one is newer
    found = usual["readings"]
    assert tables["readings-all-pairs"].rows[0][-1].value == found["all_pairs"]["bleu-1"]["all"]["value"]
    kind, metric, references, cell, _ = tables["readings-references"].rows[1]
    assert (kind, metric, references) == ("all", "bleu-1", 1)
    assert cell.value == found["references"]["bleu-1"]["all"][0]["value"]


def test_readings_and_naive_intervals_of_captions() -> None:
    study = graded().study
    asked: dict[str, Any] = {"tau_c": True, "single_grades": True, "own_kept": True, "people_at_least": [3.0]}
    usual = evaluate_study(study=study, metrics=["bleu-1"], **asked)
    naive = evaluate_study(study=study, metrics=["bleu-1"], clusters="naive", **asked)
    one, two = (found["metrics"]["bleu-1"]["kendall_tau_b"] for found in (usual, naive))
    assert one["value"] == two["value"]
    assert ("clusters" in one, "clusters" in two) == (True, False)
    tables = tables_of(study)
    found = usual["readings"]
    shown = {(row[1], row[2]): row[3].value for row in tables["readings-coefficients"].rows}
    assert shown == {
        ("means, or shares, of people", "tau-c"): found["tau_c"]["bleu-1"]["value"],
        ("every single judgment", "tau-b"): found["single_grades"]["bleu-1"]["kendall_tau_b"]["value"],
        ("every single judgment", "tau-c"): found["single_grades"]["bleu-1"]["kendall_tau_c"]["value"],
        ("references that are equal to the text kept", "tau-b"): found["own_kept"]["bleu-1"]["kendall_tau_b"][
            "value"
        ],
        ("references that are equal to the text kept", "rho"): found["own_kept"]["bleu-1"]["spearman"][
            "value"
        ],
    }
    assert {row[2] for row in tables["readings-thresholds"].rows} == {3.0}


@pytest.mark.parametrize("after", ["\n\n\\clearpage\n", "\n\\end{document}", ""])
def test_latex_of_a_figure_is_copied_whole_whatever_follows_it(after: str) -> None:
    figure = "\\begin{figure}[htbp]\n<>\\caption{A}\\label{fig:accuracy}\n\\end{figure}"
    report = figure.replace("<>", "\\fitted{figures/accuracy.pdf}\n") + after
    expected = figure.replace("<>", "\\includegraphics[width=\\linewidth]{figures/accuracy.pdf}\n")
    assert figure_environment(report, "accuracy") == expected
    assert figure_environment(report, "systems") == ""
