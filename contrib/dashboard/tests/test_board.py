"""The dashboard: what it shows, what it costs, and who sees it."""

import html
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from annotation.models import Judgment
from annotation.work.operations import pause_study
from contrib.dashboard.counters import live_counters
from contrib.dashboard.models import BoardSnapshot
from contrib.dashboard.replay import (
    VotesInOrder,
    accuracy_so_far,
    agreement_so_far,
    checkpoints,
    winners_so_far,
)
from contrib.dashboard.snapshot import compute_snapshot, store_snapshot
from contrib.dashboard.staleness import change_mark, is_stale
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from evaluation.results.aggregation import aggregate_study
from evaluation.results.metrics.storage import evaluate_study
from judgments.jobs.claims import run_job
from judgments.models import Job, Study
from tests.annotation import casting
from tests.annotation.voting import always_first, joined, work
from tests.evaluation.reporting import words
from tests.judgments.desk import do, page
from tests.marks import long_except

pytestmark = pytest.mark.django_db

BOUNDS = ("value", "low", "high")


@pytest.fixture(scope="module")
def stored(module_db: None) -> Study:
    """A study of pairs that three of four people judged, and its snapshot."""
    study = casting.make_study(casting.make_dataset(pictures=False), "pairwise", judgments_per_unit=4)
    for number in range(3):
        work(study, joined(study, f"w-{number}"), always_first)
    made(study)
    return study


@pytest.fixture
def study(stored: Study) -> Study:
    return Study.objects.get(pk=stored.pk)


def test_a_judgment_committed_after_another_studys_with_a_higher_id_is_new(study: Study) -> None:
    """As on PostgreSQL, which gives ids before it commits."""
    late = joined(study, "late")
    dataset = casting.make_dataset("others", pictures=False)
    other = casting.make_study(dataset, "pairwise", judgments_per_unit=2, name="other")
    work(other, joined(other, "elsewhere"), always_first)
    move = "UPDATE annotation_judgment SET id = id + %s WHERE id >= %s"
    with connection.cursor() as cursor:
        cursor.execute(move, [1000, Judgment.objects.filter(assignment__study=other).earliest("pk").pk])
        store_snapshot(compute_snapshot(study=study))
        assert change_mark(study).new_judgments == 0
        pages = work(study, late, always_first, most=1)
        cursor.execute(move, [-1000, pages[0].judgments.earliest("pk").pk])
    assert change_mark(study).new_judgments == pages[0].judgments.count()


def made(study: Study) -> BoardSnapshot:
    return store_snapshot(compute_snapshot(study=study))


def test_what_comes_in_while_figures_are_computed_is_counted_once(study: Study) -> None:
    late = joined(study, "late")

    def meanwhile(*_: Any) -> None:
        work(study, late, always_first)

    store_snapshot(compute_snapshot(study=study, progress=meanwhile))
    there = Judgment.objects.filter(assignment__study=study).count()
    mark = change_mark(study)
    assert mark.new_judgments > 0
    assert live_counters(study, mark, {}).judgments == there


def test_looks_are_taken_at_twenty_moments_and_at_the_end() -> None:
    assert checkpoints(0) == []
    assert checkpoints(3) == [1, 2, 3]
    assert checkpoints(8412)[-1] == 8412
    assert len(checkpoints(8412)) == 20


def in_order(unit: list[int], value: list[int]) -> VotesInOrder:
    """Votes of one worker after the other, on units of an image each."""
    columns = (np.array(unit), np.arange(len(unit)), np.array(value, dtype=np.float64))
    return VotesInOrder(*columns, image=np.arange(max(unit) + 1))


def test_winners_are_those_of_the_votes_so_far() -> None:
    # two units of one pair: 1, then 2 twice on the first unit, then 2 on the second
    votes = in_order([0, 0, 0, 1], [1, 2, 2, 2])
    pair, image = np.array([0, 0]), np.zeros(1, dtype=np.int64)
    found = [(upto, people.winners.tolist()) for upto, people in winners_so_far(votes, pair, image)]
    assert found == [(1, [1]), (2, [0]), (3, [2]), (4, [2])]
    last = list(winners_so_far(votes, pair, image, {0: 1}))[-1]
    assert last[1].winners.tolist() == [0]  # an adjudicator gave the first unit to the other one


