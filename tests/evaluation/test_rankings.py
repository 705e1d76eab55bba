"""How systems rank, by hand: S@k, R-precision, R@k and the median rank of H13 §4.3."""

import json
import math
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.test import Client

from evaluation.data.releases.bundle import BundleReader
from evaluation.data.releases.terms import ReleaseTerms
from evaluation.models import MetricScore
from evaluation.presentation.content import Estimate
from evaluation.reports.releases.making import release_study
from evaluation.reports.releases.verification import read_bundle, verify_bundle
from evaluation.results.aggregation import aggregate_study, compute_aggregation
from evaluation.results.metrics.storage import evaluate_study
from evaluation.results.rankings.filter_audit import audit_filter, audit_sentence
from evaluation.results.rankings.tables import rankings_tables
from judgments.kinds import KINDS, Consensus, RelevanceScale
from judgments.models import Caption, Item, Output, Study, System
from quorum.statistics.correlation import kendall_tau_b
from quorum.statistics.meta import wilson_interval
from tests.doors import key_of
from tests.evaluation.reporting import words
from tests.evaluation.studies import StudyOf, candidate, make_dataset
from tests.evaluation.test_study_page import IMAGES
from tests.judgments.desk import page

pytestmark = pytest.mark.django_db

PETS = {f"{number}.jpg": [f"pet {number}"] for number in range(4)}


def ranked(made: StudyOf, system: str, lists: dict[str, list[str]], *, ranks: Any = None) -> None:
    """Lists of captions for images, references by id, others by their words."""
    row, _ = System.objects.get_or_create(dataset=made.dataset, name=system)
    for image, captions in lists.items():
        for place, text in enumerate(captions):
            Output.objects.create(
                system=row,
                item=Item.objects.get(dataset=made.dataset, name=image),
                caption=caption_of(made, text),
                rank=place if ranks is None else ranks[place],
            )


def caption_of(made: StudyOf, text: str) -> Caption:
    return Caption.objects.filter(dataset=made.dataset, key=text).first() or candidate(made.dataset, text)


def searched(made: StudyOf, system: str, lists: dict[str, list[str]]) -> None:
    """Lists of images for captions."""
    row, _ = System.objects.get_or_create(dataset=made.dataset, name=system)
    for caption, images in lists.items():
        for place, image in enumerate(images, start=1):
            Output.objects.create(
                system=row,
                item=Item.objects.get(dataset=made.dataset, name=image),
                caption=caption_of(made, caption),
                rank=place,
                task="search",
            )


def judge(made: StudyOf, said: dict[tuple[str, str], Any], workers: int = 3) -> None:
    units = [made.unit(f"{image} {text}", image, first=caption_of(made, text)) for image, text in said]
    hit = made.hit("h1", units, required=workers)
    for number in range(workers):
        made.answer(hit, f"w-{number}", list(said.values()))


def of_system(table: list[dict[str, Any]], name: str) -> dict[str, Any]:
    (row,) = [row for row in table if row["system"] == name]
    return row


def test_success_and_r_precision_are_of_places_whatever_the_ranks_begin_with() -> None:
    made = StudyOf(make_dataset("pets", PETS), "relevance")
    # zero-based; with gaps; an equal text twice, which takes its best place and no other's
    ranked(made, "zero", {"0.jpg": ["x", "y"], "1.jpg": ["y", "x"], "2.jpg": ["z", "x"]})
    ranked(made, "gaps", {"0.jpg": ["y", "x"], "1.jpg": ["x", "y"]}, ranks=(4, 9))
    ranked(made, "twice", {"0.jpg": ["y", "y", "x"]}, ranks=(1, 2, 3))
    judge(
        made, {("0.jpg", "x"): 1, ("0.jpg", "y"): 0, ("1.jpg", "x"): 1, ("1.jpg", "y"): 1, ("2.jpg", "z"): 0}
    )
    rows = aggregate_study(study=made.study)["rankings"]["annotation"]
    zero, gaps, twice = (of_system(rows, name) for name in ("zero", "gaps", "twice"))
    assert (zero["queries"], zero["nothing_relevant"]) == (3, 1)
    low = 0.025**0.5  # two of two: the exact interval of Clopper and Pearson
    assert zero["S@1"] == {
        "value": 1.0, "low": pytest.approx(low), "high": 1.0, "n": 2, "unjudged": 0, "best_case": 1.0,
    }  # fmt: skip
    assert zero["R-precision"]["value"] == 1.0  # one of one, two of two
    assert (gaps["S@1"]["value"], gaps["S@5"]["value"], gaps["R-precision"]["value"]) == (0.5, 1.0, 0.5)
    assert (twice["S@1"]["value"], twice["S@5"]["value"]) == (0.0, 1.0)
    # unjudged captions are told; they may only help
    assert zero["S@5"]["unjudged"] == 1
    assert [row["system"] for row in rows] == ["zero", "gaps", "twice"]


