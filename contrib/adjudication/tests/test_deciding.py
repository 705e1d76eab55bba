"""An adjudicator decides units one by one, without seeing the votes."""

from copy import deepcopy
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from annotation.models import Adjudication, Judgment, Worker
from common.errors import ObjectNotFound, WrongState
from contrib.adjudication import operations
from contrib.adjudication.decisions import (
    adjudication_for,
    decide_adjudication,
    send_to_adjudicator,
    waiting_adjudications,
    withdraw_adjudication,
)
from judgments.models import Study, Unit
from tests.annotation.test_sources import blocks, sourced
from tests.annotation.voting import joined, work
from tests.doors import signed_in
from tests.refusals import refuses
from tests.studies import make_study

pytestmark = pytest.mark.django_db


def person(name: str, *, staff: bool = True, may: bool = True) -> User:
    user = User.objects.create_user(name, password="x", is_staff=staff)
    if may:
        user.user_permissions.add(Permission.objects.get(codename="change_adjudication"))
    return user


def in_turn(unit: Unit, worker: Worker) -> int:
    return 1 if unit.control or worker.name == "ada" else 2


@pytest.fixture(scope="module")
def split(module_db: None) -> Study:
    made = make_study("pairwise", judgments_per_unit=2, controls={"per_hit": 0})
    for name in ("ada", "bea"):
        work(made, joined(made, name), in_turn)
    return made


@pytest.fixture
def split_study(split: Study) -> Study:
    """Pairs that two workers disagree on throughout."""
    return deepcopy(split)


def sent(split_study: Study, to: User, count: int = 1) -> list[Adjudication]:
    units = Unit.objects.filter(study=split_study, control=False).values_list("pk", flat=True)[:count]
    return send_to_adjudicator(study=split_study, units=list(units), adjudicator=to)


def address(one: Adjudication) -> str:
    return reverse("adjudication:decide", args=[one.pk])


def test_a_unit_is_shown_blind_and_decided_with_its_provenance(split_study: Study) -> None:
    rita = person("rita")
    one, other = sent(split_study, rita, 2)
    page = signed_in(rita).get(address(one))
    text = page.content.decode()
    assert one.unit.first is not None
    assert one.unit.first.text in text
    assert "2 items left" in text
    for hidden in ("ada", "bea", "1 for “1”", one.unit.key):
        assert hidden not in text
    answer = signed_in(rita).post(address(one), {"u1": "1", "reason": "C names the wrong animal"})
    assert (answer.status_code, answer.headers["Location"]) == (303, address(other))
    one.refresh_from_db()
    # what stood first on the page is the unit's second candidate where the sides were changed
    assert one.value == (2 if one.side else 1)
    assert (one.state, one.reason, one.votes) == ("decided", "C names the wrong animal", {"1": 1, "2": 1})
    assert one.decided_at is not None
    assert Judgment.objects.filter(unit=one.unit).count() == 2


def test_sides_are_drawn_for_the_unit_and_person_and_differ_between_units(split_study: Study) -> None:
    drawn = [one.side for one in sent(split_study, person("rita"), 12)]
    assert set(drawn) == {True, False}


def test_what_cannot_be_decided_is_refused_and_the_last_decision_leads_back_to_the_list(
    split_study: Study,
) -> None:
    rita = person("rita")
    (one,) = sent(split_study, rita)
    for form in ({"reason": "hard to say"}, {"u1": "7", "reason": "hard to say"}):
        answer = signed_in(rita).post(address(one), form)
        assert answer.status_code == 400
        assert "Nothing was decided" in answer.content.decode()
        assert "hard to say" in answer.content.decode()
    assert waiting_adjudications(rita).count() == 1
    answer = signed_in(rita).post(address(one), {"u1": "1", "reason": "hard\x00 to say"})
    assert answer.status_code == 400
    assert "characters that cannot be stored" in answer.content.decode()
    assert waiting_adjudications(rita).count() == 1
    answer = signed_in(rita).post(address(one), {"u1": "2"}, follow=True)
    assert "There are no more items for you to decide" in answer.content.decode()
    assert "You have decided 1 item so far" in answer.content.decode()


def test_deciding_twice_is_harmless_and_otherwise_refused(split_study: Study) -> None:
    rita = person("rita")
    (one,) = sent(split_study, rita)
    decide_adjudication(adjudication=one, answer=1)
    when = one.decided_at
    decide_adjudication(adjudication=one, answer=1)
    assert one.decided_at == when
    with refuses(WrongState, "already decided"):
        decide_adjudication(adjudication=one, answer=2)
    answer = signed_in(rita).post(address(one), {"u1": "2"}, follow=True)
    assert "already decided" in answer.content.decode()
    assert "This item is already decided" in signed_in(rita).get(address(one), follow=True).content.decode()


