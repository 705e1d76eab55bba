"""Correcting answers after they were submitted: beside the old ones, for a while."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from annotation.errors import AlreadyEnded, AnswerProblem, TooLateToChange
from annotation.models import Assignment, Judgment
from annotation.work.claims import claim_assignment
from annotation.work.presentation import places_of
from annotation.work.submissions import current_answers, revise_judgments, submit_assignment
from judgments.kinds import KINDS
from judgments.models import Study
from tests.studies import make_study, make_worker

pytestmark = pytest.mark.django_db


def submitted(study: Study, value: int = 1) -> Assignment:
    worker, _ = make_worker(study)
    claim = claim_assignment(study=study, worker=worker)
    assert claim is not None
    answers = [{"position": place.position, "value": value, "seconds": 2.0} for place in claim.places]
    submit_assignment(assignment=claim.assignment, answers=answers)
    return Assignment.objects.get(pk=claim.assignment.pk)


def seen(assignment: Assignment) -> dict[str, Any]:
    """Position -> the value that counts, as the worker sees it."""
    return {
        position: answer["value"]
        for position, answer in current_answers(assignment, places_of(assignment)).items()
    }


def test_a_revision_is_a_new_judgment_and_the_old_one_stays() -> None:
    assignment = submitted(make_study())
    before: dict[int, Any] = {row.pk: row.value for row in Judgment.objects.all()}
    assert revise_judgments(assignment=assignment, answers=[{"position": 2, "value": 2}]) == [2]
    assert {row.pk: row.value for row in Judgment.objects.filter(pk__in=before)} == before
    assert Judgment.objects.count() == len(before) + 1
    assert Judgment.objects.current().count() == len(before)
    revised = Judgment.objects.get(replaces__isnull=False)
    assert revised.replaces is not None
    assert revised.value == 3 - before[revised.replaces.pk]
    assert seen(assignment) == {position: 2 if position == "2" else 1 for position in seen(assignment)}


def test_a_revision_can_be_revised_and_taken_back() -> None:
    assignment = submitted(make_study())
    for value in (2, 1):
        answers = [{"position": 1, "value": value}]
        assert revise_judgments(assignment=assignment, answers=answers) == [1]
        assert revise_judgments(assignment=assignment, answers=answers) == []
    assert seen(assignment)["1"] == 1
    assert Judgment.objects.filter(assignment=assignment, replaces__isnull=False).count() == 2


def test_a_comment_alone_is_a_revision_and_keeps_the_answer_and_its_time() -> None:
    assignment = submitted(make_study())
    revise_judgments(assignment=assignment, answers=[{"position": 1, "value": 1, "comment": "Both fit."}])
    revised = Judgment.objects.get(replaces__isnull=False)
    assert revised.replaces is not None
    assert (revised.comment, revised.seconds, revised.value) == ("Both fit.", 2.0, revised.replaces.value)


def test_sending_the_submission_again_is_still_harmless_after_a_revision() -> None:
    assignment = submitted(make_study())
    revise_judgments(assignment=assignment, answers=[{"position": 1, "value": 2}])
    answers = [{"position": place.position, "value": 1} for place in places_of(assignment)]
    assert submit_assignment(assignment=assignment, answers=answers).repeated
    assert seen(assignment)["1"] == 2


def test_nothing_is_revised_once_the_time_for_it_is_over() -> None:
    study = make_study(crowd={"edit_minutes": 10})
    assignment = submitted(study)
    long_ago = timezone.now() - timedelta(minutes=10, seconds=1)
    Assignment.objects.filter(pk=assignment.pk).update(accepted_at=long_ago, submitted_at=long_ago)
    with pytest.raises(TooLateToChange, match="Your answers stay as you submitted them"):
        revise_judgments(assignment=assignment, answers=[{"position": 1, "value": 2}])
    assert Judgment.objects.filter(replaces__isnull=False).count() == 0


def test_nothing_is_revised_once_somebody_decided_on_it() -> None:
    assignment = submitted(make_study())
    for state in ("approved", "rejected"):
        Assignment.objects.filter(pk=assignment.pk).update(state=state)
        with pytest.raises(TooLateToChange):
            revise_judgments(assignment=assignment, answers=[{"position": 1, "value": 2}])


def test_a_study_may_allow_no_revisions() -> None:
    assignment = submitted(make_study(crowd={"edit_minutes": 0}))
    with pytest.raises(TooLateToChange):
        revise_judgments(assignment=assignment, answers=[{"position": 1, "value": 2}])


def test_work_that_was_never_submitted_has_nothing_to_revise() -> None:
    study = make_study()
    worker, _ = make_worker(study)
    claim = claim_assignment(study=study, worker=worker)
    assert claim is not None
    with pytest.raises(AlreadyEnded):
        revise_judgments(assignment=claim.assignment, answers=[{"position": 1, "value": 2}])


def test_a_revision_with_an_invalid_answer_changes_nothing() -> None:
    assignment = submitted(make_study())
    with pytest.raises(AnswerProblem):
        revise_judgments(
            assignment=assignment, answers=[{"position": 1, "value": 2}, {"position": 2, "value": 3}]
        )
    assert Judgment.objects.filter(replaces__isnull=False).count() == 0


def test_a_revision_is_counted_where_votes_are_spared() -> None:
    study = make_study(
        "pairwise",
        judgments_per_unit=3,
        sampling={"pairs": {"HC": 1}},
        controls={"per_hit": 0},
        stopping={"rule": "settled", "full_depth": 0.0},
    )
    hit = study.hits.get()
    for name in ("ada", "bo"):
        worker, _ = make_worker(study, name)
        claim = claim_assignment(study=study, worker=worker)
        assert claim is not None
        assignment = claim.assignment
        answers = [
            {"position": place.position, "value": KINDS["pairwise"].sides.from_canonical(1, side=place.side)}
            for place in claim.places
        ]
        submit_assignment(assignment=assignment, answers=answers)
    hit.refresh_from_db()
    assert hit.open_slots == 0, "two of three agree: nobody else can turn it"
    other = {"position": 1, "value": 3 - answers[0]["value"]}
    revise_judgments(assignment=Assignment.objects.get(pk=assignment.pk), answers=[other])
    hit.refresh_from_db()
    assert hit.open_slots == 1
