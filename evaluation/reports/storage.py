"""Assemble reports and store them: numbers as an analysis, files as an archive."""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from annotation.models import Adjudication, Judgment
from common.errors import NotThere
from common.files import whole_file
from evaluation.data.export.parts import EPOCH
from evaluation.data.judgment_sets.loaders import signature_of_study
from evaluation.data.provenance import as_json, signature, versions
from evaluation.data.releases.erasure import erased_since
from evaluation.errors import ExportError
from evaluation.models import Analysis
from evaluation.planning.registration.plans import find_registered
from evaluation.presentation.content import Report, Section
from evaluation.presentation.rendering import render_methods, render_report, render_table
from evaluation.reports.loading import ReportInputs, load_inputs
from evaluation.reports.methods import bibtex, methods
from evaluation.reports.multiverse.curve import (
    compute_multiverse,
    multiverse_signature,
    store_multiverse,
    stored_multiverse,
)
from evaluation.reports.multiverse.section import multiverse_section
from evaluation.reports.sections import registration_section, sections_of
from evaluation.results.error_spans.scores import systems_section
from evaluation.results.judges.findings import judges_section
from evaluation.results.strengths.computing import ranking_section
from judgments.models import Study
from judgments.studies.generation import Progress, no_progress

MANIFEST = "manifest.json"


def build_report(
    study: Study,
    *,
    metrics: Sequence[str] = (),
    tokenizer: str = "",
    multiverse: bool = False,
    progress: Progress = no_progress,
) -> Report:
    """Return a study's report without storing it, by default with the newest evaluation's metrics.

    ``multiverse`` repeats the analyses under all other defensible choices, unless stored.
    """
    inputs = load_inputs(study, metrics=metrics, tokenizer=tokenizer, progress=progress)
    multiverse_result = None
    if multiverse:
        multiverse_result = find_multiverse(
            study, inputs, lambda share, message: progress(0.3 + 0.2 * share, message)
        )
    progress(0.5, "figures and tables")
    sections = sections_of(inputs, progress)
    sections += [
        section
        for section in (systems_section(study), ranking_section(study), judges_section(study))
        if section is not None
    ]
    if multiverse_result is not None:
        sections.append(multiverse_section(multiverse_result))
    plan = find_registered(study)
    if plan is not None:
        sections.append(registration_section(plan, inputs))
    progress(0.8, "writing")
    aggregation, evaluation = inputs.aggregation, inputs.evaluation
    settings, signatures = {"aggregation": dict(aggregation.settings)}, {"aggregation": aggregation.signature}
    if evaluation is not None:
        settings["meta-evaluation"] = dict(evaluation.settings)
        signatures |= {"meta-evaluation": evaluation.signature, **evaluation.result["signatures"]}
    if multiverse_result is not None:
        signatures["multiverse"] = multiverse_signature(study, multiverse_result)
    return assemble_report(
        study, inputs, sections, title=study.name, signature=str(signature_of_study(study)), settings=settings,
        signatures=signatures, multiverse=multiverse_result,
    )  # fmt: skip


def find_multiverse(study: Study, inputs: ReportInputs, progress: Progress = no_progress) -> dict[str, Any]:
    """Return the stored multiverse of these judgments and metrics, or compute it."""
    key: dict[str, Any] = {
        "metrics": inputs.metrics,
        "tokenizer": inputs.tokenizer,
        "data_hash": inputs.consensus.data_hash,
    }
    return stored_multiverse(study, **key) or compute_multiverse(study, **key, progress=progress)


def assemble_report(
    study: Study,
    inputs: ReportInputs,
    sections: Sequence[Section],
    *,
    title: str,
    signature: str,
    settings: Mapping[str, Any],
    signatures: Mapping[str, str],
    multiverse: Mapping[str, Any] | None = None,
) -> Report:
    paragraphs, cited = methods(inputs, study, sections)
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
        citations=cited,
        settings=settings,
        signatures=signatures,
        versions=versions(),
        multiverse=multiverse,
    )


