"""Answers on control items counted by the database say the same as when they are read one by one."""

from __future__ import annotations

import pytest

from annotation.quality.controls import control_answers, control_records, control_tallies, tallied_records
from annotation.work.claims import claim_assignment
from annotation.work.submissions import submit_assignment
from judgments.kinds import KINDS
from tests.studies import make_study, make_worker

pytestmark = pytest.mark.django_db


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
    assert tallied_records(control_tallies(study), threshold=0.6, is_right=kind.is_right) == single
    chosen = sorted(single)[:1]
    some = tallied_records(control_tallies(study, workers=chosen), threshold=0.6, is_right=kind.is_right)
    assert some == {worker: single[worker] for worker in chosen}
