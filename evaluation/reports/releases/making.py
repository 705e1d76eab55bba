"""Write a release: a frozen, versioned bundle, and its row."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

import tomli_w
from django.db.models import F, Max, Min
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import Assignment, Exclusion
from annotation.privacy.consent import versions_of
from common.files import check_place, whole_file
from evaluation.data.judgment_sets.loaders import (
    control_rule,
    full_depth_units,
    is_anonymous,
    load_judgments,
    uncommon_fields,
)
from evaluation.data.provenance import as_json, quorum_version, versions
from evaluation.data.releases.bundle import BundleWriter
from evaluation.data.releases.documents import (
    About,
    check_licence,
    citation_cff,
    croissant,
    datasheet,
    licence_text,
    readme,
    shareable_design,
)
from evaluation.data.releases.rows import ReleasedRows, Settings
from evaluation.data.releases.storage import Terms, WrittenBundle, check_terms, record_release
from evaluation.errors import ReleaseError
from evaluation.models import Registration, Release
from evaluation.planning.registration.plans import find_registered
from evaluation.presentation.content import Report
from evaluation.presentation.rendering import WORDING
from evaluation.reports.loading import Evaluated, evaluation_of
from evaluation.reports.releases.inputs import Findings, compute_findings
from evaluation.reports.releases.study_rows import (
    Pseudonyms,
    released_captions,
    released_judgments,
    released_pairs,
    released_proposals,
    released_scores,
    released_units,
)
from evaluation.reports.releases.verification import FORMAT, OUTCOMES, REGISTRATION, REPORT
from evaluation.reports.storage import assemble_report, files_of
from evaluation.results.aggregation import consensus_of
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.generation import Progress, no_progress
from judgments.studies.studies import design_of

SALT_BYTES = 32


def release_study(
    *,
    study: Study,
    terms: Terms,
    output: Path,
    salt: bytes | None = None,
    on: date | None = None,
    progress: Progress = no_progress,
) -> tuple[Release, Path]:
    """Write a bundle to ``output`` and record the release. Raise ReleaseError."""
    bundle = write_release(study=study, terms=terms, path=output, salt=salt, on=on, progress=progress)
    try:
        release = record_release(study=study, bundle=bundle)
    except ReleaseError:
        output.unlink()
        raise
    progress(1.0, "done")
    return release, output


def write_release(
    *,
    study: Study,
    terms: Terms,
    path: Path,
    salt: bytes | None = None,
    on: date | None = None,
    progress: Progress = no_progress,
) -> WrittenBundle:
    """Write only the bundle. Raise ReleaseError.

    Args:
        salt: of the pseudonyms, never stored; None: a new one.
        on: the release date; None: today.
    """
    licence = check_licence(terms.licence)
    check_terms(study, terms)
    check_place(path)
    if path.exists():
        raise ReleaseError(_("%(path)s exists already; a release is never written over.") % {"path": path})
    about = About(
        study=study.slug,
        title=terms.title or study.name,
        version=terms.version,
        licence=licence,
        citation=terms.citation,
        on=on or timezone.now().date(),
        signature="",
        simulated=study.simulated,
        attribution=study.dataset.attribution,
        texts=terms.texts,
    )
    with whole_file(path) as file:
        writer = BundleWriter(file)
        try:
            findings = _write(
                study, about, terms, writer, Pseudonyms(salt or secrets.token_bytes(SALT_BYTES)), progress
            )
        finally:
            writer.finish()
        size, digest = file.size, file.hexdigest()
    return WrittenBundle(
        path, replace(about, signature=findings.signature), findings.counts["judgments"], size, digest
    )


def _write(
    study: Study, about: About, terms: Terms, writer: BundleWriter, pseudonyms: Pseudonyms, progress: Progress
) -> Findings:
    """Write every file of the bundle in one pass over the rows; results use only those rows."""
    design, kind = design_of(study), KINDS[study.protocol]
    evaluated, why_not = evaluation_of(study, consensus_of(study, load_judgments(study)))
    rule: Any = control_rule(study)
    rows = ReleasedRows(
        Settings(
            protocol=study.protocol,
            seed=design.seed,
            controls=rule if isinstance(rule, str) else float(rule),
            version=quorum_version(),
            others=uncommon_fields(study),
            full_depth=full_depth_units(study) is not None,
            evaluation=_evaluation_settings(evaluated) if evaluated else {"why_not": why_not},
            filter=_filter_counts(study),
            asked=kind.setting(design),
            cut_times=True,
            wording=WORDING,
            winners_signed=True,
            clustered=True,
            raters_known=not is_anonymous(study),
        )
    )
    progress(0.05, "writing units")
    writer.write_rows(
        "units.jsonl", _pass_rows_through(released_units(study, texts=terms.texts), rows.add_unit)
    )
    if kind.compares_pairs:
        writer.write_rows("pairs.jsonl", _pass_rows_through(released_pairs(study), rows.pairs.append))
    elif not kind.is_open:
        writer.write_rows("proposals.jsonl", _pass_rows_through(released_proposals(study), rows.add_proposal))
    scores = released_scores(study, evaluated) if evaluated else iter(())
    writer.write_rows("scores.jsonl", _pass_rows_through(scores, rows.scores.append))
    del evaluated  # from here on its rows speak
    if terms.texts:
        take = rows.captions.append if kind.compares_pairs else lambda row: None
        writer.write_rows("captions.jsonl", _pass_rows_through(released_captions(study), take))
    progress(0.2, "writing judgments")
    judged = released_judgments(study, pseudonyms, texts=terms.texts, comments=terms.comments)
    writer.write_rows("judgments.jsonl", _pass_rows_through(judged, rows.add_judgment))
    progress(0.6, "computing what they say")
    plan = find_registered(study, with_sentences=False)
    findings = compute_findings(rows, plan)
    about = replace(about, signature=findings.signature)
    writer.write_rows("consensus.jsonl", findings.consensus())
    writer.write_rows("workers.jsonl", findings.workers)
    writer.write_json("analyses.json", as_json(findings.analyses()))
    progress(0.8, "drawing figures")
    for name, content in files_of(_report_of_rows(study, about, findings)):
        writer.write_bytes(f"{REPORT}{name}", content)
    shared = shareable_design(study)
    writer.write_text("design.toml", tomli_w.dumps(shared, multiline_strings=True))
    registration = Registration.objects.filter(study=study).first()
    if registration is not None:
        writer.write_json(REGISTRATION, {"sha256": registration.sha256, **registration.content})
        writer.write_json(OUTCOMES, findings.outcomes)
    writer.write_text(
        "datasheet.md", datasheet(about, findings.agreement, findings.counts, shared, _facts(study))
    )
    writer.write_json("croissant.json", croissant(about, writer.files))
    writer.write_text("CITATION.cff", citation_cff(about))
    writer.write_text("LICENSE", licence_text(about))
    writer.write_text("README.md", readme(about, writer.files, quorum_version()))
    writer.close(
        {
            "format": FORMAT,
            "study": study.slug,
            "title": about.title,
            "version": about.version,
            "licence": about.licence,
            "citation": about.citation,
            "released_on": about.on.isoformat(),
            "simulated": study.simulated,
            "texts": terms.texts,
            "comments": terms.comments,
            "settings": rows.settings.as_json(),
            "seed": design.seed,
            "signature": findings.signature,
            "versions": versions(),
            "registration": registration.sha256 if registration is not None else None,
        }
    )
    return findings


def _pass_rows_through(rows: Iterable[dict[str, Any]], take: Any) -> Iterator[dict[str, Any]]:
    for row in rows:
        take(row)
        yield row


def _evaluation_settings(evaluated: Evaluated) -> dict[str, Any]:
    computed = evaluated.evaluation
    return {
        "settings": dict(computed.settings),
        "signature": computed.signature,
        "signatures": dict(computed.result["signatures"]),
    }


def _filter_counts(study: Study) -> dict[str, int]:
    notes = study.notes
    if not notes.get("audited"):
        return {}
    return {"pairs": notes["candidate_pairs"], "passed": notes["passed_filter"]}


def _report_of_rows(study: Study, about: About, findings: Findings) -> Report:
    evaluation = findings.inputs.evaluation
    return assemble_report(
        study,
        findings.inputs,
        findings.sections,
        title=about.title,
        signature=findings.signature,
        settings={"meta-evaluation": dict(evaluation.settings)} if evaluation else {},
        signatures=dict(evaluation.result["signatures"]) if evaluation else {},
    )


def _facts(study: Study) -> Mapping[str, Any]:
    work = Assignment.objects.filter(study=study).finished()
    times = work.aggregate(Min("submitted_at"), Max("submitted_at"))
    first, last = times["submitted_at__min"], times["submitted_at__max"]
    # from the database, as the released times are cut to the minute
    known = work.filter(submitted_at__gt=F("accepted_at"), judgments__isnull=False).distinct()
    minutes = [
        (submitted - accepted).total_seconds() / 60
        for _, accepted, submitted in known.values_list("pk", "accepted_at", "submitted_at").iterator()
        if accepted and submitted
    ]
    consents = [(row.version.number, row.version.version, row.people) for row in versions_of(study)]
    rules = Exclusion.objects.filter(study=study, lifted_at__isnull=True).values_list("rule", flat=True)
    return {
        "collected": f"From {first.date()} to {last.date()}." if first and last else "",
        "minutes": median(minutes) if minutes else None,
        "exclusions": dict(sorted(Counter(rules).items())),
        "consents": consents[::-1],
    }
