"""Take a snapshot of a study at the start of its export, so that the file shows one state of the study.

A snapshot consists of row ids and sets of ids. It is stored as JSON, so that a stopped export can be resumed with it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any
from uuid import UUID

from django.db import OperationalError, connection, transaction
from django.db.models import Count
from django.utils import timezone

from annotation.models import Assignment, Judgment
from annotation.models.assignments import EXCLUDED_BY_PERSON, EXCLUDED_STATES, UNKNOWN_TO_CROWD
from annotation.snapshots import Snapshot, snapshot_from_json
from common.rows.loads import last_row_id
from evaluation.data.judgment_sets.loaders import decisions_of, unconfirmed_work, workers_below_pass_mark
from evaluation.data.judgment_sets.signatures import MaterialCounts
from evaluation.data.judgment_sets.study_signatures import material_of, signature_from, uncommon_fields
from evaluation.data.judgment_sets.tallies import VoteCounts
from evaluation.errors import ExportError
from judgments.models import Dataset, Output, Study, System, Unit
from quorum.numeric.signatures import Signature, Value

# On PostgreSQL, a snapshot cannot be taken while a long transaction writes judgments.
SNAPSHOT_TRIES = 60
PAUSE_SECONDS = 0.5  # time between two tries


@dataclass(frozen=True, slots=True)
class ExportSnapshot:
    """The state of a study at the start of its export, stored with the parts of the file.

    Attributes:
        moment: the snapshot of judgments, which says which of them exist and are included.
        material: counts of the judged material, for the judgment signature.
        uncommon_fields: the fields of the judgment signature that not every study has.
        texts_read: versions of the consent text and instructions that participants of finished work read, as
            {"consent_version": ..., "instructions_version": ..., "assignments": number of assignments}.
    """

    study: Study
    moment: Snapshot
    material: MaterialCounts
    uncommon_fields: Mapping[str, Value]
    texts_read: list[dict[str, Any]]

    def signature(self, vote_counts: VoteCounts) -> Signature:
        return signature_from(self.study, self.material, vote_counts, self.uncommon_fields)

    def as_json(self) -> dict[str, Any]:
        return {
            "moment": self.moment.as_json(),
            "material": asdict(self.material),
            "circumstances": dict(self.uncommon_fields),  # the name in stored snapshots
            "texts_read": self.texts_read,
        }


def take_export_snapshot(study: Study) -> ExportSnapshot:
    """Return a snapshot to export. Raise ExportError if a long transaction is storing judgments."""
    moment = take_snapshot(study)
    return ExportSnapshot(
        study,
        moment,
        material_of(study),
        uncommon_fields(study, moment=moment),
        _versions_of_texts_read(study),
    )


def export_snapshot_from_json(study: Study, fields: Mapping[str, Any]) -> ExportSnapshot:
    material = fields["material"]
    return ExportSnapshot(
        study,
        moment=snapshot_from_json(fields["moment"]),
        material=MaterialCounts(**material | {"references": tuple(material["references"])}),
        uncommon_fields=fields["circumstances"],
        texts_read=fields["texts_read"],
    )


def _versions_of_texts_read(study: Study) -> list[dict[str, Any]]:
    work = (
        Assignment.objects.filter(study=study).finished().order_by("consent_version", "instructions_version")
    )
    rows = work.values("consent_version", "instructions_version").annotate(assignments=Count("pk"))
    return [dict(row) for row in rows]


def take_snapshot(study: Study) -> Snapshot:
    """Return a snapshot of which judgments of ``study`` exist and are included, read in one transaction.

    Raises:
        ExportError: a long transaction that writes judgments does not end in time.
    """
    for _ in range(SNAPSHOT_TRIES):
        try:
            moment = _read_snapshot(study)
        except OperationalError as error:
            if getattr(error.__cause__, "sqlstate", "") != "55P03":  # lock_not_available
                raise
            time.sleep(PAUSE_SECONDS)
        else:
            # This uses only the values read above, without a lock, because it may take long.
            return replace(moment, workers_below_pass_mark=workers_below_pass_mark(study, moment=moment))
    raise ExportError(
        "Judgments or systems are being stored in one long step, such as an import; export again when it is over."
    )


def _read_snapshot(study: Study) -> Snapshot:
    # On PostgreSQL, the isolation level makes all queries see the same state; it cannot change within a transaction.
    # On SQLite, every transaction sees one state.
    sets_isolation_level = connection.vendor == "postgresql" and not connection.in_atomic_block
    with transaction.atomic():
        if sets_isolation_level:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        last_judgment, last_output = last_row_id(Judgment), last_row_id(Output)
        excluded_work = Assignment.objects.filter(study=study, state__in=EXCLUDED_STATES)
        invalidating_rules: dict[UUID, str] = {}
        for pk, state, rule in excluded_work.values_list("pk", "state", "exclusion__rule"):
            is_unknown = state == Assignment.State.APART
            invalidating_rules[pk] = UNKNOWN_TO_CROWD if is_unknown else rule or EXCLUDED_BY_PERSON
        return Snapshot(  # its docstring explains the fields
            time=timezone.now(),
            last_judgment=last_judgment,
            invalidating_rules=invalidating_rules,
            unconfirmed_assignments=frozenset(unconfirmed_work(study).values_list("pk", flat=True)),
            withdrawn_items=frozenset(
                Unit.objects.filter(study=study, withdrawn=True).values_list("pk", flat=True)
            ),
            decisions={unit: decision.value for unit, decision in decisions_of(study).items()},
            systems=frozenset(System.objects.of_study(study).values_list("pk", flat=True)),
            last_output=last_output,
            has_found_images=Output.objects.of_study(study).searches().exists(),
            partly_known_systems=Dataset.objects.get(pk=study.dataset_id).known_in_part,
        )
