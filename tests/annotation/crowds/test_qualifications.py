"""Qualifications on every crowd, and a crowd that Quorum does not know."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from annotation import crowds as backends
from annotation.crowds.base import Ability, CrowdBackend, HITPlan, Price
from annotation.crowds.opening import close_study, open_study
from annotation.crowds.outbox.messages import ask_to_block
from annotation.crowds.sessions import worker_for_crowd_id
from annotation.errors import RequirementNotMet
from annotation.models import Budget, CrowdCall, CrowdSession, Publication, Qualification
from annotation.work.claims import claim_assignment
from annotation.work.joining import join_study
from annotation.work.submissions import submit_assignment
from common.errors import DesignError, WrongState
from contrib.prolific.tests.panel import panel_study
from judgments.design import crowds
from judgments.design.crowds import CrowdOffer
from judgments.design.reading.checking import make_design
from judgments.models import Study
from judgments.studies.generation.hits import generate_hits
from judgments.studies.studies import create_study
from tests.annotation.casting import joined, make_dataset, make_study
from tests.annotation.crowds.panels import give, start
from tests.annotation.crowds.panels import panel_study as paper_panel
from tests.annotation.crowds.turking import Crowd, make_turk_study, one_hit, sync, up
from tests.annotation.test_requirements import answers_for
from tests.fakes.mturk import MTurkEmulator
from tests.judgments.desk import do, page, words
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

PILOT, MAIN = {"grants": "pilot"}, {"forbids": ["pilot"]}


def test_who_did_the_pilot_here_does_not_join_the_study(designer: Client) -> None:
    pilot = make_study(make_dataset(), name="Pilot", workers=PILOT)
    main = make_study(pilot.dataset, name="Main", workers=MAIN)
    ada = joined(pilot)
    claim = claim_assignment(study=pilot, worker=ada.worker)
    assert claim is not None
    join_study(
        study=make_study(pilot.dataset, name="Free", workers=MAIN), name="ada", known_worker=ada.worker
    )
    submit_assignment(assignment=claim.assignment, answers=answers_for(claim.assignment))
    with pytest.raises(RequirementNotMet, match="earlier"):
        join_study(study=main, name="ada", known_worker=ada.worker)
    joined(main, "bob")
    said = {"worker": "bob", "qualification": "chosen"}
    posted = designer.post(f"/api/studies/{main.slug}/qualify-worker/", said, content_type="application/json")
    assert posted.status_code == 200, posted.content
    both = designer.post(
        f"/api/studies/{main.slug}/qualify-worker/", said | {"ids": ["x"]}, content_type="application/json"
    )
    assert both.status_code == 400
    chosen = make_study(pilot.dataset, name="Chosen", workers={"requires": ["chosen"]})
    with pytest.raises(RequirementNotMet, match="researchers"):
        join_study(study=chosen, name="ada", known_worker=ada.worker)
    bob = Qualification.objects.get(name="chosen").worker
    join_study(study=chosen, name="bob", known_worker=bob)
    with pytest.raises(WrongState, match="link have names"):
        give(chosen, "ada")


def test_such_a_list_at_mechanical_turk(turk: MTurkEmulator) -> None:
    study = one_hit(workers={"requires": ["chosen"]})
    give(study, "AADA", name="chosen")
    open_study(study=study)
    there = Crowd(turk, study)
    with pytest.raises(Exception, match="qualif"):
        there.accept(up(study)[0], "bob")
    there.accept(up(study)[0], "ada")


def test_a_second_study_of_the_same_type_passes_on_who_got_it_since(turk: MTurkEmulator) -> None:
    first = one_hit(workers={"requires": ["chosen"]})
    second = create_study(design=make_design(first.design | {"slug": "again"}))
    generate_hits(study=second)
    give(first, "AADA", name="chosen")
    open_study(study=first)
    give(second, "ABOB", name="chosen")
    open_study(study=second)
    Crowd(turk, second).accept(up(second)[0], "bob")


def test_a_panel_without_api_is_checked_here(designer: Client) -> None:
    study = paper_panel(preset="plain", workers=MAIN)
    give(study, "P1")
    assert "pilot: 1" in words(designer.get(page(study, "crowd")))
    start(study, {"id": "P1"})
    start(study, {"id": "P2"})
    assert list(CrowdSession.objects.order_by("pk").values_list("status", flat=True)) == [
        "screened-out",
        "working",
    ]


def test_a_qualification_at_mechanical_turk_keeps_the_people_of_a_pilot_out(turk: MTurkEmulator) -> None:
    pilot = one_hit(name="Pilot", workers=PILOT)
    design = pilot.design | {"name": "Main", "slug": "main", "workers": MAIN}
    main = create_study(design=make_design(design))
    generate_hits(study=main)
    for study in (main, pilot):
        open_study(study=study)
    there = Crowd(turk, pilot)
    there.do_all("ada")
    sync(pilot)
    other = Crowd(turk, main)
    with pytest.raises(Exception, match="qualif"):
        other.accept(up(main)[0], "ada")
    other.accept(up(main)[0], "bob")
    give(pilot, "AADA", value=0)
    sync(pilot)
    other.accept(up(main)[0], "ada")


def test_nobody_can_be_needed_and_kept_out() -> None:
    with refuses(DesignError, "pilot", field="workers"):
        panel_study(workers={"requires": ["pilot"], "forbids": ["pilot"]})
    with refuses(DesignError, "pilot", field="workers"):
        panel_study(workers={"requires": ["pilot"], "grants": "pilot"})


class NoticeBoard(CrowdBackend):
    """Pins a note to a board, and takes it down."""

    name = "board"
    title = "the notice board"
    can = frozenset({Ability.PUBLISH, Ability.EXPIRE, Ability.COST})

    def __init__(self) -> None:
        self.notes: dict[str, int] = {}

    def describe_entrance(self, study: Study) -> str:
        """In the hall."""
        return "Workers find a note in the hall."

    def price(self, design: Any, *, places: int) -> Price:
        """A cent for the pin."""
        return Price(reward_cents=design.crowd.reward_cents, fee_cents=1)

    def publication_plans(self, study: Study) -> list[HITPlan]:
        """One note."""
        return [HITPlan(hit=None, places=3)]

    def carry_out(self, call: CrowdCall) -> dict[str, Any]:
        """The board itself knows which notes hang there."""
        if call.kind == Ability.PUBLISH:
            self.notes.setdefault(call.key, 3)
            return {"external_id": f"note-{list(self.notes).index(call.key)}"}
        return {}


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch) -> NoticeBoard:
    made = NoticeBoard()
    monkeypatch.setattr(backends, "BACKENDS", (*backends.BACKENDS, made))
    monkeypatch.setitem(crowds.CROWDS, "board", CrowdOffer("board", "A notice board", frozenset()))
    return made


@pytest.fixture
def study(board: NoticeBoard) -> Study:
    crowd = {"backend": "board", "reward_cents": 9, "budget_cents": 30}
    return make_study(make_dataset(pictures=False), opened=False, crowd=crowd)


def test_a_study_is_opened_paid_for_and_closed_there(study: Study, board: NoticeBoard) -> None:
    assert open_study(study=study) == "Workers find a note in the hall."
    assert open_study(study=study) == "Workers find a note in the hall."
    assert len(board.notes) == 1
    assert Publication.objects.get().external_id == "note-0"
    budget = Budget.objects.get()
    assert (budget.platform, budget.reserved_cents, budget.spent_cents) == ("board", 30, 0)
    close_study(study=study)
    assert Publication.objects.get().state != Publication.State.PUBLISHED
    budget.refresh_from_db()
    assert budget.reserved_cents == 0


def test_its_page_offers_what_it_can_and_nothing_else(client: Client, study: Study) -> None:
    client.force_login(User.objects.create_superuser("designer"))
    open_study(study=study)
    shown = client.get(page(study, "crowd"))
    assert "The notice board" in words(shown)
    assert "Not supported" in words(shown)
    html = shown.content.decode()
    assert do(study, "set-budget") in html
    for step in ("bonus", "block-worker", "write-workers", "extend-crowd"):
        assert do(study, step) not in html


def test_what_it_cannot_do_is_refused_by_name(study: Study) -> None:
    open_study(study=study)
    with refuses(WrongState, "block"):
        ask_to_block(
            study=study, worker=worker_for_crowd_id(study=study, crowd_id="ada", id_name="name"), why="Spam."
        )
    assert not CrowdCall.objects.filter(kind="block").exists()


def test_a_crowd_that_nobody_knows_is_an_error_of_the_study_file() -> None:
    with refuses(DesignError, "bord", "local", "mturk", field="crowd.backend"):
        make_turk_study(crowd={"backend": "bord"})
