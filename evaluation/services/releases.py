"""Giving a study's judgments away: a frozen, versioned bundle, and a row that says so."""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

import tomli_w
from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Max, Min
from django.utils import timezone

from annotation.models import Assignment, Exclusion
from common.audit import acting_person
from common.errors import NotThere
from common.files import check_place, whole_file
from evaluation.errors import NotReleasable, ReleaseError
from evaluation.export.released_rows import (
    released_captions,
    released_judgments,
    released_pairs,
    released_proposals,
    released_scores,
    released_units,
)
from evaluation.judgment_signature import circumstances, control_rule
from evaluation.loaders import full_depth_units
from evaluation.models import Registration, Release
from evaluation.provenance import quorum_version, versions, without_nan
from evaluation.registration import registered
from evaluation.releases.archive import BundleWriter
from evaluation.releases.datasheet import datasheet
from evaluation.releases.findings import Findings, find
from evaluation.releases.licences import check_licence, licence_text
from evaluation.releases.papers import LONGEST_VERSION, VERSION, About, citation_cff, croissant, readme
from evaluation.releases.pseudonyms import Pseudonyms
from evaluation.releases.released import ReleasedRows, Settings
from evaluation.releases.verification import FORMAT, OUTCOMES, REGISTRATION, REPORT
from evaluation.reports.bundle import files_of
from evaluation.services.released_report import (
    filter_counts,
    how_evaluated,
    metrics_against_people,
    report_of_rows,
)
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.generation import Progress, no_progress
from judgments.studies.log import note_event
from judgments.studies.studies import design_of

NEWEST = 100  # releases that the next version follows
SALT_BYTES = 32
LEFT_OUT = "left out"
JOB_KIND = "release"


@dataclass(frozen=True, slots=True)
class Terms:
    """What a release is called and on what terms it is given away.

    Attributes:
        title: '' takes the study's name.
        texts: whether captions are given away with it, or their ids alone.
        comments: whether people's comments are, without names, addresses and numbers.
    """

    version: str
    licence: str
    title: str = ""
    citation: str = ""
    texts: bool = True
    comments: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """A bundle that was written and is not noted yet."""

    path: Path
    about: About
    judgments: int
    size: int
    sha256: str


def release_study(
    *,
    study: Study,
    terms: Terms,
    output: Path,
    by: User | None = None,
    salt: bytes | None = None,
    on: date | None = None,
    progress: Progress = no_progress,
) -> tuple[Release, Path]:
    """Write a bundle of the study's judgments to ``output`` and note that it was released.

    Raises:
        ReleaseError: as for ``write_release``; the file is removed again where another release took the version.
    """
    written = write_release(study=study, terms=terms, path=output, salt=salt, on=on, progress=progress)
    try:
        release = note_release(study=study, written=written, by=by)
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
) -> Written:
    """Write the bundle alone; ``note_release`` makes a release of it.

    Args:
        salt: makes the pseudonyms and is kept nowhere; None: a new one.
        on: the day of the release; None: today.

    Raises:
        ReleaseError: the terms cannot be met, the study is not finished, or the version or file exists already.
    """
    licence = check_licence(terms.licence)
    check_terms(study, terms)
    check_place(path)
    if path.exists():
        raise ReleaseError(f"{path} exists already; a release is never written over.")
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
    return Written(
        path, replace(about, signature=findings.signature), findings.counts["judgments"], size, digest
    )


def place_for_release(*, study: Study, version: str, job_id: int, attempt: int) -> Path:
    """Where a job writes its bundle in the folder of exports; what its killed attempts left there is removed."""
    folder = Path(settings.EXPORT_ROOT)
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{study.slug}-release-{version}-{job_id}"
    noted = set(study.releases.values_list("file", flat=True))
    for earlier in range(1, attempt):
        name = f"{stem}-{earlier}.zip"
        for left in (folder / name, *folder.glob(f".{name}.*.part")):
            if left.name not in noted:
                left.unlink(missing_ok=True)
    return folder / f"{stem}-{attempt}.zip"


