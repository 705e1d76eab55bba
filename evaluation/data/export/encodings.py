"""The base class of the export formats' encodings, and the state of an export that an encoding reads and updates.

An encoding writes a file in parts, each with the judgments of thousands of units, and then joins the parts.
"""

from __future__ import annotations

import json
import shutil
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db.models import QuerySet

from annotation.snapshots import Snapshot
from common.files import HashedFile
from common.rows.batches import batched
from evaluation.data.judgment_sets.loaders import included_votes
from evaluation.data.judgment_sets.tallies import JudgmentTally
from judgments.models import Study, Unit
from quorum.numeric.packing import declare

UNITS_PER_BATCH = 500  # units per query when only some units are requested
COPY_BYTES = 1 << 20  # bytes (1 MiB) copied at once


@declare  # so that it can be sent to the processes that write parts
@dataclass(slots=True)
class ExportWork:
    """The state of an export in progress, or of a part of it. An encoding reads it, and updates its counts and tally.

    Attributes:
        moment: the snapshot of judgments to export.
        folder: the folder of the parts.
        revisions: whether to include answers that were revised later.
        task: for formats with a task, whether the query is an image ("annotation") or a caption ("search").
        preparation: data about the whole study, from ``Encoding.prepare``.
        counts: numbers of written rows, for the manifest.
        stage: number of the encoding's stage, from 0.
        pieces: row ids of the part's pieces, in order.
        tally: counts and hashes of the part's judgments, for the judgment signature; set while a part is written.
    """

    study: Study
    moment: Snapshot
    folder: Path
    task: str
    revisions: bool = False
    preparation: Mapping[str, Any] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    stage: int = 0
    pieces: Sequence[int] = ()
    tally: JudgmentTally = field(init=False)

    def votes(self) -> Iterator[tuple[list[int], dict[int, list[tuple[int, Any]]]]]:
        """Yield the votes on batches of units.

        Each batch is a list of the units' row ids, and a mapping from unit to its included judgments, as (worker's row
        id, answer), sorted by worker name.
        """
        for ids in batched(self.pieces, UNITS_PER_BATCH):
            votes: defaultdict[int, list[tuple[int, Any]]] = defaultdict(list)
            for unit, worker, _name, answer in included_votes(self.study, self.moment, self.tally, units=ids):
                votes[unit].append((worker, answer))
            yield ids, dict(votes)

    def answers(self) -> Iterator[tuple[list[int], dict[int, list[Any]]]]:
        """Yield the same batches as ``votes``, with the answers alone."""
        for unit_ids, votes in self.votes():
            yield unit_ids, {unit: [answer for _, answer in unit_votes] for unit, unit_votes in votes.items()}


def all_units(study: Study) -> QuerySet[Any]:
    return Unit.objects.filter(study=study)


@dataclass(frozen=True, slots=True)
class Stage:
    """A pass over pieces (rows such as units), ordered by ``position`` and row id.

    Most encodings have one stage. Later stages read the parts of earlier ones; the last stage's parts form the file.

    Attributes:
        suffix: suffix of a part's file.
        pieces: function that returns the queryset of the pieces.
        pieces_noun: noun for the pieces in the progress message.
        units_per_piece: time that a piece takes, as a multiple of the time for a unit.
    """

    suffix: str
    pieces: Callable[[Study], QuerySet[Any]] = all_units
    pieces_noun: str = "units"
    units_per_piece: int = 1


class Encoding(ABC):
    """Base class of the formats' encodings, which encode pieces as parts, and join parts to a file.

    Both steps depend only on the snapshot, so an export that is resumed after its process was killed writes the same
    bytes.

    Attributes:
        suffix: suffix of a part's file.
        counts: the counts of the manifest by name, as they are before the first row: 0.
        tallies: whether ``write_part`` adds every judgment to ``ExportWork.tally``.
        progress_count: name of the count to show as progress; "" for the number of pieces.
    """

    suffix = "lines"
    counts: Mapping[str, int]
    tallies = False
    progress_count = ""

    def __init_subclass__(cls) -> None:
        declare(cls)

    def prepare(self, study: Study, moment: Snapshot) -> dict[str, Any]:
        """Return data about the whole study, which must be serialisable as JSON and are stored with the parts."""
        return {}

    def stages(self, work: ExportWork) -> Sequence[Stage]:
        return (Stage(self.suffix),)

    def load(self, work: ExportWork) -> None:  # noqa: B027 - most load nothing
        """Load the data that all parts of ``work.stage`` share into attributes of the encoding."""

    @abstractmethod
    def write_part(self, work: ExportWork, file: HashedFile) -> None:
        """Write ``work.pieces`` to the part's file, and update ``work.counts``."""

    def join(self, work: ExportWork, file: HashedFile, parts: Iterator[Path]) -> None:
        """Write the file from the parts of the last stage. ``parts`` yields each part as soon as it is written."""
        for path in parts:
            with path.open("rb") as part:
                shutil.copyfileobj(part, file, COPY_BYTES)


def write_line(file: HashedFile, row: Mapping[str, Any]) -> None:
    file.write_text(f"{json.dumps(row, ensure_ascii=False)}\n")


def read_part_lines(parts: Iterable[Path]) -> Iterator[Any]:
    for path in parts:
        with path.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)
