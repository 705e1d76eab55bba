"""What the rules found in a rehearsal, where it is known who does not look."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from annotation.models import Case, Judgment, Participation, QualityRule
from judgments.models import Study

CAREFUL = "careful"


@dataclass(frozen=True, slots=True)
class SortReport:
    """What became of the people of one sort; "careful" are those who look.

    Attributes:
        people: who answered at all.
        stopped: how many of them a rule paused or excluded; of careful people that is the harm done.
        flagged: how many more have a case that stopped nobody.
        answers: lower quartile, median and upper quartile of the answers it took to stop them; None where nobody was.
        judgments: answers of theirs that were stored, and ``kept``: that still count.
    """

    sort: str
    people: int
    stopped: int
    flagged: int
    answers: tuple[float, float, float] | None
    judgments: int
    kept: int


def reports_by_sort(study: Study, sort_of: Mapping[int, str]) -> tuple[SortReport, ...]:
    """One report a sort, careful people first. ``sort_of`` names the sort of each worker, '' for the careful ones.

    Empty where no rule watches.
    """
    if not QualityRule.objects.filter(study=study, enabled=True).exists():
        return ()
    rows = Judgment.objects.of_study(study).filter(replaced_by__isnull=True)
    judgments: Counter[int] = Counter()
    kept: Counter[int] = Counter()
    for worker, state in rows.values_list("assignment__worker_id", "assignment__state").iterator(2000):
        judgments[worker] += 1
        kept[worker] += state != "invalidated"
    stopped_at: dict[int, int] = {}
    flagged: set[int] = set()
    cases = Case.objects.filter(study=study).order_by("answers", "pk")
    for worker, action, answers in cases.values_list("worker_id", "action", "answers"):
        if action == QualityRule.Action.FLAG:
            flagged.add(worker)
        else:
            stopped_at.setdefault(worker, answers)
    active = set(
        Participation.objects.filter(study=study, standing=Participation.Standing.ACTIVE).values_list(
            "worker_id", flat=True
        )
    )
    by_sort: defaultdict[str, list[int]] = defaultdict(list)
    for worker in judgments:
        by_sort[sort_of.get(worker, "") or CAREFUL].append(worker)
    reports = []
    for sort in sorted(by_sort, key=lambda name: (name != CAREFUL, name)):
        workers = by_sort[sort]
        took = [stopped_at[worker] for worker in workers if worker in stopped_at and worker not in active]
        low, middle, high = np.quantile(took, [0.25, 0.5, 0.75]).tolist() if took else (0.0, 0.0, 0.0)
        reports.append(
            SortReport(
                sort=sort,
                people=len(workers),
                stopped=len(took),
                flagged=sum(worker in flagged and worker in active for worker in workers),
                answers=(low, middle, high) if took else None,
                judgments=sum(judgments[worker] for worker in workers),
                kept=sum(kept[worker] for worker in workers),
            )
        )
    return tuple(reports)
