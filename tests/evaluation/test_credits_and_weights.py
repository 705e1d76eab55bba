"""Systems that a file credits with equal texts, also across an export; weights of errors, and ranks over domains."""

import csv
import json
import zipfile
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from annotation.rehearsal import Crowd, rehearse
from common.errors import DataConflict
from contrib.judgment_imports.importing import import_judgments
from evaluation.data.export.exporting import export_judgments
from evaluation.reports.releases.verification import describe_differences
from evaluation.results.aggregation import aggregate_study, compute_aggregation
from evaluation.results.error_spans.scores import (
    Judged,
    rank_systems,
    score_segments,
    segments_of,
    system_scores,
)
from evaluation.results.meta_evaluation import evaluate_study
from judgments.datasets.importing import import_candidates
from judgments.drawing.material import candidate_key
from judgments.importers import ImportProblem
from judgments.kinds import KINDS
from judgments.models import CandidatePair, Caption, Dataset, Item, Output, Study, System
from judgments.studies.studies import mark_closed
from quorum.statistics.significance import stouffer_wilcoxon
from tests.evaluation.reporting import words
from tests.evaluation.studies import StudyOf, candidate, make_dataset
from tests.evaluation.test_kinds_of_releases import drafted, ranking
from tests.evaluation.test_scales import better_and_worse
from tests.judgments.desk import page
from tests.studies import make_dataset as make_animals
from tests.studies import make_study

pytestmark = pytest.mark.django_db
MAJOR = {"start": 0, "end": 1, "severity": "major", "category": "style/awkward"}
SOURCE = {"start": None, "end": None, "severity": "minor", "category": "source issue"}
DESIGN = """
language = "en"
source = { show = true, language = "zh" }
[[spans.weights]]
category = "source issue"
weights = { minor = 1, major = 5 }
[[spans.weights]]
weights = { major = 4 }
"""

SCORES = {
    "a": [90, 80, 95, 70, 88, 91, 85, 60, 99, 88, 77, 93],
    "b": [70, 60, 80, 65, 80, 90, 80, 58, 79, 78, 70, 60],
    "c": [71, 75, 60, 66, 80, 50, 62, 50, 78, 80, 71, 59],
}


