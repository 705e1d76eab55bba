"""Answers on control items: workers' records, counted or one by one, and items that may be wrong themselves.

A control item that careful workers miss is suspected; a hard one, or one that careless workers miss, is not.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from annotation.quality.controls import (
    check_control_items,
    control_answers,
    control_record,
    control_records,
    control_tallies,
    records_from_tallies,
)
from annotation.quality.detectors.chances import binomial_at_most
from annotation.work.claims import claim_assignment
from annotation.work.submissions import submit_assignment
from judgments.kinds import KINDS
from tests.studies import make_study, make_worker


@pytest.mark.parametrize(("right", "seen"), [(7, 10), (14, 20), (21, 30), (70, 100), (693, 990)])
def test_a_worker_with_exactly_seventy_per_cent_right_is_used(right: int, seen: int) -> None:
    assert control_record(seen, right, 0.7).used
    assert not control_record(seen, right - 1, 0.7).used


def test_a_worker_who_saw_no_control_item_is_used() -> None:
    record = control_record(0, 0, 0.7)
    assert record.used
    assert record.share is None


def test_each_worker_is_measured_on_the_items_they_saw() -> None:
    answers = [(1, 1, 1), (1, 0, 1), (2, 1, 1), (2, 0, 0), (2, 1, 0)]
    records = control_records(answers, threshold=0.6, is_right=KINDS["relevance"].is_right)
    assert (records[1].right, records[1].seen, records[1].used) == (1, 2, False)
    assert (records[2].right, records[2].seen, records[2].used) == (2, 3, True)


def test_a_graded_control_item_takes_a_range_of_grades() -> None:
    answers = [(1, 4, "3-4"), (1, 3, "3-4"), (1, 2, "3-4"), (1, 1, "1-2")]
    record = control_records(answers, threshold=0.7, is_right=KINDS["graded"].is_right)[1]
    assert (record.right, record.seen) == (3, 4)


@pytest.mark.django_db
@pytest.mark.parametrize("kinds", [["known-good"], ["degraded"], ["repeated"], ["degraded", "repeated"]])
def test_tallies_give_the_records_that_single_answers_give(kinds: list[str]) -> None:
    study = make_study() if kinds == ["known-good"] else make_study(controls={"per_hit": 2, "kinds": kinds})
    for number in range(3):
        worker, _ = make_worker(study, f"w-{number}")
        claim = claim_assignment(study=study, worker=worker)
        assert claim is not None
        assert claim.assignment.hit is not None
        count = claim.assignment.hit.places.count()
        answers = [{"position": at, "value": 1 + (at * (number + 1)) % 2} for at in range(1, count + 1)]
        submit_assignment(assignment=claim.assignment, answers=answers)
    kind = KINDS[study.protocol]
    single = control_records(control_answers(study), threshold=0.6, is_right=kind.is_right)
    assert single
    assert records_from_tallies(control_tallies(study), threshold=0.6, is_right=kind.is_right) == single
    chosen = sorted(single)[:1]
    some = records_from_tallies(control_tallies(study, workers=chosen), threshold=0.6, is_right=kind.is_right)
    assert some == {worker: single[worker] for worker in chosen}


def answers(rights: dict[str, list[bool]]) -> list[tuple[str, str, bool]]:
    """Items -> whether worker 1, 2, ... was right."""
    return [(item, f"w{number}", right) for item, row in rights.items() for number, right in enumerate(row)]


GOOD = {f"item-{n}": [True] * 5 for n in range(6)}


def test_an_item_that_nobody_gets_right_who_is_right_on_all_others_is_suspected() -> None:
    found = check_control_items(answers(GOOD | {"wrong": [False] * 5}), threshold=0.7)
    one = found["wrong"]
    assert (one.seen, one.right, one.vouching, one.vouching_right) == (5, 0, 5, 0)
    assert one.elsewhere == 1
    # 30 of 30 right elsewhere counts as 31 of 32; seven items are tested
    assert one.p == pytest.approx(7 * (1 / 32) ** 5)
    assert one.suspect
    assert not any(found[item].suspect for item in GOOD)


def test_what_only_careless_workers_miss_is_not_suspected() -> None:
    rights = {item: [True] * 4 + [False] * 4 for item in GOOD} | {"missed": [True] * 4 + [False] * 4}
    one = check_control_items(answers(rights), threshold=0.7)["missed"]
    assert (one.seen, one.right, one.vouching, one.vouching_right) == (8, 4, 4, 4)
    assert not one.suspect


def test_a_hard_item_that_most_get_right_is_not_suspected() -> None:
    rights = {f"item-{n}": [True] * 40 for n in range(6)} | {"hard": [True] * 24 + [False] * 16}
    one = check_control_items(answers(rights), threshold=0.7)["hard"]
    assert one.p < 0.001
    assert not one.suspect


def test_two_workers_are_too_few_to_cast_suspicion() -> None:
    rights = {item: row[:2] for item, row in GOOD.items()} | {"missed": [False] * 2}
    one = check_control_items(answers(rights), threshold=0.7)["missed"]
    assert one.p == 1
    assert not one.suspect


def test_workers_who_answered_nothing_else_vouch_for_nothing() -> None:
    one = check_control_items(answers({"alone": [False] * 9}), threshold=0.7)["alone"]
    assert (one.seen, one.vouching) == (9, 0)
    assert math.isnan(one.elsewhere)
    assert not one.suspect


def test_thousands_of_answers_on_an_item_are_no_trouble() -> None:
    assert binomial_at_most(5_000, 10_000, 0.5) == pytest.approx(
        0.50399, abs=1e-5
    )  # 1/2 + half the middle term


def test_a_sound_pool_is_hardly_ever_suspected() -> None:
    """200 studies of 40 sound items, five workers an item, right 9 times in 10: at most one in twenty says anything."""
    rng = np.random.default_rng(3)
    alarms = 0
    for _ in range(200):
        rows = [
            (item, int(worker), bool(rng.random() < 0.9))
            for item in range(40)
            for worker in rng.permutation(20)[:5]
        ]
        alarms += any(one.suspect for one in check_control_items(rows, threshold=0.7).values())
    assert alarms <= 10
