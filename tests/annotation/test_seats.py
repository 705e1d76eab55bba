"""Seats are for people who work: a share for each address, and places that come back when answers stop."""

import heapq
import random
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count, takewhile
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from annotation.errors import NoMoreTime
from annotation.models import Assignment, Seat, Worker
from annotation.privacy.erasing import erase_person
from annotation.work.leases import extend_lease
from annotation.work.seats import forget_addresses
from annotation.work.submissions import save_answers
from judgments.models import Study
from tests.annotation.crowds.panels import entry, panel_study, publication, seal_on
from tests.annotation.leasing import answers_of, holding, slots_add_up
from tests.crowd import first_answers
from tests.installations import Installation
from tests.studies import make_study

pytestmark = pytest.mark.django_db
ATTACKER = "203.0.113.66"
MINUTE = 60.0
Waits = Iterator[float]


class Clock:
    """What the server takes for the time."""

    def __init__(self) -> None:
        self.now = self.begin = datetime(2026, 11, 25, 9, 0, tzinfo=UTC)

    @property
    def seconds(self) -> float:
        return (self.now - self.begin).total_seconds()

    def pass_by(self, **time: float) -> None:
        self.now += timedelta(**time)

    def run(self, *people: Waits) -> None:
        """Let people act in the order of their times; each says after how many seconds it acts again."""
        number = count()
        due = [(self.seconds, next(number), person) for person in people]
        while due:
            at, _number, person = heapq.heappop(due)
            self.now = self.begin + timedelta(seconds=at)
            pause = next(person, None)
            if pause is not None:
                heapq.heappush(due, (at + pause, next(number), person))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()

    class Time(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return clock.now.astimezone(tz)

    monkeypatch.setattr("django.utils.timezone.datetime", Time)
    return clock


class Person:
    """Somebody who joined a study, with a client at an address."""

    def __init__(self, study: Study, name: str, address: str) -> None:
        self.study, self.browser = study, Client(REMOTE_ADDR=address)
        body = {"worker": name}
        joined = self.browser.post(f"/api/studies/{study.slug}/join/", body, "application/json")
        assert joined.status_code == 201, joined.content
        self.headers = {"Authorization": f"Token {joined.json()['token']}"}
        self.page: dict[str, Any] = {}

    @property
    def positions(self) -> list[int]:
        return [unit["position"] for unit in self.page["units"]]

    def accept(self) -> int:
        reply = self.browser.post(f"/api/studies/{self.study.slug}/assignments/", headers=self.headers)
        if reply.status_code < 204:
            self.page = reply.json()
        return reply.status_code

    def save(self, *positions: int) -> int:
        body = {"answers": [{"position": position, "value": 1} for position in positions]}
        address = f"/api/assignments/{self.page['id']}/"
        return self.browser.patch(address, body, "application/json", headers=self.headers).status_code

    def do(self, what: str) -> int:
        """Extend, take up again, give back or submit the page."""
        address = f"/api/assignments/{self.page['id']}/{what}/"
        sent: dict[str, list[Any]] | None = {"answers": []} if what == "submit" else None
        reply = self.browser.post(address, sent, "application/json", headers=self.headers)
        if what == "retake" and reply.status_code == 200:
            self.page = reply.json()
        return reply.status_code


def crowd(study: Study, number: int, address: str) -> list[Person]:
    """So many names that one address joins with."""
    return [Person(study, f"{address} {one}", address) for one in range(number)]


def seats(hits_at_most: int = 0, **values: Any) -> Study:
    """A study of four pages of work, for nine people each."""
    return make_study("pairwise", judgments_per_unit=9, workers={"hits_at_most": hits_at_most}, **values)


def held(address: str) -> int:
    """How many pages of work the names of an address hold."""
    return Assignment.objects.filter(worker__name__startswith=address, state="accepted").count()


def test_an_address_gets_its_share_of_the_seats_and_others_get_theirs() -> None:
    study = make_study("pairwise", judgments_per_unit=6)  # 24 seats
    answers = [person.accept() for person in crowd(study, 18, ATTACKER)]
    assert answers == [201] * 6 + [429] * 12
    other = Person(study, "other", "198.51.100.7")
    assert other.accept() == 201
    assert other.accept() == 200  # the page that is held
    assert slots_add_up(study)


def test_who_is_refused_is_told_why_and_when_to_try_again() -> None:
    study = make_study("pairwise", judgments_per_unit=6)
    late = [(person, person.accept()) for person in crowd(study, 7, ATTACKER)][-1][0]
    reply = late.browser.post(f"/api/studies/{study.slug}/assignments/", headers=late.headers)
    assert (reply.status_code, reply["Retry-After"]) == (429, "60")
    assert "from your internet address" in reply.json()["detail"]
    browser = Client(REMOTE_ADDR=ATTACKER)
    browser.cookies["quorum_worker"] = late.headers["Authorization"].removeprefix("Token ")
    page = browser.get(f"/s/{study.slug}/work/")
    assert page.status_code == 429
    assert "Try again" in page.content.decode()


def test_who_hands_in_makes_room_for_the_next_behind_the_same_address() -> None:
    study = make_study("pairwise", judgments_per_unit=6)
    people = crowd(study, 7, ATTACKER)
    assert [person.accept() for person in people][-1] == 429
    people[0].save(*people[0].positions)
    assert people[0].do("submit") == 200
    assert people[-1].accept() == 201
    assert people[0].accept() == 429


def test_a_researcher_lets_a_class_room_have_all_seats_and_no_address_is_noted() -> None:
    study = make_study("pairwise", judgments_per_unit=6, access={"address_share": 1})
    assert {person.accept() for person in crowd(study, 24, ATTACKER)} == {201}
    assert not Seat.objects.exists()


def test_the_share_goes_by_the_address_that_limits_go_by(settings: Settings) -> None:
    """Behind a proxy the one that it saw, whatever the visitor writes before it; of IPv6 the /48."""
    settings.PROXIES = 1
    study = make_study("pairwise", judgments_per_unit=6)
    found = []
    for number, person in enumerate(crowd(study, 12, "10.0.0.1")):
        written = f"198.51.100.{number}, 2001:db8::{number}"
        person.browser.defaults["HTTP_X_FORWARDED_FOR"] = written
        found.append(person.accept())
    assert found == [201] * 6 + [429] * 6


def test_a_customer_with_a_48_gets_the_share_of_one_address() -> None:
    study = make_study("pairwise", judgments_per_unit=6)
    people = [Person(study, f"w {number}", f"2001:db8:66:{number:x}::1") for number in range(18)]
    assert [person.accept() for person in people] == [201] * 6 + [429] * 12
    assert Person(study, "other", "2001:db8:67::1").accept() == 201


def test_a_household_that_answers_nothing_more_makes_room(clock: Clock) -> None:
    study = seats(hits_at_most=1)  # 36
    people = [Person(study, f"w {number}", f"2001:db8:66::{number:x}") for number in range(9)]
    others = [Person(study, f"o {number}", f"198.51.100.{number}") for number in range(28)]
    assert [one.accept() for one in people + others] == [201] * 36 + [204]
    for one in people + others:
        if one.page:
            one.save(1)
    clock.pass_by(minutes=3)
    assert others[-1].accept() == 201
    assert people[0].save(2) == 409
    assert others[0].save(2) == 200
    assert slots_add_up(study)


def test_phones_of_a_carrier_are_no_household_and_who_only_looks_makes_room_first(clock: Clock) -> None:
    study = make_study("pairwise", judgments_per_unit=1, units_per_hit=4, controls={"per_hit": 0})
    phones = [Person(study, f"phone {number}", f"2001:db8:66:{number:x}::1") for number in range(2)]
    looker, late = (Person(study, name, f"198.51.100.{name}") for name in ("7", "8"))
    assert [one.accept() for one in [*phones, looker]] == [201] * 3
    for one in phones:
        one.save(1)
    clock.pass_by(minutes=10)
    phones[0].save(2)
    clock.pass_by(seconds=65)
    assert late.accept() == 201
    assert looker.save(1) == 409
    assert {one.save(3) for one in phones} == {200}


def test_who_only_looks_makes_room_before_a_household_that_has_answered(clock: Clock) -> None:
    study = make_study("pairwise", judgments_per_unit=1, units_per_hit=4, controls={"per_hit": 0})
    household = crowd(study, 2, "198.51.100.9")
    looker, *late = (Person(study, name, f"198.51.100.{name}") for name in ("6", "7", "8"))
    assert [one.accept() for one in [*household, looker]] == [201] * 3
    for one in household:
        one.save(1)
    clock.pass_by(seconds=65)
    assert late[0].accept() == 201
    assert {one.save(2) for one in household} == {200}
    clock.pass_by(seconds=65)
    late[0].save(1)
    assert late[1].accept() == 201
    assert sorted(one.save(3) for one in household) == [200, 409]


def test_a_page_is_not_fetched_ahead_beyond_the_share() -> None:
    study = make_study("pairwise", judgments_per_unit=6)
    people = crowd(study, 6, ATTACKER)
    assert {person.accept() for person in people} == {201}
    browser = Client(REMOTE_ADDR=ATTACKER)
    browser.cookies["quorum_worker"] = people[0].headers["Authorization"].removeprefix("Token ")
    assert browser.post(f"/s/{study.slug}/work/{people[0].page['id']}/ahead/").status_code == 204
    assert held(ATTACKER) == 6


def test_a_seat_that_is_given_back_cannot_be_taken_again_and_again(clock: Clock) -> None:
    study = make_study("pairwise", judgments_per_unit=6)
    people = crowd(study, 12, ATTACKER)
    for person in people[:6]:
        assert person.accept() == 201
        assert person.do("return") == 200
    assert {person.accept() for person in people} == {429}
    clock.pass_by(minutes=6)
    assert people[-1].accept() == 201


def test_a_page_that_is_taken_up_again_counts_too(clock: Clock) -> None:
    study = make_study("pairwise", judgments_per_unit=6)
    people = crowd(study, 12, ATTACKER)
    for person in people[:6]:
        person.accept()
        person.save(1)
    clock.pass_by(minutes=61)
    assert [person.accept() for person in people[6:]] == [201] * 6
    assert {person.do("retake") for person in people[:6]} == {429}
    assert held(ATTACKER) == 12  # six of them are over, and anybody's
    assert slots_add_up(study)


def test_more_time_is_for_those_whose_answers_go_on_coming(clock: Clock) -> None:
    *_, assignment = holding(make_study(crowd={"lease_minutes": 60, "extensions": 3}))
    answers = answers_of(assignment)
    save_answers(assignment=assignment, answers=answers[:1])
    clock.pass_by(minutes=50)
    save_answers(
        assignment=assignment, answers=[{"position": 1, "value": 2}]
    )  # another word on the same item
    with pytest.raises(NoMoreTime, match="next"):
        extend_lease(assignment=assignment)
    save_answers(assignment=assignment, answers=answers[1:2])
    assert extend_lease(assignment=assignment).extensions_left == 2
    clock.pass_by(minutes=50)
    with pytest.raises(NoMoreTime, match="next"):
        extend_lease(assignment=assignment)


def test_of_an_address_a_mark_is_kept_that_goes_soon_after_the_seat(clock: Clock) -> None:
    study, other = seats(), seats(name="Another study")
    for one in (study, other):
        Person(one, f"w {one.slug}", ATTACKER).accept()
    marks = set(Seat.objects.values_list("address", flat=True))
    assert len(marks) == 2  # nobody can follow an address from study to study
    assert not any(ATTACKER in mark for mark in marks)
    assert forget_addresses() == 0
    clock.pass_by(minutes=61)
    assert forget_addresses() == 2
    person = Person(study, "returns", ATTACKER)
    person.accept()
    person.do("return")
    assert forget_addresses() == 0
    clock.pass_by(minutes=6)
    assert forget_addresses() == 1
    person.accept()
    erase_person(study=study, worker=Worker.objects.get(name="returns"))
    assert not Seat.objects.exists()


class Looker:
    """Somebody with a browser without scripts, who follows what a page's header says."""

    def __init__(self, study: Study, name: str, address: str) -> None:
        self.study, self.browser = study, Client(REMOTE_ADDR=address)
        self.browser.post(f"/s/{study.slug}/", {"name": name, "consent": "on"})
        self.look(f"/s/{study.slug}/work/")

    def look(self, address: str) -> None:
        self.page = self.browser.get(address, follow=True)
        self.waits = self.page.headers.get("Refresh", "")

    def stay(self, clock: Clock) -> None:
        seconds, _, address = self.waits.partition("; url=")
        clock.pass_by(seconds=int(seconds))
        self.look(address)

    @property
    def work(self) -> str:
        found = re.search(r"/s/[\w-]+/work/[0-9a-f-]{36}", self.page.content.decode())
        return found[0] if found else ""

    def send(self, what: str) -> Any:
        return self.browser.post(
            f"{self.work}/{what}/", first_answers(self.page.content.decode()), follow=True
        )


def looked_at_by_three(**values: Any) -> tuple[Study, list[Looker]]:
    study = make_study("pairwise", judgments_per_unit=1, units_per_hit=4, controls={"per_hit": 0}, **values)
    assert study.hits.count() == 3
    return study, [Looker(study, f"looker {number}", f"198.51.100.{number}") for number in range(3)]


def test_who_stays_gets_the_page_of_one_who_only_looked(clock: Clock) -> None:
    study, lookers = looked_at_by_three()
    assert all(one.work and not one.waits for one in lookers)
    clock.pass_by(seconds=5)
    late, later = Looker(study, "late", "198.51.100.8"), Looker(study, "later", "198.51.100.9")
    assert "checks automatically" in late.page.content.decode()
    people = [late, later]
    while waiting := [one for one in people if one.waits]:
        assert clock.seconds < 90  # a minute of reading, and a look every quarter of one
        for one in waiting:
            one.stay(clock)
        assert slots_add_up(study)
    for one in people:
        assert "A page of work became free. It is yours now." in one.page.content.decode()
        assert one.send("submit").status_code == 200
    given = {str(one.pk): one for one in Assignment.objects.filter(state="expired")}
    assert len(given) == 3  # whoever handed in got the third
    lost = lookers[0]
    reply = lost.send("submit")
    assert reply.status_code == 409
    assert "else got your place" in reply.content.decode()
    draft = given[lost.work.rpartition("/")[2]]
    draft.refresh_from_db()
    assert draft.answers  # kept, though they came too late
    lost.look(f"/s/{study.slug}/work/")
    assert "/retake/" in lost.page.content.decode()
    assert slots_add_up(study)


def test_who_handed_in_a_page_and_stays_is_shown_the_page_of_one_who_only_looked(clock: Clock) -> None:
    study, lookers = looked_at_by_three()
    assert lookers[0].send("submit").status_code == 200
    lookers[0].look(f"/s/{study.slug}/done/")
    while lookers[0].waits:
        assert clock.seconds < 90
        lookers[0].stay(clock)
    page = lookers[0].page.content.decode()
    assert "There is more work in this study" in page
    assert "Your completion code" in page
    lookers[0].look(f"/s/{study.slug}/work/")
    assert lookers[0].work
    assert slots_add_up(study)


def test_who_handed_in_a_page_and_stays_is_shown_one_whose_time_ended(clock: Clock) -> None:
    study, lookers = looked_at_by_three()
    for one in lookers:
        one.send("save")
    assert lookers[0].send("submit").status_code == 200
    lookers[0].look(f"/s/{study.slug}/done/")
    assert lookers[0].waits
    clock.pass_by(minutes=61)
    lookers[0].stay(clock)
    assert "There is more work in this study" in lookers[0].page.content.decode()


def test_who_lost_a_page_with_answers_and_wants_another_gets_it_by_staying(clock: Clock) -> None:
    study, lookers = looked_at_by_three()
    late = Looker(study, "late", "198.51.100.9")
    while late.waits:
        late.stay(clock)
    late.send("save")
    given = Assignment.objects.get(state="expired")
    (lost,) = [one for one in lookers if one.work.endswith(str(given.pk))]
    for one in lookers:
        one.send("save")
    lost.look(f"/s/{study.slug}/work/?another")
    lost.stay(clock)
    assert lost.waits  # it goes on
    assert "?another" in lost.page.content.decode()  # also by hand
    clock.pass_by(minutes=61)
    lost.stay(clock)
    assert "A page of work became free. It is yours now." in lost.page.content.decode()
    assert lost.work


def test_who_answers_within_the_reading_keeps_the_page(clock: Clock) -> None:
    study, lookers = looked_at_by_three()
    for one in lookers:
        one.send("save")
    late = Looker(study, "late", "198.51.100.9")
    for _ in range(10):
        late.stay(clock)
    assert late.waits
    assert {one.send("submit").status_code for one in lookers} == {200}
    late.stay(clock)
    assert not late.waits  # nothing is left to wait for
    assert slots_add_up(study)


def test_a_form_without_scripts_that_takes_its_time_counts(clock: Clock) -> None:
    study, people = looked_at_by_three(seconds_per_unit=100)  # 400 for a page
    late = Looker(study, "late", "198.51.100.9")
    while clock.seconds < 380:
        late.stay(clock)
    assert {one.send("submit").status_code for one in people} == {200}
    assert set(Assignment.objects.values_list("state", flat=True)) == {"submitted"}
    late.stay(clock)
    assert not late.waits


def test_whose_page_gave_way_gets_it_again_while_its_place_is_free(clock: Clock) -> None:
    study, lookers = looked_at_by_three()
    late = Looker(study, "late", "198.51.100.9")
    while late.waits:
        late.stay(clock)
    given = Assignment.objects.get(state="expired")
    (lost,) = [one for one in lookers if one.work.endswith(str(given.pk))]
    assert lost.send("save").status_code == 409
    late.browser.post(f"{late.work}/return/", {"confirm": "on"})
    again = lost.browser.post(f"{lost.work}/retake/", follow=True)
    assert again.status_code == 200
    lost.page = again
    assert lost.send("submit").status_code == 200
    assert Assignment.objects.get(state="submitted").answers
    assert slots_add_up(study)


def test_a_program_is_told_when_to_ask_again(clock: Clock) -> None:
    study, _lookers = looked_at_by_three()
    late = Person(study, "late", "198.51.100.9")
    assert late.accept() == 204
    reply = late.browser.post(f"/api/studies/{study.slug}/assignments/", headers=late.headers)
    assert reply["Retry-After"] == "15"
    clock.pass_by(minutes=2)
    assert late.accept() == 201
    Assignment.objects.filter(state="accepted").update(state="returned")
    Study.objects.update(state="closed")
    other = Client(REMOTE_ADDR="198.51.100.9").post(
        f"/api/studies/{study.slug}/assignments/", headers=late.headers
    )
    assert "Retry-After" not in other


def honest(
    clock: Clock, study: Study, name: str, address: str, waits: list[float], pages: list[str]
) -> Waits:
    """Come some time within twenty minutes, answer with pauses, and hand in one page."""
    draw = random.Random(name)
    yield draw.uniform(30, 20 * MINUTE)
    person, asked = Person(study, name, address), clock.seconds
    while person.accept() != 201:
        yield 10
    waits.append(clock.seconds - asked)
    for position in person.positions:
        yield draw.uniform(5, 45) if draw.random() < 0.85 else draw.uniform(2, 5) * MINUTE  # the telephone
        assert person.save(position) == 200
    assert person.do("submit") == 200
    pages.append(name)


def keeper(clock: Clock, study: Study) -> Waits:
    """Take all, answer one item, and keep what was taken by all that is offered."""
    people = crowd(study, 18, ATTACKER)
    while clock.seconds < 45 * MINUTE:
        people.append(Person(study, f"{ATTACKER} at {clock.seconds:g}", ATTACKER))
        refused = False
        for person in people:
            if not person.page:  # whoever asks after one who was refused is refused like them
                refused = refused or person.accept() != 201
                if refused:
                    continue
            if person.save(1) != 200:
                person.do("retake")
            person.do("extend")
        yield MINUTE


def changer(clock: Clock, study: Study) -> Waits:
    """Give back what was taken before anybody could wonder, and take it again under other names."""
    for number in count():
        people = (Person(study, f"{ATTACKER} {number} {one}", ATTACKER) for one in range(12))
        taken = list(takewhile(lambda person: person.accept() == 201, people))
        yield 50
        for person in taken:
            person.do("return")
        if clock.seconds > 45 * MINUTE:
            return


@pytest.mark.long
@pytest.mark.parametrize("attack", [keeper, changer])
def test_thirty_people_wait_a_minute_at_most_for_one_who_takes_what_he_can(
    attack: Callable[[Clock, Study], Waits], clock: Clock, settings: Settings
) -> None:
    settings.LIMITS = dict.fromkeys(settings.LIMITS, "")  # the share alone holds
    study = seats(hits_at_most=1)  # 36 seats, of which thirty are needed
    waits: list[float] = []
    pages: list[str] = []
    people = [honest(clock, study, f"honest {one}", f"198.51.100.{one}", waits, pages) for one in range(30)]
    clock.run(attack(clock, study), *people)
    assert len(pages) == 30
    assert max(waits) <= MINUTE
    assert slots_add_up(study)


class Visitor:
    """Somebody with ids of a panel, and a browser at an address."""

    def __init__(self, study: Study, name: str, address: str) -> None:
        self.study, self.browser = study, Client(REMOTE_ADDR=address)
        self.ids = {"participantId": name, "assignmentId": f"work-{name}"}
        self.answers: dict[str, str] = {}

    def start(self) -> str:
        """Press Start; "" if no place is free yet, else where it leads, and there the page of work."""
        seal = seal_on(entry(self.study, self.ids, self.browser))
        reply = self.browser.post(f"/s/{self.study.slug}/panel/", {"seal": seal})
        if reply.status_code != 303:
            return ""
        html = self.browser.get(f"/s/{self.study.slug}/work/").content.decode()
        self.answers = first_answers(html)
        found = re.search(r"/s/[\w-]+/work/[0-9a-f-]{36}", html)
        self.work = found[0] if found else ""
        return str(reply["Location"])

    def save(self, number: int) -> int:
        """Save the first so many answers."""
        answers = dict(list(self.answers.items())[:number])
        return self.browser.post(f"{self.work}/save/", answers).status_code

    def submit(self) -> None:
        self.browser.post(f"{self.work}/submit/", self.answers)


def sent_by_the_panel(
    clock: Clock, study: Study, number: int, waits: list[float], outcomes: list[str]
) -> Waits:
    """Come within ten minutes, press Start until there is a place, answer and hand in."""
    draw = random.Random(number)
    yield draw.uniform(30, 10 * MINUTE)
    visitor, asked = Visitor(study, f"person-{number}", f"198.51.100.{number}"), clock.seconds
    while not (where := visitor.start()):
        yield 10
    assert where.endswith("/start/"), where
    waits.append(clock.seconds - asked)
    for done in range(1, len(visitor.answers) + 1):
        yield draw.uniform(5, 45)
        assert visitor.save(done) == 303
    visitor.submit()
    outcomes.append(entry(study, visitor.ids).content.decode())


def sent_by_nobody(clock: Clock, study: Study) -> Waits:
    """Enter with made-up ids, save one answer with each, and go on trying others."""
    number = count()
    while clock.seconds < 20 * MINUTE:
        for _try in range(14):
            visitor = Visitor(study, f"made-up-{next(number)}", ATTACKER)
            if not visitor.start().endswith("/start/"):
                break
            visitor.save(1)
        yield MINUTE


@pytest.mark.long
def test_made_up_ids_send_nobody_of_a_panel_away(clock: Clock, settings: Settings) -> None:
    settings.LIMITS = dict.fromkeys(settings.LIMITS, "")
    study = panel_study(preset="connect", judgments_per_unit=14, units_per_hit=20)
    assert publication(study).places == 14
    waits: list[float] = []
    outcomes: list[str] = []
    people = [sent_by_the_panel(clock, study, one, waits, outcomes) for one in range(14)]
    clock.run(sent_by_nobody(clock, study), *people)
    assert len(outcomes) == 14
    assert all("All your answers are stored." in page for page in outcomes)
    assert max(waits) <= MINUTE


AT_ONCE = """
import threading
from annotation.errors import AddressFull
from annotation.work.claims import (claim_assignment)
from common.rate_limits import visiting_from
from django.db import connection
from tests.studies import make_study, make_worker

study = make_study("pairwise", judgments_per_unit=6)
workers = [make_worker(study, f"w-{number}")[0] for number in range(18)]
start, taken = threading.Barrier(18), []

def take(worker):
    start.wait()
    try:
        with visiting_from("203.0.113.66"):
            taken.append(claim_assignment(study=study, worker=worker).is_new)
    except AddressFull:
        pass
    connection.close()

threads = [threading.Thread(target=take, args=[worker]) for worker in workers]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(taken))
"""


def test_eighteen_at_the_same_moment_get_no_more_than_the_share(
    installation_on: Callable[[str], Installation], database: str
) -> None:
    assert installation_on(database).python(AT_ONCE).splitlines()[-1] == "6"
