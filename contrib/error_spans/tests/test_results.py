"""Marked errors by system: WMT's scores by hand, the page, the call, the command, and files that come back."""

import json
import zipfile
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from annotation.models import Judgment, Worker
from annotation.work.sheet.effort import describe_effort
from contrib.error_spans.results.comparison import compare_systems
from contrib.error_spans.results.scores import system_scores
from contrib.error_spans.results.segments import SEGMENTS, segments_of, standings_of_study
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from evaluation.data.export.exporting import export_judgments
from evaluation.errors import EvaluationError
from evaluation.reports.storage import build_report
from evaluation.results.aggregation import aggregate_study, compute_aggregation
from judgments.cached_figures import recompute_figures, store_figures
from judgments.design.reading.checking import make_design
from judgments.models import Caption, Item, Output, Study, System
from judgments.studies.generation.hits import generate_hits
from judgments.studies.studies import create_study
from tests.annotation.casting import make_study
from tests.annotation.sourcing import make_texts
from tests.evaluation.reporting import words
from tests.evaluation.studies import StudyOf, candidate, make_dataset
from tests.judgments.desk import page
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
ITEMS = [f"s{number}" for number in range(6)]
MINOR = {"start": 0, "end": 3, "severity": "minor"}
MAJOR = {"start": 4, "end": 9, "severity": "major"}
LACKING = {"start": None, "end": None, "severity": "minor"}


def marked(*spans: dict[str, Any], score: int) -> dict[str, Any]:
    return {"spans": list(spans), "score": score}


@pytest.fixture
def study() -> StudyOf:
    """Two systems on six items; alma and bela judge both texts of each. The better one has 80 and 90, 10 less later."""
    made = StudyOf(
        make_dataset("news", {name: [f"a person's {name}"] for name in ITEMS}, split="test"),
        "spans",
        judged="translation",
        language="de",
        source={"show": True, "language": "en"},
    )
    Item.objects.filter(dataset=made.dataset).update(text="A source\ntext.", fields=[["document", "news 1"]])
    for name in ("good", "worse"):
        system = System.objects.create(dataset=made.dataset, name=name)
        for item in Item.objects.filter(dataset=made.dataset):
            text = candidate(made.dataset, f"The words  of {name} for {item.name}")
            Output.objects.create(system=system, item=item, caption=text)
    units = {
        (name, item): made.unit(f"{name}-{item}", item, first=f"The words  of {name} for {item}")
        for name in ("good", "worse")
        for item in ITEMS
    }
    hit = made.hit("h1", list(units.values()))
    for shift, worker in ((0, "alma"), (10, "bela")):
        good = [
            marked(*([MINOR] if worker == "alma" else [LACKING]), score=80 + shift - at) for at in range(6)
        ]
        worse = [marked(MINOR, MAJOR, score=40 + shift + at) for at in range(6)]
        made.answer(hit, worker, good + worse)
    return made


def test_scores_are_means_over_segments_as_wmt_has_them(study: StudyOf) -> None:
    segments = segments_of(study.study)
    good, worse = system_scores(segments)
    assert (good.system, good.score, worse.score) == ("good", 82.5, 47.5)
    assert (good.mqm, worse.mqm) == (-1, -6)
    assert (good.segments, good.judgments) == (6, 12)
    assert good.errors == {"minor": 1}
    assert worse.errors == {"minor": 1, "major": 1}
    assert good.z is not None
    assert worse.z == pytest.approx(-good.z)
    assert good.low is not None
    assert good.high is not None
    # Six segments with 85 - at, and two people of whom one gives ten more: t with one degree of freedom. Of their
    # variance, 5**2, the share counts that its square has beside its variance by chance.
    by_chance = 12 * 5**2 / 12**3 * (2 * 2 * 6 * 5) ** 0.5 * 2 / 1 * 6 / 5
    people = 5**2 * 5**4 / (5**4 + by_chance**2)
    assert good.high == 100
    assert 82.5 - good.low == pytest.approx(12.7062 * (3.5 / 6 + people) ** 0.5, abs=1e-3)
    pair = compare_systems(segments, "good", "worse")
    assert (pair.difference, pair.better, pair.worse, pair.segments) == (35, 6, 0, 6)
    assert pair.p is not None
    assert pair.p < 0.05  # with two people one degree of freedom, although they differ alike on both systems
    assert {len(own) for own in segments.values()} == {6}
    with refuses(EvaluationError, "best", "good", "worse"):
        compare_systems(segments, "good", "best")
    with refuses(EvaluationError, "good"):
        compare_systems(segments, "good", "good")


