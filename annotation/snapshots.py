"""Snapshots of a study's judgments, so that results can be computed again from the same judgments.

Judgments are only ever added, so a snapshot needs only the row id of the last one, and what was excluded at its time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Exists, Q

from annotation.models import Assignment, Judgment
from annotation.models.judgments import JudgmentQuerySet
from judgments.models import Study
from quorum.numeric.packing import declare

MANY_ASSIGNMENTS = 5_000  # the number from which pages show cached figures


@declare  # so that a snapshot can be sent to other processes
@dataclass(frozen=True, slots=True)
class Snapshot:
    """The judgments at one moment, and which of them were used.

    Attributes:
        time: the moment.
        last_judgment: row id of the last judgment.
        invalidating_rules: the detector that invalidated each assignment, as named in files, by the assignment's id.
        unconfirmed_assignments: assignments of sessions that a crowd, which lists its sessions, has not confirmed.
        workers_below_pass_mark: row ids of workers who fail the rule on control items.
        withdrawn_items: row ids of withdrawn control items.
        decisions: the adjudicated value of each decided unit, by unit row id.
        systems: row ids of the systems that the study draws from; None in snapshots that earlier releases stored.
        last_output: row id of the last system output.
        has_found_images: whether some outputs are images that a system found for a caption.
        partly_known_systems: the names of systems of which not all outputs are known, by task
            (``Dataset.known_in_part``).
    """

    time: datetime
    last_judgment: int
    invalidating_rules: Mapping[UUID, str]
    unconfirmed_assignments: frozenset[UUID]
    withdrawn_items: frozenset[int]
    decisions: Mapping[int, float]
    workers_below_pass_mark: frozenset[int] = frozenset()
    systems: frozenset[int] | None = None
    last_output: int = 0
    has_found_images: bool = False
    partly_known_systems: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def all_judgments(self, study: Study, *, units: Sequence[int] | None = None) -> JudgmentQuerySet:
        """Return every judgment of the snapshot, including revised ones."""
        rows = Judgment.objects.filter(pk__lte=self.last_judgment)
        return rows.filter(assignment__study=study) if units is None else rows.filter(unit__in=units)

    def judgments(self, study: Study, *, units: Sequence[int] | None = None) -> JudgmentQuerySet:
        """Return the judgments that were not revised, including those of invalidated assignments."""
        is_unrevised = Q(replaced_by=None) | Q(replaced_by__gt=self.last_judgment)
        return self.all_judgments(study, units=units).filter(is_unrevised)

    def includes(self, assignment: UUID, worker: int) -> bool:
        """Return whether the study's rules use this work. Imported judgments may be unused for other reasons."""
        return (
            assignment not in self.invalidating_rules
            and assignment not in self.unconfirmed_assignments
            and worker not in self.workers_below_pass_mark
        )

    def as_json(self) -> dict[str, Any]:
        """Return the snapshot as it is stored; ``snapshot_from_json`` reads it."""
        # Stored snapshots have these keys, which therefore keep the names of earlier versions.
        return {
            "at": self.time.isoformat(),
            "last": self.last_judgment,  # row id
            "gone": {
                pk.hex: rule for pk, rule in self.invalidating_rules.items()
            },  # by invalidated assignment
            "unnamed": sorted(pk.hex for pk in self.unconfirmed_assignments),  # that the crowd did not name
            "struck": sorted(self.withdrawn_items),  # row ids
            "decisions": list(self.decisions.items()),  # pairs of a unit's row id and its value
            "unused": sorted(self.workers_below_pass_mark),  # row ids
            "systems": None if self.systems is None else sorted(self.systems),  # row ids
            "outputs": self.last_output,  # row id
            "searched": self.has_found_images,
            "in_part": dict(self.partly_known_systems),  # names of systems by task
        }


def snapshot_from_json(content: Mapping[str, Any]) -> Snapshot:
    return Snapshot(
        time=datetime.fromisoformat(content["at"]),
        last_judgment=content["last"],
        invalidating_rules={UUID(pk): rule for pk, rule in content["gone"].items()},
        unconfirmed_assignments=frozenset(map(UUID, content["unnamed"])),
        withdrawn_items=frozenset(content["struck"]),
        decisions=dict(content["decisions"]),
        workers_below_pass_mark=frozenset(content["unused"]),
        systems=None if content.get("systems") is None else frozenset(content["systems"]),
        last_output=content["outputs"],
        has_found_images=content["searched"],
        partly_known_systems=content["in_part"],
    )


def has_many_assignments(study: Study) -> Exists:
    """Return a condition that the study has at least ``MANY_ASSIGNMENTS``.

    The database looks for an assignment at this position, since counting all of them would take longer.
    """
    return Exists(Assignment.objects.filter(study=study).order_by()[MANY_ASSIGNMENTS - 1 : MANY_ASSIGNMENTS])
