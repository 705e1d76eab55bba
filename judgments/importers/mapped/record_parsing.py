"""Parse the values of a file's records: forms in JSON, remaining cells of a row, radio buttons and labels."""

from __future__ import annotations

from typing import Any

from common.files import unguard_formula
from judgments.importers import foreign
from judgments.importers.mapped.mapping import ColumnMapping
from judgments.importers.records.record import Record


class RecordParser:
    """Parses the records of a file by the fields ``rest``, ``json_in``, ``buttons`` and ``labels`` of `ColumnMapping`.

    A radio button has a column, whose name is that of its group, the separator ``buttons`` and the button's value.
    ``labels`` is the path of an object with each label's state by scheme, such as ``{"quality": {"good": "true"}}``.

    Args:
        unguards_cells: whether to remove the apostrophes that guard cells of CSV against spreadsheet formulas.

    Attributes:
        button_groups: the columns of radio buttons, by group; None before the first record.
    """

    def __init__(self, mapping: ColumnMapping, *, unguards_cells: bool) -> None:
        self._mapping, self._unguards_cells = mapping, unguards_cells
        self.button_groups: foreign.ButtonGroups | None = None

    def values_of(self, record: Record) -> dict[str, Any]:
        """Return the values of a record, with lists, JSON and radio buttons parsed."""
        mapping, values = self._mapping, dict(record.values)
        if record.textual and self._unguards_cells:
            values = {
                name: unguard_formula(cell) if isinstance(cell, str) else cell
                for name, cell in values.items()
            }
        self._add_form_answers(record, values)
        if mapping.buttons:  # the separator in names of columns such as "tone.good"
            self._add_selected_buttons(record, values)
        if mapping.labels:  # the path of an object with the labels that an annotator of Potato has selected
            values |= foreign.selected_labels(foreign.look_up(values, mapping.labels))
        return values

    def _add_form_answers(self, record: Record, values: dict[str, Any]) -> None:
        """Add form answers to ``values``, from a list of guarded cells (of MTurk's command line tools) and JSON."""
        mapping = self._mapping  # ``sparse`` is the prefix of columns with answers, such as "Answer."
        column_of_error = mapping.rest
        try:
            if mapping.rest and isinstance(cells := values.pop(mapping.rest, None), list):
                values |= foreign.command_line_answers(list(map(unguard_formula, cells)), mapping.sparse)
            for column_of_error in mapping.json_in:
                cell = values.get(column_of_error)
                if not isinstance(cell, str) or not cell.strip():
                    continue
                # the answers in the column "Answer.taskAnswers" become columns with the prefix "Answer."
                prefix = column_of_error[: column_of_error.rfind(".") + 1]
                for column, value in foreign.form_answers(cell, prefix):
                    if values.setdefault(column, value) != value:
                        raise ValueError(f"the field {column!r} twice with different values")
        except ValueError as error:
            raise record.problem(column_of_error, str(error), "what the layout has there") from None

    def _add_selected_buttons(self, record: Record, values: dict[str, Any]) -> None:
        """Add a column with each group's name and its selected value to ``values``."""
        # all records of CSV have the same columns; other records may each have their own
        if self.button_groups is None or record.line is None or record.path:
            self.button_groups = foreign.button_groups(
                record.values, self._mapping.buttons, self._mapping.sparse
            )
        for group, buttons in self.button_groups.items():
            states = {value: values.get(column, "") for value, column in buttons}
            # a dot is MTurk's separator: only cells with true or false are its buttons, since other columns have dots
            selected_value = foreign.selected_values(states, flags=self._mapping.buttons == ".")
            if selected_value is not None:
                values.setdefault(group, selected_value)