def test_one_judgment_counts_for_every_caption_row_with_the_same_words() -> None:
    """Two references of equal words are two rows; the unit shows one, the system ranked the other."""
    made = StudyOf(
        make_dataset("pets", {"0.jpg": ["a dog"], "1.jpg": ["a dog"], "2.jpg": ["a cat"]}), "relevance"
    )
    ranked(made, "ranker", {"0.jpg": ["2.jpg#0", "1.jpg#0"]})
    ranked(made, "other", {"0.jpg": ["a dog"]})
    judge(made, {("0.jpg", "0.jpg#0"): 1, ("0.jpg", "2.jpg#0"): 0})
    result = aggregate_study(study=made.study)
    ranker = of_system(result["rankings"]["annotation"], "ranker")
    assert (ranker["S@1"]["value"], ranker["S@5"]["value"], ranker["S@5"]["unjudged"]) == (0.0, 1.0, 0)
    # the words were written for 0.jpg: its original stands second
    assert (ranker["original"]["R@1"]["value"], ranker["original"]["R@5"]["value"]) == (0.0, 1.0)
    assert ranker["original"]["median_rank"]["value"] == 2.0
    assert of_system(result["systems"], "other")["describes"]["value"] == 1.0
    assert "original" not in of_system(result["rankings"]["annotation"], "other")


def test_search_asks_with_captions_and_finds_the_image_they_were_written_for(designer: Client) -> None:
    made = StudyOf(make_dataset("pets", PETS), "relevance")
    searched(made, "finder", {f"{n}.jpg#0": [f"{m % 4}.jpg" for m in range(n, n + 2)] for n in (0, 1)})
    searched(made, "finder", {"2.jpg#0": ["3.jpg", "1.jpg", "2.jpg"], "3.jpg#0": ["0.jpg", "1.jpg"]})
    judge(made, {("0.jpg", "0.jpg#0"): 0, ("1.jpg", "0.jpg#0"): 1, ("1.jpg", "1.jpg#0"): 1})
    result = aggregate_study(study=made.study)
    assert set(result["rankings"]) == {"search"}
    (row,) = result["rankings"]["search"]
    assert (row["queries"], row["not_judged"], row["nothing_relevant"]) == (4, 2, 0)
    assert (row["S@1"]["value"], row["S@5"]["value"], row["S@1"]["n"]) == (0.5, 1.0, 2)
    original = row["original"]
    assert [original[name]["value"] for name in ("R@1", "R@5")] == [0.5, 0.75]  # ranks 1, 1, 3, none
    assert original["median_rank"]["value"] == 2.0
    assert "systems" not in result  # who only ranks images for captions is no captioner
    shown = words(designer.get(page(made.study, "results")))
    assert "R@k: the share of lists" in shown
    assert "no median" not in shown


