"""Synchronise a study with its crowd: send outbox messages, and store the work that the crowd reports.

A sync can be repeated at any time, and several syncs can run at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from annotation.crowds import Ability, backend_of
from annotation.crowds.base import RetryLater
from annotation.crowds.outbox.delivery import carry_out_calls
from annotation.crowds.panel.endings import end_abandoned_sessions
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
    wait: Callable[[float], None] = time.sleep,  # called with the seconds until a message is due
    progress: Progress | None = None,
) -> SyncReport:
    """Synchronise a study with its crowd.

    Messages are sent before and after the comparison, since the comparison may cause new ones.

    Args:
        thorough: whether to read the work on external HITs (offers of work) that seem unchanged, too.
    """
    backend = backend_of(study)
    discrepancies: list[Discrepancy] = []
    if backend.sends_people and study.platform:
        discrepancies += _send_messages(study, wait, progress)
        if Ability.LIST in backend.can:
            # the comparison adds to this list of discrepancies
            comparison = CrowdComparison(study, backend, is_full=thorough, discrepancies=discrepancies)
            try:
                comparison.run(progress)
            except RetryLater as problem:
                comparison.note("not-looked-at", f"Not all could be looked at: {problem}")
        else:
            end_abandoned_sessions(study=study)
        approve_due_work(study=study)
        delete_finished_publications(study=study)
        discrepancies += _send_messages(study, wait, progress)
    return report_of(study, discrepancies)


def _send_messages(
    study: Study, wait: Callable[[float], None], progress: Progress | None
) -> list[Discrepancy]:
    """Send the outbox messages, and close the study if the crowd refused every publication.

    Return discrepancies that say what stopped the messages, and why the study was closed.
    """
    delivery = carry_out_calls(study=study, wait=wait, progress=progress)
    problems = {"stopped": delivery.stop_reason, "refused": close_if_all_refused(study)}
    return [Discrepancy(kind, sentence) for kind, sentence in problems.items() if sentence]
