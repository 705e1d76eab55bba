"""Synchronise the database with a crowd. This is safe to repeat and to run concurrently."""

from __future__ import annotations

import time
from collections.abc import Callable

from annotation.crowds import Ability, backend_of
from annotation.crowds.base import RetryLater
from annotation.crowds.outbox.delivery import carry_out_calls
from annotation.crowds.panel.people import end_abandoned_sessions
from annotation.crowds.sync.comparison import CrowdComparison
from annotation.crowds.sync.decisions import approve_due_work, delete_finished_publications
from annotation.crowds.sync.endings import close_if_all_refused
from annotation.crowds.sync.report import Discrepancy, SyncReport, report_of
from judgments.jobs.runs import Progress
from judgments.models import Study


def sync_with_crowd(
    *,
    study: Study,
    thorough: bool = False,
    wait: Callable[[float], None] = time.sleep,
    progress: Progress | None = None,
) -> SyncReport:
    """Synchronise a study with its crowd.

    Messages are sent before and after the comparison, since the comparison may cause new ones.

    Args:
        thorough: whether to read the work on external HITs that seem unchanged, too.
        wait: sleeps for the given seconds.
    """
    backend = backend_of(study)
    discrepancies: list[Discrepancy] = []
    if backend.sends_people and study.platform:
        discrepancies += _carry_out(study, wait, progress)
        if Ability.LIST in backend.can:
            comparison = CrowdComparison(study, backend, is_full=thorough, discrepancies=discrepancies)
            try:
                comparison.run(progress)
            except RetryLater as problem:
                comparison.note("not-looked-at", f"Not all could be looked at: {problem}")
        else:
            end_abandoned_sessions(study=study)
        approve_due_work(study=study)
        delete_finished_publications(study=study)
        discrepancies += _carry_out(study, wait, progress)
    return report_of(study, discrepancies)


def _carry_out(study: Study, wait: Callable[[float], None], progress: Progress | None) -> list[Discrepancy]:
    """Send the outbox messages. Return what stopped them, and whether the crowd refused every publication."""
    delivery = carry_out_calls(study=study, wait=wait, progress=progress)
    problems = {"stopped": delivery.stop_reason, "refused": close_if_all_refused(study)}
    return [Discrepancy(kind, sentence) for kind, sentence in problems.items() if sentence]
