"""Terms, versions, bundle paths and records of releases, and what an erasure does to them.

Erased people and discarded units go from results and files; the rows that a release was made from stay proven.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from annotation.models import Assignment, Erasure
from annotation.privacy.receipts import commitment_to, replace_words
from common.amounts import counted
from common.audit import acting_person
from common.errors import Busy, NotThere
from evaluation.data.export.formats.judgments import JudgmentRows
from evaluation.data.export.parts import take_snapshot
from evaluation.data.releases.bundle import LONGEST_VERSION, VERSION, About
from evaluation.data.releases.rows import to_the_minute
from evaluation.errors import NotReleasable, ReleaseError, VerificationError
from evaluation.models import Analysis, Prediction, Release
from judgments.access.roles import note_event
from judgments.kinds import KINDS
from judgments.models import Job, Study

JOB_KIND = "release"
NEWEST = 100  # releases that the next version follows


@dataclass(frozen=True, slots=True)
class Terms:
    """A release's title and terms; an empty title is the study's name."""

    version: str
    licence: str
    title: str = ""
    citation: str = ""
    texts: bool = True
    comments: bool = False


@dataclass(frozen=True, slots=True)
class WrittenBundle:
    path: Path
    about: About
    judgments: int
    size: int
    sha256: str


def place_for_release(*, study: Study, version: str, job_id: int, run: str) -> Path:
    """Return the path of a run's bundle; remove the files of the job's earlier runs."""
    folder = Path(settings.EXPORT_ROOT)
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{study.slug}-release-{version}-{job_id}"
    noted = set(study.releases.values_list("file", flat=True))
    for left in (*folder.glob(f"{stem}-*.zip"), *folder.glob(f".{stem}-*.zip.*.part")):
        if left.name not in noted:
            left.unlink(missing_ok=True)
    return folder / f"{stem}-{run}.zip"


def release_file(release: Release) -> Path:
    """Return the bundle's path in the export folder. Raise NotThere."""
    if not is_stored(release):
        raise NotThere(
            _(
                "The file of release %(version)s is not kept here; whoever has it can tell it by "
                "its SHA-256 %(sha256)s."
            )
            % {"version": release.version, "sha256": release.sha256}
        )
    return Path(settings.EXPORT_ROOT) / Path(release.file).name


def is_stored(release: Release) -> bool:
    return bool(release.file) and (Path(settings.EXPORT_ROOT) / Path(release.file).name).is_file()


def find_release(study: Study, version: str) -> Release:
    release = Release.objects.filter(study=study, version=version).first()
    if release is None:
        raise NotThere(
            _("Study %(slug)r has no release %(version)r.") % {"slug": study.slug, "version": version}
        )
    return release


def release_name(study: Study, version: str) -> str:
    return f"{study.slug}-release-{version}.zip"


def next_version(study: Study) -> str:
    """Return the next free version after the highest recent one: 1.0, 1.1, ..."""
    newest = study.releases.order_by("-pk").values_list("version", flat=True)[:NEWEST]
    known = [tuple(map(int, version.split("."))) for version in newest]
    if not known:
        return "1.0"
    major, minor, *_ = max(known)
    while study.releases.filter(version=f"{major}.{minor + 1}").exists():
        minor += 1
    return f"{major}.{minor + 1}"


def check_terms(study: Study, terms: Terms) -> None:
    """Raise ReleaseError if the study cannot be released on these terms."""
    if not VERSION.fullmatch(terms.version) or len(terms.version) > LONGEST_VERSION:
        raise ReleaseError(
            _("%(version)r is no version; expected numbers such as 1.0 or 1.1.") % {"version": terms.version}
        )
    if study.state != Study.State.CLOSED:
        raise NotReleasable(
            f"Study {study.slug!r} is {study.state}; expected a closed one, as a release tells the right answers of "
            "its control items."
        )
    if not Assignment.objects.filter(study=study).finished().exists():
        raise NotReleasable(f"Study {study.slug!r} has no judgments to release.")
    if not terms.texts and KINDS[study.protocol].is_open:
        raise ReleaseError(
            _(
                "Study %(slug)r is %(protocol)s, whose answers are about texts; it cannot be released without them."
            )
            % {"slug": study.slug, "protocol": study.protocol}
        )
    if study.releases.filter(version=terms.version).exists():
        raise NotReleasable(_version_exists(study, terms.version))


def _version_exists(study: Study, version: str) -> str:
    return (
        f"Study {study.slug!r} was released as {version} before; expected another version, such as "
        f"{next_version(study)}."
    )


def record_release(*, study: Study, bundle: WrittenBundle, file: str = "") -> Release:
    """Record the release in a row and the log. Raise ReleaseError if the version was released meanwhile."""
    about, by = bundle.about, acting_person()
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
                sha256=bundle.sha256,
                size=bundle.size,
                file=file,
                made_by=by,
            )
            note_event(
                study=study,
                what="released",
                sentence=f"Released {counted(bundle.judgments, 'judgment')} as version {about.version} under "
                f"{about.licence}.",
                by=by,
                version=about.version,
                sha256=bundle.sha256,
            )
    except IntegrityError:
        raise NotReleasable(_version_exists(study, about.version)) from None
    return release


WRITES_FILES = ("export", "report", "release")


