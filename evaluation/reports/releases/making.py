"""Make a release: a versioned bundle of the judgments of a closed study. The bundle never changes.

A bundle has the study's rows under pseudonyms and without identifying text, the results computed from these rows alone,
and documents. Anybody can compute the results again from the rows (``verification``).
"""

from __future__ import annotations

import secrets
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
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
from annotation.privacy.consent import versions_in_use
from common.amounts import as_json
from common.files import atomic_write, check_writable_path
from evaluation.data.judgment_sets.loaders import full_depth_units, is_anonymous, load_judgments
from evaluation.data.judgment_sets.study_signatures import controls_field, uncommon_fields
from evaluation.data.releases.bundle import BundleWriter
from evaluation.data.releases.designs import shareable_design
from evaluation.data.releases.documents import ReleaseDescription, make_documents, spdx_id_of
from evaluation.data.releases.rows import ReleasedRows
from evaluation.data.releases.settings import ReleaseSettings
from evaluation.data.releases.storage import WrittenBundle, record_release
from evaluation.data.releases.terms import ReleaseTerms, check_terms
from evaluation.errors import ReleaseError
from evaluation.models import Release
from evaluation.presentation.rendering import WORDING_VERSION
from evaluation.reports.files import files_of
from evaluation.reports.inputs import EvaluationResult
from evaluation.reports.loading import load_evaluation
from evaluation.reports.methods import methods_with_citations
from evaluation.reports.releases.findings import Findings, compute_findings, report_of_release
from evaluation.reports.releases.pseudonymous_judgments import Pseudonyms, released_judgments
from evaluation.reports.releases.released_rows import (
    released_captions,
    released_contents,
    released_pairs,
    released_proposals,
    released_scores,
    released_units,
)
from evaluation.reports.releases.verification import FORMAT, OUTCOMES, REGISTRATION, REPORT
from evaluation.reports.sections.registration import find_registered_plan
from evaluation.results.consensus.study import consensus_of
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.designs import design_of
from judgments.studies.generation.progress import Progress, no_progress
from quorum.numeric.signatures import quorum_version, versions

SALT_BYTES = 32  # the size of a SHA-256 hash, as RFC 2104 recommends for keys


def release_study(
    *,
    study: Study,
    terms: ReleaseTerms,
    output: Path,
    salt: bytes | None = None,
    released_on: date | None = None,
    progress: Progress = no_progress,
) -> tuple[Release, Path]:
    """Write a bundle to ``output`` (see ``write_release``), and record the release.

    Raise ReleaseError if the study cannot be released on these terms, or if ``output`` already exists.
    """
    bundle = write_release(
        study=study, terms=terms, path=output, salt=salt, released_on=released_on, progress=progress
    )
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
    terms: ReleaseTerms,
    path: Path,
    salt: bytes | None = None,
    released_on: date | None = None,
    progress: Progress = no_progress,
) -> WrittenBundle:
    """Write a bundle without recording the release.

    Args:
        salt: salt of the pseudonyms, which is never stored; by default a random one.
        released_on: the release date; by default today.

    Raises:
        ReleaseError: the study cannot be released on these terms, or the path already exists.
    """
    licence = spdx_id_of(terms.licence)
    check_terms(study, terms)
    check_writable_path(path)
    if path.exists():
        raise ReleaseError(_("%(path)s already exists; a release is never overwritten.") % {"path": path})
    description = ReleaseDescription(
        study=study.slug,
        title=terms.title or study.name,
        version=terms.version,
        licence=licence,
        citation=terms.citation,
        released_on=released_on or timezone.now().date(),
        signature="",  # known once the rows are written
        simulated=study.simulated,
        attribution=study.dataset.attribution,
        texts=terms.texts,
    )
    with atomic_write(path) as file:
        writer = BundleWriter(file)
        try:
            pseudonyms = Pseudonyms(salt or secrets.token_bytes(SALT_BYTES))
            findings = _write_files(study, description, terms, writer, pseudonyms, progress)
        finally:
            writer.finish()  # close the zip file, also after an error
        size, digest = file.size, file.hexdigest()
    description = replace(description, signature=findings.signature)
    return WrittenBundle(path, description, findings.counts["judgments"], size=size, sha256=digest)


