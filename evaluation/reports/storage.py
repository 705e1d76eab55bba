"""Assemble reports, with a section on methods (``methods.toml``) and citations, and store them.

``build_report`` computes a report, and ``with_manifest`` makes its files. The numbers of a report are stored as an
analysis, and its files as an archive, or as a folder.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tomllib
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Q
from django.utils.translation import gettext as _
from rest_framework import serializers

from annotation.models import Adjudication, Exclusion, Judgment
from common.amounts import as_json
from common.errors import ObjectNotFound, WrongState
from common.features import of_features
from common.files import ZIP_EPOCH, NanAsNullEncoder, atomic_write
from common.parameters import Parameters
from evaluation.data.judgment_sets.study_signatures import signature_of_study
from evaluation.data.releases.erasure import precedes_erasure
from evaluation.errors import EvaluationError, ExportError
from evaluation.models import Analysis
from evaluation.presentation.content import Report, Section, reading_order
from evaluation.presentation.rendering import (
    fill_template,
    render_methods,
    render_report,
    render_table,
    section,
)
from evaluation.reports.loading import ReportInputs, load_inputs
from evaluation.reports.parts import ReportPart, optional_parts
from evaluation.reports.sections import sections_of
from evaluation.reports.sections.ceilings import SPLITS
from evaluation.reports.sections.registration import find_registered, registration_section
from evaluation.results.filter_audit import audit_sentence
from evaluation.results.systems import systems_sentence
from judgments.models import Study
from judgments.operations import background_operation
from judgments.studies.designs import design_of, stops_early
from judgments.studies.generation.progress import Progress, no_progress
from judgments.studies.stopping import describe_stopping
from quorum.numeric.signatures import signature, versions

# Works to cite, by prefix of a metric's name. The longest matching prefix counts.
PAPERS_BY_METRIC = {
    "bleu": ("papineni2002",),
    "bleu-h13": ("hodosh2013", "papineni2002"),
    "bleu-pre": ("hodosh2013", "papineni2002"),
    "rouge": ("lin2004",),
    "meteor": ("denkowski2014",),
    "cider": ("vedantam2015",),
}

# The work of the data's authors, by source format of an import.
PAPERS_BY_FORMAT = {
    "pascal-50s": ("vedantam2015",),
    "abstract-50s": ("vedantam2015",),
    "flickr8k": ("hodosh2013",),
    "coco": ("lin2014coco", "chen2015coco"),
}

# The paper that a preset follows, by preset.
PAPER_BY_PRESET = {
    "vedantam-2015": "vedantam2015",
    "hodosh-2013": "hodosh2013",
    "wang-gaizauskas-2015": "wang2015",
    "wang-gaizauskas-2016": "wang2016",
    "mason-charniak-2012": "mason2012",
}
FOLDER = Path(__file__).parent
METHODS_SENTENCES = tomllib.loads((FOLDER / "methods.toml").read_text(encoding="utf-8"))


def _read_bibliography(text: str) -> dict[str, str]:
    """Return the entries of a .bib file by key. Closing braces must be on lines of their own."""
    return {entry[1]: entry[0] for entry in re.finditer(r"^@\w+\{(\w+),\n.*?^\}\n", text, re.M | re.S)}


BIBLIOGRAPHY = _read_bibliography((FOLDER / "references.bib").read_text(encoding="utf-8"))


def bibtex_fields_of(key: str) -> dict[str, str]:
    return dict(re.findall(r"^  (\w+) = \{(.*)\},?$", BIBLIOGRAPHY[key], re.M))


def sources_of_metric(name: str) -> tuple[str, ...]:
    """Return the keys of the works on a metric, such as ``bleu-4``. Options that follow "|" do not matter."""
    base = name.partition("|")[0]
    prefixes = [prefix for prefix in PAPERS_BY_METRIC if base.startswith(prefix)]
    return PAPERS_BY_METRIC[max(prefixes, key=len)] if prefixes else ()


def bibtex(keys: Iterable[str]) -> str:
    """Return the bibliography of the works with these keys, as text of a .bib file."""
    return "\n".join(BIBLIOGRAPHY[key] for key in sorted(set(keys)))


def cite_in_text(key: str) -> str:
    """Return a citation for running text, such as "Vedantam et al., 2015"."""
    fields = bibtex_fields_of(key)
    names = [name.split(",")[0] for name in fields["author"].split(" and ")]
    authors = f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
    return f"{authors}, {fields['year']}"


def methods(
    inputs: ReportInputs, study: Study, sections: Sequence[Section]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the paragraphs on methods, and the keys of the works that they cite.

    Sentences cite with the functions ``work`` and ``cite``, which note the keys in the order of the citations.
    """
    cited_keys: dict[str, None] = {}

    def work(key: str) -> str:
        cited_keys[key] = None
        return cite_in_text(key)

    def cite(*keys: str) -> str:
        return f"({'; '.join(map(work, keys))})" if keys else ""

    design, kind, result = design_of(study), inputs.kind, inputs.aggregation.result
    audit = result.get("filter_audit")
    imported = study.source == Study.Source.IMPORTED
    excluded = Exclusion.objects.filter(study=study, lifted_at=None)
    section_names = {section.name for section in sections}

    def sentences_of_parts() -> str:
        parts = optional_parts().values()
        return " ".join(fill_template(part.methods, values) for part in parts if part.name in section_names)

    source = study.dataset.source_format
    values: dict[str, Any] = {
        "work": work,
        "cite": cite,
        "works_of": sources_of_metric,
        "study": study,
        "design": design,
        "kind": kind,
        "judges_captions": kind.judges_one_caption,
        "imported": imported,
        "designed": study.source == Study.Source.DESIGNED,
        "by_people": not imported and not study.simulated,
        "paper": next((key for start, key in PAPER_BY_PRESET.items() if design.preset.startswith(start)), ""),
        "sources": next((keys for start, keys in PAPERS_BY_FORMAT.items() if source.startswith(start)), ()),
        "pairs": ", ".join(f"{count:,} {name}" for name, count in design.sampling.pairs.items() if count),
        "audit": audit_sentence(audit) if audit else "",
        "exclusions": list(excluded.values_list("rule").annotate(n=Count("pk")).order_by("rule")),
        "stopping": describe_stopping(design) if stops_early(study) else "",
        "counts": result["counts"],
        "anonymous": not result["agreement"]["per_worker"]["available"],
        "alpha": result["agreement"]["alpha"],
        "settings": inputs.aggregation.settings,
        "evaluation": inputs.evaluation,
        "metrics": inputs.metrics,
        "seed": inputs.seed,
        "clustered": inputs.method.is_clustered,
        "raters": inputs.covers_new_raters,
        "raters_known": inputs.method.is_clustered and inputs.are_raters_known,
        "splits": SPLITS,
        "sections": section_names,
        "tables": {table.name for section in sections for table in section.tables},
        "versions": versions(),
        "sentences_of_parts": sentences_of_parts,
    }
    paragraphs = []
    for name in ("collection", "analysis"):
        sentences = [fill_template(template, values) for template in METHODS_SENTENCES[name]]
        paragraphs.append(" ".join(sentence for sentence in sentences if sentence))
    return tuple(paragraphs), tuple(cited_keys)