def test_scores_of_judges_who_are_not_identified_have_no_z(study: StudyOf) -> None:
    identified = segments_of(study.study)
    Worker.objects.update(anonymous=True)
    anonymous = segments_of(study.study)
    assert {name: [row.score for row in rows] for name, rows in anonymous.items()} == {
        name: [row.score for row in rows] for name, rows in identified.items()
    }
    assert {row.z for rows in anonymous.values() for row in rows} == {None}
    assert {worker for rows in anonymous.values() for row in rows for worker in row.workers} == {None}
    standings = standings_of_study(study.study)
    assert standings is not None
    assert standings.raters is None


def test_the_report_has_the_scores_of_systems(study: StudyOf) -> None:
    (held,) = [one for one in build_report(study.study).sections if one.name == "systems-by-errors"]
    scores, apart = held.tables
    good = system_scores(segments_of(study.study))[0]
    assert scores.texts()[0][:3] == ["good", f"82.50 [{good.low:.2f}, {good.high:.2f}]", "-1.00"]
    assert [column.name for column in scores.columns][4:6] == ["minor errors", "major errors"]
    pair = compare_systems(segments_of(study.study), "good", "worse")
    assert [(row[0], row[2]) for row in apart.rows] == [("good", None), ("worse", pair.p)]
    assert [row[1].split()[0] for row in apart.texts()] == ["82.50", "47.50"]
    best = "Of 2 systems, good has the best texts, 82.5 over 6 segments, ahead of all others"
    assert held.sentences == (f"{best} (t tests, Holm's correction).",)


def test_page_call_and_command_say_the_same(study: StudyOf, designer: Client) -> None:
    empty = words(designer.get(page(study.study, "errors")))
    assert "press “Compute now”" in empty
    aggregate_study(study=study.study)
    response = designer.get(page(study.study, "errors"), {"first": "worse", "second": "good"})
    shown = words(response)
    assert "good 82.50" in shown
    assert "worse minus good: -35.00 (segments: 6)." in shown
    assert "Segments on which worse has the better score: 0; the worse score: 6." in shown
    html = response.content.decode()
    assert '<mark class="e-minor" title="Minor">The</mark>' in html
    assert '<mark class="e-major" title="Major">words</mark>' in html
    assert "F1 over characters" in shown
    same = designer.get(page(study.study, "errors"), {"first": "worse", "second": "worse"})
    assert "worse minus good: -35.00" in words(same)
    refused = designer.get("/api/studies/news-spans/error-spans/?first=good&second=good")
    assert (refused.status_code, "two different systems" in refused.content.decode()) == (400, True)
    told = designer.get("/api/studies/news-spans/error-spans/?first=good&second=worse").json()
    assert [row["score"] for row in told["systems"]] == [82.5, 47.5]
    assert told["comparison"]["difference"] == 35
    wrong = designer.get("/api/studies/news-spans/error-spans/?first=good&second=best")
    assert (wrong.status_code, "'best' has no" in wrong.content.decode()) == (400, True)
    said = StringIO()
    call_command("error_spans", "news-spans", compare=["good", "worse"], stdout=said)
    assert "good less worse: 35.00" in said.getvalue()
    other = StudyOf(study.dataset, "graded")
    assert designer.get(page(other.study, "errors")).status_code == 404
    with pytest.raises(CommandError, match="spans"):
        call_command("error_spans", other.study.slug, stdout=said)
    with pytest.raises(CommandError, match="has an answer"):
        call_command("error_spans", StudyOf(study.dataset, "spans", slug="none").study.slug, stdout=said)