def forget_person(*, study: Study, replacements: Mapping[str, str], **_signal: Any) -> None:
    """Rename the person in stored results, and delete caches, in the erasure's transaction.

    Results stay, older than the data, until they are recomputed.
    """
    forget_columns(study=study)
    for analysis in Analysis.objects.filter(study=study).iterator(1):
        after = replace_words([analysis.result, analysis.settings], replacements)
        if after != [analysis.result, analysis.settings]:
            Analysis.objects.filter(pk=analysis.pk).update(result=after[0], settings=after[1])


def describe_computed_results(*, study: Study, **_signal: Any) -> str:
    """Return in a sentence what refers to the study's units or names them, so that they stay; or ""."""
    about = {"slug": study.slug}
    if Prediction.objects.filter(study=study).exists():
        return _("Predictions were imported for study %(slug)r; duplicate the study instead.") % about
    if Release.objects.filter(study=study).exists():
        return _("Study %(slug)r was released; duplicate the study instead.") % about
    return ""


def forget_columns(*, study: Study, **_signal: Any) -> None:
    """Delete copies of the study's rows."""
    from evaluation.data.judgment_sets.blocks import forget_blocks

    forget_blocks(study)


def remove_files(*, study: Study, withdraw: bool, **_signal: Any) -> None:
    """Remove the study's exports and reports, which name people and can be rewritten. Idempotent.

    Args:
        withdraw: whether to remove release files too; their rows with version and SHA-256 stay.

    Raises:
        Busy: such a file is being written.
    """
    jobs = Job.objects.filter(args__study=study.slug)
    if jobs.filter(kind__in=WRITES_FILES, state=Job.State.RUNNING).exists():
        raise Busy(_("A file of study %(slug)r is being written.") % {"slug": study.slug})
    written = jobs.filter(kind__in=("export", "report")).values_list("kind", "pk")
    for kind, pk in written:
        remove_written(f"{study.slug}-{'report-' if kind == 'report' else ''}{pk}")
    if withdraw:
        for release in filter(is_stored, Release.objects.filter(study=study)):
            release_file(release).unlink(missing_ok=True)


def erased_since(analysis: Analysis) -> bool:
    """Return whether somebody was erased since: the analysis may rest on their judgments or the order of names."""
    return Erasure.objects.filter(study=analysis.study_id, at__gt=analysis.created_at).exists()


ROWS = "judgments.jsonl"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a bundle's judgments are now.

    Attributes:
        version: the release with the file's SHA-256, or "".
        here: judgments in the study, by unit, answer and minute.
        committed: judgments that an erasure committed to, proved by a receipt.
        missing: the rest.
        erased: judgments erased since; an upper bound of ``missing`` if the bundle is genuine.
    """

    version: str
    here: int
    committed: int
    missing: int
    erased: int

    @property
    def holds(self) -> bool:
        return bool(self.version) and self.missing <= self.erased - self.committed

    def summary(self) -> str:
        which = (
            _("The file is release %(version)s, byte for byte.") % {"version": self.version}
            if self.version
            else _("The file is no release that this study recorded.")
        )
        counts = _(
            "Of its judgments %(here)s are here, %(committed)s are proved by receipts, and %(missing)s are neither; "
            "erasures removed %(erased)s."
        ) % {"here": self.here, "committed": self.committed, "missing": self.missing, "erased": self.erased}
        return f"{which} {counts}"


def origin_of(*, study: Study, bundle: Path, receipts: Collection[str] = ()) -> Origin:
    """Compare a release's judgments with the study's rows and erasure commitments. Raise VerificationError."""
    left = Counter(_row_key(row) for row in JudgmentRows(study, take_snapshot(study)))
    erasures = Erasure.objects.filter(study=study)
    known = Counter(digest for erasure in erasures for digest in erasure.content.get("commitments", ()))
    here = proved = missing = 0
    for row in _rows_of_bundle(bundle):
        key = _row_key(row)
        if left[key]:
            left[key] -= 1
            here += 1
            continue
        digests = (commitment_to(receipt, row) for receipt in receipts)
        commitment = next((digest for digest in digests if known[digest]), None)
        if commitment is None:
            missing += 1
        else:
            known[commitment] -= 1
            proved += 1
    digest = hashlib.sha256(bundle.read_bytes()).hexdigest()
    release = Release.objects.filter(study=study, sha256=digest).first()
    return Origin(
        version=release.version if release else "",
        here=here,
        committed=proved,
        missing=missing,
        erased=sum(erasure.content["removed"].get("judgment", 0) for erasure in erasures),
    )


def _row_key(row: dict[str, Any]) -> str:
    key = [row["unit"], row["value"], row.get("answer"), to_the_minute(row["submitted_at"])]
    return json.dumps(key, sort_keys=True)


def _rows_of_bundle(bundle: Path) -> Iterator[dict[str, Any]]:
    try:
        with ZipFile(bundle) as archive, archive.open(ROWS) as lines:
            for line in lines:
                yield json.loads(line)
    except (OSError, BadZipFile, KeyError, ValueError):
        raise VerificationError(
            _("%(path)s is no release; expected a zip with %(rows)s.") % {"path": bundle, "rows": ROWS}
        ) from None


def remove_written(stem: str) -> None:
    """Remove what the job of an export or report wrote, the parts of a file too."""
    folder = Path(settings.EXPORT_ROOT)
    for path in (*folder.glob(f"{stem}.*"), *folder.glob(f".{stem}.*")):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
