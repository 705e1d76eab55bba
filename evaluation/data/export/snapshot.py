"""Take a consistent snapshot of a study for export."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any
from uuid import UUID

from django.db import OperationalError, connection, transaction
from django.db.models import Count
from django.utils import timezone

from annotation.importing import BY_A_PERSON, UNKNOWN_TO_CROWD
from annotation.models import Assignment, Judgment
from annotation.models.assignments import EXCLUDED_STATES
from annotation.snapshots import Snapshot, snapshot_from_json
from common.rows import last_row
from evaluation.data.judgment_sets.loaders import (
    decisions_of,
    excluded_workers,
    material_of,
    signature_from,
    uncommon_fields,
    unconfirmed_work,
)
from evaluation.data.judgment_sets.records import Material, Votes
from evaluation.errors import ExportError
from evaluation.numeric.signatures import Signature, Value
from judgments.models import Dataset, Output, Study, System, Unit

TRIES, PAUSE = 60, 0.5  # on PostgreSQL, while a long transaction (an import) is writing judgments


@dataclass(frozen=True, slots=True)
class ExportSnapshot:
    """A study at the start of its export, stored beside the parts.

    Attributes:
        moment: which judgments exist and are included.
        material, circumstances: for the judgment signature.
        texts_read: versions of consent text and instructions in finished work.
    """

    study: Study
    moment: Snapshot
    material: Material
    circumstances: Mapping[str, Value]
    texts_read: list[dict[str, Any]]

    def signature(self, votes: Votes) -> Signature:
        return signature_from(self.study, self.material, votes, self.circumstances)

    def as_json(self) -> dict[str, Any]:
        return {
            "moment": self.moment.as_json(),
            "material": asdict(self.material),
            "circumstances": dict(self.circumstances),
            "texts_read": self.texts_read,
        }


def take_export_snapshot(study: Study) -> ExportSnapshot:
    """Raise ExportError if a long transaction is storing judgments."""
    moment = take_snapshot(study)
    return ExportSnapshot(
        study, moment, material_of(study), uncommon_fields(study, moment=moment), _read_texts(study)
    )


def export_snapshot_from(study: Study, state: Mapping[str, Any]) -> ExportSnapshot:
    material = state["material"]
    return ExportSnapshot(
        study,
        snapshot_from_json(state["moment"]),
        Material(**material | {"references": tuple(material["references"])}),
        state["circumstances"],
        state["texts_read"],
    )


def _read_texts(study: Study) -> list[dict[str, Any]]:
    work = (
        Assignment.objects.filter(study=study).finished().order_by("consent_version", "instructions_version")
    )
    rows = work.values("consent_version", "instructions_version").annotate(assignments=Count("pk"))
    return [dict(row) for row in rows]


def take_snapshot(study: Study) -> Snapshot:
    """Return which judgments of ``study`` exist and are included, read in one transaction.

    Raises:
        ExportError: a long transaction that writes judgments does not end.
    """
    for _ in range(TRIES):
        try:
            moment = _read_snapshot(study)
        except OperationalError as error:
            if getattr(error.__cause__, "sqlstate", "") != "55P03":  # lock_not_available
                raise
            time.sleep(PAUSE)
        else:
            # From the values above only: this may take long, and holds no lock.
            return replace(moment, excluded_workers=excluded_workers(study, moment=moment))
    raise ExportError(
        "Judgments or systems are being stored in one long step, such as an import; export again when it is over."
    )


def _read_snapshot(study: Study) -> Snapshot:
    own_snapshot = connection.vendor == "postgresql" and not connection.in_atomic_block
    with transaction.atomic():
        if own_snapshot:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        last, last_output = last_row(Judgment), last_row(Output)
        gone = Assignment.objects.filter(study=study, state__in=EXCLUDED_STATES)
        rules: dict[UUID, str] = {
            pk: UNKNOWN_TO_CROWD if state == Assignment.State.APART else rule or BY_A_PERSON
            for pk, state, rule in gone.values_list("pk", "state", "exclusion__rule")
        }
        return Snapshot(
            at=timezone.now(),
            last=last,
            invalidated=rules,
            unconfirmed=frozenset(unconfirmed_work(study).values_list("pk", flat=True)),
            withdrawn=frozenset(
                Unit.objects.filter(study=study, withdrawn=True).values_list("pk", flat=True)
            ),
            decisions={unit: decision.value for unit, decision in decisions_of(study).items()},
            systems=frozenset(System.objects.of_study(study).values_list("pk", flat=True)),
            outputs=last_output,
            searched=Output.objects.of_study(study).searches().exists(),
            in_part=Dataset.objects.get(pk=study.dataset_id).known_in_part,
        )
