"""A study's report kept: its numbers as an analysis, its files as one archive in the export folder."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from annotation.models import Adjudication, Judgment
from common.errors import NotThere
from common.files import whole_file
from evaluation.export.archives import content_of, content_type
from evaluation.models import Analysis
from evaluation.provenance import signature, without_nan
from evaluation.reports.building import build_report
from evaluation.reports.bundle import with_manifest
from evaluation.reports.content import Report
from judgments.models import Study
from judgments.studies.generation import Progress, no_progress

EPOCH = (1980, 1, 1, 0, 0, 0)  # the first moment that an archive can hold: equal files, equal archives


@dataclass(frozen=True, slots=True)
class ReportFile:
    """A file out of a report; ``modified`` in seconds since 1970."""

    name: str
    content_type: str
    content: bytes
    modified: float


def report_for_download(*, study: Study, job_id: int, progress: Progress = no_progress) -> tuple[Report, str]:
    """Build the report and write its archive under a name of the job's own; a job that runs again writes it again.

    Returns:
        the report, and the archive's name in the export folder.
    """
    report = build_report(study, progress=progress)
    folder = Path(settings.EXPORT_ROOT)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{study.slug}-report-{job_id}.zip"
    with whole_file(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in with_manifest(report, progress):
            archive.writestr(zipfile.ZipInfo(name, EPOCH), content, zipfile.ZIP_DEFLATED)
    return report, path.name


@transaction.atomic
def store_report(*, study: Study, report: Report, file: str) -> Analysis:
    """Keep the numbers as an analysis; the report of the same judgments replaces its earlier row."""
    how = {"protocol": report.protocol, "seed": report.seed}
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)  # two at once would both insert
    analysis, _ = Analysis.objects.update_or_create(
        study=study,
        what=Analysis.What.REPORT,
        signature=signature("report", how),
        data_hash=report.data_hash,
        defaults={
            "judgments": report.stamp,
            "settings": {**report.settings, "file": file},
            "result": without_nan(report.as_json()),
            "created_at": timezone.now(),
        },
    )
    return analysis


def newest_report(study: Study) -> Analysis | None:
    """The report that was made last."""
    return (
        Analysis.objects.filter(study=study, what=Analysis.What.REPORT).order_by("-created_at", "-pk").first()
    )


def report_is_old(analysis: Analysis) -> bool:
    """Whether judgments came in, or were revised or decided, after the report was made."""
    study, made = analysis.study_id, analysis.created_at
    current = Judgment.objects.current().filter(assignment__study=study)
    if current.count() != analysis.result["counts"]["judgments"]:
        return True
    if current.filter(replaces__isnull=False, made_at__gt=made).exists():
        return True
    decided = Adjudication.objects.filter(Q(decided_at__gt=made) | Q(withdrawn_at__gt=made), study=study)
    return decided.exists()


def report_archive(analysis: Analysis) -> Path:
    """Where the files of a report lie.

    Raises:
        NotThere: the analysis is no report, or its archive was removed.
    """
    if analysis.what != Analysis.What.REPORT:
        raise NotThere(
            f"Analysis {analysis.pk} is no report but {analysis.get_what_display()}; it has no files."
        )
    path = Path(settings.EXPORT_ROOT) / Path(str(analysis.settings["file"])).name
    if not path.is_file():
        raise NotThere("The files of this report are not there any more; make the report again.")
    return path


def report_file(analysis: Analysis, name: str) -> ReportFile:
    """A file of the report by its name in the archive.

    Raises:
        NotThere: no such file, or the archive was removed.
    """
    path = report_archive(analysis)
    content = content_of(path, name, what="report")
    return ReportFile(Path(name).name, content_type(name), content, path.stat().st_mtime)


def report_parts(analysis: Analysis, names: Sequence[str]) -> dict[str, str]:
    """The texts of several files at once; {} where the archive was removed."""
    try:
        path = report_archive(analysis)
    except NotThere:
        return {}
    with zipfile.ZipFile(path) as archive:
        there = set(archive.namelist())
        return {name: archive.read(name).decode() for name in names if name in there}


def sections_of(analysis: Analysis) -> list[dict[str, Any]]:
    """The stored sections, in their order."""
    found: list[dict[str, Any]] = analysis.result["sections"]
    return found
