"""The study's rules look after each page: a case, a pause, an exclusion; and a person decides."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.serializers import ValidationError

from annotation.crowds.opening import open_study
from annotation.errors import WorkerExcluded, WorkPaused
from annotation.models import Case, Exclusion, Participation, QualityRule, Worker
from annotation.quality import operations
from annotation.quality.exclusions import exclude_worker
from annotation.quality.flags import confirm_flag, dismiss_flag, readmit_worker, run_detectors
from annotation.quality.reviews import approve_assignments, reject_assignments
from annotation.quality.rules import copy_rules, recommend_rules, store_rule
from annotation.work.claims import claim_assignment
from annotation.work.submissions import save_answers, submit_and_claim, submit_assignment
from common.errors import DesignError, WrongState
from evaluation.data.integrity import check_integrity
from judgments.models import Study
from judgments.studies.studies import mark_closed
from tests.annotation.leasing import claimed, slots_add_up
from tests.annotation.watched import answers_to, careful, left, make_watched, states, work
from tests.refusals import assert_names, refuses
from tests.studies import with_worker

pytestmark = pytest.mark.django_db


def watched_by(action: str, **settings: Any) -> Study:
    study = make_watched(rules=[{"rule": "side-bias", "action": action, "settings": settings}])
    copy_rules(study=study)
    return study


def standing(study: Study, name: str) -> str:
    return Participation.objects.get(study=study, worker__name=name).standing


def test_a_flag_is_a_case_with_the_evidence_and_stops_nobody() -> None:
    study = watched_by("flag")
    work(study, "ada", careful, pages=4)
    work(study, "spam", left, pages=4)
    case = Case.objects.get()
    assert (case.worker.name, case.rule, case.action, case.answers) == ("spam", "side-bias", "flag", 20)
    assert_names(case.evidence["words"], "left", "20 of 20")
    assert case.evidence["settings"]["tolerance"] == 0.1
    assert case.evidence["numbers"]["left"] == 20
    assert standing(study, "spam") == "active"


def test_a_pause_gives_no_more_work_and_keeps_what_was_done() -> None:
    study = watched_by("pause")
    done = work(study, "spam", left, pages=2)
    with pytest.raises(WorkPaused):
        claim_assignment(study=study, worker=done[0].worker)
    assert standing(study, "spam") == "paused"
    assert states(done) == ["submitted", "submitted"]
    assert slots_add_up(study)


def test_an_exclusion_says_which_rule_did_it() -> None:
    study = watched_by("exclude")
    done = work(study, "spam", left, pages=2)
    exclusion = Exclusion.objects.get()
    assert (exclusion.rule, exclusion.made_by) == ("side-bias", None)
    assert "chose the left option" in exclusion.why
    assert Case.objects.get().exclusion == exclusion
    assert states(done) == ["invalidated", "invalidated"]
    with pytest.raises(WorkerExcluded):
        claim_assignment(study=study, worker=done[0].worker)
    assert check_integrity().problems == []


def test_the_next_page_is_not_handed_out_with_the_submission_that_stops() -> None:
    study, worker = with_worker(watched_by("exclude"), "spam")
    claim = claimed(study, worker)
    _, following = submit_and_claim(assignment=claim.assignment, answers=answers_to(claim.assignment, left))
    assert following is not None
    _, last = submit_and_claim(
        assignment=following.assignment, answers=answers_to(following.assignment, left)
    )
    assert last is None
    assert slots_add_up(study)
    assert not worker.assignments.filter(state="accepted").exists()


def test_a_page_that_a_paused_worker_has_begun_may_be_finished() -> None:
    study = watched_by("pause")
    worker = work(study, "spam", left)[0].worker
    begun = claimed(study, worker)
    save_answers(assignment=begun.assignment, answers=answers_to(begun.assignment, left)[:1])
    Participation.objects.filter(worker=worker).update(standing="paused")
    held = claimed(study, worker)
    assert held.assignment == begun.assignment
    _, following = submit_and_claim(assignment=begun.assignment, answers=answers_to(begun.assignment, left))
    assert following is None
    assert states([begun.assignment]) == ["submitted"]


def test_a_rule_that_is_off_and_a_study_without_rules_say_nothing() -> None:
    study = watched_by("exclude")
    QualityRule.objects.update(enabled=False)
    work(study, "spam", left, pages=3)
    work(make_watched("Without"), "eve", left, pages=3)
    assert not Case.objects.exists()


def test_a_repeated_submission_is_not_looked_at_again() -> None:
    study = watched_by("flag")
    done = work(study, "spam", left, pages=2)
    Case.objects.all().delete()
    again = submit_assignment(assignment=done[1], answers=answers_to(done[1], left))
    assert again.is_repeat
    assert not Case.objects.exists()


def test_a_study_without_rules_pays_one_query(django_assert_num_queries: Any) -> None:
    study, worker = with_worker(make_watched())
    claim = claimed(study, worker)
    with django_assert_num_queries(1):
        run_detectors(assignment=claim.assignment)


def test_a_look_takes_few_queries_whatever_the_worker_has_done(django_assert_max_num_queries: Any) -> None:
    study = make_watched()
    recommend_rules(study=study)
    for name in ("ada", "bob", "cyd"):
        last = work(study, name, careful, pages=4)[-1]
    with django_assert_max_num_queries(9):
        run_detectors(assignment=last)


@pytest.fixture
def designer() -> User:
    return User.objects.create_user("designer", is_staff=True)


def test_a_confirmed_flag_excludes_and_stays_to_be_seen(designer: User) -> None:
    study = watched_by("flag")
    work(study, "spam", left, pages=3)
    decided = confirm_flag(case=Case.objects.get(), why="Clicks through.", by=designer)
    assert (decided.state, decided.decided_by, decided.decision) == ("confirmed", designer, "Clicks through.")
    assert decided.exclusion is not None
    assert (decided.exclusion.rule, decided.exclusion.made_by) == ("side-bias", designer)
    assert standing(study, "spam") == "excluded"


def test_a_dismissed_pause_lets_the_worker_go_on_and_the_rule_is_silent_from_then_on(designer: User) -> None:
    study = watched_by("pause")
    worker = work(study, "spam", left, pages=2)[0].worker
    dismiss_flag(case=Case.objects.get(), why="She is left-handed.", by=designer)
    assert standing(study, "spam") == "active"
    assert len(work(study, worker, left, pages=9)) > 1
    assert Case.objects.get().state == "dismissed"


def test_a_dismissed_exclusion_is_lifted(designer: User) -> None:
    study = watched_by("exclude")
    done = work(study, "spam", left, pages=2)
    dismiss_flag(case=Case.objects.get(), why="A test of ours.", by=designer)
    exclusion = Exclusion.objects.get()
    assert (exclusion.lifted_by, exclusion.lifted_why) == (designer, "A test of ours.")
    assert states(done) == ["submitted", "submitted"]
    assert standing(study, "spam") == "active"


@pytest.mark.parametrize("action", ["pause", "exclude"])
def test_somebody_with_another_open_pause_stays_paused(designer: User, action: str) -> None:
    study = watched_by(action)
    worker = work(study, "spam", left, pages=2)[0].worker
    Case.objects.create(study=study, worker=worker, rule="too-fast", action="pause")
    dismiss_flag(case=Case.objects.get(rule="side-bias"), why="Checked.", by=designer)
    assert standing(study, "spam") == "paused"
    dismiss_flag(case=Case.objects.get(rule="too-fast"), why="Checked.", by=designer)
    assert standing(study, "spam") == "active"


def test_an_exclusion_that_is_lifted_by_hand_closes_what_waits_for_it(designer: User) -> None:
    study = watched_by("exclude")
    work(study, "spam", left, pages=2)
    readmit_worker(exclusion=Exclusion.objects.get(), why="Our mistake.", by=designer)
    assert Case.objects.get().state == "dismissed"


def test_a_case_is_decided_once_and_with_a_reason(designer: User) -> None:
    study = watched_by("flag")
    work(study, "spam", left, pages=2)
    case = Case.objects.get()
    with pytest.raises(ValidationError, match="Enter a reason"):
        operations.confirm_case.read({"why": "  "}, row=str(case.pk))
    dismiss_flag(case=case, why="Fine.", by=designer)
    with pytest.raises(WrongState, match="is already dismissed"):
        confirm_flag(case=case, why="After all.", by=designer)
    assert standing(study, "spam") == "active"


def test_opening_a_study_copies_its_rules_once_and_keeps_what_was_changed() -> None:
    study = make_watched(rules=[{"rule": "side-bias", "action": "pause"}])
    mark_closed(study=study)
    open_study(study=study)
    row = QualityRule.objects.get()
    assert (row.rule, row.action, row.enabled) == ("side-bias", "pause", True)
    store_rule(study=study, rule="side-bias", settings={"least": 40}, action="flag", enabled=False)
    mark_closed(study=study)
    open_study(study=study)
    row.refresh_from_db()
    assert (row.action, row.enabled, row.settings) == ("flag", False, {"least": 40})


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"rule": "to-fast"}, "rules, table 1: there is no detector 'to-fast'; expected one of too-fast"),
        ({"rule": "side-bias", "settings": {"leest": 3}}, "side-bias has no setting 'leest'"),
        ({"rule": "side-bias", "settings": {"alpha": "much"}}, "alpha of side-bias is 'much'"),
    ],
)
def test_rules_that_are_none_keep_a_study_closed(rule: dict[str, Any], said: str) -> None:
    study = make_watched(rules=[rule])
    mark_closed(study=study)
    with pytest.raises(DesignError) as refused:
        open_study(study=study)
    assert said in str(refused.value)
    study.refresh_from_db()
    assert study.state == "closed"


def test_control_items_are_held_to_the_design() -> None:
    study = make_watched(
        controls={"per_hit": 1, "threshold": 0.9, "after": 2},
        rules=[{"rule": "control-accuracy", "action": "flag", "settings": {"alpha": 0.0}}],
    )
    copy_rules(study=study)

    def wrong(place: Any) -> int:
        return 3 - careful(place) if place.unit.control else careful(place)

    work(study, "miss", wrong, pages=3)
    work(study, "ada", careful, pages=3)
    case = Case.objects.get()
    assert (case.worker.name, case.answers) == ("miss", 20)
    assert_names(case.evidence["words"], "0 of 2", 90)


def test_a_change_that_is_none_changes_nothing() -> None:
    study = watched_by("flag")
    with refuses(WrongState, "side-bias"):
        store_rule(study=study, rule="side-bias", settings={"x": 1}, action="flag", enabled=True)
    with pytest.raises(ValidationError, match="'shout'"):
        operations.set_rule.read({"action": "shout"}, row="side-bias")
    assert QualityRule.objects.get().settings == {}


def test_work_is_approved_together_and_rejected_with_a_reason() -> None:
    study = make_watched()
    pages = work(study, "ada", careful, pages=3)
    assert approve_assignments(study=study, assignments=[pages[0].pk, pages[1].pk]) == 2
    assert approve_assignments(study=study, assignments=[pages[0].pk]) == 0
    assert reject_assignments(study=study, assignments=[pages[2].pk], reason="Half of it is empty.")
    assert not reject_assignments(study=study, assignments=[pages[2].pk], reason="Half of it is empty.")
    assert states(pages) == ["approved", "approved", "rejected"]
    pages[2].refresh_from_db()
    assert pages[2].reason == "Half of it is empty."
    assert approve_assignments(study=study, assignments=[pages[2].pk]) == 1


def test_wrong_steps_are_refused_and_change_nothing() -> None:
    study = make_watched()
    pages = work(study, "ada", careful, pages=2)
    held = claimed(study, pages[0].worker)
    with pytest.raises(WrongState, match="no submitted assignment"):
        approve_assignments(study=study, assignments=[pages[0].pk, held.assignment.pk])
    with pytest.raises(ValidationError, match="needs a reason"):
        operations.reject.read({"assignments": [str(pages[0].pk)], "reason": " "})
    approve_assignments(study=study, assignments=[pages[0].pk])
    with pytest.raises(WrongState, match="is already approved"):
        reject_assignments(study=study, assignments=[pages[0].pk], reason="Late.")
    other = make_watched("Another")
    with pytest.raises(WrongState, match="no submitted assignment"):
        approve_assignments(study=other, assignments=[pages[1].pk])
    assert states(pages) == ["approved", "submitted"]


def test_imported_judgments_know_no_exclusion() -> None:
    study = make_watched()
    Study.objects.filter(pk=study.pk).update(source="imported")
    study.refresh_from_db()
    worker = Worker.objects.create(name="r-1", source="imported", study=study)
    with pytest.raises(WrongState, match="of the imported study"):
        exclude_worker(study=study, worker=worker, why="No.")