def files_of(report: Report, progress: Progress = no_progress) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of every file but the manifest; equal reports give equal bytes."""
    # Imported lazily: matplotlib costs 60 MB and 0.3 s.
    from evaluation.presentation.plots import figures as drawing

    svgs: dict[str, str] = {}
    plots = report.plots
    for number, plot in enumerate(plots):
        progress(0.8 + 0.18 * number / len(plots), f"figure {plot.name}")
        figure = drawing.draw_plot(plot, stamp=report.signature)
        svg = drawing.svg_of(figure, plot, simulated=report.simulated)
        svgs[plot.name] = drawing.page_svg(svg, report.signature)
        yield f"figures/{plot.name}.svg", drawing.svg_file(svg)
        yield f"figures/{plot.name}.page.svg", svgs[plot.name].encode()
        yield f"figures/{plot.name}.pdf", drawing.pdf_of(figure)
        yield f"figures/{plot.name}.png", drawing.png_of(figure)
        yield f"figures/{plot.name}.csv", render_table(plot.data, "csv").encode()
    for table in report.tables:
        for form in ("html", "csv", "tex", "md"):
            yield f"tables/{table.name}.{form}", render_table(table, form, report.signature).encode()
    yield "index.html", render_report(report, "html", svgs).encode()
    for form in ("md", "tex"):
        yield f"report.{form}", render_report(report, form).encode()
    for form in ("md", "tex"):
        yield f"methods.{form}", render_methods(report, form).encode()
    yield "references.bib", bibtex(report.citations).encode()
    yield "report.json", _json(as_json(report))
    if report.multiverse is not None:
        yield "multiverse.json", _json(report.multiverse)


def manifest_of(report: Report, sums: dict[str, tuple[int, str]]) -> bytes:
    fields = ("study", "simulated", "signature", "data_hash", "seed", "versions")
    files = {name: {"bytes": size, "sha256": digest} for name, (size, digest) in sorted(sums.items())}
    return _json({name: getattr(report, name) for name in fields} | {"files": files})


def with_manifest(report: Report, progress: Progress = no_progress) -> Iterator[tuple[str, bytes]]:
    sums: dict[str, tuple[int, str]] = {}
    for name, content in files_of(report, progress):
        sums[name] = (len(content), hashlib.sha256(content).hexdigest())
        yield name, content
    yield MANIFEST, manifest_of(report, sums)


def write_report(report: Report, folder: Path, *, progress: Progress = no_progress) -> list[str]:
    """Write ``report`` into ``folder`` atomically, replacing an earlier report. Raise ExportError."""
    return write_folder(folder, with_manifest(report, progress), mark=MANIFEST)


def write_folder(folder: Path, files: Iterable[tuple[str, bytes]], *, mark: str) -> list[str]:
    """Write names and contents into ``folder``, all or none; return the names. Raise ExportError.

    A folder that holds the file ``mark`` is replaced.
    """
    check_folder(folder, mark=mark)
    beside = folder.with_name(f".{folder.name}.{uuid4().hex[:8]}.part")
    names = []
    try:
        for name, content in files:
            path = beside / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            names.append(name)
        if folder.exists():
            old = folder.with_name(f".{folder.name}.{uuid4().hex[:8]}.old")
            folder.rename(old)
            try:
                beside.rename(folder)
            except OSError:
                old.rename(folder)
                raise
            shutil.rmtree(old)
        else:
            beside.rename(folder)
    except OSError as error:
        raise ExportError(f"{folder} cannot be written: {error.strerror or error}.") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return names


def check_folder(folder: Path, *, mark: str = MANIFEST) -> None:
    """Raise ExportError for an unsuitable folder."""
    if not folder.resolve().parent.is_dir():
        raise ExportError(f"The folder {folder.parent} does not exist; nothing was written.")
    if folder.exists() and not folder.is_dir():
        raise ExportError(f"{folder} is a file; expected the name of a folder.")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / mark).is_file():
        raise ExportError(f"{folder} holds files that are no report; expected a new or an empty folder.")


def _json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()


def report_for_download(
    *, study: Study, job_id: int, multiverse: bool = False, progress: Progress = no_progress
) -> tuple[Report, str]:
    """Build the report and write its archive; return report and archive name."""
    report = build_report(study, multiverse=multiverse, progress=progress)
    folder = Path(settings.EXPORT_ROOT)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{study.slug}-report-{job_id}.zip"
    with whole_file(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in with_manifest(report, progress):
            archive.writestr(zipfile.ZipInfo(name, EPOCH), content, zipfile.ZIP_DEFLATED)
    return report, path.name


@transaction.atomic
def store_report(*, study: Study, report: Report, file: str) -> Analysis:
    """Store the numbers, replacing an earlier report of the same judgments, and the multiverse."""
    if report.multiverse is not None:
        store_multiverse(study, report.multiverse, judgments=report.signature)
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
    if erased_since(analysis):
        return True
    study, stored_at = analysis.study_id, analysis.created_at
    current = Judgment.objects.current().filter(assignment__study=study)
    if current.count() != analysis.result["counts"]["judgments"]:
        return True
    if current.filter(replaces__isnull=False, made_at__gt=stored_at).exists():
        return True
    decided = Adjudication.objects.filter(
        Q(decided_at__gt=stored_at) | Q(withdrawn_at__gt=stored_at), study=study
    )
    return decided.exists()


def report_archive(analysis: Analysis) -> Path:
    """Return the path of the report's archive. Raise NotThere."""
    if analysis.what != Analysis.What.REPORT:
        raise NotThere(
            _("Analysis %(pk)s is no report but %(what)s; it has no files.")
            % {"pk": analysis.pk, "what": analysis.get_what_display()}
        )
    path = Path(settings.EXPORT_ROOT) / Path(str(analysis.settings["file"])).name
    if not path.is_file():
        raise NotThere(_("The files of this report are not there any more; make the report again."))
    return path


def report_parts(analysis: Analysis, names: Sequence[str]) -> dict[str, str]:
    """Return the texts of several files; {} if the archive was removed."""
    try:
        path = report_archive(analysis)
    except NotThere:
        return {}
    with zipfile.ZipFile(path) as archive:
        stored = set(archive.namelist())
        return {name: archive.read(name).decode() for name in names if name in stored}
