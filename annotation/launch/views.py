"""The page "Launch" of a study: the checklist before it is opened, also over HTTP; then its link and the next steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from judgments.models import Job, Study

LAUNCH_JOBS: list[Callable[[Study], Iterable[Job]]] = []


def add_launch_jobs(jobs_of: Callable[[Study], Iterable[Job]]) -> None:
    """Show jobs of other studies, such as copies, on the checklist of a study that was not opened yet."""
    LAUNCH_JOBS.append(jobs_of)