def judgment(system: str, image: str, spans: list[dict[str, Any]]) -> str:
    credits = {"same": [{"system": system, "rank": 1}]}
    row: dict[str, Any] = {"unit": f"{system}/{image}", "image": image, "worker": "rater1", "first": "same"}
    row |= {"first_text": "One text.", "systems": credits, "answer": {"spans": spans}}
    return f"{json.dumps(row)}\n"


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """Systems of one text, of which a rater sees more in that of the second."""
    items = [{"image": name, "split": name, "text": "源", "caption": "A text."} for name in ("1", "2")]
    (tmp_path / "items.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in items))
    (tmp_path / "design.toml").write_text(DESIGN)
    path = tmp_path / "judgments.jsonl"
    path.write_text(
        judgment("north", "1", [SOURCE])
        + judgment("south", "1", [MAJOR, SOURCE])
        + judgment("north", "2", [])
        + judgment("south", "2", [MAJOR])
    )
    call_command("import_dataset", "jsonl", str(tmp_path / "items.jsonl"), name="ted", stdout=StringIO())
    call_command("import_judgments", "jsonl", str(path), dataset="ted", study="ted", protocol="spans",
                 design=tmp_path / "design.toml", stdout=StringIO())  # fmt: skip
    return Study.objects.get(slug="ted")


def test_a_unit_is_scored_for_the_systems_of_its_row_by_the_weights_of_the_study(study: Study) -> None:
    assert [(row.system, row.score, row.segments) for row in system_scores(segments_of(study))] == [
        ("north", -0.5, 2), ("south", -4.5, 2),
    ]  # fmt: skip
    printed = StringIO()
    call_command("error_spans", "ted", domains=True, stdout=printed)
    assert "south     1–2  -4.50  -5.00  -4.00" in printed.getvalue()
    aggregate_study(study=study)
    values = study.consensus.order_by("value").values_list("value", flat=True)
    assert list(values) == [-5, -4, -1, 0]


def test_the_page_shows_both_sides_and_says_whose_weights_they_are(study: Study, designer: Client) -> None:
    aggregate_study(study=study)
    shown = words(designer.get(page(study, "errors")))
    assert "The study’s own weights: source issue Minor 1.0 Major 5.0; Major 4.0." in shown
    assert "north less south: 4.00 over 2 segments; better on 2, worse on 0." in shown
    assert "How do systems rank over domains?" in shown
    assert "north · -1.00" in shown
    assert "south · -5.00" in shown


def test_exports_keep_them_apart(study: Study, tmp_path: Path) -> None:
    export_judgments(study=study, format="mtme", output=tmp_path / "out.zip")
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        assert archive.read("ted/human-scores/zh-en.spans.sys.score") == b"north\t-0.5\nsouth\t-4.5\n"
        errors = archive.read("ted/human-scores/zh-en.spans.rater1.seg.rating").decode().splitlines()
    assert [len(json.loads(line.split("\t")[1])["errors"]) for line in errors] == [1, 0, 2, 1]
    assert json.loads(errors[0].split("\t")[1])["errors"][0]["score"] == 1
    path = tmp_path / "out.jsonl"
    export_judgments(study=study, format="jsonl", output=path)
    call_command(
        "import_judgments", "jsonl", str(path), dataset="ted", study="again", protocol="spans", stdout=StringIO()
    )  # fmt: skip
    again = system_scores(segments_of(Study.objects.get(slug="again")))
    assert [(row.system, row.score) for row in again] == [("north", 0), ("south", -5)]  # the usual weights


def test_a_design_that_is_wrong_stores_nothing(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    for text, sentence in (
        ("[[spans.weights]]\nweights = { terrible = 1 }\n", "spans.weights"),
        (DESIGN + "[[spans.weights]]\nweights = { minor = 2 }\n", "spans.weights has a category twice"),
        ("spans = [", "is not TOML"),
    ):
        path.write_text(text)
        with pytest.raises(CommandError, match=sentence):
            call_command("import_judgments", "jsonl", str(tmp_path / "judgments.jsonl"), dataset="ted",
                         study="wrong", protocol="spans", design=path, stdout=StringIO())  # fmt: skip
    assert not Study.objects.filter(slug="wrong").exists()


def test_ranks_are_those_of_wmt24() -> None:
    """Against get_pvalues and get_ranks of wmt24-news-systems (humeval/tools.py), over the same scores."""
    judged = [
        Judged("w", {"spans": [], "score": score}, "d", "news" if item < 6 else "speech")
        for scores in SCORES.values()
        for item, score in enumerate(scores)
    ]
    texts = {name: {item: [12 * at + item] for item in range(12)} for at, name in enumerate(SCORES)}
    ranked = rank_systems(score_segments(judged, texts))
    assert [(row.system, row.best, row.worst) for row in ranked] == [("a", 1, 1), ("b", 2, 3), ("c", 2, 3)]
    apart = [first - second for first, second in zip(SCORES["b"], SCORES["c"], strict=True)]
    assert stouffer_wilcoxon([apart[:6], apart[6:]]) == pytest.approx(0.6427058345377825)


IMAGES = {"a.jpg": ["a dog", "the dog"], "b.jpg": ["a cat"], "c.jpg": ["a red car"]}


def without_systems(dataset: Dataset) -> Dataset:
    """The same images and references, as an empty installation imports them."""
    made = Dataset.objects.create(name=f"{dataset.name}-again", source_format="jsonl", fingerprint="1" * 64)
    for item in dataset.items.order_by("position"):
        captions = list(item.references.order_by("position"))
        item.pk, item.dataset = None, made
        item.save()
        for caption in captions:
            caption.pk, caption.dataset, caption.item = None, made, item
            caption.save()
    return made


def outputs(
    system: str, made: Dataset, lists: dict[str, list[str]], *, first: int = 1, **values: Any
) -> System:
    row, _ = System.objects.get_or_create(dataset=made, name=system, defaults=values)
    for image, texts in lists.items():
        for rank, text in enumerate(texts, start=first):
            item = Item.objects.get(dataset=made, name=image)
            Output.objects.create(system=row, item=item, caption=candidate(made, text), rank=rank)
    return row


def lines(study: Study, folder: Path) -> list[dict[str, Any]]:
    path = folder / "judgments.jsonl"
    export_judgments(study=study, format="jsonl", output=path)
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def tables(study: Study) -> dict[str, Any]:
    """What is said of systems, as `aggregate --output` has it."""
    found = compute_aggregation(study=study).as_json()
    pairs = {pair["pair"]: pair for pair in found["pairs"]}
    return {"systems": found.get("systems"), "rankings": found.get("rankings"), "pairs": pairs}


@pytest.fixture(scope="module")
def relevance(module_db: None) -> StudyOf:
    """Three images; one system ranks from 0, one from 1 with a gap; a control item has a credited text too."""
    made = StudyOf(make_dataset("toy", IMAGES), "relevance")
    outputs("zero", made.dataset, {"a.jpg": ["one dog", "two dogs"], "b.jpg": ["one cat"]}, first=0)
    outputs("gaps", made.dataset, {"a.jpg": ["two dogs"]}, first=3)
    outputs("gaps", made.dataset, {"a.jpg": ["the dog"]}, first=7)
    units = [
        made.unit("u1", "a.jpg", first="one dog"),
        made.unit("u2", "a.jpg", first="two dogs"),
        # a reference with the words that a system gave: another caption row, the same text
        made.unit("u3", "a.jpg", first=Caption.objects.get(dataset=made.dataset, key="a.jpg#1")),
        made.unit("u4", "b.jpg", first="one cat"),
        made.unit("u5", "c.jpg", first="nobody's"),
        made.unit("c1", "b.jpg", first="one cat", control=True, expected=1),
    ]
    hit = made.hit("h1", units)
    for name in ("w-1", "w-2", "w-3"):
        made.answer(hit, name, [1, 0, 1, 1, 0, 1])
    return made


def test_an_export_names_the_systems_behind_each_caption_with_their_places(
    relevance: StudyOf, tmp_path: Path
) -> None:
    found = {row["unit"]: (row["first"], row["systems"]) for row in lines(relevance.study, tmp_path)}
    keys = {unit: first for unit, (first, _) in found.items()}
    assert {unit: systems for unit, (_, systems) in found.items()} == {
        "u1": {keys["u1"]: [{"system": "zero", "rank": 1}]},
        "u2": {keys["u2"]: [{"system": "gaps", "rank": 1}, {"system": "zero", "rank": 2}]},
        "u3": {"a.jpg#1": [{"system": "gaps", "rank": 2}]},
        "u4": {keys["u4"]: [{"system": "zero", "rank": 1}]},
        "u5": None,
        "c1": None,
    }


def test_csv_and_parquet_hold_the_same_as_json_texts(relevance: StudyOf, tmp_path: Path) -> None:
    wanted = [row["systems"] for row in lines(relevance.study, tmp_path)]
    export_judgments(study=relevance.study, format="csv", output=tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0])[-1] == "systems"
    assert [json.loads(row["systems"]) if row["systems"] else None for row in rows] == wanted
    export_judgments(study=relevance.study, format="parquet", output=tmp_path / "out.parquet")
    cells = pq.read_table(tmp_path / "out.parquet")["systems"].to_pylist()
    assert [cell and json.loads(cell) for cell in cells] == wanted


def test_a_found_image_is_credited_with_its_task(relevance: StudyOf, tmp_path: Path) -> None:
    made = relevance.dataset
    finder = System.objects.create(dataset=made, name="finder")
    asking = Caption.objects.get(dataset=made, key="a.jpg#1")
    for rank, name in enumerate(("c.jpg", "a.jpg")):
        item = Item.objects.get(dataset=made, name=name)
        Output.objects.create(system=finder, item=item, caption=asking, task="search", rank=rank)
    found = {row["unit"]: row["systems"] for row in lines(relevance.study, tmp_path)}
    assert found["u3"] == {
        "a.jpg#1": [{"system": "gaps", "rank": 2}, {"system": "finder", "rank": 2, "task": "search"}]
    }


def test_an_export_that_goes_on_does_not_see_what_was_imported_meanwhile(
    relevance: StudyOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evaluation.data.export import parts
    from tests.evaluation.test_resumed_exports import Stopped, stop_after

    monkeypatch.setattr(parts, "UNITS_A_PART", 2)
    path = tmp_path / "out.jsonl"
    export_judgments(study=relevance.study, format="jsonl", output=tmp_path / "whole.jsonl")
    with pytest.raises(Stopped):
        export_judgments(study=relevance.study, format="jsonl", output=path, progress=stop_after(2))
    outputs("late", relevance.dataset, {"c.jpg": ["nobody's"], "a.jpg": ["the dog"]})
    export_judgments(study=relevance.study, format="jsonl", output=path, resume=True)
    assert path.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_credits_cost_no_more_queries_for_more_units(
    relevance: StudyOf, tmp_path: Path, django_assert_max_num_queries: Any
) -> None:
    for number in range(70):
        text = f"text {number}"
        relevance.unit(f"more-{number}", "c.jpg", first=text)
        outputs("zero", relevance.dataset, {"c.jpg": [text]}, first=number)
    with django_assert_max_num_queries(60):
        lines(relevance.study, tmp_path)
    with django_assert_max_num_queries(40):
        compute_aggregation(study=relevance.study)


def whole(protocol: str, folder: Path) -> Study:
    """A study that judges everything that systems gave for the images of its split: nothing else goes into a file."""
    controls = {"per_hit": 1, "threshold": 0.0}
    if protocol in ("relevance", "graded"):
        ranking("ranker")
        study = make_study(protocol, controls=controls)
    elif protocol == "slider":
        better_and_worse(systems=4)
        study = make_study(protocol, controls=controls)
    else:
        study = drafted(protocol, folder)
    if protocol != "best-worst":  # whose units hold the ids of their captions
        for caption in Caption.objects.filter(dataset=study.dataset, role="candidate"):
            caption.key = candidate_key(caption.text)
            caption.save()
    return study


@pytest.mark.parametrize(
    ("protocol", "form"), [*((kind, "jsonl") for kind in KINDS if kind != "template"), ("best-worst", "csv")]
)
def test_the_tables_of_systems_come_back_into_an_empty_dataset(
    protocol: str, form: str, tmp_path: Path
) -> None:
    study = whole(protocol, tmp_path)
    rehearse(study=study, crowd=Crowd(workers=5, spammers=0.0, seed=5, drop_outs=0.0))
    study.refresh_from_db()
    mark_closed(study=study)
    path = tmp_path / f"out.{form}"
    export_judgments(study=study, format=form, output=path)
    empty = without_systems(study.dataset)
    summary = import_judgments(format=form, path=path, dataset=empty.name, study="again", protocol=protocol)
    again = Study.objects.get(slug="again")
    assert describe_differences(tables(study), tables(again), "tables") == []  # but for the last bits
    named = set(CandidatePair.objects.filter(study=study).values_list("key", "first_system__name"))
    assert set(CandidatePair.objects.filter(study=again).values_list("key", "first_system__name")) == named
    made = System.objects.filter(dataset=empty).count()
    assert summary.counts.get("systems added", 0) == made
    assert bool(made) == (protocol not in ("caption", "keywords", "grounding"))
    # written again, it is the same file but for names that an import gives
    export_judgments(study=again, format="jsonl", output=tmp_path / "again.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "again.jsonl").read_text("utf-8").splitlines()]
    own = {row["unit"]: row["systems"] for row in lines(study, tmp_path)}
    assert {row["unit"]: row["systems"] for row in rows} == own


@pytest.mark.parametrize("protocol", ["triplet", "pairwise"])
def test_metrics_meet_the_same_references_after_the_round_trip(protocol: str, tmp_path: Path) -> None:
    """Another reference with a candidate's words is none of the pair's, in the file as in the draw."""
    animals = make_animals(images=8)
    for item in Item.objects.filter(dataset=animals).order_by("position"):
        first, *_, last = item.references.order_by("position")
        last.text = f" {first.text}"
        last.save()
    sampling = {"pairs": {"HC": 4, "HM": 4, "MM": 4}}
    study = make_study(protocol, sampling=sampling, controls={"per_hit": 0})
    rehearse(study=study, crowd=Crowd(workers=4, spammers=0.0, seed=5, drop_outs=0.0))
    study.refresh_from_db()
    mark_closed(study=study)
    rows = lines(study, tmp_path)
    imported(rows, without_systems(study.dataset).name, tmp_path)
    again = Study.objects.get(slug="again")
    kept = [
        {
            key: sorted(own)
            for key, own in CandidatePair.objects.filter(study=one).values_list("key", "references")
        }
        for one in (study, again)
    ]
    assert kept[0] == kept[1]
    figures = [evaluate_study(study=one, metrics=["rouge-l"]) for one in (study, again)]
    assert figures[0]["metrics"] == figures[1]["metrics"]


def imported(rows: list[dict[str, Any]], dataset: str, folder: Path, slug: str = "again") -> dict[str, int]:
    path = folder / f"{slug}.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return import_judgments(format="jsonl", path=path, dataset=dataset, study=slug).counts


def test_what_the_dataset_knows_already_is_added_by_no_import(relevance: StudyOf, tmp_path: Path) -> None:
    before = set(Output.objects.values_list("pk", flat=True))
    counts = imported(lines(relevance.study, tmp_path), "toy", tmp_path)
    assert "systems added" not in counts
    assert set(Output.objects.values_list("pk", flat=True)) == before
    assert tables(Study.objects.get(slug="again")) == tables(relevance.study)


@pytest.mark.parametrize("known", ["other words", "place"])
def test_a_file_that_contradicts_the_dataset_is_refused_and_changes_nothing(
    known: str, relevance: StudyOf, tmp_path: Path
) -> None:
    rows = lines(relevance.study, tmp_path)
    empty = without_systems(relevance.dataset)
    texts = {"other words": ["no such dog"], "place": ["two dogs", "one dog"]}[known]
    outputs("zero", empty, {"a.jpg": texts})
    before = Output.objects.count(), System.objects.count(), Study.objects.count()
    with pytest.raises(DataConflict, match=r"'zero'.*'one dog' at rank 1 for image 'a\.jpg'"):
        imported(rows, empty.name, tmp_path)
    assert (Output.objects.count(), System.objects.count(), Study.objects.count()) == before


@pytest.mark.parametrize(
    ("systems", "said"),
    [
        ([], "object"),
        ({"a.jpg#1": {"system": "x"}}, "lists"),
        ({"a.jpg#1": [{"system": "x", "rank": 0}]}, "rank"),
        ({"a.jpg#1": [{"system": "x", "rank": True}]}, "rank"),
        ({"a.jpg#1": [{"system": 3}]}, "name"),
        ({"a.jpg#1": [{"system": "x", "task": "both"}]}, "task"),
        ({"a.jpg#1": [{"system": "x", "place": 1}]}, "system"),
        ({"b.jpg#0": [{"system": "x", "rank": 1}]}, "caption of the unit"),
    ],
)
def test_a_credit_that_is_none_is_refused(
    systems: Any, said: str, relevance: StudyOf, tmp_path: Path
) -> None:
    rows = [row | {"systems": systems} for row in lines(relevance.study, tmp_path) if row["unit"] == "u3"]
    with pytest.raises(ImportProblem, match=said) as found:
        imported(rows, "toy", tmp_path)
    assert found.value.line == 1
    assert not Study.objects.filter(slug="again").exists()


def test_a_file_without_the_column_imports_as_before_and_keeps_its_fingerprint(
    relevance: StudyOf, tmp_path: Path
) -> None:
    rows = lines(relevance.study, tmp_path)
    empty = without_systems(relevance.dataset)
    for row in rows:
        del row["systems"]
    imported(rows, empty.name, tmp_path)
    nulls = tmp_path / "nulls.jsonl"
    nulls.write_text("".join(f"{json.dumps(row | {'systems': None})}\n" for row in rows), encoding="utf-8")
    same = import_judgments(format="jsonl", path=nulls, dataset=empty.name, study="again")
    assert not same.created
    assert not System.objects.filter(dataset=empty).exists()


def candidates(folder: Path, rows: list[tuple[str, str, int]]) -> Path:
    path = folder / "candidates.jsonl"
    path.write_text(
        "".join(
            f"{json.dumps({'image': image, 'caption': text, 'rank': rank})}\n" for image, text, rank in rows
        )
    )
    return path


def test_a_system_that_came_with_judgments_is_completed_by_its_own_file(
    relevance: StudyOf, tmp_path: Path
) -> None:
    empty = without_systems(relevance.dataset)
    rows = [row for row in lines(relevance.study, tmp_path) if row["unit"] != "u1"]
    imported(rows, empty.name, tmp_path)
    again = Study.objects.get(slug="again")
    (gapped,) = [row for row in tables(again)["rankings"]["annotation"] if row["system"] == "zero"]
    assert gapped["S@1"]["unjudged"] == 1  # what stood first for a.jpg is not in the file
    whole = [("a.jpg", "one dog", 1), ("a.jpg", "two dogs", 2), ("b.jpg", "one cat", 1), ("c.jpg", "new", 1)]
    other = candidates(tmp_path, [("a.jpg", "two dogs", 1), *whole[2:]])
    with pytest.raises(DataConflict, match="zero"):
        import_candidates(format="jsonl", path=other, dataset=empty.name, system="zero")
    path = candidates(tmp_path, whole)
    found = import_candidates(format="jsonl", path=path, dataset=empty.name, system="zero")
    assert (found.created, found.counts) == (True, {"captions": 4})
    assert not import_candidates(format="jsonl", path=path, dataset=empty.name, system="zero").created
    own = Output.objects.filter(system__name="zero", system__dataset=empty)
    places = own.order_by("item__name", "rank").values_list("item__name", "caption__text")
    assert list(places) == [(image, text) for image, text, _ in whole]
    empty.refresh_from_db()
    assert empty.known_in_part == {"annotation": ["gaps"]}