def test_a_system_without_judgments_left_stays_on_a_page_that_is_kept(
    study: StudyOf, designer: Client
) -> None:
    aggregate_study(study=study.study)
    store_figures(recompute_figures(study.study, [SEGMENTS.name]))
    Output.objects.filter(system__name="worse").delete()
    response = designer.get(page(study.study, "errors"))
    assert "good minus worse: 35.00 (segments: 6)" in words(response)


def test_aggregation_has_agreement_on_spans(study: StudyOf) -> None:
    result = compute_aggregation(study=study.study).as_json()
    found = result["figures"]["spans"]
    # both mark the same in the worse texts; in the others one marks three characters, and one what is missing
    assert found["f1"]["value"] == pytest.approx(2 * 8 / (8 + 8 + 3))
    assert (found["judgments"], found["spans"], found["missing"], found["without"]) == (24, 36, 6, 0)
    assert found["alpha_u"]["value"] < 1
    assert found["f1"]["signature"].startswith("span-f1|")
    unit = next(row for row in result["units"] if row["unit"] == "worse-s0")
    assert (unit["value"], unit["mqm"]) == (45, -6)
    assert unit["answer"] == {"spans": [MINOR, MAJOR], "score": 45}


def test_mt_metrics_eval_gets_scores_sources_documents_and_ratings(study: StudyOf, tmp_path: Path) -> None:
    export_judgments(study=study.study, format="mtme", output=tmp_path / "out.zip")
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        archive.extractall(tmp_path / "read")
    folder = tmp_path / "read" / "news-spans"
    assert (folder / "sources" / "en-de.txt").read_text().splitlines() == ["A source text."] * 6
    assert (folder / "documents" / "en-de.docs").read_text().splitlines() == ["test\tnews_1"] * 6
    scores = (folder / "human-scores" / "en-de.spans.sys.score").read_text().splitlines()
    assert scores == ["good\t82.5", "worse\t47.5"]
    ratings = (folder / "human-scores" / "en-de.spans.rater1.seg.rating").read_text().splitlines()
    assert len(ratings) == 12
    system, told = ratings[6].split("\t")
    assert system == "worse"
    assert json.loads(told)["errors"][1] == {
        "start": 4, "end": 9, "category": "", "severity": "major", "score": 5.0, "is_source_error": False,
    }  # fmt: skip
    second = (folder / "human-scores" / "en-de.spans.rater2.seg.rating").read_text().splitlines()
    missing = json.loads(second[0].split("\t")[1])["errors"][0]
    # mt-metrics-eval's Error.from_dict refuses null
    assert [missing[name] for name in ("start", "end", "is_source_error")] == [0, 0, True]
    outputs = (folder / "system-outputs" / "en-de" / "good.txt").read_text().splitlines()
    assert outputs[0] == "The words of good for s0"  # blanks are single ones, and offsets those of this line


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_exported_judgments_come_back(study: StudyOf, tmp_path: Path, form: str) -> None:
    path = tmp_path / f"out.{form}"
    export_judgments(study=study.study, format=form, output=path)
    call_command(
        "import_judgments",
        form,
        str(path),
        dataset="news",
        study="again",
        protocol="spans",
        stdout=StringIO(),
    )
    again = Study.objects.get(slug="again")
    assert [(one.system, one.score, one.mqm) for one in system_scores(segments_of(again))] == [
        ("good", 82.5, -1),
        ("worse", 47.5, -6),
    ]