MANIFEST = "manifest.json"  # the file with the sizes and hashes of the others


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
    part_results = {
        part.name: part.compute(study, inputs, lambda share, message: progress(0.3 + 0.2 * share, message))
        for part in requested_parts
    }
    progress(0.5, "figures and tables")
    sections = sections_of(inputs, progress)
    if verdict := inputs.aggregation.result.get("systems_verdict"):
        sections.insert(0, section("verdict", [systems_sentence(verdict)]))
    # Files have this order, too: the ranking of systems before sections of other features.
    feature_sections = [make_section(study) for make_section in of_features("report_sections")]
    sections += sorted(filter(None, feature_sections), key=lambda section: reading_order(section.name))
    sections += [part.section(part_results[part.name]) for part in requested_parts]
    plan = find_registered(study)
    if plan is not None:
        sections.append(registration_section(plan, inputs))
    progress(0.8, "writing")
    aggregation, evaluation = inputs.aggregation, inputs.evaluation
    settings, signatures = {"aggregation": dict(aggregation.settings)}, {"aggregation": aggregation.signature}
    if evaluation is not None:
        settings["meta-evaluation"] = dict(evaluation.settings)
        signatures |= {"meta-evaluation": evaluation.signature, **evaluation.result["signatures"]}
    signatures |= {part.name: part.signature(study, part_results[part.name]) for part in requested_parts}
    return assemble_report(
        study, inputs, sections, title=study.name, signature=str(signature_of_study(study)), settings=settings,
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
    paragraphs, cited_keys = methods(inputs, study, sections)
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


def files_of(report: Report, progress: Progress = no_progress) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of all files except the manifest. Equal reports give equal bytes."""
    # Import late, because matplotlib takes 60 MB and 0.3 s.
    from evaluation.presentation.plots import figures as drawing

    svgs: dict[str, str] = {}
    plots = report.plots
    for number, plot in enumerate(plots):
        progress(0.8 + 0.18 * number / len(plots), f"figure {plot.name}")
        figure = drawing.draw_plot(plot, signature=report.signature)
        svg = drawing.svg_of(figure, plot, simulated=report.simulated)
        svgs[plot.name] = drawing.svg_for_page(svg, report.signature)
        yield f"figures/{plot.name}.svg", drawing.svg_for_file(svg)
        yield f"figures/{plot.name}.page.svg", svgs[plot.name].encode()
        yield f"figures/{plot.name}.pdf", drawing.pdf_of(figure)
        yield f"figures/{plot.name}.png", drawing.png_of(figure)
        yield f"figures/{plot.name}.csv", render_table(plot.data, "csv").encode()
    for table in report.tables:
        yield f"tables/{table.name}.csv", render_table(table, "csv").encode()
    for name, text in texts_of_report(report, svgs):
        yield name, text.encode()
    yield "report.json", _json_bytes(as_json(report))
    for name, result in report.parts.items():
        yield f"{name}.json", _json_bytes(result)


def texts_of_report(report: Report, svgs: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the name and content of all text files. ``svgs`` are the figures of ``index.html``."""
    for table in report.tables:
        for form in ("html", "tex", "md"):
            yield f"tables/{table.name}.{form}", render_table(table, form, report.signature)
    yield "index.html", render_report(report, "html", svgs)
    for form in ("md", "tex"):
        yield f"report.{form}", render_report(report, form)
        yield f"methods.{form}", render_methods(report, form)
    yield "references.bib", bibtex(report.citations)


def manifest_of(report: Report, checksums: dict[str, tuple[int, str]]) -> bytes:
    """Return the content of the manifest. ``checksums`` are the size and the SHA-256 of each other file, by name."""
    fields = ("study", "simulated", "signature", "data_hash", "seed", "versions")
    files = {name: {"bytes": size, "sha256": digest} for name, (size, digest) in sorted(checksums.items())}
    return _json_bytes({name: getattr(report, name) for name in fields} | {"files": files})


def with_manifest(report: Report, progress: Progress = no_progress) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of all files, and of the manifest as the last."""
    checksums: dict[str, tuple[int, str]] = {}
    for name, content in files_of(report, progress):
        checksums[name] = (len(content), hashlib.sha256(content).hexdigest())
        yield name, content
    yield MANIFEST, manifest_of(report, checksums)


def write_report(report: Report, folder: Path, *, progress: Progress = no_progress) -> list[str]:
    """Write ``report`` into ``folder`` atomically, replacing an earlier report. Return the names of the files.

    Raise ExportError if the folder cannot be written, or has other files.
    """
    return write_folder(folder, with_manifest(report, progress), marker=MANIFEST)


def write_folder(folder: Path, files: Iterable[tuple[str, bytes]], *, marker: str) -> list[str]:
    """Write files into ``folder`` atomically, and return their names.

    A folder is replaced only if it has a file named ``marker``, which shows that an earlier call wrote it.

    Raise ExportError if the folder cannot be written, or has other files.
    """
    check_folder(folder, marker=marker)
    new_folder = folder.with_name(f".{folder.name}.{uuid4().hex[:8]}.part")
    names = []
    try:
        for name, content in files:
            path = new_folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            names.append(name)
        # A folder cannot be replaced in one step, so move the old one away, and back if the new one cannot be moved.
        if folder.exists():
            old_folder = folder.with_name(f".{folder.name}.{uuid4().hex[:8]}.old")
            folder.rename(old_folder)
            try:
                new_folder.rename(folder)
            except OSError:
                old_folder.rename(folder)
                raise
            shutil.rmtree(old_folder)
        else:
            new_folder.rename(folder)
    except OSError as error:
        raise ExportError(f"{folder} cannot be written: {error.strerror or error}.") from None
    finally:
        shutil.rmtree(new_folder, ignore_errors=True)
    return names


def check_folder(folder: Path, *, marker: str = MANIFEST) -> None:
    """Raise ExportError unless the folder is new, empty, or has a file named ``marker``, and its parent exists."""
    if not folder.resolve().parent.is_dir():
        raise ExportError(f"The folder {folder.parent} does not exist; nothing was written.")
    if folder.exists() and not folder.is_dir():
        raise ExportError(f"{folder} is a file; expected the name of a folder.")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / marker).is_file():
        raise ExportError(f"{folder} holds files that are no report; expected a new or an empty folder.")


def _json_bytes(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1, cls=NanAsNullEncoder) + "\n").encode()


def report_for_download(
    *, study: Study, job_id: int, parts: Collection[str] = (), progress: Progress = no_progress
) -> tuple[Report, str]:
    """Build a report, and write its archive into the export folder. Return the report and the archive's name."""
    report = build_report(study, parts=parts, progress=progress)
    folder = Path(settings.EXPORT_ROOT)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{study.slug}-report-{job_id}.zip"
    with atomic_write(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in with_manifest(report, progress):
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
        judgments=report.signature,
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
    later_decisions = Adjudication.objects.filter(
        Q(decided_at__gt=stored_at) | Q(withdrawn_at__gt=stored_at), study=study
    )
    return later_decisions.exists()


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


@background_operation("report", "Make the report", job="report", once="always", parameters=MakeReportRequest)
def make_report(*, study: Study, **parts: bool) -> dict[str, Any]:
    """Make a report in the background. The result has `what` = `report`, and its files can be downloaded."""
    if study.state in (Study.State.DRAFT, Study.State.GENERATED):
        raise WrongState(
            _("Study %(slug)r is %(state)s. There is nothing to report before it is opened.")
            % {"slug": study.slug, "state": study.state}
        )
    return {name: True for name, is_requested in parts.items() if is_requested}