def release_file(release: Release) -> Path:
    """The bundle as it lies in the folder of exports.

    Raises:
        NotThere: it was written elsewhere, or removed.
    """
    if not is_kept(release):
        raise NotThere(
            f"The file of release {release.version} is not kept here; whoever has it can tell it by its SHA-256 "
            f"{release.sha256}."
        )
    return Path(settings.EXPORT_ROOT) / Path(release.file).name


def is_kept(release: Release) -> bool:
    """Whether its bundle lies in the folder of exports."""
    return bool(release.file) and (Path(settings.EXPORT_ROOT) / Path(release.file).name).is_file()


def find_release(study: Study, version: str) -> Release:
    """A study's release by its version.

    Raises:
        NotThere: there is none.
    """
    found = Release.objects.filter(study=study, version=version).first()
    if found is None:
        raise NotThere(f"Study {study.slug!r} has no release {version!r}.")
    return found


def release_name(study: Study, version: str) -> str:
    """The file name of a release in the folder of exports."""
    return f"{study.slug}-release-{version}.zip"


def next_version(study: Study) -> str:
    """1.0, then 1.1 and so on: after the highest of the newest releases, and never one that exists."""
    newest = study.releases.order_by("-pk").values_list("version", flat=True)[:NEWEST]
    known = [tuple(map(int, one.split("."))) for one in newest]
    if not known:
        return "1.0"
    major, minor, *_ = max(known)
    while study.releases.filter(version=f"{major}.{minor + 1}").exists():
        minor += 1
    return f"{major}.{minor + 1}"


def check_terms(study: Study, terms: Terms) -> None:
    """Whether the study can be released like this, before anything is written.

    Raises:
        ReleaseError: no version, a study that is not closed or has no judgments, or a version that exists already.
    """
    if not VERSION.fullmatch(terms.version) or len(terms.version) > LONGEST_VERSION:
        raise ReleaseError(f"{terms.version!r} is no version; expected numbers such as 1.0 or 1.1.")
    if study.state != Study.State.CLOSED:
        raise NotReleasable(
            f"Study {study.slug!r} is {study.state}; expected a closed one, as a release tells the right answers of "
            "its control items."
        )
    if not Assignment.objects.filter(study=study).finished().exists():
        raise NotReleasable(f"Study {study.slug!r} has no judgments to release.")
    if not terms.texts and KINDS[study.protocol].is_open:
        raise ReleaseError(
            f"Study {study.slug!r} is {study.protocol}, whose answers are about texts; it cannot be released without "
            "them."
        )
    if study.releases.filter(version=terms.version).exists():
        raise NotReleasable(_taken(study, terms.version))


def _taken(study: Study, version: str) -> str:
    return (
        f"Study {study.slug!r} was released as {version} before; expected another version, such as "
        f"{next_version(study)}."
    )