def test_a_metric_is_what_it_would_have_been_had_collection_stopped() -> None:
    votes = in_order([0, 1, 1, 1], [1, 1, 2, 2])
    winners = list(winners_so_far(votes, np.array([0, 1]), np.arange(2)))
    scores = {"right": np.array([[1.0, 0.0], [0.0, 1.0]]), "wrong": np.array([[0.0, 1.0], [1.0, 0.0]])}
    found = accuracy_so_far(winners, scores, {"all": np.array([True, True])})["all"]
    assert [row["value"] for row in found["earlier"]["right"]] == [1.0, 0.5, 1.0, 1.0]
    assert [row["n"] for row in found["earlier"]["right"]] == [1, 2, 1, 2]
    assert found["metrics"]["wrong"]["value"] == 0.0


def test_agreement_grows_to_what_the_analysis_says(study: Study) -> None:
    aggregated = aggregate_study(study=study)["agreement"]["alpha"]
    grown = BoardSnapshot.objects.get(study=study).result["growth"]
    assert grown[-1]["n"] == aggregated["n"]
    assert {name: grown[-1][name] for name in BOUNDS} == {name: aggregated[name] for name in BOUNDS}
    rows = agreement_so_far(in_order([0, 1, 0, 1], [1, 2, 1, 1]), "nominal", seed=1)
    # after all four: o = 2 of 4 values disagree within a unit; 1 - 3 * (0 + 2) / (16 - 9 - 1) = 0
    assert rows[-1]["value"] == pytest.approx(0.0)


def test_the_board_says_of_metrics_what_the_analysis_says(study: Study) -> None:
    analysed = evaluate_study(study=study)
    board = BoardSnapshot.objects.get(study=study).result["evaluation"]
    for name, figures in analysed["metrics"].items():
        told = board["kinds"]["all"]["metrics"][name]
        known = figures["accuracy"]["all"]
        assert (told["value"], told["n"]) == (known["value"], known["n"])
        assert told["low"] == pytest.approx(known["low"])
    assert board["people"] == analysed["people"]


@pytest.mark.parametrize(
    "protocol", long_except(["triplet", "relevance", "slider", "caption"], "relevance", "caption")
)
def test_every_kind_of_choices_has_a_board(protocol: str, stored: Study, designer: Client) -> None:
    study = casting.make_study(stored.dataset, protocol, opened=False, controls={"per_hit": 0})
    rehearse(study=study, crowd=RehearsalCrowd(workers=4, seed=1))
    made(study)
    shown = designer.get(page(study, "board"))
    assert shown.status_code == 200
    assert "Judgments" in words(shown)
    assert "Agreement over time" in words(shown)


def test_before_anything_is_known_the_board_says_so_and_asks_for_its_figures_once(
    stored: Study, designer: Client
) -> None:
    study = casting.make_study(stored.dataset, "pairwise", slug="new")
    assert "being computed …" in words(designer.get(page(study, "board")))
    designer.get(page(study, "board-live"))
    jobs = list(Job.objects.filter(kind="board"))
    assert len(jobs) == 1
    assert run_job(jobs[0].pk)
    assert "No judgments yet" in words(designer.get(page(study, "board")))
    assert "Figures of the board" not in words(designer.get(page(study, "board")))


def test_what_came_in_since_the_figures_is_counted_at_once(study: Study, designer: Client) -> None:
    before = change_mark(study)
    assert (before.new_judgments, is_stale(study, before)) == (0, False)
    work(study, joined(study, "late"), always_first, most=1)
    after = change_mark(study)
    assert after.new_judgments > 0
    assert before.tag(study) != after.tag(study)
    assert before.snapshot is not None
    assert f"Judgments {before.snapshot.judgments + after.new_judgments} of" in words(
        designer.get(page(study, "board"))
    )


