"""Many workers at once against real server processes, on both kinds of database."""

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import pytest

from tests.crowd import AUDIT, Person, Server, all_at_once
from tests.installations import Installation

WORKERS, HITS, WANTED = 30, 16, 3
MAKE_STUDY = f"""
from tests.studies import make_study
study = make_study(
    "triplet", units_per_hit=3, judgments_per_unit={WANTED}, controls={{"per_hit": 0}},
    sampling={{"pairs": {{"HC": 12, "HI": 12}}, "references": 2}},
)
print(study.slug, study.hits.count())
"""

MAKE_ARENA = """
from tests.studies import make_dataset, make_study
make_dataset(images=24, systems=4)
study = make_study(
    "triplet", units_per_hit=3, judgments_per_unit=1, controls={"per_hit": 0}, arena={"pages": 48},
    sampling={"references": 2},
)
print(study.slug, study.hits.count())
"""
ARENA = """
import json
from evaluation.data.integrity import check_integrity
from judgments.models import DrawState, HIT, HITUnit, SystemPair
from tests.annotation.casting import draw_page_again
places = HITUnit.objects.order_by("position").values_list
print(json.dumps({
    "problems": check_integrity().problems,
    "answers": sum(row.wins + row.ties + row.losses for row in SystemPair.objects.all()),
    "states": DrawState.objects.count(),
    "again": [
        [one.unit for one in draw_page_again(hit)] == list(places("unit_id", flat=True).filter(hit=hit))
        for hit in HIT.objects.all()
    ],
}))
"""


Crowd = Callable[..., Person]


@pytest.fixture
def person_at() -> Iterator[Crowd]:
    """Makes people whose connections are closed at the end."""
    with ExitStack() as stack:

        def make(server: Server, study: str, name: str, *, twice: bool = False) -> Person:
            person = Person(server, study, name, twice=twice)
            stack.callback(person.hang_up)
            return person

        yield make


def open_study(installation: Installation) -> str:
    slug, hits = installation.python(MAKE_STUDY).splitlines()[-1].split()
    assert int(hits) == HITS
    return slug


def audit(installation: Installation) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(installation.python(AUDIT).splitlines()[-1])
    return found


def holds_every_promise(found: dict[str, Any]) -> None:
    """Exactly k per HIT, nobody twice on one, every unit judged once and by the right person."""
    assert found["per_hit"] == [WANTED] * HITS
    assert found["worker_twice_on_a_hit"] == 0
    assert found["incomplete"] == 0
    assert found["judgments_of_others"] == 0
    assert found["judgments"] == WANTED * HITS * 3
    assert found["wrong"] == 0
    assert found["open_slots"] == 0
    assert found["held"] == 0


def test_thirty_workers_who_send_everything_twice_fill_every_hit_exactly(
    live_server_on: Callable[[str], Installation], database: str, person_at: Crowd
) -> None:
    installation = live_server_on(database)
    server, slug = Server(installation.url), open_study(installation)
    people = [person_at(server, slug, f"w-{number:04d}", twice=True) for number in range(WORKERS)]

    def take_part(person: Person) -> Callable[[], None]:
        def act() -> None:
            person.join()
            person.work()

        return act

    all_at_once([take_part(person) for person in people])
    found = audit(installation)
    holds_every_promise(found)
    assert found["submitted"] == sorted(one for person in people for one in person.acknowledged)
    statuses = sum((person.statuses for person in people), Counter())
    assert {status for status in statuses if status >= 400} == set()


def test_many_people_in_an_arena_get_a_page_each_of_which_every_answer_is_counted_once(
    live_server_on: Callable[[str], Installation], database: str, person_at: Crowd
) -> None:
    installation = live_server_on(database)
    server = Server(installation.url)
    slug, pages = installation.python(MAKE_ARENA).splitlines()[-1].split()
    people = [person_at(server, slug, f"w-{number:04d}", twice=True) for number in range(12)]

    def take_part(person: Person) -> None:
        person.join()
        person.work()

    all_at_once([partial(take_part, person) for person in people])
    found = audit(installation)
    assert (found["per_hit"], found["open_slots"], found["held"]) == ([1] * int(pages), 0, 0)
    assert (found["judgments"], found["wrong"], found["incomplete"]) == (3 * int(pages), 0, 0)
    drawn = json.loads(installation.python(ARENA).splitlines()[-1])
    assert (drawn["problems"], drawn["answers"]) == ([], 3 * int(pages))
    assert drawn["again"] == [True] * int(pages)
    assert drawn["states"] > 10


def test_one_worker_in_ten_windows_holds_one_hit(
    live_server_on: Callable[[str], Installation], database: str, person_at: Crowd
) -> None:
    installation = live_server_on(database)
    server, slug = Server(installation.url), open_study(installation)
    first = person_at(server, slug, "w-0001")
    first.join()
    windows = [person_at(server, slug, "w-0001") for _ in range(10)]
    for window in windows:
        for own, line in zip(first._lines, window._lines, strict=True):
            line.token = own.token
    replies: list[tuple[int, Any]] = []

    def ask(window: Person) -> None:
        replies.append(window.accept())

    all_at_once([partial(ask, window) for window in windows])
    assert sorted(status for status, _ in replies) == [200] * 9 + [201]
    assert len({json.dumps(shown, sort_keys=True) for _, shown in replies}) == 1
    assert audit(installation)["open_slots"] == WANTED * HITS - 1


def test_a_killed_server_loses_no_acknowledged_answer_and_gives_held_hits_back(
    live_server_on: Callable[[str], Installation], database: str, person_at: Crowd
) -> None:
    installation = live_server_on(database)
    server, slug = Server(installation.url), open_study(installation)
    people = [person_at(server, slug, f"w-{number:04d}") for number in range(8)]
    idle = person_at(server, slug, "w-idle")
    for person in [*people, idle]:
        person.join()
    _, held = idle.accept()
    halfway = threading.Semaphore(0)

    def kill_halfway() -> None:
        for _ in range(HITS * WANTED // 2):
            halfway.acquire()
        installation.stop()
        server.url = installation.start_server()

    def take_part(person: Person) -> Callable[[], None]:
        return lambda: person.work(halfway.release)

    all_at_once([kill_halfway, *(take_part(person) for person in people)])
    status, again = idle.accept()
    assert (status, again) == (200, held)
    idle.submit(held)
    for person in [*people, idle]:
        person.work()
    found = audit(installation)
    holds_every_promise(found)
    acknowledged = [one for person in [*people, idle] for one in person.acknowledged]
    assert set(acknowledged) == set(found["submitted"])
    assert len(acknowledged) == len(set(acknowledged))
    assert not [status for person in people for status in person.statuses if status >= 500]
