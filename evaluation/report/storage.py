"""Stored reports: numbers as an analysis, files as an archive in the export folder."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from annotation.models import Adjudication, Judgment
from common.errors import NotThere
from common.files import whole_file
from evaluation.export.archives import EPOCH
from evaluation.models import Analysis
from evaluation.provenance import as_json, signature
from evaluation.report.building import build_report
from evaluation.report.content import Report
from evaluation.report.files import with_manifest
from judgments.models import Study
from judgments.studies.generation import Progress, no_progress


def report_for_download(*, study: Study, job_id: int, progress: Progress = no_progress) -> tuple[Report, str]:
    """Build the report and write its archive under the job's own name.

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
    """Store the numbers, replacing an earlier report of the same judgments."""
    return Analysis.objects.replace(
        study=study,
        what=Analysis.What.REPORT,
        signature=signature("report", {"protocol": report.protocol, "seed": report.seed}),
        data_hash=report.data_hash,
        judgments=report.signature,
        settings={**report.settings, "file": file},
        result=as_json(report),
    )


def newest_report(study: Study) -> Analysis | None:
    return Analysis.objects.newest_first(study, Analysis.What.REPORT).first()


def report_is_old(analysis: Analysis) -> bool:
    """Return whether judgments or decisions changed after the report."""
    study, made = analysis.study_id, analysis.created_at
    current = Judgment.objects.current().filter(assignment__study=study)
    if current.count() != analysis.result["counts"]["judgments"]:
        return True
    if current.filter(replaces__isnull=False, made_at__gt=made).exists():
        return True
    decided = Adjudication.objects.filter(Q(decided_at__gt=made) | Q(withdrawn_at__gt=made), study=study)
    return decided.exists()


def report_archive(analysis: Analysis) -> Path:
    """Return the path of the report's archive.

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


def report_parts(analysis: Analysis, names: Sequence[str]) -> dict[str, str]:
    """Return the texts of several files; {} if the archive was removed."""
    try:
        path = report_archive(analysis)
    except NotThere:
        return {}
    with zipfile.ZipFile(path) as archive:
        there = set(archive.namelist())
        return {name: archive.read(name).decode() for name in names if name in there}


def sections_of(analysis: Analysis) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = analysis.result["sections"]
    return found
