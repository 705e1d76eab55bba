"""A judgment is about an output of a system: two systems that say the same of an item are judged apart."""

import csv
import json
import unicodedata
import zipfile
from collections import defaultdict
from collections.abc import Callable
from io import StringIO
from itertools import permutations
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from contrib.error_spans.results.scores import system_scores
from contrib.error_spans.results.segments import segments_of
from contrib.judgment_imports.importing import import_judgments
from contrib.score_imports.reading import read_scores
from contrib.score_imports.storing import store_metric_scores
from evaluation.data.export.exporting import export_judgments
from evaluation.models import MetricScore
from evaluation.reports.releases.verification import verify_bundle
from evaluation.results.aggregation import aggregate_study, compute_aggregation
from evaluation.results.metrics.storage import evaluate_study
from judgments.datasets.importing.candidates import import_candidates
from judgments.drawing.keys import content_key
from judgments.importers import ColumnMapping, ImportProblem
from judgments.models import CandidatePair, Dataset, Output, Study, Unit
from tests.evaluation.studies import make_dataset
from tests.evaluation.test_kinds_of_releases import released
from tests.judgments.desk import page
from tests.marks import long_except
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
Row = dict[str, str]
IMAGES = {name: [f"{name} by people"] for name in ("A.jpg", "B.jpg")}
GRADES = """image,out,model,rater,stars
A.jpg,same,s1,w1,4
A.jpg,same,s2,w1,2
B.jpg,other,s1,w1,4
B.jpg,another,s2,w1,1
"""
PAIRS = """image,x,y,a,b,rater,best
A.jpg,same,loser,s1,s2,w1,1
A.jpg,same,loser,s3,s2,w1,2
B.jpg,p,q,s1,s2,w1,1
B.jpg,p,q,s1,s2,w2,2
B.jpg,r,q,s3,s2,w1,1
B.jpg,r,q,s3,s2,w2,2
"""
OF_GRADES = {"first_text": "out", "system": "model", "worker": "rater", "value": "stars"}
OF_PAIRS = {
    "first_text": "x",
    "second_text": "y",
    "system": "a",
    "second_system": "b",
    "worker": "rater",
    "value": "best",
}


@pytest.fixture
def dataset() -> Dataset:
    return make_dataset("shared", IMAGES)


def rows_of(text: str) -> list[Row]:
    return list(csv.DictReader(StringIO(text)))


def brought(
    rows: list[Row],
    protocol: str,
    columns: dict[str, str],
    folder: Path,
    slug: str = "brought",
    dataset: str = "shared",
) -> Study:
    path = folder / f"{slug}.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    mapping = ColumnMapping(columns={name: (source,) for name, source in columns.items()})
    import_judgments(format="csv", path=path, dataset=dataset, study=slug, protocol=protocol, mapping=mapping)
    return Study.objects.get(slug=slug)


def again(study: Study, folder: Path, form: str = "jsonl") -> Study:
    """The study as its own export brings it back."""
    path = folder / f"out.{form}"
    export_judgments(study=study, format=form, output=path)
    import_judgments(format=form, path=path, dataset="shared", study="again", protocol=study.protocol)
    return Study.objects.get(slug="again")


def means(study: Study) -> dict[str, float]:
    return {
        row["system"]: row["mean"]["value"] for row in compute_aggregation(study=study).as_json()["systems"]
    }


def verdict_rows(study: Study) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = compute_aggregation(study=study).as_json()["systems_verdict"]["systems"]
    return rows


def verdict(study: Study) -> dict[str, float]:
    return {row["system"]: row["value"] for row in verdict_rows(study)}


def archived(study: Study, folder: Path) -> dict[str, float]:
    """The score of each system as mt-metrics-eval reads it."""
    path = folder / "out.zip"
    path.unlink(missing_ok=True)
    export_judgments(study=study, format="mtme", output=path)
    with zipfile.ZipFile(path) as archive:
        name = next(
            name for name in archive.namelist() if "human-scores" in name and name.endswith("sys.score")
        )
        lines = archive.read(name).decode().splitlines()
    return {line.split("\t")[0]: float(line.split("\t")[1]) for line in lines}


