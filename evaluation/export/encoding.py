"""Encode a study as parts, and join the parts into a file."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db.models import QuerySet

from annotation.snapshots import Snapshot
from common.downloads import batched
from common.files import HashedFile
from evaluation.export.rows import UNITS_AT_ONCE, JudgmentRows
from evaluation.judgment_sets.records import JudgmentTally
from evaluation.judgment_sets.signature import included_votes
from judgments.models import Study, Unit


@dataclass(slots=True)
class Work:
    """An export in progress.

    Attributes:
        task: for qrels, whether an image asks for captions, or a caption for images.
        prepared: the result of ``Encoding.prepare``.
        counts: rows written, for the manifest.
        tally: collects judgments for the judgment signature.
        stage: number, from 0.
        pieces: row ids of the next part, in order.
    """

    study: Study
    moment: Snapshot
    folder: Path
    task: str
    revisions: bool = False
    prepared: Mapping[str, Any] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    tally: JudgmentTally = field(default_factory=JudgmentTally)
    stage: int = 0
    pieces: Sequence[int] = ()

    def rows(self) -> JudgmentRows:
        return JudgmentRows(
            self.study, self.moment, self.revisions, only=self.pieces, counts=self.counts, tally=self.tally
        )

    def votes(self) -> Iterator[tuple[list[int], dict[int, list[tuple[int, Any]]]]]:
        """Yield (next units, unit -> (worker's row id, answer) of included judgments by worker name)."""
        for some in batched(self.pieces, UNITS_AT_ONCE):
            found: defaultdict[int, list[tuple[int, Any]]] = defaultdict(list)
            for unit, worker, _, given in included_votes(self.study, self.moment, self.tally, units=some):
                found[unit].append((worker, given))
            yield some, dict(found)

    def answers(self) -> Iterator[tuple[list[int], dict[int, list[Any]]]]:
        for some, votes in self.votes():
            yield some, {unit: [given for _, given in own] for unit, own in votes.items()}

    def parts(self, suffix: str) -> list[Path]:
        return sorted(self.folder.glob(f"*.{suffix}"))

    def lines(self, suffix: str) -> Iterator[Any]:
        for path in self.parts(suffix):
            with path.open(encoding="utf-8") as lines:
                yield from map(json.loads, lines)


def units_of(study: Study) -> QuerySet[Any]:
    return Unit.objects.filter(study=study)


@dataclass(frozen=True, slots=True)
class Stage:
    """A pass over pieces by ``position`` and row id; ``each`` is the work per piece, in units."""

    suffix: str
    pieces: Callable[[Study], QuerySet[Any]] = units_of
    name: str = "units"
    each: int = 1


class Encoding(ABC):
    """Encode pieces as parts, and parts as a file.

    Both depend only on the study at the snapshot, so rewriting after a kill gives the same bytes.

    Attributes:
        tallies: whether every judgment passes ``Work.tally``, which is complete unless parts were skipped.
        progress_count: the count to show; "" for the number of pieces.
    """

    suffix = "lines"
    counts: Mapping[str, int]
    tallies = False
    progress_count = ""

    def prepare(self, study: Study, moment: Snapshot) -> dict[str, Any]:
        """Return JSON about the whole study, stored beside the parts."""
        return {}

    def stages(self, work: Work) -> Sequence[Stage]:
        return (Stage(self.suffix),)

    @abstractmethod
    def write_part(self, work: Work, file: HashedFile) -> None:
        """Write ``work.pieces`` of ``work.stage``, and update ``work.counts``."""

    def join(self, work: Work, file: HashedFile) -> None:
        append_files(work.parts(self.suffix), file)


def write_line(file: HashedFile, row: Mapping[str, Any]) -> None:
    file.write_text(f"{json.dumps(row, ensure_ascii=False)}\n")


def append_files(parts: Sequence[Path], file: HashedFile) -> None:
    for path in parts:
        with path.open("rb") as part:
            while block := part.read(1 << 20):
                file.write(block)