def test_no_median_is_said_where_half_of_the_originals_were_not_returned(designer: Client) -> None:
    made = StudyOf(make_dataset("pets", PETS), "relevance")
    ranked(made, "lost", {"0.jpg": ["1.jpg#0", "2.jpg#0"], "1.jpg": ["1.jpg#0", "3.jpg#0"]})
    judge(made, {("0.jpg", "1.jpg#0"): 0})
    result = aggregate_study(study=made.study)
    (row,) = result["rankings"]["annotation"]
    assert row["original"]["median_rank"]["value"] is None
    assert row["original"]["median_rank"]["reason"]
    assert row["original"]["R@10"]["value"] == 0.5
    assert row["S@1"]["value"] is None  # nothing relevant is known
    assert "No median rank: half of the lists" in rankings_tables(result)[1].note
    assert "no median, because at least half of the lists" in words(designer.get(page(made.study, "results")))


@pytest.mark.usefixtures("undrawn")
def test_people_and_the_original_can_order_systems_otherwise(designer: Client, tmp_path: Path) -> None:
    """Three systems by hand; people like best what puts the original last of all."""
    images = [f"{number}.jpg" for number in range(7)]
    made = StudyOf(make_dataset("pets", {image: [f"pet {image}"] for image in images}), "relevance")
    others = {image: [f"{other}#0" for other in images if other != image] for image in images}
    for system, place in (("first", 0), ("second", 1), ("sixth", 5)):
        lists = {image: [*texts[:place], f"{image}#0", *texts[place:]] for image, texts in others.items()}
        ranked(made, system, lists)
    said = {(image, others[image][0]): int(image != "6.jpg") for image in images}
    judge(made, said | {(image, f"{image}#0"): int(image == "6.jpg") for image in images})
    result = aggregate_study(study=made.study)
    rows = {(row["people"], row["automatic"]): row for row in result["system_orders"]["annotation"]}
    assert list(rows) == [
        ("S@1", "R@1"), ("S@5", "R@5"), ("S@10", "R@10"), ("R-precision", "R@1"), ("R-precision", "R@5"),
        ("R-precision", "R@10"), ("R-precision", "median rank"),
    ]  # fmt: skip
    # S@1: 1/7, 6/7, 6/7; R@1: 1, 0, 0; median rank: 1, 2, 6
    assert rows["S@1", "R@1"]["spearman"] == pytest.approx(-1)
    assert rows["S@5", "R@5"]["spearman"] == pytest.approx(1)  # 1, 1, 6/7 and 1, 1, 0
    assert rows["S@10", "R@10"]["spearman"] is None  # all find all
    by_median = rows["R-precision", "median rank"]
    assert by_median["spearman"] == pytest.approx(-math.sqrt(3) / 2)
    assert by_median["kendall-tau-b"] == pytest.approx(-math.sqrt(2 / 3))
    assert by_median["systems"] == 3
    (table,) = [one for one in rankings_tables(result) if one.name == "rankings-orders"]
    assert table.rows[-1][:2] == ("R-precision", "median rank")
    assert "Do these measures rank systems in the same order as people?" in words(
        designer.get(page(made.study, "results"))
    )
    path = tmp_path / "orders.zip"
    release_study(
        study=made.study, terms=ReleaseTerms("1.0", "CC0-1.0"), output=path, salt=b"not a secret here"
    )
    assert verify_bundle(path).differences == ()
    with ZipFile(path) as bundle:
        lines = bundle.read("report/tables/rankings-orders.csv").decode().splitlines()
    assert lines[0] == "by people,by the original,rho,tau-b,systems"
    assert lines[3] == "S@10,R@10,,,3"
    assert lines[-1].startswith("R-precision,median rank,-0.866")


def test_one_system_has_no_order(designer: Client) -> None:
    made = StudyOf(make_dataset("pets", PETS), "relevance")
    ranked(made, "alone", {"0.jpg": ["1.jpg#0", "0.jpg#0"]})
    judge(made, {("0.jpg", "1.jpg#0"): 1})
    assert "system_orders" not in aggregate_study(study=made.study)
    assert "Do these measures rank systems" not in words(designer.get(page(made.study, "results")))


