"""Find out whether a bundle comes from a study, although people may have been erased from the study since.

Each judgment of the bundle is either still in the study, or was erased, which a receipt may prove, or is unexplained.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from django.utils.translation import gettext as _

from annotation.models import Erasure
from annotation.privacy.receipts import commitment_to
from evaluation.data.export.formats.judgment_rows import JudgmentRows
from evaluation.data.export.snapshots import take_snapshot
from evaluation.data.releases.tables import to_the_minute
from evaluation.errors import VerificationError
from evaluation.models import Release
from judgments.models import Study

JUDGMENTS_FILE = "judgments.jsonl"  # the file of a bundle with the judgments


@dataclass(frozen=True, slots=True)
class BundleOrigin:
    """The result of comparing a bundle's judgments with the study.

    Attributes:
        version: the release whose file has the bundle's SHA-256, or "".
        found: number of the bundle's judgments that are still in the study, matched by unit, answer and minute.
        erased_with_receipt: number of the bundle's judgments that were erased, as a receipt proves.
        unaccounted: number of the bundle's other judgments.
        erased: number of judgments that erasures removed from the study. In a genuine bundle, at most this many
            judgments are ``erased_with_receipt`` or ``unaccounted``.
    """

    version: str
    found: int
    erased_with_receipt: int
    unaccounted: int
    erased: int

    @property
    def is_confirmed(self) -> bool:
        """Whether the bundle is a release of the study, and erasures explain all judgments that are missing."""
        return bool(self.version) and self.unaccounted <= self.erased - self.erased_with_receipt

    def summary(self) -> str:
        identity = _("The file is not a release of this study.")
        if self.version:
            identity = _("The file is identical to release %(version)s.") % {"version": self.version}
        counts = _(
            "Judgments in the file that are in this study: %(here)s. Judgments that were erased, "
            "as a receipt proves: %(committed)s. Unexplained judgments: %(missing)s. Judgments of "
            "this study that erasures removed: %(erased)s."
        ) % {
            "here": self.found,
            "committed": self.erased_with_receipt,
            "missing": self.unaccounted,
            "erased": self.erased,
        }
        return f"{identity} {counts}"


def origin_of(*, study: Study, bundle: Path, receipts: Collection[str] = ()) -> BundleOrigin:
    """Compare a bundle's judgments with the study's rows and the commitments of erasures.

    An erasure stores a commitment to each erased judgment, which only the person's receipt can reproduce.

    Raise VerificationError if the bundle is defective.
    """
    unmatched_rows = Counter(_row_key(row) for row in JudgmentRows(study, take_snapshot(study)))
    erasures = Erasure.objects.filter(study=study)
    unmatched_commitments: Counter[str] = Counter()
    for erasure in erasures:
        unmatched_commitments.update(erasure.content.get("commitments", ()))
    found = erased_with_receipt = unaccounted = 0
    for row in _rows_of_bundle(bundle):
        key = _row_key(row)
        if unmatched_rows[key]:
            unmatched_rows[key] -= 1
            found += 1
            continue
        digests = (commitment_to(receipt, row) for receipt in receipts)
        commitment = next((digest for digest in digests if unmatched_commitments[digest]), None)
        if commitment is None:
            unaccounted += 1
        else:
            unmatched_commitments[commitment] -= 1
            erased_with_receipt += 1
    digest = hashlib.sha256(bundle.read_bytes()).hexdigest()
    release = Release.objects.filter(study=study, sha256=digest).first()
    return BundleOrigin(
        version=release.version if release else "",
        found=found,
        erased_with_receipt=erased_with_receipt,
        unaccounted=unaccounted,
        erased=sum(erasure.content["removed"].get("judgment", 0) for erasure in erasures),  # rows by table
    )


def _row_key(row: dict[str, Any]) -> str:
    """Return a text that is equal for rows of the same unit, answer and minute of submission."""
    key = [row["unit"], row["value"], row.get("answer"), to_the_minute(row["submitted_at"])]
    return json.dumps(key, sort_keys=True)


def _rows_of_bundle(bundle: Path) -> Iterator[dict[str, Any]]:
    try:
        with ZipFile(bundle) as archive, archive.open(JUDGMENTS_FILE) as lines:
            for line in lines:
                yield json.loads(line)
    except (OSError, BadZipFile, KeyError, ValueError):
        raise VerificationError(
            _("%(path)s is not a release; expected a zip with %(rows)s.")
            % {"path": bundle, "rows": JUDGMENTS_FILE}
        ) from None
