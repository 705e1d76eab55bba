"""The job that sends a release to an archive."""

from __future__ import annotations

from typing import Any

from common.audit import acting_person
from contrib.archives.errors import PublishingError
from contrib.archives.planning.plan import describe_plan
from contrib.archives.sending import plan_publication, send_release
from judgments.access.rights import Right, has_right
from judgments.jobs.runs import JobRun
from judgments.studies.studies import find_study


def deposit_release(run: JobRun, *, study: str, send: bool, **options: Any) -> dict[str, Any]:
    """Send a release to an archive, or only return the plan. A repeated job continues an interrupted one.

    ``options`` are the other arguments of ``plan_publication``.
    """
    run.progress(0.01, "reading the release")
    study_row = find_study(study)
    user = acting_person()
    # The right is checked again, since the job may have waited long.
    if send and (user is None or not has_right(user, Right.OWN, study_row)):
        raise PublishingError("Nothing was sent: who asked for it is no owner of the study any more.")
    plan = plan_publication(study=study_row, **options)
    if not send:
        return {"plan": plan.as_json(), "words": describe_plan(plan)}
    result = send_release(plan=plan, progress=run.progress)
    return {
        "words": [result.summary()],
        "state": result.deposit.state,
        "doi": result.deposit.doi,
        "address": result.deposit.address,
    }
