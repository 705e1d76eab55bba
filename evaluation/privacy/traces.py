"""Remove an erased person from results and files."""

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
    """Rename the person in stored results, and delete caches, in the erasure's transaction.

    Results stay, older than the data, until they are recomputed.
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
    """Remove the study's exports and reports, which name people and can be rewritten. Idempotent.

    Args:
        withdraw: whether to remove release files too; their rows with version and SHA-256 stay.

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
    """Return whether somebody was erased since: the analysis may rest on their judgments or the order of names."""
    return Erasure.objects.filter(study=analysis.study_id, at__gt=analysis.created_at).exists()
