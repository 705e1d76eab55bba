"""Files of exports for download, which background jobs write to the export folder."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils.translation import gettext as _

from common.errors import ObjectNotFound
from common.files import remove_stale_files
from evaluation.data.export.exporting import ExportedFile, export_judgments, manifest_path_of
from evaluation.data.export.formats import Format, format_named, installed_formats
from evaluation.data.export.parts import remove_parts
from evaluation.errors import ExportError
from judgments.access.rights import Right, has_right
from judgments.models import Job, Study
from judgments.studies.generation.progress import Progress, no_progress
from judgments.studies.studies import find_study

JOB_KIND = "export"


def export_for_download(
    *, study: Study, format: str, job_id: int, task: str = "annotation", progress: Progress = no_progress
) -> dict[str, Any]:
    """Write an export of a job to the export folder, and return the result of the job.

    If run again, it writes the same file. ``task``: whether queries are images ("annotation") or captions ("search").
    """
    file_format = format_named(format)
    path = _download_path(study.slug, job_id, file_format)
    path.parent.mkdir(parents=True, exist_ok=True)

    def export(*, resume: bool) -> ExportedFile:
        return export_judgments(
            study=study, format=format, output=path, task=task, resume=resume, progress=progress
        )

    try:
        file = export(resume=True)  # an earlier run may have been killed while it wrote the file
    except ExportError:
        file = export(resume=False)  # Quorum was updated in the meantime
    return {"file": path.name, "manifest_file": file.manifest_path.name, "manifest": file.manifest}


def remove_personal_files(*, study: Study, **_signal: Any) -> None:
    """Remove the exported files with personal data. This receives the signal that the study's raw ids are deleted."""
    jobs = Job.objects.filter(kind=JOB_KIND, args__study=study.slug)
    paths: list[Path] = []
    for file_format in installed_formats().values():
        if file_format.personal:
            job_ids = jobs.filter(args__format=file_format.name).values_list("pk", flat=True)
            paths += [_download_path(study.slug, job_id, file_format) for job_id in job_ids]
    transaction.on_commit(partial(_remove_files, paths))


def _remove_files(paths: list[Path]) -> None:
    for path in paths:
        remove_parts(path)
        path.unlink(missing_ok=True)
        manifest_path_of(path).unlink(missing_ok=True)


def _download_path(slug: str, job_id: int, file_format: Format) -> Path:
    return Path(settings.EXPORT_ROOT) / f"{slug}-{job_id}.{file_format.suffix}"


def remove_stopped_exports() -> list[str]:
    """Remove temporary files of failed or killed exports, reports and releases. Return the names of the files.

    Files written within the last day are kept.
    """
    return remove_stale_files(Path(settings.EXPORT_ROOT), ".*.parts", ".*.part", ".*.old")


@dataclass(frozen=True, slots=True)
class DownloadableFile:
    path: Path
    name: str
    content_type: str


def why_personal(file_format: Format) -> str:
    return f"The file format {file_format.name} holds personal data, for those who may change the study."


def exported_file(*, job: Job, by: User, manifest: bool = False) -> DownloadableFile:
    """Return the file that an export job wrote, or its manifest.

    Raises:
        ObjectNotFound: there is no such file.
        PermissionDenied: the person may not read this format.
    """
    result = job.result or {}
    name = result.get("manifest_file" if manifest else "file")
    if job.kind != JOB_KIND or job.state != Job.State.DONE or not name:
        raise ObjectNotFound(_("Job %(pk)s is not a finished export.") % {"pk": job.pk})
    export_format = installed_formats().get(str(job.args["format"]))  # None if the format no longer exists
    if (  # whoever sees the job has the right VIEW
        export_format
        and export_format.right != Right.VIEW
        and not has_right(by, export_format.right, find_study(str(job.args["study"])))
    ):
        raise PermissionDenied(why_personal(export_format))
    path = Path(settings.EXPORT_ROOT) / Path(str(name)).name
    if not path.is_file():
        raise ObjectNotFound(
            _("The file of export %(pk)s no longer exists; export the study again.") % {"pk": job.pk}
        )
    content_type = export_format.content_type if export_format else "application/octet-stream"
    if manifest:
        content_type = "application/json"
    return DownloadableFile(path=path, name=path.name, content_type=content_type)