def test_strangers_see_nothing(split_study: Study) -> None:
    (one,) = sent(split_study, person("rita"))
    other, nobody = person("otto"), person("nick", may=False)
    assert signed_in(other).get(address(one)).status_code == 404
    assert signed_in(other).post(address(one), {"u1": "1"}).status_code == 404
    assert signed_in(nobody).get(address(one)).status_code == 403
    assert signed_in(nobody).get(reverse("adjudication:waiting")).status_code == 403
    guest = person("guest", staff=False)
    for client in (Client(), signed_in(guest)):
        for to in (address(one), reverse("adjudication:waiting")):
            answer = client.get(to)
            assert answer.status_code == 302
            assert "/admin/login/" in answer.headers["Location"]
    assert waiting_adjudications(person("rita-2")).count() == 0
    one.refresh_from_db()
    assert one.state == "waiting"


def test_a_unit_goes_to_one_person_at_a_time(split_study: Study) -> None:
    rita, otto = person("rita"), person("otto")
    (one,) = sent(split_study, rita)
    assert sent(split_study, otto) == []
    with pytest.raises(IntegrityError), transaction.atomic():
        Adjudication.objects.create(study=split_study, unit=one.unit, adjudicator=otto)
    withdraw_adjudication(adjudication=one, by=rita)
    (again,) = sent(split_study, otto)
    assert again.unit == one.unit
    with pytest.raises(ObjectNotFound):
        adjudication_for(user=rita, pk=one.pk)
    with pytest.raises(WrongState, match="was withdrawn"):
        decide_adjudication(adjudication=one, answer=1)


def test_withdrawing_keeps_what_was_decided_and_by_whom_it_was_taken_back(split_study: Study) -> None:
    rita = person("rita")
    (one,) = sent(split_study, rita)
    decide_adjudication(adjudication=one, answer=1)
    first = withdraw_adjudication(adjudication=one, by=rita)
    second = withdraw_adjudication(adjudication=one)
    assert (second.state, second.withdrawn_by, second.withdrawn_at) == ("withdrawn", rita, first.withdrawn_at)
    assert second.value is not None
    with pytest.raises(ObjectNotFound):
        operations.withdraw_adjudication.run(
            make_study("pairwise", name="Another"), {"adjudication": str(one.pk)}, by=rita
        )


def test_what_cannot_be_sent_is_refused_by_name(split_study: Study) -> None:
    rita = person("rita")
    elsewhere = make_study("pairwise", name="Another")
    control = Unit.objects.filter(study=elsewhere, control=True).values_list("pk", flat=True)[:1]
    for units in ([], list(control), [0]):
        with pytest.raises(WrongState, match="or more items"):
            send_to_adjudicator(study=elsewhere, units=units, adjudicator=rita)
    keys = list(Unit.objects.filter(study=split_study).values_list("key", flat=True)[:1])
    for user in (person("nick", may=False), person("guest", staff=False)):
        with pytest.raises(WrongState, match="not allowed to adjudicate"):
            operations.send_units.run(split_study, {"units": keys, "adjudicator": user.username}, by=rita)


@pytest.mark.parametrize(
    ("protocol", "form", "value"),
    [
        ("triplet", {"u1": "1"}, None),
        ("relevance", {"u1": "1"}, 1),
        ("relevance", {"none1": "1"}, 0),
        ("graded", {"u1": "3"}, 3),
    ],
)
def test_each_kind_is_decided_on_its_own_page(protocol: str, form: dict[str, Any], value: int | None) -> None:
    split_study, rita = make_study(protocol, controls={"per_hit": 0}), person("rita")
    (one,) = sent(split_study, rita)
    assert signed_in(rita).get(address(one)).status_code == 200
    assert signed_in(rita).post(address(one), form).status_code == 303
    one.refresh_from_db()
    assert one.value == (value if value is not None else 2 if one.side else 1)


def test_a_group_says_either_a_caption_or_none() -> None:
    split_study, rita = make_study("relevance", controls={"per_hit": 0}), person("rita")
    (one,) = sent(split_study, rita)
    for form in ({}, {"u1": "1", "none1": "1"}):
        assert signed_in(rita).post(address(one), form).status_code == 400


def test_an_adjudicator_reads_the_source_of_a_text() -> None:
    rita = person("rita")
    (one,) = sent(sourced("graded"), rita)
    assert len(blocks(signed_in(rita).get(address(one)).content.decode())) == 1
