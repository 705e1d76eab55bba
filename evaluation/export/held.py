"""What an export holds: a study at one moment, and what the manifest says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from django.db.models import Count

from annotation.models import Assignment
from annotation.snapshots import Moment, moment_from
from evaluation.export.moments import take_moment
from evaluation.judgment_signature import circumstances, material_of, signature_from
from evaluation.judgment_tally import Material, Votes
from evaluation.signatures import Signature, Value
from judgments.models import Study


@dataclass(frozen=True, slots=True)
class Held:
    """Read once, when the export begins, and kept beside its parts.

    Attributes:
        moment: which judgments, and which of them counted.
        material, circumstances: what the judgment signature says besides the votes.
        texts_read: which consent text and which instructions finished work was done by, as hashes.
    """

    study: Study
    moment: Moment
    material: Material
    circumstances: Mapping[str, Value]
    texts_read: list[dict[str, Any]]

    def signature(self, votes: Votes) -> Signature:
        """The judgment signature of what is held."""
        return signature_from(self.study, self.material, votes, self.circumstances)

    def as_json(self) -> dict[str, Any]:
        """For a file, from which ``held_from`` reads it."""
        return {
            "moment": self.moment.as_json(),
            "material": asdict(self.material),
            "circumstances": dict(self.circumstances),
            "texts_read": self.texts_read,
        }


def hold(study: Study) -> Held:
    """The study as it stands now.

    Raises:
        ExportError: judgments are being stored in one long transaction.
    """
    moment = take_moment(study)
    return Held(study, moment, material_of(study), circumstances(study, moment=moment), _texts_read(study))


def held_from(study: Study, kept: Mapping[str, Any]) -> Held:
    """Undoes ``Held.as_json``."""
    material = kept["material"]
    return Held(
        study,
        moment_from(kept["moment"]),
        Material(**material | {"references": tuple(material["references"])}),
        kept["circumstances"],
        kept["texts_read"],
    )


def _texts_read(study: Study) -> list[dict[str, Any]]:
    work = (
        Assignment.objects.filter(study=study).finished().order_by("consent_version", "instructions_version")
    )
    rows = work.values("consent_version", "instructions_version").annotate(assignments=Count("pk"))
    return [dict(row) for row in rows]