def _write_files(
    study: Study,
    description: ReleaseDescription,
    terms: ReleaseTerms,
    writer: BundleWriter,
    pseudonyms: Pseudonyms,
    progress: Progress,
) -> Findings:
    """Write all files of the bundle in one pass over the rows. Results are computed only from the written rows."""
    kind = KINDS[study.protocol]
    evaluation, reason = load_evaluation(study, consensus_of(study, load_judgments(study)))
    rows = ReleasedRows(_release_settings(study, evaluation, reason))
    progress(0.05, "writing units")
    writer.write_rows(
        "units.jsonl", _pass_rows_through(released_units(study, texts=terms.texts), rows.add_unit)
    )
    if kind.compares_pairs:
        writer.write_rows("pairs.jsonl", _pass_rows_through(released_pairs(study), rows.add_pair))
    elif not kind.is_open:  # a proposal is an entry of a system's ranked list
        writer.write_rows("proposals.jsonl", _pass_rows_through(released_proposals(study), rows.add_proposal))
    if kind.system_content:
        writer.write_rows(
            "contents.jsonl", _pass_rows_through(released_contents(study, kind), rows.contents.append)
        )
    scores = released_scores(study, evaluation) if evaluation else iter(())
    writer.write_rows("scores.jsonl", _pass_rows_through(scores, rows.scores.append))
    del evaluation  # from now on, use only the written rows
    if terms.texts:
        captions: Iterable[dict[str, Any]] = released_captions(study)
        if kind.compares_pairs:  # results of other kinds do not depend on captions
            captions = _pass_rows_through(captions, rows.captions.append)
        writer.write_rows("captions.jsonl", captions)
    progress(0.2, "writing judgments")
    judged_rows = released_judgments(study, pseudonyms, texts=terms.texts, comments=terms.comments)
    writer.write_rows("judgments.jsonl", _pass_rows_through(judged_rows, rows.add_judgment))
    progress(0.6, "computing results")
    plan = find_registered_plan(study, with_sentences=False)  # sentences of the log may name people
    findings = compute_findings(rows, plan)
    description = replace(description, signature=findings.signature)
    writer.write_rows("consensus.jsonl", findings.consensus())
    writer.write_rows("workers.jsonl", findings.workers)
    writer.write_json("analyses.json", as_json(findings.analyses()))
    progress(0.8, "drawing figures")
    manifest = _manifest(study, description, terms, rows.settings, plan.sha256 if plan is not None else None)
    report = report_of_release(
        manifest, findings, *methods_with_citations(findings.inputs, study, findings.sections)
    )
    for name, content in files_of(report):
        writer.write_bytes(f"{REPORT}{name}", content)
    design_file = tomli_w.dumps(shareable_design(study), multiline_strings=True)
    writer.write_text("design.toml", design_file)
    if plan is not None:
        writer.write_json(REGISTRATION, {"sha256": plan.sha256, **plan.content})
        writer.write_json(OUTCOMES, findings.outcomes)
    documents = make_documents(
        description,
        writer.files,
        agreement=findings.agreement,
        counts=findings.counts,
        design=tomllib.loads(design_file),
        facts=manifest["facts"],
        quorum_version=quorum_version(),
    )
    for name, text in documents.items():
        writer.write_text(name, text)
    writer.close(manifest)
    return findings


