"""Remove erased people and discarded units from results and files, and prove from which rows a release was made."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from django.conf import settings
from django.utils.translation import gettext as _

from annotation.models import Erasure
from annotation.privacy.erasing import commitment_to, replace_words
from common.errors import Busy
from evaluation.data.export.rows import JudgmentRows
from evaluation.data.export.snapshot import take_snapshot
from evaluation.data.releases.rows import to_the_minute
from evaluation.data.releases.storage import release_file, stored_releases
from evaluation.errors import VerificationError
from evaluation.models import Analysis, BoardSnapshot, Judge, Prediction, Release
from judgments.models import Job, Study

WRITES_FILES = ("export", "report", "release")


def forget_person(*, study: Study, replacements: Mapping[str, str], **_signal: Any) -> None:
    """Rename the person in stored results, and delete caches, in the erasure's transaction.

    Results stay, older than the data, until they are recomputed.
    """
    forget_columns(study)
    for analysis in Analysis.objects.filter(study=study).iterator(1):
        after = replace_words([analysis.result, analysis.settings], replacements)
        if after != [analysis.result, analysis.settings]:
            Analysis.objects.filter(pk=analysis.pk).update(result=after[0], settings=after[1])


def describe_computed_results(study: Study) -> str:
    """Return in a sentence what refers to the study's units or names them, so that they stay; or ""."""
    about = {"slug": study.slug}
    if Judge.objects.filter(study=study).exists():
        return _("A judge answers study %(slug)r; remove the judge first, or duplicate the study.") % about
    if Prediction.objects.filter(study=study).exists():
        return _("Predictions were imported for study %(slug)r; duplicate the study instead.") % about
    if Release.objects.filter(study=study).exists():
        return _("Study %(slug)r was released; duplicate the study instead.") % about
    return ""


def forget_columns(study: Study) -> None:
    """Delete copies of the study's rows."""
    from evaluation.data.judgment_sets.blocks import forget_blocks  # lazily: it needs Arrow

    forget_blocks(study)
    BoardSnapshot.objects.filter(study=study).delete()


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
        for release in stored_releases(study):
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
            for part in path.iterdir():
                part.unlink(missing_ok=True)
            path.rmdir()
        else:
            path.unlink(missing_ok=True)
