"""Store the rows of a file of judgments, with all that they refer to.

Each writer stores the rows of one table in batches, and keeps only row ids by name, so memory holds no rows of the
file. ``JudgmentWriter`` calls the writers in the order in which the tables refer to each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from annotation.models import Judgment
from annotation.models.judgments import IMPORTED_REVISION
from common.rows.writing import insert_rows
from contrib.judgment_imports.writing.assignments import AssignmentWriter, HitWriter
from contrib.judgment_imports.writing.captions import CaptionWriter, credited_options
from contrib.judgment_imports.writing.pairs import PairWriter, image_of_row
from contrib.judgment_imports.writing.systems import CreditedCaption, SystemWriter
from contrib.judgment_imports.writing.units import UnitWriter
from judgments.design.tables.sampling import SIDES
from judgments.importers.records.rows import CreditedRow, JudgmentRow, WinnerRow
from judgments.kinds import KINDS, Kind
from judgments.models import Dataset, Study

JUDGMENT_FIELDS = (
    "assignment_id", "unit_id", "value", "answer", "presented", "seconds", "wall_seconds", "comment", "set_aside",
)  # fmt: skip


class JudgmentWriter:
    """A writer that stores the rows of a file as judgments, after all database rows to which they refer.

    Attributes:
        items: the row ids of the dataset's images, by name.
        simulated: whether a row is marked as simulated.
    """

    def __init__(
        self, study: Study, dataset: Dataset, items: dict[str, int], reference_keys: set[str]
    ) -> None:
        self.study = study
        self.kind: Kind = KINDS[study.protocol]
        self.items = items
        self.systems = SystemWriter(dataset)
        self.captions = CaptionWriter(dataset, reference_keys)
        self.pairs = PairWriter(study, self.captions, self.systems, items)
        self.units = UnitWriter(study, self.captions, self.pairs)
        self.hits = HitWriter(study)
        self.assignments = AssignmentWriter(study, self.hits)
        self.judgment_count = 0
        self.simulated = False

    def add(self, rows: list[JudgmentRow]) -> None:
        credited_rows = [row for row in rows if isinstance(row, CreditedRow)]
        self.captions.add(rows)
        self.systems.add(credited_rows)
        self.pairs.add(row for row in rows if row.unit not in self.units.ids)
        self.units.add(rows)
        self.systems.add_outputs(self._credited_captions(credited_rows))
        self.hits.add(rows)
        self.assignments.add(rows)
        if self.kind.marks is not None:
            self.captions.load_texts(rows)
        insert_rows(Judgment, JUDGMENT_FIELDS, (self._column_values(row) for row in rows if not row.revision))
        for row in rows:
            if row.revision:
                self._add_revision(row)
        self.judgment_count += len(rows)
        self.simulated = self.simulated or any(row.simulated for row in rows)

    def add_winners(self, rows: list[WinnerRow]) -> None:
        """Add pairs with a winner but no votes."""
        self.captions.add_texts(text for row in rows for text in (row.first_text, row.second_text))
        self.pairs.add_winners(rows)

    def finish(self) -> None:
        self.systems.finish()
        self.hits.finish(self.units.ids)
        self.pairs.finish()

    def _credited_captions(self, rows: list[CreditedRow]) -> Iterator[CreditedCaption]:
        """Yield each caption that rows credit to systems, once for each system.

        All rows of a unit have the same credits, so only one row of a unit is read.
        """
        rows_by_unit = {row.unit: row for row in rows}
        self.captions.add_options(rows_by_unit.values())
        for row in rows_by_unit.values():
            item = self.items[image_of_row(row, self.captions.dataset)]
            has_pair = row.second is not None or row.second_text is not None
            # the credits, the id and the text of each side, and of each option
            credited_texts = [
                (row.of_side(side), getattr(row, side), getattr(row, f"{side}_text")) for side in SIDES
            ]
            for option in credited_options(row):
                reference_key = self.captions.reference_key(option["key"])
                credited_texts.append((row.credits[option["key"]], reference_key, option["text"]))
            for credits, key, text in credited_texts:
                for credit in credits:
                    if credit.rank is None and has_pair:
                        continue  # no place in a ranked list; the pair itself stores its systems
                    yield CreditedCaption(credit, item, self.captions.required_id_of(key, text, row.unit))

    def _add_revision(self, row: JudgmentRow) -> None:
        """Store a revised answer with a link to the answer that it replaces.

        If the file does not have the replaced answer, store the number of earlier answers instead of the link.
        """
        values = dict(zip(JUDGMENT_FIELDS, self._column_values(row), strict=True))
        former_judgment = Judgment.objects.filter(
            assignment_id=values["assignment_id"], unit_id=values["unit_id"], replaced_by__isnull=True
        ).first()
        signals = {} if former_judgment else {IMPORTED_REVISION: row.revision}
        Judgment.objects.create(**values, signals=signals, replaces=former_judgment)

    def _stored_answer(self, row: JudgmentRow) -> Any:
        """Return the answer. Marked errors are moved to their places in the stored spelling of the text."""
        answer, marks = row.stored, self.kind.marks
        if marks is None or row.first_text is None:
            return answer
        stored_text = self.captions.texts[self.captions.required_id_of(row.first, row.first_text, row.unit)]
        if stored_text == row.first_text:
            return answer
        return marks.shift(answer, written=row.first_text, stored=stored_text)

    def _column_values(self, row: JudgmentRow) -> tuple[Any, ...]:
        """Return the values of the columns ``JUDGMENT_FIELDS``, in their order."""
        return (
            self.assignments.id_of(row),
            self.units.ids[row.unit],
            row.value if row.stored is None else None,  # an open answer has no number
            self._stored_answer(row),
            row.presented or "",
            row.seconds,
            row.wall_seconds,
            row.comment,
            not row.used,
        )