def _release_settings(study: Study, evaluation: EvaluationResult | None, reason: str) -> ReleaseSettings:
    """Return the settings on which results of the rows alone depend. ``reason`` says why there is no evaluation."""
    design, kind = design_of(study), KINDS[study.protocol]
    required_share: Any = controls_field(study)  # of control items to answer right, or a word such as "none"
    return ReleaseSettings(
        protocol=study.protocol,
        seed=design.seed,
        controls=required_share if isinstance(required_share, str) else float(required_share),
        version=quorum_version(),
        others=uncommon_fields(study),  # of the judgments' signature
        full_depth=full_depth_units(study) is not None,
        evaluation=_evaluation_settings(evaluation) if evaluation else {"why_not": reason},
        filter=_filter_counts(study),
        asked=kind.setting(design),  # the options that answers depend on, such as a scale
        # the methods of this version; bundles of older versions may lack these settings
        cut_times=True,
        wording=WORDING_VERSION,
        winners_signed=True,
        clustered=True,
        # what the study's kind and its data allow
        both_orders=kind.two_sided,
        raters_known=not is_anonymous(study),
        credited=kind.relevance is not None,
    )


def _manifest(
    study: Study,
    description: ReleaseDescription,
    terms: ReleaseTerms,
    settings: ReleaseSettings,
    registration: str | None,
) -> dict[str, Any]:
    """Return the manifest without the hashes of the files. ``registration`` is the hash of the registered plan."""
    return {
        "format": FORMAT,
        "study": study.slug,
        "title": description.title,
        "version": description.version,
        "licence": description.licence,
        "citation": description.citation,
        "released_on": description.released_on.isoformat(),
        "simulated": study.simulated,
        "attribution": description.attribution,
        "texts": terms.texts,
        "comments": terms.comments,
        "settings": settings.as_json(),
        "seed": design_of(study).seed,
        "signature": description.signature,
        "versions": versions(),
        "registration": registration,
        "facts": _datasheet_facts(study),
    }


def _pass_rows_through(
    rows: Iterable[dict[str, Any]], collect: Callable[[Mapping[str, Any]], None]
) -> Iterator[dict[str, Any]]:
    """Yield the rows, each after a call of ``collect`` with it, so that rows are written and collected in one pass."""
    for row in rows:
        collect(row)
        yield row


def _evaluation_settings(evaluation: EvaluationResult) -> dict[str, Any]:
    return {
        "settings": dict(evaluation.settings),
        "signature": evaluation.signature,
        "signatures": dict(evaluation.result["signatures"]),
    }


def _filter_counts(study: Study) -> dict[str, int]:
    """Return the numbers of pairs before and after the caption filter; {} unless rejected pairs are judged, too."""
    notes = study.notes
    if not notes.get("audited"):
        return {}
    return {"pairs": notes["candidate_pairs"], "passed": notes["passed_filter"]}


def _datasheet_facts(study: Study) -> Mapping[str, Any]:
    """Return facts for the datasheet (``format_datasheet``)."""
    work = Assignment.objects.filter(study=study).finished()
    times = work.aggregate(Min("submitted_at"), Max("submitted_at"))
    first_time, last_time = times["submitted_at__min"], times["submitted_at__max"]
    # Use the times in the database, because the released times are cut to the minute.
    timed_work = work.filter(submitted_at__gt=F("accepted_at"), judgments__isnull=False).distinct()
    minutes = [
        (submitted - accepted).total_seconds() / 60
        for _, accepted, submitted in timed_work.values_list("pk", "accepted_at", "submitted_at").iterator()
        if accepted and submitted
    ]
    consents = [(row.version.number, row.version.version, row.people_count) for row in versions_in_use(study)]
    rules = Exclusion.objects.filter(study=study, lifted_at__isnull=True).values_list("rule", flat=True)
    return {
        "collected": f"From {first_time.date()} to {last_time.date()}." if first_time and last_time else "",
        "minutes": median(minutes) if minutes else None,
        "exclusions": dict(sorted(Counter(rules).items())),  # by detector; "" for those that a person made
        "consents": consents[::-1],  # number, hash and people of each version, oldest first
    }