def test_a_text_a_line_says_what_most_people_mark(study: StudyOf, tmp_path: Path) -> None:
    export_judgments(study=study.study, format="spans", output=tmp_path / "out.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [span["text"] for span in rows[6]["spans"]] == ["The", "words"]
    assert (rows[0]["score"], rows[0]["spans"]) == (85, [])


def test_documents_of_a_file_stay_whole(tmp_path: Path) -> None:
    lines = [
        {"image": f"d{d}-{s}", "caption": f"a person's text {d} {s}", "text": "source", "document": f"d{d}"}
        for d in range(3)
        for s in range(3 if d == 2 else 2)
    ]
    (tmp_path / "data.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (tmp_path / "system.jsonl").write_text(
        "".join(f"{json.dumps({'image': line['image'], 'caption': 'what it wrote'})}\n" for line in lines)
    )
    call_command("import_dataset", "jsonl", str(tmp_path / "data.jsonl"), name="docs", stdout=StringIO())
    call_command(
        "import_candidates",
        "jsonl",
        str(tmp_path / "system.jsonl"),
        dataset="docs",
        system="one",
        stdout=StringIO(),
    )
    plan = make_design(
        {"name": "ESA", "dataset": "docs", "preset": "kocmi-2024-esa", "spans": {"documents": True},
         "controls": {"per_hit": 0}, "units_per_hit": 2}
    )  # fmt: skip
    made = create_study(design=plan)
    generate_hits(study=made)
    assert made.hits.count() == 3
    for hit in made.hits.all():
        units = [place.unit for place in hit.places.order_by("position").select_related("unit__item")]
        assert [unit.item.name[-1] for unit in units] == ["0", "1", "2"][: len(units)]
        assert [unit.content["document"]["part"] for unit in units] == [1, 2, 3][: len(units)]
    assert describe_effort(made)["size"] == "up to 3 questions"  # the largest page, whichever is the first
    assert Caption.objects.filter(dataset__name="docs", role="candidate").count() == 1


def test_texts_side_by_side_end_as_what_single_texts_are(tmp_path: Path) -> None:
    texts = make_texts("sides", systems=4)
    found = {}
    for slug, contrastive in (("beside", True), ("single", False)):
        made = make_study(
            texts, "spans", slug=slug, name=slug, judged="translation", units_per_hit=6, opened=False,
            controls={"per_hit": 2, "threshold": 0}, source={"show": True, "language": "de"}, language="en",
            spans={"contrastive": contrastive},
        )  # fmt: skip
        report = rehearse(study=made, crowd=RehearsalCrowd(workers=5, spammers=0.0, seed=3, drop_outs=0.0))
        assert report.recovered > 0.5
        aggregate_study(study=made)
        judged = Judgment.objects.of_study(made).filter(unit__control=False)
        assert judged.count() == 2 * 24  # each text by two people, none lost and none twice
        assert judged.values("unit", "assignment__worker").distinct().count() == 2 * 24
        export_judgments(study=made, format="mtme", output=tmp_path / f"{slug}.zip")
        with zipfile.ZipFile(tmp_path / f"{slug}.zip") as archive:
            names = [name.replace(slug, "study") for name in archive.namelist()]
        (held,) = [one for one in build_report(made).sections if one.name == "systems-by-errors"]
        units = set(made.units.filter(control=False).values_list("key", flat=True))
        scores = [(one.segments, one.judgments) for one in system_scores(segments_of(made))]
        found[slug] = units, sorted(names), scores, len(held.tables[0].rows)
    assert found["beside"] == found["single"]
    assert found["beside"][2] == [(6, 12)] * 4
    path = tmp_path / "beside.jsonl"
    export_judgments(study=Study.objects.get(slug="beside"), format="jsonl", output=path)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    screens: dict[str, set[str]] = {}
    for row in rows:
        if not row["control"]:
            screens.setdefault(row["content"]["screen"], set()).add(row["unit"])
    assert [len(units) for units in screens.values()] == [2] * 12
    call_command(
        "import_judgments", "jsonl", str(path), dataset="sides", study="again", protocol="spans", stdout=StringIO()
    )  # fmt: skip
    again = system_scores(segments_of(Study.objects.get(slug="again")))
    assert [(one.system, one.score) for one in again] == [
        (one.system, one.score) for one in system_scores(segments_of(Study.objects.get(slug="beside")))
    ]