def test_of_a_missing_median_nothing_is_said_where_all_are_there(designer: Client) -> None:
    made = StudyOf(make_dataset("pets", PETS), "relevance")
    ranked(made, "near", {"0.jpg": ["1.jpg#0", "0.jpg#0"], "1.jpg": ["1.jpg#0", "3.jpg#0"]})
    judge(made, {("0.jpg", "1.jpg#0"): 0})
    result = aggregate_study(study=made.study)
    (row,) = result["rankings"]["annotation"]
    assert row["original"]["median_rank"]["value"] == 1.5
    assert "No median" not in rankings_tables(result)[1].note
    assert "No median" not in words(designer.get(page(made.study, "results")))


def test_only_lists_of_the_judged_split_count_and_single_captions_are_no_ranking() -> None:
    made = StudyOf(make_dataset("pets", {"0.jpg": ["a"], "1.jpg": ["b"]}), "relevance")
    Item.objects.filter(name="1.jpg").update(split="dev")
    ranked(made, "one", {"0.jpg": ["x"], "1.jpg": ["x", "y"]})
    judge(made, {("0.jpg", "x"): 1})
    result = aggregate_study(study=made.study)
    assert "rankings" not in result
    one = {"value": 1.0, "low": None, "high": None, "n": 1}  # of a single item
    assert of_system(result["systems"], "one") == {
        "system": "one", "captions": 1, "images": 1, "yes": one, "describes": one,
    }  # fmt: skip


@pytest.mark.parametrize("protocol", ["graded", "slider"])
def test_systems_have_the_means_of_their_judged_captions(protocol: str) -> None:
    made = StudyOf(make_dataset("pets", PETS), protocol)
    ranked(made, "good", {"0.jpg": ["x", "y"], "1.jpg": ["x"], "2.jpg": ["never judged"]})
    ranked(made, "poor", {"0.jpg": ["y"], "1.jpg": ["y"]})
    high, low = (4, 1) if protocol == "graded" else (90, 10)
    judge(made, {("0.jpg", "x"): high, ("0.jpg", "y"): low, ("1.jpg", "x"): high, ("1.jpg", "y"): low})
    rows = aggregate_study(study=made.study)["systems"]
    good, poor = of_system(rows, "good"), of_system(rows, "poor")
    assert (good["captions"], good["images"], poor["captions"]) == (3, 2, 2)
    assert good["mean"]["value"] == pytest.approx((2 * high + low) / 3)
    assert good["describes"]["value"] == pytest.approx(2 / 3)
    # t with one degree of freedom of two items says nothing: the interval is the scale
    assert (good["mean"]["low"], good["mean"]["high"]) == ((1, 4) if protocol == "graded" else (0, 100))
    assert (poor["mean"]["value"], poor["describes"]["value"]) == (low, 0.0)
    if protocol == "slider":
        assert good["z"]["value"] == pytest.approx(-poor["z"]["value"] / 3)


def test_results_say_that_they_are_older_than_a_system(client: Any, admin_client: Any) -> None:
    made = StudyOf(make_dataset("pets", PETS), "relevance")
    ranked(made, "first", {"0.jpg": ["x", "y"]})
    judge(made, {("0.jpg", "x"): 1, ("0.jpg", "y"): 0})
    aggregate_study(study=made.study)
    address = f"/admin/judgments/study/{made.study.pk}/results/"
    page = admin_client.get(address)
    assert not page.context["aggregation_is_outdated"]
    assert [row[0] for row in page.context["tables"]["rankings"].rows] == ["first"]
    ranked(made, "late", {"0.jpg": ["y", "x"]})
    assert admin_client.get(address).context["aggregation_is_outdated"]


def test_thirty_systems_cost_as_many_queries_as_two(django_assert_max_num_queries: Any) -> None:
    made = StudyOf(make_dataset("pets", PETS), "relevance")
    for number in range(30):
        ranked(made, f"s{number}", {image: ["x", "y", "z"] for image in PETS})
    judge(made, {(image, text): 1 for image in PETS for text in "xyz"})
    with django_assert_max_num_queries(40):
        found = compute_aggregation(study=made.study)
    assert len(found.result["rankings"]["annotation"]) == 30


