"""Store the units of a file of judgments. Each unit is stored as in its first row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from common.rows.writing import insert_rows
from contrib.judgment_imports.writing.captions import CaptionWriter
from contrib.judgment_imports.writing.pairs import PairWriter, image_of_row
from judgments.importers.records.rows import CreditedRow, JudgmentRow
from judgments.kinds import KINDS
from judgments.models import Study, Unit
from judgments.models.credits import NO_SYSTEM

UNIT_FIELDS = (
    "study_id", "key", "position", "item_id", "reference_id", "first_id", "second_id", "pair_id", "kind",
    "control", "expected", "filtered", "withdrawn", "content", "systems",
)  # fmt: skip


class UnitWriter:
    """A writer that adds units.

    Attributes:
        ids: the row id of each unit, by its key.
    """

    def __init__(self, study: Study, captions: CaptionWriter, pairs: PairWriter) -> None:
        self.study = study
        self.from_file = KINDS[study.protocol].exchange.from_file
        self.captions = captions
        self.pairs = pairs
        self.ids: dict[str, int] = {}

    def add(self, rows: Iterable[JudgmentRow]) -> None:
        first_rows: dict[str, JudgmentRow] = {}  # of new units
        for row in rows:
            if row.unit not in self.ids:
                first_rows.setdefault(row.unit, row)
        first_position = len(self.ids)
        values = (
            self._column_values(row, position)
            for position, row in enumerate(first_rows.values(), start=first_position)
        )
        insert_rows(Unit, UNIT_FIELDS, values)
        units = Unit.objects.filter(study=self.study, position__gte=first_position)
        self.ids.update(units.values_list("key", "pk"))

    def _column_values(self, row: JudgmentRow, position: int) -> tuple[Any, ...]:
        """Return the values of the columns ``UNIT_FIELDS``, in their order."""
        pair = self.pairs.key_of(row)
        return (
            self.study.pk,
            row.unit,
            position,
            self.pairs.items[image_of_row(row, self.captions.dataset)],
            self.captions.id_of(row.reference, row.reference_text, row.unit),
            self.captions.id_of(row.first, row.first_text, row.unit),
            self.captions.id_of(row.second, row.second_text, row.unit),
            self.pairs.ids[pair] if pair else None,
            row.kind or "",
            row.control,
            # None and 0 are stored unchanged
            row.expected and self.from_file(row.expected, content=row.content or {}),
            False,  # filtered
            False,  # withdrawn
            dict(row.content or {}),
            self._systems(row),
        )

    def _systems(self, row: JudgmentRow) -> list[Any]:
        """Return ``Unit.systems``: ids of a text's systems, or lists by option; [] for pairs (in ``CandidatePair``)."""
        has_single_text = row.second is None and row.second_text is None
        if not has_single_text or not isinstance(row, CreditedRow):
            return []
        by_name = self.pairs.systems.by_name
        # names of systems by text: of the first and the second text, and of each option
        first, _second, *options = (sorted(by_name[name].pk for name in names) for names in row.systems())
        if any(options):
            return options
        says_no_system = row.first in row.credits  # with an empty list of systems
        return first or ([NO_SYSTEM] if says_no_system else [])
