"""A crowd that this version does not know is one module: everything else goes by what it says of itself."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from annotation import crowds as backends
from annotation.crowds.base import Ability, CrowdBackend, Plan, Price
from annotation.crowds.outbox import ask_to_block
from annotation.crowds.publishing import close_study, open_study
from annotation.crowds.sessions import person_sent
from annotation.models import Budget, CrowdCall, Publication
from common.errors import DesignError, WrongState
from judgments.design import requirements as crowds
from judgments.design.requirements import CrowdOffer
from judgments.models import Study
from tests.annotation.casting import make_dataset, make_study
from tests.annotation.crowds.turking import make_turk_study
from tests.judgments.desk import do, page, words

pytestmark = pytest.mark.django_db


class NoticeBoard(CrowdBackend):
    """Pins a note to a board, and takes it down."""

    name = "board"
    title = "the notice board"
    can = frozenset({Ability.PUBLISH, Ability.EXPIRE, Ability.COST})
    requirements = frozenset[str]()

    def __init__(self) -> None:
        self.notes: dict[str, int] = {}

    def describe_entrance(self, study: Study) -> str:
        """In the hall."""
        return "Workers find a note in the hall."

    def price(self, design: Any, *, places: int) -> Price:
        """A cent for the pin."""
        return Price(reward_cents=design.crowd.reward_cents, fee_cents=1)

    def publication_plans(self, study: Study) -> list[Plan]:
        """One note."""
        return [Plan(hit=None, places=3)]

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
    monkeypatch.setitem(crowds.CROWDS, "board", CrowdOffer("A notice board", frozenset()))
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
    assert "It cannot add places and time" in words(shown)
    html = shown.content.decode()
    assert do(study, "set-budget") in html
    for step in ("bonus", "block-worker", "write-workers", "extend-crowd"):
        assert do(study, step) not in html


def test_what_it_cannot_do_is_refused_by_name(study: Study) -> None:
    open_study(study=study)
    with pytest.raises(WrongState, match="the crowd the notice board cannot block"):
        ask_to_block(study=study, worker=person_sent(study=study, raw="ada", name="name"), why="Spam.")
    assert not CrowdCall.objects.filter(kind="block").exists()


def test_a_crowd_that_nobody_knows_is_an_error_of_the_study_file() -> None:
    with pytest.raises(DesignError, match="there is no crowd 'bord'; there are local, external, mturk"):
        make_turk_study(crowd={"backend": "bord"})
