"""What ``aggregate`` says of small studies whose answer is known without it."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from evaluation.data.judgment_sets.records import PairRow, UnitRow, Units, WorkerRow
from evaluation.models import Analysis
from evaluation.models import Consensus as ConsensusRow
from evaluation.reports.storage import build_report
from evaluation.results.aggregation import aggregate_study
from evaluation.results.agreement import measure_agreement
from evaluation.results.consensus.counts import system_tallies
from evaluation.results.consensus.study import PairConsensus, StudyConsensus
from judgments.kinds import IncludedJudgment
from judgments.models import CandidatePair, Caption, Study, System
from tests.evaluation.studies import StudyOf, make_dataset
from tests.judgments.desk import page, words
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
REFERENCES = {
    "a.jpg": ["a dog runs", "a dog on the grass", "the brown dog"],
    "b.jpg": ["a cat sleeps", "a cat on a chair", "the grey cat"],
}


def by_unit(result: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["unit"]: row for row in result["units"]}


def triplets(**design: Any) -> tuple[StudyOf, Any]:
    """One pair with three triplets, u0 to u2, and a control item on whose first candidate everybody should agree."""
    study = StudyOf(make_dataset("toy", REFERENCES), "triplet", **design)
    pair = study.pair("p1", "a.jpg", "a dog", "a cat", kind="HI")
    units = [
        study.unit(f"u{place}", pair=pair, reference=reference)
        for place, reference in enumerate(Caption.objects.filter(item=pair.item).order_by("position"))
    ]
    control = study.unit("control", "b.jpg", first="a cat", second=pair.first, control=True, expected=1)
    return study, study.hit("h1", [*units, control])


def test_a_triplet_goes_to_the_majority_and_the_pair_to_most_triplets() -> None:
    study, hit = triplets()
    study.answer(hit, "alma", [1, 2, 2, 1])
    study.answer(hit, "bela", [1, 2, 1, 1])
    study.answer(hit, "clara", [2, 2, 1, 1])
    result = aggregate_study(study=study.study)
    assert list(result) == ["units", "pairs", "agreement", "workers", "signature", "dawid_skene"]
    assert result["units"] == [
        {"unit": "u0", "protocol": "triplet", "kind": "HI", "pair": "p1", "n": 3, "value": 1,
         "share": pytest.approx(2 / 3), "margin": pytest.approx(1 / 3), "tie": False},
        {"unit": "u1", "protocol": "triplet", "kind": "HI", "pair": "p1", "n": 3, "value": 2,
         "share": 1, "margin": 1, "tie": False},
        {"unit": "u2", "protocol": "triplet", "kind": "HI", "pair": "p1", "n": 3, "value": 1,
         "share": pytest.approx(2 / 3), "margin": pytest.approx(1 / 3), "tie": False},
    ]  # fmt: skip
    pair = result["pairs"][0]
    assert pair == {
        "pair": "p1", "kind": "HI", "first": pair["first"], "second": pair["second"], "value": 1,
        "wins": 2, "losses": 1, "ties": 0, "tie": False,
    }  # fmt: skip
    assert pair["first"] == Caption.objects.get(text="a dog").key


def test_a_tie_has_no_value_and_decides_nothing_for_the_pair() -> None:
    study, hit = triplets(judgments_per_unit=2)
    study.answer(hit, "alma", [1, 2, 1, 1])
    study.answer(hit, "bela", [1, 2, 2, 1])
    result = aggregate_study(study=study.study)
    tied = by_unit(result)["u2"]
    assert (tied["value"], tied["tie"], tied["share"], tied["margin"]) == (None, True, 0.5, 0)
    pair = result["pairs"][0]
    assert (pair["wins"], pair["losses"], pair["ties"]) == (1, 1, 1)
    assert (pair["value"], pair["tie"]) == (None, True)


def test_a_worker_below_the_control_threshold_is_set_aside() -> None:
    study, hit = triplets(controls={"per_hit": 1, "threshold": 0.7})
    study.answer(hit, "alma", [1, 1, 1, 1])
    study.answer(hit, "bela", [1, 1, 2, 1])
    study.answer(hit, "spammer", [2, 2, 2, 2])
    result = aggregate_study(study=study.study)
    assert [(row["n"], row["value"]) for row in result["units"]] == [(2, 1), (2, 1), (2, None)]
    workers = {row["worker"]: row for row in result["workers"]}
    assert workers["alma"]["used"]
    assert not workers["spammer"]["used"]
    assert (workers["spammer"]["controls_right"], workers["spammer"]["controls_seen"]) == (0, 1)
    assert (workers["spammer"]["judgments"], workers["spammer"]["used_judgments"]) == (3, 0)


def test_a_struck_control_item_counts_for_nobody() -> None:
    study, hit = triplets(controls={"per_hit": 1, "threshold": 0.7})
    study.study.units.filter(control=True).update(withdrawn=True)
    study.answer(hit, "bela", [2, 2, 2, 2])
    result = aggregate_study(study=study.study)
    assert result["workers"][0]["used"]
    assert result["workers"][0]["controls_seen"] == 0
    assert [row["n"] for row in result["units"]] == [1, 1, 1]


def test_control_items_are_no_part_of_consensus_or_agreement() -> None:
    study, hit = triplets()
    study.answer(hit, "alma", [1, 1, 2, 1])
    study.answer(hit, "bela", [1, 1, 2, 1])
    result = aggregate_study(study=study.study)
    assert "control" not in by_unit(result)
    assert result["agreement"]["alpha"]["judgments"] == 6
    assert result["agreement"]["alpha"]["value"] == 1


def test_the_control_rule_is_not_applied_again_to_imported_judgments() -> None:
    study = StudyOf(make_dataset("toy", REFERENCES), "triplet", imported=True)
    pair = study.pair("p1", "a.jpg", "a dog", "a cat")
    unit = study.unit("u0", pair=pair, reference=Caption.objects.get(key="a.jpg#0"))
    control = study.unit("c", "b.jpg", first="a cat", second=pair.first, control=True, expected=1)
    hit = study.hit("h1", [unit, control])
    study.answer(hit, "wrong-on-the-control", [1, 2])
    study.answer(hit, "set-aside", [2, 1], set_aside=True)
    result = aggregate_study(study=study.study)
    assert (result["units"][0]["n"], result["units"][0]["value"]) == (1, 1)
    used = {row["worker"]: row["used"] for row in result["workers"]}
    assert used == {"wrong-on-the-control": True, "set-aside": False}


def test_two_of_three_make_a_caption_relevant() -> None:
    study = StudyOf(make_dataset("toy", REFERENCES), "relevance")
    units = [study.unit(f"u{place}", "a.jpg", first=f"caption {place}") for place in range(4)]
    hit = study.hit("h1", units)
    study.answer(hit, "alma", [0, 1, 1, 1])
    study.answer(hit, "bela", [0, 0, 1, 1])
    study.answer(hit, "clara", [0, 0, 0, 1])
    result = aggregate_study(study=study.study)
    assert [row["value"] for row in result["units"]] == [0, 0, 1, 1]
    assert [row["share"] for row in result["units"]] == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert not any(row["tie"] for row in result["units"])
    assert result["pairs"] == []


def test_grades_are_averaged_and_measured_at_two_levels() -> None:
    study = StudyOf(make_dataset("toy", REFERENCES), "graded")
    hit = study.hit("h1", [study.unit(f"u{place}", "a.jpg", first=f"caption {place}") for place in range(3)])
    study.answer(hit, "alma", [1, 4, 2])
    study.answer(hit, "bela", [1, 3, 3])
    study.answer(hit, "clara", [2, 4, 4])
    result = aggregate_study(study=study.study)
    assert [row["value"] for row in result["units"]] == pytest.approx([4 / 3, 11 / 3, 3])
    assert result["agreement"]["alpha"]["level"] == "interval"
    assert result["agreement"]["ordinal"]["level"] == "ordinal"
    # by hand (Krippendorff 2011): squared differences of ordered pairs within the units are 4, 4 and 12, each
    # divided by one less than the unit's three judgments, over nine judgments
    observed = (4 + 4 + 12) / 2 / 9
    assert result["agreement"]["alpha"]["value"] == pytest.approx(1 - observed / expected_distance())


def expected_distance() -> float:
    """Mean squared difference of all ordered pairs of the nine grades above, written out."""
    grades = [1, 1, 2, 4, 3, 4, 2, 3, 4]
    squares = [(one - other) ** 2 for i, one in enumerate(grades) for j, other in enumerate(grades) if i != j]
    return sum(squares) / len(squares)


def test_a_published_winner_is_a_consensus_without_judgments() -> None:
    study = StudyOf(make_dataset("toy", REFERENCES), "triplet", imported=True)
    study.pair("p1", "a.jpg", "a dog", "a cat", published_winner=2)
    study.pair("p2", "b.jpg", "a dog", "a cat")
    result = aggregate_study(study=study.study)
    assert [(row["value"], row["wins"], row["losses"], row["tie"]) for row in result["pairs"]] == [
        (2, 0, 0, False),
        (None, 0, 0, False),
    ]
    stored = ConsensusRow.objects.get(study=study.study, pair__key="p1")
    assert (stored.source, stored.value) == ("published", 2)
    assert ConsensusRow.objects.count() == 1
    assert result["agreement"]["alpha"]["value"] is None
    assert "two judgments" in result["agreement"]["alpha"]["reason"]


def test_nothing_is_said_about_anonymous_raters_one_by_one() -> None:
    study, hit = triplets()
    for name in ("anon-1", "anon-2"):
        study.answer(hit, name, [1, 1, 1, 1], anonymous=True)
    result = aggregate_study(study=study.study)
    assert result["workers"] == []
    assert result["agreement"]["per_worker"]["available"] is False
    assert "anonymous" in result["agreement"]["per_worker"]["reason"]
    assert result["agreement"]["alpha"]["value"] == 1  # both names of the texts are equally likely
    assert result["agreement"]["alpha"]["n"] == 3


def test_the_workers_table_tells_sides_and_times() -> None:
    study, hit = triplets()
    sides = ["first-left", "second-left", "first-left", "second-left"]
    study.answer(hit, "alma", [1, 2, 2, 1], presented=sides, seconds=[2.0, 4.0, 6.0, 100.0])
    study.answer(hit, "bela", [1, 1, 1, 1], minutes=2)
    alma, bela = aggregate_study(study=study.study)["workers"]
    assert alma["left_share"] == 0.5  # left, left, right, right
    assert alma["seconds"] == 5.0
    assert bela["left_share"] is None
    assert bela["seconds"] == 30.0  # two minutes for four units
    assert alma["simulated"] is False


def test_one_judge_against_the_rest_is_counted_by_kind() -> None:
    study, hit = triplets()
    study.answer(hit, "alma", [1, 1, 1, 1])
    study.answer(hit, "bela", [1, 1, 1, 1])
    study.answer(hit, "clara", [1, 1, 2, 1])
    found = aggregate_study(study=study.study)["agreement"]["one_against_rest"]
    # u0 and u1: three of three. u2: alma and bela each face one 1 and one 2 (tied), clara faces two 1s.
    assert (found["HI"]["n"], found["HI"]["left_out"]) == (7, 2)
    assert found["HI"]["value"] == pytest.approx(6 / 7)


def test_aggregating_again_replaces_and_adds_nothing() -> None:
    study, hit = triplets()
    study.answer(hit, "alma", [1, 2, 2, 1])
    first = aggregate_study(study=study.study)
    assert aggregate_study(study=study.study) == first
    assert ConsensusRow.objects.filter(unit__isnull=False).count() == 3
    assert Analysis.objects.count() == 1
    before = Analysis.objects.get().data_hash
    study.answer(hit, "bela", [2, 2, 2, 1])
    aggregate_study(study=study.study)
    assert ConsensusRow.objects.filter(unit__isnull=False).count() == 3
    assert Analysis.objects.exclude(data_hash=before).count() == 1
    assert Analysis.objects.count() == 2


def test_aggregating_again_writes_what_changed_alone() -> None:
    study, hit = triplets()
    pair = study.pair("p2", "b.jpg", "a bird", "a tree", kind="HI")
    reference = Caption.objects.get(text="the grey cat")
    other = study.hit("h2", [study.unit("u9", pair=pair, reference=reference)])
    study.answer(hit, "alma", [1, 2, 2, 1])
    study.answer(other, "alma", [1])

    def writes() -> int:
        with CaptureQueriesContext(connection) as asked:
            aggregate_study(study=study.study)
        about = [one["sql"] for one in asked if "evaluation_consensus" in one["sql"]]
        return sum(not sql.startswith("SELECT") for sql in about)

    def stored(*names: str) -> list[Any]:
        return list(ConsensusRow.objects.order_by("unit__key", "pair__key").values_list(*names))

    values = [field.attname for field in ConsensusRow._meta.fields if field.attname != "id"]
    assert writes() > 0
    first = stored("unit__key", "pair__key", "pk")
    assert writes() == 0
    study.answer(other, "bela", [2])
    assert writes() > 0
    assert stored("unit__key", "pair__key", "pk") == first
    after = stored(*values)
    other.assignments.update(state="apart")  # nothing is left to say about its unit and pair
    aggregate_study(study=study.study)
    assert stored("unit__key", "pair__key", "pk") == [row for row in first if not {"u9", "p2"} & {*row}]
    other.assignments.update(state="submitted")
    aggregate_study(study=study.study)
    assert stored(*values) == after
    ConsensusRow.objects.all().delete()
    aggregate_study(study=study.study)
    assert stored(*values) == after


def test_a_study_without_judgments_is_aggregated_too() -> None:
    study, _ = triplets()
    result = aggregate_study(study=study.study)
    assert [row["n"] for row in result["units"]] == [0, 0, 0]
    assert [row["value"] for row in result["units"]] == [None] * 3
    assert result["pairs"][0]["tie"] is False
    assert result["workers"] == []


def test_the_command_prints_a_summary_and_writes_the_json(tmp_path: Path, capsys: Any) -> None:
    study, hit = triplets()
    study.answer(hit, "alma", [1, 2, 1, 1], simulated=True)
    Study.objects.update(simulated=True)
    call_command("aggregate", study.study.slug, "--output", str(tmp_path / "out.json"))
    said = capsys.readouterr().out
    assert "3 of 3 items judged" in said
    assert "simulated" in said
    assert json.loads((tmp_path / "out.json").read_text())["pairs"][0]["value"] == 1


def test_two_raters_say_nothing_of_others_in_alpha(capsys: Any) -> None:
    study, hit = triplets()
    study.answer(hit, "alma", [1, 2, 1, 1])
    study.answer(hit, "bela", [1, 1, 2, 1])
    call_command("aggregate", study.study.slug)
    assert "Alpha's interval is undefined: there is 1 item, expected 2 or more" in capsys.readouterr().out


def test_the_command_says_which_system_won_how_often(capsys: Any) -> None:
    study, hit = triplets()
    pair = CandidatePair.objects.get()
    pair.first_system = System.objects.create(dataset=pair.study.dataset, name="robot")
    pair.save()
    study.answer(hit, "alma", [1, 2, 1, 1])
    call_command("aggregate", study.study.slug)
    said = capsys.readouterr().out
    rows = [line.split() for line in said.partition("Systems")[2].splitlines()[2:4]]
    assert rows == [["robot", "1", "1", "0", "0"], ["people", "1", "0", "1", "0"]]


def test_the_command_refuses_an_unknown_study_and_a_missing_folder_in_one_line(tmp_path: Path) -> None:
    with refuses(CommandError, "nothing"):
        call_command("aggregate", "nothing")
    study, _ = triplets()
    with pytest.raises(CommandError, match="does not exist"):
        call_command("aggregate", study.study.slug, "--output", str(tmp_path / "no" / "out.json"))
    assert not Analysis.objects.exists()


def test_the_number_of_queries_does_not_grow_with_the_judgments(django_assert_max_num_queries: Any) -> None:
    study, hit = triplets()
    for name in ("alma", "bela", "clara"):
        study.answer(hit, name, [1, 2, 1, 1])
    with django_assert_max_num_queries(46):
        aggregate_study(study=study.study)


def test_a_system_s_wins_are_counted_against_other_systems_alone() -> None:
    winners = {"a": 1, "b": 2, "c": None, "d": None, "e": 1}  # nobody judged d
    pairs = [PairRow(pk, key, "", "", "", None) for pk, key in enumerate(winners)]
    of_pair = {
        pair.pk: PairConsensus(winners[pair.key], 0, 0, 0, tie=pair.key == "c", published=False)
        for pair in pairs
    }
    consensus = StudyConsensus(Units.from_rows([]), pairs, {}, of_pair, {}, "")
    systems = {
        "a": ("one", "two"),
        "b": ("one", "people"),
        "c": ("two", "one"),
        "d": ("one", "two"),
        "e": ("people", "people"),
    }
    assert system_tallies(consensus, systems) == [
        {"system": "one", "pairs": 4, "wins": 1, "losses": 1, "ties": 1},
        {"system": "people", "pairs": 1, "wins": 1, "losses": 0, "ties": 0},
        {"system": "two", "pairs": 3, "wins": 0, "losses": 1, "ties": 1},
    ]


UNITS, IMAGES, PEOPLE = 24, 8, 6


@pytest.mark.parametrize(
    ("anonymous", "clusters"), [(False, {"item": IMAGES, "rater": PEOPLE}), (True, {"item": IMAGES})]
)
def test_open_answers_are_by_image_and_by_known_people(anonymous: bool, clusters: dict[str, int]) -> None:
    draw = np.random.default_rng(1)
    kind: Any = SimpleNamespace(
        is_open=True,
        aggregation=SimpleNamespace(
            level="nominal", no_alpha="", codes=lambda _, given: {"a": given, "b": 1}
        ),
    )
    judged = [
        IncludedJudgment(SimpleNamespace(pk=unit), worker, int(draw.random() < 0.3 + 0.4 * (unit % 2)))
        for unit in range(UNITS)
        for worker in range(PEOPLE)
    ]
    table: Any = SimpleNamespace(records={})
    found = measure_agreement(
        kind,
        table,
        [UnitRow(unit, f"u{unit}", "", None) for unit in range(UNITS)],
        [WorkerRow(pk, f"w{pk}", anonymous, simulated=False) for pk in range(PEOPLE)],
        judged,
        seed=1,
        images=np.arange(UNITS) // 3,
    )
    alpha = found["alpha"]
    assert alpha["clusters"] == clusters
    assert alpha["low"] < alpha["value"] < alpha["high"]


@pytest.mark.long
@pytest.mark.parametrize("checks", [0, 1])
def test_alpha_of_few_people_warns_of_careless_ones_where_no_control_item_would_show_them(
    checks: int, designer: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    """Six people say yes to every second of 24 captions, and each the opposite to another one: alpha .91."""
    study = StudyOf(make_dataset("pets", {f"{number}.jpg": ["a dog"] for number in range(24)}), "relevance")
    units = [study.unit(f"u{number}", f"{number}.jpg", first=f"a cat {number}") for number in range(24)]
    controls = [study.unit("c", "0.jpg", first="a dog", control=True, expected=1)] * checks
    hit = study.hit("h", [*units, *controls], required=6)
    for person in range(6):
        answers = [number % 2 ^ (number == person) for number in range(24)]
        study.answer(hit, f"p{person}", [*map(int, answers), *[1] * checks])
    call_command("aggregate", study.study.slug)
    alpha = Analysis.objects.get(what="aggregation").result["agreement"]["alpha"]
    left = 0.85**2 * alpha["value"]
    assert alpha["low"] > left
    note = (
        "if 15 % of people answer at random, 38 % of groups of 6 have none of them, as this one may, and alpha is "
        f"about {left:.2f}, below the interval; check questions keep them out"
    )
    assert alpha["note"] == ("" if checks else note)
    report = [sentence for part in build_report(study.study).sections for sentence in part.shown_sentences]
    for said in (words(designer.get(page(study.study, "results"))), capsys.readouterr().out):
        assert (f"Note: {note}." in said) == (not checks)
    assert (f"Note: {note}." in report) == (not checks)
    german = words(designer.get(page(study.study, "results"), headers={"Accept-Language": "de"}))
    assert ("38 % der Gruppen von 6" in german and f"etwa {left:.2f}" in german) == (not checks)
    assert "answer at random" not in german


def test_agreement_is_the_same_whichever_text_of_a_pair_is_called_the_first() -> None:
    found = []
    for name, turned in (("plain", ()), ("exchanged", (1,))):
        study = StudyOf(make_dataset(name, REFERENCES), "pairwise")
        pair = study.pair("p1", "a.jpg", "a dog", "a cat", kind="HI")
        hit = study.hit("h", [study.unit(f"u{place}", pair=pair) for place in range(3)])
        for worker, sides in (("ada", [1, 1, 2]), ("bela", [1, 1, 1]), ("cleo", [2, 1, 1])):
            answers = [3 - side if place in turned else side for place, side in enumerate(sides)]
            study.answer(hit, worker, answers)
        found.append(aggregate_study(study=study.study)["agreement"])
    before, after = found
    assert before["alpha"]["coding"] == "both-orders"
    assert before["alpha"]["value"] == pytest.approx(1 - (18 - 1) / 18 * 2 * (2 / 3 + 2 / 3) / 3)
    assert before["coefficients"]["fleiss"]["value"] == pytest.approx(1 - 2 * (2 / 3 + 2 / 3) / 3)
    for name in ("value", "low", "high"):
        assert after["alpha"][name] == pytest.approx(before["alpha"][name])
        for coefficient in ("percent", "fleiss", "gwet"):
            figures = [one["coefficients"][coefficient][name] for one in found]
            assert figures[1] == pytest.approx(figures[0])
