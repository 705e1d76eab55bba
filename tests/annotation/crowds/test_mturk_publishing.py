"""What a study puts up at Mechanical Turk, for whom, and at what price."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from annotation.crowds import backend_for
from annotation.crowds.publishing import open_study
from annotation.errors import RequirementNotMet
from annotation.models import CrowdCall, Publication
from common.errors import WrongState
from judgments.models import HIT
from judgments.studies.studies import design_of
from tests.annotation.crowds.turking import (
    Crowd,
    books,
    kinds_of,
    make_turk_study,
    one_hit,
    same_money,
    settings_for,
    sync,
    up,
)
from tests.fakes.mturk import MTurkEmulator, Refused
from tests.installations import Installation


@pytest.mark.parametrize(
    ("reward", "places", "masters", "fee"),
    [
        (10, 1, False, 2),
        (10, 9, False, 2),
        (10, 10, False, 4),
        (1, 1, False, 1),  # a cent at least
        (1, 10, False, 1),
        (12, 9, False, 2),  # 2.4
        (13, 9, False, 3),  # 2.6
        (30, 9, True, 8),  # 7.5 is rounded up
        (30, 10, True, 14),  # 13.5
    ],
)
def test_the_emulated_account_holds_what_we_reserve(
    reward: int, places: int, masters: bool, fee: int, turk: MTurkEmulator
) -> None:
    study = one_hit(people=places, crowd={"reward_cents": reward, "masters": masters})
    open_study(study=study)
    assert books(study) == (places * (reward + fee), 0)
    same_money(study, turk)
    assert backend_for(design_of(study)).bonus_fee(13) == 3


@pytest.mark.parametrize(
    ("crowd", "words"),
    [
        ({"reward_cents": 0}, "pays nothing"),
        ({"budget_cents": 0}, "has no budget"),
        ({"budget_cents": 23}, "costs 0.24 USD with fees, and of its budget (0.23 USD) 0.23 USD are left"),
    ],
)
def test_what_cannot_be_paid_is_refused_before_anything_is_asked(
    crowd: dict[str, Any], words: str, turk: MTurkEmulator
) -> None:
    study = one_hit(crowd=crowd)
    with pytest.raises(WrongState, match=re.escape(words)):
        open_study(study=study)
    study.refresh_from_db()
    assert (study.state, turk.calls()) == ("generated", [])
    assert not Publication.objects.exists()


def test_a_server_that_workers_cannot_reach_is_refused(turk: MTurkEmulator) -> None:
    study = one_hit()
    with (
        settings_for(turk, PUBLIC_URL="http://quorum.example.org"),
        pytest.raises(WrongState, match="Mechanical Turk shows https addresses only"),
    ):
        open_study(study=study)
    assert turk.calls() == []


def test_hits_are_one_group_with_what_the_design_says(turk: MTurkEmulator) -> None:
    study = make_turk_study(
        crowd={"title": "Which is closer?", "keywords": "captions, pictures", "lease_minutes": 45},
        workers={"countries": ["DE", "AT"], "approval_above": 0.95, "approved_at_least": 500},
    )
    open_study(study=study)
    (hit_type,) = turk.world.hit_types.values()
    assert (hit_type.title, hit_type.keywords, hit_type.duration) == (
        "Which is closer?",
        "captions, pictures",
        45 * 60,
    )
    assert len(turk.calls("CreateHITType")) == 1
    assert len(hit_type.requirements) == 3
    fit = turk.turker("AFIT", country="DE", approved=500)
    assert len(fit.hits()) == HIT.objects.count()
    assert turk.turker("AAWAY", country="FR", approved=500).hits() == []


def test_a_quiz_of_questions_is_a_test_there_and_made_once(turk: MTurkEmulator) -> None:
    question = {"text": "Is a zebra striped?", "options": ["yes", "no"], "answer": 1}
    study = make_turk_study(quiz={"questions": [question], "ask": 1, "pass_mark": 1.0})
    open_study(study=study)
    assert len(turk.calls("CreateQualificationType")) == 1
    (kind,) = turk.world.qualification_types.values()
    hit = up(study)[0].external_id
    ada = turk.turker("AADA")
    with pytest.raises(Refused, match="qualifications do not meet"):
        ada.accept(hit)
    request, _ = ada.request_qualification(kind.qualification_type_id)
    assert ada.take_test(request, {"q1": "o1"}) == "Granted"
    ada.accept(hit)
    open_study(study=study)
    assert len(turk.calls("CreateQualificationType")) == 1


def test_opening_again_puts_up_what_was_not_filled_and_nothing_else(turk: MTurkEmulator) -> None:
    study = make_turk_study()
    open_study(study=study)
    first = up(study)[0]
    Crowd(turk, study).do(first, "ada")
    calls = CrowdCall.objects.count()
    open_study(study=study)
    assert CrowdCall.objects.count() == calls
    turk.clock.advance(days=8)
    assert kinds_of(sync(study)) == []
    assert books(study) == (12, 0)
    open_study(study=study)
    again = Publication.objects.filter(hit=first.hit).order_by("number")
    assert [(one.number, one.places, one.state) for one in again] == [(1, 2, "expired"), (2, 1, "published")]
    Crowd(turk, study).do(again[1], "ben")
    assert kinds_of(sync(study)) == []
    same_money(study, turk)


def test_who_did_as_many_as_one_may_is_asked_to_return_the_next(turk: MTurkEmulator) -> None:
    study = make_turk_study(workers={"hits_at_most": 1})
    open_study(study=study)
    first, second = up(study)[:2]
    crowd = Crowd(turk, study)
    work = crowd.do(first, "ada")
    with pytest.raises(RequirementNotMet, match="as many pages of work as this study asks of one person"):
        crowd.accept(second, "ada")
    assert crowd.arrive(first, work.assignment_id, "ada").assignment == work.assignment
    crowd.do(second, "ben")
    assert sync(study).assignments == {"submitted": 2}


SCENE = """
import json, threading
from django.db import connection
from annotation.models import Budget, CrowdCall, Publication
from annotation.crowds.publishing import begin_opening
from judgments.models import HIT, Study
from judgments.studies.generation import generate_hits
from tests.annotation.crowds.turking import CROWD
from tests.studies import make_study

study = make_study("triplet", opened=False, question="Which?", crowd=CROWD)
generate_hits(study=study)
start, said = threading.Barrier(6), []

def publish():
    start.wait()
    try:
        begin_opening(study=Study.objects.get(pk=study.pk))
        said.append("fine")
    except Exception as problem:
        said.append(repr(problem))
    finally:
        connection.close()

people = [threading.Thread(target=publish) for _ in range(6)]
[person.start() for person in people]
[person.join() for person in people]
budget = Budget.objects.get()
print(json.dumps({
    "said": said, "hits": HIT.objects.count(), "publications": Publication.objects.count(),
    "calls": CrowdCall.objects.count(), "reserved": budget.reserved_cents,
    "price": sum(one.places * one.price_cents for one in Publication.objects.all()),
}))
"""


def test_six_who_open_at_once_publish_once(
    installation_on: Callable[[str], Installation], database: str
) -> None:
    installation = installation_on(database)
    installation.env |= {"PUBLIC_URL": "https://quorum.example.org"}
    found = json.loads(installation.python(SCENE).splitlines()[-1])
    assert found["said"] == ["fine"] * 6
    assert found["publications"] == found["calls"] == found["hits"]
    assert found["reserved"] == found["price"]
