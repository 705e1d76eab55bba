"""Many people in an arena at once."""

import json
from collections.abc import Callable
from functools import partial

import pytest

from tests.annotation.test_claims import Crowd, audit, person_at
from tests.crowd import Person, Server, all_at_once
from tests.installations import Installation

__all__ = ["person_at"]  # a fixture

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
from contrib.arena.tests.drawing_again import draw_page_again
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


@pytest.mark.long
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
