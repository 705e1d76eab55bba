"""Qualifications are groups at Prolific."""

import pytest
from pytest_django import Settings

from annotation.crowds.opening import close_study, open_study
from annotation.crowds.raw_ids import forget_raw_ids
from annotation.models import RawId
from common.errors import WrongState
from contrib.prolific.tests.emulator import Fault, ProlificEmulator, Refusal
from contrib.prolific.tests.panel import Panel, go_on, panel_study
from tests.annotation.crowds.panels import do_page, give, start
from tests.marks import long_except
from tests.refusals import assert_names, refuses

pytestmark = pytest.mark.django_db

PILOT, MAIN = {"grants": "pilot"}, {"forbids": ["pilot"]}


@pytest.mark.parametrize(
    "fault", long_except([None, Fault.DROP_AFTER, Fault.DROP_BEFORE, Fault.THROTTLE], None, Fault.DROP_AFTER)
)
def test_a_group_at_prolific_keeps_the_people_of_a_pilot_out(
    prolific: ProlificEmulator, fault: Fault | None
) -> None:
    pilot = panel_study(slug="pilot", workers=PILOT)
    main = panel_study(slug="main", workers=MAIN)
    for study in (main, pilot):  # the group is there before anybody is in it
        open_study(study=study)
    panel = Panel(pilot, prolific)
    submission, _address = prolific.enter(panel.publication.external_id, "aa1")
    ids = {"PROLIFIC_PID": "aa1", "STUDY_ID": panel.publication.external_id, "SESSION_ID": submission}
    browser, _answer = start(pilot, ids)
    do_page(pilot, browser)
    prolific.faults.plan("add members", fault)
    while go_on(pilot).unsent_count:
        pass
    other = Panel(main, prolific)
    with refuses(Refusal, "aa1"):
        other.arrive("aa1")
    other.arrive("aa2")


def test_an_allow_list_of_ids_is_a_group_at_prolific(prolific: ProlificEmulator) -> None:
    study = panel_study(workers={"requires": ["pilot", "careful"]})
    with pytest.raises(WrongState, match="accepted none"):
        open_study(study=study)
    [call] = study.crowd_calls.all()
    assert_names(call.problem, "workers.requires", "pilot")
    for name in ("pilot", "careful"):
        give(study, "aa1", "aa2", name=name)
    give(study, "aa2", name="careful", value=0)
    go_on(study)
    open_study(study=study)
    panel = Panel(study, prolific)
    panel_there = study.publications.exclude(external_id="").get()
    prolific.enter(panel_there.external_id, "aa1")
    with refuses(Refusal, "aa2"):
        prolific.enter(panel_there.external_id, "aa2")
    assert not panel.came


def test_a_list_of_ids_may_be_there_before_the_study_is_opened(prolific: ProlificEmulator) -> None:
    study = panel_study(workers={"requires": ["chosen"], "forbids": ["pilot"]})
    give(study, "aa1", "aa2", name="chosen")
    give(study, "aa2")
    prolific.faults.plan("add members", Fault.DROP_AFTER)
    open_study(study=study)
    go_on(study)
    panel = Panel(study, prolific)
    panel.arrive("aa1")
    for name in ("aa2", "aa3"):
        with refuses(Refusal, name, "not see"):
            panel.arrive(name)


def test_what_a_crowd_heard_of_is_not_taken_away_behind_its_back(prolific: ProlificEmulator) -> None:
    first, draft = (panel_study(slug=slug, workers=MAIN) for slug in ("first", "draft"))
    give(draft, "aa1")
    give(draft, "aa1", value=0)
    give(first, "aa1")
    open_study(study=first)
    with refuses(WrongState, "first"):
        give(draft, "aa1", value=0)
    give(first, "aa1", value=0)
    go_on(first)
    Panel(first, prolific).arrive("aa1")


def test_ids_of_people_who_never_came_are_forgotten_too(prolific: ProlificEmulator) -> None:
    study = panel_study(workers=MAIN)
    give(study, "aa1")
    give(study, "aa2", name="of-another-study")
    open_study(study=study)
    close_study(study=study)
    forget_raw_ids(study=study)
    assert list(RawId.objects.values_list("value", flat=True)) == ["aa2"]


def test_the_problem_of_publishing_names_no_raw_id(prolific: ProlificEmulator) -> None:
    study = panel_study(workers=MAIN)
    give(study, "aa~1")
    with pytest.raises(WrongState, match="accepted none"):
        open_study(study=study)
    [call] = study.crowd_calls.all()
    assert "is no id of a participant" in call.problem
    assert "aa~1" not in call.problem


def test_groups_need_a_workspace(prolific: ProlificEmulator, settings: Settings) -> None:
    settings.PROLIFIC_WORKSPACE = ""
    with pytest.raises(WrongState, match="set PROLIFIC_WORKSPACE"):
        open_study(study=panel_study(workers=PILOT))
