"""Workers with habits in a real study, through the services that people use."""

from collections.abc import Callable, Sequence
from typing import Any

from annotation.models import Assignment, Worker
from annotation.quality.rules import copy_rules
from annotation.work.answers.checks import answer_key
from annotation.work.claims import claim_assignment
from annotation.work.sheet.units import PageUnit, page_units_of
from annotation.work.submissions import submit_assignment
from judgments.kinds import KINDS
from judgments.models import Study
from tests.studies import make_study, make_worker

Habit = Callable[[PageUnit], Any]  # what the worker answers, as seen
# enough triplets for a rule that wants twenty answers, and slots for three workers
PAIRS: dict[str, Any] = {"units_per_hit": 10, "sampling": {"pairs": {"HC": 10, "HI": 8}, "references": 2}}


def left(place: PageUnit) -> int:
    """Always the option on the left."""
    return 1


def careful(place: PageUnit) -> int:
    """The unit's first candidate, wherever it stands; right on control items."""
    first = int(place.unit.expected or 1)
    return 3 - first if place.side else first


def make_watched(name: str = "Watched", **values: Any) -> Study:
    """A study of triplets in HITs of ten, its rules as given in ``rules``."""
    return make_study("triplet", name=name, **(PAIRS | values))


def answers_to(assignment: Assignment, habit: Habit, seconds: float = 6.0) -> list[dict[str, Any]]:
    key = answer_key(KINDS[assignment.study.protocol])
    return [
        {"position": place.position, key: habit(place), "seconds": seconds}
        for place in page_units_of(assignment)
    ]


def work(study: Study, name: str | Worker, habit: Habit = careful, *, pages: int = 1) -> list[Assignment]:
    """Take and submit so many pages, or as many as there are."""
    worker = name if isinstance(name, Worker) else make_worker(study, name)[0]
    done = []
    for _ in range(pages):
        claim = claim_assignment(study=study, worker=worker)
        if claim is None:
            break
        submit_assignment(assignment=claim.assignment, answers=answers_to(claim.assignment, habit))
        done.append(claim.assignment)
    return done


def states(assignments: Sequence[Assignment]) -> list[str]:
    """As they stand in the database, in the order given."""
    found = dict(Assignment.objects.filter(pk__in=[one.pk for one in assignments]).values_list("pk", "state"))
    return [found[one.pk] for one in assignments]


def with_a_pause() -> Study:
    """A study with a rule that pauses "spam", who always takes the left; "ada" did well."""
    made = make_watched(rules=[{"rule": "side-bias", "action": "pause"}])
    copy_rules(study=made)
    work(made, "ada", careful, pages=2)
    work(made, "spam", left, pages=2)
    return made