@pytest.mark.long
@pytest.mark.usefixtures("undrawn")
def test_a_release_from_before_tasks_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Its proposals hold system, image, caption and rank alone; the report's figures had no intervals."""
    made = StudyOf(make_dataset("pets", PETS), "relevance")
    ranked(made, "ranker", {"0.jpg": ["x", "y"], "1.jpg": ["y", "x"]}, ranks=(1, 2))
    searched(made, "finder", {"0.jpg#0": ["1.jpg", "0.jpg"]})
    judge(made, {("0.jpg", "x"): 1, ("0.jpg", "y"): 0, ("1.jpg", "x"): 1, ("1.jpg", "y"): 0})
    path, old = tmp_path / "new.zip", tmp_path / "old.zip"
    release_study(
        study=made.study, terms=ReleaseTerms("1.0", "CC0-1.0"), output=path, salt=b"not a secret here"
    )
    assert verify_bundle(path).differences == ()
    with ZipFile(path) as bundle, ZipFile(old, "w") as written:
        for name in bundle.namelist():
            content = bundle.read(name)
            if name == "proposals.jsonl":
                rows = [json.loads(line) for line in content.splitlines()]
                assert {row["task"] for row in rows} == {"annotation", "search"}
                kept = ("system", "image", "caption", "rank")
                content = "".join(
                    f"{json.dumps({key: row[key] for key in kept})}\n"
                    for row in rows
                    if row["task"] != "search"
                ).encode()
            written.writestr(name, content)
    tables = []
    for file in (path, old):
        reader = BundleReader(file)
        (section,) = [one for one in read_bundle(reader).findings.sections if one.name == "rankings"]
        reader.close()
        tables.append({table.name: table.rows for table in section.tables})
    new, before = tables
    assert set(new) == {"rankings", "rankings-search", "rankings-search-originals"}
    assert set(before) == {"rankings"}
    said = [cell.value if isinstance(cell, Estimate) else cell for cell in new["rankings"][0]]
    assert list(before["rankings"][0][:7]) == said[:7]  # images without anything relevant were not in it
    assert said[:5] == ["ranker", 0.5, 1.0, 1.0, 0.5]


