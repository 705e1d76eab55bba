"""The encoding of an export: pieces of a study become parts, and the parts the file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db.models import QuerySet

from annotation.snapshots import Moment
from common.files import HashedFile
from common.streams import batched
from evaluation.export.rows import UNITS_AT_ONCE, JudgmentRows
from evaluation.judgment_sets.signature import counted_votes
from evaluation.judgment_sets.tally import JudgmentTally
from judgments.models import Study, Unit


@dataclass(slots=True)
class Work:
    """An export in progress.

    Attributes:
        folder: where its parts lie.
        revisions: whether answers that were revised are wanted as well.
        prepared: the result of ``Encoding.prepare``.
        counts: rows written so far, for the manifest.
        tally: counts the judgments that pass, for the judgment signature.
        stage: number of the stage, from 0.
        pieces: row ids of the pieces of the next part, in their order.
    """

    study: Study
    moment: Moment
    folder: Path
    revisions: bool = False
    prepared: Mapping[str, Any] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    tally: JudgmentTally = field(default_factory=JudgmentTally)
    stage: int = 0
    pieces: Sequence[int] = ()

    def rows(self) -> JudgmentRows:
        """Every judgment of the units that are next."""
        return JudgmentRows(
            self.study, self.moment, self.revisions, only=self.pieces, counts=self.counts, tally=self.tally
        )

    def votes(self) -> Iterator[tuple[list[int], dict[int, list[tuple[int, Any]]]]]:
        """(some of the units that are next, unit -> (worker's row id, answer) of those that count, by workers' names);
        units without any are missing. Every judgment goes into the tally on the way."""
        for some in batched(self.pieces, UNITS_AT_ONCE):
            found: defaultdict[int, list[tuple[int, Any]]] = defaultdict(list)
            for unit, worker, _, given in counted_votes(self.study, self.moment, self.tally, units=some):
                found[unit].append((worker, given))
            yield some, dict(found)

    def answers(self) -> Iterator[tuple[list[int], dict[int, list[Any]]]]:
        """The same without workers."""
        for some, votes in self.votes():
            yield some, {unit: [given for _, given in own] for unit, own in votes.items()}

    def parts(self, suffix: str) -> list[Path]:
        """Return the written parts of a stage in their order."""
        return sorted(self.folder.glob(f"*.{suffix}"))


def units_of(study: Study) -> QuerySet[Any]:
    """Return all units, control items too."""
    return Unit.objects.filter(study=study)


@dataclass(frozen=True, slots=True)
class Stage:
    """Pieces that are walked through, by their ``position`` and row id.

    Attributes:
        suffix: of its parts.
        pieces: a study's.
        name: what people call them.
        each: how many units' worth of work a piece is.
    """

    suffix: str
    pieces: Callable[[Study], QuerySet[Any]] = units_of
    name: str = "units"
    each: int = 1


class Encoding(ABC):
    """How pieces of a study become parts, and the parts the file.

    What stands in a part, and the file that is made of parts, depends on nothing but the study as it stood at the
    moment: written again after a kill they are the same.

    Attributes:
        suffix: of a part.
        counts: what is counted, from 0.
        tallies: whether every judgment passes by ``Work.tally``, so that it is complete when no part was skipped.
        progress_count: the count that shows progress; "" for the number of pieces.
    """

    suffix = "lines"
    counts: Mapping[str, int]
    tallies = False
    progress_count = ""

    def prepare(self, study: Study, moment: Moment) -> dict[str, Any]:
        """Return what the parts need to know of the whole study, as JSON; called once and kept beside the parts."""
        return {}

    def stages(self, work: Work) -> Sequence[Stage]:
        """Return the stages in their order; most formats walk through the units once."""
        return (Stage(self.suffix),)

    @abstractmethod
    def write_part(self, work: Work, file: HashedFile) -> None:
        """Write ``work.pieces`` of ``work.stage``, and count them in ``work.counts``."""

    def join(self, work: Work, file: HashedFile) -> None:
        """Make the file of the parts: one after the other, unless a format says otherwise."""
        append_files(work.parts(self.suffix), file)


def append_files(parts: Sequence[Path], file: HashedFile) -> None:
    """Append ``parts`` to ``file``."""
    for path in parts:
        with path.open("rb") as part:
            while block := part.read(1 << 20):
                file.write(block)
