"""What came of a rehearsal: how often the answers together say what is true, and what the rules found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from annotation.answers import answer_key
from annotation.controls import control_answers
from annotation.models import Assignment, Judgment
from annotation.quality import control_records
from annotation.services.rehearsed_people import Person
from annotation.services.rehearsed_rules import SortReport, reports_by_sort
from judgments.models import HIT, Study
from judgments.services.studies import design_of, kind_of


@dataclass(frozen=True, slots=True)
class RehearsalReport:
    """How a rehearsal went, and how it was made.

    Attributes:
        workers, spammers: how many took part.
        hits: HITs filled.
        judgments: answers stored, controls included.
        returned: assignments that drop-outs gave back.
        hours: simulated working time of all workers.
        units: judged units with at least one answer.
        recovered: share of them whose consensus is the truth; of used answers alone, as in ``aggregate``. Graded: the
            grade nearest to the mean, a half going down.
        undecided: share of them that ended in a tie.
        controls_careful, controls_spammers: share of control items got right; None where none was seen.
        seed: of the crowd.
        invalidated: judgments of people whom a rule excluded; what the rules cost.
        by_sort: what the rules found of each sort of people.
    """

    workers: int
    spammers: int
    hits: int
    judgments: int
    returned: int
    hours: float
    units: int
    recovered: float
    undecided: float
    controls_careful: float | None
    controls_spammers: float | None
    seed: int
    invalidated: int = 0
    by_sort: tuple[SortReport, ...] = ()


def report_of(study: Study, people: Iterable[Person], truth: dict[int, Any], seed: int) -> RehearsalReport:
    """Count what is stored of the rehearsal."""
    kind = kind_of(study)
    people = list(people)
    careless = {person.worker.pk for person in people if person.accuracy is None}
    answers: list[tuple[int, int, Any]] = []
    seen: Counter[bool] = Counter()
    right: Counter[bool] = Counter()
    seconds = 0.0
    count = 0
    rows = (
        Judgment.objects.of_study(study)
        .current()
        .values_list("unit_id", "unit__control", answer_key(kind), "seconds", "assignment__worker_id")
    )
    for unit, control, value, took, worker in rows.iterator(2000):
        count += 1
        seconds += took or 0.0
        if not control:
            answers.append((unit, worker, value))
    checks = control_answers(study)
    for check in checks:
        seen[check.worker in careless] += 1
        right[check.worker in careless] += kind.is_right(check.given, check.expected)
    threshold = design_of(study).controls.threshold
    records = control_records(checks, threshold=threshold, is_right=kind.is_right)
    used = [(unit, value) for unit, worker, value in answers if worker not in records or records[worker].used]
    found = kind.consensus([unit for unit, _ in used], [value for _, value in used]) if used else {}
    recovered = sum(kind.recovers(one, truth[unit]) for unit, one in found.items())
    judged = len({unit for unit, _, _ in answers})
    return RehearsalReport(
        workers=len(people),
        spammers=len(careless),
        hits=HIT.objects.filter(study=study, open_slots=0).count(),
        judgments=count,
        returned=Assignment.objects.filter(study=study, state=Assignment.State.RETURNED).count(),
        hours=seconds / 3600,
        units=judged,
        recovered=recovered / judged if judged else float("nan"),
        undecided=sum(one.tie for one in found.values()) / judged if judged else float("nan"),
        controls_careful=right[False] / seen[False] if seen[False] else None,
        controls_spammers=right[True] / seen[True] if seen[True] else None,
        seed=seed,
        invalidated=Judgment.objects.of_study(study).filter(assignment__state="invalidated").count(),
        by_sort=reports_by_sort(study, {person.worker.pk: person.sort for person in people}),
    )
