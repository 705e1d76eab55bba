"""Receivers of signals: a person is erased, or a study's pages of work are discarded.

An earlier release keeps the person's rows under a pseudonym. The person's receipt can still prove that these rows were
in the study (`origin.py`).
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from annotation.models import Erasure
from annotation.privacy.names import replace_worker_names
from common.errors import ServiceBusy
from evaluation.data.releases.storage import is_stored, release_file
from evaluation.models import Analysis, Prediction, Release
from judgments.models import Job, Study

FILE_JOB_KINDS = ("export", "report", "release")  # kinds of jobs that write files


def forget_person(*, study: Study, replacements: Mapping[str, str], **_signal: Any) -> None:
    """Rename the person in stored results, and delete the columnar copy of judgments.

    This happens in the transaction of the erasure. Results are not recomputed. Until they are, pages mark them as older
    than the data. ``replacements`` has the words to replace, such as the person's name.
    """
    delete_columns(study=study)
    for analysis in Analysis.objects.filter(study=study).iterator(1):
        new_values = replace_worker_names([analysis.result, analysis.settings], replacements)
        if new_values != [analysis.result, analysis.settings]:
            Analysis.objects.filter(pk=analysis.pk).update(result=new_values[0], settings=new_values[1])


def why_pages_of_work_must_stay(*, study: Study, **_signal: Any) -> str:
    """Return a sentence if predictions were imported or the study was released, or "" if neither happened."""
    names = {"slug": study.slug}
    if Prediction.objects.filter(study=study).exists():
        return (
            _(
                "Predictions were imported for study %(slug)r, so its pages of work must stay. Duplicate "
                "the study instead."
            )
            % names
        )
    if Release.objects.filter(study=study).exists():
        return (
            _("Study %(slug)r was released, so its pages of work must stay. Duplicate the study instead.")
            % names
        )
    return ""


def delete_columns(*, study: Study, **_signal: Any) -> None:
    """Delete the columnar copy of the study's judgments and units. The next analysis reads their rows."""
    from evaluation.data.judgment_sets.blocks import delete_blocks

    delete_blocks(study)


def remove_files(*, study: Study, withdraw: bool, **_signal: Any) -> None:
    """Remove the study's exports and reports, which name people and can be made again. This may be repeated.

    Args:
        withdraw: whether to remove the files of releases too; their records, with version and SHA-256, are kept.

    Raises:
        ServiceBusy: a job is writing a file of the study.
    """
    jobs = Job.objects.filter(args__study=study.slug)
    if jobs.filter(kind__in=FILE_JOB_KINDS, state=Job.State.RUNNING).exists():
        raise ServiceBusy(_("A file of study %(slug)r is being written.") % {"slug": study.slug})
    file_jobs = jobs.filter(kind__in=("export", "report")).values_list("kind", "pk")
    for kind, pk in file_jobs:
        remove_written_files(f"{study.slug}-{'report-' if kind == 'report' else ''}{pk}")
    if withdraw:
        for release in filter(is_stored, Release.objects.filter(study=study)):
            release_file(release).unlink(missing_ok=True)


def precedes_erasure(analysis: Analysis) -> bool:
    """Return whether somebody was erased after the analysis, which may then depend on that person's judgments."""
    return Erasure.objects.filter(study=analysis.study_id, at__gt=analysis.created_at).exists()


def remove_written_files(stem: str) -> None:
    """Remove the files that the job of an export or report wrote, including unfinished ones."""
    folder = Path(settings.EXPORT_ROOT)
    for path in (*folder.glob(f"{stem}.*"), *folder.glob(f".{stem}.*")):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
