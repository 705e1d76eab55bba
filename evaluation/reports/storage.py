"""Build the report of a study, and store it: its numbers as an analysis, and its files as an archive to download."""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _
from rest_framework import serializers

from annotation.models import Adjudication, Judgment
from common.amounts import as_json
from common.errors import ObjectNotFound, WrongState
from common.features import of_features
from common.files import ZIP_EPOCH, atomic_write
from common.parameters import Parameters
from evaluation.data.judgment_sets.study_signatures import signature_of_study
from evaluation.data.releases.erasure import precedes_erasure
from evaluation.errors import EvaluationError
from evaluation.models import Analysis
from evaluation.presentation.content import Report, Section, reading_order
from evaluation.presentation.rendering import section
from evaluation.reports.files import files_with_manifest
from evaluation.reports.inputs import ReportInputs
from evaluation.reports.loading import load_inputs
from evaluation.reports.methods import methods_with_citations
from evaluation.reports.parts import ReportPart, optional_parts
from evaluation.reports.sections import sections_of
from evaluation.reports.sections.registration import find_registered_plan, registration_section
from evaluation.results.systems import systems_sentence
from judgments.models import Study
from judgments.operations import background_operation
from judgments.studies.generation.progress import Progress, no_progress
from quorum.numeric.signatures import signature, versions


def build_report(
    study: Study,
    *,
    metrics: Sequence[str] = (),
    tokenizer: str = "",
    parts: Collection[str] = (),
    progress: Progress = no_progress,
) -> Report:
    """Return a study's report, without storing it. By default it has the metrics of the newest evaluation.

    ``parts`` names optional parts to include. Raise EvaluationError if a part, a metric or the tokenizer is unknown.
    """
    requested_parts = _find_parts(parts)
    inputs = load_inputs(study, metrics=metrics, tokenizer=tokenizer, progress=progress)

    def progress_of_parts(share: float, message: str) -> None:
        progress(0.3 + 0.2 * share, message)  # the parts take from 0.3 to 0.5 of the job

    part_results = {part.name: part.compute(study, inputs, progress_of_parts) for part in requested_parts}
    progress(0.5, "figures and tables")
    sections = sections_of(inputs, progress)
    if verdict := inputs.aggregation.result.get("systems_verdict"):
        sections.insert(0, section("verdict", [systems_sentence(verdict)]))
    # Put the sections of features in the order of pages: the ranking of systems before the others.
    feature_sections = [make_section(study) for make_section in of_features("report_sections")]
    sections += sorted(filter(None, feature_sections), key=lambda section: reading_order(section.name))
    sections += [part.section(part_results[part.name]) for part in requested_parts]
    plan = find_registered_plan(study)
    if plan is not None:
        sections.append(registration_section(plan, inputs))
    progress(0.8, "writing")
    aggregation, evaluation = inputs.aggregation, inputs.evaluation
    report_settings = {"aggregation": dict(aggregation.settings)}
    signatures = {"aggregation": aggregation.signature}
    if evaluation is not None:
        report_settings["meta-evaluation"] = dict(evaluation.settings)
        signatures |= {"meta-evaluation": evaluation.signature, **evaluation.result["signatures"]}
    signatures |= {part.name: part.signature(study, part_results[part.name]) for part in requested_parts}
    return assemble_report(
        study, inputs, sections, title=study.name, signature=str(signature_of_study(study)), settings=report_settings,
        signatures=signatures, parts=part_results,
    )  # fmt: skip


def _find_parts(names: Collection[str]) -> list[ReportPart]:
    parts = optional_parts()
    for name in names:
        if name not in parts:
            raise EvaluationError(
                f"This installation makes no part {name!r} of reports; CONTRIB_APPS leaves it out."
            )
    return [parts[name] for name in names]


def assemble_report(
    study: Study,
    inputs: ReportInputs,
    sections: Sequence[Section],
    *,
    title: str,
    signature: str,
    settings: Mapping[str, Any],
    signatures: Mapping[str, str],
    parts: Mapping[str, Mapping[str, Any]],
) -> Report:
    """Return a report. ``signature`` is of its judgments, ``signatures`` are of its results; ``parts`` are results."""
    paragraphs, cited_keys = methods_with_citations(inputs, study, sections)
    return Report(
        study=study.slug,
        title=title,
        protocol=study.protocol,
        simulated=study.simulated,
        signature=signature,
        data_hash=inputs.table.data_hash,
        seed=inputs.seed,
        counts=inputs.aggregation.result["counts"],
        sections=tuple(sections),
        methods=paragraphs,
        citations=cited_keys,
        settings=settings,
        signatures=signatures,
        versions=versions(),
        parts=parts,
    )


