"""A table of the captions that systems gave for the judged images ("segments"), and of people's answers about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
from django.db.models import QuerySet

from common.rows.batches import batched
from evaluation.data.judgment_sets.loaders import ROWS_PER_BATCH
from judgments.design.tables.sampling import SIDES
from judgments.kinds import KINDS
from judgments.models import CandidatePair, Item, Output, Study, Unit
from judgments.models.credits import credited_systems
from quorum.numeric.arrays import Floats, Ints
from quorum.numeric.packing import declare


def number_row_ids(row_ids: Iterable[int]) -> dict[int, int]:
    """Return consecutive numbers, from 0, by row id."""
    return {row_id: number for number, row_id in enumerate(row_ids)}


def number_kept_ids(numbers: Mapping[int, int], kept_numbers: Ints) -> dict[int, int]:
    """Number the row ids again, from 0, that have one of the ``kept_numbers``."""
    row_ids = list(numbers)  # the index of a row id is its number
    return number_row_ids(row_ids[number] for number in kept_numbers.tolist())


@declare  # can be sent to other processes
@dataclass(slots=True)
class JudgedSystems:
    """A table of the captions of K systems for S images (segments), with people's scores.

    Attributes:
        systems, segments: the row of each system and the column of each image in the table, by row id.
        text_numbers: the number (from 1) of each text, by its ``text_key``, which all spellings of a text share.
        caption: (K, S) int64 row id of the caption; 0 for none.
        text: (K, S) int64 number of the caption's text; 0 for none.
        total, votes: (K, S) float64 sum and number of answers.
    """

    systems: dict[int, int]
    segments: dict[int, int]
    text_numbers: dict[str, int] = field(default_factory=dict)
    caption: Ints = field(init=False)
    text: Ints = field(init=False)
    total: Floats = field(init=False)
    votes: Floats = field(init=False)

    def __post_init__(self) -> None:
        shape = (len(self.systems), len(self.segments))
        self.caption, self.text = np.zeros((2, *shape), dtype=np.int64)
        self.total, self.votes = np.zeros(shape), np.zeros(shape)

    def without_unjudged(self) -> JudgedSystems:
        """Return a copy without systems that have no judgments, and without images that have no captions."""
        rows = np.flatnonzero(self.votes.any(axis=1))
        columns = np.flatnonzero(self.caption[rows].any(axis=0))
        systems, segments = number_kept_ids(self.systems, rows), number_kept_ids(self.segments, columns)
        judged_table = JudgedSystems(systems, segments, self.text_numbers)
        for name in ("caption", "text", "total", "votes"):
            setattr(judged_table, name, getattr(self, name)[np.ix_(rows, columns)])
        return judged_table

    def set_caption(self, system: int, segment: int, caption: int, key: str) -> None:
        """Set the caption in the row ``system`` and the column ``segment``. ``key`` is the ``text_key`` of its text."""
        self.caption[system, segment] = caption
        self.text[system, segment] = self.text_numbers.setdefault(key, len(self.text_numbers) + 1)

    def has_text(self, system: int, segment: int, key: str) -> bool:
        return bool(self.text[system, segment] == self._number_of_text(key))

    def _number_of_text(self, key: str) -> int:
        return self.text_numbers.get(key, -1)  # no cell has -1; 0 would mean a cell without a text

    def systems_with(self, segment: int, key: str, file_credits: Sequence[int]) -> list[int]:
        """Return the rows of the systems that are credited with a text at a segment. ``key`` is its ``text_key``.

        A system is credited if it gave the text, and if the file of imported judgments credits it or names no system.
        ``file_credits`` are the row ids of the systems that the file credits.
        """
        rows = np.flatnonzero(self.text[:, segment] == self._number_of_text(key)).tolist()
        ids = list(self.systems)  # the index of a row id is its row
        return [row for row in rows if ids[row] in credited_systems(file_credits, (ids[row],))]

    @property
    def means(self) -> Floats:
        """The mean scores of K systems on S images: (K, S) float64; nan without judgments."""
        return np.divide(self.total, self.votes, out=np.full_like(self.total, np.nan), where=self.votes > 0)


def parse_system_id(line: bytes) -> int:
    """Return the row id of the system in a JSON line that begins with ``{"system": 17, ``.

    Such a line has the scores of all images of the system, so only this first member is parsed.
    """
    return int(line.split(b",", 1)[0].split(b": ")[1])


def judged_items(study: Study) -> QuerySet[Item]:
    """Return the images that are judged, without those of control items."""
    units = Unit.objects.filter(study=study, control=False)
    return Item.objects.filter(pk__in=units.values("item")).order_by("position", "pk")


def collect_systems(study: Study, systems: Sequence[int]) -> JudgedSystems:
    """Return a table of the systems with these row ids and of all judged images, without answers."""
    segments = number_row_ids(judged_items(study).values_list("pk", flat=True))
    table = JudgedSystems(number_row_ids(systems), segments)
    # Of the captions that a system proposed for an image, the one that it ranks first is read last, so that it stays.
    outputs = Output.objects.annotations().filter(system__in=systems).order_by("-rank", "-pk")
    fields = ("system", "item", "caption", "caption__text_key")
    for system, item, caption, key in outputs.values_list(*fields).iterator(ROWS_PER_BATCH):
        if item in table.segments:
            table.set_caption(table.systems[system], table.segments[item], caption, key)
    if KINDS[study.protocol].compares_pairs:
        _add_systems_of_pairs(study, table)
    return table


def _add_systems_of_pairs(study: Study, table: JudgedSystems) -> None:
    # The first pair of a system and an image is read last, so that its caption stays.
    rows = CandidatePair.objects.filter(study=study).order_by("-position", "-pk")
    # system, caption and text key of the first candidate, then those of the second
    side_columns = [(f"{side}_system", side, f"{side}__text_key") for side in SIDES]
    has_no_caption = table.caption == 0
    for item, *columns in rows.values_list("item", *chain(*side_columns)).iterator(ROWS_PER_BATCH):
        for system, caption, key in batched(columns, 3):
            row, segment = table.systems.get(system), table.segments.get(item)
            if row is not None and segment is not None and has_no_caption[row, segment]:
                table.set_caption(row, segment, caption, key)