def _write(
    study: Study, about: About, terms: Terms, writer: BundleWriter, pseudonyms: Pseudonyms, progress: Progress
) -> Findings:
    """Every file of the bundle; the rows pass once, and what follows from them is computed from them alone."""
    design, kind = design_of(study), KINDS[study.protocol]
    evaluated, why_not = metrics_against_people(study)
    rule: Any = control_rule(study)
    rows = ReleasedRows(
        Settings(
            protocol=study.protocol,
            seed=design.seed,
            controls=rule if isinstance(rule, str) else float(rule),
            version=quorum_version(),
            others=circumstances(study),
            full_depth=full_depth_units(study) is not None,
            evaluation=how_evaluated(evaluated) if evaluated else {"why_not": why_not},
            filter=filter_counts(study),
            asked=kind.setting(design),
        )
    )
    progress(0.05, "writing units")
    writer.write_rows("units.jsonl", _taking(released_units(study, texts=terms.texts), rows.add_unit))
    if kind.compares_pairs:
        writer.write_rows("pairs.jsonl", _taking(released_pairs(study), rows.pairs.append))
    elif not kind.is_open:
        writer.write_rows("proposals.jsonl", _taking(released_proposals(study), rows.add_proposal))
    scores = released_scores(study, evaluated) if evaluated else iter(())
    writer.write_rows("scores.jsonl", _taking(scores, rows.scores.append))
    del evaluated  # from here on its rows speak
    if terms.texts:
        take = rows.captions.append if kind.compares_pairs else lambda row: None
        writer.write_rows("captions.jsonl", _taking(released_captions(study), take))
    progress(0.2, "writing judgments")
    judged = released_judgments(study, pseudonyms, texts=terms.texts, comments=terms.comments)
    writer.write_rows("judgments.jsonl", _taking(judged, rows.add_judgment))
    progress(0.6, "computing what they say")
    plan = registered(study, log_in_words=False)
    findings = find(rows, plan)
    about = replace(about, signature=findings.signature)
    writer.write_rows("consensus.jsonl", findings.consensus())
    writer.write_rows("workers.jsonl", findings.workers)
    writer.write_json("analyses.json", without_nan(findings.analyses()))
    progress(0.8, "drawing figures")
    for name, content in files_of(report_of_rows(study, about, findings)):
        writer.write_bytes(f"{REPORT}{name}", content)
    shared = shareable_design(study)
    writer.write_text("design.toml", tomli_w.dumps(shared, multiline_strings=True))
    registration = Registration.objects.filter(study=study).first()
    if registration is not None:
        writer.write_json(REGISTRATION, {"sha256": registration.sha256, **registration.content})
        writer.write_json(OUTCOMES, findings.outcomes)
    writer.write_text("datasheet.md", datasheet(about, findings, shared, _facts(study, rows)))
    writer.write_json("croissant.json", croissant(about, writer.files))
    writer.write_text("CITATION.cff", citation_cff(about))
    writer.write_text("LICENSE", licence_text(about.licence, about.title))
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


def _taking(rows: Iterable[dict[str, Any]], take: Any) -> Iterator[dict[str, Any]]:
    """``rows``, each handed to ``take`` as it passes."""
    for row in rows:
        take(row)
        yield row


def shareable_design(study: Study) -> dict[str, Any]:
    """The design without what lets people in: the code to join by, and a panel's codes and addresses."""
    design = design_of(study).model_dump(mode="json")
    if design["access"]["code"]:
        design["access"]["code"] = LEFT_OUT
    design["panel"] |= {"codes": {}, "addresses": {}}
    shared: dict[str, Any] = json.loads(json.dumps(design))
    return shared


def _facts(study: Study, rows: ReleasedRows) -> Mapping[str, Any]:
    """What the datasheet says besides."""
    times = (
        Assignment.objects.filter(study=study).finished().aggregate(Min("submitted_at"), Max("submitted_at"))
    )
    first, last = times["submitted_at__min"], times["submitted_at__max"]
    minutes = [work.seconds / 60 for work in rows.work.values() if work.seconds > 0]
    rules = Exclusion.objects.filter(study=study, lifted_at__isnull=True).values_list("rule", flat=True)
    return {
        "collected": f"From {first.date()} to {last.date()}." if first and last else "",
        "minutes": median(minutes) if minutes else None,
        "exclusions": dict(sorted(Counter(rules).items())),
    }


def note_release(*, study: Study, written: Written, file: str = "", by: User | None = None) -> Release:
    """The row and the log entry of a bundle that was written.

    Args:
        file: its name in the folder of exports; '' where it lies elsewhere.
        by: who released it; None: who is acting now.

    Raises:
        ReleaseError: the version was released meanwhile.
    """
    about, by = written.about, by or acting_person()
    try:
        with transaction.atomic():
            release = Release.objects.create(
                study=study,
                version=about.version,
                title=about.title[:300],
                licence=about.licence,
                citation=about.citation,
                texts=about.texts,
                signature=about.signature,
                sha256=written.sha256,
                size=written.size,
                file=file,
                made_by=by,
            )
            note_event(
                study=study,
                what="released",
                words=f"Released {written.judgments:,} judgments as version {about.version} under {about.licence}.",
                by=by,
                version=about.version,
                sha256=written.sha256,
            )
    except IntegrityError:
        raise NotReleasable(_taken(study, about.version)) from None
    return release
