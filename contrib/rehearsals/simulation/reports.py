"""Report on a rehearsal: how much of the truth was recovered, and which types of workers were paused or excluded."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np

from annotation.models import Assignment, Case, Judgment, Participation, QualityRule
from annotation.quality.controls import control_answers, control_records
from annotation.work.answers.checks import answer_key
from contrib.rehearsals.simulation.crowd import Person
from contrib.rehearsals.simulation.truths import rehearsal_of
from judgments.models import HIT, Study
from judgments.studies.designs import design_of, kind_of

CAREFUL = "careful"


@dataclass(frozen=True, slots=True)
class CarelessTypeReport:
    """The results of one type (``sort``) of simulated workers; "careful" are the honest ones.

    Attributes:
        people: the number of workers who answered.
        stopped: the number paused or excluded by a detector; for careful workers these are false alarms.
        flagged: the number of others with a flag.
        answers: quartiles of the number of answers until a worker was stopped; None if none was.
        kept: the number of judgments that are still used.
    """

    sort: str
    people: int
    stopped: int
    flagged: int
    answers: tuple[float, float, float] | None
    judgments: int
    kept: int


def reports_by_type(study: Study, sorts: Mapping[int, str]) -> tuple[CarelessTypeReport, ...]:
    """Return a report for each type of simulated worker, careful workers first; () if no detector is enabled.

    Args:
        sorts: the type of each worker, by row id; "" for careful workers.
    """
    if not QualityRule.objects.filter(study=study, enabled=True).exists():
        return ()
    rows = Judgment.objects.of_study(study).filter(replaced_by__isnull=True)
    judgment_counts: Counter[int] = Counter()  # by worker
    used_counts: Counter[int] = Counter()
    for worker, state in rows.values_list("assignment__worker_id", "assignment__state").iterator(2000):
        judgment_counts[worker] += 1
        used_counts[worker] += state != "invalidated"
    stopped_at: dict[int, int] = {}  # the number of answers, by worker
    flagged_workers: set[int] = set()
    cases = Case.objects.filter(study=study).order_by("answers", "pk")
    for worker, action, answers in cases.values_list("worker_id", "action", "answers"):
        if action == QualityRule.Action.FLAG:
            flagged_workers.add(worker)
        else:
            stopped_at.setdefault(worker, answers)
    active_rows = Participation.objects.filter(study=study, standing=Participation.Standing.ACTIVE)
    active_workers = set(active_rows.values_list("worker_id", flat=True))
    # a worker who was stopped, but is active, was let in again by a person
    stopped_workers = stopped_at.keys() - active_workers
    workers_by_sort: defaultdict[str, list[int]] = defaultdict(list)
    for worker in judgment_counts:
        workers_by_sort[sorts.get(worker, "") or CAREFUL].append(worker)
    reports = []
    for sort in sorted(workers_by_sort, key=lambda name: (name != CAREFUL, name)):
        workers = workers_by_sort[sort]
        stops = [stopped_at[worker] for worker in workers if worker in stopped_workers]
        low, median, high = np.quantile(stops, [0.25, 0.5, 0.75]).tolist() if stops else (0.0, 0.0, 0.0)
        reports.append(
            CarelessTypeReport(
                sort=sort,
                people=len(workers),
                stopped=len(stops),
                flagged=sum(worker in flagged_workers and worker in active_workers for worker in workers),
                answers=(low, median, high) if stops else None,
                judgments=sum(judgment_counts[worker] for worker in workers),
                kept=sum(used_counts[worker] for worker in workers),
            )
        )
    return tuple(reports)


@dataclass(frozen=True, slots=True)
class RehearsalReport:
    """The results of a rehearsal.

    Attributes:
        workers: the number of workers, including those who replaced others; ``spammers`` of them are careless.
        hits: the number of HITs without an open slot.
        judgments: the number of judgments of workers who are not excluded.
        returned: the number of returned assignments.
        hours: the simulated working time of all workers.
        units: the number of units with an answer, without control items.
        recovered: the fraction of units whose consensus is the truth, from used answers as in ``aggregate``; nan
            without units. For grades, the consensus is the grade nearest to the mean, with halves rounded down.
        undecided: the fraction of units that ended in a tie; nan without units.
        controls_careful, controls_spammers: the accuracy of careful and of careless workers on control items; None if
            they saw none.
        invalidated: the number of judgments of excluded workers.
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
    by_sort: tuple[CarelessTypeReport, ...] = ()


def report_of_rehearsal(
    study: Study, people: Iterable[Person], truths: dict[int, Any], seed: int
) -> RehearsalReport:
    """Compare the consensus of the simulated answers with the truth (``truths_of``), and count answers and workers."""
    kind = kind_of(study)
    people = list(people)
    careless_workers = {person.worker.pk for person in people if person.accuracy is None}  # they have none
    answers: list[tuple[int, int, Any]] = []  # unit, worker, answer
    seconds = 0.0
    judgment_count = 0
    rows = (
        Judgment.objects.of_study(study)
        .current()
        .values_list("unit_id", "unit__control", answer_key(kind), "seconds", "assignment__worker_id")
    )
    for unit, control, value, duration, worker in rows.iterator(2000):
        judgment_count += 1
        seconds += duration or 0.0
        if not control:
            answers.append((unit, worker, value))
    answers_to_controls = control_answers(study)
    control_counts: Counter[bool] = Counter()  # by whether the worker is careless
    right_counts: Counter[bool] = Counter()
    for answer in answers_to_controls:
        is_careless = answer.worker in careless_workers
        control_counts[is_careless] += 1
        right_counts[is_careless] += kind.is_right(answer.answer, answer.expected)
    records = control_records(answers_to_controls, rule=design_of(study).controls, kind=kind)
    used_answers = [
        (unit, value) for unit, worker, value in answers if worker not in records or records[worker].is_used
    ]
    outcomes = (
        kind.aggregation.consensus([unit for unit, _ in used_answers], [value for _, value in used_answers])
        if used_answers
        else {}
    )
    rehearsal = rehearsal_of(study)
    recovered_count = sum(rehearsal.matches(outcome, truths[unit]) for unit, outcome in outcomes.items())
    judged_count = len({unit for unit, _, _ in answers})
    return RehearsalReport(
        workers=len(people),
        spammers=len(careless_workers),
        hits=HIT.objects.filter(study=study, open_slots=0).count(),
        judgments=judgment_count,
        returned=Assignment.objects.filter(study=study, state=Assignment.State.RETURNED).count(),
        hours=seconds / 3600,
        units=judged_count,
        recovered=recovered_count / (judged_count or nan),
        undecided=sum(outcome.tie for outcome in outcomes.values()) / (judged_count or nan),
        controls_careful=right_counts[False] / control_counts[False] if control_counts[False] else None,
        controls_spammers=right_counts[True] / control_counts[True] if control_counts[True] else None,
        seed=seed,
        invalidated=Judgment.objects.of_study(study).filter(assignment__state="invalidated").count(),
        by_sort=reports_by_type(study, {person.worker.pk: person.sort for person in people}),
    )
