"""Match rows of scores, which name images, captions and systems, with the rows of a dataset."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from common.amounts import with_noun
from common.incoming import quote_value
from common.texts import one_text
from evaluation.data.imported_scores import NO_ROW_ID, KeyColumns, stable_number
from evaluation.errors import EvaluationError
from evaluation.models import ID_COLUMN_BY_TEXT, ScoreKeys
from judgments.models import Caption, Dataset, Item, Output, System
from quorum.numeric.arrays import Ints

if TYPE_CHECKING:
    from contrib.score_imports.rows import ScoreRows

Subject = ScoreKeys.Subject

UNMATCHED = -1  # stands in place of a system's row id


class RowMatch(NamedTuple):
    """What a row scores.

    Attributes:
        number: a number for the names and texts of what is scored, equal in every installation.
        item, system: row ids in the dataset; NO_ROW_ID if the row is not about an item, or not about a system.
    """

    number: int
    item: int
    system: int


NO_MATCH = RowMatch(NO_ROW_ID, NO_ROW_ID, UNMATCHED)  # of a row about something that is not in the dataset


class MatchedRows(NamedTuple):
    """The rows of a file that match a dataset, in the order in which they are stored.

    Attributes:
        columns: the members of ``RowMatch`` as columns: ``place`` (the number), ``item`` and ``system``.
        digest: SHA-256 of what is scored, the same in every installation.
        order: the index in the file of each stored row.
        omitted_count: the number of rows that do not match.
    """

    columns: KeyColumns
    digest: str
    order: Ints
    omitted_count: int


class RowMatcher:
    """Matches rows of scores with the rows of a dataset, which are read when they are first needed."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    @cached_property
    def _items(self) -> dict[str, int]:
        return dict(Item.objects.filter(dataset=self._dataset).values_list("name", "pk"))

    @cached_property
    def _item_names(self) -> list[str]:
        rows = Item.objects.filter(dataset=self._dataset).order_by("position", "pk")
        return list(rows.values_list("name", flat=True))

    @cached_property
    def _systems(self) -> dict[str, int]:
        return dict(System.objects.filter(dataset=self._dataset).values_list("name", "pk"))

    @cached_property
    def _captions(self) -> dict[str, str]:
        rows = Caption.objects.filter(dataset=self._dataset).values_list("key", "text")
        return {key: one_text(text) for key, text in rows}

    @cached_property
    def _texts(self) -> set[str]:
        return set(self._captions.values())

    @cached_property
    def _outputs(self) -> dict[tuple[int, int], str]:
        """The first text of a system for an item, by the row ids of both."""
        rows = Output.objects.filter(system__dataset=self._dataset, task=Output.Task.ANNOTATION)
        rows = rows.order_by("system_id", "item_id", "-rank")  # the best rank last, to replace the others
        return {
            (system, item): one_text(text)
            for system, item, text in rows.values_list("system_id", "item_id", "caption__text")
        }

    def match(self, rows: ScoreRows, *, leave_out: bool) -> MatchedRows:
        """Match each row with what it scores in the dataset.

        Args:
            leave_out: whether to omit rows about unknown images, captions or systems, instead of refusing them.

        Raises:
            ImportProblem: a row does not match, or scores the same as an earlier row.
            EvaluationError: no row matches.
        """
        match_rows = {
            Subject.CAPTIONS: self._match_captions,
            Subject.SYSTEMS: self._match_systems,
            Subject.PAIRS: self._match_pairs,
        }[Subject(rows.per)]
        matches = np.frombuffer(match_rows(rows, leave_out), dtype=np.int64).reshape(
            -1, len(RowMatch._fields)
        )
        matched_rows = np.flatnonzero(matches[:, RowMatch._fields.index("system")] != UNMATCHED)
        if not len(matched_rows):
            raise EvaluationError(
                f"No row of {rows.file} is about dataset {self._dataset.name!r}; expected its images, captions or "
                "systems."
            )
        omitted_count = len(matches) - len(matched_rows)
        number, item, system = matches[matched_rows].T
        # numbers for the names of systems, whose row ids differ between installations
        has_systems = system.any()  # NO_ROW_ID is 0
        number_by_id = {pk: stable_number(name) for name, pk in self._systems.items()} if has_systems else {}
        system_numbers = np.array([number_by_id.get(pk, NO_ROW_ID) for pk in system.tolist()], dtype=np.int64)
        order = np.lexsort((system_numbers, number))  # by number, then by system
        # Rows that score the same follow each other in this order.
        is_repeated = (np.diff(number[order]) == 0) & (np.diff(system_numbers[order]) == 0)
        if is_repeated.any():
            row = int(matched_rows[order[1:][is_repeated]].min())
            raise rows.problem(row, None, "what an earlier row scores", "one score of each")
        digest = hashlib.sha256()
        for column in (number, system_numbers):
            digest.update(column[order].astype("<i8").tobytes())
        columns = {"place": number[order], "item": item[order], "system": system[order]}
        return MatchedRows(columns, digest.hexdigest(), matched_rows[order], omitted_count)

    def _match_captions(self, rows: ScoreRows, leave_out: bool) -> array[int]:
        """Return the members of each row's RowMatch, one after the other. This takes less memory than objects do."""
        images = self._image_names(rows)
        texts = self._texts_in(rows, "caption")
        systems = rows.keys.get("system")
        matches = array("q")
        for row, image in enumerate(images):
            item = self._items.get(image)
            system = self._systems.get(systems[row]) if systems is not None else NO_ROW_ID
            text = texts[row] if texts is not None else None
            if texts is None and item and system:  # the rows name no caption, so the system's is scored
                text = self._outputs.get((system, item))
            if item is None or system is None or text is None:
                if not leave_out:
                    raise self._caption_error(rows, row, image, item, systems, system)
                matches.extend(NO_MATCH)
            else:
                matches.extend(RowMatch(stable_number(image, text), item, system))
        return matches

    def _caption_error(
        self,
        rows: ScoreRows,
        row: int,
        image: str,
        item: int | None,
        systems: Sequence[str] | None,
        system: int | None,
    ) -> Exception:
        of_dataset = f"of dataset {self._dataset.name!r}"
        if item is None:
            return rows.problem(row, "image", quote_value(image), f"an image {of_dataset}")
        if systems is not None and system is None:
            return rows.problem(row, "system", quote_value(systems[row]), f"a system {of_dataset}")
        column = next((name for name in ("caption", "caption_id") if name in rows.keys), None)
        if column is not None:
            value = quote_value(rows.keys[column][row])
            return rows.problem(row, column, value, f"a caption {of_dataset}")
        assert systems is not None
        actual = f"system {quote_value(systems[row])} on item {quote_value(image)}"
        return rows.problem(row, None, actual, "a system that captioned this item")

    def _image_names(self, rows: ScoreRows) -> Sequence[str]:
        """Return the image's name for each row. Lines of mt-metrics-eval have the images in the dataset's order."""
        if "image" in rows.keys:
            return rows.keys["image"]
        segment_count = max(rows.segments) + 1
        if segment_count != len(self._item_names):
            raise EvaluationError(
                f"{rows.file} has {with_noun(segment_count, 'line')} for a system, and dataset {self._dataset.name!r} "
                f"{with_noun(len(self._item_names), 'item')}; expected a line for each, in their order."
            )
        return [self._item_names[segment] for segment in rows.segments]

    def _texts_in(self, rows: ScoreRows, name: str) -> list[str | None] | None:
        """Return the text that each row names, by its id or as a text; None for a text that the dataset lacks.

        Return None instead of a list if the rows have neither the column ``name`` nor the column of its ids.
        """
        if ID_COLUMN_BY_TEXT[name] in rows.keys:
            return [self._captions.get(key) for key in rows.keys[ID_COLUMN_BY_TEXT[name]]]
        if name not in rows.keys:
            return None
        return [text if text in self._texts else None for text in map(one_text, rows.keys[name])]

    def _match_systems(self, rows: ScoreRows, leave_out: bool) -> array[int]:
        matches = array("q")
        for row, name in enumerate(rows.keys["system"]):
            system = self._systems.get(name)
            if system is None and not leave_out:
                expected = f"a system of dataset {self._dataset.name!r}"
                raise rows.problem(row, "system", quote_value(name), expected)
            match = NO_MATCH if system is None else RowMatch(stable_number(name), NO_ROW_ID, system)
            matches.extend(match)
        return matches

    def _match_pairs(self, rows: ScoreRows, leave_out: bool) -> array[int]:
        images = self._image_names(rows)
        firsts, seconds = self._texts_in(rows, "first"), self._texts_in(rows, "second")
        assert firsts is not None
        assert seconds is not None
        matches = array("q")
        for row, (image, first_text, second_text) in enumerate(zip(images, firsts, seconds, strict=True)):
            item = self._items.get(image)
            if item is None or first_text is None or second_text is None:
                if not leave_out:
                    raise self._pair_error(rows, row, image, item, first_text)
                matches.extend(NO_MATCH)
            else:
                number = stable_number(image, first_text, second_text)
                matches.extend(RowMatch(number, item, NO_ROW_ID))
        return matches

    def _pair_error(
        self, rows: ScoreRows, row: int, image: str, item: int | None, first_text: str | None
    ) -> Exception:
        of_dataset = f"of dataset {self._dataset.name!r}"
        if item is None:
            return rows.problem(row, "image", quote_value(image), f"an image {of_dataset}")
        side = "first" if first_text is None else "second"
        column = ID_COLUMN_BY_TEXT[side] if ID_COLUMN_BY_TEXT[side] in rows.keys else side
        return rows.problem(row, column, quote_value(rows.keys[column][row]), f"a caption {of_dataset}")
