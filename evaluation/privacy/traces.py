"""Traces of a person in results and files, removed when the person is erased."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from annotation.models import Erasure
from annotation.privacy.erasing import rewritten
from common.errors import Busy
from evaluation.models import Analysis, BoardSnapshot
from evaluation.releases.storage import release_file, stored_releases
from judgments.models import Job, Study

WRITES_FILES = ("export", "report", "release")


def forget_person(*, study: Study, words: Mapping[str, str], **_signal: Any) -> None:
    """Rename the person in stored results, and delete what is made again; in the transaction of the erasure.

    Results stay as they are, older than the data, until they are computed again.
    """
    from evaluation.judgment_sets.blocks import (
        forget_blocks,
    )  # needs Arrow, which a web process starts without

    forget_blocks(study)
    BoardSnapshot.objects.filter(study=study).delete()
    for analysis in Analysis.objects.filter(study=study).iterator(1):
        after = rewritten([analysis.result, analysis.settings], words)
        if after != [analysis.result, analysis.settings]:
            Analysis.objects.filter(pk=analysis.pk).update(result=after[0], settings=after[1])


def remove_files(*, study: Study, withdraw: bool, **_signal: Any) -> None:
    """Remove exports and reports of the study, which name people; they can be made again. Twice is harmless.

    Args:
        withdraw: whether files of releases go as well; their rows with version and SHA-256 stay.

    Raises:
        Busy: such a file is being written.
    """
    jobs = Job.objects.filter(args__study=study.slug)
    if jobs.filter(kind__in=WRITES_FILES, state=Job.State.RUNNING).exists():
        raise Busy(_("A file of study %(slug)r is being written.") % {"slug": study.slug})
    folder = Path(settings.EXPORT_ROOT)
    written = jobs.filter(kind__in=("export", "report")).values_list("kind", "pk")
    stems = [f"{study.slug}-{'report-' if kind == 'report' else ''}{pk}" for kind, pk in written]
    for stem in stems:
        for path in (*folder.glob(f"{stem}.*"), *folder.glob(f".{stem}.*")):
            if path.is_dir():
                for part in path.iterdir():
                    part.unlink(missing_ok=True)
                path.rmdir()
            else:
                path.unlink(missing_ok=True)
    if withdraw:
        for release in stored_releases(study):
            release_file(release).unlink(missing_ok=True)


def erased_since(analysis: Analysis) -> bool:
    """Return whether somebody was erased after the analysis: it rests on their judgments, or on their name's order."""
    return Erasure.objects.filter(study=analysis.study_id, at__gt=analysis.created_at).exists()
