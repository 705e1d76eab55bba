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
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.importing import import_judgments
from evaluation.data.export.exporting import export_judgments
from evaluation.reports.releases.verification import verify_bundle
from evaluation.results.aggregation import aggregate_study, compute_aggregation
from evaluation.results.error_spans.scores import segments_of, system_scores
from evaluation.results.strengths.computing import strengths_of
from judgments.importers import ColumnMapping, ImportProblem
from judgments.models import CandidatePair, Dataset, Study, Unit
from tests.evaluation.studies import make_dataset
from tests.evaluation.test_kinds_of_releases import released
from tests.judgments.desk import page

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


def verdict(study: Study) -> dict[str, float]:
    found = compute_aggregation(study=study).as_json()["systems_verdict"]
    return {row["system"]: row["value"] for row in found["systems"]}


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


def strengths(study: Study) -> dict[str, float]:
    return {row["system"]: round(row["strength"], 2) for row in strengths_of(study)["systems"]}


@pytest.mark.parametrize("order", list(permutations(range(4)))[::5])
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
        assert strengths(study) == {"s1": 0.69, "s2": 0.0, "s3": -0.69}
        assert list(strengths(study)) == ["s1", "s2", "s3"]
        assert CandidatePair.objects.filter(study=study).count() == 4
    assert strengths(again(study, tmp_path)) == {"s1": 0.69, "s2": 0.0, "s3": -0.69}


def test_two_systems_of_one_text_meet_in_a_pair(dataset: Dataset, tmp_path: Path) -> None:
    """Whoever wins, both sides show the same caption, and each is of its own system."""
    rows = [row | {"y": row["x"]} for row in rows_of(PAIRS)[:2]] + rows_of(PAIRS)[2:]
    study = brought(rows, "pairwise", OF_PAIRS, tmp_path)
    found = strengths(study)
    assert list(found) == ["s1", "s2", "s3"]
    assert strengths(again(study, tmp_path)) == found


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
        found = {
            row["system"]: (round(row["strength"], 2), row["best"]) for row in strengths_of(study)["systems"]
        }
        assert {name: best for name, (_, best) in found.items()} == {"s1": 2 / 3, "s2": 0.5, "s3": 1 / 3}
        assert [found[name][0] > found[other][0] for name, other in (("s1", "s2"), ("s2", "s3"))] == [
            True,
            True,
        ]
        scores = archived(study, tmp_path)
        assert scores == pytest.approx({"s1": 0.5, "s2": 0.0, "s3": -0.5})
    assert archived(again(study, tmp_path), tmp_path) == scores


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
    with pytest.raises(ImportProblem, match='line 3, unit: found "u" with other content than before'):
        brought(rows, "graded", {**OF_GRADES, "unit": "unit"}, tmp_path)
    assert not Study.objects.exists()


def test_one_pair_of_other_systems_is_refused_by_line(dataset: Dataset, tmp_path: Path) -> None:
    rows = [row | {"id": "p1"} for row in rows_of(PAIRS)[:2]]
    with pytest.raises(ImportProblem, match=r'line 3, id \(pair\): found "p1" with other content'):
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


@pytest.mark.parametrize("protocol", ["graded", "spans", "pairwise"])
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
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def in_a_data_set_of_its_own(rows: list[Row], protocol: str, columns: dict[str, str], folder: Path) -> Study:
    name = f"own-{Dataset.objects.count()}"
    make_dataset(name, IMAGES)
    return brought(rows, protocol, columns, folder, name, name)


def renamed(figures: dict[str, float], names: dict[str, str]) -> dict[str, float]:
    return {names[system]: value for system, value in figures.items()}


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


@given(votes=VOTES, texts=TEXTS, data=st.data())
@EXAMPLES
def test_order_names_and_writing_change_no_strength(
    votes: list[tuple[str, list[str], int]], texts: Any, data: Any, tmp_path: Path
) -> None:
    """Each system wins as often as its own side was chosen, whatever others wrote."""
    rows = [
        {"image": image, "x": texts[image, one], "y": texts[image, other], "a": one, "b": other,
         "rater": f"w{number}", "best": str(value)}
        for number, (image, (one, other, _), value) in enumerate(votes)
    ]  # fmt: skip
    names = dict(zip(["s1", "s2", "s3"], data.draw(NAMES), strict=True))
    others = [
        row
        | {"a": names[row["a"]], "b": names[row["b"]]}
        | {side: data.draw(st.sampled_from(FORMS))(row[side]) for side in "xy"}
        for row in data.draw(st.permutations(rows))
    ]
    found = []
    for some in (rows, others):
        study = in_a_data_set_of_its_own(some, "pairwise", OF_PAIRS, tmp_path)
        found.append({row["system"]: row["strength"] for row in strengths_of(study)["systems"]})
        pairs = {(row["image"], row["a"], row["b"]) for row in some}
        assert CandidatePair.objects.filter(study=study).count() == len(pairs)
    if None not in found[0].values():
        assert found[1] == pytest.approx(renamed(found[0], names), abs=1e-6)
