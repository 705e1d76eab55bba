"""Read a study's judgments as rows, with the systems that gave the judged captions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.db.models import OuterRef, Subquery

from annotation.models.judgments import IMPORTED_REVISION
from annotation.snapshots import Snapshot
from common.rows.batches import batched
from common.rows.reading import converted_rows
from evaluation.data.export.encodings import UNITS_PER_BATCH
from evaluation.data.export.formats.credits import CreditFinder
from evaluation.data.export.formats.judgment_columns import (
    ANSWERS,
    CAPTION_PATHS,
    CHANCE,
    DOCUMENT,
    SCALE,
    answers_setting,
    columns_left_out,
    study_scale,
)
from evaluation.data.judgment_sets.loaders import sorted_by_unit_and_name
from evaluation.data.judgment_sets.tallies import JudgmentTally
from judgments.drawing.documents import document_in
from judgments.kinds import KINDS
from judgments.models import HITUnit, Study
from judgments.studies.designs import design_of, has_chances

UNITS_PER_LOOKUP = 20_000  # units whose systems are looked up at once

# Number of assignments whose columns are cached. Rows of an assignment are close together, so more are not needed.
MAX_CACHED_ASSIGNMENTS = 4_096

STORED_COLUMNS = (
    "unit_id", "pk", "assignment_id", "assignment__external_id", "assignment__worker_id", "assignment__worker__name",
    "set_aside", "signals", "unit__key", "unit__item__name", *(f"unit__{path}" for path in CAPTION_PATHS.values()),
    "unit__kind", "unit__pair__key", "assignment__hit__key", "value", "answer", "unit__control", "unit__expected",
    "presented", "assignment__simulated", "assignment__accepted_at", "assignment__submitted_at", "seconds",
    "wall_seconds", "comment",
)  # fmt: skip

DRAW_CHANCE = HITUnit.objects.filter(hit=OuterRef("assignment__hit"), unit=OuterRef("unit")).values("chance")


@lru_cache(MAX_CACHED_ASSIGNMENTS)
def timestamp(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat().replace("+00:00", "Z")


def zero_counts() -> dict[str, int]:
    names = ("judgments", "used", "unused", "control", "simulated", "revised", "invalidated")
    return dict.fromkeys(names, 0)


@dataclass(slots=True)
class JudgmentRows:
    """A study's judgments as dicts, ordered by unit, then worker name. They can be iterated once.

    Invalidated answers, and imported ones that the original study set aside, are included and marked as not used.

    Attributes:
        moment: the snapshot, which says which judgments exist and are included.
        revisions: whether answers that were revised later are included, before their revisions.
        unit_ids: ordered row ids of the units to read; if given, rows name the captions' systems. None: all units.
        counts: numbers of rows, complete after the last row.
        tally: the tally of current judgments, complete after the last row.
    """

    study: Study
    moment: Snapshot
    revisions: bool = False
    unit_ids: Sequence[int] | None = None
    counts: dict[str, int] = field(default_factory=zero_counts)
    tally: JudgmentTally = field(default_factory=JudgmentTally)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        credit_finder = CreditFinder(self.study, self.moment)
        if self.unit_ids is None:
            yield from self._rows(None, {})
            return
        for lookup_ids in batched(self.unit_ids, UNITS_PER_LOOKUP):
            systems_by_unit = credit_finder.systems_of(lookup_ids)
            for unit_ids in batched(lookup_ids, UNITS_PER_BATCH):
                yield from self._rows(unit_ids, systems_by_unit)

    def _rows(self, unit_ids: Sequence[int] | None, systems: Mapping[int, Any]) -> Iterator[dict[str, Any]]:
        """Yield the rows of the judgments of the units; None for all units.

        ``systems`` has the values of the column ``systems`` by unit row id.
        """
        study, counts, kind, moment = self.study, self.counts, KINDS[self.study.protocol], self.moment
        is_imported = study.source == Study.Source.IMPORTED
        omitted_columns = columns_left_out(study)
        extra_answers, scale = answers_setting(study), study_scale(study)
        # Units have a probability that was stored when a page drew them, or that comes from a sample of the items.
        has_draws, sample = has_chances(study), design_of(study).chosen
        has_documents = DOCUMENT not in omitted_columns
        # By pair, or by unit if units have no pairs.
        sample_chances: Mapping[str, float] = sample.chances if sample else {}
        replaced_ids = self._replaced_ids(unit_ids)
        assignment_columns = lru_cache(MAX_CACHED_ASSIGNMENTS)(self._assignment_columns)
        revision_numbers, revised_ids = _revision_numbers(replaced_ids), set(replaced_ids.values())
        for (  # in the order of STORED_COLUMNS
            unit_id, pk, assignment, external_id, worker_id, worker, set_aside, signals, unit, image, reference, first,
            second, reference_text, first_text, second_text, pair_kind, pair, hit, value, answer, control, expected,
            presented, simulated, accepted_at, submitted_at, seconds, wall_seconds, comment, *optional_columns,
        ) in self._stored_rows(unit_ids, has_documents=has_documents, has_draws=has_draws):  # fmt: skip
            # Take the optional columns from the end, in the reverse order of `_stored_rows`.
            draw_chance = optional_columns.pop() if has_draws else None
            content = optional_columns.pop() if kind.is_open else {}
            fields = optional_columns.pop() if has_documents else ()
            assignment_id, invalidating_rule, is_included = assignment_columns(assignment, worker_id)
            is_current = pk not in revised_ids and invalidating_rule is None
            is_used = is_current and is_included and not set_aside and unit_id not in moment.withdrawn_items
            if is_current:
                vote = value if answer is None else answer
                self.tally.add(unit, worker, vote, used=is_used, control=control, presented=presented)
            counts["judgments"] += 1
            counts["used" if is_used else "unused"] += 1
            counts["control"] += control
            counts["simulated"] += simulated
            counts["revised"] += pk in revised_ids
            counts["invalidated"] += invalidating_rule is not None
            row = {  # in the order of JUDGMENT_COLUMNS
                "study": study.slug,
                "unit": unit,
                "protocol": study.protocol,
                "image": image,
                "reference": reference,
                "first": first,
                "second": second,
                "reference_text": reference_text,
                "first_text": first_text,
                "second_text": second_text,
                "kind": pair_kind or None,
                "pair": pair,
                "worker": worker,
                # Imported assignments keep their original ids.
                "assignment": external_id if is_imported and external_id else assignment_id,
                "hit": hit,
                "value": value,
                "answer": None if answer is None else kind.exchange.to_file(answer, content=content),
                "control": control,
                "expected": None if expected is None else kind.exchange.to_file(expected, content=content),
                "used": is_used,
                "presented": presented or None,
                "simulated": simulated,
                "accepted_at": timestamp(accepted_at),
                "submitted_at": timestamp(submitted_at),
                "seconds": seconds,
                "wall_seconds": wall_seconds,
                "comment": comment or None,
                # An imported judgment also counts the earlier answers that its file did not have.
                "revision": revision_numbers.get(pk, 0) + signals.get(IMPORTED_REVISION, 0),
                "invalidated": invalidating_rule,
                "content": content or None,
                "systems": systems.get(unit_id),
                ANSWERS: extra_answers,  # that people could give besides the two sides
                CHANCE: draw_chance if has_draws else sample_chances.get(pair or unit),
                SCALE: scale,
                DOCUMENT: document_in(fields) or None,
            }
            for name in omitted_columns:
                del row[name]
            yield row

    def _stored_rows(
        self, unit_ids: Sequence[int] | None, *, has_documents: bool, has_draws: bool
    ) -> Iterator[tuple[Any, ...]]:
        """Yield STORED_COLUMNS of each judgment, and up to three columns that only some studies have."""
        if self.revisions:
            judgments = self.moment.all_judgments(self.study, units=unit_ids)
        else:
            judgments = self.moment.judgments(self.study, units=unit_ids)
        optional_columns: list[str | Subquery] = []
        if has_documents:
            optional_columns.append("unit__item__fields")
        if KINDS[self.study.protocol].is_open:
            optional_columns.append("unit__content")
        if has_draws:
            optional_columns.append(Subquery(DRAW_CHANCE))
        judgments = judgments.order_by("unit__position", "unit_id", "pk")
        rows = judgments.values_list(*STORED_COLUMNS, *optional_columns)
        return sorted_by_unit_and_name(
            converted_rows(rows),
            unit=STORED_COLUMNS.index("unit_id"),
            worker=STORED_COLUMNS.index("assignment__worker__name"),
        )

    def _assignment_columns(self, assignment: UUID, worker: int) -> tuple[str, str | None, bool]:
        """Return an assignment's id as text, the rule that invalidated it, and whether its judgments are included."""
        return (
            str(assignment),
            self.moment.invalidating_rules.get(assignment),
            self.moment.includes(assignment, worker),
        )

    def _replaced_ids(self, unit_ids: Sequence[int] | None) -> dict[int, int]:
        """Return the row id of the judgment that each revision replaces, by the revision's row id."""
        revisions = self.moment.all_judgments(self.study, units=unit_ids).filter(replaces__isnull=False)
        return dict(revisions.values_list("pk", "replaces_id"))


def _revision_numbers(replaced_ids: Mapping[int, int]) -> dict[int, int]:
    """Return the number of each revision by its row id: 1 for the first revision of an answer, 2 for the next."""
    numbers: dict[int, int] = {}
    for pk in sorted(replaced_ids):  # a replaced judgment has a lower row id
        numbers[pk] = numbers.get(replaced_ids[pk], 0) + 1
    return numbers