def report_for_download(
    *, study: Study, job_id: int, parts: Collection[str] = (), progress: Progress = no_progress
) -> tuple[Report, str]:
    """Build a report, and write its archive into the export folder. Return the report and the archive's file name."""
    report = build_report(study, parts=parts, progress=progress)
    folder = Path(settings.EXPORT_ROOT)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{study.slug}-report-{job_id}.zip"
    with atomic_write(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files_with_manifest(report, progress):
            archive.writestr(zipfile.ZipInfo(name, ZIP_EPOCH), content, zipfile.ZIP_DEFLATED)
    return report, path.name


@transaction.atomic
def store_report(*, study: Study, report: Report, file: str) -> Analysis:
    """Store a report's numbers and the results of its parts, replacing an earlier report of the same judgments.

    ``file`` is the name of its archive in the export folder.
    """
    for part in _find_parts(report.parts):
        part.store(study, report.parts[part.name], judgments=report.signature)
    return Analysis.objects.replace(
        study=study,
        what=Analysis.Kind.REPORT,
        signature=signature("report", {"protocol": report.protocol, "seed": report.seed}),
        data_hash=report.data_hash,
        judgments=report.signature,  # of the study's judgments
        settings={**report.settings, "file": file},
        result=as_json(report),
    )


def is_outdated_report(analysis: Analysis) -> bool:
    """Return whether judgments, revisions, decisions or erasures were added after the report."""
    if precedes_erasure(analysis):
        return True
    study, stored_at = analysis.study_id, analysis.created_at
    judgments = Judgment.objects.current().filter(assignment__study=study)
    if judgments.count() != analysis.result["counts"]["judgments"]:
        return True
    if judgments.filter(replaces__isnull=False, made_at__gt=stored_at).exists():
        return True
    is_later = Q(decided_at__gt=stored_at) | Q(withdrawn_at__gt=stored_at)
    return Adjudication.objects.filter(is_later, study=study).exists()


def report_archive(analysis: Analysis) -> Path:
    """Return the path of the report's archive.

    Raise ObjectNotFound if the analysis is not a report, or if its files no longer exist.
    """
    if analysis.what != Analysis.Kind.REPORT:
        raise ObjectNotFound(
            _("Analysis %(pk)s has no files, because it is not a report. Its type: %(what)s.")
            % {"pk": analysis.pk, "what": analysis.get_what_display()}
        )
    path = Path(settings.EXPORT_ROOT) / Path(str(analysis.settings["file"])).name
    if not path.is_file():
        raise ObjectNotFound(_("The files of this report no longer exist. Make the report again."))
    return path


def read_report_texts(analysis: Analysis, names: Sequence[str]) -> dict[str, str]:
    """Return the texts of the named files of a report, by name, or {} if its archive was removed."""
    try:
        path = report_archive(analysis)
    except ObjectNotFound:
        return {}
    with zipfile.ZipFile(path) as archive:
        stored_names = set(archive.namelist())
        return {name: archive.read(name).decode() for name in names if name in stored_names}


class MakeReportRequest(Parameters):
    """For each optional part of reports, the choice whether to include it."""

    def get_fields(self) -> dict[str, Any]:
        return {
            part.name: serializers.BooleanField(required=False, label=part.label, help_text=part.help_text)
            for part in optional_parts().values()
        }


# once="always": even with other parts, no second report is made at the same time
@background_operation("report", "Make the report", job="report", once="always", parameters=MakeReportRequest)
def make_report(*, study: Study, **parts: bool) -> dict[str, Any]:
    """Make a report in the background. The result has `what` = `report`, and its files can be downloaded."""
    if study.state in (Study.State.DRAFT, Study.State.GENERATED):
        raise WrongState(
            _("Study %(slug)r is %(state)s. There is nothing to report before it is opened.")
            % {"slug": study.slug, "state": study.state}
        )
    return {name: True for name, is_requested in parts.items() if is_requested}  # the job's arguments