def test_who_only_ranked_images_is_counted_and_filtered_apart(admin_client: Any) -> None:
    made = StudyOf(make_dataset("pets", PETS), "relevance")
    ranked(made, "captioner", {"0.jpg": ["x", "y"]})
    searched(made, "finder", {"0.jpg#0": ["1.jpg", "0.jpg", "2.jpg"]})
    System.objects.create(dataset=made.dataset, name="silent")
    captioners = System.objects.filter(dataset=made.dataset).captioners()
    assert {system.name for system in captioners} == {"captioner", "silent"}
    page = admin_client.get(
        f"/admin/judgments/dataset/{made.dataset.pk}/change/", follow=True
    ).content.decode()
    assert "3 images found" in page
    headers = key_of(User.objects.get(username="admin"))

    def rows(query: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = admin_client.get(f"/api/{query}", headers=headers).json()["results"]
        return found

    assert {(row["system"], row["task"]) for row in rows("outputs/?task=search")} == {("finder", "search")}
    assert len(rows("outputs/?task=annotation")) == 2
    assert {row["name"]: row["captions"] for row in rows("systems/")} == {
        "captioner": 2,
        "finder": 0,
        "silent": 0,
    }


def said(value: float | None, yes: int, no: int) -> Consensus:
    votes = {"0": no, "1": yes}
    return Consensus(n=yes + no, value=value, share=None, margin=None, tie=False, votes=votes)


def relevance_of(name: str) -> RelevanceScale:
    relevance = KINDS[name].relevance
    assert relevance is not None
    return relevance


def test_the_missed_share_has_wilson_s_interval_and_a_weight() -> None:
    found = {1: said(1, 3, 0), 2: said(0, 0, 3), 3: said(1, 2, 1), 11: said(0, 0, 3), 12: said(0, 1, 2)}
    found |= {13: said(1, 3, 0), 14: said(0, 0, 3)}
    audit = audit_filter(
        relevance_of("relevance"),
        found,
        passed_units=[1, 2, 3],
        audited_units=[11, 12, 13, 14, 15],
        pair_count=1030,
        passed_pair_count=30,
    )
    assert (audit["dropped"], audit["sampled"], audit["judged"], audit["missed"]) == (1000, 5, 4, 1)
    assert audit["share"] == 0.25
    assert (audit["low"], audit["high"]) == pytest.approx(wilson_interval(1, 4))
    assert audit["unanimous_no"] == 2
    assert audit["weight"] == 200
    assert audit["missed_in_all"]["value"] == 250
    # two of three that passed are good, so 20 of 30; with 250 missed
    assert audit["recall"]["value"] == pytest.approx(20 / 270)
    assert audit["recall"]["low"] < audit["recall"]["value"] < audit["recall"]["high"]
    sentence = audit_sentence(audit)
    assert "Pairs of item and text that the filter left out: 1,000." in sentence
    assert "25\N{NO-BREAK SPACE}% (95" in sentence


def test_h13_s_audit_of_its_filter_reads_as_published() -> None:
    # H13 §4.3.2: 98.3 % of the audited pairs were no by everybody
    found = {unit: said(0, 0, 3) if unit < 983 else said(0, 1, 2) for unit in range(1000)}
    audit = audit_filter(
        relevance_of("relevance"),
        found,
        passed_units=[],
        audited_units=range(1000),
        pair_count=5000,
        passed_pair_count=0,
    )
    assert audit["unanimous_no"] / audit["judged"] == 0.983
    assert audit["missed"] == 0
    assert audit["recall"]["value"] is None
    assert "Judged pairs in which it does not, according to all participants: 983." in audit_sentence(audit)


def test_nothing_is_said_before_anything_is_judged() -> None:
    audit = audit_filter(
        relevance_of("graded"), {}, passed_units=[1], audited_units=[2, 3], pair_count=10, passed_pair_count=1
    )
    assert (audit["share"], audit["recall"]["value"], audit["missed_in_all"]["high"]) == (None, None, None)
    assert "None of the pairs that the filter left out has been judged yet" in audit_sentence(audit)


@pytest.mark.parametrize(("mean", "good"), [(2.5, False), (2.6, True), (4.0, True), (1.0, False)])
def test_a_graded_caption_describes_its_image_from_the_third_grade_on(mean: float, good: bool) -> None:
    assert relevance_of("graded").is_relevant(mean) is good


def test_a_slider_says_so_from_its_upper_half_on() -> None:
    assert [relevance_of("slider").is_relevant(mean) for mean in (50.0, 50.5, 100.0)] == [False, True, True]


@pytest.mark.django_db
def test_the_results_say_what_the_filter_misses(designer: Client) -> None:
    made = StudyOf(make_dataset("pets", IMAGES), "relevance", filter={"bleu_pre": 0.25, "audit": 2})
    units = [
        made.unit("u1", "a.jpg", first="A dog runs"),
        made.unit("u2", "a.jpg", first="Quick brown animal", audited=True),
        made.unit("u3", "a.jpg", first="Cars", audited=True),
    ]
    hit = made.hit("h1", units)
    for name in ("w-1", "w-2", "w-3"):
        made.answer(hit, name, [1, 1, 0])
    notes = {"candidate_pairs": 9, "passed_filter": 1, "audited": 2}
    Study.objects.filter(pk=made.study.pk).update(notes=notes)
    made.study.refresh_from_db()
    result = aggregate_study(study=made.study)
    assert result["filter_audit"]["share"] == 0.5
    assert [unit.get("weight") for unit in result["units"]] == [None, 4.0, 4.0]
    shown = words(designer.get(page(made.study, "results")))
    assert "How many good texts does the filter miss?" in shown
    assert (
        "Pairs of item and text that the filter left out: 8. Random pairs of these that were judged: 2."
        in shown
    )


@pytest.mark.django_db
def test_without_an_audit_nothing_is_said_of_it(designer: Client) -> None:
    made = StudyOf(make_dataset("pets", IMAGES), "relevance")
    made.answer(made.hit("h1", [made.unit("u1", "a.jpg", first="A dog runs")]), "w-1", [1])
    result: dict[str, Any] = aggregate_study(study=made.study)
    assert "filter_audit" not in result
    assert "weight" not in result["units"][0]
    assert "How many good texts does the filter miss?" not in words(designer.get(page(made.study, "results")))


@pytest.mark.django_db
@pytest.mark.usefixtures("undrawn")
def test_metrics_are_held_against_people_by_the_weights_of_the_audit(
    designer: Client, tmp_path: Path
) -> None:
    made = StudyOf(make_dataset("pets", IMAGES), "relevance", filter={"bleu_pre": 0.25, "audit": 2})
    units = [
        made.unit("u1", "a.jpg", first="A dog runs"),
        made.unit("u2", "a.jpg", first="A dog runs on grass", audited=True),
        made.unit("u3", "a.jpg", first="Cars", audited=True),
        made.unit("u4", "b.jpg", first="A cat sleeps"),
        made.unit("u5", "b.jpg", first="A black cat on a chair"),
    ]
    hit = made.hit("h1", units)
    for name, values in (("w-1", [1, 0, 1, 1, 0]), ("w-2", [1, 0, 0, 1, 1]), ("w-3", [0, 1, 0, 1, 1])):
        made.answer(hit, name, values)
    notes = {"candidate_pairs": 18, "passed_filter": 3, "audited": 2}
    Study.objects.filter(pk=made.study.pk).update(notes=notes)
    made.study.refresh_from_db()
    aggregated = aggregate_study(study=made.study)
    weights = np.array([unit.get("weight", 1) for unit in aggregated["units"]])
    assert weights.tolist() == [1, 7.5, 7.5, 1, 1]
    people = np.array([unit["share"] for unit in aggregated["units"]])
    result = evaluate_study(study=made.study, metrics=["bleu-1", "rouge-l"], tau_c=True)
    scores = MetricScore.objects.filter(metric="rouge-l").order_by("unit__position")
    metric = np.array(scores.values_list("first", flat=True))
    signs = np.sign(metric[:, None] - metric) * np.sign(people[:, None] - people)
    pairs = np.outer(weights, weights)
    untied = [pairs[values[:, None] != values].sum() for values in (metric, people)]
    tau = (pairs * signs).sum() / math.sqrt(untied[0] * untied[1])
    figures = result["metrics"]["rouge-l"]
    assert figures["kendall_tau_b"]["value"] == pytest.approx(tau)
    assert tau != pytest.approx(kendall_tau_b(metric, people))
    covariance = np.cov(metric, people, aweights=weights)
    r = covariance[0, 1] / math.sqrt(covariance[0, 0] * covariance[1, 1])
    assert figures["pearson"]["value"] == pytest.approx(r)
    assert [note for note in result["notes"] if "stands for 7.5 texts" in note]
    assert "Each audited text stands for 7.5 texts" in words(designer.get(page(made.study, "results")))
    Study.objects.filter(pk=made.study.pk).update(state=Study.State.CLOSED)
    made.study.refresh_from_db()
    path = tmp_path / "audited.zip"
    release_study(study=made.study, terms=ReleaseTerms("1.0", "CC0-1.0"), output=path)
    assert verify_bundle(path).differences == ()
    with ZipFile(path) as bundle:
        analyses = json.loads(bundle.read("analyses.json"))
    assert analyses["metrics"]["rouge-l"]["kendall_tau_b"]["value"] == pytest.approx(tau)