@pytest.mark.parametrize(
    "order", long_except(map(list, list(permutations(range(4)))[::5]), [0, 1, 2, 3], [3, 1, 0, 2])
)
def test_grades_of_one_text_belong_to_the_system_that_was_graded(
    dataset: Dataset, tmp_path: Path, order: tuple[int, ...]
) -> None:
    rows = rows_of(GRADES)
    study = brought([rows[index] for index in order], "graded", OF_GRADES, tmp_path)
    right = {"s1": 4.0, "s2": 1.5}
    assert means(study) == verdict(study) == archived(study, tmp_path) == right
    assert means(again(study, tmp_path)) == right


def test_marks_on_one_line_are_those_of_its_system(dataset: Dataset, tmp_path: Path) -> None:
    rows = [row | {"stars": str(25 * int(row["stars"]))} for row in rows_of(GRADES)]
    for some in (rows, rows[::-1]):
        study = brought(some, "slider", OF_GRADES, tmp_path, f"slider-{some[0]['model']}")
        assert means(study) == verdict(study) == archived(study, tmp_path) == {"s1": 100.0, "s2": 37.5}


def test_a_caption_describes_where_its_own_system_gave_it(dataset: Dataset, tmp_path: Path) -> None:
    rows = [row | {"stars": str(int(row["stars"] == "4"))} for row in rows_of(GRADES)]
    for some in (rows, rows[::-1]):
        study = brought(some, "relevance", OF_GRADES, tmp_path, f"relevance-{some[0]['model']}")
        systems = compute_aggregation(study=study).as_json()["systems"]
        shares = {row["system"]: row["describes"]["value"] for row in systems}
        assert shares == verdict(study) == {"s1": 1.0, "s2": 0.0}


def test_errors_count_for_the_system_whose_output_was_marked(dataset: Dataset, tmp_path: Path) -> None:
    marks = {"4": [], "2": [{"start": 0, "end": 4, "severity": "major"}]}
    rows = [
        row | {"stars": json.dumps({"spans": marks["4" if row["model"] == "s1" else "2"]})}
        for row in rows_of(GRADES)
    ]
    columns = {**OF_GRADES, "answer": "stars"}
    del columns["value"]
    for some in (rows, rows[::-1]):
        study = brought(some, "spans", columns, tmp_path, f"spans-{some[0]['model']}")
        scores = {row.system: row.score for row in system_scores(segments_of(study))}
        assert scores == verdict(study) == archived(study, tmp_path) == {"s1": 0.0, "s2": -5.0}


def test_votes_on_a_pair_are_those_of_its_two_systems(dataset: Dataset, tmp_path: Path) -> None:
    rows = rows_of(PAIRS)
    for number, some in enumerate((rows, rows[::-1], rows[3:] + rows[:3])):
        study = brought(some, "pairwise", OF_PAIRS, tmp_path, f"pairs-{number}")
        assert verdict(study) == {"s1": 0.75, "s2": 0.5, "s3": 0.25}
        assert list(verdict(study)) == ["s1", "s2", "s3"]
        assert CandidatePair.objects.filter(study=study).count() == 4
    assert verdict(again(study, tmp_path)) == {"s1": 0.75, "s2": 0.5, "s3": 0.25}


def test_two_systems_of_one_text_meet_in_a_pair(dataset: Dataset, tmp_path: Path) -> None:
    """Whoever wins, both sides show the same caption, and each is of its own system."""
    rows = [row | {"y": row["x"]} for row in rows_of(PAIRS)[:2]] + rows_of(PAIRS)[2:]
    study = brought(rows, "pairwise", OF_PAIRS, tmp_path)
    found = verdict(study)
    assert list(found) == ["s1", "s2", "s3"]
    assert verdict(again(study, tmp_path)) == found


LISTS: list[dict[str, Any]] = [
    {"options": ["same", "p"], "systems": ["s1", "s2"], "best": 1},
    {"options": ["same", "p"], "systems": ["s3", "s2"], "best": 2},
    {"options": ["r", "q"], "systems": ["s1", "s2"], "best": 1},
    {"options": ["r", "q"], "systems": ["s1", "s2"], "best": 2},
    {"options": ["t", "q"], "systems": ["s3", "s2"], "best": 1},
    {"options": ["t", "q"], "systems": ["s3", "s2"], "best": 2},
]


