"""People who answer what they are given, by a rule."""

from collections.abc import Callable
from typing import Any

from annotation.models import Assignment, Worker
from annotation.work.answers.checks import answer_key
from annotation.work.claims import claim_assignment
from annotation.work.joining import join_study
from annotation.work.sheet.units import page_units_of
from annotation.work.submissions import submit_assignment
from judgments.kinds import KINDS
from judgments.models import Study, Unit

Vote = Callable[[Unit, Worker], Any]


def joined(study: Study, name: str) -> Worker:
    return join_study(study=study, name=name, consent=True).worker


def answers_of(assignment: Assignment, worker: Worker, vote: Vote) -> list[dict[str, Any]]:
    kind = KINDS[assignment.study.protocol]
    return [
        {
            "position": place.position,
            answer_key(kind): kind.sides.from_canonical(vote(place.unit, worker), side=place.side),
        }
        for place in page_units_of(assignment)
    ]


def work(study: Study, worker: Worker, vote: Vote, *, most: int = 1000) -> list[Assignment]:
    """The worker answers what they are given, ``most`` HITs."""
    done: list[Assignment] = []
    while len(done) < most and (claim := claim_assignment(study=study, worker=worker)) is not None:
        submit_assignment(assignment=claim.assignment, answers=answers_of(claim.assignment, worker, vote))
        done.append(claim.assignment)
    return done


def always_first(unit: Unit, worker: Worker) -> int:
    return int(str(unit.expected)) if unit.control else 1
