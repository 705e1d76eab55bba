"""The job that computes and stores the snapshot of a dashboard."""

from __future__ import annotations

from contrib.dashboard.snapshot import compute_snapshot, store_snapshot
from contrib.dashboard.staleness import JOB_KIND
from evaluation.data.judgment_sets.blocks import extend_blocks
from judgments.jobs.runs import JobRun
from judgments.models import Job
from judgments.studies.studies import find_study


def make_snapshot(run: JobRun, *, study: str) -> None:
    """Compute and store the snapshot of a study, and delete earlier jobs of this kind."""
    study_row = find_study(study)
    extend_blocks(study_row)  # store new judgments in columns, so that they are read faster
    snapshot = compute_snapshot(study=study_row, progress=run.progress)
    with run.commit():  # in one transaction with the end of the job
        store_snapshot(snapshot)
        # delete earlier jobs, since an open page starts many of them
        earlier_jobs = Job.objects.filter(kind=JOB_KIND, args__study=study, state=Job.State.DONE)
        earlier_jobs.exclude(pk=run.job_id).delete()
