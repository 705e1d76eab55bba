"""The functions that run jobs of `evaluation`: one for each kind of job, of the same name.

They compute outside transactions, and store results in the transaction that ends the job.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from evaluation.data.export.downloads import export_for_download
from evaluation.data.judgment_sets.blocks import extend_blocks
from evaluation.data.releases.erasure import remove_written_files
from evaluation.data.releases.storage import find_release, prepare_release_path, record_release, release_file
from evaluation.data.releases.terms import ReleaseTerms
from evaluation.errors import NothingToCompare
from evaluation.reports.releases.making import write_release
from evaluation.reports.releases.verification import verify_bundle
from evaluation.reports.storage import report_for_download, store_report
from evaluation.results.aggregation import compute_aggregation, store_aggregation
from evaluation.results.metrics.evaluation import compute_evaluation
from evaluation.results.metrics.storage import store_evaluation
from judgments.jobs.runs import JobRun, LostClaim
from judgments.models import Job
from judgments.studies.studies import find_study


def aggregate(run: JobRun, *, study: str, **options: Any) -> None:
    """Compute and store a study's consensus and agreement."""
    study_row = find_study(study)
    extend_blocks(study_row)  # so that most judgments are read from stored columns
    aggregation = compute_aggregation(study=study_row, **options, progress=run.progress)
    with run.commit() as result:
        analysis = store_aggregation(aggregation)
        result |= {"analysis": analysis.pk, **aggregation.result["counts"]}


def evaluate(run: JobRun, *, study: str, **options: Any) -> dict[str, Any] | None:
    """Compare metrics with a study's consensus, and store the result."""
    try:
        evaluation = compute_evaluation(study=find_study(study), progress=run.progress, **options)
    except NothingToCompare as error:  # end the job without an error, with a note
        return {"notes": [str(error)]}
    with run.commit() as result:
        analysis = store_evaluation(evaluation)
        result |= {"analysis": analysis.pk, **evaluation.result["counts"]}
    return None


@contextmanager
def _removed_if_cancelled(run: JobRun, stem: str) -> Iterator[None]:
    """Remove the job's files, which have this stem, from the export folder if the job is cancelled."""
    try:
        yield
    except LostClaim:  # the job was cancelled, or given to another process, which needs the files
        if Job.objects.filter(pk=run.job_id, state=Job.State.CANCELLED).exists():
            remove_written_files(stem)
        raise


def export(run: JobRun, *, study: str, format: str, task: str = "annotation") -> None:
    """Write an export to the export folder. ``task``, "annotation" or "search", is for exports of ranked lists."""
    with _removed_if_cancelled(run, f"{study}-{run.job_id}"):
        file_result = export_for_download(
            study=find_study(study), format=format, job_id=run.job_id, task=task, progress=run.progress
        )
        with run.commit() as result:
            result |= file_result


def report(run: JobRun, *, study: str, **parts: bool) -> None:
    """Write a report to the export folder, and store it as an analysis.

    ``parts`` has only the optional parts that were requested, with the value True.
    """
    study_row = find_study(study)
    with _removed_if_cancelled(run, f"{study}-report-{run.job_id}"):
        new_report, file = report_for_download(
            study=study_row, job_id=run.job_id, parts=list(parts), progress=run.progress
        )
        with run.commit() as result:
            analysis = store_report(study=study_row, report=new_report, file=file)
            result |= {"analysis": analysis.pk, "file": file}


def release(run: JobRun, *, study: str, version: str, **terms: Any) -> None:
    """Write the archive of a release to the export folder. Store its row in the transaction that ends the job."""
    study_row = find_study(study)
    path = prepare_release_path(study=study_row, version=version, job_id=run.job_id, run=run.name)
    bundle = write_release(
        study=study_row, terms=ReleaseTerms(version=version, **terms), path=path, progress=run.progress
    )
    with ExitStack() as cleanup:
        cleanup.callback(path.unlink, missing_ok=True)  # unless the row is stored
        with run.commit() as result:
            row = record_release(study=study_row, bundle=bundle, file=path.name)
            result |= {"version": row.version, "sha256": row.sha256, "bytes": row.size}
        cleanup.pop_all()


def verify_release(run: JobRun, *, study: str, version: str) -> dict[str, Any]:
    """Compute a release's figures again from its rows; return how many were checked, how many differ, and how."""
    run.progress(0.1, "computing its figures again")
    verdict = verify_bundle(release_file(find_release(find_study(study), version)))
    # the numbers of checked values and of differences, and sentences on the first differences
    return {"checked": verdict.checked, "count": verdict.count, "differences": list(verdict.differences)}
