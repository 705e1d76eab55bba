"""An exclusion opens exactly the slots concerned, keeps every answer, and can be taken back."""

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from annotation.errors import WorkerExcluded
from annotation.models import Assignment, Exclusion, Judgment, Participation, Worker
from annotation.quality.flags import exclude_worker, lift_exclusion
from annotation.quality.reviews import approve_assignments, reject_assignments
from annotation.work.claims import claim_assignment
from annotation.work.submissions import save_answers, submit_assignment
from evaluation.data.integrity import check_integrity
from evaluation.results.aggregation import aggregate_study
from judgments.models import HIT, Study
from tests.annotation.leasing import claimed, slots_add_up
from tests.annotation.watched import (
    answers_to,
    careful,
    left,
    make_watched,
    states,
    work,
)
from tests.studies import make_worker

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return make_watched()


@pytest.fixture
def designer() -> User:
    return User.objects.create_user("designer", is_staff=True)


def hit_of(assignment: Assignment) -> HIT:
    return HIT.objects.get(assignments=assignment)


def slots(study: Study) -> dict[str, int]:
    return dict(HIT.objects.filter(study=study).values_list("key", "open_slots"))


def test_exactly_the_slots_of_the_worker_open_again_and_every_answer_stays(study: Study) -> None:
    work(study, "ada", careful, pages=2)
    before = slots(study)
    spam = work(study, "spam", left, pages=3)
    held = claimed(study, spam[0].worker)
    judgments = list(Judgment.objects.values_list("pk", "value"))
    exclusion = exclude_worker(study=study, worker=spam[0].worker, why="Always the left.", rule="side-bias")
    assert slots(study) == before
    assert states([*spam, held.assignment]) == ["invalidated"] * 4
    assert list(Judgment.objects.values_list("pk", "value")) == judgments
    assert not Judgment.objects.current().filter(assignment__worker__name="spam").exists()
    assert set(exclusion.assignments.all()) == {*spam, held.assignment}
    assert check_integrity().problems == []


def test_consensus_goes_on_without_the_excluded() -> None:
    study = make_watched(controls={"per_hit": 1, "threshold": 0.0})
    for name in ("ada", "bob"):
        work(study, name, careful, pages=9)
    spam = work(study, "spam", left, pages=9)
    with_spam = aggregate_study(study=study)
    exclude_worker(study=study, worker=spam[0].worker, why="Always the left.")
    without = aggregate_study(study=study)
    assert {unit["n"] for unit in with_spam["units"]} == {3}
    assert {unit["n"] for unit in without["units"]} == {2}
    assert all(unit["value"] == 1 for unit in without["units"])
    assert [row["worker"] for row in without["workers"]] == ["ada", "bob"]


def test_others_fill_the_places_and_the_excluded_gets_no_work(study: Study) -> None:
    spam = work(study, "spam", left, pages=9)[0].worker
    for name in ("ada", "bob"):
        work(study, name, careful, pages=9)
    assert work(study, "cyd", careful, pages=9) == []
    exclude_worker(study=study, worker=spam, why="Always the left.")
    with pytest.raises(WorkerExcluded, match="All your answers are kept, but they are not used"):
        claim_assignment(study=study, worker=spam)
    assert len(work(study, Worker.objects.get(name="cyd"), careful, pages=9)) == study.hits.count()
    assert not study.hits.exclude(open_slots=0).exists()


def test_a_page_in_hand_is_refused_with_what_happens_to_the_answers(study: Study) -> None:
    worker, _ = make_worker(study, "spam")
    claim = claimed(study, worker)
    answers = answers_to(claim.assignment, left)
    save_answers(assignment=claim.assignment, answers=answers[:4])
    exclude_worker(study=study, worker=worker, why="Seen before.")
    with pytest.raises(WorkerExcluded, match="All your answers are kept"):
        submit_assignment(assignment=claim.assignment, answers=answers)
    claim.assignment.refresh_from_db()
    assert len(claim.assignment.answers) == 4


def test_a_page_taken_at_the_moment_of_the_exclusion_brings_no_answers(study: Study) -> None:
    """What a claim that was under way left behind: the exclusion could not see it."""
    worker, _ = make_worker(study, "spam")
    exclude_worker(study=study, worker=worker, why="Seen before.")
    Participation.objects.filter(worker=worker).update(standing="active")
    claim = claimed(study, worker)
    Participation.objects.filter(worker=worker).update(standing="excluded")
    with pytest.raises(WorkerExcluded):
        submit_assignment(assignment=claim.assignment, answers=answers_to(claim.assignment, left))
    assert not Judgment.objects.exists()


