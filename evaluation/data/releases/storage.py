"""Where bundles, the files of releases, are stored here, and the rows of the database that record releases."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from common.amounts import with_noun
from common.audit import acting_person
from common.errors import ObjectNotFound
from evaluation.data.releases.documents import ReleaseDescription
from evaluation.data.releases.terms import describe_earlier_release
from evaluation.errors import NotReleasable
from evaluation.models import Release
from judgments.access.study_log import note_event
from judgments.models import Study

JOB_KIND = "release"


@dataclass(frozen=True, slots=True)
class WrittenBundle:
    """A bundle that was written, with the number of its judgments, and the size and SHA-256 of its file."""

    path: Path
    description: ReleaseDescription
    judgments: int
    size: int
    sha256: str


def prepare_release_path(*, study: Study, version: str, job_id: int, run: str) -> Path:
    """Return the path for the bundle of this run of a job.

    Create its folder, and remove files of earlier runs of the job that no recorded release uses.
    """
    folder = Path(settings.EXPORT_ROOT)
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{study.slug}-release-{version}-{job_id}"
    recorded_files = set(study.releases.values_list("file", flat=True))
    for path in (*folder.glob(f"{stem}-*.zip"), *folder.glob(f".{stem}-*.zip.*.part")):
        if path.name not in recorded_files:
            path.unlink(missing_ok=True)
    return folder / f"{stem}-{run}.zip"


def release_file(release: Release) -> Path:
    """Return the path of the release's bundle in the export folder.

    Raise ObjectNotFound if the file is not stored there.
    """
    if not is_stored(release):
        raise ObjectNotFound(
            _(
                "The file of release %(version)s is not stored on this server. You can recognise a copy by its "
                "SHA-256 hash, %(sha256)s."
            )
            % {"version": release.version, "sha256": release.sha256}
        )
    return Path(settings.EXPORT_ROOT) / Path(release.file).name


def is_stored(release: Release) -> bool:
    return bool(release.file) and (Path(settings.EXPORT_ROOT) / Path(release.file).name).is_file()


def find_release(study: Study, version: str) -> Release:
    release = Release.objects.filter(study=study, version=version).first()
    if release is None:
        raise ObjectNotFound(
            _("Study %(slug)r has no release %(version)r.") % {"slug": study.slug, "version": version}
        )
    return release


def release_name(study: Study, version: str) -> str:
    return f"{study.slug}-release-{version}.zip"


def record_release(*, study: Study, bundle: WrittenBundle, file: str = "") -> Release:
    """Record the release in the database and in the study's log. Raise NotReleasable if the version already exists.

    ``file`` is the name of the bundle in the export folder; "" if it is stored elsewhere.
    """
    description, by = bundle.description, acting_person()
    try:
        with transaction.atomic():
            release = Release.objects.create(
                study=study,
                version=description.version,
                title=description.title[:300],
                licence=description.licence,
                citation=description.citation,
                texts=description.texts,
                signature=description.signature,
                sha256=bundle.sha256,
                size=bundle.size,
                file=file,
                made_by=by,
            )
            note_event(
                study=study,
                what="released",
                sentence=f"Released {with_noun(bundle.judgments, 'judgment')} as version {description.version} under "
                f"{description.licence}.",
                by=by,
                version=description.version,
                sha256=bundle.sha256,
            )
    except IntegrityError:
        raise NotReleasable(describe_earlier_release(study, description.version)) from None
    return release
