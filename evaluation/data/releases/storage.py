"""Terms, versions, bundle paths and records of releases."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from annotation.models import Assignment
from common.amounts import counted
from common.audit import acting_person
from common.errors import NotThere
from evaluation.data.releases.documents import LONGEST_VERSION, VERSION, About
from evaluation.errors import NotReleasable, ReleaseError
from evaluation.models import Release
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.log import note_event

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


def stored_releases(study: Study) -> list[Release]:
    return [release for release in Release.objects.filter(study=study) if is_stored(release)]


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