def test_the_best_of_a_list_is_that_of_its_system(dataset: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "lists.jsonl"
    lines = []
    for number, row in enumerate(LISTS):
        options = [{"key": f"{text}", "text": text} for text in row["options"]]
        credits = {
            option["key"]: [{"system": name, "rank": 1}]
            for option, name in zip(options, row["systems"], strict=True)
        }
        answer = {"best": options[row["best"] - 1]["key"], "worst": options[2 - row["best"]]["key"]}
        line = {"unit": f"u{number}", "worker": "w1", "image": "A.jpg" if number < 2 else "B.jpg"}
        lines.append({**line, "content": {"options": options}, "systems": credits, "answer": answer})
    for name, some in (("ahead", lines), ("back", lines[::-1])):
        path.write_text("".join(f"{json.dumps(line)}\n" for line in some), encoding="utf-8")
        import_judgments(format="jsonl", path=path, dataset="shared", study=name, protocol="best-worst")
        study = Study.objects.get(slug=name)
        assert list(verdict(study).items()) == [("s1", 2 / 3), ("s2", 0.5), ("s3", 1 / 3)]
        scores = archived(study, tmp_path)
        assert scores == pytest.approx({"s1": 0.5, "s2": 0.0, "s3": -0.5})
    assert archived(again(study, tmp_path), tmp_path) == scores
    assert evaluate_study(study=study, metrics=["bleu-1"])["counts"]["units"] == 6
    assert verify_bundle(released(study, tmp_path / "release.zip")).differences == ()


def test_a_text_judged_in_several_units_counts_all_its_judgments(dataset: Dataset, tmp_path: Path) -> None:
    rows = [
        {
            "id": str(number),
            "image": "A.jpg",
            "out": "same",
            "model": "s1",
            "rater": f"w{number}",
            "stars": stars,
        }
        for number, stars in enumerate("4411")
    ]
    study = brought(rows, "graded", {**OF_GRADES, "unit": "id"}, tmp_path)
    assert means(study) == {"s1": 2.5}
    study = brought(rows[::-1], "graded", {**OF_GRADES, "unit": "id"}, tmp_path, "reversed")
    assert means(study) == {"s1": 2.5}


def test_one_unit_of_two_systems_is_refused_by_line(dataset: Dataset, tmp_path: Path) -> None:
    rows = [row | {"unit": "u", "rater": row["model"]} for row in rows_of(GRADES)[:2]]
    with refuses(ImportProblem, "u", line=3, column="unit"):
        brought(rows, "graded", {**OF_GRADES, "unit": "unit"}, tmp_path)
    assert not Study.objects.exists()


def test_one_pair_of_other_systems_is_refused_by_line(dataset: Dataset, tmp_path: Path) -> None:
    rows = [row | {"id": "p1"} for row in rows_of(PAIRS)[:2]]
    with refuses(ImportProblem, "p1", line=3, column="id (pair)"):
        brought(rows, "pairwise", {**OF_PAIRS, "pair": "id"}, tmp_path)
    assert not Study.objects.exists()


def test_a_blank_cell_of_a_system_credits_nobody(dataset: Dataset, tmp_path: Path) -> None:
    rows = rows_of(GRADES)
    rows += [rows[0] | {"model": "", "stars": "1", "rater": "w2"}]
    study = brought(rows, "graded", OF_GRADES, tmp_path)
    assert means(study) == verdict(study) == {"s1": 4.0, "s2": 1.5}
    assert means(again(study, tmp_path)) == {"s1": 4.0, "s2": 1.5}


def test_a_study_of_one_s_own_design_credits_all_that_gave_a_text(dataset: Dataset, tmp_path: Path) -> None:
    study = brought(rows_of(GRADES), "graded", OF_GRADES, tmp_path)
    Unit.objects.filter(study=study, first__text="same").first().delete()  # type: ignore[union-attr]
    Unit.objects.filter(study=study).update(systems=[])
    assert means(study) == {"s1": 3.0, "s2": 1.5}


def test_ids_of_units_in_ascii_files_stay(dataset: Dataset, tmp_path: Path) -> None:
    study = brought(rows_of(GRADES), "graded", OF_GRADES, tmp_path)
    keys = ["7037e38e4cf92655303d", "16d5209c5b21dcd9dc78", "28fdbc4825982aefdf5c", "b1e4fc1e2ad27c3b2e56"]
    assert list(study.units.values_list("key", flat=True)) == keys


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("protocol", long_except(["graded", "spans", "pairwise"], "spans"))
def test_a_release_is_verified_by_its_rows_alone(dataset: Dataset, tmp_path: Path, protocol: str) -> None:
    rows, columns = rows_of(PAIRS if protocol == "pairwise" else GRADES), OF_GRADES
    if protocol == "pairwise":
        columns = OF_PAIRS
    elif protocol == "spans":
        columns = {**OF_GRADES, "answer": "stars"}
        del columns["value"]
        mark = {"start": 0, "end": 4, "severity": "minor"}
        rows = [row | {"stars": json.dumps({"spans": [mark] * (row["model"] == "s2")})} for row in rows]
    study = brought(rows, protocol, columns, tmp_path)
    evaluate_study(study=study, metrics=["bleu-1"])
    bundle = released(study, tmp_path / "release.zip")
    assert verify_bundle(bundle).differences == ()
    with zipfile.ZipFile(bundle) as archive:
        name = next(name for name in archive.namelist() if name.endswith("units.jsonl"))
        units = [json.loads(line) for line in archive.read(name).splitlines()]
    named = [unit.get("systems") for unit in units]
    assert named == ([None] * 6 if protocol == "pairwise" else [["s1"], ["s2"], ["s1"], ["s2"]])[: len(named)]


def test_every_door_says_the_same_figure(dataset: Dataset, tmp_path: Path, admin_client: Client) -> None:
    study = brought(rows_of(GRADES), "graded", OF_GRADES, tmp_path)
    output = tmp_path / "figures.json"
    call_command("aggregate", "brought", "--output", str(output), stdout=StringIO())
    printed = {row["system"]: row["mean"]["value"] for row in json.loads(output.read_text())["systems"]}
    stored = aggregate_study(study=study)["systems"]
    assert printed == {row["system"]: row["mean"]["value"] for row in stored} == {"s1": 4.0, "s2": 1.5}
    shown = admin_client.get(page(study, "results")).content.decode()
    assert "1.50" in shown
    assert "3.00" not in shown


def test_page_call_and_command_say_one_agreement(
    dataset: Dataset, tmp_path: Path, admin_client: Client
) -> None:
    """Two units of one text agree apart: 4 and 3 of s1, 1 and 2 of s2."""
    rows = [row | {"out": row["model"] if row["image"] == "B.jpg" else "same"} for row in rows_of(GRADES)]
    seconds = {"4": "3", "2": "1", "1": "2"}
    rows += [row | {"rater": "w2", "stars": seconds[row["stars"]]} for row in rows]
    study = brought(rows, "graded", OF_GRADES, tmp_path)
    output = tmp_path / "figures.json"
    call_command("aggregate", "brought", "--output", str(output), stdout=StringIO())
    printed = json.loads(output.read_text())["agreement"]["alpha"]
    assert (printed["value"], printed["n"]) == (pytest.approx(0.65), 4)
    aggregate_study(study=study)
    called = admin_client.get("/api/studies/brought/agreement/").json()
    assert called["result"]["agreement"]["alpha"]["value"] == printed["value"]
    assert f"{printed['value']:.2f}"[1:] in admin_client.get(page(study, "results")).content.decode()


@pytest.mark.parametrize("protocol", ["graded", "pairwise"])
def test_imported_scores_are_those_of_the_system_that_was_judged(
    dataset: Dataset, tmp_path: Path, protocol: str
) -> None:
    """A metric that knows the systems scores one text of two of them .9 and .1."""
    rows, columns = (rows_of(GRADES), OF_GRADES) if protocol == "graded" else (rows_of(PAIRS)[:2], OF_PAIRS)
    study = brought(rows, protocol, columns, tmp_path)
    texts = {"s1": "same", "s2": "loser" if protocol == "pairwise" else "same", "s3": "same"}
    path = tmp_path / "scores.jsonl"
    lines = [
        {"image": image, "system": system, "caption": text, "score": points}
        for image in IMAGES
        for system, text, points in zip(texts, texts.values(), (0.9, 0.1, 0.3), strict=True)
        if image == "A.jpg" and (protocol == "pairwise" or system != "s3")
    ]
    if protocol == "graded":
        lines += [{"image": "B.jpg", "system": "s1", "caption": "other", "score": 0.5}]
        lines += [{"image": "B.jpg", "system": "s2", "caption": "another", "score": 0.6}]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    store_metric_scores(dataset=dataset, files=read_scores(path, ["comet"]))
    evaluate_study(study=study, metrics=["comet"])
    stored = list(MetricScore.objects.order_by("pk").values_list("first", "second"))
    if protocol == "graded":
        assert stored == [(0.9, None), (0.1, None), (0.5, None), (0.6, None)]
    else:
        assert stored == [(0.9, 0.1), (0.3, 0.1)]


@pytest.mark.parametrize("protocol", ["graded", "pairwise"])
def test_studies_and_files_are_compared_by_systems(dataset: Dataset, tmp_path: Path, protocol: str) -> None:
    """r of the grades 4, 2, 4, 1 with 3, 1, 3, 2 is .754 (numpy); of one text of two systems each has its own."""
    if protocol == "graded":
        rows, columns, turned = rows_of(GRADES), OF_GRADES, {"4": "3", "2": "1", "1": "2"}
    else:
        rows = [row | {"x": "same", "y": "same"} for row in rows_of(PAIRS)[:2]]
        columns, turned = OF_PAIRS, {"1": "1", "2": "2"}
    value = columns["value"]
    others = [row | {value: turned[row[value]], "rater": "w9"} for row in rows[::-1]]
    brought(rows, protocol, columns, tmp_path, "first")
    second = brought(others, protocol, columns, tmp_path, "second")
    path = tmp_path / "second.jsonl"
    export_judgments(study=second, format="jsonl", output=path)
    for other in (Path("study:second"), path):
        output = tmp_path / "said.json"
        call_command(
            "agreement", "study:first", second=other, output=output, stdout=StringIO(), stderr=StringIO()
        )
        found = json.loads(output.read_text())
        assert found["units"] == found["units"] | {"shared": len(rows), "first_only": 0, "second_only": 0}
        assert found["correlation"]["pearson"]["value"] == pytest.approx(
            0.7543365 if protocol == "graded" else 1.0
        )


def test_a_credit_without_a_rank_is_an_output(dataset: Dataset, tmp_path: Path) -> None:
    """Outputs are listed behind those with ranks, by their texts, in any order of rows."""
    rows = [
        {"unit": f"u{number}", "worker": "w", "image": "A.jpg", "value": value, "first": text, "first_text": text,
         "systems": {text: [{"system": system} | ({"rank": rank} if rank else {})]}}
        for number, (text, system, rank, value) in enumerate(
            [("one", "s1", None, 4), ("two", "s1", 1, 2), ("also", "s1", None, 3), ("one", "s2", None, 1)]
        )
    ]  # fmt: skip
    path = tmp_path / "rows.jsonl"
    for name, some in (("ahead", rows), ("back", rows[::-1])):
        made = make_dataset(name, IMAGES)
        path.write_text("".join(f"{json.dumps(row)}\n" for row in some), encoding="utf-8")
        import_judgments(format="jsonl", path=path, dataset=name, study=name, protocol="graded")
        assert means(Study.objects.get(slug=name)) == {"s1": 3.0, "s2": 1.0}
        outputs = Output.objects.filter(system__dataset=made).order_by("system__name", "rank")
        assert list(outputs.values_list("system__name", "rank", "caption__text")) == [
            ("s1", 1, "two"), ("s1", 2, "also"), ("s1", 3, "one"), ("s2", 1, "one"),
        ]  # fmt: skip


def test_a_system_whose_text_nobody_says_is_refused_by_line(dataset: Dataset, tmp_path: Path) -> None:
    columns = {name: source for name, source in OF_GRADES.items() if name != "first_text"}
    rows = [{name: cell for name, cell in row.items() if name != "out"} for row in rows_of(GRADES)]
    with refuses(ImportProblem, line=2, column="model", actual='"s1"'):
        brought(rows, "graded", columns, tmp_path)
    assert not Study.objects.exists()
    brought(rows_of(GRADES), "graded", OF_GRADES, tmp_path, "texts")
    assert means(brought(rows, "graded", columns, tmp_path)) == {"s1": 4.0, "s2": 1.5}


OF_MARKS = {"first_text": "out", "system": "model", "worker": "rater", "answer": "stars"}


GRADED = {"graded": (1, 4), "slider": (0, 100), "relevance": (0, 1)}
NAMES = st.permutations(["s1", "s2", "s3"])
CELLS = st.dictionaries(
    st.tuples(st.sampled_from(sorted(IMAGES)), st.sampled_from(["s1", "s2", "s3"]), st.sampled_from("uvw")),
    st.integers(0, 100),
    min_size=2,
    max_size=14,
)
TEXTS = st.dictionaries(
    st.tuples(st.sampled_from(sorted(IMAGES)), st.sampled_from(["s1", "s2", "s3"])),
    st.sampled_from(["un café", "un thé", "deux"]),
    min_size=6,
    max_size=6,
)
VOTES = st.lists(
    st.tuples(st.sampled_from(sorted(IMAGES)), NAMES, st.integers(1, 2)), min_size=4, max_size=12
)
FORMS: list[Callable[[str], str]] = [
    str,
    lambda text: f" {text}\r\n",
    lambda text: unicodedata.normalize("NFD", text),
]
EXAMPLES = settings(
    max_examples=10,
    phases=[Phase.generate],  # a smaller example of studies takes minutes
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def in_a_data_set_of_its_own(rows: list[Row], protocol: str, columns: dict[str, str], folder: Path) -> Study:
    name = f"own-{Dataset.objects.count()}"
    make_dataset(name, IMAGES)
    return brought(rows, protocol, columns, folder, name, name)


def renamed(figures: dict[str, float], names: dict[str, str]) -> dict[str, float]:
    return {names[system]: value for system, value in figures.items()}


@pytest.mark.long
@pytest.mark.parametrize("protocol", GRADED)
@given(cells=CELLS, texts=TEXTS, data=st.data())
@EXAMPLES
def test_order_names_and_writing_change_no_figure(
    protocol: str, cells: dict[tuple[str, str, str], int], texts: Any, data: Any, tmp_path: Path
) -> None:
    """A system's mean is that over its outputs of the mean of their ratings."""
    low, high = GRADED[protocol]
    rows = [
        {"image": image, "out": texts[image, system], "model": system, "rater": f"w-{rater}",
         "stars": str(low + value % (high - low + 1))}
        for (image, system, rater), value in cells.items()
    ]  # fmt: skip
    of_outputs: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for row in rows:
        of_outputs[row["model"], row["image"]].append(int(row["stars"]))
    of_systems: defaultdict[str, list[float]] = defaultdict(list)
    for (system, _), ratings in of_outputs.items():
        of_systems[system].append(mean(ratings))
    right = {system: mean(values) for system, values in of_systems.items()}
    names = dict(zip(["s1", "s2", "s3"], data.draw(NAMES), strict=True))
    people = dict(zip(["w-u", "w-v", "w-w"], data.draw(st.permutations(["w-w", "w-x", "w-a"])), strict=True))
    others = [
        row
        | {
            "model": names[row["model"]],
            "rater": people[row["rater"]],
            "out": data.draw(st.sampled_from(FORMS))(row["out"]),
        }
        for row in data.draw(st.permutations(rows))
    ]
    for some, expected in ((rows, right), (others, renamed(right, names))):
        study = in_a_data_set_of_its_own(some, protocol, OF_GRADES, tmp_path)
        if protocol != "relevance":
            assert means(study) == pytest.approx(expected)
        assert archived(study, tmp_path) == pytest.approx(expected)
        if len(expected) > 1:
            assert verdict(study) == pytest.approx(expected)


@pytest.mark.long
@given(cells=CELLS, texts=TEXTS, data=st.data())
@EXAMPLES
def test_order_names_and_writing_change_no_score_of_errors(
    cells: dict[tuple[str, str, str], int], texts: Any, data: Any, tmp_path: Path
) -> None:
    """A system's score is the mean over its outputs of minus the mean number of minor errors."""
    marks = [{"start": 0, "end": 1 + number, "severity": "minor"} for number in range(4)]
    rows = [
        {"image": image, "out": texts[image, system], "model": system, "rater": f"w-{rater}",
         "stars": json.dumps({"spans": marks[: value % 5]})}
        for (image, system, rater), value in cells.items()
    ]  # fmt: skip
    of_outputs: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for (image, system, _), value in cells.items():
        of_outputs[system, image].append(-(value % 5))
    of_systems: defaultdict[str, list[float]] = defaultdict(list)
    for (system, _), counts in of_outputs.items():
        of_systems[system].append(mean(counts))
    right = {system: mean(values) for system, values in of_systems.items()}
    names, others = told_otherwise(rows, data, ("model",), ("out",))
    for row in others:  # marks are about the words, behind a blank too
        row["stars"] = json.dumps(
            {
                "spans": [
                    {**mark, "start": blanks, "end": mark["end"] + blanks}
                    for mark in json.loads(row["stars"])["spans"]
                    for blanks in [len(row["out"]) - len(row["out"].lstrip())]
                ]
            }
        )
    for some, expected in ((rows, right), (others, renamed(right, names))):
        study = in_a_data_set_of_its_own(some, "spans", OF_MARKS, tmp_path)
        scores = {row.system: row.score for row in system_scores(segments_of(study))}
        assert scores == archived(study, tmp_path) == pytest.approx(expected)
        if len(expected) > 1:
            assert verdict(study) == pytest.approx(expected)


OF_TRIPLETS = OF_PAIRS | {"reference_text": "by_people"}


@pytest.mark.long
@given(votes=VOTES, texts=TEXTS, data=st.data())
@EXAMPLES
def test_order_names_and_writing_change_no_winner_of_triplets(
    votes: list[tuple[str, list[str], int]], texts: Any, data: Any, tmp_path: Path
) -> None:
    """A system's score is the mean over items of the share of votes that its own side won."""
    rows = [
        {"image": image, "by_people": f"{image} by people", "x": texts[image, one], "y": texts[image, other],
         "a": one, "b": other, "rater": f"w{number}", "best": str(value)}
        for number, (image, (one, other, _), value) in enumerate(votes)
    ]  # fmt: skip
    won: defaultdict[str, defaultdict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        won[row["a"]][row["image"]].append(int(row["best"] == "1"))
        won[row["b"]][row["image"]].append(int(row["best"] == "2"))
    right = {system: mean(map(mean, values.values())) for system, values in won.items()}
    names, others = told_otherwise(rows, data, ("a", "b"), ("x", "y", "by_people"))
    verdicts = []
    for some, expected in ((rows, right), (others, renamed(right, names))):
        study = in_a_data_set_of_its_own(some, "triplet", OF_TRIPLETS, tmp_path)
        verdicts.append(verdict(study))
        assert archived(study, tmp_path) == pytest.approx(expected)
    assert verdicts[1] == pytest.approx(renamed(verdicts[0], names))


@pytest.mark.long
@given(votes=VOTES, texts=TEXTS, data=st.data())
@EXAMPLES
def test_order_names_and_writing_change_no_share_of_best(
    votes: list[tuple[str, list[str], int]], texts: Any, data: Any, tmp_path: Path
) -> None:
    """A system's share of best is that of its own options, and its score the best less the worst."""
    lists = [
        (image, systems, f"w{number}", (value, 3 - value))
        for number, (image, systems, value) in enumerate(votes)
    ]
    names = dict(zip(["s1", "s2", "s3"], data.draw(NAMES), strict=True))
    points: defaultdict[str, defaultdict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for image, systems, _, (best, worst) in lists:
        for place, system in enumerate(systems, start=1):
            points[system][image].append((place == best) - (place == worst))
    right = {system: mean(map(mean, values.values())) for system, values in points.items()}
    best_of = {
        system: mean(int(point > 0) for of_image in values.values() for point in of_image)
        for system, values in points.items()
    }
    again = [
        (image, [names[system] for system in systems], f"p-{rater}", ends)
        for image, systems, rater, ends in data.draw(st.permutations(lists))
    ]
    for some, back in (
        (lists, {name: name for name in names}),
        (again, {new: old for old, new in names.items()}),
    ):
        own = f"own-{Dataset.objects.count()}"
        dataset = make_dataset(own, IMAGES)
        path = tmp_path / f"{own}.jsonl"
        path.write_text("".join(map(line_of(texts, back), some)), encoding="utf-8")
        import_judgments(format="jsonl", path=path, dataset=dataset.name, study=own, protocol="best-worst")
        study = Study.objects.get(slug=own)
        forward = {old: new for new, old in back.items()}
        assert archived(study, tmp_path) == pytest.approx(renamed(right, forward))
        assert verdict(study) == pytest.approx(renamed(best_of, forward))


def line_of(texts: dict[tuple[str, str], str], back: dict[str, str]) -> Callable[[Any], str]:
    """A list of options with their systems, a line each; ``back`` has the systems' names in ``texts``."""

    def line(row: tuple[str, list[str], str, tuple[int, int]]) -> str:
        image, systems, rater, (best, worst) = row
        options = [
            {"key": f"o{place}", "text": texts[image, back[system]]} for place, system in enumerate(systems)
        ]
        return json.dumps(
            {
                "unit": content_key(rater[-3:], image, *systems), "worker": rater, "image": image,
                "content": {"options": options},
                "systems": {f"o{place}": [{"system": system, "rank": 1}] for place, system in enumerate(systems)},
                "answer": {"best": f"o{best - 1}", "worst": f"o{worst - 1}"},
            }
        ) + "\n"  # fmt: skip

    return line


def told_otherwise(
    rows: list[Row], data: Any, systems: tuple[str, ...], texts: tuple[str, ...]
) -> tuple[dict[str, str], list[Row]]:
    """The rows in another order, with other people, exchanged systems and texts in other writings."""
    names = dict(zip(["s1", "s2", "s3"], data.draw(NAMES), strict=True))
    people = sorted({row["rater"] for row in rows})
    others = dict(zip(people, data.draw(st.permutations([f"p-{name}" for name in people])), strict=True))
    return names, [
        row
        | {"rater": others[row["rater"]]}
        | {column: names[row[column]] for column in systems}
        | {column: data.draw(st.sampled_from(FORMS))(row[column]) for column in texts}
        for row in data.draw(st.permutations(rows))
    ]


@pytest.mark.parametrize("protocol", ["graded", "pairwise"])
def test_a_system_may_have_several_outputs_for_an_item(
    dataset: Dataset, tmp_path: Path, protocol: str
) -> None:
    """As ASSET, whose ten simplifications of a sentence were judged as those of one system."""
    rows, columns = rows_of(GRADES), OF_GRADES
    if protocol == "pairwise":
        rows, columns = rows_of(PAIRS), OF_PAIRS
        study = brought([*rows, rows[0] | {"x": "another"}], protocol, columns, tmp_path)
        assert list(verdict(study)) == ["s1", "s2", "s3"]
    else:
        study = brought([*rows, rows[0] | {"out": "more", "stars": "1"}], protocol, columns, tmp_path)
        assert means(study) == means(again(study, tmp_path)) == {"s1": 3.0, "s2": 1.5}


def test_the_mean_of_a_system_with_several_outputs_for_an_item_is_over_its_outputs(
    dataset: Dataset, tmp_path: Path
) -> None:
    rows = [
        {"image": image, "out": out, "model": model, "rater": rater, "stars": stars}
        for image, out, model, stars in (("A.jpg", "one", "s1", "4"), ("A.jpg", "two", "s1", "4"),
                                         ("B.jpg", "three", "s1", "1"), ("A.jpg", "one", "s2", "3"))
        for rater in ("ann", "ben")
    ]  # fmt: skip
    study = brought(rows, "graded", OF_GRADES, tmp_path)
    assert means(study) == verdict(study) == {"s1": 3.0, "s2": 3.0}


def test_a_system_that_a_study_judges_not_at_all_has_no_rank_in_it(dataset: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "of-another.csv"
    path.write_text("image,caption,rank\nA.jpg,an output,1\nA.jpg,a second one,2\n")
    import_candidates(format="csv", path=path, dataset=dataset.name, system="other")
    rows = [
        {"image": "A.jpg", "out": out, "model": "s1", "rater": rater, "stars": "4"}
        for out in ("one", "two")
        for rater in ("ann", "ben")
    ]
    study = brought(rows, "graded", OF_GRADES, tmp_path)
    rankings = compute_aggregation(study=study).as_json()["rankings"]
    assert {row["system"] for table in rankings.values() for row in table} == {"s1"}
