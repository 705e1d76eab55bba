"""Collect the points of a study's checklist.

The module ``checks`` and features register checks: functions that take a ``Launch`` and return points of the checklist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from annotation.launch.views.launch import ChecklistItem, Launch, Readiness
from judgments.models import Job, Study

Check = Callable[[Launch], Iterable[ChecklistItem]]
# pairs of a number and a check; checks with lower numbers come first
CHECKS: list[tuple[int, Check]] = []

CONSENT_CHECKS: list[Check] = []
LAUNCH_JOB_SOURCES: list[Callable[[Study], Iterable[Job]]] = []


def add_check(order: int, check: Check) -> None:
    """Register a check. Points of checks with a lower ``order`` come first."""
    CHECKS.append((order, check))


def add_consent_check(check: Check) -> None:
    """Register a check of the consent text. If it returns a point, the usual point about consent is left out."""
    CONSENT_CHECKS.append(check)


def add_launch_jobs(jobs_of: Callable[[Study], Iterable[Job]]) -> None:
    """Register a function that returns jobs to show on the checklist, such as those of copies of the study."""
    LAUNCH_JOB_SOURCES.append(jobs_of)


def checklist(launch: Launch) -> list[ChecklistItem]:
    """Run all checks, and return the points of the checklist.

    Points that prevent the opening come first, then those that a person can override, then all others.
    """
    points: list[ChecklistItem] = []
    for _order, check in sorted(CHECKS, key=lambda entry: entry[0]):
        points += check(launch)
    ranks = {Readiness.BLOCKS: 0, Readiness.DOUBTFUL: 1}
    return sorted(points, key=lambda point: ranks.get(point.readiness, 2))
