"""Store the HITs, workers and assignments of a file of judgments."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

from django.utils import timezone

from annotation.models import Assignment, Exclusion, Worker
from annotation.models.assignments import EXCLUDED_BY_PERSON
from common.errors import DataConflict
from common.rows.batches import KEYS_PER_QUERY, batched
from common.rows.writing import insert_rows
from judgments.importers.records.rows import JudgmentRow
from judgments.models import HIT, HITUnit, Study

UNKNOWN_SLOT = 0  # the slot of an assignment that has no HIT or is invalidated


class HitWriter:
    """A writer that adds HITs. Their units and numbers of slots are stored at the end of the file, when all are read.

    Attributes:
        ids: the row id of each HIT, by its key.
        taken_slots: the number of slots that are taken, by key of the HIT.
        chances: the sampling probability of each unit of a HIT, by the keys of HIT and unit.
        unit_without_chance: the last unit that is no check question and has no sampling probability; "" if none.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self.ids: dict[str, int] = {}
        self.taken_slots: Counter[str] = Counter()
        self.chances: dict[tuple[str, str], float | None] = {}
        self.unit_without_chance = ""

    def add(self, rows: Sequence[JudgmentRow]) -> None:
        new_keys = dict.fromkeys(row.hit for row in rows if row.hit is not None and row.hit not in self.ids)
        hits = HIT.objects.bulk_create(
            HIT(study=self.study, key=key, position=position, required=0, open_slots=0)
            for position, key in enumerate(new_keys, start=len(self.ids))
        )
        self.ids.update({hit.key: hit.pk for hit in hits})
        for row in rows:
            if row.hit is not None:
                self.chances.setdefault((row.hit, row.unit), row.chance)
            if row.chance is None and not row.control:
                self.unit_without_chance = row.unit

    def take_slot(self, hit: str) -> int:
        """Return the number, from 0, of the next free slot of a HIT, and mark the slot as taken."""
        slot = self.taken_slots[hit]
        self.taken_slots[hit] += 1
        return slot

    def finish(self, unit_ids: Mapping[str, int]) -> None:
        """Store the units of the HITs, and require as many assignments of each HIT as the file has.

        Raise DataConflict if some units have a sampling probability, and others have none. ``unit_ids`` are row ids.
        """
        ids_by_slots: defaultdict[int, list[int]] = defaultdict(list)
        for key, hit_id in self.ids.items():
            ids_by_slots[self.taken_slots[key]].append(hit_id)
        for required, hit_ids in ids_by_slots.items():
            for batch in batched(hit_ids, KEYS_PER_QUERY):
                HIT.objects.filter(pk__in=batch).update(required=required)
        if self.unit_without_chance and any(chance is not None for chance in self.chances.values()):
            raise DataConflict(
                f"Unit {self.unit_without_chance!r} has a row without a chance, and other rows have one; "
                "expected it in all rows but those of check questions."
            )
        insert_rows(HITUnit, ("hit_id", "unit_id", "position", "chance"), self._hit_units(unit_ids))

    def _hit_units(self, unit_ids: Mapping[str, int]) -> Iterator[tuple[int, int, int, float | None]]:
        positions: Counter[str] = Counter()
        for (hit, unit), chance in self.chances.items():
            positions[hit] += 1
            yield self.ids[hit], unit_ids[unit], positions[hit], chance


class AssignmentWriter:
    """A writer that adds workers, their assignments, and the exclusions that invalidated assignments.

    Attributes:
        workers: the row id of each worker, by name.
        exclusions: the exclusion of each worker with invalidated assignments, by the worker's name.
        ids: the id of each assignment, by ``_assignment_key``.
        external_id_by_hit_and_worker: the id that the file gives the assignment of a worker on a HIT. A worker cannot
            have two assignments of a HIT.
    """

    def __init__(self, study: Study, hits: HitWriter) -> None:
        self.study = study
        self.hits = hits
        self.now = timezone.now()
        self.workers: dict[str, int] = {}
        self.exclusions: dict[str, Exclusion] = {}
        self.ids: dict[tuple[str, str], UUID] = {}
        self.external_id_by_hit_and_worker: dict[tuple[str, str], str | None] = {}

    def id_of(self, row: JudgmentRow) -> UUID:
        return self.ids[_assignment_key(row)]

    def add(self, rows: Sequence[JudgmentRow]) -> None:
        new_workers = {row.worker: row for row in rows if row.worker not in self.workers}
        workers = Worker.objects.bulk_create(
            Worker(name=name, source=Worker.Source.IMPORTED, study=self.study, anonymous=row.anonymous)
            for name, row in new_workers.items()
        )
        self.workers.update({worker.name: worker.pk for worker in workers})
        first_rows: dict[tuple[str, str], JudgmentRow] = {}  # of new assignments
        for row in rows:
            if _assignment_key(row) not in self.ids:
                first_rows.setdefault(_assignment_key(row), row)
        assignments = Assignment.objects.bulk_create([self._assignment(row) for row in first_rows.values()])
        self.ids.update(zip(first_rows, (assignment.pk for assignment in assignments), strict=True))

    def _assignment(self, row: JudgmentRow) -> Assignment:
        submitted_at = row.submitted_at or self.now
        exclusion = self._get_or_create_exclusion(row)
        slot = UNKNOWN_SLOT
        if row.hit is not None and exclusion is None:
            external_id = self.external_id_by_hit_and_worker.setdefault((row.hit, row.worker), row.assignment)
            if external_id != row.assignment:
                raise DataConflict(
                    f"Worker {row.worker!r} has two assignments of HIT {row.hit!r}, "
                    f"{external_id!r} and {row.assignment!r}; expected one."
                )
            slot = self.hits.take_slot(row.hit)
        return Assignment(
            study=self.study,
            hit_id=self.hits.ids[row.hit] if row.hit is not None else None,
            worker_id=self.workers[row.worker],
            state=Assignment.State.SUBMITTED if exclusion is None else Assignment.State.INVALIDATED,
            exclusion=exclusion,
            # the state that it gets if the exclusion is lifted
            before_exclusion="" if exclusion is None else Assignment.State.SUBMITTED,
            slot=slot,
            external_id=row.assignment or "",
            accepted_at=min(row.accepted_at or submitted_at, submitted_at),
            submitted_at=submitted_at,
            simulated=row.simulated,
        )

    def _get_or_create_exclusion(self, row: JudgmentRow) -> Exclusion | None:
        """Return the exclusion that invalidated the row's assignment; None if it was not invalidated.

        ``row.invalidated`` is the detector that excluded the worker, or EXCLUDED_BY_PERSON.
        """
        if row.invalidated is None:
            return None
        if row.worker not in self.exclusions:
            self.exclusions[row.worker] = Exclusion.objects.create(
                study=self.study,
                worker_id=self.workers[row.worker],
                rule="" if row.invalidated == EXCLUDED_BY_PERSON else row.invalidated,
                why="Invalidated in the study that it comes from.",
            )
        return self.exclusions[row.worker]


def _assignment_key(row: JudgmentRow) -> tuple[str, str]:
    """Return the worker, and the assignment or, if the file has none, the HIT; "" if it has neither."""
    return row.worker, row.assignment or row.hit or ""
