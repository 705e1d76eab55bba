"""Systems that a file credits with equal texts, also across an export."""

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from common.errors import DataConflict
from contrib.judgment_imports.importing import import_judgments
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from evaluation.data.export.exporting import export_judgments
from evaluation.reports.releases.verification import describe_differences
from evaluation.results.aggregation import compute_aggregation
from evaluation.results.metrics.storage import evaluate_study
from judgments.datasets.importing.candidates import import_candidates
from judgments.drawing.keys import candidate_key
from judgments.importers import ImportProblem
from judgments.kinds import KINDS
from judgments.models import CandidatePair, Caption, Dataset, Item, Output, Study, System
from judgments.studies.studies import mark_closed
from tests.evaluation.studies import StudyOf, candidate, make_dataset
from tests.evaluation.test_kinds_of_releases import drafted, ranking
from tests.evaluation.test_scales import better_and_worse
from tests.marks import long_except
from tests.refusals import refuses
from tests.studies import make_dataset as make_animals
from tests.studies import make_study

pytestmark = pytest.mark.django_db

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

    monkeypatch.setattr(parts, "UNITS_PER_PART", 2)
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
    ("protocol", "form"),
    [
        ("graded", "jsonl"),
        ("pairwise", "jsonl"),
        ("best-worst", "csv"),
        ("caption", "jsonl"),
        *(
            pytest.param(kind, "jsonl", marks=pytest.mark.long)
            for kind in KINDS
            if kind not in ("graded", "pairwise", "caption", "template")
        ),
    ],
)
def test_the_tables_of_systems_come_back_into_an_empty_dataset(
    protocol: str, form: str, tmp_path: Path
) -> None:
    study = whole(protocol, tmp_path)
    rehearse(study=study, crowd=RehearsalCrowd(workers=5, spammers=0.0, seed=5, drop_outs=0.0))
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


@pytest.mark.parametrize("protocol", long_except(["triplet", "pairwise"], "triplet"))
def test_metrics_meet_the_same_references_after_the_round_trip(protocol: str, tmp_path: Path) -> None:
    """Another reference with a candidate's words is none of the pair's, in the file as in the draw."""
    animals = make_animals(images=8)
    for item in Item.objects.filter(dataset=animals).order_by("position"):
        first, *_, last = item.references.order_by("position")
        last.text = f" {first.text}"
        last.save()
    sampling = {"pairs": {"HC": 4, "HM": 4, "MM": 4}}
    study = make_study(protocol, sampling=sampling, controls={"per_hit": 0})
    rehearse(study=study, crowd=RehearsalCrowd(workers=4, spammers=0.0, seed=5, drop_outs=0.0))
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
    with refuses(DataConflict, "zero", "a.jpg"):
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
        ({"b.jpg#0": [{"system": "x", "rank": 1}]}, "unit"),
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