def test_a_submission_whose_reply_was_lost_may_be_repeated(study: Study) -> None:
    worker, _ = make_worker(study, "spam")
    claim = claimed(study, worker)
    answers = answers_to(claim.assignment, left)
    submit_assignment(assignment=claim.assignment, answers=answers)
    exclude_worker(study=study, worker=worker, why="Always the left.")
    assert submit_assignment(assignment=claim.assignment, answers=answers).repeated
    assert Judgment.objects.count() == len(answers)


def test_excluding_twice_and_lifting_twice_change_nothing(study: Study, designer: User) -> None:
    worker = work(study, "spam", left, pages=2)[0].worker
    first = exclude_worker(study=study, worker=worker, why="Always the left.", by=designer)
    after = slots(study)
    assert exclude_worker(study=study, worker=worker, why="Again.") == first
    assert slots(study) == after
    lifted = lift_exclusion(exclusion=first, why="A mistake.", by=designer)
    restored = slots(study)
    assert lift_exclusion(exclusion=first, why="Twice.").lifted_why == "A mistake."
    assert slots(study) == restored
    assert (lifted.made_by, lifted.lifted_by) == (designer, designer)


def test_lifting_gives_everything_back_as_it_was(study: Study) -> None:
    pages = work(study, "ada", left, pages=3)
    approve_assignments(study=study, assignments=[pages[0].pk])
    reject_assignments(study=study, assignments=[pages[1].pk], reason="Empty.")
    begun = claimed(study, pages[0].worker)
    before = states(pages)
    exclusion = exclude_worker(study=study, worker=pages[0].worker, why="Always the left.")
    open_again = slots(study)
    lift_exclusion(exclusion=exclusion, why="She explained it.")
    assert states(pages) == before == ["approved", "rejected", "submitted"]
    assert states([begun.assignment]) == ["returned"]
    assert sum(open_again.values()) - sum(slots(study).values()) == len(pages)
    assert Judgment.objects.current().count() == sum(one.judgments.count() for one in pages)
    assert claim_assignment(study=study, worker=pages[0].worker) is not None
    assert slots_add_up(study)
    assert check_integrity().problems == []


def test_where_a_place_was_filled_meanwhile_the_hit_grows_by_one(study: Study) -> None:
    spam = work(study, "spam", careful, pages=9)
    for name in ("ada", "bob"):
        work(study, name, careful, pages=9)
    exclusion = exclude_worker(study=study, worker=spam[0].worker, why="A suspicion.")
    filled = {hit_of(one).pk for one in work(study, "cyd", careful, pages=2)}
    lift_exclusion(exclusion=exclusion, why="Unfounded.")
    grown = set(study.hits.filter(required=4).values_list("pk", flat=True))
    assert grown == filled
    assert (
        study.hits.exclude(pk__in=filled).filter(required=3, open_slots=0).count() == study.hits.count() - 2
    )
    assert slots_add_up(study)
    assert check_integrity().problems == []
    again = exclude_worker(study=study, worker=spam[0].worker, why="After all.")
    assert slots_add_up(study)
    assert again != exclusion
    assert check_integrity().problems == []


def test_a_slot_that_was_spared_meanwhile_takes_the_work_back(study: Study) -> None:
    page = work(study, "ada", careful)[0]
    exclusion = exclude_worker(study=study, worker=page.worker, why="A suspicion.")
    HIT.objects.filter(pk=hit_of(page).pk).update(open_slots=0, spared=3)
    lift_exclusion(exclusion=exclusion, why="Unfounded.")
    hit = hit_of(page)
    assert (hit.required, hit.open_slots, hit.spared) == (3, 0, 2)
    assert slots_add_up(study)


def test_other_studies_of_the_worker_are_left_alone(study: Study) -> None:
    other = make_watched("Another")
    here = work(study, "ada", left)[0]
    Participation.objects.create(study=other, worker=here.worker, completion_code="ANOTHER")
    there = work(other, here.worker, left)
    exclude_worker(study=study, worker=here.worker, why="Always the left.")
    assert states(there) == ["submitted"]
    assert claim_assignment(study=other, worker=here.worker) is not None


def test_the_database_lets_nobody_be_excluded_twice_or_invalidated_without_a_name(study: Study) -> None:
    page = work(study, "ada", left)[0]
    exclude_worker(study=study, worker=page.worker, why="Always the left.")
    with pytest.raises(IntegrityError), transaction.atomic():
        Exclusion.objects.create(study=study, worker=page.worker, why="Again.")
    with pytest.raises(IntegrityError), transaction.atomic():
        Assignment.objects.filter(pk=page.pk).update(exclusion=None)
    with pytest.raises(IntegrityError), transaction.atomic():
        Assignment.objects.filter(pk=page.pk).update(state="submitted")