def test_figures_are_made_anew_only_when_they_are_old_enough_for_their_cost(study: Study) -> None:
    snapshot = BoardSnapshot.objects.get(study=study)
    BoardSnapshot.objects.filter(study=study).update(seconds=1.0)  # however busy the machine is
    work(study, joined(study, "late"), always_first, most=1)
    mark = change_mark(study)
    assert not is_stale(study, mark, snapshot.made_at + timedelta(seconds=14))
    assert is_stale(study, mark, snapshot.made_at + timedelta(seconds=16))
    BoardSnapshot.objects.filter(study=study).update(seconds=30.0)
    assert not is_stale(study, change_mark(study), snapshot.made_at + timedelta(seconds=299))


def test_an_unchanged_board_costs_a_304(study: Study, designer: Client) -> None:
    live = page(study, "board-live")
    first = designer.get(live)
    assert first.status_code == 200
    again = designer.get(live, headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    pause_study(study=study, why="a caption is broken")
    third = designer.get(live, headers={"If-None-Match": first["ETag"]})
    assert third.status_code == 200
    assert "Participants cannot take new pages of work" in words(third)


def test_the_cost_of_a_board_does_not_grow_with_its_rows(
    study: Study, designer: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    live = page(study, "board-live")
    BoardSnapshot.objects.update(seconds=1_000.0)  # not stale, however busy the machine is
    tag = designer.get(live)["ETag"]
    with django_assert_max_num_queries(7):
        designer.get(live, headers={"If-None-Match": tag})
    work(study, joined(study, "more"), always_first)
    made(study)
    BoardSnapshot.objects.update(seconds=1_000.0)
    with django_assert_max_num_queries(14):
        designer.get(live)


def test_times_are_in_the_zone_of_the_reader(study: Study, designer: Client) -> None:
    Study.objects.filter(pk=study.pk).update(paused_at=datetime(2026, 1, 1, 3, 30, tzinfo=UTC))
    for zone, said in (
        ("", "1 Jan 03:30"),
        ("America/New_York", "31 Dec 22:30"),
        ("../etc/x", "1 Jan 03:30"),
    ):
        designer.cookies["zone"] = zone
        assert f"Paused since {said}" in words(designer.get(page(study, "board")))


def signatures(shown: str) -> set[str]:
    """What is folded under a page's figures."""
    found = re.findall(r'<details class="q-signature"><summary>.*?<code>(.*?)</code>', shown, flags=re.S)
    assert not any("|pairs:" in figure for figure in re.findall(r"<svg.*?</svg>", shown, flags=re.S))
    return {html.unescape(one) for one in found}


def test_the_figures_carry_the_signature_that_verify_accepts(study: Study, designer: Client) -> None:
    aggregate_study(study=study)
    evaluate_study(study=study)
    for name in ("board", "results"):
        [stated] = signatures(designer.get(page(study, name)).content.decode())
        call_command("verify", stated, "--study", study.slug)
        with pytest.raises(CommandError):
            call_command("verify", stated.replace("|pairs:", "|pairs:1"), "--study", study.slug)


def test_the_forms_of_the_board_are_made_from_their_operations(study: Study, designer: Client) -> None:
    shown = designer.get(page(study, "board")).content.decode()
    assert re.search(r'<input id="workers-add-workers" [^>]*required min="1" max="100"', shown)
    assert re.search(r'<input id="minutes-more-time" [^>]*value="30"[^>]*max="10080"', shown)
    assert re.search(r'<input id="hits-add-workers" (?![^>]*required)', shown)
    assert re.search(r'<input id="hits-expire-slots" [^>]*required', shown)
    assert re.search(r'<input id="why-pause" [^>]*required maxlength="500"', shown)


def test_a_refused_form_is_open_and_holds_what_was_sent(study: Study, designer: Client) -> None:
    sent = {"page": "board", "workers": "many", "why": "pilot"}
    shown = designer.post(do(study, "add-workers"), sent, follow=True).content.decode()
    assert '<details class="q-step" id="add-workers" open>' in shown
    assert re.search(r'<input id="workers-add-workers" [^>]*value="many"', shown)
    assert re.search(r'<input id="why-add-workers" [^>]*value="pilot"', shown)
