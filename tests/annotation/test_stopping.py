"""Overlap that stops when the outcome is settled: what later workers see, and what a HIT still asks for."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import Exclusion, Judgment, Worker
from annotation.quality.exclusions import exclude_worker, lift_exclusion
from annotation.work.answers.revisions import revise_judgments
from annotation.work.claims import claim_assignment
from annotation.work.sheet.units import page_units_of
from annotation.work.slots.release import return_assignment
from annotation.work.stopping import update_study_outcomes
from annotation.work.submissions import submit_and_claim, submit_assignment
from common.errors import DesignError
from evaluation.data.integrity import check_integrity
from evaluation.results.aggregation import compute_aggregation
from judgments.design.reading.checking import make_design
from judgments.kinds import KINDS
from judgments.models import HIT, OutcomeBounds, Study, Unit
from tests.annotation.leasing import claimed, slots_add_up
from tests.annotation.voting import always_first, answers_of, joined, work
from tests.marks import long_except
from tests.studies import make_study

pytestmark = pytest.mark.django_db


def stopping_study(protocol: str = "triplet", *, full_depth: float = 0.0, **values: Any) -> Study:
    """A study that stops where the outcome is settled, without control items unless asked for."""
    stopping = {"rule": "settled", "full_depth": full_depth} | values.pop("stopping", {})
    return make_study(protocol, **({"controls": {"per_hit": 0}} | values), stopping=stopping)


def exclude(worker: Worker, study: Study) -> Exclusion:
    return exclude_worker(study=study, worker=worker, why="careless")


def test_two_equal_votes_of_three_are_enough_and_the_third_slot_is_spared() -> None:
    study = stopping_study("pairwise")
    for name in ("ada", "bea", "cy"):
        work(study, joined(study, name), always_first)
    assert set(HIT.objects.values_list("open_slots", "spared", "required")) == {(0, 1, 3)}
    assert Judgment.objects.count() == 2 * Unit.objects.filter(study=study).count()
    assert slots_add_up(study)
    assert check_integrity().problems == []


def test_the_third_worker_sees_only_what_the_first_two_disagree_on_and_the_control_items() -> None:
    study = stopping_study("pairwise", controls={"per_hit": 1})
    disputed = Unit.objects.filter(study=study, control=False, places__hit__position=0).first()
    assert disputed is not None

    def contrary(unit: Unit, worker: Worker) -> int:
        return 2 if unit == disputed else always_first(unit, worker)

    work(study, joined(study, "ada"), always_first)
    work(study, joined(study, "bea"), contrary)
    third = claimed(study, joined(study, "cy"))
    shown = [place.unit for place in page_units_of(third.assignment)]
    assert [unit for unit in shown if not unit.control] == [disputed]
    assert sum(unit.control for unit in shown) == 1
    assert [place.position for place in page_units_of(third.assignment)] == [1, 2]
    submit_assignment(
        assignment=third.assignment,
        answers=answers_of(third.assignment, third.assignment.worker, always_first),
    )
    assert claim_assignment(study=study, worker=third.assignment.worker) is None
    assert check_integrity().problems == []


def test_a_triplet_is_left_alone_once_the_rest_of_its_pair_cannot_turn_it() -> None:
    study = stopping_study(sampling={"pairs": {"HC": 1}, "references": 2}, units_per_hit=1)
    study.refresh_from_db()
    first, second = HIT.objects.filter(study=study).order_by("position")
    work(study, joined(study, "ada"), always_first)
    work(study, joined(study, "bea"), always_first)
    # with two references a pair can still be tied: both are asked to the end
    assert set(OutcomeBounds.objects.values_list("low", "high", "done")) == {(1, 1, True)}
    assert (first.open_slots, second.open_slots) == (3, 3)
    assert set(HIT.objects.values_list("spared", flat=True)) == {1}


def test_a_majority_of_triplets_settles_the_pair_and_spares_the_others_whole() -> None:
    study = stopping_study(sampling={"pairs": {"HC": 1}, "references": 2}, units_per_hit=1)
    extra = Unit.objects.get(bounds__unit__places__hit__position=1)
    OutcomeBounds.objects.filter(pk=extra.pk).update(low=0, high=0, done=True)  # as a tied triplet
    HIT.objects.filter(position=1).update(open_slots=0, spared=3)
    work(study, joined(study, "ada"), always_first)
    work(study, joined(study, "bea"), always_first)
    assert HIT.objects.get(position=0).spared == 1
    assert extra.judgments.count() == 0


def test_a_copy_that_is_out_stays_valid_when_its_units_are_settled_meanwhile() -> None:
    study = stopping_study("pairwise")
    slow = claimed(study, joined(study, "slow"))
    for name in ("ada", "bea"):
        work(study, joined(study, name), always_first)
    submit_assignment(
        assignment=slow.assignment, answers=answers_of(slow.assignment, slow.assignment.worker, lambda *_: 2)
    )
    assert slow.assignment.judgments.count() == len(slow.page_units)
    assert check_integrity().problems == []


def test_what_is_returned_is_offered_again_only_where_it_is_still_wanted() -> None:
    study = stopping_study("pairwise")
    slow = claimed(study, joined(study, "slow"))
    for name in ("ada", "bea"):
        work(study, joined(study, name), always_first)
    return_assignment(assignment=slow.assignment)
    hit = HIT.objects.get(assignments=slow.assignment)
    assert (hit.open_slots, hit.spared) == (0, 1)
    other = claim_assignment(study=study, worker=joined(study, "early"))
    assert other is None


def test_an_exclusion_opens_exactly_the_slots_that_it_unsettles() -> None:
    study = stopping_study("pairwise")
    ada, bea = joined(study, "ada"), joined(study, "bea")
    work(study, ada, always_first, most=1)
    work(study, bea, always_first)
    (of_ada,) = HIT.objects.filter(assignments__worker=ada)
    exclude(ada, study)
    of_ada.refresh_from_db()
    assert (of_ada.open_slots, of_ada.spared) == (2, 0)
    assert slots_add_up(study)
    work(study, joined(study, "cy"), always_first)
    of_ada.refresh_from_db()
    assert (of_ada.open_slots, of_ada.spared) == (0, 1)


def test_an_exclusion_that_is_taken_back_spares_the_slot_again() -> None:
    study = stopping_study("pairwise")
    ada = joined(study, "ada")
    work(study, ada, always_first)
    work(study, joined(study, "bea"), always_first)
    exclusion = exclude(ada, study)
    assert set(HIT.objects.values_list("open_slots", "spared")) == {(2, 0)}
    lift_exclusion(exclusion=exclusion, why="it was somebody else")
    assert set(HIT.objects.values_list("open_slots", "spared", "required")) == {(0, 1, 3)}
    assert check_integrity().problems == []


def test_a_revision_that_unsettles_a_unit_opens_the_slot_again() -> None:
    study = stopping_study("pairwise")
    ada, bea = joined(study, "ada"), joined(study, "bea")
    (last,) = work(study, ada, always_first, most=1)
    work(study, bea, always_first, most=1)
    hit = HIT.objects.get(position=0)
    assert (hit.open_slots, hit.spared) == (0, 1)
    revise_judgments(assignment=last, answers=answers_of(last, ada, lambda *_: 2))
    hit.refresh_from_db()
    assert (hit.open_slots, hit.spared) == (1, 0)
    assert slots_add_up(study)


def test_a_slot_that_left_a_unit_out_is_made_up_for_when_the_unit_is_needed_again() -> None:
    study = stopping_study("pairwise")
    hit = HIT.objects.get(position=0)
    disputed = hit.units.first()

    def contrary(unit: Unit, worker: Worker) -> int:
        return 2 if unit == disputed else 1

    ada, bea, cy = (joined(study, name) for name in ("ada", "bea", "cy"))
    work(study, ada, always_first, most=1)
    work(study, bea, contrary, most=1)
    work(study, cy, always_first, most=1)  # sees the disputed unit alone
    hit.refresh_from_db()
    assert (hit.open_slots, hit.spared, hit.required) == (0, 0, 3)
    exclude(ada, study)
    hit.refresh_from_db()
    # the other units have the vote of bea alone: two more may be needed, and one slot is free
    assert (hit.open_slots, hit.spared, hit.required) == (2, 0, 4)
    assert slots_add_up(study)
    assert check_integrity().problems == []


def test_a_worker_who_falls_below_the_control_threshold_unsettles_what_they_settled() -> None:
    study = stopping_study("pairwise", controls={"per_hit": 1, "threshold": 0.6, "least": 1})
    ada, bea = joined(study, "ada"), joined(study, "bea")
    work(study, bea, always_first, most=1)
    work(study, ada, always_first, most=1)
    hit = HIT.objects.get(position=0)
    assert (hit.open_slots, hit.spared) == (0, 1)

    def careless(unit: Unit, worker: Worker) -> int:
        return 3 - always_first(unit, worker) if unit.control else 1

    work(study, ada, careless, most=1)  # one of two control items: below .6
    hit.refresh_from_db()
    assert (hit.open_slots, hit.spared) == (1, 0)
    assert slots_add_up(study)


def test_full_depth_hits_are_answered_to_the_end_and_agreement_is_measured_on_them_alone() -> None:
    study = stopping_study("pairwise", full_depth=0.4)
    for name in ("ada", "bea", "cy", "di"):
        work(study, joined(study, name), always_first)
    full = HIT.objects.filter(units__bounds__full_depth=True).distinct()
    assert full.count() == round(0.4 * HIT.objects.count())
    assert set(full.values_list("spared", flat=True)) == {0}
    assert set(HIT.objects.exclude(pk__in=full).values_list("spared", flat=True)) == {1}
    agreement = compute_aggregation(study=study).result["agreement"]
    assert agreement["alpha"]["n"] == OutcomeBounds.objects.filter(full_depth=True).count()
    assert agreement["full_depth"]["units"] == OutcomeBounds.objects.filter(full_depth=True).count()


def test_the_margin_rule_stops_a_unit_at_its_lead() -> None:
    study = stopping_study(
        "pairwise", judgments_per_unit=5, stopping={"rule": "margin", "minimum": 2, "margin": 2}
    )
    for name in ("ada", "bea", "cy"):
        work(study, joined(study, name), always_first)
    assert set(HIT.objects.values_list("open_slots", "spared")) == {(0, 3)}


@pytest.mark.parametrize(
    ("seed", "protocol"),
    long_except(product([1, 2], ["triplet", "pairwise", "relevance"]), (1, "pairwise"), (2, "relevance")),
)
def test_the_final_consensus_is_that_of_full_depth_whatever_the_votes_not_asked_for(
    protocol: str, seed: int
) -> None:
    """Random votes, returned HITs and an exclusion; then every vote that was spared is drawn at random, many times."""
    rng = np.random.default_rng(seed)
    values = KINDS[protocol].values
    study = stopping_study(protocol, full_depth=0.1)
    kind = KINDS[protocol]
    drawn: dict[tuple[int, int], float] = {}

    def vote(unit: Unit, worker: Worker) -> float:
        leaning = unit.pk % 2
        return drawn.setdefault((unit.pk, worker.pk), values[leaning if rng.random() < 0.75 else 1 - leaning])

    people = [joined(study, f"w-{number}") for number in range(6)]
    excluded = False
    idle: set[int] = set()
    while len(idle) < len(people) - excluded:
        worker = people[int(rng.integers(len(people)))]
        if worker.pk in idle or (excluded and worker == people[0]):
            continue
        claim = claim_assignment(study=study, worker=worker)
        if claim is None:
            idle.add(worker.pk)
        elif rng.random() < 0.15:
            return_assignment(assignment=claim.assignment)
        else:
            submit_assignment(assignment=claim.assignment, answers=answers_of(claim.assignment, worker, vote))
            if not excluded and worker == people[0] and rng.random() < 0.5:
                exclude(worker, study)
                excluded, idle = True, set()
    assert slots_add_up(study)
    assert check_integrity().problems == []
    ended = compute_aggregation(study=study).consensus
    cast: dict[int, list[float]] = {row.pk: [] for row in ended.units}
    for unit, value in Judgment.objects.current().values_list("unit_id", "value"):
        assert value is not None
        cast[unit].append(value)
    assert sum(map(len, cast.values())) < 3 * len(cast)
    for _ in range(20):
        full = {
            unit: votes + rng.choice(values, size=max(0, 3 - len(votes))).tolist()
            for unit, votes in cast.items()
        }
        flat = [(unit, value) for unit, votes in full.items() for value in votes]
        found = kind.aggregation.consensus([unit for unit, _ in flat], [value for _, value in flat])
        if not kind.compares_pairs:
            assert {unit: one.value for unit, one in found.items()} == {
                unit: one.value for unit, one in ended.of_unit.items()
            }
        for pair in ended.pairs:
            outcomes = [found[row.pk].value for row in ended.units if row.pair == pair.pk]
            lead = outcomes.count(1) - outcomes.count(2)
            assert ended.of_pair[pair.pk].value == {1: 1, -1: 2, 0: None}[int(np.sign(lead))]


def test_looking_at_everything_again_changes_nothing() -> None:
    study = stopping_study("pairwise", controls={"per_hit": 1})
    work(study, joined(study, "ada"), always_first)
    work(study, joined(study, "bea"), always_first, most=2)

    def rows() -> list[Any]:
        return [*OutcomeBounds.objects.order_by("pk").values(), *HIT.objects.order_by("pk").values()]

    before = rows()
    update_study_outcomes(study=study)
    assert rows() == before


def test_a_submission_asks_no_more_of_the_database_the_longer_the_study_lasts() -> None:
    study = stopping_study(units_per_hit=4, controls={"per_hit": 1})

    def queries(name: str) -> int:
        worker = joined(study, name)
        claim = claimed(study, worker)
        answers = answers_of(claim.assignment, worker, always_first)
        with CaptureQueriesContext(
            connection,
        ) as asked:
            submit_assignment(assignment=claim.assignment, answers=answers)
        return len(asked)

    early = queries("ada")
    work(study, joined(study, "bea"), always_first, most=2)
    assert queries("cy") <= early + 4
    assert early < 32


def test_submitting_and_taking_the_next_go_on_as_ever() -> None:
    study = stopping_study("pairwise")
    ada = joined(study, "ada")
    claim = claimed(study, ada)
    _, following = submit_and_claim(
        assignment=claim.assignment, answers=answers_of(claim.assignment, ada, always_first)
    )
    assert following is not None
    assert following.assignment.hit_id != claim.assignment.hit_id


def test_people_who_come_together_are_given_different_hits() -> None:
    study = stopping_study("pairwise")
    claims = [claim_assignment(study=study, worker=joined(study, f"w-{n}")) for n in range(3)]
    assert len({claim.assignment.hit_id for claim in claims if claim is not None}) == 3


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"protocol": "graded", "stopping": {"rule": "settled"}},
            "settled",
        ),
        (
            {"stopping": {"rule": "margin", "minimum": 4}},
            r"stopping\.minimum is 4.*judgments_per_unit",
        ),
        ({"stopping": {"rule": "soon"}}, "none.*settled.*margin"),
    ],
)
def test_a_rule_that_cannot_be_followed_is_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(DesignError, match=said):
        make_design({"name": "x", "dataset": "animals", "protocol": "triplet"} | values)


def test_a_study_without_a_rule_keeps_no_bounds() -> None:
    make_study()
    assert not OutcomeBounds.objects.exists()
